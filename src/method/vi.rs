//! Weight-space variational inference: q(W) = N(mu, diag softplus(rho)^2), M weight samples as M replicas
//! (MATH.md section 4).

use super::{Family, Knob, KnobValue, Method, ModelSpec, Networks, PriorDraw, Reg};
use crate::base::rng::Stream;
use crate::data::Task;
use crate::net::Layout;
use crate::ops::Op;
use crate::ops::step::Prior;
use crate::ops::vi::{ViGradient, ViRegularizer, ViSample};
use crate::program::{Buf, Builder, Role};
use crate::recipe::{PriorKeys, Recipe, ViInit, key};

/// With its regularizer of the weights.
pub struct Vi {
    pub name: &'static str,
    pub title: &'static str,
    pub reg: Reg,
}

pub const NAIVE: Vi = Vi { name: "vi-naive", title: "VI-naive", reg: Reg::Naive };
pub const MEAN: Vi = Vi { name: "vi-mean", title: "VI-mean", reg: Reg::Mean };
pub const MV: Vi = Vi { name: "vi-mv", title: "VI-mv", reg: Reg::Mv };
pub const EB: Vi = Vi { name: "vi-eb", title: "VI-eb", reg: Reg::Eb };

/// prior.variance where a recipe leaves it out.
const VARIANCE: f64 = 0.05;

impl Method for Vi {
    fn name(&self) -> &'static str {
        self.name
    }
    fn title(&self) -> &'static str {
        self.title
    }
    fn family(&self) -> Family {
        Family::Weights
    }
    fn about(&self) -> &'static str {
        match self.reg {
            Reg::Naive => "Weights near a fixed normal prior",
            Reg::Mean => "A normal prior whose mean is uncertain, too",
            Reg::Mv => "A prior whose mean and variance are uncertain",
            _ => "A prior whose variance is fitted to the weights",
        }
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        match self.reg {
            Reg::Naive => &[("bnn", "take \"vi-naive\" for variational weights")],
            Reg::Mean => &[("vi", "take \"vi-mean\"")],
            _ => &[],
        }
    }
    fn keys(&self) -> Vec<&'static str> {
        let own = [key!(method.samples).path, key!(vi.init).path, key!(vi.init_rho).path, key!(vi.groups).path];
        let shared = [
            key!(method.noise_link).path,
            key!(method.likelihood).path,
            key!(method.nu).path,
            key!(method.eta).path,
            key!(train.kl_warmup).path,
            key!(predict.samples).path,
        ];
        [&own[..], &shared[..], &self.reg.keys()].concat()
    }
    /// MATH.md section 4: on the toy the prior variance is 1 and rho starts at -4.
    fn adapt_to_toy(&self, recipe: &mut Recipe) {
        (recipe.vi.init, recipe.vi.init_rho) = (ViInit::Torch, -4.0);
        if self.reg == Reg::Naive {
            recipe.prior.variance = Some(1.0);
        }
    }
    fn eta(&self, recipe: &Recipe, task: Task) -> f64 {
        recipe.method.eta.unwrap_or(self.usual_eta(task))
    }
    fn prior(&self, keys: &PriorKeys) -> Prior<f64> {
        self.reg.prior(keys, VARIANCE)
    }
    fn knobs(&self) -> Vec<Knob> {
        self.reg.knobs(|r| KnobValue::Optional(&mut r.prior.variance, VARIANCE))
    }
    /// (mu, rho).
    fn member_len(&self, layout: &Layout) -> usize {
        2 * layout.total
    }
    fn initial(&self, layout: &Layout, seed: u32, member: u32, vi_uniform: bool, init_rho: f32) -> Vec<f32> {
        crate::net::init::variational(layout, seed, member, vi_uniform, init_rho)
    }
    fn samples_weights(&self) -> bool {
        true
    }
    fn copies(&self, setup: &ModelSpec) -> u32 {
        setup.predict_samples
    }
    fn record_step_networks(&self, setup: &ModelSpec, b: &mut Builder, numbers: Buf) -> Buf {
        record_sample(setup, b, numbers, Stream::Weights)
    }
    fn record_on_weights(
        &self,
        setup: &ModelSpec,
        b: &mut Builder,
        numbers: Buf,
        dweights: Buf,
        _value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        let (dq, value) = record_gradient(setup, b, self.reg, numbers, dweights);
        (dq, Some(value))
    }
    /// `predict_samples` weight samples per member, from a stream of their own.
    fn record_networks(&self, setup: &ModelSpec, b: &mut Builder, numbers: Buf, _first_sample: u32) -> Networks {
        let setup = ModelSpec { samples: setup.predict_samples, ..setup.clone() };
        Networks { weights: record_sample(&setup, b, numbers, Stream::Predict), posterior: vec![] }
    }
    fn prior_draw(&self) -> PriorDraw {
        match self.reg {
            Reg::Naive => PriorDraw::Weights,
            Reg::Mean => PriorDraw::WeightsAroundLearned,
            _ => PriorDraw::None,
        }
    }
    fn export_note(&self, _has_statistics: bool) -> Option<String> {
        let note = "these are the means of VI's weights; their standard deviations have no name in PyTorch and stay in the run";
        Some(note.into())
    }
}

/// W [E M, P] from q [E, 2P].
fn record_sample(setup: &ModelSpec, b: &mut Builder, q: Buf, stream: Stream) -> Buf {
    let count = setup.layout().total as u32;
    let samples = setup.samples;
    let w = b.buffer("w", (setup.members * samples * count) as usize, Role::Scratch);
    let first_replica = setup.first_member * samples;
    b.push(
        Op::ViSample(ViSample { members: setup.members, samples, count, first_replica, stream: stream as u32 }),
        &[q],
        &[w],
    );
    w
}

/// The gradient of (mu, rho) [E, 2P] and the regularizer's value [E].
fn record_gradient(setup: &ModelSpec, b: &mut Builder, reg: Reg, q: Buf, dweights: Buf) -> (Buf, Buf) {
    let layout = setup.layout();
    let count = layout.total as u32;
    let members = setup.members;
    let parts = if setup.groups_by_layer { layout.layers() } else { vec![(0, layout.total)] };
    let groups = parts.len() as u32;
    let value = b.buffer("regularizer", members as usize, Role::Scratch);
    let energy = b.buffer("energy", (members * groups) as usize, Role::Scratch);
    let dq = b.buffer("dq", (members * 2 * count) as usize, Role::Scratch);
    let parts = || parts.iter().enumerate().map(|(g, &(first, length))| (g as u32, first as u32, length as u32));
    for (group, first, length) in parts() {
        let op = ViRegularizer {
            members,
            count,
            first,
            length,
            group,
            groups,
            regularizer: reg.code(),
            accumulate: u32::from(group > 0),
        };
        b.push(Op::ViRegularizer(op), &[q], &[value, energy]);
    }
    for (group, first, length) in parts() {
        let op = ViGradient {
            members,
            samples: setup.samples,
            count,
            first,
            length,
            group,
            groups,
            regularizer: reg.code(),
            first_replica: setup.first_member * setup.samples,
            scale: 1.0 / setup.observations() as f32,
        };
        b.push(Op::ViGradient(op), &[q, dweights, energy], &[dq]);
    }
    (dq, value)
}
