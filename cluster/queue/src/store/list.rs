//! Lists of jobs, page by page. A page begins behind the last job of the one before (keyset
//! paging), so the millionth costs what the first does.

use rusqlite::types::Value;

use super::jobs::{COLUMNS, summary};
use super::{Store, StoreError};
use crate::job::{JobId, JobSummary, State};

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

/// A condition with its values; what users write is only ever a value.
fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut parts = vec!["1".to_string()];
    let mut values = Vec::new();
    if !filter.states.is_empty() {
        let places = vec!["?"; filter.states.len()].join(", ");
        parts.push(format!("state IN ({places})"));
        values.extend(filter.states.iter().map(|state| Value::Text(state.name().into())));
    }
    if let Some(user) = &filter.user {
        parts.push("user = ?".into());
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
