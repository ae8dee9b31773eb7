//! A program's memory on the device: what it needs, whether the adapter allows it, and the buffers themselves.

use super::device::Gpu;
use crate::error::{Error, Result};
use crate::ops::{Grid, Op};
use crate::program::plan::{Plan, plan};
use crate::program::{Buf, BufferInfo, Element, Program};

const CURE: &str = "use a smaller --batch, fewer members or --device cpu";
/// Threads of a workgroup, in every shader.
const GROUP_SIZE: u64 = 64;

const CURE_BYTES: &str = "use --device cpu or fewer images";

/// Buffers by slot of the plan, then those of bytes.
pub(super) struct Memory {
    slots: Vec<wgpu::Buffer>,
    slot: Vec<usize>,
    /// Size in bytes of each buffer of the program.
    size: Vec<u64>,
}

/// Bytes are packed into words, the first in the lowest bits.
fn size_of(info: &BufferInfo) -> u64 {
    match info.kind {
        Element::Scalar => info.len as u64 * 4,
        Element::Bytes => (info.len as u64).next_multiple_of(4),
    }
}

/// Refuses, before anything is created, what the adapter cannot hold or start.
pub(super) fn preflight(gpu: &Gpu, program: &Program) -> Result<Plan> {
    let limits = &gpu.limits;
    let refuse = |found: String, allowed: String, cure: &str| {
        Err(Error::device(gpu.report().name.clone(), found, allowed, cure))
    };
    let plan = plan(program);
    for info in &program.buffers {
        let need = size_of(info);
        let (most, cure) = match info.kind {
            Element::Scalar => (limits.max_buffer_size.min(limits.max_storage_buffer_binding_size), CURE),
            Element::Bytes => (gpu.max_bytes_binding(), CURE_BYTES),
        };
        if need > most {
            return refuse(
                format!("buffer '{}' needs {need} bytes ({})", info.name, mib(need)),
                format!("{most} bytes ({}) a buffer", mib(most)),
                cure,
            );
        }
    }
    for step in &program.steps {
        let name = step.op.name();
        let need = step.inputs.len() + step.outputs.len() + usize::from(step.op.uses_step());
        let most = limits.max_storage_buffers_per_shader_stage as usize;
        if need > most {
            return refuse(
                format!("{name} binds {need} storage buffers"),
                format!("{most} a kernel"),
                "use --device cpu",
            );
        }
        if groups(&step.op, limits.max_compute_workgroups_per_dimension).is_none() {
            return refuse(
                format!("{name} needs {:?}", step.op.grid()),
                format!("{} invocations a dispatch", u32::MAX),
                CURE,
            );
        }
    }
    Ok(plan)
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}

/// Workgroups in x and y; None where the flat index would not fit 32 bits or the grid would not fit the limit.
pub(super) fn groups(op: &Op, most: u32) -> Option<(u32, u32)> {
    let (count, threads) = match op.grid() {
        Grid::Threads(n) => (n.div_ceil(GROUP_SIZE), n.next_multiple_of(GROUP_SIZE)),
        Grid::Groups(n) => (n, n * GROUP_SIZE),
    };
    let y = count.div_ceil(most as u64).max(1);
    let x = count.div_ceil(y);
    // The rounded-up grid may be larger than asked for, and its last index must fit too.
    (threads <= u32::MAX as u64 && x * y * GROUP_SIZE <= u32::MAX as u64 && y <= most as u64)
        .then_some((x as u32, y as u32))
}

impl Memory {
    pub fn new(gpu: &Gpu, program: &Program, plan: Plan) -> Result<Self> {
        let (mut slot, size) = (plan.slot, program.buffers.iter().map(size_of).collect::<Vec<_>>());
        let mut slot_size: Vec<u64> = plan.slot_len.iter().map(|len| (*len as u64).max(1) * 4).collect();
        for (b, info) in program.buffers.iter().enumerate() {
            if info.kind == Element::Bytes {
                slot[b] = slot_size.len();
                slot_size.push(size[b]);
            }
        }
        let slots = gpu.creating("the program's buffers", || {
            slot_size
                .iter()
                .enumerate()
                .map(|(i, size)| {
                    gpu.device.create_buffer(&wgpu::BufferDescriptor {
                        label: Some(&format!("slot {i}")),
                        size: *size,
                        usage: wgpu::BufferUsages::STORAGE
                            | wgpu::BufferUsages::COPY_SRC
                            | wgpu::BufferUsages::COPY_DST,
                        mapped_at_creation: false,
                    })
                })
                .collect()
        })?;
        Ok(Memory { slots, slot, size })
    }

    pub fn buffer(&self, buf: Buf) -> &wgpu::Buffer {
        &self.slots[self.slot[buf.0 as usize]]
    }

    pub fn size(&self, buf: Buf) -> u64 {
        self.size[buf.0 as usize]
    }

    /// Cut to the buffer's own length: a slot may be longer.
    pub fn binding(&self, buf: Buf) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.buffer(buf),
            offset: 0,
            size: wgpu::BufferSize::new(self.size(buf)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::optimizer::L2Gradient;
    use crate::ops::reduce::SumSquares;

    #[test]
    fn grids_split_and_refuse() {
        let threads = |count| Op::L2Gradient(L2Gradient { count, scale: 0.0 });
        assert_eq!(groups(&threads(0), 65_535), Some((0, 1)));
        assert_eq!(groups(&threads(65), 65_535), Some((2, 1)));
        let (x, y) = groups(&threads(64 * 65_536), 65_535).expect("fits");
        assert!(x <= 65_535 && y == 2 && x * y >= 65_536);
        assert_eq!(groups(&threads(u32::MAX), 65_535), None);
        let items = |replicas| Op::SumSquares(SumSquares { replicas, count: 1 });
        assert_eq!(groups(&items(3), 2), Some((2, 2)));
        assert_eq!(groups(&items(5), 2), None);
    }
}
