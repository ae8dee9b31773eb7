//! The weights of ONE network as other programs keep them: a safetensors file with PyTorch's plain names ("0.weight",
//! "l.0.b1.running_mean") and OIHW order, as `safetensors.torch.save_file(model.state_dict(), ...)` writes it. A
//! `Checkpoint` holds a whole run; this holds nothing but numbers. Bytes in, bytes out: never the disk.

use crate::error::{Error, Result, either};
use crate::method::ModelSpec;
use crate::net::{Layout, View};
use crate::recipe::key;
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A tensor that the network has in such a file.
struct Slot<'a> {
    name: String,
    shape: Vec<usize>,
    part: Part<'a>,
}

enum Part<'a> {
    View(&'a View),
    /// Running statistics, from this place on.
    Running {
        at: usize,
        is_variance: bool,
    },
}

fn slots(layout: &Layout) -> Vec<Slot<'_>> {
    let views = layout.views.iter().map(|v| Slot { name: v.name.clone(), shape: v.shape.clone(), part: Part::View(v) });
    let norms = layout.norms.iter().flat_map(|(name, c, at)| {
        [("running_mean", *at, false), ("running_var", at + c, true)].map(|(what, at, is_variance)| Slot {
            name: format!("{name}.{what}"),
            shape: vec![*c],
            part: Part::Running { at, is_variance },
        })
    });
    views.chain(norms).collect()
}

/// PyTorch counts batches in an integer that nothing reads.
fn is_counter(name: &str) -> bool {
    name.ends_with("num_batches_tracked")
}

/// The names of a file as they are shown: short, on one line.
fn shown(name: &str) -> String {
    let mut out: String = name.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect();
    if name.chars().nth(60).is_some() {
        out.push_str("...");
    }
    out
}

/// The first few of `names`.
fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let mut out = names.iter().take(4).map(|n| shown(n.as_ref())).collect::<Vec<_>>().join(", ");
    if names.len() > 4 {
        out.push_str(&format!(", ... ({} in all)", names.len()));
    }
    out
}

/// Flat weights [P] and running statistics [Q] of one network. `path` names the file in messages. A prefix that all names
/// of the file share ("module.", "model.") is none of the network's business; `num_batches_tracked` is not read. F64, F32,
/// F16 and BF16 come in as f32.
pub fn import(bytes: &[u8], path: &Path, layout: &Layout) -> Result<(Vec<f32>, Vec<f32>)> {
    let place = path.display().to_string();
    let tensors = open(bytes, &place)?;
    let slots = slots(layout);
    let mut names: Vec<&str> = tensors.names();
    // The order of the file's table is that of a hash: messages must not depend on it.
    names.sort_unstable();
    let prefix = prefix(&names, &slots);
    check_names(&names, prefix, &slots, &place)?;
    let mut found = Vec::with_capacity(slots.len());
    for slot in &slots {
        let name = format!("{prefix}{}", slot.name);
        let tensor = tensors.tensor(&name).map_err(|e| damaged(&place, &e))?;
        found.push((slot, name, tensor));
    }
    check_shapes(&found, layout, &place)?;
    let (mut weights, mut running) = (vec![0.0; layout.total], vec![0.0; layout.running]);
    for (slot, name, tensor) in &found {
        let at = format!("{place}, tensor {}", shown(name));
        let values = floats(tensor, &at)?;
        match slot.part {
            Part::View(view) => layout.set_from_torch(view, &values, &mut weights),
            Part::Running { at: from, is_variance } => {
                if let Some(i) = values.iter().position(|v| is_variance && *v < 0.0) {
                    let allowed = "variances of at least 0";
                    return Err(Error::data(at, format!("element [{i}] is {}", values[i]), allowed, ELSEWHERE));
                }
                running[from..from + values.len()].copy_from_slice(&values);
            }
        }
    }
    Ok((weights, running))
}

const ELSEWHERE: &str = "save the weights of an earlier, sound state of that training";

fn damaged(place: &str, e: &SafeTensorError) -> Error {
    Error::data(place, format!("its header is damaged: {e}"), "", "copy or save the file again")
}

fn open<'a>(bytes: &'a [u8], place: &str) -> Result<SafeTensors<'a>> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| unreadable(bytes, place, &e))?;
    let is_checkpoint = SafeTensors::read_metadata(bytes)
        .is_ok_and(|(_, header)| header.metadata().as_ref().is_some_and(|m| m.contains_key("vifo_version")));
    if is_checkpoint {
        return Err(Error::data(
            place,
            "is a checkpoint of a whole run of vifo",
            "the weights of one network",
            either(
                "write those of one member with `vifo export RUN OUT.safetensors`, and name that file",
                "name the weights of one network, exported from it",
            ),
        ));
    }
    Ok(tensors)
}

/// Why `bytes` is no safetensors file: of another kind, cut, or damaged.
fn unreadable(bytes: &[u8], place: &str, e: &SafeTensorError) -> Error {
    let save = "save the weights with safetensors.torch.save_file(model.state_dict(), \"FILE.safetensors\")";
    // torch.save writes a zip file, before PyTorch 1.6 a pickle.
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\x80\x02") {
        return Error::data(place, "is a file of torch.save, not of safetensors", "", save);
    }
    let again = "copy or save the file again";
    let header = bytes.first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
    match e {
        SafeTensorError::HeaderTooSmall => {
            let found = format!("holds {} bytes, too few for a safetensors file", bytes.len());
            Error::data(place, found, "", again)
        }
        SafeTensorError::InvalidHeaderLength => {
            let found = format!("is cut: it ends after {} bytes, inside its header of {header}", bytes.len());
            Error::data(place, found, "", again)
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            let found = match announced(bytes) {
                Some(n) if n > bytes.len() as u64 => {
                    format!("is cut: it ends after {} of the {n} bytes that its header announces", bytes.len())
                }
                _ => "holds more bytes than its header announces".into(),
            };
            Error::data(place, found, "", again)
        }
        SafeTensorError::HeaderTooLarge
        | SafeTensorError::InvalidHeader(_)
        | SafeTensorError::InvalidHeaderDeserialization(_) => {
            Error::data(place, format!("not a safetensors file: {e}"), "", save)
        }
        other => damaged(place, other),
    }
}

/// Length of the whole file by its header.
fn announced(bytes: &[u8]) -> Option<u64> {
    let header = u64::from_le_bytes(*bytes.first_chunk()?);
    let text = bytes.get(8..usize::try_from(header).ok()?.checked_add(8)?)?;
    let table: HashMap<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
    let ends = table.values().filter_map(|t| t.get("data_offsets")?.get(1)?.as_u64());
    ends.max()?.checked_add(header)?.checked_add(8)
}

/// The start that all `names` share, up to a dot, under which most of the network's names are found.
fn prefix<'a>(names: &[&'a str], slots: &[Slot]) -> &'a str {
    let all: HashSet<&str> = names.iter().copied().collect();
    let matches = |prefix: &str| slots.iter().filter(|s| all.contains(format!("{prefix}{}", s.name).as_str())).count();
    let first = names.first().copied().unwrap_or("");
    let starts = first.match_indices('.').map(|(i, _)| &first[..=i]).take(8);
    let shared = starts.take_while(|start| names.iter().all(|n| n.starts_with(start)));
    let mut best = ("", matches(""));
    for start in shared {
        let n = matches(start);
        if n > best.1 {
            best = (start, n);
        }
    }
    best.0
}

fn check_names(names: &[&str], prefix: &str, slots: &[Slot], place: &str) -> Result<()> {
    let all: HashSet<&str> = names.iter().copied().collect();
    let wanted: HashSet<String> = slots.iter().map(|s| format!("{prefix}{}", s.name)).collect();
    let missing: Vec<String> =
        slots.iter().map(|s| format!("{prefix}{}", s.name)).filter(|n| !all.contains(n.as_str())).collect();
    let extra: Vec<&str> = names.iter().copied().filter(|n| !wanted.contains(*n) && !is_counter(n)).collect();
    let network = "choose the network that the file is of";
    if missing.len() == slots.len() && !slots.is_empty() {
        let found = format!("holds none of the network's tensors, but {}", listed(names));
        let found = if names.is_empty() { "holds no tensors".into() } else { found };
        let ours: Vec<&str> = slots.iter().map(|s| s.name.as_str()).collect();
        return Err(Error::data(place, found, listed(&ours), format!("rename the tensors, or {network}")));
    }
    if let Some(first) = missing.first() {
        let others = match missing.len() - 1 {
            0 => String::new(),
            1 => format!(", as is {}", shown(&missing[1])),
            n => format!(", as are {n} others"),
        };
        let near =
            extra.iter().max_by(|a, b| strsim::jaro_winkler(a, first).total_cmp(&strsim::jaro_winkler(b, first)));
        let help = match near {
            Some(name) => format!("rename {} (the nearest name in the file) to it, or {network}", shown(name)),
            None => format!("save all tensors of the model's state_dict(), or {network}"),
        };
        return Err(Error::data(format!("{place}, tensor {}", shown(first)), format!("is missing{others}"), "", help));
    }
    if !extra.is_empty() {
        let (tensors, them) = if extra.len() == 1 { ("tensor", "it") } else { ("tensors", "them") };
        let found = format!("{} {tensors} that the network does not have: {}", extra.len(), listed(&extra));
        return Err(Error::data(place, found, "", format!("leave {them} out of the file, or {network}")));
    }
    Ok(())
}

fn check_shapes(found: &[(&Slot, String, TensorView)], layout: &Layout, place: &str) -> Result<()> {
    let wrong: Vec<_> = found.iter().filter(|(slot, _, t)| t.shape() != slot.shape).collect();
    let Some((slot, name, tensor)) = wrong.first() else { return Ok(()) };
    let last = layout.views.last().map(|v| v.layer);
    let in_last = |slot: &Slot| matches!(slot.part, Part::View(v) if Some(v.layer) == last);
    let (ours, theirs) = (&slot.shape, tensor.shape());
    let same_inputs = ours.len() == theirs.len() && ours.get(1..) == theirs.get(1..);
    let help = match (ours.first(), theirs.first()) {
        (Some(&ours), Some(&theirs)) if same_inputs && wrong.iter().all(|(s, ..)| in_last(s)) => {
            let doubled = if ours == 2 * theirs {
                &either(
                    "VIFO doubles the last layer: take the file of a VIFO network, or method.name = \"base\"",
                    "VIFO doubles the last layer: take the file of a VIFO network, or a plain network as method",
                )
            } else if theirs == 2 * ours {
                "VIFO doubles the last layer: take the file of a plain network, or a vifo method"
            } else {
                "take data with as many classes as the file's network has, or a file of as many outputs"
            };
            format!("only the last layer differs, {theirs} outputs in the file and {ours} in the network; {doubled}")
        }
        _ => "give the network the sizes that the file's has (kind, widths, hidden units, channels of an image)".into(),
    };
    let at = format!("{place}, tensor {}", shown(name));
    Err(Error::data(at, format!("shape {theirs:?}"), format!("{ours:?}"), help))
}

/// A tensor's numbers; `at` names it.
fn floats(tensor: &TensorView, at: &str) -> Result<Vec<f32>> {
    let data = tensor.data();
    let wide: Vec<f64> = match tensor.dtype() {
        Dtype::F32 => data.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        Dtype::F64 => data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        Dtype::F16 => data.as_chunks().0.iter().map(|b| half(u16::from_le_bytes(*b))).collect(),
        Dtype::BF16 => data.as_chunks().0.iter().map(|b| brain(u16::from_le_bytes(*b))).collect(),
        other => {
            let help = "save the model in one of them: model.float().state_dict()";
            return Err(Error::data(at, format!("numbers of type {other:?}"), "F32, F64, F16, BF16", help));
        }
    };
    if let Some(i) = wide.iter().position(|v| !(*v as f32).is_finite()) {
        let index = index(i, tensor.shape());
        let (found, allowed) = match wide[i] {
            v if v.is_finite() => (format!("{v:e}"), "numbers that fit in 32 bits, to 3.4e38"),
            v if v.is_nan() => ("NaN".into(), "finite numbers"),
            v => (format!("{}infinity", if v < 0.0 { "-" } else { "" }), "finite numbers"),
        };
        return Err(Error::data(at, format!("element {index:?} is {found}"), allowed, ELSEWHERE));
    }
    Ok(wide.iter().map(|v| *v as f32).collect())
}

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * 2f64.powi(e - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// bfloat16: the upper half of an f32.
fn brain(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// Element `i` of a row-major tensor by its indices.
fn index(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut out: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&n| {
            let at = i % n.max(1);
            i /= n.max(1);
            at
        })
        .collect();
    out.reverse();
    out
}

/// One network's weights [P] and running statistics [Q] as bytes of a safetensors file of f32, for
/// `model.load_state_dict(safetensors.torch.load_file(...))`. What `import` reads comes back to the bit.
pub fn export(layout: &Layout, weights: &[f32], running: &[f32]) -> Result<Vec<u8>> {
    let bug = |found: String| Error::run("export", found, "this is a bug of vifo: please report it");
    if (weights.len(), running.len()) != (layout.total, layout.running) {
        let (p, q) = (layout.total, layout.running);
        return Err(bug(format!("{} weights and {} statistics for {p} and {q}", weights.len(), running.len())));
    }
    let slots = slots(layout);
    let tensors: Vec<(&Slot, Vec<u8>)> = slots
        .iter()
        .map(|slot| {
            let values = match slot.part {
                Part::View(view) => layout.to_torch(view, weights),
                Part::Running { at, .. } => running[at..at + slot.shape[0]].to_vec(),
            };
            (slot, values.iter().flat_map(|v| v.to_le_bytes()).collect())
        })
        .collect();
    // Other readers ask for it: these are PyTorch's names and order.
    let meta = HashMap::from([("format".to_string(), "pt".to_string())]);
    tensors
        .iter()
        .map(|(slot, bytes)| Ok((slot.name.as_str(), TensorView::new(Dtype::F32, slot.shape.clone(), bytes)?)))
        .collect::<std::result::Result<Vec<_>, SafeTensorError>>()
        .and_then(|views| safetensors::serialize(views, Some(meta)))
        .map_err(|e| bug(e.to_string()))
}

/// Weights and running statistics of all members, each started from the network that `import` read. `initial` =
/// `ModelSpec::initial_weights`: VI's rho stays as it is there, since such a file says nothing of it. Members start alike and
/// part through the order of their rows (and dropout, and VI's samples) alone.
pub fn start_from(setup: &ModelSpec, initial: &[f32], imported: (&[f32], &[f32])) -> Result<(Vec<f32>, Vec<f32>)> {
    let (layout, members) = (setup.layout(), setup.members as usize);
    let (weights, running) = imported;
    let wanted = (members * setup.member_len(), layout.total, layout.running);
    let found = (initial.len(), weights.len(), running.len());
    if found != wanted {
        let found = format!("lengths {found:?} of start, weights and statistics; {wanted:?} belong there");
        return Err(Error::run(key!(net.weights).said(), found, "this is a bug of vifo: please report it"));
    }
    let mut all = initial.to_vec();
    for member in all.chunks_exact_mut(setup.member_len().max(1)) {
        // VI's member is (mu, rho); the others' is the weights.
        member[..layout.total].copy_from_slice(weights);
    }
    Ok((all, running.repeat(members * setup.running_len().checked_div(layout.running).unwrap_or(0))))
}

#[cfg(test)]
#[path = "weights_tests.rs"]
mod tests;
