//! Tests of the preflight report.

use super::*;
use crate::data::table::{ReadOptions, read_table};

fn table_of(text: &str) -> Table {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let mut table = read_table(&path, &ReadOptions::default()).unwrap();
    table.path = "my data.csv".into();
    table
}

/// 150 rows: id 1..150, a key of 150 texts, a constant, a colour, x with one gap and one far value, class 0..2.
fn messy() -> Table {
    let mut text = String::from("id,key,same,colour,x,class\n");
    for i in 1..=150 {
        let x = match i {
            7 => String::new(),
            9 => "1e6".into(),
            _ => format!("{}.5", i % 7),
        };
        text += &format!("{i},k{i},1,{},{x},{}\n", ["red", "blue"][i % 2], if i == 150 { 2 } else { i % 2 });
    }
    table_of(&text)
}

#[test]
fn each_oddity_is_noted() {
    let report = inspect(&messy(), None, None, &Rules::default()).unwrap();
    assert_eq!((report.rows, report.target.as_str(), report.task), (150, "class", Task::Classification));
    let notes = |i: usize| report.columns[i].notes.join("; ");
    let became: Vec<&str> = report.columns.iter().map(|c| c.became.as_str()).collect();
    assert_eq!(became[0], "left out: counts the rows");
    assert!(became[1].starts_with("left out: an identifier or free text"), "{}", became[1]);
    assert_eq!(became[2], "left out: constant in the training rows (1)");
    assert_eq!(became[3], "text, an input for each of 2 levels");
    assert!(became[4].starts_with("number, the mean where it is missing, and an input"), "{}", became[4]);
    assert!(notes(4).contains("heavy skew"), "{}", notes(4));
    assert_eq!((report.columns[4].missing, report.columns[4].distinct), (1, 8));
    assert_eq!(report.columns[1].role, Role::Unusable);
    assert_eq!(report.columns[3].levels[0], LevelCount { level: "blue".into(), count: 75 });
    let counts: Vec<usize> = report.classes.iter().map(|c| c.count).collect();
    assert_eq!(counts, [74, 75, 1]);
    let all = report.warnings.join("\n");
    assert!(all.contains("class '2' has only 1 row"), "{all}");
    let far = "column 'x' holds 1000000 in line 10, far from all else (the middle half lies between 1.5 and 5.5): mend the cell \
               if it is wrong, or use --scaling robust";
    assert!(all.contains(far), "{all}");
    assert_eq!(report.command, "vifo fit 'my data.csv' --target class --task classification");
    let plan = report.plan.join("\n");
    assert!(plan.contains("one of 3 classes") && plan.contains("Leave out 'id', 'key', 'same'."), "{plan}");
    assert!(plan.contains("Use 4 inputs from 2 columns."), "{plan}");
}

#[test]
fn the_text_keeps_to_100_columns_and_the_json_holds_all() {
    let report = inspect(&messy(), Some("x"), None, &Rules { ignore: &["key".into()], ..Rules::default() }).unwrap();
    assert_eq!(report.task, Task::Regression);
    let text = report.to_string();
    let is_command = |line: &str| line.trim_start().starts_with("vifo fit");
    for line in text.lines().filter(|line| !is_command(line)) {
        assert!(line.chars().count() <= 100, "{line}");
        assert_eq!(line.trim_end(), line);
    }
    for part in [
        "150 rows, 6 columns",
        "colour",
        "What the command below would do",
        "What each column becomes (of all rows; fit learns levels from its training rows alone)",
        "left out: counts the rows",
        "Leave out 1 of 150 rows without a target",
    ] {
        assert!(text.contains(part), "{part} not in\n{text}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["columns"].as_array().unwrap().len(), 6);
    assert_eq!((json["task"].as_str(), json["columns"][4]["role"].as_str()), (Some("regression"), Some("target")));
}

#[test]
fn many_columns_that_leak_the_target_share_a_line() {
    let row = |i: usize| (0..6).map(|k| format!("{}", (k + 1) * (i * i % 31))).collect::<Vec<_>>().join(",") + "\n";
    let table = table_of(&format!("a,b,c,d,e,y\n{}", (0..40).map(row).collect::<String>()));
    let warnings = inspect(&table, None, Some(Task::Regression), &Rules::default()).unwrap().warnings;
    let said: Vec<&Sentence> = warnings.iter().filter(|w| w.contains("almost determine")).collect();
    assert_eq!(said.len(), 1, "{warnings:?}");
    assert!(said[0].starts_with("columns 'a', 'b', 'c' and 2 more almost determine the target"), "{}", *said[0]);
}

/// Written as text or as eight digits.
#[test]
fn a_column_of_dates_is_one() {
    let row = |i: usize| format!("2024-03-{:02},202404{:02},{}.5\n", 28 - i, 1 + i, i * i % 17);
    let table = table_of(&format!("d,n,y\n{}", (0..20).map(row).collect::<String>()));
    let report = inspect(&table, None, None, &Rules::default()).unwrap();
    let of = |i: usize| (report.columns[i].kind, report.columns[i].dates.as_ref().map(|d| (&d.min[..], &d.max[..])));
    assert_eq!(of(0), (ColumnKind::Date, Some(("2024-03-09", "2024-03-28"))));
    assert_eq!(of(1), (ColumnKind::Date, Some(("20240401", "20240420"))));
    assert_eq!(of(2), (ColumnKind::Number, None));
    let text = report.to_string();
    assert!(text.contains("date         0       20 2024-03-09            2024-03-28\n"), "{text}");
}

#[test]
fn what_fit_would_refuse_is_said_and_not_returned() {
    let report = inspect(&table_of("a,b\n1,2\n2,3.5\n1,2\n"), None, None, &Rules::default()).unwrap();
    assert!(report.stops && report.plan[0].contains("at least 6;"), "{:?}", report.plan);
    let text = report.to_string();
    assert!(text.contains("\nA fit of this table would stop:\n") && !text.contains("would do"), "{text}");
    assert!(!text.contains("vifo fit"), "no command that stops: {text}");
    assert_eq!(inspect(&messy(), Some("clas"), None, &Rules::default()).unwrap_err().exit_code(), 2);
}

#[test]
fn the_command_repeats_how_the_file_was_read() {
    let mut table = messy();
    table.options = ReadOptions {
        delimiter: Some(b'\t'),
        header: Some(false),
        skip_lines: 2,
        text_columns: vec!["a b".into()],
        ..ReadOptions::default()
    };
    let command = inspect(&table, None, None, &Rules::default()).unwrap().command;
    let end = format!("--delimiter tab --header no --skip-lines 2 --text-column {}", shell("a b"));
    assert!(command.ends_with(&end), "{command}");
}

/// As a set counts them, of few numbers and of many, repeated and not.
#[test]
fn distinct_numbers_are_counted() {
    let mut rng = crate::base::rng::SplitMix64::new(4);
    for (n, most) in [(0, 1), (1, 1), (10, 3), (5000, 40), (50_000, 1 << 40)] {
        let mut known: Vec<f64> = (0..n).map(|_| (rng.next_u64() % most) as f64 / 8.0).collect();
        known.iter_mut().step_by(2).for_each(|v| *v = -*v);
        let set: std::collections::HashSet<u64> = known.iter().map(|v| (v + 0.0).to_bits()).collect();
        assert_eq!(distinct(&known), set.len());
    }
    assert_eq!(distinct(&[0.0, -0.0, 1.0]), 2);
}
