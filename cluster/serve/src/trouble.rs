//! What the server cannot do now, as sentences: for who asks, and for streams when it changes.

use std::path::Path;
use std::sync::Arc;

use crate::app::App;
use crate::problem::Problem;
use hpvm_monitor::Capacity;

/// Sentences, each about one thing.
pub type Sentences = Arc<[String]>;

/// Less than this is nothing: a store needs some pages to record a job, a job some for its output.
const FULL: u64 = 256 << 10;

/// What keeps the server itself from its work.
///
/// # Errors
/// The queue has stopped.
pub async fn own(app: &App) -> Result<Vec<String>, Problem> {
    let queue = app.ask(|manager| Ok(manager.problems())).await?;
    Ok(with_disk(app, queue))
}

/// The same, and the hosts that it could not start.
///
/// # Errors
/// As [`own`].
pub async fn all(app: &App) -> Result<Vec<String>, Problem> {
    let mut all = own(app).await?;
    all.extend(app.starts.failed());
    Ok(all)
}

/// Tells the streams, if what there is has changed. `queue` are the queue's own.
pub fn tell(app: &App, queue: Vec<String>) {
    let mut now = with_disk(app, queue);
    now.extend(app.starts.failed());
    app.troubles.send_if_modified(|told| {
        let changed = **told != *now;
        if changed {
            *told = now.into();
        }
        changed
    });
}

fn with_disk(app: &App, mut all: Vec<String>) -> Vec<String> {
    let hosts = app.hosts.borrow();
    let own = hosts.iter().find(|host| host.name == app.place.host);
    let room = own.and_then(|host| host.sample.as_ref()?.disk.capacity);
    all.extend(room.and_then(|room| full(room, &app.place.data)));
    all
}

/// That the disk of the data folder is full, if it is.
fn full(room: Capacity, data: &Path) -> Option<String> {
    (room.available < FULL).then(|| {
        format!(
            "the disk of {} is full: jobs that write wait, and new ones are refused, until there is room",
            data.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_full_before_its_last_byte_is_taken() {
        let said = |available| full(Capacity { total: 1 << 40, available }, Path::new("/data"));
        assert_eq!((said(1 << 20), said(FULL)), (None, None));
        assert!(said(FULL - 1).is_some_and(|text| text.contains("the disk of /data is full")));
        assert!(said(0).is_some());
    }
}
