//! Images: from a folder, an archive's binary file or an IDX file to bytes and class numbers.
//!
//! The road is `open` (`find` says what the path is, one reader per format decodes it) -> `transform` -> the network's
//! own encoder. `data::corrupt` makes shifted sets. Every size, magic number, label and count is checked, and a set is given
//! whole or not at all. Must not: print, fetch anything, normalise silently, or know what a network is.

pub(crate) mod bundled;
pub(crate) mod cifar;
pub(crate) mod find;
pub(crate) mod folder;
pub(crate) mod folder_decode;
pub(crate) mod idx;
pub mod known;
pub(crate) mod matlab;
pub(crate) mod named;
pub(crate) mod stl10;
pub(crate) mod svhn;
pub mod transform;

pub use bundled::digits;
pub use folder::table_in;
pub use known::recognise;
pub use named::is_images;
pub use transform::{LabelMap, ShiftPair, label_map, normalise_stats, resize, to_channels};

use crate::base::fs;
use crate::error::{Error, Result};
use crate::system::memory;
pub use find::Format;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Images of one size, with what is known about them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ImageSet {
    /// `[n, h, w, c]`, channel fastest; 0 is dark, 255 bright.
    pub bytes: Vec<u8>,
    /// `[n]`, each below `classes.len()`; empty if unknown.
    pub labels: Vec<u32>,
    pub n: usize,
    pub h: usize,
    pub w: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub c: usize,
    /// Name of each class, in the order of the labels.
    pub classes: Vec<String>,
    /// `[n]`: place in the set counted from 0, or the file's path inside its folder.
    pub ids: Vec<String>,
    /// None where it was made in memory.
    pub format: Option<Format>,
    /// Format and path, for messages: "CIFAR-10 from data/cifar10".
    pub source: String,
    /// What was skipped, converted, assumed or recognised: one sentence each.
    pub notes: Vec<String>,
}

impl ImageSet {
    /// Bytes of one image.
    pub fn pixels(&self) -> usize {
        self.h.saturating_mul(self.w).saturating_mul(self.c)
    }

    /// `[h, w, c]` of image `i`; `None` past the end.
    pub fn image(&self, i: usize) -> Option<&[u8]> {
        let size = self.pixels();
        self.bytes.get(i.checked_mul(size)?..i.checked_add(1)?.checked_mul(size)?)
    }

    /// The named images, in the order given; each must be below `n`.
    pub fn select(&self, rows: &[usize]) -> ImageSet {
        let size = self.pixels();
        let mut bytes = Vec::with_capacity(rows.len() * size);
        rows.iter().for_each(|&row| bytes.extend_from_slice(&self.bytes[row * size..(row + 1) * size]));
        let labels = if self.labels.is_empty() { vec![] } else { rows.iter().map(|&row| self.labels[row]).collect() };
        let ids = rows.iter().map(|&row| self.ids[row].clone()).collect();
        let (classes, source, notes) = (self.classes.clone(), self.source.clone(), self.notes.clone());
        ImageSet { bytes, labels, ids, n: rows.len(), classes, source, notes, ..*self }
    }

    /// "CIFAR-10 binary"; empty for a set that was made in memory.
    pub fn format_name(&self) -> &'static str {
        self.format.map_or("", Format::name)
    }

    /// Whether the parts agree with each other; sets of `open` always do.
    pub fn check(&self) -> Result<()> {
        let refuse = |found: String| Err(Error::data(&self.source, found, "", "build the image set again"));
        if self.c != 1 && self.c != 3 {
            return refuse(format!("{} channels instead of 1 or 3", self.c));
        }
        let size = self.h.checked_mul(self.w).and_then(|p| p.checked_mul(self.c)?.checked_mul(self.n));
        if size != Some(self.bytes.len()) || self.h * self.w == 0 {
            let shape = format!("{} x {} x {} x {}", self.n, self.h, self.w, self.c);
            return refuse(format!("{} bytes for images of {shape}", self.bytes.len()));
        }
        if !self.labels.is_empty() && self.labels.len() != self.n || self.ids.len() != self.n {
            return refuse(format!("{} labels and {} ids for {} images", self.labels.len(), self.ids.len(), self.n));
        }
        match self.labels.iter().position(|&label| label as usize >= self.classes.len()) {
            Some(i) => refuse(format!("label {} of image {i} for {} classes", self.labels[i], self.classes.len())),
            None => Ok(()),
        }
    }

    /// `other` behind `self`; `path` is where both come from.
    fn append(&mut self, other: ImageSet, path: &Path) -> Result<()> {
        let shape = |set: &ImageSet| format!("{} x {} x {}", set.h, set.w, set.c);
        let refuse = |found: String| {
            let help = "name the part or the file that is wanted";
            Err(Error::data(path.display().to_string(), found, "files that agree with each other", help))
        };
        if (self.h, self.w, self.c) != (other.h, other.w, other.c) {
            return refuse(format!("images of {} beside images of {}", shape(self), shape(&other)));
        }
        if self.labels.is_empty() != other.labels.is_empty() {
            return refuse("one file has labels and another has none".into());
        }
        let common = self.classes.len().min(other.classes.len());
        if self.classes[..common] != other.classes[..common] {
            return refuse("the files name their classes differently".into());
        }
        if other.classes.len() > common {
            self.classes = other.classes;
        }
        self.bytes.extend_from_slice(&other.bytes);
        self.labels.extend_from_slice(&other.labels);
        self.n += other.n;
        self.notes.extend(other.notes);
        Ok(())
    }
}

/// Which part of a set that comes in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Train,
    Validation,
    Test,
    All,
}

/// What can be asked beyond the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// CIFAR-100: the 20 coarse classes instead of the 100 fine ones; also said by the path, "DIR#coarse".
    pub coarse: bool,
    /// Height and width of the result; without it a folder takes its most frequent size, other formats their own.
    pub size: Option<(usize, usize)>,
    /// Where `size` is left open: square images of at most this side.
    pub most: Option<usize>,
    /// Pictures of a folder that cannot be read are left out, with a note, instead of refused.
    pub skip_broken: bool,
    /// A folder in which most files are no images is refused: it was named by mistake.
    pub to_train: bool,
}

impl Options {
    /// The size of the result, for images that are (h, w) now.
    fn resolve(&self, (h, w): (usize, usize)) -> (usize, usize) {
        match (self.size, self.most) {
            (Some(size), _) => size,
            (None, Some(most)) if h != w || h > most => (h.max(w).min(most), h.max(w).min(most)),
            _ => (h, w),
        }
    }
}

/// Reads the set at `path`, whatever its format; see `open_with`.
pub fn open(path: &Path, part: Part) -> Result<ImageSet> {
    open_with(path, part, &Options::default())
}

/// Reads the set at `path`: CIFAR-10 and CIFAR-100 binary, STL-10 binary, SVHN .mat, IDX, or a folder of images with
/// one subfolder per class. A single file is read whole, whatever `part` says. A set that has no halves of its own gives
/// all its images as `Train` and `All`, and an error as `Test`, so that a test never uses training images.
///
/// Of a folder's pictures 16 bits become 8, transparency is laid on white, the camera's orientation is applied, CMYK
/// becomes RGB, an animation gives its first frame; other sizes are stretched to the most frequent one. The notes count
/// each.
pub fn open_with(path: &Path, part: Part, options: &Options) -> Result<ImageSet> {
    if options.size.is_some_and(|(h, w)| h == 0 || w == 0 || h > MAX_SIDE || w > MAX_SIDE) {
        let allowed = format!("1 to {MAX_SIDE} pixels per side");
        return Err(Error::usage("image size", "out of range", allowed, "choose another size"));
    }
    let (path, coarse) = without_suffix(path);
    let (path, options) = (path.as_path(), &Options { coarse: options.coarse || coarse, ..*options });
    let found = find::find(path)?;
    let (files, mut notes) = found.choose(path, part)?;
    let mut set = if found.format == Format::Folder {
        folder::read(path, &found, &files, options)?
    } else {
        let pieces: Vec<Result<ImageSet>> =
            files.par_iter().map(|file| read_file(found.format, file, options)).collect();
        let mut pieces = pieces.into_iter();
        let Some(first) = pieces.next() else {
            return Err(Error::data(path.display().to_string(), "holds no images", "", "name another folder"));
        };
        let mut set = first?;
        for piece in pieces {
            set.append(piece?, path)?;
        }
        set.ids = (0..set.n).map(|i| i.to_string()).collect();
        let (h, w) = options.resolve((set.h, set.w));
        if (h, w) != (set.h, set.w) {
            set.notes.push(format!("Images of {} x {} were resized to {h} x {w}.", set.h, set.w));
            check_bytes(path, set.n, h, w, set.c)?;
            set = resize(&set, h, w);
        }
        set
    };
    set.format = Some(found.format);
    set.source = format!("{} from {}", found.format.name(), path.display());
    notes.append(&mut set.notes);
    set.notes = notes;
    set.check()?;
    Ok(set)
}

/// Whether the set at `path` comes as training and test images; if not, `Part::Test` is an error.
pub fn is_divided(path: &Path) -> Result<bool> {
    let found = find::find(&without_suffix(path).0)?;
    Ok(!found.train.is_empty() && !found.test.is_empty())
}

/// Refuses a folder that holds no images, or more of other files than of them.
pub fn check_folder(path: &Path) -> Result<()> {
    let found = find::find(path)?;
    if found.format == Format::Folder { folder::check(path, &found) } else { Ok(()) }
}

/// Whether the set at `path` has a validation part beside its test part.
pub fn has_validation(path: &Path) -> Result<bool> {
    Ok(!find::find(&without_suffix(path).0)?.validation.is_empty())
}

/// Largest side of an image a set may have.
const MAX_SIDE: usize = 8192;
/// More bytes than this in one set are refused.
const MAX_SET_BYTES: u64 = 16 << 30;

fn read_file(format: Format, file: &Path, options: &Options) -> Result<ImageSet> {
    match format {
        Format::Cifar10 => cifar::read(file, cifar::Layout::Ten, options.coarse),
        Format::Cifar100 => cifar::read(file, cifar::Layout::Hundred, options.coarse),
        Format::Stl10 => stl10::read(file),
        Format::Svhn => svhn::read(file),
        Format::Idx | Format::Folder | Format::Digits => idx::read(file),
    }
}

/// "DIR#coarse" is DIR with the coarse labels of CIFAR-100, unless such a path exists.
fn without_suffix(path: &Path) -> (PathBuf, bool) {
    match path.to_str().and_then(|text| text.strip_suffix("#coarse")) {
        Some(rest) if !fs::exists(path) => (PathBuf::from(rest), true),
        _ => (path.to_path_buf(), false),
    }
}

/// "dir/file.bin": the place of an error.
fn place(path: &Path) -> String {
    path.display().to_string()
}

/// The last part of a path, for notes.
fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The whole of a regular file.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let meta = fs::metadata(path).map_err(|e| Error::io(path, "read", &e))?;
    if !meta.is_file() {
        return Err(Error::data(place(path), "is no regular file", "a file", "name a file"));
    }
    let bytes = fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
    if bytes.is_empty() {
        return Err(Error::data(place(path), "is empty", "", "fetch the file again"));
    }
    Ok(bytes)
}

/// Non-empty lines of a small text file beside `path`, if there is one.
fn names_beside(path: &Path, name: &str) -> Option<Vec<String>> {
    let file = path.parent()?.join(name);
    if fs::metadata(&file).ok()?.len() > 1 << 20 {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let names: Vec<String> = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(String::from).collect();
    (!names.is_empty()).then_some(names)
}

/// Owned names of a table in the code.
fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// "1 image", "2 images".
fn counted(n: usize, what: &str) -> String {
    match what.strip_suffix("ss") {
        _ if n == 1 => format!("1 {what}"),
        Some(stem) => format!("{n} {stem}sses"),
        None => format!("{n} {what}s"),
    }
}

/// The first `most` names, quoted and cut to 80 characters, and how many more there are.
fn listed(names: &[String], most: usize) -> String {
    let short = |name: &String| format!("'{}'", name.chars().take(80).collect::<String>());
    let mut shown = names.iter().take(most).map(short).collect::<Vec<_>>().join(", ");
    if names.len() > most {
        shown.push_str(&format!(" and {} more", names.len() - most));
    }
    shown
}

/// Of a set: itself, the rows that are taken out of it for a part, and the copy that a run keeps of them.
const COPIES: u64 = 3;

/// Refuses what would not fit, before memory is taken for it.
fn check_bytes(path: &Path, n: usize, h: usize, w: usize, c: usize) -> Result<()> {
    let bytes = n as u64 * h as u64 * w as u64 * c as u64;
    if h > MAX_SIDE || w > MAX_SIDE || bytes > MAX_SET_BYTES {
        let gib = bytes as f64 / (1u64 << 30) as f64;
        let found = format!("{n} images of {h} x {w} x {c} are {gib:.1} GiB");
        let allowed = format!("16 GiB, {MAX_SIDE} pixels per side");
        return Err(Error::data(place(path), found, allowed, "ask for a smaller image size"));
    }
    // Small ones always fit.
    if bytes < 8 << 20 {
        return Ok(());
    }
    memory::room_for(path, COPIES * bytes, "ask for a smaller image size, or give it more memory")
}

#[cfg(test)]
mod folder_tests;
#[cfg(test)]
mod formats_tests;
