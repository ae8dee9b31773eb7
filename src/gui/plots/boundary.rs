//! The lines between classes on a map, drawn only where there is a decision: far from the data a network is undecided, and a line
//! through its ties would trace the noise of its samples.

use crate::live::picture::Map;
use egui_plot::PlotPoint;

/// The rule, for who asks.
pub const RULE: &str = "The line between two classes stands where, within a tenth of the map of it, each side leads by 10 points of probability and twice \
                        the map's noise there; short pieces need a lead of 40. Elsewhere the network has not decided.";

/// Least lead of each side where the map is smooth,
const CLEAR: f64 = 0.1;
/// and how much more it must be than the noise of single cells, which a map of few samples has.
const NOISE: f64 = 2.0;
/// Of the map's side: as far from the line the lead may be reached.
const NEAR: f64 = 0.1;
/// A loose piece of line is chance, not a region, unless both sides lead by so much somewhere along it,
const CERTAIN: f64 = 0.4;
/// or it is as long as this share of the map's side.
const LONG: f64 = 0.5;

/// Segments of the line where two classes are equally likely: marching squares on p_k - max of the others, each k once.
pub fn segments(map: &Map) -> Vec<[PlotPoint; 2]> {
    let (n, k) = (map.n, map.k);
    if n < 2 || k < 2 || map.probs.len() < n * n * k {
        return vec![];
    }
    let near = ((n as f64 * NEAR).round() as usize).max(2);
    let probs = smooth(&smooth(&map.probs, n, k), n, k);
    let mut segments = vec![];
    // With two classes the line of one is that of the other.
    for class in 0..if k == 2 { 1 } else { k } {
        let of = |probs: &[f64]| probs.chunks_exact(k).map(|p| lead(p, class)).collect::<Vec<f64>>();
        let (lead, rough) = (of(&probs), of(&map.probs));
        let around = |i: usize| {
            let (x, y) = (i % n, i / n);
            let (from, to) = (x.saturating_sub(near), (x + 1 + near).min(n - 1));
            (y.saturating_sub(near)..=(y + 1 + near).min(n - 1)).flat_map(move |y| y * n + from..=y * n + to)
        };
        let leads = |i: usize, least: f64| around(i).any(|c| lead[c] >= least) && around(i).any(|c| lead[c] <= -least);
        let noise = |i: usize| {
            let (sum, cells) =
                around(i).fold((0.0, 0.0), |(sum, cells), c| (sum + (rough[c] - lead[c]).powi(2), cells + 1.0));
            f64::sqrt(sum / cells)
        };
        let crossed: Vec<bool> = (0..n * n)
            .map(|i| {
                i % n + 1 < n
                    && i / n + 1 < n
                    && is_crossed(&corners(&lead, n, i))
                    && leads(i, CLEAR + NOISE * noise(i))
            })
            .collect();
        for piece in pieces(&crossed, n) {
            if piece.len() as f64 >= n as f64 * LONG || piece.iter().any(|i| leads(*i, CERTAIN)) {
                piece.iter().for_each(|i| push_segments(&mut segments, map, *i, &corners(&lead, n, *i)));
            }
        }
    }
    segments
}

/// How far `class` is ahead of the best other one.
fn lead(p: &[f64], class: usize) -> f64 {
    let other = p.iter().enumerate().filter(|(c, _)| *c != class).map(|(_, p)| *p);
    p[class] - other.fold(f64::NEG_INFINITY, f64::max)
}

/// Each cell by 1, 2, 1 with its neighbours in both directions: noise of single cells shrinks, a straight line stays.
fn smooth(v: &[f64], n: usize, k: usize) -> Vec<f64> {
    let along = |v: &[f64], by: usize, at: fn(usize, usize) -> usize| -> Vec<f64> {
        let value = |cell: usize, c: usize| v[cell * k + c];
        (0..n * n * k)
            .map(|i| {
                let (cell, c) = (i / k, i % k);
                let place = at(cell, n);
                let before = if place == 0 { cell } else { cell - by };
                let after = if place + 1 == n { cell } else { cell + by };
                0.25 * value(before, c) + 0.5 * value(cell, c) + 0.25 * value(after, c)
            })
            .collect()
    };
    along(&along(v, 1, |cell, n| cell % n), n, |cell, n| cell / n)
}

/// Going round from the lower left.
fn corners(lead: &[f64], n: usize, i: usize) -> [f64; 4] {
    [lead[i], lead[i + 1], lead[i + n + 1], lead[i + n]]
}

fn is_crossed(c: &[f64; 4]) -> bool {
    c.iter().all(|v| v.is_finite()) && c.iter().any(|v| *v > 0.0) && c.iter().any(|v| *v <= 0.0)
}

/// Cells that touch each other, also at a corner.
fn pieces(cells: &[bool], n: usize) -> Vec<Vec<usize>> {
    let mut left = cells.to_vec();
    let mut all = vec![];
    for start in 0..cells.len() {
        let mut piece = vec![];
        let mut open = if std::mem::take(&mut left[start]) { vec![start] } else { vec![] };
        while let Some(i) = open.pop() {
            piece.push(i);
            let (x, y) = (i % n, i / n);
            for y in y.saturating_sub(1)..=(y + 1).min(n - 1) {
                for x in x.saturating_sub(1)..=(x + 1).min(n - 1) {
                    if std::mem::take(&mut left[y * n + x]) {
                        open.push(y * n + x);
                    }
                }
            }
        }
        if !piece.is_empty() {
            all.push(piece);
        }
    }
    all
}

/// Where the four sides of a cell are crossed, going round.
fn push_segments(segments: &mut Vec<[PlotPoint; 2]>, map: &Map, i: usize, c: &[f64; 4]) {
    let n = map.n;
    let at = |(low, high): (f64, f64), i: f64| low + (high - low) * (i + 0.5) / n as f64;
    let places = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
    let mut crossings = vec![];
    for side in 0..4 {
        let (a, b) = (c[side], c[(side + 1) % 4]);
        if (a > 0.0) != (b > 0.0) {
            let t = a / (a - b);
            let (p, q) = (places[side], places[(side + 1) % 4]);
            let (x, y) = (p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1));
            crossings.push(PlotPoint::new(at(map.x_range, (i % n) as f64 + x), at(map.y_range, (i / n) as f64 + y)));
        }
    }
    segments.extend(crossings.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes on -1 to 1: `p(x, y)` of the second.
    fn map(n: usize, p: impl Fn(f64, f64) -> f64) -> Map {
        let at = |i: usize| (i as f64 + 0.5) / n as f64 * 2.0 - 1.0;
        let probs = (0..n * n).map(|i| p(at(i % n), at(i / n)).clamp(0.0, 1.0)).flat_map(|p| [1.0 - p, p]).collect();
        Map { n, k: 2, x_range: (-1.0, 1.0), y_range: (-1.0, 1.0), probs, ..Map::default() }
    }

    /// The same at every run: -1 to 1, by a hash of the place.
    fn noise(x: f64, y: f64) -> f64 {
        let h = (x * 7919.0 + y * 104_729.0).sin() * 43_758.547;
        2.0 * (h - h.floor()) - 1.0
    }

    /// p(1) rises from left to right and crosses one half at x = 0.25: gently, and at once.
    #[test]
    fn a_clear_map_of_two_classes_has_its_whole_line_where_both_are_equally_likely() {
        for (n, slope) in [(40, 0.3), (56, 0.3), (56, 50.0)] {
            let segments = segments(&map(n, |x, _| 0.5 + slope * (x - 0.25)));
            assert_eq!(segments.len(), n - 1, "slope {slope}: unbroken");
            let off = segments.iter().flatten().map(|p| (p.x - 0.25).abs()).fold(0.0, f64::max);
            assert!(off < if slope < 1.0 { 1e-6 } else { 2.0 / n as f64 }, "{off}");
        }
    }

    /// As far from the moons: a tie, give or take what a few samples do.
    #[test]
    fn a_tie_with_noise_has_no_line() {
        assert!(segments(&map(56, |x, y| 0.5 + 0.05 * noise(x, y))).is_empty());
        assert!(segments(&map(56, |_, _| 0.5)).is_empty());
    }

    /// A decision in the middle, a tie around: the line is whole in the middle, and ends where the decision does.
    #[test]
    fn a_line_ends_where_nothing_is_decided_any_more() {
        let p = |x: f64, y: f64| {
            let near = (-(x * x + y * y) / 0.18).exp();
            0.5 + 0.5 * near * (12.0 * x).clamp(-1.0, 1.0) + 0.05 * noise(x, y)
        };
        let segments = segments(&map(56, p));
        let radius = |p: &PlotPoint| p.x.hypot(p.y);
        assert!(segments.iter().flatten().all(|p| radius(p) < 0.95 && p.x.abs() < 0.35), "{segments:?}");
        let whole = (-25..25).map(|i| f64::from(i) * 0.02);
        for y in whole {
            assert!(segments.iter().flatten().any(|p| (p.y - y).abs() < 0.04 && p.x.abs() < 0.06), "a gap at {y}");
        }
    }

    /// Three classes in the plane meet in a point.
    #[test]
    fn three_classes_have_three_lines() {
        let n = 50;
        let at = |i: usize| (i as f64 + 0.5) / n as f64 * 2.0 - 1.0;
        let of = |x: f64, y: f64| {
            let score = [0.0, 2.1, 4.2].map(|a: f64| (8.0 * (x * a.cos() + y * a.sin())).exp());
            score.map(|s| s / score.iter().sum::<f64>())
        };
        let probs = (0..n * n).flat_map(|i| of(at(i % n), at(i / n))).collect();
        let map = Map { n, k: 3, x_range: (-1.0, 1.0), y_range: (-1.0, 1.0), probs, ..Map::default() };
        let segments = segments(&map);
        for angle in [1.05f64, 3.15, 5.23] {
            let (x, y) = (0.7 * angle.cos(), 0.7 * angle.sin());
            assert!(segments.iter().flatten().any(|p| (p.x - x).hypot(p.y - y) < 0.1), "no line at {angle}");
        }
    }
}
