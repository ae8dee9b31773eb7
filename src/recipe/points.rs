//! Points that stand in the recipe itself: `[x, y]` for a curve, `[x1, x2, class]` for classes in the plane.

use super::Task;
use crate::base::counted::counted;
use crate::error::{Error, Result, either};

pub const MAX_POINTS: usize = 10_000;
pub const MAX_CLASS: u32 = 99;
/// Largest number of a point, as of any other number of a recipe: its square stays far within f32.
pub const MAX_SIZE: f64 = 1e12;

/// What rows of each length are.
const SHAPES: &str = "[x, y] for a curve, [x1, x2, class] for classes";

/// Checks every row; `place` names the key in messages. None without rows.
pub fn check(points: &[Vec<f64>], place: &str) -> Result<Option<Task>> {
    let Some(first) = points.first().map(Vec::len) else { return Ok(None) };
    let task = match first {
        2 => Task::Regression,
        3 => Task::Classification,
        n => return Err(Error::usage(row_place(place, 0), format!("has {}", counted(n, "number")), SHAPES, "")),
    };
    if points.len() > MAX_POINTS {
        let help = either(
            "leave some out, or write them to a file and name it as data.file",
            "leave some out, or write them to a file and open it",
        );
        return Err(Error::usage(place, counted(points.len(), "point"), format!("at most {MAX_POINTS}"), help));
    }
    for (i, row) in points.iter().enumerate() {
        let refuse = |found: String, allowed: &str, help: &str| {
            Err(Error::usage(row_place(place, i), found, allowed, help)) as Result<Option<Task>>
        };
        if row.len() != first {
            let found = format!("has {} where row 1 has {first}", counted(row.len(), "number"));
            return refuse(found, "", "give all rows as many numbers");
        }
        // NaN is in no range.
        if let Some(v) = row.iter().find(|v| !(-MAX_SIZE..=MAX_SIZE).contains(*v)) {
            return refuse(format!("holds {v:?}"), "numbers from -1e12 to 1e12", "mend the row");
        }
        if task == Task::Classification && !(row[2].fract() == 0.0 && (0.0..=f64::from(MAX_CLASS)).contains(&row[2])) {
            return refuse(format!("is of class {}", row[2]), &format!("a whole number from 0 to {MAX_CLASS}"), "");
        }
    }
    Ok(Some(task))
}

/// "data.points, row 3": rows count from 1.
pub fn row_place(place: &str, row: usize) -> String {
    format!("{place}, row {}", row + 1)
}
