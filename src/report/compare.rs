//! Runs side by side. Runs of one recipe that differ in seed or split alone form a group; groups of the same data form a
//! block; within a block each metric has a mean and a standard deviation over its runs. Win rates pair the groups by
//! data, seed and split.

mod open;
pub mod overlay;
mod show;
mod spread;
mod tally;

use crate::error::{Error, Result};
use crate::recipe::{Recipe, keys};
use crate::results::{Better, Shown, shown_of};
use crate::results::{Metric, Results};
use crate::run::recipe_name;
use crate::train::EpochRow;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::{Table, Value};

pub use open::open;
pub use show::write;
pub use spread::Spread;
use tally::Tally;

/// Keys of the data that are part of the pairing or replaced by the hash of the values: where a table lies and how it is
/// written make no other data.
const NOT_THE_DATA: [&str; 11] = [
    "split",
    "file",
    "images",
    "points",
    "task",
    "target_file",
    "test_file",
    "split_file",
    "delimiter",
    "header",
    "skip_lines",
];

#[derive(Debug, Clone)]
pub struct ComparedRun {
    pub path: PathBuf,
    /// As it was asked for, where a time has decided on numbers.
    pub recipe: Recipe,
    pub results: Results,
    pub rows: Vec<EpochRow>,
    /// SHA-256 of the values in the data; empty for a toy, whose description names the seed. Of the bytes of the files
    /// for a run of before the values were taken.
    hash: String,
    /// SHA-256 of the bytes of the files.
    bytes: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    pub blocks: Vec<Block>,
    /// Names and units of the metrics, in the order of the columns.
    pub metrics: Vec<Column>,
    pub wins: Wins,
    /// What was left out and why, a sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Column {
    pub name: String,
    pub unit: String,
    pub better: Better,
}

/// The groups of one data set.
#[derive(Debug, Clone, Serialize)]
pub struct Block {
    pub data: String,
    pub groups: Vec<Group>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Group {
    pub label: String,
    pub runs: Vec<PathBuf>,
    /// (seed, split) of each run.
    pub pairs: Vec<(u32, usize)>,
    /// One for each column of the comparison; None where no run has the metric.
    pub metrics: Vec<Option<Summary>>,
    /// Share of the cells of this data set that the group wins against all others; None without another group.
    pub wins: Option<f64>,
    #[serde(skip)]
    members: Vec<ComparedRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub mean: f64,
    /// With n - 1; None for a single run.
    pub sd: Option<f64>,
    /// Of the mean; None for a single run.
    pub standard_error: Option<f64>,
    /// 95 % interval of the mean, by Student's t; None for a single run.
    pub interval: Option<(f64, f64)>,
    pub n: usize,
    /// No other group of the block has a better mean.
    pub best: bool,
}

/// Win rates over all blocks: share of the (data, seed, split, metric) cells in which a group beats another.
#[derive(Debug, Clone, Serialize)]
pub struct Wins {
    pub labels: Vec<String>,
    /// Against all other groups together.
    pub overall: Vec<Option<f64>>,
    /// [row beats column]; None where the two share no cell.
    pub against: Vec<Vec<Option<f64>>>,
}

/// "method.eta" -> value, for every key of a recipe but those that only pair runs.
fn flat(recipe: &Recipe) -> Result<BTreeMap<String, String>> {
    let table = Table::try_from(recipe);
    let table = table.map_err(|e| Error::run("recipe", e.to_string(), "this is a bug of vifo: please report it"))?;
    let mut out = BTreeMap::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) => out.extend(inner.iter().map(|(k, v)| (format!("{name}.{k}"), shown(v)))),
            value => {
                out.insert(name, shown(&value));
            }
        }
    }
    Ok(out)
}

pub fn shown(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        // 5, not 5.0.
        Value::Float(v) => v.to_string(),
        other => other.to_string().replace(' ', ""),
    }
}

type Keys = BTreeMap<String, String>;

/// What a run is: its data and its method.
fn identity(recipe: &Recipe, hash: &str) -> Result<(Keys, Keys)> {
    let (mut data, mut method) = (Keys::new(), Keys::new());
    for (key, value) in flat(recipe)? {
        match key.strip_prefix("data.") {
            Some(name) if NOT_THE_DATA.contains(&name) => {}
            Some(name) => {
                data.insert(name.into(), value);
            }
            // The pairing (seed, split), and what changes no result.
            None if key == "seed" || keys::find(&key).is_some_and(|k| k.cosmetic) => {}
            None => {
                method.insert(key, value);
            }
        }
    }
    data.insert("file".into(), hash.into());
    Ok((data, method))
}

/// Keys whose values are not the same in all tables.
fn differing(tables: &[Keys]) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = tables.iter().flat_map(|t| t.keys()).collect();
    let differs = |key: &&String| tables.iter().any(|t| t.get(*key) != tables[0].get(*key));
    all.into_iter().filter(differs).cloned().collect()
}

/// "eta" where no other section has a key of that name, else "predict.samples".
pub fn short(key: &str) -> &str {
    let last = |k: &str| k.rsplit('.').next().unwrap_or("").to_string();
    let name = key.rsplit('.').next().unwrap_or(key);
    if keys::KEYS.iter().filter(|k| last(k.path) == name).count() > 1 { key } else { name }
}

/// "vifo-mean members=5 eta=0.1": each method with what sets it apart from others on the same data. What varies from one
/// data set to the next alone (epochs, hidden units) is part of the data set's setting: equal labels are one method.
fn labels(methods: &[Keys], blocks: &[Vec<usize>]) -> Vec<String> {
    let of_block = |block: &Vec<usize>| differing(&block.iter().map(|&m| methods[m].clone()).collect::<Vec<_>>());
    let mut differ: Vec<String> = blocks.iter().flat_map(of_block).filter(|k| k != "method.name").collect();
    differ.sort();
    differ.dedup();
    let label = |m: &Keys| {
        let part = |k: &String| format!("{}={}", short(k), m.get(k).map_or("default", String::as_str));
        let name = m.get("method.name").cloned().unwrap_or_default();
        std::iter::once(name).chain(differ.iter().map(part)).collect::<Vec<_>>().join(" ")
    };
    methods.iter().map(label).collect()
}

/// Names of the data sets, with the keys that tell equal names apart.
fn data_names(data: &[Keys], recipes: &[&Recipe]) -> Vec<String> {
    let base: Vec<String> = recipes.iter().map(|r| recipe_name(&Recipe { name: None, ..(*r).clone() })).collect();
    let name = |i: usize| {
        let same: Vec<Keys> = (0..data.len()).filter(|&j| base[j] == base[i]).map(|j| data[j].clone()).collect();
        let part = |k: &String| {
            let value = data[i].get(k).map_or("none", String::as_str);
            // A hash in full would fill the line.
            format!("{k}={}", if k == "file" { value.get(..8).unwrap_or("none") } else { value })
        };
        let parts = differing(&same).iter().map(part).collect::<Vec<_>>();
        if parts.is_empty() { base[i].clone() } else { format!("{} ({})", base[i], parts.join(" ")) }
    };
    (0..data.len()).map(name).collect()
}

fn pair(run: &ComparedRun) -> (u32, usize) {
    (run.recipe.seed, run.recipe.data.split)
}

/// Groups, summarises and pairs. `wanted` names the metrics to show; empty = the main ones, "all" = all.
pub fn compare(runs: Vec<ComparedRun>, wanted: &[String], mut notes: Vec<String>) -> Result<Comparison> {
    let metrics = columns(runs.iter().map(|r| &r.results), wanted)?;
    let (mut data, mut methods): (Vec<Keys>, Vec<Keys>) = (vec![], vec![]);
    // (data, method) -> runs, in the order in which they were named.
    let mut cells: BTreeMap<(usize, usize), Vec<ComparedRun>> = BTreeMap::new();
    for run in runs {
        let (d, m) = identity(&run.recipe, &run.hash)?;
        let cell = cells.entry((place_of(&mut data, d), place_of(&mut methods, m))).or_default();
        match cell.iter().find(|other| pair(other) == pair(&run)) {
            // Twice the same experiment would count as two seeds.
            Some(other) => {
                let (a, b) = (run.path.display(), other.path.display());
                notes.push(format!("{a} skipped: the same recipe, data, seed and split as {b}"));
            }
            None => cell.push(run),
        }
    }
    let first = |d: usize| cells.range((d, 0)..).next().map(|(_, runs)| &runs[0].recipe);
    let firsts: Vec<&Recipe> = (0..data.len()).filter_map(first).collect();
    let of_block = |d: usize| cells.range((d, 0)..(d + 1, 0)).map(|((_, m), _)| *m).collect::<Vec<usize>>();
    let label_of = labels(&methods, &(0..data.len()).map(of_block).collect::<Vec<_>>());
    let mut labels: Vec<String> = vec![];
    let method_of: Vec<usize> = label_of.into_iter().map(|label| place_of(&mut labels, label)).collect();
    let names = data_names(&data, &firsts);
    let mut blocks: Vec<Block> = names.into_iter().map(|data| Block { data, groups: vec![] }).collect();
    let mut tally = Tally::new(labels.len());
    for (d, block) in blocks.iter_mut().enumerate() {
        let own = cells.range((d, 0)..(d + 1, 0)).map(|((_, m), runs)| (method_of[*m], runs.clone()));
        let own: Vec<(usize, Vec<ComparedRun>)> = own.collect();
        let mut of_block = Tally::new(labels.len());
        of_block.add(&own, &metrics);
        tally.merge(&of_block);
        for (m, members) in own {
            let mut group = group(labels[m].clone(), members, &metrics);
            group.wins = of_block.overall(m);
            block.groups.push(group);
        }
        mark_best(&mut block.groups, &metrics);
    }
    let n = labels.len();
    let wins = Wins {
        overall: (0..n).map(|i| tally.overall(i)).collect(),
        against: (0..n).map(|i| (0..n).map(|j| tally.rate(i, j)).collect()).collect(),
        labels,
    };
    Ok(Comparison { blocks, metrics, wins, notes })
}

/// Where `one` stands among the known, as the last if it is new.
fn place_of<T: PartialEq>(known: &mut Vec<T>, one: T) -> usize {
    known.iter().position(|k| *k == one).unwrap_or_else(|| {
        known.push(one);
        known.len() - 1
    })
}

/// "rmse" of "rmse[width]", the metric of one of several targets; None where there is one target.
fn of_several(name: &str) -> Option<&str> {
    name.strip_suffix(']')?.split_once('[').map(|(plain, _)| plain)
}

/// Whether a metric is shown and counted unless others are named: all of them would make a table that no screen holds. Every
/// one of several targets has columns of its own.
pub fn is_main(metric: &Metric) -> bool {
    match of_several(&metric.name) {
        Some(plain) => shown_of(plain) == Shown::OfEachTarget,
        None => shown_of(&metric.name) >= Shown::Always,
    }
}

/// The metrics to show; `wanted` as in `compare`, where "rmse" is also that of each of several targets.
pub fn columns<'a>(results: impl Iterator<Item = &'a Results>, wanted: &[String]) -> Result<Vec<Column>> {
    let mut all: Vec<&Metric> = vec![];
    for m in results.flat_map(|r| &r.metrics) {
        if !all.iter().any(|a| a.name == m.name) {
            all.push(m);
        }
    }
    let names = || all.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
    let main = || all.iter().copied().filter(|m| is_main(m)).collect::<Vec<_>>();
    let chosen: Vec<&Metric> = if wanted.is_empty() && !main().is_empty() {
        main()
    } else if wanted.is_empty() || wanted == ["all"] {
        all.clone()
    } else {
        let find = |w: &String| {
            let near = |m: &&&Metric| strsim::jaro_winkler(&m.name, w);
            let help = || all.iter().max_by(|a, b| near(a).total_cmp(&near(b))).map_or("", |m| m.name.as_str());
            let none =
                || Error::usage("--metric", format!("no metric '{w}'"), names(), format!("did you mean {}?", help()));
            let is_it = |m: &&Metric| m.name == *w || of_several(&m.name) == Some(w);
            let found: Vec<&Metric> = all.iter().copied().filter(is_it).collect();
            if found.is_empty() { Err(none()) } else { Ok(found) }
        };
        wanted.iter().map(find).collect::<Result<Vec<_>>>()?.concat()
    };
    let column = |m: &Metric| Column { name: m.name.clone(), unit: m.unit.clone(), better: m.better };
    Ok(chosen.into_iter().map(column).collect())
}

fn group(label: String, members: Vec<ComparedRun>, metrics: &[Column]) -> Group {
    let summary = |column: &Column| {
        let values: Vec<f64> = members.iter().filter_map(|r| r.results.get(&column.name)).collect();
        (!values.is_empty()).then(|| summary(&values))
    };
    Group {
        label,
        runs: members.iter().map(|r| r.path.clone()).collect(),
        pairs: members.iter().map(pair).collect(),
        metrics: metrics.iter().map(summary).collect(),
        wins: None,
        members,
    }
}

/// Mean, and sd with n - 1 from two values on.
pub fn summary(values: &[f64]) -> Summary {
    let n = values.len();
    // Equal values have no sd, and rounding must not give them one.
    let is_one = values.iter().all(|v| *v == values[0]);
    let mean = if is_one && n > 0 { values[0] } else { values.iter().sum::<f64>() / n as f64 };
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    let sd = (n > 1).then(|| (square / (n - 1) as f64).sqrt());
    let interval = sd.map(|sd| Spread::Interval.half(sd, n)).map(|half| (mean - half, mean + half));
    Summary { mean, sd, standard_error: sd.map(|sd| Spread::Se.half(sd, n)), interval, n, best: false }
}

fn mark_best(groups: &mut [Group], metrics: &[Column]) {
    for (c, column) in metrics.iter().enumerate() {
        let means: Vec<f64> = groups.iter().filter_map(|g| g.metrics[c].map(|s| s.mean)).collect();
        let best = match column.better {
            Better::Higher => means.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Better::Lower => means.iter().copied().fold(f64::INFINITY, f64::min),
            Better::Neither => continue,
        };
        // One alone is not the best of anything.
        for s in groups.iter_mut().filter_map(|g| g.metrics[c].as_mut()) {
            s.best = means.len() > 1 && s.mean == best;
        }
    }
}
