//! From the words of the command line to a checked request: names are known, numbers in range, combinations possible.

use super::mapping::{Family, METHODS, Method, NETWORKS, SETS, Set, Show, TABLES, Table, network_names};
use crate::error::{Error, Result};
use crate::recipe::{NetName, keys};
use std::path::PathBuf;

/// As the user wrote it; None = the table's own.
#[derive(Debug, Clone, Default)]
pub struct Words {
    pub table: String,
    pub runs: PathBuf,
    pub data: PathBuf,
    pub epochs: String,
    pub limit: Option<String>,
    pub batch: String,
    /// "1,2,3", or how many.
    pub seeds: String,
    pub members: String,
    pub networks: Option<String>,
    pub sets: Option<String>,
    pub methods: Option<String>,
    pub eta_aux: Option<String>,
    /// NAME=FOLDER.
    pub ood: Vec<String>,
    pub device: String,
    /// Show what is there, and train and evaluate nothing.
    pub no_train: bool,
}

#[derive(Debug, Clone)]
pub struct ReproduceRequest {
    pub table: &'static Table,
    pub runs: PathBuf,
    pub data: PathBuf,
    pub epochs: u32,
    pub limit: Option<u64>,
    pub batch: u32,
    pub seeds: Vec<u32>,
    pub members: u32,
    /// None = those of the table or of the set.
    pub networks: Option<Vec<NetName>>,
    pub sets: Vec<&'static Set>,
    /// Rows of the table.
    pub methods: Vec<&'static Method>,
    /// Weights of auxiliary training to train VIFO with.
    pub eta_aux: Vec<f64>,
    /// Whether they were asked for: no other rows are shown then.
    pub eta_aux_given: bool,
    pub ood: Vec<(String, PathBuf)>,
    pub device: String,
    pub no_train: bool,
}

impl ReproduceRequest {
    pub fn new(words: &Words) -> Result<ReproduceRequest> {
        let request = ReproduceRequest::parse(words)?;
        request.possible()?;
        Ok(request)
    }

    /// The words alone: whether the sets can make the table is `possible`'s to say.
    pub(crate) fn parse(words: &Words) -> Result<ReproduceRequest> {
        let table = one_of("TABLE", &words.table, TABLES, |t| vec![t.name]).map_err(|e| with_uci(e, &words.table))?;
        let sets = match &words.sets {
            None => SETS.iter().filter(|s| s.paper.is_some() && serves(s, table.show, words)).collect(),
            Some(text) => list("--datasets", text, SETS, |s| vec![s.name, s.paper.unwrap_or(s.name)])?,
        };
        let methods: Vec<&Method> = match &words.methods {
            None if table.methods.is_empty() => METHODS.iter().collect(),
            None => METHODS.iter().filter(|m| table.methods.contains(&m.paper)).collect(),
            Some(text) => list("--methods", text, METHODS, |m| vec![m.ours, m.paper])?,
        };
        let networks = match &words.networks {
            None => None,
            Some(text) => {
                let names = |n: &NetName| {
                    let (ours, paper) = network_names(*n);
                    vec![ours, paper.unwrap_or(ours)]
                };
                Some(list("--networks", text, &NETWORKS, names)?.into_iter().copied().collect())
            }
        };
        let eta_aux = match &words.eta_aux {
            None => table.eta_aux.to_vec(),
            Some(text) => numbers("--eta-aux", "method.eta_aux", text)?,
        };
        Ok(ReproduceRequest {
            table,
            runs: words.runs.clone(),
            data: words.data.clone(),
            epochs: whole("--epochs", "train.epochs", &words.epochs)?.max(1) as u32,
            limit: words.limit.as_ref().map(|l| whole("--limit", "data.limit", l)).transpose()?.map(|l| l as u64),
            batch: whole("--batch", "train.batch", &words.batch)? as u32,
            seeds: seeds(&words.seeds)?,
            members: whole("--members", "method.members", &words.members)? as u32,
            networks,
            sets,
            methods,
            eta_aux,
            eta_aux_given: words.eta_aux.is_some(),
            ood: outsides(&words.ood)?,
            device: words.device.clone(),
            no_train: words.no_train,
        })
    }

    /// Tables that need a second set cannot be made of a set that has none, nor those of ensembles of single networks.
    pub(crate) fn possible(&self) -> Result<()> {
        let name = self.table.name;
        if self.members < 2 && matches!(self.table.show, Show::SingleAndEnsemble | Show::EnsembleSize) {
            let found = format!("{}, and {name} is about ensembles", self.members);
            return Err(Error::usage("--members", found, "2 or more", "leave it out for the paper's 5"));
        }
        if self
            .sets
            .iter()
            .any(|s| has_partner(s, self.table.show) || !self.ood.is_empty() && wants_outside(self.table.show))
        {
            return Ok(());
        }
        let (what, help) = match wants_outside(self.table.show) {
            true => ("out-of-distribution set", "name one with --ood NAME=FOLDER"),
            false => ("shifted set", "choose another set or another table"),
        };
        let sets: Vec<&str> = self.sets.iter().map(|s| s.name).collect();
        let allowed: Vec<&str> = SETS.iter().filter(|s| has_partner(s, self.table.show)).map(|s| s.name).collect();
        Err(Error::usage(
            "--datasets",
            format!("{name} needs a {what}, and {} has none", sets.join(", ")),
            allowed.join(", "),
            help,
        ))
    }

    /// The networks that a set is trained with.
    pub fn networks_of(&self, set: &Set) -> Vec<NetName> {
        self.networks.clone().unwrap_or_else(|| set.networks.unwrap_or(self.table.networks).to_vec())
    }

    /// The weights of auxiliary training of a method's rows; `[None]` for one that has none.
    pub fn eta_aux_of(&self, method: &Method) -> Vec<Option<f64>> {
        if method.family == Family::Vifo { self.eta_aux.iter().map(|e| Some(*e)).collect() } else { vec![None] }
    }

    /// Members of a run: the paper makes ensembles of all but VI, and learning curves of single networks.
    pub fn members_of(&self, method: &Method) -> u32 {
        let single = method.family == Family::Vi || matches!(self.table.show, Show::LearningCurves | Show::Time);
        if single && self.table.show != Show::EnsembleSize { 1 } else { self.members }
    }
}

fn wants_outside(show: Show) -> bool {
    use super::mapping::Rows;
    matches!(show, Show::WinRates) || matches!(show, Show::Cells(m) if m.rows == Rows::Outside)
}

fn has_partner(set: &Set, show: Show) -> bool {
    use super::mapping::Rows;
    match show {
        Show::Cells(m) if m.rows == Rows::Shift => set.shift.is_some(),
        show => !wants_outside(show) || !set.outside.is_empty(),
    }
}

fn serves(set: &Set, show: Show, words: &Words) -> bool {
    has_partner(set, show) || !words.ood.is_empty() && wants_outside(show)
}

/// The benchmarks that are no tables of the paper are among the names as well.
fn with_uci(error: Error, word: &str) -> Error {
    match error {
        Error::Usage(mut fault) => {
            fault.allowed += ", all, uci, tables";
            let near = |name: &&&str| strsim::jaro_winkler(&plain(word), name) > 0.8;
            // "tabel2" is nearer to table2.
            let is_numbered = word.ends_with(|c: char| c.is_ascii_digit());
            if let Some(name) = ["uci", "tables"].iter().find(near).filter(|_| !is_numbered) {
                fault.help = format!("did you mean {name}?");
            }
            Error::Usage(fault)
        }
        other => other,
    }
}

/// "-" and "_" and capitals make no other name.
pub fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '_', ' '], "")
}

pub(crate) fn one_of<'a, T>(
    place: &str,
    word: &str,
    all: &'a [T],
    names: impl Fn(&T) -> Vec<&'static str>,
) -> Result<&'a T> {
    if let Some(found) = all.iter().find(|t| names(t).iter().any(|n| plain(n) == plain(word))) {
        return Ok(found);
    }
    let near = |t: &&T| names(t).iter().map(|n| strsim::jaro_winkler(&plain(n), &plain(word))).fold(0.0, f64::max);
    let nearest = all.iter().max_by(|a, b| near(a).total_cmp(&near(b))).and_then(|t| names(t).first().copied());
    let allowed: Vec<&str> = all.iter().filter_map(|t| names(t).first().copied()).collect();
    let help = format!("did you mean {}?", nearest.unwrap_or_default());
    Err(Error::usage(place, format!("no '{word}'"), allowed.join(", "), help))
}

pub(crate) fn list<'a, T: PartialEq>(
    place: &str,
    text: &str,
    all: &'a [T],
    names: impl Fn(&T) -> Vec<&'static str>,
) -> Result<Vec<&'a T>> {
    let mut out: Vec<&T> = vec![];
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let found = one_of(place, word, all, &names)?;
        if !out.contains(&found) {
            out.push(found);
        }
    }
    if out.is_empty() {
        let allowed: Vec<&str> = all.iter().filter_map(|t| names(t).first().copied()).collect();
        return Err(Error::usage(place, "an empty list", allowed.join(", "), "name one or more, with commas between"));
    }
    Ok(out)
}

/// A number that the recipe key `key` admits.
fn value(flag: &str, key: &str, text: &str) -> Result<toml::Value> {
    let mut table = toml::Table::new();
    keys::set(&mut table, key, text.trim(), flag)?;
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let section = if section.is_empty() { Some(&table) } else { table.get(section).and_then(toml::Value::as_table) };
    section.and_then(|s| s.get(name)).cloned().ok_or_else(|| Error::usage(flag, format!("'{text}'"), "a number", ""))
}

pub(crate) fn whole(flag: &str, key: &str, text: &str) -> Result<i64> {
    value(flag, key, text)?.as_integer().ok_or_else(|| Error::usage(flag, format!("'{text}'"), "a whole number", ""))
}

fn numbers(flag: &str, key: &str, text: &str) -> Result<Vec<f64>> {
    let mut out = vec![];
    for word in text.split(',') {
        let v = value(flag, key, word)?;
        let v = v.as_float().ok_or_else(|| Error::usage(flag, format!("'{word}'"), "a number", ""))?;
        if !out.contains(&v) {
            out.push(v);
        }
    }
    Ok(out)
}

/// "3" is three of them, 1 to 3; "3," or "1,5" are those.
pub(crate) fn seeds(text: &str) -> Result<Vec<u32>> {
    if !text.contains(',') {
        let n = whole("--seeds", "seed", text)?;
        return match n {
            1..=1000 => Ok((1..=n as u32).collect()),
            _ => Err(Error::usage(
                "--seeds",
                n.to_string(),
                "1 to 1000, or a list such as 1,2,3",
                "how many runs of each",
            )),
        };
    }
    let mut out = vec![];
    for word in text.split(',').filter(|w| !w.trim().is_empty()) {
        let seed = whole("--seeds", "seed", word)? as u32;
        if !out.contains(&seed) {
            out.push(seed);
        }
    }
    if out.is_empty() {
        Err(Error::usage("--seeds", "an empty list", "such as 1,2,3", "name one or more"))
    } else {
        Ok(out)
    }
}

fn outsides(all: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let mut out: Vec<(String, PathBuf)> = vec![];
    for text in all {
        let (name, path) = outside(text)?;
        if out.iter().any(|(n, _)| *n == name) {
            return Err(Error::usage(
                "--ood",
                format!("'{name}' twice"),
                "a name for each set",
                "give one another name",
            ));
        }
        out.push((name, path));
    }
    Ok(out)
}

fn outside(text: &str) -> Result<(String, PathBuf)> {
    match text.split_once('=') {
        Some((name, path)) if !name.trim().is_empty() && !path.trim().is_empty() => {
            let (name, path) = (name.trim(), PathBuf::from(path.trim()));
            // A bundled set is one by its own name.
            if SETS.iter().any(|s| s.name == plain(name)) && path.to_str() != Some("digits") {
                let help = "choose another name, or put the set into the folder of --data";
                let found = format!("'{name}' is the name of one of the data sets");
                return Err(Error::usage("--ood", found, "another name", help));
            }
            Ok((name.into(), path))
        }
        _ => Err(Error::usage("--ood", format!("'{text}'"), "NAME=FOLDER", "for example --ood textures=data/textures")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(table: &str) -> Words {
        Words {
            table: table.into(),
            epochs: "2".into(),
            batch: "512".into(),
            seeds: "2".into(),
            members: "5".into(),
            device: "cpu".into(),
            ..Default::default()
        }
    }

    #[test]
    fn a_name_is_found_however_it_is_written_and_the_nearest_is_offered() {
        let request = ReproduceRequest::new(&Words {
            sets: Some("CIFAR-10,stl10".into()),
            methods: Some("sgd,VIFO-mean".into()),
            networks: Some("AlexNet".into()),
            ..words("Win_Rates")
        });
        let request = request.expect("known");
        assert_eq!(request.table.name, "win-rates");
        assert_eq!(request.sets.iter().map(|s| s.name).collect::<Vec<_>>(), ["cifar10", "stl10"]);
        assert_eq!(request.methods.iter().map(|m| m.ours).collect::<Vec<_>>(), ["base", "vifo-mean"]);
        let refused = |w: Words| ReproduceRequest::new(&w).expect_err("unknown").to_string();
        assert!(refused(words("tabel1")).ends_with("did you mean table1?"));
        assert!(refused(Words { sets: Some("cifar".into()), ..words("nll") }).contains("did you mean cifar10?"));
        assert!(refused(Words { limit: Some("0".into()), ..words("nll") }).starts_with("--limit: data.limit: 0"));
    }

    #[test]
    fn seeds_are_counted_or_named() {
        assert_eq!(seeds("3").expect("a count"), [1, 2, 3]);
        assert_eq!(seeds("7,9,7").expect("a list"), [7, 9]);
        assert_eq!(seeds("4,").expect("a list of one"), [4]);
        assert!(seeds("0").is_err() && seeds(",").is_err() && seeds("x").is_err());
    }

    #[test]
    fn the_papers_members_and_partners() {
        let request = ReproduceRequest::new(&words("entropy")).expect("a request");
        assert_eq!(request.sets.iter().map(|s| s.name).collect::<Vec<_>>(), ["cifar10", "svhn", "stl10"]);
        let of = |paper: &str| request.members_of(METHODS.iter().find(|m| m.paper == paper).expect("a method"));
        assert_eq!((of("VI-mean"), of("VIFO-mean"), of("SGD")), (1, 5, 5));
        let none = ReproduceRequest::new(&Words { sets: Some("digits".into()), ..words("auroc") });
        assert!(none.expect_err("no partner").to_string().contains("--ood NAME=FOLDER"));
    }
}
