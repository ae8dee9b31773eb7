//! The posterior between network and prediction: rows of features and outputs in, variances or samples of the outputs out.

use super::{Curvature, Posterior, PriorPrecision, gaussian_lambda, softmax_lambda};
use crate::base::rng::{Draw, Stream};
use crate::data::Task;
use crate::error::{Error, Result, either};
use crate::method::{HostLayer, LayerForm, ModelSpec, Named, Outputs, Trained};
use crate::ops::head::{gaussian_loss, softmax_loss};
use rayon::prelude::*;

/// A member's curvature and log likelihood in the making, a chunk of rows at a time.
pub struct Fit {
    task: Task,
    noise_link: u32,
    k: usize,
    /// Features and the 1 of the bias.
    d: usize,
    curvature: Curvature,
    log_likelihood: f64,
}

/// (k, d) of the last layer, d with the bias.
pub fn sizes(setup: &ModelSpec) -> (usize, usize) {
    let layout = setup.layout();
    let weight = &layout.views[layout.views.len() - 2];
    (weight.shape[0], weight.shape[1] + 1)
}

/// A member's last layer [k, d], the bias in the last column.
fn last_layer(setup: &ModelSpec, weights: &[f32]) -> Vec<f64> {
    let layout = setup.layout();
    let (k, d) = sizes(setup);
    let [weight, bias] = [2, 1].map(|i| {
        let view = &layout.views[layout.views.len() - i];
        layout.to_torch(view, weights)
    });
    (0..k)
        .flat_map(|c| weight[c * (d - 1)..(c + 1) * (d - 1)].iter().chain([&bias[c]]).map(|&w| f64::from(w)))
        .collect()
}

impl Fit {
    pub fn new(setup: &ModelSpec) -> Result<Fit> {
        let (k, d) = sizes(setup);
        let curvature = Curvature::new(setup.options.structure, k, d)?;
        Ok(Fit { task: setup.task, noise_link: setup.noise_code(), k, d, curvature, log_likelihood: 0.0 })
    }

    /// Width of the features, without the 1 of the bias.
    pub fn features(&self) -> usize {
        self.d - 1
    }

    /// Rows of features [n, d - 1] with their outputs [n, k] and targets [n, T]; each counts by its weight in `weights` [n], or alike
    /// where there are none.
    pub fn add(&mut self, features: &[f32], z: &[f32], y: &[f32], weights: &[f32]) -> Result<()> {
        let k = self.k;
        // Targets know nothing of each other: their curvatures are blocks on the diagonal.
        let targets = if self.task == Task::Regression { k / 2 } else { 1 };
        let mut lambdas = vec![0.0; z.len() * k];
        let rows = z.chunks_exact(k).zip(y.chunks_exact(targets));
        for (i, ((z, y), lambda)) in rows.zip(lambdas.chunks_exact_mut(k * k)).enumerate() {
            let w = weights.get(i).map_or(1.0, |w| f64::from(*w));
            let z: Vec<f64> = z.iter().map(|&v| f64::from(v)).collect();
            match self.task {
                Task::Classification => {
                    softmax_lambda(&z, lambda);
                    self.log_likelihood -= w * softmax_loss(&z, y[0] as usize, 0.0, &mut vec![0.0; k]);
                }
                Task::Regression => {
                    for (t, (z, y)) in z.chunks_exact(2).zip(y).enumerate() {
                        let block = gaussian_lambda(self.noise_link, z[1]);
                        for (j, row) in block.chunks_exact(2).enumerate() {
                            lambda[(2 * t + j) * k + 2 * t..][..2].copy_from_slice(row);
                        }
                        self.log_likelihood -= w * gaussian_loss(self.noise_link, z[0], z[1], f64::from(*y)).0;
                    }
                }
            }
            if !weights.is_empty() {
                lambda.iter_mut().for_each(|l| *l *= w);
            }
        }
        self.curvature.add_weighed(features, &lambdas, weights)
    }
}

/// The posteriors of all members as tensors, one stack of members each.
pub fn finish(setup: &ModelSpec, fits: Vec<Fit>, weights: &[f32]) -> Result<Vec<Named>> {
    let prior = setup.options.prior_precision.map_or(PriorPrecision::MarginalLikelihood, PriorPrecision::Fixed);
    let len = setup.member_len();
    let members = fits.len();
    let tensors = fits
        .into_par_iter()
        .zip(weights.par_chunks_exact(len))
        .map(|(fit, weights)| {
            let w = last_layer(setup, weights);
            Ok(Posterior::fit(fit.curvature, &w, fit.log_likelihood, prior)?.to_tensors())
        })
        .collect::<Result<Vec<_>>>()?;
    let mut stacked: Vec<Named> = vec![];
    for (m, of_member) in tensors.into_iter().enumerate() {
        for (i, (name, shape, values)) in of_member.into_iter().enumerate() {
            if m == 0 {
                let shape = [&[members], &shape[..]].concat();
                stacked.push(Named { name, shape, values: Vec::with_capacity(values.len() * members) });
            }
            stacked[i].values.extend(values);
        }
    }
    Ok(stacked)
}

/// One member's posterior, ready to predict.
pub enum LastLayer {
    /// Variances beside the outputs.
    Variances(Posterior),
    /// Samples of the layer [S][k, d].
    Samples { layers: Vec<Vec<f64>>, k: usize },
}

/// Of all members; none where training has not ended in a posterior yet.
pub fn last_layers(setup: &ModelSpec, trained: &Trained, seed: u32) -> Result<Vec<LastLayer>> {
    if trained.posterior.is_empty() {
        return Ok(vec![]);
    }
    let members = setup.members as usize;
    (0..members)
        .into_par_iter()
        .map(|m| {
            let member = trained.member(m, members);
            let tensors: Vec<(String, Vec<usize>, Vec<f32>)> =
                member.posterior.into_iter().map(|p| (p.name, p.shape[1..].to_vec(), p.values)).collect();
            let posterior = Posterior::from_tensors(&tensors)?;
            let (k, d) = sizes(setup);
            if (posterior.k(), posterior.d()) != (k, d) {
                let found = format!("a last layer of {} x {}, not {k} x {d}", posterior.k(), posterior.d());
                return Err(Error::run(
                    "checkpoint",
                    found,
                    either("restore the run, or train again with `vifo fit`", "restore the run, or train again"),
                ));
            }
            if matches!(setup.outputs(), Outputs::Variances) {
                return Ok(LastLayer::Variances(posterior));
            }
            let mut normals = vec![0f32; k * d];
            let layers = (0..setup.predict_samples).map(|s| {
                let replica = (setup.first_member + m as u32) * setup.predict_samples + s;
                Draw { seed, stream: Stream::Predict as u32, step: 0, replica }.fill_normal(0, &mut normals);
                posterior.sample_weights(&normals)
            });
            Ok(LastLayer::Samples { layers: layers.collect(), k })
        })
        .collect()
}

impl HostLayer for LastLayer {
    fn form(&self) -> Option<LayerForm> {
        Some(match self {
            LastLayer::Variances(posterior) => LayerForm::Variances(posterior.variance_form()),
            LastLayer::Samples { layers, .. } => LayerForm::Layers(layers.clone()),
        })
    }

    fn replicas(&self) -> usize {
        match self {
            LastLayer::Variances(_) => 1,
            LastLayer::Samples { layers, .. } => layers.len(),
        }
    }

    /// From features [n, d - 1] and outputs [n, k]: (outputs, variances) [2 k] or a sample's outputs [k], by replica and row.
    fn outputs(&self, features: &[f32], z: &[f32], write: &mut dyn FnMut(usize, usize, &[f32])) {
        match self {
            LastLayer::Variances(posterior) => {
                let (k, d) = (posterior.k(), posterior.d());
                let rows: Vec<(&[f32], &[f32])> = features.chunks_exact(d - 1).zip(z.chunks_exact(k)).collect();
                let variances: Vec<Vec<f64>> = rows.par_iter().map(|(f, _)| posterior.logit_variances(f)).collect();
                for (row, ((_, z), v)) in rows.iter().zip(variances).enumerate() {
                    let values: Vec<f32> = z.iter().copied().chain(v.into_iter().map(|v| v as f32)).collect();
                    write(0, row, &values);
                }
            }
            LastLayer::Samples { layers, k } => {
                for (s, layer) in layers.iter().enumerate() {
                    let d = layer.len() / k;
                    for (row, f) in features.chunks_exact(d - 1).enumerate() {
                        let of = |w: &[f64]| {
                            let sum: f64 = f.iter().zip(w).map(|(f, w)| f64::from(*f) * w).sum();
                            (sum + w[d - 1]) as f32
                        };
                        let values: Vec<f32> = layer.chunks_exact(d).map(of).collect();
                        write(s, row, &values);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::laplace::tests::{ALL, normals};
    use crate::ops::head::NOISE_EXP;
    use crate::recipe::Structure;

    /// With a prior that is given, targets share features and nothing else: each has the variances that it has alone. But for
    /// Kronecker's, whose one curvature of the features is of all of them. Decompositions of matrices of 30 rows: 1e-9.
    #[test]
    fn targets_are_blocks() {
        const T: usize = 3;
        let (n, d) = (40, 5);
        let (f, z, y) = (normals(1, n * (d - 1)), normals(2, n * 2 * T), normals(3, n * T));
        let weights: Vec<f32> = (0..n).map(|i| 0.5 + (i % 3) as f32 * 0.5).collect();
        let fit = |structure, z: &[f32], y: &[f32]| {
            let k = z.len() / n;
            let curvature = Curvature::new(structure, k, d).expect("room");
            let (task, noise_link) = (Task::Regression, NOISE_EXP);
            let mut fit = Fit { task, noise_link, k, d, curvature, log_likelihood: 0.0 };
            fit.add(&f, z, y, &weights).expect("finite rows");
            let said = fit.log_likelihood;
            (
                Posterior::fit(fit.curvature, &vec![0.1; k * d], said, PriorPrecision::Fixed(0.7))
                    .expect("a posterior"),
                said,
            )
        };
        let of = |values: &[f32], width: usize, t: usize| -> Vec<f32> {
            values.chunks_exact(T * width).flat_map(|row| row[t * width..(t + 1) * width].to_vec()).collect()
        };
        for structure in ALL {
            let (all, sum) = fit(structure, &z, &y);
            let mut apart = 0.0;
            for t in 0..T {
                let (one, said) = fit(structure, &of(&z, 2, t), &of(&y, 1, t));
                apart += said;
                let (together, alone) = (all.logit_variances(&f[..d - 1]), one.logit_variances(&f[..d - 1]));
                for j in 0..2 {
                    let (a, b) = (together[2 * t + j], alone[j]);
                    let same = (a / b - 1.0).abs() < 1e-9;
                    assert!(same || structure == Structure::Kronecker, "{structure:?} {t} {j}: {a} {b}");
                }
            }
            assert!((sum / apart - 1.0).abs() < 1e-12, "{sum} {apart}");
        }
    }
}
