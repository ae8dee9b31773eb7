//! Forward passes over whole data sets, a chunk of rows at a time.

use crate::data::Inputs;
use crate::error::Result;
use crate::exec::{Device, Executor};
use crate::method::{PredictProgram, Predictive, Setup, Trained};
use crate::ops::StepArgs;
use crate::program::Buf;

/// Rows of a chunk: large enough to fill the machine, small enough for any memory.
const CHUNK: usize = 512;
/// Numbers of the widest layer in a chunk, over all replicas: 64 MiB, so that images do not fill the memory.
const CHUNK_NUMBERS: u64 = 16 << 20;

pub struct Predictor {
    setup: Setup,
    seed: u32,
    exec: Box<dyn Executor>,
    x: Buf,
    weights: Buf,
    running: Option<Buf>,
    outputs: Buf,
    replicas: usize,
    rows: usize,
}

impl Predictor {
    /// `n` = rows to expect; smaller sets get a smaller program.
    pub fn new(setup: &Setup, device: &Device, seed: u32, n: usize) -> Result<Predictor> {
        let replicas = u64::from(setup.members) * if setup.is_vi() { u64::from(setup.predict_samples) } else { 1 };
        let fit = (CHUNK_NUMBERS / (setup.net.widest() * replicas).max(1)).clamp(1, CHUNK as u64) as usize;
        let PredictProgram { program, x, weights, running, outputs, replicas, rows } =
            setup.record_prediction(n.clamp(1, fit) as u32)?;
        let exec = device.executor(program)?;
        Ok(Predictor {
            setup: setup.clone(),
            seed,
            exec,
            x,
            weights,
            running,
            outputs,
            replicas: replicas as usize,
            rows: rows as usize,
        })
    }

    pub fn set_weights(&mut self, weights: &[f32]) -> Result<()> {
        self.exec.write(self.weights, weights)
    }

    /// Everything that training left.
    pub fn set(&mut self, trained: &Trained) -> Result<()> {
        self.set_weights(&trained.weights)?;
        match self.running {
            Some(buf) => self.exec.write(buf, &self.setup.predict_running(&trained.running)),
            None => Ok(()),
        }
    }

    /// Outputs [replicas, n, n_out] of x [n, n_in].
    pub fn outputs(&mut self, x: Inputs) -> Result<Vec<f32>> {
        let (d, n_out) = (self.setup.net.n_in() as usize, self.setup.net.n_out() as usize);
        let n = x.len() / d;
        let mut all = vec![0.0; self.replicas * n * n_out];
        let mut padded = vec![0.0; self.rows * d];
        // VI's weight samples depend on seed and replica alone, so every chunk sees the same networks.
        let args = [StepArgs { seed: self.seed, ..Default::default() }];
        for first in (0..n).step_by(self.rows) {
            let rows = self.rows.min(n - first);
            let part = first * d..(first + rows) * d;
            match x {
                Inputs::Rows(x) => padded[..rows * d].copy_from_slice(&x[part]),
                Inputs::Images(bytes) => normalise(&self.setup, &bytes[part], &mut padded),
            }
            self.exec.write(self.x, &padded)?;
            self.exec.run(&args)?;
            let out = self.exec.read(self.outputs)?;
            for r in 0..self.replicas {
                all[(r * n + first) * n_out..][..rows * n_out]
                    .copy_from_slice(&out[r * self.rows * n_out..][..rows * n_out]);
            }
        }
        Ok(all)
    }

    /// The predictive distribution in standardised units.
    pub fn predict(&mut self, x: Inputs) -> Result<Predictive> {
        let n = x.len() / self.setup.net.n_in() as usize;
        let outputs = self.outputs(x)?;
        Ok(self.setup.predictive(&outputs, n, self.seed))
    }
}

/// Bytes as `gather_images` makes them numbers, without its shifts and mirrors.
fn normalise(setup: &Setup, bytes: &[u8], out: &mut [f32]) {
    let Some(image) = setup.image else { return };
    let c = image.size.2 as usize;
    for (to, from) in out.chunks_exact_mut(c).zip(bytes.chunks_exact(c)) {
        for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
            *to = (f32::from(*from) * (1.0 / 255.0) - image.mean[i]) * image.inv_sd[i];
        }
    }
}

/// Running statistics of batch normalisation for given weights [members, P]: the average over the batches of `x`, each by
/// the number of its rows, of their means and unbiased variances, as PyTorch's `update_bn` has it. Empty where the network
/// normalises nothing.
pub fn recompute_running(setup: &Setup, device: &Device, weights: &[f32], x: Inputs) -> Result<Vec<f32>> {
    let layout = setup.layout();
    if layout.running == 0 {
        return Ok(vec![]);
    }
    let d = setup.net.n_in() as usize;
    let n = x.len() / d;
    let mut sums = vec![0f64; setup.members as usize * layout.running];
    let batch = (setup.batch as usize).clamp(1, n.max(1));
    // Rows, executor, its inputs and statistics.
    type Recorded = (usize, Box<dyn Executor>, Buf, Option<Buf>);
    let mut recorded: Option<Recorded> = None;
    for first in (0..n).step_by(batch) {
        let rows = batch.min(n - first);
        // The last, short batch has a program of its own: a filler row would count.
        if recorded.as_ref().is_none_or(|r| r.0 != rows) {
            let p = setup.record_statistics(rows as u32)?;
            let mut exec = device.executor(p.program)?;
            exec.write(p.weights, weights)?;
            recorded = Some((rows, exec, p.x, p.running));
        }
        let Some((_, exec, to, running)) = &mut recorded else { continue };
        let mut values = vec![0.0; rows * d];
        let part = first * d..(first + rows) * d;
        match x {
            Inputs::Rows(x) => values.copy_from_slice(&x[part]),
            Inputs::Images(bytes) => normalise(setup, &bytes[part], &mut values),
        }
        exec.write(*to, &values)?;
        exec.run(&[StepArgs { n_valid: rows as u32, ..Default::default() }])?;
        if let Some(running) = running {
            for (sum, v) in sums.iter_mut().zip(exec.read(*running)?) {
                *sum += f64::from(v) * rows as f64;
            }
        }
    }
    Ok(sums.into_iter().map(|s| (s / n.max(1) as f64) as f32).collect())
}
