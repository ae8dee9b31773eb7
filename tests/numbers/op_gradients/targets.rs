//! Several targets at once.

use super::bench::Bench;
use super::objective::Kind;
use super::objective::{MEMBERS, Objective, mlp, setup, step_args};
use vifo::data::Task;
use vifo::method::{ModelSpec, Reg};
use vifo::net::{Mlp, Net};
use vifo::program::Act;
use vifo::recipe::AuxSource;

/// The same with `t` targets.
fn with_targets(s: &ModelSpec, t: u32) -> ModelSpec {
    let net = Net::Mlp(Mlp { last: s.method.last_layer(s.task, s.k * t), ..mlp(s).clone() });
    ModelSpec { targets: t, net, ..s.clone() }
}

#[test]
fn several_targets() {
    let mut bench = Bench::default();
    let kinds = [Kind::Base, Kind::Vi(Reg::Mean), Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::MvAll), Kind::Vifo(Reg::L2)];
    for kind in kinds {
        bench.try_both(&with_targets(&setup(kind, Task::Regression, Act::Silu), 2));
    }
    let aux = ModelSpec { aux: Some(AuxSource::Uniform), ..setup(Kind::Vifo(Reg::Mean), Task::Regression, Act::Silu) };
    bench.try_both(&with_targets(&aux, 3));
    bench.close("several targets", 6 * 2);
}

/// One network with three targets has the mean of the losses of three networks that have its hidden layers and, of its
/// last layer, the columns of one target each; and so has its gradient, whose hidden part is the mean of theirs. In closed
/// form, since samples are drawn by the place of a row. Sums of some thousand terms in another order: 1e-12 of their size.
#[test]
fn several_targets_are_the_mean_of_each() {
    const T: usize = 3;
    for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::Eb)] {
        let exact = matches!(kind, Kind::Vifo(_));
        let one = ModelSpec { exact, ..setup(kind, Task::Regression, Act::Silu) };
        let all = with_targets(&one, T as u32);
        let width = mlp(&one).last.n_out() as usize;
        let n_hidden = 4;
        let (first, _) = *one.layout().layers().last().expect("a layer");
        let (len, len_all) = (one.member_len(), all.member_len());
        assert_eq!(len_all - first, (n_hidden + 1) * T * width, "weights [n_in, n_out], then biases");
        // The place in the large network of each number of the small one of target `t`.
        let place = |t: usize, i: usize| match i.checked_sub(first) {
            None => i,
            Some(i) => first + i / width * T * width + t * width + i % width,
        };
        let mut whole = Objective::new(&all);
        let args = step_args(&all, 0.3, 0.0);
        let start = whole.start.clone();
        let (loss, gradient) = (whole.loss(&args, &start), whole.gradient(&args));
        let (mut mean_loss, mut mean_gradient) = ([0.0; MEMBERS], vec![0.0; gradient.len()]);
        for t in 0..T {
            let mut part = Objective::of_target(&one, t as u32);
            part.start =
                (0..MEMBERS).flat_map(|m| (0..len).map(move |i| m * len_all + place(t, i))).map(|i| start[i]).collect();
            let (args, w) = (step_args(&one, 0.3, 0.0), part.start.clone());
            let (loss, gradient) = (part.loss(&args, &w), part.gradient(&args));
            for m in 0..MEMBERS {
                mean_loss[m] += loss[m] / T as f64;
                for i in 0..len {
                    mean_gradient[m * len_all + place(t, i)] += gradient[m * len + i] / T as f64;
                }
            }
        }
        for (x, y) in loss.iter().zip(&mean_loss).chain(gradient.iter().zip(&mean_gradient)) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "{kind:?}: {x:e} against {y:e}");
        }
        let apart = Objective::of_target(&one, 0).loss(&step_args(&one, 0.3, 0.0), &vec![0.1; MEMBERS * len]);
        let other = Objective::of_target(&one, 1).loss(&step_args(&one, 0.3, 0.0), &vec![0.1; MEMBERS * len]);
        assert!((apart[0] - other[0]).abs() > 1e-3, "targets that are alike show nothing");
    }
}
