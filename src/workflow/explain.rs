//! Explains a trained run's predictions. Permutation importance: how much worse rows that were held out are predicted when a column's
//! values are shuffled among the rows (Breiman 2001; Fisher, Rudin, Dominici 2019). And row by row: whether the uncertainty
//! is aleatoric or epistemic, and which columns' values it comes from.

use crate::base::clock::Instant;
use crate::base::rng::SplitMix64;
use crate::data::encode::FeatureKind;
use crate::data::targets_of as targets;
use crate::data::{Dataset, Inputs};
use crate::error::{Error, Result, either};
use crate::exec::Device;
use crate::figure::{self, IntervalsFigure, IntervalsSeries, Saved};
use crate::method::Predictive;
use crate::metrics::{self, weighted};
use crate::run::RunFolder;
use crate::run::calibration;
use crate::run::model::Model;
use crate::tables::{TextTable, full, number};
use crate::train::Predictor;

/// Times that each column is permuted.
const REPEATS: usize = 10;
/// Resamples of the rows for the standard error.
const RESAMPLES: usize = 400;
/// Columns named for each row.
const TOP: usize = 3;
/// Permutations of more rows than this say little more and cost much.
const MOST_ROWS: usize = 2000;
/// Less than this is not worth announcing.
const SECONDS: f64 = 3.0;

/// A column of the table and the inputs made from it.
struct Column {
    name: String,
    inputs: std::ops::Range<usize>,
    /// What the inputs are for a typical row: the training mean, or the commonest level.
    typical: Vec<f32>,
}

/// A metric's increase when a column is permuted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Increase {
    pub mean: f64,
    /// Standard deviation over the permutations.
    pub sd: f64,
    /// Standard error of the mean over the rows, by bootstrap: other rows of the same kind would give other increases.
    pub se: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    pub column: String,
    /// Of the NLL in nats.
    pub nll: Increase,
    /// Of the RMSE in the target's unit, or of the share of wrong classes.
    pub error: Increase,
}

pub struct Explained {
    /// The most important first.
    pub importance: Vec<Importance>,
    /// Rows that were permuted, of which part ("validation", "test"), and the NLL and error before.
    pub rows: usize,
    pub part: &'static str,
    pub before: (f64, f64),
    /// "rmse" or "error rate", and its unit.
    pub error: (&'static str, String),
    /// Of each row to predict, to stand behind its prediction.
    pub columns: TextTable,
    pub notes: Vec<String>,
}

/// NLL and squared error, or 0 and 1 for right and wrong, of each row; in the user's unit.
fn losses(p: &Predictive, y: &[f64]) -> Vec<(f64, f64)> {
    match p {
        Predictive::Regression(r) => {
            y.iter().enumerate().map(|(i, y)| (-r.log_density(i, *y), (r.mean[i] - y).powi(2))).collect()
        }
        Predictive::Classification(c) => {
            let rows = c.probs.chunks_exact(c.k).zip(y.iter().map(|y| *y as usize));
            rows.map(|(p, y)| (metrics::nll(p, &[y], c.k), 1.0 - metrics::accuracy(p, &[y], c.k))).collect()
        }
    }
}

/// The uncertainty of each row: its sd, or its entropy; and the share of its variance, or entropy, that is epistemic.
fn uncertainty(p: &Predictive) -> Vec<(f64, f64)> {
    let share = |part: f64, rest: f64| if part + rest > 0.0 { part / (part + rest) } else { 0.0 };
    match p {
        Predictive::Regression(r) => (0..r.n()).map(|i| (r.sd(i), share(r.epistemic[i], r.aleatoric[i]))).collect(),
        Predictive::Classification(c) => {
            (0..c.total.len()).map(|i| (c.total[i], share(c.epistemic[i], c.aleatoric[i]))).collect()
        }
    }
}

/// Predicts many times with one network, in the unit of its target.
struct TargetPredictor<'a> {
    model: &'a Model,
    predictor: Predictor,
}

impl TargetPredictor<'_> {
    fn new<'a>(model: &'a Model, device: &Device, rows: usize) -> Result<TargetPredictor<'a>> {
        let mut predictor = Predictor::new(&model.plan.setup, device, model.plan.seed, rows)?;
        predictor.set(&model.trained)?;
        Ok(TargetPredictor { model, predictor })
    }
    /// In the user's unit.
    fn predict(&mut self, x: &[f32]) -> Result<Predictive> {
        let mut p = self.predictor.predict_target(Inputs::Rows(x), self.model.encoder.target_at)?;
        if let Predictive::Regression(r) = &mut p {
            r.rescale(self.model.encoder.destandardise(0.0), self.model.encoder.target_sd());
        }
        Ok(p)
    }
}

/// The columns with what is typical of them in `train`.
fn columns(model: &Model, train: &Dataset) -> Vec<Column> {
    let mut at = 0;
    let of = |f: &crate::data::encode::Feature| {
        let inputs = at..at + f.kind.inputs();
        at = inputs.end;
        let mean = |j: usize| {
            let sum: f64 = train.x.iter().skip(j).step_by(train.d.max(1)).map(|v| f64::from(*v)).sum();
            (sum / train.n.max(1) as f64) as f32
        };
        let mut typical: Vec<f32> = inputs.clone().map(mean).collect();
        if let (Some(levels), [typical]) = (f.kind.table(), &mut typical[..]) {
            let numbers = train.x.iter().skip(inputs.start).step_by(train.d.max(1));
            *typical = most_frequent(numbers.map(|v| *v as usize), levels) as f32;
        } else if let FeatureKind::Levels { .. } = f.kind {
            let best = (0..typical.len()).fold(0, |best, j| if typical[j] > typical[best] { j } else { best });
            typical.iter_mut().enumerate().for_each(|(j, v)| *v = f32::from(u8::from(j == best)));
        }
        Column { name: f.name.clone(), inputs, typical }
    };
    model.encoder.features.iter().map(of).collect()
}

/// The most frequent of `levels` levels and of what is none of them; the first of several.
fn most_frequent(numbers: impl Iterator<Item = usize>, levels: usize) -> usize {
    let mut counts = vec![0usize; levels + 1];
    numbers.for_each(|level| counts[level.min(levels)] += 1);
    (0..counts.len()).fold(0, |best, level| if counts[level] > counts[best] { level } else { best })
}

/// Explains the predictions of `rows` by a run; `announce` is called before long work.
///
/// Errors: images, which have no columns; a run that held out no rows; a data file that is gone or has changed.
// Long: what each refusal says.
pub fn explain(
    folder: &RunFolder,
    model: &Model,
    device: &Device,
    rows: &Dataset,
    announce: &mut dyn FnMut(&str),
) -> Result<Explained> {
    if model.encoder.pixels.is_some() {
        let help = either(
            "leave --explain out: `vifo evaluate --corrupt all` shows what an image model rests on",
            "leave it out",
        );
        return Err(Error::usage(
            either("--explain", "importances"),
            "the run is on images, which have no columns",
            "a run on a table",
            help,
        ));
    }
    let data = model.data()?;
    let place = folder.path.display().to_string();
    if data.hash != folder.manifest()?.data && model.recipe.data.points.is_none() {
        let found = "the data file has changed since the run was trained: the rows that were held out cannot be told from the others";
        return Err(Error::data(
            place,
            found,
            "",
            either("restore the file, or leave --explain out", "restore the file"),
        ));
    }
    // Where each member holds out rows of its own, only the test rows are new to all of them.
    let (held_out, part, help) = match model.recipe.has_folds() {
        false => (
            &data.validation,
            "validation",
            either("train with data.validation_fraction above 0", "train with validation rows"),
        ),
        true => (
            &data.test,
            "test",
            either("train with data.test_fraction above 0, or with --holdout shared", "train with test rows"),
        ),
    };
    if held_out.n < 2 {
        let found = format!("{} {part} rows: importance needs rows that were not trained on", held_out.n);
        return Err(Error::usage(place, found, "2 rows at least", help));
    }
    let columns = columns(model, &data.train);
    let mut notes = vec![];
    let mut chosen: Vec<usize> = (0..held_out.n).collect();
    if chosen.len() > MOST_ROWS {
        SplitMix64::new(u64::from(model.recipe.seed)).shuffle(&mut chosen);
        chosen.truncate(MOST_ROWS);
        chosen.sort_unstable();
        notes.push(format!("importance by {MOST_ROWS} of the {} {part} rows", held_out.n));
    }
    let judged = held_out.subset(&chosen);
    let mut predictor = TargetPredictor::new(model, device, judged.n.max(rows.n))?;
    let started = Instant::now();
    let before = predictor.predict(&judged.x)?;
    let a_row = started.elapsed().as_secs_f64() / judged.n as f64;
    let work = columns.len() as f64 * (REPEATS * judged.n + rows.n) as f64;
    if a_row * work > SECONDS {
        announce(&format!(
            "explaining takes about {:.0} s: {} columns, {REPEATS} permutations of {} {part} rows, {} rows to predict",
            a_row * work,
            columns.len(),
            judged.n,
            rows.n
        ));
    }
    let seed = u64::from(model.recipe.seed);
    let importance = importance(&mut predictor, &columns, &judged, &before, seed)?;
    let columns = row_columns(&mut predictor, &columns, rows)?;
    let is_regression = model.encoder.n_classes().is_none();
    if calibration::current(folder).is_ok_and(|c| c.is_some()) {
        notes.push("the explanation describes the predictions before calibration".into());
    }
    let base = summary(&losses(&before, &targets(&judged)), &judged.weights, is_regression);
    let error = match is_regression {
        true => ("rmse", model.encoder.target_name().to_string()),
        false => ("error rate", String::new()),
    };
    Ok(Explained { importance, rows: judged.n, part, before: base, error, columns, notes })
}

/// Mean NLL, and RMSE or error rate.
fn summary(losses: &[(f64, f64)], weights: &[f32], is_regression: bool) -> (f64, f64) {
    let error = weighted::mean(losses.iter().map(|l| l.1), weights);
    (weighted::mean(losses.iter().map(|l| l.0), weights), if is_regression { error.sqrt() } else { error })
}

fn importance(
    predictor: &mut TargetPredictor,
    columns: &[Column],
    rows: &Dataset,
    before: &Predictive,
    seed: u64,
) -> Result<Vec<Importance>> {
    let (y, n, d) = (targets(rows), rows.n, rows.d);
    let is_regression = matches!(before, Predictive::Regression(_));
    let base = losses(before, &y);
    let at_first = summary(&base, &rows.weights, is_regression);
    let mut all = vec![];
    for (c, column) in columns.iter().enumerate() {
        let mut x = rows.x.to_vec();
        let mut sums = vec![(0.0, 0.0); n];
        let (mut nlls, mut errors) = (vec![], vec![]);
        for repeat in 0..REPEATS {
            // The same permutations for every run of one seed, others for every column.
            let mut order: Vec<usize> = (0..n).collect();
            SplitMix64::new(seed ^ ((c * REPEATS + repeat + 1) as u64) << 20).shuffle(&mut order);
            for (i, &from) in order.iter().enumerate() {
                for j in column.inputs.clone() {
                    x[i * d + j] = rows.x[from * d + j];
                }
            }
            let permuted = losses(&predictor.predict(&x)?, &y);
            let (nll, error) = summary(&permuted, &rows.weights, is_regression);
            nlls.push(nll - at_first.0);
            errors.push(error - at_first.1);
            for (sum, l) in sums.iter_mut().zip(&permuted) {
                *sum = (sum.0 + l.0 / REPEATS as f64, sum.1 + l.1 / REPEATS as f64);
            }
        }
        let (se_nll, se_error) = bootstrap(&base, &sums, &rows.weights, is_regression, seed);
        let increase = |each: &[f64], se: f64| {
            let mean = each.iter().sum::<f64>() / each.len() as f64;
            let variance = each.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (each.len() - 1) as f64;
            Increase { mean, sd: variance.sqrt(), se }
        };
        all.push(Importance {
            column: column.name.clone(),
            nll: increase(&nlls, se_nll),
            error: increase(&errors, se_error),
        });
    }
    all.sort_by(|a, b| b.nll.mean.total_cmp(&a.nll.mean));
    Ok(all)
}

/// Standard errors over the rows of the increases of NLL and error, from row losses before and, on average over the
/// permutations, after: both of one resample, since they are of the same rows.
fn bootstrap(
    before: &[(f64, f64)],
    after: &[(f64, f64)],
    weights: &[f32],
    is_regression: bool,
    seed: u64,
) -> (f64, f64) {
    let n = before.len();
    let mut rng = SplitMix64::new(seed.wrapping_add(0xB007));
    let draws: Vec<(f64, f64)> = (0..RESAMPLES)
        .map(|_| {
            let rows: Vec<usize> = (0..n).map(|_| ((rng.uniform() * n as f64) as usize).min(n - 1)).collect();
            let of = |all: &[(f64, f64)]| rows.iter().map(|&i| all[i]).collect::<Vec<_>>();
            let weights: Vec<f32> =
                if weights.is_empty() { vec![] } else { rows.iter().map(|&i| weights[i]).collect() };
            let (a, b) = (summary(&of(before), &weights, is_regression), summary(&of(after), &weights, is_regression));
            (b.0 - a.0, b.1 - a.1)
        })
        .filter(|d| d.0.is_finite() && d.1.is_finite())
        .collect();
    let sd = |of: fn(&(f64, f64)) -> f64| {
        let mean = draws.iter().map(of).sum::<f64>() / draws.len() as f64;
        (draws.iter().map(|d| (of(d) - mean).powi(2)).sum::<f64>() / (draws.len() as f64 - 1.0)).sqrt()
    };
    (sd(|d| d.0), sd(|d| d.1))
}

/// For each row the shares of its uncertainty, and the columns whose typical value in place of the row's own would change it
/// most: name and what the row's own value adds (negative: it takes away).
fn row_columns(predictor: &mut TargetPredictor, columns: &[Column], rows: &Dataset) -> Result<TextTable> {
    let (n, d) = (rows.n, rows.d);
    let p = predictor.predict(&rows.x)?;
    let unit = if matches!(p, Predictive::Regression(_)) { "sd" } else { "entropy" };
    let own = uncertainty(&p);
    // [column][row]
    let mut adds: Vec<Vec<f64>> = vec![];
    for column in columns {
        let mut x = rows.x.to_vec();
        for row in x.chunks_exact_mut(d.max(1)) {
            row[column.inputs.clone()].copy_from_slice(&column.typical);
        }
        let without = uncertainty(&predictor.predict(&x)?);
        adds.push(own.iter().zip(&without).map(|(own, without)| own.0 - without.0).collect());
    }
    let mut table = TextTable::new(&["aleatoric_share", "epistemic_share"]);
    let top = TOP.min(columns.len());
    for i in 1..=top {
        table.header.extend([format!("{unit}_from_{i}"), format!("{unit}_added_{i}")]);
    }
    for row in 0..n {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by(|&a, &b| adds[b][row].abs().total_cmp(&adds[a][row].abs()));
        let mut cells = vec![full(1.0 - own[row].1), full(own[row].1)];
        for &c in &order[..top] {
            cells.extend([columns[c].name.clone(), full(adds[c][row])]);
        }
        table.rows.push(cells);
    }
    Ok(table)
}

/// Below this a figure is the rounding of sums: beside the largest increase, and the metric `before`.
fn rounding(all: &[Increase], before: f64) -> f64 {
    let largest = all.iter().flat_map(|i| [i.mean, i.sd, i.se]).map(f64::abs).fold(before.abs(), f64::max);
    1e-12 * largest
}

impl Explained {
    /// One row per column of the data.
    pub fn table(&self) -> TextTable {
        let (error, unit) =
            (self.error.0, if self.error.1.is_empty() { String::new() } else { format!(", {}", self.error.1) });
        let mut t = TextTable::new(&["column", "nll increase, nats", "sd", "se"]);
        t.header.extend([format!("{error} increase{unit}"), "sd".into(), "se".into()]);
        let each = |of: fn(&Importance) -> Increase| -> Vec<Increase> { self.importance.iter().map(of).collect() };
        let floors = [(each(|i| i.nll), self.before.0), (each(|i| i.error), self.before.1)];
        let [nll, error] = floors.map(|(all, before)| rounding(&all, before));
        for i in &self.importance {
            let cells = [(i.nll, nll), (i.error, error)]
                .map(|(i, floor)| [i.mean, i.sd, i.se].map(|v| if v.abs() < floor { number(0.0) } else { number(v) }));
            let cells = cells.into_iter().flatten();
            t.rows.push(std::iter::once(i.column.clone()).chain(cells).collect());
        }
        t
    }

    /// What the table says and what its columns are.
    pub fn words(&self) -> Vec<String> {
        let (nll, error) = self.before;
        let mut all = vec![format!(
            "importance by {REPEATS} permutations of each column over {} {} rows, which have nll {} nats and {} {} as they are; sd: over \
             the permutations, se: over the rows (bootstrap)",
            self.rows,
            self.part,
            number(nll),
            self.error.0,
            number(error)
        )];
        // Two standard errors of both kinds together.
        let is_clear =
            |i: &Importance| i.nll.mean > 2.0 * (i.nll.se.powi(2) + i.nll.sd.powi(2) / REPEATS as f64).sqrt();
        let weak: Vec<&str> =
            self.importance.iter().filter(|i| !is_clear(i)).map(|i| i.column.as_str()).take(8).collect();
        if weak.len() == self.importance.len() {
            let part = self.part;
            all.push(format!("no column's importance is clearly above 0: too few {part} rows, or redundant columns"));
        } else if !weak.is_empty() {
            all.push(format!("less than two standard errors above 0: {}", weak.join(", ")));
        }
        all.extend(self.notes.iter().cloned());
        all
    }

    /// importance.csv, and the figure of the NLL's increases; `of` stands in their names where a run has several targets.
    pub fn save(&self, folder: &RunFolder, of: Option<&str>) -> Result<Saved> {
        let stem = of.map_or_else(|| "importance".into(), |of| format!("importance-{of}"));
        let mut csv = TextTable::new(&["column", "nll_increase", "nll_sd", "nll_se"]);
        let name = self.error.0.replace(' ', "_");
        csv.header.extend([format!("{name}_increase"), format!("{name}_sd"), format!("{name}_se")]);
        for i in &self.importance {
            let cells = [i.nll.mean, i.nll.sd, i.nll.se, i.error.mean, i.error.sd, i.error.se].map(full);
            csv.rows.push(std::iter::once(i.column.clone()).chain(cells).collect());
        }
        folder.write(&format!("{stem}.csv"), csv.csv().as_bytes())?;
        let shown = &self.importance[..self.importance.len().min(40)];
        let more = self.importance.len() - shown.len();
        let rest = if more > 0 { format!("; {more} less important columns are in {stem}.csv") } else { String::new() };
        let of = |f: fn(&Importance) -> f64| shown.iter().map(f).collect::<Vec<f64>>();
        let figure = IntervalsFigure {
            title: "Importance of the columns".into(),
            x_label: "increase of the NLL when the column is permuted, nats".into(),
            note: format!("bars: 2 standard errors over {} {} rows{rest}", self.rows, self.part),
            rows: shown.iter().map(|i| i.column.clone()).collect(),
            zero: true,
            series: vec![IntervalsSeries {
                name: "importance".into(),
                middle: of(|i| i.nll.mean),
                half_width: of(|i| 2.0 * i.nll.se),
                hollow: false,
            }],
        };
        figure::intervals(&folder.figures(), &stem, &figure)
    }

    /// Puts the columns of each row behind its prediction.
    pub fn extend(&self, table: &mut TextTable) {
        table.header.extend(self.columns.header.iter().cloned());
        for (row, own) in table.rows.iter_mut().zip(&self.columns.rows) {
            row.extend(own.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_most_frequent_levels_is_typical() {
        assert_eq!(most_frequent([3, 1, 2, 1, 2, 0].into_iter(), 3), 1);
        assert_eq!(most_frequent([9, 9, 0].into_iter(), 3), 3, "what is no level");
        assert_eq!(most_frequent(std::iter::empty(), 3), 0);
    }

    #[test]
    fn rounding_of_sums_is_shown_as_zero() {
        let of = |mean: f64, se: f64| Increase { mean, sd: 0.01, se };
        let one = |column: &str, nll: Increase, error: Increase| Importance { column: column.into(), nll, error };
        let explained = Explained {
            importance: vec![one("a", of(0.5, 0.1), of(2e-7, 1e-8)), one("b", of(3e-17, 1.579e-17), of(1e-9, 0.0))],
            rows: 30,
            part: "validation",
            before: (1.0, 3.0),
            error: ("rmse", "m".into()),
            columns: TextTable::default(),
            notes: vec![],
        };
        let rows = explained.table().rows;
        assert_eq!(rows[1][..4], ["b", "0", "0.01000", "0"]);
        assert_eq!((rows[0][4].as_str(), rows[1][4].as_str()), ("2.000e-7", "1.000e-9"), "small is no rounding");
    }
}
