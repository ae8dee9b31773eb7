//! Compiled pipelines on the disk, where the driver hands them out: a later start on the same card need not compile them. The file is the
//! driver's own bytes behind their SHA-256: a driver need not withstand what it has not written.

use sha2::{Digest, Sha256};
use std::path::PathBuf;

const SUM: usize = 32;

/// Where the file of an adapter lies; None where this system names no place for it, or VIFO_CACHE is "off".
pub(super) fn path(adapter: &wgpu::AdapterInfo) -> Option<PathBuf> {
    let key = wgpu::util::pipeline_cache_key(adapter)?;
    let version: String =
        adapter.driver_info.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Some(folder()?.join(format!("{key}_{version}.bin")))
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
pub(super) fn read(path: &std::path::Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    let (sum, data) = bytes.split_at_checked(SUM)?;
    (sum == Sha256::digest(data).as_slice()).then(|| data.to_vec())
}

/// A cache that cannot be written is none.
pub(super) fn write(path: &std::path::Path, data: &[u8]) {
    let Some(folder) = path.parent() else { return };
    let bytes = [Sha256::digest(data).as_slice(), data].concat();
    if std::fs::create_dir_all(folder).is_ok() {
        let _ = crate::system::write_atomic(path, &bytes);
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
