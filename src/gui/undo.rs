//! What was done on a page and can be taken back: a stack of bounded length whose entries have names. An entry holds what its page
//! needs for both ways, so that this knows nothing of points, settings or runs.

use eframe::egui::{self, Key, KeyboardShortcut, Modifiers};
use std::collections::VecDeque;

/// Older entries than so many are forgotten.
const MOST: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Undo,
    Redo,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    /// What was done, as in "add a point".
    name: String,
    change: T,
}

#[derive(Debug, Clone)]
pub struct Undo<T> {
    done: VecDeque<Entry<T>>,
    /// The last one taken back is the first to be done again.
    taken_back: Vec<Entry<T>>,
}

impl<T> Default for Undo<T> {
    fn default() -> Self {
        Undo { done: VecDeque::new(), taken_back: vec![] }
    }
}

impl<T: Clone> Undo<T> {
    /// Something was done, `name` as in "add a point". What had been taken back before cannot be done again.
    pub fn push(&mut self, name: impl Into<String>, change: T) {
        self.taken_back.clear();
        self.done.push_back(Entry { name: name.into(), change });
        if self.done.len() > MOST {
            self.done.pop_front();
        }
    }

    /// The entry that would be taken back next, to be extended by more of the same: a point that is dragged is one entry.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        if self.taken_back.is_empty() { self.done.back_mut().map(|e| &mut e.change) } else { None }
    }

    /// "add a point": what `go` would take back or do again; None where there is nothing.
    pub fn name(&self, way: Way) -> Option<&str> {
        let entry = match way {
            Way::Undo => self.done.back(),
            Way::Redo => self.taken_back.last(),
        };
        entry.map(|e| e.name.as_str())
    }

    /// Moves one entry to the other side and gives its name and what it holds, for the caller to act on.
    pub fn go(&mut self, way: Way) -> Option<(String, T)> {
        let entry = match way {
            Way::Undo => self.done.pop_back()?,
            Way::Redo => self.taken_back.pop()?,
        };
        let given = (entry.name.clone(), entry.change.clone());
        match way {
            Way::Undo => self.taken_back.push(entry),
            Way::Redo => self.done.push_back(entry),
        }
        Some(given)
    }

    /// Two buttons whose tips name what they would do.
    pub fn buttons_ui(&self, ui: &mut egui::Ui) -> Option<Way> {
        let mut chosen = None;
        for (way, word, keys) in [(Way::Undo, "Undo", "Ctrl-Z"), (Way::Redo, "Redo", "Ctrl-Shift-Z or Ctrl-Y")] {
            let name = self.name(way);
            let keys = if ui.ctx().os().is_mac() { keys.replace("Ctrl", "Cmd") } else { keys.into() };
            let tip =
                name.map_or(format!("Nothing to {}", word.to_lowercase()), |name| format!("{word}: {name} ({keys})"));
            let button = ui.add_enabled(name.is_some(), egui::Button::new(word));
            if button.on_hover_text(&tip).on_disabled_hover_text(&tip).clicked() {
                chosen = Some(way);
            }
        }
        chosen
    }
}

/// What the keyboard asks for, unless a text is being written, which has an undo of its own.
pub fn keys(ctx: &egui::Context) -> Option<Way> {
    if ctx.text_edit_focused() {
        return None;
    }
    let with = |modifiers, key| KeyboardShortcut::new(modifiers, key);
    // The one with Shift first: the other would take it, too.
    let redo = [with(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z), with(Modifiers::COMMAND, Key::Y)];
    ctx.input_mut(|i| {
        if redo.iter().any(|keys| i.consume_shortcut(keys)) {
            Some(Way::Redo)
        } else {
            i.consume_shortcut(&with(Modifiers::COMMAND, Key::Z)).then_some(Way::Undo)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_comes_again_until_something_else_is_done() {
        let mut stack = Undo::default();
        let names = |stack: &Undo<u8>| [Way::Undo, Way::Redo].map(|way| stack.name(way).unwrap_or("").to_string());
        assert_eq!((names(&stack), stack.go(Way::Undo)), (["", ""].map(String::from), None));
        stack.push("add a point", 1);
        stack.push("move a point", 2);
        *stack.last_mut().expect("the move") += 1;
        assert_eq!(names(&stack), ["move a point", ""]);
        assert_eq!(stack.go(Way::Undo), Some(("move a point".into(), 3)));
        assert!(stack.last_mut().is_none(), "what was taken back lies after it");
        assert_eq!(stack.go(Way::Redo), Some(("move a point".into(), 3)));
        assert_eq!(stack.go(Way::Undo), Some(("move a point".into(), 3)));
        assert_eq!(stack.go(Way::Undo), Some(("add a point".into(), 1)));
        assert_eq!(stack.go(Way::Undo), None);
        assert_eq!(names(&stack), ["", "add a point"]);
        stack.push("remove a point", 4);
        assert_eq!(names(&stack), ["remove a point", ""]);
    }

    #[test]
    fn the_stack_forgets_the_oldest() {
        let mut stack = Undo::default();
        (0..MOST + 5).for_each(|i| stack.push("set eta", i));
        let mut taken_back = vec![];
        while let Some((_, i)) = stack.go(Way::Undo) {
            taken_back.push(i);
        }
        assert_eq!((taken_back.len(), taken_back.last()), (MOST, Some(&5)));
    }

    #[test]
    fn keys_tell_undo_from_redo() {
        let ctx = egui::Context::default();
        let pressed = |key, modifiers| {
            let mut asked = None;
            let event = egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
            let mut output = ctx.run_ui(egui::RawInput { events: vec![event], ..Default::default() }, |ui| {
                asked = asked.or(keys(ui.ctx()));
            });
            output.textures_delta.clear();
            asked
        };
        assert_eq!(pressed(Key::Z, Modifiers::COMMAND), Some(Way::Undo));
        assert_eq!(pressed(Key::Z, Modifiers::COMMAND.plus(Modifiers::SHIFT)), Some(Way::Redo));
        assert_eq!(pressed(Key::Y, Modifiers::COMMAND), Some(Way::Redo));
        assert_eq!(pressed(Key::Z, Modifiers::NONE), None);
    }
}
