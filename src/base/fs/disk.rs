//! Files on a disk.

use std::io::{Result, Write};
use std::path::{Path, PathBuf};

pub use std::fs::{
    DirEntry, File, Metadata, TryLockError, create_dir, create_dir_all, metadata, read, read_dir, read_to_string,
    remove_dir, remove_dir_all, remove_file, rename, symlink_metadata, write,
};
pub use std::path::absolute;

pub fn exists(path: impl AsRef<Path>) -> bool {
    path.as_ref().exists()
}

pub fn is_dir(path: impl AsRef<Path>) -> bool {
    path.as_ref().is_dir()
}

pub fn is_file(path: impl AsRef<Path>) -> bool {
    path.as_ref().is_file()
}

pub fn canonicalize(path: impl AsRef<Path>) -> Result<PathBuf> {
    path.as_ref().canonicalize()
}

/// Writes beside `path` under a name that begins with `prefix`, syncs, renames. A link at `path` is replaced, never followed;
/// nothing is left behind where it fails.
pub fn replace(path: &Path, bytes: &[u8], prefix: &str) -> Result<()> {
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(prefix).tempfile_in(dir)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A temporary file is private; a result is readable by everyone.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Opens a file to lock: made where it is missing, its content untouched, a link refused.
pub fn open_lock(path: &Path) -> Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o644).custom_flags(libc::O_NOFOLLOW);
    }
    #[cfg(not(unix))]
    if path.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
        return Err(std::io::Error::other("is a symbolic link"));
    }
    options.open(path)
}

/// Writes to what is no regular file, a pipe or a device.
pub fn write_into(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
}
