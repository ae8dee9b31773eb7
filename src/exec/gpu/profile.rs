//! How long each kernel of a step takes on the card, by its own clock: timestamps before and behind every dispatch. Each stands in
//! a pass of its own, so that a step takes longer than in training, where passes are not parted.

use super::GpuExecutor;
use super::readback::Readback;
use crate::error::{Error, Result};
use crate::ops::StepArgs;

/// A kernel of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// "linear_forward_tiled 32x32".
    pub kernel: String,
    /// Median over the steps.
    pub seconds: f64,
}

/// Timestamps of one query set, at most, as WebGPU has it.
const MOST_QUERIES: usize = 4096;

impl GpuExecutor {
    /// The kernels of `args.len()` steps, which are run.
    ///
    /// # Errors
    /// `Error::Device` where the adapter has no timestamps, or a step more kernels than a query set has places.
    pub fn profile(&mut self, args: &[StepArgs<f64>]) -> Result<Vec<Timed>> {
        let gpu = self.gpu.clone();
        let refused = |found: &str| Error::device(gpu.report().name.clone(), found, "", "time whole steps: vifo bench");
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Err(refused("has no timestamps"));
        }
        let n = 2 * self.step.len();
        if n > MOST_QUERIES {
            return Err(refused("has fewer timestamps than a step has kernels"));
        }
        let (set, buffer) = gpu.creating("timestamps", || {
            let set = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: n as u32,
            });
            let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("timestamps"),
                size: 8 * n as u64,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            (set, buffer)
        })?;
        let period = f64::from(gpu.queue.get_timestamp_period()) * 1e-9;
        let mut times: Vec<Vec<f64>> = vec![vec![]; self.step.len()];
        let mut readback = Readback::default();
        for row in args {
            self.write_schedule(std::slice::from_ref(row));
            gpu.guarded(|| {
                let mut encoder = gpu.device.create_command_encoder(&Default::default());
                for (i, dispatch) in self.step.iter().enumerate() {
                    let writes = wgpu::ComputePassTimestampWrites {
                        query_set: &set,
                        beginning_of_pass_write_index: Some(2 * i as u32),
                        end_of_pass_write_index: Some(2 * i as u32 + 1),
                    };
                    let descriptor =
                        wgpu::ComputePassDescriptor { label: Some("profile"), timestamp_writes: Some(writes) };
                    dispatch.encode(&mut encoder.begin_compute_pass(&descriptor));
                }
                encoder.resolve_query_set(&set, 0..n as u32, &buffer, 0);
                gpu.queue.submit([encoder.finish()])
            })?;
            let stamps: Vec<u64> = readback.read(&gpu, &buffer, 8 * n as u64)?;
            for (times, pair) in times.iter_mut().zip(stamps.as_chunks::<2>().0) {
                times.push(pair[1].saturating_sub(pair[0]) as f64 * period);
            }
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).copied().unwrap_or(0.0)
        };
        let one = |(dispatch, times): (&super::Dispatch, &mut Vec<f64>)| Timed {
            kernel: dispatch.name.clone(),
            seconds: median(times),
        };
        Ok(self.step.iter().zip(&mut times).map(one).collect())
    }
}
