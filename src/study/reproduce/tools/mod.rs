//! The default of `vifo fit` on the UCI sets beside other tools on the same rows: `ask` checks the request, `peers` holds the
//! figures of the others, `metrics` what is compared, `store` what is done, `work` trains what is missing by the way of
//! `vifo fit`, `compare` takes the splits that all have, and `report` makes the tables and the figure. Must not print.

mod ask;
mod compare;
mod metrics;
mod peers;
mod picture;
mod report;
mod store;
#[cfg(test)]
mod tests;
mod work;

pub use ask::ToolsRequest;
pub use work::{Prepared, prepare};
