//! A sweep: one recipe over a grid of keys and seeds. The grid is a folder of run folders with the sweep's own text, its table
//! and its figure beside them. Each run is trained by a process of its own (`vifo sweep run`), here or as a task of a Slurm
//! array: one that dies takes no other with it, its memory goes back to the system, and both ways are one code path.

mod ask;
mod check;
mod folder;
mod grid;
mod one;
mod report;
mod slurm;
mod submit;
mod table;
mod values;
mod work;

pub use super::run_set::{Outcome, RunStatus};
pub use ask::{SweepRequest, Words};
pub use check::{Needs, check, jobs};
pub use folder::SweepFolder;
pub use grid::SweepRun;
pub use one::{Ended, run_one};
pub use report::{SweepReport, report};
pub use slurm::Options as SlurmOptions;
pub use submit::{Submitted, queued, submit, write_script};
pub use work::{SweepEvent, carry_out};
