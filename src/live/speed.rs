//! How fast training goes.

use crate::base::clock::Instant;
use std::collections::VecDeque;

/// Steps per second over the last second or so.
#[derive(Default)]
pub struct Speed {
    marks: VecDeque<(Instant, u64)>,
}

impl Speed {
    pub fn mark(&mut self, step: u64) {
        let now = Instant::now();
        self.marks.push_back((now, step));
        while self.marks.len() > 2 && now.duration_since(self.marks[0].0).as_secs_f64() > 1.0 {
            self.marks.pop_front();
        }
    }
    pub fn steps_per_second(&self) -> f64 {
        match (self.marks.front(), self.marks.back()) {
            (Some((t0, s0)), Some((t1, s1))) if s1 > s0 => {
                (s1 - s0) as f64 / t1.duration_since(*t0).as_secs_f64().max(1e-9)
            }
            _ => 0.0,
        }
    }
}
