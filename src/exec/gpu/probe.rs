//! A kernel of a test or of `vifo doctor`, run alone over the fragments: words out, nothing else.

use super::device::Gpu;
use super::pipelines::{Binding, Checks, compose};
use super::readback::Readback;
use crate::error::Result;

impl Gpu {
    /// Runs `fn word(i: u32) -> u32` of `body` for i in 0..count; the body's first line names its fragments.
    #[doc(hidden)]
    pub fn probe(&self, body: &str, count: u32) -> Result<Vec<u32>> {
        let kernel = "
            @group(0) @binding(0) var<storage, read_write> probe_out: array<u32>;
            @compute @workgroup_size(64)
            fn probe(@builtin(global_invocation_id) id: vec3<u32>) {
                if id.x < arrayLength(&probe_out) { probe_out[id.x] = word(id.x); }
            }";
        let module = self.shader("probe", &compose("probe", &format!("{body}\n{kernel}"))?, Checks::On)?;
        let pipeline = self.build("probe", &module, None, &[Binding::ReadWrite(4)])?;
        let bytes = count.max(1) as u64 * 4;
        let (out, bind_group) = self.creating("probe", || {
            let out = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("probe"),
                size: bytes,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            let entries = [wgpu::BindGroupEntry { binding: 0, resource: out.as_entire_binding() }];
            let descriptor =
                wgpu::BindGroupDescriptor { label: Some("probe"), layout: &pipeline.layout, entries: &entries };
            let bind_group = self.device.create_bind_group(&descriptor);
            (out, bind_group)
        })?;
        self.guarded(|| {
            let mut encoder = self.device.create_command_encoder(&Default::default());
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, &bind_group, &[]);
            pass.dispatch_workgroups(count.div_ceil(64), 1, 1);
            drop(pass);
            self.queue.submit([encoder.finish()])
        })?;
        Readback::default().read(self, &out, bytes)
    }
}
