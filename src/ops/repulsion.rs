//! Repulsive ensembles (MATH.md section 5; D'Angelo & Fortuin 2021): particles pushed apart by the gradient of a kernel
//! density estimate, in function space (their outputs on a batch) or in weight space. Three ops in a row: squared distances
//! of all pairs, kernel weights from them, and what a particle's gradient gets.
//!
//! Conventions. Training minimises the mean of -log p over the batch; so everything here is divided by s = 1 / (rows of the
//! batch) in function space, 1 / N in weight space, and the gradient of the mean loss plus this one, with eta = 1, is
//! -phi / B with the phi of MATH.md, whose log p is a sum over rows.

use super::reduce::squares;
use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, params, shared};
use crate::base::Real;
use rayon::prelude::*;

params! {
    /// distances [R, group] = |v_i - v_j|^2 of v [R, count], j of the `group` replicas in a row that i is one of: over the first
    /// n_valid * cols numbers in function space (v = outputs [R, rows, cols]), over all of them where cols = 0.
    PairDistances {
        replicas: u32,
        /// Particles that see each other; divides `replicas`.
        group: u32,
        count: u32,
        cols: u32,
    }
}
params! {
    /// kernel [R, G + 1] = (k_ij / (h sum_j k_ij) for all j of the group of G, log sum_j k_ij) with k = exp(-distance / 2h) and
    /// the group's bandwidth h = median of its G^2 distances, the zeros of the diagonal among them, / (2 log(G + 1)). G <= 64.
    KernelWeights {
        replicas: u32,
        group: u32,
    }
}
params! {
    /// grad [R, count] += eta s (v_i / prior_variance - sum_j kernel_ij (v_i - v_j)), over the numbers that PairDistances
    /// compared; value [R] = n_rows s (|v_i|^2 / (2 prior_variance) + log sum_j k_ij), for `LossReduce` with 1 / n_rows.
    /// s = 1 / n_valid in function space, 1 / n_rows where cols = 0.
    Repulsion {
        replicas: u32,
        group: u32,
        count: u32,
        cols: u32,
        n_rows: u32,
        prior_variance: f32,
    }
}

/// The most particles that one workgroup sorts.
pub const MAX_PARTICLES: u32 = 64;
/// Below this bandwidth all particles are one: nothing says where to push them.
const BANDWIDTH_MIN: f64 = 1e-30;

impl OpSpec for PairDistances {
    binds!(pair_distances(step): [v] -> [distances]);
    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * self.group as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.count])], vec![elements(&[self.replicas, self.group])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.group) && (self.cols == 0 || self.count.is_multiple_of(self.cols))
    }
}
impl OpSpec for KernelWeights {
    binds!(kernel_weights: [distances] -> [kernel], scratch);
    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 / self.group.max(1) as u64)
    }
    /// A group's distances in order.
    fn scratch(&self) -> usize {
        (self.group * self.group) as usize
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.replicas, self.group])], vec![elements(&[self.replicas, self.group + 1])])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.group) && self.group <= MAX_PARTICLES
    }
}
impl OpSpec for Repulsion {
    binds!(repulsion(step): [v, kernel] -> [grad, value]);
    /// One workgroup per replica for the value; in the others each thread makes one number of the gradient.
    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * (1 + self.count.div_ceil(64) as u64))
    }
    fn lengths(&self) -> Lengths {
        let v = elements(&[self.replicas, self.count]);
        (vec![v, elements(&[self.replicas, self.group + 1])], vec![v, self.replicas as usize])
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.group) && self.n_rows > 0 && (self.cols == 0 || self.count.is_multiple_of(self.cols))
    }
}

/// Numbers of a particle that count.
fn compared<T: Real>(count: u32, cols: u32, args: &StepArgs<T>) -> usize {
    (if cols > 0 { args.n_valid * cols } else { count }) as usize
}

/// Partial sums of a long vector at most.
const PARTS: usize = 64;

pub fn pair_distances<T: Real>(p: &PairDistances, args: &StepArgs<T>, v: &[T], distances: &mut [T]) {
    let (group, count) = (p.group as usize, p.count as usize);
    let n = compared(p.count, p.cols, args);
    let piece = n.div_ceil(PARTS).max(PIECE);
    for (distances, v) in distances.chunks_exact_mut(group * group).zip(v.chunks_exact(group * count)) {
        for i in 0..group {
            distances[i * group + i] = T::zero();
            for j in 0..i {
                let (a, b) = (&v[i * count..][..n], &v[j * count..][..n]);
                let mut parts = [T::zero(); PARTS];
                let pieces = parts.par_iter_mut().zip(a.par_chunks(piece).zip(b.par_chunks(piece)));
                share(n, pieces, |(part, (a, b))| squared_distance(a, b, part));
                let distance = parts.iter().copied().sum();
                distances[i * group + j] = distance;
                distances[j * group + i] = distance;
            }
        }
    }
}

wide! {
    fn squared_distance<T: Real>(a: &[T], b: &[T], sum: &mut T) {
        // Sixteen running sums: an order of its own that vector code can keep.
        let mut lanes = [T::zero(); 16];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
        for (a, b) in a.iter().zip(b) {
            for i in 0..16 {
                let d = a[i] - b[i];
                lanes[i] += d * d;
            }
        }
        for (i, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
            let d = *a - *b;
            lanes[i] += d * d;
        }
        *sum = lanes.iter().copied().sum();
    }
}

/// h of the squared distances of `group` particles, which are left in order.
#[inline(always)]
pub fn bandwidth<T: Real>(distances: &mut [T], group: usize) -> T {
    let n = distances.len();
    distances.sort_unstable_by(|a, b| a.f64().total_cmp(&b.f64()));
    let median = T::of(0.5) * (distances[(n - 1) / 2] + distances[n / 2]);
    median / (T::of(2.0) * T::of(group as f64 + 1.0).ln())
}

#[inline(always)]
pub fn kernel_weights<T: Real>(p: &KernelWeights, distances: &[T], kernel: &mut [T], scratch: &mut [T]) {
    let g = p.group as usize;
    let sorted = &mut scratch[..g * g];
    for (kernel, distances) in kernel.chunks_exact_mut(g * (g + 1)).zip(distances.chunks_exact(g * g)) {
        sorted.copy_from_slice(distances);
        let h = bandwidth(sorted, g);
        for (row, distances) in kernel.chunks_exact_mut(g + 1).zip(distances.chunks_exact(g)) {
            let (weights, log_sum) = row.split_at_mut(g);
            if h < T::of(BANDWIDTH_MIN) {
                weights.fill(T::zero());
                log_sum[0] = T::of(g as f64).ln();
                continue;
            }
            let mut sum = T::zero();
            for (k, d) in weights.iter_mut().zip(distances) {
                *k = (-*d / (T::of(2.0) * h)).exp();
                sum += *k;
            }
            weights.iter_mut().for_each(|k| *k /= h * sum);
            log_sum[0] = sum.ln();
        }
    }
}

/// Numbers worked on at a time: what they need stays in the first-level cache.
const CHUNK: usize = 256;

pub fn repulsion<T: Real>(p: &Repulsion, args: &StepArgs<T>, v: &[T], kernel: &[T], grad: &mut [T], value: &mut [T]) {
    let (group, count) = (p.group as usize, p.count as usize);
    let n = compared(p.count, p.cols, args);
    let s = T::one() / T::of((if p.cols > 0 { args.n_valid } else { p.n_rows }) as f64);
    let (variance, scale) = (T::of(p.prior_variance as f64), args.eta * s);
    let piece = n.div_ceil(PARTS).max(PIECE);
    for i in 0..p.replicas as usize {
        let (weights, log_sum) = kernel[i * (group + 1)..][..group + 1].split_at(group);
        let others = &v[i / group * group * count..][..group * count];
        let own = &v[i * count..][..n];
        let mut parts = [T::zero(); PARTS];
        share(n, parts.par_iter_mut().zip(own.par_chunks(piece)), |(part, v)| squares(v, part));
        let squares: T = parts.iter().copied().sum();
        value[i] = T::of(p.n_rows as f64) * s * (squares / (T::of(2.0) * variance) + log_sum[0]);
        let pieces = grad[i * count..][..n].par_chunks_mut(PIECE).zip(own.par_chunks(PIECE)).enumerate();
        share(n * group, pieces, |(at, (grad, own))| {
            push(at * PIECE, count, scale, variance, weights, others, own, grad)
        });
    }
}

wide! {
    /// The numbers from `first` on.
    fn push<T: Real>(
        first: usize,
        count: usize,
        scale: T,
        variance: T,
        weights: &[T],
        v: &[T],
        own: &[T],
        grad: &mut [T],
    ) {
        let mut pull = [T::zero(); CHUNK];
        for (at, (own, grad)) in own.chunks(CHUNK).zip(grad.chunks_mut(CHUNK)).enumerate() {
            for (pull, own) in pull.iter_mut().zip(own) {
                *pull = *own / variance;
            }
            for (j, w) in weights.iter().enumerate() {
                let other = &v[j * count + first + at * CHUNK..][..own.len()];
                for (pull, (own, other)) in pull.iter_mut().zip(own.iter().zip(other)) {
                    *pull -= *w * (*own - *other);
                }
            }
            for (grad, pull) in grad.iter_mut().zip(&pull) {
                *grad += scale * *pull;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three particles on a line at 0, 1 and 3: distances 0 (three times), 1, 1, 4, 4, 9, 9; the median is 1.
    #[test]
    fn weights_by_hand() {
        let args = StepArgs { n_valid: 1, ..Default::default() };
        let mut d = [f64::NAN; 9];
        // The second number of each particle is of a filler row.
        let p = PairDistances { replicas: 3, group: 3, count: 2, cols: 1 };
        pair_distances(&p, &args, &[0.0, 7.0, 1.0, -5.0, 3.0, 2.0], &mut d);
        assert_eq!(d, [0.0, 1.0, 9.0, 1.0, 0.0, 4.0, 9.0, 4.0, 0.0]);
        let mut kernel = [f64::NAN; 12];
        kernel_weights(&KernelWeights { replicas: 3, group: 3 }, &d, &mut kernel, &mut [f64::NAN; 9]);
        let h = 1.0 / (2.0 * 4f64.ln());
        // exp(-1 / 2h) = 1/4, so exp(-4 / 2h) = 4^-4.
        let (one, four, nine) = (0.25, 0.25f64.powi(4), 0.25f64.powi(9));
        for (i, row) in [[1.0, one, nine], [one, 1.0, four], [nine, four, 1.0]].iter().enumerate() {
            let sum: f64 = row.iter().sum();
            for j in 0..3 {
                assert!((kernel[i * 4 + j] - row[j] / (h * sum)).abs() < 1e-14);
            }
            assert!((kernel[i * 4 + 3] - sum.ln()).abs() < 1e-15);
        }
    }

    /// Two particles have an even number of distances, (0, 0, d, d): the median is the mean of the middle ones.
    #[test]
    fn the_median_of_an_even_number() {
        let h = bandwidth(&mut [0.0f64, 6.0, 6.0, 0.0], 2);
        assert!((h - 3.0 / (2.0 * 3f64.ln())).abs() < 1e-15);
    }

    /// One particle, or particles in one place: no push, no NaN, and a constant value.
    #[test]
    fn particles_in_one_place_stay() {
        for replicas in [1, 3] {
            let n = replicas as usize;
            let mut kernel = vec![f64::NAN; n * (n + 1)];
            kernel_weights(
                &KernelWeights { replicas, group: replicas },
                &vec![0.0; n * n],
                &mut kernel,
                &mut vec![f64::NAN; n * n],
            );
            for row in kernel.chunks(n + 1) {
                assert!(row[..n].iter().all(|k| *k == 0.0) && row[n] == libm::log(n as f64));
            }
            let p = Repulsion { replicas, group: replicas, count: 1, cols: 0, n_rows: 4, prior_variance: 2.0 };
            let (mut grad, mut value) = (vec![0.0; n], vec![f64::NAN; n]);
            repulsion(&p, &StepArgs { eta: 1.0, ..Default::default() }, &vec![3.0; n], &kernel, &mut grad, &mut value);
            assert!(grad.iter().all(|g| *g == 3.0 / 2.0 / 4.0));
            assert!(value.iter().all(|v| (*v - (9.0 / 4.0 + (n as f64).ln())).abs() < 1e-15));
        }
    }

    /// Two groups of three side by side have what each has alone: nothing crosses from one to the other.
    #[test]
    fn groups_do_not_meet() {
        let args = StepArgs { n_valid: 2, eta: 0.7, ..Default::default() };
        let v: Vec<f64> = (0..6 * 4).map(|i| (1.3 * i as f64).sin()).collect();
        let of = |replicas: u32, v: &[f64]| {
            let n = replicas as usize;
            let (mut d, mut kernel) = (vec![f64::NAN; n * 3], vec![f64::NAN; n * 4]);
            pair_distances(&PairDistances { replicas, group: 3, count: 4, cols: 2 }, &args, v, &mut d);
            kernel_weights(&KernelWeights { replicas, group: 3 }, &d, &mut kernel, &mut [0.0; 9]);
            let p = Repulsion { replicas, group: 3, count: 4, cols: 2, n_rows: 9, prior_variance: 5.0 };
            let (mut grad, mut value) = (vec![0.0; n * 4], vec![f64::NAN; n]);
            repulsion(&p, &args, v, &kernel, &mut grad, &mut value);
            (grad, value)
        };
        let (both, first, second) = (of(6, &v), of(3, &v[..12]), of(3, &v[12..]));
        assert_eq!(both.0, [first.0, second.0].concat());
        assert_eq!(both.1, [first.1.clone(), second.1.clone()].concat());
        assert_ne!(first.1, second.1);
    }

    /// The gradient against differences of |v|^2 / (2 variance) + log sum_j k(v_i, v_j), bandwidth and other particles held:
    /// five points, 1e-12 of a function of about 10 at h = 1e-3.
    #[test]
    fn the_push_is_the_slope() {
        let (r, count, cols) = (4usize, 6usize, 2);
        for cols in [0, cols] {
            let args = StepArgs { n_valid: 2, eta: 0.7, ..Default::default() };
            let n = if cols > 0 { 4 } else { count };
            let v: Vec<f64> = (0..r * count).map(|i| (1.7 * i as f64).sin() * 2.0).collect();
            let (mut d, mut kernel) = (vec![f64::NAN; r * r], vec![f64::NAN; r * (r + 1)]);
            pair_distances(&PairDistances { replicas: 4, group: 4, count: 6, cols }, &args, &v, &mut d);
            kernel_weights(&KernelWeights { replicas: 4, group: 4 }, &d, &mut kernel, &mut vec![0.0; r * r]);
            let h = bandwidth(&mut d.clone(), r);
            let p = Repulsion { replicas: 4, group: 4, count: 6, cols, n_rows: 9, prior_variance: 5.0 };
            let (mut grad, mut value) = (vec![1.0; r * count], vec![f64::NAN; r]);
            repulsion(&p, &args, &v, &kernel, &mut grad, &mut value);
            let s = if cols > 0 { 0.5 } else { 1.0 / 9.0 };
            for i in 0..r {
                let energy = |own: &[f64]| {
                    let square: f64 = own.iter().map(|x| x * x).sum();
                    let of = |j: usize| own.iter().zip(&v[j * count..]).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
                    let sum: f64 = (0..r).map(|j| (-of(j) / (2.0 * h)).exp()).sum();
                    s * (square / 10.0 + sum.ln())
                };
                let own = &v[i * count..][..n];
                assert!((value[i] - 9.0 * energy(own)).abs() < 1e-12);
                for x in 0..n {
                    let at = |m: f64| {
                        let mut own = own.to_vec();
                        own[x] += 1e-3 * m;
                        energy(&own)
                    };
                    let slope = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * 1e-3);
                    let found = grad[i * count + x] - 1.0;
                    assert!((found - 0.7 * slope).abs() < 1e-9, "{cols} {i} {x}: {found} {slope}");
                }
                assert!(grad[i * count + n..(i + 1) * count].iter().all(|g| *g == 1.0), "filler rows stay");
            }
        }
    }
}
