//! The run folder: recipe, manifest, encoder, metrics, checkpoints, predictions and figures of one experiment, and the model
//! in it. Every file is written to a temporary name, synced and renamed, so that a reader never sees half of one.

pub mod about;
pub mod calibration;
mod fitted;
pub mod folder;
pub mod model;
pub(crate) mod moved;
pub(crate) mod parts;
pub mod place;
pub mod prior;
pub mod targets;
pub mod trash;
pub mod watch;

pub use crate::system::file::write_to;
pub use about::About;
pub use calibration::Calibration;
pub use fitted::{Fitted, recipe_name};
pub use folder::{Manifest, RunFolder, write_atomic};
pub use model::Model;
