//! Optimizers over whole flat weight vectors, with PyTorch's conventions (decay is added to the gradient).
//! `norm` [R] holds the gradient's sum of squares and is read only where `StepArgs::clip_norm` > 0.

use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, numbers, params, within};
use crate::base::Real;
use rayon::prelude::*;

params! {
    /// weights, first, second [R, count]: Adam (Kingma & Ba 2015) with bias correction.
    Adam {
        replicas: u32,
        count: u32,
        beta1: f32,
        beta2: f32,
        eps: f32,
        /// 1: acts in warm steps alone, as the start of an SGD run (MATH.md section 5, SVHN).
        only_warm: u32,
    }
}
params! {
    /// weights, velocity [R, count]: v = momentum v + g; w -= lr v. A warm step is Adam's.
    Sgd {
        replicas: u32,
        count: u32,
        momentum: f32,
    }
}
params! {
    /// grad [R, stride] += 2 eta scale w on `first .. first + length` of every replica: the gradient of
    /// eta * scale * sum w^2 (regularizer l2, scale = 1/N).
    L2Gradient {
        replicas: u32,
        stride: u32,
        first: u32,
        length: u32,
        scale: f32,
    }
}

impl OpSpec for Adam {
    binds!(adam(step): [grad, norm] -> [weights, first, second]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        let w = numbers(&[self.replicas, self.count]);
        (vec![w, 1], vec![w; 3])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}
impl OpSpec for Sgd {
    binds!(sgd(step): [grad, norm] -> [weights, velocity]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        let w = numbers(&[self.replicas, self.count]);
        (vec![w, 1], vec![w; 2])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}
impl OpSpec for L2Gradient {
    binds!(l2_gradient(step): [weights] -> [grad]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.length as u64)
    }
    fn lengths(&self) -> Lengths {
        (vec![numbers(&[self.replicas, self.stride])], vec![numbers(&[self.replicas, self.stride])])
    }
    fn sizes_agree(&self) -> bool {
        within(self.first, u64::from(self.length), self.stride)
    }
}

/// A rate as the decimal that was meant: 0.9, not the f32 nearest to it, so that the f64 CPU reference has the digits.
#[inline(always)]
fn decimal<T: Real>(rate: f32) -> T {
    T::of((rate as f64 * 1e6).round() / 1e6)
}

/// What clipping leaves of the gradient: min(1, clip / norm).
#[inline(always)]
fn clip_scale<T: Real>(clip_norm: T, sum_squares: T) -> T {
    if clip_norm > T::zero() { (clip_norm / sum_squares.sqrt()).at_most(T::one()) } else { T::one() }
}

pub fn adam<T: Real>(
    p: &Adam,
    args: &StepArgs<T>,
    grad: &[T],
    norm: &[T],
    w: &mut [T],
    first: &mut [T],
    second: &mut [T],
) {
    if p.only_warm == 1 && args.warm != 1 {
        return;
    }
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        let scale = if args.clip_norm > T::zero() { clip_scale(args.clip_norm, norm[r]) } else { T::one() };
        let part = r * n..(r + 1) * n;
        let moments = first[part.clone()].par_chunks_mut(PIECE).zip(second[part.clone()].par_chunks_mut(PIECE));
        let pieces = w[part.clone()].par_chunks_mut(PIECE).zip(grad[part].par_chunks(PIECE)).zip(moments);
        share(n, pieces, |((w, g), (m, v))| adam_piece(p, args, scale, g, w, m, v));
    }
}

/// Moments of a weight that learns nothing any more die away into numbers that many processors are slow at. Smaller ones are 0:
/// the first moves no weight by more than 1e-22 learning rates, the second is a 1e-10th of eps under the root.
const FIRST_LEAST: f64 = 1e-30;
const SECOND_LEAST: f64 = 1e-36;

#[inline(always)]
fn settled<T: Real>(moment: T, least: T) -> T {
    if moment.abs() < least { T::zero() } else { moment }
}

wide! {
    fn adam_piece<T: Real>(
        p: &Adam,
        args: &StepArgs<T>,
        scale: T,
        g: &[T],
        w: &mut [T],
        m: &mut [T],
        v: &mut [T],
    ) {
        let (b1, b2, eps): (T, T, T) = (decimal(p.beta1), decimal(p.beta2), T::of(p.eps as f64));
        let (c1, c2) = (T::one() - b1, T::one() - b2);
        let step = args.lr / args.bias1;
        let root = T::one() / args.bias2.sqrt();
        let (first_least, second_least) = (T::of(FIRST_LEAST), T::of(SECOND_LEAST));
        let decay = args.weight_decay;
        for ((w, g), (m, v)) in w.iter_mut().zip(g).zip(m.iter_mut().zip(v)) {
            let d = *g * scale + decay * *w;
            *m = settled(b1 * *m + c1 * d, first_least);
            *v = settled(b2 * *v + c2 * d * d, second_least);
            *w -= step * *m / ((*v).sqrt() * root + eps);
        }
    }
}

pub fn sgd<T: Real>(p: &Sgd, args: &StepArgs<T>, grad: &[T], norm: &[T], w: &mut [T], velocity: &mut [T]) {
    if args.warm == 1 {
        return;
    }
    let momentum: T = decimal(p.momentum);
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        let scale = if args.clip_norm > T::zero() { clip_scale(args.clip_norm, norm[r]) } else { T::one() };
        let part = r * n..(r + 1) * n;
        let velocities = velocity[part.clone()].par_chunks_mut(PIECE);
        let pieces = w[part.clone()].par_chunks_mut(PIECE).zip(grad[part].par_chunks(PIECE)).zip(velocities);
        share(n, pieces, |((w, g), v)| sgd_piece(momentum, args.weight_decay, args.lr, scale, g, w, v));
    }
}

wide! {
    fn sgd_piece<T: Real>(momentum: T, decay: T, lr: T, scale: T, g: &[T], w: &mut [T], v: &mut [T]) {
        for ((w, g), v) in w.iter_mut().zip(g).zip(v) {
            *v = momentum * *v + *g * scale + decay * *w;
            *w -= lr * *v;
        }
    }
}

pub fn l2_gradient<T: Real>(p: &L2Gradient, args: &StepArgs<T>, w: &[T], grad: &mut [T]) {
    let c = T::of(2.0) * args.eta * T::of(p.scale as f64);
    for r in 0..p.replicas as usize {
        let first = r * p.stride as usize + p.first as usize;
        let part = first..first + p.length as usize;
        let pieces = grad[part.clone()].par_chunks_mut(PIECE).zip(w[part].par_chunks(PIECE));
        share(p.length as usize, pieces, |(grad, w)| add_scaled(c, w, grad));
    }
}

wide! {
    fn add_scaled<T: Real>(c: T, w: &[T], grad: &mut [T]) {
        for (grad, w) in grad.iter_mut().zip(w) {
            *grad += c * *w;
        }
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
        let p = Adam { replicas: 1, count: 2, beta1: 0.9, beta2: 0.999, eps: 0.0, only_warm: 0 };
        let (b1, b2) = (1.0 - 0.9, 1.0 - 0.999);
        let args = StepArgs { lr: 0.1, bias1: b1, bias2: b2, ..Default::default() };
        let (mut w, mut m, mut v) = ([1.0f64, 1.0], [0.0; 2], [0.0; 2]);
        adam(&p, &args, &[1e-3, -50.0], &[0.0], &mut w, &mut m, &mut v);
        assert!((w[0] - 0.9).abs() < 1e-12 && (w[1] - 1.1).abs() < 1e-12);
    }

    /// A weight whose gradient has stayed away: its moments fall to 0 and not below the normal numbers, and it stays where the
    /// plain formula leaves it.
    #[test]
    fn moments_die_away_to_nothing() {
        let p = Adam { replicas: 1, count: 1, beta1: 0.9, beta2: 0.999, eps: 1e-8, only_warm: 0 };
        let args = StepArgs { lr: 0.01f32, bias1: 1.0, bias2: 1.0, ..Default::default() };
        let (mut w, mut m, mut v) = ([0.5f32], [1e-3f32], [1e-6f32]);
        let (mut plain, mut first, mut second) = (0.5f64, 1e-3f64, 1e-6f64);
        for _ in 0..80_000 {
            adam(&p, &args, &[0.0], &[0.0], &mut w, &mut m, &mut v);
            (first, second) = (0.9 * first, 0.999 * second);
            plain -= 0.01 * first / (second.sqrt() + 1e-8);
            assert!([m[0], v[0]].iter().all(|x| *x == 0.0 || x.is_normal()), "{m:?} {v:?}");
        }
        assert_eq!((m[0], v[0]), (0.0, 0.0));
        // Some 150 steps move it, each rounded by half an ulp, 3e-8.
        assert!((f64::from(w[0]) - plain).abs() < 5e-6, "{} {plain}", w[0]);
    }

    /// A warm step moves Adam's weights and not SGD's; a later one the other way round.
    #[test]
    fn a_warm_step_is_adams() {
        let adam_of = |only_warm| Adam { replicas: 1, count: 1, beta1: 0.9, beta2: 0.999, eps: 1e-8, only_warm };
        for warm in [0, 1] {
            let args = StepArgs { lr: 0.1, bias1: 0.1, bias2: 0.001, warm, ..Default::default() };
            let moved = |only_warm| {
                let (mut w, mut m, mut v) = ([1.0f64], [0.0], [0.0]);
                adam(&adam_of(only_warm), &args, &[2.0], &[0.0], &mut w, &mut m, &mut v);
                (w[0] != 1.0, m[0] != 0.0, v[0] != 0.0)
            };
            assert_eq!(moved(1), (warm == 1, warm == 1, warm == 1));
            assert_eq!(moved(0), (true, true, true));
            let (mut w, mut v) = ([1.0f64], [0.5]);
            sgd(&Sgd { replicas: 1, count: 1, momentum: 0.5 }, &args, &[2.0], &[0.0], &mut w, &mut v);
            assert_eq!((w[0], v[0]), if warm == 1 { (1.0, 0.5) } else { (1.0 - 0.1 * 2.25, 2.25) });
        }
    }

    /// Only the range of each replica is pulled.
    #[test]
    fn l2_keeps_to_its_range() {
        let p = L2Gradient { replicas: 2, stride: 4, first: 1, length: 2, scale: 0.5 };
        let mut grad = [1.0f64; 8];
        let w = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        l2_gradient(&p, &StepArgs { eta: 0.5, ..Default::default() }, &w, &mut grad);
        assert_eq!(grad, [1.0, 2.0, 2.5, 1.0, 1.0, 4.0, 4.5, 1.0]);
    }
}
