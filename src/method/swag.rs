//! SWAG: a Gaussian around the averaged weights, its covariance half the diagonal of the snapshots' variances, half the span
//! of their last deviations (MATH.md section 5, SWAG). Several members are multiSWAG.

use super::{Family, Finish, Method, MethodOptions, ModelSpec, Named, Networks, Trained, Usual, swa};
use crate::base::rng::Stream;
use crate::data::Task;
use crate::error::Result;
use crate::ops::Op;
use crate::ops::average::{SwagCollect, SwagSample};
use crate::program::{Buf, Builder, Role};
use crate::recipe::{Recipe, key};

pub const NAME: &str = "swag";
const MEAN: &str = "swag.mean";
const VARIANCE: &str = "swag.variance";
const DEVIATIONS: &str = "swag.deviations";
/// How many columns of the deviations are filled, one per member.
const COLUMNS: &str = "swag.columns";

pub struct Swag;

impl Method for Swag {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "SWAG"
    }
    fn family(&self) -> Family {
        Family::Single
    }
    fn about(&self) -> &'static str {
        "A normal distribution around that mean; several members are multiSWAG"
    }
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[("multiswag", "take \"swag\": with several members it is multiSWAG")]
    }
    fn keys(&self) -> Vec<&'static str> {
        vec![
            key!(method.noise_link).path,
            key!(method.likelihood).path,
            key!(method.nu).path,
            key!(predict.samples).path,
            key!(swag.columns).path,
        ]
    }
    fn suits(&self, recipe: &Recipe, _task: Task, _targets: u32) -> Result<()> {
        swa::no_patience(recipe)
    }
    fn adapt(&self, recipe: &mut Recipe) {
        swa::own_schedule(recipe);
    }
    fn usual(&self) -> Usual {
        swa::USUAL
    }
    fn options(&self, recipe: &Recipe) -> MethodOptions {
        MethodOptions { swag_columns: recipe.swag.columns, ..Default::default() }
    }
    fn copies(&self, setup: &ModelSpec) -> u32 {
        setup.predict_samples
    }
    fn collects(&self) -> bool {
        true
    }
    fn record_collect(&self, setup: &ModelSpec, b: &mut Builder, numbers: Buf) -> Vec<(&'static str, Buf)> {
        record_collect(setup, b, numbers)
    }
    fn ends_with(&self) -> Option<&'static str> {
        Some("average of weights")
    }
    fn finalize(&self, finish: Finish) -> Result<Trained> {
        let setup = finish.setup;
        let (deviations, variance) = (finish.collected(DEVIATIONS), finish.collected(VARIANCE));
        let (weights, filled) = match finish.snapshots {
            0 => (finish.last.weights, 0),
            n => (finish.collected(MEAN), n.min(setup.options.swag_columns)),
        };
        let members = setup.members as usize;
        let named = |name: &str, values: Vec<f32>| {
            let shape = vec![members, values.len() / members];
            Named { name: name.into(), shape, values }
        };
        let posterior = vec![
            named(COLUMNS, vec![filled as f32; members]),
            named(DEVIATIONS, deviations),
            named(VARIANCE, variance),
        ];
        let mean = Trained { weights, running: vec![], posterior };
        Ok(Trained { running: finish.rows.statistics(&mean)?, ..mean })
    }
    fn record_networks(&self, setup: &ModelSpec, b: &mut Builder, numbers: Buf, first_sample: u32) -> Networks {
        record_networks(setup, b, numbers, first_sample)
    }
    /// Filled columns of the deviations.
    fn n_samples(&self, trained: &Trained) -> u32 {
        trained.posterior(COLUMNS).and_then(|c| c.values.first()).map_or(0, |c| *c as u32)
    }
    fn has_own_statistics(&self) -> bool {
        true
    }
    fn caveats(&self, _setup: &ModelSpec, epochs: u32, swa_start: u32) -> Vec<String> {
        if epochs != swa_start + 1 {
            return vec![];
        }
        let start = key!(train.swa_start).said();
        vec![format!(
            "SWAG collects one snapshot ({} {epochs}, {start} {swa_start}), so all networks of a member are alike: lower {start}",
            key!(train.epochs).said()
        )]
    }
    fn export_note(&self, has_statistics: bool) -> Option<String> {
        let statistics = if has_statistics { ", with the statistics of its first sample" } else { "" };
        Some(format!("these are SWAG's mean weights{statistics}; its covariance stays in the run"))
    }
    fn collected(&self, setup: &ModelSpec) -> (String, String) {
        let columns = setup.options.swag_columns;
        (
            format!("SWAG's mean, variance and {columns} deviations"),
            format!(
                "lower {} (now {columns}) or {} (now {})",
                key!(swag.columns).said(),
                key!(method.members).said(),
                setup.members
            ),
        )
    }
    fn largest_buffer(&self, setup: &ModelSpec) -> Option<(&'static str, u64)> {
        let (p, columns) = (setup.layout().total as u64, u64::from(setup.options.swag_columns));
        Some(("deviations of SWAG", p.saturating_mul(u64::from(setup.members)).saturating_mul(columns)))
    }
}

fn moments(setup: &ModelSpec, b: &mut Builder) -> (Buf, Buf) {
    let len = setup.members as usize * setup.member_len();
    let variance = b.buffer(VARIANCE, len, Role::State);
    let deviations = b.buffer(DEVIATIONS, len * setup.options.swag_columns as usize, Role::State);
    (variance, deviations)
}

/// The moments' places in the training state.
fn record_collect(setup: &ModelSpec, b: &mut Builder, weights: Buf) -> Vec<(&'static str, Buf)> {
    let (replicas, count, columns) = (setup.members, setup.member_len() as u32, setup.options.swag_columns);
    let mean = b.buffer(MEAN, (replicas * count) as usize, Role::State);
    let (variance, deviations) = moments(setup, b);
    let op = SwagCollect { replicas, count, columns };
    b.push(Op::SwagCollect(op), &[weights], &[mean, variance, deviations]);
    vec![(MEAN, mean), (VARIANCE, variance), (DEVIATIONS, deviations)]
}

/// Weights [E S, P] drawn around the mean; the step's `n_samples` says how many columns are filled. Also returns the places
/// of the moments.
fn record_networks(setup: &ModelSpec, b: &mut Builder, mean: Buf, first_sample: u32) -> Networks {
    let (members, samples, count) = (setup.members, setup.copies(), setup.layout().total as u32);
    let (variance, deviations) = moments(setup, b);
    let networks = b.buffer("w", (members * samples * count) as usize, Role::Scratch);
    let op = SwagSample {
        members,
        samples,
        count,
        columns: setup.options.swag_columns,
        first_replica: setup.first_member * samples + first_sample,
        stream: Stream::Predict as u32,
    };
    b.push(Op::SwagSample(op), &[mean, variance, deviations], &[networks]);
    Networks { weights: networks, posterior: vec![(VARIANCE, variance), (DEVIATIONS, deviations)] }
}
