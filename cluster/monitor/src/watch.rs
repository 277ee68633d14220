//! What is asked where it may take for ever, or seconds.
//!
//! A file server that is gone and a driver that hangs do not answer. So a thread of its own asks, the
//! sampler takes the last answer, and an answer that is old is none.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

type Answer<T> = Mutex<Option<(Instant, T)>>;

/// Dropped, it ends its thread at the next question.
pub struct Watch<T> {
    answer: Arc<Answer<T>>,
    /// An answer older than this says nothing: several questions went unanswered.
    stale: Duration,
}

impl<T: Clone + Send + 'static> Watch<T> {
    /// Asks every so often, in a thread of the name; `first` is the answer until then.
    pub fn new(
        name: &str,
        every: Duration,
        first: Option<T>,
        mut ask: impl FnMut() -> Option<T> + Send + 'static,
    ) -> Watch<T> {
        let answer = Arc::new(Mutex::new(first.map(|first| (Instant::now(), first))));
        let weak = Arc::downgrade(&answer);
        // Without a thread the first answer grows old, and there is none.
        let _ = thread::Builder::new().name(name.to_owned()).spawn(move || {
            while weak.strong_count() > 0 {
                let found = ask().map(|found| (Instant::now(), found));
                let Some(answer) = weak.upgrade() else { return };
                *answer.lock().unwrap_or_else(PoisonError::into_inner) = found;
                drop(answer);
                thread::sleep(every);
            }
        });
        Watch { answer, stale: 4 * every }
    }

    /// The last answer, unless it is old.
    pub fn answer(&self) -> Option<T> {
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.as_ref().filter(|(at, _)| at.elapsed() < self.stale).map(|(_, found)| found.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Until it is so; a machine may be slow.
    fn until(is_so: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < end);
            thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn who_does_not_answer_keeps_nobody_waiting_and_is_soon_not_believed() {
        let (hangs, gate) = std::sync::mpsc::channel::<()>();
        let watch = Watch::new("test", Duration::from_millis(5), Some(1), move || {
            let _ = gate.recv();
            Some(2)
        });
        until(|| watch.answer().is_none());
        drop(hangs);
        until(|| watch.answer() == Some(2));
    }

    #[test]
    fn nobody_is_asked_for_one_that_is_gone() {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        // Relaxed: a count that orders nothing.
        let asked = || ASKED.load(Ordering::Relaxed);
        let watch = Watch::new("test", Duration::from_millis(1), None, || {
            ASKED.fetch_add(1, Ordering::Relaxed);
            Some(())
        });
        until(|| asked() > 3 && watch.answer().is_some());
        let weak = Arc::downgrade(&watch.answer);
        drop(watch);
        until(|| weak.strong_count() == 0);
        // The thread has the last word of a question that was under way.
        let last = asked();
        thread::sleep(Duration::from_millis(50));
        assert!(asked() <= last + 1);
    }
}
