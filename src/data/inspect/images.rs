//! The preflight report of an image set: what it holds, what looks wrong, and what `vifo fit` would do with it. Must not
//! change the set and must not print.

use super::LevelCount;
use crate::base::visible::shell;
use crate::data::images::{ImageSet, Options, Part, named, normalise_stats};
use crate::data::{counted, quoted};
use crate::error::{Result, either};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImageReport {
    pub path: String,
    /// "CIFAR-10 binary", "image folder", ...
    pub format: String,
    /// Images of the training part, or of the whole set if it has no parts.
    pub images: usize,
    /// Images of the test part, if the set has one.
    pub test_images: Option<usize>,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    /// Mean and standard deviation of each channel, where 255 is 1.
    pub mean: Vec<f32>,
    pub sd: Vec<f32>,
    pub classes: Vec<LevelCount>,
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
    /// The command line that trains on it; empty where nothing can be learnt from it.
    pub command: String,
}

/// The first images of a class, each `[h, w, c]` of the report.
pub type Samples = Vec<Vec<u8>>;

pub fn inspect_images(path: &Path) -> Result<ImageReport> {
    Ok(inspect_with_samples(path, false, 0)?.0)
}

/// With up to `each` images of every class, in the order of the classes.
pub fn inspect_with_samples(path: &Path, skip_broken: bool, each: usize) -> Result<(ImageReport, Vec<Samples>)> {
    let divided = named::is_divided(path)?;
    // As `fit` would take them.
    let options = Options { most: Some(named::MOST_SIDE), to_train: true, skip_broken, ..Default::default() };
    let set = named::open(path, if divided { Part::Train } else { Part::All }, &options)?;
    let test = if divided { Some(named::open(path, Part::Test, &options)?) } else { None };
    let mut counts = vec![0usize; set.classes.len()];
    set.labels.iter().for_each(|&l| counts[l as usize] += 1);
    let (mean, sd) = normalise_stats(&set);
    let samples = samples(&set, each);
    let report = ImageReport {
        path: path.display().to_string(),
        format: set.format_name().to_string(),
        images: set.n,
        test_images: test.as_ref().map(|t| t.n),
        height: set.h,
        width: set.w,
        channels: set.c,
        mean,
        sd,
        warnings: warnings(&set, test.as_ref()),
        classes: set
            .classes
            .iter()
            .zip(counts.iter().copied())
            .map(|(level, count)| LevelCount { level: level.clone(), count })
            .collect(),
        notes: set.notes,
        command: match counts.iter().filter(|n| **n > 0).count() {
            0 | 1 => String::new(),
            _ => format!("vifo fit {}", shell(&path.display().to_string())),
        },
    };
    Ok((report, samples))
}

fn samples(set: &ImageSet, each: usize) -> Vec<Samples> {
    let mut out = vec![Samples::new(); set.classes.len()];
    for (image, label) in set.bytes.chunks_exact(set.pixels().max(1)).zip(&set.labels) {
        let of_class = &mut out[*label as usize];
        if of_class.len() < each {
            of_class.push(image.to_vec());
        }
    }
    out
}

/// What looks wrong in a set and its test part, a sentence each.
pub(crate) fn warnings(set: &ImageSet, test: Option<&ImageSet>) -> Vec<String> {
    let mut counts = vec![0usize; set.classes.len()];
    set.labels.iter().for_each(|&l| counts[l as usize] += 1);
    let mut out = vec![];
    let rare: Vec<_> = set.classes.iter().zip(&counts).filter(|(_, n)| (1..10).contains(*n)).collect();
    match (set.labels.is_empty(), counts.iter().filter(|n| **n > 0).count()) {
        (true, _) => out.push(either(
            "the images have no classes: `vifo predict` can read them, `vifo fit` cannot",
            "the images have no classes: they can be predicted, and not be trained on",
        )),
        (false, 1) => out.push(either(
            "all images have one class: `vifo fit` needs two or more",
            "all images have one class: a training needs two or more",
        )),
        _ => {}
    }
    match &rare[..] {
        [] => {}
        [(class, n)] => out.push(format!("the class {} has {} only", quoted(class), counted(**n, "image"))),
        [(class, n), ..] => {
            let first = format!("{} with {}", quoted(class), counted(**n, "image"));
            out.push(format!("{} have fewer than ten images each, such as {first}", counted(rare.len(), "class")));
        }
    }
    if let (Some(most), Some(least)) = (counts.iter().max(), counts.iter().filter(|n| **n > 0).min())
        && *most > 10 * least
    {
        out.push(format!("the classes are uneven: {least} to {most} images"));
    }
    let mut seen: HashMap<&[u8], usize> = HashMap::with_capacity(set.n);
    let (mut duplicates, mut contradictions, mut constant) = (0, 0, 0);
    for (i, image) in set.bytes.chunks_exact(set.pixels().max(1)).enumerate() {
        constant += usize::from(image.iter().all(|v| *v == image[0]));
        match seen.insert(image, i) {
            Some(other) if !set.labels.is_empty() && set.labels[other] != set.labels[i] => contradictions += 1,
            Some(_) => duplicates += 1,
            None => {}
        }
    }
    let shared = test.map_or(0, |t| t.bytes.chunks_exact(t.pixels().max(1)).filter(|i| seen.contains_key(i)).count());
    for (n, what) in [
        (duplicates, "duplicated within a class"),
        (contradictions, "with conflicting labels (the same image in another class)"),
        (constant, "of one colour throughout"),
    ] {
        if n > 0 {
            out.push(format!("{} {what}", counted(n, "image")));
        }
    }
    if shared > 0 {
        out.push(format!("{} of the test part also in the training part", counted(shared, "image")));
    }
    out
}

impl std::fmt::Display for ImageReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let colour = if self.channels == 1 { "grey" } else { "colour" };
        writeln!(
            f,
            "{}: {}, {} of {} x {}, {colour}",
            self.path,
            self.format,
            counted(self.images, "image"),
            self.height,
            self.width
        )?;
        if let Some(n) = self.test_images {
            writeln!(f, "test part: {}", counted(n, "image"))?;
        }
        let list = |v: &[f32]| v.iter().map(|v| format!("{v:.3}")).collect::<Vec<_>>().join(", ");
        writeln!(f, "channel means {} and standard deviations {} (255 is 1)", list(&self.mean), list(&self.sd))?;
        if !self.classes.is_empty() {
            let width = self.classes.iter().map(|c| c.level.chars().count()).max().unwrap_or(0);
            writeln!(f, "\n{}:", counted(self.classes.len(), "class"))?;
            for class in self.classes.iter().take(20) {
                writeln!(f, "  {:width$}  {}", class.level, class.count)?;
            }
            if self.classes.len() > 20 {
                writeln!(f, "  and {} more", self.classes.len() - 20)?;
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {}", note.trim_end_matches('.'))?;
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {warning}")?;
        }
        if self.command.is_empty() { Ok(()) } else { write!(f, "\n{}", self.command) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_contradictions_and_rare_classes_are_told() {
        let set = ImageSet {
            bytes: vec![1, 2, 1, 2, 1, 2, 5, 5],
            labels: vec![0, 0, 1, 1],
            n: 4,
            h: 1,
            w: 2,
            c: 1,
            classes: vec!["a".into(), "b".into()],
            ids: (0..4).map(|i| i.to_string()).collect(),
            ..Default::default()
        };
        let said = warnings(&set, Some(&set.select(&[0])));
        assert_eq!(
            said,
            [
                "2 classes have fewer than ten images each, such as 'a' with 2 images",
                "1 image duplicated within a class",
                "1 image with conflicting labels (the same image in another class)",
                "1 image of one colour throughout",
                "1 image of the test part also in the training part",
            ]
        );
    }
}
