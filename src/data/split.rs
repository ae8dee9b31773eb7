//! Which rows train, validate and test: by fraction (stratified by class if wanted) or by a file of test rows.
//! The same seed gives the same split on every machine. Must not look at features.

use super::source::read_text;
use crate::base::rng::SplitMix64;
use crate::error::{Error, Result};
use std::path::Path;

/// Row numbers from 0; the three parts are disjoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    pub train: Vec<usize>,
    pub validation: Vec<usize>,
    pub test: Vec<usize>,
}

impl Split {
    /// The same parts as row numbers of the table, where `rows[i]` is the table's row of this split's row `i`
    /// (`Kept::rows`); each row of the split must be below `rows.len()`.
    pub fn of_rows(&self, rows: &[usize]) -> Split {
        let pick = |part: &[usize]| part.iter().map(|&i| rows[i]).collect();
        Split { train: pick(&self.train), validation: pick(&self.validation), test: pick(&self.test) }
    }
}

/// Shuffles `n` rows and cuts them; each part is in ascending order. With `strata` (a class for each row) every class
/// is spread over the parts in proportion, and a class of one or two rows stays in the training part unless a
/// fraction is large. A part whose fraction is above 0 has a row at least, as far as `n` goes: the first row is kept for the
/// training part, the next for the test part.
pub fn by_fraction(
    n: usize,
    validation_fraction: f64,
    test_fraction: f64,
    seed: u64,
    strata: Option<&[usize]>,
) -> Result<Split> {
    check_fractions(validation_fraction, test_fraction)?;
    if let Some(strata) = strata.filter(|s| s.len() != n) {
        return Err(Error::usage("split", format!("{} classes for {n} rows", strata.len()), "one class per row", ""));
    }
    let mut order: Vec<usize> = (0..n).collect();
    SplitMix64::new(seed).shuffle(&mut order);
    if let Some(strata) = strata {
        order = interleave(&order, strata);
    }
    // One row stays to train on; the test part takes what is left first.
    let part = |fraction: f64, free: usize| {
        let wanted = (n as f64 * fraction).round() as usize;
        if fraction > 0.0 { wanted.max(1).min(free) } else { 0 }
    };
    let n_test = part(test_fraction, n.saturating_sub(1));
    let n_validation = part(validation_fraction, n.saturating_sub(1 + n_test));
    let mut train = order.split_off(n_test + n_validation);
    let mut validation = order.split_off(n_test);
    for rows in [&mut train, &mut validation, &mut order] {
        rows.sort_unstable();
    }
    Ok(Split { train, validation, test: order })
}

/// `rows` in an order whose every stretch is a random part of them, with the classes `strata` [rows] in proportion where
/// there are any: stretches are the folds that members of an ensemble hold out.
pub fn in_folds(rows: &[usize], seed: u64, strata: Option<&[usize]>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    SplitMix64::new(seed).shuffle(&mut order);
    if let Some(strata) = strata.filter(|s| s.len() == rows.len()) {
        order = interleave(&order, strata);
    }
    order.into_iter().map(|place| rows[place]).collect()
}

/// Orders shuffled rows so that every stretch holds each class in proportion: the k-th of m rows of a class has the
/// key (k + 1/2) / m.
fn interleave(order: &[usize], strata: &[usize]) -> Vec<usize> {
    let mut size = std::collections::HashMap::new();
    for &class in strata {
        *size.entry(class).or_insert(0usize) += 1;
    }
    let mut seen = std::collections::HashMap::new();
    let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(order.len());
    for &row in order {
        let k = seen.entry(strata[row]).or_insert(0usize);
        keyed.push(((*k as f64 + 0.5) / size[&strata[row]] as f64, row));
        *k += 1;
    }
    // Stable: rows with the same key keep the shuffled order.
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    keyed.into_iter().map(|(_, row)| row).collect()
}

pub(crate) fn check_fractions(validation_fraction: f64, test_fraction: f64) -> Result<()> {
    check_fraction("validation_fraction", validation_fraction)?;
    check_fraction("test_fraction", test_fraction)?;
    if validation_fraction + test_fraction < 1.0 {
        return Ok(());
    }
    let found = format!("validation_fraction + test_fraction = {}", validation_fraction + test_fraction);
    Err(Error::usage("split", found, "a sum below 1", "leave rows to train on"))
}

fn check_fraction(name: &str, value: f64) -> Result<()> {
    if (0.0..=0.9).contains(&value) {
        return Ok(());
    }
    Err(Error::usage(name, value.to_string(), "0 to 0.9", "give the share of the rows, e.g. 0.1"))
}

/// Test rows from line `split_number` (from 0) of a file with one split per line (row numbers from 0); of the other rows a
/// fraction validates. The test rows keep the order of the file, the other parts ascend.
pub fn by_split_file(path: &Path, split_number: usize, n: usize, validation_fraction: f64, seed: u64) -> Result<Split> {
    by_split_text(&read_text(path)?, path, split_number, n, validation_fraction, seed)
}

/// The same of the file's text.
pub fn by_split_text(
    text: &str,
    path: &Path,
    split_number: usize,
    n: usize,
    validation_fraction: f64,
    seed: u64,
) -> Result<Split> {
    check_fraction("validation_fraction", validation_fraction)?;
    let splits: Vec<(usize, &str)> =
        text.lines().enumerate().map(|(i, line)| (i + 1, line.trim())).filter(|(_, line)| !line.is_empty()).collect();
    let Some(&(line, rows)) = splits.get(split_number) else {
        let allowed = match splits.len() {
            0 => "a file with one split per line".to_string(),
            count => format!("0 to {}", count - 1),
        };
        return Err(Error::usage(
            path.display().to_string(),
            format!("no split {split_number}"),
            allowed,
            "choose one",
        ));
    };
    let place = || format!("{}, line {line}", path.display());
    let mut is_test = vec![false; n];
    let mut test = Vec::new();
    for word in rows.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty()) {
        let Ok(row) = word.parse::<usize>() else {
            return Err(Error::data(place(), super::quoted(word), "row numbers from 0", "fix the file of splits"));
        };
        match is_test.get_mut(row) {
            None => {
                let found = format!("row {row}, but the table has {n} rows");
                let help = "use the file of splits that belongs to this table";
                return Err(Error::data(place(), found, format!("0 to {}", n.saturating_sub(1)), help));
            }
            Some(true) => return Err(Error::data(place(), format!("row {row} twice"), "every row once", "remove one")),
            Some(taken) => *taken = true,
        }
        test.push(row);
    }
    let rest: Vec<usize> = (0..n).filter(|&row| !is_test[row]).collect();
    if rest.is_empty() {
        return Err(Error::data(place(), "every row is a test row", "rows to train on", "leave some rows out"));
    }
    let inner = by_fraction(rest.len(), validation_fraction, 0.0, seed, None)?;
    Ok(Split { test, ..inner.of_rows(&rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(split: &Split) -> Vec<usize> {
        let mut rows = [split.train.clone(), split.validation.clone(), split.test.clone()].concat();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn parts_are_disjoint_complete_and_sized() {
        let s = by_fraction(103, 0.1, 0.2, 7, None).unwrap();
        assert_eq!((s.train.len(), s.validation.len(), s.test.len()), (72, 10, 21));
        assert_eq!(all(&s), (0..103).collect::<Vec<_>>());
        assert_eq!(s, by_fraction(103, 0.1, 0.2, 7, None).unwrap());
        assert_ne!(s, by_fraction(103, 0.1, 0.2, 8, None).unwrap());
    }

    #[test]
    fn parts_are_not_empty_where_rows_allow() {
        let sizes = |n: usize| {
            let s = by_fraction(n, 0.01, 0.01, 0, None).unwrap();
            (s.train.len(), s.validation.len(), s.test.len())
        };
        assert_eq!([sizes(0), sizes(1), sizes(2), sizes(3)], [(0, 0, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)]);
        assert_eq!(by_fraction(2, 0.45, 0.45, 0, None).unwrap().train.len(), 1);
    }

    #[test]
    fn strata_share_every_part() {
        // 80 rows of class 0 and 20 of class 1: a fifth of each class goes to the test part, exactly 16 and 4.
        let strata: Vec<usize> = (0..100).map(|i| usize::from(i % 5 == 0)).collect();
        for seed in 0..20 {
            let s = by_fraction(100, 0.0, 0.2, seed, Some(&strata)).unwrap();
            assert_eq!(s.test.iter().filter(|&&row| strata[row] == 1).count(), 4);
            assert_eq!(all(&s), (0..100).collect::<Vec<_>>());
        }
        let mapped = Split { train: vec![0, 2], validation: vec![1], test: vec![] }.of_rows(&[5, 7, 9]);
        assert_eq!(mapped, Split { train: vec![5, 9], validation: vec![7], test: vec![] });
        assert!(by_fraction(3, 0.0, 0.2, 0, Some(&[0])).is_err());
    }

    #[test]
    fn wrong_fractions_are_usage_errors() {
        for (validation, test) in [(-0.1, 0.0), (0.0, 0.95), (0.5, 0.5), (f64::NAN, 0.0)] {
            assert_eq!(by_fraction(10, validation, test, 0, None).unwrap_err().exit_code(), 2);
        }
    }

    #[test]
    fn index_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test_index.txt");
        std::fs::write(&path, "2 0\n1 3\nx 1\n4 9\n1 1\n0 1 2 3 4\n").unwrap();
        let s = by_split_file(&path, 0, 5, 0.0, 0).unwrap();
        assert_eq!((s.train, s.validation, s.test), (vec![1, 3, 4], vec![], vec![2, 0]));
        let s = by_split_file(&path, 1, 5, 0.3, 0).unwrap();
        assert_eq!((s.train.len(), s.validation.len(), all(&s)), (2, 1, vec![0, 1, 2, 3, 4]));
        let message = |number| by_split_file(&path, number, 5, 0.0, 0).unwrap_err().to_string();
        assert!(message(2).contains("line 3: 'x'"));
        assert!(message(3).contains("line 4: row 9, but the table has 5 rows"));
        assert!(message(4).contains("row 1 twice"));
        assert!(message(5).contains("every row is a test row"));
        assert!(message(6).contains("no split 6; allowed: 0 to 5"));
    }
}
