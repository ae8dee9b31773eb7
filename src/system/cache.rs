//! Files that save work and may be lost: in the user's cache folder, behind their SHA-256. Who reads one need not withstand what
//! he has not written.

use super::write_atomic;
use crate::base::fs;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

const SUM: usize = 32;

/// Where the file of that name lies; None where this system names no place for it, or VIFO_CACHE is "off".
pub fn path(name: &str) -> Option<PathBuf> {
    Some(folder()?.join(name))
}

fn folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    match of("VIFO_CACHE") {
        Some(off) if off == *"off" => None,
        Some(own) => Some(own),
        None if cfg!(windows) => Some(of("LOCALAPPDATA")?.join("vifo").join("cache")),
        None if cfg!(target_os = "macos") => Some(of("HOME")?.join("Library").join("Caches").join("vifo")),
        None => Some(of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")))?.join("vifo")),
    }
}

/// What was kept, if it is whole.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (sum, data) = bytes.split_at_checked(SUM)?;
    (sum == Sha256::digest(data).as_slice()).then(|| data.to_vec())
}

/// A cache that cannot be written is none.
pub fn write(path: &Path, data: &[u8]) {
    let Some(folder) = path.parent() else { return };
    let bytes = [Sha256::digest(data).as_slice(), data].concat();
    if fs::create_dir_all(folder).is_ok() {
        let _ = write_atomic(path, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("deep").join("cache.bin");
        assert_eq!(read(&path), None);
        write(&path, b"pipelines");
        assert_eq!(read(&path).as_deref(), Some(&b"pipelines"[..]));
        let mut bytes = std::fs::read(&path).expect("it is there");
        *bytes.last_mut().expect("bytes") ^= 1;
        std::fs::write(&path, &bytes).expect("written");
        assert_eq!(read(&path), None);
        std::fs::write(&path, b"short").expect("written");
        assert_eq!(read(&path), None);
    }
}
