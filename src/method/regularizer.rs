//! The regularizers, with their prior's parameters and constants (MATH.md section 3).

use super::{Knob, KnobValue, ModelSpec};
use crate::ops::Op;
use crate::ops::optimizer::L2Gradient;
use crate::ops::reduce::SumSquares;
use crate::ops::regularizer as op;
use crate::ops::step::Prior;
use crate::program::{Buf, Builder, Role};
use crate::recipe::{PriorKeys, Recipe, key};
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reg {
    Naive,
    Mean,
    Mv,
    Eb,
    MeanAll,
    MvAll,
    EbAll,
    /// On the weights, none on the outputs.
    L2,
}

/// prior.alpha and prior.beta where a recipe leaves them out.
const MV_ALPHA: f64 = 0.5;
const MV_BETA: f64 = 0.01;
const EB_ALPHA: f64 = 4.4798;
const EB_BETA: f64 = 10.0;

impl Reg {
    /// The recipe keys that it alone reads.
    pub fn keys(self) -> Vec<&'static str> {
        match self {
            Reg::Naive => vec![key!(prior.variance).path],
            Reg::Mean | Reg::MeanAll => vec![key!(prior.gamma).path, key!(prior.a).path],
            Reg::Mv | Reg::MvAll => vec![key!(prior.alpha).path, key!(prior.beta).path, key!(prior.d).path],
            Reg::Eb | Reg::EbAll => vec![key!(prior.alpha).path, key!(prior.beta).path],
            Reg::L2 => vec![],
        }
    }

    /// Sliders of its prior; `variance` is prior.variance with what the method takes for it.
    pub fn knobs(self, variance: fn(&mut Recipe) -> KnobValue<'_>) -> Vec<Knob> {
        match self {
            Reg::Naive => vec![Knob::new(key!(prior.variance).path, variance)],
            Reg::Mean | Reg::MeanAll => vec![
                Knob::new(key!(prior.gamma).path, |r| KnobValue::Given(&mut r.prior.gamma)),
                Knob::new(key!(prior.a).path, |r| KnobValue::Given(&mut r.prior.a)),
            ],
            Reg::Mv | Reg::MvAll => vec![
                Knob::new(key!(prior.alpha).path, |r| KnobValue::Optional(&mut r.prior.alpha, MV_ALPHA)),
                Knob::new(key!(prior.beta).path, |r| KnobValue::Optional(&mut r.prior.beta, MV_BETA)),
            ],
            Reg::Eb | Reg::EbAll => vec![
                Knob::new(key!(prior.alpha).path, |r| KnobValue::Optional(&mut r.prior.alpha, EB_ALPHA)),
                Knob::new(key!(prior.beta).path, |r| KnobValue::Optional(&mut r.prior.beta, EB_BETA)),
            ],
            Reg::L2 => vec![],
        }
    }

    /// The code that head and shader know.
    pub fn code(self) -> u32 {
        match self {
            Reg::Naive => op::REG_NAIVE,
            Reg::Mean => op::REG_MEAN,
            Reg::Mv => op::REG_MV,
            Reg::Eb => op::REG_EB,
            Reg::MeanAll => op::REG_MEAN_ALL,
            Reg::MvAll => op::REG_MV_ALL,
            Reg::EbAll => op::REG_EB_ALL,
            Reg::L2 => op::REG_NONE,
        }
    }

    /// Parameters and the additive constant per dimension. `variance` is what naive takes when the recipe is silent.
    pub fn prior(self, keys: &PriorKeys, variance: f64) -> Prior<f64> {
        match self {
            Reg::Naive => {
                let v = keys.variance.unwrap_or(variance);
                Prior { p0: v, p1: 0.0, p2: 0.0, constant: 0.5 * (libm::log(v) - 1.0) }
            }
            Reg::Mean | Reg::MeanAll => {
                // gamma + alpha = gamma / a.
                Prior { p0: keys.gamma, p1: keys.a, p2: 0.0, constant: 0.5 * libm::log(keys.gamma / keys.a) - 0.5 }
            }
            Reg::Mv | Reg::MvAll => {
                let (alpha, beta) = (keys.alpha.unwrap_or(MV_ALPHA), keys.beta.unwrap_or(MV_BETA));
                let c = libm::lgamma(alpha)
                    - libm::lgamma(alpha + 0.5)
                    - alpha * libm::log(beta)
                    - 0.5 * libm::log(keys.d)
                    - 0.5;
                Prior { p0: alpha, p1: beta, p2: keys.d, constant: c }
            }
            Reg::Eb | Reg::EbAll => {
                Prior { p0: keys.alpha.unwrap_or(EB_ALPHA), p1: keys.beta.unwrap_or(EB_BETA), p2: 0.0, constant: -0.5 }
            }
            Reg::L2 => Prior::default(),
        }
    }
}

/// eta / N times the sum of squares of a part of each member's weights: adds to the gradient, returns the sum per member.
pub fn record_l2(setup: &ModelSpec, b: &mut Builder, weights: Buf, dweights: Buf, part: Range<u32>) -> Buf {
    let (replicas, stride) = (setup.members, setup.layout().total as u32);
    let (first, length, scale) = (part.start, part.end - part.start, 1.0 / setup.observations() as f32);
    b.push(Op::L2Gradient(L2Gradient { replicas, stride, first, length, scale }), &[weights], &[dweights]);
    let value = b.buffer("l2", replicas as usize, Role::Scratch);
    b.push(Op::SumSquares(SumSquares { replicas, stride, first, length }), &[weights], &[value]);
    value
}
