//! The table of the ticked runs: mean and sd over seeds, the best marked, and copies of it for papers.

use crate::base::clock::{Duration, Instant};
use crate::error::Result;
use crate::live::Job;
use crate::report::compare::{self, Comparison, Spread};
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
        for name in &table.header {
            ui.strong(name);
        }
        ui.end_row();
        for row in &table.rows {
            for cell in row {
                match cell.strip_suffix('*') {
                    Some(best) => ui.strong(format!("{best} ★")),
                    None => ui.label(cell),
                };
            }
            ui.end_row();
        }
    });
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
