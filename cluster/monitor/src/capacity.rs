//! The room in a folder's file system, asked where it may take for ever: `statvfs` on a network file
//! system whose server is gone does not return.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sample::Capacity;
use crate::watch::Watch;

/// How often it is asked. A file system fills slowly beside a sample per second.
const QUERY_INTERVAL: Duration = Duration::from_secs(5);

/// Watches the file system of `folder`. Asks once, here.
pub fn watch(folder: PathBuf) -> Watch<Capacity> {
    let first = ask(&folder);
    Watch::new("hpvm-capacity", QUERY_INTERVAL, first, move || ask(&folder))
}

fn ask(folder: &Path) -> Option<Capacity> {
    let room = rustix::fs::statvfs(folder).ok()?;
    Some(Capacity {
        total: room.f_blocks.saturating_mul(room.f_frsize),
        available: room.f_bavail.saturating_mul(room.f_frsize),
    })
}
