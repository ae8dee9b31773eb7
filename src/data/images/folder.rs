//! A folder of images: one subfolder per class, optionally inside train/, val/ and test/. Classes are the sorted
//! names of the subfolders of all parts together, so that a class has one number everywhere. Pixels are
//! `folder_decode`'s.

use super::find::{Format, Found, entries};
use super::folder_decode::{self as decode, Header};
use super::{ImageSet, Options, check_bytes, counted, file_name, listed, place};
use crate::base::fs;
use crate::base::visible::shell;
use crate::error::{Cure, Error, Result, either};
use crate::system::memory;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const EXTENSIONS: [&str; 9] = ["png", "jpg", "jpeg", "jpe", "jfif", "bmp", "gif", "webp", "dib"];
/// Folders below a class folder are followed this deep.
const MAX_DEPTH: usize = 16;

pub(crate) fn is_image_name(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e.eq_ignore_ascii_case(known)))
}

/// The parts of a folder: train/, test/ and val/, by any of their names, if it has no other subfolders, else the folder itself. `None` if
/// there is neither an image nor a subfolder.
pub(crate) fn find(dir: &Path, files: &[PathBuf], dirs: &[PathBuf]) -> Result<Option<Found>> {
    if dirs.is_empty() && !files.iter().any(|f| is_image_name(&file_name(f))) {
        return Ok(None);
    }
    let role = |d: &PathBuf| match file_name(d).to_lowercase().as_str() {
        "train" | "training" => Some(0),
        "test" | "testing" | "eval" | "evaluation" => Some(1),
        "val" | "valid" | "validation" | "dev" => Some(2),
        _ => None,
    };
    let mut found = Found {
        format: Format::Folder,
        train: vec![],
        test: vec![],
        validation: vec![],
        whole: vec![],
        single: false,
        notes: vec![],
        train_notes: vec![],
    };
    if dirs.is_empty() || dirs.iter().any(|d| role(d).is_none()) {
        let named: Vec<String> = dirs.iter().filter(|d| role(d).is_some()).map(|d| file_name(d)).collect();
        if !named.is_empty() {
            found.notes.push(format!("Beside other subfolders, {} is taken as a class.", listed(&named, 3)));
        }
        found.whole.push(dir.to_path_buf());
        return Ok(Some(found));
    }
    let all = |wanted: usize| dirs.iter().filter(move |d| role(d) == Some(wanted)).cloned().collect::<Vec<_>>();
    found.train = all(0);
    found.test = all(1);
    let validation = all(2);
    if found.test.is_empty() {
        found.test = validation;
    } else {
        found.validation = validation;
    }
    Ok(Some(found))
}

/// One image file, and the name of its class unless it lies in a flat folder.
struct Item {
    path: PathBuf,
    class: Option<String>,
}

/// What was seen and left out.
#[derive(Default)]
struct Skipped {
    /// Files that are no images, by extension.
    others: BTreeMap<String, usize>,
    /// How many of them have no image of the same name beside them, as its boxes or its caption would.
    foreign: usize,
    /// The first table among them.
    table: Option<PathBuf>,
    loose: usize,
    empty: Vec<String>,
    links: usize,
}

/// The images of the chosen part folders; `root` is what ids are relative to.
// Long: what is skipped, refused and decided of each file, in the order in which a folder is read.
pub(crate) fn read(root: &Path, found: &Found, chosen: &[PathBuf], options: &Options) -> Result<ImageSet> {
    let mut skipped = Skipped::default();
    let mut items = Vec::new();
    for dir in chosen {
        items.extend(scan(dir, &mut skipped)?);
    }
    if items.is_empty() {
        let found = match skipped.others.is_empty() {
            true => "holds no images".to_string(),
            false => format!("holds no images, only {}", skipped.kinds()),
        };
        let allowed = "PNG, JPEG, BMP, GIF, WebP";
        return Err(Error::data(place(root), found, allowed, "name another folder or convert the files"));
    }
    let unlabelled = items.iter().filter(|item| item.class.is_none()).count();
    if unlabelled != 0 && unlabelled != items.len() {
        let found = format!("{unlabelled} images without a class folder beside {} with one", items.len() - unlabelled);
        return Err(Error::data(
            place(root),
            found,
            "all or none",
            "ask for one part, or sort the images into folders",
        ));
    }
    if options.to_train {
        skipped.refuse_most(root, items.len())?;
    }
    let mut notes = skipped.sentences();

    // The classes of the other parts count too: a class has one number in all of them.
    let mut classes: BTreeSet<String> = items.iter().filter_map(|item| item.class.clone()).collect();
    if unlabelled == 0 {
        let here = classes.clone();
        for dir in found.train.iter().chain(&found.test).chain(&found.validation).filter(|dir| !chosen.contains(dir)) {
            classes.extend(scan(dir, &mut Skipped::default())?.into_iter().filter_map(|item| item.class));
        }
        let missing: Vec<String> = classes.difference(&here).cloned().collect();
        if !missing.is_empty() {
            let here: Vec<String> = chosen.iter().map(|dir| file_name(dir)).collect();
            notes.push(format!("No image in {} has the class {}.", listed(&here, 3), listed(&missing, 5)));
        }
    }
    let classes: Vec<String> = classes.into_iter().collect();
    let number = |item: &Item| item.class.as_ref().and_then(|c| classes.binary_search(c).ok()).map(|i| i as u32);
    if unlabelled != 0 && fs::is_dir(root) {
        notes.push("The folder has no subfolders: the images are unlabelled.".into());
    }

    let headers: Vec<Result<Header>> = items.par_iter().map(|item| decode::header(&item.path)).collect();
    let n_items = items.len();
    let mut broken = vec![];
    let (mut items, headers) = sound(items.into_iter().zip(headers), &mut broken)?;
    if headers.is_empty() {
        return Err(refuse_broken(root, broken, n_items));
    }
    let c = if headers.iter().all(|header| header.grey) { 1 } else { 3 };
    let (h, w) = choose_size(&headers, options, &mut notes);
    check_bytes(root, items.len(), h, w, c)?;

    let size = h * w * c;
    let at_once = side_by_side(&items, &headers, (items.len() * size) as u64)?;
    let mut bytes = vec![0u8; items.len() * size];
    let decoded: Vec<Result<decode::Converted>> = at_once.run(|| {
        let pieces = bytes.par_chunks_exact_mut(size).zip(&items);
        pieces.map(|(to, item)| decode::decode(&item.path, (h, w, c), to)).collect()
    });
    let good: Vec<bool> = decoded.iter().map(Result::is_ok).collect();
    let (kept, converted) = sound(items.into_iter().zip(decoded), &mut broken)?;
    items = kept;
    if items.is_empty() || !(broken.is_empty() || options.skip_broken) {
        return Err(refuse_broken(root, broken, n_items));
    }
    if !broken.is_empty() {
        let names: Vec<String> = broken.iter().map(|(path, _)| id(root, path)).collect();
        notes.push(format!("Left out {} that cannot be read: {}.", counted(names.len(), "image"), listed(&names, 10)));
    }
    let mut places = (0..good.len()).filter(|&i| good[i]);
    for to in 0..items.len() {
        let from = places.next().unwrap_or(to);
        bytes.copy_within(from * size..(from + 1) * size, to * size);
    }
    bytes.truncate(items.len() * size);
    notes.extend(decode::sentences(&converted, c));
    let labels: Vec<u32> = items.iter().filter_map(number).collect();
    let ids = items.iter().map(|item| id(root, &item.path)).collect();
    Ok(ImageSet { bytes, labels, n: items.len(), h, w, c, classes, ids, notes, ..Default::default() })
}

/// A file that cannot be read, and why.
type Broken = (PathBuf, Error);

/// The items whose result is one; the others go to `broken`. What is no fault of a file ends the reading.
fn sound<T>(all: impl Iterator<Item = (Item, Result<T>)>, broken: &mut Vec<Broken>) -> Result<(Vec<Item>, Vec<T>)> {
    let (mut items, mut values) = (vec![], vec![]);
    for (item, result) in all {
        match result {
            Ok(value) => {
                items.push(item);
                values.push(value);
            }
            Err(e @ (Error::Data(_) | Error::Io(_))) => broken.push((item.path, e)),
            Err(e) => return Err(e),
        }
    }
    Ok((items, values))
}

/// Training on the others.
fn without() -> Cure {
    Cure::set("data.skip_broken", "true")
}

/// One line for all files that cannot be read; for a single one what is wrong with it.
fn refuse_broken(root: &Path, mut broken: Vec<Broken>, of: usize) -> Error {
    let skip = either("`vifo fit --skip-broken` trains without", "\"leave broken images out\" trains without");
    broken.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<String> = broken.iter().map(|(path, _)| id(root, path)).collect();
    let n = broken.len();
    match broken.into_iter().next() {
        Some((_, Error::Data(mut fault))) if n == 1 => {
            fault.help.push_str(&format!("; {skip} it"));
            Error::Data(fault).curing(without())
        }
        Some((_, error)) if n == 1 => error,
        first => {
            let why = match first {
                Some((_, Error::Data(f) | Error::Io(f))) => format!("; the first {}", f.found),
                _ => String::new(),
            };
            let found = format!("{n} of its {of} images cannot be read: {}{why}", listed(&names, 10));
            Error::data(place(root), found, "", format!("bring whole files or take them out; {skip} them"))
                .curing(without())
        }
    }
}

/// How many pictures are decoded at once.
struct AtOnce(Option<rayon::ThreadPool>);

impl AtOnce {
    fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}

/// As many as the memory takes beside the set itself: a picture is in memory whole, however small the network's images are.
fn side_by_side(items: &[Item], headers: &[Header], set: u64) -> Result<AtOnce> {
    let largest = items.iter().zip(headers).max_by_key(|(_, header)| header.bytes);
    let (Some((item, header)), Some(usable)) = (largest, memory::usable()) else { return Ok(AtOnce(None)) };
    // The picture, and the copy that a conversion or a turn makes of it.
    let each = 2 * header.bytes;
    if each < 16 << 20 {
        return Ok(AtOnce(None));
    }
    memory::room_for(&item.path, set + each, "save it smaller, take it out of the folder, or give it more memory")?;
    let most = ((usable.saturating_sub(set)) / each).max(1) as usize;
    if most >= rayon::current_num_threads() {
        return Ok(AtOnce(None));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(most).build();
    pool.map(|pool| AtOnce(Some(pool)))
        .map_err(|e| Error::run("images", e.to_string(), either("try again with fewer --threads", "try again")))
}

/// Path relative to the root, with forward slashes.
fn id(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).ok().filter(|p| p.components().next().is_some()).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}

/// The images of one part: class folder after class folder, each sorted; a flat folder's images have no class.
fn scan(dir: &Path, skipped: &mut Skipped) -> Result<Vec<Item>> {
    if fs::is_file(dir) {
        return Ok(vec![Item { path: dir.to_path_buf(), class: None }]);
    }
    let (files, dirs) = entries(dir)?;
    let loose = keep_images(files, skipped);
    if dirs.is_empty() {
        return Ok(loose.into_iter().map(|path| Item { path, class: None }).collect());
    }
    skipped.loose += loose.len();
    let mut items = Vec::new();
    for class_dir in dirs {
        let class = file_name(&class_dir);
        let before = items.len();
        walk(&class_dir, 0, skipped, &mut |path| items.push(Item { path, class: Some(class.clone()) }))?;
        if items.len() == before {
            skipped.empty.push(class);
        }
    }
    Ok(items)
}

fn walk(dir: &Path, depth: usize, skipped: &mut Skipped, add: &mut impl FnMut(PathBuf)) -> Result<()> {
    let (files, dirs) = entries(dir)?;
    keep_images(files, skipped).into_iter().for_each(&mut *add);
    for sub in dirs {
        // A link to a folder may lead in a circle.
        if depth + 1 >= MAX_DEPTH || fs::symlink_metadata(&sub).is_ok_and(|meta| meta.is_symlink()) {
            skipped.links += 1;
        } else {
            walk(&sub, depth + 1, skipped, add)?;
        }
    }
    Ok(())
}

fn keep_images(files: Vec<PathBuf>, skipped: &mut Skipped) -> Vec<PathBuf> {
    let (images, others): (Vec<PathBuf>, Vec<PathBuf>) =
        files.into_iter().partition(|file| is_image_name(&file_name(file)));
    let stems: BTreeSet<&OsStr> = images.iter().filter_map(|image| image.file_stem()).collect();
    for file in others {
        skipped.foreign += usize::from(!file.file_stem().is_some_and(|stem| stems.contains(stem)));
        if skipped.table.is_none() && is_table_name(&file_name(&file)) {
            skipped.table = Some(file.clone());
        }
        let kind = match file.extension() {
            Some(e) => format!(".{}", e.to_string_lossy().to_lowercase()),
            None => "without extension".to_string(),
        };
        *skipped.others.entry(kind).or_default() += 1;
    }
    images
}

/// By its name.
fn is_table_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = [".gz", ".bz2", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.ends_with(".csv") || name.ends_with(".tsv")
}

/// The first table in a folder itself.
pub fn table_in(dir: &Path) -> Option<PathBuf> {
    let (files, _) = entries(dir).ok()?;
    files.into_iter().find(|file| is_table_name(&file_name(file)))
}

/// Refuses a folder that nobody would call an image set: most of its files are no images.
pub(crate) fn check(root: &Path, found: &Found) -> Result<()> {
    let (mut skipped, mut n) = (Skipped::default(), 0);
    for dir in found.train.iter().chain(&found.test).chain(&found.validation).chain(&found.whole) {
        n += scan(dir, &mut skipped)?.len();
    }
    skipped.refuse_most(root, n)
}

impl Skipped {
    /// Stray pictures among other files are no set.
    fn refuse_most(&self, root: &Path, images: usize) -> Result<()> {
        let images = images + self.loose;
        if self.foreign <= images {
            return Ok(());
        }
        let help = match &self.table {
            Some(table) => format!("to train on a table name it: {}", shell(&table.display().to_string())),
            None => "name the folder with the images, or a table".into(),
        };
        let found = format!("most of its files are no images: {} of {}", self.foreign, self.foreign + images);
        Err(Error::data(place(root), found, "a folder of images", help))
    }

    fn kinds(&self) -> String {
        let shown: Vec<String> = self.others.iter().take(5).map(|(kind, n)| format!("{n} {kind}")).collect();
        let more = self.others.len().saturating_sub(5);
        let tail = if more > 0 { format!(" and {}", counted(more, "other kind")) } else { String::new() };
        shown.join(", ") + &tail
    }

    fn sentences(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let n = self.others.values().sum();
        if n > 0 {
            notes.push(format!("Skipped {} of no readable image format: {}.", counted(n, "file"), self.kinds()));
        }
        if self.loose > 0 {
            notes.push(format!("Skipped {} outside the class folders.", counted(self.loose, "image")));
        }
        if !self.empty.is_empty() {
            notes.push(format!("Skipped class folders without an image: {}.", listed(&self.empty, 5)));
        }
        if self.links > 0 {
            let what = counted(self.links, "folder");
            notes.push(format!("Skipped {what} that are links or lie deeper than {MAX_DEPTH} levels."));
        }
        notes
    }
}

/// The size asked for, or the most frequent one (of equals the smallest).
fn choose_size(headers: &[Header], options: &Options, notes: &mut Vec<String>) -> (usize, usize) {
    let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for header in headers {
        *counts.entry((header.h, header.w)).or_default() += 1;
    }
    let order = |a: &((usize, usize), usize), b: &((usize, usize), usize)| {
        a.1.cmp(&b.1).then((b.0.0 * b.0.1).cmp(&(a.0.0 * a.0.1))).then(b.0.cmp(&a.0))
    };
    let frequent = counts.iter().map(|(&size, &n)| (size, n)).max_by(order).map_or((1, 1), |(size, _)| size);
    let size = options.resolve(frequent);
    let other = headers.len() - counts.get(&size).copied().unwrap_or(0);
    if other > 0 {
        let why = match options.size {
            Some(_) => "the size wanted here",
            None if size != frequent => "a size that networks can take",
            None if counts.len() == headers.len() => "the smallest, as no two agree",
            None => "the most frequent size",
        };
        let (kinds, all) = (counted(counts.len(), "size"), headers.len());
        let (h, w) = size;
        notes.push(format!("{other} of {all} images ({kinds}) were stretched to {h} x {w}, {why}."));
    }
    size
}
