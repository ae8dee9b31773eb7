//! The image set of a recipe, divided and ready to train on.

use super::pixels::{MOST_SIDE, Pixels, dataset, fit_set, has_validation, is_divided, open};
use super::{ImageSet, Options, Part};
use crate::base::rng::SplitMix64;
use crate::data::encode::{Encoder, Target};
use crate::data::images;
use crate::data::load::Loaded;
use crate::data::split::{Split, by_fraction};
use crate::error::{Error, Result};
use crate::recipe::{self, Recipe};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::Path;

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
        let options =
            Options { coarse: data.coarse, size: size(recipe), most: Some(most), skip_broken: data.skip_broken };
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
        digest.finalize().iter().map(|b| format!("{b:02x}")).collect()
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
            notes.push(format!("{} images to train on{validate} (data.limit)", split.train.len()));
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

/// Training, validation and test images of a recipe with `data.images`.
pub fn load(recipe: &Recipe, path: &Path) -> Result<Loaded> {
    let data = &recipe.data;
    let seed = u64::from(recipe.seed);
    let mut opened = Opened::of(recipe, path)?;
    let mut notes = std::mem::take(&mut opened.set.notes);
    notes.extend(images::inspect::warnings(&opened.set, opened.test.as_ref()));
    let split = opened.split(data, seed, &mut notes)?;
    let pixels = Pixels::fit(&opened.set, &split.train, data);
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
