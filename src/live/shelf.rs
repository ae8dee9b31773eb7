//! Trainings that others have taken the place of, so that this can be undone: as they stood, with their moments and curves. Bounded in
//! number and in bytes; the one that was put aside last is always there.

use super::slot::TrainerSlot;
use std::collections::VecDeque;

/// Trainings at most.
const MOST: usize = 8;
/// Bytes of their moments and rows together.
const MOST_BYTES: usize = 96 << 20;

struct Put {
    number: u64,
    slots: Vec<TrainerSlot>,
    was_running: bool,
    bytes: usize,
}

#[derive(Default)]
pub struct Shelf {
    /// The oldest first.
    all: VecDeque<Put>,
}

impl Shelf {
    /// Their folder is free from now on.
    pub fn put(&mut self, number: u64, mut slots: Vec<TrainerSlot>, was_running: bool) {
        slots.iter_mut().for_each(|slot| slot.training.let_go());
        let bytes = slots.iter().map(bytes).sum();
        self.all.retain(|p| p.number != number);
        self.all.push_back(Put { number, slots, was_running, bytes });
        while self.all.len() > 1
            && (self.all.len() > MOST || self.all.iter().map(|p| p.bytes).sum::<usize>() > MOST_BYTES)
        {
            self.all.pop_front();
        }
    }

    /// The trainings, and whether they ran; None where they are there no longer.
    pub fn take(&mut self, number: u64) -> Option<(Vec<TrainerSlot>, bool)> {
        let i = self.all.iter().position(|p| p.number == number)?;
        let put = self.all.remove(i)?;
        Some((put.slots, put.was_running))
    }
}

fn bytes(slot: &TrainerSlot) -> usize {
    let data = &slot.training.data;
    let sets = [&data.train, &data.validation, &data.test];
    let rows: usize = sets.iter().map(|set| 4 * (set.x.len() + set.y.len()) + set.bytes.len()).sum();
    // The executor has the rows, too.
    slot.timeline.bytes() + slot.later_bytes() + 2 * rows
}
