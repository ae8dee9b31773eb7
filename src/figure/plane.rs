//! The app's map over two inputs as a figure: the same colours, the same lines between classes and the same points as on the screen.

use super::axis::{Axis, widen};
use super::heat::draw_colour_bar;
use super::inputs;
use super::legend::{MARGIN, Symbol, draw_head, entry};
use super::numbers::{Cell, Numbers};
use super::palette::{BLACK, FRAME, TEXT, WHITE};
use super::panels::{MOST_PANELS, shape};
use super::pixels::Pixels;
use super::plot::{LABEL_SIZE, Marker, Plot, tick_width};
use super::save::Figure;
use super::svg::{Align, Ink, Rect, Stroke, Svg};
use super::text::fit_text;

/// In the legends of the screen and of the figure.
pub const BOUNDARY: &str = "decision boundary, where a class leads clearly";

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlaneFigure {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// 1 to 8; further ones are not drawn, and the figure says so.
    pub panels: Vec<PlanePanel>,
    /// Training points (x, y, class), drawn on every panel.
    pub points: Vec<(f64, f64, usize)>,
    /// Name, marker and colour of each class.
    pub classes: Vec<(String, Marker, Ink)>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanePanel {
    pub title: String,
    pub x_range: (f64, f64),
    pub y_range: (f64, f64),
    /// Cells in each direction.
    pub n: usize,
    /// Colour of cell (ix, iy) at [iy * n + ix], bottom row first; between the middles of cells the colours are mixed.
    pub colours: Vec<(u8, u8, u8)>,
    /// What the cells hold: name, unit or none, and a value per cell, in the order of the colours.
    pub values: Vec<(String, Vec<f64>)>,
    /// Lines between classes.
    pub boundary: Vec<[(f64, f64); 2]>,
    /// Of colours from viridis: the value of the brightest, and its name; the darkest is 0.
    pub scale: Option<(f64, String)>,
}

impl PlanePanel {
    fn has_data(&self) -> bool {
        self.n > 0 && self.colours.len() >= self.n.saturating_mul(self.n)
    }

    /// `side` pixels in each direction, top row first.
    fn pixels(&self, side: usize) -> Option<Pixels> {
        let n = self.n;
        // Place of a pixel's middle among the middles of the cells: the one before, and the share of the next.
        let place = |i: usize| {
            let at = ((i as f64 + 0.5) * n as f64 / side as f64 - 0.5).clamp(0.0, (n - 1) as f64);
            let low = (at as usize).min(n.saturating_sub(2));
            (low, (low + 1).min(n - 1), at - low as f64)
        };
        let mut rgb = Vec::with_capacity(side * side * 3);
        for row in (0..side).rev() {
            let (y0, y1, v) = place(row);
            for column in 0..side {
                let (x0, x1, u) = place(column);
                let part = |of: fn((u8, u8, u8)) -> u8| {
                    let c = |x: usize, y: usize| f64::from(of(self.colours[y * n + x]));
                    let low = c(x0, y0) * (1.0 - u) + c(x1, y0) * u;
                    let high = c(x0, y1) * (1.0 - u) + c(x1, y1) * u;
                    (low * (1.0 - v) + high * v).round() as u8
                };
                rgb.extend([part(|c| c.0), part(|c| c.1), part(|c| c.2)]);
            }
        }
        Pixels::new(&rgb, side, side, 3)
    }
}

impl Figure for PlaneFigure {
    fn title(&self) -> &str {
        &self.title
    }

    fn numbers(&self) -> Numbers {
        let mut numbers = inputs::numbers(&self.x_label, &self.y_label);
        for panel in &self.panels {
            let n = panel.n.max(1);
            let middle = |i: usize, (low, high): (f64, f64)| low + (high - low) * (i as f64 + 0.5) / n as f64;
            for (name, values) in &panel.values {
                for (i, value) in values.iter().take(panel.n.saturating_mul(panel.n)).enumerate() {
                    let (x, y) = (middle(i % n, panel.x_range), middle(i / n, panel.y_range));
                    let row = ["cell".into(), (&panel.title).into(), name.into(), x.into(), y.into()];
                    numbers.push(row.into_iter().chain([Cell::from(*value)]).collect());
                }
            }
        }
        inputs::push_points(&mut numbers, &self.points);
        numbers
    }

    fn size(&self) -> (f64, f64) {
        match shape(self.panels.len()) {
            (1, 1) => (700.0, 640.0),
            (1, 2) => (900.0, 500.0),
            (1, _) => (1100.0, 460.0),
            (2, _) => (1100.0, 800.0),
            _ => (1100.0, 1080.0),
        }
    }

    // Long: the figure from its head to the names of its axes.
    fn draw(&self, s: &mut Svg) {
        let (width, height) = self.size();
        let panels = &self.panels[..self.panels.len().min(MOST_PANELS)];
        let chosen = inputs::chosen(&self.points);
        let mut legend: Vec<_> = self
            .classes
            .iter()
            .map(|(name, marker, ink)| entry(Symbol::Point(*marker, 3.6, *ink, BLACK), format!("class {name}")))
            .collect();
        // On viridis the line is white, which no legend on white could show; its name says so.
        let white = panels.iter().any(|p| p.scale.is_some());
        let line = Stroke::solid(if white { WHITE } else { BLACK }, 1.6);
        if panels.iter().any(|p| !p.boundary.is_empty()) {
            let ink = if white { FRAME } else { BLACK };
            let name = if white { format!("{BOUNDARY} (white)") } else { BOUNDARY.into() };
            legend.push(entry(Symbol::Line(Stroke::solid(ink, 1.6)), name));
        }
        let notes = inputs::left_out(self.points.len(), self.panels.len());
        let top = draw_head(s, width, &self.title, &notes, &legend);
        let n = panels.len().max(1);
        let (rows, columns) = shape(n);
        let scale_of = |p: &PlanePanel| p.scale.as_ref().map(|(most, _)| Axis::linear(0.0, most.max(1e-9), 5));
        let ticks = panels.iter().filter_map(scale_of).map(|a| tick_width(&a)).fold(0.0, f64::max);
        let bar_room = if white { 22.0 + 5.0 + ticks + 28.0 } else { 12.0 };
        let left = MARGIN + LABEL_SIZE + 14.0;
        let (slot_width, slot_height) = ((width - left - 4.0) / columns as f64, (height - 32.0 - top) / rows as f64);
        let empty = PlanePanel::default();
        // What the names of the axes stand in the middle of.
        let (mut across, mut down) = ((width, 0f64), (height, 0f64));
        for i in 0..n {
            let panel = panels.get(i).unwrap_or(&empty);
            let (row, column) = (i / columns, i % columns);
            let (x_range, y_range) = (widen(panel.x_range.0, panel.x_range.1), widen(panel.y_range.0, panel.y_range.1));
            let y = Axis::linear(y_range.0, y_range.1, 6);
            let (x0, y0) = (left + slot_width * column as f64, top + slot_height * row as f64);
            let (from, to) = (x0 + tick_width(&y) + 6.0, x0 + slot_width - bar_room);
            // Square, and of whole pixels.
            let side = (to - from).min(slot_height - 46.0).floor().max(16.0);
            let area = Rect { left: from, top: y0 + 22.0, right: from + side, bottom: y0 + 22.0 + side };
            across = (across.0.min(area.left), across.1.max(area.right));
            down = (down.0.min(area.top), down.1.max(area.bottom));
            let plot = Plot { area, x: Axis::linear(x_range.0, x_range.1, 5), y };
            match panel.has_data().then(|| panel.pixels(side as usize)).flatten() {
                Some(pixels) => s.image((area.left, area.top), 1.0, &pixels),
                None => plot.draw_grid(s),
            }
            if let (Some(axis), Some((_, name))) = (scale_of(panel), &panel.scale) {
                draw_colour_bar(s, Rect { left: area.right + 10.0, right: area.right + 22.0, ..area }, &axis, name);
            }
            for [a, b] in &panel.boundary {
                plot.line(s, &[a.0, b.0], &[a.1, b.1], line);
            }
            for &(x, y, class) in &chosen {
                if let Some((_, marker, ink)) = self.classes.get(class) {
                    plot.markers(s, &[x], &[y], *marker, if chosen.len() > 120 { 2.4 } else { 3.2 }, (*ink, BLACK));
                }
            }
            plot.draw_frame(s, true, true);
            plot.draw_title(s, &panel.title);
            if !panel.has_data() {
                plot.draw_no_data(s);
            }
        }
        let middle = |(from, to): (f64, f64)| (from + to) / 2.0;
        let text = fit_text(&self.x_label, LABEL_SIZE, width - left - bar_room);
        s.text(&text, (middle(across), height - 14.0), LABEL_SIZE, TEXT, Align::Middle, false);
        let text = fit_text(&self.y_label, LABEL_SIZE, height - top - 60.0);
        s.text(&text, (MARGIN + LABEL_SIZE - 2.0, middle(down)), LABEL_SIZE, TEXT, Align::Middle, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{pixels, svg_text};

    fn figure() -> PlaneFigure {
        // Left red, right blue; two cells in each direction.
        let colours = vec![(255, 0, 0), (0, 0, 255), (255, 0, 0), (0, 0, 255)];
        let panel = PlanePanel {
            x_range: (0.0, 2.0),
            y_range: (0.0, 2.0),
            n: 2,
            colours,
            values: vec![("probability of a".into(), vec![1.0, 0.0, 1.0, 0.0])],
            boundary: vec![[(1.0, 0.0), (1.0, 2.0)]],
            ..PlanePanel::default()
        };
        let class = |name: &str, marker| (name.to_string(), marker, Ink::new(9, 9, 9));
        PlaneFigure {
            title: "Map".into(),
            panels: vec![panel],
            points: vec![(0.5, 0.5, 0), (1.5, 1.5, 1), (9.0, 9.0, 7)],
            classes: vec![class("a", Marker::Circle), class("b", Marker::Square)],
            ..PlaneFigure::default()
        }
    }

    #[test]
    fn colours_lie_where_their_cells_are_and_mix_between_them() {
        let panel = &figure().panels[0];
        let image = panel.pixels(40).expect("pixels");
        let at = |x: usize, y: usize| &image.rgb[3 * (y * 40 + x)..][..3];
        assert_eq!((at(3, 5), at(36, 30)), (&[255, 0, 0][..], &[0, 0, 255][..]));
        let middle = at(19, 20);
        assert!((100..156).contains(&middle[0]) && (100..156).contains(&middle[2]), "{middle:?}");
        // A single cell, and none.
        let one = PlanePanel { n: 1, colours: vec![(1, 2, 3)], ..PlanePanel::default() };
        assert_eq!(one.pixels(3).expect("pixels").rgb, [1, 2, 3].repeat(9));
        assert!(!PlanePanel::default().has_data());
    }

    #[test]
    fn the_figure_holds_its_picture_its_line_and_its_numbers() {
        let figure = figure();
        let svg = svg_text(&figure);
        for part in ["<image", "class a", "class b", "decision boundary"] {
            assert!(svg.contains(part), "{part}");
        }
        let csv = figure.numbers().csv();
        assert_eq!(csv.lines().count(), 1 + 4 + 3, "{csv}");
        assert!(pixels(&figure).is_ok());
        assert!(svg_text(&PlaneFigure::default()).contains("no data"));
    }
}
