//! Stores that former layouts have left, kept as text: each is brought to the present one, and its jobs, users and
//! hosts read right.

use std::path::{Path, PathBuf};

use hpvm_queue::apply::Event;
use hpvm_queue::job::{Job, JobSpec, JobSummary, Outcome, OutcomeKind, State};
use hpvm_queue::store::Store;
use hpvm_queue::store::jobs::New;
use hpvm_queue::store::list::Filter;
use hpvm_queue::time::Stamp;

/// One for each layout that there was, the present one included.
const LAYOUTS: [&str; 7] = [
    include_str!("layouts/layout-1.sql"),
    include_str!("layouts/layout-2.sql"),
    include_str!("layouts/layout-3.sql"),
    include_str!("layouts/layout-4.sql"),
    include_str!("layouts/layout-5.sql"),
    include_str!("layouts/layout-6.sql"),
    include_str!("layouts/layout-7.sql"),
];

/// The store of a layout, as it was left.
fn left(folder: &Path, layout: usize) -> PathBuf {
    let path = folder.join(format!("store-{layout}"));
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(LAYOUTS[layout - 1]).unwrap();
    path
}

/// A test of each, in a folder of its own.
fn each(test: impl Fn(usize, &mut Store)) {
    let dir = tempfile::tempdir().unwrap();
    for layout in 1..=LAYOUTS.len() {
        let path = left(dir.path(), layout);
        let mut store =
            Store::open(&path).unwrap_or_else(|error| panic!("layout {layout}: {error}"));
        store.check().unwrap();
        test(layout, &mut store);
        drop(store);
        // Brought there once, it is left alone.
        Store::open(&path).unwrap().check().unwrap();
    }
}

#[test]
fn there_is_a_store_of_each_layout() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(&dir.path().join("store")).unwrap());
    let db = rusqlite::Connection::open(dir.path().join("store")).unwrap();
    let present: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(
        present,
        LAYOUTS.len() as i64,
        "a new layout needs its layout-N.sql, as it writes it"
    );
}

#[test]
fn jobs_read_as_they_were() {
    each(|layout, store| {
        let job = |id| store.job(id).unwrap();
        let ended = job(1);
        assert_eq!(ended.summary.outcome, Some(Outcome::exit(0)));
        assert_eq!(
            (ended.summary.started, ended.summary.ended),
            (Some(Stamp(2000)), Some(Stamp(3000)))
        );
        assert_eq!(ended.spec.command, ["./poisson", "256"]);
        assert_eq!(
            (ended.spec.memory_bytes, ended.spec.time_limit_seconds),
            (Some(1 << 30), Some(600))
        );
        let late = job(2).summary;
        assert_eq!(late.hosts, ["n1", "n2"]);
        assert_eq!(late.outcome.unwrap().exit_code(), 124);
        let runs = job(3);
        assert_eq!((runs.state(), runs.first_host()), (State::Running, Some("n1")));
        assert_eq!(runs.allocation.len(), usize::from(layout >= 3));
        let processors = runs.allocation.first().map_or(0, |share| share.processors.len());
        assert_eq!(processors, if layout >= 7 { 2 } else { 0 });
        let JobSummary { array, restarts, last_failure, eligible, waiting, .. } = job(4).summary;
        assert_eq!(array.map(|array| (array.id, array.task, array.at_once)), Some((3, 2, Some(1))));
        assert_eq!(restarts, u32::from(layout >= 4));
        let failure = last_failure.map(|failure| failure.kind);
        assert_eq!(failure, (layout >= 4).then_some(OutcomeKind::NodeLost));
        assert_eq!(
            (eligible, waiting.is_some()),
            ((layout >= 4).then_some(Stamp(9000)), layout >= 5)
        );
        assert_eq!(job(5).state(), State::Held);
        assert_eq!(job(6).summary.outcome.unwrap().kind, OutcomeKind::Cancelled);
        let (active, damaged) = store.active().unwrap();
        assert_eq!(active.iter().map(Job::id).collect::<Vec<_>>(), [3, 4, 5]);
        assert!(damaged.is_empty(), "{damaged:?}");
    });
}

#[test]
fn they_are_found_by_parts_of_names_and_by_hosts() {
    each(|layout, store| {
        let found = |filter: Filter| {
            let (jobs, _) = store.list(&Filter { limit: 100, ascending: true, ..filter }).unwrap();
            jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
        };
        let name = |part: &str| found(Filter { name: Some(part.into()), ..Filter::default() });
        assert_eq!(
            (name("oiss"), name("SLEEP"), name("xyz")),
            (vec![1, 2], vec![5, 6], vec![]),
            "{layout}"
        );
        let host = |name: &str| found(Filter { host: Some(name.into()), ..Filter::default() });
        assert_eq!((host("n1"), host("n2")), (vec![1, 2, 3], vec![2]), "{layout}");
    });
}

#[test]
fn users_and_hosts_are_there() {
    each(|layout, store| {
        assert_eq!(store.user("ann").unwrap().unwrap().roles, ["admin", "user"]);
        assert_eq!(store.session(&[1], Stamp(2000)).unwrap().unwrap().name, "ann");
        let tokens = store.tokens(None).unwrap();
        assert_eq!(
            tokens.iter().map(|token| token.name.as_str()).collect::<Vec<_>>(),
            &["nodes"][..usize::from(layout >= 2)]
        );
        assert_eq!(store.drained().unwrap().contains_key("n2"), layout >= 2);
        assert_eq!(store.limits("main").unwrap().ranks, (layout >= 2).then_some(64));
        let nodes = store.nodes().unwrap();
        assert_eq!(nodes.len(), usize::from(layout >= 3));
        for node in nodes {
            assert_eq!((node.name.as_str(), node.capacity.cpus, node.capacity.gpus), ("n1", 4, 1));
            assert_eq!(node.processors, if layout >= 7 { "0+2,1+3" } else { "" });
        }
        assert_eq!(store.queue_number().unwrap() == 77, layout >= 3);
        assert_eq!(store.cursor().unwrap(), 41, "streams go on where they were");
    });
}

#[test]
fn the_queue_goes_on() {
    each(|layout, store| {
        let runs = store.job(3).unwrap();
        let end = Event::Ended { outcome: Outcome::exit(3), at: Stamp(10_000) };
        let after = store.transition(&[(&runs, end)]).unwrap();
        assert_eq!(after[0].summary.outcome, Some(Outcome::exit(3)), "{layout}");
        store.remove(6).unwrap();
        let new = New {
            user: "ann".into(),
            name: "new poisson".into(),
            queue: "main".into(),
            spec: JobSpec { command: vec!["x".into()], ..JobSpec::default() },
            tasks: Vec::new(),
            at_once: None,
            key: None,
        };
        let (jobs, _) = store.submit(&new, Stamp(11_000)).unwrap();
        assert_eq!(jobs[0].id(), 8, "numbers are not given twice");
        let filter = Filter { name: Some("poisson".into()), limit: 9, ..Filter::default() };
        assert_eq!(store.list(&filter).unwrap().0.len(), 3);
    });
}
