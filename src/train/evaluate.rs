//! Forward passes over whole data sets, a chunk of rows at a time.

use crate::data::Inputs;
use crate::error::{Error, Result, either};
use crate::exec::{Device, Executor};
pub use crate::method::Chunk;
use crate::method::{Features, HostLayer, ModelSpec, Predictive, Trained};
use crate::ops::StepArgs;
use crate::program::Buf;
use crate::system::stop;
use std::sync::Arc;

/// Rows of a chunk: large enough to fill the machine, small enough for any memory.
const CHUNK: usize = 512;
/// Numbers of the widest layer in a chunk, over all replicas: 64 MiB, so that images do not fill the memory.
const CHUNK_NUMBERS: u64 = 16 << 20;

/// Rows of a data set from `first` on, which go on at its beginning behind its last.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub x: Arc<Vec<f32>>,
    pub first: usize,
}

impl Window {
    /// Numbers of `to` from row `row` of the window on.
    fn copy(&self, row: usize, d: usize, to: &mut [f32]) {
        let all = self.x.len().max(1);
        let from = (self.first + row) * d % all;
        let (here, round) = to.split_at_mut(to.len().min(all - from));
        here.copy_from_slice(&self.x[from..][..here.len()]);
        round.copy_from_slice(&self.x[..round.len()]);
    }
}

/// What is predicted: x [n, n_in], or [S, n, n_in] where there are S data sets; or n rows of each set as they lie among others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    Inputs(Inputs<'a>),
    Windows(&'a [Window], usize),
}

pub struct Predictor {
    setup: ModelSpec,
    seed: u32,
    exec: Box<dyn Executor>,
    x: Buf,
    weights: Buf,
    posterior: Vec<(&'static str, Buf)>,
    running: Option<Buf>,
    outputs: Buf,
    features: Option<Features>,
    replicas: usize,
    rows: usize,
    /// `Method::n_samples`.
    n_samples: u32,
    /// One a member; without them the networks' outputs stand as they are.
    host_layers: Vec<Box<dyn HostLayer>>,
    /// Of each target, where the ensemble has one (`SPREAD`).
    spread: Vec<f32>,
    /// Of classes (`SHARPNESS`).
    sharpness: Option<[f64; 2]>,
}

impl Predictor {
    /// `n` = rows to expect; smaller sets get a smaller program.
    pub fn new(setup: &ModelSpec, device: &Device, seed: u32, n: usize) -> Result<Predictor> {
        let p = setup.record_prediction(Self::chunk_rows(setup, n) as u32)?;
        Ok(Predictor {
            setup: setup.clone(),
            seed,
            exec: device.executor(p.program)?,
            x: p.x,
            weights: p.weights,
            posterior: p.posterior,
            running: p.running,
            outputs: p.outputs,
            features: p.features,
            replicas: p.replicas as usize,
            rows: p.rows as usize,
            n_samples: 0,
            host_layers: vec![],
            spread: vec![],
            sharpness: None,
        })
    }

    /// Rows that go through at once, of `n`.
    pub fn chunk_rows(setup: &ModelSpec, n: usize) -> usize {
        let replicas = u64::from(setup.members) * u64::from(setup.copies());
        let fit = (CHUNK_NUMBERS / (setup.net.widest() * replicas).max(1)).clamp(1, CHUNK as u64) as usize;
        n.clamp(1, fit)
    }

    pub fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.exec.write(self.weights, weights)
    }

    /// Everything that training left.
    pub fn set(&mut self, trained: &Trained) -> Result<()> {
        self.set_weights(&trained.weights)?;
        for (name, buf) in &self.posterior {
            self.exec.write(*buf, &trained.posterior(name).ok_or_else(|| no_posterior(name))?.values)?;
        }
        self.spread = trained.spread().to_vec();
        self.sharpness = trained.sharpness();
        self.n_samples = self.setup.method.n_samples(trained);
        self.host_layers = self.setup.method.host_layers(&self.setup, trained, self.seed)?;
        match self.running {
            Some(buf) => self.exec.write(buf, &self.setup.predict_running(&trained.running)),
            None => Ok(()),
        }
    }

    /// Rows of each set.
    fn n_of(&self, x: Source) -> usize {
        match x {
            Source::Inputs(x) => x.len() / self.setup.net.n_in() as usize / self.setup.sets().1 as usize,
            Source::Windows(_, n) => n,
        }
    }

    /// Runs over x [n, n_in], or x [S, n, n_in] where the setup has S data sets, a chunk at a time.
    pub fn each_chunk(&mut self, x: Inputs, see: impl FnMut(Chunk) -> Result<()>) -> Result<()> {
        self.each_chunk_of(Source::Inputs(x), see)
    }

    fn each_chunk_of(&mut self, x: Source, mut see: impl FnMut(Chunk) -> Result<()>) -> Result<()> {
        let d = self.setup.net.n_in() as usize;
        let sets = self.setup.sets().1 as usize;
        let n = self.n_of(x);
        let mut padded = vec![0.0; sets * self.rows * d];
        // Samples and masks depend on seed and replica alone, so every chunk sees the same networks.
        let args = [StepArgs { seed: self.seed, n_samples: self.n_samples, ..Default::default() }];
        for first in (0..n).step_by(self.rows) {
            stop::check()?;
            let rows = self.rows.min(n - first);
            let part = first * d..(first + rows) * d;
            match x {
                Source::Inputs(Inputs::Rows(x)) => {
                    for (to, from) in padded.chunks_exact_mut(self.rows * d).zip(x.chunks_exact(n * d)) {
                        to[..rows * d].copy_from_slice(&from[part.clone()]);
                    }
                }
                Source::Inputs(Inputs::Images(bytes)) => normalise(&self.setup, &bytes[part], &mut padded),
                Source::Windows(windows, _) => {
                    for (to, window) in padded.chunks_exact_mut(self.rows * d).zip(windows) {
                        window.copy(first, d, &mut to[..rows * d]);
                    }
                }
            }
            self.exec.write(self.x, &padded)?;
            self.exec.run(&args)?;
            let outputs = self.exec.read(self.outputs)?;
            // Without a hidden layer the features are the inputs.
            let features = match self.features {
                Some(f) if f.buf != self.x => self.exec.read(f.buf)?,
                Some(_) => padded.clone(),
                None => vec![],
            };
            see(Chunk { first, rows, stride: self.rows, outputs: &outputs, features: &features })?;
        }
        Ok(())
    }

    /// Outputs [replicas, n, `ModelSpec::output_width`] of x [n, n_in], or of x [S, n, n_in] where the setup has S data sets.
    pub fn outputs(&mut self, x: Inputs) -> Result<Vec<f32>> {
        self.outputs_of(Source::Inputs(x))
    }

    pub(super) fn outputs_of(&mut self, x: Source) -> Result<Vec<f32>> {
        let (n, n_out) = (self.n_of(x), self.setup.net.n_out() as usize);
        let replicas = self.replicas;
        if !self.host_layers.is_empty() {
            return self.host_outputs(x, n);
        }
        let mut all = vec![0.0; replicas * n * n_out];
        self.each_chunk_of(x, |c| {
            for r in 0..replicas {
                all[(r * n + c.first) * n_out..][..c.rows * n_out]
                    .copy_from_slice(&c.outputs[r * c.stride * n_out..][..c.rows * n_out]);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// What the host layers make of the networks' features and outputs.
    fn host_outputs(&mut self, x: Source, n: usize) -> Result<Vec<f32>> {
        let layers = std::mem::take(&mut self.host_layers);
        let (n_out, width) = (self.setup.net.n_out() as usize, self.setup.output_width());
        let Some(Features { replicas: shared, width: d, .. }) = self.features else { return Ok(vec![]) };
        let (copies, d) = (layers.first().map_or(1, |l| l.replicas()), d as usize);
        let mut all = vec![0.0; layers.len() * copies * n * width];
        let done = self.each_chunk_of(x, |c| {
            for (e, layer) in layers.iter().enumerate() {
                let f = &c.features[e * shared as usize / layers.len() * c.stride * d..][..c.rows * d];
                let z = &c.outputs[e * c.stride * n_out..][..c.rows * n_out];
                layer.outputs(f, z, &mut |copy, row, values| {
                    all[((e * copies + copy) * n + c.first + row) * width..][..width].copy_from_slice(values);
                });
            }
            Ok(())
        });
        self.host_layers = layers;
        done.map(|()| all)
    }

    /// The predictive distribution in standardised units; of several targets that of the first.
    pub fn predict(&mut self, x: Inputs) -> Result<Predictive> {
        self.predict_target(x, 0)
    }

    /// The same of target `at`.
    pub fn predict_target(&mut self, x: Inputs, at: usize) -> Result<Predictive> {
        let n = x.len() / self.setup.net.n_in() as usize;
        let outputs = self.outputs(x)?;
        Ok(self.predictive_of(at, &outputs, n))
    }

    fn predictive_of(&self, at: usize, outputs: &[f32], n: usize) -> Predictive {
        let mut predictive = self.setup.predictive_of(at, outputs, n, self.seed);
        match &mut predictive {
            Predictive::Regression(r) => self.spread.get(at).into_iter().for_each(|s| r.draw_out(f64::from(*s))),
            Predictive::Classification(c) => self.sharpness.into_iter().for_each(|s| c.sharpen(s)),
        }
        predictive
    }

    /// The same of each target, from one pass.
    pub fn predict_all(&mut self, x: Inputs) -> Result<Vec<Predictive>> {
        let n = x.len() / self.setup.net.n_in() as usize;
        let outputs = self.outputs(x)?;
        let targets = 0..self.setup.targets as usize;
        Ok(targets.map(|at| self.predictive_of(at, &outputs, n)).collect())
    }
}

/// Bytes as `gather_images` makes them numbers, without its shifts and mirrors.
fn normalise(setup: &ModelSpec, bytes: &[u8], out: &mut [f32]) {
    let Some(image) = setup.image else { return };
    let c = image.size.2 as usize;
    for (to, from) in out.chunks_exact_mut(c).zip(bytes.chunks_exact(c)) {
        for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
            *to = (f32::from(*from) * (1.0 / 255.0) - image.mean[i]) * image.inv_sd[i];
        }
    }
}

fn no_posterior(name: &str) -> Error {
    Error::run(
        "checkpoint",
        format!("holds no {name}: training has not come to its end"),
        either("finish it with `vifo fit --resume RUN`", "resume it"),
    )
}

/// Numbers of the widest layer over all replicas of a recomputation: 256 MiB.
const STATISTICS_NUMBERS: u64 = 64 << 20;

/// Running statistics of batch normalisation for weights that were not trained step by step: the average over the batches
/// of `x`, each by the number of its rows, of their means and unbiased variances, as PyTorch's `update_bn` has it. One set a
/// member, or one for each of SWAG's networks; empty where the network normalises nothing.
pub fn recompute_running(
    setup: &ModelSpec,
    device: &Device,
    trained: &Trained,
    seed: u32,
    x: Inputs,
) -> Result<Vec<f32>> {
    if setup.layout().running == 0 {
        return Ok(vec![]);
    }
    let members = setup.members as usize;
    if !setup.method.has_own_statistics() {
        return statistics_of(setup, device, trained, (seed, 0), x);
    }
    // As many networks at once as the memory takes.
    let batch = u64::from(setup.batch).min((x.len() / setup.net.n_in() as usize) as u64);
    let fit = (STATISTICS_NUMBERS / (setup.net.widest() * batch).max(1)).max(1) as u32;
    let mut all = vec![];
    for m in 0..members {
        let member = trained.member(m, members);
        for first in (0..setup.predict_samples).step_by(fit as usize) {
            let predict_samples = fit.min(setup.predict_samples - first);
            let part = ModelSpec { predict_samples, first_member: 0, ..setup.part(m as u32, 1) };
            let number = (setup.first_member + m as u32) * setup.predict_samples + first;
            all.extend(statistics_of(&part, device, &member, (seed, number), x)?);
        }
    }
    Ok(all)
}

/// `from` = seed, and number of the first network among all.
fn statistics_of(
    setup: &ModelSpec,
    device: &Device,
    trained: &Trained,
    (seed, first_network): (u32, u32),
    x: Inputs,
) -> Result<Vec<f32>> {
    let d = setup.net.n_in() as usize;
    let n = x.len() / d;
    let networks = setup.members * if setup.method.has_own_statistics() { setup.copies() } else { 1 };
    let mut sums = vec![0f64; networks as usize * setup.layout().running];
    let batch = (setup.batch as usize).clamp(1, n.max(1));
    let n_samples = setup.method.n_samples(trained);
    // Rows, executor, its inputs and statistics.
    type Recorded = (usize, Box<dyn Executor>, Buf, Option<Buf>);
    let mut recorded: Option<Recorded> = None;
    for first in (0..n).step_by(batch) {
        stop::check()?;
        let rows = batch.min(n - first);
        // The last, short batch has a program of its own: a filler row would count.
        if recorded.as_ref().is_none_or(|r| r.0 != rows) {
            let p = setup.record_statistics(rows as u32, first_network)?;
            let mut exec = device.executor(p.program)?;
            exec.write(p.weights, &trained.weights)?;
            for (name, buf) in &p.posterior {
                exec.write(*buf, &trained.posterior(name).ok_or_else(|| no_posterior(name))?.values)?;
            }
            recorded = Some((rows, exec, p.x, p.running));
        }
        let Some((_, mut exec, to, running)) = recorded.take() else { continue };
        let mut values = vec![0.0; rows * d];
        let part = first * d..(first + rows) * d;
        match x {
            Inputs::Rows(x) => values.copy_from_slice(&x[part]),
            Inputs::Images(bytes) => normalise(setup, &bytes[part], &mut values),
        }
        // A batch goes through all networks at once, which may take longer than a stop may.
        let (exec, found) = stop::abandonable(move || {
            exec.write(to, &values)?;
            exec.run(&[StepArgs { seed, n_samples, n_valid: rows as u32, ..Default::default() }])?;
            let found = running.map(|running| exec.read(running)).transpose()?;
            Ok((exec, found))
        })?;
        for (sum, v) in sums.iter_mut().zip(found.unwrap_or_default()) {
            *sum += f64::from(v) * rows as f64;
        }
        recorded = Some((rows, exec, to, running));
    }
    Ok(sums.into_iter().map(|s| (s / n.max(1) as f64) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as they lie, and round to the first where the data set ends.
    #[test]
    fn a_window_goes_round() {
        let x: Arc<Vec<f32>> = Arc::new((0..10u8).map(f32::from).collect());
        let copied = |first, row, rows: usize| {
            let mut to = vec![f32::NAN; 2 * rows];
            Window { x: x.clone(), first }.copy(row, 2, &mut to);
            to
        };
        assert_eq!(copied(0, 0, 5), *x);
        assert_eq!(copied(1, 1, 2), [4.0, 5.0, 6.0, 7.0]);
        assert_eq!(copied(3, 1, 3), [8.0, 9.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(copied(3, 3, 1), [2.0, 3.0]);
    }
}
