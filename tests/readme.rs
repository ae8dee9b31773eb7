//! The README's commands, as written, in a folder of their own, with the binary on the path and `assets` beside it. The
//! first block (build and test) is what CI itself runs.

use std::path::Path;
use std::process::Command;

fn blocks(text: &str) -> Vec<String> {
    text.split("```sh\n").skip(1).filter_map(|b| b.split("```").next()).map(String::from).collect()
}

#[test]
fn the_commands_work_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    let blocks = blocks(&readme);
    assert_eq!(blocks[0], "cargo run --release -- demo\ntests/run\n", "the first two code lines");
    assert!(std::fs::read_to_string(root.join(".ci/run")).expect(".ci/run").contains("tests/run"));
    let dir = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(root.join("assets"), dir.path().join("assets")).expect("a link");
    let bin = Path::new(env!("CARGO_BIN_EXE_vifo")).parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    for line in blocks[1..].iter().flat_map(|b| b.lines()) {
        let out =
            Command::new("sh").args(["-c", line]).current_dir(dir.path()).env("PATH", &path).output().expect("sh");
        assert!(out.status.success(), "{line}\n{}", String::from_utf8_lossy(&out.stderr));
        ran += 1;
    }
    assert!(ran >= 6, "only {ran} commands found");
}

/// FAULTS A11: the table of the demo is of this program's columns and methods.
#[test]
fn a11_the_demos_table_has_the_demos_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    let table =
        readme.split("<!-- demo -->\n").nth(1).and_then(|t| t.split("<!-- /demo -->").next()).expect("the marks");
    let cells = |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().to_string()).collect::<Vec<_>>();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(cells(lines[0]), vifo::run::demo::COLUMNS, "docs/make makes the table again");
    let titles: Vec<String> = lines[2..].iter().map(|l| cells(l)[0].clone()).collect();
    assert_eq!(titles, vifo::run::demo::titles(), "docs/make makes the table again");
}

#[test]
fn every_picture_and_every_verb_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    for link in readme.split("](").skip(1).filter_map(|l| l.split(')').next()).filter(|l| !l.contains("://")) {
        assert!(root.join(link).is_file(), "{link}");
    }
    let help = Command::new(env!("CARGO_BIN_EXE_vifo")).arg("--help").output().expect("runs");
    let help = String::from_utf8_lossy(&help.stdout).to_string();
    for verb in [
        "demo",
        "fit",
        "predict",
        "evaluate",
        "score",
        "calibrate",
        "compare",
        "sweep",
        "theory",
        "export",
        "reproduce",
        "inspect",
        "bench",
        "doctor",
        "app",
    ] {
        assert!(readme.contains(&format!("| `{verb}` |")) && help.contains(verb), "{verb}");
    }
}
