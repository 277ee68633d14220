//! Stores that were restored from a copy, and records that cannot be read: no job is lost by them,
//! and none runs twice.

use std::path::Path;
use std::process::Command;

use crate::common;
use crate::server::Server;

/// Changes the store of a server that does not run.
pub fn change_store(server: &Server, sql: &str) {
    let script = "import sqlite3,sys\ndb=sqlite3.connect(sys.argv[1])\n\
        db.executescript(sys.argv[2])\ndb.commit()";
    let store = server.data().join("store.sqlite");
    let done = Command::new("python3").args(["-c", script]).arg(store).arg(sql).status();
    assert!(done.unwrap().success(), "{sql}");
}

/// Copies the store alone, as SQLite's `.backup` does.
fn copy_store(from: &Path, to: &Path) {
    let script = "import sqlite3,sys\n\
        sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))";
    let names = [from.join("store.sqlite"), to.join("store.sqlite")];
    let done = Command::new("python3").args(["-c", script]).args(names).status();
    assert!(done.unwrap().success());
}

/// Copies the data folder as slowly as `cp` may: half of the store, the other half, the rest, and `meanwhile` in between.
fn slow_copy(from: &Path, to: &Path, meanwhile: impl Fn()) {
    let bytes = std::fs::read(from.join("store.sqlite")).unwrap();
    let (first, _) = bytes.split_at(bytes.len() / 8192 * 4096);
    meanwhile();
    let rest = std::fs::read(from.join("store.sqlite")).unwrap().split_off(first.len());
    meanwhile();
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
    std::fs::write(to.join("store.sqlite"), [first, &rest].concat()).unwrap();
}

#[test]
fn a_copy_of_the_folder_that_was_taken_while_it_was_written_to_restores() {
    let mut server = Server::start();
    let id = server.submit(&["bash", "-c", "echo kept; exit 7"]);
    server.until(id, "ended");
    server.end(libc::SIGTERM);
    let spare = server.data().join("store.spare.sqlite");
    let _ = std::fs::remove_file(&spare);
    server.begin();
    assert!(common::until(|| spare.exists()), "no spare is made");
    let busy = || {
        server.good(&["submit", "-H", "-a", "0-1999", "true"]);
    };
    let mut torn = 0;
    for _ in 0..3 {
        let mut copy = Server::new();
        slow_copy(&server.data(), &copy.data(), busy);
        copy.begin();
        let kept = copy.show(id);
        assert_eq!((&kept["state"], &kept["exit_code"]), (&"ended".into(), &7.into()), "{kept}");
        assert_eq!(copy.good(&["logs", &id.to_string()]), "kept\n");
        // It is a server like any other.
        let next = copy.submit(&["true"]);
        assert!(next > id);
        assert_eq!(copy.until(next, "ended")["exit_code"], 0);
        torn += usize::from(copy.data().join("store.torn.sqlite").exists());
        copy.end(libc::SIGTERM);
    }
    println!("{torn} of 3 copies were torn");
}

#[test]
fn a_store_without_its_folders_starts_nothing_a_second_time() {
    let server = Server::start();
    let ledger = server.dir.path().join("ledger");
    let begun = || std::fs::read_to_string(&ledger).unwrap_or_default();
    let script = format!("echo begun >>{}; exec sleep 1000", ledger.display());
    let id = server.submit(&["bash", "-c", &script]);
    assert!(common::until(|| begun() == "begun\n"));
    let mut copy = Server::new();
    std::fs::create_dir(copy.data()).unwrap();
    copy_store(&server.data(), &copy.data());
    copy.begin();
    let ended = copy.until(id, "ended");
    assert_eq!(ended["outcome"]["kind"], "node_lost", "{ended}");
    assert!(ended["outcome"]["detail"].to_string().contains("is not started again"), "{ended}");
    assert_eq!((begun().as_str(), &server.show(id)["state"]), ("begun\n", &"running".into()));
    server.good(&["cancel", &id.to_string()]);
    server.until(id, "ended");
}

#[test]
fn a_folder_that_is_gone_is_no_reason_to_start_a_job_again() {
    let mut server = Server::start();
    let ledger = server.dir.path().join("ledger");
    let begun = || std::fs::read_to_string(&ledger).unwrap_or_default();
    let script = format!("echo begun >>{}; exec sleep 1000", ledger.display());
    let id = server.submit(&["bash", "-c", &script]);
    assert!(common::until(|| begun() == "begun\n"));
    server.end(libc::SIGKILL);
    std::fs::remove_dir_all(server.data().join("jobs").join(id.to_string())).unwrap();
    server.begin();
    let ended = server.until(id, "ended");
    assert_eq!(ended["outcome"]["kind"], "node_lost", "{ended}");
    assert_eq!(begun(), "begun\n");
    server.nothing_left();
}

#[test]
fn a_store_of_yesterday_gives_no_number_a_second_time() {
    let mut server = Server::start();
    let yesterday = tempfile::tempdir().unwrap();
    let ended = |server: &Server, code: i32| {
        let id = server.submit(&["bash", "-c", &format!("exit {code}")]);
        assert_eq!(server.until(id, "ended")["exit_code"], code);
        id
    };
    ended(&server, 1);
    copy_store(&server.data(), yesterday.path());
    let second = ended(&server, 2);
    server.end(libc::SIGTERM);
    for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"] {
        let _ = std::fs::remove_file(server.data().join(name));
    }
    copy_store(yesterday.path(), &server.data());
    server.begin();
    let third = ended(&server, 3);
    assert!(third > second, "{third} was given before");
}
