//! Undo and redo of what the controls and the mouse have changed: points, settings, and recipes that took their place.

use super::{Playground, Taking};
use crate::data::toy::ToyKind;
use crate::gui::gallery::Example;
use crate::gui::panels::keys::method_name;
use crate::gui::undo::{self, Undo, Way};
use crate::live::Command;
use crate::recipe::keys::diff;
use crate::recipe::{Recipe, key};
use eframe::egui;
use std::sync::Arc;

/// Seconds within which two changes of one kind are one entry: arrow keys on a slider.
const TOGETHER: f64 = 0.5;

/// What the controls say, and what goes with it.
#[derive(Clone)]
struct Said {
    draft: Arc<Recipe>,
    /// The toy whose curve lies behind the points.
    curve: Option<ToyKind>,
    lesson: Option<&'static Example>,
    /// The number of the training.
    training: u64,
}

#[derive(Clone)]
struct Change {
    before: Said,
    after: Said,
    /// It began a training: the way back brings back the one before, as it was.
    begins: bool,
    /// It went back to this step of the training, and what came after is kept beside it.
    went_back: Option<u64>,
}

/// Of the last entry: a change that tells itself by the same words, in the same press of the mouse or soon after, belongs to it.
struct Last {
    kind: String,
    press: Option<f64>,
    time: f64,
}

pub struct History {
    stack: Undo<Change>,
    /// After the last entry.
    known: Said,
    last: Option<Last>,
    /// In words, where the change itself does not tell; and whether it begins a training.
    doing: Option<(&'static str, bool)>,
}

impl History {
    pub fn new(draft: &Recipe) -> History {
        let known = Said { draft: Arc::new(draft.clone()), curve: draft.data.toy, lesson: None, training: 1 };
        History { stack: Undo::default(), known, last: None, doing: None }
    }

    /// The draft has changed by itself, which is nothing to take back.
    pub fn settle(&mut self, draft: &Recipe) {
        self.known.draft = Arc::new(draft.clone());
    }

    /// What the change that comes is called.
    pub fn doing(&mut self, what: &'static str, begins: bool) {
        self.doing = Some((what, begins));
    }

    pub fn buttons_ui(&self, ui: &mut egui::Ui) -> Option<Way> {
        self.stack.buttons_ui(ui)
    }
}

impl Playground {
    /// The toy whose curve lies behind the points of the draft: moved points keep it.
    pub(super) fn curve(&self) -> Option<ToyKind> {
        self.draft.data.toy.or(self.history.known.curve.filter(|_| self.draft.data.points.is_some()))
    }

    /// At the end of a frame: what it has changed becomes an entry.
    pub(super) fn record(&mut self, ui: &egui::Ui) {
        let doing = self.history.doing.take();
        if *self.history.known.draft == self.draft && doing.is_none_or(|d| !d.1) {
            return;
        }
        let (draft, training) = (Arc::new(self.draft.clone()), self.training());
        let after = Said { draft, curve: self.curve(), lesson: self.lesson, training };
        let before = std::mem::replace(&mut self.history.known, after.clone());
        let (press, time) = ui.input(|i| (i.pointer.press_start_time(), i.time));
        let (name, kind) = match (doing, self.lesson) {
            (Some((_, true)), Some(lesson)) => (format!("open the example \"{}\"", lesson.title), None),
            (Some((what, _)), _) => (what.to_string(), None),
            _ => name(&before.draft, &after.draft),
        };
        let last = self.history.last.take();
        self.history.last = kind.map(|kind| Last { kind, press, time });
        let goes_on = match (&last, &self.history.last) {
            (Some(a), Some(b)) => {
                a.kind == b.kind && (time - a.time < TOGETHER || (a.press == b.press && b.press.is_some()))
            }
            _ => false,
        };
        match self.history.stack.last_mut().filter(|_| goes_on) {
            Some(entry) => entry.after = after,
            None => {
                let begins = doing.is_some_and(|d| d.1);
                self.history.stack.push(name, Change { before, after, begins, went_back: None });
            }
        }
    }

    /// Takes the last change back, or makes it again. Where it began a training, the other one comes back as it was; all else goes
    /// into the training that runs, or waits for consent as it did before.
    pub fn go(&mut self, way: Way) {
        let Some((_, change)) = self.history.stack.go(way) else { return };
        let Change { before, after, begins, went_back } = change;
        let (from, to) = if way == Way::Undo { (after, before) } else { (before, after) };
        self.history.last = None;
        if let Some(step) = went_back {
            self.looks_at = None;
            self.group.send(if way == Way::Undo { Command::ComeBack } else { Command::GoOn { from: Some(step) } });
        }
        if begins {
            self.draft = (*to.draft).clone();
            self.lesson = to.lesson;
            // It may never have left: another was refused.
            if to.training != self.training() {
                self.group.send(Command::Aside(self.training()));
                self.taking = Some(Taking { truth: to.curve, training: to.training });
                self.group.bring_back(to.training, vec![self.draft.clone()], self.keep());
            }
        } else {
            // Points that were a toy's in the meantime stay points: to go back to the toy would begin anew.
            let changed = diff(&from.draft, &to.draft);
            for key in &changed {
                key.copy(&mut self.draft, &to.draft);
            }
            if changed.iter().any(|k| k.path == key!(data.toy).path) {
                self.draft.data = to.draft.data.clone();
            }
        }
        let draft = Arc::new(self.draft.clone());
        self.history.known = Said { draft, curve: to.curve, lesson: self.lesson, training: self.training() };
    }

    /// Trains on from an earlier step; Undo brings back what came after it.
    pub(super) fn go_back(&mut self, step: u64) {
        let said = self.history.known.clone();
        let change = Change { before: said.clone(), after: said, begins: false, went_back: Some(step) };
        self.history.stack.push(format!("go back to step {step}"), change);
        self.history.last = None;
        self.group.send(Command::GoOn { from: Some(step) });
        self.looks_at = None;
    }

    pub(super) fn undo_keys(&mut self, ui: &egui::Ui) {
        if let Some(way) = undo::keys(ui.ctx()) {
            self.go(way);
        }
    }
}

/// "add a point", and a kind where more of the same belongs to one entry.
fn name(before: &Recipe, after: &Recipe) -> (String, Option<String>) {
    let (a, b) = (&before.data, &after.data);
    if a.toy != b.toy
        && let Some(kind) = b.toy
    {
        return (format!("choose the data {kind}"), None);
    }
    if let (Some(a), Some(b)) = (&a.points, &b.points)
        && a != b
    {
        return match b.len() as isize - a.len() as isize {
            1 => ("add a point".into(), None),
            -1 => ("remove a point".into(), None),
            0 => {
                let moved = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
                ("move a point".into(), Some(format!("move {moved}")))
            }
            _ => ("change the points".into(), None),
        };
    }
    if before.method.name != after.method.name {
        return (format!("choose {}", method_name(&after.method.name)), None);
    }
    let changed = diff(before, after);
    let labels = changed.iter().filter(|k| !k.cosmetic).map(|k| k.widget.as_ref().map_or(k.path, |w| w.label));
    let labels: Vec<&str> = labels.collect();
    let name = match &labels[..] {
        [] => "change the recipe".to_string(),
        [one] => format!("set {one}"),
        [one, ..] => format!("set {one} and more"),
    };
    (name.clone(), Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(change: impl Fn(&mut Recipe)) -> Recipe {
        let mut recipe = super::super::first_recipe();
        change(&mut recipe);
        recipe
    }

    #[test]
    fn a_change_tells_its_name() {
        let points = |rows: &[[f64; 2]]| {
            recipe(|r| {
                (r.data.toy, r.data.points) = (None, Some(rows.iter().map(|p| p.to_vec()).collect()));
            })
        };
        let (two, three) = (points(&[[0.0, 1.0], [1.0, 2.0]]), points(&[[0.0, 1.0], [1.0, 2.0], [3.0, 3.0]]));
        let moved = points(&[[0.0, 1.0], [1.5, 2.0]]);
        assert_eq!(name(&two, &three).0, "add a point");
        assert_eq!(name(&three, &two).0, "remove a point");
        assert_eq!(name(&two, &moved), ("move a point".into(), Some("move 1".into())));
        let first = recipe(|_| {});
        assert_eq!(name(&first, &recipe(|r| r.method.eta = Some(2.0))).0, "set eta");
        assert_eq!(
            name(&first, &recipe(|r| r.method.name = "base".into())).0,
            format!("choose {}", method_name("base"))
        );
        assert_eq!(name(&first, &recipe(|r| r.data.toy = Some(ToyKind::Moons))).0, "choose the data moons");
        let hidden = name(&first, &recipe(|r| r.net.hidden = Some(vec![7]))).0;
        assert!(hidden.starts_with("set "), "{hidden}");
    }
}
