//! The objectives of the methods and networks. A new method gets its rows here.

use super::bench::Bench;
use super::objective::Kind;
use super::objective::{Objective, mlp, setup, step_args};
use super::{ACTS, LINKS, TASKS, noise_links};
use vifo::data::Task;
use vifo::method::{ModelSpec, Reg};
use vifo::net::{AlexNet, Cnn, Last, Mlp, Net, PreResNet};
use vifo::program::Act;
use vifo::program::builder::Embedded;
use vifo::recipe::{AuxSource, Link};

/// The image networks, as small as they come, on seven images, the last batch short: convolutions of every stride, pooling,
/// batch norm with its statistics of data and auxiliary rows, residual sums, and what the methods make of their outputs.
#[test]
fn image_networks() {
    let nets = |last: Last, activation: Act| {
        vec![
            Net::Cnn(Cnn { size: 5, channels: 2, last, widths: [3, 2], hidden: 3, activation, dropout: 0.0 }),
            // Channels in quadruples: its pools are joined with its convolutions.
            Net::Cnn(Cnn { size: 5, channels: 2, last, widths: [4, 4], hidden: 3, activation, dropout: 0.0 }),
            Net::AlexNet(AlexNet { channels: 1, last, widths: [2, 2, 3, 2, 1], hidden: 2, dropout: 0.0 }),
            Net::PreResNet(PreResNet { channels: 1, last, depth: 8, width: 1, dropout: 0.0 }),
        ]
    };
    let mut bench = Bench::default();
    for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vi(Reg::Naive)] {
        let aux = matches!(kind, Kind::Vifo(_)).then_some(AuxSource::Uniform);
        let s = setup(kind, Task::Classification, Act::Silu);
        for net in nets(kind.last(s.task, s.k), Act::Silu) {
            // AlexNet is large: one objective will do for its layers. Pools that choose among many values have a kink like a
            // ReLU's; the smallest cnn's are far from a change.
            let activation = match &net {
                Net::AlexNet(_) if kind != Kind::Base => continue,
                Net::Cnn(cnn) if cnn.widths == [3, 2] => Act::Silu,
                _ => Act::Relu,
            };
            let batch = if matches!(net, Net::AlexNet(_)) { 2 } else { 4 };
            let s = ModelSpec { net, aux, batch, ..s.clone() };
            let args = step_args(&s, 0.3, if aux.is_some() { 0.7 } else { 0.0 });
            bench.one(Objective::new(&s), &s, &args, activation);
        }
    }
    bench.close("image networks", 10);
}

/// Factors of the inputs, with and without an embedding before them, and of the hidden units with each activation: on plain
/// networks, with auxiliary rows, and under drawn weights.
#[test]
fn scales_and_parametric_activations() {
    let mut bench = Bench::default();
    for activation in [Act::Silu, Act::Mish, Act::Selu, Act::Relu] {
        for (scaled, embedded) in [(false, vec![]), (true, vec![]), (true, vec![1])] {
            for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vi(Reg::Naive)] {
                let aux = matches!(kind, Kind::Vifo(_)).then_some(AuxSource::Uniform);
                let s = setup(kind, Task::Regression, activation);
                let net = Mlp { embedded: embedded.clone(), scaled, parametric: true, ..mlp(&s).clone() };
                bench.try_both(&ModelSpec { net: Net::Mlp(net), aux, ..s });
            }
        }
        // The activation fused, behind a scale.
        let s = setup(Kind::Base, Task::Classification, activation);
        bench.try_both(&ModelSpec { net: Net::Mlp(Mlp { scaled: true, ..mlp(&s).clone() }), ..s });
    }
    bench.close("scales and parametric activations", 4 * (3 * 3 + 1) * 2);
}

/// A periodic embedding of one of two inputs and of both, and Mish behind it: on plain networks, with auxiliary rows, and under
/// drawn weights, of which each sample has frequencies of its own.
#[test]
fn periodic_embedding_and_mish() {
    let mut bench = Bench::default();
    for task in TASKS {
        for embedded in [vec![1], vec![0, 1]] {
            for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vi(Reg::Naive)] {
                let aux = matches!(kind, Kind::Vifo(_)).then_some(AuxSource::Uniform);
                let s = setup(kind, task, Act::Mish);
                let net = Net::Mlp(Mlp { embedded: embedded.clone(), ..mlp(&s).clone() });
                bench.try_both(&ModelSpec { net, aux, ..s });
            }
        }
    }
    bench.close("periodic embedding", 2 * 2 * 3 * 2);
}

/// Tables of the levels of one of two inputs, of both, and behind a periodic embedding of the other, through which the gradient
/// must go on. The seven rows have levels -2 to 1 (those below 0 are none); the auxiliary rows draw between two levels.
#[test]
fn embedding_of_levels() {
    let mut bench = Bench::default();
    let table = |input, levels, width| Embedded { input, levels, width };
    for task in TASKS {
        for (embedded, tables) in [
            (vec![], vec![table(1, 2, 3)]),
            (vec![], vec![table(0, 2, 2), table(1, 3, 1)]),
            (vec![0], vec![table(1, 2, 3)]),
        ] {
            for kind in [Kind::Base, Kind::Vifo(Reg::Mean), Kind::Vi(Reg::Naive)] {
                let aux = matches!(kind, Kind::Vifo(_)).then_some(AuxSource::Uniform);
                let s = setup(kind, task, Act::Mish);
                let net = Mlp { embedded: embedded.clone(), tables: tables.clone(), ..mlp(&s).clone() };
                bench.try_both(&ModelSpec { net: Net::Mlp(net), aux, ..s });
            }
        }
    }
    bench.close("embedding of levels", 2 * 3 * 3 * 2);
}

#[test]
fn base() {
    let mut bench = Bench::default();
    for task in TASKS {
        for activation in ACTS {
            for &noise_link in noise_links(task) {
                bench.try_both(&ModelSpec { noise_link, ..setup(Kind::Base, task, activation) });
            }
        }
    }
    bench.close("base", 2 * 2 * 3);
}

/// Student's t on plain networks, under drawn weights, and under VIFO by samples and by quadrature, with auxiliary rows beside it.
#[test]
fn student_t() {
    let mut bench = Bench::default();
    for nu in [2.2, 4.0, 30.0] {
        for noise_link in LINKS {
            for kind in [Kind::Base, Kind::Vi(Reg::Naive), Kind::Vifo(Reg::Mean), Kind::Vifo(Reg::EbAll)] {
                let is_vifo = matches!(kind, Kind::Vifo(_));
                for exact in if is_vifo { &[false, true][..] } else { &[false] } {
                    let s = setup(kind, Task::Regression, Act::Silu);
                    let aux = is_vifo.then_some(AuxSource::Uniform);
                    bench.try_both(&ModelSpec { nu: Some(nu), noise_link, aux, exact: *exact, ..s });
                }
            }
        }
    }
    bench.close("student-t", 3 * 2 * (2 + 2 * 2) * 2);
}

fn vifo(bench: &mut Bench, reg: Reg) {
    for task in TASKS {
        for activation in ACTS {
            for &noise_link in noise_links(task) {
                for sigma_link in LINKS {
                    for aux in [None, Some(AuxSource::Uniform)] {
                        for exact in [false, true] {
                            let closed_form = task == Task::Regression && noise_link == Link::Exp;
                            if (exact && !closed_form) || (aux.is_some() && reg == Reg::L2) {
                                continue;
                            }
                            let s = setup(Kind::Vifo(reg), task, activation);
                            bench.try_both(&ModelSpec { noise_link, sigma_link, aux, exact, ..s });
                        }
                    }
                }
            }
        }
    }
}

/// Cases of one VIFO regularizer: 2 batches, 2 activations, 2 sigma links, and 4 = 3 likelihoods + 1 closed form.
const VIFO_CASES: usize = 2 * 2 * 2 * 4;

#[test]
fn vifo_rowwise() {
    let mut bench = Bench::default();
    [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb].into_iter().for_each(|reg| vifo(&mut bench, reg));
    bench.close("vifo, row by row", 4 * 2 * VIFO_CASES);
}

#[test]
fn vifo_over_all_rows() {
    let mut bench = Bench::default();
    [Reg::MeanAll, Reg::MvAll, Reg::EbAll].into_iter().for_each(|reg| vifo(&mut bench, reg));
    bench.close("vifo, over all rows", 3 * 2 * VIFO_CASES);
}

#[test]
fn vifo_l2() {
    let mut bench = Bench::default();
    vifo(&mut bench, Reg::L2);
    bench.close("vifo-l2", VIFO_CASES);
}

#[test]
fn auxiliary_grid() {
    let mut bench = Bench::default();
    for reg in [Reg::Mean, Reg::EbAll] {
        let s = setup(Kind::Vifo(reg), Task::Regression, Act::Silu);
        let net = Net::Mlp(Mlp { n_in: 1, ..mlp(&s).clone() });
        bench.try_both(&ModelSpec { aux: Some(AuxSource::Grid), net, ..s });
    }
    bench.close("auxiliary grid", 4);
}

#[test]
fn vi() {
    let mut bench = Bench::default();
    for reg in [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb] {
        for groups_by_layer in [false, true] {
            for task in TASKS {
                for activation in ACTS {
                    for &noise_link in noise_links(task) {
                        bench.try_both(&ModelSpec {
                            noise_link,
                            groups_by_layer,
                            ..setup(Kind::Vi(reg), task, activation)
                        });
                    }
                }
            }
        }
    }
    bench.close("vi", 4 * 2 * 2 * 2 * 3);
}
