//! Neural networks whose predictions carry honest uncertainty: of each row a distribution, divided into the noise of the data
//! and what the model does not know. VIFO (variational inference on the final-layer output, Wei & Khardon, TMLR 2024) and
//! the methods it is compared with, on any GPU or none.
//!
//! # In short
//!
//! ```no_run
//! use vifo::{Model, Options, Table};
//!
//! let table = Table::read("houses.csv")?;
//! let model = vifo::fit(&table, Options::target("price").members(5).seed(1))?;
//! model.save("runs/houses")?;
//!
//! let prediction = Model::load("runs/houses")?.predict(&Table::read("new-houses.csv")?)?;
//! let price = prediction.numbers()?;
//! for (i, (low, high)) in price.interval(0.9)?.into_iter().enumerate() {
//!     println!("{:.0} within {low:.0} and {high:.0}", price.mean[i]);
//! }
//! # Ok::<(), vifo::Error>(())
//! ```
//!
//! [`fit`] finds columns, their kinds, missing cells, splits and defaults as `vifo fit` on the command line does, and gives
//! the same numbers to the bit. [`Options::set`] takes every key of a recipe; [`Table::from_columns`] takes data that no file
//! holds. For a target of classes, [`Prediction::classes`] has probabilities and entropies. A saved model is a run folder, which `vifo
//! predict`, `evaluate`, `calibrate`, `report` and the app open. The library prints nothing; every [`Error`] is one line that says
//! where, what was found, what is allowed and the cure.
//!
//! # Features
//!
//! `app`: the desktop app, not built by default.
//!
//! # Modules
//!
//! | for | there is |
//! |---|---|
//! | the calls above | [`api`], whose items stand here at the root |
//! | experiments in full | [`recipe`], [`data`], [`train`], [`run`], [`workflow`] |
//! | a method of one's own | [`method`], [`program`], [`ops`], [`net`], `examples/custom_method.rs` |
//! | devices | [`exec`] |
//! | scores of any predictions | [`metrics`] |
//!
//! The others serve the command line, the app and the studies. They are public for the program and its tests, and left out of
//! these pages. ARCHITECTURE.md draws the data flow and all modules.
//!
//! # What is stable
//!
//! Before version 1.0: the items at the root, the keys of recipes and the files of a run folder change only with a line in
//! CHANGELOG.md, and folders of older versions stay readable. Everything else may change with any version.

// Shapes stand in brackets, [R, rows, k]: they are no links.
#![allow(rustdoc::broken_intra_doc_links)]
// What clippy.toml disallows: functions of the system's C library. A test may ask it, as a witness of its own.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod api;
pub mod data;
pub mod error;
pub mod exec;
pub mod method;
pub mod metrics;
pub mod net;
pub mod ops;
pub mod program;
pub mod recipe;
pub mod run;
pub mod train;
pub mod workflow;

// What only the program, the app and the tests of this package use.
#[doc(hidden)]
pub mod base;
#[doc(hidden)]
pub mod bench;
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod figure;
#[cfg(feature = "app")]
#[doc(hidden)]
pub mod gui;
#[doc(hidden)]
pub mod live;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod results;
#[doc(hidden)]
pub mod study;
#[doc(hidden)]
pub mod system;
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
pub mod theory;
#[doc(hidden)]
pub mod view;

pub use api::{Classes, Column, Model, Numbers, Options, Prediction, Table, Values, fit, fit_with};
pub use error::{Error, Result};
pub use exec::Device;
