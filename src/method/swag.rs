//! SWAG: a Gaussian around the averaged weights, its covariance half the diagonal of the snapshots' variances, half the span
//! of their last deviations (MATH.md section 5, SWAG). Several members are multiSWAG.

use super::Setup;
use crate::base::rng::Stream;
use crate::ops::Op;
use crate::ops::average::{SwagCollect, SwagSample};
use crate::program::{Buf, Builder, Role};

pub const MEAN: &str = "swag.mean";
pub const VARIANCE: &str = "swag.variance";
pub const DEVIATIONS: &str = "swag.deviations";
/// How many columns of the deviations are filled, a number a member.
pub const COLUMNS: &str = "swag.columns";

fn moments(setup: &Setup, b: &mut Builder) -> (Buf, Buf) {
    let len = setup.members as usize * setup.member_len();
    let variance = b.buffer(VARIANCE, len, Role::State);
    let deviations = b.buffer(DEVIATIONS, len * setup.options.swag_columns as usize, Role::State);
    (variance, deviations)
}

/// The moments' places in the training state.
pub fn record_collect(setup: &Setup, b: &mut Builder, weights: Buf) -> Vec<(&'static str, Buf)> {
    let (replicas, count, columns) = (setup.members, setup.member_len() as u32, setup.options.swag_columns);
    let mean = b.buffer(MEAN, (replicas * count) as usize, Role::State);
    let (variance, deviations) = moments(setup, b);
    let op = SwagCollect { replicas, count, columns };
    b.push(Op::SwagCollect(op), &[weights], &[mean, variance, deviations]);
    vec![(MEAN, mean), (VARIANCE, variance), (DEVIATIONS, deviations)]
}

/// Weights [E S, P] drawn around the mean; the step's `n_samples` says how many columns are filled. Also returns the places
/// of the moments.
pub fn record_networks(
    setup: &Setup,
    b: &mut Builder,
    mean: Buf,
    first_sample: u32,
) -> (Buf, Vec<(&'static str, Buf)>) {
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
    (networks, vec![(VARIANCE, variance), (DEVIATIONS, deviations)])
}
