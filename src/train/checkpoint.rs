//! A checkpoint: weights under PyTorch's names and shapes, optimizer state, counters. One safetensors file; what cannot
//! be a tensor stands in its metadata. The whole state of a run, so that a resumed one continues bit-equal.

use crate::error::{Error, Result, either};
use crate::method::{Named, Trained};
use crate::net::Layout;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;
use std::path::Path;

/// Raised when the meaning of a file changes.
pub const VERSION: &str = "1";

/// In a file's metadata: the keys of the variant that its weights are of.
const VARIANT: &str = "variant";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint {
    /// Epochs and steps done.
    pub epoch: u32,
    pub step: u64,
    /// Place in the schedule, and epochs of the schedules before it: `step` and 0 unless data were edited in training.
    pub at: u64,
    pub epochs_before: u32,
    /// Weights collected for an average (SWA, SWAG).
    pub snapshots: u32,
    pub seconds: f64,
    /// Epoch and validation NLL of the best weights so far: of the ensemble, or of each member that holds out rows of its
    /// own. Empty before the first evaluation.
    pub best: Vec<(u32, f64)>,
    pub members: usize,
    pub trained: Trained,
    pub optimizer: Vec<(String, Vec<f32>)>,
    /// The weights of the best epoch, in one file with the rest: a kill cannot part them.
    pub best_weights: Option<Trained>,
    /// The evaluation after its last step was broken off and is still to be made.
    pub is_due: bool,
    /// Keys of the variant that the weights are of, as the recipe has them; empty where they are of none, or of all.
    pub variant: String,
}

/// Names and ranges of the parts of one member's vector: "0.weight", or "mu.0.weight" and "rho.0.weight" for VI.
fn parts(layout: &Layout, member_len: usize) -> Vec<(&'static str, usize)> {
    if member_len == layout.total { vec![("", 0)] } else { vec![("mu.", 0), ("rho.", layout.total)] }
}

impl Checkpoint {
    pub fn to_bytes(&self, layout: &Layout) -> Result<Vec<u8>> {
        let member_len = self.trained.weights.len() / self.members.max(1);
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = vec![];
        let roots = [("", Some(&self.trained)), ("best.", self.best_weights.as_ref())];
        let roots = || roots.into_iter().filter_map(|(root, trained)| Some((root, trained?)));
        for (root, trained) in roots() {
            for m in 0..self.members {
                for (prefix, offset) in parts(layout, member_len) {
                    let flat = &trained.weights[m * member_len + offset..][..layout.total];
                    for view in &layout.views {
                        let bytes = bytemuck::cast_slice(&layout.to_torch(view, flat)).to_vec();
                        tensors.push((format!("{root}members.{m}.{prefix}{}", view.name), view.shape.clone(), bytes));
                    }
                }
            }
        }
        // A member's statistics: one set per weight sample in VI, else one.
        for (root, trained) in roots() {
            let running = &trained.running;
            let sets = running.len() / layout.running.max(1);
            for (i, set) in running.chunks_exact(layout.running.max(1)).enumerate() {
                let (m, s, several) =
                    (i * self.members / sets.max(1), i % (sets / self.members.max(1)).max(1), sets > self.members);
                let sample = if several { format!("sample{s}.") } else { String::new() };
                for (name, c, at) in &layout.norms {
                    for (what, from) in [("running_mean", *at), ("running_var", at + c)] {
                        let bytes = bytemuck::cast_slice(&set[from..from + c]).to_vec();
                        tensors.push((format!("{root}members.{m}.{sample}{name}.{what}"), vec![*c], bytes));
                    }
                }
            }
        }
        for p in &self.trained.posterior {
            let bytes = bytemuck::cast_slice(&p.values).to_vec();
            tensors.push((format!("posterior.{}", p.name), p.shape.clone(), bytes));
        }
        for (name, values) in &self.optimizer {
            tensors.push((
                format!("optimizer.{name}"),
                vec![self.members, values.len() / self.members.max(1)],
                bytemuck::cast_slice(values).to_vec(),
            ));
        }
        let mut meta = HashMap::new();
        meta.insert("vifo_version".to_string(), VERSION.to_string());
        meta.insert("epoch".to_string(), self.epoch.to_string());
        meta.insert("step".to_string(), self.step.to_string());
        if (self.at, self.epochs_before) != (self.step, 0) {
            meta.insert("schedule_step".to_string(), self.at.to_string());
            meta.insert("epochs_before".to_string(), self.epochs_before.to_string());
        }
        meta.insert("snapshots".to_string(), self.snapshots.to_string());
        meta.insert("seconds".to_string(), self.seconds.to_string());
        meta.insert("members".to_string(), self.members.to_string());
        if self.is_due {
            meta.insert("evaluation_is_due".to_string(), "true".to_string());
        }
        if !self.variant.is_empty() {
            meta.insert(VARIANT.to_string(), self.variant.clone());
        }
        if !self.best.is_empty() {
            let each = |of: fn(&(u32, f64)) -> String| self.best.iter().map(of).collect::<Vec<_>>().join(" ");
            meta.insert("best_epoch".to_string(), each(|b| b.0.to_string()));
            // Bits, not digits: the comparison after a resume must come out as before.
            meta.insert("best_nll_bits".to_string(), each(|b| b.1.to_bits().to_string()));
        }
        let views = tensors
            .iter()
            .map(|(name, shape, bytes)| Ok((name.clone(), TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .and_then(|views| safetensors::serialize(views, Some(meta)));
        views.map_err(|e| Error::run("checkpoint", e.to_string(), "this is a bug of vifo: please report it"))
    }

    /// `path` names the file in messages; `layout` and `members` are what the recipe asks for.
    pub fn from_bytes(
        bytes: &[u8],
        path: &Path,
        layout: &Layout,
        members: usize,
        member_len: usize,
    ) -> Result<Checkpoint> {
        let whole = |e| broken(path, format!("not a whole checkpoint: {e}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(whole)?;
        let meta = header.metadata().clone().unwrap_or_default();
        let version = meta.get("vifo_version").map_or("none", String::as_str);
        if version != VERSION {
            return Err(Error::data(
                path.display().to_string(),
                format!("checkpoint format {version}"),
                format!("format {VERSION}"),
                either(
                    "use the vifo that wrote it, or train again with `vifo fit`",
                    "use the vifo that wrote it, or train again",
                ),
            ));
        }
        let number = |key: &str| {
            let value = meta.get(key).and_then(|v| v.parse::<f64>().ok());
            value.ok_or_else(|| broken(path, format!("no {key} in its metadata")))
        };
        if number("members")? as usize != members {
            let found = format!("{} members where the recipe has {members}", number("members")?);
            return Err(broken(path, found));
        }
        let file =
            Tensors { tensors: SafeTensors::deserialize(bytes).map_err(whole)?, path, layout, members, member_len };
        let mut trained = file.trained("")?;
        let has_best = file.tensors.names().iter().any(|n| n.starts_with("best."));
        let best_weights = has_best.then(|| file.trained("best.")).transpose()?;
        let mut optimizer = vec![];
        for name in file.tensors.names() {
            if let Some(short) = name.strip_prefix("optimizer.") {
                optimizer.push((short.to_string(), file.any(name, None)?.values));
            } else if let Some(short) = name.strip_prefix("posterior.") {
                trained.posterior.push(Named { name: short.into(), ..file.any(name, None)? });
            }
        }
        trained.posterior.sort_by(|a, b| a.name.cmp(&b.name));
        optimizer.sort_by(|a, b| a.0.cmp(&b.0));
        let best = match (meta.get("best_epoch"), meta.get("best_nll_bits")) {
            (Some(epochs), Some(bits)) => {
                let pairs = epochs.split(' ').zip(bits.split(' '));
                let pair = |(e, b): (&str, &str)| Some((e.parse().ok()?, f64::from_bits(b.parse().ok()?)));
                let best: Option<Vec<(u32, f64)>> = pairs.map(pair).collect();
                best.ok_or_else(|| broken(path, "its best epoch is not a number".into()))?
            }
            _ => vec![],
        };
        Ok(Checkpoint {
            epoch: number("epoch")? as u32,
            step: number("step")? as u64,
            at: number("schedule_step").or_else(|_| number("step"))? as u64,
            epochs_before: number("epochs_before").unwrap_or(0.0) as u32,
            // Runs of the first vifo have none.
            snapshots: number("snapshots").unwrap_or(0.0) as u32,
            seconds: number("seconds")?,
            best,
            members,
            trained,
            optimizer,
            best_weights,
            is_due: meta.contains_key("evaluation_is_due"),
            variant: meta.get(VARIANT).cloned().unwrap_or_default(),
        })
    }

    /// Keys of the variant that a checkpoint's file is of; None where it is of none, or no whole file.
    pub fn variant_in(bytes: &[u8]) -> Option<String> {
        let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
        header.metadata().as_ref()?.get(VARIANT).cloned()
    }
}

fn broken(path: &Path, found: String) -> Error {
    let again = either("train again with `vifo fit`", "train again");
    let help = format!("the file is damaged or not of this run: restore it, or {again}");
    Error::data(path.display().to_string(), found, "", help)
}

/// The tensors of a checkpoint's file, read by what the recipe asks for.
struct Tensors<'a> {
    tensors: SafeTensors<'a>,
    path: &'a Path,
    layout: &'a Layout,
    members: usize,
    member_len: usize,
}

impl Tensors<'_> {
    /// Of the shape that is asked for, or of any whose first axis are the members.
    fn any(&self, name: &str, shape: Option<&[usize]>) -> Result<Named> {
        let Tensors { tensors, path, members, .. } = self;
        let t = tensors.tensor(name).map_err(|_| broken(path, format!("tensor {name} is missing")))?;
        let fits = shape.map_or(t.shape().first() == Some(members), |s| t.shape() == s);
        if t.dtype() != Dtype::F32 || !fits {
            let wanted = shape.map_or(format!("[{members}, ...]"), |s| format!("{s:?}"));
            let found = format!("tensor {name} is {:?} {:?}, not F32 {wanted}", t.dtype(), t.shape());
            return Err(broken(path, found));
        }
        let values: Vec<f32> = t.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return Err(broken(path, format!("tensor {name} holds {} at place {i}", values[i])));
        }
        Ok(Named { name: name.into(), shape: t.shape().to_vec(), values })
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.any(name, Some(shape)).map(|named| named.values)
    }

    /// Weights and running statistics of all members; `root` comes before their names.
    fn trained(&self, root: &str) -> Result<Trained> {
        Ok(Trained::plain(self.weights(root)?, self.running(root)?))
    }

    fn weights(&self, root: &str) -> Result<Vec<f32>> {
        let Tensors { layout, members, member_len, .. } = *self;
        let mut weights = vec![0.0; members * member_len];
        for m in 0..members {
            for (prefix, offset) in parts(layout, member_len) {
                let flat = &mut weights[m * member_len + offset..][..layout.total];
                for view in &layout.views {
                    let values = self.get(&format!("{root}members.{m}.{prefix}{}", view.name), &view.shape)?;
                    layout.set_from_torch(view, &values, flat);
                }
            }
        }
        Ok(weights)
    }

    fn running(&self, root: &str) -> Result<Vec<f32>> {
        let Tensors { layout, members, ref tensors, .. } = *self;
        let Some((first, ..)) = layout.norms.first() else { return Ok(vec![]) };
        let samples = (0..)
            .take_while(|s| tensors.tensor(&format!("{root}members.0.sample{s}.{first}.running_mean")).is_ok())
            .count();
        let mut running = vec![0.0; members * samples.max(1) * layout.running];
        for (i, set) in running.chunks_exact_mut(layout.running).enumerate() {
            let (m, s) = (i / samples.max(1), i % samples.max(1));
            let sample = if samples > 0 { format!("sample{s}.") } else { String::new() };
            for (name, c, at) in &layout.norms {
                for (what, to) in [("running_mean", *at), ("running_var", at + c)] {
                    let values = self.get(&format!("{root}members.{m}.{sample}{name}.{what}"), &[*c])?;
                    set[to..to + c].copy_from_slice(&values);
                }
            }
        }
        Ok(running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Mlp;
    use crate::program::Act;

    fn sample() -> (Layout, Checkpoint) {
        let layout = Mlp {
            n_in: 2,
            hidden: vec![3],
            last: 2.into(),
            activation: Act::Relu,
            embedded: vec![],
            tables: vec![],
            scaled: false,
            parametric: false,
            dropout: 0.0,
        }
        .layout();
        let n = 2 * layout.total;
        let weights = (0..2 * n).map(|i| i as f32 * 0.5).collect();
        let optimizer =
            vec![("adam.first".to_string(), vec![1.5; 2 * n]), ("adam.second".to_string(), vec![2.5; 2 * n])];
        (
            layout,
            Checkpoint {
                epoch: 3,
                step: 12,
                at: 4,
                epochs_before: 2,
                snapshots: 7,
                seconds: 0.5,
                best: vec![(2, 0.1 + 0.2), (5, -1.5)],
                is_due: true,
                variant: "net.dropout=0.15".into(),
                members: 2,
                best_weights: Some(Trained::plain(vec![7.0; 2 * n], vec![])),
                trained: Trained {
                    posterior: vec![Named { name: "swag.variance".into(), shape: vec![2, 3], values: vec![0.25; 6] }],
                    ..Trained::plain(weights, vec![])
                },
                optimizer,
            },
        )
    }

    #[test]
    fn comes_back_as_it_was() {
        let (layout, c) = sample();
        let bytes = c.to_bytes(&layout).expect("bytes");
        let back = Checkpoint::from_bytes(&bytes, Path::new("c"), &layout, 2, 2 * layout.total).expect("a checkpoint");
        assert_eq!(back, c);
        assert_eq!(Checkpoint::variant_in(&bytes), Some(c.variant.clone()));
        let plain = Checkpoint { variant: String::new(), ..c }.to_bytes(&layout).expect("bytes");
        assert_eq!(Checkpoint::variant_in(&plain), None);
        assert_eq!(Checkpoint::variant_in(&plain[..100]), None);
    }

    /// A5: no number that is none gets into a network.
    #[test]
    fn a5_what_is_no_number_is_named_with_its_tensor() {
        let (layout, good) = sample();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for part in 0..3 {
                let mut c = good.clone();
                match part {
                    0 => c.trained.weights[3] = bad,
                    1 => c.trained.posterior[0].values[4] = bad,
                    _ => c.optimizer[1].1[0] = bad,
                }
                let bytes = c.to_bytes(&layout).expect("bytes");
                let e = Checkpoint::from_bytes(&bytes, Path::new("dir/c"), &layout, 2, 2 * layout.total);
                let e = e.expect_err("no number").to_string();
                let tensor = ["tensor members.0.mu.", "tensor posterior.swag.variance", "tensor optimizer.adam.second"];
                assert!(e.starts_with("dir/c: ") && e.contains(tensor[part]) && e.contains(&bad.to_string()), "{e}");
            }
        }
    }

    #[test]
    fn a_cut_or_foreign_file_is_refused() {
        let (layout, c) = sample();
        let bytes = c.to_bytes(&layout).expect("bytes");
        let len = 2 * layout.total;
        for cut in [0, 4, 20, bytes.len() / 2, bytes.len() - 1] {
            let e = Checkpoint::from_bytes(&bytes[..cut], Path::new("c"), &layout, 2, len).expect_err("cut");
            assert!(e.to_string().starts_with("c: "), "{e}");
        }
        let text = String::from_utf8_lossy(&bytes).replace("\"vifo_version\":\"1\"", "\"vifo_version\":\"9\"");
        assert_ne!(text.as_bytes(), &bytes[..]);
        let mut other = bytes.clone();
        let at = bytes
            .windows(19)
            .position(|w| w == b"\"vifo_version\":\"1\"," || w == b"\"vifo_version\":\"1\"}")
            .expect("the version");
        other[at + 16] = b'9';
        let e = Checkpoint::from_bytes(&other, Path::new("c"), &layout, 2, len).expect_err("version");
        assert!(e.to_string().contains("format 9"), "{e}");
        assert!(Checkpoint::from_bytes(&bytes, Path::new("c"), &layout, 3, len).is_err());
    }
}
