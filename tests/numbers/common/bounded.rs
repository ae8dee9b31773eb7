//! A number with a bound of its rounding error: the reference kernels, run on it, derive the tolerance of every output by themselves
//! (Wilkinson's running error analysis). The value is kept in f64; the bound is what f32 arithmetic may make of it with
//! the accuracies that WGSL promises, u = 2^-24 being half an ulp of 1 and an ulp at most 2u of its value:
//!   + - *          correctly rounded: u
//!   /              2.5 ulp: 5u
//!   sqrt           as 1 / inverseSqrt, 2 + 2.5 ulp: 9u
//!   exp x          3 + 2|x| ulp: (6 + 4|x|) u
//!   log x          3 ulp: 6u, or 2^-21 absolute for x in [0.5, 2]
//!   log(1 + x)     `log1p_unit` of shaders/common/math.wgsl: a quotient (5u) and five roundings: 10u
//!   cos, sin       `cos_sin_of_turns` there: the fold (u / 4, times 2 pi), the polynomial's sum, of whose terms 6.3 and 2.6 are the
//!                  largest (3u of a slope of 2 pi / 4), its product and what it misses: 8u absolute
//!   store in f16   to either neighbour: 2^-10 of the number; below 2^-14 it may be flushed to zero
//! A sum keeps the size of its terms, so that the bound holds for another order of summation of the same depth: n terms
//! added one by one get (n - 1) u sum|terms| within a factor of two, which `slack` covers.
//! Branches follow the value: inputs must keep away from kinks by more than their error.

use std::cell::Cell;
use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use vifo::base::Real;

pub const U: f64 = 1.0 / 16_777_216.0;
/// The least normal number: below it an adapter may flush to zero.
const TINY: f64 = 1.2e-38;

/// What a store in 16 bits may change relatively: a card may round to either neighbour, which lies 2^-10 of the number away
/// at most. Below the least normal half it may also flush to zero.
const HALF_ULP: f64 = 1.0 / 1024.0;
const LEAST_HALF: f64 = 1.0 / 16_384.0;

/// For the order of summation (above) and for products of two errors.
pub const SLACK: f64 = 2.0;

/// What overflows f32 is infinite here too.
fn f32_range(x: f64) -> f64 {
    if x.abs() > f32::MAX as f64 { x.signum() * f64::INFINITY } else { x }
}

thread_local! {
    static DRAWN: Cell<(f64, f64)> = const { Cell::new((0.0, 0.0)) };
}

/// Error (relative, absolute) of the numbers that a reference kernel takes from f32 code of its own through `Real::of`. Multiples of
/// one half stay exact: they are constants and counts.
pub fn drawn_error(relative: f64, absolute: f64) {
    DRAWN.set((relative, absolute));
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Bounded {
    pub value: f64,
    pub error: f64,
    size: f64,
}

impl Bounded {
    pub fn exact(value: f32) -> Self {
        Bounded::new(value as f64, 0.0)
    }
    fn new(value: f64, error: f64) -> Self {
        Bounded { value, error, size: value.abs() }
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl PartialOrd for Bounded {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}
impl Add for Bounded {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        // Adding nothing rounds nothing: accumulators start at zero.
        if self.size == 0.0 && self.error == 0.0 {
            return o;
        }
        if o.size == 0.0 && o.error == 0.0 {
            return self;
        }
        let size = self.size + o.size;
        Bounded { value: f32_range(self.value + o.value), error: self.error + o.error + U * size, size }
    }
}
impl Neg for Bounded {
    type Output = Self;
    fn neg(self) -> Self {
        Bounded { value: -self.value, ..self }
    }
}
impl Sub for Bounded {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        self + -o
    }
}
impl Mul for Bounded {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        let value = f32_range(self.value * o.value);
        let error = self.value.abs() * o.error + o.value.abs() * self.error + self.error * o.error;
        let rounding = if self.value.abs() == 1.0 || o.value.abs() == 1.0 { 0.0 } else { U * value.abs() + TINY };
        Bounded { value, error: error + rounding, size: self.size * o.size }
    }
}
impl Div for Bounded {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let value = f32_range(self.value / o.value);
        let least = o.value.abs() - o.error;
        let error = if least > 0.0 { (self.error + value.abs() * o.error) / least } else { f64::INFINITY };
        let rounding = if o.value.abs() == 1.0 { 0.0 } else { 5.0 * U * value.abs() + TINY };
        Bounded { value, error: error + rounding, size: self.size / o.value.abs() }
    }
}
macro_rules! assign {
    ($($trait:ident $method:ident $op:tt),*) => {$(
        impl $trait for Bounded {
            fn $method(&mut self, o: Self) {
                *self = *self $op o;
            }
        }
    )*};
}
assign!(AddAssign add_assign +, SubAssign sub_assign -, MulAssign mul_assign *, DivAssign div_assign /);
impl Sum for Bounded {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Bounded::default(), |a, b| a + b)
    }
}

impl Real for Bounded {
    fn of(x: f64) -> Self {
        let (relative, absolute) = DRAWN.get();
        let rounding = if x as f32 as f64 == x || x.is_nan() { 0.0 } else { U * x.abs() };
        let drawn = if (2.0 * x).fract() == 0.0 { 0.0 } else { relative * x.abs() + absolute };
        Bounded::new(x, rounding + drawn)
    }
    fn f64(self) -> f64 {
        self.value
    }
    fn exp(self) -> Self {
        let value = f32_range(self.value.exp());
        Bounded::new(value, value * self.error.exp_m1() + (6.0 + 4.0 * self.value.abs()) * U * value + TINY)
    }
    fn ln(self) -> Self {
        let value = self.value.ln();
        let rounding = if (0.5..=2.0).contains(&self.value) { 2f64.powi(-21) } else { 6.0 * U * value.abs() };
        let least = self.value - self.error;
        Bounded::new(value, rounding + if least > 0.0 { self.error / least } else { f64::INFINITY })
    }
    fn ln_1p_unit(self) -> Self {
        let value = self.value.ln_1p();
        Bounded::new(value, self.error / (1.0 + self.value - self.error) + 10.0 * U * value.abs() + TINY)
    }
    fn cos_sin_turns(self) -> (Self, Self) {
        let (cos, sin) = self.value.cos_sin_turns();
        let error = std::f64::consts::TAU * self.error + 8.0 * U;
        (Bounded::new(cos, error), Bounded::new(sin, error))
    }
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        let carried = if value > 0.0 { (self.error / value).min(self.error.sqrt()) } else { self.error.sqrt() };
        Bounded::new(value, carried + 9.0 * U * value)
    }
    fn abs(self) -> Self {
        Bounded { value: self.value.abs(), ..self }
    }
    fn to_half(self) -> Self {
        let (most, least) = (self.value.abs() + self.error, self.value.abs() - self.error);
        let flushed = if least < LEAST_HALF { most.min(LEAST_HALF) } else { 0.0 };
        let overflows = if most > 65_504.0 && self.value.abs() <= 65_504.0 { f64::INFINITY } else { 0.0 };
        let value = if self.value.abs() > 65_504.0 { self.value.to_half() } else { self.value };
        Bounded::new(value, self.error + (HALF_ULP * most).max(flushed) + overflows)
    }
    fn fma(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    fn is_finite(self) -> bool {
        self.value.is_finite()
    }
}

/// A sum of products gets about n u sum|terms| / 2, and f32 stays within it.
#[test]
fn a_dot_product_gets_its_textbook_bound() {
    let n = 200;
    let (mut sum, mut plain, mut terms) = (Bounded::default(), 0f32, 0.0);
    for i in 0..n {
        let (a, b) = ((i as f32 * 0.37).sin(), (i as f32 * 0.11).cos());
        sum += Bounded::exact(a) * Bounded::exact(b);
        plain += a * b;
        terms += (a * b).abs() as f64;
    }
    let textbook = n as f64 * U * terms;
    assert!(sum.error > 0.3 * textbook && sum.error < 0.7 * textbook, "{} {textbook}", sum.error);
    let difference = (plain as f64 - sum.value).abs();
    assert!(difference > 0.0 && difference < sum.error);
}

/// The bound notices cancellation: 1 + x - 1 is no better known than 1.
#[test]
fn cancellation_keeps_its_error() {
    let one = Bounded::exact(1.0);
    let x = (one + Bounded::exact(1e-6)) - one;
    assert!((x.value - 1e-6).abs() < 1e-12 && x.error > U && x.error < 4.0 * U);
}
