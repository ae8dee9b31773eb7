//! A calibration as the run keeps it, and what predictions and evaluations make of it. `workflow::calibrate` fits one.

pub(crate) mod apply;
pub(crate) mod stored;
mod words;

pub use stored::{Calibration, Level, Source, current};
pub use words::SLOT;
