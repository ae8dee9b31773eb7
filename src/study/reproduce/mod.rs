//! The paper's tables beside the published numbers: `ask` checks the request, `mapping` and `paper` hold what the paper shows,
//! `plan` says which runs that needs, `estimate` how long they take, `work` trains and evaluates what is missing, and
//! `cells`, `tables`, `wins`, `curves` and `sizes` make the tables, `figures` draws them, `departures` lists where ours differ,
//! and `page` puts all on one page. `uci` is the benchmark on the UCI sets by their protocol,
//! `tools` the default of `vifo fit` on them beside other tools, and `benchmark` what these two share. Must not print.

mod ask;
pub mod benchmark;
mod cells;
mod curves;
mod departures;
mod estimate;
mod figures;
pub mod mapping;
mod measure;
mod page;
pub mod paper;
mod plan;
mod sets;
mod sizes;
mod tables;
#[cfg(test)]
mod tests;
mod times;
pub mod tools;
pub mod uci;
mod wins;
mod work;

pub use super::run_set::{Outcome, RunStatus};
pub use ask::{ReproduceRequest, Words};
pub use page::{ALL, All};
pub use plan::PlannedRun;
pub use tables::ReproduceReport;
pub use work::{Prepared, ReproduceEvent, prepare};
