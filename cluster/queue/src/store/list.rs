//! Lists of jobs, page by page. A page begins behind the last job of the one before (keyset
//! paging), so the millionth costs what the first does.

use rusqlite::OptionalExtension;
use rusqlite::types::Value;

use super::jobs::{COLUMNS, summary};
use super::{Store, StoreError};
use crate::job::{JobId, JobSummary, State};
use crate::time::Stamp;

/// Jobs on a page, at most.
pub const PAGE_MAX: u32 = 1000;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Any of these; all when empty.
    pub states: Vec<State>,
    pub user: Option<String>,
    /// Part of the name.
    pub name: Option<String>,
    pub host: Option<String>,
    pub array: Option<JobId>,
    /// Oldest first.
    pub ascending: bool,
    /// Jobs behind this one.
    pub after: Option<JobId>,
    pub limit: u32,
}

/// The token of the page behind a job. It carries the order and a version, so that a token of
/// another list is recognised.
pub fn token(ascending: bool, last: JobId) -> String {
    format!("1{}{last:x}", if ascending { 'a' } else { 'd' })
}

/// The inverse of [`token`].
pub fn read_token(text: &str) -> Option<(bool, JobId)> {
    let rest = text.strip_prefix('1')?;
    let (ascending, last) = match rest.as_bytes().first()? {
        b'a' => (true, &rest[1..]),
        b'd' => (false, &rest[1..]),
        _ => return None,
    };
    let last = JobId::from_str_radix(last, 16).ok().filter(|last| *last > 0)?;
    Some((ascending, last))
}

impl Store {
    /// A page, and whether more follows.
    pub fn list(&self, filter: &Filter) -> Result<(Vec<JobSummary>, bool), StoreError> {
        let (condition, mut values) = conditions(filter);
        let order = if filter.ascending { "ASC" } else { "DESC" };
        let limit = filter.limit.clamp(1, PAGE_MAX);
        values.push(Value::Integer(i64::from(limit) + 1));
        let sql =
            format!("SELECT {COLUMNS} FROM jobs WHERE {condition} ORDER BY id {order} LIMIT ?");
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(rusqlite::params_from_iter(values), summary)?;
        let mut jobs = rows.collect::<Result<Vec<_>, _>>()?;
        let more = jobs.len() > limit as usize;
        jobs.truncate(limit as usize);
        Ok((jobs, more))
    }
}

/// How long records of jobs that have ended are kept; what is missing is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The newest ones.
    pub jobs: Option<u64>,
    /// Days since their end.
    pub days: Option<u64>,
}

/// Records looked at in one go, so that nobody waits for it.
const OVERDUE_LOOK: u32 = 500;

impl Store {
    /// Jobs whose records are to be removed, oldest first; more may follow.
    pub fn overdue(&self, keep: &Keep, now: Stamp) -> Result<Vec<JobId>, StoreError> {
        let sql = "SELECT id FROM jobs WHERE state = 'ended' ORDER BY id DESC LIMIT 1 OFFSET ?1";
        let newest = match keep.jobs {
            // From this one on there are too many.
            Some(most) => {
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                self.db.prepare_cached(sql)?.query_row([most], |row| row.get(0)).optional()?
            }
            None => None,
        };
        let newest: JobId = newest.unwrap_or(0);
        let day_ms = 86_400_000;
        let before = keep.days.and_then(|days| i64::try_from(days).ok()?.checked_mul(day_ms));
        let before = before.map_or(i64::MIN, |age| now.0.saturating_sub(age));
        // Numbers and ends have nearly the same order: the first ones tell enough.
        let sql = "SELECT id, ended FROM jobs WHERE state = 'ended' ORDER BY id LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([OVERDUE_LOOK], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let rows = rows.collect::<Result<Vec<(JobId, i64)>, _>>()?;
        let over = |(id, ended): &(JobId, i64)| *id <= newest || *ended < before;
        Ok(rows.into_iter().filter(over).map(|(id, _)| id).collect())
    }
}

/// A condition with its values; what users write is only ever a value.
fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut parts = vec!["1".to_string()];
    let mut values = Vec::new();
    if !filter.states.is_empty() {
        let places = vec!["?"; filter.states.len()].join(", ");
        // Of ended jobs there may be millions: with others among them they are walked through in the
        // order of their numbers (the plus keeps the index out), not found by state and sorted.
        let walk = filter.states.len() > 1 && filter.states.contains(&State::Ended);
        let column = if walk { "+state" } else { "state" };
        parts.push(format!("{column} IN ({places})"));
        values.extend(filter.states.iter().map(|state| Value::Text(state.name().into())));
    }
    if let Some(user) = &filter.user {
        // Jobs that have not ended are few: they are found by their states, not among all that the user ever had.
        let few = !filter.states.is_empty() && !filter.states.contains(&State::Ended);
        parts.push(if few { "+user = ?" } else { "user = ?" }.into());
        values.push(Value::Text(user.clone()));
    }
    if let Some(name) = &filter.name {
        parts.push("instr(lower(name), lower(?)) > 0".into());
        values.push(Value::Text(name.clone()));
    }
    if let Some(host) = &filter.host {
        parts.push("EXISTS (SELECT 1 FROM json_each(hosts) WHERE value = ?)".into());
        values.push(Value::Text(host.clone()));
    }
    if let Some(array) = filter.array {
        parts.push("array_id = ?".into());
        values.push(Value::Integer(array));
    }
    if let Some(after) = filter.after {
        parts.push(if filter.ascending { "id > ?" } else { "id < ?" }.into());
        values.push(Value::Integer(after));
    }
    (parts.join(" AND "), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        for (ascending, last) in [(true, 1), (false, 0xabc)] {
            assert_eq!(read_token(&token(ascending, last)), Some((ascending, last)));
        }
        for bad in ["", "1", "1d", "2d5", "1d-5", "1d0", "1dxyz", "1x5", "1d\u{e9}"] {
            assert_eq!(read_token(bad), None, "{bad}");
        }
    }

    /// No list that can be long is sorted, and none is made by looking at every job.
    #[test]
    fn pages_cost_the_same_however_many_jobs_there_are() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let ended = vec![State::Ended];
        for (filter, index) in [
            (Filter::default(), "SCAN jobs"),
            (Filter { after: Some(5), ..Filter::default() }, "INTEGER PRIMARY KEY"),
            (Filter { states: ended, ..Filter::default() }, "jobs_state"),
            (Filter { states: State::ALL.to_vec(), ..Filter::default() }, "SCAN jobs"),
            (Filter { user: Some("me".into()), ..Filter::default() }, "jobs_user"),
            (Filter { array: Some(3), ..Filter::default() }, "jobs_array"),
        ] {
            for ascending in [true, false] {
                let filter = Filter { ascending, ..filter.clone() };
                let (condition, values) = conditions(&filter);
                let order = if ascending { "ASC" } else { "DESC" };
                let sql = format!(
                    "EXPLAIN QUERY PLAN SELECT {COLUMNS} FROM jobs WHERE {condition} ORDER BY id \
                     {order} LIMIT 100"
                );
                let mut statement = store.db.prepare(&sql).unwrap();
                let rows = statement
                    .query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3))
                    .unwrap();
                let plan: Vec<String> = rows.map(Result::unwrap).collect();
                let text = plan.join("; ");
                assert!(
                    text.contains(index) && !text.contains("TEMP B-TREE"),
                    "{filter:?}: {text}"
                );
            }
        }
    }

    #[test]
    fn a_users_jobs_that_have_not_ended_are_not_looked_for_among_all_of_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let (states, user) = (State::ALL[..4].to_vec(), Some("me".into()));
        let (condition, values) = conditions(&Filter { states, user, ..Filter::default() });
        let sql = format!("EXPLAIN QUERY PLAN SELECT id FROM jobs WHERE {condition} ORDER BY id");
        let mut statement = store.db.prepare(&sql).unwrap();
        let values = rusqlite::params_from_iter(values);
        let plan: String = statement.query_row(values, |row| row.get(3)).unwrap();
        assert!(plan.contains("jobs_state"), "{plan}");
    }

    #[test]
    fn pages_follow_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        let new = crate::store::jobs::New {
            user: "me".into(),
            name: "Poisson".into(),
            queue: "main".into(),
            spec: crate::job::JobSpec::default(),
            tasks: (0..25).collect(),
            at_once: None,
            key: None,
        };
        store.submit(&new, crate::time::Stamp(1)).unwrap();
        for ascending in [true, false] {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let name = Some("OISS".into());
                let filter = Filter { name, ascending, after, limit: 10, ..Filter::default() };
                let (jobs, more) = store.list(&filter).unwrap();
                seen.extend(jobs.iter().map(|job| job.id));
                after = seen.last().copied();
                if !more {
                    break;
                }
            }
            let mut expected: Vec<JobId> = (1..=25).collect();
            if !ascending {
                expected.reverse();
            }
            assert_eq!(seen, expected);
        }
        let nobody = Filter { host: Some("h' OR 1 --".into()), limit: 10, ..Filter::default() };
        assert!(store.list(&nobody).unwrap().0.is_empty());
    }

    #[test]
    fn records_are_kept_by_number_and_by_age() {
        use crate::apply::Event;
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        let new = crate::store::jobs::New {
            user: "me".into(),
            name: "x".into(),
            queue: "main".into(),
            spec: crate::job::JobSpec::default(),
            tasks: (0..6).collect(),
            at_once: None,
            key: None,
        };
        let day = 86_400;
        let (jobs, _) = store.submit(&new, Stamp(1)).unwrap();
        // One a day; the last still waits.
        for (days, job) in (0..).zip(&jobs[..5]) {
            let at = Stamp(0).after(days * day);
            store.transition(&[(job, Event::CancelAsked { by: "me".into(), at })]).unwrap();
        }
        let now = Stamp(0).after(5 * day);
        let overdue = |jobs, days| store.overdue(&Keep { jobs, days }, now).unwrap();
        assert!(overdue(None, None).is_empty());
        assert_eq!(overdue(Some(3), None), [1, 2]);
        assert!(overdue(Some(5), None).is_empty());
        assert_eq!(overdue(Some(0), None), [1, 2, 3, 4, 5]);
        assert_eq!(overdue(None, Some(3)), [1, 2]);
        assert_eq!(overdue(Some(4), Some(2)), [1, 2, 3]);
        assert!(overdue(None, Some(u64::MAX)).is_empty());
    }
}
