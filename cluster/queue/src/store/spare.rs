//! The spare of a store: a whole copy beside it, made anew now and then.
//!
//! Who copies the data folder while the server runs copies the parts of the store at different moments,
//! and what a checkpoint or a new beginning of the log does in between may leave them at odds. So a store
//! that lies elsewhere than where it was last opened is looked through before it is used, and one that is
//! torn gives way to the spare in the same copy: what came later is missing, and nothing is wrong.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::{Store, StoreError, connect};

/// The spare of a store.
pub fn path_of(store: &Path) -> PathBuf {
    store.with_extension("spare.sqlite")
}

/// Says where the store was last opened.
fn place_of(store: &Path) -> PathBuf {
    store.with_extension("place")
}

/// Where a torn store is put, with its log, for who wants to look.
fn torn_of(store: &Path) -> PathBuf {
    store.with_extension("torn.sqlite")
}

fn log_of(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn told(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| StoreError::Failed(format!("{}: {error}", path.display()))
}

/// Makes the spare anew; there is always a whole one. Others read and write meanwhile. Takes as long as
/// the store is large, a second or so with 100,000 jobs.
///
/// # Errors
/// The disk is full, as a rule; the last spare stays.
pub fn make(store: &Path) -> Result<(), StoreError> {
    let (spare, new) = (path_of(store), store.with_extension("spare.new"));
    let done = write(store, &new);
    match done.and_then(|()| fs::rename(&new, &spare).map_err(told(&spare))) {
        Ok(()) => Ok(()),
        Err(error) => {
            // Half of one is of no use, and its room may be needed.
            let _ = fs::remove_file(&new);
            Err(error)
        }
    }
}

fn write(store: &Path, new: &Path) -> Result<(), StoreError> {
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(new)(error)),
        _ => {}
    }
    // SQLite takes an empty file with the permissions that it has: others must not read it.
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(new).map_err(told(new))?;
    let name = new.to_str().ok_or_else(|| StoreError::Failed("its name is no text".into()))?;
    Store::reader(store)?.db.execute("VACUUM INTO ?1", [name])?;
    file.sync_all().map_err(told(new))
}

/// To be called before a store is opened for writing: looks through one that was opened elsewhere last.
/// Gives a sentence when the spare has taken its place.
///
/// # Errors
/// It is torn, and there is no spare; the text says what to do.
pub fn settle(store: &Path) -> Result<Option<String>, StoreError> {
    let place = place_of(store);
    let here = identity(store).map_err(told(store))?;
    // Of an older server's, or a new one, nothing is known.
    let before = fs::read_to_string(&place).unwrap_or_else(|_| here.clone());
    let problem = if before == here { None } else { torn(store) };
    let said = problem.map(|problem| replace(store, &problem)).transpose()?;
    let here = identity(store).map_err(told(store))?;
    if fs::read_to_string(&place).is_ok_and(|text| text == here) {
        return Ok(said);
    }
    match fs::write(&place, &here) {
        // On a full disk it is looked through again the next time.
        Ok(()) => Ok(said),
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Ok(said),
        Err(error) => Err(told(&place)(error)),
    }
}

/// A copy is another file.
fn identity(store: &Path) -> io::Result<String> {
    let meta = fs::metadata(store)?;
    Ok(format!("{} {}\n", meta.dev(), meta.ino()))
}

/// What is wrong with a store, whose log is taken in; nothing if it is whole.
fn torn(store: &Path) -> Option<String> {
    let look = || -> Result<String, StoreError> {
        let db: Connection = connect(store, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Ok(db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?)
    };
    match look() {
        Ok(said) if said == "ok" => None,
        Ok(said) => Some(said),
        Err(StoreError::Busy(_)) => None,
        Err(error) => Some(error.to_string()),
    }
}

/// Puts the spare in the place of a torn store.
fn replace(store: &Path, problem: &str) -> Result<String, StoreError> {
    let (spare, torn) = (path_of(store), torn_of(store));
    let shown = store.display();
    let whole = spare.exists() && self::torn(&spare).is_none();
    if !whole {
        return Err(StoreError::Failed(format!(
            "{shown} was copied while a server wrote to it and is torn ({problem}), and there is no spare \
             ({}) that is whole: copy the data folder again, with its server ended",
            spare.display()
        )));
    }
    let made = fs::metadata(&spare).and_then(|meta| meta.modified()).map_err(told(&spare))?;
    for suffix in ["-wal", "-shm"] {
        // There need not be one.
        let _ = fs::rename(log_of(store, suffix), log_of(&torn, suffix));
    }
    fs::rename(store, &torn).map_err(told(store))?;
    fs::copy(&spare, store).map_err(told(&spare))?;
    let since = made.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let at = crate::time::Stamp(i64::try_from(since).unwrap_or(i64::MAX));
    Ok(format!(
        "{shown} was copied while a server wrote to it and is torn ({problem}); the spare of {at} has taken its \
         place, and what came later is missing; the torn one is {}",
        torn.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A store with users, enough for some pages, and its spare of the first half.
    fn filled(folder: &Path) -> PathBuf {
        let path = folder.join("store.sqlite");
        let store = Store::open(&path).unwrap();
        assert_eq!(settle(&path).unwrap(), None);
        let add = |from: i32| {
            for i in from..from + 500 {
                let name = format!("user{i}{}", "x".repeat(50));
                let sql = "INSERT INTO users (name, roles) VALUES (?1, 'user')";
                store.db.execute(sql, [name]).unwrap();
            }
        };
        add(0);
        make(&path).unwrap();
        add(500);
        path
    }

    fn users(path: &Path) -> i64 {
        let store = Store::open(path).unwrap();
        store.db.query_row("SELECT count(*) FROM users", [], |row| row.get(0)).unwrap()
    }

    /// Copies all files, as `cp` does.
    fn copied(from: &Path) -> tempfile::TempDir {
        let to = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(from.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.path().join(entry.file_name())).unwrap();
        }
        to
    }

    #[test]
    fn a_whole_copy_stays_and_a_torn_one_gives_way_to_its_spare() {
        let dir = tempfile::tempdir().unwrap();
        let path = filled(dir.path());
        let mode = fs::metadata(path_of(&path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "nobody else reads it");
        let copy = copied(&path);
        let there = copy.path().join("store.sqlite");
        assert_eq!(settle(&there).unwrap(), None);
        assert_eq!(users(&there), 1000);
        // The log is that of another moment: what it should have brought is lost, but for its last pages.
        let copy = copied(&path);
        let there = copy.path().join("store.sqlite");
        users(&path);
        let bytes = fs::read(&there).unwrap();
        let torn = [&bytes[..bytes.len() / 2], &vec![0; bytes.len() / 2]].concat();
        fs::write(&there, torn).unwrap();
        let _ = fs::remove_file(log_of(&there, "-wal"));
        let said = settle(&there).unwrap().expect("it is torn");
        assert!(said.contains("the spare of 20") && said.contains("torn.sqlite"), "{said}");
        assert_eq!(users(&there), 500);
        assert_eq!(settle(&there).unwrap(), None, "once");
        assert!(torn_of(&there).exists());
    }

    #[test]
    fn a_torn_copy_without_a_spare_says_what_to_do_and_the_own_store_is_not_looked_through() {
        let dir = tempfile::tempdir().unwrap();
        let path = filled(dir.path());
        let copy = copied(&path);
        let there = copy.path().join("store.sqlite");
        fs::write(&there, "no database, but long enough to be read as one").unwrap();
        fs::write(path_of(&there), "neither").unwrap();
        let error = settle(&there).unwrap_err().to_string();
        assert!(error.contains("copy the data folder again"), "{error}");
        assert!(there.exists(), "what there is stays");
        fs::write(&path, "damaged where it lies: that is told when it is opened").unwrap();
        assert_eq!(settle(&path).unwrap(), None);
    }
}
