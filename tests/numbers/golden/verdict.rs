//! Whether a reference kernel meets the golden numbers, in f64 and in f32.

use super::rounding::{Bounded, Worst};
use crate::common::golden::{Check, RELATIVE, WIDEST, numbers};
use serde_json::Value;

/// Element-wise |found - golden| <= tolerance; NaN or infinity anywhere is a failure. Returns the largest share of the
/// tolerance used, or the first mismatches.
pub fn compare(name: &str, found: &[f64], golden: &[f64], tolerance: &[f64]) -> Result<f64, String> {
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

pub fn check<T>(name: &str, found: Vec<T>, golden: &Value) -> Check<T> {
    Check { name: name.into(), found, golden: numbers(golden) }
}

#[derive(Default)]
pub struct Verdict {
    faults: Vec<String>,
    compared: usize,
    /// Largest share of the tolerance used, f64 and f32, and the widest f32 bound as a share of its array's scale.
    used: [f64; 3],
}

impl Verdict {
    pub fn judge<const S: bool>(
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
    pub fn close(self, family: &str, at_least: usize) {
        let [double, single, width] = self.used;
        println!(
            "{family}: {} numbers; share of the tolerance used: f64 {double:.1e}, f32 {single:.1e}; widest f32 bound {width:.1e}",
            self.compared
        );
        assert!(self.faults.is_empty(), "{family}:\n{}", self.faults.join("\n"));
        assert!(self.compared >= at_least, "{family}: only {} numbers compared, not {at_least}", self.compared);
    }
}

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
fn the_verdict_rejects_wrong_kernels_and_wide_bounds() {
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
