//! What figures over two inputs share: the head of their table, the training points that are drawn, and what is said of the rest.

use super::numbers::{Cell, Numbers, named};
use super::panels::{MOST_PANELS, evenly, thousands};

/// x, y, class.
pub type Point = (f64, f64, usize);

const MOST_POINTS: usize = 400;

/// The head of the table: parts are "cell" with a value, and "training point" with a class.
pub fn numbers(x_label: &str, y_label: &str) -> Numbers {
    let part = ["part", "panel", "quantity"].map(String::from);
    let inputs = [named("x", x_label), named("y", y_label)];
    Numbers::new(part.into_iter().chain(inputs).chain(["value".into(), "class".into()]))
}

pub fn push_points(numbers: &mut Numbers, points: &[Point]) {
    for &(x, y, class) in points {
        let (none, class) = (Cell::Empty, class.into());
        numbers.push(vec!["training point".into(), none.clone(), none.clone(), x.into(), y.into(), none, class]);
    }
}

/// The points that are drawn.
pub fn chosen(points: &[Point]) -> Vec<Point> {
    evenly(points.len(), MOST_POINTS).into_iter().map(|i| points[i]).collect()
}

/// What is not drawn; nothing where all is.
pub fn left_out(points: usize, panels: usize) -> String {
    let mut notes = Vec::new();
    if points > MOST_POINTS {
        notes.push(format!("{MOST_POINTS} of {} training points drawn, evenly chosen", thousands(points)));
    }
    if panels > MOST_PANELS {
        notes.push(format!("{} further panels are not drawn", panels - MOST_PANELS));
    }
    notes.join(" \u{b7} ")
}
