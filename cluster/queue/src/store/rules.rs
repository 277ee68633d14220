//! What administrators lay down: hosts that get no new jobs, limits of queues.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Store, StoreError};
use crate::time::Stamp;

/// Why a host gets no new jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drained {
    pub user: String,
    pub reason: String,
}

/// Limits of a queue; what is missing is not limited.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueLimits {
    /// Longest time limit; a job without one gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub time_limit_seconds: Option<u64>,
    /// Most ranks of a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub ranks: Option<u32>,
    /// Most jobs of one user that have not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub jobs_per_user: Option<u32>,
}

impl Store {
    pub fn drain(&mut self, host: &str, drained: &Drained) -> Result<(), StoreError> {
        let sql = "INSERT INTO drained (host, user, reason, at) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (host) DO UPDATE SET user = ?2, reason = ?3, at = ?4";
        self.db.execute(sql, params![host, drained.user, drained.reason, Stamp::now().0])?;
        Ok(())
    }

    pub fn resume(&mut self, host: &str) -> Result<(), StoreError> {
        self.db.execute("DELETE FROM drained WHERE host = ?1", [host])?;
        Ok(())
    }

    pub fn drained(&self) -> Result<BTreeMap<String, Drained>, StoreError> {
        let mut statement = self.db.prepare_cached("SELECT host, user, reason FROM drained")?;
        let rows = statement.query_map([], |row| {
            Ok((row.get(0)?, Drained { user: row.get(1)?, reason: row.get(2)? }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn set_limits(&mut self, queue: &str, limits: &QueueLimits) -> Result<(), StoreError> {
        let sql = "INSERT INTO queue_limits (queue, time_limit, ranks, jobs_per_user) \
                   VALUES (?1, ?2, ?3, ?4) ON CONFLICT (queue) DO UPDATE \
                   SET time_limit = ?2, ranks = ?3, jobs_per_user = ?4";
        let seconds = limits.time_limit_seconds.map(|s| i64::try_from(s).unwrap_or(i64::MAX));
        self.db.execute(sql, params![queue, seconds, limits.ranks, limits.jobs_per_user])?;
        Ok(())
    }

    pub fn limits(&self, queue: &str) -> Result<QueueLimits, StoreError> {
        let sql = "SELECT time_limit, ranks, jobs_per_user FROM queue_limits WHERE queue = ?1";
        let found = self.db.prepare_cached(sql)?.query_row([queue], |row| {
            let seconds: Option<i64> = row.get(0)?;
            Ok(QueueLimits {
                time_limit_seconds: seconds.and_then(|s| u64::try_from(s).ok()),
                ranks: row.get(1)?,
                jobs_per_user: row.get(2)?,
            })
        });
        Ok(found.optional()?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_laid_down_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        let drained = |reason: &str| Drained { user: "ann".into(), reason: reason.into() };
        store.drain("n1", &drained("fan")).unwrap();
        store.drain("n1", &drained("disk")).unwrap();
        assert_eq!(store.drained().unwrap()["n1"].reason, "disk");
        store.resume("n1").unwrap();
        assert!(store.drained().unwrap().is_empty());
        assert_eq!(store.limits("main").unwrap(), QueueLimits::default());
        let limits = QueueLimits { ranks: Some(4), ..QueueLimits::default() };
        store.set_limits("main", &limits).unwrap();
        assert_eq!(store.limits("main").unwrap(), limits);
    }
}
