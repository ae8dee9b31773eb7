//! Averages of weights along a run (MATH.md section 5): SWA's running mean (Izmailov et al. 2018), SWAG's Gaussian around it
//! (Maddox et al. 2019), and copies of weights for passes that differ in their random numbers alone.

use super::optimizer::decimal;
use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, params};
use crate::base::Real;
use crate::base::rng::Draw;
use rayon::prelude::*;

params! {
    /// mean [R, count] of the weights [R, count] of snapshots 1 to n = `StepArgs::collect`; stays where that is 0.
    SwaCollect {
        replicas: u32,
        count: u32,
    }
}
params! {
    /// average [R, count] of the weights w [R, count] after each step, older ones fading: average = (1 - c) average + c w, c =
    /// max(share, 9 / (10 + t)) at the step t = `StepArgs::step` counted from 0, and c = 1 at t = 0 (MATH.md section 12).
    FadingMean {
        replicas: u32,
        count: u32,
        /// 1 - decay.
        share: f32,
    }
}
params! {
    /// As SwaCollect; also variance [R, count] = E[w^2] - E[w]^2 over the snapshots, by Welford's update, which does not
    /// cancel, and deviations [R, columns, count]: snapshot n less the mean that already holds it goes to column
    /// (n - 1) % columns.
    SwagCollect {
        replicas: u32,
        count: u32,
        columns: u32,
    }
}
params! {
    /// weights [E * samples, count] = mean + sd e1 / sqrt 2 + D e2 / sqrt(2 (C - 1)) with C = `StepArgs::n_samples` filled
    /// columns and sd = sqrt(max(variance, 1e-6)); without the last term where C < 2. e1 is drawn at the element's number, e2
    /// at count + column.
    SwagSample {
        members: u32,
        samples: u32,
        count: u32,
        columns: u32,
        /// Number of the first replica: (first member) * samples.
        first_replica: u32,
        stream: u32,
    }
}
params! {
    /// weights [E * samples, count]: the vector of each member of v [E, count], `samples` times.
    RepeatWeights {
        members: u32,
        samples: u32,
        count: u32,
    }
}

/// SWAG's variance is at least this (MATH.md section 5).
pub const VARIANCE_MIN: f64 = 1e-6;
/// Weights worked on at a time: what they need stays in the first-level cache.
const CHUNK: usize = 256;

impl OpSpec for SwaCollect {
    binds!(swa_collect(step): [weights] -> [mean]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.count])], vec![elements(&[self.replicas, self.count])])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}
impl OpSpec for FadingMean {
    binds!(fading_mean(step): [weights] -> [average]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.count])], vec![elements(&[self.replicas, self.count])])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}
impl OpSpec for SwagCollect {
    binds!(swag_collect(step): [weights] -> [mean, variance, deviations]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        let w = elements(&[self.replicas, self.count]);
        (vec![w], vec![w, w, w * self.columns as usize])
    }
    fn sizes_agree(&self) -> bool {
        self.columns > 0
    }
}
impl OpSpec for SwagSample {
    binds!(swag_sample(step): [mean, variance, deviations] -> [weights], scratch);
    fn grid(&self) -> Grid {
        // A thread serves one Philox block: four weights.
        Grid::Threads(self.members as u64 * self.samples as u64 * self.count.div_ceil(4) as u64)
    }
    fn scratch(&self) -> usize {
        self.columns as usize
    }
    fn lengths(&self) -> Lengths {
        let w = elements(&[self.members, self.count]);
        (vec![w, w, w * self.columns as usize], vec![w * self.samples as usize])
    }
    fn sizes_agree(&self) -> bool {
        self.samples > 0
    }
}
impl OpSpec for RepeatWeights {
    binds!(repeat_weights: [v] -> [weights]);
    const HALVES: &'static [&'static str] = &["weights"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.members as u64 * self.samples as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.members, self.count])], vec![elements(&[self.members, self.samples, self.count])])
    }
    fn sizes_agree(&self) -> bool {
        self.samples > 0
    }
}

pub fn swa_collect<T: Real>(_: &SwaCollect, args: &StepArgs<T>, weights: &[T], mean: &mut [T]) {
    match args.collect {
        0 => {}
        // Whatever stood there, NaN too, is forgotten.
        1 => mean.copy_from_slice(&weights[..mean.len()]),
        n => {
            let pieces = mean.par_chunks_mut(PIECE).zip(weights.par_chunks(PIECE));
            share(weights.len(), pieces, |(mean, w)| move_mean(T::of(n as f64), w, mean));
        }
    }
}

wide! {
    fn move_mean<T: Real>(n: T, weights: &[T], mean: &mut [T]) {
        for (mean, w) in mean.iter_mut().zip(weights) {
            *mean += (*w - *mean) / n;
        }
    }
}

pub fn fading_mean<T: Real>(p: &FadingMean, args: &StepArgs<T>, weights: &[T], average: &mut [T]) {
    if args.step == 0 {
        // Whatever stood there, NaN too, is forgotten.
        average.copy_from_slice(&weights[..average.len()]);
        return;
    }
    let early = T::of(9.0) / (T::of(10.0) + T::of(args.step as f64));
    let of_new = early.at_least(decimal(p.share));
    let pieces = average.par_chunks_mut(PIECE).zip(weights.par_chunks(PIECE));
    share(weights.len(), pieces, |(average, w)| fade(of_new, w, average));
}

wide! {
    fn fade<T: Real>(of_new: T, weights: &[T], average: &mut [T]) {
        let kept = T::one() - of_new;
        for (average, w) in average.iter_mut().zip(weights) {
            *average = kept * *average + of_new * *w;
        }
    }
}

pub fn swag_collect<T: Real>(
    p: &SwagCollect,
    args: &StepArgs<T>,
    weights: &[T],
    mean: &mut [T],
    variance: &mut [T],
    deviations: &mut [T],
) {
    if args.collect == 0 {
        return;
    }
    let (n, count) = (T::of(args.collect as f64), p.count as usize);
    let column = ((args.collect - 1) % p.columns) as usize;
    for r in 0..p.replicas as usize {
        let part = r * count..(r + 1) * count;
        let deviations = &mut deviations[(r * p.columns as usize + column) * count..][..count];
        let moments = mean[part.clone()].par_chunks_mut(PIECE).zip(variance[part.clone()].par_chunks_mut(PIECE));
        let pieces = moments.zip(deviations.par_chunks_mut(PIECE)).zip(weights[part].par_chunks(PIECE));
        let first = args.collect == 1;
        share(count, pieces, |(((mean, variance), d), w)| move_moments(n, first, w, mean, variance, d));
    }
}

wide! {
    fn move_moments<T: Real>(n: T, first: bool, w: &[T], mean: &mut [T], variance: &mut [T], deviations: &mut [T]) {
        if first {
            mean.copy_from_slice(w);
            variance.fill(T::zero());
            deviations.fill(T::zero());
            return;
        }
        for (((w, mean), variance), deviation) in w.iter().zip(mean).zip(variance).zip(deviations) {
            let before = *w - *mean;
            *mean += before / n;
            let after = *w - *mean;
            *variance += (before * after - *variance) / n;
            *deviation = after;
        }
    }
}

pub fn swag_sample<T: Real>(
    p: &SwagSample,
    args: &StepArgs<T>,
    mean: &[T],
    variance: &[T],
    deviations: &[T],
    weights: &mut [T],
    scratch: &mut [T],
) {
    let (n, columns) = (p.count as usize, p.columns as usize);
    let filled = args.n_samples.min(p.columns) as usize;
    for replica in 0..(p.members * p.samples) as usize {
        let draw =
            Draw { seed: args.seed, stream: p.stream, step: args.step, replica: p.first_replica + replica as u32 };
        let e2 = &mut scratch[..filled];
        for (c, e) in e2.iter_mut().enumerate() {
            *e = T::of(draw.normal(p.count + c as u32) as f64);
        }
        let e = replica / p.samples as usize;
        let (mean, variance) = (&mean[e * n..(e + 1) * n], &variance[e * n..(e + 1) * n]);
        let deviations = &deviations[e * columns * n..(e + 1) * columns * n];
        let w = weights[replica * n..(replica + 1) * n].par_chunks_mut(PIECE);
        let pieces = w.zip(mean.par_chunks(PIECE)).zip(variance.par_chunks(PIECE)).enumerate();
        let e2 = &*e2;
        share(n * (1 + filled), pieces, |(i, ((w, mean), variance))| {
            sample(&draw, i * PIECE, mean, variance, deviations, n, e2, w);
        });
    }
}

wide! {
    /// The weights from `first` on; `deviations` is the member's whole matrix with rows of `n`.
    fn sample<T: Real>(
        draw: &Draw,
        first: usize,
        mean: &[T],
        variance: &[T],
        deviations: &[T],
        n: usize,
        e2: &[T],
        w: &mut [T],
    ) {
        let (mut normals, mut e1) = ([0f32; CHUNK], [T::zero(); CHUNK]);
        let inputs = mean.chunks(CHUNK).zip(variance.chunks(CHUNK));
        for (i, (w, (mean, variance))) in w.chunks_mut(CHUNK).zip(inputs).enumerate() {
            let at = first + i * CHUNK;
            draw.fill_normal(at as u32, &mut normals[..w.len()]);
            for (e, normal) in e1.iter_mut().zip(&normals[..w.len()]) {
                *e = T::of(*normal as f64);
            }
            swag_weights(mean, variance, &deviations[at..], n, &e1[..w.len()], e2, w);
        }
    }
}

/// mean + sd e1 / sqrt 2 + D e2 / sqrt(2 (C - 1)), with C = numbers in e2; column c of D begins at `c * n` of `deviations`.
#[inline(always)]
pub fn swag_weights<T: Real>(mean: &[T], variance: &[T], deviations: &[T], n: usize, e1: &[T], e2: &[T], w: &mut [T]) {
    let len = w.len();
    w.fill(T::zero());
    if e2.len() > 1 {
        for (c, e) in e2.iter().enumerate() {
            for (w, d) in w.iter_mut().zip(&deviations[c * n..][..len]) {
                *w += *d * *e;
            }
        }
        let scale = T::one() / T::of(2.0 * (e2.len() - 1) as f64).sqrt();
        w.iter_mut().for_each(|w| *w *= scale);
    }
    let (half, least) = (T::of(0.5).sqrt(), T::of(VARIANCE_MIN));
    for ((w, mean), (variance, e)) in w.iter_mut().zip(mean).zip(variance.iter().zip(e1)) {
        *w += *mean + half * variance.at_least(least).sqrt() * *e;
    }
}

pub fn repeat_weights<T: Real>(p: &RepeatWeights, v: &[T], weights: &mut [T]) {
    let (n, samples) = (p.count as usize, p.samples as usize);
    for (replica, w) in weights[..p.members as usize * samples * n].chunks_exact_mut(n).enumerate() {
        w.copy_from_slice(&v[replica / samples * n..][..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: usize = 4;

    fn collect(snapshots: &[f64]) -> ([f64; 1], [f64; 1], [f64; C]) {
        let p = SwagCollect { replicas: 1, count: 1, columns: C as u32 };
        let (mut mean, mut variance, mut deviations) = ([f64::NAN; 1], [f64::NAN; 1], [f64::NAN; C]);
        for (i, w) in snapshots.iter().enumerate() {
            // Steps without a snapshot change nothing.
            for collect in [0, i as u32 + 1] {
                let args = StepArgs { collect, ..Default::default() };
                swag_collect(&p, &args, &[*w], &mut mean, &mut variance, &mut deviations);
            }
        }
        (mean, variance, deviations)
    }

    /// Snapshots that alternate between 0.9 and 1.1 have sd 0.1 around 1.
    #[test]
    fn alternating_snapshots_have_their_deviation() {
        let snapshots: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 0.9 } else { 1.1 }).collect();
        let (mean, variance, _) = collect(&snapshots);
        assert!((mean[0] - 1.0).abs() < 1e-14 && (variance[0].sqrt() - 0.1).abs() < 1e-14);
    }

    /// Mean and variance of 2, 4, 9, 1, 5, and the last four deviations from the running mean, where they belong.
    #[test]
    fn moments_and_columns_by_hand() {
        let (mean, variance, deviations) = collect(&[2.0, 4.0, 9.0, 1.0, 5.0]);
        assert!((mean[0] - 4.2).abs() < 1e-14 && (variance[0] - 7.76).abs() < 1e-13, "{mean:?} {variance:?}");
        for (found, want) in deviations.iter().zip([5.0 - 4.2, 4.0 - 3.0, 9.0 - 5.0, 1.0 - 4.0]) {
            assert!((found - want).abs() < 1e-14, "{deviations:?}");
        }
        let mut swa = [f64::NAN];
        for (i, w) in [2.0, 4.0, 9.0, 1.0, 5.0].iter().enumerate() {
            let args = StepArgs { collect: i as u32 + 1, ..Default::default() };
            swa_collect(&SwaCollect { replicas: 1, count: 1 }, &args, &[*w], &mut swa);
            swa_collect(&SwaCollect { replicas: 1, count: 1 }, &StepArgs::default(), &[7.0], &mut swa);
        }
        assert!((swa[0] - 4.2).abs() < 1e-14);
    }

    /// Over many samples: mean, and variance = (variance + sum of squared deviations / (C - 1)) / 2, within five standard
    /// errors; with one column filled, half the diagonal alone.
    #[test]
    fn samples_have_the_gaussians_moments() {
        let n = 40_000u32;
        let p = SwagSample { members: 1, samples: n, count: 2, columns: 3, first_replica: 0, stream: 6 };
        let (mean, variance) = ([1.0, -2.0], [0.04, 0.0]);
        let deviations = [0.3, 0.5, -0.1, 0.2, 0.2, -0.4];
        for (filled, want) in [(3, [0.04 / 2.0 + 0.14 / 4.0, 1e-6 / 2.0 + 0.45 / 4.0]), (1, [0.02, 0.5e-6])] {
            let args = StepArgs { n_samples: filled, seed: 3, ..Default::default() };
            let mut w = vec![f64::NAN; 2 * n as usize];
            swag_sample(&p, &args, &mean, &variance, &deviations, &mut w, &mut [f64::NAN; 3]);
            for i in 0..2 {
                let of = |f: &dyn Fn(f64) -> f64| w.iter().skip(i).step_by(2).map(|w| f(*w)).sum::<f64>() / n as f64;
                let m = of(&|w| w);
                let v = of(&|w| (w - mean[i]).powi(2));
                assert!((m - mean[i]).abs() < 5.0 * (want[i] / n as f64).sqrt(), "{m}");
                assert!((v / want[i] - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt(), "{v} {}", want[i]);
            }
        }
    }

    /// The first weights alone, then shares of 9/11 and 9/12 of the new ones, later 1 - decay; what stood there is forgotten.
    #[test]
    fn the_fading_mean_by_hand() {
        let (p, mut mean) = (FadingMean { replicas: 1, count: 1, share: 0.125 }, [f64::NAN]);
        let mut want = 0.0;
        for (step, w) in [4.0, 2.0, -3.0, 8.0].into_iter().enumerate() {
            fading_mean(&p, &StepArgs { step: step as u32, ..Default::default() }, &[w], &mut mean);
            let c = if step == 0 { 1.0 } else { 9.0 / (10.0 + step as f64) };
            want += c * (w - want);
            assert!((mean[0] - want).abs() < 1e-14, "step {step}: {mean:?} {want}");
        }
        fading_mean(&p, &StepArgs { step: 1000, ..Default::default() }, &[100.0], &mut mean);
        assert!((mean[0] - (want + 0.125 * (100.0 - want))).abs() < 1e-13);
    }

    #[test]
    fn members_are_repeated_in_their_order() {
        let mut w = [f64::NAN; 8];
        repeat_weights(&RepeatWeights { members: 2, samples: 2, count: 2 }, &[1.0, 2.0, 3.0, 4.0], &mut w);
        assert_eq!(w, [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
    }
}
