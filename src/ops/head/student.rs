//! Student's t as the noise of a regression (MATH.md section 1): for targets with outliers, of which each pulls by a bounded
//! force. Its expectation under VIFO has no closed form and is a quadrature (section 2).

use super::expectation::{Block, ROWS};
use super::{Grid, Lengths, NOISE_EXP, NOISE_SOFTPLUS, OpSpec, StepArgs, binds, head_lengths, noise_variance, params};
use super::{regression_rows, shared};
use crate::base::Real;
use crate::base::gamma::ln_gamma;

params! {
    /// As `GaussianHead`; z [R, rows, 2] = (location, squared scale before the noise link).
    StudentHead {
        replicas: u32,
        rows: u32,
        share: u32,
        noise_link: u32,
        /// Degrees of freedom, above 0.
        nu: f32,
        /// What -log p has beside location and scale: [`Student::constant_of`].
        constant: f32,
    }
}

impl OpSpec for StudentHead {
    binds!(student_head(step): [z, targets] -> [terms, dz]);
    fn grid(&self) -> Grid {
        Grid::Threads(self.replicas as u64 * self.rows as u64)
    }
    fn lengths(&self) -> Lengths {
        head_lengths(self.replicas, self.share, self.rows, 2)
    }
    fn sizes_agree(&self) -> bool {
        shared(self.replicas, self.share) && self.nu > 0.0
    }
}

/// The numbers of a Student-t that are the same for all rows.
#[derive(Debug, Clone, Copy)]
pub struct Student<T> {
    nu: T,
    constant: T,
}

impl<T: Real> Student<T> {
    #[inline(always)]
    pub fn new(nu: f32, constant: f32) -> Student<T> {
        Student { nu: T::of(f64::from(nu)), constant: T::of(f64::from(constant)) }
    }
}

impl Student<f64> {
    /// log Gamma(nu/2) - log Gamma((nu + 1)/2) + 1/2 log(pi nu), nats; nu >= 2.
    pub fn constant_of(nu: f64) -> f64 {
        ln_gamma(0.5 * nu) - ln_gamma(0.5 * (nu + 1.0)) + 0.5 * libm::log(std::f64::consts::PI * nu)
    }
}

/// -log t_nu(y | location m, squared scale g(l)) and its gradient (dm, dl).
#[inline(always)]
pub fn student_loss<T: Real>(link: u32, t: Student<T>, m: T, l: T, y: T) -> (T, T, T) {
    let (half, one) = (T::of(0.5), T::one());
    let (g, slope) = noise_variance(link, l);
    // As in `gaussian_loss`.
    let log_g = if link == NOISE_EXP { l.at_least(T::of(-10.0)).at_most(T::of(10.0)) } else { g.ln() };
    let e = y - m;
    let far = one + e * e / (t.nu * g);
    // A residual counts as in a Gaussian of this precision.
    let precision = (t.nu + one) / (t.nu * g * far);
    let value = half * ((t.nu + one) * far.ln() + log_g) + t.constant;
    (value, -precision * e, half * (one - precision * e * e) / g * slope)
}

#[inline(always)]
pub fn student_head<T: Real>(
    p: &StudentHead,
    args: &StepArgs<T>,
    z: &[T],
    targets: &[T],
    terms: &mut [T],
    dz: &mut [T],
) {
    let sizes = (p.replicas as usize, p.rows as usize, p.share as usize);
    let t = Student::new(p.nu, p.constant);
    if p.noise_link == NOISE_EXP {
        regression_rows(sizes, args, z, targets, terms, dz, |m, l, y| student_loss(NOISE_EXP, t, m, l, y));
    } else {
        regression_rows(sizes, args, z, targets, terms, dz, |m, l, y| student_loss(NOISE_SOFTPLUS, t, m, l, y));
    }
}

/// Nodes and weights of Gauss-Hermite quadrature for a standard normal, nine points (exact to degree 17).
pub const HERMITE_9: [(f64, f64); 9] = [
    (-4.512745863399783, 2.234584400774658e-5),
    (-3.20542900285647, 2.789141321231769e-3),
    (-2.07684797867783, 4.991640676521787e-2),
    (-1.023255663789133, 2.440975028949394e-1),
    (0.0, 4.063492063492064e-1),
    (1.023255663789133, 2.440975028949394e-1),
    (2.07684797867783, 4.991640676521787e-2),
    (3.20542900285647, 2.789141321231769e-3),
    (4.512745863399783, 2.234584400774658e-5),
];
/// Exact to degree 9.
pub const HERMITE_5: [(f64, f64); 5] = [
    (-2.856_970_013_872_805_6, 0.011_257_411_327_720_69),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_63),
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_63),
    (2.856_970_013_872_805_6, 0.011_257_411_327_720_69),
];

/// The expected -log p of the rows of `block` and its gradient: nine nodes in the location, in which log t has branch points
/// at y +- i sqrt(nu g), five in l, in which they are pi away. Errors for nu from 2.5 to 30: `tests/golden/student.py`.
#[inline(always)]
pub fn student_expectation<T: Real>(link: u32, t: Student<T>, block: &mut Block<T>, scale: T) {
    for (a, weight_a) in HERMITE_9 {
        for (b, weight_b) in HERMITE_5 {
            let (a, b, weight) = (T::of(a), T::of(b), T::of(weight_a * weight_b));
            let share = scale * weight;
            for i in 0..ROWS {
                let (m, l) = (block.mu[0][i] + block.sd[0][i] * a, block.mu[1][i] + block.sd[1][i] * b);
                let (loss, dm, dl) = student_loss(link, t, m, l, block.y[i]);
                block.loss[i] += weight * loss;
                block.dmu[0][i] += share * dm;
                block.dmu[1][i] += share * dl;
                block.dsd[0][i] += share * dm * a;
                block.dsd[1][i] += share * dl * b;
            }
        }
    }
}
