//! The run folder: recipe, manifest, encoder, metrics, checkpoints, predictions, figures and report of one experiment.
//! Every file is written to a temporary name, synced and renamed, so that a reader never sees half of one.

pub mod baselines;
pub mod calibrate;
pub mod evaluate;
pub mod explain;
pub mod fit;
pub mod folder;
pub mod model;
mod moved;
mod parts;
pub mod place;
pub mod prior;
pub mod results;
pub mod targets;
pub mod training;
pub mod watch;

pub use calibrate::Calibration;
pub use folder::{Manifest, RunFolder, write_atomic, write_to};
pub use model::Model;
pub use results::{Metric, Results};
pub use training::Training;
