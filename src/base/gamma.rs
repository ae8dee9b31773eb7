//! The gamma function's logarithm and its derivatives for x >= 1, in any scalar: upward by recurrence to `FAR`, where the
//! asymptotic series (Abramowitz & Stegun 6.1.40, 6.3.18, 6.4.12) have seven terms and an error below 3e-15. The shaders
//! (`shaders/common/gamma.wgsl`) take as many terms as f32 can see.

use super::Real;

/// log(2 pi): a constant, for a call of the logarithm would keep loops over rows from becoming vector code.
pub const LN_TAU: f64 = 1.837_877_066_409_345_3;

/// From here on the series are used.
const FAR: f64 = 8.0;

/// a0 + a1 y + a2 y^2 + ...
#[inline(always)]
fn series<T: Real>(a: &[f64], y: T) -> T {
    let mut sum = T::zero();
    for a in a.iter().rev() {
        sum = sum * y + T::of(*a);
    }
    sum
}

/// log Gamma(x), x >= 1.
#[inline(always)]
pub fn ln_gamma<T: Real>(x: T) -> T {
    // Gamma(x) = Gamma(x + n) / (x (x + 1) ... (x + n - 1)), a product below 8!.
    let (mut x, mut product) = (x, T::one());
    while x < T::of(FAR) {
        product *= x;
        x += T::one();
    }
    let r = T::one() / x;
    let tail = series(
        &[1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0],
        r * r,
    );
    let half_log_tau = T::of(0.5 * LN_TAU);
    (x - T::of(0.5)) * x.ln() - x + half_log_tau + r * tail - product.ln()
}

/// digamma(x) = d log Gamma / dx, x >= 1.
#[inline(always)]
pub fn digamma<T: Real>(x: T) -> T {
    let (mut x, mut sum) = (x, T::zero());
    while x < T::of(FAR) {
        sum += T::one() / x;
        x += T::one();
    }
    let r = T::one() / x;
    let y = r * r;
    let tail =
        series(&[1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0], y);
    x.ln() - T::of(0.5) * r - y * tail - sum
}

/// trigamma(x) = d digamma / dx, x >= 1.
#[inline(always)]
pub fn trigamma<T: Real>(x: T) -> T {
    let (mut x, mut sum) = (x, T::zero());
    while x < T::of(FAR) {
        let r = T::one() / x;
        sum += r * r;
        x += T::one();
    }
    let r = T::one() / x;
    let y = r * r;
    let tail = series(&[1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0], y);
    sum + r + T::of(0.5) * y + r * y * tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_is_the_logarithm() {
        assert_eq!(LN_TAU, libm::log(std::f64::consts::TAU));
    }

    /// 1 - 1/2 - ... of Euler's constant, pi^2 / 6 less squares, and logs of factorials.
    #[test]
    fn whole_numbers_by_hand() {
        let euler = 0.577_215_664_901_532_9;
        let (mut harmonic, mut squares, mut factorial) = (0.0, 0.0, 0.0f64);
        for n in 1..40 {
            let x = n as f64;
            assert!((digamma(x) - (harmonic - euler)).abs() < 1e-13, "digamma {n}");
            let want = std::f64::consts::PI.powi(2) / 6.0 - squares;
            assert!((trigamma(x) - want).abs() < 1e-13, "trigamma {n}");
            assert!((ln_gamma(x) - factorial).abs() < 1e-13 * (1.0 + factorial), "ln_gamma {n}");
            harmonic += 1.0 / x;
            squares += 1.0 / (x * x);
            factorial += x.ln();
        }
    }

    /// Against another implementation, and each against the slope of the one before it, over five orders of magnitude.
    #[test]
    fn they_are_each_others_slopes() {
        for i in 0..600 {
            let x = 1.1 * 1.02f64.powi(i);
            assert!((ln_gamma(x) - libm::lgamma(x)).abs() < 1e-13 * (1.0 + libm::lgamma(x).abs()), "{x}");
            // Five points: h^4/30 f''''' + 1.5 eps f / h, with h a hundredth of x.
            let h = 0.002 * x;
            let slope =
                |f: &dyn Fn(f64) -> f64| (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h);
            let close = |a: f64, b: f64, what: &str| {
                assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{what} {x}: {a} {b}");
            };
            close(digamma(x), slope(&|x| ln_gamma(x)), "digamma");
            close(trigamma(x), slope(&|x| digamma(x)), "trigamma");
        }
    }

    /// f32 within what its own roundings allow: a few units of the largest number on the way, 13 for log Gamma(8 + 1) and
    /// 2.6 for the sum of reciprocals.
    #[test]
    fn f32_loses_a_few_units() {
        let u = 6e-8;
        for i in 0..2000 {
            let x = 1.0 + 0.01 * i as f32;
            let (double, size) = (x as f64, 1.0 + x as f64 * (x as f64).ln());
            assert!((ln_gamma(x) as f64 - ln_gamma(double)).abs() < 4.0 * u * (13.0 + size), "ln_gamma {x}");
            assert!((digamma(x) as f64 - digamma(double)).abs() < 8.0 * u * 2.6, "digamma {x}");
            assert!((trigamma(x) as f64 - trigamma(double)).abs() < 8.0 * u * trigamma(double), "trigamma {x}");
        }
    }
}
