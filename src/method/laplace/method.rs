//! Laplace as a method: a plain network whose last layer alone has a prior in training, and a posterior at its end.

use super::{Fit, bytes, fit_bytes, layer, sizes};
use crate::data::Task;
use crate::error::Result;
use crate::method::{
    Family, Finish, HostLayer, Knob, KnobValue, Method, MethodOptions, ModelSpec, Need, Outputs, Trained, regularizer,
};
use crate::program::{Buf, Builder};
use crate::recipe::{LaplacePredict, Recipe, Structure, key};
use crate::system::memory::size;
use crate::system::stop;

pub const NAME: &str = "laplace";

pub struct Laplace;

impl Method for Laplace {
    fn name(&self) -> &'static str {
        NAME
    }
    fn title(&self) -> &'static str {
        "Last-layer Laplace"
    }
    fn family(&self) -> Family {
        Family::LastLayer
    }
    fn about(&self) -> &'static str {
        "A normal posterior over the last layer, fitted after training"
    }
    fn keys(&self) -> Vec<&'static str> {
        vec![
            key!(method.noise_link).path,
            key!(train.kl_warmup).path,
            key!(predict.samples).path,
            key!(laplace.structure).path,
            key!(laplace.prior_variance).path,
            key!(laplace.prior_precision).path,
            key!(laplace.predict).path,
        ]
    }
    /// |W|^2 / (2 v N), as a weight of the mean square that `L2Gradient` knows.
    fn eta(&self, recipe: &Recipe, _task: Task) -> f64 {
        0.5 / recipe.laplace.prior_variance
    }
    fn options(&self, recipe: &Recipe) -> MethodOptions {
        let l = &recipe.laplace;
        MethodOptions {
            structure: l.structure,
            prior_precision: l.prior_precision,
            last_layer_samples: l.predict == LaplacePredict::Samples,
            ..Default::default()
        }
    }
    fn knobs(&self) -> Vec<Knob> {
        vec![Knob::new(key!(laplace.prior_variance).path, |r| KnobValue::Given(&mut r.laplace.prior_variance))]
    }
    fn record_on_weights(
        &self,
        setup: &ModelSpec,
        b: &mut Builder,
        numbers: Buf,
        dweights: Buf,
        _value: Option<Buf>,
    ) -> (Buf, Option<Buf>) {
        (dweights, Some(regularizer::record_l2(setup, b, numbers, dweights, setup.last_layer())))
    }
    fn ends_with(&self) -> Option<&'static str> {
        Some("posterior")
    }
    fn finalize(&self, finish: Finish) -> Result<Trained> {
        posterior_of_last_layer(finish)
    }
    fn needs_features(&self) -> bool {
        true
    }
    fn host_layers(&self, setup: &ModelSpec, trained: &Trained, seed: u32) -> Result<Vec<Box<dyn HostLayer>>> {
        let layers = layer::last_layers(setup, trained, seed)?;
        Ok(layers.into_iter().map(|l| Box::new(l) as Box<dyn HostLayer>).collect())
    }
    /// Variances beside the outputs; or samples of the last layer, `predict_samples` replicas per member.
    fn outputs(&self, setup: &ModelSpec) -> Outputs {
        match setup.options.last_layer_samples && setup.task == Task::Classification {
            true => Outputs::Plain,
            false => Outputs::Variances,
        }
    }
    fn export_note(&self, _has_statistics: bool) -> Option<String> {
        Some("these are the most probable weights; the last layer's covariance stays in the run".into())
    }
    fn host_needs(&self, setup: &ModelSpec) -> Vec<Need> {
        let members = setup.members;
        let (k, d) = sizes(setup);
        let of = |structure| fit_bytes(structure, k, d) * u64::from(members);
        let structure = setup.options.structure;
        let name = format!("{structure:?}").to_lowercase();
        let stored = size(bytes(structure, k, d) * u64::from(members));
        let of_members = if members > 1 { format!(", {members} members") } else { String::new() };
        let what = format!(
            "Laplace's {name} covariance of {} features x {k} outputs{of_members} ({stored} to keep, more to decompose):",
            d - 1
        );
        let cheaper = match structure {
            Structure::Kronecker => format!("lower {} (now {members})", key!(method.members).said()),
            _ => {
                let structure = key!(laplace.structure).said();
                format!("{structure} = \"kronecker\" takes {}", size(of(Structure::Kronecker)))
            }
        };
        vec![Need { what, bytes: of(structure), cheaper, on_host: true }]
    }
}

/// One pass over the training rows for their curvature, then the prior precision of each member.
fn posterior_of_last_layer(finish: Finish) -> Result<Trained> {
    let Finish { setup, last, rows, .. } = finish;
    let mut fits: Vec<Fit> = (0..setup.members as usize).map(|_| Fit::new(setup)).collect::<Result<_>>()?;
    let (n_out, d) = (setup.net.n_out() as usize, fits.first().map_or(0, Fit::features));
    let train = rows.data();
    rows.each_chunk(&last, &mut |c| {
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
    let posterior = stop::abandonable(move || layer::finish(&of_thread, fits, &weights))?;
    Ok(Trained { posterior, ..last })
}
