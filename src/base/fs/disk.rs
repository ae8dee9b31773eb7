//! Files on a disk.

use crate::base::clock::Duration;
use crate::base::{names, task};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

pub use std::fs::{
    DirEntry, File, Metadata, TryLockError, create_dir, create_dir_all, metadata, read, read_dir, read_to_string,
    remove_dir, remove_dir_all, remove_file, symlink_metadata, write,
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
    let whole = path.as_ref().canonicalize()?;
    Ok(whole.to_str().filter(|_| names::WINDOWS).map(|text| names::short(text).into()).unwrap_or(whole))
}

pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    patiently(names::WINDOWS, || std::fs::rename(&from, &to))
}

/// A folder of one's own in the place that the system has for such, as long as this value.
pub struct Passing(tempfile::TempDir);

impl Passing {
    /// # Errors
    /// The system has no such place, or no room there.
    pub fn new() -> Result<Passing> {
        tempfile::Builder::new().prefix("vifo-").tempdir().map(Passing)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// On Windows a file is refused while another program looks at it, as those that search for viruses do with every new one.
fn patiently(windows: bool, mut act: impl FnMut() -> Result<()>) -> Result<()> {
    const TRIES: u32 = 20;
    /// A file is open in a way that excludes others.
    const SHARING: i32 = 32;
    for _ in 1..TRIES {
        match act() {
            Err(e) if windows && (e.kind() == ErrorKind::PermissionDenied || e.raw_os_error() == Some(SHARING)) => {
                task::pause(Duration::from_millis(25));
            }
            result => return result,
        }
    }
    act()
}

/// Writes beside `path` under a name that begins with `prefix`, syncs, renames. A link at `path` is replaced, never followed;
/// nothing is left behind where it fails.
pub fn replace(path: &Path, bytes: &[u8], prefix: &str) -> Result<()> {
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The library's own way to open and to rename knows no path of more than 260 characters on Windows; the standard library's does.
    let new = |path: &Path| std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = tempfile::Builder::new().prefix(prefix).make_in(dir, new)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Readable by everyone, whatever the mask of the user.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    // Closed, for Windows renames no file that is open.
    let mut written = file.into_temp_path();
    rename(&written, path)?;
    written.disable_cleanup(true);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_far_down_are_replaced() {
        let top = tempfile::tempdir().expect("a folder");
        let dir = (0..4).fold(top.path().to_path_buf(), |dir, _| dir.join("n".repeat(80)));
        create_dir_all(&dir).expect("made");
        for bytes in [b"first", b"again"] {
            replace(&dir.join("file"), bytes, ".tmp-").expect("written");
            assert_eq!(read(dir.join("file")).expect("there"), bytes);
        }
        assert!(replace(&dir, b"a folder is there", ".tmp-").is_err());
        let left = |dir: &Path| read_dir(dir).expect("there").count();
        assert_eq!((left(&dir), left(dir.parent().expect("above"))), (1, 1), "nothing is left behind");
    }

    #[test]
    fn what_is_open_elsewhere_is_tried_again_on_windows() {
        let tries = |windows: bool, kind: ErrorKind, refused: u32| {
            let mut n = 0;
            let done = patiently(windows, || {
                n += 1;
                if n > refused { Ok(()) } else { Err(kind.into()) }
            });
            (n, done.is_ok())
        };
        assert_eq!(tries(true, ErrorKind::PermissionDenied, 2), (3, true));
        assert_eq!(tries(true, ErrorKind::PermissionDenied, 1000), (20, false));
        assert_eq!(tries(false, ErrorKind::PermissionDenied, 2), (1, false));
        assert_eq!(tries(true, ErrorKind::NotFound, 2), (1, false));
    }
}
