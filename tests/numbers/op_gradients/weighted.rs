//! Rows that count for more or less than others.

use super::TASKS;
use super::bench::Bench;
use super::objective::Kind;
use super::objective::{N_ROWS, Objective, setup, short_batch, step_args};
use vifo::data::Task;
use vifo::method::{ModelSpec, Reg};
use vifo::ops::StepArgs;
use vifo::program::Act;
use vifo::recipe::AuxSource;

/// Weighted rows, in the full batch and in a short one, for every head and for the regularizers that see all rows.
#[test]
fn weighted_rows() {
    let mut bench = Bench::default();
    let kinds = [Kind::Base, Kind::Vi(Reg::Mean), Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::MeanAll)];
    let kinds = kinds.into_iter().chain([Kind::Vifo(Reg::MvAll), Kind::Vifo(Reg::EbAll), Kind::Vifo(Reg::Eb)]);
    for kind in kinds {
        for task in TASKS {
            bench.try_both(&ModelSpec { weighted: true, ..setup(kind, task, Act::Silu) });
        }
    }
    bench.try_both(&ModelSpec { weighted: true, ..setup(Kind::Dirichlet, Task::Classification, Act::Silu) });
    bench.try_both(&ModelSpec {
        weighted: true,
        aux: Some(AuxSource::Uniform),
        ..setup(Kind::Vifo(Reg::MvAll), Task::Regression, Act::Silu)
    });
    // VBLL's divergence is reported times 1/n, a parameter in single precision: of eight rows that is exact.
    for task in TASKS {
        let whole = ModelSpec { weighted: true, n_rows: 8, batch: 8, ..setup(Kind::Vbll, task, Act::Silu) };
        for s in [whole.clone(), short_batch(&whole)] {
            let rows = [0, 1, 2, 3, 4, 5, 6, 0];
            let objective = Objective::on_rows(&s, &rows, &[0.5, 2.0, 0.0, 1.5, 1.0, 0.25, 1.75, 1.0]);
            bench.one(objective, &s, &step_args(&s, 0.3, 0.0), Act::Silu);
        }
    }
    bench.close("weighted rows", 2 * (8 * 2 + 2));
}

/// A row of weight k counts as k rows, for the loss, for the regularizer of each row and for their gradient. The weights have
/// mean 1, so that the sum of them is the number of rows: what is weighed against the whole data (the divergence of VI's and
/// VBLL's weights, the squares of weights) stands against N rows, and against the repeated rows has the weight eta M / N. Loss and gradient are sums
/// of some thousand terms in another order: 1e-12 of their size.
#[test]
fn a_row_of_weight_k_counts_as_k_rows() {
    let times = [2usize, 0, 1, 4, 1, 3, 3];
    let repeated: Vec<usize> = (0..N_ROWS).flat_map(|row| std::iter::repeat_n(row, times[row])).collect();
    let m = repeated.len();
    let weights: Vec<f64> = times.iter().map(|&k| k as f64 * N_ROWS as f64 / m as f64).collect();
    let regs = [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb, Reg::MeanAll, Reg::MvAll, Reg::EbAll, Reg::L2];
    let mut cases: Vec<(Kind, Task)> = regs.into_iter().map(|reg| (Kind::Vifo(reg), Task::Regression)).collect();
    for task in TASKS {
        cases.extend([(Kind::Base, task), (Kind::Vi(Reg::Eb), task), (Kind::Vbll, task)]);
    }
    cases.push((Kind::Dirichlet, Task::Classification));
    for (kind, task) in cases {
        // The closed form: samples are drawn by the place of a row.
        let exact = matches!(kind, Kind::Vifo(_));
        let one = ModelSpec { exact, weighted: true, ..setup(kind, task, Act::Silu) };
        let many = ModelSpec { weighted: false, n_rows: m as u32, batch: m as u32, ..one.clone() };
        let of_whole = matches!(kind, Kind::Vi(_) | Kind::Vbll | Kind::Vifo(Reg::L2));
        let eta = 0.3;
        let args = step_args(&one, eta, 0.0);
        let many_args = StepArgs {
            batch_start: 0,
            n_valid: m as u32,
            eta: if of_whole { eta * m as f64 / N_ROWS as f64 } else { eta },
            ..args
        };
        let mut a = Objective::on_rows(&one, &(0..N_ROWS).collect::<Vec<_>>(), &weights);
        let mut b = Objective::on_rows(&many, &repeated, &[]);
        let start = a.start.clone();
        let (loss_a, loss_b) = (a.loss(&args, &start), b.loss(&many_args, &start));
        let (grad_a, grad_b) = (a.gradient(&args), b.gradient(&many_args));
        for (x, y) in loss_a.iter().zip(&loss_b).chain(grad_a.iter().zip(&grad_b)) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{kind:?} {task:?}: {x:e} against {y:e}");
        }
        let unweighted =
            Objective::on_rows(&ModelSpec { weighted: false, ..one }, &(0..N_ROWS).collect::<Vec<_>>(), &[])
                .loss(&args, &start);
        assert!((unweighted[0] - loss_a[0]).abs() > 1e-3, "{kind:?}: weights that change nothing show nothing");
    }
}
