//! Neural networks whose predictions carry honest uncertainty. The README draws the rooms and the data flow.

// Shapes stand in brackets, [R, rows, k]: they are no links.
#![allow(rustdoc::broken_intra_doc_links)]

pub mod base;
pub mod cli;
pub mod config;
pub mod data;
pub mod error;
pub mod exec;
pub mod export;
pub mod figure;
#[cfg(feature = "gui")]
pub mod gui;
pub mod live;
pub mod method;
pub mod metrics;
pub mod net;
pub mod ops;
pub mod program;
pub mod run;
pub mod system;
pub mod theory;
pub mod train;
pub mod view;
