//! IDX, the format of MNIST and its relatives, plain or gzip: big-endian magic number, sizes, bytes. Labels lie beside
//! the images under the usual name ("images-idx3" -> "labels-idx1").

use super::{ImageSet, MAX_SET_BYTES, MAX_SIDE, counted, file_name, known, names_beside, owned, place, read_bytes};
use crate::base::fs;
use crate::error::{Error, Result};
use std::io::Read;
use std::path::{Path, PathBuf};

const IMAGES: u32 = 0x0803;
const LABELS: u32 = 0x0801;
const REFETCH: &str = "fetch the file again";

/// Word in the folder's name and the names of the classes, for sets whose files do not tell them.
const NAMES: [(&str, [&str; 10]); 2] = [
    ("notmnist", ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]),
    (
        "fashion",
        ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"],
    ),
];

pub(crate) fn read(path: &Path) -> Result<ImageSet> {
    let (sizes, bytes, note) = read_idx(path, IMAGES)?;
    let mut notes: Vec<String> = note.into_iter().collect();
    let [n, h, w] = sizes[..] else {
        return Err(Error::data(place(path), "has no three sizes", "images", REFETCH));
    };
    if n == 0 || !(1..=MAX_SIDE).contains(&h) || !(1..=MAX_SIDE).contains(&w) {
        let found = format!("claims {} of {h} x {w}", counted(n, "image"));
        return Err(Error::data(place(path), found, format!("images of 1 to {MAX_SIDE} pixels per side"), REFETCH));
    }
    let labels: Vec<u32> = match labels_beside(path) {
        Some(file) => {
            let (sizes, labels, note) = read_idx(&file, LABELS)?;
            if sizes != [n] {
                let found =
                    format!("{} for {} of {}", counted(labels.len(), "label"), counted(n, "image"), file_name(path));
                return Err(Error::data(place(&file), found, "one label per image", "fetch both files again"));
            }
            notes.extend(note);
            labels.into_iter().map(u32::from).collect()
        }
        None => {
            notes.push(format!("{} has no label file beside it: the images are unlabelled.", file_name(path)));
            vec![]
        }
    };
    let n_classes = labels.iter().max().map_or(0, |&most| most as usize + 1);
    let classes = class_names(path, n_classes, &mut notes);
    Ok(ImageSet { bytes, labels, n, h, w, c: 1, classes, notes, ..Default::default() })
}

/// Names of a `class_names.txt` beside the file, of a set known by its folder, or the numbers.
fn class_names(path: &Path, n_classes: usize, notes: &mut Vec<String>) -> Vec<String> {
    if let Some(names) = names_beside(path, "class_names.txt")
        && names.len() >= n_classes
    {
        return names;
    }
    let folders: String =
        path.components().rev().skip(1).take(3).map(|c| c.as_os_str().to_string_lossy().to_lowercase()).collect();
    let known =
        NAMES.iter().find(|(word, names)| folders.replace(['-', '_'], "").contains(word) && n_classes <= names.len());
    match known {
        Some((word, names)) if n_classes > 0 => {
            notes.push(format!("The classes are named after the folder's name ({word})."));
            owned(names)
        }
        _ => (0..n_classes).map(|class| class.to_string()).collect(),
    }
}

/// The label file of an image file, whichever of its usual names exists.
fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = file_name(path);
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let labels = plain.replace("images", "labels").replace("idx3", "idx1");
    if labels == plain {
        return None;
    }
    let dotted = labels.replace("-idx1", ".idx1");
    let dashed = labels.replace(".idx1", "-idx1");
    let candidates = [&labels, &dotted, &dashed].into_iter().flat_map(|name| [name.clone(), format!("{name}.gz")]);
    candidates.map(|name| path.with_file_name(name)).find(|file| fs::is_file(file))
}

/// Sizes, values, and the note of a known file; `magic` is what the file must be.
fn read_idx(path: &Path, magic: u32) -> Result<(Vec<usize>, Vec<u8>, Option<String>)> {
    let raw = read_bytes(path)?;
    let (note, idx) = rayon::join(
        || known::note(&raw),
        || {
            if raw.starts_with(&[0x1f, 0x8b]) {
                parse(path, magic, flate2::read::MultiGzDecoder::new(&raw[..]))
            } else {
                parse(path, magic, &raw[..])
            }
        },
    );
    let (sizes, bytes) = idx?;
    Ok((sizes, bytes, note))
}

fn parse(path: &Path, magic: u32, mut from: impl Read) -> Result<(Vec<usize>, Vec<u8>)> {
    let broken = |e: std::io::Error| {
        let found = match e.kind() {
            std::io::ErrorKind::UnexpectedEof => "ends inside its header or its gzip data".to_string(),
            _ => format!("is a damaged gzip file ({e})"),
        };
        Error::data(place(path), found, "an IDX file, plain or gzip", REFETCH)
    };
    let mut four = [0u8; 4];
    from.read_exact(&mut four).map_err(broken)?;
    let found = u32::from_be_bytes(four);
    if found != magic {
        let what = |magic: u32| match magic {
            IMAGES => "2051, images of bytes".to_string(),
            LABELS => "2049, labels".to_string(),
            other => format!("{other}"),
        };
        let help = if found == LABELS { "name the file with the images" } else { REFETCH };
        return Err(Error::data(place(path), format!("magic number {}", what(found)), what(magic), help));
    }
    let mut sizes = Vec::new();
    for _ in 0..magic & 0xFF {
        from.read_exact(&mut four).map_err(broken)?;
        sizes.push(u32::from_be_bytes(four) as usize);
    }
    let expected = sizes.iter().try_fold(1u64, |p, &s| p.checked_mul(s as u64)).filter(|&p| p <= MAX_SET_BYTES);
    let Some(expected) = expected else {
        let found = format!("claims the sizes {sizes:?}");
        return Err(Error::data(place(path), found, "up to 16 GiB", REFETCH));
    };
    // What the header claims is not believed before it has been read: memory grows with what comes.
    let mut bytes = Vec::with_capacity(expected.min(64 << 20) as usize);
    from.take(expected + 1).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() as u64 != expected {
        let found = match bytes.len() as u64 > expected {
            true => format!("holds more than the {expected} bytes its header claims"),
            false => format!("holds {} of the {expected} bytes its header claims", bytes.len()),
        };
        return Err(Error::data(place(path), found, "as many bytes as the header claims", REFETCH));
    }
    Ok((sizes, bytes))
}
