//! Kernels as Vulkan takes them. wgpu would translate them with the same naga, whose types carry the layout that buffers have
//! wherever they are used. Vulkan forbids it in memory of a workgroup or a function (VUID-StandaloneSpirv-None-10684), and drivers are
//! known that refuse such a kernel or crash on it; so the translation is done here, and the layouts are taken off.

use super::pipelines::Checks;
use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::collections::{HashMap, HashSet};

/// A shader that was read and found valid.
pub struct Parsed {
    module: naga::Module,
    info: ModuleInfo,
    has_subgroups: bool,
}

/// SPIR-V of one kernel, and the threads of its workgroup.
pub struct Translated {
    pub words: Vec<u32>,
    pub threads: [u32; 3],
}

impl Parsed {
    /// # Errors
    /// What is wrong with the WGSL: a bug of ours.
    pub fn of(composed: &str) -> Result<Parsed, String> {
        let module = naga::front::wgsl::parse_str(composed).map_err(|e| e.emit_to_string(composed))?;
        // Only texts that enable them have use for them; those are made where the card has them.
        let capabilities = Capabilities::SHADER_FLOAT16 | Capabilities::SUBGROUP | Capabilities::COOPERATIVE_MATRIX;
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
            .validate(&module)
            .map_err(|e| e.emit_to_string(composed))?;
        Ok(Parsed { module, info, has_subgroups: composed.contains("@builtin(subgroup_id)") })
    }

    /// # Errors
    /// The constants do not fit the shader, or naga cannot write it: a bug of ours.
    pub fn translate(&self, entry: &str, constants: &[(&str, f64)], checks: Checks) -> Result<Translated, String> {
        let stage = naga::ShaderStage::Compute;
        let constants = constants.iter().map(|(n, v)| (n.to_string(), *v)).collect();
        let (module, info) =
            process_overrides(&self.module, &self.info, Some((stage, entry)), &constants).map_err(|e| e.to_string())?;
        let checked = checks == Checks::On;
        let policy = if checked { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
        let options = spv::Options {
            // What every Vulkan takes; with subgroups Vulkan 1.1.
            lang_version: if self.has_subgroups { (1, 3) } else { (1, 0) },
            flags: spv::WriterFlags::empty(),
            bounds_check_policies: BoundsCheckPolicies {
                index: policy,
                buffer: policy,
                image_load: policy,
                binding_array: policy,
            },
            // Every kernel writes its workgroup memory before it reads it.
            zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
            force_loop_bounding: checked,
            emit_int_div_checks: checked,
            // No kernel has inputs or outputs of 16 bits, and few cards take them.
            use_storage_input_output_16: false,
            ..spv::Options::default()
        };
        let choice = spv::PipelineOptions { shader_stage: stage, entry_point: entry.to_string() };
        let words = spv::write_vec(&module, &info, &options, Some(&choice)).map_err(|e| e.to_string())?;
        let threads = module.entry_points.iter().find(|e| e.name == entry).map_or([1; 3], |e| e.workgroup_size);
        Ok(Translated { words: without_layouts(&words), threads })
    }
}

// The numbers of SPIR-V's specification that are looked at.
const HEADER: usize = 5;
const TYPE_ARRAY: u32 = 28;
const TYPE_RUNTIME_ARRAY: u32 = 29;
const TYPE_STRUCT: u32 = 30;
const TYPE_POINTER: u32 = 32;
const DECORATE: u32 = 71;
const MEMBER_DECORATE: u32 = 72;
/// RowMajor, ColMajor, ArrayStride, MatrixStride, Offset.
const LAYOUT: [u32; 5] = [4, 5, 6, 7, 35];
/// Workgroup, Private, Function.
const BARE: [u32; 3] = [4, 6, 7];

fn instructions(words: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = words.get(HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = (*rest.first()? >> 16).max(1) as usize;
        let (one, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(one)
    })
}

/// The module without the layout of types that no buffer has. Of a type that is in both it stays: a shader that copies a buffer's
/// structure whole into a variable would need two types, and ours do not.
fn without_layouts(words: &[u32]) -> Vec<u32> {
    let mut parts: HashMap<u32, &[u32]> = HashMap::new();
    let (mut bare, mut laid_out) = (vec![], vec![]);
    for one in instructions(words) {
        match (one[0] & 0xffff, one) {
            (TYPE_ARRAY | TYPE_RUNTIME_ARRAY, [_, id, element, ..]) => {
                parts.insert(*id, std::slice::from_ref(element));
            }
            (TYPE_STRUCT, [_, id, members @ ..]) => {
                parts.insert(*id, members);
            }
            (TYPE_POINTER, [_, _, class, of]) => if BARE.contains(class) { &mut bare } else { &mut laid_out }.push(*of),
            _ => {}
        }
    }
    let within = |mut open: Vec<u32>| {
        let mut all = HashSet::new();
        while let Some(id) = open.pop() {
            if all.insert(id) {
                open.extend(parts.get(&id).copied().unwrap_or_default());
            }
        }
        all
    };
    let (bare, laid_out) = (within(bare), within(laid_out));
    let is_bare = |id: &u32| bare.contains(id) && !laid_out.contains(id);
    let mut kept = words[..HEADER.min(words.len())].to_vec();
    for one in instructions(words) {
        let dropped = match (one[0] & 0xffff, one) {
            (DECORATE, [_, id, what, ..]) | (MEMBER_DECORATE, [_, id, _, what, ..]) => {
                LAYOUT.contains(what) && is_bare(id)
            }
            _ => false,
        };
        if !dropped {
            kept.extend_from_slice(one);
        }
    }
    kept
}
