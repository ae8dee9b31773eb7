//! Optimizers over whole flat weight vectors, with PyTorch's conventions (decay is added to the gradient; AdamW's is not).
//! `norm` [R] holds the gradient's sum of squares and is read only where `StepArgs::clip_norm` > 0; `rates` [count], shared by
//! the replicas, multiplies the learning rate weight by weight and is read only where `rated` is 1.

use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, fits, params};
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
        /// 1: weights decay beside Adam's step, by lr rate decay w (AdamW, Loshchilov & Hutter 2019), not through the gradient.
        decoupled: u32,
        rated: u32,
        /// 1: a step whose gradient is not finite, which `norm` tells, changes nothing.
        guarded: u32,
    }
}
params! {
    /// weights, velocity [R, count]: v = momentum v + g; w -= lr rate v. A warm step is Adam's.
    Sgd {
        replicas: u32,
        count: u32,
        momentum: f32,
        rated: u32,
        /// As Adam's.
        guarded: u32,
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
    binds!(adam(step): [grad, norm, rates] -> [weights, first, second]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        let w = elements(&[self.replicas, self.count]);
        (vec![w, 1, rates_len(self.rated, self.count)], vec![w; 3])
    }
    fn sizes_agree(&self) -> bool {
        true
    }
}
impl OpSpec for Sgd {
    binds!(sgd(step): [grad, norm, rates] -> [weights, velocity]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.count as u64)
    }
    fn lengths(&self) -> Lengths {
        let w = elements(&[self.replicas, self.count]);
        (vec![w, 1, rates_len(self.rated, self.count)], vec![w; 2])
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
        (vec![elements(&[self.replicas, self.stride])], vec![elements(&[self.replicas, self.stride])])
    }
    fn sizes_agree(&self) -> bool {
        fits(self.first, u64::from(self.length), self.stride)
    }
}

fn rates_len(rated: u32, count: u32) -> usize {
    if rated == 1 { count as usize } else { 1 }
}

/// A rate as the decimal that was meant: 0.9, not the f32 nearest to it, so that the f64 CPU reference has the digits.
#[inline(always)]
pub(super) fn decimal<T: Real>(rate: f32) -> T {
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
    rates: &[T],
    w: &mut [T],
    first: &mut [T],
    second: &mut [T],
) {
    if p.only_warm == 1 && args.warm != 1 {
        return;
    }
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        if p.guarded == 1 && !norm[r].is_finite() {
            continue;
        }
        let scale = if args.clip_norm > T::zero() { clip_scale(args.clip_norm, norm[r]) } else { T::one() };
        let part = r * n..(r + 1) * n;
        let moments = first[part.clone()].par_chunks_mut(PIECE).zip(second[part.clone()].par_chunks_mut(PIECE));
        let pieces = w[part.clone()].par_chunks_mut(PIECE).zip(grad[part].par_chunks(PIECE)).zip(moments);
        share(n, pieces.enumerate(), |(i, ((w, g), (m, v)))| {
            let rates = rates_of(p.rated, rates, i, w.len());
            adam_piece(p, args, scale, g, rates, w, m, v);
        });
    }
}

/// The rates of piece `i`; none where all are 1.
#[inline(always)]
fn rates_of<T>(rated: u32, rates: &[T], i: usize, len: usize) -> &[T] {
    if rated == 1 { &rates[i * PIECE..][..len] } else { &[] }
}

/// Moments of a weight that learns nothing any more die away into numbers that many processors are slow at. Smaller ones are 0:
/// the first moves no weight by more than 1e-22 learning rates, the second is a 1e-10th of eps under the root.
const FIRST_LEAST: f64 = 1e-30;
const SECOND_LEAST: f64 = 1e-36;

#[inline(always)]
fn settled<T: Real>(moment: T, least: T) -> T {
    if moment.abs() < least { T::zero() } else { moment }
}

/// Adam's constants in a step.
#[derive(Clone, Copy)]
struct AdamStep<T> {
    b1: T,
    b2: T,
    eps: T,
    root: T,
    first_least: T,
    second_least: T,
}

impl<T: Real> AdamStep<T> {
    /// Moves the moments of a weight by the gradient d; returns what divides the first.
    #[inline(always)]
    fn moments(&self, d: T, m: &mut T, v: &mut T) -> T {
        let (c1, c2) = (T::one() - self.b1, T::one() - self.b2);
        *m = settled(self.b1 * *m + c1 * d, self.first_least);
        *v = settled(self.b2 * *v + c2 * d * d, self.second_least);
        (*v).sqrt() * self.root + self.eps
    }
}

wide! {
    fn adam_piece<T: Real>(
        p: &Adam,
        args: &StepArgs<T>,
        scale: T,
        g: &[T],
        rates: &[T],
        w: &mut [T],
        m: &mut [T],
        v: &mut [T],
    ) {
        let adam = AdamStep {
            b1: decimal(p.beta1),
            b2: decimal(p.beta2),
            eps: T::of(p.eps as f64),
            root: T::one() / args.bias2.sqrt(),
            first_least: T::of(FIRST_LEAST),
            second_least: T::of(SECOND_LEAST),
        };
        let step = args.lr / args.bias1;
        let decay = args.weight_decay;
        let weights = w.iter_mut().zip(g).zip(m.iter_mut().zip(v));
        match (p.decoupled == 1, rates.is_empty()) {
            (false, true) => {
                for ((w, g), (m, v)) in weights {
                    let below = adam.moments(*g * scale + decay * *w, m, v);
                    *w -= step * *m / below;
                }
            }
            (false, false) => {
                for (((w, g), (m, v)), rate) in weights.zip(rates) {
                    let below = adam.moments(*g * scale + decay * *w, m, v);
                    *w -= step * *rate * *m / below;
                }
            }
            (true, true) => {
                let shrink = args.lr * decay;
                for ((w, g), (m, v)) in weights {
                    let below = adam.moments(*g * scale, m, v);
                    *w = *w - shrink * *w - step * *m / below;
                }
            }
            (true, false) => {
                let shrink = args.lr * decay;
                for (((w, g), (m, v)), rate) in weights.zip(rates) {
                    let below = adam.moments(*g * scale, m, v);
                    *w = *w - shrink * *rate * *w - step * *rate * *m / below;
                }
            }
        }
    }
}

pub fn sgd<T: Real>(p: &Sgd, args: &StepArgs<T>, grad: &[T], norm: &[T], rates: &[T], w: &mut [T], velocity: &mut [T]) {
    if args.warm == 1 {
        return;
    }
    let momentum: T = decimal(p.momentum);
    let n = p.count as usize;
    for r in 0..p.replicas as usize {
        if p.guarded == 1 && !norm[r].is_finite() {
            continue;
        }
        let scale = if args.clip_norm > T::zero() { clip_scale(args.clip_norm, norm[r]) } else { T::one() };
        let part = r * n..(r + 1) * n;
        let velocities = velocity[part.clone()].par_chunks_mut(PIECE);
        let pieces = w[part.clone()].par_chunks_mut(PIECE).zip(grad[part].par_chunks(PIECE)).zip(velocities);
        share(n, pieces.enumerate(), |(i, ((w, g), v))| {
            let rates = rates_of(p.rated, rates, i, w.len());
            sgd_piece(momentum, args.weight_decay, args.lr, scale, g, rates, w, v);
        });
    }
}

wide! {
    fn sgd_piece<T: Real>(
        momentum: T,
        decay: T,
        lr: T,
        scale: T,
        g: &[T],
        rates: &[T],
        w: &mut [T],
        v: &mut [T],
    ) {
        if rates.is_empty() {
            for ((w, g), v) in w.iter_mut().zip(g).zip(v) {
                *v = momentum * *v + *g * scale + decay * *w;
                *w -= lr * *v;
            }
            return;
        }
        for (((w, g), v), rate) in w.iter_mut().zip(g).zip(v).zip(rates) {
            *v = momentum * *v + *g * scale + decay * *w;
            *w -= lr * *rate * *v;
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
        let p = Adam {
            replicas: 1,
            count: 2,
            beta1: 0.9,
            beta2: 0.999,
            eps: 0.0,
            only_warm: 0,
            decoupled: 0,
            rated: 0,
            guarded: 0,
        };
        let (b1, b2) = (1.0 - 0.9, 1.0 - 0.999);
        let args = StepArgs { lr: 0.1, bias1: b1, bias2: b2, ..Default::default() };
        let (mut w, mut m, mut v) = ([1.0f64, 1.0], [0.0; 2], [0.0; 2]);
        adam(&p, &args, &[1e-3, -50.0], &[0.0], &[], &mut w, &mut m, &mut v);
        assert!((w[0] - 0.9).abs() < 1e-12 && (w[1] - 1.1).abs() < 1e-12);
    }

    /// A weight whose gradient has stayed away: its moments fall to 0 and not below the normal numbers, and it stays where the
    /// plain formula leaves it.
    #[test]
    fn moments_die_away_to_nothing() {
        let p = Adam {
            replicas: 1,
            count: 1,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            only_warm: 0,
            decoupled: 0,
            rated: 0,
            guarded: 0,
        };
        let args = StepArgs { lr: 0.01f32, bias1: 1.0, bias2: 1.0, ..Default::default() };
        let (mut w, mut m, mut v) = ([0.5f32], [1e-3f32], [1e-6f32]);
        let (mut plain, mut first, mut second) = (0.5f64, 1e-3f64, 1e-6f64);
        for _ in 0..80_000 {
            adam(&p, &args, &[0.0], &[0.0], &[], &mut w, &mut m, &mut v);
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
        let adam_of = |only_warm| Adam {
            replicas: 1,
            count: 1,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            only_warm,
            decoupled: 0,
            rated: 0,
            guarded: 0,
        };
        for warm in [0, 1] {
            let args = StepArgs { lr: 0.1, bias1: 0.1, bias2: 0.001, warm, ..Default::default() };
            let moved = |only_warm| {
                let (mut w, mut m, mut v) = ([1.0f64], [0.0], [0.0]);
                adam(&adam_of(only_warm), &args, &[2.0], &[0.0], &[], &mut w, &mut m, &mut v);
                (w[0] != 1.0, m[0] != 0.0, v[0] != 0.0)
            };
            assert_eq!(moved(1), (warm == 1, warm == 1, warm == 1));
            assert_eq!(moved(0), (true, true, true));
            let (mut w, mut v) = ([1.0f64], [0.5]);
            sgd(
                &Sgd { replicas: 1, count: 1, momentum: 0.5, rated: 0, guarded: 0 },
                &args,
                &[2.0],
                &[0.0],
                &[],
                &mut w,
                &mut v,
            );
            assert_eq!((w[0], v[0]), if warm == 1 { (1.0, 0.5) } else { (1.0 - 0.1 * 2.25, 2.25) });
        }
    }

    /// A rate of 0 keeps a weight where it is, one of 2 moves it as twice the learning rate would; decoupled decay goes by the
    /// same rate and leaves the moments alone.
    #[test]
    fn rates_scale_step_and_decay() {
        let of = |decoupled, rates: &[f64], lr: f64, decay: f64| {
            let rated = u32::from(!rates.is_empty());
            let p = Adam {
                replicas: 2,
                count: 2,
                beta1: 0.9,
                beta2: 0.99,
                eps: 1e-8,
                only_warm: 0,
                decoupled,
                rated,
                guarded: 0,
            };
            let args = StepArgs { lr, bias1: 0.1, bias2: 0.01, weight_decay: decay, ..Default::default() };
            let (mut w, mut m, mut v) = ([1.0f64, -2.0, 3.0, 0.5], [0.0; 4], [0.0; 4]);
            adam(&p, &args, &[0.3, -0.2, 5.0, 1e-3], &[0.0; 2], rates, &mut w, &mut m, &mut v);
            (w, m)
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-15 * (1.0 + b.abs()), "{a} {b}");
        for decoupled in [0, 1] {
            let (w, _) = of(decoupled, &[0.0, 2.0], 0.1, 0.5);
            let (twice, _) = of(decoupled, &[], 0.2, 0.5);
            assert_eq!((w[0], w[2]), (1.0, 3.0));
            near(w[1], twice[1]);
            near(w[3], twice[3]);
        }
        let ((plain, m0), (decayed, m1)) = (of(1, &[], 0.1, 0.0), of(1, &[], 0.1, 0.5));
        assert_eq!(m0, m1);
        for (i, w0) in [1.0, -2.0, 3.0, 0.5].into_iter().enumerate() {
            near(decayed[i], plain[i] - 0.1 * 0.5 * w0);
        }
        let p = Sgd { replicas: 1, count: 2, momentum: 0.5, rated: 1, guarded: 0 };
        let (mut w, mut v) = ([1.0f64, 1.0], [0.5, 0.5]);
        let args = StepArgs { lr: 0.1, ..Default::default() };
        sgd(&p, &args, &[2.0, 2.0], &[0.0], &[1.0, 0.25], &mut w, &mut v);
        assert_eq!((w, v), ([1.0 - 0.1 * 2.25, 1.0 - 0.1 * 0.25 * 2.25], [2.25, 2.25]));
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
