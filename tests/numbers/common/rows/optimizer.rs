//! Rows of the optimizers.

use super::{COUNTS, Row, fill};
use vifo::ops::optimizer::{Adam, Sgd};
use vifo::ops::{Op, StepArgs};

/// Clipped and not, decayed and not; the norm at which clipping begins lies between the two limits.
const LIMITS: [(f64, f64); 4] = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.01), (100.0, 0.01)];

/// `rated`: the op reads rates, some of them 0, which replicas share.
fn optimizer(op: impl Fn(u32, u32) -> Op, rated: u32, states: usize) -> Vec<Row> {
    let mut all = vec![];
    for (replicas, count) in COUNTS {
        for (clip, decay) in LIMITS {
            let n = (replicas * count) as usize;
            let grad = fill(n, 1, -1.0, 1.0);
            let norm = grad.chunks(count as usize).map(|g| g.iter().map(|v| v * v).sum()).collect();
            let mut rates = if rated == 1 { fill(count as usize, 5, 0.0, 2.0) } else { vec![f32::NAN] };
            if count > 1 {
                rates[0] = 0.0;
            }
            // Weights, first moments or velocities, and second moments, which are positive.
            let outputs = [fill(n, 2, -1.0, 1.0), fill(n, 3, -0.1, 0.1), fill(n, 4, 1e-6, 0.1)][..states].to_vec();
            let row = Row::new(
                op(replicas, count),
                format!("{replicas} x {count} clip {clip} decay {decay} rated {rated}"),
                vec![grad, norm, rates],
                outputs,
            );
            let mut row = row.with(|a| (a.clip_norm, a.weight_decay) = (clip, decay));
            row.args.push(StepArgs { step: 18, ..row.args[0] });
            all.push(row);
        }
    }
    all
}

/// The first of two replicas has a gradient that is not finite, and keeps its numbers.
fn guarded(op: Op, states: usize) -> Row {
    let grad = [vec![f32::INFINITY; 65], fill(65, 1, -1.0, 1.0)].concat();
    let outputs = [fill(130, 2, -1.0, 1.0), fill(130, 3, -0.1, 0.1), fill(130, 4, 1e-6, 0.1)][..states].to_vec();
    let inputs = vec![grad, vec![f32::INFINITY, 20.0], vec![f32::NAN]];
    Row::new(op, "guarded", inputs, outputs).with(|a| a.clip_norm = 1.0)
}

pub fn adam() -> Vec<Row> {
    let of = |only_warm, decoupled, rated| {
        let op = move |replicas, count| {
            let (beta1, beta2, eps) = (0.9, 0.999, 1e-8);
            Op::Adam(Adam { replicas, count, beta1, beta2, eps, only_warm, decoupled, rated, guarded: 0 })
        };
        optimizer(op, rated, 3)
    };
    let warm = of(1, 0, 0).into_iter().map(|row| row.with(|a| a.warm = 1));
    // Moments below those that count: at this rate the first would move a weight by 50 if it were not taken as 0.
    let p = Adam {
        replicas: 2,
        count: 65,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        only_warm: 0,
        decoupled: 0,
        rated: 0,
        guarded: 0,
    };
    let outputs = vec![fill(130, 2, -1.0, 1.0), fill(130, 3, 5e-31, 9e-31), fill(130, 4, 1e-38, 9e-37)];
    let inputs = vec![vec![0.0; 130], vec![0.0; 2], vec![f32::NAN]];
    let dying = Row::new(Op::Adam(p), "moments that died away", inputs, outputs);
    let dying = dying.with(|a| (a.lr, a.weight_decay) = (1e24, 0.0));
    let forms = [(0, 1), (1, 0), (1, 1)].into_iter().flat_map(|(decoupled, rated)| of(0, decoupled, rated));
    let guarded = guarded(Op::Adam(Adam { guarded: 1, ..p }), 3);
    // The last ones act: a test changes one of their parameters and looks for the difference.
    of(1, 0, 0)
        .into_iter()
        .take(4)
        .chain(warm.take(4))
        .chain([dying, guarded])
        .chain(forms)
        .chain(of(0, 0, 0))
        .collect()
}

pub fn sgd() -> Vec<Row> {
    let of = |rated| {
        let op = move |replicas, count| Op::Sgd(Sgd { replicas, count, momentum: 0.9, rated, guarded: 0 });
        optimizer(op, rated, 2)
    };
    let guarded = guarded(Op::Sgd(Sgd { replicas: 2, count: 65, momentum: 0.9, rated: 0, guarded: 1 }), 2);
    let warm = of(0).into_iter().take(4).map(|row| row.with(|a| a.warm = 1));
    of(0).into_iter().chain(warm).chain([guarded]).chain(of(1)).collect()
}
