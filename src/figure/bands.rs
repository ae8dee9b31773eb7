//! A curve with its predictive uncertainty, one panel per method: the mean, the total sd as shaded bands, the
//! aleatoric sd as dashed lines, so that the distance between the two is what the model does not know.

use std::path::Path;

use super::Saved;
use super::axis::usable;
use super::legend::{Entry, Symbol, draw_head, entry};
use super::numbers::{Cell, Numbers, at, named};
use super::palette::{BLACK, BLUE, GREEN, MUTED, ORANGE, VERMILLION, WHITE};
use super::panels::{Limits, MOST_PANELS, Shared, draw_grid, evenly, size, thousands, x_limits, y_limits};
use super::plot::{Marker, Plot};
use super::save::{Figure, save};
use super::svg::{Ink, Stroke, Svg};
use crate::error::Result;

/// Predictions of several methods on the same axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BandsFigure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// 1 to 8; further ones are not drawn, and the figure says so.
    pub panels: Vec<BandPanel>,
    /// None = from the data.
    pub limits: Option<Limits>,
}

/// One method on a grid of inputs; `mean`, the sds, `truth` and each member are as long as `x`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BandPanel {
    pub title: String,
    pub x: Vec<f64>,
    pub mean: Vec<f64>,
    pub aleatoric_sd: Vec<f64>,
    pub total_sd: Vec<f64>,
    pub truth: Option<Vec<f64>>,
    pub train_x: Vec<f64>,
    pub train_y: Vec<f64>,
    /// Rows that were held out, as long as each other.
    pub test_x: Vec<f64>,
    pub test_y: Vec<f64>,
    /// Means of single members or samples.
    pub members: Vec<Vec<f64>>,
    pub shade: Shade,
}

/// What is shaded around the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shade {
    pub one_sd: bool,
    pub two_sd: bool,
    /// What `total_sd` holds, in the legend.
    pub of: &'static str,
}

impl Default for Shade {
    fn default() -> Self {
        Shade { one_sd: true, two_sd: true, of: "total" }
    }
}

const BAND_1: Ink = BLUE.alpha(0.26);
const BAND_2: Ink = BLUE.alpha(0.15);
const MEAN: Stroke = Stroke::solid(BLUE, 2.0);
const ALEATORIC: Stroke = Stroke::dashed(VERMILLION, 1.2, 5.0, 3.0);
const TRUTH: Stroke = Stroke::dashed(BLACK, 1.5, 1.6, 2.6);
const MEMBER: Stroke = Stroke::solid(MUTED.alpha(0.45), 0.7);
const MOST_TRAIN_POINTS: usize = 1500;
/// Seen among small training points.
const TEST_RADIUS: f64 = 2.4;
const MOST_MEMBERS: usize = 50;
/// Column of the training points' y in the numbers.
const OBSERVED: usize = 8;

/// Writes `stem`.png, `stem`.svg and `stem`.csv into `dir`.
pub fn bands(dir: &Path, stem: &str, figure: &BandsFigure) -> Result<Saved> {
    save(dir, stem, figure)
}

/// The total variance is the sum of its parts (MATH.md section 7). NaN where the aleatoric part is larger than the
/// total by more than rounding, so that something is wrong with them.
fn epistemic_sd(total_sd: f64, aleatoric_sd: f64) -> f64 {
    let variance = (total_sd - aleatoric_sd) * (total_sd + aleatoric_sd);
    let rounding = 1e-9 * aleatoric_sd * aleatoric_sd;
    if (-rounding..0.0).contains(&variance) { 0.0 } else { variance.sqrt() }
}

/// mean + k sd, point by point.
fn shifted(mean: &[f64], sd: &[f64], k: f64) -> Vec<f64> {
    mean.iter().zip(sd).map(|(m, sd)| m + k * sd).collect()
}

impl BandPanel {
    /// The panel with its grid in ascending order; curves of another length are cut to the shortest.
    fn sorted(&self) -> BandPanel {
        let mut order: Vec<usize> = (0..self.x.len()).collect();
        order.sort_by(|a, b| self.x[*a].total_cmp(&self.x[*b]));
        let pick = |v: &Vec<f64>| order.iter().map(|i| v.get(*i).copied().unwrap_or(f64::NAN)).collect::<Vec<_>>();
        BandPanel {
            x: pick(&self.x),
            mean: pick(&self.mean),
            aleatoric_sd: pick(&self.aleatoric_sd),
            total_sd: pick(&self.total_sd),
            truth: self.truth.as_ref().map(pick),
            members: self.members.iter().map(pick).collect(),
            ..self.clone()
        }
    }

    /// What should be seen: the mean and the edges of the wider band.
    fn edges(&self) -> Vec<f64> {
        [-2.0, 0.0, 2.0].into_iter().flat_map(|k| shifted(&self.mean, &self.total_sd, k)).collect()
    }

    /// The grid row by row, then the training points.
    fn add_numbers(&self, numbers: &mut Numbers) {
        let title = || Cell::from(&self.title);
        for (i, x) in self.x.iter().enumerate() {
            let (total, aleatoric) = (at(&self.total_sd, i), at(&self.aleatoric_sd, i));
            let epistemic = match (&total, &aleatoric) {
                (Cell::Number(total), Cell::Number(aleatoric)) => epistemic_sd(*total, *aleatoric).into(),
                _ => Cell::Empty,
            };
            let truth = self.truth.as_ref().map_or(Cell::Empty, |truth| at(truth, i));
            let mut row = vec!["band".into(), title(), (*x).into(), at(&self.mean, i), total, aleatoric, epistemic];
            row.extend([truth, Cell::Empty]);
            row.extend(self.members.iter().map(|member| at(member, i)));
            numbers.push(row);
        }
        for (part, x, y) in
            [("training point", &self.train_x, &self.train_y), ("test point", &self.test_x, &self.test_y)]
        {
            for (i, x) in x.iter().enumerate() {
                let mut row = vec![part.into(), title(), (*x).into()];
                row.resize(OBSERVED, Cell::Empty);
                row.push(at(y, i));
                numbers.push(row);
            }
        }
    }

    fn has_data(&self) -> bool {
        let pair = |x: &[f64], y: &[f64]| x.iter().zip(y).any(|(x, y)| usable(*x) && usable(*y));
        pair(&self.x, &self.mean) || pair(&self.train_x, &self.train_y)
    }

    fn draw(&self, s: &mut Svg, plot: &Plot) {
        let edge = |k: f64| shifted(&self.mean, &self.total_sd, k);
        for (k, shown, ink) in [(2.0, self.shade.two_sd, BAND_2), (1.0, self.shade.one_sd, BAND_1)] {
            if shown {
                plot.band(s, &self.x, &edge(-k), &edge(k), ink);
            }
        }
        for i in evenly(self.members.len(), MOST_MEMBERS) {
            plot.line(s, &self.x, &self.members[i], MEMBER);
        }
        for k in [-1.0, 1.0] {
            plot.line(s, &self.x, &shifted(&self.mean, &self.aleatoric_sd, k), ALEATORIC);
        }
        plot.line(s, &self.x, &self.mean, MEAN);
        if let Some(truth) = &self.truth {
            plot.line(s, &self.x, truth, TRUTH);
        }
        draw_training_points(s, plot, &self.train_x, &self.train_y);
        let chosen = evenly(self.test_x.len().min(self.test_y.len()), MOST_TRAIN_POINTS);
        let pick = |of: &[f64]| chosen.iter().map(|i| of[*i]).collect::<Vec<f64>>();
        plot.markers(s, &pick(&self.test_x), &pick(&self.test_y), Marker::Circle, TEST_RADIUS, (GREEN, WHITE));
        if !self.has_data() {
            plot.draw_no_data(s);
        }
    }
}

/// Training points above everything else; many become small and translucent.
pub fn draw_training_points(s: &mut Svg, plot: &Plot, x: &[f64], y: &[f64]) {
    let chosen = evenly(x.len().min(y.len()), MOST_TRAIN_POINTS);
    let xs: Vec<f64> = chosen.iter().map(|i| x[*i]).collect();
    let ys: Vec<f64> = chosen.iter().map(|i| y[*i]).collect();
    match chosen.len() {
        0..=120 => plot.markers(s, &xs, &ys, Marker::Circle, 2.8, (ORANGE, BLACK)),
        121..=400 => plot.markers(s, &xs, &ys, Marker::Circle, 1.8, (ORANGE, BLACK)),
        _ => {
            plot.points(s, &xs, &ys, 1.7, BLACK.alpha(0.5));
        }
    }
}

/// The legend's entry for `draw_training_points`.
pub fn training_entry(n: usize) -> Entry {
    let (ink, edge, radius) = match n {
        0..=120 => (ORANGE, BLACK, 2.8),
        121..=400 => (ORANGE, BLACK, 1.8),
        _ => (BLACK, WHITE, 1.9),
    };
    let label = if n > MOST_TRAIN_POINTS {
        format!("{} of {} training points", thousands(MOST_TRAIN_POINTS), thousands(n))
    } else {
        "training points".into()
    };
    entry(Symbol::Point(Marker::Circle, radius, ink, edge), label)
}

impl BandsFigure {
    /// Axes on which all of these can be seen.
    pub fn limits_of(figures: &[BandsFigure]) -> Limits {
        let panels = || figures.iter().flat_map(|f| f.panels.iter().take(MOST_PANELS));
        let data: Vec<f64> =
            panels().flat_map(|p| p.train_y.iter().chain(&p.test_y).chain(p.truth.iter().flatten()).copied()).collect();
        let edges: Vec<Vec<f64>> = panels().map(BandPanel::edges).collect();
        let xs = panels().flat_map(|p| p.x.iter().chain(&p.train_x).chain(&p.test_x).copied());
        Limits { x: x_limits(xs), y: y_limits(&data, &edges) }
    }
}

impl Figure for BandsFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let of = |key: &str| named(key, &self.y_label);
        let mut header = vec!["part".into(), "panel".into(), named("x", &self.x_label)];
        header.extend(["mean", "total_sd", "aleatoric_sd", "epistemic_sd", "truth", "observed"].map(of));
        let most_members = self.panels.iter().map(|p| p.members.len()).max().unwrap_or(0);
        header.extend((1..=most_members).map(|i| of(&format!("member_{i}"))));
        let mut numbers = Numbers::new(header);
        for panel in &self.panels {
            panel.add_numbers(&mut numbers);
        }
        numbers
    }

    fn size(&self) -> (f64, f64) {
        size(self.panels.len())
    }

    fn draw(&self, s: &mut Svg) {
        let panels: Vec<BandPanel> = self.panels.iter().take(MOST_PANELS).map(BandPanel::sorted).collect();
        let any = |has: fn(&BandPanel) -> bool| panels.iter().any(has);
        let mut legend = Vec::new();
        if any(|p| !p.mean.is_empty()) {
            legend.push(entry(Symbol::Line(MEAN), "predictive mean"));
        }
        let shade = panels.first().map_or(Shade::default(), |p| p.shade);
        let is_shaded = any(|p| p.total_sd.iter().any(|v| usable(*v)));
        for (k, shown, ink) in [(1, shade.one_sd, BLUE.alpha(0.37)), (2, shade.two_sd, BAND_2)] {
            if is_shaded && shown {
                legend.push(entry(Symbol::Patch(ink), format!("±{k} sd {}", shade.of)));
            }
        }
        if any(|p| p.aleatoric_sd.iter().any(|v| usable(*v))) {
            legend.push(entry(Symbol::Line(ALEATORIC), "±1 sd aleatoric"));
        }
        if any(|p| p.truth.is_some()) {
            legend.push(entry(Symbol::Line(TRUTH), "truth"));
        }
        if any(|p| !p.members.is_empty()) {
            legend.push(entry(Symbol::Line(Stroke::solid(MUTED, 0.9)), "members"));
        }
        let n_train = panels.iter().map(|p| p.train_x.len().min(p.train_y.len())).max().unwrap_or(0);
        if n_train > 0 {
            legend.push(training_entry(n_train));
        }
        if any(|p| !p.test_x.is_empty()) {
            legend.push(entry(Symbol::Point(Marker::Circle, TEST_RADIUS, GREEN, WHITE), "held-out test rows"));
        }
        let Limits { x, y } = self.limits.unwrap_or_else(|| BandsFigure::limits_of(std::slice::from_ref(self)));
        let limits = Shared { x, y, log_from: None };
        let mut notes = Vec::new();
        let beyond = |v: &f64| v.is_finite() && !(y.0..=y.1).contains(v);
        // In a series of figures this line would come and go, and move the plot.
        if self.limits.is_none() && panels.iter().any(|p| p.edges().iter().any(beyond)) {
            notes.push("bands that reach beyond the frame are cut there".to_owned());
        }
        if self.panels.len() > panels.len() {
            notes.push(format!("{} further panels are not drawn", self.panels.len() - panels.len()));
        }
        let top = draw_head(s, self.size().0, &self.title, &notes.join(" · "), &legend);
        let titles: Vec<&str> = panels.iter().map(|p| p.title.as_str()).collect();
        draw_grid(s, self.size(), top, &titles, (&self.x_label, &self.y_label), &limits, |s, plot, i| {
            match panels.get(i) {
                Some(panel) => panel.draw(s, plot),
                None => plot.draw_no_data(s),
            }
        });
    }
}
