//! Figures and reports. Every figure is drawn once, as SVG; its PNG is that SVG rasterised by resvg at twice the figure's size,
//! and its numbers stand beside them as CSV. A report is one HTML file with its figures inside. This room writes the files it is
//! asked for and nothing else; it never prints and takes any numbers: values that are NaN or infinite are left out, and a
//! figure without any data says so.

mod animation;
mod axis;
mod bands;
mod bars;
mod calibration;
mod comparison;
mod curves;
mod dots;
mod heat;
mod histograms;
mod inputs;
mod intervals;
#[cfg(test)]
mod layout_tests;
mod legend;
mod numbers;
#[cfg(test)]
mod numbers_tests;
pub mod palette;
mod panels;
mod pixels;
mod plane;
mod plot;
mod png;
mod prior;
mod report;
#[cfg(test)]
mod samples;
mod save;
mod scatter;
mod settings;
mod sheet;
mod square;
mod svg;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;

pub use animation::{Animation, AnimationKind};
pub use bands::{BandPanel, BandsFigure, Shade, bands};
pub use bars::{BarsFigure, BarsSeries, bars};
pub use calibration::{ReliabilityFigure, reliability};
pub use comparison::{ComparisonFigure, ComparisonPanel, ComparisonScale, comparison};
pub use curves::{CurvesFigure, Series, curves};
pub use dots::{DotsFigure, DotsPanel, DotsSeries, dots};
pub use heat::{HeatFigure, HeatPanel, heat2d};
pub use histograms::{HistogramFigure, histograms};
pub use intervals::{IntervalsFigure, IntervalsSeries, intervals};
pub use numbers::{Cell, Numbers, exact};
pub use panels::Limits;
pub use plane::{BOUNDARY, PlaneFigure, PlanePanel};
pub use plot::{MARKERS, Marker};
pub use png::{Bitmap, bitmap};
pub use prior::{PriorFigure, PriorPanel, prior_samples};
pub use report::{HtmlReport, HtmlTable, Section, Tone, replace_sections, write_report};
pub use save::{Figure, pixels, png_bytes, save_csv, save_png, save_svg, svg_text};
pub use scatter::{ScatterFigure, scatter};
pub use settings::{SettingsFigure, SettingsPanel, SettingsSeries, settings};
pub use sheet::{SheetFigure, SheetImage, sheet};
pub use square::{CoverageFigure, RocFigure, coverage, roc};
pub use svg::{Ink, on_dark};

/// The three files of one figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub png: PathBuf,
    pub svg: PathBuf,
    /// The figure's numbers (`Numbers::csv`).
    pub csv: PathBuf,
}
