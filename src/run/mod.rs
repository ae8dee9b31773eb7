//! The run folder: recipe, manifest, encoder, metrics, checkpoints, predictions, figures and report of one experiment.
//! Every file is written to a temporary name, synced and renamed, so that a reader never sees half of one.

pub mod baselines;
pub mod bench;
pub mod calibrate;
pub mod compare;
pub mod demo;
pub mod evaluate;
pub mod explain;
pub mod fit;
pub mod folder;
pub mod model;
mod moved;
mod parts;
pub mod preflight;
pub mod prior;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod score;
pub mod sweep;
pub mod tables;
pub mod targets;
pub mod training;
pub mod watch;

pub use calibrate::Calibration;
pub use folder::{Manifest, RunFolder, write_atomic, write_to};
pub use model::Model;
pub use results::{Metric, Results};
pub use training::Training;
