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

#[test]
fn each_line_of_new_rows_has_its_row_and_says_what_is_not_plain() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path();
    let row =
        |i: usize| format!("{},{},{},{}.5\n", i % 7, i % 5, ["Adelie", "Gentoo", "Chinstrap"][i % 3], i % 7 + i % 5);
    std::fs::write(d.join("t.csv"), format!("a,b,species,y\n{}", (0..60).map(row).collect::<String>()))
        .expect("written");
    ok(d, &format!("fit t.csv --target y --task regression --ignore species --out numbers -q {FAST}"));
    ok(d, &format!("fit t.csv --target y --task regression --out run -q {FAST}"));
    let plain: String = (0..90).map(|i| format!("{},{},Adelie\n", i % 7, i % 5)).collect();
    let odd = "1,2,Gentoo\n1,oops,Gentoo\n1,2,Emperor\n100,2,Gentoo\nx,inf,Gentoo\n1,2\n,3,Gentoo\n";
    std::fs::write(d.join("new.csv"), format!("a,b,species\n{odd}{plain}")).expect("written");
    let notes_of = |run: &str| {
        let (csv, said) = ok(d, &format!("predict {run} new.csv --out - --device cpu"));
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let header = reader.headers().expect("a header").clone();
        assert_eq!((header.get(0), header.iter().next_back()), (Some("line"), Some("note")));
        let rows: Vec<csv::StringRecord> = reader.records().map(|r| r.expect("a row")).collect();
        let lines: Vec<usize> = rows.iter().map(|r| r[0].parse().expect("a line")).collect();
        assert_eq!(lines, (2..99).collect::<Vec<usize>>());
        let last = |r: &csv::StringRecord| (r[1].to_string(), r[r.len() - 1].to_string());
        (rows.iter().map(last).collect::<Vec<(String, String)>>(), said)
    };
    let mean = "the training mean is used";
    let (rows, said) = notes_of("run");
    let want = [
        String::new(),
        format!("b: 'oops' cannot be read as a number, {mean}"),
        "species: 'Emperor' not in training".into(),
        "outside the training range of a".into(),
        format!("a: 'x' cannot be read as a number, {mean}; b: 'inf' cannot be read as a number, {mean}"),
        "2 cells where the header has 3".into(),
        format!("a: missing, {mean}"),
        String::new(),
    ];
    for ((_, note), want) in rows.iter().zip(&want) {
        assert_eq!(note, want);
    }
    assert!(rows[5].0.is_empty() && rows[4].0.parse::<f64>().is_ok(), "{rows:?}");
    assert!(
        said.contains("column 'b': 2 cells are no numbers, the first 'oops' in line 3; the training mean is used"),
        "{said}"
    );
    assert_eq!(said.matches("'oops'").count(), 1, "{said}");
    assert!(!said.contains("missing or"), "{said}");
    // Without the text nothing of line 6 can be read.
    let (rows, said) = notes_of("numbers");
    assert_eq!(rows[4], (String::new(), "no input could be read".into()));
    assert!(said.contains("the first is line 6: no input could be read"), "{said}");
}
