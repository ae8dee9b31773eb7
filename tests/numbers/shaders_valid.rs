//! Without a GPU: every shader parses, validates, and translates for Vulkan, Metal and DX12; every op has its kernel.

use naga::back::pipeline_constants::process_overrides;
use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::collections::BTreeSet;
use vifo::exec::gpu::halves::halved;
use vifo::exec::gpu::testing::{all_kernels, all_on_matrices, halves_of, text_of};
use vifo::exec::gpu::{FAMILIES, FRAGMENTS, compose};

fn parsed(name: &str, source: &str) -> (naga::Module, ModuleInfo) {
    let composed = compose(name, source).unwrap_or_else(|e| panic!("{e}"));
    let module =
        naga::front::wgsl::parse_str(&composed).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&composed)));
    // No capability beyond WebGPU's base: what validates here runs everywhere.
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&composed)));
    (module, info)
}

/// Files on disk and files in the binary are the same set, and not an empty one.
#[test]
fn every_file_is_listed() {
    let stems = |folder: &str| -> BTreeSet<String> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let paths = entries.map(|e| e.expect("a readable folder").path());
        paths
            .filter(|p| p.extension().is_some_and(|x| x == "wgsl"))
            .map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned())
            .collect()
    };
    let listed = |list: &[(&str, &str)]| list.iter().map(|(n, _)| n.to_string()).collect::<BTreeSet<_>>();
    assert!(!FAMILIES.is_empty() && !FRAGMENTS.is_empty(), "no shader was found");
    assert_eq!(stems("shaders"), listed(FAMILIES));
    assert_eq!(stems("shaders/common"), listed(FRAGMENTS));
}

/// Entry points are `advance` and the kernels of the ops in all their forms, each in its file, once.
#[test]
fn every_kernel_has_its_entry_point() {
    let mut found = BTreeSet::new();
    for (family, source) in FAMILIES {
        for entry in parsed(family, source).0.entry_points {
            assert!(found.insert((entry.name.clone(), family.to_string())), "{} stands twice", entry.name);
        }
    }
    let mut wanted: BTreeSet<_> =
        all_kernels().iter().map(|(_, k)| (k.entry.to_string(), k.module.to_string())).collect();
    wanted.insert(("advance".into(), "step".into()));
    assert_eq!(found, wanted);
}

/// Fragments have no bindings, so that any of them may stand before any family.
#[test]
fn fragments_bind_nothing() {
    for (name, text) in FRAGMENTS {
        assert!(!text.contains("@binding") && !text.contains("@compute"), "{name}");
    }
}

/// With the constants of each tile, which make the sizes of workgroups and of their memory.
#[test]
fn all_back_ends_translate() {
    let mut kernels: Vec<_> =
        all_kernels().into_iter().map(|(_, k)| (k.module, k.entry, k.tile, k.workgroup_bytes(), k.threads)).collect();
    kernels.push(("step", "advance", None, 0, 1));
    for (family, source) in FAMILIES {
        let (module, info) = parsed(family, source);
        for (_, name, tile, most_memory, threads) in kernels.iter().filter(|k| k.0 == *family) {
            let label = format!("{family}: {name} {tile:?}");
            let stage = naga::ShaderStage::Compute;
            let constants = tile.iter().flat_map(|t| t.constants()).map(|(n, v)| (n.to_string(), v)).collect();
            let (module, info) = process_overrides(&module, &info, Some((stage, name)), &constants)
                .unwrap_or_else(|e| panic!("{label}: {e}"));
            // What the preflight compares with the adapter's limits.
            let at = module.entry_points.iter().position(|e| e.name == *name).expect("it was kept");
            assert_eq!(module.entry_points[at].workgroup_size, [*threads, 1, 1], "{label}");
            let uses = info.get_entry_point(at);
            let shared = module
                .global_variables
                .iter()
                .filter(|(handle, global)| global.space == naga::AddressSpace::WorkGroup && !uses[*handle].is_empty());
            let memory: u32 = shared.map(|(_, g)| module.types[g.ty].inner.size(module.to_ctx())).sum();
            assert!(memory <= *most_memory, "{label}: {memory} bytes of workgroup memory");
            let choice = spv::PipelineOptions { shader_stage: stage, entry_point: name.to_string() };
            let words = spv::write_vec(&module, &info, &spv::Options::default(), Some(&choice))
                .unwrap_or_else(|e| panic!("{label}: spv: {e}"));
            assert!(words.len() > 100, "{label}");

            let options = msl::Options { fake_missing_bindings: true, lang_version: (2, 1), ..Default::default() };
            let choice = msl::PipelineOptions { entry_point: Some((stage, name.to_string())), ..Default::default() };
            let (text, _) =
                msl::write_string(&module, &info, &options, &choice).unwrap_or_else(|e| panic!("{label}: msl: {e}"));
            assert!(text.contains("kernel"), "{label}");

            let options = hlsl::Options { fake_missing_bindings: true, ..Default::default() };
            let choice = hlsl::PipelineOptions { entry_point: Some((stage, name.to_string())) };
            let mut text = String::new();
            hlsl::Writer::new(&mut text, &options, &choice)
                .write(&module, &info, None)
                .unwrap_or_else(|e| panic!("{label}: hlsl: {e}"));
            assert!(text.contains("numthreads"), "{label}");
        }
    }
    assert!(kernels.len() > 30 && kernels.iter().all(|k| FAMILIES.iter().any(|(f, _)| *f == k.0)));
}

/// With operands in 16 bits: all that may be so, and each alone. No array of them is left that is read or written unconverted,
/// because a mixture of types does not validate.
#[test]
fn kernels_with_halves_translate() {
    let mut count = 0;
    for (op, kernel) in all_kernels() {
        let all = halves_of(&op, &kernel);
        let (family, source) = FAMILIES.iter().find(|(f, _)| *f == kernel.module).expect("a shader");
        let composed = compose(family, source).unwrap_or_else(|e| panic!("{e}"));
        let each = (0..32).map(|bit| 1 << bit).filter(|one| all & one != 0);
        for halves in each.chain([all]).filter(|halves| *halves != 0) {
            let label = format!("{family}: {} {halves:b}", kernel.name());
            let text = halved(&composed, halves);
            let module =
                naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(&text)));
            let info = Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16)
                .validate(&module)
                .unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(&text)));
            let declared = |ty: &str| text.lines().filter(|l| l.starts_with("@group") && l.contains(ty)).count();
            assert!(declared("<f16>") >= halves.count_ones() as usize, "{label}");
            let stage = naga::ShaderStage::Compute;
            let constants = kernel.tile.iter().flat_map(|t| t.constants()).map(|(n, v)| (n.to_string(), v)).collect();
            let (module, info) = process_overrides(&module, &info, Some((stage, kernel.entry)), &constants)
                .unwrap_or_else(|e| panic!("{label}: {e}"));
            let options = msl::Options { fake_missing_bindings: true, lang_version: (2, 1), ..Default::default() };
            let choice = msl::PipelineOptions { entry_point: Some((stage, kernel.entry.into())), ..Default::default() };
            let (text, _) =
                msl::write_string(&module, &info, &options, &choice).unwrap_or_else(|e| panic!("{label}: msl: {e}"));
            assert!(text.contains("half"), "{label}");
            let shader_model = hlsl::ShaderModel::V6_2;
            let options = hlsl::Options { fake_missing_bindings: true, shader_model, ..Default::default() };
            let choice = hlsl::PipelineOptions { entry_point: Some((stage, kernel.entry.into())) };
            let mut text = String::new();
            hlsl::Writer::new(&mut text, &options, &choice)
                .write(&module, &info, None)
                .unwrap_or_else(|e| panic!("{label}: hlsl: {e}"));
            assert!(text.contains("half"), "{label}");
            count += 1;
        }
    }
    assert!(count > 150, "{count} kernels");
}

/// On matrix units, with what they multiply in halves: valid, of the threads and within the memory that the preflight counts, with
/// a sum for each square, and rewritten wherever tiles are filled and summed.
#[test]
fn kernels_on_matrix_units_translate() {
    let (mut count, mut entries) = (0, BTreeSet::new());
    for (op, kernel) in all_on_matrices() {
        let matrix = kernel.matrix.expect("they are on matrix units");
        let (family, source) = FAMILIES.iter().find(|(f, _)| *f == kernel.module).expect("a shader");
        let text =
            text_of(&compose(family, source).unwrap_or_else(|e| panic!("{e}")), &kernel, halves_of(&op, &kernel));
        let label = format!("{}, {} sums", kernel.name(), matrix.sums);
        let module =
            naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(&text)));
        let capabilities = Capabilities::SHADER_FLOAT16 | Capabilities::SUBGROUP | Capabilities::COOPERATIVE_MATRIX;
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
            .validate(&module)
            .unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(&text)));
        assert!(!text.contains("add_row(") && text.contains(&format!("sum_{}", matrix.sums - 1)), "{label}");
        assert!(!text.contains(&format!("sum_{}", matrix.sums)), "{label}");
        let stage = naga::ShaderStage::Compute;
        let constants = kernel.tile.iter().flat_map(|t| t.constants()).map(|(n, v)| (n.to_string(), v)).collect();
        let (module, info) = process_overrides(&module, &info, Some((stage, kernel.entry)), &constants)
            .unwrap_or_else(|e| panic!("{label}: {e}"));
        let at = module.entry_points.iter().position(|e| e.name == kernel.entry).expect("it was kept");
        assert_eq!(module.entry_points[at].workgroup_size, [kernel.threads, 1, 1], "{label}");
        let uses = info.get_entry_point(at);
        let shared = module
            .global_variables
            .iter()
            .filter(|(handle, global)| global.space == naga::AddressSpace::WorkGroup && !uses[*handle].is_empty());
        let memory: u32 = shared.map(|(_, g)| module.types[g.ty].inner.size(module.to_ctx())).sum();
        assert!(memory <= kernel.workgroup_bytes(), "{label}: {memory} bytes of workgroup memory");
        entries.insert(kernel.entry);
        count += 1;
    }
    assert!(count >= 30, "{count} kernels");
    let wanted = [
        "conv2d_backward_data_tiled",
        "conv2d_backward_data_tiled_quads",
        "conv2d_backward_weight_split",
        "conv2d_forward_tiled",
        "conv2d_forward_tiled_quads",
        "linear_backward_data_tiled",
        "linear_backward_data_tiled_quads",
        "linear_backward_weight_split",
        "linear_forward_tiled",
        "linear_forward_tiled_quads",
    ];
    assert_eq!(entries.into_iter().collect::<Vec<_>>(), wanted);
}

#[test]
fn a_missing_fragment_is_an_error() {
    assert!(compose("x", "fn f() {}").is_err());
    assert!(compose("x", "// needs: index, maths\n").unwrap_err().to_string().contains("maths"));
}
