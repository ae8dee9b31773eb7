//! The functions of `special` through another program, against those of the library.

use super::graph::{Dim, Graph, Val};
use super::proto::{Element, ModelProto, OperatorSetIdProto};
use super::{graph, special};
use crate::base::gamma::digamma;
use crate::method::scale_mixture::ScaleMixture;
use crate::ops::head::{NOISE_EXP, NOISE_SOFTPLUS};
use rten::Value;
use rten_tensor::prelude::*;

/// A function of columns of floats, run by rten.
fn run(columns: &[Vec<f64>], record: impl Fn(&mut Graph, &[Val]) -> Val) -> Vec<f64> {
    let (mut g, n) = (Graph::default(), columns[0].len());
    let names: Vec<String> = (0..columns.len()).map(|i| format!("x{i}")).collect();
    let inputs: Vec<Val> = names.iter().map(|name| g.input(name, Element::Float, &[Dim::Rows], "")).collect();
    let value = record(&mut g, &inputs);
    g.output("y", &value, Element::Float, &[Dim::Rows], "");
    let model = ModelProto {
        ir_version: Some(graph::IR_VERSION),
        graph: Some(g.finish("test", "")),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(graph::OPSET) }],
        ..Default::default()
    };
    let net = rten::Model::load(super::bytes(&model).expect("bytes")).unwrap_or_else(|e| panic!("{e}"));
    let id = |name: &str| net.node_id(name).expect("a value");
    let column = |c: &Vec<f64>| Value::from_shape([n], c.iter().map(|v| *v as f32).collect::<Vec<f32>>()).expect("n");
    let feed = names.iter().zip(columns).map(|(name, c)| (id(name), column(c).into())).collect();
    match net.run(feed, &[id("y")], None).unwrap_or_else(|e| panic!("{e}")).pop() {
        Some(Value::FloatTensor(t)) => t.to_vec().into_iter().map(f64::from).collect(),
        other => panic!("{other:?}"),
    }
}

/// Largest difference as a share of what is wanted.
fn relative(found: &[f64], want: impl Iterator<Item = f64>) -> f64 {
    let one = |(f, w): (&f64, f64)| {
        let gap = (f / w - 1.0).abs();
        if gap.is_nan() { f64::INFINITY } else { gap }
    };
    found.iter().zip(want).map(one).fold(0.0, f64::max)
}

fn single(v: f64) -> f64 {
    f64::from(v as f32)
}

/// From the floor of the noise to its ceiling and beyond, known and uncertain. Single precision loses some units of 6e-8
/// times the size of l, which is 12 here.
#[test]
fn mean_noise_is_that_of_the_scale_mixture() {
    let sds = [0.0, 1e-7, 1e-3, 0.05, 0.3, 1.0, 2.0, 4.0, 6.0];
    let grid: Vec<(f64, f64)> =
        sds.iter().flat_map(|sd| (-60..=60).map(move |i| (single(f64::from(i) * 0.2 + 0.013), single(*sd)))).collect();
    let columns = [grid.iter().map(|p| p.0).collect(), grid.iter().map(|p| p.1).collect()];
    for link in [NOISE_EXP, NOISE_SOFTPLUS] {
        let found = run(&columns, |g, x| special::mean_noise(g, link, &x[0], &x[1]));
        let want = grid.iter().map(|&(l, sd)| ScaleMixture { m: 0.0, v: 0.0, l, sd, link }.mean_noise());
        let gap = relative(&found, want);
        assert!(gap < 1e-5, "link {link}: {gap:e}");
        let known = run(&columns[..1], |g, x| special::noise(g, link, &x[0]));
        let want = grid.iter().map(|&(l, _)| ScaleMixture { m: 0.0, v: 0.0, l, sd: 0.0, link }.mean_noise());
        assert!(relative(&known, want) < 3e-6);
        // The comparison tells an sd that is off by a thousandth.
        let off = run(&columns, |g, x| {
            let sd = g.affine(&x[1], 1.001, 0.0);
            special::mean_noise(g, link, &x[0], &sd)
        });
        let want = grid.iter().map(|&(l, sd)| ScaleMixture { m: 0.0, v: 0.0, l, sd, link }.mean_noise());
        assert!(relative(&off, want) > 1e-4);
    }
}

#[test]
fn softplus_and_digamma_keep_their_digits() {
    let x: Vec<f64> = (-400..=400).map(|i| single(f64::from(i) * 0.05 + 0.007)).collect();
    let found = run(std::slice::from_ref(&x), |g, x| special::softplus(g, &x[0]));
    assert!(relative(&found, x.iter().map(|x| x.max(0.0) + (-x.abs()).exp().ln_1p())) < 3e-6);
    let x: Vec<f64> = (0..600).map(|i| single(2.0 * 1.02f64.powi(i))).collect();
    let found = run(std::slice::from_ref(&x), |g, x| special::digamma(g, &x[0]));
    assert!(relative(&found, x.iter().map(|x| digamma(*x))) < 2e-6);
}
