//! Notes on defaults that the program chose and a user may want to override, one sentence each.

use crate::base::visible::shell;
use crate::data::encode::{Encoder, FeatureKind, Target};
use crate::data::roles::Roles;
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
    let date = encoder.features.iter().find(|f| matches!(f.kind, FeatureKind::Date(_)));
    if let (Some(date), true) = (date, by_chance) {
        let flag = shell(&date.name);
        all.push(format!(
            "rows are split at random, ignoring their date: to test on the future, {}",
            either(format!("--time {flag} splits by it"), format!("choose {} as time column", quoted(&date.name)))
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

    #[test]
    fn what_nobody_chose_is_said() {
        let all = notes("");
        let said = |all: &[String], part: &str| all.iter().any(|n| n.contains(part));
        assert!(said(&all, "the target is 'rating', the last column"), "{all:?}");
        assert!(said(&all, "'rating' holds 3 whole numbers, taken as classes"), "{all:?}");
        assert!(said(&all, "--time day splits by it"), "{all:?}");
        assert!(!said(&all, "as its own name does"), "{all:?}");
        let all = notes("target = \"rating\"\ntask = \"regression\"\ngroup = \"site\"\n");
        assert!(said(&all, "'height' identify most groups of 'site'"), "{all:?}");
        for part in ["the last column", "taken as classes", "at random"] {
            assert!(!said(&all, part), "{part}: {all:?}");
        }
    }
}
