//! STL-10, binary version: `..._X.bin` holds images of 96 x 96, all red, then all green, then all blue, COLUMN by
//! column; `..._y.bin` beside it one label per byte, 1 to 10. `unlabeled_X.bin` has no labels.

use super::{ImageSet, counted, file_name, known, names_beside, owned, place, read_bytes};
use crate::base::fs;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

const SIDE: usize = 96;
const PLANE: usize = SIDE * SIDE;
const PIXELS: usize = 3 * PLANE;

pub(crate) const STL10: [&str; 10] =
    ["airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"];

pub(crate) fn read(path: &Path) -> Result<ImageSet> {
    let raw = read_bytes(path)?;
    let n = raw.len() / PIXELS;
    if raw.len() % PIXELS != 0 {
        let found = format!("{} bytes are {} and {} bytes over", raw.len(), counted(n, "image"), raw.len() % PIXELS);
        let allowed = format!("{PIXELS} bytes per image (3 x 96 x 96)");
        return Err(Error::data(place(path), found, allowed, "fetch the file again"));
    }
    let classes = names_beside(path, "class_names.txt").unwrap_or_else(|| owned(&STL10));
    let mut notes = Vec::new();
    let labels = match labels_beside(path).filter(|file| fs::exists(file)) {
        Some(file) => read_labels(&file, path, n, classes.len(), &mut notes)?,
        None => {
            notes.push(format!("{} has no label file beside it: the images are unlabelled.", file_name(path)));
            vec![]
        }
    };
    let (note, bytes) = rayon::join(|| known::note(&raw), || to_nhwc(&raw));
    notes.extend(note);
    Ok(ImageSet { bytes, labels, n, h: SIDE, w: SIDE, c: 3, classes, notes, ..Default::default() })
}

/// "train_X.bin" -> "train_y.bin".
fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = file_name(path);
    let stem = name.get(..name.len().checked_sub(5)?)?;
    let y = path.with_file_name(format!("{stem}y.bin"));
    Some(if fs::exists(&y) { y } else { path.with_file_name(format!("{stem}Y.bin")) })
}

fn read_labels(file: &Path, images: &Path, n: usize, n_classes: usize, notes: &mut Vec<String>) -> Result<Vec<u32>> {
    let raw = read_bytes(file)?;
    if raw.len() != n {
        let found = format!("{} for {} of {}", counted(raw.len(), "label"), counted(n, "image"), file_name(images));
        return Err(Error::data(place(file), found, "one label per image", "fetch both files again"));
    }
    if let Some(i) = raw.iter().position(|&y| y == 0 || usize::from(y) > n_classes) {
        let place = format!("{}, record {i} counted from 0", place(file));
        let allowed = format!("1 to {n_classes}");
        return Err(Error::data(place, format!("label {}", raw[i]), allowed, "fetch the file again"));
    }
    notes.extend(known::note(&raw));
    Ok(raw.iter().map(|&y| u32::from(y) - 1).collect())
}

/// `[n, 3, x, y]` -> `[n, y, x, 3]`.
fn to_nhwc(raw: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0u8; raw.len()];
    bytes.par_chunks_exact_mut(PIXELS).zip(raw.par_chunks_exact(PIXELS)).for_each(|(image, planes)| {
        for (k, plane) in planes.chunks_exact(PLANE).enumerate() {
            for (x, column) in plane.chunks_exact(SIDE).enumerate() {
                for (y, &value) in column.iter().enumerate() {
                    image[(y * SIDE + x) * 3 + k] = value;
                }
            }
        }
    });
    bytes
}
