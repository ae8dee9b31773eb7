//! Predictions of data sets side by side on the replica axis, each by its own members.

use super::evaluate::{Predictor, Source, Window};
use crate::error::Result;
use crate::exec::Device;
use crate::method::{ModelSpec, Predictive, Trained};
use rayon::prelude::*;

/// Predictions of all sets; on the CPU cut over the threads.
pub(super) struct Forward {
    parts: Vec<ForwardPart>,
    seed: u32,
}

struct ForwardPart {
    /// Place of the first set, and the setup of each.
    first: usize,
    setups: Vec<ModelSpec>,
    predictor: Predictor,
    /// [S]: where the rows of each lie, which are shared with whoever else holds them.
    windows: Vec<Window>,
    n: usize,
}

impl Forward {
    /// Of each set the rows from the start of its window on, `n` of them.
    pub fn new(setup: &ModelSpec, seed: u32, device: &Device, windows: &[Window], n: usize) -> Result<Forward> {
        let per_set = setup.per_set;
        let n_parts = if device.is_cpu() { rayon::current_num_threads().clamp(1, windows.len()) } else { 1 };
        let mut parts = vec![];
        for i in 0..n_parts {
            let (first, last) = (i * windows.len() / n_parts, (i + 1) * windows.len() / n_parts);
            let of = |first: usize, sets: usize| setup.part(first as u32 * per_set, sets as u32 * per_set);
            parts.push(ForwardPart {
                first,
                setups: (first..last).map(|s| of(s, 1)).collect(),
                predictor: Predictor::new(&of(first, last - first), device, seed, n)?,
                windows: windows[first..last].to_vec(),
                n,
            });
        }
        Ok(Forward { parts, seed })
    }

    /// `of` the predictives of each target for each set that is `wanted`, by what all sets predict with; None where there are
    /// no rows.
    pub fn each<T: Send>(
        &mut self,
        trained: &Trained,
        wanted: &[bool],
        of: impl Fn(usize, &[Predictive]) -> T + Sync,
    ) -> Result<Vec<Option<T>>> {
        let (seed, all) = (self.seed, wanted.len());
        let part = |p: &mut ForwardPart| -> Result<Vec<Option<T>>> {
            let sets = p.setups.len();
            let places = p.first..p.first + sets;
            if p.n == 0 || !wanted[places.clone()].contains(&true) {
                return Ok(places.map(|_| None).collect());
            }
            p.predictor.set(&trained.part(places.clone(), all))?;
            let outputs = p.predictor.outputs_of(Source::Windows(&p.windows, p.n))?;
            let each = outputs.len() / sets;
            let one = |s: usize| {
                let (setup, outputs) = (&p.setups[s], &outputs[s * each..][..each]);
                let targets = 0..setup.targets as usize;
                let all: Vec<_> = targets.map(|at| setup.predictive_of(at, outputs, p.n, seed)).collect();
                of(p.first + s, &all)
            };
            Ok(places.zip(0..).map(|(place, s)| wanted[place].then(|| one(s))).collect())
        };
        let all: Result<Vec<_>> = match &mut self.parts[..] {
            [one] => part(one).map(|p| vec![p]),
            many => many.par_iter_mut().map(part).collect(),
        };
        Ok(all?.into_iter().flatten().collect())
    }
}
