//! How the program reads tables, as a user sees it: standard input, headers of few rows, kinds of columns.

use std::path::Path;
use std::process::{Command, Output};

fn vifo(dir: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_vifo"));
    c.current_dir(dir).env("NODEVICE_SELECT", "1");
    c
}

fn run(dir: &Path, args: &str) -> Output {
    vifo(dir).args(args.split_whitespace()).output().expect("the binary runs")
}

/// Runs to success; returns stdout and stderr.
fn ok(dir: &Path, args: &str) -> (String, String) {
    let out = run(dir, args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    assert!(out.status.success(), "vifo {args}: {}", text(&out.stderr));
    (text(&out.stdout), text(&out.stderr))
}

const FAST: &str = "--device cpu --epochs 3 --members 1";

fn colours(dir: &Path) {
    let row = |i: usize| format!("{},{},{}\n", ["red", "green", "blue"][i % 3], ["big", "small"][i % 2], i % 3 + i % 2);
    let text: String = (0..60).map(row).collect();
    std::fs::write(dir.join("t.csv"), format!("colour,size,y\n{text}")).expect("written");
}

#[test]
fn b5_few_new_rows_of_text_keep_their_header() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    colours(d);
    ok(d, &format!("fit t.csv --task regression --out run -q {FAST}"));
    std::fs::write(d.join("new.csv"), "size,colour\nbig,red\nsmall,blue\n").expect("written");
    assert!(ok(d, "predict run new.csv").0.starts_with("2 predictions"));
    let lost = run(d, "predict run new.csv --header no");
    assert!(!lost.status.success() && String::from_utf8_lossy(&lost.stderr).contains("no column 'colour'"));
    let wrong = run(d, "predict run new.csv --header maybe");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn b16_standard_input_is_kept_for_evaluate_and_resume() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    colours(d);
    let stdin = || std::fs::File::open(d.join("t.csv")).expect("a file");
    let args = format!("fit - --task regression --out run {FAST}");
    let out = vifo(d).args(args.split_whitespace()).stdin(stdin()).output().expect("runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(std::fs::read(d.join("run/data.kept")).expect("kept"), std::fs::read(d.join("t.csv")).expect("read"));
    assert!(ok(d, "evaluate run").0.contains("rmse"));
    let out = vifo(d).args(["inspect", "-"]).stdin(stdin()).output().expect("runs");
    assert!(String::from_utf8_lossy(&out.stdout).contains("60 rows, 3 columns"));
    let out = vifo(d).args(["predict", "run", "-", "--out", "-"]).stdin(stdin()).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), 61);
}

#[test]
fn kinds_markers_and_strictness_are_flags() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let row = |i: usize| format!("{},{},{i}\n", if i == 7 { "oops".into() } else { format!("{i} kg") }, i % 4);
    let text: String = (0..30).map(row).collect();
    std::fs::write(d.join("t.csv"), format!("w,code,y\n{text}")).expect("written");
    let (shown, _) = ok(d, "inspect t.csv");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("unit 'kg' taken off") && shown.contains("'oops' in line 9"), "{shown}");
    let (recipe, _) =
        ok(d, "fit t.csv --dry-run --as code=text --as w=number --missing-marker oops --missing-marker -9 --strict");
    for part in ["as = [\"code=text\", \"w=number\"]", "missing_markers = [\"oops\", \"-9\"]", "strict = true"] {
        assert!(recipe.contains(part), "{part} in {recipe}");
    }
    let strict = run(d, "inspect t.csv --strict");
    assert!(strict.status.code() == Some(1) && String::from_utf8_lossy(&strict.stderr).contains("'oops'"));
    ok(d, "inspect t.csv --strict --missing-marker oops");
    let (json, _) = ok(d, "inspect t.csv --as code=text --json");
    assert!(json.contains("--as code=text"), "{json}");
}
