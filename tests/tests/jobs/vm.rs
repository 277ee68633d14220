//! What needs more of a kernel than machines usually have: an NFS server and clients, disks with a quota, RDMA in software. `make vm` runs these
//! in a virtual machine (`scripts/vm`); they change the machine that they run on, so nothing else does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{clean, succeed_within, workspace};

mod disks;
mod nfs;
mod verbs;

/// The processor may be emulated, and others may use the real one: only a hang takes as long.
const LONG: Duration = Duration::from_secs(1200);

/// Whether this is the machine of `scripts/vm`.
///
/// # Panics
/// Elsewhere: whoever asks for these tests by name has to know.
fn inside() {
    assert!(Path::new("/run/vm/command").exists(), "this test runs in the machine of make vm only");
}

/// A command of words.
fn words(words: &[&str]) -> Command {
    let mut command = clean(words[0]);
    command.args(&words[1..]);
    command
}

#[track_caller]
fn well(command: Command) -> String {
    succeed_within(command, LONG)
}

/// The tool that sets NFS up on a host.
fn nfs() -> PathBuf {
    workspace().join("tests/vm/nfs")
}

/// An ext4 of so many KiB in memory, made with these options of mkfs.ext4; gives the file that holds it.
fn ext4(kib: u32, options: &[&str]) -> PathBuf {
    let file = crate::common::folder("disk").join("ext4");
    std::fs::File::create(&file).and_then(|f| f.set_len(u64::from(kib) << 10)).expect("a disk");
    let mut command = words(&["mkfs.ext4", "-q", "-m", "0"]);
    command.args(options).arg(&file);
    well(command);
    file
}

/// Waits for what comes of itself.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not after {LONG:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
