//! Lists of jobs, page by page. A page begins behind the last job of the one before (keyset
//! paging), so the millionth costs what the first does.

use rusqlite::OptionalExtension;
use rusqlite::types::Value;

use super::jobs::{COLUMNS, summary};
use super::search::{self, Way};
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
        let limit = filter.limit.clamp(1, PAGE_MAX);
        let (sql, mut values) = page(&search::shortest(&self.db, ways(filter))?, filter);
        values.push(Value::Integer(i64::from(limit) + 1));
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

/// The indexes that may lead to what is asked for.
fn ways(filter: &Filter) -> Vec<Way> {
    // Jobs that have not ended are few, and so are those of an array: they are found by columns of jobs.
    let few = !filter.states.is_empty() && !filter.states.contains(&State::Ended);
    if few || filter.array.is_some() {
        return Vec::new();
    }
    let name = filter.name.as_deref().and_then(Way::name);
    let host = filter.host.clone().map(Way::Host);
    let user = filter.user.clone().map(Way::User);
    [name, host, user].into_iter().flatten().collect()
}

/// The question for a page on this way, but for its limit, with its values; what users write is only
/// ever a value.
fn page(way: &Way, filter: &Filter) -> (String, Vec<Value>) {
    let mut parts = vec!["1".to_string()];
    let mut values = Vec::new();
    let mut check = |part: String, value: Option<Value>| {
        parts.push(part);
        values.extend(value);
    };
    if let Some((condition, value)) = way.condition() {
        check(condition.into(), Some(value));
    }
    if !filter.states.is_empty() {
        // The plus keeps the index out. Of ended jobs there may be millions: with others among them they
        // are walked through in the order of their numbers, not found by state and sorted.
        let walk = filter.states.len() > 1 && filter.states.contains(&State::Ended);
        let led = *way != Way::Jobs || filter.array.is_some();
        let column = if walk || led { "+state" } else { "state" };
        let names = filter.states.iter().map(|state| format!("'{}'", state.name()));
        check(format!("{column} IN ({})", names.collect::<Vec<_>>().join(", ")), None);
    }
    if let Some(user) = &filter.user {
        check("+user = ?".into(), Some(Value::Text(user.clone())));
    }
    if let Some(name) = &filter.name {
        let part = "instr(lower(jobs.name), lower(?)) > 0".into();
        check(part, Some(Value::Text(name.clone())));
    }
    if let Some(host) = &filter.host {
        let part = "EXISTS (SELECT 1 FROM job_hosts AS h WHERE h.host = ? AND h.job = jobs.id)";
        check(part.into(), Some(Value::Text(host.clone())));
    }
    if let Some(array) = filter.array {
        check("array_id = ?".into(), Some(Value::Integer(array)));
    }
    let id = way.id();
    if let Some(after) = filter.after {
        let part = format!("{id} {} ?", if filter.ascending { '>' } else { '<' });
        check(part, Some(Value::Integer(after)));
    }
    let order = if filter.ascending { "ASC" } else { "DESC" };
    let sql = format!(
        "SELECT {COLUMNS} FROM {} WHERE {} ORDER BY {id} {order} LIMIT ?",
        way.tables(),
        parts.join(" AND ")
    );
    (sql, values)
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

    fn plan(store: &Store, filter: &Filter) -> String {
        let way = search::shortest(&store.db, ways(filter)).unwrap();
        let (sql, mut values) = page(&way, filter);
        values.push(Value::Integer(100));
        let mut statement = store.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let values = rusqlite::params_from_iter(values);
        let rows = statement.query_map(values, |row| row.get::<_, String>(3)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    }

    /// No list that can be long is sorted, and none is made by looking at every job.
    #[test]
    fn pages_cost_the_same_however_many_jobs_there_are() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let (ended, all) = (vec![State::Ended], State::ALL.to_vec());
        let (user, name, host) = (Some("me".into()), Some("oiss".into()), Some("n1".into()));
        for (filter, index) in [
            (Filter::default(), "SCAN jobs"),
            (Filter { after: Some(5), ..Filter::default() }, "INTEGER PRIMARY KEY"),
            (Filter { states: ended.clone(), ..Filter::default() }, "jobs_state"),
            (Filter { states: all.clone(), ..Filter::default() }, "SCAN jobs"),
            (Filter { user: user.clone(), ..Filter::default() }, "jobs_user"),
            (Filter { user, states: ended.clone(), ..Filter::default() }, "jobs_user"),
            (Filter { array: Some(3), ..Filter::default() }, "jobs_array"),
            (Filter { name: name.clone(), ..Filter::default() }, "SCAN job_names VIRTUAL TABLE"),
            (Filter { name: name.clone(), states: ended, ..Filter::default() }, "VIRTUAL TABLE"),
            (Filter { name: Some("é".into()), ..Filter::default() }, "SCAN job_names VIRTUAL"),
            (Filter { host: host.clone(), ..Filter::default() }, "SEARCH job_hosts USING PRIMARY"),
            (Filter { host, states: all, after: Some(9), ..Filter::default() }, "SEARCH job_hosts"),
        ] {
            for ascending in [true, false] {
                let filter = Filter { ascending, ..filter.clone() };
                let text = plan(&store, &filter);
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
        let name = Some("x".into());
        for filter in [
            Filter { states: states.clone(), user, ..Filter::default() },
            Filter { states, name, ..Filter::default() },
        ] {
            let plan = plan(&store, &filter);
            assert!(plan.contains("jobs_state"), "{plan}");
        }
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
