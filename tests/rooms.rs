//! Who may do what (the README's table of rooms): only `exec/gpu` names wgpu, only `gui` names egui, only `cli`, `gui` and
//! `main` print or use anyhow, only `run`, `data`, `config`, `figure`, `system`, `cli` and `gui` touch the
//! disk.

use std::path::{Path, PathBuf};

fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("src is readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// Code of a file without comments and without its test module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    text.lines().map(|l| l.split("//").next().unwrap_or(l)).collect::<Vec<_>>().join("\n")
}

/// Places that hold `word` outside `rooms` (paths below src, without the ending).
fn strangers(word: &str, rooms: &[&str]) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    sources(&src, &mut files);
    assert!(files.len() > 40, "the walk found only {} files", files.len());
    let mut out = vec![];
    for file in files {
        let name = file.strip_prefix(&src).expect("below src").to_string_lossy().replace(".rs", "");
        if name.ends_with("tests") || rooms.iter().any(|r| name.starts_with(r)) {
            continue;
        }
        if code(&std::fs::read_to_string(&file).expect("a source file")).contains(word) {
            out.push(format!("{name} holds {word}"));
        }
    }
    out
}

#[test]
fn every_room_keeps_to_its_work() {
    let disk = ["run/", "report/", "study/", "bench/", "data/", "recipe/", "figure/", "system/", "cli/", "gui/"];
    let rules: &[(&str, &[&str])] = &[
        ("wgpu::", &["exec/gpu/"]),
        ("egui", &["gui/"]),
        ("eframe", &["gui/"]),
        ("println!", &["cli/", "gui/", "main"]),
        ("eprintln!", &["cli/", "gui/", "main"]),
        ("print!(", &["cli/", "gui/", "main"]),
        ("anyhow", &["cli/", "gui/", "main"]),
        ("std::fs", &disk),
        ("File::", &disk),
        ("dbg!", &[]),
        ("todo!", &[]),
        ("unimplemented!", &[]),
    ];
    let found: Vec<String> = rules.iter().flat_map(|(word, rooms)| strangers(word, rooms)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_walk_can_find_a_stranger() {
    assert!(!strangers("pub fn", &[]).is_empty());
    assert!(!strangers("wgpu::", &["nowhere/"]).is_empty());
}
