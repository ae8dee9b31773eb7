//! The network in training as a picture shows it: layers with their sizes, and what they make of one input at this moment.

use crate::data::encode::{Encoder, Target};
use crate::method::{ModelSpec, Trained};
use serde::{Deserialize, Serialize};

/// Units of a layer that are looked at: more are no picture.
pub const SHOWN: usize = 12;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Network {
    pub members: u32,
    /// Numbers that one member learns.
    pub parameters: usize,
    /// From the inputs to the outputs.
    pub layers: Vec<Layer>,
    /// What the outputs are called.
    pub outputs: Vec<String>,
    /// The outputs in the target's unit: a mean, and standard deviations of the noise and of both. Empty where they stand on a
    /// scale of the network's own, such as scores of classes.
    pub shown: Vec<f64>,
    /// Each output comes with a standard deviation: the second half of them.
    pub doubled: bool,
    /// The input that the values are of, in the data's unit; empty where there are none.
    pub input: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Layer {
    pub name: String,
    pub units: u32,
    pub parameters: usize,
    /// Of the first member's first `SHOWN` units; of the outputs all. Empty where nothing is looked at.
    pub values: Vec<f32>,
    /// [to][from] between the first `SHOWN` units of the layer before and of this one.
    pub weights: Vec<f32>,
}

/// The layers alone.
pub fn layers(setup: &ModelSpec) -> Network {
    let layers = setup.layers().into_iter();
    Network {
        members: setup.members,
        parameters: setup.member_len(),
        layers: layers
            .map(|l| Layer { name: l.name, units: l.units, parameters: l.parameters, ..Layer::default() })
            .collect(),
        doubled: setup.is_doubled(),
        ..Network::default()
    }
}

/// With what the weights of the first member make of `input`, or of the middle of the training data. Values are left out where
/// inputs are not one or two numbers.
pub fn look(setup: &ModelSpec, encoder: &Encoder, trained: &Trained, input: Option<&[f64]>) -> Network {
    let mut network = layers(setup);
    let classes = match &encoder.target {
        Target::Classes { labels, .. } => &labels[..],
        Target::Regression { .. } => &[],
    };
    network.outputs = setup.output_names(classes);
    let ranges = super::picture::ranges(encoder);
    let member = trained.weights.get(..setup.member_len());
    let Some(member) = member.filter(|_| !ranges.is_empty()) else { return network };
    let middle = || ranges.iter().map(|(low, high)| 0.5 * (low + high)).collect();
    let input: Vec<f64> = input.filter(|i| i.len() == ranges.len()).map_or_else(middle, <[f64]>::to_vec);
    let row = super::picture::standard(encoder, &input);
    let (values, weights) = (setup.trace(member, &row), setup.leading_weights(member, SHOWN));
    let last = network.layers.len().saturating_sub(1);
    for (i, (layer, mut values)) in network.layers.iter_mut().zip(values).enumerate() {
        if i < last {
            values.truncate(SHOWN);
        }
        layer.values = values;
    }
    let outputs = network.layers.last().map_or(vec![], |l| l.values.clone());
    if let Target::Regression { mean, sd, .. } = &encoder.target
        && encoder.n_targets() == 1
        && let Some((names, shown)) = setup.outputs_in_units(&outputs, (*mean, *sd))
    {
        (network.outputs, network.shown) = (names, shown);
    }
    for (layer, weights) in network.layers.iter_mut().skip(1).zip(weights) {
        layer.weights = weights;
    }
    network.input = input;
    network
}
