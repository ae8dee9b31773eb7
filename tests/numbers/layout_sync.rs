//! Without a GPU: what Rust believes of a kernel's bindings and structs is what naga reflects from the WGSL.

use naga::{AddressSpace, Module, ScalarKind, StorageAccess, TypeInner};
use vifo::exec::gpu::testing::all_kernels;
use vifo::exec::gpu::variants::{Form, Kernel, Slot};
use vifo::exec::gpu::{FAMILIES, compose};
use vifo::ops::step::{Prior, STEP_WORDS, StepArgs};
use vifo::ops::{self, Op};

fn module(source: &str, name: &str) -> Module {
    naga::front::wgsl::parse_str(&compose(name, source).unwrap_or_else(|e| panic!("{e}")))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// (name, WGSL type, byte offset) of a struct's members, nested structs flattened with dots.
fn members(module: &Module, ty: &TypeInner, base: u32, prefix: &str) -> Vec<(String, String, usize)> {
    let TypeInner::Struct { members: list, .. } = ty else { panic!("not a struct: {ty:?}") };
    let mut all = vec![];
    for m in list {
        let name = format!("{prefix}{}", m.name.as_deref().unwrap_or("?"));
        match &module.types[m.ty].inner {
            TypeInner::Scalar(s) => {
                let ty = match s.kind {
                    ScalarKind::Float => "f32",
                    ScalarKind::Uint => "u32",
                    _ => "other",
                };
                all.push((name, ty.to_string(), (base + m.offset) as usize));
            }
            inner => all.extend(members(module, inner, base + m.offset, &format!("{name}."))),
        }
    }
    all
}

#[derive(Debug, PartialEq)]
struct Bound {
    binding: u32,
    name: String,
    space: &'static str,
}

/// The globals that an entry point uses, itself or through the functions it calls.
fn bound(module: &Module, entry: &str) -> Vec<(Bound, naga::Handle<naga::GlobalVariable>)> {
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
        .validate(module)
        .unwrap_or_else(|e| panic!("{entry}: {e}"));
    let at =
        module.entry_points.iter().position(|e| e.name == entry).unwrap_or_else(|| panic!("no entry point {entry}"));
    let uses = info.get_entry_point(at);
    let mut all = vec![];
    for (handle, global) in module.global_variables.iter() {
        let Some(place) = global.binding else { continue };
        if uses[handle].is_empty() {
            continue;
        }
        assert_eq!(place.group, 0, "{entry}: {:?}", global.name);
        let space = match global.space {
            AddressSpace::Uniform => "uniform",
            AddressSpace::Storage { access } if access == StorageAccess::LOAD => "read",
            AddressSpace::Storage { access } if access == StorageAccess::LOAD | StorageAccess::STORE => "read_write",
            _ => "other",
        };
        all.push((Bound { binding: place.binding, name: global.name.clone().unwrap_or_default(), space }, handle));
    }
    all.sort_by_key(|(b, _)| b.binding);
    all
}

/// What is promised of a kernel of `op` against what stands in `source`; the first difference as text.
fn difference(op: &Op, kernel: &Kernel, fields: &[ops::Field], source: &str) -> Option<String> {
    let name = kernel.entry;
    let module = module(source, name);
    let found = bound(&module, name);
    let mut wanted = vec![("params", "uniform", 0)];
    wanted.extend(kernel.binds.iter().map(|(slot, element)| match slot {
        Slot::Input(i) => (op.inputs()[*i], "read", *element),
        Slot::Output(i) => (op.outputs()[*i], "read_write", *element),
        Slot::ReadScratch => ("scratch", "read", *element),
        Slot::WriteScratch => ("scratch", "read_write", *element),
        Slot::Step => ("args", "read", 0),
        Slot::Schedule => ("schedule", "read", *element),
        Slot::Count => ("count", "read", *element),
    }));
    if found.len() != wanted.len() {
        return Some(format!("{name}: {} bindings, wanted {}: {found:?}", found.len(), wanted.len()));
    }
    if wanted.len() > 9 {
        return Some(format!("{name}: more than 8 storage buffers"));
    }
    for (i, ((have, handle), (want, space, element))) in found.iter().zip(wanted).enumerate() {
        if have.binding != i as u32 || have.space != space || !have.name.ends_with(&format!("_{want}")) {
            return Some(format!("{name}: binding {i} should be {space} {want}, is {have:?}"));
        }
        let inner = &module.types[module.global_variables[*handle].ty].inner;
        match (want, inner) {
            ("params", _) => {
                let reflected = members(&module, inner, 0, "");
                let wanted: Vec<_> = fields.iter().map(|(n, t, o)| (n.to_string(), t.to_string(), *o)).collect();
                if reflected != wanted {
                    return Some(format!("{name}: params are {reflected:?}, Rust has {wanted:?}"));
                }
            }
            ("args", TypeInner::Struct { span, .. }) if *span as usize == STEP_WORDS * 4 => {}
            ("args", _) => return Some(format!("{name}: args are {inner:?}")),
            ("schedule", TypeInner::Array { base, stride, .. })
                if u64::from(*stride) == element
                    && members(&module, &module.types[*base].inner, 0, "").len() == STEP_WORDS => {}
            ("count", TypeInner::Scalar(s)) if s.kind == ScalarKind::Uint && s.width == 4 && element == 4 => {}
            (_, TypeInner::Array { base, stride, .. }) if u64::from(*stride) == element => {
                // Bytes are packed into words; everything else is a number, or four of them.
                let words = op.reads_bytes() && op.inputs().contains(&want);
                let kind = if words { ScalarKind::Uint } else { ScalarKind::Float };
                let same = match &module.types[*base].inner {
                    TypeInner::Scalar(s) => element == 4 && s.kind == kind,
                    TypeInner::Vector { size, scalar } => element == 16 && *size as u32 == 4 && scalar.kind == kind,
                    _ => false,
                };
                if !same {
                    return Some(format!("{name}: {want} should hold {kind:?}"));
                }
            }
            _ => return Some(format!("{name}: binding {i} is {inner:?}")),
        }
    }
    None
}

fn source_of(kernel: &Kernel) -> &'static str {
    FAMILIES
        .iter()
        .find(|(name, _)| *name == kernel.module)
        .map(|(_, text)| *text)
        .unwrap_or_else(|| panic!("no shader {}", kernel.module))
}

/// The plain kernel of an op by its name.
fn plain(name: &str) -> (Op, Kernel) {
    let op = ops::all().into_iter().find(|op| op.name() == name).expect("the op is there");
    (op, Form::plain(&op).kernels.remove(0))
}

/// Of every op in all its forms.
#[test]
fn params_and_bindings_agree() {
    let kernels = all_kernels();
    assert!(ops::all().iter().all(|op| kernels.iter().any(|(_, k)| k.entry == op.name())));
    let differences: Vec<_> =
        kernels.iter().filter_map(|(op, kernel)| difference(op, kernel, op.fields(), source_of(kernel))).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The comparison itself: two fields swapped, a type changed, two bindings swapped, an access mode changed.
#[test]
fn differences_are_seen() {
    let (op, kernel) = plain("linear_forward");
    let source = source_of(&kernel);
    assert_eq!(difference(&op, &kernel, op.fields(), source), None);
    let mut swapped = op.fields().to_vec();
    swapped.swap(1, 2);
    assert!(difference(&op, &kernel, &swapped, source).is_some());
    for (from, to) in [
        ("    share: u32,\n    rows: u32,", "    rows: u32,\n    share: u32,"),
        ("    bias: u32,", "    bias: f32,"),
        ("var<storage, read> forward_x", "var<storage, read_write> forward_x"),
        ("@binding(3) var<storage, read_write> forward_y", "@binding(5) var<storage, read_write> forward_y"),
    ] {
        let changed = source.replacen(from, to, 1).replace("r * p.stride + p.bias", "r * p.stride + u32(p.bias)");
        assert_ne!(changed, source, "{from}");
        assert!(difference(&op, &kernel, op.fields(), &changed).is_some(), "{to}");
    }
    // Bytes bound as numbers.
    let (op, kernel) = plain("gather_images");
    let source = source_of(&kernel);
    let changed = source
        .replace("gather_images3: array<u32>", "gather_images3: array<f32>")
        .replace("gather_images3[at / 4u]", "bitcast<u32>(gather_images3[at / 4u])");
    assert_ne!(changed, source);
    let of = |source| difference(&op, &kernel, op.fields(), source);
    assert!(of(source).is_none() && of(&changed).is_some());
    // Quadruples bound as numbers, and the other way round.
    let (op, kernel) =
        all_kernels().into_iter().find(|(_, k)| k.entry == "linear_forward_tiled_quads").expect("the kernel is there");
    let source = source_of(&kernel);
    assert_eq!(difference(&op, &kernel, op.fields(), source), None);
    for i in 0..kernel.binds.len() {
        let mut wrong = kernel.clone();
        wrong.binds[i].1 = 4;
        assert!(difference(&op, &wrong, op.fields(), source).is_some());
    }
}

/// Names of StepArgs' fields in the order of `words`, found by setting one field at a time.
fn word_names() -> Vec<String> {
    macro_rules! places {
        ($($field:ident = $one:expr),*; $($prior:ident),*) => {
            [
                $((stringify!($field).to_string(), StepArgs { $field: $one, ..Default::default() }),)*
                $((format!("prior.{}", stringify!($prior)), StepArgs { prior: Prior { $prior: 1.0, ..Default::default() }, ..Default::default() }),)*
            ]
        };
    }
    let all: Vec<(String, StepArgs<f64>)> = places!(
        step = 1, epoch = 1, batch_start = 1, n_valid = 1, seed = 1, n_samples = 1, collect = 1, warm = 1,
        lr = 1.0, bias1 = 1.0, bias2 = 1.0, clip_norm = 1.0, eta = 1.0, eta_aux = 1.0, weight_decay = 1.0, dropout = 1.0;
        p0, p1, p2, constant
    )
    .into();
    let mut names: Vec<String> = (0..STEP_WORDS).map(|i| format!("word {i}")).collect();
    for (name, args) in all {
        let set: Vec<usize> = args.words().iter().enumerate().filter(|(_, w)| **w != 0).map(|(i, _)| i).collect();
        assert_eq!(set.len(), 1, "{name} fills {set:?}");
        names[set[0]] = name;
    }
    names
}

#[test]
fn step_words_agree() {
    let source = FAMILIES.iter().find(|(name, _)| *name == "step").expect("step is listed").1;
    let module = module(source, "step");
    let globals = bound(&module, "advance");
    let listed: Vec<_> = globals.iter().map(|(b, _)| (b.binding, b.name.as_str(), b.space)).collect();
    assert_eq!(listed, [(0, "schedule", "read"), (1, "cursor", "read_write"), (2, "args", "read_write")]);
    let reflected = members(&module, &module.types[module.global_variables[globals[2].1].ty].inner, 0, "");
    assert_eq!(reflected.len(), STEP_WORDS);
    let whole = ["step", "epoch", "batch_start", "n_valid", "seed", "n_samples", "collect", "warm"];
    for (i, (found, wanted)) in reflected.iter().zip(word_names()).enumerate() {
        assert_eq!(found.2, i * 4, "{}", found.0);
        if wanted.starts_with("word") {
            assert!(found.0.starts_with("pad"), "{} has no field in Rust", found.0);
        } else {
            assert_eq!(found.0, wanted);
            assert_eq!(found.1, if whole.contains(&wanted.as_str()) { "u32" } else { "f32" }, "{wanted}");
        }
    }
}
