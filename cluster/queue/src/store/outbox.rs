//! What has happened to jobs, in the order it happened, for streams of events. A row is written in
//! the transaction that makes the change, and since there is one writer, rows appear in the order
//! of their numbers: the number of the last row that a stream has sent is all it needs to go on.

use rusqlite::{Connection, params};

use super::{Store, StoreError};
use crate::job::JobSummary;

/// Rows that are kept: who has missed more gets a snapshot instead.
pub const ROWS_MAX: i64 = 20_000;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    pub id: i64,
    /// `job` or `job-removed`.
    pub kind: String,
    /// Whose job: for those who may see it.
    pub user: String,
    /// JSON.
    pub data: String,
}

pub(super) fn put_job(db: &Connection, job: &JobSummary) -> Result<(), StoreError> {
    let data = serde_json::to_string(job)
        .map_err(|error| StoreError::Failed(format!("job {}: {error}", job.id)))?;
    put(db, "job", &job.user, &data)
}

pub(super) fn put_removed(db: &Connection, job: &JobSummary) -> Result<(), StoreError> {
    put(db, "job-removed", &job.user, &format!("{{\"id\":{}}}", job.id))
}

fn put(db: &Connection, kind: &str, user: &str, data: &str) -> Result<(), StoreError> {
    db.prepare_cached("INSERT INTO outbox (kind, user, data) VALUES (?1, ?2, ?3)")?
        .execute(params![kind, user, data])?;
    Ok(())
}

impl Store {
    /// The rows after `cursor`, at most so many; `None` when some of them are no longer kept, or
    /// when `cursor` is of another store.
    pub fn happened(&self, cursor: i64, most: usize) -> Result<Option<Vec<Happened>>, StoreError> {
        let (oldest, newest) = self.kept()?;
        if cursor > newest || cursor < oldest - 1 {
            return Ok(None);
        }
        let sql = "SELECT id, kind, user, data FROM outbox WHERE id > ?1 ORDER BY id LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = statement.query_map([cursor, most], |row| {
            Ok(Happened {
                id: row.get(0)?,
                kind: row.get(1)?,
                user: row.get(2)?,
                data: row.get(3)?,
            })
        })?;
        Ok(Some(rows.collect::<Result<_, _>>()?))
    }

    /// Number of the last row.
    pub fn cursor(&self) -> Result<i64, StoreError> {
        Ok(self.kept()?.1)
    }

    /// Numbers of the first row that is kept and of the last that was written.
    fn kept(&self) -> Result<(i64, i64), StoreError> {
        let sql = "SELECT coalesce((SELECT min(id) FROM outbox), 0), \
                   coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)";
        let (oldest, newest): (i64, i64) =
            self.db.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((if oldest == 0 { newest + 1 } else { oldest }, newest))
    }

    /// Forgets the oldest rows.
    pub fn trim(&mut self) -> Result<(), StoreError> {
        let oldest = self.cursor()? - ROWS_MAX;
        self.db.prepare_cached("DELETE FROM outbox WHERE id <= ?1")?.execute([oldest])?;
        Ok(())
    }
}
