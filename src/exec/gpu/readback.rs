//! From a buffer on the device back to the host: one staging buffer, grown where needed, and errors in place of panics.

use super::device::Gpu;
use super::wait::wake;
use crate::error::{Error, Result, either};

#[derive(Default)]
pub(super) struct Readback {
    staging: Option<wgpu::Buffer>,
}

impl Readback {
    /// Copies the first `bytes` bytes of `from`.
    pub fn read<T: bytemuck::Pod>(&mut self, gpu: &Gpu, from: &wgpu::Buffer, bytes: u64) -> Result<Vec<T>> {
        let fits = self.staging.as_ref().is_some_and(|s| s.size() >= bytes);
        if !fits {
            self.staging = Some(gpu.creating("the read-back buffer", || {
                gpu.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("staging"),
                    size: bytes,
                    usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                })
            })?);
        }
        let failed = |what: String| {
            Error::run(
                format!("device {}", gpu.report().name),
                what,
                either("resume with `vifo fit --resume RUN`", "resume from the last checkpoint"),
            )
        };
        let Some(staging) = &self.staging else { return Err(failed("no read-back buffer".into())) };
        gpu.check()?;
        let submission = gpu.guarded(|| {
            let mut encoder =
                gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("read") });
            encoder.copy_buffer_to_buffer(from, 0, staging, 0, bytes);
            gpu.submit(Some(encoder.finish()))
        })?;
        gpu.check()?;
        let (done, mapped) = std::sync::mpsc::channel();
        gpu.guarded(|| {
            staging.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
                let _ = done.send(result);
                wake();
            });
        })?;
        gpu.wait(submission)?;
        let values = match gpu.heard(&mapped)? {
            Some(Ok(())) => {
                let view = staging.get_mapped_range(0..bytes);
                let values = view.map(|view| bytemuck::pod_collect_to_vec(&view[..])).map_err(|e| e.to_string());
                staging.unmap();
                values
            }
            Some(Err(e)) => Err(e.to_string()),
            None => Err("the buffer was never mapped".into()),
        };
        values.or_else(|e| {
            gpu.check_cause()?;
            Err(failed(format!("reading failed: {e}")))
        })
    }
}

/// `Gpu`'s says why.
#[cfg(target_arch = "wasm32")]
impl Drop for Readback {
    fn drop(&mut self) {
        self.staging.iter().for_each(wgpu::Buffer::destroy);
    }
}
