//! The room in a folder's file system, asked where it may take for ever.
//!
//! `statvfs` on a network file system whose server is gone does not return. So a thread of its own
//! asks, the sampler takes the last answer, and an answer that is old is none.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::sample::Capacity;

/// How often the thread asks. A file system fills slowly beside a sample per second.
const EVERY: Duration = Duration::from_secs(5);

/// An answer older than this says nothing: several questions went unanswered.
const STALE: Duration = Duration::from_secs(20);

type Answer = Mutex<Option<(Instant, Capacity)>>;

/// Dropped, it ends its thread at the next question.
pub struct Watch {
    answer: Arc<Answer>,
}

impl Watch {
    /// Starts to watch the file system of `folder`.
    pub fn new(folder: PathBuf) -> Watch {
        let answer = Arc::new(Answer::default());
        let weak = Arc::downgrade(&answer);
        ask(&folder, &weak);
        // Without a thread the first answer grows old, and there is none.
        let _ = thread::Builder::new().name("hpvm-capacity".to_owned()).spawn(move || {
            loop {
                thread::sleep(EVERY);
                if !ask(&folder, &weak) {
                    return;
                }
            }
        });
        Watch { answer }
    }

    /// The last answer, unless it is old.
    pub fn capacity(&self) -> Option<Capacity> {
        let answer = *self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.filter(|(at, _)| at.elapsed() < STALE).map(|(_, capacity)| capacity)
    }
}

/// Asks once. False when nobody wants to know any more.
fn ask(folder: &std::path::Path, answer: &Weak<Answer>) -> bool {
    let found = rustix::fs::statvfs(folder).ok().map(|room| Capacity {
        total: room.f_blocks.saturating_mul(room.f_frsize),
        available: room.f_bavail.saturating_mul(room.f_frsize),
    });
    let Some(answer) = answer.upgrade() else { return false };
    *answer.lock().unwrap_or_else(PoisonError::into_inner) = found.map(|c| (Instant::now(), c));
    true
}
