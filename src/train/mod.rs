//! Training: sessions over executors, the loop, its events and commands, checkpoints and evaluation.
//! It does not depend on terminals, windows or run folders.

pub mod checkpoint;
pub mod drive;
pub mod evaluate;
pub mod event;
pub mod finalize;
mod forward;
mod held_out;
pub mod memory;
pub mod plan;
pub mod pool;
pub mod session;
pub mod splits;
mod stepping;
pub mod trainer;
mod variants;
pub mod weights;

pub use checkpoint::Checkpoint;
pub use drive::{Driver, Steps};
pub use evaluate::{Predictor, recompute_running};
pub use event::{EpochRow, Event, MOST_ROWS, thin};
pub use held_out::out_of_fold;
pub use splits::{Splits, SplitsState};
pub use trainer::{Ending, Flow, Trainer};
pub use variants::{Choice, VariantScore};
