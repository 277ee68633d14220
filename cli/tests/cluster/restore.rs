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
