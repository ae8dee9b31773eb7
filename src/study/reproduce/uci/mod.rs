//! The benchmark on the UCI regression sets: the protocol of Hernandez-Lobato & Adams (2015) and Gal & Ghahramani (2016),
//! one hidden layer, the given splits, beside the published numbers. `ask` checks the request, `sets` and `methods` hold what
//! there is, `published` the numbers of others, `store` what is done and what is begun, `work` trains what is missing, and
//! `report` makes the tables and the figure. Must not print.

mod ask;
mod methods;
mod published;
mod report;
pub(super) mod sets;
mod standard;
mod store;
#[cfg(test)]
mod tests;
mod work;

pub use ask::UciRequest;
pub use sets::SETS;
pub use work::{Prepared, Unit, prepare};
