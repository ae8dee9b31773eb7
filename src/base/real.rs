//! The scalar of every CPU twin: f32 for training, f64 where finite differences and golden numbers need the digits.

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
    fn ln_1p(self) -> Self;
    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn is_finite(self) -> bool;

    fn zero() -> Self {
        Self::default()
    }
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
    /// log(1 + e^x) without overflow.
    #[inline(always)]
    fn softplus(self) -> Self {
        self.at_least(Self::zero()) + (-self.abs()).exp().ln_1p()
    }
    /// 1 / (1 + e^-x) without overflow.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let e = (-self.abs()).exp();
        let small = e / (Self::one() + e);
        if self >= Self::zero() { Self::one() - small } else { small }
    }
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {
            #[inline(always)]
            fn of(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn exp(self) -> Self {
                <$t>::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                <$t>::ln(self)
            }
            #[inline(always)]
            fn ln_1p(self) -> Self {
                <$t>::ln_1p(self)
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
        }
    };
}
real!(f32);
real!(f64);

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

    #[test]
    fn at_least_keeps_nan() {
        assert!(f32::NAN.at_least(0.0).is_nan());
        assert!(f64::NAN.at_most(0.0).is_nan());
    }
}
