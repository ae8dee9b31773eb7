//! `vifo doctor --full`: every case of `vifo bench` on a device against the CPU: the losses of the first steps, and the gradient of
//! one. Kernels of all networks and of the methods that cost most run in it, in the forms that the device gets.

use super::{CASES, Case, IMAGES, STEP_BOUND, few_images, image_case, step_error};
use crate::base::clock::Instant;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::ops::StepArgs;
use crate::recipe::{Optimizer, Precision};
use crate::train::session::Session;
use std::collections::BTreeSet;

pub struct CaseTest {
    pub name: &'static str,
    pub precision: Precision,
    /// Largest relative error of a loss, and what is allowed.
    pub loss: f64,
    /// Length of the gradients' difference by the length of the gradient.
    pub gradient: f64,
    pub seconds: f64,
}

/// Not derived but estimated. Rounding alone leaves 2e-6 here (lavapipe, PreResNet20). Where an input of a ReLU lies within rounding
/// of 0, its term is in the gradient on one device alone: one of N = 65,536 positions with terms of random sign is 1/sqrt(N) =
/// 4e-3 of one channel's gradient, a quarter of that of a layer of 16, and less of all layers.
pub const GRADIENT_BOUND: f64 = 1e-3;

/// The same of losses and gradients where activations are stored in 16 bits, by both in the same places. Estimated as well: each
/// store may round to the other neighbour, 1e-3 of a number, and where that moves an input of a ReLU over 0, its term is in the
/// gradient on one device alone.
const HALF_BOUNDS: (f64, f64) = (1e-2, 5e-2);

impl CaseTest {
    pub fn passed(&self) -> bool {
        let (loss, gradient) = if self.precision.is_half() { HALF_BOUNDS } else { (STEP_BOUND, GRADIENT_BOUND) };
        self.loss <= loss && self.gradient <= gradient
    }
}

/// What the device can store activations in.
fn precisions(device: &Device) -> Vec<Precision> {
    let Device::Gpu(gpu) = device else { return vec![Precision::F32] };
    let can = |precision: &Precision| match precision {
        Precision::F32 => true,
        Precision::F16 => gpu.report().halves,
        Precision::Matrix => gpu.report().matrix_side > 0,
    };
    Precision::ALL.into_iter().filter(can).collect()
}

/// Runs them one after another, telling `listen` of each; the kernels that ran.
///
/// # Errors
/// What the device refuses. Wrong numbers are no error here but a test that has not passed.
pub fn self_test(device: &Device, listen: &mut dyn FnMut(&CaseTest)) -> Result<(Vec<CaseTest>, BTreeSet<String>)> {
    let (mut all, mut kernels) = (vec![], BTreeSet::new());
    let toys = CASES.iter().map(|(name, what, extra)| Case::new(name, what, extra, &Device::Cpu));
    let images = IMAGES.iter().map(|(name, what, net, method)| {
        let (mut plan, mut data, range) = image_case(*net, *method)?;
        few_images(&mut plan, &mut data);
        Case::of(name, what, (plan, data, range), &Device::Cpu)
    });
    for case in toys.chain(images) {
        let mut case = case?;
        for precision in precisions(device) {
            let began = Instant::now();
            case.plan.setup.stepping.store_in(precision);
            if let Device::Gpu(gpu) = device {
                kernels.extend(gpu.kernels(&case.plan.setup.record_training(device.max_bytes_binding())?.program));
            }
            let (name, loss, gradient) = (case.name, step_error(&case, device)?, gradient_error(&case, device)?);
            let test = CaseTest { name, precision, loss, gradient, seconds: began.elapsed().as_secs_f64() };
            listen(&test);
            all.push(test);
        }
    }
    Ok((all, kernels))
}

/// Of a step of SGD at rate 1, which subtracts the gradient.
fn gradient_error(case: &Case, device: &Device) -> Result<f64> {
    let mut setup = case.plan.setup.clone();
    setup.optimizer = Optimizer::Sgd;
    let start = setup.initial_weights(case.plan.seed, case.plan.vi_uniform, case.plan.init_rho);
    let gradient = |device: &Device| -> Result<Vec<f32>> {
        let mut session = Session::new(&setup, device, &case.data, &case.range)?;
        session.set_weights(&start)?;
        session.run(&[StepArgs { lr: 1.0, ..case.plan.args(0) }])?;
        Ok(session.weights()?.iter().zip(&start).map(|(a, b)| a - b).collect())
    };
    let (got, want) = (gradient(device)?, gradient(&Device::Cpu)?);
    let length = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let size = length(&mut want.iter().map(|w| f64::from(*w)));
    if size == 0.0 || !size.is_finite() {
        return Err(Error::run(case.name, "no gradient to compare", "this is a bug of vifo: please report it"));
    }
    Ok(length(&mut got.iter().zip(&want).map(|(a, b)| f64::from(*a) - f64::from(*b))) / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The CPU is what others are held against, and a gradient of other rows is another one.
    #[test]
    fn the_cpu_agrees_with_itself_and_other_rows_do_not() {
        let case = Case::new("toy", "", &[], &Device::Cpu).expect("a case");
        assert_eq!(gradient_error(&case, &Device::Cpu), Ok(0.0));
        let far = CaseTest { name: "x", precision: Precision::F32, loss: 0.0, gradient: f64::NAN, seconds: 0.0 };
        assert!(!far.passed() && !CaseTest { gradient: 2.0 * GRADIENT_BOUND, ..far }.passed());
    }
}
