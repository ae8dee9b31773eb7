//! Curves from a learned prior (MATH.md section 9; the paper's figure 2): what a method expects of y before it sees a point.
//! A hierarchical prior first draws u from q*(u), then z (or W) from N(u, gamma), then y.

use crate::base::rng::{Draw, Stream};
use crate::data::encode::{Encoder, FeatureKind};
use crate::data::{Inputs, Task};
use crate::error::Result;
use crate::exec::Device;
use crate::method::{ModelSpec, PriorDraw, base};
use crate::ops::head::noise_variance;
use crate::train::Predictor;
use crate::train::plan::TrainingPlan;

/// `count` curves of y at `x`, in the target's unit, from the first member's prior; None unless the task is a regression on
/// one number and the method's prior one that can be drawn from. `seed` chooses the draw.
pub fn curves(
    plan: &TrainingPlan,
    encoder: &Encoder,
    weights: &[f32],
    device: &Device,
    x: &[f64],
    count: u32,
    seed: u32,
) -> Result<Option<Vec<Vec<f64>>>> {
    let (setup, prior, n) = (plan.setup.part(0, 1), &plan.prior, x.len());
    let [feature] = &encoder.features[..] else { return Ok(None) };
    let is_number = matches!(feature.kind, FeatureKind::Numeric { .. });
    let Some(scale) = feature.kind.scale().filter(|_| is_number) else { return Ok(None) };
    let draw = setup.method.prior_draw();
    if setup.task != Task::Regression || draw == PriorDraw::None {
        return Ok(None);
    }
    let weights = &weights[..setup.member_len()];
    let standard: Vec<f32> = x.iter().map(|x| scale.scaled(*x) as f32).collect();
    let normal = |curve: u32, element: u32| {
        f64::from(Draw { seed, stream: Stream::Prior as u32, step: curve, replica: 0 }.normal(element))
    };
    // Of several targets the first: the leading part of each row of outputs.
    let width = setup.output_width();
    let first = |outputs: &[f32]| -> Vec<f64> {
        let rows = outputs.chunks_exact(width).map(|row| &row[..width / setup.targets as usize]);
        rows.flatten().map(|&v| f64::from(v)).collect()
    };
    // z [count, n, 2] from the prior.
    let z: Vec<f64> = match draw {
        PriorDraw::Weights | PriorDraw::WeightsAroundLearned => {
            let p = setup.layout().total;
            let weights: Vec<f32> = (0..count)
                .flat_map(|c| {
                    (0..p).map(move |i| {
                        let e = normal(c, i as u32);
                        let w = match draw {
                            PriorDraw::Weights => prior.p0.sqrt() * e,
                            _ => (1.0 - prior.p1) * f64::from(weights[i]) + (prior.p0 * (2.0 - prior.p1)).sqrt() * e,
                        };
                        w as f32
                    })
                })
                .collect();
            let plain = ModelSpec { method: &base::Base, members: count, ..setup.clone() };
            let mut predictor = Predictor::new(&plain, device, plan.seed, n)?;
            predictor.set_weights(&weights)?;
            first(&predictor.outputs(Inputs::Rows(&standard))?)
        }
        PriorDraw::OutputsAroundLearned => {
            let mut predictor = Predictor::new(&setup, device, plan.seed, n)?;
            predictor.set_weights(weights)?;
            let outputs = first(&predictor.outputs(Inputs::Rows(&standard))?);
            let (gamma, a) = (prior.p0, prior.p1);
            let sd = (gamma * (1.0 - a) + gamma).sqrt();
            let mu = |i: usize| outputs[i / 2 * 4 + i % 2];
            (0..count)
                .flat_map(|c| (0..2 * n).map(move |i| (c, i)))
                .map(|(c, i)| (1.0 - a) * mu(i) + sd * normal(c, i as u32))
                .collect()
        }
        // The fixed prior N(0, variance) of every output.
        _ => (0..count).flat_map(|c| (0..2 * n).map(move |i| prior.p0.sqrt() * normal(c, i as u32))).collect(),
    };
    let curve = |c: usize| {
        (0..n)
            .map(|i| {
                let z = &z[(c * n + i) * 2..][..2];
                let noise = noise_variance(setup.noise_code(), z[1]).0.sqrt();
                let away = normal(c as u32 + count, i as u32);
                let away = setup.nu.map_or(away, |nu| student(nu, away, normal(c as u32 + 2 * count, i as u32)));
                encoder.destandardise(z[0] + noise * away)
            })
            .collect()
    };
    Ok(Some((0..count as usize).map(curve).collect()))
}

/// A draw of Student's t from two of a standard normal (Bailey 1994): with r^2 = a^2 + b^2 it is a / r sqrt(nu (e^(r^2 / nu) - 1)).
fn student(nu: f64, a: f64, b: f64) -> f64 {
    let square = a * a + b * b;
    if square == 0.0 { 0.0 } else { a * (nu * libm::expm1(square / nu) / square).sqrt() }
}
