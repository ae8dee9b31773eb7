//! A key is one line: its name stands in its declaration, and behind a dot where its value is used. Nothing else need be
//! touched to add one.

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

/// Lines of code of a file, without comments and without what is for tests alone.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let tests = |line: &&str| !line.starts_with("#[cfg(test)]");
    text.lines().take_while(tests).map(|l| l.split("//").next().unwrap_or(l))
}

/// Where `name` stands as a word of its own: "declared FILE", "used FILE" behind the dot of a field, "text FILE" in quotes,
/// "other FILE", each once.
fn places(name: &str) -> Vec<String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    sources(&src, &mut files);
    assert!(files.len() > 200, "the walk found only {} files", files.len());
    let mut out = vec![];
    for file in files.iter().filter(|f| !f.to_string_lossy().ends_with("tests.rs")) {
        let place = file.strip_prefix(&src).expect("below src").to_string_lossy().replace('\\', "/");
        let text = std::fs::read_to_string(file).expect("a source file");
        for line in code(&text) {
            for (at, _) in line.match_indices(name) {
                let (before, after) = (&line[..at], &line[at + name.len()..]);
                let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                if part(before.chars().next_back()) || part(after.chars().next()) {
                    continue;
                }
                let in_text = before.matches('"').count() % 2 == 1;
                let what = match place.as_str() {
                    _ if in_text => "text",
                    "recipe/keys.rs" if before.trim().is_empty() && after.starts_with(':') => "declared",
                    _ if before.ends_with('.') => "used",
                    _ => "other",
                };
                out.push(format!("{what} {place}"));
            }
        }
    }
    out.sort();
    out.dedup();
    out
}

#[test]
fn the_name_of_a_key_stands_in_its_declaration_and_where_its_value_is_used() {
    for name in ["kl_warmup", "checkpoint_seconds", "aux_source"] {
        let mut places = places(name);
        // Which methods and data read it is said there.
        places.retain(|p| p != "text cli/fit.rs");
        let (used, named): (Vec<String>, Vec<String>) = places.into_iter().partition(|p| p.starts_with("used "));
        assert_eq!(named, ["declared recipe/keys.rs"], "{name}, used in {used:?}");
        assert!(!used.is_empty(), "{name} does nothing");
    }
}

#[test]
fn the_walk_finds_names_in_texts_too() {
    assert!(places("kl_warmup").contains(&"used train/plan.rs".to_string()));
    assert!(places("data").iter().any(|p| p.starts_with("text ")));
}

/// Every module but `base` may depend on recipes.
#[test]
fn recipes_know_of_no_room_but_base_and_error() {
    let mut files = vec![];
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/recipe"), &mut files);
    let text: String = files.iter().map(|f| std::fs::read_to_string(f).expect("a source file")).collect();
    let mut known: Vec<&str> = vec![];
    for (at, place) in text.match_indices("crate::") {
        let room = text[at + place.len()..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        if !["base", "error", "recipe", ""].contains(&room) {
            known.push(room);
        }
    }
    assert!(files.len() > 5 && known.is_empty(), "{known:?}");
}
