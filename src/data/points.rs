//! Points that stand in the recipe itself: `[x, y]` for a curve, `[x1, x2, class]` for classes in the plane.
//! Unlike a table, few of them are no mistake, and neither is a column that is constant: a user who sets points one by one
//! starts with two. Must not read a file.

use super::encode::learn::{Stats, labels_of};
use super::encode::{Encoder, Feature, FeatureKind, Target, strata};
use super::split::{Split, by_fraction};
use super::table::{Cells, Column, Lines, ReadOptions, Table};
use super::{Task, counted};
use crate::error::{Error, Result};
use crate::recipe::key;
pub use crate::recipe::points::{MAX_CLASS, MAX_POINTS, MAX_SIZE, check, row_place};
use sha2::{Digest, Sha256};

/// Fewer points than this are all trained on.
pub const MIN_TO_SPLIT: usize = 20;

/// Below this the values of a column count as one: its unit is then 1.
const MIN_SD: f64 = 1e-12;

/// The points as if read from a file with a header; rows count from 1. Classes are whole numbers.
pub fn to_table(points: &[Vec<f64>], task: Task) -> Table {
    let names: &[&str] = if task == Task::Regression { &["x", "y"] } else { &["x1", "x2", "class"] };
    let column =
        |(j, name): (usize, &&str)| Column::new(*name, Cells::Number(points.iter().map(|row| row[j]).collect()));
    Table {
        path: "data.points".into(),
        columns: names.iter().enumerate().map(column).collect(),
        lines: Lines::Run { first: 1, rows: points.len() },
        header: true,
        delimiter: b',',
        options: ReadOptions::default(),
        beside: None,
        notes: Vec::new(),
    }
}

/// A table of points cut into its parts, with the encoder of the training part.
#[derive(Debug)]
pub struct Prepared {
    pub table: Table,
    pub split: Split,
    pub encoder: Encoder,
    pub notes: Vec<String>,
}

/// Of the points, and of those that are for validation where there are any. Else both fractions apply from `MIN_TO_SPLIT` points on.
pub fn prepare(
    points: &[Vec<f64>],
    validation: &[Vec<f64>],
    (validation_fraction, test_fraction): (f64, f64),
    seed: u64,
) -> Result<Prepared> {
    let place = &key!(data.points).said();
    let task = match check(points, place)? {
        Some(task) if task == Task::Classification || points.len() > 1 => task,
        _ => return Err(Error::usage(place, counted(points.len(), "point"), "two points at least", "add points")),
    };
    let of_validation = &key!(data.validation_points).said();
    if check(validation, of_validation)?.is_some_and(|other| other != task) {
        let widths = [validation, points].map(|rows| rows.first().map_or(0, Vec::len));
        let found = format!("points of {} numbers beside {place} of {}", widths[0], widths[1]);
        return Err(Error::usage(of_validation, found, "as many numbers in each", "give both the same columns"));
    }
    let together = [points, validation].concat();
    let table = to_table(&together, task);
    let target = table.columns.last().map_or("", |c| c.name.as_str());
    let all: Vec<usize> = (0..points.len()).collect();
    let (mut notes, mut fractions) = (vec![], (validation_fraction, test_fraction));
    if !validation.is_empty() {
        fractions = (0.0, 0.0);
    } else if points.len() < MIN_TO_SPLIT {
        if fractions.0 + fractions.1 > 0.0 {
            let n = points.len();
            notes.push(format!("all {n} points are trained on: none is held out of fewer than {MIN_TO_SPLIT}"));
        }
        fractions = (0.0, 0.0);
    }
    let classes = strata(&table, target, Some(task), &all)?;
    let mut split = by_fraction(points.len(), fractions.0, fractions.1, seed, classes.as_deref())?;
    split.validation.extend(points.len()..together.len());
    if task == Task::Classification && split.train.iter().all(|&i| points[i][2] == points[split.train[0]][2]) {
        let found = match split.train.len() == points.len() {
            true => "all points are of one class",
            false => "all points to train on are of one class",
        };
        return Err(Error::usage(place, found, "points of two classes at least", "add points of another class"));
    }
    let encoder = encoder(&table, task, &split.train);
    Ok(Prepared { table, split, encoder, notes })
}

/// Every column is kept: one that does not vary has its own unit, with the mean taken off.
fn encoder(table: &Table, task: Task, rows: &[usize]) -> Encoder {
    let stats = |column: &Column| {
        let Cells::Number(values) = &column.cells else { return Stats { mean: 0.0, sd: 1.0, min: 0.0, max: 0.0 } };
        let values: Vec<f64> = rows.iter().map(|&row| values[row]).collect();
        let s = Stats::of(&values).unwrap_or(Stats { mean: 0.0, sd: 1.0, min: 0.0, max: 0.0 });
        Stats { sd: if s.is_constant() || s.sd < MIN_SD { 1.0 } else { s.sd }, ..s }
    };
    let (inputs, target) = table.columns.split_at(table.columns.len() - 1);
    let features = inputs.iter().map(|column| {
        let Stats { mean, sd, min, max } = stats(column);
        Feature { name: column.name.clone(), kind: FeatureKind::Numeric { mean, sd, min, max, robust: None } }
    });
    let (name, column) = (target[0].name.clone(), &target[0]);
    let target = match task {
        Task::Classification => Target::Classes { name, labels: labels_of(column) },
        Task::Regression => {
            let Stats { mean, sd, min, max } = stats(column);
            Target::Regression { name, mean, sd, min, max }
        }
    };
    Encoder { features: features.collect(), ..Encoder::of(target) }
}

/// SHA-256 over the numbers' bits, row after row, each row preceded by its length; between both parts a row of none.
pub fn hash(points: &[Vec<f64>], validation: &[Vec<f64>]) -> String {
    let mut digest = Sha256::new();
    let mut add = |row: &[f64]| {
        digest.update((row.len() as u64).to_le_bytes());
        row.iter().for_each(|v| digest.update(v.to_bits().to_le_bytes()));
    };
    points.iter().for_each(|row| add(row));
    if !validation.is_empty() {
        add(&[]);
        validation.iter().for_each(|row| add(row));
    }
    super::hash::hex(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(points: &[Vec<f64>]) -> String {
        let error = prepare(points, &[], (0.1, 0.1), 1).expect_err("refused");
        assert_eq!(error.exit_code(), 2, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("data.points") && !text.contains('\n'), "{text}");
        text
    }

    #[test]
    fn refusals_name_the_row() {
        assert_eq!(refusal(&[]), "data.points: 0 points; allowed: two points at least; add points");
        assert!(refusal(&[vec![1.0, 2.0]]).contains("1 point;"));
        assert_eq!(
            refusal(&[vec![1.0, 2.0], vec![1.0, 2.0], vec![1.0, 2.0, 3.0]]),
            "data.points, row 3: has 3 numbers where row 1 has 2; give all rows as many numbers"
        );
        assert!(refusal(&[vec![], vec![1.0, 2.0]]).starts_with("data.points, row 1: has 0 numbers; allowed: [x, y]"));
        assert!(refusal(&[vec![1.0]]).contains("row 1: has 1 number;"));
        assert!(refusal(&[vec![0.0; 4]]).contains("row 1: has 4 numbers"));
        for (v, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1e300, "-1e300")] {
            let text = refusal(&[vec![0.0, 1.0], vec![1.0, v]]);
            assert!(text.starts_with(&format!("data.points, row 2: holds {shown}; allowed: numbers from")), "{text}");
        }
        for class in [-1.0, 0.5, 100.0] {
            let text = refusal(&[vec![0.0, 1.0, 0.0], vec![0.0, 1.0, class]]);
            assert!(text.contains("row 2: is of class") && text.contains("0 to 99"), "{text}");
        }
        for n in [1, 3, 30] {
            assert!(refusal(&vec![vec![0.5, 0.5, 4.0]; n]).contains("points of two classes at least"));
        }
        assert!(refusal(&vec![vec![0.0, 1.0]; MAX_POINTS + 1]).contains("10001 points; allowed: at most 10000"));
        assert!(prepare(&vec![vec![0.0, 1.0]; MAX_POINTS], &[], (0.1, 0.1), 1).is_ok());
    }

    #[test]
    fn a_column_that_does_not_vary_is_kept_in_its_own_unit() {
        let p = prepare(&[vec![3.0, 7.0], vec![3.0, 7.0]], &[], (0.1, 0.1), 1).expect("points");
        let same = |v: f64| (v, 1.0, v, v);
        let FeatureKind::Numeric { mean, sd, min, max, .. } = p.encoder.features[0].kind else { panic!("a number") };
        assert_eq!((mean, sd, min, max), same(3.0));
        let Target::Regression { mean, sd, min, max, .. } = p.encoder.target else { panic!("a number") };
        assert_eq!((mean, sd, min, max), same(7.0));
        let rows = p.encoder.encode(&p.table, &p.split.train, true).expect("rows");
        assert_eq!((rows.x.to_vec(), rows.y, rows.target), (vec![0.0; 2], vec![0.0; 2], vec![7.0; 2]));
        assert_eq!(Vec::from(rows.ids), ["1", "2"]);
        // Room for auxiliary inputs around the one place where there is data.
        assert_eq!(p.encoder.aux_range(), (vec![-1.0], vec![1.0]));
        // Population sd of 0 and 4 is 2; the range [0, 4] is widened by 2 on either side: +-2 sd about the mean.
        let p = prepare(&[vec![0.0, 1.0, 0.0], vec![4.0, 1.0, 7.0]], &[], (0.0, 0.0), 1).expect("points");
        assert_eq!(p.encoder.aux_range(), (vec![-2.0, -1.0], vec![2.0, 1.0]));
        assert_eq!(p.encoder.n_classes(), Some(2));
        let Target::Classes { labels, .. } = &p.encoder.target else { panic!("classes") };
        assert_eq!(labels, &["0", "7"]);
        assert!(p.notes.is_empty(), "nothing was asked for, nothing is missing");
    }

    #[test]
    fn parts_begin_at_twenty_points() {
        let curve = |n: usize| (0..n).map(|i| vec![i as f64, (i * i) as f64]).collect::<Vec<_>>();
        let sizes = |n: usize| {
            let p = prepare(&curve(n), &[], (0.1, 0.1), 1).expect("points");
            (p.split.train.len(), p.split.validation.len(), p.split.test.len(), p.notes.len())
        };
        assert_eq!([sizes(2), sizes(19), sizes(20)], [(2, 0, 0, 1), (19, 0, 0, 1), (16, 2, 2, 0)]);
        // The smallest training part that a recipe allows: one row.
        assert!(prepare(&curve(20), &[], (0.9, 0.04), 1).is_ok());
        // Three classes of 10 each, stratified: a tenth of 30 is one of each.
        let classes: Vec<Vec<f64>> = (0..30).map(|i| vec![i as f64, 0.5, (i % 3) as f64]).collect();
        let p = prepare(&classes, &[], (0.1, 0.1), 3).expect("points");
        let mut tested: Vec<usize> = p.split.test.iter().map(|i| i % 3).collect();
        tested.sort_unstable();
        assert_eq!(tested, [0, 1, 2]);
    }

    #[test]
    fn the_hash_knows_every_bit_and_where_rows_end() {
        let h = hash(&[vec![1.0, 2.0], vec![3.0, 4.0]], &[]);
        assert_eq!((h.len(), &h), (64, &hash(&[vec![1.0, 2.0], vec![3.0, 4.0]], &[])));
        assert_ne!(h, hash(&[vec![1.0, 2.0], vec![3.0, 4.0f64.next_up()]], &[]));
        assert_ne!(hash(&[vec![1.0, 2.0, 3.0]], &[]), hash(&[vec![1.0, 2.0], vec![3.0]], &[]));
        assert_ne!(h, hash(&[vec![1.0, 2.0]], &[vec![3.0, 4.0]]));
    }

    /// They are held out, as they are and however few, and nothing else is; the unit is that of the others.
    #[test]
    fn points_for_validation_stay_apart() {
        let curve = |n: usize| (0..n).map(|i| vec![i as f64, (i as f64).sin()]).collect::<Vec<_>>();
        let held = [vec![50.0, 1.0], vec![60.0, 2.0]];
        for n in [5, 40] {
            let p = prepare(&curve(n), &held, (0.1, 0.1), 1).expect("points");
            assert_eq!((p.split.train, p.split.validation), ((0..n).collect(), vec![n, n + 1]));
            assert!(p.split.test.is_empty() && p.notes.is_empty());
            let alone = prepare(&curve(n), &[], (0.0, 0.0), 1).expect("points");
            assert_eq!(p.encoder, alone.encoder);
        }
        let error = prepare(&curve(5), &[vec![1.0, 2.0, 0.0]], (0.0, 0.0), 1).expect_err("other columns").to_string();
        assert!(
            error.starts_with("data.validation_points: points of 3 numbers beside data.points of 2; allowed: as many"),
            "{error}"
        );
    }
}
