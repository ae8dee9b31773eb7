//! Rows of the loss's scale.

use super::{Row, fill};
use vifo::ops::reduce::SUM_WORDS;
use vifo::ops::scaling::{ScaleDown, ScaleUp, ScaleUpdate};
use vifo::ops::{Op, StepArgs};

/// Members, replicas of each, numbers of a replica.
const SIZES: [(u32, u32, u32); 4] = [(1, 1, 1), (3, 2, 65), (2, 1, 64), (1, 3, 63)];

/// Scales from 1 to 2^24, with some sound steps.
fn state(members: u32) -> Vec<f32> {
    [0.0, 3.0, -16.0, 0.0, 8.0, 1.0][..2 * members as usize].to_vec()
}

pub fn scale_up() -> Vec<Row> {
    let of = |(members, samples, count): (u32, u32, u32)| {
        let (replicas, n) = (members * samples, (members * samples * count) as usize);
        let op = Op::ScaleUp(ScaleUp { replicas, samples, count });
        // So small that the largest scale keeps them within what 16 bits hold.
        let inputs = vec![fill(n, 1, -1e-3, 1e-3), state(members)];
        Row::new(op, format!("{members} x {samples} x {count}"), inputs, vec![vec![f32::NAN; n]])
    };
    SIZES.into_iter().map(of).collect()
}

pub fn scale_down() -> Vec<Row> {
    let of = |(members, samples, count): (u32, u32, u32)| {
        let (replicas, n) = (members * samples, (members * samples * count) as usize);
        let op = Op::ScaleDown(ScaleDown { replicas, samples, count });
        Row::new(op, format!("{members} x {samples} x {count}"), vec![state(members)], vec![fill(n, 1, -1e3, 1e3)])
    };
    SIZES.into_iter().map(of).collect()
}

/// Sound and not, at every end of the scale, over some steps that double it and some that do not.
pub fn scale_update() -> Vec<Row> {
    let norms = [1.0, f32::INFINITY, f32::NAN, 0.0];
    let states = [[0.0, 0.0], [0.0, 5.0], [-16.0, 1.0], [-15.0, 0.0], [8.0, 2.0], [-3.0, 1.0]];
    let all: Vec<(f32, [f32; 2])> = norms.into_iter().flat_map(|n| states.map(|s| (n, s))).collect();
    let of = |members: usize| {
        let op = Op::ScaleUpdate(ScaleUpdate { members: members as u32, patience: 3 });
        let norm = all.iter().map(|(norm, _)| *norm).cycle().take(members).collect();
        let state = all.iter().map(|(_, state)| *state).cycle().take(members).flatten().collect();
        let mut row =
            Row::new(op, format!("{members} members"), vec![norm], vec![state, vec![0.0; members * SUM_WORDS]]);
        row.args = (17..21).map(|step| StepArgs { step, ..row.args[0] }).collect();
        row
    };
    [1, 24, 65].into_iter().map(of).collect()
}
