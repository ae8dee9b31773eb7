//! The start against its formula in f64, its moments, and the rates by name.

use super::*;
use crate::net::Last;

const N_IN: usize = 3;

fn net(embedded: Vec<u32>, activation: Act) -> Mlp {
    Mlp {
        n_in: N_IN as u32,
        hidden: vec![70, 65],
        last: Last::Linear(2),
        activation,
        embedded,
        tables: vec![],
        scaled: false,
        parametric: false,
        dropout: 0.1,
    }
}

fn inputs(n: usize) -> Vec<f32> {
    (0..n * N_IN).map(|i| ((i * i) as f32 * 0.37).sin() * 2.0).collect()
}

fn start_of(net: &Mlp, member: u32, x: &[f32]) -> Vec<f32> {
    start(net, 5, member, x.len() / N_IN, |i| &x[i * N_IN..][..N_IN])
}

/// (output of the layer before the bias, bias) of each hidden layer in f64, unit by unit: [layer][unit] = (products of the rows, b).
fn by_hand(net: &Mlp, w: &[f32], x: &[f32]) -> Vec<Vec<(Vec<f64>, f64)>> {
    let layout = net.layout();
    let part = |name: &str| {
        let v = layout.views.iter().find(|v| v.name == name).expect("a view");
        layout.to_torch(v, w).into_iter().map(f64::from).collect::<Vec<f64>>()
    };
    let mut rows: Vec<Vec<f64>> = x.chunks(N_IN).map(|r| r.iter().map(|v| f64::from(*v)).collect()).collect();
    if !net.embedded.is_empty() {
        let [f, p, a, c] = ["frequency", "phase", "weight", "bias"].map(|n| part(&format!("embedding.{n}")));
        for row in &mut rows {
            let mut made = vec![];
            for (j, &column) in net.embedded.iter().enumerate() {
                let x = row[column as usize];
                for o in 0..3 {
                    let wave = |h: usize| (std::f64::consts::TAU * x * f[j * 16 + h] + p[j * 16 + h]).cos();
                    made.push((0..16).map(|h| a[(j * 3 + o) * 16 + h] * wave(h)).sum::<f64>() + c[j * 3 + o]);
                }
            }
            made.append(row);
            *row = made;
        }
    }
    let act = |z: f64| match net.activation {
        Act::Relu => z.max(0.0),
        Act::Silu => z / (1.0 + (-z).exp()),
        Act::Mish => z * z.exp().ln_1p().tanh(),
        Act::Selu if z > 0.0 => 1.0507009873554805 * z,
        Act::Selu => 1.0507009873554805 * 1.6732632423543772 * z.exp_m1(),
    };
    let mut all = vec![];
    for i in 0..net.hidden.len() {
        let (weight, bias) = (part(&format!("{}.weight", 2 * i)), part(&format!("{}.bias", 2 * i)));
        let n = rows[0].len();
        let product = |row: &[f64], u: usize| row.iter().zip(&weight[u * n..]).map(|(a, b)| a * b).sum::<f64>();
        let units = (0..bias.len()).map(|u| (rows.iter().map(|r| product(r, u)).collect(), bias[u])).collect();
        rows = rows.iter().map(|r| (0..bias.len()).map(|u| act(product(r, u) + bias[u])).collect()).collect();
        all.push(units);
    }
    all
}

/// Weights have their layer's sd and biases lie among the negated products of the rows, within five standard errors; the last
/// layer's are 0; another member starts elsewhere.
#[test]
fn weights_are_drawn_and_units_bend_within_the_rows() {
    for (embedded, activation) in [(vec![], Act::Relu), (vec![0, 2], Act::Mish)] {
        let (net, x) = (net(embedded, activation), inputs(40));
        let (layout, w) = (net.layout(), start_of(&net, 0, &x));
        for view in layout.views.iter().filter(|v| matches!(v.kind, ViewKind::Linear { .. })) {
            let part = &w[view.offset..][..view.len()];
            let n = part.len() as f64;
            let sd = (part.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / n).sqrt();
            let want = 1.0 / (view.fan_in() as f64).sqrt();
            assert!((sd / want - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "{}: {sd} {want}", view.name);
        }
        let last = layout.views.last().expect("a bias");
        assert!(last.name == "4.bias" && w[last.offset..].iter().all(|v| *v == 0.0));
        for units in by_hand(&net, &w, &x) {
            let mut inside = 0.0;
            for (products, bias) in &units {
                let (low, high) = products.iter().fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(-p), h.max(-p)));
                // f32 of a layer's sums.
                assert!(*bias >= low - 1e-5 && *bias <= high + 1e-5, "{low} {bias} {high}");
                inside += f64::from(u8::from(bias.abs() > 1e-3));
            }
            assert!(inside > 0.9 * units.len() as f64, "the biases were left at 0");
        }
        let other = start_of(&net, 1, &x);
        assert!(w.iter().zip(&other).filter(|(a, b)| a == b).count() < 10);
        assert_eq!(w, start_of(&net, 0, &x));
    }
}

/// The biases are the formula's, from the counters that the page names.
#[test]
fn biases_are_the_mixtures_of_the_page() {
    for (embedded, activation) in [(vec![], Act::Silu), (vec![1], Act::Relu)] {
        let (net, x) = (net(embedded, activation), inputs(7));
        let (layout, w) = (net.layout(), start_of(&net, 3, &x));
        let uniform = |step: u32, element: u32| {
            f64::from(Draw { seed: 5, stream: Stream::Init as u32, step, replica: 3 }.uniform(element))
        };
        for (i, units) in by_hand(&net, &w, &x).into_iter().enumerate() {
            let name = format!("{}.bias", 2 * i);
            let first = layout.views.iter().find(|v| v.name == name).expect("a view").offset as u32;
            for (unit, (products, bias)) in units.into_iter().enumerate() {
                let element = first + unit as u32;
                let shares: Vec<f64> = (0..5).map(|j| -(1.0 - uniform(8 + j, element)).ln()).collect();
                let row = |j: u32| products[(uniform(3 + j, element) * 7.0) as usize];
                let mixed: f64 = (0..5).map(|j| shares[j as usize] * row(j)).sum();
                let want = -mixed / shares.iter().sum::<f64>();
                // f32 of a layer's sums of up to 70 products.
                assert!((bias - want).abs() < 1e-5 * (1.0 + want.abs()), "{name}[{unit}]: {bias} {want}");
            }
        }
    }
}

/// Of many rows 256 are looked at, and not the first ones alone: rows beyond them move the start.
#[test]
fn a_large_table_is_sampled() {
    let net = net(vec![], Act::Relu);
    let mut x = inputs(1000);
    let before = start_of(&net, 0, &x);
    x[256 * N_IN..].iter_mut().for_each(|v| *v += 50.0);
    let (after, layout) = (start_of(&net, 0, &x), net.layout());
    let bias = &layout.views[1];
    let moved = (bias.offset..bias.offset + bias.len()).filter(|i| (before[*i] - after[*i]).abs() > 1.0).count();
    assert!(moved > bias.len() / 2, "{moved} of {} biases moved", bias.len());
    assert!(start(&net, 5, 0, 0, |_| &[]).iter().all(|v| v.is_finite()), "no rows");
}

#[test]
fn rates_by_name() {
    let layout = net(vec![0], Act::Relu).layout();
    let rates = rates(&layout);
    for (view, want) in layout.views.iter().zip([
        0.1,
        0.1,
        0.1,
        0.1,
        1.0 / 6f32.sqrt(),
        0.1,
        1.0 / 70f32.sqrt(),
        0.1,
        1.0 / 65f32.sqrt(),
        0.1,
    ]) {
        assert!(rates[view.offset..][..view.len()].iter().all(|r| *r == want), "{}", view.name);
    }
    assert_eq!(rates.len(), layout.total);
    let vbll = Mlp { last: Last::Vbll(2), ..net(vec![], Act::Relu) }.layout();
    let of = |name: &str| vbll.views.iter().find(|v| v.name == name).map(rate);
    assert_eq!([of("4.weight"), of("4.log_scale"), of("4.log_noise")], [Some(1.0); 3]);
}
