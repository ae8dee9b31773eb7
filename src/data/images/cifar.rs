//! CIFAR-10 and CIFAR-100, binary version: records of one label byte (CIFAR-100: coarse, then fine) and 32 x 32 pixels,
//! all red, then all green, then all blue, row by row. `batches.meta.txt` beside the file may name other classes.

use super::find::Format;
use super::{ImageSet, counted, file_name, known, names_beside, owned, place, read_bytes};
use crate::base::fs;
use crate::error::{Error, Result};
use rayon::prelude::*;
use std::path::Path;

const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;
const PIXELS: usize = 3 * PLANE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Ten,
    Hundred,
}

impl Layout {
    fn record(self) -> usize {
        PIXELS + if self == Layout::Ten { 1 } else { 2 }
    }
}

/// CIFAR-10 or CIFAR-100 by the size of the file; by its name where both fit.
pub(crate) fn format_of(path: &Path) -> Result<Format> {
    let size = fs::metadata(path).map_err(|e| Error::io(path, "read", &e))?.len();
    let fits = |kind: Layout| size > 0 && size % kind.record() as u64 == 0;
    match (fits(Layout::Ten), fits(Layout::Hundred)) {
        (true, false) => Ok(Format::Cifar10),
        (false, true) => Ok(Format::Cifar100),
        (true, true) => {
            let name = file_name(path);
            Ok(if name.contains("100") || name == "train.bin" || name == "test.bin" {
                Format::Cifar100
            } else {
                Format::Cifar10
            })
        }
        (false, false) => {
            let found = format!("{size} bytes are no whole number of records");
            let allowed = "records of 3,073 (CIFAR-10) or 3,074 bytes (CIFAR-100)";
            Err(Error::data(place(path), found, allowed, "fetch the file again, or name another"))
        }
    }
}

pub(crate) fn read(path: &Path, kind: Layout, coarse: bool) -> Result<ImageSet> {
    let record = kind.record();
    let raw = read_bytes(path)?;
    let n = raw.len() / record;
    if raw.len() % record != 0 {
        let found = format!("{} bytes are {} and {} bytes over", raw.len(), counted(n, "record"), raw.len() % record);
        return Err(Error::data(place(path), found, format!("records of {record} bytes"), "fetch the file again"));
    }
    let classes = class_names(path, kind, coarse);
    let (note, bytes) = rayon::join(|| known::note(&raw), || to_nhwc(&raw, record));
    let at = if kind == Layout::Hundred && !coarse { 1 } else { 0 };
    let labels: Vec<u32> = raw.chunks_exact(record).map(|r| u32::from(r[at])).collect();
    check_labels(path, &raw, kind, at, classes.len())?;
    let mut notes: Vec<String> = note.into_iter().collect();
    if kind == Layout::Ten && coarse {
        notes.push(format!("{} has no coarse labels: its own are given.", file_name(path)));
    }
    Ok(ImageSet { bytes, labels, n, h: SIDE, w: SIDE, c: 3, classes, notes, ..Default::default() })
}

fn check_labels(path: &Path, raw: &[u8], kind: Layout, at: usize, n_classes: usize) -> Result<()> {
    // Both bytes of a CIFAR-100 record are checked: a shifted file shows itself in either.
    let limit = |byte: usize| match kind {
        Layout::Ten => n_classes,
        Layout::Hundred if byte == at => n_classes,
        Layout::Hundred => [20, 100][byte],
    };
    for (i, record) in raw.chunks_exact(kind.record()).enumerate() {
        for (byte, &label) in record[..kind.record() - PIXELS].iter().enumerate() {
            if usize::from(label) >= limit(byte) {
                let place = format!("{}, record {i} counted from 0", place(path));
                let allowed = format!("0 to {}", limit(byte) - 1);
                let help = "fetch the file again, or check that it is the binary version";
                return Err(Error::data(place, format!("label {label}"), allowed, help));
            }
        }
    }
    Ok(())
}

/// Planes of each record to pixels: `[n, 3, 32, 32]` -> `[n, 32, 32, 3]`.
fn to_nhwc(raw: &[u8], record: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; raw.len() / record * PIXELS];
    bytes.par_chunks_exact_mut(PIXELS).zip(raw.par_chunks_exact(record)).for_each(|(image, record)| {
        let (red, rest) = record[record.len() - PIXELS..].split_at(PLANE);
        let (green, blue) = rest.split_at(PLANE);
        for (((pixel, r), g), b) in image.chunks_exact_mut(3).zip(red).zip(green).zip(blue) {
            (pixel[0], pixel[1], pixel[2]) = (*r, *g, *b);
        }
    });
    bytes
}

fn class_names(path: &Path, kind: Layout, coarse: bool) -> Vec<String> {
    let (file, standard): (&str, &[&str]) = match (kind, coarse) {
        (Layout::Ten, _) => ("batches.meta.txt", &CIFAR10),
        (Layout::Hundred, false) => ("fine_label_names.txt", &CIFAR100_FINE),
        (Layout::Hundred, true) => ("coarse_label_names.txt", &CIFAR100_COARSE),
    };
    names_beside(path, file).filter(|names| names.len() <= 256).unwrap_or_else(|| owned(standard))
}

pub(crate) const CIFAR10: [&str; 10] =
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

#[rustfmt::skip]
const CIFAR100_FINE: [&str; 100] = [
    "apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle",
    "bowl", "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle",
    "chair", "chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile", "cup", "dinosaur",
    "dolphin", "elephant", "flatfish", "forest", "fox", "girl", "hamster", "house", "kangaroo", "keyboard",
    "lamp", "lawn_mower", "leopard", "lion", "lizard", "lobster", "man", "maple_tree", "motorcycle", "mountain",
    "mouse", "mushroom", "oak_tree", "orange", "orchid", "otter", "palm_tree", "pear", "pickup_truck", "pine_tree",
    "plain", "plate", "poppy", "porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket",
    "rose", "sea", "seal", "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider",
    "squirrel", "streetcar", "sunflower", "sweet_pepper", "table", "tank", "telephone", "television", "tiger", "tractor",
    "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf", "woman", "worm",
];

#[rustfmt::skip]
const CIFAR100_COARSE: [&str; 20] = [
    "aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables", "household_electrical_devices",
    "household_furniture", "insects", "large_carnivores", "large_man-made_outdoor_things",
    "large_natural_outdoor_scenes", "large_omnivores_and_herbivores", "medium_mammals", "non-insect_invertebrates",
    "people", "reptiles", "small_mammals", "trees", "vehicles_1", "vehicles_2",
];
