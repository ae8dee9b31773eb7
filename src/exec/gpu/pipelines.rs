//! Shaders: composing a family from its fragments, and one cached pipeline an entry point and mode.

use super::device::Gpu;
use super::halves::{Halves, halved};
use super::matrices::{Matrix, on_matrices};
use super::variants::{Kernel, Settings, Slot, Tile};
use crate::error::{Error, Result};
use crate::ops::step::STEP_WORDS;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

#[cfg(not(target_arch = "wasm32"))]
use super::spirv::Parsed;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;

macro_rules! shader {
    ($path:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/shaders/", $path))
    };
}

/// Fragments without bindings, in the order in which they may build on one another.
pub const FRAGMENTS: &[(&str, &str)] = &[
    ("index", shader!("common/index.wgsl")),
    ("math", shader!("common/math.wgsl")),
    ("gamma", shader!("common/gamma.wgsl")),
    ("activation", shader!("common/activation.wgsl")),
    ("rng", shader!("common/rng.wgsl")),
    ("step", shader!("common/step.wgsl")),
    ("reduce", shader!("common/reduce.wgsl")),
    ("tile", shader!("common/tile.wgsl")),
    ("tile_sums", shader!("common/tile_sums.wgsl")),
    ("tile_matrix", shader!("common/tile_matrix.wgsl")),
    ("conv_loaded", shader!("common/conv_loaded.wgsl")),
    ("conv_input", shader!("common/conv_input.wgsl")),
    ("conv_forward", shader!("common/conv_forward.wgsl")),
    ("conv_data", shader!("common/conv_data.wgsl")),
    ("conv_weight", shader!("common/conv_weight.wgsl")),
    ("norm_table", shader!("common/norm_table.wgsl")),
    ("regularizer", shader!("common/regularizer.wgsl")),
    ("head", shader!("common/head.wgsl")),
    ("own_row", shader!("common/own_row.wgsl")),
    ("mlp", shader!("common/mlp.wgsl")),
    ("resident", shader!("common/resident.wgsl")),
];

/// Stem and text of every shader file with entry points.
pub use crate::ops::SHADERS as FAMILIES;

fn bug(shader: &str, what: String) -> Error {
    Error::device(format!("shader {shader}"), what, "", "this is a bug of vifo: please report it")
}

/// The source behind the fragments that its first line asks for: `// needs: index, math`.
///
/// # Errors
/// The first line is missing or names an unknown fragment: a bug of ours.
pub fn compose(name: &str, source: &str) -> Result<String> {
    let needs = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// needs:"))
        .ok_or_else(|| bug(name, "the first line does not name its fragments".into()))?;
    let needs: Vec<&str> = needs.split(',').map(str::trim).collect();
    if let Some(unknown) = needs.iter().find(|n| FRAGMENTS.iter().all(|(f, _)| f != *n)) {
        return Err(bug(name, format!("there is no fragment '{unknown}'")));
    }
    let fragments = FRAGMENTS.iter().filter(|(f, _)| needs.contains(f)).map(|(_, text)| *text);
    Ok(fragments.chain([source]).collect::<Vec<_>>().join("\n"))
}

/// Whether wgpu adds bounds, loop and division checks to the shaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checks {
    On,
    Off,
}

impl Default for Checks {
    /// Off in a release build: reported to cost a third of a product's speed.
    fn default() -> Self {
        if cfg!(debug_assertions) { Checks::On } else { Checks::Off }
    }
}

#[derive(Clone)]
pub(super) struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

/// A shader as the device takes it.
#[derive(Clone)]
pub(super) enum Shader {
    /// Translated by wgpu.
    Module(wgpu::ShaderModule),
    /// On Vulkan: translated here, kernel by kernel.
    #[cfg(not(target_arch = "wasm32"))]
    Parsed(Arc<Parsed>, Checks),
}

/// What a pipeline's constants are made from.
pub(super) type Constants<'a> = (Option<Tile>, &'a [(&'static str, u32)]);

/// How a kernel differs from its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mode {
    pub checks: Checks,
    /// Which of its bindings hold halves.
    pub halves: Halves,
    pub matrix: Option<Matrix>,
}

impl Mode {
    pub fn plain(checks: Checks) -> Mode {
        Mode { checks, halves: 0, matrix: None }
    }
}

/// Entry point, what its constants are made from, mode.
type PipelineKey = (&'static str, Option<Tile>, Settings, Mode);

#[derive(Default)]
pub(super) struct Pipelines {
    pub(super) modules: Mutex<HashMap<(&'static str, Mode), Shader>>,
    pipelines: Mutex<HashMap<PipelineKey, Pipeline>>,
}

/// What stands at a binding.
#[derive(Clone, Copy)]
pub(super) enum Binding {
    Uniform(u64),
    Read(u64),
    ReadWrite(u64),
}

impl Binding {
    fn entry(self, binding: usize) -> wgpu::BindGroupLayoutEntry {
        let (ty, size) = match self {
            Binding::Uniform(size) => (wgpu::BufferBindingType::Uniform, size),
            Binding::Read(size) => (wgpu::BufferBindingType::Storage { read_only: true }, size),
            Binding::ReadWrite(size) => (wgpu::BufferBindingType::Storage { read_only: false }, size),
        };
        wgpu::BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            // A least size known beforehand spares a check at each dispatch.
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: false,
                min_binding_size: wgpu::BufferSize::new(size),
            },
            count: None,
        }
    }
}

pub(super) const STEP_BYTES: u64 = 4 * STEP_WORDS as u64;

/// The parameters, then what the kernel names.
fn bindings(kernel: &Kernel, params: u64, halves: Halves) -> Vec<Binding> {
    let mut all = vec![Binding::Uniform(params)];
    all.extend(kernel.binds.iter().zip(1..).map(|((slot, element), binding)| {
        let element = if halves >> binding & 1 == 1 { element / 2 } else { *element };
        match slot {
            Slot::Input(_) | Slot::ReadScratch => Binding::Read(element),
            Slot::Output(_) | Slot::WriteScratch => Binding::ReadWrite(element),
            Slot::Step => Binding::Read(STEP_BYTES),
            Slot::Schedule | Slot::Count => Binding::Read(element),
        }
    }));
    all
}

/// The constants of a pipeline by their names.
pub(super) fn values((tile, settings): Constants) -> Vec<(&'static str, f64)> {
    let settings = settings.iter().map(|(name, value)| (*name, f64::from(*value)));
    tile.iter().flat_map(|t| t.constants()).chain(settings).collect()
}

impl Gpu {
    /// `params` = bytes of the op's parameters.
    pub(super) fn pipeline_of(&self, kernel: &Kernel, params: u64, checks: Checks, halves: Halves) -> Result<Pipeline> {
        let constants = (kernel.tile, &kernel.settings[..]);
        let bindings = bindings(kernel, params, halves);
        let mode = Mode { checks, halves, matrix: kernel.matrix };
        self.pipeline((kernel.entry, kernel.module), constants, mode, &bindings)
    }

    /// Schedule, cursor, arguments.
    pub(super) fn pipeline_of_advance(&self, checks: Checks) -> Result<Pipeline> {
        let bindings = [Binding::Read(STEP_BYTES), Binding::ReadWrite(4), Binding::ReadWrite(STEP_BYTES)];
        self.pipeline(("advance", "step"), (None, &[]), Mode::plain(checks), &bindings)
    }

    fn pipeline(
        &self,
        (entry, module): (&'static str, &'static str),
        constants: Constants,
        mode: Mode,
        bindings: &[Binding],
    ) -> Result<Pipeline> {
        let key = (entry, constants.0, constants.1.to_vec(), mode);
        let mut cache = self.pipelines.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = cache.get(&key) {
            return Ok(pipeline.clone());
        }
        let module = self.module(module, mode)?;
        let pipeline = self.build(entry, &module, constants, bindings)?;
        cache.insert(key, pipeline.clone());
        Ok(pipeline)
    }

    pub(super) fn build(
        &self,
        entry: &str,
        shader: &Shader,
        constants: Constants,
        bindings: &[Binding],
    ) -> Result<Pipeline> {
        let values = values(constants);
        let (module, constants) = match shader {
            Shader::Module(module) => (module.clone(), &values[..]),
            #[cfg(not(target_arch = "wasm32"))]
            Shader::Parsed(parsed, checks) => (self.translated(entry, parsed, &values, *checks)?, &[][..]),
        };
        self.creating(entry, || {
            let entries: Vec<_> = bindings.iter().enumerate().map(|(i, b)| b.entry(i)).collect();
            let layout = self
                .device
                .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(entry), entries: &entries });
            let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(entry),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry),
                // Every kernel writes its workgroup memory before it reads it.
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: false,
                    constants,
                },
                cache: self.kept.as_ref().map(|kept| &kept.cache),
            });
            Pipeline { pipeline, layout }
        })
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn translated(
        &self,
        entry: &str,
        parsed: &Parsed,
        constants: &[(&str, f64)],
        checks: Checks,
    ) -> Result<wgpu::ShaderModule> {
        let kernel = parsed.translate(entry, constants, checks).map_err(|e| bug(entry, e))?;
        let [x, y, z] = kernel.threads;
        let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
            label: Some(entry),
            entry_points: std::borrow::Cow::Owned(vec![wgpu::PassthroughShaderEntryPoint {
                name: entry.into(),
                workgroup_size: (x, y, z),
            }]),
            spirv: Some(kernel.words.into()),
            ..Default::default()
        };
        // SAFETY: naga wrote the words from a shader that it found valid; as to bounds, `Gpu::shader` says why.
        self.creating(entry, || unsafe { self.device.create_shader_module_passthrough(descriptor) })
    }

    fn module(&self, family: &'static str, mode: Mode) -> Result<Shader> {
        let mut modules = self.pipelines.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&(family, mode)) {
            return Ok(module.clone());
        }
        let source = FAMILIES.iter().find(|(name, _)| *name == family).map_or("", |(_, text)| *text);
        let composed = compose(family, source)?;
        let text = match mode.matrix {
            Some(matrix) => on_matrices(&composed, mode.halves, matrix),
            None => halved(&composed, mode.halves),
        };
        let module = self.shader(family, &text, mode.checks)?;
        modules.insert((family, mode), module.clone());
        Ok(module)
    }

    /// Unchecked shaders are ours. `program::check` proved every buffer as long as its kernel's sizes say, kernels index by those
    /// sizes alone, their loops end, and a dispatch that runs has no size of zero to divide by.
    pub(super) fn shader(&self, label: &str, source: &str, checks: Checks) -> Result<Shader> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.device.features().contains(wgpu::Features::PASSTHROUGH_SHADERS) {
            let parsed = Parsed::of(source).map_err(|e| bug(label, e))?;
            return Ok(Shader::Parsed(Arc::new(parsed), checks));
        }
        let descriptor =
            wgpu::ShaderModuleDescriptor { label: Some(label), source: wgpu::ShaderSource::Wgsl(source.into()) };
        let module = self.creating(label, || match checks {
            Checks::On => self.device.create_shader_module(descriptor),
            // SAFETY: as said above.
            Checks::Off => unsafe {
                self.device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked())
            },
        })?;
        Ok(Shader::Module(module))
    }
}
