//! The filter line, the same as the page's: `state:running user:me name:x host:n3`. A word without a
//! colon is part of a name, or a job's number. Words are joined by "and".

use hpvm_queue::job::{JobSummary, Outcome, State};
use hpvm_queue::name::Name;

const KEYS: [&str; 7] = ["state", "user", "name", "host", "queue", "array", "id"];
const STATES: [&str; 8] =
    ["submitted", "held", "pending", "running", "ended", "active", "failed", "done"];

/// What a job has to be to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// As it was typed.
    pub text: String,
    terms: Vec<(&'static str, String)>,
}

impl Filter {
    pub fn parse(text: &str) -> Result<Filter, String> {
        let terms = text.split_whitespace().map(term).collect::<Result<Vec<_>, _>>()?;
        let terms = terms.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Ok(Filter { text: text.trim().into(), terms })
    }

    /// Whether it says which states are meant; otherwise jobs that have ended are not.
    pub fn names_states(&self) -> bool {
        self.terms.iter().any(|(key, _)| matches!(*key, "state" | "id"))
    }

    /// `me` is the name that `user:me` stands for.
    pub fn passes(&self, job: &JobSummary, me: &str) -> bool {
        let same = |text: &str, value: &str| text.to_lowercase() == value;
        self.terms.iter().all(|(key, value)| match *key {
            "state" => value.split(',').any(|state| is(job, state)),
            "user" if value == "me" => job.user == me,
            "user" => same(&job.user, value),
            "name" => job.name.to_lowercase().contains(value),
            "host" => job.hosts.iter().any(|host| same(host, value)),
            "queue" => same(&job.queue, value),
            "array" => job.array.as_ref().is_some_and(|array| array.id.to_string() == *value),
            _ => job.id.to_string() == *value || Name::from(job).to_string() == *value,
        })
    }
}

fn term(word: &str) -> Result<(&'static str, String), String> {
    let Some((key, value)) = word.split_once(':') else {
        let number = word.parse::<Name>().is_ok();
        return Ok((if number { "id" } else { "name" }, word.to_lowercase()));
    };
    let value = value.to_lowercase();
    let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
        let keys = KEYS.join(", ");
        return Err(format!("'{}' in the filter; expected {keys}", key.escape_debug()));
    };
    let bad = value.split(',').find(|state| key == "state" && !STATES.contains(state));
    match bad.filter(|bad| !bad.is_empty()) {
        Some(bad) => {
            let states = STATES.join(", ");
            Err(format!("'{}' is no state; expected {states}", bad.escape_debug()))
        }
        None => Ok((key, value)),
    }
}

fn is(job: &JobSummary, state: &str) -> bool {
    let good = job.outcome.as_ref().is_some_and(Outcome::is_success);
    match state {
        "active" => job.state != State::Ended,
        "pending" => matches!(job.state, State::Pending | State::Submitted),
        "failed" => job.state == State::Ended && !good,
        "done" => job.state == State::Ended && good,
        other => job.state.name() == other,
    }
}
