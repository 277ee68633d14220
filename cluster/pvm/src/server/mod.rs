//! The process of a virtual machine: one per user and name. It holds the tables, starts tasks and carries their output; the
//! messages of the tasks do not go through it.

mod clients;
mod log;
mod start;

use crate::{machine_name, sys};
use clients::Client;
use hpvm_pvm::Tid;
use hpvm_pvm::machine::{ClientId, Machine, TERMINATE};
use hpvm_pvm::protocol::{self, Answer, Request};
use start::Processes;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

/// How long a virtual machine waits for its first task, which has just started it.
const FIRST_TASK: Duration = Duration::from_secs(10);
/// How long tasks have between the signal that asks them to end and the one that ends them.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until the last task has left.
pub fn main() -> i32 {
    let name = machine_name();
    let address = SocketAddr::from_abstract_name(protocol::address(sys::user(), &name));
    let listener = match address.and_then(|address| UnixListener::bind_addr(&address)) {
        Ok(listener) => listener,
        Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {
            // Another one was faster; whoever has started us will find it.
            say_ready();
            return 0;
        }
        Err(cause) => {
            eprintln!("hpvm pvm: the socket of the virtual machine: {cause}");
            return 1;
        }
    };
    // Listens again, so that tasks learn which process this is: the one that has listened before ends.
    let ready = || {
        if sys::listen(&listener).is_ok() {
            say_ready();
        }
    };
    let served = sys::detach(listener.as_raw_fd(), ready).and_then(|()| serve(listener));
    i32::from(served.is_err())
}

fn say_ready() {
    // Whoever does not read it does not wait for it.
    let _ = io::stdout().write_all(b"ready\n");
    let _ = io::stdout().flush();
}

struct Server {
    machine: Machine,
    processes: Processes,
    clients: BTreeMap<ClientId, Client>,
    next: ClientId,
    listener: UnixListener,
    signals: OwnedFd,
    ending: Option<Instant>,
}

/// What a descriptor in `poll` stands for.
#[derive(Clone, Copy)]
enum Source {
    Listener,
    Signals,
    Client(ClientId),
    Process(ClientId),
    Output(Tid),
}

fn serve(listener: UnixListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let signals = sys::signals(&[libc::SIGCHLD, libc::SIGTERM])?;
    let random = sys::random();
    let (nonce, secret) = random.split_at(8);
    let nonce = i64::from_le_bytes(nonce.try_into().unwrap_or_default());
    let mut server = Server {
        machine: Machine::new(sys::host_name(), nonce, secret.to_vec()),
        processes: Processes::new(nonce),
        clients: BTreeMap::new(),
        next: 1,
        listener,
        signals,
        ending: None,
    };
    let born = Instant::now();
    loop {
        let nobody = server.clients.is_empty() && server.machine.is_idle();
        if nobody && (server.next > 1 || born.elapsed() > FIRST_TASK) {
            return Ok(());
        }
        if server.ended() {
            return Ok(());
        }
        server.round();
    }
}

impl Server {
    /// Waits for something to happen, and does what there is to do.
    fn round(&mut self) {
        let (mut fds, sources) = self.sources();
        // Only the waits for a first task and for an end have a limit; 100 ms is how late either is noticed.
        let limited = self.ending.is_some() || self.next == 1;
        sys::poll(&mut fds, if limited { 100 } else { -1 });
        for (fd, source) in fds.iter().zip(sources) {
            if fd.revents != 0 {
                self.event(source);
            }
        }
        self.send();
    }

    fn sources(&self) -> (Vec<libc::pollfd>, Vec<Source>) {
        let fd = |fd: i32, events| libc::pollfd { fd, events, revents: 0 };
        let mut all = vec![
            (fd(self.listener.as_raw_fd(), libc::POLLIN), Source::Listener),
            (fd(self.signals.as_raw_fd(), libc::POLLIN), Source::Signals),
        ];
        for (id, client) in &self.clients {
            let out = if client.has_output() { libc::POLLOUT } else { 0 };
            all.push((fd(client.fd(), libc::POLLIN | out), Source::Client(*id)));
            if let Some(process) = client.process() {
                all.push((fd(process, libc::POLLIN), Source::Process(*id)));
            }
        }
        let outputs = self.processes.outputs();
        all.extend(outputs.map(|(tid, output)| (fd(output, libc::POLLIN), Source::Output(tid))));
        all.into_iter().unzip()
    }

    fn event(&mut self, source: Source) {
        match source {
            Source::Listener => self.accept(),
            Source::Signals => self.signalled(),
            Source::Client(id) => {
                if !self.hear(id) {
                    self.drop_client(id);
                }
            }
            Source::Process(id) => {
                self.hear(id);
                self.drop_client(id);
            }
            Source::Output(tid) => self.output(tid),
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            // Nobody else's processes.
            let Some(client) = Client::new(stream, sys::user()) else { continue };
            self.clients.insert(self.next, client);
            self.next += 1;
        }
    }

    /// Reads what a client has sent, and serves it. Says whether it is still there.
    fn hear(&mut self, id: ClientId) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return true };
        let open = client.read();
        // Also what a client has said that is gone now.
        while let Some(client) = self.clients.get_mut(&id) {
            let pid = client.pid();
            let request = match client.next::<Request>() {
                Ok(Some(request)) => request,
                Ok(None) => return open,
                Err(_) => return false,
            };
            if !self.machine.request(id, pid, request, &mut self.processes) {
                self.send();
                return false;
            }
            if self.machine.is_halting() {
                self.end();
            }
        }
        open
    }

    fn drop_client(&mut self, id: ClientId) {
        if self.clients.remove(&id).is_some() {
            self.machine.gone(id);
        }
    }

    fn signalled(&mut self) {
        while let Some(signal) = sys::next_signal(&self.signals) {
            if signal == libc::SIGTERM {
                self.end();
            }
        }
        while let Some(pid) = sys::reap() {
            // What it said before it ended was said.
            let of_process = self.clients.iter().filter(|(_, client)| client.pid() == pid);
            for id in of_process.map(|(id, _)| *id).collect::<Vec<_>>() {
                self.hear(id);
            }
            if let Some(tid) = self.processes.ended(pid) {
                self.output(tid);
                self.machine.process_gone(tid, pid);
            }
        }
    }

    fn output(&mut self, tid: Tid) {
        while let Some(text) = self.processes.read(tid) {
            if text.is_empty() {
                self.processes.close(tid);
                self.machine.output_ended(tid, &mut self.processes);
                return;
            }
            self.machine.output(tid, &text, &mut self.processes);
        }
    }

    fn send(&mut self) {
        for (id, answer) in self.machine.outgoing() {
            if let Some(client) = self.clients.get_mut(&id) {
                client.queue(&answer);
            }
        }
        self.clients.values_mut().for_each(Client::write);
    }

    /// Asks all tasks to end.
    fn end(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(Instant::now());
        for client in self.clients.values_mut() {
            client.queue(&Answer::Halting {});
        }
        self.send();
        let tasks = self.machine.processes();
        tasks.into_iter().chain(self.processes.running()).for_each(|pid| {
            sys::kill(pid, TERMINATE);
        });
    }

    /// Whether all have ended, or have had the time to; then nothing is left of them.
    fn ended(&mut self) -> bool {
        let Some(since) = self.ending else { return false };
        let alive = self.processes.running().next().is_some();
        if (alive || !self.machine.processes().is_empty()) && since.elapsed() < GRACE {
            return false;
        }
        self.processes.running().for_each(|pid| sys::kill_group(pid, libc::SIGKILL));
        true
    }
}
