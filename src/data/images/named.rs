//! The image set that a path names: a bundled one, or one on disk. Must not decode anything itself.

use super::{ImageSet, Options, Part};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::recipe::{is_bundled, is_run};
use std::path::Path;

/// Largest side of images where the recipe names neither a network nor a size.
pub(crate) const MOST_SIDE: usize = 32;

/// Folders and the files of image sets; everything else is read as a table.
pub fn is_images(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().to_lowercase());
    fs::is_dir(path)
        || is_bundled(path)
        || name.ends_with("#coarse")
        || [".bin", ".mat", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"].iter().any(|end| name.ends_with(end))
        || name.contains("idx3")
        || name.contains("ubyte")
}

/// Reads a bundled set or one on disk. A run folder, whose figures are pictures too, is none.
pub(crate) fn open(path: &Path, part: Part, options: &Options) -> Result<ImageSet> {
    if !is_bundled(path) && is_run(path) {
        let help = format!("open {} to see the run", path.join("report.html").display());
        return Err(Error::usage(path.display().to_string(), "is a run folder", "a table or an image set", help));
    }
    if is_bundled(path) { super::digits(options) } else { super::open_with(path, part, options) }
}

pub(crate) fn is_divided(path: &Path) -> Result<bool> {
    if is_bundled(path) { Ok(false) } else { super::is_divided(path) }
}

pub(crate) fn has_validation(path: &Path) -> Result<bool> {
    if is_bundled(path) { Ok(false) } else { super::has_validation(path) }
}
