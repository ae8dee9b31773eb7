//! `reproduce all`: every table and figure on one page that needs no other file, with what was run at which scale and where it
//! departs from the paper.

use super::ask::{ReproduceRequest, Words};
use super::mapping::TABLES;
use super::plan::PlannedRun;
use super::tables::ReproduceReport;
use super::work::{Prepared, prepare};
use crate::error::{Error, Result};
use crate::figure::{self, HtmlTable, Section};
use crate::report::html;
use crate::run::{Manifest, RunFolder};
use crate::study::run_set::RunStatus;
use std::path::PathBuf;

/// The name that stands for every table.
pub const ALL: &str = "all";

/// What `all` comes to with these words.
pub struct All {
    pub tables: Vec<ReproduceRequest>,
    /// Tables that these sets cannot make, and why.
    pub left_out: Vec<(&'static str, String)>,
}

impl All {
    /// Every table is asked for; words that are wrong are an error, a table that the sets cannot make is left out.
    pub fn new(words: &Words) -> Result<All> {
        let mut all = All { tables: vec![], left_out: vec![] };
        for table in TABLES {
            let request = ReproduceRequest::parse(&Words { table: table.name.into(), ..words.clone() })?;
            match request.possible() {
                Ok(()) => all.tables.push(request),
                Err(Error::Usage(fault)) => all.left_out.push((table.name, fault.found)),
                Err(other) => return Err(other),
            }
        }
        Ok(all)
    }

    /// All of them looked up, so that what is missing is reported before anything is trained. A run that several tables need
    /// stands with the first.
    pub fn prepare(&self) -> Result<Vec<Prepared>> {
        let mut seen: Vec<PathBuf> = vec![];
        let mut out = vec![];
        for request in &self.tables {
            let mut p = prepare(request.clone())?;
            p.runs.retain(|r| !seen.contains(&r.folder));
            seen.extend(p.runs.iter().map(|r| r.folder.clone()));
            out.push(p);
        }
        Ok(out)
    }

    /// Writes the page into the folder of runs.
    pub fn write(&self, made: &[(Prepared, ReproduceReport)], device: &str) -> Result<PathBuf> {
        let Some((first, _)) = made.first() else {
            let found = "none of the tables can be made of these sets";
            return Err(Error::usage(ALL, found, "", "choose other sets with --datasets"));
        };
        let mut sections = vec![self.what_was_run(made), departs(made)];
        for (_, report) in made {
            sections.extend(sections_of(report));
        }
        let (version, git) = Manifest::version();
        let a = &first.request;
        let list = |names: Vec<String>| if names.is_empty() { "the paper's".into() } else { names.join(", ") };
        let mut runs: Vec<&PlannedRun> = vec![];
        for run in made.iter().flat_map(|m| &m.0.runs) {
            if !runs.iter().any(|r| r.folder == run.folder) {
                runs.push(run);
            }
        }
        let done = runs.iter().filter(|r| r.state == RunStatus::Done).count();
        let summary = vec![
            ("runs".to_string(), format!("{done} of {} done", runs.len())),
            ("scale".into(), first.scale_said()),
            ("seeds".into(), a.seeds.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
            ("members".into(), a.members.to_string()),
            ("images per step".into(), a.batch.to_string()),
            ("data sets".into(), list(a.sets.iter().map(|s| s.name.to_string()).collect())),
            ("device".into(), device.into()),
            ("program".into(), format!("vifo {version} ({git})")),
        ];
        let about = "Wei and Khardon, Variational Inference on the Final-Layer Output of Neural Networks, TMLR 2024: every table and figure of \
                     its experiments, as this program makes them beside the paper's own numbers. Rings are the paper's, filled marks are \
                     ours; where ours are missing they have not been run.";
        let lead = vec![Section { text: vec![about.into()], ..Default::default() }];
        let page = figure::HtmlReport { title: "The VIFO paper, ours beside theirs".into(), lead, summary, sections };
        let path = a.runs.join("all.html");
        figure::write_report(&path, &page)?;
        Ok(path)
    }

    fn what_was_run(&self, made: &[(Prepared, ReproduceReport)]) -> Section {
        let mut rows: Vec<Vec<String>> = vec![];
        for (p, report) in made {
            let done = p.runs.iter().filter(|r| r.state == RunStatus::Done).count();
            let runs = if p.times() { "steps timed".into() } else { format!("{done} of {}", p.runs.len()) };
            let seconds: f64 = p.runs.iter().filter_map(seconds).sum();
            let trained = if seconds > 0.0 { format!("{seconds:.0}") } else { String::new() };
            let table = p.request.table;
            rows.push(vec![table.name.into(), table.source.into(), runs, trained, report.figures.len().to_string()]);
        }
        for (name, why) in &self.left_out {
            rows.push(vec![name.to_string(), why.clone(), "not made".into(), String::new(), String::new()]);
        }
        let header = ["table", "in the paper", "runs done", "seconds of training", "figures"].map(String::from).into();
        Section {
            heading: "What was run".into(),
            text: vec!["Tables share runs: each run is trained once.".into()],
            table: Some(HtmlTable { header, rows }),
            ..Default::default()
        }
    }
}

/// Of the whole training, from its last row.
fn seconds(run: &PlannedRun) -> Option<f64> {
    let rows = RunFolder::open(&run.folder).ok()?.metrics(u32::MAX).ok()?;
    rows.last().map(|r| r.seconds)
}

fn departs(made: &[(Prepared, ReproduceReport)]) -> Section {
    let mut text: Vec<String> = vec![];
    for note in made.iter().flat_map(|m| &m.0.notes) {
        let note = format!("{note}.");
        if !text.contains(&note) {
            text.push(note);
        }
    }
    if text.is_empty() {
        text.push("Nothing that vifo knows of.".into());
    }
    Section { heading: "What departs from the paper".into(), text, ..Default::default() }
}

/// A heading with figures and notes, then its tables.
fn sections_of(report: &ReproduceReport) -> Vec<Section> {
    let text = report.notes.iter().map(|n| format!("Note: {n}.")).collect();
    let mut out =
        vec![Section { heading: report.title.clone(), text, figures: report.figures.clone(), ..Default::default() }];
    out.extend(report.sections.iter().map(|(heading, table)| Section {
        heading: heading.clone(),
        minor: true,
        table: Some(html(table)),
        ..Default::default()
    }));
    out
}
