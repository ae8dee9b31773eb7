//! A plot: a rectangle with two axes, and data drawn in it, cut at its edge. Values that are not finite leave a gap.

use super::axis::{Axis, usable};
use super::legend::MARGIN;
use super::palette::{FRAME, GRID, MUTED, TEXT, WHITE};
use super::svg::{Align, Ink, Point, Rect, Stroke, Svg};
use super::text::{HALF_CAP, fit_text, text_width};

pub const TICK_SIZE: f64 = 11.5;
pub const LABEL_SIZE: f64 = 13.0;
/// A line to compare with: the diagonal, zero, chance.
pub const REFERENCE: Stroke = Stroke::dashed(MUTED, 1.4, 5.0, 4.0);
/// How far a tick label may reach beyond its panel: half of the gap between panels.
const OVERHANG: f64 = 12.0;
/// Lines with more points are reduced to what can be seen.
const MOST_LINE_POINTS: usize = 2000;

/// Shape of a data point; classes and series differ by it as well as by colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Down,
    /// A disc with a cross in it: something is wrong here. No series has it.
    Cross,
}

pub const MARKERS: [Marker; 5] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Down];

pub struct Plot {
    pub area: Rect,
    pub x: Axis,
    pub y: Axis,
}

/// Width of the widest tick label.
pub fn tick_width(axis: &Axis) -> f64 {
    axis.ticks.iter().map(|t| text_width(&t.label, TICK_SIZE)).fold(0.0, f64::max)
}

/// Where a plot begins whose y axis has its name and its numbers at the left edge of the figure.
pub fn left_edge(y: &Axis) -> f64 {
    MARGIN + LABEL_SIZE + 14.0 + tick_width(y)
}

impl Plot {
    /// The only plot of a figure of this size, below `top`.
    pub fn below(top: f64, (width, height): (f64, f64), x: Axis, y: Axis) -> Plot {
        let area = Rect { left: left_edge(&y), top, right: width - MARGIN - 8.0, bottom: height - 52.0 };
        Plot { area, x, y }
    }

    /// The same with one axis for both directions, and as long in one as in the other, however many rows the legend takes.
    pub fn square(top: f64, (width, height): (f64, f64), axis: Axis) -> Plot {
        let (left, right, bottom) = (left_edge(&axis), width - MARGIN - 12.0, height - 52.0);
        let side = (right - left).min(bottom - top);
        let left = left + (right - left - side) / 2.0;
        Plot { area: Rect { left, top, right: left + side, bottom: top + side }, x: axis.clone(), y: axis }
    }

    /// Pixels of a data point; None when it has none. Points far outside are moved to where cutting at the frame is
    /// still exact in floating point.
    pub fn place(&self, x: f64, y: f64) -> Option<Point> {
        const FAR: f64 = 1e6;
        if !(usable(x) && usable(y)) {
            return None;
        }
        let px = self.area.left + self.x.share(x) * self.area.width();
        let py = self.area.bottom - self.y.share(y) * self.area.height();
        (px.is_finite() && py.is_finite()).then_some((px.clamp(-FAR, FAR), py.clamp(-FAR, FAR)))
    }

    /// Background, gridlines and frame: before the data.
    pub fn draw_grid(&self, s: &mut Svg) {
        let a = self.area;
        for tick in &self.x.ticks {
            let x = a.left + self.x.share(tick.value) * a.width();
            s.polyline(&[(x, a.top), (x, a.bottom)], Stroke::solid(GRID, 1.0));
        }
        for tick in &self.y.ticks {
            let y = a.bottom - self.y.share(tick.value) * a.height();
            s.polyline(&[(a.left, y), (a.right, y)], Stroke::solid(GRID, 1.0));
        }
    }

    /// Frame and tick labels: after the data. Shared axes leave out the labels of inner panels.
    pub fn draw_frame(&self, s: &mut Svg, x_labels: bool, y_labels: bool) {
        let a = self.area;
        s.outline(a, Stroke::solid(FRAME, 1.0));
        let mut taken_to = f64::NEG_INFINITY;
        for tick in &self.x.ticks {
            let x = a.left + self.x.share(tick.value) * a.width();
            s.polyline(&[(x, a.bottom), (x, a.bottom + 4.0)], Stroke::solid(FRAME, 1.0));
            let half = text_width(&tick.label, TICK_SIZE) / 2.0;
            // Labels at the ends move inwards rather than into the next panel.
            let x = x.max(a.left - OVERHANG + half).min(a.right + OVERHANG - half);
            if x_labels && x - half > taken_to {
                s.text(&tick.label, (x, a.bottom + 16.0), TICK_SIZE, TEXT, Align::Middle, false);
                taken_to = x + half + 4.0;
            }
        }
        for tick in &self.y.ticks {
            let y = a.bottom - self.y.share(tick.value) * a.height();
            s.polyline(&[(a.left - 4.0, y), (a.left, y)], Stroke::solid(FRAME, 1.0));
            if y_labels {
                let at = (a.left - 7.0, y + HALF_CAP * TICK_SIZE);
                s.text(&tick.label, at, TICK_SIZE, TEXT, Align::End, false);
            }
        }
    }

    /// Name of the x axis below the tick labels.
    pub fn draw_x_label(&self, s: &mut Svg, text: &str) {
        let middle = self.area.middle().0;
        let text = fit_text(text, LABEL_SIZE, self.area.width() + 60.0);
        s.text(&text, (middle, self.area.bottom + 36.0), LABEL_SIZE, TEXT, Align::Middle, false);
    }

    /// Name of the y axis, left of its tick labels.
    pub fn draw_y_label(&self, s: &mut Svg, text: &str) {
        let middle = self.area.middle().1;
        let text = fit_text(text, LABEL_SIZE, self.area.height() + 60.0);
        s.text(&text, (self.area.left - tick_width(&self.y) - 17.0, middle), LABEL_SIZE, TEXT, Align::Middle, true);
    }

    pub fn draw_title(&self, s: &mut Svg, text: &str) {
        let middle = self.area.middle().0;
        let text = fit_text(text, LABEL_SIZE, self.area.width());
        s.text(&text, (middle, self.area.top - 7.0), LABEL_SIZE, TEXT, Align::Middle, false);
    }

    pub fn draw_no_data(&self, s: &mut Svg) {
        let (x, y) = self.area.middle();
        // What else stands in the middle would cross the words.
        s.rect(Rect { left: x - 36.0, top: y - 16.0, right: x + 36.0, bottom: y + 7.0 }, WHITE);
        s.text("no data", (x, y), 16.0, MUTED, Align::Middle, false);
    }

    /// Runs of points that can be placed, in the order given.
    fn runs(&self, xs: &[f64], ys: &[f64]) -> Vec<Vec<Point>> {
        let mut runs = vec![Vec::new()];
        for (x, y) in xs.iter().zip(ys) {
            match self.place(*x, *y) {
                Some(point) => runs.last_mut().into_iter().for_each(|run| run.push(point)),
                None => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    pub fn line(&self, s: &mut Svg, xs: &[f64], ys: &[f64], stroke: Stroke) {
        for run in self.runs(xs, ys) {
            if let [only] = run[..] {
                // Between two gaps a single value would leave no trace.
                if self.contains(only) {
                    s.circles(&[only], stroke.width, stroke.ink);
                }
                continue;
            }
            for piece in clip_line(&reduce(run), self.area) {
                s.polyline(&piece, stroke);
            }
        }
    }

    /// The area between `low` and `high`, both cut at the frame.
    pub fn band(&self, s: &mut Svg, xs: &[f64], low: &[f64], high: &[f64], ink: Ink) {
        let a = self.area;
        let mut runs: Vec<Vec<(f64, f64, f64)>> = vec![Vec::new()];
        for ((x, low), high) in xs.iter().zip(low).zip(high) {
            match (self.place(*x, *low), self.place(*x, *high)) {
                (Some((px, bottom)), Some((_, top))) if (a.left - 0.01..=a.right + 0.01).contains(&px) => {
                    let cut = |y: f64| y.clamp(a.top, a.bottom);
                    runs.last_mut().into_iter().for_each(|run| run.push((px, cut(top), cut(bottom))));
                }
                _ => runs.push(Vec::new()),
            }
        }
        for run in runs.into_iter().filter(|run| run.len() > 1) {
            let upper = reduce_by(run.iter().map(|r| (r.0, r.1)).collect(), f64::min);
            let lower = reduce_by(run.iter().map(|r| (r.0, r.2)).collect(), f64::max);
            let outline: Vec<Point> = upper.into_iter().chain(lower.into_iter().rev()).collect();
            s.polygon(&outline, ink);
        }
    }

    /// Points inside the frame; returns how many lie outside of it.
    pub fn points(&self, s: &mut Svg, xs: &[f64], ys: &[f64], radius: f64, ink: Ink) -> usize {
        let placed: Vec<Point> = xs.iter().zip(ys).filter_map(|(x, y)| self.place(*x, *y)).collect();
        let inside: Vec<Point> = placed.iter().copied().filter(|p| self.contains(*p)).collect();
        s.circles(&inside, radius, ink);
        placed.len() - inside.len()
    }

    /// Like `points`, with a light edge and a shape.
    pub fn markers(&self, s: &mut Svg, xs: &[f64], ys: &[f64], marker: Marker, radius: f64, (ink, edge): (Ink, Ink)) {
        for (x, y) in xs.iter().zip(ys) {
            if let Some(at) = self.place(*x, *y).filter(|p| self.contains(*p)) {
                draw_marker(s, at, marker, radius, ink, edge);
            }
        }
    }

    /// A filled rectangle between data coordinates, cut at the frame.
    pub fn bar(&self, s: &mut Svg, (x0, x1): (f64, f64), (y0, y1): (f64, f64), ink: Ink) {
        if let (Some(p), Some(q)) = (self.place(x0, y0), self.place(x1, y1)) {
            let a = self.area;
            let cut = |p: Point| (p.0.clamp(a.left, a.right), p.1.clamp(a.top, a.bottom));
            let (p, q) = (cut(p), cut(q));
            let (left, right, top, bottom) = (p.0.min(q.0), p.0.max(q.0), p.1.min(q.1), p.1.max(q.1));
            s.rect(Rect { left, top, right, bottom }, ink);
        }
    }

    fn contains(&self, (x, y): Point) -> bool {
        let a = self.area;
        x >= a.left - 0.01 && x <= a.right + 0.01 && y >= a.top - 0.01 && y <= a.bottom + 0.01
    }
}

/// A marker with a thin edge in another ink, so that it is seen on any ground.
pub fn draw_marker(s: &mut Svg, (x, y): Point, marker: Marker, radius: f64, ink: Ink, edge: Ink) {
    let shape = |r: f64| -> Vec<Point> {
        let at = |corners: &[(f64, f64)]| corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect();
        match marker {
            Marker::Circle | Marker::Cross => Vec::new(),
            Marker::Square => at(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
            Marker::Triangle => at(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
            Marker::Diamond => at(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
            Marker::Down => at(&[(0.0, 1.2), (-1.1, -0.8), (1.1, -0.8)]),
        }
    };
    let rim = 0.9;
    if matches!(marker, Marker::Circle | Marker::Cross) {
        s.circles(&[(x, y)], radius + rim, edge);
        s.circles(&[(x, y)], radius, ink);
        if marker == Marker::Cross {
            let (arm, pen) = (0.45 * radius, Stroke::solid(edge, 0.26 * radius));
            s.polyline(&[(x - arm, y - arm), (x + arm, y + arm)], pen);
            s.polyline(&[(x - arm, y + arm), (x + arm, y - arm)], pen);
        }
    } else {
        s.polygon(&shape(radius + rim * 1.4), edge);
        s.polygon(&shape(radius), ink);
    }
}

/// Keeps first, lowest, highest and last point of every half pixel column; order is kept.
fn reduce(run: Vec<Point>) -> Vec<Point> {
    if run.len() <= MOST_LINE_POINTS {
        return run;
    }
    let mut kept = Vec::new();
    for column in run.chunk_by(|a, b| (a.0 * 2.0).floor() == (b.0 * 2.0).floor()) {
        let by_y = |a: &(usize, &Point), b: &(usize, &Point)| a.1.1.total_cmp(&b.1.1);
        let low = column.iter().enumerate().min_by(by_y).map_or(0, |c| c.0);
        let high = column.iter().enumerate().max_by(by_y).map_or(0, |c| c.0);
        let mut chosen = [0, low, high, column.len() - 1];
        chosen.sort_unstable();
        let mut last = None;
        for i in chosen {
            if last != Some(i) {
                kept.push(column[i]);
            }
            last = Some(i);
        }
    }
    kept
}

/// One point per half pixel column, `choose`n from the y of all of them.
fn reduce_by(run: Vec<Point>, choose: fn(f64, f64) -> f64) -> Vec<Point> {
    if run.len() <= MOST_LINE_POINTS {
        return run;
    }
    run.chunk_by(|a, b| (a.0 * 2.0).floor() == (b.0 * 2.0).floor())
        .filter_map(|column| Some((column.first()?.0, column.iter().map(|p| p.1).reduce(choose)?)))
        .collect()
}

/// The pieces of a polyline inside `area` (Liang and Barsky 1984, segment by segment).
fn clip_line(points: &[Point], area: Rect) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0f64, 1.0f64);
        let walls = [
            (-dx, from.0 - area.left),
            (dx, area.right - from.0),
            (-dy, from.1 - area.top),
            (dy, area.bottom - from.1),
        ];
        for (towards, distance) in walls {
            if towards == 0.0 {
                if distance < 0.0 {
                    leave = -1.0;
                }
            } else if towards < 0.0 {
                enter = enter.max(distance / towards);
            } else {
                leave = leave.min(distance / towards);
            }
        }
        if enter.is_nan() || leave.is_nan() || enter > leave {
            open = false;
            continue;
        }
        let at = |t: f64| (from.0 + t * dx, from.1 + t * dy);
        let end = if leave >= 1.0 { to } else { at(leave) };
        match pieces.last_mut() {
            Some(piece) if open && enter <= 0.0 => piece.push(end),
            _ => pieces.push(vec![if enter <= 0.0 { from } else { at(enter) }, end]),
        }
        open = leave >= 1.0;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };

    #[test]
    fn lines_are_cut_at_the_frame() {
        assert_eq!(clip_line(&[(-5.0, 5.0), (15.0, 5.0)], AREA), vec![vec![(0.0, 5.0), (10.0, 5.0)]]);
        assert_eq!(
            clip_line(&[(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)], AREA),
            vec![vec![(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)]]
        );
        assert_eq!(clip_line(&[(1.0, -5.0), (2.0, -2.0)], AREA), Vec::<Vec<Point>>::new());
        // Out and in again: two pieces.
        assert_eq!(clip_line(&[(1.0, 5.0), (1.0, 20.0), (3.0, 20.0), (3.0, 5.0)], AREA).len(), 2);
    }

    #[test]
    fn reduced_lines_keep_their_extremes() {
        let run: Vec<Point> = (0..100_000).map(|i| (f64::from(i) / 100.0, f64::from(i % 977))).collect();
        let kept = reduce(run);
        assert!(kept.len() < 10_000);
        assert!(kept.iter().any(|p| p.1 == 0.0) && kept.iter().any(|p| p.1 == 976.0));
        assert!(kept.windows(2).all(|p| p[0].0 <= p[1].0));
    }
}
