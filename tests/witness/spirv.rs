//! Every kernel as SPIR-V, as the program hands it to a driver in a release.

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use vifo::exec::gpu::testing::all_kernels;
use vifo::exec::gpu::{FAMILIES, compose};

pub struct Kernel {
    /// "linear_forward_tiled 64x64".
    pub name: String,
    pub entry: String,
    pub words: Vec<u32>,
    /// Binding, and whether it is a uniform.
    pub bindings: Vec<(u32, bool)>,
}

pub fn kernels() -> Vec<Kernel> {
    let mut wanted: Vec<_> = all_kernels().into_iter().map(|(_, k)| (k.module, k.entry, k.tile)).collect();
    wanted.push(("step", "advance", None));
    let one = |(family, entry, tile): (&str, &str, Option<vifo::exec::gpu::variants::Tile>)| {
        let source = FAMILIES.iter().find(|(name, _)| *name == family).expect("a shader").1;
        let composed = compose(family, source).expect("a shader");
        let module = naga::front::wgsl::parse_str(&composed).expect("it parses");
        let info =
            Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module).expect("it is valid");
        let stage = naga::ShaderStage::Compute;
        let constants = tile.iter().flat_map(|t| t.constants()).map(|(n, v)| (n.to_string(), v)).collect();
        let (module, info) = process_overrides(&module, &info, Some((stage, entry)), &constants).expect("constants");
        let choice = spv::PipelineOptions { shader_stage: stage, entry_point: entry.to_string() };
        let options = spv::Options {
            lang_version: (1, 3),
            zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
            force_loop_bounding: false,
            ..Default::default()
        };
        let words = spv::write_vec(&module, &info, &options, Some(&choice)).expect("SPIR-V");
        let bindings = module.global_variables.iter().filter_map(|(_, g)| {
            let place = g.binding.as_ref()?;
            Some((place.binding, g.space == naga::AddressSpace::Uniform))
        });
        let tile = tile.map_or(String::new(), |t| format!(" {}x{}", t.m, t.n));
        let mut bindings: Vec<_> = bindings.collect();
        bindings.sort_unstable();
        bindings.dedup_by_key(|b| b.0);
        Kernel { name: format!("{entry}{tile}"), entry: entry.into(), words, bindings }
    };
    wanted.into_iter().map(one).collect()
}
