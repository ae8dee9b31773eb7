//! The figures of other tools on the same splits, part of the program (assets/published/README.md) or of a file.

use super::metrics::{Figures, METRICS};
use crate::base::fs;
use crate::error::{Error, Result};
use crate::study::reproduce::ask::plain;
use crate::study::reproduce::uci::sets::{SETS, Set};
use std::collections::BTreeMap;
use std::path::Path;

/// What bench/tables/tuned.py has searched the settings of, by its name for the tool.
const TUNED: &str = "_tuned";

/// What bench/tables/peers.py runs, each by its defaults; another name stands for itself.
const TOOLS: &[(&str, &str)] = &[
    ("cb", "CatBoost"),
    ("cb_es", "CatBoost, stopped early"),
    ("cb_unc", "CatBoost, mean and variance"),
    ("cb_unc_es", "CatBoost, mean and variance, stopped early"),
    ("cb_unc_ens", "CatBoost, 5 of mean and variance"),
    ("lgb", "LightGBM"),
    ("lgb_q", "LightGBM, quantiles"),
    ("ngb", "NGBoost"),
    ("rf", "random forest"),
    ("gp", "Gaussian process"),
    ("mlp", "MLP of scikit-learn"),
    ("linear", "ridge regression"),
];

const OWN: &str = "assets/published/table_peers.csv";

/// One line of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    pub set: &'static Set,
    pub split: u32,
    pub method: String,
    pub figures: Figures,
    /// "catboost 1.2.10".
    pub versions: String,
}

#[derive(Debug)]
pub struct Peers {
    rows: Vec<Peer>,
    /// Those to be shown, in the order of `TOOLS`, then of the file.
    pub methods: Vec<String>,
}

/// "CatBoost", "CatBoost, tuned", or the name itself.
pub fn title(method: &str) -> String {
    match method.strip_suffix(TUNED) {
        Some(tool) => format!("{}, tuned", title(tool)),
        None => TOOLS.iter().find(|t| t.0 == method).map_or(method, |t| t.1).into(),
    }
}

impl Peers {
    /// Of the file, or those in the program.
    ///
    /// # Errors
    /// The file cannot be read; a line that is no figure of a set's split, or that stands there twice.
    pub fn read(file: Option<&Path>) -> Result<Peers> {
        match file {
            None => Peers::of(include_str!("../../../../assets/published/table_peers.csv"), OWN),
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|e| Error::io(path, "read", &e))?;
                Peers::of(&text, &path.display().to_string())
            }
        }
    }

    pub(super) fn of(text: &str, place: &str) -> Result<Peers> {
        const HELP: &str = "make it with bench/tables/uci_peers.py";
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().cloned().map_err(|e| Error::data(place, e.to_string(), "", HELP))?;
        let column = |name: &str| {
            let found = || format!("no column '{name}'");
            header.iter().position(|h| h.trim() == name).ok_or_else(|| {
                let names = METRICS.map(|m| m.name).join(", ");
                Error::data(place, found(), format!("set, split, method, {names}, versions"), HELP)
            })
        };
        let [set, split, method, versions] = [column("set")?, column("split")?, column("method")?, column("versions")?];
        let metrics = METRICS.iter().map(|m| column(m.name)).collect::<Result<Vec<usize>>>()?;
        let mut rows: Vec<Peer> = vec![];
        for (i, record) in reader.records().enumerate() {
            let place = format!("{place}, line {}", i + 2);
            let record = record.map_err(|e| Error::data(place.as_str(), e.to_string(), "", HELP))?;
            let cell = |at: usize| record.get(at).unwrap_or_default().trim();
            let bad = |at: usize, allowed: &str| {
                let name = header.get(at).unwrap_or_default();
                Error::data(place.as_str(), format!("{name} '{}'", cell(at)), allowed, HELP)
            };
            let mut figures = Figures::default();
            for (figure, at) in figures.iter_mut().zip(&metrics) {
                if !cell(*at).is_empty() {
                    let value = cell(*at).parse().ok().filter(|v: &f64| v.is_finite());
                    *figure = Some(value.ok_or_else(|| bad(*at, "a number, or nothing"))?);
                }
            }
            let names = SETS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
            let row = Peer {
                set: SETS.iter().find(|s| s.name == cell(set)).ok_or_else(|| bad(set, &names))?,
                split: cell(split).parse().map_err(|_| bad(split, "a whole number from 0"))?,
                method: Some(cell(method)).filter(|m| !m.is_empty()).ok_or_else(|| bad(method, "a name"))?.into(),
                figures,
                versions: cell(versions).into(),
            };
            if rows.iter().any(|r| (r.set, r.split, &r.method) == (row.set, row.split, &row.method)) {
                let found = format!("{}, split {}, {} for the second time", row.set.name, row.split, row.method);
                return Err(Error::data(place, found, "one line for each", HELP));
            }
            rows.push(row);
        }
        let known = TOOLS.iter().flat_map(|t| [t.0.to_string(), format!("{}{TUNED}", t.0)]);
        let mut methods: Vec<String> = known.collect();
        methods.extend(rows.iter().map(|r| r.method.clone()));
        let mut seen: Vec<String> = vec![];
        methods.retain(|m| {
            let is_new = rows.iter().any(|r| r.method == *m) && !seen.contains(m);
            seen.push(m.clone());
            is_new
        });
        Ok(Peers { rows, methods })
    }

    /// Those of a list of names with commas between them; None = all.
    pub fn chosen(mut self, words: Option<&str>) -> Result<Peers> {
        let Some(words) = words else { return Ok(self) };
        let mut chosen: Vec<String> = vec![];
        for word in words.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            let near = |m: &&String| strsim::jaro_winkler(&plain(m), &plain(word));
            let Some(found) = self.methods.iter().find(|m| plain(m) == plain(word)) else {
                let nearest = self.methods.iter().max_by(|a, b| near(a).total_cmp(&near(b)));
                let help = nearest.map_or(String::new(), |m| format!("did you mean {m}?"));
                return Err(Error::usage("--methods", format!("no '{word}'"), self.methods.join(", "), help));
            };
            if !chosen.contains(found) {
                chosen.push(found.clone());
            }
        }
        if chosen.is_empty() {
            let help = "name one or more, with commas between, or leave it out";
            return Err(Error::usage("--methods", "an empty list", self.methods.join(", "), help));
        }
        self.methods.retain(|m| chosen.contains(m));
        Ok(self)
    }

    /// How the settings of those that are shown were come by.
    pub fn settings(&self) -> &'static str {
        let tuned = self.methods.iter().filter(|m| m.ends_with(TUNED)).count();
        match tuned {
            0 => "by their defaults",
            _ if tuned == self.methods.len() => "tuned for as long as vifo's fit took",
            _ => "by their defaults, and tuned for as long as vifo's fit took",
        }
    }

    /// Split by split.
    pub fn of_set(&self, set: &Set, method: &str) -> BTreeMap<u32, Figures> {
        let rows = self.rows.iter().filter(|r| r.set == set && r.method == method);
        rows.map(|r| (r.split, r.figures)).collect()
    }

    /// "catboost 1.2.10", or several with commas.
    pub fn versions(&self, method: &str) -> String {
        let mut all: Vec<&str> = self.rows.iter().filter(|r| r.method == method).map(|r| r.versions.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    }
}
