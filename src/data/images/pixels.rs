//! Images as inputs: the size a network takes, how bytes become numbers, how training images are varied, and the image
//! sets of a recipe as training, validation and test parts. Bytes stay bytes until a batch is gathered.

pub use super::load::load;
use super::{Format, ImageSet, Options, Part, ShiftPair};
use crate::data::Dataset;
use crate::data::corrupt::{self, Corruption};
use crate::data::encode::{Encoder, Target};
use crate::data::images;
use crate::error::{Error, Result};
use crate::recipe;
pub use crate::recipe::{BUNDLED, absolute, is_bundled, is_run};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// What a run remembers of its images; statistics are of the training images, in units where 255 is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pixels {
    pub h: usize,
    pub w: usize,
    /// 1 (grey) or 3.
    pub c: usize,
    pub mean: Vec<f32>,
    /// Above 0.
    pub sd: Vec<f32>,
    /// Smallest and largest byte of each channel: the range of auxiliary inputs.
    pub low: Vec<u8>,
    pub high: Vec<u8>,
    /// Training images are shifted by up to this many pixels, dark where nothing is.
    pub crop: u32,
    /// Training images are mirrored left to right with probability one half.
    pub flip: bool,
    /// "CIFAR-10 binary", for label maps between sets.
    pub format: String,
}

impl Pixels {
    pub(super) fn fit(set: &ImageSet, rows: &[usize], data: &recipe::Data) -> Pixels {
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

    /// What is done to the training images, in words.
    pub(super) fn augmentation(&self) -> Result<String> {
        let most = self.h.min(self.w) as u32 / 2;
        if self.crop > most {
            let found = format!("{} for images of {} x {}", self.crop, self.h, self.w);
            let allowed = format!("0 to {most}, half a side");
            return Err(Error::usage("data.crop", found, allowed, "a larger shift would move images out of sight"));
        }
        Ok(match (self.crop, self.flip) {
            (0, false) => "training images are used as they are (data.crop, data.flip)".to_string(),
            (0, true) => "training images are mirrored at random (data.flip)".into(),
            (n, false) => format!("training images are shifted at random by up to {n} pixels (data.crop)"),
            (n, true) => {
                format!("training images are shifted at random by up to {n} pixels and mirrored (data.crop, data.flip)")
            }
        })
    }

    /// Numbers of an image.
    pub fn len(&self) -> usize {
        self.h * self.w * self.c
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// [min - d/2, max + d/2] with d = max - min, per channel (MATH.md section 2), for every pixel.
    pub fn aux_range(&self) -> (Vec<f32>, Vec<f32>) {
        let end = |c: usize, sign: f32| {
            let (low, high) = (f32::from(self.low[c]), f32::from(self.high[c]));
            let at = if sign < 0.0 { low - (high - low) / 2.0 } else { high + (high - low) / 2.0 };
            (at / 255.0 - self.mean[c]) / self.sd[c]
        };
        let one = |sign: f32| (0..self.c).map(|c| end(c, sign)).collect::<Vec<_>>().repeat(self.h * self.w);
        (one(-1.0), one(1.0))
    }

    /// "32 x 32, colour".
    pub fn describe(&self) -> String {
        format!("images of {} x {}, {}", self.h, self.w, if self.c == 1 { "grey" } else { "colour" })
    }
}

/// Largest side of images where the recipe names neither a network nor a size.
pub(crate) const MOST_SIDE: usize = 32;

/// Folders and the files of image sets; everything else is read as a table.
pub fn is_images(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().to_lowercase());
    path.is_dir()
        || is_bundled(path)
        || name.ends_with("#coarse")
        || [".bin", ".mat", ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"].iter().any(|end| name.ends_with(end))
        || name.contains("idx3")
        || name.contains("ubyte")
}

/// Reads a bundled set or one on disk. A run folder, whose figures are pictures too, is none.
pub(crate) fn open(path: &Path, part: Part, options: &Options) -> Result<ImageSet> {
    if !is_bundled(path) && is_run(path) {
        let help = "name the folder or file of the images";
        return Err(Error::usage(path.display().to_string(), "is a run folder", "an image set", help));
    }
    if is_bundled(path) { images::digits(options) } else { images::open_with(path, part, options) }
}

pub(crate) fn is_divided(path: &Path) -> Result<bool> {
    if is_bundled(path) { Ok(false) } else { images::is_divided(path) }
}

pub(super) fn has_validation(path: &Path) -> Result<bool> {
    if is_bundled(path) { Ok(false) } else { images::has_validation(path) }
}

/// Images in the shape of the run's own: bytes, class indices if known, ids.
pub(super) fn dataset(encoder: &Encoder, set: ImageSet) -> Dataset {
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
pub(super) fn fit_set(encoder: &Encoder, set: ImageSet, need_labels: bool) -> Result<(Dataset, Vec<String>)> {
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
                    "rename the class, leave its images out, or give the set as --ood, which needs no classes",
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
        return Err(Error::usage("--corrupt", "a run on a table", "a run on images", "leave it out"));
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
