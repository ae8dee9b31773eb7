//! Forward passes over whole data sets, a chunk of rows at a time.

use crate::data::Inputs;
use crate::error::Result;
use crate::exec::{Device, Executor};
use crate::method::{PredictProgram, Predictive, Setup};
use crate::ops::StepArgs;
use crate::program::Buf;

/// Rows of a chunk: large enough to fill the machine, small enough for any memory.
const CHUNK: usize = 512;

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
        let PredictProgram { program, x, weights, running, outputs, replicas, rows } =
            setup.record_prediction(n.clamp(1, CHUNK) as u32)?;
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

    /// Running statistics as training left them; nothing to set where the network has none.
    pub fn set_running(&mut self, running: &[f32]) -> Result<()> {
        match self.running {
            Some(buf) => self.exec.write(buf, &self.setup.predict_running(running)),
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
                Inputs::Images(bytes) => self.normalise(&bytes[part], &mut padded),
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

    /// Bytes as `gather_images` makes them numbers, without its shifts and mirrors.
    fn normalise(&self, bytes: &[u8], out: &mut [f32]) {
        let Some(image) = self.setup.image else { return };
        let c = image.size.2 as usize;
        for (to, from) in out.chunks_exact_mut(c).zip(bytes.chunks_exact(c)) {
            for (i, (to, from)) in to.iter_mut().zip(from).enumerate() {
                *to = (f32::from(*from) * (1.0 / 255.0) - image.mean[i]) * image.inv_sd[i];
            }
        }
    }

    /// The predictive distribution in standardised units.
    pub fn predict(&mut self, x: Inputs) -> Result<Predictive> {
        let n = x.len() / self.setup.net.n_in() as usize;
        let outputs = self.outputs(x)?;
        Ok(self.setup.predictive(&outputs, n, self.seed))
    }
}
