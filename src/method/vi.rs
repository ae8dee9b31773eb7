//! Weight-space variational inference: q(W) = N(mu, diag softplus(rho)^2), M weight samples as M replicas
//! (MATH.md section 4).

use super::{Reg, Setup};
use crate::base::rng::Stream;
use crate::ops::Op;
use crate::ops::vi::{ViGradient, ViRegularizer, ViSample};
use crate::program::{Buf, Builder, Role};

/// W [E M, P] from q [E, 2P].
pub fn record_sample(setup: &Setup, b: &mut Builder, q: Buf, stream: Stream) -> Buf {
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

/// The networks of a prediction: `predict_samples` weight samples a member, from a stream of their own.
pub fn record_networks(setup: &Setup, b: &mut Builder, q: Buf) -> Buf {
    let setup = Setup { samples: setup.predict_samples, ..setup.clone() };
    record_sample(&setup, b, q, Stream::Predict)
}

/// The gradient of (mu, rho) [E, 2P] and the regularizer's value [E].
pub fn record_gradient(setup: &Setup, b: &mut Builder, reg: Reg, q: Buf, dweights: Buf) -> (Buf, Buf) {
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
