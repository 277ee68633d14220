//! The audit log: who changed what, when, and from where.

use rusqlite::{Row, params};

use super::{Store, StoreError};
use crate::time::Stamp;

/// Entries that are kept; at a hundred changes a day, years.
const ENTRIES_MAX: i64 = 100_000;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: i64,
    pub at: Stamp,
    pub user: String,
    /// An address, or `socket`.
    pub origin: String,
    pub action: String,
    pub target: String,
}

/// Who does something, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub user: String,
    pub origin: String,
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: row.get(0)?,
        at: Stamp(row.get(1)?),
        user: row.get(2)?,
        origin: row.get(3)?,
        action: row.get(4)?,
        target: row.get(5)?,
    })
}

impl Store {
    /// Writes an entry.
    pub fn audit(&mut self, actor: &Actor, action: &str, target: &str) -> Result<(), StoreError> {
        let sql =
            "INSERT INTO audit (at, user, origin, action, target) VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = params![Stamp::now().0, actor.user, actor.origin, action, target];
        self.db.prepare_cached(sql)?.execute(row)?;
        let id = self.db.last_insert_rowid();
        if id % 1000 == 0 {
            self.db.execute("DELETE FROM audit WHERE id <= ?1", [id - ENTRIES_MAX])?;
        }
        Ok(())
    }

    /// The newest entries before `before`, and whether there are more.
    pub fn audit_log(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<(Vec<Entry>, bool), StoreError> {
        let sql = "SELECT id, at, user, origin, action, target FROM audit WHERE id < ?1 \
                   ORDER BY id DESC LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![before.unwrap_or(i64::MAX), i64::from(limit) + 1], entry)?;
        let mut entries: Vec<Entry> = rows.collect::<Result<_, _>>()?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        Ok((entries, more))
    }
}
