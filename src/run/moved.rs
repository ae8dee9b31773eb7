//! Data of a run that was moved: paths as seen from the run's folder, beside the absolute ones of its recipe.

use super::RunFolder;
use crate::base::{fs, names};
use crate::error::{Error, Result, either};
use crate::recipe::{self, Data, FILE_KEYS, Recipe};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The paths of a recipe with their keys.
fn paths(recipe: &mut Recipe) -> [(&'static str, &mut Option<PathBuf>); 6] {
    let Recipe { data: d, net, .. } = recipe;
    debug_assert_eq!(FILE_KEYS.len(), 6, "a key with a file that is not looked for");
    [
        ("data.file", &mut d.file),
        ("data.images", &mut d.images),
        ("data.target_file", &mut d.target_file),
        ("data.test_file", &mut d.test_file),
        ("data.split_file", &mut d.split_file),
        ("net.weights", &mut net.weights),
    ]
}

/// Of each file of `recipe`, its path as seen from `folder`.
pub fn relative(recipe: &Recipe, folder: &Path) -> BTreeMap<String, PathBuf> {
    let Ok(folder) = fs::absolute(folder) else { return BTreeMap::new() };
    let seen = |(key, path): (&str, &mut Option<PathBuf>)| {
        let path = path.as_deref().filter(|p| !recipe::is_bundled(p))?;
        Some((key.to_string(), from(&folder, &fs::absolute(path).ok()?)?))
    };
    paths(&mut recipe.clone()).into_iter().filter_map(seen).collect()
}

/// `to` as seen from the folder `base`, both absolute; None where they share nothing, as two drives do. With "/" between folders,
/// which every system takes: a run is moved to other systems, too.
fn from(base: &Path, to: &Path) -> Option<PathBuf> {
    let (base, to): (Vec<Component>, Vec<Component>) = (base.components().collect(), to.components().collect());
    let common = base.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, base.len() - common);
    let seen: PathBuf = up.chain(to[common..].iter().copied()).collect();
    let portable = |seen: PathBuf| match seen.to_str() {
        Some(text) if names::WINDOWS => text.replace('\\', "/").into(),
        _ => seen,
    };
    (common > 0).then(|| portable(seen))
}

/// Files that are gone are looked for where `relative` says, seen from `folder`.
pub fn follow(recipe: &mut Recipe, folder: &Path, relative: &BTreeMap<String, PathBuf>) {
    let Ok(folder) = fs::absolute(folder) else { return };
    for (key, path) in paths(recipe) {
        let (Some(path), Some(relative)) = (path, relative.get(key)) else { continue };
        let there = plain(&folder.join(relative));
        if !fs::exists(&path) && !recipe::is_bundled(path) && fs::exists(&there) {
            *path = there;
        }
    }
}

/// Without "..": `folder` may be a link whose parent is another folder than its name says.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

/// Names the run's data anew: `--data FILE`.
pub fn replace(data: &mut Data, file: &Path) -> Result<()> {
    let absolute = recipe::absolute(file).map_err(|e| Error::io(file, "find", &e))?;
    match (&mut data.file, &mut data.images) {
        (Some(own), _) | (None, Some(own)) => *own = absolute,
        (None, None) => {
            let help = "leave it out";
            return Err(Error::usage(either("--data", "the data"), "the run was not trained on a file", "", help));
        }
    }
    Ok(())
}

/// What to do about data that is gone, where the command can be told another file: `vifo evaluate`, `vifo fit --resume`.
pub fn name_it() -> String {
    either("say where it is with --data FILE, or ", "")
}

/// What a command has in front of "move it back" where its own --data means other rows, or where it has none.
pub const NO_OPTION: &str = "";

/// An error if the data of the run in `run` is gone: how to bring it back, behind `first`, what else the command takes.
pub fn expect(data: &Data, run: &Path, first: &str) -> Result<()> {
    let own = data.file.as_deref().or(data.images.as_deref());
    let without_suffix = |p: &Path| p.to_str().and_then(|t| t.strip_suffix("#coarse")).is_some_and(fs::exists);
    let gone = own.filter(|p| !fs::exists(p) && !recipe::is_bundled(p) && !without_suffix(p));
    match gone {
        None => Ok(()),
        Some(path) => Err(Error::data(
            path.display().to_string(),
            format!("the data of the run {} is not there, nor where it lay as seen from the run", run.display()),
            "",
            format!("{first}move it back to that path{}", beside(data, run)),
        )),
    }
}

/// The other place where `follow` finds the data: where it lay as seen from the run. Empty where that is the same place.
fn beside(data: &Data, run: &Path) -> String {
    let (key, own) = if data.file.is_some() { ("data.file", &data.file) } else { ("data.images", &data.images) };
    let manifest = RunFolder { path: run.to_path_buf() }.manifest();
    let (Ok(manifest), Ok(run)) = (manifest, fs::absolute(run)) else { return String::new() };
    let place = manifest.relative.get(key).map(|relative| plain(&run.join(relative)));
    let other = place.filter(|place| Some(place) != own.as_ref());
    other.map_or_else(String::new, |place| format!(", or to {}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b17_paths_are_seen_from_the_folder() {
        let seen = |base: &str, to: &str| from(Path::new(base), Path::new(to)).map(|p| p.display().to_string());
        assert_eq!(seen("/a/runs/r", "/a/t.csv").as_deref(), Some("../../t.csv"));
        assert_eq!(seen("/a", "/a/b/t.csv").as_deref(), Some("b/t.csv"));
        assert_eq!(seen("/a/b", "/c/t.csv").as_deref(), Some("../../c/t.csv"));
        assert_eq!(plain(Path::new("/x/runs/r/../../t.csv")), Path::new("/x/t.csv"));
    }
}
