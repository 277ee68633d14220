//! The store: one SQLite file in the data folder.
//!
//! One connection writes (it belongs to the [`crate::manager`]), others read. Every writing
//! transaction begins IMMEDIATE: a deferred one that reads first and writes then would fail at once
//! when another process holds the lock, whatever the patience. Statements do not outlive a call, so
//! nobody keeps an old state of the file alive and the log stays short.

pub mod accounts;
pub mod audit;
pub mod jobs;
pub mod list;
pub mod mirror;
pub mod nodes;
pub mod outbox;
pub mod rules;
mod search;
pub mod spare;
pub mod tokens;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

/// The steps from an empty file to the present layout; a store says how many it has taken.
const MIGRATIONS: [&str; 7] = [
    include_str!("migrations/001_first.sql"),
    include_str!("migrations/002_accounts.sql"),
    include_str!("migrations/003_nodes.sql"),
    include_str!("migrations/004_restarts.sql"),
    include_str!("migrations/005_waiting.sql"),
    include_str!("migrations/006_search.sql"),
    include_str!("migrations/007_processors.sql"),
];
/// "hpvm" as a number, by which `file` and we know our stores.
const APPLICATION: i32 = 0x6870_766d;
/// How long a call waits for another process that has locked the store.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why the store could not do something.
#[derive(Debug)]
pub enum StoreError {
    /// It cannot be written: the disk is full, or somebody else holds the lock.
    Busy(String),
    /// What was asked for is impossible as things are.
    Refused(String),
    /// There is no such thing.
    Missing(String),
    /// Anything else, with what was being done.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Busy(text) | Self::Refused(text) | Self::Missing(text) | Self::Failed(text)) =
            self;
        f.write_str(text)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(DiskFull | SystemIoFailure | CannotOpen) => StoreError::Busy(format!(
                "the store cannot be written, is its disk full? ({error})"
            )),
            Some(DatabaseBusy | DatabaseLocked) => {
                StoreError::Busy(format!("another program has locked the store ({error})"))
            }
            _ => StoreError::Failed(format!("store: {error}")),
        }
    }
}

/// An open store.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store for writing and brings it to the present layout.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let mut store = Store { db, path: path.to_path_buf() };
        store.migrate()?;
        Ok(store)
    }

    /// Another connection to it, which only reads.
    pub fn reader(path: &Path) -> Result<Store, StoreError> {
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(Store { db, path: path.to_path_buf() })
    }

    /// Whether the file is whole and of a layout that we know.
    pub fn check(&self) -> Result<(), StoreError> {
        let path = self.path.display();
        let version: i32 = self.db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version > i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX) {
            let text = format!("{path} has layout {version}, which a newer hpvm has written");
            return Err(StoreError::Failed(text));
        }
        let said: String = self.db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        match said.as_str() {
            "ok" => Ok(()),
            _ => Err(StoreError::Failed(format!("{path} is damaged: {said}"))),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many rows this connection has changed since it was opened.
    pub fn changes(&self) -> u64 {
        self.db.total_changes()
    }

    /// A transaction that will write.
    pub(crate) fn begin(&mut self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.db.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    fn migrate(&mut self) -> Result<(), StoreError> {
        let path = self.path.display().to_string();
        let version: i32 = self.db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let application: i32 =
            self.db.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let tables: i64 =
            self.db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
        if application != APPLICATION && tables > 0 {
            return Err(StoreError::Failed(format!("{path} is no store of hpvm")));
        }
        if version > known {
            return Err(StoreError::Failed(format!(
                "{path} has layout {version}, and this hpvm ({}) knows layouts up to {known}: use \
                 the newer hpvm that wrote it, or another data folder (--data)",
                env!("CARGO_PKG_VERSION")
            )));
        }
        for (step, sql) in (1..).zip(MIGRATIONS).skip(usize::try_from(version).unwrap_or(0)) {
            let transaction = self.begin()?;
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", step)?;
            transaction.commit()?;
        }
        Ok(())
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)
        .map_err(|error| StoreError::Failed(format!("{}: {error}", path.display())))?;
    // First, since the next pragmas may have to wait for a lock themselves.
    db.busy_timeout(LOCK_WAIT)?;
    if flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) {
        db.pragma_update(None, "journal_mode", "wal")?;
        // What was answered must be there after a power cut too: a number given twice would be two
        // jobs with one folder.
        db.pragma_update(None, "synchronous", "full")?;
        // The log shrinks again after a burst.
        db.pragma_update(None, "journal_size_limit", 16 << 20)?;
    }
    db.pragma_update(None, "foreign_keys", true)?;
    Ok(db)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_made_and_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        drop(Store::open(&path).unwrap());
        drop(Store::open(&path).unwrap());
        let reader = Store::reader(&path).unwrap();
        assert!(reader.db.execute("DELETE FROM jobs", []).is_err());
    }

    #[test]
    fn a_store_of_the_first_layout_is_brought_to_the_present_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(MIGRATIONS[0]).unwrap();
        db.execute("INSERT INTO users (name, roles) VALUES ('ann', 'admin,user')", []).unwrap();
        db.pragma_update(None, "application_id", APPLICATION).unwrap();
        db.pragma_update(None, "user_version", 1).unwrap();
        drop(db);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.user("ann").unwrap().unwrap().roles, ["admin", "user"]);
        assert!(store.tokens(None).unwrap().is_empty());
    }

    #[test]
    fn strange_and_newer_stores_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store");
        drop(Store::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(error.contains("layout 99") && error.contains("newer hpvm"), "{error}");
        let other = dir.path().join("other");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE x (y)").unwrap();
        assert!(Store::open(&other).unwrap_err().to_string().contains("no store of hpvm"));
        std::fs::write(dir.path().join("text"), "not a database at all, but long enough").unwrap();
        assert!(Store::open(&dir.path().join("text")).is_err());
    }

    #[test]
    fn impossible_rows_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        store.db.execute("INSERT INTO specs VALUES (1, '{}')", []).unwrap();
        let insert = "INSERT INTO jobs (user, name, queue, priority, ranks, submitted, spec, state, \
                      started, ended, outcome) VALUES ('me', 'x', 'q', 0, 1, 0, 1, ";
        for (values, good) in [
            ("'pending', NULL, NULL, NULL)", true),
            ("'ended', NULL, NULL, NULL)", false),
            ("'ended', NULL, 5, '{}')", true),
            ("'ended', 6, 5, '{}')", false),
            ("'running', NULL, NULL, NULL)", false),
            ("'pending', 5, NULL, NULL)", false),
            ("'strange', NULL, NULL, NULL)", false),
        ] {
            assert_eq!(
                store.db.execute(&format!("{insert}{values}"), []).is_ok(),
                good,
                "{values}"
            );
        }
    }
}
