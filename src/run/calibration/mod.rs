//! A calibration as the run keeps it, and what predictions and evaluations make of it. `workflow::calibrate` fits one.

pub(crate) mod apply;
pub(crate) mod stored;
mod words;

/// Name of the file with the results of the test rows beside those of the calibrated run.
pub const CALIBRATED: &str = "calibrated.json";

/// Name of the file with the calibrated predictions of the test rows, beside predictions.csv.
pub const CALIBRATED_ROWS: &str = "predictions_calibrated.csv";

pub use stored::{Calibration, Level, Source, current};
pub use words::SLOT;
