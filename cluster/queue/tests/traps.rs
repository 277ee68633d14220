//! What other servers' stores fell into, on this one: a log that readers let grow without end, writers that
//! are told "busy" at once, and records that an old look at them overwrites.

use std::path::Path;
use std::time::Duration;

use hpvm_queue::apply::Event;
use hpvm_queue::job::{JobSpec, Share, State};
use hpvm_queue::store::jobs::New;
use hpvm_queue::store::list::Filter;
use hpvm_queue::store::{Store, StoreError};
use hpvm_queue::time::Stamp;

fn new(tasks: u32) -> New {
    New {
        user: "me".into(),
        name: "x".repeat(100),
        queue: "main".into(),
        spec: JobSpec::default(),
        tasks: (0..tasks).collect(),
        at_once: None,
        key: None,
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

#[test]
fn the_log_stays_short_while_others_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let mut store = Store::open(&path).unwrap();
    let reader = Store::reader(&path).unwrap();
    let log = dir.path().join("store-wal");
    let mut longest = 0;
    for round in 0..120 {
        store.submit(&new(500), Stamp(round)).unwrap();
        let (page, more) = reader.list(&Filter { limit: 100, ..Filter::default() }).unwrap();
        assert_eq!((page.len(), more), (100, true));
        longest = longest.max(length(&log));
    }
    assert!(length(&path) > 20 << 20, "{} bytes are too few to tell", length(&path));
    assert!(longest <= 16 << 20, "the log grew to {longest} bytes");
}

#[test]
fn a_writer_waits_for_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let mut store = Store::open(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let sql = "BEGIN IMMEDIATE; INSERT INTO users (name, roles) VALUES ('other', 'user')";
    other.execute_batch(sql).unwrap();
    let holds = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("COMMIT").unwrap();
    });
    // It reads (is there a job of this key?) and then writes.
    let keyed = New { key: Some("k".into()), ..new(0) };
    let (jobs, fresh) = store.submit(&keyed, Stamp(1)).unwrap();
    assert_eq!((jobs.len(), fresh), (1, true));
    holds.join().unwrap();
    assert!(store.user("other").unwrap().is_some(), "nothing of the other one is lost");
}

#[test]
fn an_old_look_at_a_job_overwrites_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("store")).unwrap();
    let job = store.submit(&new(0), Stamp(1)).unwrap().0.remove(0);
    let old = job.clone();
    let cancel = Event::CancelAsked { by: "me".into(), at: Stamp(2) };
    store.transition(&[(&job, cancel)]).unwrap();
    let share = Share { host: "n1".into(), ..Share::default() };
    let start = Event::Started { shares: vec![share], at: Stamp(3) };
    let refused = store.transition(&[(&old, start)]);
    let Err(StoreError::Refused(text)) = refused else { panic!("it was started again") };
    assert!(text.contains("is no longer"), "{text}");
    assert_eq!(store.job(old.id()).unwrap().state(), State::Ended);
}
