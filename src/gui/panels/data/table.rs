//! The preflight report of a table as a page.

use crate::data::inspect::{ColumnKind, ColumnReport, LevelCount, Role, TableReport};
use crate::tables::number;
use eframe::egui::{self, Align, Color32, Label, Layout, RichText};
use egui_extras::{Column, TableBuilder};

/// Columns whose tick is taken away go to `ignore`, and back.
pub fn report_ui(ui: &mut egui::Ui, report: &TableReport, ignore: &mut Vec<String>) {
    egui::ScrollArea::vertical().id_salt("table report").auto_shrink([false, false]).show(ui, |ui| {
        let header = if report.header { "names in the first line" } else { "no names in the first line" };
        ui.heading(super::file_name(std::path::Path::new(&report.file))).on_hover_text(&report.file);
        ui.label(format!(
            "{} rows, {} columns, separated by {}, {header}",
            report.rows,
            report.columns.len(),
            report.delimiter
        ));
        warnings_ui(ui, &report.warnings.iter().map(|w| w.on_page()).collect::<Vec<_>>());
        ui.add_space(4.0);
        ui.strong(if report.stops { "Train would stop" } else { "What Train will do" });
        for sentence in &report.plan {
            ui.add(Label::new(sentence.on_page()).wrap());
        }
        if !report.classes.is_empty() {
            let more = report.classes.len().saturating_sub(20);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            let shown = counts(&report.classes[..report.classes.len() - more]);
            ui.add(Label::new(format!("Rows of each class: {shown}{rest}.")).wrap());
        }
        ui.add_space(6.0);
        columns_ui(ui, report, ignore);
    });
}

/// Sentences on a ground that stands out, with a mark that colour alone does not carry.
pub fn warnings_ui(ui: &mut egui::Ui, warnings: &[&str]) {
    if warnings.is_empty() {
        return;
    }
    let fill =
        if ui.visuals().dark_mode { Color32::from_rgb(0x4a, 0x3a, 0x0c) } else { Color32::from_rgb(0xfd, 0xf1, 0xc9) };
    egui::Frame::NONE.fill(fill).inner_margin(6).corner_radius(4).show(ui, |ui| {
        ui.set_width(ui.available_width());
        let n = warnings.len();
        ui.strong(if n == 1 { "1 warning".to_string() } else { format!("{n} warnings") });
        egui::ScrollArea::vertical().id_salt("warnings").max_height(110.0).show(ui, |ui| {
            for warning in warnings {
                ui.add(Label::new(format!("⚠ {warning}")).wrap());
            }
        });
    });
}

fn counts(levels: &[LevelCount]) -> String {
    levels.iter().map(|l| format!("{} × {}", l.count, l.level)).collect::<Vec<_>>().join(", ")
}

const HEADER: [&str; 11] =
    ["use", "column", "type", "role", "missing", "distinct", "min", "mean", "max", "sd", "most frequent, notes"];

fn columns_ui(ui: &mut egui::Ui, report: &TableReport, ignore: &mut Vec<String>) {
    // The table scrolls by itself: only rows in sight are built.
    let height = ui.available_height().max(220.0);
    let width = |title: &str| match title {
        "use" => 34.0,
        "column" => 140.0,
        "type" | "missing" | "distinct" => 58.0,
        "role" => 68.0,
        _ => 68.0,
    };
    let mut table = TableBuilder::new(ui)
        .id_salt("columns")
        .striped(true)
        .resizable(true)
        .auto_shrink([false, true])
        .min_scrolled_height(0.0)
        .max_scroll_height(height - 34.0)
        .cell_layout(Layout::left_to_right(Align::Center));
    for title in &HEADER[..HEADER.len() - 1] {
        table = table.column(Column::initial(width(title)).at_least(34.0).clip(true));
    }
    table
        .column(Column::remainder().at_least(150.0).clip(true))
        .header(22.0, |mut header| {
            for title in HEADER {
                header.col(|ui| {
                    let words = matches!(title, "use" | "column" | "type" | "role" | "most frequent, notes");
                    let side =
                        if words { Layout::left_to_right(Align::Center) } else { Layout::right_to_left(Align::Center) };
                    ui.with_layout(side, |ui| ui.strong(title));
                });
            }
        })
        .body(|body| {
            body.rows(22.0, report.columns.len(), |mut row| {
                let column = &report.columns[row.index()];
                row.col(|ui| use_ui(ui, column, ignore));
                let mut text = |text: &str| {
                    row.col(|ui| {
                        ui.add(Label::new(text).truncate());
                    });
                };
                text(&column.name);
                text(match column.kind {
                    ColumnKind::Number => "number",
                    ColumnKind::Text => "text",
                    ColumnKind::Date => "date",
                });
                text(match column.role {
                    Role::Input => "input",
                    Role::Target => "target",
                    Role::Ignored => "ignored",
                    Role::Unusable => "left out",
                });
                let n = column.numbers;
                let cells = [n.map(|n| n.min), n.map(|n| n.mean), n.map(|n| n.max), n.map(|n| n.sd)];
                let counted = [column.missing.to_string(), column.distinct.to_string()];
                for (i, cell) in counted.into_iter().chain(cells.map(|v| v.map_or(String::new(), number))).enumerate() {
                    row.col(|ui| {
                        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                            let missing = i == 0 && column.missing > 0;
                            ui.label(if missing { RichText::new(cell).strong() } else { RichText::new(cell) });
                        });
                    });
                }
                row.col(|ui| {
                    let mut said = match &column.dates {
                        Some(dates) => format!("{} to {}", dates.min, dates.max),
                        None => counts(&column.levels),
                    };
                    let about = [&column.became].into_iter().chain(&column.notes).filter(|note| !note.is_empty());
                    for note in about {
                        said += if said.is_empty() { "" } else { "; " };
                        said += note;
                    }
                    ui.add(Label::new(said).truncate());
                });
            });
        });
}

fn use_ui(ui: &mut egui::Ui, column: &ColumnReport, ignore: &mut Vec<String>) {
    let is_free = matches!(column.role, Role::Input | Role::Ignored);
    let mut used = matches!(column.role, Role::Input);
    let tick = ui.add_enabled(is_free, egui::Checkbox::without_text(&mut used));
    let why = if column.role == Role::Target { "The target is no input" } else { column.became.as_str() };
    let tick = tick.on_hover_text("Whether this column is an input").on_disabled_hover_text(why);
    let tick = tick.accessible_name(format!("use {}", column.name));
    if tick.changed() {
        ignore.retain(|c| *c != column.name);
        if !used {
            ignore.push(column.name.clone());
        }
    }
}
