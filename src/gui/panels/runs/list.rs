//! The list of runs: what it shows, in which order, and the widgets of a row.

use crate::base::clock::SystemTime;
use crate::gui::panels::filter::{Filter, Line};
use crate::gui::panels::keys::method_name;
use crate::gui::settings::{RunColumn, RunOrder};
use crate::results::{Better, share_of, title};
use crate::run::watch::{RunState, Seen};
use crate::tables::readable;
use eframe::egui::{self, Align, Layout, RichText};
use egui_extras::{Column, TableBuilder};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub const ROW: f32 = 24.0;
/// Points of the name, at least.
const NAME: f32 = 90.0;

/// What is to be done with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Open,
    Resume,
    Continue,
    Report,
    Reveal,
    Download,
    Rename,
    About,
    Delete,
}

#[derive(Default)]
pub struct List {
    pub filter: String,
    pub order: RunOrder,
}

impl List {
    /// Places of the runs that pass the filter, sorted. What a run does not have comes last either way.
    pub fn places(&self, seen: &[Arc<Seen>]) -> Vec<usize> {
        let filter = Filter::of(&self.filter);
        let mut shown: Vec<usize> = (0..seen.len()).filter(|i| filter.passes(&*seen[*i])).collect();
        let way = |o: Ordering| if self.order.falling { o.reverse() } else { o };
        let texts = |a: &str, b: &str| last(some(a), some(b), |a, b| way(a.cmp(b)));
        shown.sort_by(|a, b| {
            let (a, b) = (&*seen[*a], &*seen[*b]);
            let by_key = match &self.order.key {
                None => way(a.name.cmp(&b.name)),
                Some(RunColumn::Data) => texts(&a.data, &b.data),
                Some(RunColumn::Method) => texts(&a.method, &b.method),
                Some(RunColumn::Seed) => last(a.seed, b.seed, |a, b| way(a.cmp(b))),
                Some(RunColumn::State) => way((a.state.word(), a.epoch).cmp(&(b.state.word(), b.epoch))),
                Some(RunColumn::Score) => last(score(a), score(b), |a, b| way(a.0.cmp(b.0).then(a.1.total_cmp(&b.1)))),
                Some(RunColumn::Device) => texts(&a.device, &b.device),
                Some(RunColumn::Tags) => texts(&a.about.tags.join(", "), &b.about.tags.join(", ")),
                Some(RunColumn::Note) => texts(&a.about.note, &b.about.note),
                Some(RunColumn::Changed) => last(a.modified, b.modified, |a, b| way(a.cmp(b))),
                Some(RunColumn::Metric(name)) => last(a.metric(name), b.metric(name), |a, b| way(a.total_cmp(b))),
            };
            by_key.then_with(|| a.name.cmp(&b.name))
        });
        shown
    }

    /// Draws the list; returns the run that something is to be done with, and what.
    pub fn list_ui(
        &mut self,
        ui: &mut egui::Ui,
        seen: &[Arc<Seen>],
        ticked: &mut BTreeSet<PathBuf>,
        columns: &[RunColumn],
        height: f32,
    ) -> Option<(Arc<Seen>, Wish)> {
        let (order, now) = (self.places(seen), SystemTime::now());
        // A column of nothing would only take the others' room.
        let has_tags = seen.iter().any(|s| !s.about.tags.is_empty());
        let columns: Vec<&RunColumn> = columns.iter().filter(|c| has_tags || **c != RunColumn::Tags).collect();
        let mut wish = None;
        if order.is_empty() {
            ui.weak("No run passes the filter.");
            return None;
        }
        let (gap, across) = (ui.spacing().item_spacing.y, ui.spacing().item_spacing.x);
        // In a small window the name would have nothing left: the others give way, and beyond that they scroll.
        let fixed = 22.0 + 96.0 + across * (columns.len() as f32 + 3.0);
        let wanted: Vec<f32> = columns.iter().map(|c| wanted(c, seen, &order, now)).collect();
        let names = order.iter().take(MEASURED).map(|i| seen[*i].name.as_str());
        let widths = shares(&wanted, longest(names), ui.available_width() - fixed);
        egui::ScrollArea::horizontal().id_salt("runs across").auto_shrink([false, true]).show(ui, |ui| {
            let mut table = TableBuilder::new(ui)
                .id_salt(("runs", columns.len()))
                .striped(true)
                .cell_layout(Layout::left_to_right(Align::Center))
                .auto_shrink([false, true])
                .min_scrolled_height(0.0)
                .max_scroll_height((height - ROW - gap).max(ROW))
                .column(Column::exact(22.0))
                .column(Column::remainder().at_least(NAME).clip(true));
            for width in &widths {
                table = table.column(Column::exact(*width).clip(true));
            }
            let table = table.column(Column::exact(96.0).clip(true)).header(ROW, |mut header| {
                header.col(|_| {});
                header.col(|ui| self.header_ui(ui, None));
                for &column in &columns {
                    header.col(|ui| {
                        ui.with_layout(side(is_number(column)), |ui| self.header_ui(ui, Some(column)));
                    });
                }
                header.col(|_| {});
            });
            table.body(|body| {
                body.rows(ROW, order.len(), |mut row| {
                    let run = &seen[order[row.index()]];
                    row.col(|ui| tick_ui(ui, run, ticked));
                    row.col(|ui| name_ui(ui, run));
                    for &column in &columns {
                        row.col(|ui| {
                            ui.with_layout(side(is_number(column)), |ui| cell_ui(ui, run, column, now));
                        });
                    }
                    row.col(|ui| {
                        if let Some(asked) = buttons_ui(ui, run) {
                            wish = Some((run.clone(), asked));
                        }
                    });
                });
            });
        });
        wish
    }

    fn header_ui(&mut self, ui: &mut egui::Ui, column: Option<&RunColumn>) {
        let is_key = self.order.key.as_ref() == column;
        let arrow = match (is_key, self.order.falling) {
            (false, _) => "",
            (true, false) => " ▲",
            (true, true) => " ▼",
        };
        let (name, tip) = column.map_or(("name".into(), "Folder of the run".into()), words);
        let button = egui::Button::new(RichText::new(format!("{name}{arrow}")).strong()).frame(false);
        if ui.add(button).on_hover_text(format!("{tip}. Click to sort.")).clicked() {
            // Newest first, all others from the smallest on.
            self.order.falling = if is_key { !self.order.falling } else { column == Some(&RunColumn::Changed) };
            self.order.key = column.cloned();
        }
    }
}

/// The name in the header and in the menu of columns, and the tip under it.
pub fn words(column: &RunColumn) -> (String, String) {
    let fixed = |name: &str, tip: &str| (name.to_string(), tip.to_string());
    match column {
        RunColumn::Data => fixed("data", "Data set: the name of its file, or of the toy"),
        RunColumn::Method => fixed("method", "How its uncertainty is learnt"),
        RunColumn::Seed => fixed("seed", "Same seed, same run"),
        RunColumn::State => fixed("state", "What its manifest says, and the last epoch that is on the disk"),
        RunColumn::Score => {
            fixed("RMSE or accuracy", "Of the test rows: RMSE in the target's unit, or the share that is right")
        }
        RunColumn::Device => fixed("device", "What it was trained on"),
        RunColumn::Tags => fixed("tags", "Given under \"Tags and note\" in the menu of a run"),
        RunColumn::Note => fixed("note", "Given under \"Tags and note\" in the menu of a run"),
        RunColumn::Changed => fixed("changed", "When its metrics, results or manifest were last written"),
        RunColumn::Metric(name) => {
            let title = title(name);
            let meaning = title.meaning.trim_end_matches('.');
            (format!("test {}", short(name)), format!("{} of the test rows. {meaning}", title.name))
        }
    }
}

/// "NLL", "coverage 90".
pub fn short(metric: &str) -> String {
    let (plain, of) = metric.split_once('[').map_or((metric, ""), |(plain, of)| (plain, of.trim_end_matches(']')));
    let name = match plain {
        "nll" | "rmse" | "crps" => plain.to_uppercase(),
        other => other.replace('_', " "),
    };
    if of.is_empty() { name } else { format!("{name}, {of}") }
}

/// Rows that decide how wide a column is.
const MEASURED: usize = 200;

/// Points that the longest of these wants, about.
fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> f32 {
    texts.map(|t| t.chars().count()).max().unwrap_or(0) as f32 * 7.4 + 12.0
}

/// Points that a column wants for what stands in it.
fn wanted(column: &RunColumn, seen: &[Arc<Seen>], order: &[usize], now: SystemTime) -> f32 {
    if is_number(column) {
        return width(column);
    }
    let texts: Vec<String> = order.iter().take(MEASURED).map(|i| cell(&seen[*i], column, now).0).collect();
    longest(texts.iter().map(String::as_str)).clamp(0.6 * width(column), 2.2 * width(column))
}

/// Widths of the columns beside a name that wants `name`, in `room`: where all find their room, what is left goes to them in
/// equal parts with the name; where not, the name gives way first and then all.
fn shares(wanted: &[f32], name: f32, room: f32) -> Vec<f32> {
    let all: f32 = wanted.iter().sum();
    let left = room - all - name.max(1.6 * NAME);
    if left > 0.0 {
        let part = left / (wanted.len() as f32 + 1.0);
        return wanted.iter().map(|w| w + part.min(0.5 * w)).collect();
    }
    let squeeze = ((room - 1.6 * NAME).max(0.0) / all.max(1.0)).clamp(0.62, 1.0);
    wanted.iter().map(|w| squeeze * w).collect()
}

fn width(column: &RunColumn) -> f32 {
    match column {
        RunColumn::Data => 110.0,
        RunColumn::Method => 120.0,
        RunColumn::Seed => 56.0,
        RunColumn::State => 200.0,
        RunColumn::Score => 150.0,
        RunColumn::Device => 130.0,
        RunColumn::Tags => 110.0,
        RunColumn::Note => 170.0,
        RunColumn::Changed => 96.0,
        RunColumn::Metric(name) => (9.0 * short(name).chars().count() as f32 + 50.0).clamp(86.0, 150.0),
    }
}

/// Numbers stand to the right.
fn is_number(column: &RunColumn) -> bool {
    matches!(column, RunColumn::Seed | RunColumn::Score | RunColumn::Changed | RunColumn::Metric(_))
}

fn tick_ui(ui: &mut egui::Ui, run: &Seen, ticked: &mut BTreeSet<PathBuf>) {
    let mut on = ticked.contains(&run.path);
    let tick = ui.add(egui::Checkbox::without_text(&mut on));
    let tick = tick.on_hover_text("Compare it with the others that are ticked");
    if tick.accessible_name(format!("Tick {}", run.name)).changed() {
        if on {
            ticked.insert(run.path.clone())
        } else {
            ticked.remove(&run.path)
        };
    }
}

fn name_ui(ui: &mut egui::Ui, run: &Seen) {
    let about = if run.about.is_empty() { String::new() } else { format!("\n{}", run.about.line()) };
    ui.add(egui::Label::new(&run.name).truncate()).on_hover_text(format!("{}{about}", run.path.display()));
}

/// What stands in a cell, and more of it in the tip.
fn cell(run: &Seen, column: &RunColumn, now: SystemTime) -> (String, String) {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    match column {
        RunColumn::Data => (run.data.clone(), String::new()),
        RunColumn::Method => (method_name(&run.method).into(), run.device.clone()),
        RunColumn::Seed => (or_none(run.seed.map(|s| s.to_string())), String::new()),
        RunColumn::State => (state_text(run), run.notes.join("\n")),
        RunColumn::Score => (
            or_none(score(run).map(|(name, _)| format!("{name} {}", metric_text(run, &name.to_lowercase())))),
            String::new(),
        ),
        RunColumn::Device => (run.device.clone(), String::new()),
        RunColumn::Tags => (run.about.tags.join(", "), String::new()),
        RunColumn::Note => (run.about.note.split_whitespace().collect::<Vec<_>>().join(" "), run.about.note.clone()),
        RunColumn::Changed => (age(run.modified, now), String::new()),
        RunColumn::Metric(name) => {
            let found = run.metrics.iter().find(|m| m.name == *name);
            let tip = found.map_or(String::new(), |m| match (m.unit.as_str(), m.better) {
                ("nats", _) => "nats per row; less is better".into(),
                (_, Better::Higher) => "more is better".into(),
                (_, Better::Lower) => "less is better".into(),
                _ => String::new(),
            });
            (metric_text(run, name), tip)
        }
    }
}

fn cell_ui(ui: &mut egui::Ui, run: &Seen, column: &RunColumn, now: SystemTime) {
    let (text, tip) = cell(run, column, now);
    let text = RichText::new(text);
    let is_live = *column == RunColumn::State && run.state == RunState::Training;
    let label = ui.add(egui::Label::new(if is_live { text.strong() } else { text }).truncate());
    if !tip.is_empty() {
        label.on_hover_text(tip);
    }
}

/// A metric of the test rows, to the digits that their number leaves.
fn metric_text(run: &Seen, name: &str) -> String {
    let Some(m) = run.metrics.iter().find(|m| m.name == name) else { return "–".into() };
    match m.value.value() {
        Some(v) if title(name).is_share => share_of(v, m.error),
        Some(v) => crate::tables::rounded(v, m.error),
        None => m.value.to_string(),
    }
}

fn buttons_ui(ui: &mut egui::Ui, run: &Seen) -> Option<Wish> {
    let mut wish = None;
    let open = ui.button("Open").on_hover_text("Show its results");
    if open.accessible_name(format!("Open {}", run.name)).clicked() {
        wish = Some(Wish::Open);
    }
    let shown = ui.menu_button("…", |ui| {
        wish = menu_ui(ui, run).or(wish);
    });
    shown.response.on_hover_text("More to do with this run").accessible_name(format!("More for {}", run.name));
    wish
}

/// What can be done with a run as it is.
fn menu_ui(ui: &mut egui::Ui, run: &Seen) -> Option<Wish> {
    let mut wish = None;
    let mut item = |ui: &mut egui::Ui, name: &str, tip: &str, why_not: Option<&str>, of: Wish| {
        let button = ui.add_enabled(why_not.is_none(), egui::Button::new(name));
        if button.on_hover_text(tip).on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
            wish = Some(of);
            ui.close();
        }
    };
    let live = (run.state == RunState::Training).then_some("It is in training: stop it first");
    if can_resume(&run.state) {
        item(ui, "Resume", "Goes on with the training on the page Your data, to its end", None, Wish::Resume);
    }
    if can_continue(&run.state) {
        let tip = "Trains it on from where it ended, and tests it anew";
        item(ui, "Continue for more epochs…", tip, None, Wish::Continue);
    }
    let none = (!run.has_report).then_some("It is written at the end of training");
    item(ui, "Open report", "Everything on one page, in the browser", none, Wish::Report);
    if crate::gui::shell::DOWNLOADS {
        item(ui, "Download run", "The whole folder as one zip", None, Wish::Download);
    } else {
        item(ui, "Reveal folder", "In the file manager", None, Wish::Reveal);
    }
    ui.separator();
    item(ui, "Tags and note…", "Kept in notes.toml of its folder", None, Wish::About);
    item(ui, "Rename…", "Its folder", live, Wish::Rename);
    item(ui, "Delete", "Into .trash beside the runs; Undo brings it back until vifo closes", live, Wish::Delete);
    wish
}

/// A training that did not come to its end.
pub fn can_resume(state: &RunState) -> bool {
    match state {
        RunState::Interrupted => true,
        RunState::Ended(word) => word == "stopped",
        RunState::Training | RunState::Unreadable => false,
    }
}

/// One that did.
pub fn can_continue(state: &RunState) -> bool {
    matches!(state, RunState::Ended(word) if word != "stopped")
}

fn side(right: bool) -> Layout {
    if right { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn last<T>(a: Option<T>, b: Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order(&a, &b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

impl Line for Seen {
    fn text(&self) -> String {
        let seed = self.seed.map_or(String::new(), |s| s.to_string());
        let about = format!("{} {}", self.about.tags.join(" "), self.about.note);
        let method = format!("{} {}", self.method, method_name(&self.method));
        format!("{} {} {method} seed {seed} {} {} {about}", self.name, self.data, self.state.word(), self.device)
    }

    fn under(&self, name: &str) -> Option<String> {
        Some(match name {
            "name" => self.name.clone(),
            "data" => self.data.clone(),
            "method" => format!("{}\n{}", self.method, method_name(&self.method)),
            "state" => self.state.word().into(),
            "device" => self.device.clone(),
            "tag" | "tags" => self.about.tags.join("\n"),
            "note" => self.about.note.clone(),
            _ => return None,
        })
    }

    fn number(&self, name: &str) -> Option<f64> {
        match name {
            "seed" => self.seed.map(f64::from),
            "epoch" => Some(f64::from(self.epoch)),
            metric => self.metric(metric),
        }
    }
}

fn score(run: &Seen) -> Option<(&'static str, f64)> {
    run.metric("rmse").map(|v| ("RMSE", v)).or(run.metric("accuracy").map(|v| ("accuracy", v)))
}

/// "training, epoch 12 of 200".
fn state_text(run: &Seen) -> String {
    let epoch = readable_epoch(run.epoch);
    match (run.epoch, run.epochs) {
        (_, Some(epochs)) => format!("{}, epoch {epoch} of {}", run.state.word(), readable_epoch(epochs)),
        (0, None) => run.state.word().into(),
        (_, None) => format!("{}, epoch {epoch}", run.state.word()),
    }
}

fn readable_epoch(n: u32) -> String {
    if n < 1_000_000 { crate::tables::grouped(&n.to_string()) } else { readable(f64::from(n)) }
}

/// "12 s ago", "3 days ago".
fn age(then: Option<SystemTime>, now: SystemTime) -> String {
    let Some(then) = then else { return "–".into() };
    // A clock of another machine may be ahead.
    let seconds = now.duration_since(then).map_or(0, |d| d.as_secs());
    let ago = |n: u64, one: &str, more: &str| format!("{n} {} ago", if n == 1 { one } else { more });
    match seconds {
        0..=1 => "now".into(),
        2..=99 => ago(seconds, "s", "s"),
        100..=5_999 => ago(seconds / 60, "min", "min"),
        6_000..=172_799 => ago(seconds / 3_600, "h", "h"),
        _ => ago(seconds / 86_400, "day", "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn ages_are_in_the_unit_that_fits() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000_000);
        let at = |seconds: u64| age(Some(now - Duration::from_secs(seconds)), now);
        let said = [0, 12, 100, 5_999, 6_000, 172_800, 864_000].map(at);
        assert_eq!(said, ["now", "12 s ago", "1 min ago", "99 min ago", "1 h ago", "2 days ago", "10 days ago"]);
        assert_eq!(age(Some(now + Duration::from_secs(5)), now), "now");
        assert_eq!(age(None, now), "–");
    }

    #[test]
    fn columns_share_the_width_and_the_name_gives_way_first() {
        let wanted = [110.0, 250.0];
        let wide = shares(&wanted, 200.0, 1500.0);
        assert!(wide.iter().zip(&wanted).all(|(w, least)| w > least) && 1500.0 - wide[0] - wide[1] > 200.0, "{wide:?}");
        assert_eq!(shares(&wanted, 400.0, 510.0), wanted, "the name is cut, not the others");
        assert_eq!(shares(&wanted, 200.0, 100.0), [0.62 * 110.0, 0.62 * 250.0], "beyond that they scroll");
        assert!(longest(["stopped early, epoch 431 of 5,000"].into_iter()) > 230.0);
    }

    #[test]
    fn what_is_missing_sorts_last_either_way() {
        let down = |a: &i32, b: &i32| b.cmp(a);
        assert_eq!(last(Some(1), None, i32::cmp), Ordering::Less);
        assert_eq!(last(Some(1), None, down), Ordering::Less);
        assert_eq!(last(Some(1), Some(2), down), Ordering::Greater);
    }

    #[test]
    fn metrics_are_columns_under_short_names() {
        let names = ["nll", "coverage_90", "rmse[ink]"].map(|m| words(&RunColumn::Metric(m.into())).0);
        assert_eq!(names, ["test NLL", "test coverage 90", "test RMSE, ink"]);
    }
}
