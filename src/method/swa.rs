//! Stochastic weight averaging: the running mean of the weights, one snapshot an epoch from `swa_start` on; batch
//! normalisation's statistics are computed anew for it (MATH.md section 5, SWA).

use super::Setup;
use crate::ops::Op;
use crate::ops::average::SwaCollect;
use crate::program::{Buf, Builder, Role};

pub const MEAN: &str = "swa.mean";

/// The average's place in the training state.
pub fn record_collect(setup: &Setup, b: &mut Builder, weights: Buf) -> Vec<(&'static str, Buf)> {
    let (replicas, count) = (setup.members, setup.member_len() as u32);
    let mean = b.buffer(MEAN, (replicas * count) as usize, Role::State);
    b.push(Op::SwaCollect(SwaCollect { replicas, count }), &[weights], &[mean]);
    vec![(MEAN, mean)]
}
