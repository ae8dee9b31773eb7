//! Reads a run folder, and predicts or evaluates other rows with it. All of it runs in jobs; draws nothing.

use super::predictions::Predictions;
use crate::base::fs;
use crate::data::encode::Encoder;
use crate::data::images::Part;
use crate::data::{Dataset, load};
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::live::Chore;
use crate::live::chore::{beside, files_of_run};
use crate::live::network::{self, Network};
use crate::recipe::Recipe;
use crate::results::Results;
use crate::run::calibration::{self, CALIBRATED_ROWS};
use crate::run::targets;
use crate::run::watch::{RunState, state_of};
use crate::run::{About, Manifest, Model, RunFolder};
use crate::tables::TextTable;
use crate::train::EpochRow;
use crate::train::plan::TrainingPlan;
use crate::workflow::calibrate::{CalibrateRequest, Calibrated, calibrate};
use crate::workflow::evaluate::{EvaluateRequest, Evaluation, evaluate};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Run {
    pub folder: RunFolder,
    pub recipe: Recipe,
    pub manifest: Manifest,
    /// Whether it is in training, was interrupted, or has ended.
    pub state: RunState,
    /// A process holds the folder.
    pub held: bool,
    pub encoder: Encoder,
    /// Of the test rows; None before the end of training, or without such rows.
    pub results: Option<Results>,
    /// Of the last evaluation of other sets.
    pub evaluation: Vec<Results>,
    /// Of the test rows, calibrated where the run is.
    pub predictions: Option<Arc<Predictions>>,
    /// Which of the two, where there are two.
    pub of_rows: Vec<String>,
    /// What `vifo calibrate` found, a sentence each; empty where it was not asked.
    pub calibration: Vec<String>,
    /// Tags and note.
    pub about: About,
    pub rows: Vec<EpochRow>,
    /// PNG files.
    pub figures: Vec<PathBuf>,
    pub report: Option<PathBuf>,
    /// Its layers; None where the recipe makes no network any more.
    pub network: Option<Network>,
}

/// A run that is still in training, or was stopped, has no results yet: that is no error.
pub fn read(path: &Path) -> Result<Run> {
    let folder = RunFolder::open(path)?;
    // Before the manifest: a writer's end shows there before it lets go of the folder.
    let held = folder.is_held();
    let manifest = folder.manifest()?;
    let encoder = folder.encoder()?;
    let has = |name: &str| fs::is_file(folder.file(name));
    let calibration = calibration::current(&folder);
    let is_calibrated = matches!(calibration, Ok(Some(_)));
    let with_it = is_calibrated && has(CALIBRATED_ROWS);
    let file = if with_it { CALIBRATED_ROWS } else { "predictions.csv" };
    let predictions = match has(file) {
        true => Some(Arc::new(Predictions::of(read_csv(&folder.file(file))?, encoder.task()))),
        false => None,
    };
    let of_rows = match &calibration {
        Ok(Some(c)) if with_it => vec![c.used()],
        // By a vifo that did not keep them, or of rows that are not there any more.
        Ok(Some(_)) => vec!["these predictions are as before the calibration".into()],
        _ => vec![],
    };
    let recipe = folder.recipe()?;
    let plan = TrainingPlan::new(&recipe, manifest.train_rows, &encoder);
    Ok(Run {
        network: plan.ok().map(|plan| network::layers(&plan.setup)),
        recipe,
        state: state_of(&manifest, held),
        held,
        manifest,
        // Beside those of the calibrated run, where it is calibrated; a damaged file of these leaves the plain ones.
        results: match folder.calibrated() {
            Ok(Some(results)) => Some(results),
            _ if has("results.json") => Some(folder.results()?),
            _ => None,
        },
        about: folder.about().unwrap_or_default(),
        evaluation: if has("evaluation.json") { folder.evaluation()? } else { vec![] },
        predictions,
        of_rows,
        calibration: match calibration {
            Ok(Some(c)) => {
                let caveats = c.caveats();
                c.sentences().into_iter().chain(caveats.iter().map(|n| format!("Note: {n}."))).collect()
            }
            Ok(None) => vec![],
            Err(e) => vec![format!("Left out: {e}.")],
        },
        rows: if has("metrics.csv") { folder.metrics(u32::MAX)? } else { vec![] },
        figures: figures(&folder.figures()),
        report: has("report.html").then(|| folder.file("report.html")),
        encoder,
        folder,
    })
}

/// The PNG files of a folder and of those inside it (of targets, of other sets, of the calibration), by name; none where there is no
/// such folder.
fn figures(dir: &Path) -> Vec<PathBuf> {
    const DEPTH: usize = 4;
    let (mut all, mut left) = (vec![], vec![(dir.to_path_buf(), DEPTH)]);
    while let Some((dir, depth)) = left.pop() {
        for path in fs::read_dir(&dir).into_iter().flatten().flatten().map(|e| e.path()) {
            match fs::is_dir(&path) {
                true if depth > 1 => left.push((path, depth - 1)),
                true => {}
                false if path.extension().is_some_and(|e| e == "png") => all.push(path),
                false => {}
            }
        }
    }
    all.sort();
    all
}

fn read_csv(path: &Path) -> Result<TextTable> {
    let broken = |e: csv::Error| {
        let help = "the file is damaged: restore it, or train again";
        Error::data(path.display().to_string(), e.to_string(), "", help)
    };
    let bytes = fs::read(path).map_err(|e| Error::io(path, "read", &e))?;
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let texts = |record: &csv::StringRecord| record.iter().map(str::to_string).collect::<Vec<String>>();
    let header = texts(reader.headers().map_err(broken)?);
    let mut rows = vec![];
    for record in reader.records() {
        rows.push(texts(&record.map_err(broken)?));
    }
    Ok(TextTable { header, rows })
}

/// Bytes of images with their ids, for thumbnails.
#[derive(Serialize, Deserialize)]
pub struct Pixels {
    pub h: usize,
    pub w: usize,
    pub c: usize,
    pub bytes: Arc<Vec<u8>>,
    ids: Vec<String>,
    by_id: HashMap<String, usize>,
}

impl Pixels {
    fn of(encoder: &Encoder, data: Dataset) -> Option<Pixels> {
        let p = encoder.pixels.as_ref()?;
        let by_id = data.ids.iter().enumerate().map(|(i, id)| (id, i)).collect();
        Some(Pixels { h: p.h, w: p.w, c: p.c, bytes: data.bytes, ids: data.ids.into(), by_id })
    }

    /// The image of a row: at its place if the id agrees, for ids need not be unique.
    pub fn find(&self, row: usize, id: &str) -> Option<usize> {
        if self.ids.get(row).is_some_and(|i| i == id) { Some(row) } else { self.by_id.get(id).copied() }
    }

    pub fn image(&self, i: usize) -> Option<&[u8]> {
        let len = self.h * self.w * self.c;
        self.bytes.get(i * len..(i + 1) * len)
    }
}

/// The run's own test images; None for a table.
pub fn test_images(folder: &RunFolder) -> Result<Option<Pixels>> {
    let (recipe, encoder) = (folder.recipe()?, folder.encoder()?);
    if encoder.pixels.is_none() {
        return Ok(None);
    }
    let data = load::load(&recipe)?;
    if !folder.manifest()?.is_of(&data) {
        return Err(Error::data(
            folder.path.display().to_string(),
            "the images have changed since the run was trained: the table shows none",
            "",
            "restore them to see each image beside its prediction",
        ));
    }
    Ok(Pixels::of(&encoder, data.test))
}

#[derive(Serialize, Deserialize)]
pub struct Predicted {
    pub file: PathBuf,
    pub predictions: Arc<Predictions>,
    pub pixels: Option<Pixels>,
    pub notes: Vec<String>,
}

/// As `vifo predict` does.
pub fn predict(folder: &RunFolder, file: &Path) -> Result<Predicted> {
    let model = Model::open(folder)?;
    let (data, mut notes) = model.read(file, Part::All, false, None)?;
    notes.extend(Model::caveats(folder)?);
    let device = Device::open("auto")?;
    let calibration = calibration::current(folder).unwrap_or_else(|e| {
        notes.push(format!("calibration left out: {e}"));
        None
    });
    let (table, said) = targets::predictions(&model, calibration.as_ref(), &device, &data, &mut |_, _, _| Ok(()))?;
    notes.extend(said);
    Ok(Predicted {
        file: file.to_path_buf(),
        predictions: Arc::new(Predictions::of(table, model.task())),
        pixels: Pixels::of(&model.encoder, data),
        notes,
    })
}

/// `predict`, as a chore.
#[derive(Serialize, Deserialize)]
pub struct Predict {
    pub folder: RunFolder,
    pub file: PathBuf,
}

impl Chore for Predict {
    const NAME: &'static str = "predict";
    type Done = Predicted;
    fn paths(&self) -> Vec<PathBuf> {
        [files_of_run(&self.folder.path), vec![beside(&self.file)]].concat()
    }
    fn work(self) -> Result<Predicted> {
        predict(&self.folder, &self.file)
    }
}

/// `test_images`, as a chore.
#[derive(Serialize, Deserialize)]
pub struct TestImages(pub RunFolder);

impl Chore for TestImages {
    const NAME: &'static str = "test images";
    type Done = Option<Pixels>;
    fn paths(&self) -> Vec<PathBuf> {
        files_of_run(&self.0.path)
    }
    fn work(self) -> Result<Option<Pixels>> {
        test_images(&self.0)
    }
}

/// Evaluates on rows unlike the training data, as a chore.
#[derive(Serialize, Deserialize)]
pub struct Evaluate {
    pub folder: RunFolder,
    pub ood: Vec<PathBuf>,
}

impl Chore for Evaluate {
    const NAME: &'static str = "evaluate";
    type Done = Evaluation;
    fn paths(&self) -> Vec<PathBuf> {
        let others = self.ood.iter().map(|file| beside(file));
        files_of_run(&self.folder.path).into_iter().chain(others).collect()
    }
    fn work(self) -> Result<Evaluation> {
        let request = EvaluateRequest { ood: self.ood, ..EvaluateRequest::default() };
        evaluate(&self.folder, &Device::open("auto")?, &request, &mut |_| {})
    }
}

/// Calibrates as `vifo calibrate RUN` does without flags, as a chore.
#[derive(Serialize, Deserialize)]
pub struct Calibrate(pub RunFolder);

impl Chore for Calibrate {
    const NAME: &'static str = "calibrate";
    type Done = Calibrated;
    fn paths(&self) -> Vec<PathBuf> {
        files_of_run(&self.0.path)
    }
    fn work(self) -> Result<Calibrated> {
        calibrate(&self.0, &Device::open("auto")?, &CalibrateRequest::default())
    }
}
