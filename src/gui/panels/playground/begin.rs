//! How a training begins, and what it takes the place of.

use super::{Playground, Taking};
use crate::data::toy::ToyKind;
use crate::error::Result;
use crate::gui::panels::controls::{self, Anew};
use crate::gui::panels::keys::TakenAway;
use crate::live::{Command, Keep, WorkerState};
use crate::recipe::Recipe;

impl Playground {
    pub(super) fn keep(&self) -> Option<Keep> {
        let keep = Keep { path: self.session.clone(), force: true, report: false };
        Some(keep).filter(|_| !self.is_second)
    }

    /// What is in training is put aside: Undo brings it back.
    pub(super) fn start(&mut self, truth: Option<ToyKind>, running: bool) {
        self.group.send(Command::Aside(self.training()));
        self.trainings += 1;
        self.taking = Some(Taking { truth, training: self.trainings });
        self.group.start(vec![self.draft.clone()], self.keep(), running);
    }

    /// The number of the training that is shown, or of the one that is about to be.
    pub(super) fn training(&self) -> u64 {
        self.taking.as_ref().map_or(self.training, |t| t.training)
    }

    /// From step 0 with another recipe. Until it has begun, what was there before goes on and is shown.
    pub fn take_recipe(&mut self, recipe: Recipe) {
        self.lesson = None;
        self.draft = recipe;
        self.taken_away = TakenAway::default();
        self.history.doing("open a recipe", true);
        self.start(self.draft.data.toy, true);
    }

    /// From step 0 with what the controls say. The curve behind points that were moved stays.
    pub fn begin(&mut self) {
        if !self.is_empty() {
            self.history.doing("train from step 0", true);
        }
        self.start(self.curve(), true);
    }

    /// What a button has asked for.
    pub fn begin_anew(&mut self, anew: Option<Anew>) {
        match anew {
            Some(Anew::First) if self.is_empty() => self.begin(),
            // It has not left its first step.
            Some(Anew::Again { .. })
                if self.group.step() == 0 && matches!(self.group.state, WorkerState::Running | WorkerState::Paused) => {
            }
            Some(Anew::Again { running }) => {
                // What waits for consent goes on waiting.
                let draft = self.draft.clone();
                if let Some(recipe) = self.group.slots.first().and_then(|l| l.recipe.as_deref()) {
                    self.draft = recipe.clone();
                }
                self.history.doing("train from step 0", true);
                self.start(self.truth, running);
                self.draft = draft;
            }
            _ => {}
        }
    }

    /// A key of the recipe to a value, both as a recipe has them; trains anew where a running training could not take it up.
    ///
    /// # Errors
    /// Of the value.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let mut table = Recipe::parse(&self.draft.to_toml()?, "recipe")?;
        crate::recipe::keys::set(&mut table, key, value, "recipe")?;
        let recipe = crate::method::checked(&table, "recipe")?;
        self.draft = recipe;
        let runs = matches!(self.group.state, WorkerState::Running | WorkerState::Paused);
        if !runs || !self.waiting().is_empty() {
            self.begin();
        }
        Ok(())
    }

    /// Nothing is in training and nothing is about to be: a start was refused.
    pub fn is_empty(&self) -> bool {
        self.group.slots.is_empty() && !self.group.is_starting() && self.fell_back
    }

    /// As `controls::toggle`; where nothing is in training it begins with what the controls say.
    pub fn toggle(&mut self) {
        let anew = controls::toggle(&mut self.group);
        self.begin_anew(anew);
    }
}
