//! The legend of a plot, in a row above it: a box inside would hide the newest points.

use eframe::egui::{self, Color32, Pos2, Rect, Stroke, Vec2};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    Line,
    Dashed,
    Patch,
    Dot,
    Ring,
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
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = Vec2::new(5.0, 1.0);
        for e in entries {
            // A mark and its name stay together when the row is full.
            let font = egui::TextStyle::Small.resolve(ui.style());
            let text = ui.painter().layout_no_wrap(e.name.clone(), font, ui.visuals().text_color());
            let size = Vec2::new(text.size().x + 28.0, text.size().y.max(14.0));
            let (rect, response) = ui.allocate_exact_size(size, egui::Sense::hover());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &e.name));
            let mark = Rect::from_min_size(rect.min, Vec2::new(16.0, rect.height()));
            draw(ui.painter(), mark, e.mark, e.colour);
            let colour = ui.visuals().text_color();
            ui.painter().galley(Pos2::new(mark.right() + 4.0, rect.center().y - text.size().y / 2.0), text, colour);
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
        Mark::Ring => {
            painter.circle_stroke(at.center(), 3.6, Stroke::new(1.4, colour));
        }
    }
}
