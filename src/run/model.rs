//! A trained run, opened for prediction: recipe, encoder, weights, and predictions in the user's units.

use super::Fitted;
use super::RunFolder;
use super::folder::Manifest;
use super::moved;
use super::parts::{self, BEST};
use crate::base::counted::counted;
use crate::base::fs;
use crate::data::encode::feature::FeatureKind;
use crate::data::encode::{Encoder, NAMED, Scale, Target};
use crate::data::images::Part;
use crate::data::load::{self, images, read_options, skipped_row};
use crate::data::roles;
use crate::data::table::{ColumnKind, Table, read_table};
use crate::data::{Dataset, Inputs, Task};
use crate::error::{Error, Result, either};
use crate::exec::Device;
use crate::method::{Predictive, Trained};
use crate::recipe::Recipe;
use crate::system::memory;
use crate::train::plan::TrainingPlan;
use crate::train::{Checkpoint, Predictor, out_of_fold};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Clone)]
pub struct Model {
    pub recipe: Recipe,
    pub encoder: Encoder,
    pub plan: TrainingPlan,
    pub trained: Trained,
    /// Its folder, for messages.
    run: PathBuf,
}

/// Rows of new data.
pub struct NewRows {
    pub data: Dataset,
    /// Of each row of `data` its number among those of the file, from 0.
    pub rows: Vec<usize>,
    /// What the reader should know, a sentence each.
    pub notes: Vec<String>,
    /// Rows that cannot be predicted: id and reason, in the order of the file.
    pub refused: Vec<(String, String)>,
    /// What is to be said of a row that is predicted and not plain: id and a few words.
    pub odd: Vec<(String, String)>,
}

impl Model {
    pub const WITHOUT_SUMS: &str =
        "the run was made by an older vifo without checksums: damage to its files would go unnoticed";

    pub fn open(run: &RunFolder) -> Result<Model> {
        let recipe = Self::predicting(run, run.recipe()?)?;
        let encoder = run.encoder()?;
        let n_rows = run.manifest()?.train_rows;
        let plan = TrainingPlan::new(&recipe, n_rows, &encoder)?;
        let path = run.best();
        if !fs::is_file(&path) {
            return Err(Error::data(
                path.display().to_string(),
                "no trained weights yet",
                "",
                either(format!("finish the training with `vifo fit --resume {}`", run.path.display()), "resume it"),
            ));
        }
        let trained = Self::checkpoint(run, BEST, &plan)?.trained;
        Ok(Model { recipe, encoder, plan, trained, run: run.path.clone() })
    }

    /// The recipe of the weights in `run` that predict: where `recipe` has variants, that of the one that they are of. They name
    /// it themselves, so that neither can be there without the other.
    fn predicting(run: &RunFolder, recipe: Recipe) -> Result<Recipe> {
        if recipe.variant_texts().is_empty() || !fs::is_file(run.best()) {
            return Ok(recipe);
        }
        let parts::Read { bytes, verdict } = run.read_part(BEST)?;
        let place = run.best().display().to_string();
        match Checkpoint::variant_in(&bytes) {
            Some(keys) => {
                let chosen = recipe.variant(&keys).map_err(|e| e.within(&place))?;
                verdict.map(|()| chosen)
            }
            None => {
                let help = either("restore it, or train again with `vifo fit`", "restore it, or train again");
                Err(Error::data(place, "names no variant of the recipe, or is damaged", "", help))
            }
        }
    }

    /// Of a training that has come to an end, in whatever folder it is kept, if any.
    pub fn of(recipe: &Recipe, fitted: &Fitted) -> Model {
        Model {
            recipe: fitted.recipe(recipe),
            encoder: fitted.data.encoder.clone(),
            plan: fitted.plan.clone(),
            trained: fitted.trained.clone(),
            run: PathBuf::new(),
        }
    }

    /// `name` is BEST or LAST.
    pub(crate) fn checkpoint(run: &RunFolder, name: &str, plan: &TrainingPlan) -> Result<Checkpoint> {
        let parts::Read { bytes, verdict } = run.read_part(name)?;
        let (s, path) = (&plan.setup, run.file(name));
        let checkpoint = Checkpoint::from_bytes(&bytes, &path, &s.layout(), plan.all_members(), s.member_len())?;
        verdict.map(|()| checkpoint)
    }

    /// The rows that the run's recipe names, on the scale that its weights know; of its targets those that are this model's.
    pub fn data(&self) -> Result<load::Loaded> {
        let all = self.all_data()?;
        match (all.encoder.n_targets(), self.encoder.n_targets()) {
            (2.., 1) => Ok(all.of_target(self.encoder.target_at).into_owned()),
            _ => Ok(all),
        }
    }

    fn all_data(&self) -> Result<load::Loaded> {
        // Points that were moved while training ran stand on the scale of its first step.
        match load::load_on_scale(&self.recipe, &self.encoder)? {
            Some(data) => Ok(data),
            None => {
                moved::expect(&self.recipe.data, &self.run, moved::NO_OPTION)?;
                load::load(&self.recipe)
            }
        }
    }

    pub fn task(&self) -> Task {
        self.encoder.task()
    }

    /// The same model with target number `at` alone.
    pub fn of_target(&self, at: usize) -> Model {
        Model { encoder: self.encoder.of_target(at), ..self.clone() }
    }

    /// Reads a table as the training file was read, but for `skip_lines`; the target column may be absent unless it is
    /// needed. Also returns what the reader should know, a sentence each.
    ///
    /// For a run on images `file` is an image set, of which `part` is read if it comes in parts.
    pub fn read(
        &self,
        file: &Path,
        part: Part,
        need_target: bool,
        skip_lines: Option<usize>,
    ) -> Result<(Dataset, Vec<String>)> {
        let read = self.read_all(file, part, need_target, skip_lines, None)?;
        Ok((read.data, read.notes))
    }

    /// The same, with the rows that cannot be predicted; `header` says whether the first line holds names, where it may
    /// differ from the training file.
    pub fn read_all(
        &self,
        file: &Path,
        part: Part,
        need_target: bool,
        skip_lines: Option<usize>,
        header: Option<bool>,
    ) -> Result<NewRows> {
        if self.encoder.pixels.is_some() {
            let (data, mut notes) = images::read(&self.encoder, file, part, need_target)?;
            if skip_lines.is_some() {
                notes.push(either("--skip-lines has no effect on images", "skipped lines have no effect on images"));
            }
            if header.is_some() {
                notes.push(either("--header has no effect on images", "a header has no effect on images"));
            }
            let rows = (0..data.n).collect();
            return Ok(NewRows { data, rows, notes, refused: vec![], odd: vec![] });
        }
        let mut options = read_options(&self.recipe.data).for_path(file);
        options.skip_lines = skip_lines.unwrap_or(options.skip_lines);
        memory::room_for_table(file)?;
        options.header = header.or(options.header);
        // A few rows say less about a column than the training file did.
        for feature in &self.encoder.features {
            options.expected.push(feature.name.clone());
            if !options.kinds.iter().any(|(name, _)| *name == feature.name) {
                let kind = match feature.kind {
                    FeatureKind::Numeric { .. } | FeatureKind::Gappy { .. } => ColumnKind::Number,
                    FeatureKind::Levels { .. } | FeatureKind::Switch { .. } => ColumnKind::Text,
                    FeatureKind::Date(_) => ColumnKind::Date,
                };
                options.kinds.push((feature.name.clone(), kind));
            }
        }
        let table = self.with_names(read_table(file, &options)?)?;
        let mut notes = self.said(&table);
        if skip_lines.is_none() && options.skip_lines > 0 {
            notes.push(left_out_as_in_training(&table, file, options.skip_lines)?);
        }
        let usable = self.encoder.usable(&table, need_target)?;
        let mut data = self.encoder.encode(&table, &usable.rows, need_target)?;
        if need_target && let Some(name) = &self.recipe.data.weight {
            data.weights = roles::weights(&table, name, &usable.rows)?;
        }
        if data.n == 0 {
            return Err(Error::data(
                file.display().to_string(),
                "no rows to predict",
                "at least one row",
                "check the file",
            ));
        }
        notes.extend(usable.notes);
        notes.extend(load::refused(&usable.refused, table.rows(), &table));
        let (said, beyond) = self.beyond(&data);
        notes.extend(said);
        let mut odd: BTreeMap<usize, String> = usable.odd.into_iter().collect();
        for (i, said) in beyond {
            let all = odd.entry(usable.rows[i]).or_default();
            let between = if all.is_empty() { "" } else { "; " };
            all.push_str(&format!("{between}{said}"));
        }
        let odd = odd.into_iter().map(|(row, said)| (table.lines.get(row).to_string(), said)).collect();
        let refused = usable.refused.into_iter().map(|(row, reason)| (table.lines.get(row), reason));
        let mut refused: Vec<(usize, String)> = refused.chain(usable.ragged).collect();
        refused.sort_by_key(|(line, _)| *line);
        let refused = refused.into_iter().map(|(line, reason)| (line.to_string(), reason)).collect();
        Ok(NewRows { data, rows: usable.rows, notes, refused, odd })
    }

    /// What the reader made of the file; of inputs the encoder says what stands in for a cell that is no number.
    fn said(&self, table: &Table) -> Vec<String> {
        table.said_but(|c| self.encoder.features.iter().any(|f| f.name == c.name))
    }

    /// An error with the line that is missing, where training had column names and `table` has none.
    fn with_names(&self, table: Table) -> Result<Table> {
        let is_there = |name: &str| table.columns.iter().any(|c| c.name == name);
        let mut absent = self.encoder.features.iter().map(|f| f.name.as_str()).filter(|name| !is_there(name));
        let (false, Some(name)) = (table.header, absent.next()) else { return Ok(table) };
        let data = &self.recipe.data;
        // Only the training file tells the order. Where it is gone the encoder says what it knows.
        let Some(trained) = data.file.as_deref().and_then(|file| load::read(data, file).ok()) else { return Ok(table) };
        let is_target = |name: &str| self.encoder.targets().any(|t| t.name() == name);
        let mut names = trained.names();
        if names.len() != table.columns.len() {
            names.retain(|name| !is_target(name));
        }
        if !trained.header || names.len() != table.columns.len() {
            return Ok(table);
        }
        let between = char::from(table.delimiter);
        let cell = |name: &&str| match name.contains([between, '"']) {
            true => format!("\"{}\"", name.replace('"', "\"\"")),
            false => name.to_string(),
        };
        let line = names.iter().map(cell).collect::<Vec<_>>().join(&between.to_string());
        let help = format!(
            "the file has no line of column names; put this first: {line}{}",
            either(" (or use --header yes)", "")
        );
        Err(Error::data(table.path.display().to_string(), format!("no column '{name}'"), "", help))
    }

    /// Where rows lie outside of what training saw: a sentence, and a few words of each such row.
    fn beyond(&self, data: &Dataset) -> (Option<String>, Vec<(usize, String)>) {
        let mut names = vec![];
        // Of each such row the columns that are named, and how many there are.
        let mut rows: BTreeMap<usize, (Vec<&str>, usize)> = BTreeMap::new();
        let mut at = 0;
        for f in &self.encoder.features {
            if let Some(scale @ Scale { mean, sd, min, max, robust }) = f.kind.scale() {
                // Half a step of f32 is no departure.
                let slack = 1e-6 * (max - min).abs().max(mean.abs());
                let (low, high) = (min - slack, max + slack);
                // What a smooth clip makes alike the network sees as one, too.
                let clipped = robust.map(|_| (scale.scaled(low) as f32, scale.scaled(high) as f32));
                let out = |i: &usize| {
                    let x = data.x[i * data.d + at];
                    match clipped {
                        Some((low, high)) => x < low || x > high,
                        None => {
                            let v = mean + sd * f64::from(x);
                            v < low || v > high
                        }
                    }
                };
                let outside: Vec<usize> = (0..data.n).filter(out).collect();
                if !outside.is_empty() {
                    names.push(f.name.as_str());
                }
                for i in outside {
                    let (named, n) = rows.entry(i).or_default();
                    if *n < NAMED {
                        named.push(&f.name);
                    }
                    *n += 1;
                }
            }
            at += f.kind.inputs();
        }
        let n = rows.len();
        let more = if names.len() > 5 { ", ..." } else { "" };
        let names = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        let said = (n > 0).then(|| {
            format!(
                "{n} of {} {} outside the training range of {names}{more}: there the error bars depend on how \
                 the method extrapolates",
                counted(data.n, "row"),
                if n == 1 { "lies" } else { "lie" }
            )
        });
        let of_row = |(i, (named, n)): (usize, (Vec<&str>, usize))| {
            let more = if n > NAMED { format!(" and {} more", n - NAMED) } else { String::new() };
            (i, format!("outside the training range of {}{more}", named.join(", ")))
        };
        (said, rows.into_iter().map(of_row).collect())
    }

    /// What to say of a run whose training did not end by itself, or whose files have no checksums.
    pub fn caveats(run: &RunFolder) -> Result<Vec<String>> {
        let Manifest { state, sums, .. } = run.manifest()?;
        let resume = crate::base::visible::shell(&run.path.display().to_string());
        let unfinished = ["stopped", "training"].contains(&state.as_str()).then(|| {
            format!(
                "training did not end (state: {state}); these are its best weights so far; {}",
                either(format!("resume with `vifo fit --resume {resume}`"), "resume it")
            )
        });
        Ok(unfinished.into_iter().chain(sums.is_empty().then(|| Self::WITHOUT_SUMS.into())).collect())
    }

    /// Predictions in the user's units of the run's training rows, each by the member that held it out; of a run whose plan
    /// has folds.
    pub fn predict_out_of_fold(&self, device: &Device, train: &Dataset) -> Result<Predictive> {
        let mut all = out_of_fold(&self.plan, &self.trained, train, device)?;
        let mut predictive = all.swap_remove(self.encoder.target_at.min(all.len() - 1));
        to_units(&mut predictive, &self.encoder);
        Ok(predictive)
    }

    /// Predictions in the user's units.
    pub fn predict(&self, device: &Device, x: Inputs) -> Result<Predictive> {
        predict(&self.plan, &self.encoder, &self.trained, device, x)
    }
}

/// What to say of the `n` first lines, or an error where one of them is a row.
fn left_out_as_in_training(table: &Table, file: &Path, n: usize) -> Result<String> {
    let lines = if n == 1 { "the first line is".to_string() } else { format!("the first {n} lines are") };
    match skipped_row(table)? {
        None => Ok(format!("{lines} left out, as in training{}", either(format!(" (--skip-lines {n})"), ""))),
        Some(line) => Err(Error::data(
            format!("{}, line {line}", file.display()),
            format!("is a row of data, but {lines} left out, as in training"),
            "",
            either("say how many lines to leave out: --skip-lines 0 for none", "leave as many lines in front as there"),
        )),
    }
}

/// The same for a run that has just been trained.
pub fn predict(
    plan: &TrainingPlan,
    encoder: &Encoder,
    trained: &Trained,
    device: &Device,
    x: Inputs,
) -> Result<Predictive> {
    let n = x.len() / encoder.n_inputs().max(1);
    let mut predictor = Predictor::new(&plan.setup, device, plan.seed, n)?;
    predictor.set(trained)?;
    let mut predictive = predictor.predict_target(x, encoder.target_at)?;
    to_units(&mut predictive, encoder);
    Ok(predictive)
}

/// From standardised units into the target's own.
pub fn to_units(predictive: &mut Predictive, encoder: &Encoder) {
    if let (Predictive::Regression(r), Target::Regression { mean, sd, .. }) = (predictive, &encoder.target) {
        r.rescale(*mean, *sd);
    }
}
