//! What a model says of rows: numbers with their uncertainty, or classes with their probabilities.

use super::misuse;
use crate::data::encode::{Encoder, Target};
use crate::error::{Error, Result};
use crate::method::predictive::{Classification, Predictive, Regression};
use crate::metrics::{confidences, conformal};
use crate::run::Calibration;
use crate::run::model::NewRows;

/// The predictions of one target. All lists have one entry for each row that could be predicted.
#[derive(Debug, Clone)]
pub struct Prediction {
    pub target: String,
    /// Which rows of the table these are, counted from 0.
    pub rows: Vec<usize>,
    /// Rows that could not be predicted: their line in the file (the names of columns in memory are line 1) and the reason.
    pub refused: Vec<(String, String)>,
    /// What there is to say of the rows and of the model, a sentence each: cells filled in, inputs outside the training range.
    pub notes: Vec<String>,
    pub values: Values,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // One for all rows: its size is nothing beside what it points to.
pub enum Values {
    Numbers(Numbers),
    Classes(Classes),
}

/// Predicted distributions of a number, in the target's unit.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// `[rows]` each: predictive mean and standard deviation.
    pub mean: Vec<f64>,
    pub sd: Vec<f64>,
    /// Of the noise in the data, which more rows would not lessen.
    pub aleatoric_sd: Vec<f64>,
    /// Of what the model does not know; sd^2 = aleatoric_sd^2 + epistemic_sd^2.
    pub epistemic_sd: Vec<f64>,
    whole: Regression,
    calibration: Option<Calibration>,
}

/// Predicted probabilities of classes.
#[derive(Debug, Clone)]
pub struct Classes {
    /// Names of the classes, `[classes]`.
    pub labels: Vec<String>,
    /// `[rows][classes]`, in the order of `labels`; at the temperature of a calibrated run.
    pub probabilities: Vec<Vec<f64>>,
    /// `[rows]`: index among `labels` of the most probable class.
    pub predicted: Vec<usize>,
    /// `[rows]` each, in nats: entropy of the probabilities, its aleatoric part, and the mutual information (epistemic).
    pub entropy: Vec<f64>,
    pub aleatoric_entropy: Vec<f64>,
    pub mutual_information: Vec<f64>,
}

impl Prediction {
    pub(super) fn new(
        read: &NewRows,
        of_model: &[String],
        encoder: &Encoder,
        values: Predictive,
        calibration: Option<Calibration>,
    ) -> Prediction {
        let values = match values {
            Predictive::Regression(whole) => Values::Numbers(Numbers::new(whole, calibration)),
            Predictive::Classification(c) => {
                Values::Classes(Classes::new(&calibration.map_or_else(|| c.clone(), |by| by.tempered(&c)), encoder))
            }
        };
        Prediction {
            target: encoder.target_name().into(),
            rows: read.rows.clone(),
            refused: read.refused.clone(),
            notes: read.notes.iter().chain(of_model).cloned().collect(),
            values,
        }
    }

    /// Of a target that is a number.
    ///
    /// # Errors
    /// The target is a class.
    pub fn numbers(&self) -> Result<&Numbers> {
        match &self.values {
            Values::Numbers(numbers) => Ok(numbers),
            Values::Classes(_) => Err(misuse(format!("target '{}'", self.target), "is a class", "use classes()")),
        }
    }

    /// Of a target that is a class.
    ///
    /// # Errors
    /// The target is a number.
    pub fn classes(&self) -> Result<&Classes> {
        match &self.values {
            Values::Classes(classes) => Ok(classes),
            Values::Numbers(_) => Err(misuse(format!("target '{}'", self.target), "is a number", "use numbers()")),
        }
    }
}

impl Numbers {
    fn new(whole: Regression, calibration: Option<Calibration>) -> Numbers {
        let root = |v: &[f64]| v.iter().map(|v| v.sqrt()).collect();
        Numbers {
            mean: whole.mean.clone(),
            sd: (0..whole.n()).map(|i| whole.sd(i)).collect(),
            aleatoric_sd: root(&whole.aleatoric),
            epistemic_sd: root(&whole.epistemic),
            whole,
            calibration,
        }
    }

    /// Of each row the value below which the target lies with probability `q`.
    ///
    /// # Errors
    /// `q` does not lie between 0 and 1.
    pub fn quantile(&self, q: f64) -> Result<Vec<f64>> {
        share("quantile", q)?;
        Ok((0..self.whole.n()).map(|i| self.whole.row(i).quantile(q)).collect())
    }

    /// Of each row the bounds between which the target lies with probability `coverage`, as likely below as above. Of a run
    /// that `vifo calibrate` calibrated at this level, its conformal interval: mean plus and minus so many sd.
    ///
    /// # Errors
    /// `coverage` does not lie between 0 and 1.
    pub fn interval(&self, coverage: f64) -> Result<Vec<(f64, f64)>> {
        share("interval", coverage)?;
        if let Some(level) = self.calibration.as_ref().and_then(|c| c.level(coverage)) {
            let of_row = |(mean, sd): (&f64, &f64)| conformal::interval(*mean, *sd, level.q());
            return Ok(self.mean.iter().zip(&self.sd).map(of_row).collect());
        }
        let tail = (1.0 - coverage) / 2.0;
        let of_row = |i: usize| {
            let row = self.whole.row(i);
            (row.quantile(tail), row.quantile(1.0 - tail))
        };
        Ok((0..self.whole.n()).map(of_row).collect())
    }

    /// Of each row log p(y), in nats, for targets `y` in the target's unit.
    ///
    /// # Errors
    /// Another number of targets than of rows.
    pub fn log_density(&self, y: &[f64]) -> Result<Vec<f64>> {
        if y.len() != self.whole.n() {
            let (found, allowed) = (format!("{} targets", y.len()), format!("{}, one a row", self.whole.n()));
            return Err(Error::usage("log_density", found, allowed, "take those of the rows that were predicted"));
        }
        Ok(y.iter().enumerate().map(|(i, y)| self.whole.log_density(i, *y)).collect())
    }
}

fn share(place: &str, value: f64) -> Result<()> {
    let allowed = "a number above 0 and below 1";
    let is_one = value > 0.0 && value < 1.0;
    if is_one { Ok(()) } else { Err(Error::usage(place, value.to_string(), allowed, "0.9 is 90 %")) }
}

impl Classes {
    fn new(c: &Classification, encoder: &Encoder) -> Classes {
        let labels = match &encoder.target {
            Target::Classes { labels, .. } => labels.clone(),
            Target::Regression { .. } => (0..c.k).map(|i| i.to_string()).collect(),
        };
        Classes {
            labels,
            probabilities: c.probs.chunks(c.k.max(1)).map(<[f64]>::to_vec).collect(),
            predicted: confidences(&c.probs, c.k).1,
            entropy: c.total.clone(),
            aleatoric_entropy: c.aleatoric.clone(),
            mutual_information: c.epistemic.clone(),
        }
    }

    /// Of each row the name of the most probable class.
    pub fn names(&self) -> Vec<&str> {
        self.predicted.iter().map(|&i| self.labels.get(i).map_or("", String::as_str)).collect()
    }
}
