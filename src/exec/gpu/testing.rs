//! Hooks into a device for tests only. Public, because integration tests see the library as it is built for
//! everybody: a cargo feature would build it twice. Hidden from the documentation, and used by nothing else.

use super::halves::Halves;
#[cfg(not(target_arch = "wasm32"))]
use super::pipelines::values;
use super::pipelines::{Binding, Checks, Mode, compose};
use super::precision::on_matrices;
use super::readback::Readback;
#[cfg(not(target_arch = "wasm32"))]
use super::spirv::Parsed;
use super::variants::{Class, Form, Kernel, Slot, Variant, form_of_product};
use super::{Gpu, GpuExecutor};
use crate::error::Result;
use crate::ops::{Op, Product};
use crate::program::Program;
use std::sync::{Arc, PoisonError};

/// The device with the kernels that hardware would get, so that a test can run them in a whole program.
pub fn as_hardware(mut gpu: Gpu) -> Gpu {
    gpu.class = Class::Hardware;
    gpu
}

/// Destroys the device under its executors, so that a test can show what a lost device does.
pub fn lose(gpu: &Gpu) {
    gpu.device.destroy();
    let _ = gpu.device.poll(wgpu::PollType::Poll);
}

/// The program op by op, as it was recorded.
pub fn apart(program: Program, gpu: Arc<Gpu>, checks: Checks) -> Result<GpuExecutor> {
    let of = gpu.clone();
    GpuExecutor::as_recorded(program, gpu, checks, &|op| of.variants(op).1)
}

/// From now on no submit is of more operations than these, unless it is of one dispatch.
pub fn cut_submits(executor: &mut GpuExecutor, flops: f64) {
    (executor.most_flops, executor.cap_flops) = (flops, flops);
}

/// Puts another source in the place of a shader, so that a test can show that a wrong one is caught.
pub fn replace_shader(gpu: &Gpu, family: &'static str, composed: &str) -> Result<()> {
    for checks in [Checks::On, Checks::Off] {
        let module = gpu.shader(family, composed, checks)?;
        let mut modules = gpu.pipelines.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.insert((family, Mode::plain(checks)), module);
    }
    Ok(())
}

/// Of whole quadruples of columns and not, of whole operands and not.
fn kinds_of_product(op: &Op) -> Vec<Product> {
    let kinds = [(0, false), (0, true), (1, false)].into_iter();
    kinds.filter_map(|(n, whole)| Some(Product { n, whole, ..op.product()? })).collect()
}

/// Every kernel that there is, with an op that it serves.
pub fn all_kernels() -> Vec<(Op, Kernel)> {
    let mut all: Vec<(Op, Kernel)> = vec![];
    for op in crate::ops::all() {
        let products = kinds_of_product(&op).into_iter();
        let forms = products.flat_map(|p| Variant::ALL.map(|v| form_of_product(&op, &p, v, u64::MAX)));
        for kernel in std::iter::once(Form::plain(&op)).chain(forms.flatten()).flat_map(|f| f.kernels) {
            if all.iter().all(|(_, k)| (k.entry, k.tile) != (kernel.entry, kernel.tile)) {
                all.push((op, kernel));
            }
        }
    }
    all
}

/// The bindings of a kernel that may hold halves.
pub fn halves_of(op: &Op, kernel: &Kernel) -> Halves {
    let takes = |slot: &Slot| match slot {
        Slot::Input(i) => op.halves().contains(&op.inputs()[*i]),
        Slot::Output(i) => op.halves().contains(&op.outputs()[*i]),
        Slot::WriteScratch | Slot::ReadScratch | Slot::Step | Slot::Schedule | Slot::Count => false,
    };
    kernel.binds.iter().zip(1..).filter(|((slot, _), _)| takes(slot)).map(|(_, binding)| 1 << binding).sum()
}

/// Every kernel on matrix units with an op that it serves: with squares of 16 in subgroups of 32 and 64, and of 8 in subgroups of 8.
pub fn all_on_matrices() -> Vec<(Op, Kernel)> {
    let mut all: Vec<(Op, Kernel)> = vec![];
    for op in crate::ops::all() {
        let products = kinds_of_product(&op);
        for (side, lanes) in [(16, 32), (16, 64), (8, 8)] {
            let forms =
                products.iter().flat_map(|p| Variant::ALL.map(|v| form_of_product(&op, p, v, u64::MAX))).flatten();
            let kernels = forms.map(|form| on_matrices(&op, form, side, lanes).kernels.swap_remove(0));
            all.extend(kernels.filter(|k| k.matrix.is_some()).map(|k| (op, k)));
        }
    }
    all.dedup_by(|(_, a), (_, b)| (a.entry, a.tile, a.matrix) == (b.entry, b.tile, b.matrix));
    all
}

/// The text of a kernel with these bindings as halves, on matrix units where it is for them.
pub fn text_of(composed: &str, kernel: &Kernel, halves: Halves) -> String {
    match kernel.matrix {
        Some(matrix) => super::matrices::on_matrices(composed, halves, matrix),
        None => super::halves::halved(composed, halves),
    }
}

/// A kernel as SPIR-V, as Vulkan gets it. `tile` = what its constants are made from.
#[cfg(not(target_arch = "wasm32"))]
pub fn spirv_of(
    composed: &str,
    entry: &str,
    tile: Option<super::variants::Tile>,
    checks: Checks,
) -> std::result::Result<Vec<u32>, String> {
    Ok(Parsed::of(composed)?.translate(entry, &values((tile, &[])), checks)?.words)
}

/// Runs `fn word(i: u32) -> u32` of `body` for i in 0..count; the body's first line names its fragments.
pub fn probe(gpu: &Gpu, body: &str, count: u32) -> Result<Vec<u32>> {
    probe_rewritten(gpu, body, count, &|composed| composed)
}

/// The same of a shader that is rewritten as a driver's compiler might.
pub fn probe_rewritten(gpu: &Gpu, body: &str, count: u32, rewrite: &dyn Fn(String) -> String) -> Result<Vec<u32>> {
    let kernel = "
        @group(0) @binding(0) var<storage, read_write> probe_out: array<u32>;
        @compute @workgroup_size(64)
        fn probe(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&probe_out) { probe_out[id.x] = word(id.x); }
        }";
    let module = gpu.shader("probe", &rewrite(compose("probe", &format!("{body}\n{kernel}"))?), Checks::On)?;
    let pipeline = gpu.build("probe", &module, (None, &[]), &[Binding::ReadWrite(4)])?;
    let bytes = count.max(1) as u64 * 4;
    let (out, bind_group) = gpu.creating("probe", || {
        let out = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("probe"),
            size: bytes,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let entries = [wgpu::BindGroupEntry { binding: 0, resource: out.as_entire_binding() }];
        let descriptor =
            wgpu::BindGroupDescriptor { label: Some("probe"), layout: &pipeline.layout, entries: &entries };
        let bind_group = gpu.device.create_bind_group(&descriptor);
        (out, bind_group)
    })?;
    gpu.guarded(|| {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, &bind_group, &[]);
        pass.dispatch_workgroups(count.div_ceil(64), 1, 1);
        drop(pass);
        gpu.queue.submit([encoder.finish()])
    })?;
    Readback::default().read(gpu, &out, bytes)
}
