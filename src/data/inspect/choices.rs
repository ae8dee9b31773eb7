//! Notes on defaults that the program chose and a user may want to override, one sentence each.

use crate::base::visible::shell;
use crate::data::encode::{Encoder, FeatureKind, Target};
use crate::data::roles::Roles;
use crate::data::table::calendar::Order;
use crate::data::table::{Cells, Column, Table};
use crate::data::{listed, quoted};
use crate::error::either;
use crate::recipe;
use std::collections::{HashMap, HashSet};

/// Fewer groups than this have columns alike by chance.
const GROUPS: usize = 5;

pub fn notes(table: &Table, encoder: &Encoder, roles: &Roles, data: &recipe::Data) -> Vec<String> {
    let mut all = vec![];
    let name = quoted(encoder.target_name());
    if data.target.is_none() {
        all.push(format!(
            "the target is {name}, the last column{}",
            either(": --target COLUMN chooses another", "; another can be chosen")
        ));
    }
    let column = |name: &str| table.columns.iter().find(|c| c.name == name);
    let is_number = column(encoder.target_name()).is_some_and(|c| matches!(c.cells, Cells::Number(_)));
    if let (Target::Classes { labels, .. }, None, true) = (&encoder.target, data.task, is_number) {
        all.push(format!(
            "the target {name} holds {} whole numbers, taken as classes: {} learns a number",
            labels.len(),
            either("--task regression", "the task regression")
        ));
    }
    let by_chance =
        roles.time.is_none() && roles.group.is_none() && data.split_file.is_none() && data.test_file.is_none();
    let date = encoder.features.iter().find(|f| matches!(&f.kind, FeatureKind::Date(c) if c.order != Order::Clock));
    if let (Some(date), true) = (date, by_chance) {
        let flag = shell(&date.name);
        all.push(format!(
            "rows are split at random, ignoring their date: to test on the future, {}",
            either(format!("--time {flag} splits by it"), format!("choose {} as time column", quoted(&date.name)))
        ));
    }
    let is_input = |c: &&Column| c.name != encoder.target_name() && is_unit(c, table.rows());
    if let (Some(unit), true) = (table.columns.iter().find(is_input), by_chance) {
        let flag = shell(&unit.name);
        all.push(format!(
            "rows of one {} may stand in training and in test: to test on new ones, {}",
            quoted(&unit.name),
            either(format!("--group {flag} keeps them together"), format!("choose {} as group", quoted(&unit.name)))
        ));
    }
    if let Some(group) = roles.group {
        let group = &table.columns[group];
        let inputs = encoder.features.iter().filter_map(|f| column(&f.name));
        let duplicates: Vec<&str> =
            inputs.filter(|c| names_groups(c, group, table.rows())).map(|c| c.name.as_str()).collect();
        if !duplicates.is_empty() {
            all.push(format!(
                "{} identify most groups of {} as its own name does: {}",
                listed(duplicates.into_iter()),
                quoted(&group.name),
                either("--ignore leaves them out", "take their ticks away to leave them out")
            ));
        }
    }
    all
}

/// What studies measure several times.
const UNITS: &str = "subject subjects subj patient patients person persons pid participant respondent individual child animal rat mouse \
                     user customer client household family student pupil donor worker";

/// A column of that name, alone or with "id" or "no", whose values are many and stand in two rows each or more.
fn is_unit(column: &Column, rows: usize) -> bool {
    let name = column.name.to_lowercase();
    let is_word = |part: &str| UNITS.split(' ').any(|unit| unit == part);
    let is_counter = |part: &str| matches!(part, "" | "id" | "no" | "nr" | "number" | "code");
    let parts: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let joined = ["id", "no", "nr"].iter().filter_map(|end| name.strip_suffix(end)).any(is_word);
    let named = joined || (parts.iter().any(|p| is_word(p)) && parts.iter().all(|p| is_word(p) || is_counter(p)));
    let values: HashSet<u64> = (0..rows).filter(|_| named).filter_map(|row| key(column, row)).collect();
    values.len() >= GROUPS && 2 * values.len() <= rows
}

/// A cell as a key; None where it is missing.
fn key(column: &Column, row: usize) -> Option<u64> {
    match &column.cells {
        Cells::Number(values) => Some(values[row]).filter(|v| !v.is_nan()).map(f64::to_bits),
        Cells::Text(texts) => texts.code(row).map(|code| code as u64),
    }
}

/// The same in all rows of a group, and another in most groups.
fn names_groups(column: &Column, group: &Column, rows: usize) -> bool {
    let mut of_group: HashMap<u64, u64> = HashMap::new();
    for row in 0..rows {
        let (Some(group), Some(value)) = (key(group, row), key(column, row)) else { continue };
        if *of_group.entry(group).or_insert(value) != value {
            return false;
        }
    }
    let distinct: HashSet<u64> = of_group.values().copied().collect();
    of_group.len() >= GROUPS && 2 * distinct.len() > of_group.len()
}

#[cfg(test)]
mod tests {
    use crate::data::load::load;
    use crate::recipe::Recipe;

    /// A year of days at eight sites whose height identifies them.
    fn notes(extra: &str) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a folder");
        let mut text = String::from("site,height,day,a,rating\n");
        for i in 0..160 {
            let site = i % 8;
            text += &format!(
                "s{site},{},2024-{:02}-{:02},{},{}\n",
                10 * site * site,
                1 + i / 20,
                1 + i % 20,
                (i as f64).sin(),
                i % 3
            );
        }
        let path = dir.path().join("t.csv");
        std::fs::write(&path, text).expect("written");
        let text = format!("[data]\nfile = {path:?}\n{extra}");
        let recipe = Recipe::from_table(&Recipe::parse(&text, "test").expect("a recipe"), "test").expect("a recipe");
        load(&recipe).expect("rows").notes
    }

    /// By the names that studies use; a column that tells its rows apart is none, nor one with a handful of values.
    #[test]
    fn what_is_measured_several_times_is_a_unit() {
        let is_unit = |name: &str, values: &dyn Fn(usize) -> usize| {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("t.csv");
            let rows: String = (0..40).map(|i| format!("{},{}\n", values(i), i * i % 17)).collect();
            std::fs::write(&path, format!("{name},y\n{rows}")).expect("written");
            let table = crate::data::table::read_table(&path, &Default::default()).expect("a table");
            super::is_unit(&table.columns[0], table.rows())
        };
        for name in ["Subject", "patient_id", "PatientID", "user", "Person.no"] {
            assert!(is_unit(name, &|i| i / 4), "{name}");
        }
        for name in ["subject_age", "species", "id", "users_per_day"] {
            assert!(!is_unit(name, &|i| i / 4), "{name}");
        }
        assert!(!is_unit("subject", &|i| i) && !is_unit("subject", &|i| i % 2));
    }

    #[test]
    fn what_nobody_chose_is_said() {
        let all = notes("");
        let said = |all: &[String], part: &str| all.iter().any(|n| n.contains(part));
        assert!(said(&all, "the target is 'rating', the last column"), "{all:?}");
        assert!(said(&all, "'rating' holds 3 whole numbers, taken as classes"), "{all:?}");
        assert!(said(&all, "--time day splits by it"), "{all:?}");
        assert!(!said(&all, "as its own name does"), "{all:?}");
        assert!(!said(&all, "--group"), "{all:?}");
        let all = notes("target = \"rating\"\ntask = \"regression\"\ngroup = \"site\"\n");
        assert!(said(&all, "'height' identify most groups of 'site'"), "{all:?}");
        for part in ["the last column", "taken as classes", "at random"] {
            assert!(!said(&all, part), "{part}: {all:?}");
        }
    }
}
