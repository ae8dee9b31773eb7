//! Batch normalisation, NHWC: per channel over the pixels of a batch, gamma and beta in the flat weights.
//! Valid data rows and auxiliary rows are two groups with statistics of their own, as two forward passes would have; filler
//! rows of a short batch belong to none: they are normalised like data rows and get no gradient. A group of one value a
//! channel has variance 0 and gives beta. Running statistics follow the data rows only (momentum 0.1, unbiased variance).

use super::linear::{activate, activation_slope};
use super::{Grid, StepArgs, params};
use crate::base::Real;

params! {
    /// stats [R, 2, 2, c]: mean and 1/sqrt(var + eps) of the data rows and of the auxiliary rows of x [R, images, pixels, c];
    /// running [R, running_stride] at `running`: mean [c], variance [c], moved by `momentum`.
    BatchNormStats {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        running: u32,
        running_stride: u32,
        eps: f32,
        momentum: f32,
    }
}
params! {
    /// stats [R, 2, 2, c] from the running statistics, for evaluation.
    BatchNormRunning {
        replicas: u32,
        c: u32,
        running: u32,
        running_stride: u32,
        eps: f32,
    }
}
params! {
    /// y = act(gamma (x - mean) / sd + beta).
    BatchNormForward {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        beta: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dgamma and dbeta at their places of the gradient [R, P]; sums [R, 2, 2, c]: a group's means of d and d * xhat, with
    /// d = dy * act'(y).
    BatchNormSums {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        beta: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// dx = gamma / sd (d - mean d - xhat mean(d xhat)).
    BatchNormBackward {
        replicas: u32,
        images: u32,
        data_images: u32,
        pixels: u32,
        c: u32,
        gamma: u32,
        weights_stride: u32,
        activation: u32,
    }
}
params! {
    /// y = a + b.
    Add {
        count: u32,
    }
}

impl BatchNormStats {
    pub fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * 2 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        2 * self.c as usize
    }
}
impl BatchNormRunning {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}
impl BatchNormForward {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.images as u64 * self.pixels as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}
impl BatchNormSums {
    pub fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        2 * self.c as usize
    }
}
impl BatchNormBackward {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.images as u64 * self.pixels as u64 * self.c as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}
impl Add {
    pub fn grid(&self) -> Grid {
        Grid::Threads(self.count as u64)
    }
    pub fn scratch(&self) -> usize {
        0
    }
}

/// First and last image of a group: 0 = valid data rows, 1 = auxiliary rows.
#[inline(always)]
fn group(which: usize, n_valid: u32, data_images: u32, images: u32) -> (usize, usize) {
    if which == 0 { (0, n_valid as usize) } else { (data_images as usize, images as usize) }
}

#[inline(always)]
pub fn batch_norm_stats<T: Real>(
    p: &BatchNormStats,
    args: &StepArgs<T>,
    x: &[T],
    stats: &mut [T],
    running: &mut [T],
    scratch: &mut [T],
) {
    let (c, pixels) = (p.c as usize, p.pixels as usize);
    let (sum, square) = scratch[..2 * c].split_at_mut(c);
    let momentum = T::of(p.momentum as f64);
    for r in 0..p.replicas as usize {
        let x = &x[r * p.images as usize * pixels * c..][..p.images as usize * pixels * c];
        for g in 0..2 {
            let (first, last) = group(g, args.n_valid, p.data_images, p.images);
            let n = (last - first) * pixels;
            let rows = &x[first * pixels * c..last * pixels * c];
            let inv = T::one() / T::of(n.max(1) as f64);
            // Two passes: the difference of large squares would lose the variance of an offset channel.
            sum.fill(T::zero());
            for row in rows.chunks_exact(c) {
                for (s, v) in sum.iter_mut().zip(row) {
                    *s += *v;
                }
            }
            for s in sum.iter_mut() {
                *s *= inv;
            }
            square.fill(T::zero());
            for row in rows.chunks_exact(c) {
                for ((q, v), m) in square.iter_mut().zip(row).zip(&*sum) {
                    *q += (*v - *m) * (*v - *m);
                }
            }
            let out = &mut stats[(r * 2 + g) * 2 * c..][..2 * c];
            let (mean, inv_sd) = out.split_at_mut(c);
            mean.copy_from_slice(sum);
            for (i, q) in inv_sd.iter_mut().zip(&*square) {
                *i = T::one() / (*q * inv + T::of(p.eps as f64)).sqrt();
            }
            if g == 0 {
                let running = &mut running[r * p.running_stride as usize + p.running as usize..][..2 * c];
                let (running_mean, running_var) = running.split_at_mut(c);
                let unbiased = T::one() / T::of(n.saturating_sub(1).max(1) as f64);
                for i in 0..c {
                    running_mean[i] += momentum * (sum[i] - running_mean[i]);
                    running_var[i] += momentum * (square[i] * unbiased - running_var[i]);
                }
            }
        }
    }
}

#[inline(always)]
pub fn batch_norm_running<T: Real>(p: &BatchNormRunning, running: &[T], stats: &mut [T]) {
    let c = p.c as usize;
    for r in 0..p.replicas as usize {
        let running = &running[r * p.running_stride as usize + p.running as usize..][..2 * c];
        for g in 0..2 {
            let out = &mut stats[(r * 2 + g) * 2 * c..][..2 * c];
            for i in 0..c {
                out[i] = running[i];
                out[c + i] = T::one() / (running[c + i] + T::of(p.eps as f64)).sqrt();
            }
        }
    }
}

#[inline(always)]
pub fn batch_norm_forward<T: Real>(p: &BatchNormForward, x: &[T], stats: &[T], weights: &[T], y: &mut [T]) {
    let (c, pixels) = (p.c as usize, p.pixels as usize);
    for r in 0..p.replicas as usize {
        let w = &weights[r * p.weights_stride as usize..][..p.weights_stride as usize];
        let (gamma, beta) = (&w[p.gamma as usize..][..c], &w[p.beta as usize..][..c]);
        for image in 0..p.images as usize {
            let g = usize::from(image >= p.data_images as usize);
            let (mean, inv_sd) = stats[(r * 2 + g) * 2 * c..][..2 * c].split_at(c);
            let part = (r * p.images as usize + image) * pixels * c..(r * p.images as usize + image + 1) * pixels * c;
            for (y, x) in y[part.clone()].chunks_exact_mut(c).zip(x[part].chunks_exact(c)) {
                for i in 0..c {
                    y[i] = activate(p.activation, gamma[i] * ((x[i] - mean[i]) * inv_sd[i]) + beta[i]);
                }
            }
        }
    }
}

#[inline(always)]
pub fn batch_norm_sums<T: Real>(
    p: &BatchNormSums,
    args: &StepArgs<T>,
    x: &[T],
    y: &[T],
    dy: &[T],
    stats: &[T],
    sums: &mut [T],
    grad: &mut [T],
    scratch: &mut [T],
) {
    let (c, pixels, images) = (p.c as usize, p.pixels as usize, p.images as usize);
    let (s1, s2) = scratch[..2 * c].split_at_mut(c);
    for r in 0..p.replicas as usize {
        let grad = &mut grad[r * p.weights_stride as usize..][..p.weights_stride as usize];
        grad[p.gamma as usize..][..c].fill(T::zero());
        grad[p.beta as usize..][..c].fill(T::zero());
        for g in 0..2 {
            let (first, last) = group(g, args.n_valid, p.data_images, p.images);
            let (mean, inv_sd) = stats[(r * 2 + g) * 2 * c..][..2 * c].split_at(c);
            s1.fill(T::zero());
            s2.fill(T::zero());
            let part = (r * images + first) * pixels * c..(r * images + last) * pixels * c;
            let rows =
                x[part.clone()].chunks_exact(c).zip(y[part.clone()].chunks_exact(c)).zip(dy[part].chunks_exact(c));
            for ((x, y), dy) in rows {
                for i in 0..c {
                    let d = dy[i] * activation_slope(p.activation, y[i]);
                    s1[i] += d;
                    s2[i] += d * ((x[i] - mean[i]) * inv_sd[i]);
                }
            }
            let inv = T::one() / T::of(((last - first) * pixels).max(1) as f64);
            let out = &mut sums[(r * 2 + g) * 2 * c..][..2 * c];
            for i in 0..c {
                grad[p.beta as usize + i] += s1[i];
                grad[p.gamma as usize + i] += s2[i];
                out[i] = s1[i] * inv;
                out[c + i] = s2[i] * inv;
            }
        }
    }
}

#[inline(always)]
pub fn batch_norm_backward<T: Real>(
    p: &BatchNormBackward,
    args: &StepArgs<T>,
    x: &[T],
    y: &[T],
    dy: &[T],
    stats: &[T],
    sums: &[T],
    weights: &[T],
    dx: &mut [T],
) {
    let (c, pixels, images) = (p.c as usize, p.pixels as usize, p.images as usize);
    for r in 0..p.replicas as usize {
        let gamma = &weights[r * p.weights_stride as usize + p.gamma as usize..][..c];
        for image in 0..images {
            let g = usize::from(image >= p.data_images as usize);
            let part = (r * images + image) * pixels * c..(r * images + image + 1) * pixels * c;
            if g == 0 && image >= args.n_valid as usize {
                dx[part].fill(T::zero());
                continue;
            }
            let (mean, inv_sd) = stats[(r * 2 + g) * 2 * c..][..2 * c].split_at(c);
            let (m1, m2) = sums[(r * 2 + g) * 2 * c..][..2 * c].split_at(c);
            let rows = x[part.clone()]
                .chunks_exact(c)
                .zip(y[part.clone()].chunks_exact(c))
                .zip(dy[part.clone()].chunks_exact(c));
            for (dx, ((x, y), dy)) in dx[part].chunks_exact_mut(c).zip(rows) {
                for i in 0..c {
                    let d = dy[i] * activation_slope(p.activation, y[i]);
                    let xhat = (x[i] - mean[i]) * inv_sd[i];
                    dx[i] = gamma[i] * inv_sd[i] * (d - m1[i] - xhat * m2[i]);
                }
            }
        }
    }
}

#[inline(always)]
pub fn add<T: Real>(_: &Add, a: &[T], b: &[T], y: &mut [T]) {
    for (y, (a, b)) in y.iter_mut().zip(a.iter().zip(b)) {
        *y = *a + *b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats_of(x: &[f64], n_valid: u32, running: &mut [f64]) -> Vec<f64> {
        let images = x.len() as u32;
        let p = BatchNormStats {
            replicas: 1,
            images,
            data_images: images,
            pixels: 1,
            c: 1,
            running: 0,
            running_stride: 2,
            eps: 0.0,
            momentum: 0.1,
        };
        let mut stats = vec![f64::NAN; 4];
        batch_norm_stats(&p, &StepArgs { n_valid, ..Default::default() }, x, &mut stats, running, &mut [0.0; 2]);
        stats
    }

    /// Values 1, 3 and a filler: mean 2, variance 1; running mean 0 + 0.1 * 2, running variance 1 + 0.1 (2 - 1).
    #[test]
    fn statistics_by_hand_leave_the_filler_out() {
        let mut running = [0.0, 1.0];
        let stats = stats_of(&[1.0, 3.0, 1000.0], 2, &mut running);
        assert_eq!(stats[..2], [2.0, 1.0]);
        assert!((running[0] - 0.2).abs() < 1e-8 && (running[1] - 1.1).abs() < 1e-8);
    }

    /// One row and one pixel: variance 0, no NaN anywhere, y = beta, dx = 0.
    #[test]
    fn one_row_gives_beta_and_no_gradient() {
        let p = BatchNormStats {
            replicas: 1,
            images: 1,
            data_images: 1,
            pixels: 1,
            c: 1,
            running: 0,
            running_stride: 2,
            eps: 1e-5,
            momentum: 0.1,
        };
        let args = StepArgs { n_valid: 1, ..Default::default() };
        let (mut stats, mut running) = (vec![f64::NAN; 4], [0.0, 1.0]);
        batch_norm_stats(&p, &args, &[7.0], &mut stats, &mut running, &mut [0.0; 2]);
        assert!(stats.iter().chain(&running).all(|v| v.is_finite()), "{stats:?} {running:?}");
        let f = BatchNormForward {
            replicas: 1,
            images: 1,
            data_images: 1,
            pixels: 1,
            c: 1,
            gamma: 0,
            beta: 1,
            weights_stride: 2,
            activation: 0,
        };
        let mut y = [f64::NAN];
        batch_norm_forward(&f, &[7.0], &stats, &[2.0, 0.5], &mut y);
        assert_eq!(y, [0.5]);
        let b = BatchNormBackward {
            replicas: 1,
            images: 1,
            data_images: 1,
            pixels: 1,
            c: 1,
            gamma: 0,
            weights_stride: 2,
            activation: 0,
        };
        let mut dx = [f64::NAN];
        batch_norm_backward(&b, &args, &[7.0], &y, &[3.0], &stats, &[3.0, 0.0, 0.0, 0.0], &[2.0, 0.5], &mut dx);
        assert_eq!(dx, [0.0]);
    }
}
