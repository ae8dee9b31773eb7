//! The work itself: look what is there, then train and evaluate what is missing, run by run, and make the table.

use super::ask::ReproduceRequest;
use super::estimate::{Estimate, estimate};
use super::mapping::{Rows, SETS, Set, Show};
use super::measure::{self, Measured, Partner};
use super::paper::Paper;
use super::plan::{self, PlannedRun};
use super::sets::Places;
use super::tables::ReproduceReport;
use super::{cells, curves, departures, sizes, times, wins};
use crate::data::load;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::run::RunFolder;
use crate::study::run_set::{self, Outcome, RunEnd, RunStatus};
use crate::train::{Ending, Event, Flow};

/// A request with everything looked up.
pub struct Prepared {
    pub request: ReproduceRequest,
    pub runs: Vec<PlannedRun>,
    pub places: Places,
    /// What is left out and why, a sentence each.
    pub notes: Vec<String>,
    pub paper: Paper,
}

/// Progress of the work.
pub enum ReproduceEvent<'a> {
    /// The run of this number (from 1, of the runs that are not done) begins or goes on.
    Begins {
        number: usize,
        of: usize,
        run: &'a PlannedRun,
    },
    Training(&'a Event, &'a [String]),
    Ended {
        ending: Ending,
    },
    Failed {
        run: &'a PlannedRun,
        error: &'a Error,
    },
    /// A finished run is looked at on other sets or by member.
    Evaluates {
        number: usize,
        of: usize,
        run: &'a PlannedRun,
    },
    /// Rounds of table1.
    Times {
        what: String,
    },
}

/// Finds data and runs. Nothing is trained; a needed set that is not there is an error.
pub fn prepare(request: ReproduceRequest) -> Result<Prepared> {
    let places = Places::look(&request)?;
    let runs = plan::runs(&request, &places)?;
    let mut p = Prepared { request, runs, places, notes: vec![], paper: Paper::read()? };
    let needed: Vec<&Set> = p.request.sets.iter().copied().filter(|s| p.needs(s)).collect();
    p.places.require(&p.request.data, &needed)?;
    p.check_moved()?;
    p.notes = p.first_notes();
    Ok(p)
}

impl Prepared {
    /// Whether a set's training or test images have to be read.
    fn needs(&self, set: &Set) -> bool {
        if self.request.no_train {
            return false;
        }
        let mut runs = self.runs.iter().filter(|r| r.set == set);
        runs.any(|r| r.state != RunStatus::Done || self.to_evaluate(r))
    }

    /// Scale and place, for names of figures.
    pub fn stem(&self, set: &str, network: &str) -> String {
        format!("{set}-{network}-{}", self.scale())
    }

    /// "500ep", "2ep-100im": in names of figures.
    pub fn scale(&self) -> String {
        let limit = self.request.limit.map_or(String::new(), |l| format!("-{l}im"));
        format!("{}ep{limit}", self.request.epochs)
    }

    /// "500 epochs on all images", for people.
    pub fn scale_said(&self) -> String {
        let images = self.request.limit.map_or("all images".into(), |l| counted(l, "image"));
        format!("{} on {images}", counted(self.request.epochs.into(), "epoch"))
    }

    pub fn todo(&self) -> Vec<&PlannedRun> {
        self.runs.iter().filter(|r| r.state != RunStatus::Done).collect()
    }

    /// The sets of the table that a run is evaluated on and that are there.
    pub fn partners(&self, set: &Set) -> Vec<Partner> {
        let rows = self.partner_rows();
        let here =
            |name: &str, shifted: bool| self.places.of(name).map(|path| Partner { name: name.into(), path, shifted });
        match rows {
            Some(Rows::Shift) => set.shift.and_then(|s| here(s, true)).into_iter().collect(),
            Some(Rows::Outside) => {
                let named = self.request.ood.iter().map(|(name, _)| name.as_str());
                set.outside.iter().copied().chain(named).filter_map(|s| here(s, false)).collect()
            }
            _ => vec![],
        }
    }

    pub fn partner_rows(&self) -> Option<Rows> {
        match self.request.table.show {
            Show::Cells(m) => Some(m.rows).filter(|r| *r != Rows::Test),
            Show::WinRates => Some(Rows::Outside),
            _ => None,
        }
    }

    /// Whether the table is of the time of steps.
    pub fn times(&self) -> bool {
        self.request.table.show == Show::Time
    }

    fn wants_sizes(&self) -> bool {
        matches!(self.request.table.show, Show::EnsembleSize | Show::SingleAndEnsemble)
    }

    /// Whether something is missing that a finished run can still give.
    fn to_evaluate(&self, run: &PlannedRun) -> bool {
        let measured = Measured::read(run);
        self.partners(run.set).iter().any(|p| measured.on(p).is_none())
            || self.wants_sizes() && measured.nll_by_size.is_none()
    }

    /// A run made of images that lie elsewhere now counts only if the images are the same.
    fn check_moved(&self) -> Result<()> {
        let mut hashes: Vec<((&str, Option<u32>), String)> = vec![];
        for run in self.runs.iter().filter(|r| matches!(r.state, RunStatus::Done | RunStatus::Stopped { .. })) {
            let Some(recipe) = &run.recipe else { continue };
            let folder = RunFolder::open(&run.folder)?;
            if folder.recipe()?.data.images == recipe.data.images {
                continue;
            }
            let key = (run.set.name, run.network.fixed_side());
            if !hashes.iter().any(|(k, _)| *k == key) {
                hashes.push((key, load::load(recipe)?.hash));
            }
            let same =
                hashes.iter().any(|(k, hash)| *k == key && *hash == folder.manifest().map_or("".into(), |m| m.data));
            if !same {
                let found =
                    format!("was trained on other images than {} holds now", shown(recipe.data.images.as_deref()));
                let help = "name the folder of those images with --data, or choose another with --runs";
                return Err(Error::data(run.folder.display().to_string(), found, "", help));
            }
        }
        Ok(())
    }

    /// What is known before any work.
    fn first_notes(&self) -> Vec<String> {
        let mut notes = vec![];
        let has_paper = self.request.sets.iter().any(|s| s.paper.is_some());
        let without: Vec<&str> = self.request.methods.iter().filter(|m| !m.trainable()).map(|m| m.paper).collect();
        if !without.is_empty() {
            let those = without.join(", ");
            let rows = if has_paper { ": the paper's numbers stand alone there" } else { "" };
            notes.push(format!("vifo has no training for {those}{rows}"));
        }
        notes.extend(departures::departures(self));
        if let Some(rows) = self.partner_rows() {
            notes.extend(self.missing_partners(rows));
        }
        notes
    }

    /// One line that names the shifted or out-of-distribution sets that are not there.
    fn missing_partners(&self, rows: Rows) -> Option<String> {
        let of = |s: &&'static Set| if rows == Rows::Shift { s.shift.as_slice() } else { s.outside }.to_vec();
        let wanted: Vec<&str> = self.request.sets.iter().flat_map(of).collect();
        let missing: Vec<&str> =
            SETS.iter().map(|s| s.name).filter(|s| wanted.contains(s) && self.places.of(s).is_none()).collect();
        let what = if rows == Rows::Shift { "shifted" } else { "out-of-distribution" };
        (!missing.is_empty()).then(|| {
            let (names, data) = (missing.join(", "), self.request.data.display());
            format!("{names} not found in {data}: ours are left out where it is the {what} set")
        })
    }

    /// How long training (or the timing of steps) will take on `device`; reads the sets and runs a few steps.
    pub fn estimate(&self, device: &Device, go_on: &mut dyn FnMut() -> bool) -> Result<Estimate> {
        if self.request.table.show == Show::Time {
            return Ok(Estimate { seconds: times::estimate(self, device, go_on)?, ..Default::default() });
        }
        estimate(&self.todo(), device, go_on)
    }

    /// Trains and evaluates what is missing. A run that diverges is reported and skipped; the others go on.
    pub fn carry_out(&mut self, device: &Device, listen: &mut dyn FnMut(ReproduceEvent) -> Flow) -> Result<Outcome> {
        if self.request.no_train {
            return Ok(Outcome::Done);
        }
        self.follow_moved()?;
        let of = self.todo().len();
        let (mut number, mut failed) = (0, 0);
        for i in 0..self.runs.len() {
            if self.runs[i].state == RunStatus::Done {
                continue;
            }
            number += 1;
            match run_set::run_end(self.train(i, (number, of), device, listen))? {
                RunEnd::Stopped => return Ok(Outcome::Stopped),
                RunEnd::Done => self.runs[i].state = RunStatus::Done,
                RunEnd::Failed(error) => {
                    failed += 1;
                    listen(ReproduceEvent::Failed { run: &self.runs[i], error: &error });
                }
            }
        }
        let left: Vec<&PlannedRun> =
            self.runs.iter().filter(|r| r.state == RunStatus::Done && self.to_evaluate(r)).collect();
        for (i, run) in left.iter().enumerate() {
            if listen(ReproduceEvent::Evaluates { number: i + 1, of: left.len(), run }) == Flow::Stop {
                return Ok(Outcome::Stopped);
            }
            measure::on_partners(run, &self.partners(run.set), device)?;
            if self.wants_sizes() {
                measure::by_size(run, device)?;
            }
        }
        Ok(Outcome::of_failed(failed))
    }

    fn train(
        &self,
        i: usize,
        (number, of): (usize, usize),
        device: &Device,
        listen: &mut dyn FnMut(ReproduceEvent) -> Flow,
    ) -> Result<Ending> {
        let run = &self.runs[i];
        if listen(ReproduceEvent::Begins { number, of, run }) == Flow::Stop {
            return Ok(Ending::Stopped);
        }
        let mut tell = |event: &Event, notes: &[String]| listen(ReproduceEvent::Training(event, notes));
        let folder = RunFolder { path: run.folder.clone() };
        let fitted = run_set::train(&folder, &run.state, run.recipe()?, device, &mut tell)?;
        listen(ReproduceEvent::Ended { ending: fitted.ending });
        Ok(fitted.ending)
    }

    /// Runs whose images have moved get the new place: resuming and evaluating read them there.
    fn follow_moved(&self) -> Result<()> {
        for run in self.runs.iter().filter(|r| matches!(r.state, RunStatus::Done | RunStatus::Stopped { .. })) {
            let Some(images) = run.recipe.as_ref().map(|r| r.data.images.clone()) else { continue };
            let folder = RunFolder::open(&run.folder)?;
            let mut recipe = folder.recipe()?;
            if recipe.data.images != images {
                recipe.data.images = images;
                folder.write("recipe.toml", recipe.to_toml()?.as_bytes())?;
            }
        }
        Ok(())
    }

    /// The table of what is there; figures are written into the folder of runs.
    pub fn report(&self, device: &Device, listen: &mut dyn FnMut(ReproduceEvent) -> Flow) -> Result<ReproduceReport> {
        match self.request.table.show {
            Show::Time => times::report(self, device, listen),
            Show::SingleAndEnsemble => sizes::single_and_ensemble(self),
            Show::Cells(metric) => cells::report(self, metric),
            Show::WinRates => wins::report(self),
            Show::LearningCurves => curves::report(self),
            Show::EnsembleSize => sizes::report(self),
        }
    }
}

fn shown(path: Option<&std::path::Path>) -> String {
    path.map_or_else(String::new, |p| p.display().to_string())
}

/// "1 epoch", "2 epochs".
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
