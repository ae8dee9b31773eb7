//! Golden numbers of another program (tests/golden/*.json, written by make.py beside them) and the verdict on a reference kernel: in f64 it
//! must meet the number to 1e-9 of its array's largest element, in f32 to the running-error bound that the same kernel derives
//! (bounded.rs); a bound wider than 2 % of its array fails.

use super::bounded::{Bounded, SLACK};
use super::{Tolerance, compare};
use serde_json::Value;
use std::collections::BTreeMap;
use vifo::base::Real;

/// kernels in f64: both programs lose a few hundred units of 1e-16, and 1e-9 is room, not need.
pub const RELATIVE: f64 = 1e-9;
/// A derived f32 bound above this share of its array would let anything pass; such a check must be rethought.
pub const WIDEST: f64 = 0.02;

/// The rows of a family; `VIFO_GOLDEN` names another folder.
pub fn golden(family: &str) -> Vec<Value> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let folder = std::env::var("VIFO_GOLDEN").unwrap_or_else(|_| here.into());
    let path = std::path::Path::new(&folder).join(format!("{family}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A number, a list, or {"shape", "data"}.
pub fn numbers(v: &Value) -> Vec<f64> {
    match v.get("data").unwrap_or(v) {
        Value::Array(list) => list.iter().map(|v| v.as_f64().expect("a number")).collect(),
        single => vec![single.as_f64().unwrap_or_else(|| panic!("no number: {single}"))],
    }
}

pub fn reals<T: Real>(values: Vec<f64>) -> Vec<T> {
    values.into_iter().map(T::of).collect()
}

/// What a reference kernel found beside what the golden file says.
pub struct Check<T> {
    pub name: String,
    pub found: Vec<T>,
    pub golden: Vec<f64>,
}

pub fn poison<T: Real>(n: usize) -> Vec<T> {
    vec![T::of(f64::NAN); n]
}

/// Share of the tolerance used, or the first number that is wrong, missing or not finite.
pub fn compare_f64(name: &str, found: &[f64], golden: &[f64]) -> Result<f64, String> {
    if found.len() != golden.len() || golden.is_empty() {
        return Err(format!("{name}: {} numbers found, {} golden", found.len(), golden.len()));
    }
    let allowed = RELATIVE * golden.iter().fold(0f64, |m, g| m.max(g.abs()));
    let mut used = 0f64;
    for (i, (f, g)) in found.iter().zip(golden).enumerate() {
        let distance = (f - g).abs();
        // Written so that NaN and infinity, on either side, fail.
        if !(allowed.is_finite() && distance <= allowed) {
            return Err(format!("{name}[{i}]: found {f:e}, golden {g:e}, allowed {allowed:.1e}"));
        }
        used = used.max(distance / allowed.max(f64::MIN_POSITIVE));
    }
    Ok(used)
}

/// One array in f64 and in f32; the shares of both tolerances used, and the width of the derived bound.
pub fn judge(row: &str, double: &Check<f64>, single: &Check<f32>, bound: &Check<Bounded>) -> Result<[f64; 3], String> {
    let name = format!("{row} {}", double.name);
    let golden = &double.golden;
    let used = compare_f64(&format!("{name} in f64"), &double.found, golden)?;
    let scale = golden.iter().fold(0f64, |m, g| m.max(g.abs()));
    let bounds: Vec<f64> = bound.found.iter().map(|b| SLACK * b.error + RELATIVE * scale).collect();
    let widest = bounds.iter().fold(0f64, |m, b| if *b > m || b.is_nan() { *b } else { m }) / scale;
    if widest.is_nan() || widest > WIDEST {
        return Err(format!("{name}: the f32 bound is {widest:.1e} of the array's scale"));
    }
    let report = compare(&format!("{name} in f32"), &single.found, golden, Tolerance::Each(&bounds))?;
    Ok([used, report.share, widest])
}

/// A reference kernel's findings in f64, f32 and the scalar that bounds f32's errors.
pub type Witnesses = (Vec<Check<f64>>, Vec<Check<f32>>, Vec<Check<Bounded>>);

/// The three of a reference kernel that is generic over its scalar.
macro_rules! witnesses {
    ($kernel:ident, $row:expr) => {
        ($kernel::<f64>($row), $kernel::<f32>($row), $kernel::<Bounded>($row))
    };
}
pub(crate) use witnesses;

/// Judges every row of a golden file by the witnesses of its `key`; None leaves a row to another test. `rows` = how many of
/// each there must be, `compared` = numbers in them, so that a file that lost some fails.
pub fn verdict(
    family: &str,
    key: &str,
    witnesses: impl Fn(&str, &Value) -> Option<Witnesses>,
    rows: &[(&str, i32)],
    compared: usize,
) {
    let (mut seen, mut count, mut faults) = (BTreeMap::new(), 0, vec![]);
    let mut used = BTreeMap::<String, [f64; 3]>::new();
    for row in golden(family) {
        let kind = row[key].as_str().expect("a name").to_string();
        let Some((double, single, bound)) = witnesses(&kind, &row) else { continue };
        for ((double, single), bound) in double.iter().zip(&single).zip(&bound) {
            count += double.golden.len();
            match judge(&kind, double, single, bound) {
                Ok(shares) => {
                    let most = used.entry(format!("{kind} {}", double.name)).or_default();
                    (0..3).for_each(|i| most[i] = most[i].max(shares[i]));
                }
                Err(fault) => faults.push(fault),
            }
        }
        *seen.entry(kind).or_insert(0) += 1;
    }
    println!("share of the tolerance used in f64 and in f32, and the widest f32 bound:");
    used.iter().for_each(|(name, [a, b, c])| println!("  {name:24} {a:.1e} {b:.3} {c:.1e}"));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let seen: Vec<(&str, i32)> = seen.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    assert_eq!(seen, rows);
    assert_eq!(count, compared, "numbers in these rows");
}
