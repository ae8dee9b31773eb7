//! A folder of images: one subfolder a class, optionally inside train/ and test/ (or val/). Classes are the sorted
//! names of the subfolders of all parts together, so that a class has one number everywhere. Pixels are
//! `folder_decode`'s.

use super::find::{Format, Found, entries};
use super::folder_decode::{self as decode, Header};
use super::{ImageSet, Options, check_bytes, counted, file_name, listed, place};
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const EXTENSIONS: [&str; 9] = ["png", "jpg", "jpeg", "jpe", "jfif", "bmp", "gif", "webp", "dib"];
/// Folders below a class folder are followed this deep.
const MAX_DEPTH: usize = 16;

pub(super) fn is_image_name(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e.eq_ignore_ascii_case(known)))
}

/// The halves of a folder: train/ and test/ (or val/) if it has no other subfolders, else the folder itself. `None` if
/// there is neither an image nor a subfolder.
pub(super) fn find(dir: &Path, files: &[PathBuf], dirs: &[PathBuf]) -> Result<Option<Found>> {
    if dirs.is_empty() && !files.iter().any(|f| is_image_name(&file_name(f))) {
        return Ok(None);
    }
    let role = |d: &PathBuf| match file_name(d).to_lowercase().as_str() {
        "train" | "training" => Some(0),
        "test" | "testing" => Some(1),
        "val" | "valid" | "validation" => Some(2),
        _ => None,
    };
    let mut found = Found {
        format: Format::Folder,
        train: vec![],
        test: vec![],
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
    } else if !validation.is_empty() {
        found.notes.push("The validation folder beside the test folder is left out; name it to read it.".into());
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
    loose: usize,
    empty: Vec<String>,
    links: usize,
}

/// The images of the chosen part folders; `root` is what ids are relative to.
pub(super) fn read(root: &Path, found: &Found, chosen: &[PathBuf], options: &Options) -> Result<ImageSet> {
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
    let mut notes = skipped.sentences();

    // The classes of the other parts count too: a class has one number in all of them.
    let mut classes: BTreeSet<String> = items.iter().filter_map(|item| item.class.clone()).collect();
    if unlabelled == 0 {
        let here = classes.clone();
        for dir in found.train.iter().chain(&found.test).filter(|dir| !chosen.contains(dir)) {
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
    let labels: Vec<u32> = items.iter().filter_map(number).collect();
    if labels.is_empty() && root.is_dir() {
        notes.push("The folder has no subfolders: the images are unlabelled.".into());
    }

    let headers: Vec<Result<Header>> = items.par_iter().map(|item| decode::header(&item.path)).collect();
    let headers = all_or_first(headers)?;
    let c = if headers.iter().all(|header| header.grey) { 1 } else { 3 };
    let (h, w) = choose_size(&headers, options, &mut notes);
    check_bytes(root, items.len(), h, w, c)?;

    let size = h * w * c;
    let mut bytes = vec![0u8; items.len() * size];
    let converted: Vec<Result<decode::Converted>> = bytes
        .par_chunks_exact_mut(size)
        .zip(&items)
        .map(|(to, item)| decode::decode(&item.path, (h, w, c), to))
        .collect();
    notes.extend(decode::sentences(&all_or_first(converted)?, c));
    let ids = items.iter().map(|item| id(root, &item.path)).collect();
    Ok(ImageSet { bytes, labels, n: items.len(), h, w, c, classes, ids, notes, ..Default::default() })
}

/// All results, or the first error with the number of the others.
fn all_or_first<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let bad = results.iter().filter(|r| r.is_err()).count();
    results.into_iter().collect::<Result<Vec<T>>>().map_err(|e| match e {
        Error::Data(mut fault) if bad > 1 => {
            fault.cure.push_str(&format!(" ({} more like it)", counted(bad - 1, "file")));
            Error::Data(fault)
        }
        other => other,
    })
}

/// Path relative to the root, with forward slashes.
fn id(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).ok().filter(|p| p.components().next().is_some()).unwrap_or(path).components();
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}

/// The images of one part: class folder after class folder, each sorted; a flat folder's images have no class.
fn scan(dir: &Path, skipped: &mut Skipped) -> Result<Vec<Item>> {
    if dir.is_file() {
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
        if depth + 1 >= MAX_DEPTH || std::fs::symlink_metadata(&sub).is_ok_and(|meta| meta.is_symlink()) {
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
    for file in others {
        let kind = match file.extension() {
            Some(e) => format!(".{}", e.to_string_lossy().to_lowercase()),
            None => "without extension".to_string(),
        };
        *skipped.others.entry(kind).or_default() += 1;
    }
    images
}

impl Skipped {
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
