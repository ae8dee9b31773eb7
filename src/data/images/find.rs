//! Detects the kind of image set at a path, by names and sizes, never by pixels. Must not decode anything.

use super::{Part, file_name, folder, listed, place};
use crate::base::fs;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// How an image set is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Cifar10,
    Cifar100,
    Stl10,
    Svhn,
    Idx,
    Folder,
    /// Part of the program.
    Digits,
}

const FORMATS: [Format; 7] =
    [Format::Cifar10, Format::Cifar100, Format::Stl10, Format::Svhn, Format::Idx, Format::Folder, Format::Digits];

impl Format {
    /// The format that a run wrote down by its name.
    pub fn named(name: &str) -> Option<Format> {
        FORMATS.into_iter().find(|f| f.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Format::Digits => "digits",
            Format::Cifar10 => "CIFAR-10 binary",
            Format::Cifar100 => "CIFAR-100 binary",
            Format::Stl10 => "STL-10 binary",
            Format::Svhn => "SVHN .mat",
            Format::Idx => "IDX",
            Format::Folder => "image folder",
        }
    }
}

/// The files of a set, or its folders if it is a folder of images.
#[derive(Debug)]
pub(crate) struct Found {
    pub format: Format,
    pub train: Vec<PathBuf>,
    pub test: Vec<PathBuf>,
    /// Beside a test half; without one it is the test half.
    pub validation: Vec<PathBuf>,
    /// Images of no named half.
    pub whole: Vec<PathBuf>,
    /// The path itself is the one file.
    pub single: bool,
    pub notes: Vec<String>,
    /// Notes on the training part alone.
    pub train_notes: Vec<String>,
}

const READABLE: &str = "CIFAR-10 or CIFAR-100 binary, STL-10 binary, SVHN .mat, IDX (plain or .gz), or a folder of images \
                        with one subfolder per class";

/// Word in the path, the set it means, and where that is to be had.
const SOURCES: [(&str, &str); 7] = [
    (
        "cifar100",
        "get the CIFAR-100 binary version from the site of A. Krizhevsky, unpack it and name the folder cifar-100-binary",
    ),
    (
        "cifar",
        "get the CIFAR-10 binary version from the site of A. Krizhevsky, unpack it and name the folder cifar-10-batches-bin",
    ),
    (
        "svhn",
        "get train_32x32.mat and test_32x32.mat (format 2) of SVHN from the site of its authors (Stanford) and name their folder",
    ),
    (
        "stl",
        "get the STL-10 binary files from the site of A. Coates (Stanford), unpack them and name the folder stl10_binary",
    ),
    (
        "fashion",
        "get the four .gz files of Fashion-MNIST from the repository of Zalando Research and name their folder",
    ),
    ("notmnist", "get notMNIST in IDX form (Y. Bulatov's set, converted by D. Flanagan) and name its folder"),
    ("mnist", "get the four .gz files of MNIST from the site of Y. LeCun or a mirror of it and name their folder"),
];

/// Where to get what the path seems to mean, or `otherwise`.
fn help(path: &Path, otherwise: &str) -> String {
    let words = path.to_string_lossy().to_lowercase().replace(['-', '_', ' '], "");
    let source = SOURCES.iter().find(|(word, _)| words.contains(word));
    source.map_or(otherwise, |(_, help)| help).to_string()
}

pub(crate) fn find(path: &Path) -> Result<Found> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => find_in_folder(path),
        Ok(_) => find_file(path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::data(place(path), "no such file or folder", "", help(path, "check the path")))
        }
        Err(e) => Err(Error::io(path, "read", &e)),
    }
}

fn find_file(path: &Path) -> Result<Found> {
    let name = file_name(path).to_lowercase();
    let ends = |end: &str| name.ends_with(end);
    refuse_archive(path, &name)?;
    let format = if ends("x.bin") {
        Format::Stl10
    } else if ends("y.bin") {
        let help = "name the file with the pixels, ..._X.bin, or the folder";
        return Err(Error::data(place(path), "holds labels only", "", help));
    } else if ends(".bin") {
        super::cifar::format_of(path)?
    } else if ends(".mat") {
        Format::Svhn
    } else if name.contains("ubyte") || name.contains("idx") {
        Format::Idx
    } else if folder::is_image_name(&name) {
        Format::Folder
    } else {
        return Err(Error::data(place(path), "is no image set by its name", READABLE, "name another file or folder"));
    };
    let whole = vec![path.to_path_buf()];
    Ok(Found {
        format,
        train: vec![],
        test: vec![],
        validation: vec![],
        whole,
        single: true,
        notes: vec![],
        train_notes: vec![],
    })
}

/// Archives and the Python version of CIFAR, which people fetch by mistake.
fn refuse_archive(path: &Path, name: &str) -> Result<()> {
    let ends = |end: &&str| name.ends_with(*end);
    if [".tar.gz", ".tgz", ".tar", ".zip", ".7z", ".rar", ".tar.bz2", ".tar.xz"].iter().any(ends) {
        return Err(Error::data(
            place(path),
            "is a packed archive",
            READABLE,
            "unpack it and name the folder it gives",
        ));
    }
    if name == "test_batch" || name.strip_prefix("data_batch_").is_some_and(|n| n.len() == 1) {
        let found = "is a file of CIFAR-10's Python version";
        return Err(Error::data(
            place(path),
            found,
            "the binary version (files ending in .bin)",
            help(path, SOURCES[1].1),
        ));
    }
    Ok(())
}

/// What systems, archives and cameras leave in folders: no part of any set.
fn is_of_the_system(name: &str) -> bool {
    const NAMES: [&str; 7] =
        ["__MACOSX", "@eaDir", "#recycle", "$RECYCLE.BIN", "System Volume Information", "Thumbs.db", "desktop.ini"];
    name.starts_with('.') || NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Files and folders directly inside, sorted by name, without the hidden ones.
pub(crate) fn entries(dir: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut dirs) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(dir).map_err(|e| Error::io(dir, "read", &e))? {
        let path = entry.map_err(|e| Error::io(dir, "read", &e))?.path();
        let name = file_name(&path);
        if is_of_the_system(&name) {
            continue;
        }
        match fs::metadata(&path) {
            // A run's figures are no images of a set.
            Ok(meta) if meta.is_dir() && crate::recipe::is_run(&path) => {}
            Ok(meta) if meta.is_dir() => dirs.push(path),
            Ok(_) => files.push(path),
            Err(e) => return Err(Error::io(&path, "read", &e)),
        }
    }
    files.sort();
    dirs.sort();
    Ok((files, dirs))
}

/// Folders that the official archives unpack to.
const INNER: [&str; 6] = ["cifar-10-batches-bin", "cifar-100-binary", "stl10_binary", "MNIST", "FashionMNIST", "raw"];

fn find_in_folder(dir: &Path) -> Result<Found> {
    let (files, dirs) = entries(dir)?;
    if let Some(found) = find_binary(dir, &files)? {
        return Ok(found);
    }
    let mut inner = Vec::new();
    for sub in dirs.iter().filter(|d| INNER.contains(&file_name(d).as_str())) {
        let (files, deeper) = entries(sub)?;
        match find_binary(sub, &files)? {
            Some(found) => inner.push((sub, found)),
            None => {
                // torchvision keeps MNIST/raw.
                if let Some(raw) = deeper.iter().find(|d| file_name(d) == "raw")
                    && let Some(found) = find_binary(raw, &entries(raw)?.0)?
                {
                    inner.push((sub, found));
                }
            }
        }
    }
    if inner.len() > 1 {
        let names: Vec<String> = inner.iter().map(|(sub, _)| file_name(sub)).collect();
        let found = format!("holds several sets: {}", listed(&names, 6));
        return Err(Error::data(place(dir), found, "one set", "name one of these folders"));
    }
    if let Some((sub, mut found)) = inner.pop() {
        found.notes.push(format!("Read from the subfolder {}.", file_name(sub)));
        return Ok(found);
    }
    if let Some(found) = folder::find(dir, &files, &dirs)? {
        return Ok(found);
    }
    for file in &files {
        refuse_archive(file, &file_name(file).to_lowercase())?;
    }
    let names: Vec<String> = files.iter().chain(&dirs).map(|p| file_name(p)).collect();
    let found = match names.is_empty() {
        true => "is an empty folder".to_string(),
        false => format!("holds no images: {}", listed(&names, 5)),
    };
    Err(Error::data(place(dir), found, READABLE, help(dir, "name another folder, or the table itself")))
}

fn find_binary(dir: &Path, files: &[PathBuf]) -> Result<Option<Found>> {
    let mut sets: Vec<Found> = Vec::new();
    let pick = |test: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        files.iter().filter(|f| test(&file_name(f))).cloned().collect()
    };
    let mut add = |format: Format, train: Vec<PathBuf>, test: Vec<PathBuf>, whole: Vec<PathBuf>, notes: Vec<String>| {
        if train.len() + test.len() + whole.len() > 0 {
            sets.push(Found {
                format,
                train,
                test,
                validation: vec![],
                whole,
                single: false,
                notes,
                train_notes: vec![],
            });
        }
    };

    let batches = pick(&|n| n.starts_with("data_batch_") && n.ends_with(".bin"));
    let missing: Vec<String> = (1..=5)
        .map(|i| format!("data_batch_{i}.bin"))
        .filter(|n| !batches.iter().any(|b| file_name(b) == *n))
        .collect();
    let partial = !batches.is_empty() && !missing.is_empty();
    add(Format::Cifar10, batches, pick(&|n| n == "test_batch.bin"), vec![], vec![]);
    add(Format::Cifar100, pick(&|n| n == "train.bin"), pick(&|n| n == "test.bin"), vec![], vec![]);
    let stl = |n: &str| n.ends_with("_X.bin");
    let other = pick(&|n| stl(n) && !n.starts_with("train") && !n.starts_with("test"));
    let (train, test) = (pick(&|n| n == "train_X.bin"), pick(&|n| n == "test_X.bin"));
    let (whole, notes) = leave_out(train.len() + test.len(), other);
    add(Format::Stl10, train, test, whole, notes);
    let mat = |n: &str| n.ends_with(".mat");
    let (train, test) = (pick(&|n| n == "train_32x32.mat"), pick(&|n| n == "test_32x32.mat"));
    let other = pick(&|n| mat(n) && n != "train_32x32.mat" && n != "test_32x32.mat");
    let (whole, notes) = leave_out(train.len() + test.len(), other);
    add(Format::Svhn, train, test, whole, notes);
    let idx = |n: &str| n.contains("idx3");
    let train = idx_files(pick(&|n| idx(n) && n.starts_with("train")));
    let test = idx_files(pick(&|n| idx(n) && (n.starts_with("t10k") || n.starts_with("test"))));
    let other = pick(&|n| idx(n) && !n.starts_with('t'));
    let (whole, notes) = leave_out(train.len() + test.len(), idx_files(other));
    add(Format::Idx, train, test, whole, notes);
    if sets.is_empty() {
        let bins = pick(&|n| n.ends_with(".bin") && !n.ends_with("_y.bin"));
        if let Some(first) = bins.first() {
            let format = super::cifar::format_of(first)?;
            sets.push(Found {
                format,
                train: vec![],
                test: vec![],
                validation: vec![],
                whole: bins,
                single: false,
                notes: vec![],
                train_notes: vec![],
            });
        }
    }

    if sets.len() > 1 || sets.first().is_some_and(|s| s.format == Format::Svhn && s.whole.len() > 1) {
        let names: Vec<String> =
            sets.iter().flat_map(|s| s.train.iter().chain(&s.test).chain(&s.whole)).map(|p| file_name(p)).collect();
        let found = format!("holds files of several sets: {}", listed(&names, 6));
        return Err(Error::data(place(dir), found, "one set per folder", "name one of these files"));
    }
    let mut set = sets.pop();
    if let Some(found) = set.as_mut().filter(|s| partial && s.format == Format::Cifar10) {
        found.train_notes.push(format!("The training set is a part of CIFAR-10: {} missing.", listed(&missing, 5)));
    }
    Ok(set)
}

/// Beside named halves, other files of the format are left out, with a word.
fn leave_out(halves: usize, other: Vec<PathBuf>) -> (Vec<PathBuf>, Vec<String>) {
    if halves == 0 || other.is_empty() {
        return (other, vec![]);
    }
    let names: Vec<String> = other.iter().map(|p| file_name(p)).collect();
    (vec![], vec![format!("Left out: {}; name the file itself to read it.", listed(&names, 3))])
}

/// Of "a" and "a.gz" only "a".
fn idx_files(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let packed = |f: &PathBuf| f.extension().is_some_and(|e| e == "gz") && files.contains(&f.with_extension(""));
    files.iter().filter(|f| !packed(f)).cloned().collect()
}

impl Found {
    /// Files (or folders) of the part, and the notes.
    pub(crate) fn choose(&self, path: &Path, part: Part) -> Result<(Vec<PathBuf>, Vec<String>)> {
        let mut notes = self.notes.clone();
        if part != Part::Test {
            notes.extend(self.train_notes.iter().cloned());
        }
        if self.single {
            return Ok((self.whole.clone(), notes));
        }
        let missing = |what: &str, there: &[PathBuf]| {
            let names: Vec<String> = there.iter().map(|p| file_name(p)).collect();
            let found = match there.is_empty() {
                true => format!("has no {what} part of its own"),
                false => format!("has no {what} part, only {}", listed(&names, 5)),
            };
            let help = help(path, "bring the missing part, or ask for all images and divide them");
            Err(Error::data(place(path), found, "", help))
        };
        let files = match part {
            Part::All => {
                self.train.iter().chain(&self.test).chain(&self.validation).chain(&self.whole).cloned().collect()
            }
            Part::Validation if !self.validation.is_empty() => self.validation.clone(),
            Part::Validation => return missing("validation", &self.train),
            Part::Train if !self.train.is_empty() => self.train.clone(),
            Part::Test if !self.test.is_empty() => self.test.clone(),
            Part::Train if self.test.is_empty() => {
                notes.push("The set has no halves of its own: all its images are given.".into());
                self.whole.clone()
            }
            Part::Train => return missing("training", &self.test),
            Part::Test => return missing("test", &self.train),
        };
        Ok((files, notes))
    }
}
