//! What a training came to, and what its run is called.

use crate::base::fs;
use crate::data::load::Loaded;
use crate::error::either;
use crate::method::Trained;
use crate::recipe::Recipe;
use crate::results::{Results, VariantResult};
use crate::tables::{TextTable, number};
use crate::train::plan::TrainingPlan;
use crate::train::{Choice, Ending, EpochRow};
use std::path::PathBuf;
use std::sync::Arc;

pub struct Fitted {
    pub ending: Ending,
    /// Of what predicts: of the recipe's variants the chosen one, or the one that led where training was stopped.
    pub plan: TrainingPlan,
    /// How it was chosen, at the end of a training with variants.
    pub choice: Option<Choice>,
    pub data: Arc<Loaded>,
    pub trained: Trained,
    pub rows: Vec<EpochRow>,
    /// None where there are no test rows, or where training was stopped.
    pub results: Option<Results>,
    /// Of the training rows, each predicted by the member that held it out; None where all members share the validation rows.
    pub out_of_fold: Option<Results>,
    pub best: Option<(u32, f64)>,
    pub seconds: f64,
}

impl Fitted {
    /// The epoch whose weights are kept, where a validation part chose it and training went on; None where each member has an
    /// epoch of its own.
    pub fn kept_epoch(&self) -> Option<u32> {
        let last = self.rows.last()?.epoch;
        let is_one = self.plan.patience > 0 && self.plan.setup.folds == 0;
        self.best.map(|best| best.0).filter(|epoch| is_one && *epoch < last)
    }

    /// How many training rows were predicted by the member that held them out, and the main metrics: "rmse 1.2, nll 3.4".
    pub fn out_of_fold_figures(&self) -> Option<(usize, String)> {
        const MAIN: [&str; 5] = ["rmse", "accuracy", "nll", "crps", "coverage_90"];
        let results = self.out_of_fold.as_ref()?;
        let named = |name: &&str| results.get(name).map(|value| format!("{name} {}", number(value)));
        let all: Vec<String> = MAIN.iter().filter_map(named).collect();
        (!all.is_empty()).then(|| (results.rows, all.join(", ")))
    }

    /// `recipe`, or of its variants the one that predicts.
    pub fn recipe(&self, recipe: &Recipe) -> Recipe {
        // The plan was made of this recipe.
        recipe.variant(&self.plan.variant).unwrap_or_else(|_| recipe.clone())
    }

    /// The variants that were trained, as results keep them; none where there was no choice.
    pub fn variants(&self) -> Vec<VariantResult> {
        let Some(choice) = &self.choice else { return vec![] };
        let one = |(i, v): (usize, &crate::train::VariantScore)| VariantResult {
            keys: v.keys.clone(),
            nll: v.nll,
            difference: v.difference.map(|d| d.0),
            standard_error: v.difference.map(|d| d.1),
            chosen: i == choice.chosen,
        };
        choice.variants.iter().enumerate().map(one).collect()
    }

    /// A sentence on the choice, and a row for each variant.
    pub fn variants_table(&self) -> Option<(String, TextTable)> {
        let choice = self.choice.as_ref()?;
        let mut table = TextTable::new(&["variant", "out-of-fold NLL", "above the chosen", "standard error"]);
        for v in self.variants() {
            let cell = |value: Option<f64>| value.map_or("-".into(), number);
            let (difference, error) = if v.chosen { (None, None) } else { (v.difference, v.standard_error) };
            let nll = v.nll.map_or("broke off: a loss was no number".into(), number);
            table.rows.push(vec![v.keys, nll, cell(difference), cell(error)]);
        }
        let said = format!(
            "chose {} of {} variants: the first whose NLL in nats on the {} training rows, each predicted by the member that held \
             it out, is within a standard error of the best",
            choice.variants[choice.chosen].keys,
            choice.variants.len(),
            self.data.train.n
        );
        Some((said, table))
    }

    /// What it may mean that no later epoch was better than the first.
    pub fn first_is_best(&self) -> Option<String> {
        let first = self.rows.first()?.epoch;
        self.kept_epoch().filter(|epoch| *epoch == first).map(|_| {
            format!(
                "the best weights are those of the first epoch: the inputs may tell little about '{}' (compare with the \
                 baselines), or {} is too high",
                self.data.encoder.target_names(),
                either("--lr", "the learning rate")
            )
        })
    }
}

/// "concrete": the recipe's name, else its data's.
pub fn recipe_name(recipe: &Recipe) -> String {
    if let Some(name) = &recipe.name {
        return name.clone();
    }
    let stem = |p: &PathBuf| {
        let stem =
            p.file_name().map(|s| s.to_string_lossy().split('.').next().unwrap_or("").to_string()).unwrap_or_default();
        // "data.csv" says nothing; its folder does.
        match p.parent().and_then(|d| d.file_name()) {
            Some(dir) if stem == "data" || stem == "train" => dir.to_string_lossy().to_string(),
            _ => stem,
        }
    };
    match (recipe.data.file.as_ref().or(recipe.data.images.as_ref()), &recipe.data.toy) {
        (Some(file), _) if crate::data::source::is_stream(file) => "stream".into(),
        (Some(file), _) => fs::absolute(file).map_or_else(|_| stem(file), |f| stem(&f)),
        (None, Some(toy)) => format!("{toy:?}").to_lowercase(),
        (None, None) if recipe.data.points.is_some() => "points".into(),
        (None, None) => "run".into(),
    }
}
