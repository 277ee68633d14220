//! Jobs by parts of their names and by hosts: which index leads to them, and what that index is kept by.
//! `migrations/006_search.sql` says what words of names are.

use std::fmt::Write as _;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::StoreError;
use crate::job::JobId;

/// Characters of a word of the index.
const WORD_CHARACTERS: usize = 3;
/// Words of a long part of a name that are looked for; the name itself is looked at in any case.
const WORDS_MAX: usize = 16;
/// Jobs that are counted to see which index has fewest; more are many.
const COUNTED_JOBS_MAX: i64 = 2000;

/// Puts the names of new jobs with numbers in this range into the index, in the transaction that adds them.
pub(super) fn add_names(db: &Connection, first: JobId, last: JobId) -> Result<(), StoreError> {
    let sql = "INSERT INTO job_names (rowid, words) SELECT id, words FROM job_words \
               WHERE id BETWEEN ?1 AND ?2 ORDER BY id";
    db.prepare_cached(sql)?.execute([first, last])?;
    Ok(())
}

/// A way to jobs in the order of their numbers: an index and one value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Names with these words.
    Name(String),
    Host(String),
    User(String),
    /// All jobs, or those that the conditions on columns of `jobs` lead to.
    Jobs,
}

impl Way {
    /// Names in which this occurs.
    pub fn name(part: &str) -> Option<Way> {
        Some(Way::Name(words(part)?))
    }

    /// What to select from.
    pub fn tables(&self) -> &'static str {
        match self {
            Way::Name(_) => "job_names CROSS JOIN jobs ON jobs.id = job_names.rowid",
            Way::Host(_) => "job_hosts CROSS JOIN jobs ON jobs.id = job_hosts.job",
            Way::User(_) => "jobs INDEXED BY jobs_user",
            Way::Jobs => "jobs",
        }
    }

    /// The job's number as the index has it, by which a page is limited and ordered.
    pub fn id(&self) -> &'static str {
        match self {
            Way::Name(_) => "job_names.rowid",
            Way::Host(_) => "job_hosts.job",
            Way::User(_) | Way::Jobs => "jobs.id",
        }
    }

    /// The condition that finds the value in the index.
    pub fn condition(&self) -> Option<(&'static str, Value)> {
        match self {
            Way::Name(words) => Some(("job_names MATCH ?", Value::Text(words.clone()))),
            Way::Host(host) => Some(("job_hosts.host = ?", Value::Text(host.clone()))),
            Way::User(user) => Some(("user = ?", Value::Text(user.clone()))),
            Way::Jobs => None,
        }
    }

    /// How many jobs lie on it; of many only that they are many. Reads nothing but the index.
    fn count(&self, db: &Connection) -> Result<i64, StoreError> {
        let Some((condition, value)) = self.condition() else { return Ok(COUNTED_JOBS_MAX) };
        let table = match self {
            Way::Name(_) => "job_names",
            Way::Host(_) => "job_hosts",
            Way::User(_) | Way::Jobs => self.tables(),
        };
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {condition} LIMIT {COUNTED_JOBS_MAX})"
        );
        let mut statement = db.prepare_cached(&sql)?;
        Ok(statement.query_row(params_from_iter([value]), |row| row.get(0))?)
    }
}

/// The way with the fewest jobs.
pub(super) fn shortest(db: &Connection, ways: Vec<Way>) -> Result<Way, StoreError> {
    if ways.len() < 2 {
        return Ok(ways.into_iter().next().unwrap_or(Way::Jobs));
    }
    let mut best = (i64::MAX, Way::Jobs);
    for way in ways {
        let count = way.count(db)?;
        if count < best.0 {
            best = (count, way);
        }
    }
    Ok(best.1)
}

/// What finds the names in which this part occurs, in the language of FTS5: hexadecimal digits between
/// quotes, so nothing that a user writes means anything in it. There may be others among those found.
/// `None` when every name has it.
fn words(part: &str) -> Option<String> {
    let letters: Vec<char> = part.chars().map(|c| c.to_ascii_lowercase()).collect();
    if letters.is_empty() {
        return None;
    }
    if letters.len() < WORD_CHARACTERS {
        return Some(format!("\"{}\"*", hex(&letters)));
    }
    let words: Vec<String> = letters
        .windows(WORD_CHARACTERS)
        .take(WORDS_MAX)
        .map(|word| format!("\"{}\"", hex(word)))
        .collect();
    Some(words.join(" AND "))
}

fn hex(letters: &[char]) -> String {
    let mut text = String::new();
    for byte in letters.iter().collect::<String>().bytes() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::Event;
    use crate::job::JobSpec;
    use crate::store::Store;
    use crate::store::jobs::New;
    use crate::store::list::Filter;
    use crate::time::Stamp;

    const NAMES: [&str; 9] = [
        "Poisson",
        "poisson-2d",
        "x",
        "a\"b AND c",
        "größe",
        "日本語の仕事",
        "100%_done",
        "a*",
        " s ",
    ];

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(&dir.path().join("store")).unwrap();
        for name in NAMES {
            submit(&mut store, name);
        }
        (dir, store)
    }

    fn submit(store: &mut Store, name: &str) -> crate::job::Job {
        let (user, queue) = ("me".into(), "main".into());
        let (name, spec, tasks) = (name.into(), JobSpec::default(), Vec::new());
        let new = New { user, name, queue, spec, tasks, at_once: None, key: None };
        store.submit(&new, Stamp(1)).unwrap().0.remove(0)
    }

    fn found(store: &Store, filter: Filter) -> Vec<String> {
        let (jobs, _) = store.list(&Filter { ascending: true, limit: 100, ..filter }).unwrap();
        jobs.into_iter().map(|job| job.name).collect()
    }

    fn named(store: &Store, part: &str) -> Vec<String> {
        found(store, Filter { name: Some(part.into()), ..Filter::default() })
    }

    /// Every part of every name, and things that are in none, as a program that looks at each name says.
    #[test]
    fn parts_of_names_are_found_as_by_looking_at_every_name() {
        let (_dir, store) = store();
        let mut parts: Vec<String> = [
            "",
            "zz",
            "OISS",
            "\"",
            "' OR 1 --",
            "NOT",
            "*",
            "^x",
            "words : x",
            "%",
            "_",
            "a b",
            "\0",
        ]
        .map(String::from)
        .to_vec();
        for name in NAMES {
            let letters: Vec<char> = name.chars().collect();
            for begin in 0..letters.len() {
                parts.extend(
                    (begin..letters.len()).map(|end| letters[begin..=end].iter().collect()),
                );
            }
        }
        for part in parts {
            let has = |name: &&str| name.to_ascii_lowercase().contains(&part.to_ascii_lowercase());
            let expected: Vec<&str> = NAMES.into_iter().filter(has).collect();
            assert_eq!(named(&store, &part), expected, "{part:?}");
        }
    }

    #[test]
    fn the_indexes_forget_what_is_removed_and_follow_what_changes() {
        let (_dir, mut store) = store();
        let job = submit(&mut store, "poisson");
        let on = |host: &str| Filter { host: Some(host.into()), ..Filter::default() };
        let set = |store: &Store, what: &str| {
            store
                .db
                .execute(&format!("UPDATE jobs SET {what} WHERE id = {}", job.id()), [])
                .unwrap();
        };
        set(&store, "hosts = '[\"n1\",\"n2\",\"n1\"]'");
        assert_eq!(found(&store, on("n2")), ["poisson"]);
        set(&store, "hosts = '[\"n1\",\"n3\"]', name = 'laplace'");
        assert!(found(&store, on("n2")).is_empty());
        assert_eq!(found(&store, on("n3")), ["laplace"]);
        assert_eq!(named(&store, "poisson"), ["Poisson", "poisson-2d"]);
        assert_eq!(named(&store, "lapl"), ["laplace"]);
        // A record that cannot be read can be changed and removed all the same.
        set(&store, "hosts = 'not json'");
        set(&store, "hosts = '[\"n1\"]'");
        let all = Event::CancelAsked { by: "me".into(), at: Stamp(2) };
        let job = store.job(job.id()).unwrap();
        store.transition(&[(&job, all)]).unwrap();
        store.remove(job.id()).unwrap();
        store.check().unwrap();
        let rows = |sql: &str| store.db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(rows("SELECT count(*) FROM job_hosts"), 0);
        assert_eq!(rows("SELECT count(*) FROM job_names WHERE job_names MATCH '\"6c6170\"'"), 0);
    }

    #[test]
    fn the_way_with_fewest_jobs_is_taken() {
        let (_dir, mut store) = store();
        for _ in 0..3 {
            submit(&mut store, "many");
        }
        let rare = Way::name("日本").unwrap();
        let ways = vec![Way::name("many").unwrap(), rare.clone(), Way::User("me".into())];
        assert_eq!(shortest(&store.db, ways).unwrap(), rare);
        assert_eq!(Way::name(""), None);
    }

    /// What was in a store before it had these indexes is found as well.
    #[test]
    fn older_stores_get_the_indexes() {
        let (dir, store) = store();
        store.db.execute("UPDATE jobs SET hosts = '[\"n7\"]' WHERE name = 'x'", []).unwrap();
        let without = "DROP TRIGGER jobs_added; DROP TRIGGER jobs_removed; DROP TRIGGER jobs_renaming; \
                       DROP TRIGGER jobs_renamed; DROP TRIGGER jobs_placed; DROP TABLE job_names; \
                       DROP TABLE job_hosts; DROP VIEW job_words; ALTER TABLE nodes DROP COLUMN processors; \
                       PRAGMA user_version = 5;";
        store.db.execute_batch(without).unwrap();
        drop(store);
        let store = Store::open(&dir.path().join("store")).unwrap();
        assert_eq!(named(&store, "oisson"), ["Poisson", "poisson-2d"]);
        assert_eq!(found(&store, Filter { host: Some("n7".into()), ..Filter::default() }), ["x"]);
    }
}
