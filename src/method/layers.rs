//! A network as a picture shows it: its layers, what one input makes of them, and what its outputs are called.

use super::{ModelSpec, Outputs};
use crate::data::Task;
use crate::net::{Net, trace};
use crate::ops::head::{LIKELIHOOD_GAUSSIAN, noise_variance};
use crate::ops::regularizer::sigma;

/// A layer's size.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerSize {
    /// "inputs", "hidden 1", "outputs"; of other networks than an MLP the name of its weights.
    pub name: String,
    pub units: u32,
    /// Numbers that one member learns in it.
    pub parameters: usize,
}

impl ModelSpec {
    /// From the inputs to the outputs.
    pub fn layers(&self) -> Vec<LayerSize> {
        let layout = self.layout();
        // A distribution over weights has two numbers for each.
        let each = self.member_len() / layout.total.max(1);
        let Net::Mlp(net) = &self.net else {
            let mut all: Vec<LayerSize> = vec![];
            for view in &layout.views {
                let name = view.name.rsplit_once('.').map_or(view.name.as_str(), |n| n.0);
                let parameters = view.len() * each;
                match all.last_mut().filter(|l| l.name == name) {
                    Some(layer) => layer.parameters += parameters,
                    None => all.push(LayerSize { name: name.into(), units: view.shape[0] as u32, parameters }),
                }
            }
            return all;
        };
        let sizes: Vec<usize> = layout.layers().iter().map(|l| l.1 * each).collect();
        let in_front =
            usize::from(!net.embedded.is_empty()) + usize::from(!net.tables.is_empty()) + usize::from(net.scaled);
        let (front, behind) = sizes.split_at(in_front.min(sizes.len()));
        let of_hidden = if net.parametric { 2 } else { 1 };
        let parameters = std::iter::once(front.iter().sum()).chain(behind.chunks(of_hidden).map(|c| c.iter().sum()));
        let n = net.hidden.len();
        let name = |i: usize| match i {
            0 => "inputs".to_string(),
            i if i <= n => format!("hidden {i}"),
            _ => "outputs".to_string(),
        };
        let all = net.units().into_iter().zip(parameters).enumerate();
        all.map(|(i, (units, parameters))| LayerSize { name: name(i), units, parameters }).collect()
    }

    /// What each layer of a member with the numbers `member` makes of one row, in the order of `layers`; where the member is a
    /// distribution over weights, the network of their means. Standard deviations among the outputs stand behind their link.
    /// Empty for networks on images.
    pub fn trace(&self, member: &[f32], row: &[f32]) -> Vec<Vec<f32>> {
        let Net::Mlp(net) = &self.net else { return vec![] };
        let mut all = trace::trace(net, &member[..self.layout().total], row);
        if let (true, Some(outputs)) = (self.is_doubled(), all.last_mut()) {
            // k numbers of each target in turn.
            for target in outputs.chunks_exact_mut(2 * self.k as usize) {
                for v in &mut target[self.k as usize..] {
                    *v = sigma(self.sigma_code(), f64::from(*v)).0 as f32;
                }
            }
        }
        all
    }

    /// Weights between the first `most` units of one layer and the next: [to][from] for each layer behind the inputs.
    pub fn leading_weights(&self, member: &[f32], most: usize) -> Vec<Vec<f32>> {
        match &self.net {
            Net::Mlp(net) => trace::leading_weights(net, &member[..self.layout().total], most),
            _ => vec![],
        }
    }

    /// Whether each output comes with a standard deviation: the method puts a distribution on outputs.
    pub fn is_doubled(&self) -> bool {
        matches!(self.outputs(), Outputs::Sigmas)
    }

    /// What the outputs of a network of one target are called; `classes` = the names of the classes.
    pub fn output_names(&self, classes: &[String]) -> Vec<String> {
        let z: Vec<String> = match self.task {
            Task::Classification => (0..self.k as usize)
                .map(|i| classes.get(i).map_or_else(|| format!("class {i}"), |c| format!("class {c}")))
                .collect(),
            Task::Regression => ["mean", "noise"].into_iter().take(self.k as usize).map(String::from).collect(),
        };
        let with = |what: &str| z.iter().map(|z| format!("{what} {z}")).collect::<Vec<String>>();
        let names = match self.outputs() {
            Outputs::Sigmas => [z.clone(), with("sd of")].concat(),
            Outputs::VariancesAndNoise => [z.clone(), with("variance of"), with("log noise of")].concat(),
            _ => z,
        };
        let n = self.net.n_out() as usize;
        if names.len() == n { names } else { (1..=n).map(|i| format!("output {i}")).collect() }
    }

    /// The outputs of a network of one number with normal noise, in that number's unit, and what they are called then: mean, sd of
    /// the noise and, where they come with a standard deviation, that of both, the latter by its slope. `target` = its mean and sd.
    pub fn outputs_in_units(&self, outputs: &[f32], target: (f64, f64)) -> Option<(Vec<String>, Vec<f64>)> {
        let is_known = matches!((outputs.len(), self.is_doubled()), (2, false) | (4, true));
        if !is_known || self.task != Task::Regression || self.likelihood_code() != LIKELIHOOD_GAUSSIAN {
            return None;
        }
        let (mean, sd) = target;
        let (variance, slope) = noise_variance(self.noise_code(), f64::from(outputs[1]));
        let noise = variance.sqrt();
        let mut all = vec![mean + sd * f64::from(outputs[0]), sd * noise];
        if let [_, _, of_mean, of_noise] = outputs {
            all.extend([sd * f64::from(*of_mean), sd * 0.5 * slope / noise * f64::from(*of_noise)]);
        }
        let names = ["mean", "noise (sd)", "sd of mean", "sd of noise"];
        Some((names.into_iter().take(all.len()).map(String::from).collect(), all))
    }
}
