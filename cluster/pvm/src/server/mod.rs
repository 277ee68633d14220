//! The process of a virtual machine: one per user and name on each of its hosts. That of the first host holds the tables ([`Machine`]); each
//! starts the tasks of its host and carries their output ([`local`]), and messages between hosts until tasks have direct links. Messages inside a host
//! do not go through it.

mod channel;
mod clients;
mod links;
mod local;
mod log;
pub mod remote;
mod start;

use crate::{machine_name, sys};
use hpvm_pvm::machine::{Effect, Machine};
use hpvm_pvm::protocol::{self, Order};
use hpvm_pvm::{Tid, tid};
use links::Links;
use local::{GRACE, Local, Source};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

/// How long a virtual machine waits for its first task, which has just started it.
const FIRST_TASK: Duration = Duration::from_secs(10);

/// The name of the socket of the user's virtual machine.
fn listening(machine: &str) -> String {
    protocol::address(hpvm_os::user(), machine)
}

fn bind(machine: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(listening(machine))?)
}

/// Serves until the last task has left.
pub fn main() -> i32 {
    let listener = match bind(&machine_name()) {
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
    nonce: i64,
    local: Local,
    links: Links,
}

fn serve(listener: UnixListener) -> io::Result<()> {
    let nonce = i64::from_le_bytes(hpvm_os::random()?);
    let secret = hpvm_os::random::<16>()?;
    let mut server = Server {
        machine: Machine::new(sys::host_name(), nonce, secret.to_vec()),
        nonce,
        local: Local::new(listener, nonce)?,
        links: Links::default(),
    };
    let born = Instant::now();
    loop {
        let used = server.local.was_used() || born.elapsed() > FIRST_TASK;
        let nobody = server.local.is_empty() && server.machine.is_idle();
        if (nobody && used) || server.local.ended() {
            break;
        }
        server.round();
    }
    server.leave();
    Ok(())
}

impl Server {
    /// Waits for something to happen, and does what there is to do.
    fn round(&mut self) {
        let mut all = self.local.sources(self.links.is_full());
        all.extend(self.links.sources());
        let (mut fds, sources): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        // The waits for a first task, for an end and for signs of life have a limit; this is how late they are noticed.
        let limited = self.local.is_ending() || !self.local.was_used() || !self.links.is_empty();
        // Of a call that fails no descriptor is ready.
        let _ = hpvm_os::poll(&mut fds, limited.then_some(Duration::from_millis(100)));
        for (fd, source) in fds.iter().zip(sources) {
            match source {
                _ if fd.revents == 0 => {}
                Source::Host(host) => self.hear(host),
                source => self.local.event(source),
            }
            self.settle();
        }
        for host in self.links.write() {
            self.links.abandon(host);
            self.machine.host_gone(host);
        }
        self.settle();
        self.local.write();
    }

    fn hear(&mut self, host: Tid) {
        let (reports, open) = self.links.read(host);
        for report in reports {
            self.machine.report(host, report);
        }
        if !open {
            self.links.remove(host);
            self.machine.host_gone(host);
        }
    }

    /// Passes on what was reported and what is to be done, until there is no more of either.
    fn settle(&mut self) {
        loop {
            let (reports, effects) = (self.local.reports(), self.machine.outgoing());
            if reports.is_empty() && effects.is_empty() {
                break;
            }
            for effect in effects {
                self.perform(effect);
            }
            for report in reports {
                self.machine.report(tid::FIRST_HOST, report);
            }
        }
        if self.machine.is_halting() && !self.local.is_ending() {
            self.links.order_all(&Order::Halt {});
            self.local.end();
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Order(tid::FIRST_HOST, order) => self.local.obey(order),
            Effect::Order(host, order) => self.links.order(host, &order),
            Effect::Add(host, name) => {
                if let Err(cause) = self.links.add(host, &name, self.nonce) {
                    log::say(&format!("host {name}: {cause}"));
                    self.machine.host_gone(host);
                }
            }
            Effect::Remove(host) => self.links.remove(host),
        }
    }

    /// The other hosts end, too, and so do the commands by which they were reached.
    fn leave(&mut self) {
        self.links.remove_all();
        let since = Instant::now();
        // Their tasks have as long to end; then the commands are ended, which this process's end does as well.
        while !self.links.is_empty() && since.elapsed() < 2 * GRACE {
            self.links.write();
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
