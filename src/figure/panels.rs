//! Panels in a grid on shared axes: labels stand only at the outer edge, limits are the same everywhere.

use super::axis::{Axis, central, extent, padded, robust, widen};
use super::legend::MARGIN;
use super::palette::TEXT;
use super::plot::{LABEL_SIZE, Plot, left_edge};
use super::svg::{Align, Rect, Svg};
use super::text::fit_text;

pub const MOST_PANELS: usize = 8;
const MOST_COLUMNS: usize = 3;

/// Rows and columns for `n` panels; four look better as two by two.
pub fn shape(n: usize) -> (usize, usize) {
    let n = n.clamp(1, MOST_PANELS);
    let columns = if n == 4 { 2 } else { n.min(MOST_COLUMNS) };
    (n.div_ceil(columns), columns)
}

/// Figure size for `n` panels.
pub fn size(n: usize) -> (f64, f64) {
    match shape(n) {
        (1, 1) => (900.0, 560.0),
        (1, _) => (900.0, 440.0),
        (2, _) => (900.0, 660.0),
        _ => (900.0, 880.0),
    }
}

/// Ranges of both axes, where several figures are to have the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

/// Shared limits of all panels.
pub struct Shared {
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// The y axis is logarithmic beyond this, linear within it.
    pub log_from: Option<f64>,
}

/// Limits for curves with bands around data. `data` decides the region that matters. The 1 and 99 % quantiles of
/// each panel's `spreads` (band edges, samples) may widen it, but to four times the range of the data around its
/// middle at most, and one panel that explodes may not press the others flat: no further from the middle than 2.5
/// times what the data or the middle one of the panels needs.
pub fn y_limits(data: &[f64], spreads: &[Vec<f64>]) -> (f64, f64) {
    let wides: Vec<(f64, f64)> = spreads.iter().filter_map(|s| central(s.iter().copied(), 0.01)).collect();
    let wide = extent(wides.iter().flat_map(|w| [w.0, w.1]));
    let limits = match (robust(data).filter(|(low, high)| high > low), wide) {
        (Some(core), Some(wide)) => {
            let middle = (core.0 + core.1) / 2.0;
            let half = (core.1 - core.0) / 2.0;
            let mut needs: Vec<f64> = wides.iter().map(|w| (w.1 - middle).max(middle - w.0)).collect();
            needs.sort_by(f64::total_cmp);
            let typical = needs.get((needs.len() - 1) / 2).copied().unwrap_or(half).max(half);
            let reach = (4.0 * half).min(2.5 * typical);
            (core.0.min(wide.0.max(middle - reach)), core.1.max(wide.1.min(middle + reach)))
        }
        (Some(core), None) => core,
        (None, Some(wide)) => extent(data.iter().copied().chain([wide.0, wide.1])).unwrap_or(wide),
        (None, None) => robust(data).unwrap_or((0.0, 1.0)),
    };
    padded(limits, 0.06)
}

/// Limits over all x, exact.
pub fn x_limits(xs: impl IntoIterator<Item = f64>) -> (f64, f64) {
    extent(xs).map_or((0.0, 1.0), |(low, high)| widen(low, high))
}

/// The plots of a grid below `top`, with axes, labels, titles and gridlines; `draw` adds the data of panel i.
pub fn draw_grid(
    s: &mut Svg,
    (width, height): (f64, f64),
    top: f64,
    titles: &[&str],
    (x_label, y_label): (&str, &str),
    limits: &Shared,
    mut draw: impl FnMut(&mut Svg, &Plot, usize),
) {
    let n = titles.len().clamp(1, MOST_PANELS);
    let (rows, columns) = shape(n);
    let title_room = if titles.iter().any(|t| !t.is_empty()) { 22.0 } else { 6.0 };
    let (gap_x, gap_y) = (24.0, 12.0 + title_room);
    let bottom = height - 52.0;
    let panel_height = (bottom - top - title_room - gap_y * (rows - 1) as f64) / rows as f64;
    let y_axis = match limits.log_from {
        Some(threshold) => Axis::symlog_from(threshold, limits.y.0, limits.y.1, panel_height, 26.0),
        None => Axis::linear(limits.y.0, limits.y.1, (panel_height / 36.0).clamp(4.0, 9.0) as usize),
    };
    let left = left_edge(&y_axis);
    let right = width - MARGIN - 6.0;
    let panel_width = (right - left - gap_x * (columns - 1) as f64) / columns as f64;
    let x_axis = Axis::linear(limits.x.0, limits.x.1, (panel_width / 60.0).clamp(4.0, 10.0) as usize);

    for i in 0..n {
        let (row, column) = (i / columns, i % columns);
        let x0 = left + (panel_width + gap_x) * column as f64;
        let y0 = top + title_room + (panel_height + gap_y) * row as f64;
        let area = Rect { left: x0, top: y0, right: x0 + panel_width, bottom: y0 + panel_height };
        let plot = Plot { area, x: x_axis.clone(), y: y_axis.clone() };
        plot.draw_grid(s);
        draw(s, &plot, i);
        plot.draw_frame(s, i + columns >= n, column == 0);
        plot.draw_title(s, titles.get(i).copied().unwrap_or_default());
    }
    let middle = (left + right) / 2.0;
    let text = fit_text(x_label, LABEL_SIZE, right - left);
    s.text(&text, (middle, height - 14.0), LABEL_SIZE, TEXT, Align::Middle, false);
    let text = fit_text(y_label, LABEL_SIZE, bottom - top);
    s.text(&text, (MARGIN + LABEL_SIZE - 2.0, (top + bottom) / 2.0), LABEL_SIZE, TEXT, Align::Middle, true);
}

/// Of `n` things at most `most`, evenly chosen.
pub fn evenly(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    (0..most).map(|i| i * n / most).collect()
}

/// 12345 as "12,345".
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_exploding_panel_does_not_press_the_others_flat() {
        let data: Vec<f64> = (0..=100).map(|i| f64::from(i) / 50.0 - 1.0).collect();
        let calm: Vec<f64> = data.iter().map(|v| 1.5 * v).collect();
        let wild: Vec<f64> = data.iter().map(|v| 1e9 * v).collect();
        let (low, high) = y_limits(&data, &[calm.clone(), calm.clone(), wild.clone()]);
        assert!(low < -1.5 && high > 1.5 && low > -4.5 && high < 4.5, "{low} {high}");
        // All of them: four times the range of the data, and the margin.
        let (low, high) = y_limits(&data, &[wild.clone(), wild]);
        assert!((low + 4.48).abs() < 1e-9 && (high - 4.48).abs() < 1e-9, "{low} {high}");
        assert_eq!(y_limits(&[], &[]), (-0.06, 1.06));
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
