//! A host's tasks: their connections, their processes, their output. What happens is reported, and what is to be done is ordered by
//! the first host, be it here or elsewhere.

use super::clients::Client;
use super::start::Processes;
use crate::sys;
use hpvm_pvm::Tid;
use hpvm_pvm::machine::TERMINATE;
use hpvm_pvm::protocol::{Answer, Order, Report};
use hpvm_pvm::wire::Bytes;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long tasks have between the signal that asks them to end and the one that ends them.
pub const GRACE: Duration = Duration::from_secs(2);

pub struct Local {
    processes: Processes,
    clients: BTreeMap<i64, Client>,
    next: i64,
    listener: UnixListener,
    signals: OwnedFd,
    ending: Option<Instant>,
    reports: Vec<Report>,
}

/// What a descriptor in `poll` stands for.
#[derive(Clone, Copy)]
pub enum Source {
    Listener,
    Signals,
    Client(i64),
    Process(i64),
    Output(Tid),
    /// The connection to the host, which is not this one's.
    Host(Tid),
}

pub fn waiting(fd: i32, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

impl Local {
    pub fn new(listener: UnixListener, nonce: i64) -> io::Result<Local> {
        listener.set_nonblocking(true)?;
        Ok(Local {
            processes: Processes::new(nonce),
            clients: BTreeMap::new(),
            next: 1,
            listener,
            signals: hpvm_launch::sys::signals(&[libc::SIGCHLD, libc::SIGTERM])?,
            ending: None,
            reports: Vec::new(),
        })
    }

    /// Whether anybody has ever come, and whether nobody is there.
    pub fn was_used(&self) -> bool {
        self.next > 1
    }

    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// What to wait for. Clients are not read while `full`: what they say could not be passed on.
    pub fn sources(&self, full: bool) -> Vec<(libc::pollfd, Source)> {
        let mut all = vec![
            (waiting(self.listener.as_raw_fd(), libc::POLLIN), Source::Listener),
            (waiting(self.signals.as_raw_fd(), libc::POLLIN), Source::Signals),
        ];
        for (id, client) in &self.clients {
            let read = if full { 0 } else { libc::POLLIN };
            let write = if client.has_output() { libc::POLLOUT } else { 0 };
            // Without either, its end would wake us again and again.
            if read | write != 0 {
                all.push((waiting(client.fd(), read | write), Source::Client(*id)));
            }
            if let Some(process) = client.process().filter(|_| !full) {
                all.push((waiting(process, libc::POLLIN), Source::Process(*id)));
            }
        }
        if !full {
            let outputs = self.processes.outputs();
            all.extend(outputs.map(|(tid, fd)| (waiting(fd, libc::POLLIN), Source::Output(tid))));
        }
        all
    }

    pub fn event(&mut self, source: Source) {
        match source {
            Source::Listener => self.accept(),
            Source::Signals => self.signalled(),
            Source::Client(id) => {
                if !self.hear(id) {
                    self.drop_client(id);
                }
            }
            Source::Process(id) => {
                self.hear_all(id);
                self.drop_client(id);
            }
            Source::Output(tid) => self.output(tid),
            Source::Host(_) => {}
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            // Nobody else's processes.
            let Some(client) = Client::new(stream, hpvm_os::user()) else { continue };
            self.clients.insert(self.next, client);
            self.next += 1;
        }
    }

    /// Reads what a client has sent, and reports it. Says whether it is still there.
    fn hear(&mut self, id: i64) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return true };
        let open = client.read();
        let pid = client.pid();
        // Also what a client has said that is gone now.
        loop {
            match client.next() {
                Ok(Some(request)) => {
                    self.reports.push(Report::Request { client: id, pid, request });
                }
                Ok(None) => return open,
                Err(_) => return false,
            }
        }
    }

    /// The process has ended: what it said before was said.
    fn hear_all(&mut self, id: i64) {
        while self
            .clients
            .get(&id)
            .is_some_and(|client| hpvm_os::is_ready(&client.fd(), libc::POLLIN))
        {
            if !self.hear(id) {
                return;
            }
        }
    }

    fn drop_client(&mut self, id: i64) {
        if self.clients.remove(&id).is_some() {
            self.reports.push(Report::Gone { client: id });
        }
    }

    fn signalled(&mut self) {
        while let Some(signal) = sys::next_signal(&self.signals) {
            if signal == libc::SIGTERM {
                self.end();
            }
        }
        while let Some(pid) = sys::reap() {
            let of_process = self.clients.iter().filter(|(_, client)| client.pid() == pid);
            for id in of_process.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.hear_all(id);
            }
            if let Some(tid) = self.processes.ended(pid) {
                self.output(tid);
                self.reports.push(Report::Ended { tid, pid });
            }
        }
    }

    fn output(&mut self, tid: Tid) {
        while let Some(text) = self.processes.read(tid) {
            if text.is_empty() {
                self.processes.close(tid);
                self.reports.push(Report::OutputEnded { tid });
                return;
            }
            self.reports.push(Report::Output { tid, text: Bytes(text) });
        }
    }

    /// What has happened since the last time.
    pub fn reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Does what the first host says.
    pub fn obey(&mut self, order: Order) {
        match order {
            Order::Start { tid, start } => {
                let (pid, code) = match self.processes.start(tid, &start) {
                    Ok(pid) => (pid, 0),
                    Err(code) => (0, code.number()),
                };
                self.reports.push(Report::Started { tid, pid, code });
            }
            Order::Signal { pid, signal } => {
                sys::kill(pid, signal);
            }
            Order::Answer { client, answer } => {
                if let Some(client) = self.clients.get_mut(&client) {
                    client.queue(&answer);
                }
            }
            Order::Close { client } => {
                if let Some(mut client) = self.clients.remove(&client) {
                    client.write();
                }
            }
            Order::Log { tid, text } => self.processes.log(tid, &text.0),
            Order::Clock { client } => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let (seconds, micros) = (now.as_secs() as i64, now.subsec_micros() as i32);
                self.reports.push(Report::Time { client, seconds, micros });
            }
            Order::Halt {} => self.end(),
            Order::Welcome { .. } | Order::Alive {} => {}
        }
    }

    /// Writes what clients take.
    pub fn write(&mut self) {
        self.clients.values_mut().for_each(Client::write);
    }

    /// Asks all tasks to end.
    pub fn end(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(Instant::now());
        for client in self.clients.values_mut() {
            client.queue(&Answer::Halting {});
        }
        self.write();
        let tasks = self.clients.values().filter(|client| client.is_task).map(Client::pid);
        tasks.chain(self.processes.running()).for_each(|pid| {
            sys::kill(pid, TERMINATE);
        });
    }

    /// Whether all have ended, or have had the time to; then nothing is left of them.
    pub fn ended(&mut self) -> bool {
        let Some(since) = self.ending else { return false };
        let alive = self.processes.running().next().is_some();
        let tasks = self.clients.values().any(|client| client.is_task);
        if (alive || tasks) && since.elapsed() < GRACE {
            return false;
        }
        self.processes.running().for_each(|pid| sys::kill_group(pid, libc::SIGKILL));
        true
    }
}
