//! What a training looked like on its way: the pictures of its last minute as they came, and of all of it ever further apart. Memory
//! is bounded, whatever the length of the training; a picture that is in both lies there once.

use super::picture::Picture;
use super::worker::Snapshot;
use crate::base::clock::Instant;
use std::collections::VecDeque;
use std::sync::Arc;

/// One look at all trainings of a group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Moment {
    pub step: u64,
    pub epoch: u32,
    /// Of training, pauses left out.
    pub seconds: f64,
    /// One per slot.
    pub pictures: Vec<Picture>,
    /// The training points of the first slot, as they lay then.
    pub points: Arc<Vec<[f64; 3]>>,
}

impl Moment {
    fn bytes(&self) -> usize {
        self.pictures.iter().map(Picture::bytes).sum()
    }
}

/// Seconds of which every picture is kept, where there is room.
pub const RECENT_SECONDS: f64 = 60.0;
/// Moments of a whole training: as many as a slider can tell apart.
const MOST: usize = 400;
/// Of the last minute, enough for five maps a second, and of the whole training.
const RECENT_BYTES: usize = 32 << 20;
const WHOLE_BYTES: usize = 12 << 20;
/// A longer gap between two pictures is a pause.
const LONGEST_GAP: f64 = 0.5;

/// Moments at least `gap` apart by what `at` measures, which grows where they become too many.
struct Trail {
    at: fn(&Moment) -> f64,
    gap: f64,
    first_gap: f64,
    /// How far back it reaches.
    reach: f64,
    most: usize,
    most_bytes: usize,
    bytes: usize,
    moments: VecDeque<Arc<Moment>>,
}

impl Trail {
    fn new(at: fn(&Moment) -> f64, (gap, reach): (f64, f64), (most, most_bytes): (usize, usize)) -> Trail {
        Trail { at, gap, first_gap: gap, reach, most, most_bytes, bytes: 0, moments: VecDeque::new() }
    }

    fn clear(&mut self) {
        (self.gap, self.bytes) = (self.first_gap, 0);
        self.moments.clear();
    }

    /// The latest is always there: one that was too close to what came before it makes room for the next.
    fn push(&mut self, moment: &Arc<Moment>) {
        let at = self.at;
        if let [.., before, last] = self.moments.make_contiguous()
            && at(last) - at(before) < self.gap
        {
            self.drop_last();
        }
        self.bytes += moment.bytes();
        self.moments.push_back(moment.clone());
        while self.moments.front().is_some_and(|m| at(m) < at(moment) - self.reach) {
            self.bytes -= self.moments.pop_front().map_or(0, |m| m.bytes());
        }
        while self.moments.len() > 4 && (self.moments.len() > self.most || self.bytes > self.most_bytes) {
            self.thin();
        }
    }

    fn drop_last(&mut self) {
        self.bytes -= self.moments.pop_back().map_or(0, |m| m.bytes());
    }

    /// Twice the gap; at least one goes, however far apart they are.
    fn thin(&mut self) {
        let (n, at, mut kept) = (self.moments.len(), self.at, f64::NEG_INFINITY);
        let least = self.moments.iter().zip(self.moments.iter().skip(1)).map(|(a, b)| at(b) - at(a));
        self.gap = 2.0 * self.gap.max(least.fold(f64::INFINITY, f64::min));
        let (gap, mut i) = (self.gap, 0);
        self.moments.retain(|m| {
            i += 1;
            let stays = i == n || at(m) - kept >= gap;
            kept = if stays { at(m) } else { kept };
            stays
        });
        self.bytes = self.moments.iter().map(|m| m.bytes()).sum();
    }
}

pub struct History {
    recent: Trail,
    whole: Trail,
    /// When the last moment was taken, and the seconds of training up to it.
    last: Option<Instant>,
    seconds: f64,
}

impl Default for History {
    fn default() -> Self {
        History {
            recent: Trail::new(|m| m.seconds, (0.0, RECENT_SECONDS), (1200, RECENT_BYTES)),
            whole: Trail::new(|m| m.step as f64, (1.0, f64::INFINITY), (MOST, WHOLE_BYTES)),
            last: None,
            seconds: 0.0,
        }
    }
}

impl History {
    /// Another training begins.
    pub fn clear(&mut self) {
        self.recent.clear();
        self.whole.clear();
        (self.last, self.seconds) = (None, 0.0);
    }

    /// Forgets what lies after `step`.
    fn cut(&mut self, step: u64) {
        for trail in [&mut self.recent, &mut self.whole] {
            while trail.moments.back().is_some_and(|m| m.step > step) {
                trail.drop_last();
            }
        }
    }

    /// Takes in what a group of trainings looks like now. A second look at one step replaces the first: the view has changed.
    pub fn take(&mut self, snapshot: &Snapshot, points: &[[f64; 3]]) {
        let pictures: Vec<Picture> = snapshot.slots.iter().map(|s| s.picture.clone()).collect();
        // A picture of an earlier step is none of this one.
        let looks_back = snapshot.slots.iter().any(|s| s.looks_at.is_some());
        if looks_back || pictures.iter().all(|p| *p == Picture::None) {
            return;
        }
        // It has gone back; or a look at the training before came after the new one's beginning.
        self.cut(snapshot.step);
        let now = Instant::now();
        let before = self.recent.moments.back();
        let same = before.is_some_and(|b| b.step == snapshot.step);
        if let Some(last) = self.last.filter(|_| !same) {
            self.seconds += now.duration_since(last).as_secs_f64().min(LONGEST_GAP);
        }
        let known = before.map(|b| &b.points).filter(|p| p.as_slice() == points);
        let points = known.cloned().unwrap_or_else(|| Arc::new(points.to_vec()));
        let (step, epoch) = (snapshot.step, snapshot.epoch);
        self.push(Moment { step, epoch, seconds: self.seconds, pictures, points });
        self.last = Some(now);
    }

    fn push(&mut self, moment: Moment) {
        let moment = Arc::new(moment);
        for trail in [&mut self.recent, &mut self.whole] {
            if trail.moments.back().is_some_and(|last| last.step == moment.step) {
                trail.drop_last();
            }
            trail.push(&moment);
        }
    }

    /// The whole training from its first picture to the latest, evenly over its steps.
    pub fn whole(&self) -> impl DoubleEndedIterator<Item = &Arc<Moment>> + ExactSizeIterator {
        self.whole.moments.iter()
    }

    /// The last `seconds` of training, at most `RECENT_SECONDS`.
    pub fn recent(&self, seconds: f64) -> Vec<Arc<Moment>> {
        self.recent.moments.iter().filter(|m| m.seconds >= self.seconds - seconds).cloned().collect()
    }

    /// Seconds of training that `recent` can give.
    pub fn recent_seconds(&self) -> f64 {
        self.recent.moments.front().map_or(0.0, |first| self.seconds - first.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::picture::{Band, Map};

    fn moment(step: u64, seconds: f64, picture: Picture) -> Moment {
        Moment { step, seconds, pictures: vec![picture], ..Moment::default() }
    }

    fn band() -> Picture {
        let column = vec![0.5; 161];
        Picture::Band(Band {
            x: column.clone(),
            mean: column.clone(),
            aleatoric_sd: column.clone(),
            epistemic_sd: column,
            members: vec![],
        })
    }

    #[test]
    fn ten_hours_take_no_more_memory_than_ten_minutes() {
        let n = 56 * 56;
        let map = Map {
            n: 56,
            k: 3,
            probs: vec![0.3; 3 * n],
            total: vec![1.0; n],
            epistemic: vec![0.1; n],
            ..Map::default()
        };
        for picture in [band(), Picture::Map(map)] {
            let mut history = History::default();
            for i in 0..36_000u64 {
                history.seconds = 0.1 * i as f64;
                history.push(moment(30 * i, history.seconds, picture.clone()));
                for trail in [&history.recent, &history.whole] {
                    assert!(
                        trail.bytes <= trail.most_bytes && trail.moments.len() <= trail.most,
                        "{} bytes",
                        trail.bytes
                    );
                    assert_eq!(trail.bytes, trail.moments.iter().map(|m| m.bytes()).sum::<usize>());
                }
            }
            let steps: Vec<u64> = history.whole().map(|m| m.step).collect();
            assert_eq!((steps[0], steps[steps.len() - 1]), (0, 30 * 35_999), "from its beginning to now");
            let gaps: Vec<u64> = steps.windows(2).map(|w| w[1] - w[0]).collect();
            let usual = gaps[0];
            assert!(steps.len() > 60 && gaps.iter().all(|g| *g <= usual), "{} of {gaps:?}", steps.len());
            assert!((history.recent_seconds() - RECENT_SECONDS).abs() < 1.0, "{}", history.recent_seconds());
            let last = history.recent(10.0);
            assert!(last.len() >= 20 && last.iter().all(|m| m.seconds >= 3589.0), "{}", last.len());
        }
    }

    #[test]
    fn a_second_look_at_a_step_replaces_the_first_and_another_training_begins_anew() {
        let mut history = History::default();
        let looks = |step: u64| Snapshot {
            step,
            slots: vec![crate::live::worker::SlotSnapshot { picture: band(), ..Default::default() }],
            ..Snapshot::default()
        };
        for step in [0, 10, 10, 20] {
            history.take(&looks(step), &[[1.0, 2.0, 0.0]]);
        }
        assert_eq!(history.whole().map(|m| m.step).collect::<Vec<_>>(), [0, 10, 20]);
        assert_eq!(history.recent(RECENT_SECONDS).len(), 3);
        let all: Vec<_> = history.whole().collect();
        assert!(Arc::ptr_eq(&all[0].points, &all[2].points), "points that nobody moved lie there once");
        history.take(&looks(15), &[]);
        assert_eq!(history.whole().map(|m| m.step).collect::<Vec<_>>(), [0, 10, 15], "what came after is forgotten");
        history.clear();
        history.take(&Snapshot { step: 5, ..Snapshot::default() }, &[]);
        assert_eq!((history.whole().len(), history.recent_seconds()), (0, 0.0), "what has no picture leaves none");
    }
}
