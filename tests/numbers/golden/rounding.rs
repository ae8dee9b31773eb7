//! A number with a bound of its f32 error on a processor, whose functions are more accurate than WGSL asks of an adapter
//! (common/bounded.rs): each operation is rounded once, a fused one too.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use vifo::base::Real;

/// `value` in f64 and the distance of the same computation in f32: a bound on it where errors add up at their worst
/// (`Worst`), its standard deviation where roundings are taken as independent (`Likely`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounded<const SQUARES: bool> {
    pub value: f64,
    pub error: f64,
}

pub type Worst = Bounded<false>;
/// For deep chains, whose worst case grows by the absolute row sums of every layer and says nothing. Roundings are
/// independent to good accuracy (Higham & Mary, SIAM J. Sci. Comput. 41, 2019); eight standard deviations, each rounding
/// counted as a whole unit where a uniform one has 0.58, leave room for what the paths of a network share.
pub type Likely = Bounded<true>;

/// Unit roundoff of f32.
pub const U: f64 = 1.0 / 16_777_216.0;

impl<const SQUARES: bool> Bounded<SQUARES> {
    pub fn tolerance(&self) -> f64 {
        if SQUARES { 8.0 * self.error } else { self.error }
    }
    pub fn join(a: f64, b: f64) -> f64 {
        if SQUARES { a.hypot(b) } else { a + b }
    }
    /// The result of one f32 operation whose inputs move it by at most `error`: `units` roundings of what f32 sees, and
    /// two subnormals for underflow.
    pub fn after(value: f64, error: f64, units: f64) -> Self {
        Bounded { value, error: Self::join(error, units * U * (value.abs() + error) + 2f64.powi(-148)) }
    }
}
impl<const S: bool> PartialEq for Bounded<S> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl<const S: bool> PartialOrd for Bounded<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}
impl<const S: bool> Add for Bounded<S> {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Bounded::after(self.value + b.value, Self::join(self.error, b.error), 1.0)
    }
}
impl<const S: bool> Neg for Bounded<S> {
    type Output = Self;
    fn neg(self) -> Self {
        Bounded { value: -self.value, ..self }
    }
}
impl<const S: bool> Sub for Bounded<S> {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}
impl<const S: bool> Mul for Bounded<S> {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let error = Self::join(self.value.abs() * b.error, b.value.abs() * self.error) + self.error * b.error;
        Bounded::after(self.value * b.value, error, 1.0)
    }
}
impl<const S: bool> Div for Bounded<S> {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let q = self.value / b.value;
        let room = b.value.abs() - b.error;
        let error = if room > 0.0 { Self::join(self.error, q.abs() * b.error) / room } else { f64::INFINITY };
        Bounded::after(q, error, 1.0)
    }
}
macro_rules! assign {
    ($($trait:ident $method:ident $op:tt;)*) => {$(
        impl<const S: bool> $trait for Bounded<S> {
            fn $method(&mut self, b: Self) {
                *self = *self $op b;
            }
        }
    )*};
}
assign! { AddAssign add_assign +; SubAssign sub_assign -; MulAssign mul_assign *; DivAssign div_assign /; }
impl<const S: bool> Sum for Bounded<S> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Bounded::default(), |a, b| a + b)
    }
}
impl<const S: bool> Real for Bounded<S> {
    /// A golden number enters f32 with the rounding that it really suffers.
    fn of(x: f64) -> Self {
        Bounded { value: x, error: (x - x as f32 as f64).abs() }
    }
    fn f64(self) -> f64 {
        self.value
    }
    // The f32 functions are within 3 ulp of 2 units each, ln near 1 within 3 ulp of 1/2 (the test in base/real.rs).
    fn exp(self) -> Self {
        Bounded::after(self.value.exp(), self.value.exp() * self.error.exp_m1(), 6.0)
    }
    fn ln(self) -> Self {
        let room = self.value - self.error;
        let moved = match self.error == 0.0 {
            true => 0.0,
            false if room > 0.0 => self.error / room,
            false => f64::INFINITY,
        };
        Bounded::after(self.value.ln(), Self::join(moved, 3.0 * U), 6.0)
    }
    fn ln_1p_unit(self) -> Self {
        Bounded::after(self.value.ln_1p(), self.error / (1.0 + self.value - self.error), 6.0)
    }
    fn cos_sin_turns(self) -> (Self, Self) {
        let (cos, sin) = self.value.cos_sin_turns();
        let error = Self::join(std::f64::consts::TAU * self.error, 4.0 * U);
        (Bounded { value: cos, error }, Bounded { value: sin, error })
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        // |sqrt a - sqrt b| is at most |a - b| / (sqrt a + sqrt b) and at most sqrt |a - b|.
        let error = if root > 0.0 { (self.error / root).min(self.error.sqrt()) } else { self.error.sqrt() };
        Bounded::after(root, error, 1.0)
    }
    /// To nearest: the unit of 11 digits, or half of the least subnormal.
    fn to_half(self) -> Self {
        let rounding = 2f64.powi(-11) * (self.value.abs() + self.error) + 2f64.powi(-25);
        Bounded { value: self.value.to_half(), error: self.error + rounding }
    }
    fn abs(self) -> Self {
        Bounded { value: self.value.abs(), ..self }
    }
    fn fma(self, b: Self, c: Self) -> Self {
        let product = Self::join(self.value.abs() * b.error, b.value.abs() * self.error) + self.error * b.error;
        let error = Self::join(product, c.error);
        Bounded::after(self.value * b.value + c.value, error, 1.0)
    }
    fn is_finite(self) -> bool {
        self.value.is_finite()
    }
    // f32 may come down on the other side: the larger error covers both.
    fn at_least(self, low: Self) -> Self {
        let value = if self.value < low.value { low.value } else { self.value };
        Bounded { value, error: self.error.max(low.error) }
    }
    fn at_most(self, high: Self) -> Self {
        let value = if self.value > high.value { high.value } else { self.value };
        Bounded { value, error: self.error.max(high.error) }
    }
}

// ---- reading ----

/// The running bound covers what f32 really loses, and by no more than the worst case of a sum: n^2 u / 2 in its terms.
#[test]
fn the_bound_holds_the_f32_error() {
    fn series<T: Real>() -> T {
        let mut sum = T::zero();
        for i in 1..=200 {
            let x = T::of(0.37 * i as f64);
            sum += (x.exp().ln() - x.sqrt() * x.sqrt() + T::one() / x).softplus();
        }
        sum
    }
    let (exact, single, bound) = (series::<f64>(), series::<f32>() as f64, series::<Worst>());
    assert_eq!(bound.value, exact);
    assert!((single - exact).abs() <= bound.error, "{single} {exact} {bound:?}");
    assert!((single - exact).abs() > 0.0 && bound.error < 200.0 * 200.0 * U * exact, "{bound:?}");
}
