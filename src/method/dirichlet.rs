//! Evidential classification: a Dirichlet distribution over the class probabilities, its concentrations
//! relu(z) + 1; expected -log p under it, and eta * KL to the flat one (MATH.md section 5, Dirichlet).

use super::{Family, Head, Method, ModelSpec, Outputs};
use crate::data::Task;
use crate::error::{Cure, Error, Result, either};
use crate::ops::Op;
use crate::ops::dirichlet::DirichletHead;
use crate::program::{Buf, Builder, Role};
use crate::recipe::{Recipe, key};

pub const NAME: &str = "dirichlet";

pub struct Dirichlet;

impl Method for Dirichlet {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "Dirichlet"
    }
    fn family(&self) -> Family {
        Family::Dropout
    }
    fn about(&self) -> &'static str {
        "Learns how much evidence there is for each class"
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("dir", "take \"dirichlet\""), ("evidential", "take \"dirichlet\"")]
    }
    fn keys(&self) -> Vec<&'static str> {
        vec![key!(method.eta).path, key!(train.kl_warmup).path]
    }
    /// It spreads its belief over classes.
    fn learns(&self, task: Task) -> bool {
        task == Task::Classification
    }
    fn suits(&self, _recipe: &Recipe, task: Task, _targets: u32) -> Result<()> {
        if self.learns(task) {
            return Ok(());
        }
        let help = either(
            "take --method vifo-mean, or --task classification if the numbers are classes",
            "choose another method, or the task classification if the numbers are classes",
        );
        Err(Error::usage(key!(method.name).said(), "\"dirichlet\" with a regression", "a classification", help)
            .curing(Cure::set(key!(method.name).path, crate::method::default_name())))
    }
    fn eta(&self, recipe: &Recipe, task: Task) -> f64 {
        recipe.method.eta.unwrap_or(self.usual_eta(task))
    }
    fn record_head(&self, setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
        record_head(setup, b, head)
    }
    fn outputs(&self, _setup: &ModelSpec) -> Outputs {
        Outputs::Concentrations
    }
}

/// Returns (terms [R, rows, 3], gradient of the outputs).
fn record_head(setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
    let Head { z, y, share, .. } = head;
    let (replicas, rows) = (z.replicas, z.rows);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dz = b.buffer("dz", z.len(), Role::Scratch);
    b.push(Op::DirichletHead(DirichletHead { replicas, rows, k: setup.k, share }), &[z.buf, y], &[terms, dz]);
    (terms, dz)
}
