//! Monte Carlo dropout: units are dropped in prediction as in training, and each pass is a thinned network of its own
//! (MATH.md section 5, dropout). All rows of a pass see the same one, so a row's prediction does not depend on its place
//! in the file; batch normalisation takes its running statistics.

use super::Setup;
use crate::ops::Op;
use crate::ops::average::RepeatWeights;
use crate::program::{Buf, Builder, Role};

/// Weights [E S, P]: each member's, once a pass.
pub fn record_networks(setup: &Setup, b: &mut Builder, weights: Buf) -> Buf {
    let (members, samples, count) = (setup.members, setup.copies(), setup.layout().total as u32);
    let networks = b.buffer("w", (members * samples * count) as usize, Role::Scratch);
    b.push(Op::RepeatWeights(RepeatWeights { members, samples, count }), &[weights], &[networks]);
    networks
}
