//! What ends a training that is more than its last weights: averages with their own statistics (SWA, SWAG), the posterior of
//! the last layer (Laplace).

use super::evaluate::{Predictor, recompute_running};
use super::plan::Plan;
use crate::data::Dataset;
use crate::error::Result;
use crate::exec::Device;
use crate::method::laplace::{self, Fit};
use crate::method::{Kind, Named, Setup, Trained, swa, swag};
use crate::system::stop;

/// `last` = weights as training left them; `state` = what was collected beside them, of `snapshots` epochs; `train` = the rows
/// it was trained on.
pub fn conclude(
    plan: &Plan,
    last: Trained,
    state: &[(String, Vec<f32>)],
    snapshots: u32,
    train: &Dataset,
    device: &Device,
) -> Result<Trained> {
    let setup = &plan.setup;
    let collected = |name: &str| state.iter().find(|s| s.0 == name).map(|s| s.1.clone()).unwrap_or_default();
    match setup.kind {
        // Before the first snapshot the weights are all there is.
        Kind::Swa if snapshots > 0 => {
            let mean = Trained::plain(collected(swa::MEAN), vec![]);
            let running = recompute_running(setup, device, &mean, plan.seed, train.inputs())?;
            Ok(Trained { running, ..mean })
        }
        Kind::Swag => {
            let (weights, filled) = match snapshots {
                0 => (last.weights, 0),
                n => (collected(swag::MEAN), n.min(setup.options.swag_columns)),
            };
            let members = setup.members as usize;
            let named = |name: &str, values: Vec<f32>| {
                let shape = vec![members, values.len() / members];
                Named { name: name.into(), shape, values }
            };
            let posterior = vec![
                named(swag::COLUMNS, vec![filled as f32; members]),
                named(swag::DEVIATIONS, collected(swag::DEVIATIONS)),
                named(swag::VARIANCE, collected(swag::VARIANCE)),
            ];
            let mean = Trained { weights, running: vec![], posterior };
            let running = recompute_running(setup, device, &mean, plan.seed, train.inputs())?;
            Ok(Trained { running, ..mean })
        }
        Kind::Laplace => posterior_of_last_layer(plan, last, train, device),
        _ => Ok(last),
    }
}

/// One pass over the training rows for their curvature, then the prior precision of each member.
fn posterior_of_last_layer(plan: &Plan, last: Trained, train: &Dataset, device: &Device) -> Result<Trained> {
    let setup: &Setup = &plan.setup;
    let mut fits: Vec<Fit> = (0..setup.members as usize).map(|_| Fit::new(setup)).collect::<Result<_>>()?;
    let (n_out, d) = (setup.net.n_out() as usize, fits.first().map_or(0, Fit::features));
    let mut predictor = Predictor::new(setup, device, plan.seed, train.n)?;
    predictor.set(&last)?;
    predictor.each_chunk(train.inputs(), |c| {
        let shared = c.features.len() == c.stride * d;
        for (e, fit) in fits.iter_mut().enumerate() {
            let f = &c.features[if shared { 0 } else { e } * c.stride * d..][..c.rows * d];
            let z = &c.outputs[e * c.stride * n_out..][..c.rows * n_out];
            let rows = c.first..c.first + c.rows;
            let weights = if train.weights.is_empty() { &[] } else { &train.weights[rows.clone()] };
            let targets = setup.targets as usize;
            fit.add(f, z, &train.y[rows.start * targets..rows.end * targets], weights)?;
        }
        Ok(())
    })?;
    // A decomposition cannot be interrupted; one that a stop abandons is made again when the run is resumed.
    let (of_thread, weights) = (setup.clone(), last.weights.clone());
    let posterior = stop::abandonable(move || laplace::finish(&of_thread, fits, &weights))?;
    Ok(Trained { posterior, ..last })
}
