//! Nothing outside `method` asks which method it has: no name of a method stands there as a text, and nothing is matched on
//! a method's name.

use std::path::{Path, PathBuf};
use vifo::method::METHODS;

/// Rooms whose texts are other things that bear the same names.
const OTHERS: &[(&str, &[&str], &str)] = &[
    ("study/reproduce/uci/methods", &[], "the paper's names and ours"),
    ("study/reproduce/mapping", &[], "the paper's names and ours"),
    ("study/reproduce/plan", &["swa"], "a schedule"),
    (
        "recipe/",
        &["swa", "swag", "repulsive", "laplace", "vbll", "vifo-mean", "dropout"],
        "a schedule, sections, the default, a slider",
    ),
    ("exec/gpu/pipelines", &["dirichlet", "vbll"], "shaders"),
    ("figure/samples", &["base", "dropout"], "series of made-up figures"),
];

/// Texts that would take a method's name apart, and matches on one.
const TESTS: [&str; 7] = [
    "starts_with(\"vi-",
    "starts_with(\"vifo",
    "match method.name",
    "match recipe.method.name",
    "match setup.method.name",
    "match m.name()",
    "method.name.split",
];

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

/// What a file says of methods. `file` is its path below src, without the ending.
fn strangers(file: &str, text: &str) -> Vec<String> {
    if file.starts_with("method/") || file.ends_with("tests") {
        return vec![];
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let others = OTHERS.iter().find(|o| file.starts_with(o.0));
    let is_other = |name: &str| others.is_some_and(|o| o.1.is_empty() || o.1.contains(&name));
    let names = METHODS.iter().map(|m| m.name()).filter(|name| !is_other(name)).map(|name| format!("\"{name}\""));
    let words: Vec<String> = names.chain(TESTS.iter().map(|t| t.to_string())).collect();
    let mut found = vec![];
    for (i, line) in code.lines().enumerate() {
        // A comment may name what it likes.
        let line = line.split("//").next().unwrap_or(line);
        found.extend(words.iter().filter(|w| line.contains(*w)).map(|w| format!("{file}, line {}: {w}", i + 1)));
    }
    found
}

#[test]
fn only_methods_know_their_names() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    sources(&src, &mut files);
    assert!(files.len() > 100, "the walk found only {} files", files.len());
    let mut found = vec![];
    for file in files {
        let name = file.strip_prefix(&src).expect("below src").with_extension("");
        let name = name.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        found.extend(strangers(&name, &std::fs::read_to_string(&file).expect("a source file")));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_planted_name_is_found() {
    for m in METHODS {
        let text = format!("fn f(name: &str) -> bool {{\n    name == \"{}\"\n}}", m.name());
        assert_eq!(strangers("run/fit", &text), [format!("run/fit, line 2: \"{}\"", m.name())]);
        assert!(strangers("method/swa", &text).is_empty());
        assert!(strangers("run/fit", &format!("// \"{}\"", m.name())).is_empty());
        let in_tests = format!("#[cfg(test)]\nmod tests {{\n    {text}\n}}");
        assert!(strangers("run/fit", &in_tests).is_empty());
    }
    assert_eq!(strangers("run/fit", "match method.name() {").len(), 1);
    assert_eq!(strangers("run/fit", "if name.starts_with(\"vifo-\") {").len(), 1);
    // What may stand in one room may not in another, nor another name beside it.
    assert!(strangers("exec/gpu/pipelines", "(\"vbll\", shader)").is_empty());
    assert_eq!(strangers("exec/gpu/device", "(\"vbll\", shader)").len(), 1);
    assert_eq!(strangers("exec/gpu/pipelines", "(\"swag\", shader)").len(), 1);
}
