//! `vifo theory`: the three theorems as a stranger meets them: a table on stdout, a figure in the folder, exit code 0.

use assert_cmd::Command;
use std::path::Path;
use std::time::Duration;

/// Runs `vifo theory ...` in `dir` and gives its stdout.
fn theory(dir: &Path, args: &str) -> String {
    let mut c = Command::cargo_bin("vifo").unwrap();
    c.current_dir(dir).timeout(Duration::from_secs(120)).env("NODEVICE_SELECT", "1");
    let out = c.arg("theory").args(args.split_whitespace()).assert().success().get_output().clone();
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
    String::from_utf8(out.stdout).unwrap()
}

/// The figure is there, in three forms; gives its numbers.
fn numbers(dir: &Path, stem: &str) -> Vec<Vec<String>> {
    assert!(std::fs::read(dir.join(stem).with_extension("png")).unwrap().starts_with(b"\x89PNG"));
    assert!(std::fs::read_to_string(dir.join(stem).with_extension("svg")).unwrap().contains("<svg"));
    let mut csv = csv::Reader::from_path(dir.join(stem).with_extension("csv")).unwrap();
    csv.records().map(|r| r.unwrap().iter().map(String::from).collect()).collect()
}

/// y of the rows of the series whose name begins with `name`.
fn series(rows: &[Vec<String>], name: &str) -> Vec<f64> {
    let y: Vec<f64> = rows.iter().filter(|r| r[0].starts_with(name)).map(|r| r[2].parse().unwrap()).collect();
    assert!(!y.is_empty(), "no series {name}");
    y
}

#[test]
fn linear_shows_the_constant() {
    let dir = tempfile::tempdir().unwrap();
    let text = theory(dir.path(), "linear");
    assert!(
        text.contains("Theorem 3.1") && text.contains("17.500000000") && text.contains("theory/linear.png"),
        "{text}"
    );
    let rows = numbers(&dir.path().join("theory"), "linear");
    // A column of a figure's CSV holds what is needed to tell its numbers apart; 1e-6 is far below what it shows.
    assert!(series(&rows, "40 rows").iter().all(|d| (d - 17.5).abs() < 1e-6));
    let short = series(&rows, "3 rows");
    assert!(short.iter().any(|d| (d - short[0]).abs() > 0.1));
}

#[test]
fn limit_shows_both_sides() {
    let dir = tempfile::tempdir().unwrap();
    let text = theory(dir.path(), "limit --out here --seed 7");
    assert!(text.contains("Theorem 3.2") && text.contains("here/limit.png"), "{text}");
    let rows = numbers(&dir.path().join("here"), "limit");
    let (mean, single) = (series(&rows, "E[z](x), closed"), series(&rows, "best single"));
    // u ~ N(0.5, 1): E relu(u) = 0.5 Phi(0.5) + phi(0.5) = 0.6978, E relu(-u) = 0.1978; three times that at +-3.
    assert!((mean[0] - 0.5934).abs() < 1e-3 && (mean[mean.len() - 1] - 2.0934).abs() < 1e-3, "{mean:?}");
    assert_eq!(single[0], 0.0);
}

#[test]
fn rademacher_shows_the_bound() {
    let dir = tempfile::tempdir().unwrap();
    let text = theory(dir.path(), "rademacher --seed 3");
    assert!(text.contains("from below") && text.contains("rademacher.png"), "{text}");
    let rows = numbers(&dir.path().join("theory"), "rademacher");
    let (loss, bound) = (series(&rows, "loss"), series(&rows, "bound"));
    assert_eq!(loss.len(), 6);
    assert!(loss.iter().zip(&bound).all(|(l, b)| 0.0 < *l && l < b));
    assert_eq!(text, theory(dir.path(), "rademacher --seed 3"), "the same seed gives the same numbers");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    for (args, code, part) in
        [("linear --out file", 1, "file"), ("limit --seed x", 2, "--seed"), ("cubic", 2, "cubic"), ("limit 3", 2, "3")]
    {
        let mut c = Command::cargo_bin("vifo").unwrap();
        let out = c.current_dir(dir.path()).arg("theory").args(args.split_whitespace()).output().unwrap();
        let err = String::from_utf8_lossy(&out.stderr).to_string();
        assert_eq!(out.status.code(), Some(code), "{args}: {err}");
        assert!(err.starts_with("error: ") && err.lines().count() == 1 && err.contains(part), "{args}: {err}");
    }
}
