//! What `hpvm top` shows, and what a key does to it. Knows no terminal and no server.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hpvm_queue::job::{JobSummary, State};
use hpvm_queue::time::Stamp;
use hpvm_serve::api::types::{Host, Ranks, Snapshot};
use ratatui::crossterm::event::KeyCode;

use super::filter::Filter;

/// Jobs that have ended and are remembered; the server's snapshot has as many at most.
const ENDED_MAX: usize = 1000;

/// By what jobs are sorted.
pub const SORTS: [&str; 6] = ["id", "name", "user", "state", "time", "ranks"];

/// What the server says, or what was done.
#[derive(Debug)]
pub enum News {
    Snapshot(Snapshot),
    Job(JobSummary),
    Removed(i64),
    Host(Host),
    /// The ranks of a job, or why they cannot be seen.
    Ranks(i64, Result<Ranks, String>),
    /// No connection, and why.
    Lost(String),
    /// A line about something that was asked for.
    Done(String),
}

/// What the keys mean now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    List,
    /// A filter is being typed.
    Filter(String),
    /// Shall this job be cancelled?
    Confirm(i64),
    Help,
}

/// What a key asks of the world outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Nothing,
    Quit,
    Cancel(i64),
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub struct Model {
    pub hosts: Vec<Host>,
    pub jobs: BTreeMap<i64, JobSummary>,
    /// The server has more jobs than it tells.
    pub truncated: bool,
    /// Of the job with this number.
    pub ranks: Option<(i64, Result<Ranks, String>)>,
    pub me: String,
    pub sort: usize,
    pub reverse: bool,
    /// Jobs that have ended, too.
    pub all: bool,
    pub filter: Filter,
    /// What was chosen; `None` as long as nobody has.
    pub chosen: Option<i64>,
    pub mode: Mode,
    pub message: String,
    pub lost: Option<String>,
}

impl Model {
    pub fn hear(&mut self, news: News) {
        match news {
            News::Snapshot(snapshot) => {
                self.lost = None;
                self.truncated = snapshot.truncated;
                self.jobs = snapshot.jobs.into_iter().map(|job| (job.id, job)).collect();
                self.hosts = snapshot.hosts;
            }
            News::Job(job) => {
                self.jobs.insert(job.id, job);
                self.forget_old();
            }
            News::Removed(id) => drop(self.jobs.remove(&id)),
            News::Host(host) => match self.hosts.iter_mut().find(|h| h.name == host.name) {
                Some(known) => *known = host,
                None => self.hosts.push(host),
            },
            News::Ranks(id, ranks) => self.ranks = Some((id, ranks)),
            News::Lost(why) => self.lost = Some(why),
            News::Done(text) => self.message = text,
        }
    }

    fn forget_old(&mut self) {
        let ended = self.jobs.values().filter(|job| job.state == State::Ended);
        let ids: Vec<i64> = ended.map(|job| job.id).collect();
        let surplus = ids.len().saturating_sub(ENDED_MAX);
        ids[..surplus].iter().for_each(|id| drop(self.jobs.remove(id)));
    }

    pub fn count(&self, states: &[State]) -> usize {
        self.jobs.values().filter(|job| states.contains(&job.state)).count()
    }

    /// The jobs that pass the filter, in order.
    pub fn shown(&self, now: Stamp) -> Vec<&JobSummary> {
        let ended = self.all || self.filter.names_states();
        let mut shown: Vec<&JobSummary> = self
            .jobs
            .values()
            .filter(|job| ended || job.state != State::Ended)
            .filter(|job| self.filter.passes(job, &self.me))
            .collect();
        shown.sort_by(|a, b| {
            let order = self.compare(a, b, now).then(a.id.cmp(&b.id));
            if self.reverse { order.reverse() } else { order }
        });
        shown
    }

    fn compare(&self, a: &JobSummary, b: &JobSummary, now: Stamp) -> Ordering {
        // What runs is what one looks for, so it comes first.
        let state = |job: &JobSummary| match job.state {
            State::Running => 0,
            State::Pending | State::Submitted => 1,
            State::Held => 2,
            State::Ended => 3,
        };
        match SORTS[self.sort] {
            "name" => a.name.cmp(&b.name),
            "user" => a.user.cmp(&b.user),
            "state" => state(a).cmp(&state(b)),
            "time" => used(b, now).cmp(&used(a, now)),
            "ranks" => b.ranks.cmp(&a.ranks),
            _ => a.id.cmp(&b.id),
        }
    }

    /// The job whose ranks are shown: the chosen one, else the first that runs, else the first.
    pub fn selected(&self, now: Stamp) -> Option<&JobSummary> {
        let shown = self.shown(now);
        let chosen = shown.iter().find(|job| Some(job.id) == self.chosen);
        let running = || shown.iter().find(|job| job.state == State::Running);
        chosen.or_else(running).or_else(|| shown.first()).copied()
    }

    /// The ranks of this job, or why there are none to show; `None` while nothing is known.
    pub fn ranks_of(&self, job: i64) -> Option<&Result<Ranks, String>> {
        self.ranks.as_ref().filter(|(id, _)| *id == job).map(|(_, ranks)| ranks)
    }

    pub fn key(&mut self, key: KeyCode, now: Stamp) -> Act {
        self.message.clear();
        match std::mem::take(&mut self.mode) {
            Mode::List => self.key_in_list(key, now),
            Mode::Filter(text) => self.key_in_filter(text, key),
            Mode::Confirm(job) if matches!(key, KeyCode::Char('y' | 'Y')) => Act::Cancel(job),
            Mode::Confirm(_) => {
                self.message = "not cancelled".into();
                Act::Nothing
            }
            Mode::Help => Act::Nothing,
        }
    }

    fn key_in_list(&mut self, key: KeyCode, now: Stamp) -> Act {
        match key {
            KeyCode::Char('q') => return Act::Quit,
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter(self.filter.text.clone()),
            KeyCode::Char('s') => self.sort = (self.sort + 1) % SORTS.len(),
            KeyCode::Char('r') => self.reverse = !self.reverse,
            KeyCode::Char('a') => self.all = !self.all,
            KeyCode::Char('c') => self.ask(now),
            KeyCode::Up => self.step(-1, now),
            KeyCode::Down => self.step(1, now),
            KeyCode::PageUp => self.step(-10, now),
            KeyCode::PageDown => self.step(10, now),
            KeyCode::Home => self.step(isize::MIN, now),
            KeyCode::End => self.step(isize::MAX, now),
            _ => {}
        }
        Act::Nothing
    }

    fn key_in_filter(&mut self, mut text: String, key: KeyCode) -> Act {
        match key {
            KeyCode::Esc => return Act::Nothing,
            KeyCode::Enter => match Filter::parse(&text) {
                Ok(filter) => {
                    self.filter = filter;
                    return Act::Nothing;
                }
                Err(why) => self.message = why,
            },
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) => text.push(letter),
            _ => {}
        }
        self.mode = Mode::Filter(text);
        Act::Nothing
    }

    fn ask(&mut self, now: Stamp) {
        match self.selected(now).map(|job| (job.id, job.state)) {
            None => self.message = "no job is shown".into(),
            Some((id, State::Ended)) => self.message = format!("job {id} has ended"),
            Some((id, _)) => self.mode = Mode::Confirm(id),
        }
    }

    fn step(&mut self, by: isize, now: Stamp) {
        let shown: Vec<i64> = self.shown(now).iter().map(|job| job.id).collect();
        let at = self.selected(now).and_then(|job| shown.iter().position(|id| *id == job.id));
        let Some(at) = at else { return };
        let to = at.saturating_add_signed(by).min(shown.len() - 1);
        self.chosen = Some(shown[to]);
    }
}

/// Seconds that a job has run.
pub fn used(job: &JobSummary, now: Stamp) -> u64 {
    job.started.map_or(0, |started| job.ended.unwrap_or(now).since(started))
}

#[cfg(test)]
mod tests;
