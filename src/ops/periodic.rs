//! Periodic embedding of numbers (MATH.md section 6; RealMLP's "periodic, bias, linear, densenet", Holzmueller et al.
//! 2024): a number x becomes 16 cosines u_h = cos(2 pi x f_h + p_h), these three numbers v = W u + c, and the row goes
//! on as (v of every embedded input, all inputs). f and p [d, 16], W [d, 3, 16] and c [d, 3] lie in the flat vector of
//! each replica at `frequency`, `phase`, `weight` and `bias`; `columns` [d] says which inputs are embedded. The first
//! layer of a network: no gradient of x.

use super::wide::{share, wide};
use super::{
    Gradient, GradientStep, Grid, Lengths, Op, OpSpec, Place, binds, elements, elements_u64, fits, params, shared,
};
use crate::base::Real;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Cosines of an input.
pub const WAVES: u32 = 16;
/// Numbers that they become.
pub const MADE: u32 = 3;
const H: usize = WAVES as usize;
const O: usize = MADE as usize;

params! {
    /// y [R, rows, 3 embedded + n_in] from x [R or X, rows, n_in].
    PeriodicForward {
        replicas: u32,
        /// Replicas that share one x: R / X.
        share: u32,
        rows: u32,
        n_in: u32,
        /// d, the embedded inputs among the `n_in`.
        embedded: u32,
        frequency: u32,
        phase: u32,
        weight: u32,
        bias: u32,
        /// P, the length of one replica's weight vector.
        stride: u32,
    }
}
params! {
    /// The gradient's ranges of frequency, phase, weight and bias in grad [R, P].
    PeriodicBackward {
        replicas: u32,
        share: u32,
        rows: u32,
        n_in: u32,
        embedded: u32,
        frequency: u32,
        phase: u32,
        weight: u32,
        bias: u32,
        stride: u32,
    }
}

/// Numbers of an output row.
pub fn n_out(n_in: u32, embedded: u32) -> u32 {
    MADE * embedded + n_in
}

/// The kernels' inputs and weights, which both passes have.
struct Sizes {
    replicas: u32,
    share: u32,
    rows: u32,
    n_in: u32,
    embedded: u32,
    places: [(u32, u32); 4],
    stride: u32,
}

macro_rules! sizes {
    ($p:expr) => {
        Sizes {
            replicas: $p.replicas,
            share: $p.share,
            rows: $p.rows,
            n_in: $p.n_in,
            embedded: $p.embedded,
            places: [($p.frequency, WAVES), ($p.phase, WAVES), ($p.weight, MADE * WAVES), ($p.bias, MADE)],
            stride: $p.stride,
        }
    };
}

impl Sizes {
    fn agree(&self) -> bool {
        let inside = |&(first, each): &(u32, u32)| fits(first, elements_u64(&[self.embedded, each]), self.stride);
        shared(self.replicas, self.share) && (1..=self.n_in).contains(&self.embedded) && self.places.iter().all(inside)
    }
    fn x(&self) -> usize {
        elements(&[self.replicas / self.share.max(1), self.rows, self.n_in])
    }
    fn y(&self) -> usize {
        elements(&[self.replicas, self.rows, n_out(self.n_in, self.embedded)])
    }
    fn weights(&self) -> usize {
        elements(&[self.replicas, self.stride])
    }
}

impl OpSpec for PeriodicForward {
    binds!(periodic_forward: [x, weights, columns] -> [y]);
    const HALVES: &'static [&'static str] = &["y"];

    fn grid(&self) -> Grid {
        // A thread passes an input on; the first ones of a row embed one, too.
        Grid::Threads(self.replicas as u64 * self.rows as u64 * self.n_in as u64)
    }
    fn lengths(&self) -> Lengths {
        let s = sizes!(self);
        (vec![s.x(), s.weights(), self.embedded as usize], vec![s.y()])
    }
    fn sizes_agree(&self) -> bool {
        sizes!(self).agree()
    }
    fn gradient(&self, _activation: u32) -> Option<Gradient> {
        let Self { replicas, share, rows, n_in, embedded, frequency, phase, weight, bias, stride } = *self;
        let op = PeriodicBackward { replicas, share, rows, n_in, embedded, frequency, phase, weight, bias, stride };
        Some(Gradient::Steps(vec![GradientStep {
            op: Op::PeriodicBackward(op),
            // What is kept are the numbers of the embedded inputs.
            reads: &[Place::X, Place::Dy, Place::Weights, Place::Kept],
            writes: &[Place::Grad],
        }]))
    }
}

impl OpSpec for PeriodicBackward {
    binds!(periodic_backward: [x, dy, weights, columns] -> [grad]);
    const HALVES: &'static [&'static str] = &["dy"];

    fn grid(&self) -> Grid {
        Grid::Groups(self.replicas as u64 * self.embedded as u64)
    }
    fn lengths(&self) -> Lengths {
        let s = sizes!(self);
        (vec![s.x(), s.y(), s.weights(), self.embedded as usize], vec![s.weights()])
    }
    fn sizes_agree(&self) -> bool {
        sizes!(self).agree()
    }
}

/// One embedded input's numbers in a replica's weights; the phase in turns.
struct Waves<T> {
    column: usize,
    frequency: [T; H],
    phase: [T; H],
    weight: [[T; H]; O],
    bias: [T; O],
}

impl<T: Real> Waves<T> {
    #[inline(always)]
    fn of(places: [u32; 4], w: &[T], j: usize, column: T, n_in: usize) -> Self {
        let [frequency, phase, weight, bias] = places.map(|at| at as usize);
        let row = |at: usize| -> [T; H] { std::array::from_fn(|h| w[at + h]) };
        Waves {
            // As the shader, which must not read past the row whatever stands there.
            column: (column.f64() as usize).min(n_in - 1),
            frequency: row(frequency + j * H),
            phase: row(phase + j * H).map(|p| p * T::of(1.0 / TAU)),
            weight: std::array::from_fn(|o| row(weight + (j * O + o) * H)),
            bias: std::array::from_fn(|o| w[bias + j * O + o]),
        }
    }
}

/// Rows that go side by side through the lanes of a vector.
const LANES: usize = 16;

pub fn periodic_forward<T: Real>(p: &PeriodicForward, x: &[T], weights: &[T], columns: &[T], y: &mut [T]) {
    let (row_in, row_out) = (p.n_in as usize, n_out(p.n_in, p.embedded) as usize);
    let (rows, stride) = (p.rows as usize, p.stride as usize);
    if rows == 0 {
        return;
    }
    let elements = y.len() * H;
    share(elements, y.par_chunks_mut(rows * row_out).enumerate(), |(r, y)| {
        let x = &x[r / p.share as usize * rows * row_in..][..rows * row_in];
        embed(p, x, &weights[r * stride..][..stride], columns, y);
    });
}

wide! {
    /// One replica's rows.
    fn embed<T: Real>(p: &PeriodicForward, x: &[T], w: &[T], columns: &[T], y: &mut [T]) {
        let (n_in, d) = (p.n_in as usize, p.embedded as usize);
        let (rows, row_out) = (p.rows as usize, O * d + n_in);
        for j in 0..d {
            let waves = Waves::of([p.frequency, p.phase, p.weight, p.bias], w, j, columns[j], n_in);
            for first in (0..rows).step_by(LANES) {
                // Lanes past the last row do it again and store nothing.
                let here: [T; LANES] =
                    std::array::from_fn(|i| x[(first + i).min(rows - 1) * n_in + waves.column]);
                let mut v = waves.bias.map(|c| [c; LANES]);
                for h in 0..H {
                    let u = here.map(|x| (x * waves.frequency[h] + waves.phase[h]).cos_sin_turns().0);
                    for o in 0..O {
                        for i in 0..LANES {
                            v[o][i] += waves.weight[o][h] * u[i];
                        }
                    }
                }
                let y = &mut y[first * row_out..];
                for (i, y) in y.chunks_exact_mut(row_out).take(LANES).enumerate() {
                    for o in 0..O {
                        y[j * O + o] = v[o][i];
                    }
                }
            }
        }
        for (y, x) in y.chunks_exact_mut(row_out).zip(x.chunks_exact(n_in)) {
            y[O * d..].copy_from_slice(x);
        }
    }
}

pub fn periodic_backward<T: Real>(
    p: &PeriodicBackward,
    x: &[T],
    dy: &[T],
    weights: &[T],
    columns: &[T],
    grad: &mut [T],
) {
    let (row_in, row_out) = (p.n_in as usize, n_out(p.n_in, p.embedded) as usize);
    let (rows, stride) = (p.rows as usize, p.stride as usize);
    share(dy.len() * H, grad.par_chunks_mut(stride).take(p.replicas as usize).enumerate(), |(r, grad)| {
        let x = &x[r / p.share as usize * rows * row_in..][..rows * row_in];
        let dy = &dy[r * rows * row_out..][..rows * row_out];
        pull_back(p, x, dy, &weights[r * stride..][..stride], columns, grad);
    });
}

wide! {
    /// One replica's gradient. The waves of an input are the lanes, and the sums over the rows stay in registers.
    fn pull_back<T: Real>(p: &PeriodicBackward, x: &[T], dy: &[T], w: &[T], columns: &[T], grad: &mut [T]) {
        let (n_in, d) = (p.n_in as usize, p.embedded as usize);
        let row_out = O * d + n_in;
        let places = [p.frequency, p.phase, p.weight, p.bias];
        for j in 0..d {
            let waves = Waves::of(places, w, j, columns[j], n_in);
            let zeros = [T::zero(); H];
            let (mut df, mut dp, mut dw, mut dc) = (zeros, zeros, [zeros; O], [T::zero(); O]);
            for (x, dy) in x.chunks_exact(n_in).zip(dy.chunks_exact(row_out)) {
                let x = x[waves.column];
                let dv: [T; O] = std::array::from_fn(|o| dy[j * O + o]);
                for h in 0..H {
                    let (cos, sin) = (x * waves.frequency[h] + waves.phase[h]).cos_sin_turns();
                    let du =
                        dv[0] * waves.weight[0][h] + dv[1] * waves.weight[1][h] + dv[2] * waves.weight[2][h];
                    let slope = -(sin * du);
                    dp[h] += slope;
                    df[h] += x * slope;
                    for o in 0..O {
                        dw[o][h] += dv[o] * cos;
                    }
                }
                for o in 0..O {
                    dc[o] += dv[o];
                }
            }
            let [frequency, phase, weight, bias] = places.map(|at| at as usize);
            for h in 0..H {
                grad[frequency + j * H + h] = T::of(TAU) * df[h];
                grad[phase + j * H + h] = dp[h];
                for o in 0..O {
                    grad[weight + (j * O + o) * H + h] = dw[o][h];
                }
            }
            grad[bias + j * O..][..O].copy_from_slice(&dc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One number x = 0.25, frequencies h, phases 0: u_h = cos(pi h / 2) = 1, 0, -1, 0, ...
    #[test]
    fn forward_by_hand() {
        let p = PeriodicForward {
            replicas: 1,
            share: 1,
            rows: 1,
            n_in: 2,
            embedded: 1,
            frequency: 0,
            phase: 16,
            weight: 32,
            bias: 80,
            stride: 83,
        };
        let mut w = vec![0.0; 83];
        (0..16).for_each(|h| w[h] = h as f64);
        // v0 = u_0 + u_2 + u_4 = 1 - 1 + 1, v1 = u_2 + 0.5, v2 = c.
        (w[32], w[34], w[36], w[48 + 2]) = (1.0, 1.0, 1.0, 1.0);
        (w[80], w[81], w[82]) = (0.0, 0.5, -2.0);
        let mut y = [f64::NAN; 5];
        periodic_forward(&p, &[9.0, 0.25], &w, &[1.0], &mut y);
        for (y, want) in y.iter().zip([1.0, -0.5, -2.0, 9.0, 0.25]) {
            assert!((y - want).abs() < 1e-12, "{y} {want}");
        }
        // A quarter turn as phase makes minus sines of them: 0 where the cosine was 1 or -1.
        (16..32).for_each(|h| w[h] = TAU / 4.0);
        periodic_forward(&p, &[9.0, 0.25], &w, &[1.0], &mut y);
        assert!(y[0].abs() < 1e-12 && (y[1] - 0.5).abs() < 1e-12, "{y:?}");
    }
}
