//! Moments of a training so far, to look back at and to go on from: checkpoints in memory at even distances of steps, and the one
//! with the lowest held-out NLL. Bounded in number and in bytes: when it is full, every other moment goes.

use crate::train::{Checkpoint, EpochRow};

/// Moments at most.
const MOST: usize = 200;
/// Bytes that they may take together, the best one aside.
const MOST_BYTES: usize = 64 << 20;
/// Fewer are no line: a network so large keeps none.
const FEWEST: usize = 8;

#[derive(Default)]
pub struct Timeline {
    /// By their steps.
    moments: Vec<Checkpoint>,
    /// Least steps between two; `u64::MAX`: one alone is too large.
    apart: u64,
    best: Option<(f64, Checkpoint)>,
}

/// What a row is judged by: validation rows, or where there are none the test rows that are watched.
pub fn held_out_nll(row: &EpochRow) -> Option<f64> {
    row.validation_nll.or(row.test_nll).filter(|nll| nll.is_finite())
}

/// What a moment takes in memory.
pub fn bytes(checkpoint: &Checkpoint) -> usize {
    let of = |t: &crate::method::Trained| t.weights.len() + t.running.len();
    let numbers = of(&checkpoint.trained)
        + checkpoint.best_weights.as_ref().map_or(0, of)
        + checkpoint.optimizer.iter().map(|o| o.1.len()).sum::<usize>();
    4 * numbers
}

impl Timeline {
    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        self.moments.iter().chain(self.best.as_ref().map(|(_, c)| c)).map(bytes).sum()
    }

    /// Whether a moment is to be kept at this step.
    pub fn is_due(&self, step: u64) -> bool {
        let far = |last: &Checkpoint| step >= last.step.saturating_add(self.apart.max(1));
        self.apart != u64::MAX && self.moments.last().is_none_or(far)
    }

    pub fn push(&mut self, checkpoint: Checkpoint) {
        let most = (MOST_BYTES / bytes(&checkpoint).max(1)).min(MOST);
        if most < FEWEST {
            *self = Timeline { apart: u64::MAX, ..Timeline::default() };
            return;
        }
        self.moments.retain(|m| m.step < checkpoint.step);
        self.moments.push(checkpoint);
        while self.moments.len() > most {
            let mut keep = false;
            self.moments.retain(|_| {
                keep = !keep;
                keep
            });
            self.apart = 2 * self.apart.max(1);
        }
    }

    /// Whether the row is better than all before it, so that its checkpoint is to be kept.
    pub fn is_best(&self, row: &EpochRow) -> bool {
        let better = |nll| self.best.as_ref().is_none_or(|(best, _)| nll < *best);
        self.apart != u64::MAX && held_out_nll(row).is_some_and(better)
    }

    pub fn push_best(&mut self, row: &EpochRow, checkpoint: Checkpoint) {
        self.best = held_out_nll(row).map(|nll| (nll, checkpoint));
    }

    /// Steps of the moments, ascending, the best one among them.
    pub fn steps(&self) -> Vec<u64> {
        let mut steps: Vec<u64> = self.moments.iter().map(|m| m.step).collect();
        if let Some(best) = self.best()
            && let Err(place) = steps.binary_search(&best)
        {
            steps.insert(place, best);
        }
        steps
    }

    /// Step of the lowest held-out NLL.
    pub fn best(&self) -> Option<u64> {
        self.best.as_ref().map(|(_, c)| c.step)
    }

    /// The moment at a step, or the last one before it.
    pub fn at(&self, step: u64) -> Option<&Checkpoint> {
        let best = self.best.as_ref().map(|(_, c)| c);
        self.moments.iter().chain(best).filter(|m| m.step <= step).max_by_key(|m| m.step)
    }

    /// Takes off what lies after `step`, and remembers what was best.
    pub fn cut(&mut self, step: u64) -> Timeline {
        let best = self.best.clone();
        self.best.take_if(|(_, c)| c.step > step);
        let first = self.moments.partition_point(|m| m.step <= step);
        Timeline { moments: self.moments.split_off(first), best, ..Timeline::default() }
    }

    /// Puts back what was cut off at `step`, in place of what has come since.
    pub fn put_back(&mut self, step: u64, cut: Timeline) {
        self.moments.truncate(self.moments.partition_point(|m| m.step <= step));
        self.moments.extend(cut.moments);
        self.best = cut.best;
    }

    /// The training goes on with other rows or another objective, of which an epoch takes `now` steps instead of `before`: the
    /// same share of it is behind each moment, and what was best then is no measure any more. `like` = a checkpoint of it: where
    /// its parts are others, no moment fits it.
    pub fn adapt(&mut self, like: &Checkpoint, steps: (u64, u64)) {
        self.best = None;
        self.moments.retain_mut(|moment| adapt(moment, like, steps));
    }
}

/// `Timeline::adapt` of one moment; whether it fits.
pub fn adapt(moment: &mut Checkpoint, like: &Checkpoint, (before, now): (u64, u64)) -> bool {
    let parts = |c: &Checkpoint| -> Vec<(String, usize)> {
        let optimizer = c.optimizer.iter().filter(|(_, v)| v.len() >= c.trained.weights.len());
        optimizer.map(|(name, v)| (name.clone(), v.len())).collect()
    };
    let sizes = |c: &Checkpoint| (c.trained.weights.len(), c.trained.running.len(), parts(c));
    moment.at = moment.at * now / before.max(1);
    moment.best.clear();
    moment.best_weights = None;
    sizes(moment) == sizes(like)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Trained;

    fn moment(step: u64, numbers: usize) -> Checkpoint {
        Checkpoint { step, at: step, trained: Trained::plain(vec![0.0; numbers], vec![]), ..Checkpoint::default() }
    }

    fn row(step: u64, nll: f64) -> EpochRow {
        EpochRow { step, test_nll: Some(nll), ..EpochRow::default() }
    }

    /// A training of a million steps, looked at after each: never more than the bound, from the beginning to the end, at distances
    /// that are even.
    #[test]
    fn the_line_is_thinned_when_it_is_full() {
        let mut line = Timeline::default();
        for step in 0..1_000_000 {
            if line.is_due(step) {
                line.push(moment(step, 10));
            }
            assert!(line.moments.len() <= MOST);
        }
        let steps = line.steps();
        assert_eq!(steps[0], 0);
        assert!(steps.len() >= MOST / 2 && steps[steps.len() - 1] > 980_000, "{}", steps.len());
        let distances: Vec<u64> = steps.windows(2).map(|s| s[1] - s[0]).collect();
        assert!(distances.iter().all(|d| *d == distances[0]), "{distances:?}");
        assert_eq!(line.at(distances[0] + 1).map(|m| m.step), Some(distances[0]));
    }

    #[test]
    fn large_networks_keep_fewer_and_the_largest_none() {
        let mut line = Timeline::default();
        let numbers = MOST_BYTES / 4 / 20;
        (0..100).for_each(|step| line.push(moment(step, numbers)));
        assert!((FEWEST..=20).contains(&line.moments.len()), "{}", line.moments.len());
        let mut line = Timeline::default();
        line.push(moment(0, MOST_BYTES));
        assert!(line.steps().is_empty() && !line.is_due(1000) && !line.is_best(&row(1, 0.5)));
    }

    #[test]
    fn the_best_moment_stays_and_what_lies_after_a_cut_goes() {
        let mut line = Timeline::default();
        for (step, nll) in [(10, 3.0), (20, 1.0), (25, 2.0), (30, f64::NAN)] {
            let row = row(step, nll);
            if line.is_best(&row) {
                line.push_best(&row, moment(step, 10));
            }
        }
        line.push(moment(0, 10));
        line.push(moment(40, 10));
        assert_eq!((line.best(), line.steps()), (Some(20), vec![0, 20, 40]));
        assert_eq!(line.at(39).map(|m| m.step), Some(20));
        let later = line.cut(20);
        assert_eq!(line.steps(), [0, 20]);
        let more = line.cut(19);
        assert_eq!((line.best(), line.steps()), (None, vec![0]));
        // Another way from there on, which is left again.
        line.push(moment(21, 10));
        line.push_best(&row(22, 0.5), moment(22, 10));
        line.put_back(19, more);
        assert_eq!((line.best(), line.steps()), (Some(20), vec![0, 20]));
        line.put_back(20, later);
        assert_eq!((line.best(), line.steps()), (Some(20), vec![0, 20, 40]));
        line.adapt(&moment(5, 11), (1, 1));
        assert!(line.steps().is_empty(), "another network");
    }
}
