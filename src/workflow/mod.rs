//! What is done with one run: how long it trains, fit, evaluate, calibrate, explain. Each writes what it found into the run's folder and page.

mod budget;
pub mod calibrate;
pub mod evaluate;
pub mod explain;
mod far;
pub mod fit;
pub mod frames;
pub mod training;

pub use training::Training;
