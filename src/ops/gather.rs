//! What goes into a network: the rows of a batch in the epoch's order, the auxiliary inputs, and dropout masks.

use super::wide::{PIECE, share, wide};
use super::{Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, StepArgs, binds, elements, fits, params};
use crate::base::Real;
use crate::base::rng::{Draw, Permutation, Stream, unit};
use rayon::prelude::*;

params! {
    /// out [X, out_rows, cols], rows 0..batch <- rows `batch_start + b` of the epoch's order of the `n_rows` rows that a
    /// member sees of data [n_rows + held_out, cols]. Positions past the end wrap round: such rows are filler that the heads
    /// give no weight. With several data sets [S, n_rows + held_out, cols] each member reads its own (`set_of`).
    GatherRows {
        replicas: u32,
        n_rows: u32,
        cols: u32,
        batch: u32,
        out_rows: u32,
        /// 1: each member has its own order in each epoch; 0: file order.
        shuffle: u32,
        /// Number of the first member, so that a part of an ensemble draws what the whole would.
        first_member: u32,
        /// Members that share a data set; 0: all of them share one.
        per_set: u32,
        /// Number of the first set in the buffer.
        first_set: u32,
        /// Rows that a member does not see: those from `fold_start` of its fold on.
        held_out: u32,
        /// Folds of the rows; member m holds out fold m % folds. 0: no member holds out any.
        folds: u32,
    }
}
params! {
    /// out [X, out_rows, cols], rows `first_row .. first_row + count` <- uniform on [low, high] per column
    /// (MATH.md section 2), or an even grid where `grid` is 1. low, high [S, cols], as the sets of `GatherRows`.
    AuxInputs {
        replicas: u32,
        cols: u32,
        count: u32,
        first_row: u32,
        out_rows: u32,
        grid: u32,
        first_member: u32,
        per_set: u32,
        first_set: u32,
    }
}
params! {
    /// y = x * mask / (1 - rate), x [R, count]. Its own backward pass: the mask is drawn again from the same counter.
    Dropout {
        replicas: u32,
        count: u32,
        /// The mask of element i is drawn at i % period. Training: count, a mask of its own for every row; prediction:
        /// numbers of a row, so that all rows of a pass see the same thinned network.
        period: u32,
        stream: u32,
        first_replica: u32,
        rate: f32,
        /// 1: the rate is rate * `StepArgs::dropout`.
        by_step: u32,
    }
}

/// The set, counted from the first one in the buffer, that member number `member` reads: sets follow one another on the
/// replica axis, `per_set` members each.
#[inline(always)]
pub fn set_of(member: u32, per_set: u32, first_set: u32) -> u32 {
    member.checked_div(per_set).map_or(0, |set| set - first_set)
}

/// The first row of a fold, where `folds` folds of nearly equal size cut `rows` rows. fold < folds < 2^16.
#[inline(always)]
pub fn fold_start(fold: u32, folds: u32, rows: u32) -> u32 {
    fold * (rows / folds) + fold * (rows % folds) / folds
}

/// Rows of the largest fold: what every member holds out, so that all train on equally many.
pub fn fold_rows(folds: u32, rows: u32) -> u32 {
    rows.div_ceil(folds)
}

impl GatherRows {
    /// Rows of a set in the buffer.
    fn set_rows(&self) -> u32 {
        self.n_rows.saturating_add(self.held_out)
    }
    /// Sets that the buffer holds.
    pub fn sets(&self) -> u32 {
        sets(self.first_member, self.replicas, self.per_set, self.first_set)
    }
}
impl OpSpec for GatherRows {
    binds!(gather_rows(step): [data] -> [out]);
    const HALVES: &'static [&'static str] = &["out"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.batch as u64)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![elements(&[self.sets(), self.set_rows(), self.cols])],
            vec![elements(&[self.replicas, self.out_rows, self.cols])],
        )
    }
    fn sizes_agree(&self) -> bool {
        self.batch <= self.out_rows
            && self.n_rows > 0
            && self.folds < 1 << 16
            && (self.folds == 0) == (self.held_out == 0)
            && self.first_member.checked_div(self.per_set).is_none_or(|s| s >= self.first_set)
    }
}
impl AuxInputs {
    /// Sets that the buffers hold ranges of.
    pub fn sets(&self) -> u32 {
        sets(self.first_member, self.replicas, self.per_set, self.first_set)
    }
}
impl OpSpec for AuxInputs {
    binds!(aux_inputs(step): [low, high] -> [out]);
    const HALVES: &'static [&'static str] = &["out"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64 * self.cols as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.sets(), self.cols]); 2], vec![elements(&[self.replicas, self.out_rows, self.cols])])
    }
    fn sizes_agree(&self) -> bool {
        fits(self.first_row, u64::from(self.count), self.out_rows)
            && self.first_member.checked_div(self.per_set).is_none_or(|s| s >= self.first_set)
    }
}
fn sets(first_member: u32, replicas: u32, per_set: u32, first_set: u32) -> u32 {
    let last = (first_member + replicas.max(1) - 1).checked_div(per_set);
    last.map_or(1, |set| (set + 1).saturating_sub(first_set))
}
impl OpSpec for Dropout {
    binds!(dropout(step): [x] -> [y]);
    const HALVES: &'static [&'static str] = &["x", "y"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.count])], vec![elements(&[self.replicas, self.count])])
    }
    fn sizes_agree(&self) -> bool {
        self.period > 0 || self.count == 0
    }
    /// The slope of the activation before it was multiplied in already; the two commute.
    fn gradient(&self, _: u32) -> Option<Gradient> {
        Some(Gradient::Steps(vec![GradientStep { op: Op::Dropout(*self), reads: &[Place::Dy], writes: &[Place::Dx] }]))
    }
}

/// Places in an epoch's order that are looked up together.
const LANES: usize = 32;

#[inline(always)]
pub fn gather_rows<T: Real>(p: &GatherRows, args: &StepArgs<T>, data: &[T], out: &mut [T]) {
    let cols = p.cols as usize;
    for r in 0..p.replicas {
        let order = Permutation::new(args.seed, args.epoch, p.first_member + r, p.n_rows);
        let set_rows = p.set_rows();
        let set = set_of(p.first_member + r, p.per_set, p.first_set) as usize * set_rows as usize;
        let data = &data[set * cols..][..set_rows as usize * cols];
        // The first row behind the fold that is held out; the rows go on in a circle.
        let behind = match (p.first_member + r).checked_rem(p.folds) {
            Some(fold) => fold_start(fold, p.folds, set_rows) + p.held_out,
            None => 0,
        };
        let out = &mut out[r as usize * p.out_rows as usize * cols..][..p.batch as usize * cols];
        let mut position = args.batch_start % p.n_rows;
        for out in out.chunks_mut(LANES * cols.max(1)) {
            let mut rows = [0; LANES];
            for row in rows.iter_mut().take(out.len() / cols.max(1)) {
                *row = position;
                position = if position + 1 < p.n_rows { position + 1 } else { 0 };
            }
            if p.shuffle == 1 {
                rows = order.each(rows);
            }
            if p.folds > 0 {
                rows = rows.map(|row| (row + behind) % set_rows);
            }
            if cols == 1 {
                out.iter_mut().zip(rows).for_each(|(out, row)| *out = data[row as usize]);
                continue;
            }
            for (out, row) in out.chunks_exact_mut(cols).zip(rows) {
                out.copy_from_slice(&data[row as usize * cols..][..cols]);
            }
        }
    }
}

#[inline(always)]
pub fn aux_inputs<T: Real>(p: &AuxInputs, args: &StepArgs<T>, low: &[T], high: &[T], out: &mut [T]) {
    let cols = p.cols as usize;
    for r in 0..p.replicas {
        let draw = Draw { seed: args.seed, stream: Stream::Aux as u32, step: args.step, replica: p.first_member + r };
        let set = set_of(p.first_member + r, p.per_set, p.first_set) as usize * cols;
        for i in 0..p.count as usize {
            let to = (r as usize * p.out_rows as usize + p.first_row as usize + i) * cols;
            for c in 0..cols {
                let u =
                    if p.grid == 1 { (i as f32 + 0.5) / p.count as f32 } else { draw.uniform((i * cols + c) as u32) };
                let (low, high) = (low[set + c], high[set + c]);
                out[to + c] = low + (high - low) * T::of(u as f64);
            }
        }
    }
}

#[inline(always)]
pub fn dropout<T: Real>(p: &Dropout, args: &StepArgs<T>, x: &[T], y: &mut [T]) {
    // The product of the shader, which decides what is dropped.
    let rate = if p.by_step == 1 { p.rate * args.dropout.f64() as f32 } else { p.rate };
    let keep = T::one() / (T::one() - T::of(rate as f64));
    for r in 0..p.replicas {
        let draw = Draw { seed: args.seed, stream: p.stream, step: args.step, replica: p.first_replica + r };
        let part = r as usize * p.count as usize..(r as usize + 1) * p.count as usize;
        let (x, y, period) = (&x[part.clone()], &mut y[part], p.period as usize);
        // Pieces of one long row, or of whole rows.
        let piece = if period < x.len() { period * (PIECE / period).max(1) } else { PIECE };
        let pieces = x.par_chunks(piece).zip(y.par_chunks_mut(piece)).enumerate();
        share(x.len(), pieces, |(at, (x, y))| thin(&draw, rate, keep, at * piece % period, period, x, y));
    }
}

/// Columns whose bits are drawn together.
const STRIP: usize = 64;

wide! {
    /// Rows from column `first` on, a strip of columns at a time: its bits are drawn once for all rows, which share them.
    fn thin<T: Real>(draw: &Draw, rate: f32, keep: T, first: usize, period: usize, x: &[T], y: &mut [T]) {
        let columns = (period - first).min(x.len());
        for column in (0..columns).step_by(STRIP) {
            let words = draw.blocks::<{ STRIP / 4 }>(((first + column) / 4) as u32);
            let mut kept = [T::zero(); STRIP];
            for (block, four) in kept.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                for (kept, word) in four.iter_mut().zip(&words) {
                    *kept = if unit(word[block]) < rate { T::zero() } else { keep };
                }
            }
            for row in (column..x.len()).step_by(period) {
                let end = (row + STRIP.min(columns - column)).min(x.len());
                for ((x, y), kept) in x[row..end].iter().zip(&mut y[row..end]).zip(&kept) {
                    *y = if *kept == T::zero() { T::zero() } else { *x * *kept };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_visits_every_row_once() {
        let p = GatherRows {
            replicas: 2,
            n_rows: 7,
            cols: 1,
            batch: 3,
            out_rows: 3,
            shuffle: 1,
            first_member: 0,
            per_set: 0,
            first_set: 0,
            held_out: 0,
            folds: 0,
        };
        let data: Vec<f64> = (0..7).map(f64::from).collect();
        let mut seen = [vec![], vec![]];
        for (start, valid) in [(0, 3), (3, 3), (6, 1)] {
            let args = StepArgs { batch_start: start, n_valid: valid, seed: 3, ..Default::default() };
            let mut out = vec![f64::NAN; 6];
            gather_rows(&p, &args, &data, &mut out);
            for r in 0..2 {
                seen[r].extend_from_slice(&out[r * 3..r * 3 + valid as usize]);
            }
        }
        assert_ne!(seen[0], seen[1], "members have their own order");
        for mut s in seen {
            s.sort_by(f64::total_cmp);
            assert_eq!(s, data);
        }
    }

    /// Whatever the number of rows: a member's epoch is every row but those of its fold, and every row is in a fold.
    #[test]
    fn members_see_every_row_outside_their_fold() {
        for (rows, folds) in [(7, 2), (10, 5), (23, 5), (17, 16), (5, 5)] {
            let held_out = fold_rows(folds, rows);
            let n_rows = rows - held_out;
            let p = GatherRows {
                replicas: folds,
                n_rows,
                cols: 1,
                batch: n_rows,
                out_rows: n_rows,
                shuffle: 1,
                first_member: folds,
                per_set: 0,
                first_set: 0,
                held_out,
                folds,
            };
            let data: Vec<f64> = (0..rows).map(f64::from).collect();
            let mut out = vec![f64::NAN; (folds * n_rows) as usize];
            gather_rows(&p, &StepArgs { seed: 3, ..Default::default() }, &data, &mut out);
            let mut held = vec![0; rows as usize];
            for (fold, seen) in (0..folds).zip(out.chunks_exact_mut(n_rows as usize)) {
                seen.sort_by(f64::total_cmp);
                let start = fold_start(fold, folds, rows);
                let mut want: Vec<f64> = (held_out..rows).map(|i| f64::from((start + i) % rows)).collect();
                want.sort_by(f64::total_cmp);
                assert_eq!(seen, want, "{rows} rows, fold {fold} of {folds}");
                (0..held_out).for_each(|i| held[((start + i) % rows) as usize] += 1);
            }
            assert!(held.iter().all(|n| (1..=2).contains(n)), "{rows} rows in {folds} folds: {held:?}");
        }
    }

    #[test]
    fn auxiliary_inputs_fill_their_range() {
        let p = AuxInputs {
            replicas: 1,
            cols: 2,
            count: 4000,
            first_row: 1,
            out_rows: 4001,
            grid: 0,
            first_member: 0,
            per_set: 0,
            first_set: 0,
        };
        let mut out = vec![7.0f64; 8002];
        aux_inputs(&p, &StepArgs { seed: 1, ..Default::default() }, &[-1.0, 10.0], &[1.0, 30.0], &mut out);
        assert_eq!(&out[..2], &[7.0, 7.0], "rows before first_row stay");
        for (c, (low, high)) in [(-1.0, 1.0), (10.0, 30.0)].into_iter().enumerate() {
            let v: Vec<f64> = out[2..].iter().skip(c).step_by(2).copied().collect();
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            assert!(v.iter().all(|&x| x >= low && x <= high));
            // Standard error of the mean of a uniform: width / sqrt(12 n).
            assert!((mean - (low + high) / 2.0).abs() < 5.0 * (high - low) / (12.0 * 4000f64).sqrt());
        }
    }

    /// Members 4 and 5 of sets of two members read set 2, member 6 set 3; the buffers begin with set 2.
    #[test]
    fn members_read_their_own_set() {
        let p = GatherRows {
            replicas: 3,
            n_rows: 2,
            cols: 1,
            batch: 2,
            out_rows: 2,
            shuffle: 0,
            first_member: 4,
            per_set: 2,
            first_set: 2,
            held_out: 0,
            folds: 0,
        };
        let mut out = [f64::NAN; 6];
        gather_rows(&p, &StepArgs::default(), &[20.0, 21.0, 30.0, 31.0], &mut out);
        assert_eq!((out, p.sets()), ([20.0, 21.0, 20.0, 21.0, 30.0, 31.0], 2));
        let p = AuxInputs {
            replicas: 3,
            cols: 1,
            count: 1,
            first_row: 0,
            out_rows: 1,
            grid: 1,
            first_member: 4,
            per_set: 2,
            first_set: 2,
        };
        let mut out = [f64::NAN; 3];
        aux_inputs(&p, &StepArgs::default(), &[0.0, 10.0], &[2.0, 30.0], &mut out);
        assert_eq!((out, p.sets()), ([1.0, 1.0, 20.0], 2), "the middle of each range");
    }

    #[test]
    fn dropout_keeps_the_mean_and_repeats_its_mask() {
        let stream = Stream::Dropout as u32;
        let p = Dropout { replicas: 1, count: 20_000, period: 20_000, stream, first_replica: 0, rate: 0.1, by_step: 0 };
        let args = StepArgs { seed: 2, step: 5, ..Default::default() };
        let (x, mut y, mut again) = (vec![1.0f64; 20_000], vec![0.0; 20_000], vec![0.0; 20_000]);
        dropout(&p, &args, &x, &mut y);
        dropout(&p, &args, &x, &mut again);
        assert_eq!(y, again);
        let mean = y.iter().sum::<f64>() / 20_000.0;
        // Variance of a kept-or-dropped unit: rate / (1 - rate).
        assert!((mean - 1.0).abs() < 5.0 * (0.1f64 / 0.9 / 20_000.0).sqrt());
    }

    /// The strips change nothing: element i keeps the uniform number of i % period, at sizes about a strip's edges and a block's.
    #[test]
    fn strips_draw_what_single_elements_draw() {
        for (rows, period) in
            [(1, 1), (1, 3), (3, 63), (2, 64), (3, 65), (1, 130), (2, 197), (400, 50), (2, 16_385), (1, 40_003)]
        {
            let (count, args) = (rows * period, StepArgs { seed: 7, step: 3, ..Default::default() });
            let p = Dropout { replicas: 2, count, period, stream: 65, first_replica: 4, rate: 0.4, by_step: 0 };
            let (x, mut y) = (vec![1.0f64; 2 * count as usize], vec![f64::NAN; 2 * count as usize]);
            dropout(&p, &args, &x, &mut y);
            for (i, y) in (0u32..).zip(&y) {
                let draw = Draw { seed: 7, stream: 65, step: 3, replica: 4 + i / count };
                assert_eq!(*y == 0.0, draw.uniform(i % count % period) < 0.4, "{rows} x {period}, {i}");
            }
        }
    }

    /// A rate that follows the step drops what that share of it drops, to the bit: all of it, half, nothing.
    #[test]
    fn a_rate_by_step_is_a_share_of_it() {
        let of = |rate, by_step, share: f32| {
            let p = Dropout { replicas: 2, count: 300, period: 300, stream: 64, first_replica: 1, rate, by_step };
            let mut y = vec![f32::NAN; 600];
            dropout(&p, &StepArgs { seed: 2, step: 9, dropout: share, ..Default::default() }, &[1.5; 600], &mut y);
            y
        };
        assert_eq!(of(0.4, 1, 1.0), of(0.4, 0, 0.25));
        assert_eq!(of(0.4, 1, 0.5), of(0.2, 0, 0.0));
        assert_eq!(of(0.4, 1, 0.0), vec![1.5; 600]);
    }

    /// Rows of a pass lose the same units, replicas lose others.
    #[test]
    fn a_period_thins_every_row_alike() {
        let p = Dropout { replicas: 2, count: 120, period: 40, stream: 64, first_replica: 0, rate: 0.5, by_step: 0 };
        let mut y = vec![f64::NAN; 240];
        dropout(&p, &StepArgs { seed: 2, ..Default::default() }, &[1.0; 240], &mut y);
        for r in 0..2 {
            for row in 1..3 {
                assert_eq!(y[r * 120 + row * 40..][..40], y[r * 120..][..40]);
            }
        }
        assert_ne!(y[..40], y[120..160]);
        assert!(y[..40].contains(&0.0) && y[..40].contains(&2.0));
    }
}
