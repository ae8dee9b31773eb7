//! Events of a training. Command line, run folder and app fold the same events.

use super::plan::TrainingPlan;
use serde::{Deserialize, Serialize};

/// One evaluation: a row of metrics.csv. Losses are per-row means in nats of the standardised target; validation
/// figures are in the user's units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EpochRow {
    pub epoch: u32,
    pub step: u64,
    pub seconds: f64,
    pub learning_rate: f64,
    /// Means over the rows of the steps since the last row, and over the members: a batch that is not full counts for what it
    /// holds. The weights of the terms are those of the last step.
    pub loss: f64,
    pub expected_nll: f64,
    pub regularizer: f64,
    pub auxiliary: f64,
    /// Weights of the terms at the last step; None in a metrics.csv of before they were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_aux: Option<f64>,
    /// Of the whole ensemble; None without a validation part.
    pub validation_nll: Option<f64>,
    /// RMSE in the target's unit, or accuracy.
    pub validation_score: Option<f64>,
    /// As the validation figures, of the test rows; None unless `train.watch_test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_nll: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_score: Option<f64>,
}

/// Rows that are kept of a training: no plot shows more, it may go on for days, and metrics.csv is written anew with every checkpoint.
pub const MOST_ROWS: usize = 20_000;

/// Where there are more than `most` rows, every other one of the older three quarters goes, so that a training of any length has
/// a history of bounded length; the first row stays, and the one with the lowest validation NLL.
pub fn thin(rows: &mut Vec<EpochRow>, most: usize) {
    if rows.len() <= most {
        return;
    }
    let nll = |r: &EpochRow| r.validation_nll.unwrap_or(f64::INFINITY);
    let best = (0..rows.len()).min_by(|a, b| nll(&rows[*a]).total_cmp(&nll(&rows[*b]))).unwrap_or(0);
    let (old, mut places) = (rows.len() / 4 * 3, 0..);
    rows.retain(|_| places.next().is_some_and(|i: usize| i >= old || i.is_multiple_of(2) || i == best));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Before the first step: what it runs on, parameters of one member, steps to go.
    Started {
        device: String,
        parameters: usize,
        first_epoch: u32,
        epochs: u32,
        steps_per_epoch: u32,
    },
    Epoch(EpochRow),
    /// A checkpoint is due; the state is complete at this epoch.
    Checkpoint,
}

impl Event {
    /// Of a training on `device` that has `epoch` whole epochs behind it.
    pub fn started(plan: &TrainingPlan, device: &str, epoch: u32) -> Event {
        Event::Started {
            device: device.into(),
            parameters: plan.setup.member_len(),
            first_epoch: epoch,
            epochs: plan.epochs,
            steps_per_epoch: plan.steps_per_epoch(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_history_keeps_its_ends_its_best_row_and_its_order() {
        let mut rows: Vec<EpochRow> = vec![];
        for epoch in 1..=100_000u32 {
            let validation_nll = Some(if epoch == 1234 { -5.0 } else { f64::from(epoch % 7) });
            rows.push(EpochRow { epoch, validation_nll, ..EpochRow::default() });
            thin(&mut rows, 1000);
            assert!(rows.len() <= 1000);
        }
        assert!(rows.len() > 600 && rows.windows(2).all(|w| w[0].epoch < w[1].epoch));
        assert_eq!((rows[0].epoch, rows[rows.len() - 1].epoch), (1, 100_000));
        assert!(rows.iter().any(|r| r.epoch == 1234), "the best one");
        let newest = &rows[rows.len() - 100..];
        assert!(newest.windows(2).all(|w| w[1].epoch == w[0].epoch + 1), "the newest are all there");
    }
}
