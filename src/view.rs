//! RunView: the state of a run so far, a pure fold of its events. Command line and app both show this and nothing else.

use crate::train::{EpochRow, Event, MOST_ROWS, thin};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunView {
    pub device: String,
    pub parameters: usize,
    pub epochs: u32,
    pub steps_per_epoch: u32,
    pub first_epoch: u32,
    pub rows: Vec<EpochRow>,
    /// Seconds of earlier parts of a resumed run.
    seconds_before: f64,
}

impl RunView {
    pub fn fold(&mut self, event: &Event) {
        match event {
            Event::Started { device, parameters, first_epoch, epochs, steps_per_epoch } => {
                *self = RunView {
                    device: device.clone(),
                    parameters: *parameters,
                    epochs: *epochs,
                    steps_per_epoch: *steps_per_epoch,
                    first_epoch: *first_epoch,
                    ..Default::default()
                };
            }
            Event::Epoch(row) => {
                if self.rows.is_empty() && self.first_epoch > 0 && self.seconds_before == 0.0 {
                    let share = f64::from(row.epoch.saturating_sub(self.first_epoch)) / f64::from(row.epoch.max(1));
                    self.seconds_before = row.seconds * (1.0 - share);
                }
                self.rows.push(*row);
                thin(&mut self.rows, MOST_ROWS);
            }
            Event::Checkpoint => {}
        }
    }

    /// Its epochs and their steps have changed while it goes on, or what it runs on.
    pub fn change(&mut self, event: &Event) {
        if let Event::Started { device, epochs, steps_per_epoch, .. } = event {
            self.device.clone_from(device);
            (self.epochs, self.steps_per_epoch) = (*epochs, *steps_per_epoch);
        }
    }

    /// Rows of an earlier part of the run, as a resumed one finds them in its folder.
    pub fn take(&mut self, rows: &[EpochRow]) {
        self.rows.extend_from_slice(rows);
        thin(&mut self.rows, MOST_ROWS);
        self.seconds_before = rows.last().map_or(0.0, |r| r.seconds);
    }

    pub fn last(&self) -> Option<&EpochRow> {
        self.rows.last()
    }

    /// Steps per second since this part of the run began.
    pub fn rate(&self) -> f64 {
        let Some(row) = self.last() else { return 0.0 };
        let steps = f64::from(row.epoch.saturating_sub(self.first_epoch)) * f64::from(self.steps_per_epoch);
        steps / (row.seconds - self.seconds_before).max(1e-9)
    }

    /// Seconds to the last epoch, if training does not stop early.
    pub fn seconds_left(&self) -> f64 {
        let done = self.last().map_or(self.first_epoch, |r| r.epoch);
        f64::from(self.epochs.saturating_sub(done)) * f64::from(self.steps_per_epoch) / self.rate().max(1e-9)
    }

    /// What the last tenth of all epochs has gained: how much lower the best validation NLL so far is than the best up to an
    /// epoch that long ago, in nats, and that epoch; where nothing, the epoch of the best. None before there are two to compare.
    pub fn gained(&self) -> Option<(f64, u32)> {
        let now = self.last()?.epoch;
        let long_ago = now.checked_sub((self.epochs / 10).max(1))?;
        let (mut before, mut best, mut best_epoch) = (None, f64::INFINITY, 0);
        for row in &self.rows {
            let nll = row.validation_nll?;
            if nll < best {
                (best, best_epoch) = (nll, row.epoch);
            }
            if row.epoch <= long_ago {
                before = Some((best, row.epoch));
            }
        }
        let gained = before.map(|(then, epoch)| (then - best, epoch)).filter(|(gain, _)| gain.is_finite());
        gained.map(|(gain, epoch)| if gain > 0.0 { (gain, epoch) } else { (0.0, best_epoch) })
    }

    /// "epoch 40/200  loss 1.23  validation NLL 3.10, best 0.02 lower than by epoch 20".
    pub fn line(&self) -> String {
        use crate::tables::number;
        let Some(r) = self.last() else { return format!("on {}", self.device) };
        let mut line = format!("epoch {}/{}  loss {}", r.epoch, self.epochs, number(r.loss));
        if let Some(v) = r.validation_nll {
            line += &format!("  validation NLL {}", number(v));
        }
        match self.gained() {
            Some((gain, epoch)) if gain > 0.0 => {
                line += &format!(", best {} lower than by epoch {epoch}", number(gain))
            }
            Some((_, epoch)) => line += &format!(", lowest at epoch {epoch}"),
            None => {}
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(epoch: u32, seconds: f64) -> EpochRow {
        EpochRow {
            epoch,
            step: u64::from(epoch) * 10,
            seconds,
            learning_rate: 0.1,
            loss: 1.0,
            expected_nll: 1.0,
            regularizer: 0.0,
            ..Default::default()
        }
    }

    #[test]
    fn rate_and_time_left() {
        let mut v = RunView::default();
        v.fold(&Event::Started {
            device: "CPU".into(),
            parameters: 1,
            first_epoch: 0,
            epochs: 100,
            steps_per_epoch: 10,
        });
        v.fold(&Event::Epoch(row(20, 2.0)));
        assert_eq!((v.rate(), v.seconds_left()), (100.0, 8.0));
        assert_eq!(v.line(), "epoch 20/100  loss 1.000");
    }

    #[test]
    fn what_the_last_tenth_gained() {
        let mut v = RunView { epochs: 20, ..RunView::default() };
        let mut tell = |epoch: u32, nll: f64| {
            v.rows.push(EpochRow { validation_nll: Some(nll), ..row(epoch, 1.0) });
            v.line()
        };
        assert!(tell(1, 3.0).ends_with("validation NLL 3.000"));
        assert!(tell(2, 2.0).ends_with("validation NLL 2.000"));
        assert!(tell(3, 2.5).ends_with("validation NLL 2.500, best 1.000 lower than by epoch 1"));
        assert!(tell(4, 2.25).ends_with("validation NLL 2.250, lowest at epoch 2"));
    }

    #[test]
    fn a_resumed_run_counts_its_own_time() {
        let mut v = RunView::default();
        v.fold(&Event::Started {
            device: "CPU".into(),
            parameters: 1,
            first_epoch: 50,
            epochs: 100,
            steps_per_epoch: 10,
        });
        v.fold(&Event::Epoch(row(60, 6.0)));
        v.fold(&Event::Epoch(row(70, 7.0)));
        assert!((v.rate() - 100.0).abs() < 1e-9);
    }
}
