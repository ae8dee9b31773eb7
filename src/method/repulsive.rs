//! Repulsive ensembles: members follow the gradient of their posterior and keep away from each other by a kernel density
//! estimate, in the space of functions (their outputs on the batch) or of weights (MATH.md section 5, repulsive).

use super::{Family, Knob, KnobValue, Method, MethodOptions, ModelSpec};
use crate::data::Task;
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::ops::repulsion::{KernelWeights, MAX_PARTICLES, PairDistances, Repulsion};
use crate::program::builder::Tensor;
use crate::program::{Buf, Builder, Role};
use crate::recipe::{Recipe, Space, key};

pub const NAME: &str = "repulsive";

pub struct Repulsive;

impl Method for Repulsive {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "Repulsive ensemble"
    }
    fn family(&self) -> Family {
        Family::Ensemble
    }
    fn about(&self) -> &'static str {
        "Members that push each other apart, so that they disagree where data is missing"
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("svgd", "take \"repulsive\"")]
    }
    fn keys(&self) -> Vec<&'static str> {
        vec![
            key!(method.noise_link).path,
            key!(method.likelihood).path,
            key!(method.nu).path,
            key!(train.kl_warmup).path,
            key!(repulsive.space).path,
            key!(repulsive.strength).path,
            key!(repulsive.prior_variance).path,
        ]
    }
    fn suits(&self, recipe: &Recipe, _task: Task, _targets: u32) -> Result<()> {
        if recipe.method.members <= MAX_PARTICLES {
            return Ok(());
        }
        let found = format!("{} with repulsive", recipe.method.members);
        let allowed = format!("at most {MAX_PARTICLES}: every member is compared with every other");
        Err(Error::usage(key!(method.members).said(), found, allowed, "lower it"))
    }
    fn eta(&self, recipe: &Recipe, _task: Task) -> f64 {
        recipe.repulsive.strength
    }
    fn options(&self, recipe: &Recipe) -> MethodOptions {
        let (space, particle_variance) = (recipe.repulsive.space, recipe.repulsive.prior_variance as f32);
        MethodOptions { space, particle_variance, ..Default::default() }
    }
    fn knobs(&self) -> Vec<Knob> {
        vec![Knob::new(key!(repulsive.strength).path, |r| KnobValue::Given(&mut r.repulsive.strength))]
    }
    fn is_coupled(&self) -> bool {
        true
    }
    fn shares_rows(&self, setup: &ModelSpec) -> bool {
        setup.options.space == Space::Function
    }
    /// In function space.
    fn record_on_outputs(&self, setup: &ModelSpec, b: &mut Builder, z: Tensor, dz: Buf) -> Option<Buf> {
        self.shares_rows(setup).then(|| record(setup, b, z.buf, dz, z.rows * z.cols(), z.cols()))
    }
    /// In weight space.
    fn record_on_weights(
        &self,
        setup: &ModelSpec,
        b: &mut Builder,
        numbers: Buf,
        dweights: Buf,
        value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        let count = setup.member_len() as u32;
        (dweights, Some(value.unwrap_or_else(|| record(setup, b, numbers, dweights, count, 0))))
    }
    fn caveats(&self, setup: &ModelSpec, _epochs: u32, _swa_start: u32) -> Vec<String> {
        let alone = "a single repulsive member has no other to be repelled from, and no epistemic spread";
        let more = key!(method.members).said();
        if setup.members == 1 { vec![format!("{alone}: raise {more}")] } else { vec![] }
    }
}

/// Adds to the gradient of outputs or weights; returns the value per member.
fn record(setup: &ModelSpec, b: &mut Builder, v: Buf, dv: Buf, count: u32, cols: u32) -> Buf {
    let replicas = setup.members;
    // Members of other data sets are other ensembles.
    let group = if setup.per_set == 0 { replicas } else { setup.per_set };
    let distances = b.buffer("distances", (replicas * group) as usize, Role::Scratch);
    b.push(Op::PairDistances(PairDistances { replicas, group, count, cols }), &[v], &[distances]);
    let kernel = b.buffer("kernel", (replicas * (group + 1)) as usize, Role::Scratch);
    b.push(Op::KernelWeights(KernelWeights { replicas, group }), &[distances], &[kernel]);
    let value = b.buffer("repulsion", replicas as usize, Role::Scratch);
    let prior_variance = setup.options.particle_variance;
    let op = Repulsion { replicas, group, count, cols, n_rows: setup.observations(), prior_variance };
    b.push(Op::Repulsion(op), &[v, kernel], &[dv, value]);
    value
}
