//! Where the image sets lie. Must not read pixels.

use super::ask::{ReproduceRequest, plain};
use super::mapping::{SETS, Set};
use crate::base::fs;
use crate::data::images;
use crate::error::{Error, Result};
use crate::recipe::BUNDLED;
use std::path::{Path, PathBuf};

/// Sets that are there, by name: those of the paper in the folder of `--data`, those of `--ood`, and the bundled ones.
pub struct Places {
    found: Vec<(String, PathBuf)>,
}

impl Places {
    pub fn look(request: &ReproduceRequest) -> Result<Places> {
        let mut found = vec![];
        let inside = folders(&request.data)?;
        for set in SETS {
            let at = set.folders.iter().find_map(|alias| inside.iter().find(|(name, _)| name == alias));
            match at {
                Some((_, path)) => found.push((set.name.to_string(), absolute(path)?)),
                None if BUNDLED.contains(&set.name) => found.push((set.name.into(), set.name.into())),
                None => {}
            }
        }
        for (name, path) in &request.ood {
            // What it is decides whether it can be read; the error says what may be.
            if !BUNDLED.contains(&path.to_str().unwrap_or_default()) {
                images::is_divided(path)?;
            }
            found.push((name.clone(), crate::recipe::absolute(path).map_err(|e| Error::io(path, "find", &e))?));
        }
        Ok(Places { found })
    }

    pub fn of(&self, name: &str) -> Option<PathBuf> {
        self.found.iter().find(|(n, _)| n == name).map(|(_, p)| p.clone())
    }

    /// One error that names all of the `needed` sets that are not there and those that are.
    pub fn require(&self, data: &Path, needed: &[&Set]) -> Result<()> {
        let missing: Vec<&&Set> = needed.iter().filter(|s| self.of(s.name).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names = missing.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
        // The reader of each set knows where it is to be had.
        let source = |set: &&&Set| images::is_divided(&data.join(set.name)).err().map(|e| cure_of(&e));
        let sources = missing.iter().filter_map(source).collect::<Vec<_>>().join("; ");
        let there: Vec<&str> = needed.iter().filter(|s| self.of(s.name).is_some()).map(|s| s.name).collect();
        let there = if there.is_empty() { "digits".into() } else { there.join(",") };
        Err(Error::data(
            data.display().to_string(),
            format!("no image set of the name {names} lies there"),
            "",
            format!("{sources}, under that name into {}; or take what is there: --datasets {there}", data.display()),
        ))
    }
}

fn cure_of(error: &Error) -> String {
    match error {
        Error::Usage(f) | Error::Data(f) | Error::Io(f) | Error::Run(f) | Error::Device(f) | Error::Stopped(f) => {
            f.help.clone()
        }
    }
}

/// Names, as `plain` has them, of what lies in `data`; nothing if it is no folder.
fn folders(data: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(data) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(Error::io(data, "read", &e)),
    };
    let mut out: Vec<(String, PathBuf)> = entries
        .flatten()
        .filter(|e| fs::is_dir(e.path()))
        .map(|e| (plain(&e.file_name().to_string_lossy()), e.path()))
        .collect();
    out.sort();
    Ok(out)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    fs::absolute(path).map_err(|e| Error::io(path, "find", &e))
}

/// What a stored evaluation remembers of a set: its path, and how many files of how many bytes lie there.
pub fn fingerprint(path: &Path) -> String {
    fn count(path: &Path, depth: usize, files: &mut u64, bytes: &mut u64) {
        let Ok(meta) = fs::metadata(path) else { return };
        if meta.is_file() {
            (*files, *bytes) = (*files + 1, *bytes + meta.len());
        } else if depth < 4
            && let Ok(entries) = fs::read_dir(path)
        {
            entries.flatten().for_each(|e| count(&e.path(), depth + 1, files, bytes));
        }
    }
    let (mut files, mut bytes) = (0, 0);
    count(path, 0, &mut files, &mut bytes);
    format!("{}: {files} files, {bytes} bytes", path.display())
}
