//! The pages of the app, one file each: plain state and a function that draws it.

pub mod banner;
pub mod controls;
mod cure;
pub mod curves;
pub mod data;
pub mod examples;
pub mod filter;
pub mod keys;
pub mod pick;
pub mod playground;
pub mod priors;
pub mod recipe;
pub mod results;
pub mod runs;
pub mod side;
pub mod status;
pub mod tour;
