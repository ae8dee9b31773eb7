//! Every kernel as SPIR-V, as the program hands it to a driver, and what is wrong with it by rules of Vulkan.

use std::collections::HashMap;
use vifo::exec::gpu::testing::{all_kernels, spirv_of};
use vifo::exec::gpu::variants::Tile;
use vifo::exec::gpu::{Checks, FAMILIES, compose};

pub struct Kernel {
    /// "linear_forward_tiled 64x64 whole".
    pub name: String,
    pub module: &'static str,
    pub entry: String,
    pub tile: Option<Tile>,
    pub words: Vec<u32>,
    /// Binding, and whether it is a uniform.
    pub bindings: Vec<(u32, bool)>,
}

pub fn composed(module: &str) -> String {
    let source = FAMILIES.iter().find(|(name, _)| *name == module).expect("a shader").1;
    compose(module, source).expect("a shader")
}

pub fn kernels(checks: Checks) -> Vec<Kernel> {
    let mut wanted: Vec<_> = all_kernels().into_iter().map(|(_, k)| (k.module, k.entry, k.tile)).collect();
    wanted.push(("step", "advance", None));
    let one = |(module, entry, tile): (&'static str, &str, Option<Tile>)| {
        let text = composed(module);
        let words = spirv_of(&text, entry, tile, checks).unwrap_or_else(|e| panic!("{entry}: {e}"));
        let parsed = naga::front::wgsl::parse_str(&text).expect("it parses");
        let mut bindings: Vec<_> = parsed
            .global_variables
            .iter()
            .filter_map(|(_, g)| Some((g.binding.as_ref()?.binding, g.space == naga::AddressSpace::Uniform)))
            .collect();
        bindings.sort_unstable();
        bindings.dedup_by_key(|b| b.0);
        let size = tile.map_or(String::new(), |t| format!(" {}", t.name()));
        Kernel { name: format!("{entry}{size}"), module, entry: entry.into(), tile, words, bindings }
    };
    wanted.into_iter().map(one).collect()
}

/// Variables of a workgroup or a function whose type has the layout of a buffer (VUID-StandaloneSpirv-None-10684).
pub fn laid_out_variables(words: &[u32]) -> usize {
    let mut instructions = vec![];
    let mut at = 5;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        instructions.push((words[at] & 0xffff, &words[at + 1..at + length]));
        at += length;
    }
    // OpTypeArray, OpTypeRuntimeArray, OpTypeStruct, OpTypePointer.
    let types: HashMap<u32, (u32, &[u32])> = instructions
        .iter()
        .filter(|(op, _)| [28, 29, 30, 32].contains(op))
        .map(|(op, operands)| (operands[0], (*op, &operands[1..])))
        .collect();
    // ArrayStride by OpDecorate, Offset by OpMemberDecorate.
    let laid_out = |id: u32| {
        instructions.iter().any(|(op, o)| *op == 71 && o[0] == id && o[1] == 6 || *op == 72 && o[0] == id && o[2] == 35)
    };
    fn any(id: u32, types: &HashMap<u32, (u32, &[u32])>, laid_out: &dyn Fn(u32) -> bool) -> bool {
        let parts = match types.get(&id) {
            Some((28 | 29, parts)) => &parts[..1],
            Some((30, parts)) => parts,
            _ => return false,
        };
        laid_out(id) || parts.iter().any(|part| any(*part, types, laid_out))
    }
    // OpVariable: the pointer's type, the variable, Workgroup, Private or Function.
    let bare = instructions.iter().filter(|(op, o)| *op == 59 && [4, 6, 7].contains(&o[2]));
    bare.filter(|(_, o)| any(types[&o[0]].1[1], &types, &laid_out)).count()
}

/// naga's own translation, which this crate's improves.
pub fn by_naga(module: &str) -> Vec<u32> {
    let parsed = naga::front::wgsl::parse_str(&composed(module)).expect("it parses");
    let mut validator =
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
    let info = validator.validate(&parsed).expect("it is valid");
    naga::back::spv::write_vec(&parsed, &info, &naga::back::spv::Options::default(), None).expect("SPIR-V")
}
