//! The GPU executor: each step of a program is one dispatch. Everything is created once; a run only encodes and submits.
//! Only this module uses wgpu.

mod buffers;
mod device;
pub mod halves;
pub mod matrices;
pub mod model;
mod pipelines;
mod precision;
mod profile;
mod readback;
#[cfg(not(target_arch = "wasm32"))]
mod spirv;
#[doc(hidden)]
pub mod testing;
mod tune;
pub mod variants;
mod wait;

pub use device::{AdapterReport, Choice, Gpu, adapters, open};
pub use pipelines::{Checks, FAMILIES, FRAGMENTS, compose};
pub use profile::Timed;
pub use tune::{Forms, Tuning};

use super::{Executor, gives_scalars, takes_bytes, takes_scalars, takes_shared};
use crate::base::Real;
use crate::base::clock::{Duration, Instant};
use crate::error::{Error, Result};
use crate::ops::{Forms as OpForms, Op, StepArgs};
use crate::program::fuse::mlp::joined;
use crate::program::{Buf, BufferInfo, Element, Program, Step};
use buffers::{Memory, preflight};
use half::f16;
use halves::Halves;
use pipelines::{Pipeline, STEP_BYTES};
use readback::Readback;
use std::ops::Range;
use std::sync::Arc;
use variants::{Kernel, Slot, Variant, dispatch};
use wait::Submission;

/// Rows of the schedule, and so the most steps of one submit.
const SCHEDULE_ROWS: usize = 256;
/// Windows resets a GPU whose submit takes two seconds, and a hidden desktop stutters long before.
const SUBMIT: Duration = Duration::from_millis(50);
/// Operations of a submit before any was measured: a fifth of a second on a card of 1 TFLOP/s in a kernel that keeps it 40 %
/// busy. A step of more is cut; an op is not.
const FIRST_FLOPS: f64 = 80e9;
/// Bytes of one upload: each takes as much again on its way to the device.
const UPLOAD: usize = 16 << 20;

struct Dispatch {
    /// "linear_forward_tiled 32x32".
    name: String,
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    groups: (u32, u32),
    /// `Cost::flops`, shared out among an op's kernels.
    flops: f64,
}

impl Dispatch {
    fn encode(&self, pass: &mut wgpu::ComputePass) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(self.groups.0, self.groups.1, 1);
    }
}

pub struct GpuExecutor {
    gpu: Arc<Gpu>,
    infos: Vec<BufferInfo>,
    memory: Memory,
    /// `advance`, then the program's steps.
    step: Vec<Dispatch>,
    /// Whether the step is one dispatch that runs many of them (`Forms::Resident`) and needs no `advance`.
    resident: bool,
    schedule: wgpu::Buffer,
    cursor: wgpu::Buffer,
    readback: Readback,
    /// Steps of the next submit, found by measuring.
    chunk: usize,
    /// Operations after which a submit ends within a step, and the most that this becomes.
    most_flops: f64,
    cap_flops: f64,
}

impl GpuExecutor {
    /// Several executors may share one `Gpu`.
    ///
    /// # Errors
    /// `Error::Device` if the adapter's limits or memory do not suffice; nothing is created before the limits are compared.
    pub fn new(program: Program, gpu: Arc<Gpu>) -> Result<Self> {
        Self::with_checks(program, gpu, Checks::default())
    }

    /// As `new`, with wgpu's run-time checks in the shaders or without.
    pub fn with_checks(program: Program, gpu: Arc<Gpu>, checks: Checks) -> Result<Self> {
        Self::with_variant(program, gpu, checks, None)
    }

    /// As `with_checks`, with this variant of every op that has it in place of the table's choice.
    pub fn with_variant(program: Program, gpu: Arc<Gpu>, checks: Checks, variant: Option<Variant>) -> Result<Self> {
        let of = gpu.clone();
        Self::make(program, gpu, checks, &|op| variant.unwrap_or_else(|| of.variants(op).1))
    }

    /// As `new`, with these forms of ops in place of the table's.
    pub fn with_forms(program: Program, gpu: Arc<Gpu>, forms: &Forms) -> Result<Self> {
        let of = gpu.clone();
        Self::make(program, gpu, Checks::default(), &|op| of.of_forms(op, forms))
    }

    fn make(program: Program, gpu: Arc<Gpu>, checks: Checks, wanted: &dyn Fn(&Op) -> Variant) -> Result<Self> {
        Self::as_recorded(joined(program), gpu, checks, wanted)
    }

    fn as_recorded(program: Program, gpu: Arc<Gpu>, checks: Checks, wanted: &dyn Fn(&Op) -> Variant) -> Result<Self> {
        // The unchecked shaders rest on it, and a Program can be made without a Builder.
        crate::program::check::check(&program)?;
        let gpu = gpu.of_program(&program)?;
        let (plan, forms) = preflight(&gpu, &program, wanted)?;
        let memory = Memory::new(&gpu, &program, plan, &forms)?;
        let (uniforms, stride) = uniforms(&gpu, &program)?;
        let schedule = small(&gpu, "schedule", SCHEDULE_ROWS as u64 * STEP_BYTES)?;
        let [cursor, args] = [small(&gpu, "cursor", 4)?, small(&gpu, "step", STEP_BYTES)?];

        let bind = |label: &str, pipeline: Pipeline, resources: Vec<wgpu::BindingResource>, groups, flops| {
            let entries: Vec<_> = resources
                .into_iter()
                .enumerate()
                .map(|(i, resource)| wgpu::BindGroupEntry { binding: i as u32, resource })
                .collect();
            let bind_group = gpu.creating(label, || {
                gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some(label),
                    layout: &pipeline.layout,
                    entries: &entries,
                })
            })?;
            Ok::<_, Error>(Dispatch { name: label.into(), pipeline: pipeline.pipeline, bind_group, groups, flops })
        };
        let advance = vec![schedule.as_entire_binding(), cursor.as_entire_binding(), args.as_entire_binding()];
        let resident = program.steps.iter().any(|s| s.op.forms() == OpForms::Resident);
        let mut step = match resident {
            true => vec![],
            false => vec![bind("advance", gpu.pipeline_of_advance(checks)?, advance, (1, 1), 0.0)?],
        };
        for (i, (s, form)) in program.steps.iter().zip(&forms).enumerate() {
            let params = s.op.params().len() as u64;
            let flops = s.cost().flops / form.kernels.len() as f64;
            for kernel in &form.kernels {
                let halves = halves_of(&program, s, kernel);
                let size = wgpu::BufferSize::new(params);
                let offset = i as u64 * stride;
                let mut resources =
                    vec![wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: &uniforms, offset, size })];
                resources.extend(kernel.binds.iter().map(|(slot, element)| match slot {
                    Slot::Input(i) => memory.binding(s.inputs[*i], *element, program.info(s.inputs[*i])),
                    Slot::Output(i) => memory.binding(s.outputs[*i], *element, program.info(s.outputs[*i])),
                    Slot::WriteScratch | Slot::ReadScratch => memory.scratch(form),
                    Slot::Step => args.as_entire_binding(),
                    Slot::Schedule => schedule.as_entire_binding(),
                    Slot::Count => cursor.as_entire_binding(),
                }));
                let Some(groups) = dispatch(kernel, gpu.limits.max_compute_workgroups_per_dimension) else { continue };
                // An op over nothing is no dispatch, and so never divides by its empty size.
                if groups.0 > 0 {
                    step.push(bind(
                        &kernel.name(),
                        gpu.pipeline_of(kernel, params, checks, halves)?,
                        resources,
                        groups,
                        flops,
                    )?);
                }
            }
        }
        gpu.keep_pipelines();
        let mut executor = GpuExecutor {
            gpu,
            infos: program.buffers,
            memory,
            step,
            resident,
            schedule,
            cursor,
            readback: Readback::default(),
            chunk: 1,
            most_flops: FIRST_FLOPS,
            cap_flops: f64::INFINITY,
        };
        for (buf, values) in &program.constants {
            executor.write(*buf, values)?;
        }
        Ok(executor)
    }

    /// Names of its kernels in their order: "linear_forward_tiled 32x32".
    pub fn kernels(&self) -> Vec<&str> {
        self.step.iter().map(|dispatch| dispatch.name.as_str()).collect()
    }

    /// Uploads these rows and submits one replay of the program for each: at once, or in pieces that no watchdog takes for a
    /// hang. Returns the last submission.
    fn submit(&self, rows: &[StepArgs<f64>]) -> Result<Submission> {
        self.gpu.check()?;
        let submission = self.gpu.guarded(|| {
            if self.resident {
                return self.submit_resident(rows);
            }
            self.write_schedule(rows);
            let (mut from, end) = (0, rows.len() * self.step.len());
            loop {
                let to = self.piece(from, end);
                let submission = self.submit_piece(from..to);
                if to == end {
                    return submission;
                }
                from = to;
            }
        })?;
        self.gpu.check()?;
        Ok(submission)
    }

    /// As many steps a dispatch as its operations allow: a dispatch cannot be cut.
    fn submit_resident(&self, rows: &[StepArgs<f64>]) -> Submission {
        let flops: f64 = self.step.iter().map(|d| d.flops).sum();
        let most = (self.most_flops / flops.max(1.0)).max(1.0) as usize;
        let (last, before) = (rows.len().saturating_sub(1) / most * most, rows.len());
        for first in (0..last).step_by(most) {
            self.write_schedule(&rows[first..first + most]);
            self.submit_piece(0..self.step.len());
        }
        self.write_schedule(&rows[last..before]);
        self.submit_piece(0..self.step.len())
    }

    fn write_schedule(&self, rows: &[StepArgs<f64>]) {
        let mut words = [0u32; SCHEDULE_ROWS * crate::ops::step::STEP_WORDS];
        for (to, row) in words.as_chunks_mut().0.iter_mut().zip(rows) {
            *to = row.words();
        }
        let used = &words[..rows.len() * crate::ops::step::STEP_WORDS];
        self.gpu.queue.write_buffer(&self.schedule, 0, bytemuck::cast_slice(used));
        let count = if self.resident { rows.len() as u32 } else { 0 };
        self.gpu.queue.write_buffer(&self.cursor, 0, &count.to_le_bytes());
    }

    /// The end of a submit that begins with dispatch `from`, of the steps one after another: one dispatch at least.
    fn piece(&self, from: usize, end: usize) -> usize {
        let mut flops = 0.0;
        let fits = |i: &usize| {
            flops += self.step[i % self.step.len()].flops;
            flops <= self.most_flops
        };
        (from + (from..end).take_while(fits).count().max(1)).min(end)
    }

    fn submit_piece(&self, dispatches: Range<usize>) -> Submission {
        let mut encoder =
            self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("run") });
        let mut pass =
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("run"), timestamp_writes: None });
        dispatches.for_each(|i| self.step[i % self.step.len()].encode(&mut pass));
        drop(pass);
        self.gpu.submit(Some(encoder.finish()))
    }
}

/// Which of a kernel's bindings hold halves.
fn halves_of(program: &Program, step: &Step, kernel: &Kernel) -> Halves {
    let is_half = |slot: &Slot| {
        let buf = match slot {
            Slot::Input(i) => step.inputs[*i],
            Slot::Output(i) => step.outputs[*i],
            Slot::WriteScratch | Slot::ReadScratch | Slot::Step | Slot::Schedule | Slot::Count => return false,
        };
        program.info(buf).kind == Element::Half
    };
    let bits = kernel.binds.iter().zip(1..).filter(|((slot, _), _)| is_half(slot));
    bits.map(|(_, binding)| 1 << binding).sum()
}

/// A buffer that the host writes.
fn small(gpu: &Gpu, label: &str, size: u64) -> Result<wgpu::Buffer> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    gpu.creating(label, || {
        gpu.device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
    })
}

/// One slot of a step's parameters after another, at the adapter's alignment; returns the slot's size too.
fn uniforms(gpu: &Gpu, program: &Program) -> Result<(wgpu::Buffer, u64)> {
    let largest = program.steps.iter().map(|s| s.op.params().len() as u64).max().unwrap_or(4);
    let stride = largest.next_multiple_of(gpu.limits.min_uniform_buffer_offset_alignment.max(256) as u64);
    let mut bytes = vec![0u8; (stride as usize * program.steps.len()).max(4)];
    for (slot, step) in bytes.chunks_mut(stride as usize).zip(&program.steps) {
        let params = step.op.params();
        slot[..params.len()].copy_from_slice(params);
    }
    let buffer = gpu.creating("the parameters", || {
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("params"),
            size: bytes.len() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.queue.write_buffer(&buffer, 0, &bytes);
        buffer
    })?;
    Ok((buffer, stride))
}

impl Executor for GpuExecutor {
    fn share(&mut self, buf: Buf, values: &Arc<Vec<f32>>) -> Result<()> {
        takes_shared(&self.infos[buf.0 as usize], values.len())?;
        self.write(buf, values)
    }
    fn write(&mut self, buf: Buf, values: &[f32]) -> Result<()> {
        self.gpu.check()?;
        takes_scalars(&self.infos[buf.0 as usize], values.len())?;
        let write = |bytes: &[u8]| self.gpu.guarded(|| self.gpu.queue.write_buffer(self.memory.buffer(buf), 0, bytes));
        match self.infos[buf.0 as usize].kind {
            Element::Half => {
                let mut halves: Vec<f16> = values.iter().map(|v| f16::from_f32(v.to_half())).collect();
                // Whole words.
                halves.resize(values.len().next_multiple_of(2), f16::ZERO);
                write(&halves.iter().flat_map(|h| h.to_le_bytes()).collect::<Vec<u8>>())?;
            }
            _ => write(bytemuck::cast_slice(values))?,
        }
        self.gpu.check()
    }

    fn write_bytes(&mut self, buf: Buf, bytes: Arc<Vec<u8>>, range: Range<usize>) -> Result<()> {
        self.gpu.check()?;
        takes_bytes(&self.infos[buf.0 as usize], &bytes, &range)?;
        let (whole, rest) = bytes[range].as_chunks::<4>();
        let (buffer, queue) = (self.memory.buffer(buf), &self.gpu.queue);
        for (i, piece) in whole.chunks(UPLOAD / 4).enumerate() {
            let submission = self.gpu.guarded(|| {
                queue.write_buffer(buffer, (i * UPLOAD) as u64, piece.as_flattened());
                self.gpu.submit(None)
            })?;
            self.gpu.wait(submission)?;
        }
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            self.gpu.guarded(|| queue.write_buffer(buffer, 4 * whole.len() as u64, &last))?;
        }
        self.gpu.check()
    }

    fn read(&mut self, buf: Buf) -> Result<Vec<f32>> {
        let info = &self.infos[buf.0 as usize];
        gives_scalars(info)?;
        if info.kind == Element::Half {
            let words: Vec<u16> = self.readback.read(&self.gpu, self.memory.buffer(buf), self.memory.size(buf))?;
            return Ok(words[..info.len].iter().map(|bits| f16::from_bits(*bits).to_f32()).collect());
        }
        self.readback.read(&self.gpu, self.memory.buffer(buf), self.memory.size(buf))
    }

    /// Two submits are under way at a time: one runs while the next is encoded.
    fn run(&mut self, args: &[StepArgs<f64>]) -> Result<()> {
        let mut pending: Option<(Submission, usize, Instant)> = None;
        let mut rest = args;
        let mut free_at = Instant::now();
        while !rest.is_empty() || pending.is_some() {
            let (rows, later) = rest.split_at(self.chunk.min(rest.len()));
            rest = later;
            let next = if rows.is_empty() { None } else { Some((self.submit(rows)?, rows.len(), Instant::now())) };
            if let Some((submission, steps, since)) = std::mem::replace(&mut pending, next) {
                self.gpu.wait(submission)?;
                let took = free_at.max(since).elapsed();
                free_at = Instant::now();
                self.adapt(steps, took);
            }
        }
        Ok(())
    }

    fn device(&self) -> String {
        self.gpu.describe()
    }
}

impl GpuExecutor {
    /// Grows at most fourfold, because the first submit of all pays for the driver's compiler; shrinks at once.
    fn adapt(&mut self, steps: usize, took: Duration) {
        let step = took.as_secs_f64() / steps as f64;
        let fits = (SUBMIT.as_secs_f64() / step.max(1e-9)) as usize;
        self.chunk = fits.clamp(1, (4 * steps).max(self.chunk).min(SCHEDULE_ROWS));
        let flops: f64 = self.step.iter().map(|d| d.flops).sum();
        let fits = flops / step.max(1e-9) * 2.0 * SUBMIT.as_secs_f64();
        self.most_flops = FIRST_FLOPS.max(fits).min(self.cap_flops);
    }
}
