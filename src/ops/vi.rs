//! Weight-space variational inference (MATH.md section 4): q [E, 2P] = (mu, rho), sigma = softplus(rho). The M weight
//! samples of a member are M replicas. eps is never stored: sampling and gradient draw it from the same counter.

use super::regularizer::{REG_EB, REG_MEAN, REG_MV, REG_NAIVE, SIGMA_SOFTPLUS, eb_energy, separable, sigma};
use super::wide::{PIECE, share, wide};
use super::{Grid, Lengths, OpSpec, StepArgs, binds, elements, fits, params};
use crate::base::Real;
use crate::base::rng::{Draw, Stream, normals};
use rayon::prelude::*;

params! {
    /// weights [E * samples, P] = mu + sigma eps.
    ViSample {
        members: u32,
        samples: u32,
        count: u32,
        /// Number of the first replica: (first member) * samples.
        first_replica: u32,
        /// `Stream::Weights` in training, `Stream::Predict` in prediction.
        stream: u32,
    }
}
params! {
    /// value [E] = (or +=) Reg over the weights `first .. first + length`; energy [E, groups] = sum (mu^2 + s2) there.
    ViRegularizer {
        members: u32,
        count: u32,
        first: u32,
        length: u32,
        group: u32,
        groups: u32,
        regularizer: u32,
        accumulate: u32,
    }
}
params! {
    /// dq [E, 2P] on `first .. first + length`: the mean over the samples of dL/dW, pulled back to (mu, rho), plus
    /// eta * `scale` * dReg (scale = 1/N).
    ViGradient {
        members: u32,
        samples: u32,
        count: u32,
        first: u32,
        length: u32,
        group: u32,
        groups: u32,
        regularizer: u32,
        first_replica: u32,
        scale: f32,
    }
}

/// Weights worked on at a time: what they need stays in the first-level cache.
const CHUNK: usize = 256;

/// A thread serves one Philox block: four weights.
fn blocks(n: u32) -> u64 {
    n.div_ceil(4) as u64
}

impl OpSpec for ViSample {
    binds!(vi_sample(step): [q] -> [weights], scratch);
    const HALVES: &'static [&'static str] = &["weights"];
    fn grid(&self) -> Grid {
        Grid::Threads(self.members as u64 * self.samples as u64 * blocks(self.count))
    }
    fn scratch(&self) -> usize {
        self.count as usize
    }
    fn lengths(&self) -> Lengths {
        (vec![elements(&[self.members, 2, self.count])], vec![elements(&[self.members, self.samples, self.count])])
    }
    fn sizes_agree(&self) -> bool {
        self.samples > 0
    }
}
impl OpSpec for ViRegularizer {
    binds!(vi_regularizer(step): [q] -> [value, energy]);
    fn grid(&self) -> Grid {
        Grid::Groups(self.members as u64)
    }
    fn lengths(&self) -> Lengths {
        (
            vec![elements(&[self.members, 2, self.count])],
            vec![self.members as usize, elements(&[self.members, self.groups])],
        )
    }
    fn sizes_agree(&self) -> bool {
        fits(self.first, u64::from(self.length), self.count) && self.length > 0 && self.group < self.groups
    }
}
impl OpSpec for ViGradient {
    binds!(vi_gradient(step): [q, dweights, energy] -> [dq]);
    fn grid(&self) -> Grid {
        // A group may begin inside a block, so one block more than its length fills.
        Grid::Threads(self.members as u64 * (blocks(self.length) + 1))
    }
    fn lengths(&self) -> Lengths {
        let q = elements(&[self.members, 2, self.count]);
        (vec![q, elements(&[self.members, self.samples, self.count]), elements(&[self.members, self.groups])], vec![q])
    }
    fn sizes_agree(&self) -> bool {
        fits(self.first, u64::from(self.length), self.count)
            && self.length > 0
            && self.group < self.groups
            && self.samples > 0
    }
}

pub fn vi_sample<T: Real>(p: &ViSample, args: &StepArgs<T>, q: &[T], weights: &mut [T], scratch: &mut [T]) {
    let n = p.count as usize;
    let (all, sd) = (n * p.samples as usize, &mut scratch[..n]);
    for e in 0..p.members as usize {
        let (mu, rho) = q[e * 2 * n..(e + 1) * 2 * n].split_at(n);
        // sigma once for all samples of a member: its softplus costs more than the rest.
        share(all, sd.par_chunks_mut(PIECE).zip(rho.par_chunks(PIECE)), |(sd, rho)| deviations(rho, sd));
        for s in 0..p.samples as usize {
            let replica = e * p.samples as usize + s;
            let draw =
                Draw { seed: args.seed, stream: p.stream, step: args.step, replica: p.first_replica + replica as u32 };
            let w = weights[replica * n..(replica + 1) * n].par_chunks_mut(PIECE);
            let pieces = w.zip(mu.par_chunks(PIECE)).zip(sd.par_chunks(PIECE)).enumerate();
            share(all, pieces, |(i, ((w, mu), sd))| sample(&draw, i * PIECE, mu, sd, w));
        }
    }
}

wide! {
    fn deviations<T: Real>(rho: &[T], sd: &mut [T]) {
        for (sd, rho) in sd.iter_mut().zip(rho) {
            *sd = sigma(SIGMA_SOFTPLUS, *rho).0;
        }
    }
}

wide! {
    /// The weights from `first` on.
    fn sample<T: Real>(draw: &Draw, first: usize, mu: &[T], sd: &[T], w: &mut [T]) {
        let mut eps = [0f32; CHUNK];
        let inputs = mu.chunks(CHUNK).zip(sd.chunks(CHUNK));
        for (i, (w, (mu, sd))) in w.chunks_mut(CHUNK).zip(inputs).enumerate() {
            draw.fill_normal((first + i * CHUNK) as u32, &mut eps[..w.len()]);
            for (w, ((mu, sd), eps)) in w.iter_mut().zip(mu.iter().zip(sd).zip(&eps)) {
                *w = *mu + *sd * T::of(*eps as f64);
            }
        }
    }
}

/// Pieces of a long range of weights at most.
const PARTS: usize = 64;

pub fn vi_regularizer<T: Real>(p: &ViRegularizer, args: &StepArgs<T>, q: &[T], value: &mut [T], energy: &mut [T]) {
    let n = p.count as usize;
    let (range, length) = (p.first as usize..(p.first + p.length) as usize, p.length as usize);
    let piece = length.div_ceil(PARTS).max(PIECE);
    for e in 0..p.members as usize {
        let (mu, rho) = q[e * 2 * n..(e + 1) * 2 * n].split_at(n);
        let (mut s_parts, mut v_parts) = ([T::zero(); PARTS], [T::zero(); PARTS]);
        let inputs = mu[range.clone()].par_chunks(piece).zip(rho[range.clone()].par_chunks(piece));
        share(length, s_parts.par_iter_mut().zip(&mut v_parts[..]).zip(inputs), |((s, v), (mu, rho))| {
            energy_and_value(p.regularizer, args, mu, rho, s, v);
        });
        let (s, mut v): (T, T) = (s_parts.into_iter().sum(), v_parts.into_iter().sum());
        let dims = T::of(p.length as f64);
        v += dims * args.prior.constant;
        if p.regularizer == REG_EB {
            v += T::of(0.5) * eb_energy(&args.prior, dims, s).0;
        }
        value[e] = if p.accumulate == 1 { value[e] + v } else { v };
        energy[e * p.groups as usize + p.group as usize] = s;
    }
}

wide! {
    fn energy_and_value<T: Real>(regularizer: u32, args: &StepArgs<T>, mu: &[T], rho: &[T], s: &mut T, v: &mut T) {
        // A constant in each arm, so that the loop over weights has no branch.
        (*s, *v) = match regularizer {
            REG_NAIVE => energy_and_value_of::<T, REG_NAIVE>(args, mu, rho),
            REG_MEAN => energy_and_value_of::<T, REG_MEAN>(args, mu, rho),
            REG_EB => energy_and_value_of::<T, REG_EB>(args, mu, rho),
            _ => energy_and_value_of::<T, REG_MV>(args, mu, rho),
        };
    }
}

#[inline(always)]
fn energy_and_value_of<T: Real, const REG: u32>(args: &StepArgs<T>, mu: &[T], rho: &[T]) -> (T, T) {
    // Sixteen running sums: an order of its own that vector code can keep; a loop of unknown length would stay scalar.
    let (mut s_lanes, mut v_lanes) = ([T::zero(); 16], [T::zero(); 16]);
    let ((mu, mu_rest), (rho, rho_rest)) = (mu.as_chunks::<16>(), rho.as_chunks::<16>());
    for (mu, rho) in mu.iter().zip(rho) {
        for i in 0..16 {
            let (s, v) = of_weight::<T, REG>(args, mu[i], rho[i]);
            s_lanes[i] += s;
            v_lanes[i] += v;
        }
    }
    for (i, (mu, rho)) in mu_rest.iter().zip(rho_rest).enumerate() {
        let (s, v) = of_weight::<T, REG>(args, *mu, *rho);
        s_lanes[i] += s;
        v_lanes[i] += v;
    }
    (s_lanes.into_iter().sum(), v_lanes.into_iter().sum())
}

#[inline(always)]
fn of_weight<T: Real, const REG: u32>(args: &StepArgs<T>, mu: T, rho: T) -> (T, T) {
    let sd = sigma(SIGMA_SOFTPLUS, rho).0;
    let s2 = sd * sd;
    (mu * mu + s2, if REG == REG_EB { -sd.ln() } else { separable(REG, &args.prior, mu, s2).0 })
}

pub fn vi_gradient<T: Real>(p: &ViGradient, args: &StepArgs<T>, q: &[T], dweights: &[T], energy: &[T], dq: &mut [T]) {
    let (n, length) = (p.count as usize, p.length as usize);
    let range = p.first as usize..p.first as usize + length;
    for e in 0..p.members as usize {
        let (mu, rho) = q[e * 2 * n..(e + 1) * 2 * n].split_at(n);
        let (dmu, drho) = dq[e * 2 * n..(e + 1) * 2 * n].split_at_mut(n);
        let df = if p.regularizer == REG_EB {
            eb_energy(&args.prior, T::of(p.length as f64), energy[e * p.groups as usize + p.group as usize]).1
        } else {
            T::zero()
        };
        let inputs = mu[range.clone()].par_chunks(CHUNK).zip(rho[range.clone()].par_chunks(CHUNK));
        let outputs = dmu[range.clone()].par_chunks_mut(CHUNK).zip(drho[range.clone()].par_chunks_mut(CHUNK));
        // Chunks this small only where there are many: dividing them among threads goes in halves.
        share(length * p.samples as usize, outputs.zip(inputs).enumerate(), |(i, ((dmu, drho), (mu, rho)))| {
            gradient(p, args, e, p.first as usize + i * CHUNK, df, mu, rho, dweights, dmu, drho);
        });
    }
}

wide! {
    /// At most `CHUNK` weights of member `e`, from `at` on.
    fn gradient<T: Real>(
        p: &ViGradient,
        args: &StepArgs<T>,
        e: usize,
        at: usize,
        df: T,
        mu: &[T],
        rho: &[T],
        dweights: &[T],
        dmu: &mut [T],
        drho: &mut [T],
    ) {
        let m = mu.len();
        let scale = args.eta * T::of(p.scale as f64);
        let share = T::one() / T::of(p.samples as f64);
        let (mut dm, mut dr, mut eps) = ([T::zero(); CHUNK], [T::zero(); CHUNK], [0f32; CHUNK]);
        for s in 0..p.samples as usize {
            let replica = e * p.samples as usize + s;
            let stream = Stream::Weights as u32;
            let draw = Draw { seed: args.seed, stream, step: args.step, replica: p.first_replica + replica as u32 };
            draw.fill_normal(at as u32, &mut eps[..m]);
            let dw = &dweights[replica * p.count as usize + at..][..m];
            for ((dm, dr), (dw, eps)) in dm.iter_mut().zip(&mut dr).zip(dw.iter().zip(&eps)) {
                *dm += *dw;
                *dr += *dw * T::of(*eps as f64);
            }
        }
        let two = T::of(2.0);
        let sums = dm.iter().zip(&dr);
        for (((dmu, drho), (mu, rho)), (dm, dr)) in dmu.iter_mut().zip(drho).zip(mu.iter().zip(rho)).zip(sums) {
            let (sd, slope) = sigma(SIGMA_SOFTPLUS, *rho);
            let (rm, rs) = if p.regularizer == REG_EB {
                (df * *mu, T::of(0.5) * (df - T::one() / (sd * sd)))
            } else {
                let (_, rm, rs) = separable(p.regularizer, &args.prior, *mu, sd * sd);
                (rm, rs)
            };
            *dmu = *dm * share + scale * rm;
            *drho = (*dr * share + scale * two * sd * rs) * slope;
        }
    }
}

/// Four normals of one block, as a thread of the shader draws them; the parity tests compare the two forms.
pub fn block_normals(draw: &Draw, block: u32) -> [f32; 4] {
    normals(draw.block(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With rho at -40 sigma is its floor 1e-6: all samples are mu to that accuracy.
    #[test]
    fn vanishing_sigma_samples_the_mean() {
        let p = ViSample { members: 1, samples: 3, count: 5, first_replica: 0, stream: 1 };
        let mut q = vec![0.0f64; 10];
        for i in 0..5 {
            q[i] = i as f64;
            q[5 + i] = -40.0;
        }
        let mut w = vec![f64::NAN; 15];
        vi_sample(&p, &StepArgs { seed: 1, ..Default::default() }, &q, &mut w, &mut [f64::NAN; 5]);
        for (i, w) in w.iter().enumerate() {
            assert!((w - (i % 5) as f64).abs() < 1e-5);
        }
    }
}
