//! Whether a baseline does better than the network on the same rows, beyond chance.

use crate::metrics::weighted;
use crate::results::{Better, FEW, Metric};
use crate::tables::number;

/// A difference below this many standard errors is noise.
const NOISE: f64 = 2.0;

/// What each row costs: by the point prediction (its squared error, or 1 for a wrong class), and its negative log likelihood.
pub struct Losses {
    pub point: Vec<f64>,
    pub nll: Vec<f64>,
}

/// Which of two loses less, row by row, by more than the noise of the mean difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ahead {
    Ours,
    Theirs,
    /// No clear difference.
    Neither,
}

fn ahead(ours: &[f64], theirs: &[f64], w: &[f32]) -> Ahead {
    let gain: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
    let mean = weighted::mean(gain.iter().copied(), w);
    let variance = weighted::mean(gain.iter().map(|g| (g - mean).powi(2)), w);
    let n = weighted::effective_rows(gain.len(), w);
    let noise = NOISE * (variance / (n as f64 - 1.0)).sqrt();
    match mean {
        _ if n < FEW => Ahead::Neither,
        gain if gain > noise => Ahead::Theirs,
        gain if gain < -noise => Ahead::Ours,
        _ => Ahead::Neither,
    }
}

pub const LINEAR: &str = "a linear model suits this table better";
pub const TREES: &str = "gradient-boosted trees suit this table better (scikit-learn, LightGBM, CatBoost)";

/// The baseline, by its name and its column of the metrics.
pub struct Rival<'a> {
    pub name: &'a str,
    /// What to take where it does better.
    pub advice: &'static str,
    pub of: fn(&Metric) -> Option<f64>,
    pub losses: Losses,
}

impl Rival<'_> {
    /// Who is ahead by each of the two, and both figures: "rmse 4 against 5 MPa".
    fn pairs(&self, metrics: &[Metric], point: &str, ours: &Losses, w: &[f32]) -> Option<[(Ahead, String); 2]> {
        let pair = |name: &str, a: &[f64], b: &[f64]| {
            let m = metrics.iter().find(|m| m.name == name)?;
            let (ours, theirs) = (m.value.value()?, (self.of)(m)?);
            let unit = if m.unit.is_empty() { String::new() } else { format!(" {}", m.unit) };
            let (less, more) = if m.better == Better::Higher { (ours, theirs) } else { (theirs, ours) };
            // The figures that are shown must say the same as the losses of the rows.
            let ahead = match ahead(a, b, w) {
                Ahead::Theirs if less < more => Ahead::Theirs,
                Ahead::Ours if less > more => Ahead::Ours,
                _ => Ahead::Neither,
            };
            Some((ahead, format!("{name} {} against {}{unit}", number(theirs), number(ours))))
        };
        Some([pair(point, &ours.point, &self.losses.point)?, pair("nll", &ours.nll, &self.losses.nll)?])
    }

    /// Says so where both its predictions and its error bars are better.
    pub fn does_better(&self, metrics: &[Metric], point: &str, ours: &Losses, w: &[f32]) -> Option<String> {
        let [(closer, by), (likelier, nll)] = self.pairs(metrics, point, ours, w)?;
        (closer == Ahead::Theirs && likelier == Ahead::Theirs).then(|| {
            format!(
                "{} does better on these rows ({by}, {nll}): {}, unless longer training helps the network",
                self.name, self.advice
            )
        })
    }

    /// The same, and where one of the two is better alone.
    pub fn does_better_in_part(&self, metrics: &[Metric], point: &str, ours: &Losses, w: &[f32]) -> Option<String> {
        let name = self.name;
        match self.pairs(metrics, point, ours, w)? {
            [(Ahead::Theirs, _), (Ahead::Theirs, _)] => self.does_better(metrics, point, ours, w),
            [(Ahead::Theirs, by), (bars, nll)] => Some(match bars {
                Ahead::Ours => format!(
                    "{name} predicts better on these rows ({by}), but its error bars fit them worse than the network's ({nll})"
                ),
                _ => format!(
                    "{name} predicts better on these rows ({by}); between its error bars and the network's no clear difference is seen ({nll})"
                ),
            }),
            [(point, by), (Ahead::Theirs, nll)] => Some(match point {
                Ahead::Ours => {
                    format!("{name} predicts worse on these rows ({by}), but its error bars fit them better ({nll})")
                }
                _ => format!(
                    "{name} predicts these rows without a clear difference ({by}), and its error bars fit them better ({nll})"
                ),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric;
    use super::*;

    /// Ours and theirs: each a mean and a swing from row to row.
    fn say(point: [(f64, f64); 2], nll: [(f64, f64); 2], n: usize, rows: bool) -> Option<String> {
        let of = |(mean, swing): (f64, f64), k: usize| -> Vec<f64> {
            (0..n).map(|i| mean + if (i / k).is_multiple_of(2) { swing } else { -swing }).collect()
        };
        let metrics: Vec<Metric> = [("rmse", "MPa", point), ("nll", "nats", nll)]
            .map(|(name, unit, [ours, theirs])| Metric {
                least_squares: Some(theirs.0),
                ..metric(name, unit, ours.0, Better::Lower)
            })
            .into();
        let ours = Losses { point: of(point[0], 1), nll: of(nll[0], 1) };
        let losses = Losses { point: of(point[1], 2), nll: of(nll[1], 2) };
        let rival = Rival { name: "ordinary least squares", advice: LINEAR, of: |m| m.least_squares, losses };
        match rows {
            true => rival.does_better(&metrics, "rmse", &ours, &[]),
            false => rival.does_better_in_part(&metrics, "rmse", &ours, &[]),
        }
    }

    #[test]
    fn a_baseline_that_does_better_is_named() {
        let both = say([(5.0, 0.1), (4.0, 0.1)], [(3.0, 0.1), (2.5, 0.1)], 40, true).expect("a note");
        assert!(
            both.starts_with(
                "ordinary least squares does better on these rows (rmse 4.000 against 5.000 MPa, nll 2.500 against 3.000 nats)"
            ),
            "{both}"
        );
        assert!(both.ends_with(&format!(": {LINEAR}, unless longer training helps the network")), "{both}");
        // By less than the noise: sd of the difference sqrt(2), over sqrt(39) = 0.23, twice that is 0.45.
        let apart = |by: f64| say([(5.0, 1.0), (5.0 - by, 1.0)], [(3.0, 0.1), (2.5, 0.1)], 40, true);
        assert!(apart(0.4).is_none() && apart(0.5).is_some());
        assert_eq!(say([(5.0, 0.1), (4.0, 0.1)], [(3.0, 0.1), (2.5, 0.1)], FEW - 1, true), None, "few rows say little");
        let point = ([(5.0, 0.1), (4.0, 0.1)], [(2.0, 0.1), (2.5, 0.1)]);
        assert_eq!(say(point.0, point.1, 40, true), None);
        let in_part = say(point.0, point.1, 40, false).expect("a note");
        assert!(
            in_part.contains(
                "predicts better on these rows (rmse 4.000 against 5.000 MPa), but its error bars fit them worse"
            ),
            "{in_part}"
        );
        let bars = say([(4.0, 0.1), (5.0, 0.1)], [(3.0, 0.1), (2.5, 0.1)], 40, false).expect("a note");
        assert!(bars.contains("predicts worse") && bars.contains("(nll 2.500 against 3.000 nats)"), "{bars}");
        // A better nll, but within the noise of sqrt(2) / sqrt(39) of twice 0.23: nobody is said to be ahead.
        let unclear = say([(5.0, 0.1), (4.0, 0.1)], [(3.1, 1.0), (3.0, 1.0)], 40, false).expect("a note");
        assert!(unclear.contains("no clear difference is seen (nll 3.000 against 3.100 nats)"), "{unclear}");
        assert!(!unclear.contains("worse") && !unclear.contains("not better"), "{unclear}");
        let alike = say([(5.0, 1.0), (5.1, 1.0)], [(3.0, 0.1), (2.5, 0.1)], 40, false).expect("a note");
        assert!(alike.contains("without a clear difference (rmse 5.100 against 5.000 MPa)"), "{alike}");
        assert_eq!(say([(4.0, 0.1); 2], [(2.0, 0.1); 2], 40, false), None, "equal is not better");
    }
}
