//! A run with several targets: each is reported as if it were alone, and related results are put side by side.

use super::model::Model;
use super::{Calibration, RunFolder};
use crate::base::names::is_device;
use crate::data::Dataset;
use crate::error::Result;
use crate::exec::Device;
use crate::results::predictions;
use crate::results::{Metric, Results};
use crate::tables::TextTable;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;

impl Model {
    /// This model as that of each of its targets alone.
    pub fn views(&self) -> Vec<Cow<'_, Model>> {
        match self.encoder.n_targets() {
            1 => vec![Cow::Borrowed(self)],
            n => (0..n).map(|at| Cow::Owned(self.of_target(at))).collect(),
        }
    }
}

/// Notes about one of several targets carry its name.
pub fn heading(text: &str, target: Option<&str>) -> String {
    match target {
        Some(target) => format!("{target}: {text}"),
        None => text.to_string(),
    }
}

/// Where the figures of target `at` stand: in the run's own folder of figures, or in one below it where there are several.
pub fn figures(folder: &RunFolder, names: &[String], at: usize) -> PathBuf {
    match names.len() {
        1 => folder.figures(),
        _ => folder.figures().join(file_name(names, at)),
    }
}

/// The name of a target as a file name: letters, digits, points, minus and underscore stay; two that would be alike get
/// their number, and so does what Windows keeps for a device.
pub fn file_name(names: &[String], at: usize) -> String {
    let plain = |name: &str| -> String {
        let keep = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
        name.chars().take(60).map(keep).collect()
    };
    let own = plain(&names[at]);
    let alike = |name: &String| plain(name).eq_ignore_ascii_case(&own);
    if own.is_empty() || is_device(&own) || names.iter().filter(|name| alike(name)).count() > 1 {
        format!("{own}_{}", at + 1)
    } else {
        own
    }
}

/// Results of each target as those of one set: "rmse[a]", "rmse[b]".
pub fn merged(all: Vec<(String, Results)>) -> Option<Results> {
    let several = all.len() > 1;
    let mut parts = all.into_iter();
    let name = |target: &str, results: &mut Results| {
        if several {
            results.metrics.iter_mut().for_each(|m| m.name = format!("{}[{target}]", m.name));
            results.notes.iter_mut().for_each(|note| *note = format!("{target}: {note}"));
        }
    };
    let (target, mut first) = parts.next()?;
    name(&target, &mut first);
    for (target, mut other) in parts {
        name(&target, &mut other);
        first.metrics.append(&mut other.metrics);
        first.notes.append(&mut other.notes);
    }
    Some(first)
}

/// What `merged` put together, as results of each of `names`; notes stay with the whole.
pub fn apart(all: &Results, names: &[String]) -> Vec<Results> {
    let of = |name: &String| {
        let ending = format!("[{name}]");
        let own = all.metrics.iter().filter_map(|m| Some((m, m.name.strip_suffix(&ending)?)));
        let metrics = own.map(|(m, name)| Metric { name: name.into(), ..m.clone() }).collect();
        Results { set: all.set.clone(), rows: all.rows, metrics, notes: vec![], variants: vec![] }
    };
    if names.len() == 1 { vec![all.clone()] } else { names.iter().map(of).collect() }
}

/// Names of the targets of which `merged` put the metrics together; none where it did not.
pub fn merged_names(all: &Results) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for m in &all.metrics {
        let Some((_, name)) = m.name.strip_suffix(']').and_then(|n| n.split_once('[')) else { return vec![] };
        if !names.iter().any(|known| known == name) {
            names.push(name.into());
        }
    }
    names
}

/// Predictions of each target in one table: the rows' ids once, and "a_mean", "a_sd", ... for target "a". `known`: the
/// second column of each table holds the target itself.
pub fn side_by_side(tables: Vec<(String, TextTable)>, known: bool) -> TextTable {
    if tables.len() == 1 {
        return tables.into_iter().next().map(|t| t.1).unwrap_or_else(|| TextTable::new(&[]));
    }
    let mut taken: HashSet<String> = tables.iter().map(|(target, _)| target.clone()).collect();
    let mut all = TextTable::new(&[]);
    for (target, table) in tables {
        if all.header.is_empty() {
            all.header.extend(table.header.first().cloned());
            all.rows = table.rows.iter().map(|row| row[..1].to_vec()).collect();
        }
        for (column, name) in table.header.iter().enumerate().skip(1) {
            if known && column == 1 {
                all.header.push(target.clone());
                continue;
            }
            let mut name = format!("{target}_{name}");
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            all.header.push(name);
        }
        for (row, cells) in all.rows.iter_mut().zip(table.rows) {
            row.extend(cells.into_iter().skip(1));
        }
    }
    all
}

/// The predictions of `rows`, calibrated where `calibration` is there, and what there is to say of them; `behind` may put
/// more columns behind those of a target.
pub fn predictions(
    model: &Model,
    calibration: Option<&Calibration>,
    device: &Device,
    rows: &Dataset,
    behind: &mut dyn FnMut(usize, &Model, &mut TextTable) -> Result<()>,
) -> Result<(TextTable, Vec<String>)> {
    let n = model.encoder.n_targets();
    let known = !rows.y.is_empty();
    let (mut parts, mut notes) = (vec![], vec![]);
    for (at, model) in model.views().iter().enumerate() {
        let y = known.then(|| crate::data::targets_of(&rows.of_target(at, n)));
        let p = model.predict(device, rows.inputs())?;
        let mut table = match calibration.map(|c| c.of_target(at)) {
            Some(c) => {
                let (table, said) = c.table(&p, &model.encoder, &rows.ids, y.as_deref());
                notes.extend(said);
                table
            }
            None => predictions::predictions(&p, &model.encoder, &rows.ids, y.as_deref()),
        };
        behind(at, model, &mut table)?;
        parts.push((model.encoder.target_name().to_string(), table));
    }
    notes.dedup();
    Ok((side_by_side(parts, known), notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(header: &[&str], row: &[&str]) -> TextTable {
        let mut t = TextTable::new(header);
        t.rows.push(row.iter().map(ToString::to_string).collect());
        t
    }

    #[test]
    fn each_target_keeps_its_columns_and_ids_stand_once() {
        let a = table(&["line", "a", "mean", "sd"], &["2", "1", "1.5", "0.1"]);
        let b = table(&["line", "b", "mean", "sd"], &["2", "7", "7.5", "0.2"]);
        let both = side_by_side(vec![("a".into(), a.clone()), ("a_mean".into(), b)], true);
        assert_eq!(both.header, ["line", "a", "a_mean_", "a_sd", "a_mean", "a_mean_mean", "a_mean_sd"]);
        assert_eq!(both.rows, [["2", "1", "1.5", "0.1", "7", "7.5", "0.2"]]);
        assert_eq!(side_by_side(vec![("a".into(), a.clone())], true).header, a.header, "one target is as it was");
    }

    #[test]
    fn file_names_are_plain_and_distinct() {
        let names = ["../a b".to_string(), "..\\a b".into(), "PE".into(), "pe".into(), "größe".into(), "con".into()];
        let made: Vec<String> = (0..6).map(|at| file_name(&names, at)).collect();
        assert_eq!(made, ["___a_b_1", "___a_b_2", "PE_3", "pe_4", "größe", "con_6"]);
    }
}
