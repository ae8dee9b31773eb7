//! The preflight report of a table as a page.

use super::content::Reading;
use crate::data::inspect::sentence::Sentence;
use crate::data::inspect::{ColumnKind, ColumnReport, LevelCount, Role, TableReport};
use crate::error::Cure;
use crate::gui::panels::cure;
use crate::gui::theme::seen_bars;
use crate::tables::{grouped, number};
use eframe::egui::{self, Align, Color32, Label, Layout, RichText};
use egui_extras::{Column, TableBuilder};

/// What the page asks of the table: columns whose tick is taken away go to `ignore`, and back.
pub struct Asked<'a> {
    pub ignore: &'a mut Vec<String>,
    pub reading: &'a mut Reading,
    /// Part of the names of the columns that are listed.
    pub search: &'a mut String,
}

/// Returns the cure that was clicked.
pub fn report_ui(ui: &mut egui::Ui, report: &TableReport, asked: Asked) -> Option<Cure> {
    let scroll = egui::ScrollArea::vertical().id_salt("table report").auto_shrink([false, false]);
    scroll
        .show(ui, |ui| {
            let header = if report.header { "names in the first line" } else { "no names in the first line" };
            ui.heading(super::file_name(std::path::Path::new(&report.file))).on_hover_text(&report.file);
            ui.label(format!(
                "{} rows, {} columns, separated by {}, {header}",
                grouped(&report.rows.to_string()),
                report.columns.len(),
                report.delimiter
            ));
            let mut cure = warnings_ui(ui, &report.warnings);
            ui.add_space(4.0);
            ui.strong(if report.stops { "Train would stop" } else { "What Train will do" });
            for sentence in &report.plan {
                cure = cure.take().or(sentence_ui(ui, sentence, ""));
            }
            if !report.classes.is_empty() {
                let more = report.classes.len().saturating_sub(20);
                let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
                let shown = counts(&report.classes[..report.classes.len() - more]);
                ui.add(Label::new(format!("Rows of each class: {shown}{rest}.")).wrap());
            }
            ui.add_space(6.0);
            let mut asked = asked;
            let shown = search_ui(ui, report, &mut asked);
            seen_bars(ui);
            egui::ScrollArea::horizontal().id_salt("columns across").auto_shrink([false, true]).show(ui, |ui| {
                columns_ui(ui, report, &shown, asked);
            });
            cure
        })
        .inner
}

/// A sentence, and a button for each of its cures; returns the one that was clicked.
fn sentence_ui(ui: &mut egui::Ui, sentence: &Sentence, mark: &str) -> Option<Cure> {
    let mut clicked = None;
    ui.add(Label::new(format!("{mark}{sentence}")).wrap());
    if !sentence.cures.is_empty() {
        ui.horizontal_wrapped(|ui| {
            ui.add_space(14.0);
            for cure in &sentence.cures {
                if ui.small_button(cure::button(cure)).on_hover_text(cure::tip(cure)).clicked() {
                    clicked = Some(cure.clone());
                }
            }
        });
    }
    clicked
}

/// Sentences on a ground that stands out, with a mark that colour alone does not carry.
pub fn warnings_ui(ui: &mut egui::Ui, warnings: &[Sentence]) -> Option<Cure> {
    if warnings.is_empty() {
        return None;
    }
    let fill =
        if ui.visuals().dark_mode { Color32::from_rgb(0x4a, 0x3a, 0x0c) } else { Color32::from_rgb(0xfd, 0xf1, 0xc9) };
    let frame = egui::Frame::NONE.fill(fill).inner_margin(6).corner_radius(4);
    frame
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            let n = warnings.len();
            ui.strong(if n == 1 { "1 warning".to_string() } else { format!("{n} warnings") });
            let scroll = egui::ScrollArea::vertical().id_salt("warnings").max_height(110.0);
            let each = |ui: &mut egui::Ui| {
                warnings.iter().fold(None, |cure: Option<Cure>, warning| cure.or(sentence_ui(ui, warning, "⚠ ")))
            };
            scroll.show(ui, each).inner
        })
        .inner
}

fn counts(levels: &[LevelCount]) -> String {
    levels.iter().map(|l| format!("{} × {}", l.count, l.level)).collect::<Vec<_>>().join(", ")
}

const HEADER: [&str; 11] =
    ["use", "column", "type", "role", "missing", "distinct", "min", "mean", "max", "sd", "most frequent, notes"];

/// From so many columns on one looks for them by name.
const MANY: usize = 12;

/// The columns whose names hold what is searched, and the ticks of all of them at once.
fn search_ui(ui: &mut egui::Ui, report: &TableReport, asked: &mut Asked) -> Vec<usize> {
    let n = report.columns.len();
    if n < MANY {
        asked.search.clear();
        return (0..n).collect();
    }
    let listed = |search: &str| -> Vec<usize> {
        let search = search.trim().to_lowercase();
        (0..n).filter(|i| report.columns[*i].name.to_lowercase().contains(&search)).collect()
    };
    ui.horizontal_wrapped(|ui| {
        let label = ui.label("search columns");
        let field = egui::TextEdit::singleline(asked.search).desired_width(160.0).hint_text("part of a name");
        ui.add(field).labelled_by(label.id);
        let shown = listed(asked.search);
        ui.label(format!("{} of {n}", shown.len()));
        let all = ui.button("Use all").on_hover_text("Every column that is listed becomes an input").clicked();
        let none = ui.button("Use none").on_hover_text("No column that is listed is an input").clicked();
        if all || none {
            let free = |c: &&ColumnReport| matches!(c.role, Role::Input | Role::Ignored);
            for column in shown.iter().map(|i| &report.columns[*i]).filter(free) {
                asked.ignore.retain(|c| *c != column.name);
                if none {
                    asked.ignore.push(column.name.clone());
                }
            }
        }
    });
    listed(asked.search)
}

/// The kind of a column, and what else it may be read as.
fn kind_ui(ui: &mut egui::Ui, column: &ColumnReport, reading: &mut Reading) {
    let found = match column.kind {
        ColumnKind::Number => "number",
        ColumnKind::Text => "text",
        ColumnKind::Date => "date",
    };
    let said = reading.kind(&column.name);
    let button = ui.menu_button(found, |ui| {
        for (kind, words) in
            [(None, "as found"), (Some("number"), "number"), (Some("text"), "text"), (Some("date"), "date")]
        {
            if ui.selectable_label(said.as_deref() == kind, words).clicked() {
                reading.put_kind(&column.name, kind);
                ui.close();
            }
        }
    });
    button.response.on_hover_text("What the column is read as").accessible_name(format!("kind of {}", column.name));
}

// Long: the cells of a row from left to right.
fn columns_ui(ui: &mut egui::Ui, report: &TableReport, shown: &[usize], asked: Asked) {
    // The table scrolls by itself: only rows in sight are built.
    let height = ui.available_height().max(220.0);
    let width = |title: &str| match title {
        "use" => 34.0,
        "column" => 140.0,
        "type" => 70.0,
        "missing" | "distinct" => 58.0,
        "role" => 68.0,
        _ => 68.0,
    };
    let mut table = TableBuilder::new(ui)
        .id_salt("columns")
        .striped(true)
        .resizable(true)
        .auto_shrink([false, true])
        .min_scrolled_height(0.0)
        .max_scroll_height(height - 44.0)
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
            body.rows(22.0, shown.len(), |mut row| {
                let column = &report.columns[shown[row.index()]];
                row.col(|ui| use_ui(ui, column, asked.ignore));
                let mut text = |text: &str| {
                    row.col(|ui| {
                        ui.add(Label::new(text).truncate());
                    });
                };
                text(&column.name);
                row.col(|ui| kind_ui(ui, column, asked.reading));
                let mut text = |text: &str| {
                    row.col(|ui| {
                        ui.add(Label::new(text).truncate());
                    });
                };
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
                    // The type says as much already.
                    let is_news = |note: &&String| !note.is_empty() && *note != "number";
                    let about = [&column.became].into_iter().chain(&column.notes).filter(is_news);
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
