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

mod bounded;
mod heads;
mod layers;
mod steps;

use bounded::*;

// ---- a scalar with its own f32 rounding bound ----

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
