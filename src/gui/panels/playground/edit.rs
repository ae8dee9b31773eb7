//! Points under the mouse: a click adds one, a drag moves it, a right click removes it.

use super::Playground;
use crate::data::Task;
use eframe::egui::{self, PointerButton};
use egui_plot::{PlotPoint, PlotTransform};

/// Within so many screen points of the mouse a point is meant.
const REACH: f32 = 9.0;

#[derive(Debug, Clone, Copy)]
pub enum Edit {
    Add(PlotPoint),
    Move(usize, PlotPoint),
    Remove(usize),
}

fn nearest(points: &[[f64; 3]], t: &PlotTransform, at: egui::Pos2) -> Option<usize> {
    let far = |p: &[f64; 3]| t.position_from_point(&PlotPoint::new(p[0], p[1])).distance(at);
    let all = points.iter().map(far).enumerate();
    all.filter(|(_, d)| *d < REACH).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
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

    /// What the mouse asks of the points in this frame.
    pub(super) fn edit(
        &self,
        plot: &mut egui_plot::PlotUi,
        points: &[[f64; 3]],
    ) -> (Option<Edit>, bool, [(f64, f64); 2]) {
        let response = plot.response().clone();
        let bounds = plot.plot_bounds();
        let range = [(bounds.min()[0], bounds.max()[0]), (bounds.min()[1], bounds.max()[1])];
        let moved = !plot.auto_bounds().x;
        if !self.can_edit() {
            return (None, moved, range);
        }
        let place = response.interact_pointer_pos();
        let edit = match (place, self.transform) {
            (Some(place), Some(t)) => {
                let at = t.value_from_position(place);
                if let Some(i) = self.grabbed.filter(|_| response.dragged_by(PointerButton::Primary)) {
                    Some(Edit::Move(i, at))
                } else if response.secondary_clicked() {
                    nearest(points, &t, place).map(Edit::Remove)
                } else if response.clicked() && !self.popup_was_open && nearest(points, &t, place).is_none() {
                    Some(Edit::Add(at))
                } else {
                    None
                }
            }
            _ => None,
        };
        if self.grabbed.is_some() || edit.is_some() {
            // The axes must stand still under the points that are set.
            plot.set_auto_bounds([false, false]);
        }
        (edit, moved, range)
    }

    pub(super) fn finish_edit(
        &mut self,
        transform: PlotTransform,
        (edit, moved, range): (Option<Edit>, bool, [(f64, f64); 2]),
    ) {
        self.transform = Some(transform);
        let class = self.new_class as f64;
        let task = self.task();
        if let Some(edit) = edit
            && let Some(rows) = self.rows()
        {
            match edit {
                Edit::Add(at) if task == Task::Classification => rows.push(vec![at.x, at.y, class]),
                Edit::Add(at) => rows.push(vec![at.x, at.y]),
                Edit::Move(i, at) => {
                    if let Some(row) = rows.get_mut(i) {
                        (row[0], row[1]) = (at.x, at.y);
                    }
                }
                // Fewer than two are nothing to learn from.
                Edit::Remove(i) if i < rows.len() && rows.len() > 2 => drop(rows.remove(i)),
                Edit::Remove(_) => {}
            }
        }
        // A plot that was panned or zoomed asks for a picture of what it shows; "Show all" goes back.
        let asked = moved.then_some(range).filter(|_| self.grabbed.is_none());
        if self.grabbed.is_none() && asked != self.asked {
            self.asked = asked;
            self.send_look();
        }
    }
}
