//! Settings that the app saves between starts.

use crate::method::{base, vi, vifo};
use crate::report::compare::Spread;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Tab {
    #[default]
    Playground,
    Examples,
    SideBySide,
    Priors,
    Curves,
    Data,
    Results,
    Runs,
    Recipe,
}

impl Tab {
    /// Points across and down that its page needs; where there is less, it scrolls.
    pub fn least(self) -> (f32, f32) {
        match self {
            // Their own layouts follow a narrow page.
            Tab::Playground => (320.0, 430.0),
            Tab::Examples => (320.0, 240.0),
            Tab::Recipe => (420.0, 300.0),
            Tab::Curves => (520.0, 340.0),
            Tab::SideBySide | Tab::Priors => (760.0, 420.0),
            Tab::Data | Tab::Results | Tab::Runs => (880.0, 440.0),
        }
    }

    /// With the words on the tab and the tip under it.
    pub const ALL: [(Tab, &'static str, &'static str); 9] = [
        (Tab::Playground, "Playground", "Train on points that you can move, and watch the uncertainty follow"),
        (Tab::Examples, "Examples", "Ten guided examples of what uncertainty is, each with one thing to try"),
        (Tab::SideBySide, "Side by side", "Two to four methods trained at once on the same points"),
        (Tab::Priors, "Priors", "Functions sampled from the prior of each method"),
        (Tab::Curves, "Learning curves", "Loss, its terms and test figures of this training and of saved runs"),
        (Tab::Data, "Your data", "Open a table or images, see what is in them, and train with one click"),
        (Tab::Results, "Results", "Metrics, calibration, and predictions sorted by uncertainty"),
        (Tab::Runs, "Runs", "Run folders: open, follow and compare them"),
        (Tab::Recipe, "Recipe", "The recipe to reproduce this training on the command line"),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Ground {
    #[default]
    System,
    Light,
    Dark,
}

/// What a band shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BandOptions {
    pub one_sd: bool,
    pub two_sd: bool,
    /// Parts of the variance that the shade contains.
    pub aleatoric: bool,
    pub epistemic: bool,
    pub members: bool,
    pub truth: bool,
    pub aux: bool,
    pub points: bool,
}

impl Default for BandOptions {
    fn default() -> Self {
        BandOptions {
            one_sd: true,
            two_sd: true,
            aleatoric: true,
            epistemic: true,
            members: false,
            truth: true,
            aux: true,
            points: true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum MapKind {
    #[default]
    Probability,
    Entropy,
    MutualInformation,
}

/// What stands below the playground's picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Below {
    #[default]
    Curves,
    Network,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum CurveAxis {
    #[default]
    Step,
    Epoch,
    Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurveOptions {
    pub axis: CurveAxis,
    pub log: bool,
    pub loss: bool,
    pub expected_nll: bool,
    pub regularizer: bool,
    pub auxiliary: bool,
    pub held_out_nll: bool,
    pub score: bool,
    /// Of the running mean that is drawn; 0 = none.
    pub smoothing: f64,
}

impl Default for CurveOptions {
    fn default() -> Self {
        CurveOptions {
            axis: CurveAxis::Step,
            log: true,
            loss: true,
            expected_nll: true,
            regularizer: true,
            auxiliary: true,
            held_out_nll: true,
            score: false,
            smoothing: 0.0,
        }
    }
}

/// Parts of the page Results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub enum Sub {
    #[default]
    Predictions,
    Images,
    Classes,
    Figures,
    Second,
    Live,
    Report,
}

/// A column of the list of runs, beside the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RunColumn {
    Data,
    Method,
    Seed,
    State,
    /// Of the test rows, by its key.
    Metric(String),
    /// RMSE of numbers, accuracy of classes.
    Score,
    Tags,
    Note,
    Device,
    Changed,
}

impl RunColumn {
    /// Those that there are whatever the runs hold, with the NLL, which all have.
    pub fn fixed() -> Vec<RunColumn> {
        use RunColumn::{Changed, Data, Device, Method, Metric, Note, Score, Seed, State, Tags};
        vec![Data, Method, Seed, State, Metric("nll".into()), Score, Tags, Note, Device, Changed]
    }

    fn usual() -> Vec<RunColumn> {
        RunColumn::fixed().into_iter().filter(|c| !matches!(c, RunColumn::Note | RunColumn::Device)).collect()
    }
}

/// What the list of runs is sorted by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOrder {
    /// None = the name.
    pub key: Option<RunColumn>,
    pub falling: bool,
}

/// Which test rows the page Results shows, and in which order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RowsShown {
    /// The column they are sorted by; None = by uncertainty.
    pub column: Option<String>,
    pub falling: bool,
    pub filter: String,
    pub wrong_only: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub tab: Tab,
    pub ground: Ground,
    /// Steps per second; 0 = unlimited.
    pub pace: f64,
    pub bands: BandOptions,
    pub map: MapKind,
    pub boundary: bool,
    pub below: Below,
    pub curves: CurveOptions,
    /// Methods of the split view.
    pub side: Vec<String>,
    pub prior_curves: u32,
    pub prior_opacity: f32,
    /// Where run folders lie and new ones go.
    pub runs: PathBuf,
    /// Of the list of runs, in their order.
    pub run_columns: Vec<RunColumn>,
    /// Behind means over seeds.
    pub spread: Spread,
    /// TOML of the playground; empty = the first launch's.
    pub recipe: String,
    /// Whether the playground was training when the window closed.
    pub running: bool,
    pub hint_seen: bool,
    /// The tour has been skipped, or has come to its end.
    pub tour_seen: bool,
    /// The run on the page Results.
    pub opened: Option<PathBuf>,
    /// The part of that page that is shown.
    pub part: Sub,
    /// Its table of test rows.
    pub rows: RowsShown,
    /// What is open on the page Your data, how it is read, and what its controls say: JSON.
    pub data: Option<String>,
    /// What the list of runs is narrowed to.
    pub filter: String,
    pub run_order: RunOrder,
    /// Runs that are ticked on the page Runs.
    pub ticked: Vec<PathBuf>,
    /// What stands on the page Recipe where it is not the playground's own.
    pub edited: Option<String>,
}

impl Settings {
    /// Of somebody who has never been here.
    pub fn first() -> Settings {
        Settings { tour_seen: false, ..Settings::default() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            tab: Tab::Playground,
            ground: Ground::System,
            pace: 300.0,
            bands: BandOptions::default(),
            map: MapKind::Probability,
            boundary: true,
            below: Below::Curves,
            curves: CurveOptions::default(),
            side: [base::NAME, vifo::MEAN.name, vi::MEAN.name].map(str::to_string).to_vec(),
            prior_curves: 40,
            prior_opacity: 0.35,
            runs: PathBuf::from("runs"),
            run_columns: RunColumn::usual(),
            spread: Spread::Se,
            recipe: String::new(),
            running: true,
            hint_seen: false,
            tour_seen: true,
            opened: None,
            part: Sub::default(),
            rows: RowsShown::default(),
            data: None,
            filter: String::new(),
            run_order: RunOrder::default(),
            ticked: vec![],
            edited: None,
        }
    }
}
