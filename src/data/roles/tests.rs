//! Split and weights of a table read from a file, as a recipe asks for them.

use crate::data::Ids;
use crate::data::load::{Loaded, load};
use crate::error::Result;
use crate::recipe::{Recipe, keys};
use std::collections::HashSet;
use std::path::Path;

/// 120 rows on 40 days, three per day in no order, of 24 patients; `weight` is the patient's number. Line 2 is the first row.
fn table(dir: &Path) -> Vec<(String, usize)> {
    let mut text = String::from("patient,day,weight,a,y\n");
    let mut rows = vec![];
    for i in 0..120 {
        let (patient, day) = (i % 24, (i * 7) % 40);
        let date = format!("2024-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
        let a = (i as f64 * 0.7).sin();
        text += &format!("p{patient},{date},{patient},{a},{}\n", 2.0 * a + 0.1 * (i as f64 * 3.1).cos());
        rows.push((date, patient));
    }
    std::fs::write(dir.join("t.csv"), text).expect("written");
    rows
}

fn loaded(dir: &Path, sets: &[(&str, &str)]) -> Result<Loaded> {
    let file = dir.join("t.csv");
    let mut t = toml::Table::new();
    keys::set(&mut t, "data.file", &format!("{:?}", file.display().to_string()), "t")?;
    for (key, value) in sets {
        keys::set(&mut t, key, value, "t")?;
    }
    load(&Recipe::from_table(&t, "t")?)
}

fn places(ids: &Ids) -> Vec<usize> {
    ids.iter().map(|id| id.parse::<usize>().expect("a line") - 2).collect()
}

#[test]
fn a_group_stays_in_one_part_and_is_no_input() {
    let dir = tempfile::tempdir().expect("a folder");
    let rows = table(dir.path());
    let sets = [("data.group", "patient"), ("data.ignore", "[\"day\", \"weight\"]")];
    let data = loaded(dir.path(), &sets).expect("data");
    let of = |ids: &Ids| places(ids).into_iter().map(|i| rows[i].1).collect::<HashSet<_>>();
    let (train, validation, test) = (of(&data.train.ids), of(&data.validation.ids), of(&data.test.ids));
    assert!(train.is_disjoint(&validation) && train.is_disjoint(&test) && validation.is_disjoint(&test));
    assert_eq!(
        (data.validation.n, data.test.n),
        (15, 10),
        "three and two patients of five rows: of 24, nearest to 96, 12 and 12"
    );
    assert_eq!(data.encoder.features.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a"]);
    let said = data.notes.join("\n");
    assert!(
        said.contains("split by 'patient': groups that train 19 (95 rows), validate 3 (15 rows), test 2 (10 rows)"),
        "{said}"
    );
    assert!(said.contains("'patient': left out: its rows of one value stay in one part"), "{said}");
    let kept = loaded(dir.path(), &[&sets[..], &[("data.keep", "[\"patient\"]")]].concat()).expect("data");
    assert_eq!(kept.encoder.features.len(), 2);
    assert_eq!(kept.test.ids, data.test.ids);
}

#[test]
fn the_future_is_tested_and_said() {
    let dir = tempfile::tempdir().expect("a folder");
    let rows = table(dir.path());
    let data = loaded(dir.path(), &[("data.time", "day"), ("data.ignore", "[\"patient\"]")]).expect("data");
    // Four days of three rows each are a tenth: days 36 to 39 test, 32 to 35 validate.
    let days = |ids: &Ids| {
        let mut days: Vec<String> = places(ids).into_iter().map(|i| rows[i].0.clone()).collect();
        days.sort_unstable();
        days
    };
    let (train, validation, test) = (days(&data.train.ids), days(&data.validation.ids), days(&data.test.ids));
    assert_eq!((train.len(), validation.len(), test.len()), (96, 12, 12));
    assert_eq!(
        (test[0].as_str(), validation[0].as_str(), train[95].as_str()),
        ("2024-02-09", "2024-02-05", "2024-02-04")
    );
    let said = data.notes.join("\n");
    assert!(
        said.contains(
            "split by 'day': test rows are those from 2024-02-09 on, validation rows are those from 2024-02-05 on"
        ),
        "{said}"
    );
    assert!(data.encoder.features.iter().all(|f| f.name != "day"));
    assert!(said.contains("column 'day': left out: it orders the split (--keep day makes it an input)"), "{said}");
}

#[test]
fn weights_are_in_units_of_the_training_mean() {
    let dir = tempfile::tempdir().expect("a folder");
    let rows = table(dir.path());
    let data =
        loaded(dir.path(), &[("data.weight", "weight"), ("data.ignore", "[\"patient\", \"day\"]")]).expect("data");
    let mean = places(&data.train.ids).iter().map(|&i| rows[i].1 as f64).sum::<f64>() / data.train.n as f64;
    for part in [&data.train, &data.validation, &data.test] {
        for (i, w) in places(&part.ids).into_iter().zip(&part.weights) {
            assert_eq!(*w, (rows[i].1 as f64 / mean) as f32);
        }
        assert_eq!(part.weights.len(), part.n);
    }
    assert_eq!(data.encoder.features.len(), 1);
    assert!(data.notes.join("\n").contains("rows weigh by 'weight' (0 to "), "{:?}", data.notes);
    let test = data.test.subset(&[1]);
    assert_eq!(test.weights, [data.test.weights[1]]);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let dir = tempfile::tempdir().expect("a folder");
    table(dir.path());
    let refused = |sets: &[(&str, &str)]| {
        let said = loaded(dir.path(), sets).expect_err("a refusal").to_string();
        assert!(!said.contains('\n'), "{said}");
        said
    };
    assert!(refused(&[("data.group", "pateint")]).contains("did you mean 'patient'?"));
    assert!(refused(&[("data.group", "y")]).contains("data.group: column 'y' is the target"));
    assert!(refused(&[("data.group", "patient"), ("data.time", "day")]).contains("data.group is set, too"));
    assert!(refused(&[("data.weight", "day")]).contains("column 'day': the weight '2024-"));
    assert!(refused(&[("data.time", "patient")]).contains("column 'patient': 'p0'; allowed: numbers or dates"));
    assert!(refused(&[("data.group", "patient"), ("data.weight", "patient")]).contains("is data.group already"));
    std::fs::write(dir.path().join("t.csv"), "g,a,y\n".to_string() + &"A,1,2\nB,2,1\n".repeat(20)).expect("written");
    let said = refused(&[("data.group", "g")]);
    assert!(said.starts_with("data.group, column 'g': 2 groups; allowed: at least 3"), "{said}");
    std::fs::write(dir.path().join("t.csv"), "w,a,y\n".to_string() + &"0,1,2\n0,2,1\n".repeat(20)).expect("written");
    assert!(refused(&[("data.weight", "w")]).contains("all training rows weigh 0"));
}

#[test]
fn rows_without_a_moment_are_left_out_and_those_without_a_group_are_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut text = String::from("g,t,a,y\n");
    for i in 0..60 {
        let g = if i % 6 == 0 { String::new() } else { format!("g{}", i % 6) };
        let t = if i % 10 == 0 { String::new() } else { i.to_string() };
        text += &format!("{g},{t},{},{}\n", (i * 7) % 11, i % 4);
    }
    std::fs::write(dir.path().join("t.csv"), text).expect("written");
    let base = [("data.task", "regression"), ("data.missing", "drop")];
    let data =
        loaded(dir.path(), &[&base[..], &[("data.time", "t"), ("data.ignore", "[\"g\"]")]].concat()).expect("data");
    assert_eq!(data.train.n + data.validation.n + data.test.n, 54);
    assert!(data.notes.join("\n").contains("6 rows left out: without a value of 't'"), "{:?}", data.notes);
    let data =
        loaded(dir.path(), &[&base[..], &[("data.group", "g"), ("data.ignore", "[\"t\"]")]].concat()).expect("data");
    assert_eq!(data.train.n + data.validation.n + data.test.n, 60);
    assert!(
        data.notes.join("\n").contains("10 rows without a value of 'g' are taken for one group"),
        "{:?}",
        data.notes
    );
    let without: HashSet<bool> = [&data.train, &data.validation, &data.test]
        .iter()
        .enumerate()
        .flat_map(|(p, d)| places(&d.ids).into_iter().filter(|i| i % 6 == 0).map(move |_| p == 0))
        .collect();
    assert_eq!(without.len(), 1, "they are in one part");
}

#[test]
fn moments_sort_as_time_does() {
    use super::moment;
    use crate::data::table::calendar::Order;
    // Seconds by Python's datetime(..., tzinfo=utc).timestamp().
    for (text, seconds) in [
        ("1970-01-01", 0.0),
        ("2024-03-01", 1_709_251_200.0),
        ("2024-02-29T12:30:05.5Z", 1_709_209_805.5),
        ("2024-03-01 00:00+02:00", 1_709_244_000.0),
        ("2024-03-01 00:00:00-0330", 1_709_263_800.0),
        ("1900/03/01", -2_203_891_200.0),
        ("2000-02-29 23:59:59", 951_868_799.0),
        ("2024-03", 1_709_251_200.0),
        ("01.03.2024", 1_709_251_200.0),
        ("1 March 2024", 1_709_251_200.0),
        ("-12.5", -12.5),
    ] {
        assert_eq!(moment(text, Order::DayFirst), Some(seconds), "{text}");
    }
    for text in ["", "Monday", "2023-02-29", "2024-13-01", "2024-1-1-1", "2024-01-01T25:00", "nan", "1e999"] {
        assert_eq!(moment(text, Order::DayFirst), None, "{text}");
    }
}
