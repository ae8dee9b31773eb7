//! Likelihoods and the objective of VIFO.

use super::rounding::Worst;
use super::verdict::{Verdict, check, compare};
use super::{reals, shape, text};
use crate::common::golden::{Check, golden, numbers};
use serde_json::Value;
use vifo::base::Real;
use vifo::method::Reg;
use vifo::ops::head::*;
use vifo::ops::reduce::{LossReduce, SUM_STEPS, SUM_WORDS, loss_reduce};
use vifo::ops::regularizer::{self, ColumnMoments, SIGMA_EXP, SIGMA_SOFTPLUS, column_moments, sigma};
use vifo::ops::step::Prior;
use vifo::ops::{OpSpec, StepArgs};
use vifo::recipe::PriorKeys;

/// The mean of terms [rows, 3] as training reads it: (nll, regularizer, auxiliary regularizer).
pub fn mean_terms<T: Real>(terms: &[T], rows: u32, data_rows: u32, args: &StepArgs<T>) -> [T; 3] {
    let mut sums = [T::zero(); SUM_WORDS];
    let p = LossReduce { members: 1, samples: 1, rows, data_rows, has_extra: 0, extra_scale: 0.0 };
    loss_reduce(&p, args, terms, &[T::zero()], &mut sums);
    let full = sums[SUM_STEPS];
    [sums[0] / full, sums[1] / full, sums[2] / full]
}

fn likelihood<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (z, y): (Vec<T>, Vec<T>) = (reals(&row["z"]), reals(&row["y"]));
    let [rows, k] = shape(&row["z"])[..] else { panic!("z is no matrix") };
    let (rows, k) = (rows as u32, k as u32);
    let args = StepArgs { n_valid: rows, ..Default::default() };
    let poison = T::of(f64::NAN);
    let (mut terms, mut dz) = (vec![poison; 3 * rows as usize], vec![poison; z.len()]);
    if text(row, "kind") == "softmax" {
        softmax_head(&SoftmaxHead { replicas: 1, rows, k, share: 1 }, &args, &z, &y, &mut terms, &mut dz);
    } else {
        let noise_link = if text(row, "link") == "exp" { NOISE_EXP } else { NOISE_SOFTPLUS };
        gaussian_head(&GaussianHead { replicas: 1, rows, share: 1, noise_link }, &args, &z, &y, &mut terms, &mut dz);
    }
    let loss = mean_terms(&terms, rows, rows, &args)[0];
    vec![check("loss", vec![loss], &row["loss"]), check("dz", dz, &row["dz"])]
}

#[test]
fn likelihoods() {
    let (mut verdict, mut seen) = (Verdict::default(), [0; 4]);
    for row in golden("likelihoods") {
        let (name, at) = match (text(&row, "kind"), row["link"].as_str()) {
            ("softmax", None) if row["note"] == "large logits" => ("softmax of large logits", 0),
            ("softmax", None) => ("softmax", 1),
            ("gaussian", Some("exp")) => ("gaussian exp", 2),
            ("gaussian", Some("softplus")) => ("gaussian softplus", 3),
            other => panic!("unknown likelihood {other:?}"),
        };
        seen[at] += 1;
        witness!(verdict, name, likelihood(&row));
    }
    assert_eq!(seen, [1, 3, 1, 1], "golden rows are missing");
    verdict.close("likelihoods", 2 * (6 * (2 + 10 + 100) + 6 + 24));
}

// ---- VIFO ----

const REGS: [(&str, Reg); 7] = [
    ("naive", Reg::Naive),
    ("mean", Reg::Mean),
    ("mv", Reg::Mv),
    ("eb", Reg::Eb),
    ("mean_all", Reg::MeanAll),
    ("mv_all", Reg::MvAll),
    ("eb_all", Reg::EbAll),
];

/// DEF of make.py.
fn prior<T: Real>(reg: Reg) -> Prior<T> {
    let keys = PriorKeys { variance: None, gamma: 0.3, a: 0.05, alpha: None, beta: None, d: 0.1 };
    StepArgs { prior: reg.prior(&keys, 1.0), ..Default::default() }.cast().prior
}

struct Vifo<T> {
    head: VifoHead,
    rows: usize,
    k: usize,
    outputs: Vec<T>,
    y: Vec<T>,
}

impl<T: Real> Vifo<T> {
    fn new(row: &Value) -> Vifo<T> {
        let [rows, two_k] = shape(&row["outputs"])[..] else { panic!("outputs are no matrix") };
        let likelihood = if text(row, "task") == "regression" { LIKELIHOOD_GAUSSIAN } else { LIKELIHOOD_SOFTMAX };
        let sigma_link = if text(row, "sigma_link") == "exp" { SIGMA_EXP } else { SIGMA_SOFTPLUS };
        let (n, k) = (rows as u32, two_k as u32 / 2);
        let head = VifoHead {
            replicas: 1,
            rows: n,
            data_rows: n,
            k,
            share: 1,
            likelihood,
            noise_link: NOISE_EXP,
            sigma_link,
            regularizer: regularizer::REG_NONE,
            exact: u32::from(likelihood == LIKELIHOOD_GAUSSIAN),
            first_replica: 0,
            nu: 0.0,
            constant: 0.0,
        };
        Vifo { head, rows, k: two_k / 2, outputs: reals(&row["outputs"]), y: reals(&row["y"]) }
    }

    /// The expected -log p and its gradient with the golden normals [M, rows, K].
    fn sampled(&self, eps: &[T], samples: usize) -> (T, Vec<T>) {
        let (k, rows) = (self.k, self.rows);
        let weight = T::one() / T::of(rows as f64);
        let (mut loss, mut grad) = (T::zero(), vec![]);
        for b in 0..rows {
            let (mu, rho) = self.outputs[b * 2 * k..(b + 1) * 2 * k].split_at(k);
            let (sd, slope): (Vec<T>, Vec<T>) = rho.iter().map(|r| sigma(self.head.sigma_link, *r)).unzip();
            let (mut z, mut e, mut dmu, mut dsd) =
                (vec![T::zero(); k], vec![T::zero(); k], vec![T::zero(); k], vec![T::zero(); k]);
            let mut next = (0..samples * k).map(|i| eps[(i / k * rows + b) * k + i % k]);
            let eps = || next.next().expect("M K normals a row");
            loss += sampled_expectation(
                &self.head,
                samples as u32,
                mu,
                &sd,
                self.y[b],
                eps,
                &mut z,
                &mut e,
                weight,
                &mut dmu,
                &mut dsd,
            ) * weight;
            grad.extend(dmu);
            grad.extend(dsd.iter().zip(slope).map(|(d, s)| *d * s));
        }
        (loss, grad)
    }

    /// (mean terms, gradient) of the fused head, with the rows as data or all of them as auxiliary rows.
    fn fused(&self, reg: Option<Reg>, as_data: bool, eta: f64) -> ([T; 3], Vec<T>) {
        let n = self.rows as u32;
        let data_rows = if as_data { n } else { 0 };
        let regularizer = reg.map_or(regularizer::REG_NONE, Reg::code);
        let head = VifoHead { data_rows, regularizer, ..self.head };
        let (eta, eta_aux) = if as_data { (T::of(eta), T::of(f64::NAN)) } else { (T::of(f64::NAN), T::of(eta)) };
        let prior = reg.map_or(Prior::default(), prior);
        let args = StepArgs { n_valid: data_rows, n_samples: 4, eta, eta_aux, prior, ..Default::default() };
        let poison = T::of(f64::NAN);
        let mut moments = vec![poison; 6 * self.k];
        let p = ColumnMoments { replicas: 1, rows: n, data_rows, k: head.k, sigma_link: head.sigma_link };
        column_moments(&p, &args, &self.outputs, &mut moments);
        let (mut terms, mut grad) = (vec![poison; 3 * self.rows], vec![poison; self.outputs.len()]);
        let mut scratch = vec![poison; head.scratch()];
        vifo_head(&head, &args, &self.outputs, &self.y, &moments, &mut terms, &mut grad, &mut scratch);
        let means = StepArgs { n_valid: n, ..args };
        (mean_terms(&terms, n, data_rows, &means), grad)
    }
}

/// A regularizer stands alone in the gradient of auxiliary rows. In that of data rows it stands beside the likelihood:
/// where that has a closed form the sum is compared at the file's eta, else eta = 1 less eta = 0 (same normals) is Reg.
fn vifo<T: Real>(row: &Value) -> Vec<Check<T>> {
    let v = Vifo::<T>::new(row);
    let samples = shape(&row["eps"])[0];
    let (nll, dnll) = v.sampled(&reals(&row["eps"]), samples);
    let mut out = vec![check("nll", vec![nll], &row["nll"]), check("dnll", dnll, &row["dnll"])];
    if v.head.exact == 1 {
        let ([nll, ..], grad) = v.fused(None, true, 1.0);
        out.push(check("exact_nll", vec![nll], &row["exact_nll"]));
        out.push(check("exact_doutputs", grad, &row["exact_doutputs"]));
    }
    let golden = row["reg"].as_object().expect("regularizers");
    assert_eq!(golden.len(), REGS.len(), "a regularizer is missing on one side");
    for (name, reg) in REGS {
        let golden = &golden[name];
        let (auxiliary, grad) = v.fused(Some(reg), false, 1.0);
        out.push(check(&format!("{name} of auxiliary rows"), vec![auxiliary[2]], &golden["value"]));
        out.push(check(&format!("{name} doutputs of auxiliary rows"), grad, &golden["doutputs"]));
        let (with, one) = v.fused(Some(reg), true, 1.0);
        out.push(check(&format!("{name} of data rows"), vec![with[1]], &golden["value"]));
        if v.head.exact == 1 {
            let eta = numbers(&row["eta"])[0];
            let golden = numbers(&row["exact_doutputs"]).into_iter().zip(numbers(&golden["doutputs"]));
            let (name, golden) =
                (format!("exact_nll + eta {name} doutputs"), golden.map(|(l, r)| l + eta * r).collect());
            out.push(Check { name, found: v.fused(Some(reg), true, eta).1, golden });
        } else {
            let (_, none) = v.fused(Some(reg), true, 0.0);
            let difference = one.iter().zip(&none).map(|(a, b)| *a - *b).collect();
            out.push(check(&format!("{name} doutputs of data rows"), difference, &golden["doutputs"]));
        }
    }
    out
}

#[test]
fn vifo_objective() {
    let (mut verdict, mut seen) = (Verdict::default(), vec![]);
    for row in golden("vifo") {
        let name = format!("{} {}", text(&row, "task"), text(&row, "sigma_link"));
        witness!(verdict, &name, vifo(&row));
        seen.push(name);
    }
    seen.sort();
    let all = ["classification exp", "classification exp", "classification softplus", "classification softplus"];
    assert_eq!(seen[..4], all, "golden rows are missing");
    assert_eq!(seen[4..], ["regression exp", "regression softplus"], "golden rows are missing");
    verdict.close("vifo", 2 * 2 * (1 + 2 * 7) * 5 * (6 + 20 + 4));
}

// ---- the collapsed regularizers by quadrature ----

fn closed_form<T: Real>(row: &Value) -> Vec<Check<T>> {
    let all = [Reg::Naive, Reg::Mean, Reg::Mv, Reg::Eb, Reg::MeanAll, Reg::MvAll, Reg::EbAll];
    let name = text(row, "kind").replace('_', "");
    let reg = all.into_iter().find(|r| format!("{r:?}").to_lowercase() == name).expect("a regularizer");
    let (mu, s2) = (reals::<T>(&row["mu"]), reals::<T>(&row["s2"]));
    let (mut dmu, mut ds2) = ([T::zero()], [T::zero()]);
    let moments = [T::of(f64::NAN); 3];
    let value = regularizer::row(reg.code(), &prior(reg), &mu, &s2, &moments, T::one(), &mut dmu, &mut ds2);
    vec![check("closed form", vec![value], &row["closed_form"])]
}

#[test]
fn regularizers_by_quadrature() {
    let (mut verdict, mut seen) = (Verdict::default(), [0; 2]);
    for row in golden("regularizers_quadrature") {
        let kind = text(&row, "kind");
        seen[usize::from(kind == "mv")] += 1;
        assert!(["mean", "mv"].contains(&kind), "unknown regularizer {kind}");
        witness!(verdict, kind, closed_form(&row));
        // The quadrature's own error: make.py asks scipy for 1e-9 of the outer integral, and its logarithm is Reg.
        let found = closed_form::<f64>(&row)[0].found.clone();
        let quadrature = numbers(&row["by_quadrature"]);
        compare(kind, &found, &quadrature, &[1e-6 * quadrature[0].abs()]).unwrap_or_else(|e| panic!("quadrature: {e}"));
    }
    assert_eq!(seen, [4, 4], "golden rows are missing");
    verdict.close("regularizers_quadrature", 16);
}

// ---- optimizers ----
