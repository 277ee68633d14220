//! Tells the server of the ranks of jobs here, as long as somebody looks at them.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hpvm_queue::node::Parts;
use hpvm_serve::api::counters::Counting;
use hpvm_serve::look::{JobLook, Subject, here};
use hyper::Method;

use crate::link::Line;

/// A job at which somebody looks.
#[derive(Clone, Debug)]
pub struct Task {
    pub subject: Subject,
    pub parts: Parts,
}

/// Looks once at each list of tasks that comes, until the other end of `tasks` is gone.
pub fn run(mut line: Line, identity: &str, tasks: &Receiver<Vec<Task>>) {
    let mut counting = Counting::default();
    while let Ok(first) = tasks.recv() {
        // Who is slow looks at the newest.
        let list = tasks.try_iter().last().unwrap_or(first);
        if list.is_empty() {
            counting = Counting::default();
        }
        counting.forget(Instant::now());
        for Task { subject, parts } in &list {
            let look = JobLook { identity: identity.into(), ..here(subject, *parts, &counting) };
            let Ok(body) = serde_json::to_vec(&look) else { continue };
            let path = format!("/api/v1/nodes/{}/jobs/{}/ranks", subject.host, subject.id);
            // What is lost comes again in a second, and reports say whether the server is there.
            let _ = line.ask(Method::POST, &path, Some(body), Duration::ZERO);
        }
    }
}
