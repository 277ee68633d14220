//! `hpvm top` on a terminal: draws when there is something new, and performs what keys say.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use hpvm_queue::job::State;
use hpvm_queue::time::Stamp;
use hpvm_serve::client::Client;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::draw::draw;
use super::model::{Act, Model, News};
use super::watch::{self, Request};

/// How long a key or an event may wait for the other kind.
const TURN: Duration = Duration::from_millis(50);
/// Between two looks at ranks, and between two drawings without anything new: times go on.
const SECOND: Duration = Duration::from_secs(1);

static ENDED: AtomicBool = AtomicBool::new(false);

extern "C" fn end(_: libc::c_int) {
    // The flag alone says everything; nothing else is passed along with it.
    ENDED.store(true, Ordering::Relaxed);
}

/// Shows it until the user, or SIGTERM, ends it.
pub fn run(client: Client, model: Model) -> Result<(), String> {
    // SAFETY: the handler does nothing but an atomic store, so it may interrupt anything.
    unsafe { libc::signal(libc::SIGTERM, end as *const () as libc::sighandler_t) };
    let (tell, news) = channel();
    let (ask, requests) = channel();
    watch::start(client, tell, requests);
    let told = |error: std::io::Error| format!("top: the terminal: {error}");
    let terminal = ratatui::try_init().map_err(told)?;
    let shown = Screen { terminal, model, news, ask, asked: None }.run();
    ratatui::try_restore().map_err(told)?;
    shown.map_err(told)
}

struct Screen {
    terminal: DefaultTerminal,
    model: Model,
    news: Receiver<News>,
    ask: Sender<Request>,
    /// Whose ranks were asked for last, when, and whether the answer has come.
    asked: Option<(i64, Instant, bool)>,
}

impl Screen {
    fn run(&mut self) -> std::io::Result<()> {
        let mut drawn: Option<Instant> = None;
        // Pairs with the store of the handler; nothing else is read after it.
        while !ENDED.load(Ordering::Relaxed) {
            let new = self.hear();
            if new || drawn.is_none_or(|at| at.elapsed() >= SECOND) {
                let (model, now) = (&self.model, Stamp::now());
                self.terminal.draw(|frame| draw(frame, model, now))?;
                drawn = Some(Instant::now());
            }
            self.look_at_ranks();
            if !event::poll(TURN)? {
                continue;
            }
            drawn = None;
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
            {
                let control = key.modifiers.contains(KeyModifiers::CONTROL);
                if !self.perform(key.code, control) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes all news in; whether there were some.
    fn hear(&mut self) -> bool {
        let mut new = false;
        while let Ok(news) = self.news.try_recv() {
            if let (News::Ranks(..), Some(asked)) = (&news, &mut self.asked) {
                asked.2 = true;
            }
            self.model.hear(news);
            new = true;
        }
        new
    }

    /// Asks for the ranks of the selected job: at once when it is another one, else every second.
    fn look_at_ranks(&mut self) {
        let selected = self.model.selected(Stamp::now());
        let Some(job) = selected.filter(|job| job.state == State::Running).map(|job| job.id) else {
            return;
        };
        let due = self.asked.is_none_or(|(asked, at, answered)| {
            answered && (asked != job || at.elapsed() >= SECOND)
        });
        if due && self.ask.send(Request::Ranks(job)).is_ok() {
            self.asked = Some((job, Instant::now(), false));
        }
    }

    /// False when the user has enough.
    fn perform(&mut self, key: KeyCode, control: bool) -> bool {
        if control {
            return key != KeyCode::Char('c');
        }
        match self.model.key(key, Stamp::now()) {
            Act::Quit => return false,
            // The other thread lives as long as we do.
            Act::Cancel(job) => drop(self.ask.send(Request::Cancel(job))),
            Act::Nothing => {}
        }
        true
    }
}
