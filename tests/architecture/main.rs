//! The library is built as ARCHITECTURE.md says: its table names every module and what each may use. No arrow points up, none
//! is missing from the table and none stands there for nothing. Beside that: who may touch what, and how long things may be.

mod method_names;
mod size;
mod source;
mod words;

use source::{Names, Source, parse, root, sources};
use std::collections::{BTreeMap, BTreeSet};

/// A row of ARCHITECTURE.md's table: modules that may use each other, and those that they may use.
struct Row {
    modules: Vec<String>,
    uses: Vec<String>,
}

impl Row {
    fn name(&self) -> &str {
        &self.modules[0]
    }
}

fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let rows = text.lines().filter(|l| l.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "module, what it is, what it may use: {line}");
        Row { modules: names(cells[0]), uses: names(cells[2]) }
    })
    .collect()
}

/// The rows of whole modules, and those of parts of one: "data::table".
fn wholes_and_parts() -> (Vec<Row>, Vec<Row>) {
    table().into_iter().partition(|row| !row.name().contains("::"))
}

/// The module of the table to which a path belongs: a part before its whole.
fn module<'a>(path: &[String], rows: &'a [Row]) -> Option<&'a str> {
    let all = rows.iter().flat_map(|r| r.modules.iter().map(String::as_str));
    let holds = |m: &&str| m.split("::").enumerate().all(|(i, name)| path.get(i).is_some_and(|p| p == name));
    all.filter(holds).max_by_key(|m| m.len())
}

type Arrows = BTreeMap<String, BTreeMap<String, String>>;

/// From each module to each that it names, with one place where it does.
fn arrows(all: &[Source], rows: &[Row]) -> Arrows {
    let mut out = Arrows::new();
    for source in all.iter().filter(|s| !s.module.is_empty()) {
        let Some(from) = module(&source.module, rows) else { panic!("ARCHITECTURE.md has no row for {}", source.name) };
        let names = Names::of(source);
        // Such a path may begin at a module below this one.
        let below =
            names.strangers.iter().map(|s| source.module.iter().cloned().chain(s.split("::").map(String::from)));
        for path in names.paths.iter().cloned().chain(below.map(Iterator::collect)) {
            if let Some(to) = module(&path, rows).filter(|to| *to != from) {
                let place = format!("{}: {}", source.name, path.join("::"));
                out.entry(from.into()).or_default().entry(to.into()).or_insert(place);
            }
        }
    }
    out
}

/// Arrows between the parts of `whole`, and from them to what it may use. Each may use what stands in the whole's own file or
/// has no row; that itself may use none of them.
fn arrows_of_parts(all: Vec<Source>, whole: &str, wholes: Vec<Row>, parts: &[Row]) -> Arrows {
    let all: Vec<Source> = all.into_iter().filter(|s| s.module.first().is_some_and(|m| m == whole)).collect();
    let copies = parts.iter().map(|p| Row { modules: p.modules.clone(), uses: vec![] });
    let mut found = arrows(&all, &wholes.into_iter().chain(copies).collect::<Vec<_>>());
    for (from, to) in &mut found {
        to.retain(|to, _| if from == whole { to.contains("::") } else { to != whole });
    }
    found
}

/// `above` is what every row may name.
fn faults(found: &Arrows, rows: &[Row], mut above: BTreeSet<String>) -> Vec<String> {
    let mut out = vec![];
    for row in rows {
        let used: BTreeMap<&String, &String> = row.modules.iter().filter_map(|m| found.get(m)).flatten().collect();
        for module in &row.uses {
            if !above.contains(module) {
                out.push(format!("{} may use {module}, which is not above it in the table", row.name()));
            }
            if !used.contains_key(module) {
                out.push(format!("{} does not use {module}: take it out of the table", row.name()));
            }
        }
        for (to, place) in used {
            if !row.uses.contains(to) && !row.modules.contains(to) {
                out.push(format!("{} uses {to}, which the table does not allow: {place}", row.name()));
            }
        }
        above.extend(row.modules.iter().cloned());
    }
    out
}

#[test]
fn every_arrow_is_in_the_table_and_none_points_up() {
    let (all, (rows, _)) = (sources(), wholes_and_parts());
    let found = faults(&arrows(&all, &rows), &rows, BTreeSet::new());
    assert!(found.is_empty(), "{found:#?}");
}

/// What is wrong between the parts of `whole`.
fn faults_of_parts(all: Vec<Source>, whole: &str, wholes: Vec<Row>, mut parts: Vec<Row>) -> Vec<String> {
    let above = wholes.iter().filter(|r| r.name() == whole).flat_map(|r| r.uses.clone()).collect();
    let found = arrows_of_parts(all, whole, wholes, &parts);
    parts.insert(0, Row { modules: vec![whole.into()], uses: vec![] });
    faults(&found, &parts, above)
}

#[test]
fn the_parts_of_data_keep_their_order() {
    let (wholes, parts) = wholes_and_parts();
    assert!(parts.len() > 5 && parts.iter().all(|row| row.name().starts_with("data::")), "rows of data's parts");
    let found = faults_of_parts(sources(), "data", wholes, parts);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_arrow_up_between_parts_and_one_from_the_whole_are_found() {
    let row = |module: &str, uses: &[&str]| Row {
        modules: vec![module.into()],
        uses: uses.iter().map(|u| u.to_string()).collect(),
    };
    let all = || {
        vec![
            parse("data/mod.rs", "pub mod low; pub mod high; mod ids; pub use high::X; pub use ids::Id;"),
            parse("data/ids.rs", "pub struct Id;"),
            parse("data/low.rs", "use super::Id; use crate::base::B; fn f() { crate::data::high::g() }"),
            parse("data/high/mod.rs", "mod deep; use super::low::f; use deep::d;"),
            parse("data/high/deep.rs", "use super::X; use crate::{base::B, data::Id};"),
            parse("base.rs", ""),
        ]
    };
    let wholes = || vec![row("base", &[]), row("data", &["base"])];
    let parts = || vec![row("data::low", &["base"]), row("data::high", &["base", "data::low"])];
    let told = faults_of_parts(all(), "data", wholes(), parts());
    assert_eq!(
        told,
        [
            "data uses data::high, which the table does not allow: data/mod.rs: data::high::X",
            "data::low uses data::high, which the table does not allow: data/low.rs: data::high::g",
        ]
    );
    let idle = || vec![row("data::low", &["base", "data::high"]), row("data::high", &["data::low", "error"])];
    let told = faults_of_parts(all(), "data", wholes(), idle());
    for wanted in [
        "data::low may use data::high, which is not above it in the table",
        "data::high uses base, which the table does not allow: data/high/deep.rs: base::B",
        "data::high may use error, which is not above it in the table",
    ] {
        assert!(told.iter().any(|t| t == wanted), "{told:?}");
    }
}

#[test]
fn an_arrow_up_a_missing_and_an_idle_one_are_found() {
    let row = |module: &str, uses: &[&str]| Row {
        modules: vec![module.into()],
        uses: uses.iter().map(|u| u.to_string()).collect(),
    };
    let all = [
        parse("low/mod.rs", "use crate::{high::{self, X}}; #[cfg(test)] mod tests { use crate::third::Y; }"),
        parse("high/deep.rs", "fn f() { vec![super::super::low::g()] } mod inner { use super::super::X; }"),
        parse("third.rs", "fn f() {}"),
    ];
    let rows = [row("low", &[]), row("high", &["low", "third"]), row("third", &["low"])];
    let found = arrows(&all, &rows);
    let pairs: Vec<(&str, &str)> =
        found.iter().flat_map(|(a, to)| to.keys().map(move |b| (a.as_str(), b.as_str()))).collect();
    assert_eq!(
        pairs,
        [("high", "low"), ("low", "high")],
        "test modules are left out, macros and nested modules are not"
    );
    let told = faults(&found, &rows, BTreeSet::new());
    assert!(told[0].starts_with("low uses high, which the table does not allow: low/mod.rs: high"), "{told:?}");
    assert!(told.iter().any(|t| t == "high may use third, which is not above it in the table"), "{told:?}");
    assert!(told.iter().any(|t| t == "third does not use low: take it out of the table"), "{told:?}");
}

/// Places outside `rooms` (modules or files, as far as they are written) whose code names `word`: a crate, a path's beginning,
/// or a macro with its "!".
fn strangers(all: &[Source], word: &str, rooms: &[&str]) -> Vec<String> {
    let outside = |s: &&Source| !rooms.iter().any(|r| s.name.starts_with(r));
    let names = |s: &Source| Names::of(s).strangers.iter().any(|n| n == word || n.starts_with(&format!("{word}::")));
    all.iter().filter(outside).filter(|s| names(s)).map(|s| format!("{} names {word}", s.name)).collect()
}

#[test]
fn every_room_keeps_to_its_work() {
    // What a browser does otherwise goes through `base`: a call past it would fail there, and only when it is made.
    let programs = ["study/sweep/", "cli/sweep.rs"];
    let speaks = ["cli/", "gui/", "main.rs"];
    let rules: &[(&str, &[&str])] = &[
        ("wgpu", &["exec/gpu/", "exec/mod.rs"]),
        ("egui", &["gui/"]),
        ("eframe", &["gui/"]),
        ("println!", &speaks),
        ("eprintln!", &speaks),
        ("print!", &speaks),
        ("anyhow", &speaks),
        ("std::fs", &["base/fs/", "study/sweep/"]),
        ("std::time::Instant", &["base/clock.rs"]),
        ("std::time::SystemTime", &["base/clock.rs"]),
        ("std::thread", &["base/task.rs", "live/drive.rs", programs[0], programs[1]]),
        ("std::process::id", &["base/machine.rs"]),
        ("tempfile", &["base/fs/", "study/reproduce/tools/"]),
        ("csv::Reader::from_path", &[]),
        ("image::open", &[]),
        ("sysinfo", &["base/machine.rs"]),
        ("web_sys", &["base/", "gui/web/"]),
        ("wasm_bindgen", &["base/", "gui/web/"]),
        ("dbg!", &[]),
        ("todo!", &[]),
        ("unimplemented!", &[]),
    ];
    let all = sources();
    let found: Vec<String> = rules.iter().flat_map(|(word, rooms)| strangers(&all, word, rooms)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_walk_can_find_a_stranger() {
    let all = sources();
    for word in ["wgpu", "egui", "std::fs", "anyhow", "format!"] {
        assert!(!strangers(&all, word, &["nowhere/"]).is_empty(), "{word}");
    }
}
