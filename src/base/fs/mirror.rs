//! The tree of files as others have it, too: the browser's storage, another program beside this one. Each is told what changes here,
//! and tells what changes there.

use super::memory::{Node, Tree, absolute, tree};
use crate::base::clock::SystemTime;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct MirrorState {
    /// Paths that have changed since it last asked.
    changed: BTreeSet<PathBuf>,
    /// Held there.
    locked: BTreeSet<PathBuf>,
}

impl Tree {
    fn lies(&self, path: PathBuf) -> (PathBuf, Lies) {
        let lies = match self.get(&path) {
            Some(Node::File { bytes, modified }) => Lies::File { bytes, modified },
            Some(Node::Dir) => Lies::Folder,
            None => Lies::Nothing,
        };
        (path, lies)
    }

    /// Tells all mirrors but one of a change.
    pub(super) fn note(&mut self, path: &Path, but: Option<u64>) {
        for (number, mirror) in &mut self.mirrors {
            if Some(*number) != but {
                mirror.changed.insert(path.to_path_buf());
            }
        }
    }

    pub(super) fn is_locked(&self, path: &Path) -> bool {
        self.locked.contains(path) || self.mirrors.values().any(|m| m.locked.contains(path))
    }
}

/// What lies at a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Lies {
    File { bytes: Arc<Vec<u8>>, modified: SystemTime },
    Folder,
    Nothing,
}

/// Another place where the tree is kept: the browser's storage, or the memory of another program. It is told what changes here, and
/// tells what changes there.
#[derive(Debug)]
pub struct Mirror(u64);

impl Mirror {
    /// From now on.
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Mirror {
        let mut tree = tree();
        tree.numbers += 1;
        let number = tree.numbers;
        tree.mirrors.insert(number, MirrorState::default());
        Mirror(number)
    }

    /// What has changed since the last call, folders before what lies in them; not what `set` has changed.
    pub fn changes(&self) -> Vec<(PathBuf, Lies)> {
        let mut tree = tree();
        let changed = tree.mirrors.get_mut(&self.0).map(|m| std::mem::take(&mut m.changed)).unwrap_or_default();
        changed.into_iter().map(|path| tree.lies(path)).collect()
    }

    /// Takes over what has changed there, as it is and with the folders around it.
    pub fn set(&self, path: PathBuf, lies: Lies) {
        let mut tree = tree();
        if !matches!(lies, Lies::Nothing) {
            for dir in path.ancestors().skip(1).filter(|dir| *dir != Path::new("/")) {
                tree.nodes.entry(dir.to_path_buf()).or_insert(Node::Dir);
            }
        }
        tree.note(&path, Some(self.0));
        match lies {
            Lies::File { bytes, modified } => drop(tree.nodes.insert(path, Node::File { bytes, modified })),
            Lies::Folder => drop(tree.nodes.insert(path, Node::Dir)),
            Lies::Nothing => drop(tree.nodes.remove(&path)),
        }
    }

    /// The paths that are held here, and by others than this one.
    pub fn locks(&self) -> BTreeSet<PathBuf> {
        let tree = tree();
        let others = tree.mirrors.iter().filter(|(number, _)| **number != self.0).flat_map(|(_, m)| &m.locked);
        tree.locked.iter().chain(others).cloned().collect()
    }

    /// The paths that are held there.
    pub fn set_locks(&self, paths: BTreeSet<PathBuf>) {
        if let Some(mirror) = tree().mirrors.get_mut(&self.0) {
            mirror.locked = paths;
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        tree().mirrors.remove(&self.0);
    }
}

/// All that lies in a folder, at any depth, and the folder itself; or the file.
pub fn all_of(path: &Path) -> Vec<(PathBuf, Lies)> {
    let Ok(path) = absolute(path) else { return vec![] };
    let tree = tree();
    let inside = tree.inside(&path);
    let itself = (tree.nodes.contains_key(&path)).then_some(path);
    itself.into_iter().chain(inside).map(|path| tree.lies(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::memory::{create_dir_all, exists, open_lock, read, remove_dir_all, write};
    use super::*;

    fn inside(changes: Vec<(PathBuf, Lies)>, root: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let bytes = |lies| match lies {
            Lies::File { bytes, .. } => Some(bytes.as_ref().clone()),
            Lies::Folder => Some(b"folder".to_vec()),
            Lies::Nothing => None,
        };
        changes.into_iter().filter(|c| c.0.starts_with(root)).map(|(path, lies)| (path, bytes(lies))).collect()
    }

    #[test]
    fn changes_are_told_once_and_not_to_who_told_them() {
        let root = Path::new("/changes_are_told_once");
        let (one, other) = (Mirror::new(), Mirror::new());
        let told = |mirror: &Mirror| inside(mirror.changes(), root);
        create_dir_all(root).expect("made");
        write(root.join("a"), b"1").expect("written");
        write(root.join("a"), b"2").expect("written");
        let all = [(root.to_path_buf(), Some(b"folder".to_vec())), (root.join("a"), Some(b"2".to_vec()))];
        assert_eq!((told(&one), told(&one)), (all.to_vec(), vec![]));
        assert_eq!(inside(all_of(root), root), all);
        // What one tells, with folders that were not there, the other is told.
        let lies = Lies::File { bytes: Arc::new(b"3".to_vec()), modified: SystemTime::now() };
        one.set(root.join("sub/b"), lies);
        assert_eq!(read(root.join("sub/b")).expect("there"), b"3");
        assert_eq!(told(&one), []);
        assert_eq!(told(&other).last(), Some(&(root.join("sub/b"), Some(b"3".to_vec()))));
        remove_dir_all(root).expect("removed");
        let gone =
            ["", "a", "sub", "sub/b"].map(|name| (if name.is_empty() { root.into() } else { root.join(name) }, None));
        assert_eq!(told(&one), gone);
        other.set(root.join("sub/b"), Lies::Nothing);
        assert!(!exists(root));
    }

    #[test]
    fn what_is_held_elsewhere_is_held_here() {
        create_dir_all("/what_is_held_elsewhere").expect("made");
        let path = Path::new("/what_is_held_elsewhere/.lock");
        let (there, third, file) = (Mirror::new(), Mirror::new(), open_lock(path).expect("made"));
        there.set_locks([path.to_path_buf()].into());
        assert!(file.try_lock_shared().is_err() && file.try_lock().is_err());
        assert!(third.locks().contains(path) && !there.locks().contains(path));
        // Who is gone holds nothing.
        drop(there);
        assert!(file.try_lock().is_ok() && third.locks().contains(path));
    }
}
