//! Work that another program can do: what it needs and what comes of it can be written as bytes.

use crate::data::images::is_images;
use crate::error::Result;
use crate::recipe::Recipe;
use crate::run::RunFolder;
use serde::{Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};

pub trait Chore: Serialize + DeserializeOwned + Send + 'static {
    /// Another one for each.
    const NAME: &'static str;
    type Done: Serialize + DeserializeOwned + Send + 'static;

    /// The files and folders that it reads or writes.
    fn paths(&self) -> Vec<PathBuf>;

    /// # Errors
    /// What the work says.
    fn work(self) -> Result<Self::Done>;
}

/// The files that a recipe names.
pub fn files_of(recipe: &Recipe) -> Vec<PathBuf> {
    let data = &recipe.data;
    let files = [&data.file, &data.target_file, &data.split_file, &recipe.net.weights].into_iter().flatten();
    let sets = [&data.images, &data.test_file].into_iter().flatten();
    files.cloned().chain(sets.map(|set| beside(set))).collect()
}

/// A table or an image set; of images with what lies beside it, for some sets are several files.
pub fn beside(set: &Path) -> PathBuf {
    if is_images(set) { set.parent().unwrap_or(Path::new("/")).to_path_buf() } else { set.to_path_buf() }
}

/// A run's folder and the files of its recipe. A folder that is none is refused where it is read.
pub fn files_of_run(path: &Path) -> Vec<PathBuf> {
    let recipe = RunFolder::open(path).and_then(|folder| folder.recipe());
    recipe.iter().flat_map(files_of).chain([path.to_path_buf()]).collect()
}
