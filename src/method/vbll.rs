//! Variational Bayesian last layer: a Gaussian over the last layer's weights and a noise of its own, trained by a closed
//! bound on the likelihood (MATH.md section 5, VBLL; Harrison et al. 2024).

use super::{Family, Head, Knob, KnobValue, Method, ModelSpec, Outputs};
use crate::data::Task;
use crate::error::{Error, Result};
use crate::net::Last;
use crate::ops::Op;
use crate::ops::vbll::{VbllHead, VbllRegularizer};
use crate::program::{Buf, Builder, Role};
use crate::recipe::{Recipe, key};

pub const NAME: &str = "vbll";

pub struct Vbll;

impl Method for Vbll {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "VBLL"
    }
    fn family(&self) -> Family {
        Family::LastLayer
    }
    fn about(&self) -> &'static str {
        "A variational last layer, trained in closed form"
    }
    fn keys(&self) -> Vec<&'static str> {
        vec![key!(train.kl_warmup).path, key!(predict.samples).path, key!(vbll.regularizer).path]
    }
    fn suits(&self, recipe: &Recipe, _task: Task, targets: u32) -> Result<()> {
        if targets == 1 {
            return Ok(());
        }
        let found = format!("{:?} with {targets} targets", recipe.method.name);
        let help = "take vifo-mean, or a run of its own for each target";
        Err(Error::usage(key!(method.name).said(), found, "one target", help))
    }
    fn eta(&self, recipe: &Recipe, _task: Task) -> f64 {
        recipe.vbll.regularizer
    }
    fn knobs(&self) -> Vec<Knob> {
        vec![Knob::new(key!(vbll.regularizer).path, |r| KnobValue::Given(&mut r.vbll.regularizer))]
    }
    /// A distribution over its weights; a regression has one noise for all rows, so z has one dimension.
    fn last_layer(&self, task: Task, k: u32) -> Last {
        Last::Vbll(if task == Task::Classification { k } else { 1 })
    }
    fn record_head(&self, setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
        record_head(setup, b, head)
    }
    fn record_on_weights(
        &self,
        setup: &ModelSpec,
        b: &mut Builder,
        numbers: Buf,
        dweights: Buf,
        _value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        (dweights, Some(record_regularizer(setup, b, numbers, dweights)))
    }
    fn outputs(&self, _setup: &ModelSpec) -> Outputs {
        Outputs::VariancesAndNoise
    }
}

/// Returns (terms [R, rows, 3], gradient of the outputs (mean, variance, log noise)).
fn record_head(setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
    let Head { z: out, y, share, .. } = head;
    let (replicas, rows) = (out.replicas, out.rows);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dout = b.buffer("doutputs", out.len(), Role::Scratch);
    let op = VbllHead { replicas, rows, k: out.cols() / 3, share, likelihood: setup.likelihood_code() };
    b.push(Op::VbllHead(op), &[out.buf, y], &[terms, dout]);
    (terms, dout)
}

/// KL divergence of the last layer's weights and the prior of its noise: adds to the gradient, returns the value per member.
fn record_regularizer(setup: &ModelSpec, b: &mut Builder, weights: Buf, dweights: Buf) -> Buf {
    let (replicas, layout) = (setup.members, setup.layout());
    let value = b.buffer("regularizer", replicas as usize, Role::Scratch);
    // The last layer's views are mean, log scale and log noise.
    let at = layout.views.len() - 3;
    let [mean, log_scale, log_noise] = [0, 1, 2].map(|i| layout.views[at + i].offset as u32);
    let (k, n_in) = (layout.views[at].shape[0] as u32, layout.views[at].shape[1] as u32);
    let stride = layout.total as u32;
    let op = VbllRegularizer { replicas, n_in, k, mean, log_scale, log_noise, stride, n_rows: setup.n_rows };
    b.push(Op::VbllRegularizer(op), &[weights], &[dweights, value]);
    value
}
