//! Neural networks whose predictions carry honest uncertainty. ARCHITECTURE.md draws the data flow and the modules.

// Shapes stand in brackets, [R, rows, k]: they are no links.
#![allow(rustdoc::broken_intra_doc_links)]

pub mod base;
pub mod bench;
pub mod cli;
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
pub mod recipe;
pub mod report;
pub mod results;
pub mod run;
pub mod study;
pub mod system;
pub mod tables;
pub mod theory;
pub mod train;
pub mod view;
pub mod workflow;
