//! The legend of a plot, in a row above it: a box inside would hide the newest points.

use eframe::egui::{self, Color32, Pos2, Rect, Stroke, Vec2};
use egui_plot::MarkerShape;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    Line,
    Dashed,
    Patch,
    Dot,
    Ring,
    /// A class: its points have this shape.
    Shape(MarkerShape),
    /// For what is drawn on a map: on a ground as dark.
    LineOnMap,
}

pub struct Entry {
    pub mark: Mark,
    pub colour: Color32,
    pub name: String,
}

pub fn entry(mark: Mark, colour: Color32, name: impl Into<String>) -> Entry {
    Entry { mark, colour, name: name.into() }
}

pub fn legend_ui(ui: &mut egui::Ui, entries: &[Entry]) {
    marks_ui(ui, entries, None);
}

/// The same with names that can be clicked: `hidden` holds those whose curves are not drawn. A double click shows one alone, or
/// all again.
pub fn switches_ui(ui: &mut egui::Ui, entries: &[Entry], hidden: &mut BTreeSet<String>) {
    marks_ui(ui, entries, Some(hidden));
}

fn marks_ui(ui: &mut egui::Ui, entries: &[Entry], mut hidden: Option<&mut BTreeSet<String>>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = Vec2::new(5.0, 1.0);
        for e in entries {
            let is_hidden = hidden.as_ref().is_some_and(|h| h.contains(&e.name));
            let strength = if is_hidden { 0.35 } else { 1.0 };
            // A mark and its name stay together when the row is full.
            let font = egui::TextStyle::Small.resolve(ui.style());
            let text = ui.painter().layout_no_wrap(e.name.clone(), font, ui.visuals().text_color());
            let size = Vec2::new(text.size().x + 28.0, text.size().y.max(14.0));
            let sense = if hidden.is_some() { egui::Sense::click() } else { egui::Sense::hover() };
            let (rect, response) = ui.allocate_exact_size(size, sense);
            response.widget_info(|| match hidden.is_some() {
                true => egui::WidgetInfo::selected(egui::Role::CheckBox, true, !is_hidden, &e.name),
                false => egui::WidgetInfo::labeled(egui::Role::Label, true, &e.name),
            });
            let mark = Rect::from_min_size(rect.min, Vec2::new(16.0, rect.height()));
            draw(ui.painter(), mark, e.mark, e.colour.gamma_multiply(strength));
            let colour = ui.visuals().text_color().gamma_multiply(strength);
            let at = Pos2::new(mark.right() + 4.0, rect.center().y - text.size().y / 2.0);
            let end = Pos2::new(at.x + text.size().x, rect.center().y);
            ui.painter().galley(at, text, colour);
            let Some(hidden) = hidden.as_deref_mut() else { continue };
            if is_hidden {
                ui.painter().line_segment([Pos2::new(at.x, end.y), end], Stroke::new(1.0, colour));
            }
            if response.has_focus() {
                ui.painter().rect_stroke(rect, 2.0, ui.visuals().selection.stroke, egui::StrokeKind::Outside);
            }
            let tip = if is_hidden {
                "Click to show this curve"
            } else {
                "Click to hide this curve, double click to see it alone"
            };
            let response = response.on_hover_text(tip).on_hover_cursor(egui::CursorIcon::PointingHand);
            if response.double_clicked() {
                let others = entries.iter().map(|o| &o.name).filter(|name| **name != e.name);
                let alone = others.clone().all(|name| hidden.contains(name)) && entries.len() > 1;
                hidden.clear();
                if !alone {
                    hidden.extend(others.cloned());
                }
            } else if response.clicked() && !hidden.remove(&e.name) {
                hidden.insert(e.name.clone());
            }
        }
    });
}

fn draw(painter: &egui::Painter, at: Rect, mark: Mark, colour: Color32) {
    let (left, right) = (at.left_center(), at.right_center());
    match mark {
        Mark::Line => {
            painter.line_segment([left, right], Stroke::new(2.0, colour));
        }
        Mark::LineOnMap => {
            painter.rect_filled(
                Rect::from_center_size(at.center(), Vec2::new(18.0, 10.0)),
                1.0,
                Color32::from_gray(60),
            );
            painter.line_segment([left, right], Stroke::new(1.6, colour));
        }
        Mark::Dashed => {
            painter.extend(egui::Shape::dashed_line(&[left, right], Stroke::new(1.8, colour), 4.0, 2.5));
        }
        Mark::Patch => {
            painter.rect_filled(Rect::from_center_size(at.center(), Vec2::new(16.0, 10.0)), 1.0, colour);
        }
        Mark::Dot => {
            painter.circle_filled(at.center(), 4.0, colour);
        }
        Mark::Shape(shape) => shape_ui(painter, at.center(), shape, colour),
        Mark::Ring => {
            painter.circle_stroke(at.center(), 3.6, Stroke::new(1.4, colour));
        }
    }
}

/// As egui_plot draws it.
fn shape_ui(painter: &egui::Painter, at: Pos2, shape: MarkerShape, colour: Color32) {
    let to = |x: f32, y: f32| at + 4.6 * Vec2::new(x, y);
    let corners = match shape {
        MarkerShape::Square => vec![to(-0.8, -0.8), to(0.8, -0.8), to(0.8, 0.8), to(-0.8, 0.8)],
        MarkerShape::Up => vec![to(0.0, -1.0), to(0.9, 0.7), to(-0.9, 0.7)],
        MarkerShape::Diamond => vec![to(0.0, -1.0), to(1.0, 0.0), to(0.0, 1.0), to(-1.0, 0.0)],
        MarkerShape::Down => vec![to(0.0, 1.0), to(-0.9, -0.7), to(0.9, -0.7)],
        _ => {
            painter.circle_filled(at, 4.0, colour);
            return;
        }
    };
    painter.add(egui::Shape::convex_polygon(corners, colour, Stroke::NONE));
}
