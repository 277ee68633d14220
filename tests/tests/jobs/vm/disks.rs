//! Disks that are full, and users and projects that have used up what a quota gives them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{LONG, ext4, inside, well, words};
use crate::common::{clean, folder, prefix, program, run_within};

/// Whom a quota counts: nobody who may exceed it.
const USER: &str = "65534";

/// An ext4 that is mounted while this lives.
struct Disk(PathBuf);

impl Disk {
    fn new(kib: u32, making: &[&str], mounting: &str) -> Disk {
        inside();
        let (disk, place) = (ext4(kib, making), folder("mounted"));
        let mut command = words(&["mount", "-o", mounting]);
        command.arg(disk).arg(&place);
        well(command);
        well(words(&["chmod", "1777", place.to_str().expect("a path of plain characters")]));
        Disk(place)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of plain characters")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The program `full`, run by the user that quotas count.
fn fills(folder: &Path, what: &str) {
    let full = program("full");
    for ranks in ["1", "2", "3"] {
        let mut command = clean("setpriv");
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
        command.arg(prefix().join("bin/mpirun")).args(["-n", ranks, "--oversubscribe"]);
        command.arg(&full).arg(folder.join("file")).args([what, "at once"]).env("HOME", "/tmp");
        let outcome = run_within(command, LONG);
        let said = &outcome.output;
        assert!(outcome.code == Some(0) && said.contains("full: well"), "{what}, {ranks}: {said}");
    }
    assert_eq!(
        std::fs::read_dir(folder)
            .expect("the folder")
            .flatten()
            .filter(|e| e.file_name() != "lost+found")
            .count(),
        0
    );
}

#[test]
#[ignore = "make vm"]
fn a_full_ext4() {
    for making in [["-O", "^has_journal"], ["-J", "size=1"]] {
        let disk = Disk::new(3 << 10, &making, "loop");
        // What is free is less than the 2 MiB of one rank.
        let room = disk.0.join("taken");
        std::fs::write(&room, vec![1; 1000 << 10]).expect("room");
        let inner = disk.0.join("inner");
        std::fs::create_dir(&inner).expect("a folder");
        well(words(&["chmod", "1777", inner.to_str().expect("a path of plain characters")]));
        fills(&inner, "device");
    }
}

#[test]
#[ignore = "make vm"]
fn a_quota_of_a_user() {
    let disk = Disk::new(64 << 10, &["-O", "quota", "-E", "quotatype=usrquota"], "loop,usrquota");
    well(words(&["setquota", "-u", USER, "0", "1024", "0", "0", disk.path()]));
    fills(&disk.0, "quota");
}

#[test]
#[ignore = "make vm"]
fn a_quota_of_a_project() {
    let making = ["-I", "256", "-O", "quota,project", "-E", "quotatype=prjquota"];
    let disk = Disk::new(64 << 10, &making, "loop,prjquota");
    let inner = disk.0.join("project");
    std::fs::create_dir(&inner).expect("a folder");
    let path = inner.to_str().expect("a path of plain characters");
    well(words(&["chmod", "1777", path]));
    well(words(&["chattr", "-p", "77", "+P", path]));
    well(words(&["setquota", "-P", "77", "0", "1024", "0", "0", disk.path()]));
    fills(&inner, "quota");
}
