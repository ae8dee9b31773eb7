//! Progress of a sweep.

use crate::base::clock::Instant;
use crate::cli::progress::{Style, duration, stopped};
use crate::cli::tell;
use crate::study::sweep::SweepEvent;
use crate::train::Flow;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// One line per run that ended, and on a terminal a bar below them.
pub struct Lines {
    style: Style,
    all: usize,
    ended: usize,
    start: Instant,
    bar: Option<ProgressBar>,
}

impl Lines {
    pub fn new(style: Style, all: usize) -> Lines {
        let bar = (style == Style::Normal && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(all as u64);
            let template = ProgressStyle::with_template("{wide_bar:.cyan/blue} {pos} of {len} runs {msg}");
            bar.set_style(template.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Lines { style, all, ended: 0, start: Instant::now(), bar }
    }

    pub fn listen(&mut self, news: &SweepEvent) -> Flow {
        match news {
            SweepEvent::Begins { run, epoch } if *epoch > 0 => {
                self.tell(&format!("{} resumes after epoch {epoch}", run.name))
            }
            SweepEvent::Done { run, seconds } => {
                self.ended(&run.name, &format!("done in {}", duration(*seconds)), true)
            }
            // Errors are printed even without progress.
            SweepEvent::Failed { run, line } => self.ended(&run.name, &format!("failed: {line}"), false),
            _ => {}
        }
        if let Some(bar) = &self.bar {
            bar.tick();
        }
        if stopped() { Flow::Stop } else { Flow::Continue }
    }

    fn ended(&mut self, name: &str, how: &str, good: bool) {
        self.ended += 1;
        let left = self.all - self.ended;
        let seconds = self.start.elapsed().as_secs_f64() / self.ended as f64 * left as f64;
        let time = if left > 0 { format!("; {left} left, about {}", duration(seconds)) } else { String::new() };
        let line = format!("[{}/{}] {name} {how}{time}", self.ended, self.all);
        if good || self.style == Style::Normal {
            self.tell(&line)
        } else {
            tell(&format!("{name} {how}"))
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.ended as u64);
            bar.set_message(if left > 0 { format!("about {} left", duration(seconds)) } else { String::new() });
        }
    }

    fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None if self.style == Style::Normal => tell(line),
            None => {}
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
