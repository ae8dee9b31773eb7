//! Images as they come: a folder is watched, every new or changed image is predicted by a trained run in a pass of its own, and
//! compared with the images that the run held out.

use crate::base::clock::{Duration, Instant, SystemTime};
use crate::base::fs;
use crate::data::Dataset;
use crate::data::encode::Target;
use crate::data::images::Part;
use crate::data::load::images::read;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Predictive;
use crate::method::predictive::Classification;
use crate::results::mutual_information_error;
use crate::run::{Model, RunFolder};
use crate::train::Predictor;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One image and what the run says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Name of its file.
    pub name: String,
    /// [h, w, c] as the network sees it, with those sizes.
    pub pixels: Vec<u8>,
    pub size: (usize, usize, usize),
    /// The three likeliest classes with their probabilities.
    pub classes: Vec<(String, f64)>,
    /// Predictive entropy, nats.
    pub entropy: f64,
    /// Share of the held-out images of the run that are less uncertain than this one; None where there are none.
    pub above: Option<f64>,
}

/// Beyond this share of the run's own images an image is unlike all of them.
const UNLIKE: f64 = 0.99;
const UNUSUAL: f64 = 0.9;

/// "unlike the training images", for people.
pub fn in_words(above: f64) -> &'static str {
    match above {
        UNLIKE.. => "unlike the training images",
        UNUSUAL.. => "unusual among the training images",
        _ => "like the training images",
    }
}

/// What there is to tell of a look at the folder.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameEvent {
    /// How many images of the run stand for what it knows, and by which score; or why none do.
    Ready(String),
    Frame(Box<Frame>),
    /// An image that cannot be read, or not yet, and why: it is tried again when it changes.
    Skipped {
        name: String,
        why: String,
    },
}

/// How uncertain the run is about images that it has not trained on: an image that it is more uncertain about than all of
/// them is none like them.
struct Known {
    /// Total entropy and mutual information of those images, ascending each: a blank image may make all networks doubtful alike,
    /// another one makes them contradict each other.
    scores: [Vec<f64>; 2],
    /// Of each of those images the greater of its two ranks, ascending.
    ranks: Vec<f64>,
}

/// As many as tell one share from the next.
const MOST_KNOWN: usize = 2000;

/// The share of `sorted` below `v`.
fn rank(sorted: &[f64], v: f64) -> f64 {
    sorted.partition_point(|s| *s < v) as f64 / sorted.len().max(1) as f64
}

impl Known {
    fn of(c: &Classification) -> Known {
        let sorted = |of: &[f64]| {
            let mut of = of.to_vec();
            of.sort_by(f64::total_cmp);
            of
        };
        let mut known = Known { scores: [sorted(&c.total), sorted(&c.epistemic)], ranks: vec![] };
        // Where all networks say the same, what differs is rounding.
        if known.scores[1].last().is_none_or(|most| *most <= mutual_information_error(c.k)) {
            known.scores[1].clear();
        }
        known.ranks = (0..c.total.len()).map(|i| known.strangeness(c, i)).collect();
        known.ranks.sort_by(f64::total_cmp);
        known
    }

    fn strangeness(&self, c: &Classification, i: usize) -> f64 {
        rank(&self.scores[0], c.total[i]).max(rank(&self.scores[1], c.epistemic[i]))
    }

    fn above(&self, c: &Classification, i: usize) -> Option<f64> {
        (!self.ranks.is_empty()).then(|| rank(&self.ranks, self.strangeness(c, i)))
    }
}

/// Changed since it was last read?
type Stamp = (Option<SystemTime>, u64);

/// A folder and the run that predicts what comes into it.
pub struct Frames {
    model: Model,
    predictor: Predictor,
    dir: PathBuf,
    known: Option<Known>,
    /// Of every file that has been looked at.
    seen: HashMap<PathBuf, Stamp>,
    /// Read next, the oldest first.
    waiting: Vec<PathBuf>,
    ready: Option<String>,
    looked: Option<Instant>,
    look_seconds: f64,
}

/// Images that lie in the folder already: the latest of them are shown.
const FIRST: usize = 12;
/// More than a training run of cameras writes in a second are too many to be seen.
const MOST_WAITING: usize = 200;
/// Between two looks at the folder; a large folder is looked at less often.
const LOOK: f64 = 0.03;
const LOOK_SHARE: f64 = 0.2;

impl Frames {
    /// # Errors
    /// The run is not on images, has no weights yet, or `dir` is no folder.
    pub fn open(run: &RunFolder, dir: &Path) -> Result<Frames> {
        if !fs::is_dir(dir) {
            let help = "make it, or name the folder that the camera writes to";
            return Err(Error::data(dir.display().to_string(), "is no folder", "a folder of images", help));
        }
        let model = Model::open(run)?;
        if model.encoder.pixels.is_none() {
            let help = "open a run on images";
            return Err(Error::usage(run.path.display().to_string(), "a run on a table", "a run on images", help));
        }
        let device = Device::open("auto")?;
        let mut predictor = Predictor::new(&model.plan.setup, &device, model.plan.seed, 1)?;
        predictor.set(&model.trained)?;
        let (known, ready) = known_of(run, &model, &device);
        Ok(Frames {
            model,
            predictor,
            dir: dir.to_path_buf(),
            known,
            seen: HashMap::new(),
            waiting: vec![],
            ready: Some(ready),
            looked: None,
            look_seconds: 0.0,
        })
    }

    /// What has happened since the last call: at most one frame. None where nothing has.
    pub fn next_event(&mut self) -> Option<FrameEvent> {
        if let Some(ready) = self.ready.take() {
            return Some(FrameEvent::Ready(ready));
        }
        if self.waiting.is_empty() && self.is_due() {
            let began = Instant::now();
            self.look();
            (self.looked, self.look_seconds) = (Some(Instant::now()), began.elapsed().as_secs_f64());
        }
        if self.waiting.is_empty() {
            return None;
        }
        let path = self.waiting.remove(0);
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Some(match self.predict(&path, &name) {
            Ok(frame) => FrameEvent::Frame(Box::new(frame)),
            Err(e) => FrameEvent::Skipped { name, why: e.to_string() },
        })
    }

    fn is_due(&self) -> bool {
        let wait = LOOK.max(self.look_seconds / LOOK_SHARE);
        self.looked.is_none_or(|at| at.elapsed() >= Duration::from_secs_f64(wait))
    }

    /// Files that are new or changed, in the order in which they were written.
    fn look(&mut self) {
        let first = self.looked.is_none();
        let mut found: Vec<(Stamp, PathBuf)> = vec![];
        for path in fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|e| e.path()) {
            let is_image =
                path.file_name().is_some_and(|n| crate::data::images::folder::is_image_name(&n.to_string_lossy()));
            let Some(meta) = fs::metadata(&path).ok().filter(|m| is_image && m.is_file()) else { continue };
            let stamp = (meta.modified().ok(), meta.len());
            if self.seen.get(&path) != Some(&stamp) {
                self.seen.insert(path.clone(), stamp);
                found.push((stamp, path));
            }
        }
        found.sort();
        let most = if first { FIRST } else { MOST_WAITING };
        let late = found.len().saturating_sub(most);
        self.waiting = found.into_iter().skip(late).map(|(_, path)| path).collect();
        // Of files that are gone nothing need be known.
        if self.seen.len() > 20_000 {
            self.seen.retain(|path, _| fs::exists(path));
        }
    }

    fn predict(&mut self, path: &Path, name: &str) -> Result<Frame> {
        let (data, _) = read(&self.model.encoder, path, Part::All, false)?;
        let Predictive::Classification(c) =
            self.predictor.predict_target(data.inputs(), self.model.encoder.target_at)?
        else {
            return Err(Error::run("images", "no classes", "this is a bug of vifo: please report it"));
        };
        let p = self.model.encoder.pixels.as_ref();
        let size = p.map_or((0, 0, 0), |p| (p.h, p.w, p.c));
        let label = |i: usize| match &self.model.encoder.target {
            Target::Classes { labels, .. } => labels.get(i).cloned().unwrap_or_default(),
            Target::Regression { .. } => String::new(),
        };
        let mut classes: Vec<(String, f64)> = c.probs.iter().enumerate().map(|(i, p)| (label(i), *p)).collect();
        classes.sort_by(|a, b| b.1.total_cmp(&a.1));
        classes.truncate(3);
        Ok(Frame {
            name: name.into(),
            pixels: data.bytes.to_vec(),
            size,
            classes,
            entropy: c.total.first().copied().unwrap_or(f64::NAN),
            above: self.known.as_ref().and_then(|k| k.above(&c, 0)),
        })
    }
}

/// The run's own held-out images, and a sentence about them.
fn known_of(run: &RunFolder, model: &Model, device: &Device) -> (Option<Known>, String) {
    let held_out = || -> Result<Option<(Known, String)>> {
        let data = model.data()?;
        if !run.manifest()?.is_of(&data) {
            let help = "restore them";
            return Err(Error::data(
                run.path.display().to_string(),
                "its images have changed since it was trained",
                "",
                help,
            ));
        }
        let (rows, of) = match data.validation.n {
            0 => (&data.test, "test"),
            _ => (&data.validation, "validation"),
        };
        if rows.n == 0 {
            return Ok(None);
        }
        let step = rows.n.div_ceil(MOST_KNOWN);
        let some: Vec<usize> = (0..rows.n).step_by(step).collect();
        let rows: Dataset = rows.subset(&some);
        let Predictive::Classification(c) = model.predict(device, rows.inputs())? else { return Ok(None) };
        let known = Known::of(&c);
        let by = if known.scores[1].is_empty() { "entropy" } else { "entropy and mutual information" };
        let said = format!("compared by {by} with {} {of} images of the run", known.ranks.len());
        Ok(Some((known, said)))
    };
    match held_out() {
        Ok(Some((known, said))) => (Some(known), said),
        Ok(None) => (None, "the run held no images out: nothing tells what is unlike them".into()),
        Err(e) => (None, format!("nothing tells what is unlike the training images: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;
    use crate::train::Flow;
    use image::{GrayImage, Luma};

    /// Digits of this program, drawn from the set that it carries, and images like none of them.
    fn digit(i: usize) -> GrayImage {
        let set = crate::data::images::digits(&Default::default()).expect("the bundled set");
        GrayImage::from_raw(set.w as u32, set.h as u32, set.image(i).expect("an image").to_vec()).expect("its size")
    }

    fn noise(seed: u32) -> GrayImage {
        GrayImage::from_fn(8, 8, |x, y| Luma([((x * 97 + y * 57 + seed * 31) * 7919 % 256) as u8]))
    }

    fn trained(dir: &Path) -> RunFolder {
        let text = "[data]\nimages = \"digits\"\n[method]\nname = \"base\"\nmembers = 3\n[train]\nepochs = 6\n";
        let recipe = crate::method::checked(&Recipe::parse(text, "test").expect("TOML"), "test").expect("a recipe");
        let path = dir.join("run");
        crate::workflow::fit::fit(&recipe, &path, false, &Device::Cpu, &mut |_, _| Flow::Continue).expect("trained");
        RunFolder::open(&path).expect("a run")
    }

    /// Until nothing is new.
    fn all(frames: &mut Frames) -> Vec<FrameEvent> {
        let mut events = vec![];
        // The next look is due by then.
        std::thread::sleep(std::time::Duration::from_millis(120));
        while let Some(event) = frames.next_event() {
            events.push(event);
        }
        events
    }

    fn frame(event: &FrameEvent) -> &Frame {
        match event {
            FrameEvent::Frame(frame) => frame,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_new_or_changed_image_is_predicted_and_strange_ones_stand_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = trained(dir.path());
        let camera = dir.path().join("camera");
        std::fs::create_dir(&camera).expect("a folder");
        let mut frames = Frames::open(&run, &camera).expect("frames");
        let said = all(&mut frames);
        assert!(matches!(&said[..], [FrameEvent::Ready(said)] if said.contains("validation images")), "{said:?}");
        assert!(all(&mut frames).is_empty());
        let labels = crate::data::images::digits(&Default::default()).expect("digits").labels;
        let mut right = 0;
        for i in 0..10 {
            digit(i).save(camera.join(format!("{i:03}.png"))).expect("saved");
        }
        std::fs::write(camera.join("notes.txt"), "no image").expect("written");
        let of_digits = all(&mut frames);
        assert_eq!(of_digits.len(), 10, "{of_digits:?}");
        for (i, event) in of_digits.iter().enumerate() {
            let frame = frame(event);
            assert_eq!((frame.name.clone(), frame.size, frame.classes.len()), (format!("{i:03}.png"), (8, 8, 1), 3));
            right += usize::from(frame.classes[0].0 == labels[i].to_string());
        }
        assert!(right >= 8, "{right} of 10");
        // The same names with other content, and nothing else.
        for i in 0..4 {
            noise(i).save(camera.join(format!("{i:03}.png"))).expect("saved");
        }
        let of_noise = all(&mut frames);
        assert_eq!(of_noise.len(), 4, "{of_noise:?}");
        let above = |events: &[FrameEvent]| {
            events.iter().map(|e| frame(e).above.expect("known")).sum::<f64>() / events.len() as f64
        };
        // A lens that is covered: all networks are doubtful alike.
        GrayImage::from_pixel(8, 8, Luma([120])).save(camera.join("grey.png")).expect("saved");
        let of_grey = all(&mut frames);
        let found = [&of_noise, &of_grey, &of_digits].map(|of| above(of));
        assert!(found[0] > 0.9 && found[1] > 0.9 && found[2] < 0.8, "{found:?}");
        assert_eq!(in_words(1.0), "unlike the training images");
        assert_eq!(in_words(0.5), "like the training images");
    }

    #[test]
    fn what_is_half_written_is_skipped_until_it_is_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let run = trained(dir.path());
        let camera = dir.path().join("camera");
        std::fs::create_dir(&camera).expect("a folder");
        for i in 0..20 {
            digit(i).save(camera.join(format!("old{i:02}.png"))).expect("saved");
        }
        let mut frames = Frames::open(&run, &camera).expect("frames");
        let first = all(&mut frames);
        assert_eq!(first.len(), 1 + FIRST, "the latest of those that were there");
        let (whole, path) = (dir.path().join("whole.png"), camera.join("new.png"));
        digit(3).save(&whole).expect("saved");
        let bytes = std::fs::read(&whole).expect("bytes");
        std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
        let half = all(&mut frames);
        assert!(
            matches!(&half[..], [FrameEvent::Skipped { name, why }] if name == "new.png" && why.contains("cut off")),
            "{half:?}"
        );
        assert!(all(&mut frames).is_empty(), "it is told once");
        std::fs::write(&path, &bytes).expect("written");
        assert_eq!(frame(&all(&mut frames)[0]).name, "new.png");
        std::fs::write(camera.join("empty.jpg"), "").expect("written");
        let empty = all(&mut frames);
        assert!(matches!(&empty[..], [FrameEvent::Skipped { .. }]), "{empty:?}");
        std::fs::remove_dir_all(&camera).expect("removed");
        assert!(all(&mut frames).is_empty());
        assert!(Frames::open(&run, &camera).is_err_and(|e| e.to_string().contains("is no folder")));
    }
}
