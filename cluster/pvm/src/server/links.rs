//! The other hosts, as the first one sees them.

use super::channel::Channel;
use super::local::{Source, waiting};
use super::log;
use crate::{machine_name, sys};
use hpvm_launch::remote::start::quote;
use hpvm_pvm::Tid;
use hpvm_pvm::protocol::{Order, Report, VERSION};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the command that reaches a host may take to end when that is let go: the host's tasks have `GRACE` to end.
const LEAVING: Duration = Duration::from_secs(5);
/// No host is given up sooner: signs of life come twice a second.
const LEAST_SILENCE: Duration = Duration::from_secs(2);

struct Link {
    channel: Channel,
    command: Child,
}

#[derive(Default)]
pub struct Links {
    links: BTreeMap<Tid, Link>,
    /// Commands that have been told to end.
    leaving: Vec<(Child, Instant)>,
}

impl Links {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.leaving.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.links.values().any(|link| link.channel.is_full())
    }

    pub fn sources(&self) -> Vec<(libc::pollfd, Source)> {
        let mut all = Vec::new();
        for (host, link) in &self.links {
            let (from, to) = link.channel.descriptors();
            all.push((waiting(from, libc::POLLIN), Source::Host(*host)));
            all.extend(to.map(|to| (waiting(to, libc::POLLOUT), Source::Host(*host))));
        }
        all
    }

    /// Starts the process of a host.
    ///
    /// # Errors
    /// The command that reaches hosts cannot be started.
    pub fn add(&mut self, host: Tid, name: &str, nonce: i64) -> io::Result<()> {
        let reach = hpvm_launch::spread::reach()
            .map_err(|cause| io::Error::new(io::ErrorKind::InvalidInput, cause.to_string()))?;
        let (program, first) = reach.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let own = std::env::current_exe()?.into_os_string();
        let word = |word: &OsStr| if reach.raw { word.to_os_string() } else { quote(word) };
        let mut command = Command::new(program);
        command.args(first).arg(name).arg(word(&own));
        command.args(["pvm", super::remote::OPTION].map(OsString::from));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Why a host cannot be reached is in the log.
        command.stderr(log::open().map_or_else(Stdio::null, Stdio::from));
        let parent = std::process::id() as i32;
        // SAFETY: system calls, which may be called there.
        unsafe {
            command.pre_exec(move || {
                sys::unblock_signals();
                sys::die_with_parent(parent)
            })
        };
        let mut command = command.process_group(0).spawn()?;
        let streams = command.stdin.take().zip(command.stdout.take());
        let (to, from) = streams.ok_or(io::ErrorKind::BrokenPipe)?;
        let silence = reach.patience.max(LEAST_SILENCE);
        let mut channel = Channel::new(OwnedFd::from(from), OwnedFd::from(to), silence)?;
        let silence = silence.as_millis().try_into().unwrap_or(i32::MAX);
        let machine = machine_name();
        channel.queue(&Order::Welcome { version: VERSION, nonce, machine, silence });
        self.links.insert(host, Link { channel, command });
        Ok(())
    }

    pub fn order(&mut self, host: Tid, order: &Order) {
        if let Some(link) = self.links.get_mut(&host) {
            link.channel.queue(order);
        }
    }

    pub fn order_all(&mut self, order: &Order) {
        self.links.values_mut().for_each(|link| link.channel.queue(order));
    }

    /// What a host has said, and whether it is there.
    pub fn read(&mut self, host: Tid) -> (Vec<Report>, bool) {
        let mut reports = Vec::new();
        let Some(link) = self.links.get_mut(&host) else { return (reports, true) };
        let open = link.channel.read();
        loop {
            match link.channel.next() {
                Ok(Some(report)) => reports.push(report),
                Ok(None) => return (reports, open),
                Err(_) => return (reports, false),
            }
        }
    }

    /// Lets a host go: its process ends when it reads no more.
    pub fn remove(&mut self, host: Tid) {
        if let Some(mut link) = self.links.remove(&host) {
            link.channel.write(&Order::Alive {});
            self.leaving.push((link.command, Instant::now()));
        }
    }

    pub fn remove_all(&mut self) {
        let hosts: Vec<_> = self.links.keys().copied().collect();
        hosts.into_iter().for_each(|host| self.remove(host));
    }

    /// Writes; gives the hosts that have been lost.
    pub fn write(&mut self) -> Vec<Tid> {
        self.links.values_mut().for_each(|link| link.channel.write(&Order::Alive {}));
        self.leaving.retain_mut(|(command, since)| {
            let mut gone = !matches!(command.try_wait(), Ok(None));
            if !gone && since.elapsed() > LEAVING {
                gone = command.kill().and_then(|()| command.wait()).is_ok();
            }
            !gone
        });
        let lost = self.links.iter().filter(|(_, link)| link.channel.is_lost());
        lost.map(|(host, _)| *host).collect()
    }

    /// The host has been silent for too long: so is the command that reaches it.
    pub fn abandon(&mut self, host: Tid) {
        if let Some(mut link) = self.links.remove(&host) {
            // One that has ended may have been reaped, and its number may be another's.
            if matches!(link.command.try_wait(), Ok(None)) {
                let _ = link.command.kill();
            }
            self.leaving.push((link.command, Instant::now()));
        }
    }
}
