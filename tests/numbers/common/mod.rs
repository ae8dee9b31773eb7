//! One strict comparer for every numeric test, and the scalar that derives its tolerances.

pub mod bounded;
pub mod golden;
pub mod parity;
pub mod rows;
pub mod runs;
pub mod toy;

use std::fmt::Write;

/// Largest permitted difference.
#[derive(Debug, Clone, Copy)]
pub enum Tolerance<'a> {
    /// Bit for bit, but for the payload of a NaN and the sign of zero.
    Exact,
    /// One bound for all elements.
    Absolute(f64),
    /// One bound an element.
    Each(&'a [f64]),
}

/// What a passed comparison used of its tolerance: 1 would be all of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    pub share: f64,
    pub at: usize,
}

/// Passes if every element of `got` lies within the tolerance of `want`. NaN and infinity fail unless both sides say so;
/// outputs are poisoned with NaN before a run, so an element that was never written fails as well.
pub fn compare(name: &str, got: &[f32], want: &[f64], tol: Tolerance) -> Result<Report, String> {
    if got.len() != want.len() {
        return Err(format!("{name}: {} elements, wanted {}", got.len(), want.len()));
    }
    if let Tolerance::Each(bounds) = tol
        && bounds.len() != want.len()
    {
        return Err(format!("{name}: {} tolerances for {} elements", bounds.len(), want.len()));
    }
    let mut report = Report { share: 0.0, at: 0 };
    let (mut misses, mut text) = (0, String::new());
    for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
        let g = g as f64;
        let bound = match tol {
            Tolerance::Exact => 0.0,
            Tolerance::Absolute(bound) => bound,
            Tolerance::Each(bounds) => bounds[i],
        };
        let share = if !(g.is_finite() && w.is_finite()) {
            if g.is_nan() && w.is_nan() || g == w { 0.0 } else { f64::INFINITY }
        } else if g == w {
            0.0
        } else if bound > 0.0 && bound.is_finite() {
            (g - w).abs() / bound
        } else {
            f64::INFINITY
        };
        if share > report.share {
            report = Report { share, at: i };
        }
        if share > 1.0 {
            misses += 1;
            if misses <= 5 {
                let _ = write!(
                    text,
                    "\n  [{i}] got {g:e}, wanted {w:e}, difference {:e}, allowed {bound:e}",
                    (g - w).abs()
                );
            }
        }
    }
    if misses > 0 {
        return Err(format!(
            "{name}: {misses} of {} differ, up to {:.3} of the tolerance:{text}",
            want.len(),
            report.share
        ));
    }
    Ok(report)
}

#[test]
fn accepts_what_lies_within() {
    let report = compare(
        "x",
        &[1.0, 2.5, f32::NAN, f32::INFINITY],
        &[1.0, 2.0, f64::NAN, f64::INFINITY],
        Tolerance::Absolute(1.0),
    )
    .unwrap();
    assert_eq!(report, Report { share: 0.5, at: 1 });
}

#[test]
fn rejects_wrong_values() {
    let text = compare("x", &[1.0, 2.5], &[1.0, 2.0], Tolerance::Absolute(0.25)).unwrap_err();
    assert!(text.contains("1 of 2 differ, up to 2.000") && text.contains("[1] got 2.5e0"), "{text}");
    assert!(compare("x", &[1.0], &[1.0 + 1e-7], Tolerance::Exact).is_err());
    assert!(compare("x", &[1.0, 2.5], &[1.0, 2.0], Tolerance::Each(&[9.0, 0.1])).is_err());
    assert!(
        compare("x", &[1.0, 2.5], &[1.0, 2.0], Tolerance::Absolute(f64::NAN)).is_err(),
        "a tolerance of NaN permits nothing"
    );
    assert!(
        compare("x", &[1.0, 2.5], &[1.0, 2.0], Tolerance::Absolute(f64::INFINITY)).is_err(),
        "nor does an endless one"
    );
}

#[test]
fn rejects_what_is_not_a_number() {
    for (got, want) in [
        (f32::NAN, 1.0),
        (1.0, f64::NAN),
        (f32::INFINITY, 1.0),
        (1.0, f64::INFINITY),
        (f32::NEG_INFINITY, f64::INFINITY),
        (f32::NAN, f64::INFINITY),
    ] {
        assert!(compare("x", &[got], &[want], Tolerance::Absolute(1e30)).is_err(), "{got} {want}");
    }
}

#[test]
fn rejects_the_wrong_length() {
    assert!(compare("x", &[1.0], &[1.0, 2.0], Tolerance::Absolute(9.0)).is_err());
    assert!(compare("x", &[1.0], &[1.0], Tolerance::Each(&[])).is_err());
}
