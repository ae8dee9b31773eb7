//! The list of runs: what it shows, in which order, and the widgets of a row.

use crate::base::clock::SystemTime;
use crate::run::watch::{RunState, Seen};
use crate::tables::number;
use eframe::egui::{self, Align, Layout, RichText};
use egui_extras::{Column, TableBuilder};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub const ROW: f32 = 24.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Key {
    #[default]
    Name,
    Method,
    Seed,
    State,
    Nll,
    Score,
    Changed,
}

/// Headers in their order, with the tip under each; numbers stand to the right.
const COLUMNS: [(Key, &str, &str, bool); 7] = [
    (Key::Name, "name", "Folder of the run", false),
    (Key::Method, "method", "Recipe key method.name", false),
    (Key::Seed, "seed", "Recipe key seed", true),
    (Key::State, "state", "What its manifest says, and the last epoch that is on the disk", false),
    (Key::Nll, "test NLL", "Negative log-likelihood of the test rows, nats per row; less is better", true),
    (Key::Score, "RMSE or accuracy", "Of the test rows: RMSE in the target's unit, or the share that is right", true),
    (Key::Changed, "changed", "When its metrics, results or manifest were last written", true),
];

/// Of the columns after the name: method, seed, state, NLL, score, changed and the button.
const WIDTHS: [f32; 7] = [120.0, 56.0, 240.0, 90.0, 150.0, 110.0, 66.0];

#[derive(Default)]
pub struct List {
    pub filter: String,
    key: Key,
    falling: bool,
}

impl List {
    /// Places of the runs that pass the filter, sorted. What a run does not have comes last either way.
    pub fn order(&self, seen: &[Arc<Seen>]) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..seen.len()).filter(|i| passes(&seen[*i], &self.filter)).collect();
        let way = |o: Ordering| if self.falling { o.reverse() } else { o };
        shown.sort_by(|a, b| {
            let (a, b) = (&*seen[*a], &*seen[*b]);
            let by_key = match self.key {
                Key::Name => way(a.name.cmp(&b.name)),
                Key::Method => way(a.method.cmp(&b.method)),
                Key::Seed => last(a.seed, b.seed, |a, b| way(a.cmp(b))),
                Key::State => way((a.state.word(), a.epoch).cmp(&(b.state.word(), b.epoch))),
                Key::Nll => last(a.nll, b.nll, |a, b| way(a.total_cmp(b))),
                Key::Score => last(score(a), score(b), |a, b| way(a.0.cmp(b.0).then(a.1.total_cmp(&b.1)))),
                Key::Changed => last(a.modified, b.modified, |a, b| way(a.cmp(b))),
            };
            by_key.then_with(|| a.name.cmp(&b.name))
        });
        shown
    }

    /// Draws the list; returns the run to open.
    // Long: the list, column by column.
    pub fn list_ui(
        &mut self,
        ui: &mut egui::Ui,
        seen: &[Arc<Seen>],
        ticked: &mut BTreeSet<PathBuf>,
        height: f32,
    ) -> Option<PathBuf> {
        let (order, now) = (self.order(seen), SystemTime::now());
        let mut opened = None;
        if order.is_empty() {
            ui.weak("No run passes the filter.");
            return None;
        }
        let gap = ui.spacing().item_spacing.y;
        let narrow = ui.available_width() < 1100.0;
        let mut table = TableBuilder::new(ui)
            .id_salt("runs")
            .striped(true)
            .cell_layout(Layout::left_to_right(Align::Center))
            .auto_shrink([false, true])
            .min_scrolled_height(0.0)
            .max_scroll_height((height - ROW - gap).max(ROW))
            .column(Column::exact(22.0))
            .column(Column::remainder().at_least(70.0).clip(true));
        // In a small window the name would have nothing left.
        let widths = if narrow { [96.0, 44.0, 172.0, 72.0, 136.0, 80.0, 62.0] } else { WIDTHS };
        for width in widths {
            table = table.column(Column::exact(width).clip(true));
        }
        let table = table.header(ROW, |mut header| {
            header.col(|_| {});
            for (key, name, tip, right) in COLUMNS {
                header.col(|ui| {
                    ui.with_layout(side(right), |ui| self.header_ui(ui, key, name, tip));
                });
            }
            header.col(|_| {});
        });
        table.body(|body| {
            body.rows(ROW, order.len(), |mut row| {
                let run = &*seen[order[row.index()]];
                row.col(|ui| {
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
                });
                let mut text = |right: bool, text: RichText, tip: &str| {
                    row.col(|ui| {
                        ui.with_layout(side(right), |ui| {
                            let label = ui.add(egui::Label::new(text).truncate());
                            if !tip.is_empty() {
                                label.on_hover_text(tip);
                            }
                        });
                    });
                };
                text(false, RichText::new(&run.name), &run.path.display().to_string());
                text(false, RichText::new(&run.method), &run.device);
                text(true, RichText::new(run.seed.map_or("–".into(), |s| s.to_string())), "");
                let state = RichText::new(state_text(run));
                text(
                    false,
                    if run.state == RunState::Training { state.strong() } else { state },
                    &run.notes.join("\n"),
                );
                text(true, RichText::new(run.nll.map_or("–".into(), number)), "nats per row");
                text(
                    true,
                    RichText::new(score(run).map_or("–".into(), |(name, v)| format!("{name} {}", number(v)))),
                    "",
                );
                text(true, RichText::new(age(run.modified, now)), "");
                row.col(|ui| {
                    let open = ui.button("Open").on_hover_text("Show its results");
                    if open.accessible_name(format!("Open {}", run.name)).clicked() {
                        opened = Some(run.path.clone());
                    }
                });
            });
        });
        opened
    }

    fn header_ui(&mut self, ui: &mut egui::Ui, key: Key, name: &str, tip: &str) {
        let arrow = match (self.key == key, self.falling) {
            (false, _) => "",
            (true, false) => " ▲",
            (true, true) => " ▼",
        };
        let button = egui::Button::new(RichText::new(format!("{name}{arrow}")).strong()).frame(false);
        if ui.add(button).on_hover_text(format!("{tip}. Click to sort.")).clicked() {
            // Newest first, all others from the smallest on.
            self.falling = if self.key == key { !self.falling } else { key == Key::Changed };
            self.key = key;
        }
    }
}

fn side(right: bool) -> Layout {
    if right { Layout::right_to_left(Align::Center) } else { Layout::left_to_right(Align::Center) }
}

fn last<T>(a: Option<T>, b: Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order(&a, &b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// Every word of the filter must be somewhere in the row.
fn passes(run: &Seen, filter: &str) -> bool {
    let seed = run.seed.map_or(String::new(), |s| s.to_string());
    let row = format!("{} {} seed {seed} {}", run.name, run.method, run.state.word()).to_lowercase();
    filter.to_lowercase().split_whitespace().all(|word| row.contains(word))
}

fn score(run: &Seen) -> Option<(&'static str, f64)> {
    run.rmse.map(|v| ("RMSE", v)).or(run.accuracy.map(|v| ("accuracy", v)))
}

/// "training, epoch 12 of 200".
fn state_text(run: &Seen) -> String {
    match (run.epoch, run.epochs) {
        (epoch, Some(epochs)) => format!("{}, epoch {epoch} of {epochs}", run.state.word()),
        (0, None) => run.state.word().into(),
        (epoch, None) => format!("{}, epoch {epoch}", run.state.word()),
    }
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
    fn what_is_missing_sorts_last_either_way() {
        let down = |a: &i32, b: &i32| b.cmp(a);
        assert_eq!(last(Some(1), None, i32::cmp), Ordering::Less);
        assert_eq!(last(Some(1), None, down), Ordering::Less);
        assert_eq!(last(Some(1), Some(2), down), Ordering::Greater);
    }
}
