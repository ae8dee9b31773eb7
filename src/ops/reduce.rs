//! Reductions: the loss of a step and sums of squares. The shader reduces by a fixed tree, so a run repeats itself.

use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, fits, params};
use crate::base::Real;
use rayon::prelude::*;

/// Words of one member's entry in `sums`.
pub const SUM_WORDS: usize = 8;
/// Places in it: summed nll, regularizer, auxiliary, number of full batches, first bad step + 1, bad term + 1.
pub const SUM_STEPS: usize = 3;
pub const SUM_BAD_STEP: usize = 4;
pub const SUM_BAD_TERM: usize = 5;

params! {
    /// sums [E, 8] += this step's means of terms [E * samples, rows, 3] over the member's samples and rows, plus
    /// `extra_scale` * extra [E] in the regularizer's place, times the share of the batch that is filled: an epoch's mean is
    /// the sums over their number of full batches, and a last batch of one row weighs one row. The first step whose terms are not finite is remembered.
    LossReduce {
        members: u32,
        samples: u32,
        rows: u32,
        data_rows: u32,
        has_extra: u32,
        extra_scale: f32,
    }
}
params! {
    /// sums [R] = sum of squares of `first .. first + length` of each replica of v [R, stride].
    SumSquares {
        replicas: u32,
        stride: u32,
        first: u32,
        length: u32,
    }
}

impl OpSpec for LossReduce {
    binds!(loss_reduce(step): [terms, extra] -> [sums]);
    fn grid(&self) -> Grid {
        Grid::Groups(self.members as u64)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![
                elements(&[self.members, self.samples, self.rows, 3]),
                if self.has_extra == 1 { self.members as usize } else { 1 },
            ],
            vec![self.members as usize * SUM_WORDS],
        )
    }
    fn sizes_agree(&self) -> bool {
        self.data_rows <= self.rows && self.samples > 0
    }
}
impl OpSpec for SumSquares {
    binds!(sum_squares: [v] -> [sums]);
    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.stride])], vec![self.replicas as usize])
    }
    fn sizes_agree(&self) -> bool {
        fits(self.first, u64::from(self.length), self.stride)
    }
}

#[inline(always)]
pub fn loss_reduce<T: Real>(p: &LossReduce, args: &StepArgs<T>, terms: &[T], extra: &[T], sums: &mut [T]) {
    let count = (p.samples * p.rows) as usize;
    let data = T::of((p.samples * args.n_valid) as f64);
    let aux = T::of((p.samples * (p.rows - p.data_rows)).max(1) as f64);
    // Without data rows there are auxiliary rows alone.
    let full = args.n_valid == p.data_rows || p.data_rows == 0;
    let share = if full { T::one() } else { T::of(args.n_valid as f64) / T::of(p.data_rows as f64) };
    for e in 0..p.members as usize {
        let mut total = [T::zero(); 3];
        for row in terms[e * count * 3..(e + 1) * count * 3].chunks_exact(3) {
            for t in 0..3 {
                total[t] += row[t];
            }
        }
        total[0] /= data;
        total[1] /= data;
        total[2] /= aux;
        if p.has_extra == 1 {
            total[1] += T::of(p.extra_scale as f64) * extra[e];
        }
        let sums = &mut sums[e * SUM_WORDS..(e + 1) * SUM_WORDS];
        for t in 0..3 {
            sums[t] += share * total[t];
            if !total[t].is_finite() && sums[SUM_BAD_STEP] == T::zero() {
                sums[SUM_BAD_STEP] = T::of(args.step as f64 + 1.0);
                sums[SUM_BAD_TERM] = T::of(t as f64 + 1.0);
            }
        }
        sums[SUM_STEPS] += share;
    }
}

/// Partial sums of a long vector at most.
const PARTS: usize = 64;

pub fn sum_squares<T: Real>(p: &SumSquares, v: &[T], sums: &mut [T]) {
    let n = p.length as usize;
    let piece = n.div_ceil(PARTS).max(PIECE);
    for r in 0..p.replicas as usize {
        let mut parts = [T::zero(); PARTS];
        let v = &v[r * p.stride as usize + p.first as usize..][..n];
        let pieces = parts.par_iter_mut().zip(v.par_chunks(piece));
        share(n, pieces, |(part, v)| squares(v, part));
        sums[r] = parts.iter().copied().sum();
    }
}

wide! {
    /// The sum of squares of v.
    pub(super) fn squares<T: Real>(v: &[T], sum: &mut T) {
        // Sixteen running sums: an order of its own that vector code can keep.
        let mut lanes = [T::zero(); 16];
        let (chunks, rest) = v.as_chunks::<16>();
        for chunk in chunks {
            for i in 0..16 {
                lanes[i] += chunk[i] * chunk[i];
            }
        }
        for (i, x) in rest.iter().enumerate() {
            lanes[i] += *x * *x;
        }
        *sum = lanes.iter().copied().sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_of_a_range() {
        let p = SumSquares { replicas: 2, stride: 3, first: 1, length: 2 };
        let mut sums = [f64::NAN; 2];
        sum_squares(&p, &[9.0, 1.0, 2.0, 9.0, 3.0, 4.0], &mut sums);
        assert_eq!(sums, [5.0, 25.0]);
    }

    #[test]
    fn means_over_valid_rows_and_the_first_bad_step() {
        let p = LossReduce { members: 1, samples: 1, rows: 4, data_rows: 3, has_extra: 1, extra_scale: 0.5 };
        // Two valid rows, one filler, one auxiliary row.
        let terms = [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0];
        let mut sums = [0.0; SUM_WORDS];
        let mut args = StepArgs { n_valid: 2, step: 10, ..Default::default() };
        loss_reduce(&p, &args, &terms, &[4.0], &mut sums);
        // Means 2, 5 and 7, of a batch that is two thirds full.
        let share = 2.0 / 3.0;
        assert_eq!(sums[..4], [share * 2.0, share * 5.0, share * 7.0, share]);
        for (step, t) in [(11, f64::NAN), (12, f64::INFINITY)] {
            args.step = step;
            let mut bad = terms;
            bad[1] = t;
            loss_reduce(&p, &args, &bad, &[0.0], &mut sums);
        }
        assert_eq!((sums[SUM_BAD_STEP], sums[SUM_BAD_TERM]), (12.0, 2.0), "step 11, the regularizer");
    }
}
