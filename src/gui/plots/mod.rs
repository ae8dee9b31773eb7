//! Interactive plots: each takes plain data of the figures or the worker and draws it with egui_plot.

pub mod axes;
pub mod bands;
pub mod boundary;
pub mod curves;
pub mod legend;
pub mod map;
pub mod navigate;
pub mod network;
pub mod prior;
pub mod read;
pub mod symlog;
