//! The CPU twins against the numbers of another program: tests/golden/*.json, written by make.py beside them (PyTorch in
//! f64, and scipy's quadrature). `VIFO_GOLDEN` names another folder, such as one made with another seed.
//!
//! Every check runs three times through the same generic twin. In f64 it must meet the golden number to 1e-9 of the
//! array's largest element. In f32 it must meet it to a bound that is derived, not chosen: the third run is on
//! `Bounded`, a scalar that carries its own rounding error (Wilkinson's running error analysis), so a sum of n products
//! is granted about n * 2^-24 * sum |terms|, a softmax what its exponents lose, ten steps of Adam what ten steps lose.
//! A bound wider than 2 % of its array fails the test. Only the whole network takes the likely error instead of the worst.

use serde_json::Value;
use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use vifo::base::Real;
use vifo::exec::cpu::CpuExecutor;
use vifo::method::{BETA1, BETA2, Reg};
use vifo::net::{Mlp, Pass};
use vifo::ops::head::*;
use vifo::ops::linear::*;
use vifo::ops::optimizer::{Adam, Sgd, adam, sgd};
use vifo::ops::reduce::{LossReduce, SUM_STEPS, SUM_WORDS, loss_reduce};
use vifo::ops::regularizer::{self, ColumnMoments, SIGMA_EXP, SIGMA_SOFTPLUS, column_moments, sigma};
use vifo::ops::step::Prior;
use vifo::ops::{Op, OpSpec, StepArgs};
use vifo::program::builder::Tensor;
use vifo::program::{Act, Builder, Role};
use vifo::recipe::PriorKeys;

// ---- the comparer ----

/// f64 twins: both programs lose a few hundred units of 1e-16, and 1e-9 is room, not need.
const RELATIVE: f64 = 1e-9;
/// A derived f32 bound above this share of its array would let anything pass; such a check must be rethought.
const WIDEST: f64 = 0.02;

/// Element-wise |found - golden| <= tolerance; NaN or infinity anywhere is a failure. Returns the largest share of the
/// tolerance used, or the first mismatches.
fn compare(name: &str, found: &[f64], golden: &[f64], tolerance: &[f64]) -> Result<f64, String> {
    if found.len() != golden.len() || tolerance.len() != golden.len() || golden.is_empty() {
        return Err(format!(
            "{name}: {} numbers found, {} golden, {} tolerances",
            found.len(),
            golden.len(),
            tolerance.len()
        ));
    }
    let (mut used, mut wrong) = (0f64, vec![]);
    for (i, ((f, g), t)) in found.iter().zip(golden).zip(tolerance).enumerate() {
        let distance = (f - g).abs();
        if t.is_finite() && distance <= *t {
            used = used.max(distance / t.max(f64::MIN_POSITIVE));
        } else {
            wrong.push(format!("[{i}] found {f:e}, golden {g:e}, allowed {t:.1e}"));
        }
    }
    match wrong.len() {
        0 => Ok(used),
        n => Err(format!("{name}: {n} of {} wrong: {}", golden.len(), wrong[..n.min(3)].join("; "))),
    }
}

/// Numbers of one twin beside what the golden file says of them.
struct Check<T> {
    name: String,
    found: Vec<T>,
    golden: Vec<f64>,
}

fn check<T>(name: &str, found: Vec<T>, golden: &Value) -> Check<T> {
    Check { name: name.into(), found, golden: numbers(golden) }
}

#[derive(Default)]
struct Verdict {
    faults: Vec<String>,
    compared: usize,
    /// Largest share of the tolerance used, f64 and f32, and the widest f32 bound as a share of its array's scale.
    used: [f64; 3],
}

impl Verdict {
    fn judge<const S: bool>(
        &mut self,
        row: &str,
        f64s: Vec<Check<f64>>,
        f32s: Vec<Check<f32>>,
        bounds: Vec<Check<Bounded<S>>>,
    ) {
        for ((a, b), bound) in f64s.into_iter().zip(f32s).zip(bounds) {
            let scale = a.golden.iter().fold(0f64, |m, g| m.max(g.abs()));
            let exact: Vec<f64> = a.golden.iter().map(|g| RELATIVE * g.abs().max(scale)).collect();
            let derived: Vec<f64> = bound.found.iter().map(|b| b.tolerance() + RELATIVE * scale).collect();
            let width = derived.iter().fold(0f64, |m, t| m.max(*t)) / scale;
            if width.is_nan() || width > WIDEST {
                self.faults.push(format!("{row} {}: the f32 bound is {width:.1e} of the array's scale", a.name));
            }
            self.used[2] = self.used[2].max(width);
            let single: Vec<f64> = b.found.iter().map(|v| *v as f64).collect();
            for (i, result) in [
                compare(&format!("{row} {} in f64", a.name), &a.found, &a.golden, &exact),
                compare(&format!("{row} {} in f32", a.name), &single, &a.golden, &derived),
            ]
            .into_iter()
            .enumerate()
            {
                match result {
                    Ok(used) => self.used[i] = self.used[i].max(used),
                    Err(fault) => self.faults.push(fault),
                }
                self.compared += a.golden.len();
            }
        }
    }

    /// Prints the share of the tolerance used; fails on any fault and on fewer comparisons than the file must hold.
    fn close(self, family: &str, at_least: usize) {
        let [double, single, width] = self.used;
        println!(
            "{family}: {} numbers; share of the tolerance used: f64 {double:.1e}, f32 {single:.1e}; widest f32 bound {width:.1e}",
            self.compared
        );
        assert!(self.faults.is_empty(), "{family}:\n{}", self.faults.join("\n"));
        assert!(self.compared >= at_least, "{family}: only {} numbers compared, not {at_least}", self.compared);
    }
}

macro_rules! witness {
    ($verdict:expr, $row:expr, $twin:ident($($arg:expr),*)) => {
        witness!($verdict, $row, $twin($($arg),*), Worst)
    };
    ($verdict:expr, $row:expr, $twin:ident($($arg:expr),*), $bound:ty) => {
        $verdict.judge($row, $twin::<f64>($($arg),*), $twin::<f32>($($arg),*), $twin::<$bound>($($arg),*))
    };
}

// ---- a scalar with its own f32 rounding bound ----

/// `value` in f64 and the distance of the same computation in f32: a bound on it where errors add up at their worst
/// (`Worst`), its standard deviation where roundings are taken as independent (`Likely`).
#[derive(Debug, Clone, Copy, Default)]
struct Bounded<const SQUARES: bool> {
    value: f64,
    error: f64,
}

type Worst = Bounded<false>;
/// For deep chains, whose worst case grows by the absolute row sums of every layer and says nothing. Roundings are
/// independent to good accuracy (Higham & Mary, SIAM J. Sci. Comput. 41, 2019); eight standard deviations, each rounding
/// counted as a whole unit where a uniform one has 0.58, leave room for what the paths of a network share.
type Likely = Bounded<true>;

/// Unit roundoff of f32.
const U: f64 = 1.0 / 16_777_216.0;

impl<const SQUARES: bool> Bounded<SQUARES> {
    fn tolerance(&self) -> f64 {
        if SQUARES { 8.0 * self.error } else { self.error }
    }
    fn join(a: f64, b: f64) -> f64 {
        if SQUARES { a.hypot(b) } else { a + b }
    }
    /// The result of one f32 operation whose inputs move it by at most `error`: `units` roundings of what f32 sees, and
    /// two subnormals for underflow.
    fn after(value: f64, error: f64, units: f64) -> Self {
        Bounded { value, error: Self::join(error, units * U * (value.abs() + error) + 2f64.powi(-148)) }
    }
}
impl<const S: bool> PartialEq for Bounded<S> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl<const S: bool> PartialOrd for Bounded<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}
impl<const S: bool> Add for Bounded<S> {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Bounded::after(self.value + b.value, Self::join(self.error, b.error), 1.0)
    }
}
impl<const S: bool> Neg for Bounded<S> {
    type Output = Self;
    fn neg(self) -> Self {
        Bounded { value: -self.value, ..self }
    }
}
impl<const S: bool> Sub for Bounded<S> {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}
impl<const S: bool> Mul for Bounded<S> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let error = Self::join(self.value.abs() * b.error, b.value.abs() * self.error) + self.error * b.error;
        Bounded::after(self.value * b.value, error, 1.0)
    }
}
impl<const S: bool> Div for Bounded<S> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let q = self.value / b.value;
        let room = b.value.abs() - b.error;
        let error = if room > 0.0 { Self::join(self.error, q.abs() * b.error) / room } else { f64::INFINITY };
        Bounded::after(q, error, 1.0)
    }
}
macro_rules! assign {
    ($($trait:ident $method:ident $op:tt;)*) => {$(
        impl<const S: bool> $trait for Bounded<S> {
            fn $method(&mut self, b: Self) {
                *self = *self $op b;
            }
        }
    )*};
}
assign! { AddAssign add_assign +; SubAssign sub_assign -; MulAssign mul_assign *; DivAssign div_assign /; }
impl<const S: bool> Sum for Bounded<S> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Bounded::default(), |a, b| a + b)
    }
}
impl<const S: bool> Real for Bounded<S> {
    /// A golden number enters f32 with the rounding that it really suffers.
    fn of(x: f64) -> Self {
        Bounded { value: x, error: (x - x as f32 as f64).abs() }
    }
    fn f64(self) -> f64 {
        self.value
    }
    // The f32 functions are within 3 ulp of 2 units each, ln near 1 within 3 ulp of 1/2 (the test in base/real.rs).
    fn exp(self) -> Self {
        Bounded::after(self.value.exp(), self.value.exp() * self.error.exp_m1(), 6.0)
    }
    fn ln(self) -> Self {
        let room = self.value - self.error;
        let moved = match self.error == 0.0 {
            true => 0.0,
            false if room > 0.0 => self.error / room,
            false => f64::INFINITY,
        };
        Bounded::after(self.value.ln(), Self::join(moved, 3.0 * U), 6.0)
    }
    fn ln_1p_unit(self) -> Self {
        Bounded::after(self.value.ln_1p(), self.error / (1.0 + self.value - self.error), 6.0)
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        // |sqrt a - sqrt b| is at most |a - b| / (sqrt a + sqrt b) and at most sqrt |a - b|.
        let error = if root > 0.0 { (self.error / root).min(self.error.sqrt()) } else { self.error.sqrt() };
        Bounded::after(root, error, 1.0)
    }
    fn abs(self) -> Self {
        Bounded { value: self.value.abs(), ..self }
    }
    fn fma(self, b: Self, c: Self) -> Self {
        let product = Self::join(self.value.abs() * b.error, b.value.abs() * self.error) + self.error * b.error;
        let error = Self::join(product, c.error);
        Bounded::after(self.value * b.value + c.value, error, 1.0)
    }
    fn is_finite(self) -> bool {
        self.value.is_finite()
    }
    // f32 may come down on the other side: the larger error covers both.
    fn at_least(self, low: Self) -> Self {
        let value = if self.value < low.value { low.value } else { self.value };
        Bounded { value, error: self.error.max(low.error) }
    }
    fn at_most(self, high: Self) -> Self {
        let value = if self.value > high.value { high.value } else { self.value };
        Bounded { value, error: self.error.max(high.error) }
    }
}

// ---- reading ----

fn golden(family: &str) -> Vec<Value> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let folder = std::env::var("VIFO_GOLDEN").unwrap_or_else(|_| here.into());
    let path = std::path::Path::new(&folder).join(format!("{family}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A number, a list, or {"shape", "data"}.
fn numbers(v: &Value) -> Vec<f64> {
    match v.get("data").unwrap_or(v) {
        Value::Array(list) => list.iter().map(|v| v.as_f64().expect("a number")).collect(),
        single => vec![single.as_f64().unwrap_or_else(|| panic!("no number: {single}"))],
    }
}

fn reals<T: Real>(v: &Value) -> Vec<T> {
    numbers(v).into_iter().map(T::of).collect()
}

fn shape(v: &Value) -> Vec<usize> {
    v["shape"].as_array().expect("a shape").iter().map(|n| n.as_u64().expect("a size") as usize).collect()
}

fn text<'a>(v: &'a Value, key: &str) -> &'a str {
    v[key].as_str().unwrap_or_else(|| panic!("no {key}"))
}

fn transposed<T: Real>(m: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..rows * cols).map(|i| m[(i % rows) * cols + i / rows]).collect()
}

// ---- layers ----

/// PyTorch's weight is [n_out, n_in]; ours lies transposed, the bias behind it.
fn linear<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (x, dy): (Vec<T>, Vec<T>) = (reals(&row["x"]), reals(&row["dy"]));
    let [rows, n_in] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let n_out = shape(&row["bias"])[0];
    let mut w = transposed(&reals::<T>(&row["weight"]), n_out, n_in);
    w.extend(reals::<T>(&row["bias"]));
    let (rows_, n_in_, n_out_) = (rows as u32, n_in as u32, n_out as u32);
    let (bias, stride) = (n_in_ * n_out_, w.len() as u32);
    let forward = LinearForward {
        replicas: 1,
        share: 1,
        rows: rows_,
        n_in: n_in_,
        n_out: n_out_,
        weight: 0,
        bias,
        stride,
        activation: ACT_NONE,
    };
    let poison = T::of(f64::NAN);
    let (mut y, mut pre) = (vec![poison; rows * n_out], vec![poison; 1]);
    linear_forward(&forward, &x, &w, &mut y, &mut pre, &mut vec![poison; forward.scratch()]);
    let data = LinearBackwardData {
        replicas: 1,
        rows: rows_,
        n_in: n_in_,
        n_out: n_out_,
        weight: 0,
        stride,
        activation: ACT_NONE,
    };
    let mut dx = vec![poison; rows * n_in];
    linear_backward_data(&data, &dy, &w, &[poison], &mut dx, &mut vec![poison; data.scratch()]);
    let weight = LinearBackwardWeight {
        replicas: 1,
        share: 1,
        rows: rows_,
        n_in: n_in_,
        n_out: n_out_,
        weight: 0,
        bias,
        stride,
    };
    let mut grad = vec![poison; w.len()];
    linear_backward_weight(&weight, &x, &dy, &mut grad, &mut vec![poison; weight.scratch()]);
    let dbias = grad.split_off(n_in * n_out);
    vec![
        check("y", y, &row["y"]),
        check("dx", dx, &row["dx"]),
        check("dweight", transposed(&grad, n_in, n_out), &row["dweight"]),
        check("dbias", dbias, &row["dbias"]),
    ]
}

/// An activation lives in the epilogue of a linear layer: an identity matrix without bias on either side of it.
fn activation<T: Real>(row: &Value, activation: u32) -> Vec<Check<T>> {
    let (x, dy): (Vec<T>, Vec<T>) = (reals(&row["x"]), reals(&row["dy"]));
    let [rows, n] = shape(&row["x"])[..] else { panic!("x is no matrix") };
    let identity: Vec<T> = (0..n * n + n).map(|i| T::of(f64::from(i < n * n && i / n == i % n))).collect();
    let (rows, n, stride) = (rows as u32, n as u32, identity.len() as u32);
    let p =
        LinearForward { replicas: 1, share: 1, rows, n_in: n, n_out: n, weight: 0, bias: n * n, stride, activation };
    let poison = T::of(f64::NAN);
    let (mut y, mut pre, mut dx) = (vec![poison; x.len()], vec![poison; x.len()], vec![poison; x.len()]);
    linear_forward(&p, &x, &identity, &mut y, &mut pre, &mut vec![poison; p.scratch()]);
    let saved = if activation == ACT_SILU { &pre } else { &y };
    let p = LinearBackwardData { replicas: 1, rows, n_in: n, n_out: n, weight: 0, stride, activation };
    linear_backward_data(&p, &dy, &identity, saved, &mut dx, &mut vec![poison; p.scratch()]);
    vec![check("y", y, &row["y"]), check("dx", dx, &row["dx"])]
}

#[test]
fn layers() {
    let (mut verdict, mut seen) = (Verdict::default(), [0; 3]);
    for row in golden("layers") {
        match text(&row, "layer") {
            "linear" => {
                witness!(verdict, "linear", linear(&row));
                seen[0] += 1;
            }
            "relu" => {
                witness!(verdict, "relu", activation(&row, ACT_RELU));
                seen[1] += 1;
            }
            "silu" => {
                witness!(verdict, "silu", activation(&row, ACT_SILU));
                seen[2] += 1;
            }
            // Of the convolutional networks, which a later release brings.
            "conv2d" | "max_pool2" | "avg_pool" | "batch_norm_train" => {}
            other => panic!("unknown layer {other}"),
        }
    }
    assert_eq!(seen, [4, 1, 1], "golden rows are missing");
    verdict.close("layers", 2 * (4 * 50 + 50 * 50 + 3 * 65 + 65 * 33 + 72));
}

// ---- likelihoods ----

/// The mean of terms [rows, 3] as training reads it: (nll, regularizer, auxiliary regularizer).
fn mean_terms<T: Real>(terms: &[T], rows: u32, data_rows: u32, args: &StepArgs<T>) -> [T; 3] {
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

/// Ten steps down 1/2 w'Aw + sum w: the gradient is A w + 1.
fn optimizer<T: Real>(row: &Value) -> Vec<Check<T>> {
    let (mut w, a): (Vec<T>, Vec<T>) = (reals(&row["w0"]), reals(&row["A"]));
    let n = w.len();
    let (mut first, mut second) = (vec![T::zero(); n], vec![T::zero(); n]);
    let golden = row["after_each_step"].as_array().expect("steps");
    assert_eq!(golden.len(), 10, "ten steps");
    let mut out = vec![];
    for (t, golden) in golden.iter().enumerate() {
        let grad: Vec<T> =
            a.chunks_exact(n).map(|r| r.iter().zip(&w).map(|(a, w)| *a * *w).sum::<T>() + T::one()).collect();
        if text(row, "kind") == "adam" {
            let bias = |beta: f64| 1.0 - beta.powi(t as i32 + 1);
            let args = StepArgs { lr: 0.01, bias1: bias(0.9), bias2: bias(0.999), ..Default::default() }.cast();
            let p = Adam { replicas: 1, count: n as u32, beta1: BETA1, beta2: BETA2, eps: 1e-8, only_warm: 0 };
            adam(&p, &args, &grad, &[T::of(f64::NAN)], &mut w, &mut first, &mut second);
        } else {
            let args = StepArgs { lr: 0.05, weight_decay: 1e-3, ..Default::default() }.cast();
            sgd(
                &Sgd { replicas: 1, count: n as u32, momentum: 0.9 },
                &args,
                &grad,
                &[T::of(f64::NAN)],
                &mut w,
                &mut first,
            );
        }
        out.push(check(&format!("weights after step {}", t + 1), w.clone(), golden));
    }
    out
}

#[test]
fn optimizers() {
    let (mut verdict, mut seen) = (Verdict::default(), vec![]);
    for row in golden("methods") {
        match text(&row, "kind") {
            kind @ ("adam" | "sgd") => {
                witness!(verdict, kind, optimizer(&row));
                seen.push(kind.to_string());
            }
            // Of tests/golden_methods.rs, and Laplace's of its own test.
            "dirichlet" | "repulsive_phi" | "vbll" | "swag_sample" | "laplace_last_layer" => {}
            other => panic!("unknown method {other}"),
        }
    }
    assert_eq!(seen, ["adam", "sgd"], "golden rows are missing");
    verdict.close("optimizers", 2 * 2 * 10 * 6);
}

// ---- whole networks ----

/// `fill` of make.py, in PyTorch's order.
fn fill(tensor: usize, n: usize, fan_in: f64) -> Vec<f64> {
    let at = |i: usize| (12.9898 * (i as f64 + 1.0) + 78.233 * (tensor as f64 + 1.0)).sin();
    (0..n).map(|i| at(i) * (2.0 / fan_in.max(1.0)).sqrt()).collect()
}

/// The recorded program of the MLP with a softmax head: outputs, loss and the gradient of every tensor.
fn mlp<T: Real>(row: &Value) -> Vec<Check<T>> {
    let net = Mlp { n_in: 1, hidden: vec![50; 5], last: 4.into(), activation: Act::Relu, dropout: 0.0 };
    let layout = net.layout();
    let parameters = row["parameters"].as_array().expect("parameters");
    assert_eq!(parameters.len(), layout.views.len(), "the layout has other tensors");
    let mut flat = vec![];
    for (t, (p, view)) in parameters.iter().zip(&layout.views).enumerate() {
        assert_eq!(
            (text(p, "name"), numbers(&p["shape"])),
            (view.name.as_str(), view.shape.iter().map(|&n| n as f64).collect())
        );
        let fan = text(p, "rule").strip_prefix("fill(t,i,fan=").and_then(|r| r.strip_suffix(')')).expect("a fill rule");
        let values: Vec<T> = fill(t, view.len(), fan.parse().expect("a fan")).into_iter().map(T::of).collect();
        flat.extend(if let [n_out, n_in] = view.shape[..] { transposed(&values, n_out, n_in) } else { values });
    }
    let x: Vec<T> = (0..7).map(|i| T::of(-2.0 + 4.0 * i as f64 / 6.0)).collect();

    let mut b = Builder::new(1, layout.total as u32);
    let (data, labels) = (b.buffer("x", 7, Role::Input), b.buffer("labels", 7, Role::Input));
    let weights = b.buffer("weights", layout.total, Role::State);
    b.set_weights(weights);
    let z = net.record(&mut b, Tensor::input(data, 1, 7, (1, 1, 1)), Pass::training(0));
    let (terms, dz) = (b.buffer("terms", 21, Role::Output), b.buffer("dz", 28, Role::Scratch));
    b.push(Op::SoftmaxHead(SoftmaxHead { replicas: 1, rows: 7, k: 4, share: 1 }), &[z.buf, labels], &[terms, dz]);
    let grad = b.backward(z, dz);
    b.keep(grad);
    b.keep(z.buf);
    let mut exec = CpuExecutor::<T>::new(b.finish().expect("a sound program"));
    exec.set(data, &x);
    exec.set(labels, &reals::<T>(&row["labels"]));
    exec.set(weights, &flat);
    let args = StepArgs { n_valid: 7, ..Default::default() };
    exec.step(&args);

    let loss = mean_terms(exec.get(terms), 7, 7, &args)[0];
    let mut out =
        vec![check("outputs", exec.get(z.buf).to_vec(), &row["outputs"]), check("loss", vec![loss], &row["loss"])];
    for (p, view) in parameters.iter().zip(&layout.views) {
        let ours = exec.get(grad)[view.offset..view.offset + view.len()].to_vec();
        let torch = if let [n_out, n_in] = view.shape[..] { transposed(&ours, n_in, n_out) } else { ours };
        let norm = torch.iter().map(|g| *g * *g).sum::<T>().sqrt();
        let first = torch[..torch.len().min(5)].to_vec();
        out.push(check(&format!("gradient norm of {}", view.name), vec![norm], &p["grad_norm"]));
        // Scale: the first five may all be of units that are off; the tensor's norm is what they are parts of.
        let mut five = check(&format!("gradient of {}", view.name), first, &p["grad_first5"]);
        five.found.push(norm);
        five.golden.extend(numbers(&p["grad_norm"]));
        out.push(five);
    }
    out
}

#[test]
fn networks() {
    let (mut verdict, mut seen) = (Verdict::default(), 0);
    for row in golden("networks") {
        match text(&row, "network") {
            "mlp 5x50, 1 input" => {
                witness!(verdict, "mlp", mlp(&row), Likely);
                seen += 1;
            }
            // A later release.
            "alexnet" | "preresnet20" => {}
            other => panic!("unknown network {other}"),
        }
    }
    assert_eq!(seen, 1, "golden rows are missing");
    verdict.close("networks", 2 * (28 + 1 + 12 * 6));
}

// ---- the harness itself ----

#[test]
fn the_comparer_rejects_a_wrong_number_and_nan() {
    let one = |found: f64, golden: f64| compare("one", &[0.5, found], &[0.5, golden], &[1e-9, RELATIVE * 0.25]);
    assert!(one(0.25, 0.25).is_ok());
    assert!(one(0.25 * (1.0 + 5e-10), 0.25).is_ok_and(|used| used > 0.4 && used < 0.6));
    for (found, golden) in [
        (0.25 * (1.0 + 2e-9), 0.25),
        (-0.25, 0.25),
        (f64::NAN, 0.25),
        (0.25, f64::NAN),
        (f64::NAN, f64::NAN),
        (f64::INFINITY, 0.25),
        (f64::INFINITY, f64::INFINITY),
    ] {
        assert!(one(found, golden).is_err(), "{found} {golden}");
    }
    assert!(compare("short", &[1.0], &[1.0, 2.0], &[1.0, 1.0]).is_err());
    assert!(compare("empty", &[], &[], &[]).is_err());
    for boundless in [f64::INFINITY, f64::NAN] {
        assert!(compare("no bound", &[1.0], &[1.0], &[boundless]).is_err());
    }
}

/// A wrong coefficient is caught in f64 and in f32, and a bound wide enough to hide one is itself a fault.
#[test]
fn the_verdict_rejects_wrong_twins_and_wide_bounds() {
    let faults = |f64s: f64, f32s: f32, error: f64| {
        let mut verdict = Verdict::default();
        let one = |name: &str| name.to_string();
        verdict.judge(
            "row",
            vec![Check { name: one("a"), found: vec![f64s], golden: vec![2.0] }],
            vec![Check { name: one("a"), found: vec![f32s], golden: vec![2.0] }],
            vec![Check { name: one("a"), found: vec![Worst { value: 2.0, error }], golden: vec![2.0] }],
        );
        verdict.faults.len()
    };
    assert_eq!(faults(2.0, 2.0, 1e-6), 0);
    assert_eq!(faults(2.0 + 1e-8, 2.0, 1e-6), 1, "f64");
    assert_eq!(faults(2.0, 2.00001, 1e-6), 1, "f32");
    assert_eq!(faults(2.0, f32::NAN, 1e-6), 1, "NaN");
    assert_eq!(faults(2.0, 2.0, 0.1), 1, "a bound of 5 % of the scale");
    assert_eq!(faults(2.0, 2.0, f64::INFINITY), 2, "no bound");
    assert_eq!(faults(2.0, 2.0, f64::NAN), 1, "no bound");
}

/// The running bound covers what f32 really loses, and by no more than the worst case of a sum: n^2 u / 2 in its terms.
#[test]
fn the_bound_holds_the_f32_error() {
    fn series<T: Real>() -> T {
        let mut sum = T::zero();
        for i in 1..=200 {
            let x = T::of(0.37 * i as f64);
            sum += (x.exp().ln() - x.sqrt() * x.sqrt() + T::one() / x).softplus();
        }
        sum
    }
    let (exact, single, bound) = (series::<f64>(), series::<f32>() as f64, series::<Worst>());
    assert_eq!(bound.value, exact);
    assert!((single - exact).abs() <= bound.error, "{single} {exact} {bound:?}");
    assert!((single - exact).abs() > 0.0 && bound.error < 200.0 * 200.0 * U * exact, "{bound:?}");
}
