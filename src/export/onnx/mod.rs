//! A trained run as one ONNX graph: from the columns of a table, or from images, to what `vifo predict` writes. All members
//! and all their samples are in it, as weights that the recorded program draws (`network`), with the encoding before them
//! (`encode`) and the predictive distribution behind them (`method`, `predictive`).
//!
//! Means, standard deviations and probabilities are those of `predict` to single precision. Where `predict` draws logits for
//! each row by the row's own numbers (VIFO, VBLL and Laplace on classes), the graph holds one set of draws for all rows.

mod about;
mod dates;
mod encode;
mod graph;
mod network;
mod outputs;
mod predictive;
pub mod proto;
mod special;
#[cfg(test)]
mod tests;

pub use graph::OPSET;

use crate::data::Task;
use crate::data::encode::Target;
use crate::error::{Error, Result};
use crate::method::Hypercube;
use crate::run::{Calibration, Model};
use graph::Graph;
use prost::Message;
use proto::{ModelProto, OperatorSetIdProto};

/// Draws of a row's logits in all, at least: the error of the average is then a few thousandths.
const LEAST_DRAWS: usize = 500;

/// Names under which the graph keeps what a test or a reader may want to look at: the outputs of all networks
/// [R, n, width], and the draws of the logits [R, S, 1, k].
pub const OUTPUTS: &str = "network_outputs";
pub const DRAWS: &str = "logit_draws";

/// The graph of a run; calibrated where `calibration` is given.
pub fn export(model: &Model, calibration: Option<&Calibration>) -> Result<ModelProto> {
    let (setup, encoder, seed) = (&model.plan.setup, &model.encoder, model.plan.seed);
    let mut g = Graph::default();
    let encoded = match &setup.image {
        Some(image) => encode::images(&mut g, image),
        None => encode::columns(&mut g, encoder)?,
    };
    let nets = network::networks(&mut g, encoded.x, setup, &model.trained, seed)?;
    let (z, replicas) = outputs::outputs(setup, &mut g, nets, &model.trained, seed)?;
    let z = g.named(OUTPUTS, &z);
    let valid = encoded.valid.as_ref();
    let mut samples = 0;
    match (setup.task, &encoder.target) {
        (Task::Classification, Target::Classes { labels, .. }) => {
            let draws = outputs::has_open_logits(setup).then(|| {
                samples = draws_of(setup.predict_samples as usize, replicas);
                let values = logit_draws(model, samples, replicas);
                g.floats_named(DRAWS, &[replicas, samples, 1, setup.k as usize], &values)
            });
            let classes = predictive::classes(setup, &mut g, &z, draws.as_ref());
            predictive::class_outputs(&mut g, labels, classes, model.trained.sharpness(), valid, calibration);
        }
        _ => {
            for (at, target) in encoder.targets().enumerate() {
                let moments = predictive::regression(setup, &mut g, &z, at)?;
                let prefix = if encoder.n_targets() > 1 { format!("{}_", target.name()) } else { String::new() };
                let calibration = calibration.map(|c| c.of_target(at));
                let spread = model.trained.spread().get(at).map_or(1.0, |s| f64::from(*s));
                predictive::regression_outputs(&mut g, target, spread, moments, valid, calibration, &prefix);
            }
        }
    }
    let about = about::About { model, calibration, replicas, samples };
    Ok(ModelProto {
        ir_version: Some(graph::IR_VERSION),
        producer_name: Some("vifo".into()),
        producer_version: Some(env!("CARGO_PKG_VERSION").into()),
        model_version: Some(1),
        doc_string: Some(about.sentence()),
        graph: Some(g.finish(encoder.target_name(), &about.sentence())),
        opset_import: [("", graph::OPSET), (graph::ML, graph::OPSET_ML)]
            .map(|(domain, version)| OperatorSetIdProto { domain: Some(domain.into()), version: Some(version) })
            .to_vec(),
        metadata_props: about.metadata(),
        ..Default::default()
    })
}

/// Samples of each network's logits: those of the recipe, or as many as make `LEAST_DRAWS` in all.
fn draws_of(samples: usize, replicas: usize) -> usize {
    samples.max(LEAST_DRAWS.div_ceil(replicas.max(1)))
}

/// [R, S, k]: a Latin hypercube for each network, as `predict` draws one for each network and row.
fn logit_draws(model: &Model, samples: usize, replicas: usize) -> Vec<f32> {
    let k = model.plan.setup.k as usize;
    let mut cube = Hypercube::new(samples);
    let mut all = vec![0f32; replicas * samples * k];
    for (r, out) in all.chunks_exact_mut(samples * k).enumerate() {
        cube.fill(model.plan.seed, model.plan.setup.first_member + r as u32, 0, k, out);
    }
    all
}

/// The bytes of a file; a protobuf of 2 GiB or more cannot be read again.
pub fn bytes(graph: &ModelProto) -> Result<Vec<u8>> {
    let len = graph.encoded_len();
    if len > i32::MAX as usize {
        let found = format!("the graph takes {:.1} GB", len as f64 / 1e9);
        let help = "train with fewer members or a smaller predict.samples, or export the weights as .safetensors";
        return Err(Error::usage("an ONNX file", found, "less than 2.1 GB", help));
    }
    Ok(graph.encode_to_vec())
}
