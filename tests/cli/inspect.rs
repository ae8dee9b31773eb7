//! `vifo inspect` as a user runs it.

use assert_cmd::Command;
use std::path::Path;

fn vifo(dir: &Path) -> Command {
    let mut c = Command::cargo_bin("vifo").unwrap();
    c.current_dir(dir);
    c
}

fn stdout(mut c: Command) -> String {
    let out = c.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// 40 rows: a number, a text of three levels, a constant, and a class.
fn table(dir: &Path) {
    let row = |i: usize| format!("{},{},7,{}\n", i as f64 * 0.5, ["red", "green", "blue"][i % 3], ["no", "yes"][i % 2]);
    let text: String = std::iter::once("size,colour,fixed,bought\n".to_string()).chain((0..40).map(row)).collect();
    std::fs::write(dir.join("shop.csv"), text).unwrap();
}

#[test]
fn the_report_names_columns_roles_and_the_command_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path());
    let mut c = vifo(dir.path());
    c.args(["inspect", "shop.csv"]);
    let text = stdout(c);
    for part in
        ["40 rows, 4 columns", "size", "colour", "constant", "vifo fit shop.csv --target bought --task classification"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
}

#[test]
fn json_is_one_line_with_the_same_facts() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path());
    let mut c = vifo(dir.path());
    c.args(["inspect", "shop.csv", "--json", "--target", "size", "--ignore", "fixed"]);
    let text = stdout(c);
    assert_eq!(text.lines().count(), 1);
    let v: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (v["rows"].as_u64(), v["target"].as_str(), v["task"].as_str()),
        (Some(40), Some("size"), Some("regression"))
    );
    assert_eq!(v["columns"][2]["role"], "ignored");
    // 0, 0.5, ..., 19.5.
    assert_eq!(v["columns"][0]["numbers"]["mean"], 9.75);
}

#[test]
fn flags_say_how_to_read() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..20).map(|i| format!("{i};{}\n", i * i)).collect();
    std::fs::write(dir.path().join("t.txt"), format!("a note\n{rows}")).unwrap();
    let mut c = vifo(dir.path());
    c.args([
        "inspect",
        "t.txt",
        "--skip-lines",
        "1",
        "--header",
        "no",
        "--delimiter",
        ";",
        "--task",
        "regression",
        "--json",
    ]);
    let v: serde_json::Value = serde_json::from_str(&stdout(c)).unwrap();
    assert_eq!(
        (v["rows"].as_u64(), v["header"].as_bool(), v["delimiter"].as_str()),
        (Some(20), Some(false), Some("semicolon"))
    );
}

#[test]
fn a_target_file_stands_beside_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let column = |name: &str, f: fn(usize) -> usize| {
        std::iter::once(name.to_string()).chain((0..20).map(|i| f(i).to_string())).collect::<Vec<_>>().join("\n") + "\n"
    };
    std::fs::write(dir.path().join("x.csv"), column("a", |i| i * 3 % 17)).unwrap();
    std::fs::write(dir.path().join("y.csv"), column("b", |i| i * i)).unwrap();
    let mut c = vifo(dir.path());
    c.args(["inspect", "x.csv", "--target-file", "y.csv", "--json"]);
    let v: serde_json::Value = serde_json::from_str(&stdout(c)).unwrap();
    assert_eq!((v["target"].as_str(), v["columns"].as_array().map(Vec::len)), (Some("b"), Some(2)));
}
