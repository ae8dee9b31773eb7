//! The scalar of every CPU kernel: f32 for training, f64 where finite differences and golden numbers need the digits.

use half::f16;
use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    fn of(x: f64) -> Self;
    fn f64(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    /// log(1 + x) for x in [0, 1].
    fn ln_1p_unit(self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn is_finite(self) -> bool;
    /// (cos, sin) of x turns, 2 pi x.
    fn cos_sin_turns(self) -> (Self, Self);
    /// The same numbers where they are of this type already, so that nobody need copy them.
    fn these(numbers: &[f32]) -> Option<&[Self]> {
        let _ = numbers;
        None
    }

    /// The nearest number of 16 bits, even of two; beyond the largest, 65,504, infinity.
    fn to_half(self) -> Self;

    #[inline(always)]
    fn zero() -> Self {
        Self::default()
    }
    #[inline(always)]
    fn one() -> Self {
        Self::of(1.0)
    }
    /// Unlike `f64::max`, keeps a NaN on the left: a poisoned value must stay visible.
    #[inline(always)]
    fn at_least(self, low: Self) -> Self {
        if self < low { low } else { self }
    }
    #[inline(always)]
    fn at_most(self, high: Self) -> Self {
        if self > high { high } else { self }
    }
    /// A NaN on either side is kept.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        #[expect(clippy::eq_op, reason = "true of a NaN alone")]
        let is_nan = other != other;
        if is_nan { other } else { self.at_least(other) }
    }
    /// log(1 + e^x) without overflow.
    #[inline(always)]
    fn softplus(self) -> Self {
        self.at_least(Self::zero()) + (-self.abs()).exp().ln_1p_unit()
    }
    /// 1 / (1 + e^-x) without overflow.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp();
        let small = e / (Self::one() + e);
        if self >= Self::zero() { Self::one() - small } else { small }
    }
}

/// The functions that both scalars take from the standard library.
macro_rules! common {
    ($t:ty) => {
        #[inline(always)]
        fn of(x: f64) -> Self {
            x as $t
        }
        #[inline(always)]
        fn f64(self) -> f64 {
            self as f64
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            <$t>::sqrt(self)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            <$t>::abs(self)
        }
        #[inline(always)]
        fn fma(self, b: Self, c: Self) -> Self {
            self.mul_add(b, c)
        }
        #[inline(always)]
        fn is_finite(self) -> bool {
            <$t>::is_finite(self)
        }
    };
}

/// The largest number of 16 bits. A card may round what lies between it and the next power of two either way, so all of that is
/// infinite, and seen.
const LARGEST_HALF: f32 = 65_504.0;

impl Real for f64 {
    common!(f64);
    #[inline(always)]
    fn to_half(self) -> Self {
        let is_large = self.abs() > f64::from(LARGEST_HALF);
        if is_large { self.signum() * f64::INFINITY } else { f16::from_f64(self).to_f64() }
    }
    #[inline(always)]
    fn exp(self) -> Self {
        libm::exp(self)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        libm::log(self)
    }
    #[inline(always)]
    fn ln_1p_unit(self) -> Self {
        libm::log1p(self)
    }
    #[inline(always)]
    fn cos_sin_turns(self) -> (Self, Self) {
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * (self - self.round_ties_even()));
        (cos, sin)
    }
}

/// sin(2 pi y) / y as a polynomial of y^2 for y in [0, 1/4]: it misses the sine by less than 4e-9.
#[allow(clippy::approx_constant)] // The first is fitted with the others, and not 2 pi.
const SINE: [f32; 5] = [6.283_185, -41.341_656, 81.601_006, -76.549_78, 39.536_705];

/// sin(2 pi y) for y in [-1/4, 1/4].
#[inline(always)]
fn sine_quarter(y: f32) -> f32 {
    let z = y * y;
    y * (SINE[0] + z * (SINE[1] + z * (SINE[2] + z * (SINE[3] + z * SINE[4]))))
}

/// log 2 in two parts, the first with so few bits that a whole number times it is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Written out, because a call to the library's exp or ln keeps a loop from becoming vector code: over the 10,504 weights
/// of the toy that is most of the time of a VI step. Errors stay below 3 ulp (test below).
impl Real for f32 {
    common!(f32);
    #[inline(always)]
    fn these(numbers: &[f32]) -> Option<&[f32]> {
        Some(numbers)
    }
    // By its bits: a library's conversion there and back is a call for each number.
    #[inline(always)]
    fn to_half(self) -> Self {
        let (size, bits) = (self.abs(), self.to_bits() & 0x7FFF_FFFF);
        // Halves have 13 digits fewer, and below 2^-14 those of 2^-24, which is an ulp of 1/2.
        let rounded = f32::from_bits((bits + 0x0FFF + ((bits >> 13) & 1)) & !0x1FFF);
        let rounded = if size < 6.103_515_6e-5 { size + 0.5 - 0.5 } else { rounded };
        let rounded = if size > LARGEST_HALF { f32::INFINITY } else { rounded };
        if self.is_nan() { self } else { rounded.copysign(self) }
    }
    #[inline(always)]
    fn exp(self) -> Self {
        // 1.5 * 2^23: adding it rounds to a whole number, which then stands in the low bits.
        const MAGIC: f32 = 12_582_912.0;
        let x = self.at_least(-104.0).at_most(89.0);
        let t = x * std::f32::consts::LOG2_E + MAGIC;
        let n = t - MAGIC;
        let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
        let p = 1.0
            + r * (1.0
                + r * (0.5 + r * (0.166_666_55 + r * (4.166_579_6e-2 + r * (8.333_452e-3 + r * 1.398_199_9e-3)))));
        // 2^n in two halves, so that neither leaves the range of exponents.
        let n = (t.to_bits() as i32).wrapping_sub(0x4B40_0000);
        let half = n >> 1;
        let power = |e: i32| f32::from_bits(((e + 127) << 23) as u32);
        p * power(half) * power(n - half)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        let bits = self.to_bits().wrapping_sub(0x3F35_04F3); // sqrt(1/2): mantissa in [0.707, 1.414)
        let e = (bits as i32) >> 23;
        let m = f32::from_bits((bits & 0x007F_FFFF).wrapping_add(0x3F35_04F3));
        let s = (m - 1.0) / (m + 1.0);
        let s2 = s * s;
        let series = s * (2.0 + s2 * (2.0 / 3.0 + s2 * (0.4 + s2 * (2.0 / 7.0 + s2 * (2.0 / 9.0)))));
        let e = e as f32;
        let value = e * LN_2_HIGH + (series + e * LN_2_LOW);
        // Zero, negative numbers, infinity and NaN are not in the reach of the bits.
        if self > 0.0 && self < f32::INFINITY {
            value
        } else if self == 0.0 {
            f32::NEG_INFINITY
        } else if self > 0.0 {
            f32::INFINITY
        } else {
            f32::NAN
        }
    }
    #[inline(always)]
    fn ln_1p_unit(self) -> Self {
        // 2 atanh(u), u = x / (2 + x) <= 1/3: the first term left out is below 1e-8 of the sum.
        let u = self / (2.0 + self);
        let u2 = u * u;
        let tail =
            u2 * (1.0 / 3.0 + u2 * (0.2 + u2 * (1.0 / 7.0 + u2 * (1.0 / 9.0 + u2 * (1.0 / 11.0 + u2 * (1.0 / 13.0))))));
        2.0 * u * (1.0 + tail)
    }
    #[inline(always)]
    fn cos_sin_turns(self) -> (Self, Self) {
        // Whole turns fall away without rounding; both functions are folded onto the first quarter.
        let r = self - self.round_ties_even();
        let from_quarter = 0.25 - r.abs();
        let sin = sine_quarter(0.25 - from_quarter.abs());
        (sine_quarter(from_quarter), if r < 0.0 { -sin } else { sin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softplus_and_sigmoid_do_not_overflow() {
        assert_eq!(Real::softplus(1000.0f32), 1000.0);
        assert_eq!(Real::softplus(-1000.0f32), 0.0);
        assert!((Real::softplus(0.0f64) - std::f64::consts::LN_2).abs() < 1e-15);
        assert_eq!(Real::sigmoid(-1000.0f64), 0.0);
        assert_eq!(Real::sigmoid(1000.0f64), 1.0);
        // sigmoid is the derivative of softplus.
        for x in [-3.0f64, -0.1, 0.4, 5.0] {
            let h = 1e-6;
            let d = (Real::softplus(x + h) - Real::softplus(x - h)) / (2.0 * h);
            assert!((d - Real::sigmoid(x)).abs() < 1e-9);
        }
    }

    /// Against f64 over the whole range: at most 3 ulp (2^-23 relative each), and 3 ulp of 1 for logarithms near 1.
    #[test]
    fn f32_functions_are_accurate_and_keep_the_edges() {
        for i in 0..200_000 {
            let x = -87.0 + 175.0 * i as f32 / 200_000.0;
            let want = (x as f64).exp();
            assert!((Real::exp(x) as f64 - want).abs() <= 3.0 * 1.2e-7 * want, "exp {x}");
            let y = Real::exp(x * 0.9);
            assert!(
                (Real::ln(y) as f64 - (y as f64).ln()).abs() <= 3.0 * 1.2e-7 * (y as f64).ln().abs().max(0.5),
                "ln {y}"
            );
            let u = i as f32 / 200_000.0;
            assert!(
                (u.ln_1p_unit() as f64 - (u as f64).ln_1p()).abs() <= 3.0 * 1.2e-7 * (u as f64).ln_1p(),
                "ln_1p {u}"
            );
        }
        assert_eq!((Real::exp(200.0f32), Real::exp(-200.0f32), Real::exp(0.0f32)), (f32::INFINITY, 0.0, 1.0));
        assert_eq!(
            (Real::ln(0.0f32), Real::ln(1.0f32), Real::ln(f32::INFINITY)),
            (f32::NEG_INFINITY, 0.0, f32::INFINITY)
        );
        assert!(Real::exp(f32::NAN).is_nan() && Real::ln(f32::NAN).is_nan() && Real::ln(-1.0f32).is_nan());
    }

    /// At most 4 u = 2.4e-7 from the exact value, and exact at whole turns, however many.
    #[test]
    fn f32_cosines_are_accurate_and_keep_nan() {
        for i in 0..400_000 {
            let t = (i as f32 - 200_000.0) * 1.234_567e-4;
            let (cos, sin) = t.cos_sin_turns();
            let (want_cos, want_sin) = f64::from(t).cos_sin_turns();
            assert!((f64::from(cos) - want_cos).abs() < 2.4e-7, "cos {t}");
            assert!((f64::from(sin) - want_sin).abs() < 2.4e-7, "sin {t}");
            let exact = std::f64::consts::TAU * f64::from(t);
            assert!((want_cos - exact.cos()).abs() < 1e-13 && (want_sin - exact.sin()).abs() < 1e-13, "{t}");
        }
        for whole in [0.0f32, -3.0, 1e9, -3e38] {
            let (cos, sin) = whole.cos_sin_turns();
            assert!((cos - 1.0).abs() < 1.2e-7 && sin == 0.0, "{whole}");
        }
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (cos, sin) = bad.cos_sin_turns();
            assert!(cos.is_nan() && sin.is_nan(), "{bad}");
        }
    }

    /// Each number of 16 bits stays, halves between two go to the even one, and what is too large is infinite, not the largest.
    #[test]
    fn halves_are_the_nearest_of_16_bits() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits).to_f32();
            let (kept, of_f64) = (x.to_half(), f64::from(x).to_half());
            assert!(x.is_nan() && kept.is_nan() && of_f64.is_nan() || kept == x && of_f64 == f64::from(x), "{x}");
            let next = f16::from_bits(bits.wrapping_add(1)).to_f32();
            if x.is_finite() && next.is_finite() && bits & 1 == 0 {
                assert_eq!(((x + next) / 2.0).to_half(), x, "half way to {next}");
            }
        }
        // As the library has it, over all sizes.
        for i in 0..2_000_000u32 {
            let x = f32::from_bits(0x3000_0000 + i.wrapping_mul(2_654_435_761) % 0x1800_0000);
            let (want, got) = (f16::from_f32(x).to_f32(), x.to_half());
            assert!(got == want || x > LARGEST_HALF && got == f32::INFINITY, "{x}: {got}, not {want}");
            assert_eq!((-x).to_half(), -got);
        }
        assert_eq!((1.0f32 + 3.0 / 4096.0).to_half(), 1.0 + 1.0 / 1024.0);
        assert_eq!((65_504.1f32.to_half(), (-7e4f64).to_half()), (f32::INFINITY, f64::NEG_INFINITY));
        assert_eq!((1e-8f32.to_half(), 4e-8f64.to_half()), (0.0, 2f64.powi(-24)));
    }

    #[test]
    fn at_least_keeps_nan() {
        assert!(f32::NAN.at_least(0.0).is_nan());
        assert!(f64::NAN.at_most(0.0).is_nan());
        assert!(f32::NAN.larger(0.0).is_nan() && 0f32.larger(f32::NAN).is_nan());
        assert_eq!((1f32.larger(2.0), 2f32.larger(1.0)), (2.0, 2.0));
    }
}
