//! Keeps a spare of the store in the data folder, for who copies the folder while the server runs.

use std::path::Path;
use std::time::{Duration, Instant};

use hpvm_queue::manager::store_path;
use hpvm_queue::store::spare;

use crate::app::App;

/// The first one: soon, so that hardly any copy is without, though not while everything begins.
const FIRST_AFTER: Duration = Duration::from_secs(3);
/// Between two at least, if something has changed.
const INTERVAL: Duration = Duration::from_secs(600);
/// And so many times as long as making one has taken: with a million jobs it takes seconds.
const SHARE: u32 = 200;
/// How often the end of the server is looked for meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Whether the disk has room for another store and as much again: the server writes meanwhile, and jobs do. What is not
/// known is tried.
fn has_room(app: &App, store: &Path) -> bool {
    let size = |name: &Path| std::fs::metadata(name).map_or(0, |about| about.len());
    let whole = size(store) + size(&store.with_extension("sqlite-wal"));
    let hosts = app.hosts.borrow();
    let own = hosts.iter().find(|host| host.name == app.place.host);
    let room = own.and_then(|host| host.sample.as_ref()?.disk.capacity);
    room.is_none_or(|room| room.available >= 2 * whole)
}

/// Starts the thread, which ends with the server.
pub fn start(app: App) -> Result<(), String> {
    let store = store_path(&app.place.data, app.slurm.is_some());
    let body = move || {
        let (mut due, mut made) = (Instant::now() + FIRST_AFTER, None);
        while !*app.ending.borrow() {
            std::thread::sleep(POLL_INTERVAL);
            if Instant::now() < due {
                continue;
            }
            // A queue that has stopped is about to end the server.
            let Ok(changes) = app.queue.call(|manager| manager.store().changes()) else { return };
            let begun = Instant::now();
            // What cannot be written is told by those who must write; the last spare stays.
            if made != Some(changes) && has_room(&app, &store) && spare::make(&store).is_ok() {
                made = Some(changes);
            }
            due = Instant::now() + INTERVAL.max(begun.elapsed() * SHARE);
        }
    };
    let thread = std::thread::Builder::new().name("spare".into()).spawn(body);
    thread.map(|_| ()).map_err(|error| format!("cannot start a thread: {error}"))
}
