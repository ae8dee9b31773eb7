//! Tests of fit and encode.

use super::super::table::{ColumnKind, ReadOptions, read_table};
use super::learn::{Stats, detect_task, strata};
use super::*;
use crate::data::table::Cells;

fn number(name: &str, values: impl IntoIterator<Item = f64>) -> Column {
    Column::new(name, Cells::Number(values.into_iter().collect()))
}

fn text(name: &str, values: &[&str]) -> Column {
    let cell = |v: &&str| (!v.is_empty()).then(|| v.to_string());
    Column::new(name, Cells::Text(values.iter().map(cell).collect()))
}

fn table(columns: Vec<Column>) -> Table {
    let n = match &columns[0].cells {
        Cells::Number(v) => v.len(),
        Cells::Text(v) => v.len(),
    };
    let lines = (2..n + 2).collect();
    Table {
        path: "t.csv".into(),
        columns,
        lines,
        header: true,
        delimiter: b',',
        options: Default::default(),
        beside: None,
        notes: Vec::new(),
    }
}

fn fit(t: &Table, target: &str, missing: Missing) -> Result<Encoder> {
    let kept = rows_without_missing(t, target, &[], missing)?;
    Encoder::fit(t, target, None, &[], missing, &kept.rows)
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// x = 0..12, y = 10 x + 5.
fn line_table() -> Table {
    table(vec![number("x", (0..12).map(f64::from)), number("y", (0..12).map(|i| 10.0 * f64::from(i) + 5.0))])
}

#[test]
fn statistics_come_from_the_training_rows_alone() {
    let mut t = line_table();
    let rows: Vec<usize> = (0..10).collect();
    let before = Encoder::fit(&t, "y", None, &[], Missing::Error, &rows).unwrap();
    t.columns[0] = number("x", (0..12).map(|i| if i < 10 { f64::from(i) } else { 1e6 }));
    assert_eq!(before, Encoder::fit(&t, "y", None, &[], Missing::Error, &rows).unwrap());
    // 0..9: mean 4.5, population variance (10^2 - 1)/12 = 8.25.
    let FeatureKind::Numeric { mean, sd, min, max, .. } = before.features[0].kind else { panic!("text") };
    assert_eq!((mean, min, max), (4.5, 0.0, 9.0));
    assert!((sd - 8.25f64.sqrt()).abs() < 1e-15);
    // [min - d/2, max + d/2] = [-4.5, 13.5].
    let (low, high) = before.aux_range();
    assert!((f64::from(low[0]) + 9.0 / sd).abs() < 1e-6 && (f64::from(high[0]) - 9.0 / sd).abs() < 1e-6);
    // y = 10 x + 5 has the same standardised values.
    let data = before.encode(&t, &rows, true).unwrap();
    assert_eq!(*data.x, data.y);
    assert!((before.destandardise(f64::from(data.y[3])) - 35.0).abs() < 1e-5);
    assert_eq!((before.target_sd(), data.ids.get(0)), (10.0 * sd, Some("2".into())));
}

#[test]
fn large_numbers_keep_their_digits() {
    // Twelve values 1e12 + i: variance (12^2 - 1)/12.
    let values: Vec<f64> = (0..12).map(|i| 1e12 + f64::from(i)).collect();
    let stats = Stats::of(&values).unwrap();
    assert!((stats.sd - (143.0f64 / 12.0).sqrt()).abs() < 1e-4, "{}", stats.sd);
    assert!((stats.mean - 1e12 - 5.5).abs() < 1e-3);
    let stats = Stats::of(&[1e300, 3e300]).unwrap();
    assert!((stats.mean / 2e300 - 1.0).abs() < 1e-15 && (stats.sd / 1e300 - 1.0).abs() < 1e-15);
    let t = table(vec![
        number("x", (0..12).map(|i| if i % 2 == 0 { f64::MAX } else { f64::MIN })),
        line_table().columns.remove(1),
    ]);
    assert!(message(fit(&t, "y", Missing::Error)).contains("a range within a double"));
}

/// FAULTS A4: what the program cannot measure in the target's unit is refused before training.
#[test]
fn a4_a_target_of_any_scale_is_fitted_or_refused() {
    let scaled = |unit: f64| {
        let rows = (0..20).map(f64::from);
        fit(&table(vec![number("x", rows.clone()), number("y", rows.map(|v| v * unit))]), "y", Missing::Error)
    };
    for unit in [1e-29, 1e-13, 1.0, 1e28] {
        let Target::Regression { sd, .. } = scaled(unit).unwrap().target else { panic!("a regression") };
        assert!((sd / unit - (399.0f64 / 12.0).sqrt()).abs() < 1e-9, "{unit:e}: {sd:e}");
    }
    for unit in [1e-300, 1e200] {
        let error = message(scaled(unit));
        assert!(error.contains("standard deviation of") && error.contains("1e-30 to 1e30"), "{error}");
    }
}

#[test]
fn the_task_follows_the_stated_rule() {
    let task = |values: &[f64]| detect_task(&number("y", values.iter().copied()));
    assert_eq!(task(&[0.0, 1.0, 1.0]), Task::Classification);
    assert_eq!(task(&[1.0, 2.0, 3.0]), Task::Classification);
    assert_eq!(task(&[-1.0, 1.0]), Task::Classification);
    assert_eq!(task(&[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), Task::Regression, "wine quality");
    assert_eq!(task(&[0.0, 2.0]), Task::Regression);
    assert_eq!(task(&(0..11).map(f64::from).collect::<Vec<_>>()), Task::Regression);
    assert_eq!(detect_task(&text("y", &["a", "b"])), Task::Classification);
}

#[test]
fn labels_sort_as_numbers_or_as_words() {
    let t = table(vec![number("x", (0..12).map(f64::from)), number("y", (0..12).map(|i| f64::from(i % 3)))]);
    let e = fit(&t, "y", Missing::Error).unwrap();
    assert_eq!(e.target, Target::Classes { name: "y".into(), labels: vec!["0".into(), "1".into(), "2".into()] });
    assert_eq!(e.encode(&t, &[4, 2], true).unwrap().y, [1.0, 2.0]);
    assert_eq!((e.n_classes(), e.task()), (Some(3), Task::Classification));
    assert_eq!(strata(&t, "y", None, &[4, 2, 1]).unwrap(), Some(vec![0, 1, 0]));
    assert_eq!(strata(&t, "x", None, &[4]).unwrap(), None);
    let column = text("y", &["10", "9", "b", "10", "9", "b", "10", "9", "b", "10", "9", "b"]);
    let t = table(vec![number("x", (0..12).map(f64::from)), column]);
    let Target::Classes { labels, .. } = fit(&t, "y", Missing::Error).unwrap().target else { panic!("regression") };
    assert_eq!(labels, ["10", "9", "b"]);
    // A new file with only whole numbers in that column still finds its labels; "09" is 9.
    let e = fit(&t, "y", Missing::Error).unwrap();
    assert_eq!(e.encode(&table(vec![number("x", [1.0]), number("y", [9.0])]), &[0], true).unwrap().y, [1.0]);
    assert_eq!(e.encode(&table(vec![number("x", [1.0]), text("y", &["09"])]), &[0], true).unwrap().y, [1.0]);
}

#[test]
fn columns_are_found_by_name_and_texts_by_level() {
    let colours = ["red", "blue", "red", "green", "blue", "red", "red", "blue", "green", "red", "red", "blue"];
    let mut t = line_table();
    t.columns.insert(1, text("colour", &colours));
    let e = fit(&t, "y", Missing::Error).unwrap();
    assert_eq!(e.n_inputs(), 4);
    assert_eq!(e.encode(&t, &[3], true).unwrap().x[1..], [0.0, 1.0, 0.0], "blue, green, red");
    t.columns.reverse();
    let swapped = e.encode(&t, &[3], true).unwrap();
    assert_eq!(swapped.x[1..], [0.0, 1.0, 0.0]);
    let fresh = table(vec![text("colour", &["red", "pink"]), number("x", [1.0, 2.0])]);
    assert!(e.encode(&fresh, &[0], false).unwrap().y.is_empty());
    let m = message(e.encode(&fresh, &[1], false));
    assert!(
        m.contains("line 3, column 'colour': level 'pink' was not seen in training; allowed: 'blue', 'green', 'red'"),
        "{m}"
    );
    assert!(message(e.encode(&fresh, &[0], true)).contains("no column 'y'; the file has 'colour', 'x'"));
    let m = message(e.encode(&table(vec![text("colour", &["red"]), text("x", &["high"])]), &[0], false));
    assert!(m.contains("line 2, column 'x': 'high'; allowed: a number"), "{m}");
    let restored: Encoder = serde_json::from_str(&serde_json::to_string(&e).unwrap()).unwrap();
    assert_eq!(restored.features[1], e.features[1]);
    assert!(e.encode(&fresh, &[2], false).is_err());
}

#[test]
fn missing_cells_stop_drop_or_take_the_mean() {
    let mut t = line_table();
    t.columns[0] = number("x", (0..12).map(|i| if i == 4 { f64::NAN } else { f64::from(i) }));
    t.columns.insert(1, text("c", &["a", "b", "", "a", "b", "a", "b", "a", "b", "a", "b", "a"]));
    let m = message(fit(&t, "y", Missing::Error));
    assert!(
        m.contains("line 4, column 'c': the cell is missing") && m.contains("--missing drop or --missing mean"),
        "{m}"
    );
    let kept = rows_without_missing(&t, "y", &[], Missing::Drop).unwrap();
    assert_eq!((kept.dropped, kept.rows.contains(&4), kept.rows.contains(&2)), (2, false, false));
    assert_eq!(rows_without_missing(&t, "y", &["c".into()], Missing::Drop).unwrap().dropped, 1);
    let e = fit(&t, "y", Missing::Mean).unwrap();
    let data = e.encode(&t, &[4, 2], true).unwrap();
    assert_eq!((data.x[0], &data.x[5..8]), (0.0, &[1.0, 0.0, 0.0][..]), "mean; the level of missing cells comes first");
    assert!(e.usable(&t, true).unwrap().refused.is_empty());
    // A missing target is never filled.
    t.columns[2] = number("y", (0..12).map(|i| if i == 0 { f64::NAN } else { f64::from(i * i) }));
    assert!(message(fit(&t, "y", Missing::Error)).contains("line 2, column 'y': the target is missing"));
    let kept = rows_without_missing(&t, "y", &[], Missing::Mean).unwrap();
    assert_eq!((kept.rows.len(), kept.rows[0]), (11, 1));
    assert!(Encoder::fit(&t, "y", None, &[], Missing::Mean, &(0..12).collect::<Vec<_>>()).is_err());
    assert!(e.encode(&t, &[0], true).is_err() && e.encode(&t, &[0], false).unwrap().y.is_empty());
}

#[test]
fn useless_columns_are_dropped_with_a_reason() {
    let mut t = line_table();
    t.columns.push(number("same", [7.0; 12]));
    t.columns.push(number("void", [f64::NAN; 12]));
    t.columns.push(number("id", (100..112).map(f64::from)));
    let ignore = ["id".to_string()];
    let kept = rows_without_missing(&t, "y", &ignore, Missing::Error).unwrap();
    let e = Encoder::fit(&t, "y", None, &ignore, Missing::Error, &kept.rows).unwrap();
    let dropped: Vec<(&str, &str)> = e.dropped.iter().map(|d| (d.name.as_str(), d.reason.as_str())).collect();
    let constant = ("same", "constant in the training rows (7)");
    assert_eq!(dropped, [constant, ("void", "no value in the training rows"), ("id", "--ignore")]);
    assert_eq!(e.dropped[2].said(), "left out (--ignore)");
    assert_eq!(e.n_inputs(), 1);
}

#[test]
fn what_cannot_be_learnt_is_refused() {
    let t = line_table();
    let fit_as = |t: &Table, target: &str, task: Option<Task>, ignore: &[&str], rows: usize| {
        let ignore: Vec<String> = ignore.iter().map(|s| s.to_string()).collect();
        message(Encoder::fit(t, target, task, &ignore, Missing::Error, &(0..rows).collect::<Vec<_>>()))
    };
    assert!(fit_as(&t, "y", None, &[], 1).contains("1 row to train on; allowed: at least 6; add rows"));
    let m = fit_as(&t, "y", None, &["x"], 12);
    assert!(m.contains("no input is left ('x' left out (--ignore))"), "{m}");
    assert!(fit_as(&t, "y", None, &["y"], 12).contains("is the target and ignored"));
    assert!(fit_as(&t, "y", Some(Task::Classification), &[], 12).contains("--task regression"));
    let with = |column: Column| table(vec![number("x", (0..12).map(f64::from)), column]);
    assert!(fit_as(&with(number("y", [3.0; 12])), "y", None, &[], 12).contains("the same value in all 12"));
    assert!(fit_as(&with(number("y", [1.0; 12])), "y", None, &[], 12).contains("only one class"));
    let words = with(text("y", &["a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "a", "b"]));
    assert!(fit_as(&words, "y", Some(Task::Regression), &[], 12).contains("line 2, column 'y': the text 'a'"));
    let ids: Vec<String> = (0..301).map(|i| format!("id{i}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let many = table(vec![text("key", &ids), number("y", (0..301).map(|i| f64::from(i) * 0.5))]);
    assert!(fit_as(&many, "y", None, &[], 301).contains("column 'key': text with 301 levels; allowed: up to 300"));
    assert!(fit_as(&many, "key", None, &[], 301).contains("301 classes in 301 training rows"));
}

/// Two numbers and a text of three levels, no cell missing.
fn plain() -> Encoder {
    let words: Vec<&str> = (0..12).map(|i| ["a", "b", "c"][i % 3]).collect();
    let mut t = line_table();
    // Numbers that rise with the rows would be taken for their count.
    t.columns[0] = number("x", (0..12).map(|i| f64::from(i % 7)));
    t.columns.insert(1, number("z", (0..12).map(|i| f64::from(i % 4))));
    t.columns.insert(2, text("c", &words));
    Encoder::learn_all(&t, &["y".to_string()], None, &Default::default(), &(0..12).collect::<Vec<_>>()).unwrap().0
}

#[test]
fn a_row_that_is_not_plain_is_told_apart_and_one_of_nothing_is_refused() {
    let e = Encoder { features: plain().features[..2].to_vec(), ..plain() };
    let (nan, all) = (f64::NAN, [1.0, 2.0, 3.0, 4.0]);
    let fresh = table(vec![number("x", [1.0, nan, 3.0, nan]), number("z", all)]);
    let usable = e.usable(&fresh, false).unwrap();
    let missing = "x: missing, the training mean is used".to_string();
    assert_eq!((usable.rows.len(), usable.odd), (4, vec![(1, missing.clone()), (3, missing)]));
    let fresh = table(vec![number("x", [1.0, nan, 3.0, nan]), number("z", [1.0, 2.0, 3.0, nan])]);
    let usable = e.usable(&fresh, false).unwrap();
    assert_eq!((&usable.rows[..], usable.odd.len()), (&[0, 1, 2][..], 1));
    assert_eq!(usable.refused, [(3, "no input could be read".to_string())]);
    // The row that is refused is not among the filled ones.
    assert_eq!(usable.notes.len(), 2);
    assert!(usable.notes[1].starts_with("the error bars of this row are likely too narrow"), "{:?}", usable.notes);
    assert!(usable.notes[0].starts_with("column 'x' has 1 missing cell, as none"), "{:?}", usable.notes);
    let m = message(e.usable(&table(vec![number("x", [nan]), number("z", [nan])]), false));
    assert!(m.contains("t.csv, line 2: no input could be read"), "{m}");
    // At most three columns are named.
    let five: Vec<Feature> = ["p", "q", "r", "s", "t", "x"]
        .iter()
        .map(|name| Feature { name: name.to_string(), kind: e.features[0].kind.clone() })
        .collect();
    let columns = five.iter().map(|f| number(&f.name, [if f.name == "x" { 1.0 } else { nan }])).collect();
    let usable = Encoder { features: five, ..e }.usable(&table(columns), false).unwrap();
    assert_eq!(usable.odd, [(0, "p, q, r: missing, the training mean is used; and 2 more columns".to_string())]);
}

#[test]
fn an_unreadable_cell_is_no_missing_one_and_a_ragged_line_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.csv");
    let plain_rows: String = (0..20).map(|i| format!("{},{i},a\n", i % 7)).collect();
    std::fs::write(&path, format!("x,z,c\n1,2,a\noops,2,b\n,3,Emperor\n1,2\n{plain_rows}")).unwrap();
    let kinds = vec![("x".to_string(), ColumnKind::Number), ("c".to_string(), ColumnKind::Text)];
    let fresh = read_table(&path, &ReadOptions { kinds, ..Default::default() }).unwrap();
    let usable = plain().usable(&fresh, false).unwrap();
    let odd = [
        (1, "x: 'oops' cannot be read as a number, the training mean is used"),
        (2, "x: missing, the training mean is used; c: 'Emperor' not in training"),
    ];
    assert_eq!(usable.odd, odd.map(|(row, said)| (row, said.to_string())));
    assert_eq!(usable.ragged, [(5, "2 cells where the header has 3".to_string())]);
    let notes = usable.notes.join("\n");
    assert!(notes.contains("column 'x' has 1 missing cell, as none was in training"), "{notes}");
    assert!(notes.contains("column 'x': 'oops' in line 3 is no number; the training mean is used"), "{notes}");
    let unseen = "column 'c' has 1 cell that training did not have: it counts as none of the levels";
    assert!(notes.contains(unseen), "{notes}");
}

#[test]
fn a_rare_level_is_not_said_to_be_unseen() {
    let kind = FeatureKind::Levels { levels: vec!["a".into(), "b".into()], unseen: Unseen::Other, embedded: false };
    let e = Encoder { features: vec![Feature { name: "c".into(), kind }], ..plain() };
    let usable = e.usable(&table(vec![text("c", &["a", "seldom", "new"])]), false).unwrap();
    let said = "column 'c': 2 cells are levels that are rare or not in training: they count as rare";
    assert_eq!(usable.notes, [said]);
    assert_eq!(usable.odd[0], (1, "c: 'seldom' rare or not in training".to_string()));
    let usable = e.usable(&table(vec![text("c", &["a", "new"])]), false).unwrap();
    let said = "column 'c': 1 cell is a level that is rare or not in training: it counts as rare";
    assert_eq!(usable.notes, [said]);
}

/// Levels, a number with holes and its mark, a date with its place in the year and its mark, a number.
#[test]
fn numbers_stand_among_other_inputs() {
    use super::feature::{Calendar, Scale};
    let texts = |names: [&str; 3]| names.map(String::from).to_vec();
    let trend = Scale { mean: 2000.0, sd: 5.0, min: 1990.0, max: 2010.0, robust: None };
    let date = Calendar { order: Default::default(), trend, year: true, week: false, day: false, flag: true };
    let kinds = [
        FeatureKind::Levels { levels: texts(["a", "b", "c"]), unseen: Unseen::Refuse, embedded: false },
        FeatureKind::Gappy { mean: 0.0, sd: 1.0, min: -1.0, max: 1.0, fill: 0.0, robust: None },
        FeatureKind::Date(date),
        FeatureKind::Numeric { mean: 0.0, sd: 1.0, min: -1.0, max: 1.0, robust: None },
        FeatureKind::Switch { no: "no".into(), yes: "yes".into(), share: 0.5, flag: false },
    ];
    let features = kinds.map(|kind| Feature { name: "x".into(), kind }).to_vec();
    let encoder = Encoder { features, ..plain() };
    assert_eq!((encoder.n_inputs(), encoder.number_inputs()), (11, vec![3, 5, 9]));
}

/// Of 0, 1, .. 8 and 1000: median 4.5, quartiles 2.25 and 6.75. A missing cell takes the median, in the file's own units that of
/// the whole range; the test row's number and what is not known to training move nothing.
#[test]
fn robust_scaling_takes_medians() {
    let values = |last: f64| (0..9).map(f64::from).chain([1000.0, last]);
    let other = || number("u", (0..11).map(|i| f64::from(i * i % 5)));
    let t = |last: f64| table(vec![number("x", values(last)), other(), number("y", (0..11).map(|i| f64::from(i % 4)))]);
    let rows: Vec<usize> = (0..10).collect();
    let rules = meaning::Rules { scaling: crate::recipe::Scaling::Robust, ..Default::default() };
    let learn = |last: f64| Encoder::learn(&t(last), "y", Some(Task::Regression), &rules, &rows).unwrap().0;
    let mut e = learn(7.0);
    assert_eq!(e, learn(-1e9));
    let robust = Some(Robust { median: 4.5, width: 4.5 });
    assert_eq!(e.features[0].kind.scale().unwrap().robust, robust);
    assert_eq!(e.features[0].kind.became(), "number, scaled by median and quartiles");
    let new = table(vec![number("x", [9.0, f64::NAN, 1e300]), number("u", [1.0; 3])]);
    let x = e.encode(&new, &[0, 1, 2], false).unwrap().x;
    assert_eq!((x[2], x[4]), (0.0, 3.0));
    assert!((f64::from(x[0]) - 1.0 / (1.0f64 + 1.0 / 9.0).sqrt()).abs() < 1e-7);
    let usable = e.usable(&new, false).unwrap();
    assert!(usable.notes.join("\n").contains("the training median is used"), "{:?}", usable.notes);
    let infinite = e.usable(&table(vec![number("x", [9.0, f64::INFINITY]), number("u", [1.0; 2])]), false).unwrap();
    assert_eq!((infinite.rows, infinite.refused.len()), (vec![0], 1));
    e.features[0].kind.unstandardise();
    assert_eq!(e.encode(&new, &[0], false).unwrap().x[0], 9.0);

    let mut gaps = t(7.0);
    gaps.columns[0] = number("x", values(7.0).map(|v| if v == 8.0 { f64::NAN } else { v }));
    let e = Encoder::learn(&gaps, "y", Some(Task::Regression), &rules, &rows).unwrap().0;
    let FeatureKind::Gappy { fill, robust: Some(Robust { median, .. }), .. } = e.features[0].kind else {
        panic!("gaps")
    };
    assert_eq!((fill, median), (4.0, 4.0));
    assert_eq!(e.encode(&gaps, &[8], false).unwrap().x[..2], [0.0, 1.0]);

    // Dates: the trend alone is scaled so.
    let days: Vec<String> = (0..11).map(|i| format!("20{:02}-0{}-{:02}", 10 + i, 1 + i % 9, 1 + 2 * i)).collect();
    let dated = table(vec![text("d", &days.iter().map(String::as_str).collect::<Vec<_>>()), number("y", values(7.0))]);
    let e = Encoder::learn(&dated, "y", Some(Task::Regression), &rules, &rows).unwrap().0;
    let FeatureKind::Date(Calendar { trend: Scale { robust: Some(robust), .. }, .. }) = e.features[0].kind else {
        panic!("a date")
    };
    assert!((robust.median - 2015.0).abs() < 1.0 && (robust.width - 4.8).abs() < 0.5, "{robust:?}");
    let x = e.encode(&dated, &rows, false).unwrap().x;
    assert!(x.iter().all(|v| v.abs() < 3.0));
}
