//! A program's memory on the device: what it needs, whether the adapter allows it, and the buffers themselves.

use super::device::Gpu;
use super::variants::{Form, Variant, beyond, cure, most_bytes};
use crate::error::{Error, Result, either};
use crate::ops::Op;
use crate::program::plan::{BufferPlan, plan};
use crate::program::{Buf, BufferInfo, Element, Program};

/// Kernels that bind quadruples see whole ones.
const QUAD: u64 = 16;

/// Buffers by slot of the plan, then those of bytes; and what the steps share for their own intermediate sums.
pub(super) struct Memory {
    slots: Vec<wgpu::Buffer>,
    scratch: wgpu::Buffer,
    slot: Vec<usize>,
    /// Size in bytes of each buffer of the program.
    size: Vec<u64>,
}

/// Bytes are packed into words, the first in the lowest bits.
fn size_of(info: &BufferInfo) -> u64 {
    match info.kind {
        Element::Scalar => info.len as u64 * 4,
        Element::Half | Element::Bytes => (info.len as u64 * info.kind.bytes()).next_multiple_of(4),
    }
}

/// Refuses, before anything is created, what the adapter cannot hold or start. The form of each step is that of the
/// wanted variant where an op has it.
pub(super) fn preflight(
    gpu: &Gpu,
    program: &Program,
    wanted: &dyn Fn(&Op) -> Variant,
) -> Result<(BufferPlan, Vec<Form>)> {
    let limits = &gpu.limits;
    let refuse = |found: String, allowed: String, help: String| {
        Err(Error::device(gpu.report().name.clone(), found, allowed, help))
    };
    let plan = plan(program);
    for info in &program.buffers {
        let need = size_of(info);
        let (most, help) = match info.kind {
            Element::Scalar | Element::Half => (most_bytes(limits), cure()),
            Element::Bytes => (
                gpu.max_bytes_binding(),
                either("use --device cpu or fewer images", "train on the CPU, or on fewer images"),
            ),
        };
        if need.next_multiple_of(if info.kind.is_number() { QUAD } else { 4 }) > most {
            return refuse(
                format!("buffer '{}' needs {need} bytes ({})", info.name, mib(need)),
                format!("{most} bytes ({}) a buffer", mib(most)),
                help,
            );
        }
    }
    let mut forms = vec![];
    for step in &program.steps {
        let form = gpu.form_of(program, step, wanted(&step.op));
        if let Some((found, allowed, help)) = beyond(&form, limits) {
            return refuse(found, allowed, help);
        }
        forms.push(form);
    }
    Ok((plan, forms))
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}

impl Memory {
    pub fn new(gpu: &Gpu, program: &Program, plan: BufferPlan, forms: &[Form]) -> Result<Self> {
        let (mut slot, size) = (plan.slot, program.buffers.iter().map(size_of).collect::<Vec<_>>());
        let slots = plan.slot_len.iter().zip(&plan.slot_kind);
        let mut slot_size: Vec<u64> = slots.map(|(len, kind)| (*len as u64).max(1) * kind.bytes()).collect();
        slot_size.iter_mut().for_each(|size| *size = size.next_multiple_of(QUAD));
        for (b, info) in program.buffers.iter().enumerate() {
            if info.kind == Element::Bytes {
                slot[b] = slot_size.len();
                slot_size.push(size[b]);
            }
        }
        let create = |label: &str, size: u64| {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let label = Some(label);
            gpu.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
        };
        let slots = gpu.creating("the program's buffers", || {
            slot_size.iter().enumerate().map(|(i, size)| create(&format!("slot {i}"), *size)).collect()
        })?;
        // Steps run one after another, so the largest need serves all.
        let scratch = forms.iter().map(|f| f.scratch_bytes).max().unwrap_or(0).max(QUAD);
        let scratch = gpu.creating("the kernels' scratch memory", || create("scratch", scratch))?;
        Ok(Memory { slots, scratch, slot, size })
    }

    pub fn buffer(&self, buf: Buf) -> &wgpu::Buffer {
        &self.slots[self.slot[buf.0 as usize]]
    }

    pub fn size(&self, buf: Buf) -> u64 {
        self.size[buf.0 as usize]
    }

    /// Cut to the buffer's own length, a slot may be longer, in whole elements of that many bytes.
    /// Halves take half of them.
    pub fn binding(&self, buf: Buf, element: u64, info: &BufferInfo) -> wgpu::BindingResource<'_> {
        let element = if info.kind == Element::Half { (element / 2).max(4) } else { element };
        let size = self.size(buf).next_multiple_of(element);
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.buffer(buf),
            offset: 0,
            size: wgpu::BufferSize::new(size),
        })
    }

    /// Cut to what this step needs: its kernels count their parts by it.
    pub fn scratch(&self, form: &Form) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.scratch,
            offset: 0,
            size: wgpu::BufferSize::new(form.scratch_bytes),
        })
    }
}

/// `Gpu`'s says why.
#[cfg(target_arch = "wasm32")]
impl Drop for Memory {
    fn drop(&mut self) {
        self.slots.iter().chain([&self.scratch]).for_each(wgpu::Buffer::destroy);
    }
}
