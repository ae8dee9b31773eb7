//! Robust scaling of a table's columns against numpy (tests/golden/scaling.py): from a file to inputs.

use super::text;
use crate::common::golden::{golden, numbers};
use serde_json::Value;
use vifo::data::encode::meaning::Rules;
use vifo::data::encode::{Encoder, FeatureKind, Robust};
use vifo::data::table::{Table, read_table};
use vifo::recipe::Scaling;

/// One column v and, in training, a target beside it.
fn table(cells: &Value, with_target: bool) -> Table {
    let cells = cells.as_array().expect("a list");
    let line = |(i, cell): (usize, &Value)| {
        let cell = cell.as_f64().map_or_else(String::new, |v| v.to_string());
        if with_target { format!("{cell},{}\n", (0.7 * i as f64).sin()) } else { format!("{cell},\n") }
    };
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "v,y\n".to_string() + &cells.iter().enumerate().map(line).collect::<String>())
        .expect("written");
    read_table(&path, &Default::default()).expect("a table")
}

/// Median and width to 1e-12 of their size, inputs to half a step of single precision and what f64 loses in v - median, which
/// is 1e-16 of v / width.
#[test]
fn robust_scaling_is_numpys() {
    let rows = golden("scaling");
    assert_eq!(rows.len(), 5, "golden rows are missing");
    for row in rows {
        let name = text(&row, "name");
        let train = table(&row["train"], true);
        let rules = Rules { scaling: Scaling::Robust, ..Rules::default() };
        let all: Vec<usize> = (0..train.rows()).collect();
        let (encoder, _) = Encoder::learn(&train, "y", None, &rules, &all).expect("an encoder");
        let (kind, missing) =
            (&encoder.features[0].kind, row["new"].as_array().expect("a list").last() == Some(&Value::Null));
        assert_eq!(matches!(kind, FeatureKind::Gappy { .. }), missing, "{name}");
        let Some(Robust { median, width }) = kind.scale().and_then(|s| s.robust) else {
            panic!("{name} is not robust")
        };
        for (found, key) in [(median, "median"), (width, "width")] {
            let want = numbers(&row[key])[0];
            assert!((found - want).abs() <= 1e-12 * median.abs().max(width), "{name}: {key} {found}, not {want}");
        }
        let new = table(&row["new"], false);
        let data = encoder.encode(&new, &(0..new.rows()).collect::<Vec<_>>(), false).expect("inputs");
        let want = numbers(&row["inputs"]);
        assert_eq!((data.n, data.d), (want.len(), 1 + usize::from(missing)), "{name}");
        let lost = 4e-16 * median.abs() / width;
        for (i, want) in want.iter().enumerate() {
            let found = f64::from(data.x[i * data.d]);
            assert!((found - want).abs() <= 6e-8 * want.abs() + lost + 1e-12, "{name}[{i}]: {found}, not {want}");
            assert!(found.abs() <= 3.0, "{name}[{i}]: {found}");
            let flag = f32::from(missing && i + 1 == data.n);
            assert!(!missing || data.x[i * data.d + 1] == flag, "{name}[{i}]: the mark of a missing cell");
        }
    }
}
