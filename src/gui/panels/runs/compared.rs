//! The table of the ticked runs: mean and sd over seeds, the best marked, and copies of it for papers.

use super::list::short;
use crate::base::clock::{Duration, Instant};
use crate::error::Result;
use crate::gui::panels::keys::method_name;
use crate::gui::theme::seen_bars;
use crate::live::Job;
use crate::report::compare::{self, Comparison, Spread};
use crate::results::{Title, title};
use crate::run::watch::Seen;
use crate::tables::Format;
use eframe::egui::{self, RichText};
use std::path::PathBuf;
use std::sync::Arc;

/// The table where any run has results, and what is to be said about the others.
type Found = (Option<Comparison>, Vec<String>);

#[derive(Default)]
pub struct Compared {
    /// What is or will be compared.
    of: Vec<Arc<Seen>>,
    /// Ticked meanwhile; they wait for the job to end.
    next: Option<Vec<Arc<Seen>>>,
    job: Option<Job<Found>>,
    found: Found,
    /// Which copy was made, and when.
    copied: Option<(&'static str, Instant)>,
}

impl Compared {
    pub fn poll(&mut self, ctx: &egui::Context) {
        match self.job.as_ref().and_then(Job::poll) {
            Some(Ok(found)) => (self.job, self.found) = (None, found),
            Some(Err(e)) => (self.job, self.found) = (None, (None, vec![e.to_string()])),
            None => {}
        }
        if self.job.is_none()
            && let Some(next) = self.next.take()
        {
            self.begin(ctx, next);
        }
    }

    /// Begins anew where the ticked runs are others than before, or the results of one of them are. A run in training changes
    /// with every look and has no results: it must not keep the others from being shown.
    pub fn update(&mut self, ctx: &egui::Context, ticked: &[Arc<Seen>]) {
        let latest = self.next.as_ref().unwrap_or(&self.of);
        if same(latest, ticked) {
            return;
        }
        match self.job {
            Some(_) => self.next = Some(ticked.to_vec()),
            None => self.begin(ctx, ticked.to_vec()),
        }
    }

    fn begin(&mut self, ctx: &egui::Context, runs: Vec<Arc<Seen>>) {
        self.of.clone_from(&runs);
        let wake = ctx.clone();
        self.job = Some(Job::start("comparing runs", move || wake.request_repaint(), move || compare(&runs)));
    }

    pub fn compared_ui(&mut self, ui: &mut egui::Ui, spread: &mut Spread) {
        ui.horizontal_wrapped(|ui| {
            ui.strong("Comparison");
            let shown =
                egui::ComboBox::new("spread", "").width(150.0).selected_text(spread.words()).show_ui(ui, |ui| {
                    for one in Spread::ALL {
                        ui.selectable_value(spread, one, one.words()).on_hover_text(meaning(one));
                    }
                });
            shown.response.accessible_name("over seeds");
            if let Some(comparison) = &self.found.0 {
                let formats = [("Markdown", Format::Markdown), ("LaTeX", Format::Latex), ("CSV", Format::Csv)];
                for (name, format) in formats {
                    if ui.button(format!("Copy as {name}")).clicked() {
                        ui.copy_text(comparison.render(format, *spread));
                        self.copied = Some((name, Instant::now()));
                    }
                }
            }
            match self.copied {
                Some((name, at)) if at.elapsed() < Duration::from_secs(3) => {
                    ui.weak(format!("{name} copied"));
                }
                _ if self.job.is_some() => {
                    ui.weak("comparing …");
                }
                _ => {}
            }
        });
        let (comparison, notes) = &self.found;
        if comparison.is_some() {
            ui.weak(format!("Over seeds, on the test rows: {}. ★ marks the best mean.", meaning(*spread)));
        }
        let width = ui.available_width() - 14.0;
        seen_bars(ui);
        egui::ScrollArea::both().id_salt("comparison").auto_shrink([false, false]).show(ui, |ui| {
            for (b, block) in comparison.iter().flat_map(|c| c.blocks.iter().map(move |b| (c, b))).enumerate() {
                let (comparison, block) = block;
                ui.add_space(4.0);
                ui.label(RichText::new(&block.data).italics());
                block_ui(ui, b, &comparison.table(block, *spread));
            }
            for note in notes {
                ui.add_space(2.0);
                // Not over the width of a table that is scrolled.
                let note = egui::Label::new(RichText::new(note).small()).wrap();
                ui.allocate_ui(egui::vec2(width, 0.0), |ui| ui.add(note));
            }
        });
    }
}

fn meaning(spread: Spread) -> &'static str {
    match spread {
        Spread::Sd => "the mean, and how far a single run lies from it",
        Spread::Se => "the mean, and how well it is known",
        Spread::Interval => "the mean, and where it lies with 95 % (Student's t)",
    }
}

fn block_ui(ui: &mut egui::Ui, id: usize, table: &crate::tables::TextTable) {
    egui::Grid::new(("block", id)).striped(true).spacing([14.0, 5.0]).show(ui, |ui| {
        let titles: Vec<Title> = table.header.iter().map(|name| title(metric_of(name))).collect();
        for name in &table.header {
            let metric = metric_of(name);
            let tip = match name.as_str() {
                "method" => "Method, and what sets it apart from the others".into(),
                "runs" => "Over so many seeds and splits".into(),
                "wins" => "Share of the seeds, splits and metrics in which it is better than another of these".into(),
                _ => format!("{}. {}", title(metric).name, title(metric).meaning),
            };
            ui.strong(format!("{}{}", short(metric), &name[metric.len()..])).on_hover_text(tip.trim());
        }
        ui.end_row();
        for row in &table.rows {
            for (c, cell) in row.iter().enumerate() {
                let (text, is_best) = cell.strip_suffix('*').map_or((cell.as_str(), false), |best| (best, true));
                let text = match c {
                    0 => group_name(text),
                    _ if titles[c].is_share || table.header[c] == "wins" => percent(text),
                    _ => text.into(),
                };
                match is_best {
                    true => ui.strong(format!("{text} ★")),
                    false => ui.label(text),
                };
            }
            ui.end_row();
        }
    });
}

/// "nll" of "nll [nats] ↓".
fn metric_of(header: &str) -> &str {
    header.split(' ').next().unwrap_or(header)
}

/// The numbers of a cell as shares of 100: "0.896 ± 0.012" is "89.6 ± 1.2 %".
fn percent(cell: &str) -> String {
    let number = |word: &str| {
        let core = word.trim_matches(['(', ')']);
        let decimals = core.split_once('.').map_or(0, |(_, d)| d.len()).saturating_sub(2);
        let v: f64 = core.parse().ok()?;
        Some(word.replace(core, &format!("{:.decimals$}", 100.0 * v)))
    };
    // "(2 of 3)" counts runs.
    let (shares, of) = cell.rsplit_once(" (").filter(|(_, rest)| rest.contains(" of ")).unwrap_or((cell, ""));
    if !shares.starts_with(|c: char| c.is_ascii_digit()) {
        return cell.into();
    }
    let words: Vec<String> = shares.split(' ').map(|w| number(w).unwrap_or_else(|| w.into())).collect();
    format!("{} %{}", words.join(" "), if of.is_empty() { String::new() } else { format!(" ({of}") })
}

/// "VIFO-mean eta=0.1" of "vifo-mean eta=0.1": methods by the names that they have on all pages.
pub fn group_name(label: &str) -> String {
    let (method, rest) = label.split_once(' ').unwrap_or((label, ""));
    let bare = method.trim_end_matches(',');
    let name = method.replacen(bare, method_name(bare), 1);
    if rest.is_empty() { name } else { format!("{name} {rest}") }
}

/// Whether a comparison of both comes out the same.
fn same(a: &[Arc<Seen>], b: &[Arc<Seen>]) -> bool {
    let alike = |a: &Seen, b: &Seen| {
        let of = |s: &Seen| (s.has_results, s.path.clone(), s.state.clone(), s.about.clone());
        of(a) == of(b) && a.metrics == b.metrics
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b) || alike(a, b))
}

/// Whatever can be compared is: one that cannot be read does not hide the others.
fn compare(runs: &[Arc<Seen>]) -> Result<Found> {
    let (mut all, mut notes) = (vec![], vec![]);
    for run in runs {
        if !run.has_results {
            notes.push(format!("{}: no results to compare ({})", run.name, run.state.word()));
            continue;
        }
        match compare::open(&[PathBuf::from(&run.path)]) {
            Ok((opened, skipped)) => {
                all.extend(opened);
                notes.extend(skipped);
            }
            Err(e) => notes.push(format!("{}: {e}", run.name)),
        }
    }
    if all.is_empty() {
        return Ok((None, notes));
    }
    let comparison = compare::compare(all, &[], notes)?;
    let notes = comparison.notes.clone();
    Ok((Some(comparison), notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_percentages_and_methods_by_their_names() {
        assert_eq!(percent("0.896 ± 0.012"), "89.6 ± 1.2 %");
        assert_eq!(percent("0.896 (0.871 to 0.921) (2 of 3)"), "89.6 (87.1 to 92.1) % (2 of 3)");
        assert_eq!(percent("0.9 (2 of 3)"), "90 % (2 of 3)");
        assert_eq!(
            (percent("1.000"), percent("undefined"), percent("-")),
            ("100.0 %".into(), "undefined".into(), "-".into())
        );
        assert_eq!(group_name("base eta=default"), format!("{} eta=default", method_name("base")));
        assert_eq!(group_name("vifo-mean, 3 seeds"), format!("{}, 3 seeds", method_name("vifo-mean")));
        assert_eq!(group_name("concrete-1"), "concrete-1");
    }
}
