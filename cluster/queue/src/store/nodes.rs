//! Hosts that report to the server, so that one that starts again knows whom it waits for.

use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError};
use crate::policy::Resources;
use crate::time::Stamp;

/// A host that has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    pub name: String,
    pub identity: String,
    pub capacity: Resources,
    /// As it has told them.
    pub processors: String,
    pub last_seen: Stamp,
}

impl Store {
    /// Records a host, or what has changed of it.
    pub fn put_node(&mut self, node: &NodeRow) -> Result<(), StoreError> {
        let sql = "INSERT INTO nodes (name, identity, cpus, memory, gpus, last_seen, processors) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE SET identity = ?2, \
                   cpus = ?3, memory = ?4, gpus = ?5, last_seen = ?6, processors = ?7";
        let Resources { cpus, memory, gpus } = node.capacity;
        let memory = i64::try_from(memory).unwrap_or(i64::MAX);
        let NodeRow { name, identity, processors, last_seen, .. } = node;
        let values = params![name, identity, cpus, memory, gpus, last_seen.0, processors];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    pub fn nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        let sql = "SELECT name, identity, cpus, memory, gpus, last_seen, processors FROM nodes \
                   ORDER BY name";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            let memory = u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0);
            Ok(NodeRow {
                name: row.get(0)?,
                identity: row.get(1)?,
                capacity: Resources { cpus: row.get(2)?, memory, gpus: row.get(4)? },
                last_seen: Stamp(row.get(5)?),
                processors: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Forgets a host.
    pub fn remove_node(&mut self, name: &str) -> Result<(), StoreError> {
        match self.db.execute("DELETE FROM nodes WHERE name = ?1", [name])? {
            0 => Err(StoreError::Missing(format!("there is no host '{name}' that reports"))),
            _ => Ok(()),
        }
    }

    /// A number of this store, by which hosts tell its jobs from those of another one.
    pub fn queue_number(&mut self) -> Result<u64, StoreError> {
        let transaction = self.begin()?;
        let sql = "SELECT value FROM counters WHERE name = 'queue'";
        let found: Option<i64> = transaction.query_row(sql, [], |row| row.get(0)).optional()?;
        let number = match found {
            Some(number) => number,
            None => {
                let put = "INSERT INTO counters (name, value) VALUES ('queue', abs(random() / 2)) \
                           RETURNING value";
                transaction.query_row(put, [], |row| row.get(0))?
            }
        };
        transaction.commit()?;
        Ok(u64::try_from(number).unwrap_or(0))
    }

    /// A number above all that this store has ever given, and not below the time: a store that was
    /// restored from a copy gives no number twice, either.
    pub fn next_epoch(&mut self, now: Stamp) -> Result<u64, StoreError> {
        let transaction = self.begin()?;
        let sql = "SELECT value FROM counters WHERE name = 'epoch'";
        let before: Option<i64> = transaction.query_row(sql, [], |row| row.get(0)).optional()?;
        let epoch = before.map_or(now.0, |before| now.0.max(before + 1));
        let put = "INSERT INTO counters (name, value) VALUES ('epoch', ?1) \
                   ON CONFLICT (name) DO UPDATE SET value = ?1";
        transaction.execute(put, [epoch])?;
        transaction.commit()?;
        Ok(u64::try_from(epoch).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_epochs() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        let capacity = Resources { cpus: 2, memory: 1 << 40, gpus: 1 };
        let (name, identity, processors) = ("n1".into(), "a".into(), String::new());
        let mut node = NodeRow { name, identity, capacity, processors, last_seen: Stamp(5) };
        store.put_node(&node).unwrap();
        (node.identity, node.processors) = ("b".into(), "0,1".into());
        store.put_node(&node).unwrap();
        assert_eq!(store.nodes().unwrap(), [node]);
        store.remove_node("n1").unwrap();
        assert!(store.remove_node("n1").is_err());
        // The clock may be set back.
        let epochs = [100, 50, 200].map(|at| store.next_epoch(Stamp(at)).unwrap());
        assert_eq!(epochs, [100, 101, 200]);
    }
}
