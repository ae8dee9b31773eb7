//! One training for each of several values of eta, on the same data with the same seed: what each looks like at its end.

use super::history::Moment;
use super::picture::View;
use super::pieces::Piecework;
use super::slot::TrainerSlot;
use crate::error::Result;
use crate::exec::Device;
use crate::recipe::Recipe;
use crate::train::Steps;
use crate::workflow::Training;
use std::sync::Arc;

pub struct Sweep {
    recipe: Recipe,
    etas: Vec<f64>,
    view: View,
    device: Option<Device>,
    now: Option<TrainerSlot>,
    done: Vec<Arc<Moment>>,
}

/// Steps between two looks at whether it is given up.
const STEPS: u64 = 64;

impl Sweep {
    /// Nothing is kept in a folder.
    pub fn new(recipe: Recipe, etas: Vec<f64>, view: View) -> Sweep {
        Sweep { recipe, etas, view, device: None, now: None, done: vec![] }
    }

    fn begin(&mut self) -> Result<TrainerSlot> {
        let device = match &self.device {
            Some(device) => device.clone(),
            None => Device::open(&self.recipe.device)?,
        };
        self.device = Some(device.clone());
        let mut recipe = self.recipe.clone();
        recipe.method.eta = self.etas.get(self.done.len()).copied();
        Ok(TrainerSlot::new(Training::new(&recipe, &device)?, device))
    }
}

impl Piecework for Sweep {
    /// In the order of the etas.
    type Output = Vec<Arc<Moment>>;

    fn piece(&mut self) -> Result<Option<Self::Output>> {
        if self.done.len() == self.etas.len() {
            return Ok(Some(std::mem::take(&mut self.done)));
        }
        let mut slot = match self.now.take() {
            Some(slot) => slot,
            None => self.begin()?,
        };
        slot.training.advance(STEPS)?;
        if slot.training.ending().is_none() {
            self.now = Some(slot);
            return Ok(None);
        }
        let picture = slot.snapshot(&self.view)?.picture;
        let trainer = &slot.training.trainer;
        self.done.push(Arc::new(Moment {
            step: trainer.step(),
            epoch: trainer.epoch(),
            seconds: self.done.len() as f64,
            pictures: vec![picture],
            points: Arc::new(slot.points().train),
        }));
        Ok(None)
    }

    fn progress(&self) -> (f64, String) {
        let part = self.now.as_ref().map_or(0.0, |slot| {
            let trainer = &slot.training.trainer;
            (trainer.step() as f64 / trainer.plan().total_steps().max(1) as f64).min(1.0)
        });
        let (done, all) = (self.done.len(), self.etas.len().max(1));
        let eta = self.etas.get(done).map_or(String::new(), |eta| format!("training with eta {eta}"));
        ((done as f64 + part) / all as f64, eta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Picture;

    #[test]
    fn each_eta_trains_on_the_same_points_to_its_own_band() {
        let text = "[data]\ntoy = \"sinusoid\"\nrows = 24\nvalidation_fraction = 0.0\n[net]\nhidden = [8]\n[train]\nepochs = 200\nlr = 0.01\n";
        let recipe = crate::method::checked(&Recipe::parse(text, "test").expect("TOML"), "test").expect("a recipe");
        let mut sweep = Sweep::new(recipe, vec![0.01, 3.0], View::default());
        let (mut shares, mut said) = (vec![], vec![]);
        let done = loop {
            let (share, words) = sweep.progress();
            shares.push(share);
            said.push(words);
            if let Some(done) = sweep.piece().expect("trained") {
                break done;
            }
        };
        assert!(shares.is_sorted() && shares.len() > 4, "{shares:?}");
        assert!(said.iter().any(|s| s.ends_with("eta 0.01")) && said.iter().any(|s| s.ends_with("eta 3")), "{said:?}");
        assert_eq!(done.len(), 2);
        assert_eq!((done[0].epoch, &done[0].points), (200, &done[1].points));
        let sd = |m: &Moment| match &m.pictures[0] {
            Picture::Band(band) => (0..band.x.len()).map(|i| band.total_sd(i)).sum::<f64>() / band.x.len() as f64,
            _ => f64::NAN,
        };
        assert!((sd(&done[0]) - sd(&done[1])).abs() > 1e-3, "{} {}", sd(&done[0]), sd(&done[1]));
    }
}
