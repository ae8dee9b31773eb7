//! What a finished run gives beyond its own test: metrics on shifted and out-of-distribution sets, and the NLL of its
//! smaller ensembles. Computed once and kept in the run folder.

use super::plan::PlannedRun;
use super::sets::fingerprint;
use crate::base::fs;
use crate::data::load;
use crate::data::targets_of as targets;
use crate::error::{Error, Result};
use crate::exec::Device;
use crate::method::Predictive;
use crate::metrics;
use crate::results::Results;
use crate::run::{Model, RunFolder};
use crate::train::Predictor;
use crate::workflow::evaluate::{EvaluateRequest, evaluate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Name of the file in the run folder.
const FILE: &str = "reproduce.json";
/// The results of the shifted set on the classes that both sets know.
pub const MATCHED: &str = "shift, without frog and monkey";

/// A set to evaluate on.
#[derive(Debug, Clone, PartialEq)]
pub struct Partner {
    pub name: String,
    pub path: PathBuf,
    pub shifted: bool,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Fingerprint of the set, and the results on it.
    sets: BTreeMap<String, Entry>,
    /// Test NLL of ensembles of 1, 2, ... members.
    pub nll_by_size: Option<Vec<f64>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    of: String,
    results: Vec<Results>,
}

impl Partner {
    fn key(&self) -> String {
        format!("{} {}", if self.shifted { "shift" } else { "ood" }, self.name)
    }
}

impl Measured {
    /// What is kept in the folder; nothing if there is nothing that can be read.
    pub fn read(run: &PlannedRun) -> Measured {
        let text = fs::read_to_string(run.folder.join(FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn write(&self, run: &PlannedRun) -> Result<()> {
        RunFolder::open(&run.folder)?.write_json(FILE, self)
    }

    /// Results on a set, if they are of the set as it is now; of one that is gone the last ones are good.
    pub fn on(&self, partner: &Partner) -> Option<&[Results]> {
        let entry = self.sets.get(&partner.key())?;
        (!fs::exists(&partner.path) || entry.of == fingerprint(&partner.path)).then_some(&entry.results)
    }

    /// Results on a set whose place is not known any more.
    pub fn last_on(&self, name: &str, shifted: bool) -> Option<&[Results]> {
        let key = Partner { name: name.into(), path: PathBuf::new(), shifted }.key();
        self.sets.get(&key).map(|e| e.results.as_slice())
    }
}

/// The metrics of the run's own test images.
pub fn test_results(run: &PlannedRun) -> Result<Results> {
    RunFolder::open(&run.folder)?.results()
}

/// Evaluates a finished run on the partners that it has no results for.
pub fn on_partners(run: &PlannedRun, partners: &[Partner], device: &Device) -> Result<()> {
    let mut measured = Measured::read(run);
    let missing: Vec<&Partner> = partners.iter().filter(|p| measured.on(p).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let shift = missing.iter().find(|p| p.shifted);
    let outside: Vec<&&Partner> = missing.iter().filter(|p| !p.shifted).collect();
    let request = EvaluateRequest {
        shift: shift.map(|p| p.path.clone()),
        ood: outside.iter().map(|p| p.path.clone()).collect(),
        ..Default::default()
    };
    let done = evaluate(&RunFolder::open(&run.folder)?, device, &request, &mut |_| ())?;
    let entry = |p: &Partner, results: Vec<Results>| (p.key(), Entry { of: fingerprint(&p.path), results });
    if let Some(p) = shift {
        let own = done.results.iter().filter(|r| r.set.starts_with("shift")).cloned().collect();
        measured.sets.extend([entry(p, own)]);
    }
    let ours = done.results.iter().filter(|r| r.set.starts_with("ood"));
    measured.sets.extend(outside.iter().zip(ours).map(|(p, r)| entry(p, vec![r.clone()])));
    measured.write(run)
}

/// Test NLL of ensembles of 1, 2, ..., all members of one run: each member predicts alone, once, and an ensemble is the
/// average of its members' probabilities. Members have no order, so a size has the mean over all runs of neighbours in
/// the circle of members.
pub fn by_size(run: &PlannedRun, device: &Device) -> Result<()> {
    let mut measured = Measured::read(run);
    if measured.nll_by_size.is_some() {
        return Ok(());
    }
    let model = Model::open(&RunFolder::open(&run.folder)?)?;
    let data = load::load(&model.recipe)?;
    let y: Vec<usize> = targets(&data.test).iter().map(|&v| v as usize).collect();
    let probs = member_probabilities(&model, &data, device)?;
    measured.nll_by_size = Some(nll_by_size(&probs, &y, data.encoder.n_classes().unwrap_or(1)));
    measured.write(run)
}

/// [n, k] for each member.
fn member_probabilities(model: &Model, data: &load::Loaded, device: &Device) -> Result<Vec<Vec<f64>>> {
    let setup = &model.plan.setup;
    let members = setup.members as usize;
    let mut out = vec![];
    for i in 0..members {
        let mut predictor = Predictor::new(&setup.part(i as u32, 1), device, model.plan.seed, data.test.n)?;
        predictor.set(&model.trained.member(i, members))?;
        match predictor.predict(data.test.inputs())? {
            Predictive::Classification(c) => out.push(c.probs),
            Predictive::Regression(_) => {
                return Err(Error::run("reproduce", "a regression", "this is a bug of vifo: please report it"));
            }
        }
    }
    Ok(out)
}

fn nll_by_size(members: &[Vec<f64>], y: &[usize], k: usize) -> Vec<f64> {
    let n = members.len();
    let of = |first: usize, size: usize| {
        let mean = |i: usize| (0..size).map(|j| members[(first + j) % n][i]).sum::<f64>() / size as f64;
        metrics::nll(&(0..y.len() * k).map(mean).collect::<Vec<_>>(), y, k)
    };
    let circles = |size: usize| if size == n { 1 } else { n };
    (1..=n).map(|size| (0..circles(size)).map(|first| of(first, size)).sum::<f64>() / circles(size) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members, one row of class 0: alone -ln 0.5 and -ln 0.25, together -ln 0.375.
    #[test]
    fn sizes_by_hand() {
        let got = nll_by_size(&[vec![0.5, 0.5], vec![0.25, 0.75]], &[0], 2);
        let want = [-(libm::log(0.5f64) + libm::log(0.25f64)) / 2.0, -libm::log(0.375f64)];
        assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12), "{got:?}");
    }
}
