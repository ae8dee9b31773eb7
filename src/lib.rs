//! Neural networks whose predictions carry honest uncertainty. The README draws the rooms and the data flow.

pub mod base;
pub mod cli;
pub mod config;
pub mod data;
pub mod error;
pub mod exec;
pub mod figure;
pub mod method;
pub mod metrics;
pub mod net;
pub mod ops;
pub mod program;
pub mod run;
pub mod train;
pub mod view;
