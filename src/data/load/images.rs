//! Image sets as rows: the set of a recipe, divided and ready to train on, and sets for a run that is trained already, in the
//! size, the channels and the class numbers of its own.

use super::Loaded;
use crate::base::rng::SplitMix64;
use crate::data::Dataset;
use crate::data::corrupt::{self, Corruption};
use crate::data::encode::pixels::Pixels;
use crate::data::encode::{Encoder, Target};
use crate::data::hash::hex;
use crate::data::images::named::{MOST_SIDE, has_validation, is_divided, open};
use crate::data::images::{self, Format, ImageSet, Options, Part, ShiftPair};
use crate::data::inspect::images::warnings;
use crate::data::split::{Split, by_fraction};
use crate::error::{Error, Result, either};
use crate::recipe::{self, Recipe};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The size that the recipe asks for, or that its network needs.
fn size(recipe: &Recipe) -> Option<(usize, usize)> {
    let side = recipe.data.image_size.or_else(|| recipe.net.name.and_then(crate::recipe::NetName::fixed_side));
    side.map(|s| (s as usize, s as usize))
}

/// The images of a recipe as they lie on the disk.
struct Opened {
    /// To train on, and to divide where there are no halves.
    set: ImageSet,
    test: Option<ImageSet>,
    validation: Option<ImageSet>,
}

impl Opened {
    fn of(recipe: &Recipe, path: &Path) -> Result<Opened> {
        let data = &recipe.data;
        // alexnet is what colour gets by default; a cnn of larger images would have a huge linear layer.
        let most = if recipe.net.name.is_some() { 128 } else { MOST_SIDE };
        let options = Options {
            coarse: data.coarse,
            size: size(recipe),
            most: Some(most),
            skip_broken: data.skip_broken,
            to_train: true,
        };
        let own_test = data.test_file.is_none() && is_divided(path)?;
        let part = if own_test { Part::Train } else { Part::All };
        let set = open(path, part, &options)?;
        if set.labels.is_empty() {
            return Err(Error::data(
                path.display().to_string(),
                "the images have no classes",
                "a labelled set, or a folder with one subfolder per class",
                "sort the images into one folder per class",
            ));
        }
        if set.labels.iter().all(|l| *l == set.labels[0]) {
            let found = format!("every image has the class '{}'", set.classes[set.labels[0] as usize]);
            return Err(Error::data(
                path.display().to_string(),
                found,
                "two classes or more",
                "add images of another class",
            ));
        }
        let of_size = Options { size: Some((set.h, set.w)), ..options };
        let test = match (&data.test_file, own_test) {
            (Some(file), _) => {
                let part = if is_divided(file)? { Part::Test } else { Part::All };
                Some(open(file, part, &of_size)?)
            }
            (None, true) => Some(open(path, Part::Test, &options)?),
            (None, false) => None,
        };
        let validation = match own_test && has_validation(path)? {
            true => Some(open(path, Part::Validation, &of_size)?),
            false => None,
        };
        Ok(Opened { set, test, validation })
    }

    /// SHA-256 of all images and labels.
    fn hash(&self) -> String {
        let mut digest = Sha256::new();
        for set in [Some(&self.set), self.test.as_ref(), self.validation.as_ref()].into_iter().flatten() {
            digest.update((set.bytes.len() as u64).to_le_bytes());
            digest.update(&set.bytes);
            for label in &set.labels {
                digest.update(label.to_le_bytes());
            }
        }
        hex(digest)
    }

    /// By the fractions of the recipe where the set has no halves of its own; at most `data.limit` to train on.
    fn split(&self, data: &recipe::Data, seed: u64, notes: &mut Vec<String>) -> Result<Split> {
        let Opened { set, test, validation } = self;
        let strata: Vec<usize> = set.labels.iter().map(|&l| l as usize).collect();
        let test_fraction = if test.is_some() { 0.0 } else { data.test_fraction };
        let validation_fraction = if validation.is_some() { 0.0 } else { data.validation_fraction };
        let mut split = by_fraction(set.n, validation_fraction, test_fraction, seed, Some(&strata))?;
        if let Some(limit) = data.limit {
            limit_rows(&mut split.train, limit, seed);
            limit_rows(&mut split.validation, (limit / 9).max(1), seed);
            let validate =
                if validation.is_some() { String::new() } else { format!(", {} to validate", split.validation.len()) };
            notes.push(format!("{} images to train on{validate}{}", split.train.len(), either(" (data.limit)", "")));
        }
        Ok(split)
    }
}

/// Leaves `most` of the rows, drawn at random, in their order.
fn limit_rows(rows: &mut Vec<usize>, most: usize, seed: u64) {
    if rows.len() > most {
        SplitMix64::new(seed ^ 0x11A1).shuffle(rows);
        rows.truncate(most);
        rows.sort_unstable();
    }
}

/// Size, statistics and variations of the training images, which are the named rows.
fn pixels_of(set: &ImageSet, rows: &[usize], data: &recipe::Data) -> Pixels {
    let train = set.select(rows);
    let (mean, sd) = images::normalise_stats(&train);
    let (mut low, mut high) = (vec![255u8; set.c], vec![0u8; set.c]);
    for pixel in train.bytes.chunks_exact(set.c) {
        for ((low, high), v) in low.iter_mut().zip(&mut high).zip(pixel) {
            (*low, *high) = ((*low).min(*v), (*high).max(*v));
        }
    }
    // Photographs may be mirrored; digits and letters may not.
    let photo = set.c == 3 && set.format != Some(Format::Svhn);
    let small = set.h.min(set.w) < 28;
    Pixels {
        h: set.h,
        w: set.w,
        c: set.c,
        mean,
        sd: sd.into_iter().map(|s| if s > 0.0 { s } else { 1.0 }).collect(),
        low,
        high,
        crop: data.crop.unwrap_or(if small {
            0
        } else if set.c == 3 {
            4
        } else {
            2
        }),
        flip: data.flip.unwrap_or(photo),
        format: set.format_name().into(),
    }
}

/// Training, validation and test images of a recipe with `data.images`.
pub(super) fn load(recipe: &Recipe, path: &Path) -> Result<Loaded> {
    let data = &recipe.data;
    let seed = u64::from(recipe.seed);
    let mut opened = Opened::of(recipe, path)?;
    let mut notes = std::mem::take(&mut opened.set.notes);
    notes.extend(warnings(&opened.set, opened.test.as_ref()));
    let split = opened.split(data, seed, &mut notes)?;
    let pixels = pixels_of(&opened.set, &split.train, data);
    notes.push(pixels.augmentation()?);
    let hash = opened.hash();
    let Opened { set, test, validation } = opened;
    let encoder = Encoder {
        pixels: Some(pixels),
        ..Encoder::of(Target::Classes { name: "class".into(), labels: set.classes.clone() })
    };
    let present: BTreeSet<u32> = set.labels.iter().copied().collect();
    let test = match test {
        Some(test) => {
            let source = test.source.clone();
            let (rows, said) = fit_set(&encoder, test, true)?;
            notes.extend(said);
            if let Some(y) = rows.y.iter().find(|y| !present.contains(&(**y as u32))) {
                let found = format!("the class '{}' has test images and no training image", set.classes[*y as usize]);
                let help = "add training images of it, or leave its test images out";
                return Err(Error::data(source, found, "classes seen in training", help));
            }
            rows
        }
        None => dataset(&encoder, set.select(&split.test)),
    };
    let validation = match validation {
        Some(validation) => {
            notes.push(format!("{} of the set's own validation part validate", validation.n));
            let (rows, said) = fit_set(&encoder, validation, true)?;
            notes.extend(said);
            match data.limit.map(|limit| (limit / 9).max(1)).filter(|most| *most < rows.n) {
                Some(most) => {
                    let mut kept: Vec<usize> = (0..rows.n).collect();
                    limit_rows(&mut kept, most, seed);
                    rows.subset(&kept)
                }
                None => rows,
            }
        }
        None => dataset(&encoder, set.select(&split.validation)),
    };
    let train = dataset(&encoder, set.select(&split.train));
    Ok(Loaded { train, validation, test, encoder, notes, values: hash.clone(), hash })
}

/// Images in the shape of the run's own: bytes, class indices if known, ids.
fn dataset(encoder: &Encoder, set: ImageSet) -> Dataset {
    Dataset {
        y: set.labels.iter().map(|&l| l as f32).collect(),
        n: set.n,
        d: encoder.n_inputs(),
        ids: set.ids.into(),
        bytes: Arc::new(set.bytes),
        ..Default::default()
    }
}

/// A set in the run's size, channels and class numbers; also what there is to say.
fn fit_set(encoder: &Encoder, set: ImageSet, need_labels: bool) -> Result<(Dataset, Vec<String>)> {
    let (Some(pixels), Target::Classes { labels, .. }) = (&encoder.pixels, &encoder.target) else {
        return Err(Error::run("images", "a run on a table", "this is a bug of vifo: please report it"));
    };
    let mut notes = set.notes.clone();
    match (set.c, pixels.c) {
        (3, 1) => notes.push("Colour images were made grey, as in training.".into()),
        (1, 3) => notes.push("Grey images were given three channels, as in training.".into()),
        _ => {}
    }
    // Images are copied where they change alone.
    let mut set = if set.c == pixels.c { set } else { images::to_channels(&set, pixels.c)? };
    if (set.h, set.w) != (pixels.h, pixels.w) {
        notes.push(format!("Images of {} x {} were resized to {} x {}.", set.h, set.w, pixels.h, pixels.w));
        set = images::resize(&set, pixels.h, pixels.w);
    }
    if set.classes != *labels {
        // By name, not by number: another set may count its classes in another order.
        let place: Vec<Option<usize>> =
            set.classes.iter().map(|c| labels.iter().position(|l| same_class(c, l))).collect();
        let stray = set.labels.iter().find(|&&l| place[l as usize].is_none());
        match stray {
            Some(&l) if need_labels => {
                return Err(Error::data(
                    set.source.clone(),
                    format!("the class '{}' was not seen in training", set.classes[l as usize]),
                    labels.iter().take(12).map(|l| format!("'{l}'")).collect::<Vec<_>>().join(", "),
                    either(
                        "rename the class, leave its images out, or give the set as --ood, which needs no classes",
                        "rename the class, leave its images out, or open it as a second set, which needs no classes",
                    ),
                ));
            }
            Some(_) => set.labels.clear(),
            None => set.labels.iter_mut().for_each(|l| *l = place[*l as usize].unwrap_or(0) as u32),
        }
    }
    if need_labels && set.labels.is_empty() {
        return Err(Error::data(
            set.source.clone(),
            "the images have no classes",
            "a labelled set, or a folder with one subfolder per class",
            "sort the images into one folder per class",
        ));
    }
    Ok((dataset(encoder, set), notes))
}

/// CIFAR-10 says automobile where STL-10 says car.
fn same_class(a: &str, b: &str) -> bool {
    let car = |s: &str| s == "automobile" || s == "car";
    a == b || (car(a) && car(b))
}

/// Reads a set for a trained run.
pub fn read(encoder: &Encoder, path: &Path, part: Part, need_labels: bool) -> Result<(Dataset, Vec<String>)> {
    let (h, w) = encoder.pixels.as_ref().map_or((1, 1), |p| (p.h, p.w));
    let part = if part == Part::Test && !is_divided(path)? { Part::All } else { part };
    fit_set(encoder, open(path, part, &Options { size: Some((h, w)), ..Default::default() })?, need_labels)
}

/// A shifted set with its labels in the run's numbering; and which rows have a class that both sets know. CIFAR-10 and
/// STL-10 count their classes differently, and frog and monkey have no partner (MATH.md section 7).
pub fn read_shifted(encoder: &Encoder, path: &Path) -> Result<(Dataset, Vec<bool>, Vec<String>)> {
    let Some(pixels) = &encoder.pixels else {
        return Err(Error::run("images", "a run on a table", "this is a bug of vifo: please report it"));
    };
    let part = if is_divided(path)? { Part::Test } else { Part::All };
    let mut set = open(path, part, &Options { size: Some((pixels.h, pixels.w)), ..Default::default() })?;
    let pair = match (set.format, Format::named(&pixels.format)) {
        (Some(Format::Cifar10), Some(Format::Stl10)) => Some(ShiftPair::Cifar10ToStl10),
        (Some(Format::Stl10), Some(Format::Cifar10)) => Some(ShiftPair::Stl10ToCifar10),
        _ => None,
    };
    let Some(pair) = pair else {
        let (rows, notes) = fit_set(encoder, set, true)?;
        let all = vec![true; rows.n];
        return Ok((rows, all, notes));
    };
    let (labels, partner) = images::label_map(pair).apply(&set.labels)?;
    set.labels = labels;
    if let Target::Classes { labels, .. } = &encoder.target {
        set.classes = labels.clone();
    }
    set.notes.push("class numbers follow the shift pair CIFAR-10 and STL-10; frog and monkey have no partner".into());
    let (rows, notes) = fit_set(encoder, set, true)?;
    Ok((rows, partner, notes))
}

/// The run's own test images, corrupted.
pub fn corrupted(encoder: &Encoder, rows: &Dataset, kind: Corruption, severity: u8, seed: u64) -> Result<Dataset> {
    let (Some(p), Target::Classes { labels, .. }) = (&encoder.pixels, &encoder.target) else {
        return Err(Error::usage(
            either("--corrupt", "corruption"),
            "a run on a table",
            "a run on images",
            "leave it out",
        ));
    };
    let set = ImageSet {
        bytes: rows.bytes.as_ref().clone(),
        labels: rows.y.iter().map(|&y| y as u32).collect(),
        n: rows.n,
        h: p.h,
        w: p.w,
        c: p.c,
        classes: labels.clone(),
        ids: rows.ids.clone().into(),
        ..Default::default()
    };
    Ok(dataset(encoder, corrupt::corrupt(&set, kind, severity, seed)?))
}
