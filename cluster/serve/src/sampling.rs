//! Samples of this host, and all hosts as they are now, once a second.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use hpvm_monitor::{HostSample, Sampler};
use hpvm_queue::manager::Queue;
use hpvm_queue::node::NodeView;
use hpvm_queue::policy::Resources;
use hpvm_queue::store::rules::Drained;
use hpvm_queue::time::Stamp;

use crate::api::types::{Host, HostState};
use crate::app::App;
use crate::trouble;

/// Pace of the samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// How long the queue is waited for. It may wait itself, for a disk or for who has locked the store, and bars go on.
const QUEUE_TIMEOUT: Duration = Duration::from_millis(300);

/// Takes samples of this host and shows all hosts, on a thread of its own, until the server ends.
pub fn start(app: App) -> Result<(), String> {
    let body = move || {
        let mut sampler = Sampler::with_folder(app.place.data.clone());
        let mut known = Known::default();
        while !*app.ending.borrow() {
            let sample = sampler.sample(SystemTime::now()).ok();
            if let Some(sample) = &sample {
                let mut history = app.history.lock().unwrap_or_else(PoisonError::into_inner);
                history.entry(app.place.host.clone()).or_default().push(sample);
            }
            // A queue that has stopped is about to end the server.
            let said = known.ask(&app.queue);
            match (&app.slurm, said) {
                (None, Some(said)) => show(&app, sample, said),
                (None, None) => {}
                // Slurm says which hosts there are; of ours we know more than it.
                (Some(_), _) => app.hosts.send_modify(|hosts| {
                    let own = hosts.iter_mut().find(|other| other.name == app.place.host);
                    if let (Some(own), Some(sample)) = (own, sample) {
                        (own.sample, own.last_seen) = (Some(sample), Stamp::now());
                    }
                }),
            }
            said.into_iter().for_each(|said| trouble::tell(&app, said.troubles.clone()));
            let now = Instant::now();
            app.wanted.tick(now);
            app.counting.forget(now);
            app.steps.tick(&app);
            std::thread::sleep(SAMPLE_EVERY);
        }
    };
    let thread = std::thread::Builder::new().name("sampler".into()).spawn(body);
    thread.map(|_| ()).map_err(|error| format!("cannot start a thread: {error}"))
}

/// What the queue says of hosts.
#[derive(Debug, Default)]
struct Said {
    /// Processors that jobs have reserved.
    reserved: BTreeMap<String, u32>,
    drained: BTreeMap<String, Drained>,
    nodes: Vec<NodeView>,
    /// What it cannot do.
    troubles: Vec<String>,
}

/// The last of it, and the question that has no answer yet.
#[derive(Debug, Default)]
struct Known {
    asked: Option<Receiver<Said>>,
    said: Option<Said>,
}

impl Known {
    /// What the queue says now, or has said last where it does not answer soon; nothing when it has stopped.
    fn ask(&mut self, queue: &Queue) -> Option<&Said> {
        if self.asked.is_none() {
            let (tell, told) = channel();
            let look = move |manager: &mut hpvm_queue::manager::Manager| {
                let (reserved, drained) = (manager.reserved(), manager.drained().clone());
                let (nodes, troubles) = (manager.nodes(), manager.problems());
                // The server may have ended meanwhile.
                let _ = tell.send(Said { reserved, drained, nodes, troubles });
            };
            queue.send(look).ok()?;
            self.asked = Some(told);
        }
        match self.asked.as_ref()?.recv_timeout(QUEUE_TIMEOUT) {
            Ok(said) => (self.said, self.asked) = (Some(said), None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        self.said.as_ref()
    }
}

/// This machine and the hosts that report, as they are now.
fn show(app: &App, own: Option<HostSample>, said: &Said) {
    let Said { reserved, drained, nodes, .. } = said;
    let mut first = Host::up(&app.place.host, app.capacity);
    first.sample = own;
    let mut all = vec![first];
    let samples = app.samples.lock().unwrap_or_else(PoisonError::into_inner);
    for node in nodes {
        let mut shown = Host::up(&node.name, node.capacity);
        shown.last_seen = node.last_seen;
        match node.silent {
            true => shown.state = HostState::Lost,
            false => shown.sample = samples.get(&node.name).cloned(),
        }
        all.push(shown);
    }
    drop(samples);
    let starts = app.starts.all();
    for (name, (since, _)) in &starts {
        if !all.iter().any(|host| host.name == *name) {
            // It has never reported.
            let nothing = Resources { cpus: 0, memory: 0, gpus: 0 };
            let (state, last_seen) = (HostState::Lost, *since);
            all.push(Host { state, last_seen, ..Host::up(name, nothing) });
        }
    }
    for host in &mut all {
        host.mark_drained(drained);
        if let (HostState::Lost, Some((_, start))) = (host.state, starts.get(&host.name)) {
            host.reason = start.trouble().or(host.reason.take());
        }
        let held = reserved.get(&host.name).copied().unwrap_or(0);
        host.cpus_reserved = held.min(host.cpus);
    }
    app.hosts.send_replace(all.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_queue::driver::{Settings, marks_of};
    use hpvm_queue::manager::{Config, Publish};
    use hpvm_queue::store::list::Keep;

    #[test]
    fn a_queue_that_waits_holds_no_bar_up() {
        let dir = tempfile::tempdir().unwrap();
        let place = Settings {
            data: dir.path().to_path_buf(),
            program: "/nonexistent".into(),
            host: "n1".into(),
            env: BTreeMap::new(),
            home: dir.path().to_path_buf(),
            marks: marks_of(dir.path()),
            system: false,
        };
        let capacity = Resources { cpus: 1, memory: 1, gpus: 0 };
        let keep = Keep::default();
        let processors = Default::default();
        let (mirror, node_limit_seconds) = (false, 300);
        let config = Config { place, capacity, processors, mirror, node_limit_seconds, keep };
        let publish = Publish { events: Box::new(|_| {}), orders: Box::new(|_| {}) };
        let (queue, thread) = Queue::start(config, publish).unwrap();
        let mut known = Known::default();
        assert!(known.ask(&queue).is_some_and(|said| said.drained.is_empty()));
        let (go_on, gate) = channel::<()>();
        let waits = move |_: &mut _| {
            let _ = gate.recv();
        };
        queue.send(waits).unwrap();
        // What was said last is said again, and one question is under way, however often one asks.
        for _ in 0..3 {
            assert!(known.ask(&queue).is_some());
            assert!(known.asked.is_some());
        }
        drop(go_on);
        let end = Instant::now() + Duration::from_secs(60);
        while known.asked.is_some() {
            assert!(known.ask(&queue).is_some() && Instant::now() < end);
        }
        queue.call(|manager| manager.stop()).unwrap();
        thread.join().unwrap();
        assert!(known.ask(&queue).is_none(), "it has stopped");
    }
}
