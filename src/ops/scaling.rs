//! The scale of a loss whose gradients are stored in 16 bits, where small ones would be nothing: they go back 2^s times as large.
//! A member's state [s - 16, sound steps in a row] starts at zero. A gradient that is not finite leaves the weights as they
//! are and halves the scale; after some sound steps it doubles. Powers of two round nothing (MATH.md section 13).

use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, params, shared};
use crate::base::Real;
use crate::ops::reduce::{SUM_BAD_STEP, SUM_BAD_TERM, SUM_WORDS};
use rayon::prelude::*;

params! {
    /// out [R, count] = 2^s v [R, count], with the s of the replica's member, `samples` replicas each.
    ScaleUp {
        replicas: u32,
        samples: u32,
        count: u32,
    }
}
params! {
    /// grad [R, count] times 2^-s.
    ScaleDown {
        replicas: u32,
        samples: u32,
        count: u32,
    }
}
params! {
    /// state [E, 2] after a step with `norm` [E], the gradient's sum of squares. Where it is not finite although the scale is 1,
    /// sums [E, 8] get the step as a bad one, and the term behind those of the loss.
    ScaleUpdate {
        members: u32,
        /// Sound steps after which the scale doubles.
        patience: u32,
    }
}

/// Words of a member's state.
pub const SCALE_WORDS: usize = 2;
/// log2 of the scale at the start and at most; at least it is 0.
const FIRST: f64 = 16.0;
const MOST: f64 = 24.0;
/// The gradient's place among the terms that may be bad, counted from 1.
pub const GRADIENT_TERM: usize = 4;

impl OpSpec for ScaleUp {
    binds!(scale_up: [v, state] -> [out]);
    const HALVES: &'static [&'static str] = &["out"];

    fn grid(&self) -> Grid {
        Grid::Threads(u64::from(self.replicas) * u64::from(self.count))
    }
    fn lengths(&self) -> Lengths {
        let v = elements(&[self.replicas, self.count]);
        (vec![v, state_len(self.replicas, self.samples)], vec![v])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.samples)
    }
}
impl OpSpec for ScaleDown {
    binds!(scale_down: [state] -> [grad]);

    fn grid(&self) -> Grid {
        Grid::Threads(u64::from(self.replicas) * u64::from(self.count))
    }
    fn lengths(&self) -> Lengths {
        (vec![state_len(self.replicas, self.samples)], vec![elements(&[self.replicas, self.count])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.samples)
    }
}
impl OpSpec for ScaleUpdate {
    binds!(scale_update(step): [norm] -> [state, sums]);

    fn grid(&self) -> Grid {
        Grid::Threads(self.members.into())
    }
    fn lengths(&self) -> Lengths {
        let members = self.members as usize;
        (vec![members], vec![members * SCALE_WORDS, members * SUM_WORDS])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}

fn state_len(replicas: u32, samples: u32) -> usize {
    (replicas / samples.max(1)) as usize * SCALE_WORDS
}

/// 2^s or 2^-s of a replica.
fn scale<T: Real>(state: &[T], member: usize, sign: f64) -> T {
    T::of(libm::exp2(sign * (FIRST + state[member * SCALE_WORDS].f64())))
}

pub fn scale_up<T: Real>(p: &ScaleUp, v: &[T], state: &[T], out: &mut [T]) {
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        let scale = scale(state, r / p.samples as usize, 1.0);
        let part = r * n..(r + 1) * n;
        let pieces = out[part.clone()].par_chunks_mut(PIECE).zip(v[part].par_chunks(PIECE));
        share(n, pieces, |(out, v)| times(v, scale, out));
    }
}

pub fn scale_down<T: Real>(p: &ScaleDown, state: &[T], grad: &mut [T]) {
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        let scale = scale(state, r / p.samples as usize, -1.0);
        share(n, grad[r * n..(r + 1) * n].par_chunks_mut(PIECE), |grad| times_in_place(scale, grad));
    }
}

wide! {
    fn times<T: Real>(v: &[T], scale: T, out: &mut [T]) {
        for (out, v) in out.iter_mut().zip(v) {
            *out = *v * scale;
        }
    }
}
wide! {
    fn times_in_place<T: Real>(scale: T, grad: &mut [T]) {
        for g in grad {
            *g *= scale;
        }
    }
}

pub fn scale_update<T: Real>(p: &ScaleUpdate, args: &StepArgs<T>, norm: &[T], state: &mut [T], sums: &mut [T]) {
    let members = state.chunks_exact_mut(SCALE_WORDS).zip(sums.chunks_exact_mut(SUM_WORDS)).zip(norm);
    for ((state, sums), norm) in members.take(p.members as usize) {
        let (above, sound) = (state[0].f64(), state[1].f64());
        if norm.is_finite() {
            let doubles = sound + 1.0 >= f64::from(p.patience);
            state[0] = T::of(if doubles { (above + 1.0).min(MOST - FIRST) } else { above });
            state[1] = T::of(if doubles { 0.0 } else { sound + 1.0 });
            continue;
        }
        if above <= -FIRST && sums[SUM_BAD_STEP] == T::zero() {
            sums[SUM_BAD_STEP] = T::of(f64::from(args.step) + 1.0);
            sums[SUM_BAD_TERM] = T::of(GRADIENT_TERM as f64);
        }
        state[0] = T::of((above - 1.0).max(-FIRST));
        state[1] = T::zero();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members whose scales are 2^16 and 2^13, two replicas each: up and down again is where it was, to the bit.
    #[test]
    fn up_and_down_is_where_it_was() {
        let state = [0.0f32, 5.0, -3.0, 0.0];
        let v: Vec<f32> = (0..12).map(|i| (i as f32 - 5.5) * 0.1).collect();
        let mut scaled = vec![f32::NAN; 12];
        scale_up(&ScaleUp { replicas: 4, samples: 2, count: 3 }, &v, &state, &mut scaled);
        assert_eq!((scaled[0], scaled[11]), (v[0] * 65_536.0, v[11] * 8192.0));
        scale_down(&ScaleDown { replicas: 4, samples: 2, count: 3 }, &state, &mut scaled);
        assert_eq!(scaled, v);
    }

    /// Sound steps double the scale, up to 2^24; a bad one halves it, down to 1, and is told of there.
    #[test]
    fn the_scale_follows_the_steps() {
        let p = ScaleUpdate { members: 2, patience: 3 };
        let (mut state, mut sums) = ([0.0f64; 4], [0.0; 2 * SUM_WORDS]);
        let mut step = |norms: [f64; 2], at: u32, state: &mut [f64; 4]| {
            scale_update(&p, &StepArgs { step: at, ..Default::default() }, &norms, state, &mut sums);
            sums[SUM_WORDS..].to_vec()
        };
        for at in 0..30 {
            step([1.0, f64::INFINITY], at, &mut state);
            assert_eq!(state[0], f64::from(((at + 1) / 3).min(8)));
            assert_eq!(state[2], -f64::from((at + 1).min(16)));
        }
        let of_second = step([f64::NAN, 1.0], 30, &mut state);
        assert_eq!((of_second[SUM_BAD_STEP], of_second[SUM_BAD_TERM]), (17.0, 4.0), "the first at scale 1");
        assert_eq!(state, [7.0, 0.0, -16.0, 1.0]);
        assert_eq!(sums[..SUM_WORDS], [0.0; SUM_WORDS], "the first member was sound, or only too large for its scale");
    }
}
