//! Where a run may lie, and its recipe's paths as they hold from anywhere.

use super::RunFolder;
use crate::base::fs;
use crate::error::{Error, Result};
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
            "choose another with --out",
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
        "is not a run folder, so --force does not delete it",
        "a folder made by `vifo fit`",
        "choose another folder with --out",
    ))
}
