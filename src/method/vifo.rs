//! VIFO: q(z|x) = N(mu(x), diag s2(x)) from one network with 2K outputs (MATH.md section 2). Expected loss, regularizer
//! and auxiliary regularizer are one fused kernel over the rows of the batch and the auxiliary rows behind them.

use super::{Family, Head, Knob, KnobValue, Method, ModelSpec, Outputs, PriorDraw, Reg, regularizer};
use crate::data::Task;
use crate::net::Last;
use crate::ops::Op;
use crate::ops::head::VifoHead;
use crate::ops::regularizer::{ColumnMoments, REG_MEAN_ALL, WeighedMoments};
use crate::ops::step::Prior;
use crate::program::{Buf, Builder, Role};
use crate::recipe::keys::Key;
use crate::recipe::{PriorKeys, Recipe, key};

/// With its regularizer of the outputs, or of the weights.
pub struct Vifo {
    pub name: &'static str,
    pub title: &'static str,
    pub reg: Reg,
}

pub const NAIVE: Vifo = Vifo { name: "vifo-naive", title: "VIFO-naive", reg: Reg::Naive };
pub const MEAN: Vifo = Vifo { name: "vifo-mean", title: "VIFO-mean", reg: Reg::Mean };
pub const MV: Vifo = Vifo { name: "vifo-mv", title: "VIFO-mv", reg: Reg::Mv };
pub const EB: Vifo = Vifo { name: "vifo-eb", title: "VIFO-eb", reg: Reg::Eb };
pub const MEAN_ALL: Vifo = Vifo { name: "vifo-mean_all", title: "VIFO-mean, all", reg: Reg::MeanAll };
pub const MV_ALL: Vifo = Vifo { name: "vifo-mv_all", title: "VIFO-mv, all", reg: Reg::MvAll };
pub const EB_ALL: Vifo = Vifo { name: "vifo-eb_all", title: "VIFO-eb, all", reg: Reg::EbAll };
pub const L2: Vifo = Vifo { name: "vifo-l2", title: "VIFO, L2 on weights", reg: Reg::L2 };

/// prior.variance where a recipe leaves it out.
const VARIANCE: f64 = 1.0;

impl Method for Vifo {
    fn name(&self) -> &'static str {
        self.name
    }
    fn title(&self) -> &'static str {
        self.title
    }
    fn family(&self) -> Family {
        Family::Vifo
    }
    fn about(&self) -> &'static str {
        match self.reg {
            Reg::Naive => "Outputs near a fixed normal prior",
            Reg::Mean => "A normal prior whose mean is uncertain, too",
            Reg::Mv => "A prior whose mean and variance are uncertain",
            Reg::Eb => "A prior whose variance is fitted to the outputs",
            Reg::MeanAll => "As VIFO-mean, with one prior for all rows of a batch",
            Reg::MvAll => "As VIFO-mv, with one prior for all rows of a batch",
            Reg::EbAll => "As VIFO-eb, with one prior for all rows of a batch",
            _ => "No prior on the outputs: the weights are held small",
        }
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        if self.reg == Reg::Mean { &[("vifo", "take \"vifo-mean\"")] } else { &[] }
    }
    fn keys(&self) -> Vec<&'static str> {
        let own = [
            key!(method.eta_aux).path,
            key!(method.expectation).path,
            key!(method.sigma_link).path,
            key!(method.aux_source).path,
        ];
        let shared = [
            key!(method.noise_link).path,
            key!(method.likelihood).path,
            key!(method.nu).path,
            key!(method.eta).path,
            key!(method.samples).path,
            key!(train.kl_warmup).path,
            key!(predict.samples).path,
        ];
        [&own[..], &shared[..], &self.reg.keys()].concat()
    }
    /// On classes a tenth of the paper's predicts better if the inputs tell the classes apart, and worse on few rows of noisy
    /// labels (docs/MATH.md section 12).
    fn usual_eta(&self, task: Task) -> f64 {
        if task == Task::Classification { 0.01 } else { 0.1 }
    }
    fn preset(&self) -> &'static [(&'static Key, f64)] {
        &[(key!(method.eta), 0.01)]
    }
    fn eta(&self, recipe: &Recipe, task: Task) -> f64 {
        recipe.method.eta.unwrap_or(self.usual_eta(task))
    }
    fn prior(&self, keys: &PriorKeys) -> Prior<f64> {
        self.reg.prior(keys, VARIANCE)
    }
    fn knobs(&self) -> Vec<Knob> {
        let aux = Knob::new(key!(method.eta_aux).path, |r| KnobValue::Given(&mut r.method.eta_aux));
        let prior = self.reg.knobs(|r| KnobValue::Optional(&mut r.prior.variance, VARIANCE));
        self.takes_auxiliary_inputs().then_some(aux).into_iter().chain(prior).collect()
    }
    fn takes_auxiliary_inputs(&self) -> bool {
        self.reg != Reg::L2
    }
    fn has_closed_form(&self) -> bool {
        true
    }
    /// Means and standard deviations.
    fn last_layer(&self, _task: Task, k: u32) -> Last {
        Last::Linear(2 * k)
    }
    fn record_head(&self, setup: &ModelSpec, b: &mut Builder, head: Head) -> (Buf, Buf) {
        record_head(setup, b, self.reg, head)
    }
    fn record_on_weights(
        &self,
        setup: &ModelSpec,
        b: &mut Builder,
        numbers: Buf,
        dweights: Buf,
        value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        if self.reg != Reg::L2 {
            return (dweights, value);
        }
        let all = 0..setup.layout().total as u32;
        (dweights, Some(regularizer::record_l2(setup, b, numbers, dweights, all)))
    }
    fn outputs(&self, _setup: &ModelSpec) -> Outputs {
        Outputs::Sigmas
    }
    fn prior_draw(&self) -> PriorDraw {
        match self.reg {
            Reg::Naive => PriorDraw::Outputs,
            Reg::Mean => PriorDraw::OutputsAroundLearned,
            _ => PriorDraw::None,
        }
    }
}

/// Returns (terms [R, rows, 3], gradient of the outputs). The weights of the rows count in the means that some regularizers
/// take over them.
fn record_head(setup: &ModelSpec, b: &mut Builder, reg: Reg, head: Head) -> (Buf, Buf) {
    let Head { z: out, y, row_weights: weights, share, data_rows } = head;
    let (replicas, rows, k) = (out.replicas, out.rows, setup.k);
    let terms = b.buffer("terms", (replicas * rows * 3) as usize, Role::Scratch);
    let dout = b.buffer("doutputs", (replicas * rows * out.cols()) as usize, Role::Scratch);
    let moments = if reg.code() >= REG_MEAN_ALL {
        let moments = b.buffer("moments", (replicas * 6 * k) as usize, Role::Scratch);
        let sigma_link = setup.sigma_code();
        match weights {
            None => {
                let op = ColumnMoments { replicas, rows, data_rows, k, sigma_link };
                b.push(Op::ColumnMoments(op), &[out.buf], &[moments]);
            }
            Some(w) => {
                let op = WeighedMoments { replicas, rows, data_rows, k, sigma_link, share };
                b.push(Op::WeighedMoments(op), &[out.buf, w], &[moments]);
            }
        }
        moments
    } else {
        b.buffer("no_moments", 1, Role::Input)
    };
    let (nu, constant) = setup.student().unwrap_or_default();
    let op = VifoHead {
        replicas,
        rows,
        data_rows,
        k,
        share,
        likelihood: setup.likelihood_code(),
        noise_link: setup.noise_code(),
        sigma_link: setup.sigma_code(),
        regularizer: reg.code(),
        exact: u32::from(setup.exact),
        first_replica: setup.first_member,
        nu,
        constant,
    };
    b.push(Op::VifoHead(op), &[out.buf, y, moments], &[terms, dout]);
    (terms, dout)
}
