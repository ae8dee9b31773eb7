//! Points under the mouse: a click adds one, a drag moves it, a right click removes it.

use super::Playground;
use crate::data::Task;
use crate::gui::undo::Way;
use eframe::egui::{self, PointerButton};
use egui_plot::{PlotPoint, PlotTransform};

/// Within so many screen points of the mouse a point is meant.
const REACH: f32 = 9.0;

/// Seconds in which two clicks are one double click, and a little more.
const DOUBLE: f64 = 0.7;

#[derive(Debug, Clone, Copy)]
pub enum Edit {
    Add(PlotPoint),
    Move(usize, PlotPoint),
    Remove(usize),
    /// A double click: the axes hold everything again, and what its first click added goes.
    ShowAll,
}

/// What the mouse and the keyboard ask for in a frame.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    edit: Option<Edit>,
    /// The axes are not those that hold everything.
    moved: bool,
    range: [(f64, f64); 2],
    /// What the pointer or the keyboard's cross lies on.
    at: Option<PlotPoint>,
}

fn nearest(points: &[[f64; 3]], t: &PlotTransform, at: egui::Pos2) -> Option<usize> {
    let far = |p: &[f64; 3]| t.position_from_point(&PlotPoint::new(p[0], p[1])).distance(at);
    let all = points.iter().map(far).enumerate();
    all.filter(|(_, d)| *d < REACH).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// No mouse points more finely than five digits, and a recipe with sixteen cannot be read.
fn rounded(at: PlotPoint) -> PlotPoint {
    PlotPoint::new(five_digits(at.x), five_digits(at.y))
}

pub(super) fn five_digits(v: f64) -> f64 {
    format!("{v:.4e}").parse().unwrap_or(v)
}

impl Playground {
    /// Finds the point under a press before the plot could pan.
    pub(super) fn grab(&mut self, ui: &egui::Ui, points: &[[f64; 3]]) {
        let (down, press) = ui.input(|i| (i.pointer.primary_down(), i.pointer.press_origin()));
        if !down {
            self.grabbed = None;
        } else if self.grabbed.is_none()
            && self.can_edit()
            && let (Some(t), Some(p)) = (self.transform, press)
            && t.frame().contains(p)
        {
            self.grabbed = nearest(points, &t, p);
        }
    }

    /// What the mouse asks of the points in this frame, or the keyboard at its cross.
    pub(super) fn edit(&self, plot: &mut egui_plot::PlotUi, points: &[[f64; 3]], cross: Option<PlotPoint>) -> Asked {
        let response = plot.response().clone();
        let bounds = plot.plot_bounds();
        let range = [(bounds.min()[0], bounds.max()[0]), (bounds.min()[1], bounds.max()[1])];
        let moved = !plot.auto_bounds().x;
        let hovered = response.hover_pos().map(|p| plot.plot_from_screen(p));
        let mut asked = Asked { edit: None, moved, range, at: hovered.or(cross) };
        // A key is no click at the mouse, wherever that is.
        let by_key = cross.filter(|_| self.can_edit()).and_then(|at| self.keys(plot, points, at));
        asked.edit = by_key.or_else(|| self.by_mouse(&response, points));
        if self.grabbed.is_some() || asked.edit.is_some() {
            // The axes must stand still under the points that are set.
            plot.set_auto_bounds([false, false]);
        }
        asked
    }

    fn by_mouse(&self, response: &egui::Response, points: &[[f64; 3]]) -> Option<Edit> {
        let (place, t) = response.interact_pointer_pos().zip(self.transform)?;
        let (at, near) = (t.value_from_position(place), nearest(points, &t, place));
        if response.double_clicked() {
            let of_first_click = self.added.filter(|(_, time)| response.ctx.input(|i| i.time - time) < DOUBLE);
            return (near == of_first_click.map(|a| a.0) || !self.can_edit()).then_some(Edit::ShowAll);
        }
        if !self.can_edit() {
            return None;
        }
        if let Some(i) = self.grabbed.filter(|_| response.dragged_by(PointerButton::Primary)) {
            Some(Edit::Move(i, at))
        } else if response.secondary_clicked() {
            near.map(Edit::Remove)
        } else {
            (response.clicked() && !self.popup_was_open && near.is_none()).then_some(Edit::Add(at))
        }
    }

    /// At the keyboard's cross Enter adds a point and Delete removes the nearest.
    fn keys(&self, plot: &egui_plot::PlotUi, points: &[[f64; 3]], at: PlotPoint) -> Option<Edit> {
        let pressed = |key| plot.ctx().input_mut(|i| i.consume_key(egui::Modifiers::NONE, key));
        if pressed(egui::Key::Enter) {
            return Some(Edit::Add(at));
        }
        if !(pressed(egui::Key::Delete) || pressed(egui::Key::Backspace)) {
            return None;
        }
        let t = self.transform?;
        let from = t.position_from_point(&at);
        let far = |p: &[f64; 3]| t.position_from_point(&PlotPoint::new(p[0], p[1])).distance(from);
        let all = points.iter().map(far).enumerate();
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| Edit::Remove(i))
    }

    /// `now` = the time of this frame in seconds.
    pub(super) fn finish_edit(&mut self, transform: PlotTransform, asked: Asked, now: f64) {
        self.transform = Some(transform);
        let Asked { edit, moved, range, at } = asked;
        let class = self.new_class as f64;
        let task = self.task();
        if edit.is_some() {
            self.looks_at = None;
        }
        match edit {
            Some(Edit::ShowAll) => {
                self.show_all = true;
                // Of the first click of the two.
                if self.added.take().is_some_and(|(_, time)| now - time < DOUBLE) {
                    self.go(Way::Undo);
                }
            }
            Some(edit) => {
                let was_toy = self.draft.data.points.is_none();
                if self.rows().is_some() && was_toy {
                    self.history.settle(&self.draft);
                }
                let before = self.rows().map_or(0, |rows| rows.len());
                let added = self.rows().and_then(|rows| change(rows, edit, task, class));
                // A training on all rows at once stays one: a step on the new one alone would throw it about.
                if added.is_some() && self.draft.train.batch.is_some_and(|batch| batch as usize == before) {
                    self.draft.train.batch = Some(before as u32 + 1);
                }
                self.added = added.map(|i| (i, now));
            }
            None => {}
        }
        // A plot that was panned or zoomed asks for a picture of what it shows; "Show all" goes back.
        let asked = moved.then_some(range).filter(|_| self.grabbed.is_none() && !self.show_all);
        if self.grabbed.is_none() && asked != self.asked {
            self.asked = asked;
        }
        if let Some(at) = at {
            self.input = Some(if task == Task::Classification { vec![at.x, at.y] } else { vec![at.x] });
        }
    }
}

/// Makes the change; the place of a point that was added.
fn change(rows: &mut Vec<Vec<f64>>, edit: Edit, task: Task, class: f64) -> Option<usize> {
    match edit {
        Edit::Add(at) => {
            let at = rounded(at);
            rows.push(if task == Task::Classification { vec![at.x, at.y, class] } else { vec![at.x, at.y] });
            return Some(rows.len() - 1);
        }
        Edit::Move(i, at) => {
            let at = rounded(at);
            if let Some(row) = rows.get_mut(i) {
                (row[0], row[1]) = (at.x, at.y);
            }
        }
        // Fewer than two are nothing to learn from.
        Edit::Remove(i) if i < rows.len() && rows.len() > 2 => drop(rows.remove(i)),
        Edit::Remove(_) | Edit::ShowAll => {}
    }
    None
}
