//! Where a run may lie, and its recipe's paths as they hold from anywhere.

use super::RunFolder;
use crate::base::{fs, names};
use crate::error::{Error, Result, either};
use crate::recipe::Recipe;
use std::path::Path;

/// Paths in a run folder's recipe are absolute: the folder may be read from anywhere.
pub(crate) fn absolute(recipe: &Recipe) -> Result<Recipe> {
    let mut recipe = recipe.clone();
    let Recipe { data: d, net, .. } = &mut recipe;
    let paths = [&mut d.file, &mut d.images, &mut d.target_file, &mut d.test_file, &mut d.split_file, &mut net.weights];
    for path in paths.into_iter().flatten() {
        *path = crate::recipe::absolute(path).map_err(|e| Error::io(path, "find", &e))?;
    }
    Ok(recipe)
}

/// Gives a run folder another name beside its neighbours. Where it is now.
///
/// # Errors
/// The name is none or taken, a process writes to the run, or the disk refuses.
pub fn rename(folder: &RunFolder, name: &str) -> Result<std::path::PathBuf> {
    let name = name.trim();
    let is_plain = !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(|c: char| c.is_control() || names::FORBIDDEN.contains(c))
        && !names::is_device(name)
        && !name.ends_with(['.', ' '])
        && name.len() <= 200;
    if !is_plain {
        let allowed =
            "letters, digits and signs other than / \\ : * ? \" < > |, no point at either end, no device of Windows";
        return Err(Error::usage("name of a run", format!("'{name}'"), allowed, "choose another name"));
    }
    let from = fs::absolute(&folder.path).map_err(|e| Error::io(&folder.path, "find", &e))?;
    // Beside where it was named, so that a path stays as short as it was.
    let to = folder.path.with_file_name(name);
    if fs::absolute(&to).is_ok_and(|to| to == from) {
        return Ok(folder.path.clone());
    }
    if fs::exists(&to) {
        return Err(Error::usage(to.display().to_string(), "already exists", "", "choose another name"));
    }
    drop(folder.lock()?);
    fs::rename(&folder.path, &to).map_err(|e| Error::io(&folder.path, "rename", &e))?;
    Ok(to)
}

/// A run folder among the images would be a class of its own the next time.
pub fn outside_of_the_images(recipe: &Recipe, path: &Path) -> Result<()> {
    let Some(Ok(images)) = recipe.data.images.as_ref().map(fs::canonicalize) else { return Ok(()) };
    let absolute = fs::absolute(path).map_err(|e| Error::io(path, "find", &e))?;
    // The folder need not exist yet; the nearest one above it that does tells where it would be.
    let inside = absolute.ancestors().find_map(|p| fs::canonicalize(p).ok()).is_some_and(|p| p.starts_with(&images));
    let is_bundled = recipe.data.images.as_deref().is_some_and(crate::recipe::is_bundled);
    if inside && !is_bundled {
        // Who named a folder of tables by mistake is helped more by that.
        crate::data::images::check_folder(&images)?;
        let place = path.display().to_string();
        return Err(Error::usage(
            place,
            "lies inside the image set",
            "a folder outside of it",
            either("choose another with --out", "choose another"),
        ));
    }
    Ok(())
}

/// Only what is recognisably a run of ours may be deleted.
pub(crate) fn replaceable(path: &Path) -> Result<()> {
    let is_empty = RunFolder::refuse_unless_empty(path).is_ok() && fs::is_dir(path);
    if is_empty || RunFolder::open(path).is_ok() {
        return Ok(());
    }
    Err(Error::usage(
        path.display().to_string(),
        either("is not a run folder, so --force does not delete it", "is not a run folder, and stays as it is"),
        either("a folder made by `vifo fit`", "a folder that a training made"),
        either("choose another folder with --out", "choose another folder"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_a_plain_free_name_or_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let made = |name: &str| RunFolder::create(&dir.path().join(name)).expect("a new folder");
        let (run, other) = (made("run"), made("other"));
        for bad in ["", " ", "a/b", "..", ".hidden", "a\nb", "a:b", "end.", "Con", "nul.2"] {
            let said = rename(&run, bad).expect_err("no name").to_string();
            assert!(said.starts_with("name of a run: '"), "{said}");
        }
        let taken = rename(&run, "other").expect_err("taken").to_string();
        assert!(taken.contains("other: already exists"), "{taken}");
        assert_eq!(rename(&run, "run"), Ok(run.path.clone()));
        let lock = run.lock().expect("free");
        assert!(rename(&run, "new").is_err() && run.path.is_dir());
        drop(lock);
        assert_eq!(rename(&run, " größe 2 "), Ok(dir.path().join("größe 2")));
        assert!(!run.path.exists() && other.path.is_dir());
    }
}
