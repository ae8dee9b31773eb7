//! Runs that were deleted and can be brought back: each lies under a folder of its own in `.trash` beside the runs, named by the
//! second in which it went there, until it is emptied or has grown old.

use super::RunFolder;
use crate::base::clock::{Duration, SystemTime, UNIX_EPOCH};
use crate::base::fs;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Its name, beside the runs.
pub const FOLDER: &str = ".trash";

/// What lies longer in it is gone at the next look.
pub const AGE: Duration = Duration::from_secs(7 * 86_400);

/// A run that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    /// Where it lay.
    pub from: PathBuf,
    /// Where it lies now.
    at: PathBuf,
}

impl Trashed {
    /// Of the folder.
    pub fn name(&self) -> String {
        self.from.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned())
    }
}

/// Moves a run into the trash beside it.
///
/// # Errors
/// A process writes to it, or the disk refuses.
pub fn delete(folder: &RunFolder, now: SystemTime) -> Result<Trashed> {
    let from = fs::absolute(&folder.path).map_err(|e| Error::io(&folder.path, "find", &e))?;
    let (Some(parent), Some(name)) = (from.parent(), from.file_name()) else {
        let help = "move it into a folder of its own first";
        return Err(Error::usage(from.display().to_string(), "is no folder that can be moved", "", help));
    };
    // A system that locks files moves no folder around an open one: the lock tells that nobody writes, and is let go of.
    drop(folder.lock()?);
    let trash = parent.join(FOLDER);
    fs::create_dir_all(&trash).map_err(|e| Error::io(&trash, "create", &e))?;
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let own = claim(&trash, second)?;
    let at = own.join(name);
    if let Err(e) = fs::rename(&from, &at) {
        let _ = fs::remove_dir(&own);
        let _ = fs::remove_dir(&trash);
        return Err(Error::io(&from, "move to the trash", &e));
    }
    Ok(Trashed { from, at })
}

/// A new folder named by the second, and by a number where several went in one.
fn claim(trash: &Path, second: u64) -> Result<PathBuf> {
    for i in 0u32.. {
        let own = trash.join(format!("{second}-{i}"));
        match fs::create_dir(&own) {
            Ok(()) => return Ok(own),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io(&own, "create", &e)),
        }
    }
    Err(Error::usage(trash.display().to_string(), "no free name", "", "empty it"))
}

/// Brings a run back to where it lay, or to NAME-2, -3, ... where another has taken its place since. Where it lies now.
///
/// # Errors
/// It has left the trash, or the disk refuses.
pub fn bring_back(run: &Trashed) -> Result<PathBuf> {
    let beside = |i: u32| run.from.with_file_name(format!("{}-{i}", run.name()));
    let free = std::iter::once(run.from.clone()).chain((2..).map(beside)).find(|to| !fs::exists(to));
    let to = free.unwrap_or_else(|| run.from.clone());
    fs::rename(&run.at, &to).map_err(|e| Error::io(&run.at, "bring back", &e))?;
    leave(&run.at);
    Ok(to)
}

/// Removes a run for good.
pub fn forget(run: &Trashed) {
    let _ = remove(&run.at);
    leave(&run.at);
}

/// A run may be a link: what it leads to is not the trash's.
fn remove(path: &Path) -> std::io::Result<()> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|m| m.is_symlink());
    if is_link { fs::remove_file(path) } else { fs::remove_dir_all(path) }
}

/// Takes the folders away that nothing is left in.
fn leave(at: &Path) {
    for empty in at.ancestors().skip(1).take(2) {
        let _ = fs::remove_dir(empty);
    }
}

/// Removes for good what has lain in the trash of `root` for longer than `AGE`, as after a program that was killed.
pub fn sweep(root: &Path, now: SystemTime) {
    let trash = root.join(FOLDER);
    let Ok(entries) = fs::read_dir(&trash) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // What is not named so was not put there by `delete`.
        let second = name.split_once('-').and_then(|(second, _)| second.parse::<u64>().ok());
        let age = second.map(|s| now.duration_since(UNIX_EPOCH + Duration::from_secs(s)).unwrap_or_default());
        if age.is_some_and(|age| age > AGE) {
            let _ = remove(&entry.path());
        }
    }
    let _ = fs::remove_dir(&trash);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(root: &Path, name: &str) -> RunFolder {
        let run = RunFolder::create(&root.join(name)).expect("a new folder");
        std::fs::write(run.file("recipe.toml"), "seed = 1\n").expect("written");
        run
    }

    #[test]
    fn a_deleted_run_comes_back_as_it_was_and_takes_no_ones_place() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = made(dir.path(), "run");
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let trashed = delete(&run, now).expect("free");
        assert!(!run.path.exists() && trashed.at.ends_with(".trash/1000000000-0/run"), "{trashed:?}");
        // Another of the name came meanwhile, and went in the same second.
        let other = delete(&made(dir.path(), "run"), now).expect("free");
        let third = made(dir.path(), "run");
        assert_eq!(bring_back(&trashed).expect("there"), dir.path().join("run-2"));
        assert_eq!(bring_back(&other).expect("there"), dir.path().join("run-3"));
        assert!(third.file("recipe.toml").is_file() && dir.path().join("run-2/recipe.toml").is_file());
        assert!(!dir.path().join(FOLDER).exists(), "nothing is left of it");
        assert!(bring_back(&other).is_err(), "once");
    }

    #[test]
    fn a_run_that_is_written_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = made(dir.path(), "run");
        let lock = run.lock().expect("free");
        let said = delete(&run, SystemTime::now()).expect_err("held").to_string();
        assert!(said.contains("another vifo is writing to it") && run.path.is_dir(), "{said}");
        drop(lock);
        forget(&delete(&run, SystemTime::now()).expect("free"));
        assert!(!run.path.exists() && !dir.path().join(FOLDER).exists());
    }

    #[test]
    fn what_is_old_goes_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |days: u64| UNIX_EPOCH + Duration::from_secs(days * 86_400);
        delete(&made(dir.path(), "old"), at(10)).expect("free");
        let new = delete(&made(dir.path(), "new"), at(17)).expect("free");
        std::fs::create_dir(dir.path().join(".trash/mine")).expect("made");
        sweep(dir.path(), at(18));
        let left = |name: &str| dir.path().join(FOLDER).join(name).exists();
        assert!(!left("864000-0") && left("1468800-0/new") && left("mine"));
        assert!(bring_back(&new).is_ok());
    }
}
