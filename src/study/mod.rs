//! Many runs, or many predictions, side by side: sweeps here and on Slurm, the paper's and the UCI tables, and the scores of
//! predictions that other tools made.

pub mod reproduce;
pub mod run_set;
pub mod score;
pub mod sweep;
