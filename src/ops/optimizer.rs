//! Optimizers over whole flat weight vectors, with PyTorch's conventions (decay is added to the gradient).
//! `norm` [R] holds the gradient's sum of squares and is read only where `StepArgs::clip_norm` > 0.

use super::{Grid, StepArgs, params};
use crate::base::Real;

params! {
    /// weights, first, second [R, count]: Adam (Kingma & Ba 2015) with bias correction.
    Adam {
        replicas: u32,
        count: u32,
        beta1: f32,
        beta2: f32,
        eps: f32,
    }
}
params! {
    /// weights, velocity [R, count]: v = momentum v + g; w -= lr v.
    Sgd {
        replicas: u32,
        count: u32,
        momentum: f32,
    }
}
params! {
    /// grad += 2 eta scale w: the gradient of eta * scale * sum w^2 (regularizer l2, scale = 1/N).
    L2Gradient {
        count: u32,
        scale: f32,
    }
}

macro_rules! per_weight {
    ($($name:ident: $n:expr;)*) => {$(
        impl $name {
            pub fn grid(&self) -> Grid {
                let n: fn(&Self) -> u64 = $n;
                Grid::Threads(n(self))
            }
            pub fn scratch(&self) -> usize {
                0
            }
        }
    )*};
}
per_weight! {
    Adam: |p| p.replicas as u64 * p.count as u64;
    Sgd: |p| p.replicas as u64 * p.count as u64;
    L2Gradient: |p| p.count as u64;
}

/// A rate as the decimal that was meant: 0.9, not the f32 nearest to it, so that the f64 twin has the digits.
#[inline(always)]
fn decimal<T: Real>(rate: f32) -> T {
    T::of((rate as f64 * 1e6).round() / 1e6)
}

/// What clipping leaves of the gradient: min(1, clip / norm).
#[inline(always)]
fn clip_scale<T: Real>(clip_norm: T, sum_squares: T) -> T {
    if clip_norm > T::zero() { (clip_norm / sum_squares.sqrt()).at_most(T::one()) } else { T::one() }
}

#[inline(always)]
pub fn adam<T: Real>(
    p: &Adam,
    args: &StepArgs<T>,
    grad: &[T],
    norm: &[T],
    w: &mut [T],
    first: &mut [T],
    second: &mut [T],
) {
    let (b1, b2, eps): (T, T, T) = (decimal(p.beta1), decimal(p.beta2), T::of(p.eps as f64));
    let (c1, c2) = (T::one() - b1, T::one() - b2);
    let step = args.lr / args.bias1;
    let root = T::one() / args.bias2.sqrt();
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        let scale = if args.clip_norm > T::zero() { clip_scale(args.clip_norm, norm[r]) } else { T::one() };
        let part = r * n..(r + 1) * n;
        let (w, m, v, g) = (&mut w[part.clone()], &mut first[part.clone()], &mut second[part.clone()], &grad[part]);
        for i in 0..n {
            let d = g[i] * scale + args.weight_decay * w[i];
            m[i] = b1 * m[i] + c1 * d;
            v[i] = b2 * v[i] + c2 * d * d;
            w[i] -= step * m[i] / (v[i].sqrt() * root + eps);
        }
    }
}

#[inline(always)]
pub fn sgd<T: Real>(p: &Sgd, args: &StepArgs<T>, grad: &[T], norm: &[T], w: &mut [T], velocity: &mut [T]) {
    let momentum: T = decimal(p.momentum);
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        let scale = if args.clip_norm > T::zero() { clip_scale(args.clip_norm, norm[r]) } else { T::one() };
        let part = r * n..(r + 1) * n;
        let (w, v, g) = (&mut w[part.clone()], &mut velocity[part.clone()], &grad[part]);
        for i in 0..n {
            v[i] = momentum * v[i] + g[i] * scale + args.weight_decay * w[i];
            w[i] -= args.lr * v[i];
        }
    }
}

#[inline(always)]
pub fn l2_gradient<T: Real>(p: &L2Gradient, args: &StepArgs<T>, w: &[T], grad: &mut [T]) {
    let c = T::of(2.0) * args.eta * T::of(p.scale as f64);
    for (g, w) in grad.iter_mut().zip(w) {
        *g += c * *w;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipping_bounds_the_norm() {
        assert_eq!(clip_scale(1.0, 25.0f64), 0.2);
        assert_eq!(clip_scale(10.0, 25.0f64), 1.0);
        assert_eq!(clip_scale(0.0, 25.0f64), 1.0);
        assert_eq!(clip_scale(1.0, 0.0f64), 1.0);
    }

    /// The first Adam step moves every weight by lr against the gradient's sign, whatever its size.
    #[test]
    fn first_adam_step_is_the_rate() {
        let p = Adam { replicas: 1, count: 2, beta1: 0.9, beta2: 0.999, eps: 0.0 };
        let (b1, b2) = (1.0 - 0.9, 1.0 - 0.999);
        let args = StepArgs { lr: 0.1, bias1: b1, bias2: b2, ..Default::default() };
        let (mut w, mut m, mut v) = ([1.0f64, 1.0], [0.0; 2], [0.0; 2]);
        adam(&p, &args, &[1e-3, -50.0], &[0.0], &mut w, &mut m, &mut v);
        assert!((w[0] - 0.9).abs() < 1e-12 && (w[1] - 1.1).abs() < 1e-12);
    }
}
