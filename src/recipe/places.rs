//! Where data lies: names that are no files, and paths made absolute.

use crate::base::fs;
use std::path::{Path, PathBuf};

/// The name of standard input.
pub const STDIN: &str = "-";

/// Image sets that are part of the program.
pub const BUNDLED: &[&str] = &["digits"];

/// A folder of that name wins, but for a run's: `vifo fit digits --out digits` must not hide the set.
pub fn is_bundled(path: &Path) -> bool {
    path.to_str().is_some_and(|p| BUNDLED.contains(&p)) && (!fs::exists(path) || is_run(path))
}

/// Whether a folder was made by `vifo fit`.
pub fn is_run(path: &Path) -> bool {
    fs::is_file(path.join("recipe.toml")) && fs::is_file(path.join("encoder.json"))
}

/// `path` as an absolute one, unless it names a bundled set or standard input.
pub fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let is_no_file = is_bundled(path) || path.as_os_str() == STDIN;
    if is_no_file { Ok(path.to_path_buf()) } else { fs::absolute(path) }
}
