//! Files in memory, named by absolute paths from "/" on; a relative one starts there. As a file system does, it refuses what has
//! no folder to lie in. Its mirrors are told what has become of it.

use crate::base::clock::SystemTime;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
pub use std::fs::TryLockError;
use std::io::{Cursor, Error, ErrorKind, Read, Result};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mirror::MirrorState;
pub use super::mirror::{Lies, Mirror, all_of};

#[derive(Clone)]
pub(super) enum Node {
    Dir,
    File { bytes: Arc<Vec<u8>>, modified: SystemTime },
}

#[derive(Default)]
pub(super) struct Tree {
    /// All but "/" itself.
    pub(super) nodes: BTreeMap<PathBuf, Node>,
    pub(super) locked: BTreeSet<PathBuf>,
    /// By their numbers.
    pub(super) mirrors: BTreeMap<u64, MirrorState>,
    /// Numbers given so far.
    pub(super) numbers: u64,
}

static TREE: Mutex<Tree> =
    Mutex::new(Tree { nodes: BTreeMap::new(), locked: BTreeSet::new(), mirrors: BTreeMap::new(), numbers: 0 });

pub(super) fn tree() -> MutexGuard<'static, Tree> {
    TREE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing() -> Error {
    Error::new(ErrorKind::NotFound, "no such file or folder")
}

/// The path from "/" on, without "." and "..".
pub fn absolute(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = path.as_ref();
    if path.as_os_str().is_empty() {
        return Err(Error::new(ErrorKind::InvalidInput, "an empty path"));
    }
    let mut whole = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => whole.push(name),
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(whole)
}

impl Tree {
    pub(super) fn get(&self, path: &Path) -> Option<Node> {
        if path == Path::new("/") { Some(Node::Dir) } else { self.nodes.get(path).cloned() }
    }

    /// The paths inside, at any depth.
    pub(super) fn inside(&self, dir: &Path) -> Vec<PathBuf> {
        let later = self.nodes.range(dir.to_path_buf()..).map(|(path, _)| path);
        later.take_while(|path| path.starts_with(dir)).filter(|path| *path != dir).cloned().collect()
    }

    fn needs_folder(&self, path: &Path) -> Result<()> {
        match path.parent().and_then(|dir| self.get(dir)) {
            Some(Node::Dir) => Ok(()),
            Some(Node::File { .. }) => Err(Error::new(ErrorKind::NotADirectory, "not a folder")),
            None => Err(missing()),
        }
    }

    fn put(&mut self, path: PathBuf, node: Node) {
        self.note(&path, None);
        self.nodes.insert(path, node);
    }

    fn take(&mut self, path: &Path) -> Option<Node> {
        self.note(path, None);
        self.nodes.remove(path)
    }
}

pub fn exists(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok()
}

pub fn is_dir(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|meta| meta.is_dir())
}

pub fn is_file(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|meta| meta.is_file())
}

pub fn canonicalize(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = absolute(path)?;
    tree().get(&path).map(|_| path).ok_or_else(missing)
}

/// A file's or folder's kind, size in bytes, and time.
#[derive(Debug, Clone, Copy)]
pub struct Metadata {
    len: Option<u64>,
    modified: Option<SystemTime>,
}

impl Metadata {
    pub fn is_dir(&self) -> bool {
        self.len.is_none()
    }
    pub fn is_file(&self) -> bool {
        self.len.is_some()
    }
    pub fn is_symlink(&self) -> bool {
        false
    }
    #[allow(clippy::len_without_is_empty, reason = "as in std::fs")]
    pub fn len(&self) -> u64 {
        self.len.unwrap_or(0)
    }
    pub fn modified(&self) -> Result<SystemTime> {
        self.modified.ok_or_else(|| Error::new(ErrorKind::Unsupported, "a folder has no time"))
    }
}

pub fn metadata(path: impl AsRef<Path>) -> Result<Metadata> {
    match tree().get(&absolute(path)?) {
        None => Err(missing()),
        Some(Node::Dir) => Ok(Metadata { len: None, modified: None }),
        Some(Node::File { bytes, modified }) => {
            Ok(Metadata { len: Some(bytes.len() as u64), modified: Some(modified) })
        }
    }
}

pub fn symlink_metadata(path: impl AsRef<Path>) -> Result<Metadata> {
    metadata(path)
}

pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    Ok(content(path.as_ref())?.as_ref().clone())
}

fn content(path: &Path) -> Result<Arc<Vec<u8>>> {
    match tree().get(&absolute(path)?) {
        None => Err(missing()),
        Some(Node::Dir) => Err(Error::new(ErrorKind::IsADirectory, "is a folder")),
        Some(Node::File { bytes, .. }) => Ok(bytes),
    }
}

pub fn read_to_string(path: impl AsRef<Path>) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|e| Error::new(ErrorKind::InvalidData, e))
}

pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Result<()> {
    let path = absolute(path)?;
    let mut tree = tree();
    tree.needs_folder(&path)?;
    if let Some(Node::Dir) = tree.get(&path) {
        return Err(Error::new(ErrorKind::IsADirectory, "is a folder"));
    }
    let bytes = Arc::new(bytes.as_ref().to_vec());
    tree.put(path, Node::File { bytes, modified: SystemTime::now() });
    Ok(())
}

/// There is nothing half-written here.
pub fn replace(path: &Path, bytes: &[u8], _prefix: &str) -> Result<()> {
    write(path, bytes)
}

pub fn write_into(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes)
}

pub fn create_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = absolute(path)?;
    let mut tree = tree();
    if tree.get(&path).is_some() {
        return Err(Error::new(ErrorKind::AlreadyExists, "already exists"));
    }
    tree.needs_folder(&path)?;
    tree.put(path, Node::Dir);
    Ok(())
}

pub fn create_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = absolute(path)?;
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    for dir in above {
        match metadata(dir) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(Error::new(ErrorKind::AlreadyExists, "a file has this name")),
            Err(_) => create_dir(dir)?,
        }
    }
    Ok(())
}

pub fn remove_file(path: impl AsRef<Path>) -> Result<()> {
    let path = absolute(path)?;
    let mut tree = tree();
    match tree.get(&path) {
        None => Err(missing()),
        Some(Node::Dir) => Err(Error::new(ErrorKind::IsADirectory, "is a folder")),
        Some(Node::File { .. }) => {
            tree.take(&path);
            Ok(())
        }
    }
}

pub fn remove_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = absolute(path)?;
    let mut tree = tree();
    match tree.get(&path) {
        None => Err(missing()),
        Some(Node::File { .. }) => Err(Error::new(ErrorKind::NotADirectory, "not a folder")),
        Some(Node::Dir) if !tree.inside(&path).is_empty() => {
            Err(Error::new(ErrorKind::DirectoryNotEmpty, "is not empty"))
        }
        Some(Node::Dir) => {
            tree.take(&path);
            Ok(())
        }
    }
}

pub fn remove_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = absolute(path)?;
    if !is_dir(&path) {
        return Err(missing());
    }
    let mut tree = tree();
    for inside in tree.inside(&path) {
        tree.take(&inside);
    }
    tree.take(&path);
    Ok(())
}

pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let (from, to) = (absolute(from)?, absolute(to)?);
    let mut tree = tree();
    if tree.get(&from).is_none() {
        return Err(missing());
    }
    tree.needs_folder(&to)?;
    let moved: Vec<PathBuf> = std::iter::once(from.clone()).chain(tree.inside(&from)).collect();
    for path in moved {
        let rest = path.strip_prefix(&from).map(Path::to_path_buf).unwrap_or_default();
        let there = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
        if let Some(node) = tree.take(&path) {
            tree.put(there, node);
        }
    }
    Ok(())
}

/// What lies in a folder.
#[derive(Debug, Clone)]
pub struct DirEntry {
    path: PathBuf,
    meta: Metadata,
}

impl DirEntry {
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }
    pub fn file_name(&self) -> OsString {
        self.path.file_name().map(OsString::from).unwrap_or_default()
    }
    pub fn file_type(&self) -> Result<Metadata> {
        Ok(self.meta)
    }
    pub fn metadata(&self) -> Result<Metadata> {
        Ok(self.meta)
    }
}

/// In the order of their names; the paths begin as the folder's was given.
pub fn read_dir(path: impl AsRef<Path>) -> Result<std::vec::IntoIter<Result<DirEntry>>> {
    let (given, whole) = (path.as_ref(), absolute(path.as_ref())?);
    if !metadata(&whole)?.is_dir() {
        return Err(Error::new(ErrorKind::NotADirectory, "not a folder"));
    }
    let names: Vec<PathBuf> = tree().inside(&whole).into_iter().filter(|p| p.parent() == Some(&whole)).collect();
    let entry = |p: PathBuf| Ok(DirEntry { path: given.join(p.file_name().unwrap_or_default()), meta: metadata(&p)? });
    Ok(names.into_iter().map(entry).collect::<Vec<_>>().into_iter())
}

/// A file as it was when it was opened.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    content: Cursor<Vec<u8>>,
    holds: std::cell::Cell<bool>,
}

impl File {
    pub fn open(path: impl AsRef<Path>) -> Result<File> {
        let content = Cursor::new(read(path.as_ref())?);
        Ok(File { path: absolute(path)?, content, holds: false.into() })
    }
    pub fn metadata(&self) -> Result<Metadata> {
        metadata(&self.path)
    }
    /// Held until the file is dropped.
    pub fn try_lock(&self) -> std::result::Result<(), TryLockError> {
        let mut tree = tree();
        if tree.is_locked(&self.path) {
            return Err(TryLockError::WouldBlock);
        }
        tree.locked.insert(self.path.clone());
        self.holds.set(true);
        Ok(())
    }
    /// Whether nobody holds it: there is nobody else here who could wait for a shared lock.
    pub fn try_lock_shared(&self) -> std::result::Result<(), TryLockError> {
        match tree().is_locked(&self.path) {
            true => Err(TryLockError::WouldBlock),
            false => Ok(()),
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.holds.get() {
            tree().locked.remove(&self.path);
        }
    }
}

impl Read for File {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        self.content.read(to)
    }
}

/// Opens a file to lock: made where it is missing, its content untouched.
pub fn open_lock(path: &Path) -> Result<File> {
    if !exists(path) {
        write(path, b"")?;
    }
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One after another what `std::fs` does too, in a folder of the test's own.
    #[test]
    fn as_a_file_system_does() {
        let root = Path::new("/as_a_file_system_does");
        assert_eq!(write(root.join("a"), b"1").map_err(|e| e.kind()), Err(ErrorKind::NotFound));
        create_dir_all(root.join("sub/deep")).expect("made");
        assert_eq!(create_dir(root).map_err(|e| e.kind()), Err(ErrorKind::AlreadyExists));
        write(root.join("sub/./a"), b"1").expect("written");
        write(root.join("sub/b"), "two").expect("written");
        assert_eq!(read(root.join("sub/deep/../a")).expect("there"), b"1");
        assert_eq!(read_to_string("as_a_file_system_does/sub/b").expect("there"), "two");
        assert!(is_dir(root.join("sub")) && is_file(root.join("sub/a")) && !exists(root.join("sub/c")));
        assert_eq!(metadata(root.join("sub/b")).expect("there").len(), 3);
        let names =
            |dir: &Path| -> Vec<OsString> { read_dir(dir).expect("there").flatten().map(|e| e.file_name()).collect() };
        assert_eq!(names(&root.join("sub")), ["a", "b", "deep"]);
        assert_eq!(remove_dir(root.join("sub")).map_err(|e| e.kind()), Err(ErrorKind::DirectoryNotEmpty));
        assert_eq!(read(root.join("sub")).map_err(|e| e.kind()), Err(ErrorKind::IsADirectory));
        rename(root.join("sub"), root.join("moved")).expect("moved");
        assert_eq!(names(root), ["moved"]);
        assert_eq!(read(root.join("moved/a")).expect("there"), b"1");
        remove_file(root.join("moved/a")).expect("removed");
        remove_dir_all(root).expect("removed");
        assert!(!exists(root) && metadata(root.join("moved/b")).is_err());
    }

    #[test]
    fn a_lock_is_held_by_one() {
        create_dir_all("/a_lock_is_held_by_one").expect("made");
        let path = Path::new("/a_lock_is_held_by_one/.lock");
        let (first, second) = (open_lock(path).expect("made"), open_lock(path).expect("there"));
        assert!(first.try_lock().is_ok() && second.try_lock().is_err() && second.try_lock_shared().is_err());
        drop(first);
        assert!(second.try_lock_shared().is_ok() && second.try_lock().is_ok());
    }
}
