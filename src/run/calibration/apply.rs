//! What a calibration makes of predictions: tempered probabilities, columns of intervals and sets, and metrics beside
//! those of the uncalibrated run.

use crate::data::Ids;
use crate::data::encode::{Encoder, Target};
use crate::method::Predictive;
use crate::method::predictive::Classification;
use crate::metrics::conformal::{self, Sets};
use crate::metrics::{self, normal_quantile, temperature};
use crate::results::Results;
use crate::results::chance::{Chance, Judgement};
use crate::results::predictions;
use crate::results::predictions::distinct_target;
use crate::results::{self, Better, Metric, words};
use crate::run::calibration::stored::{Calibration, Level};
use crate::run::calibration::words::NOT_COMPARED;
use crate::tables::{TextTable, full};

/// Width of each row's interval in the target's unit, or the number of classes in each row's set.
pub fn sizes(level: &Level, sets: Option<Sets>, p: &Predictive) -> Vec<f64> {
    match p {
        Predictive::Regression(r) => (0..r.n())
            .map(|i| {
                let (low, high) = conformal::interval(r.mean[i], r.unadjusted_sd(i), level.q());
                high - low
            })
            .collect(),
        Predictive::Classification(c) => {
            let sets = sets.unwrap_or(Sets::Aps);
            c.uncalibrated().chunks(c.k).map(|p| sets.set(p, level.q()).len() as f64).collect()
        }
    }
}

/// A set's labels in one cell, the most probable first: joined by |, which is \| inside a label, as \ is \\.
fn joined(set: &[usize], labels: &[String]) -> String {
    let name = |&c: &usize| labels.get(c).cloned().unwrap_or_else(|| c.to_string());
    set.iter().map(|c| name(c).replace('\\', "\\\\").replace('|', "\\|")).collect::<Vec<_>>().join("|")
}

impl Calibration {
    /// Probabilities at the temperature, and their entropy. The aleatoric entropy and the mutual information are the
    /// members' own, which no temperature of their average touches.
    pub fn tempered(&self, c: &Classification) -> Classification {
        let probs = temperature::apply(&c.uncalibrated(), c.k, self.temperature.map_or(1.0, |t| t.value));
        let total = metrics::entropy(&probs, c.k);
        Classification { probs, total, by_folds: None, ..c.clone() }
    }

    /// predictions.csv of a calibrated run: as `tables::predictions`, with tempered probabilities and, at the end,
    /// lower_90 and upper_90 or set_90 for each level. Also what there is to say.
    pub fn table(&self, p: &Predictive, encoder: &Encoder, ids: &Ids, y: Option<&[f64]>) -> (TextTable, Vec<String>) {
        let mut notes = vec![self.used()];
        notes.extend(self.too_few());
        notes.extend(self.unchecked.then(|| NOT_COMPARED.into()));
        let mut table = match p {
            Predictive::Regression(_) => predictions::predictions(p, encoder, ids, y),
            Predictive::Classification(c) => {
                predictions::predictions(&Predictive::Classification(self.tempered(c)), encoder, ids, y)
            }
        };
        let labels: &[String] = match &encoder.target {
            Target::Classes { labels, .. } => labels,
            Target::Regression { .. } => &[],
        };
        for level in &self.levels {
            let percent = level.percent();
            match p {
                Predictive::Regression(r) => {
                    table.header.extend([format!("lower_{percent}"), format!("upper_{percent}")]);
                    for (i, row) in table.rows.iter_mut().enumerate() {
                        let (low, high) = conformal::interval(r.mean[i], r.unadjusted_sd(i), level.q());
                        row.extend([full(low), full(high)]);
                    }
                }
                Predictive::Classification(c) => {
                    table.header.push(format!("set_{percent}"));
                    let sets = self.sets.unwrap_or(Sets::Aps);
                    let mut empty = 0;
                    for (row, p) in table.rows.iter_mut().zip(c.uncalibrated().chunks(c.k)) {
                        let set = sets.set(p, level.q());
                        empty += usize::from(set.is_empty());
                        row.push(joined(&set, labels));
                    }
                    notes.extend(self.empty_sets(empty, table.rows.len(), level));
                }
            }
        }
        distinct_target(&mut table.header, y.is_some());
        (table, notes)
    }

    /// Puts the calibrated figure beside each metric that changes, and adds coverage and size of every level: of the conformal
    /// intervals or sets, beside what the uncalibrated prediction takes for them. `y` are targets or class indices.
    pub fn beside(&self, results: &mut Results, p: &Predictive, y: &[f64]) {
        if let Predictive::Classification(c) = p {
            let classes: Vec<usize> = y.iter().map(|&v| v as usize).collect();
            let after = results::classification(&self.tempered(c), &classes, None);
            // Of the members, not of the average.
            let moved = |m: &&mut Metric| m.name != "mean_mutual_information";
            for m in results.metrics.iter_mut().filter(moved) {
                m.calibrated = after.get(&m.name);
            }
        }
        words::without_advice(&mut results.notes);
        self.judge(results, p, y);
        results.notes.retain(|note| !words::advises_calibration(note));
        for level in &self.levels {
            let (covered, size) = self.conformal(level, p, y);
            let (names, unit) = match p {
                Predictive::Regression(_) => (["coverage", "width"], true),
                Predictive::Classification(_) => (["set_coverage", "set_size"], false),
            };
            let unit =
                if unit { results.metrics.first().map_or(String::new(), |m| m.unit.clone()) } else { String::new() };
            let uncalibrated = believed(level, p, y);
            for (name, after, before, unit) in
                [(names[0], covered, uncalibrated.0, ""), (names[1], size, uncalibrated.1, &unit)]
            {
                let name = format!("{name}_{}", level.percent());
                let place = results.metrics.iter().position(|m| m.name == name).unwrap_or_else(|| {
                    results.metrics.push(results::metric(&name, unit, before, Better::Neither));
                    results.metrics.len() - 1
                });
                results.metrics[place].calibrated = Some(after);
            }
            results.notes.extend(self.verdict(level, covered, y.len()));
        }
    }

    /// The verdict on the error bars is that on the calibrated ones; what was said of the uncalibrated stands behind it.
    fn judge(&self, results: &mut Results, p: &Predictive, y: &[f64]) {
        let after = match p {
            Predictive::Regression(_) => {
                // 90 % is what the uncalibrated are judged by.
                let level = self.level(0.9).or(self.levels.first());
                let scatter = level.and_then(|l| conformal::coverage_sd(self.rows, l.alpha));
                level.zip(scatter).map(|(level, scatter)| {
                    let hits = (self.conformal(level, p, y).0 * y.len() as f64).round() as usize;
                    let chance = Chance::new(&vec![1.0 - level.alpha; y.len()], hits, 1, scatter);
                    words::calibrated_coverage(&chance, &level.percent())
                })
            }
            Predictive::Classification(c) => {
                let (confidence, class) = metrics::confidences(&self.tempered(c).probs, c.k);
                let right = class.iter().zip(y).filter(|(c, y)| **c == **y as usize).count();
                Some(words::calibrated_confidence(&confidence, right))
            }
        };
        let place = results.notes.iter().position(|note| words::is_verdict(note));
        if let Some((after, place)) = after.zip(place) {
            let note = &mut results.notes[place];
            *note = format!("{after}; before calibration {note}");
        }
    }

    /// The level that covers so much, where there is one.
    pub fn level(&self, coverage: f64) -> Option<&Level> {
        self.levels.iter().find(|l| (1.0 - l.alpha - coverage).abs() < 1e-9)
    }

    /// Which rows of a regression lie inside the calibrated interval of this level; None where there is none of it.
    pub fn inside(&self, coverage: f64, p: &Predictive, y: &[f64]) -> Option<Vec<bool>> {
        let Predictive::Regression(r) = p else { return None };
        let level = self.level(coverage)?;
        let inside = |(i, y): (usize, &f64)| {
            let (low, high) = conformal::interval(r.mean[i], r.unadjusted_sd(i), level.q());
            low <= *y && *y <= high
        };
        Some(y.iter().enumerate().map(inside).collect())
    }

    /// Share of rows covered, and mean width or set size.
    fn conformal(&self, level: &Level, p: &Predictive, y: &[f64]) -> (f64, f64) {
        let sizes = sizes(level, self.sets, p);
        let size = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
        let inside: Vec<bool> = match p {
            Predictive::Regression(r) => {
                let ends = (0..r.n()).map(|i| conformal::interval(r.mean[i], r.unadjusted_sd(i), level.q()));
                ends.zip(y).map(|((low, high), y)| low <= *y && y <= &high).collect()
            }
            Predictive::Classification(c) => {
                let set = |p: &[f64]| self.sets.unwrap_or(Sets::Aps).set(p, level.q());
                c.uncalibrated().chunks(c.k).zip(y).map(|(p, y)| set(p).contains(&(*y as usize))).collect()
            }
        };
        let covered = inside.iter().filter(|i| **i).count() as f64 / y.len().max(1) as f64;
        (covered, size)
    }

    /// Whether these rows keep the promise, in words; only too few is against it.
    fn verdict(&self, level: &Level, covered: f64, n: usize) -> Option<String> {
        let scatter = conformal::coverage_sd(self.rows, level.alpha)?;
        let hits = (covered * n as f64).round() as usize;
        let chance = Chance::new(&vec![1.0 - level.alpha; n], hits, 1, scatter);
        let (held, allowed) = chance.words();
        (chance.judgement == Judgement::Short).then(|| {
            format!(
                "the calibrated {} % {} hold {held} of the rows, where chance alone allows {allowed}: these rows differ from those of the \
                 calibration",
                level.percent(),
                self.what()
            )
        })
    }
}

/// Coverage and mean size of the central interval, or of the smallest set that holds the level, if the prediction is believed.
fn believed(level: &Level, p: &Predictive, y: &[f64]) -> (f64, f64) {
    let n = y.len().max(1) as f64;
    match p {
        Predictive::Regression(r) => {
            let tail = level.alpha / 2.0;
            let rows = (0..r.n()).map(|i| (r.row(i).quantile(tail), r.row(i).quantile(1.0 - tail)));
            let (low, high): (Vec<f64>, Vec<f64>) = rows.unzip();
            (metrics::coverage(&low, &high, y), metrics::mean_width(&low, &high))
        }
        Predictive::Classification(c) => {
            let sets: Vec<Vec<usize>> =
                c.probs.chunks(c.k).map(|p| conformal::believed_set(p, 1.0 - level.alpha)).collect();
            let covered = sets.iter().zip(y).filter(|(s, y)| s.contains(&(**y as usize))).count() as f64;
            (covered / n, sets.iter().map(|s| s.len() as f64).sum::<f64>() / n)
        }
    }
}

/// How many sd a Gaussian's central interval reaches to either side.
pub fn gaussian_half_width(alpha: f64) -> f64 {
    normal_quantile(1.0 - alpha / 2.0)
}
