//! A text of many levels, as a user meets it: one input, looked up in a trained table.

use std::path::Path;
use std::process::Command;

/// What it says, if it ends with `code`.
#[track_caller]
fn vifo(dir: &Path, args: &str, code: i32) -> String {
    let mut vifo = Command::new(env!("CARGO_BIN_EXE_vifo"));
    let out =
        vifo.current_dir(dir).env("NODEVICE_SELECT", "1").args(args.split(' ')).output().expect("the binary runs");
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(out.status.code(), Some(code), "vifo {args}: {said}");
    said
}

/// 400 rows; k has 30 levels and some of its own.
fn table(d: &Path) {
    let row = |i: usize| {
        let level = if i % 11 == 5 { format!("own{i}") } else { format!("k{}", i * 7 % 30) };
        format!("{:.3},{level},{:.3}\n", (i as f64 * 0.37).sin(), (i * 7 % 30) as f64 + 0.1 * (i as f64 * 1.9).cos())
    };
    std::fs::write(d.join("t.csv"), "a,k,y\n".to_string() + &(0..400).map(row).collect::<String>()).expect("written");
}

#[test]
fn a_text_of_many_levels_is_one_input() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    table(d);
    let said = vifo(d, "fit t.csv --target y --embed-above 10 --epochs 60 --members 2 --device cpu --out run", 0);
    assert!(
        said.contains("column 'k': text, a row of a trained table for each of 30 levels, one for all rarer ones"),
        "{said}"
    );
    assert!(said.contains("the baselines see the levels of k as their plain numbers"), "{said}");
    std::fs::write(d.join("new.csv"), "a,k\n0.5,k3\n0.5,elsewhere\n0.5,\n").expect("written");
    let said = vifo(d, "predict run new.csv --explain --out p.csv --device cpu", 0);
    assert!(
        said.contains("column 'k': 1 cell is a level that is rare or not in training: it counts as rare"),
        "{said}"
    );
    let importance = std::fs::read_to_string(d.join("run/importance.csv")).expect("importance");
    assert!(importance.lines().nth(1).is_some_and(|first| first.starts_with("k,")), "{importance}");
    let rows = std::fs::read_to_string(d.join("p.csv")).expect("predictions");
    let mean: Vec<&str> = rows.lines().skip(1).map(|l| l.split(',').nth(1).expect("a mean")).collect();
    assert_eq!(mean.len(), 3, "{rows}");
    // A missing cell, of which training had none, is as a rare level.
    assert!(mean[0] != mean[1] && mean[1] == mean[2], "{rows}");
    let inspected = vifo(d, "inspect t.csv --target y --embed-above 10", 0);
    assert!(inspected.contains("2 inputs") && inspected.contains("--embed-above 10"), "{inspected}");
    assert!(vifo(d, "fit t.csv --target y --embed-above 0", 2).contains("embed_above"));
}
