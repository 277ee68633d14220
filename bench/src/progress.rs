//! What is going on, on stderr: a bar on a terminal, a line per step elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Shows how far a series of steps has come. Removed from the screen when dropped.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    done: u64,
}

impl Progress {
    pub fn new(total: u64) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: None, total, done: 0 };
        }
        let bar = ProgressBar::new(total);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar: Some(bar), total, done: 0 }
    }

    /// More steps have turned out to be needed.
    pub fn expect(&mut self, more: u64) {
        self.total += more;
        if let Some(bar) = &self.bar {
            bar.inc_length(more);
        }
    }

    /// Says that the next step begins.
    pub fn step(&mut self, what: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done - 1);
                bar.set_message(what.to_owned());
            }
            None => eprintln!("[{}/{}] {what}", self.done, self.total),
        }
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
