//! The parts of a run and their sums: what was damaged, replaced or edited since vifo wrote it is noticed when it is read.
//!
//! The manifest holds the SHA-256 of each part. A part that is replaced has two there, the new and the old one, before it is
//! written: whenever a crash comes, the part that is there is one of them.

use super::folder::{CALIBRATION, Manifest, RunFolder, write_atomic};
use crate::base::clock::Duration;
use crate::base::{fs, task};
use crate::error::{Error, Result, either};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub const BEST: &str = "checkpoints/best.safetensors";
pub const LAST: &str = "checkpoints/last.safetensors";
const MANIFEST: &str = "manifest.json";

/// What a later command reads, and trusts.
pub const PARTS: [&str; 7] = ["recipe.toml", "encoder.json", "metrics.csv", "results.json", CALIBRATION, BEST, LAST];

/// Other files of a run, which nothing is decided by.
const OTHERS: [&str; 13] = [
    ".lock",
    MANIFEST,
    super::about::ABOUT,
    super::calibration::CALIBRATED,
    super::calibration::CALIBRATED_ROWS,
    "evaluation.json",
    "predictions.csv",
    "predictions.json",
    "importance.csv",
    "out_of_fold.csv",
    "out_of_fold.json",
    "report.html",
    "reproduce.json",
];
/// What file managers leave in every folder they show.
const OF_THE_SYSTEM: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];

type Sums = BTreeMap<String, Vec<String>>;

/// A part as it is there, and whether it is what vifo wrote.
pub struct Read {
    pub bytes: Vec<u8>,
    pub verdict: Result<()>,
}

fn sum_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// In the place of the manifest's own sum while it is taken.
fn zeros() -> String {
    "0".repeat(64)
}

impl RunFolder {
    /// Writes a file of the run; the checksum of a part goes into the manifest first.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_parts(&[(name, bytes)])
    }

    /// Several, in this order, with one look at the manifest.
    pub fn write_parts(&self, parts: &[(&str, &[u8])]) -> Result<()> {
        let tracked = || parts.iter().filter(|(name, _)| PARTS.contains(name));
        // Before the first manifest there is nothing to record; a damaged one is reported when it is read.
        if let Some(mut manifest) = self.manifest().ok().filter(|m| !m.sums.is_empty() && tracked().next().is_some()) {
            for (name, bytes) in tracked() {
                let new = sum_of(bytes);
                let mut before = self.settled(name, manifest.sums.get(*name));
                before.retain(|sum| *sum != new);
                before.insert(0, new);
                manifest.sums.insert(name.to_string(), before);
            }
            self.write_manifest(&mut manifest)?;
        }
        parts.iter().try_for_each(|(name, bytes)| write_atomic(&self.path.join(name), bytes))
    }

    /// Of several sums that a part may have, the one that it has.
    fn settled(&self, name: &str, sums: Option<&Vec<String>>) -> Vec<String> {
        match sums.map_or(&[][..], Vec::as_slice) {
            several @ [_, _, ..] => {
                let there = fs::read(self.path.join(name)).map(|bytes| sum_of(&bytes)).unwrap_or_default();
                several.iter().filter(|s| **s == there).cloned().collect()
            }
            one => one.to_vec(),
        }
    }

    /// One sum a part: the manifest's, or of what is there where it has none yet.
    pub(crate) fn sums(&self) -> Sums {
        match self.manifest().ok().filter(|m| !m.sums.is_empty()) {
            Some(m) => m.sums.iter().map(|(name, sums)| (name.clone(), self.settled(name, Some(sums)))).collect(),
            None => self.sums_there(),
        }
    }

    fn sums_there(&self) -> Sums {
        let of = |name: &&str| Some((name.to_string(), vec![sum_of(&fs::read(self.path.join(name)).ok()?)]));
        PARTS.iter().filter_map(of).collect()
    }

    /// Reads a part and compares its sum.
    pub fn read_part(&self, name: &str) -> Result<Read> {
        const LOOKS: u32 = 4;
        let path = self.file(name);
        let mut looks = 0;
        loop {
            let bytes = fs::read(&path).map_err(|e| Error::io(&path, "read", &e))?;
            let verdict = self.verdict(name, &bytes);
            looks += 1;
            // A writer may have replaced part and manifest between the two looks at them.
            if verdict.is_ok() || looks == LOOKS || !self.is_held() {
                return Ok(Read { bytes, verdict });
            }
            task::pause(Duration::from_millis(30));
        }
    }

    fn verdict(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let Ok(manifest) = self.manifest() else { return Ok(()) };
        let known = manifest.sums.get(name).is_some_and(|sums| sums.contains(&sum_of(bytes)));
        if known || manifest.sums.is_empty() || !PARTS.contains(&name) { Ok(()) } else { Err(self.changed(name)) }
    }

    fn changed(&self, name: &str) -> Error {
        Error::data(
            self.file(name).display().to_string(),
            "is not what vifo wrote: its SHA-256 differs from the one in manifest.json, so it was damaged, replaced or edited",
            "",
            either(
                "restore it, train again with `vifo fit`, or take it as it is with --accept-changed",
                "restore it, or train again",
            ),
        )
    }

    /// An error that names the first part that is not what vifo wrote.
    pub fn verify(&self) -> Result<()> {
        self.manifest()?;
        PARTS.iter().filter(|name| fs::is_file(self.path.join(name))).try_for_each(|name| self.read_part(name)?.verdict)
    }

    /// Takes the parts as they are from now on, for who changed them on purpose; the manifest remembers which. Their names.
    pub fn accept_changed(&self) -> Result<Vec<String>> {
        let _lock = self.lock()?;
        let path = self.path.join(MANIFEST);
        let bytes = fs::read(&path).map_err(|e| Error::io(&path, "read", &e))?;
        let mut manifest: Manifest = self.parse(MANIFEST, &bytes)?;
        let mut changed: Vec<String> = vec![];
        if check_seal(&bytes, &manifest).is_none() {
            changed.push(MANIFEST.into());
        }
        let there = self.sums_there();
        if !manifest.sums.is_empty() {
            let differs = |(name, sums): &(&String, &Vec<String>)| {
                manifest.sums.get(*name).is_none_or(|known| !known.contains(&sums[0]))
            };
            changed.extend(there.iter().filter(differs).map(|(name, _)| name.clone()));
        }
        if !changed.is_empty() {
            manifest.changes.push(format!("by hand, and accepted: {}", changed.join(", ")));
            manifest.sums = there;
            self.write_manifest(&mut manifest)?;
        }
        Ok(changed)
    }

    pub fn manifest(&self) -> Result<Manifest> {
        let path = self.path.join(MANIFEST);
        let bytes = fs::read(&path).map_err(|e| Error::io(&path, "read", &e))?;
        let manifest: Manifest = self.parse(MANIFEST, &bytes)?;
        match check_seal(&bytes, &manifest) {
            Some(()) => Ok(manifest),
            None => Err(Error::data(
                path.display().to_string(),
                "is not what vifo wrote: it was damaged or edited",
                "",
                either("restore it, or take it as it is with --accept-changed", "restore it, or train again"),
            )),
        }
    }

    /// Seals it with its own sum.
    pub fn write_manifest(&self, manifest: &mut Manifest) -> Result<()> {
        manifest.sha256 = zeros();
        let text = serde_json::to_string_pretty(manifest)
            .map_err(|e| Error::run(MANIFEST, e.to_string(), "this is a bug of vifo: please report it"))?;
        manifest.sha256 = sum_of(text.as_bytes());
        let at = text.rfind(&zeros()).map_or(0..0, |at| at..at + 64);
        let mut sealed = text;
        sealed.replace_range(at, &manifest.sha256);
        write_atomic(&self.path.join(MANIFEST), sealed.as_bytes())
    }

    /// Whether a name directly inside is one that vifo gives.
    fn is_own(name: &str) -> bool {
        PARTS.contains(&name)
            || OTHERS.contains(&name)
            || OF_THE_SYSTEM.contains(&name)
            || ["checkpoints", "figures"].contains(&name)
            || name.starts_with(".tmp")
            || (name.starts_with("predictions-") && name.ends_with(".csv"))
            || ["data", "target", "test", "split"].iter().any(|what| *name == format!("{what}.kept"))
    }

    /// A file in the folder that vifo did not make, or a link where it would make one.
    pub fn stranger(&self) -> Option<std::path::PathBuf> {
        let is_own = |path: &std::path::Path, depth: usize| {
            let inner = path.strip_prefix(&self.path).unwrap_or(path).to_string_lossy().replace('\\', "/");
            let (file, meta) = (path.file_name().map(|n| n.to_string_lossy().into_owned()), fs::symlink_metadata(path));
            let (file, is_dir) = (file.unwrap_or_default(), meta.as_ref().is_ok_and(|m| m.is_dir()));
            let is_link = meta.is_ok_and(|m| m.is_symlink());
            let left = file.starts_with(".tmp") || OF_THE_SYSTEM.contains(&file.as_str());
            !is_link
                && match (depth, inner.split('/').next()) {
                    (0, _) => Self::is_own(&inner) && is_dir == ["checkpoints", "figures"].contains(&inner.as_str()),
                    (_, Some("checkpoints")) => !is_dir && (left || PARTS.contains(&inner.as_str())),
                    // Figures of each set of rows from elsewhere lie in a folder of their own.
                    (1, Some("figures")) if is_dir => true,
                    (1 | 2, Some("figures")) => {
                        !is_dir && (left || [".png", ".svg", ".csv"].iter().any(|end| file.ends_with(end)))
                    }
                    _ => false,
                }
        };
        walk(&self.path, 0, &is_own)
    }

    /// Removes the files that vifo made, and the folder where nothing else is in it. Its lock is held by the caller.
    pub fn remove_own(&self) -> Result<()> {
        if let Some(stranger) = self.stranger() {
            return Err(Error::usage(
                stranger.display().to_string(),
                "was not made by vifo, so the run folder around it is not deleted",
                "",
                either("move it away, or choose another folder with --out", "move it away, or choose another folder"),
            ));
        }
        let entries = fs::read_dir(&self.path).map_err(|e| Error::io(&self.path, "read", &e))?;
        for entry in entries.flatten().filter(|e| e.file_name() != ".lock") {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|t| t.is_dir());
            let removed = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(|e| Error::io(&path, "replace", &e))?;
        }
        Ok(())
    }

    /// What a run that never began left behind goes, and the folder with it.
    pub fn discard(&self) {
        // A folder that stays says what is in it.
        if self.remove_own().is_ok() && fs::remove_file(self.path.join(".lock")).is_ok() {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The first path below that `is_own` denies; folders are looked into where it does not.
fn walk(
    dir: &std::path::Path,
    depth: usize,
    is_own: &dyn Fn(&std::path::Path, usize) -> bool,
) -> Option<std::path::PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir).ok()?.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths.into_iter().find_map(|path| match is_own(&path, depth) {
        false => Some(path),
        true if fs::is_dir(&path) => walk(&path, depth + 1, is_own),
        true => None,
    })
}

/// None where a manifest is not what its own sum says; one of vifo 0.1.0 has none.
fn check_seal(bytes: &[u8], manifest: &Manifest) -> Option<()> {
    let sha256 = manifest.sha256.as_str();
    if sha256.is_empty() {
        return manifest.sums.is_empty().then_some(());
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let at = text.rfind(sha256)?;
    let mut blank = text.to_string();
    blank.replace_range(at..at + sha256.len(), &zeros());
    (sum_of(blank.as_bytes()) == sha256).then_some(())
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
