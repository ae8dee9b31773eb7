//! How well each class is found: a row per class.

use super::share_of;
use super::uncertain::error_of_share;
use crate::tables::{TextTable, readable};

/// Of `labels`; each row is its true and its predicted class, as places among them.
pub fn per_class(labels: &[String], rows: impl Iterator<Item = (usize, usize)>) -> TextTable {
    let k = labels.len();
    // [k, k]: rows of a true class by the class that was named.
    let mut counts = vec![0usize; k * k];
    for (truth, named) in rows.filter(|(a, b)| *a < k && *b < k) {
        counts[truth * k + named] += 1;
    }
    let mut t = TextTable::new(&["class", "rows", "found", "named", "right where named", "most often taken for"]);
    let share = |part: usize, of: usize| {
        let v = part as f64 / of as f64;
        if of == 0 { "–".into() } else { share_of(v, Some(error_of_share(v, of))) }
    };
    for (i, label) in labels.iter().enumerate() {
        let of_class: usize = counts[i * k..(i + 1) * k].iter().sum();
        let named: usize = (0..k).map(|j| counts[j * k + i]).sum();
        let right = counts[i * k + i];
        let others = (0..k).filter(|j| *j != i && counts[i * k + j] > 0);
        let worst = others.max_by(|a, b| counts[i * k + a].cmp(&counts[i * k + b]).then(b.cmp(a)));
        t.rows.push(vec![
            label.clone(),
            readable_count(of_class),
            share(right, of_class),
            readable_count(named),
            share(right, named),
            worst.map_or("–".into(), |j| format!("{} ({})", labels[j], readable_count(counts[i * k + j]))),
        ]);
    }
    t
}

fn readable_count(n: usize) -> String {
    if n < 1_000_000 { crate::tables::grouped(&n.to_string()) } else { readable(n as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_by_hand() {
        let labels = ["cat", "dog", "owl"].map(String::from);
        // Cats: 3 right, 1 taken for a dog; dogs: 1 right, 2 taken for cats, 1 for an owl; no owl.
        let rows = [(0, 0), (0, 0), (0, 0), (0, 1), (1, 1), (1, 0), (1, 0), (1, 2)];
        let t = per_class(&labels, rows.into_iter());
        // sqrt(0.75 * 0.25 / 4) = 0.217; of 5 named, 3 right: sqrt(0.6 * 0.4 / 5) = 0.219.
        assert_eq!(t.rows[0], ["cat", "4", "75 %", "5", "60 %", "dog (1)"]);
        assert_eq!(t.rows[1], ["dog", "4", "25 %", "2", "50 %", "cat (2)"]);
        assert_eq!(t.rows[2], ["owl", "0", "–", "1", "0 %", "–"]);
        assert!(per_class(&[], std::iter::empty()).rows.is_empty());
    }
}
