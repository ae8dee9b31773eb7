//! Progress of a training run: a bar on a terminal, plain lines elsewhere, JSON lines, or nothing; and Ctrl-C.

use super::{hand_over, tell};
use crate::base::clock::{Duration, Instant};
use crate::base::counted::counted;
use crate::system::stop;
pub use crate::tables::duration;
use crate::train::{Event, Flow};
use crate::view::RunView;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Normal,
    Quiet,
    Json,
}

impl Style {
    pub fn of(quiet: bool, json: bool) -> Style {
        if json {
            Style::Json
        } else if quiet {
            Style::Quiet
        } else {
            Style::Normal
        }
    }
}

pub struct Progress {
    style: Style,
    view: RunView,
    bar: Option<ProgressBar>,
    last_line: Instant,
    title: String,
}

/// Between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    pub fn new(style: Style, title: &str) -> Progress {
        Progress { style, view: RunView::default(), bar: None, last_line: Instant::now(), title: title.into() }
    }

    pub fn listen(&mut self, event: &Event, notes: &[String]) -> Flow {
        self.view.fold(event);
        match self.style {
            Style::Quiet => {}
            Style::Json => self.json(event, notes),
            Style::Normal => self.show(event, notes),
        }
        if stopped() { Flow::Stop } else { Flow::Continue }
    }

    fn show(&mut self, event: &Event, notes: &[String]) {
        match event {
            Event::Started { device, parameters, first_epoch, epochs, steps_per_epoch } => {
                tell(&format!(
                    "{} on {device}: {} per member, {} of {}",
                    self.title,
                    counted(*parameters, "parameter"),
                    counted(*epochs as usize, "epoch"),
                    counted(*steps_per_epoch as usize, "step"),
                ));
                if *first_epoch > 0 {
                    tell(&format!("resumes after epoch {first_epoch}"));
                }
                for note in notes {
                    tell(&format!("note: {note}"));
                }
                if std::io::stderr().is_terminal() {
                    let bar = ProgressBar::new(u64::from(*epochs));
                    let style = ProgressStyle::with_template("{wide_bar:.cyan/blue} {msg}");
                    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                    self.bar = Some(bar);
                }
            }
            Event::Epoch(row) => {
                let text = || {
                    format!(
                        "{}  {:.0} steps/s, {} left",
                        self.view.line(),
                        self.view.rate(),
                        duration(self.view.seconds_left())
                    )
                };
                if let Some(bar) = &self.bar {
                    bar.set_position(u64::from(row.epoch));
                    if self.last_line.elapsed() > Duration::from_millis(50) {
                        bar.set_message(text());
                        self.last_line = Instant::now();
                    }
                } else if self.last_line.elapsed() >= LINE_EVERY {
                    tell(&text());
                    self.last_line = Instant::now();
                }
            }
            Event::Checkpoint => {}
        }
    }

    fn json(&self, event: &Event, notes: &[String]) {
        let value = match event {
            Event::Started { device, parameters, first_epoch, epochs, steps_per_epoch } => serde_json::json!({
                "event": "started", "device": device, "parameters": parameters, "first_epoch": first_epoch, "epochs": epochs,
                "steps_per_epoch": steps_per_epoch, "notes": notes,
            }),
            Event::Epoch(row) => match serde_json::to_value(row) {
                Ok(mut v) => {
                    v["event"] = "epoch".into();
                    v
                }
                Err(_) => return,
            },
            Event::Checkpoint => serde_json::json!({ "event": "checkpoint" }),
        };
        hand_over(&value.to_string());
    }

    /// Clears the bar and says how training went.
    pub fn finish(&self, ending: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.style == Style::Normal {
            let Some(last) = self.view.last() else {
                tell(match ending {
                    "stopped" => "stopped before the first evaluation",
                    _ => {
                        "already finished: nothing left to train; its results and report were rewritten; to train longer, start \
                         a new run with more epochs (--epochs)"
                    }
                });
                return;
            };
            let seconds = last.seconds;
            tell(&format!(
                "{ending} after {} ({:.0} steps/s): {}",
                duration(seconds),
                self.view.rate(),
                self.view.line()
            ));
        }
    }
}

/// Whether Ctrl-C was pressed; after the first call Ctrl-C asks to stop instead of ending the program.
pub fn stopped() -> bool {
    hear();
    stop::requested()
}

/// Asks to stop as the first Ctrl-C does; where nothing is to be saved the program ends.
pub fn request_stop() {
    stop::request();
    if !stop::is_held() {
        leave();
    }
}

/// Ends the program as one that Ctrl-C ended.
fn leave() -> ! {
    stop::remove_claimed();
    std::process::exit(130)
}

/// Hears Ctrl-C and SIGTERM from the first call on: the exit code is 130 whatever the program was at.
pub fn hear() {
    static HANDLER: OnceLock<()> = OnceLock::new();
    HANDLER.get_or_init(|| {
        // Without a handler Ctrl-C still ends the program, and the last checkpoint is still whole.
        let _ = ctrlc::set_handler(|| {
            if !stop::request() || !stop::is_held() {
                leave();
            }
            tell("stopping and saving; press Ctrl-C again to quit at once");
        });
    });
}
