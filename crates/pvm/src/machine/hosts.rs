//! Hosts: those that there are, those that are being added, and what they report.

use super::{ClientId, Effect, Machine};
use crate::hostfile::{self, Line, Options};
use crate::protocol::{Answer, HostLine, Report, VERSION};
use crate::{Code, Tid, search, tid};
use std::collections::BTreeSet;

/// A host of the virtual machine.
#[derive(Debug)]
pub(super) struct Host {
    pub name: String,
    /// Its process serves.
    pub ready: bool,
}

/// A request for hosts, until all of them have come or have failed.
#[derive(Debug)]
pub(super) struct Adding {
    client: ClientId,
    codes: Vec<i32>,
    waiting: BTreeSet<Tid>,
}

/// What PVM's code for a host with small end first and 64 bits is.
const SIGNATURE: i32 = 0x0040_8841;
/// A host's speed where nobody has said it.
const USUAL_SPEED: i32 = 1000;
/// Of so many hosts options are kept: a program that names new ones for ever gets an error.
const MOST_OPTIONS: usize = 1 << 16;
/// Hosts have 12 bits of a task identifier.
const MAX_HOSTS: Tid = tid::HOST_MASK >> tid::LOCAL_BITS;
/// Names of hosts are not longer (`HOST_NAME_MAX` is 64; a full name of the domain system 253).
const LONGEST_NAME: usize = 255;

/// Below are the client's number on its host.
const CLIENT_BITS: u32 = 48;

pub(super) fn client_id(host: Tid, client: i64) -> Option<ClientId> {
    let number = u64::try_from(client).ok().filter(|number| *number < 1 << CLIENT_BITS)?;
    Some(((host >> tid::LOCAL_BITS) as u64) << CLIENT_BITS | number)
}

pub(super) fn host_of_client(client: ClientId) -> Tid {
    ((client >> CLIENT_BITS) as Tid) << tid::LOCAL_BITS
}

/// Whether it may be a word of a command: nothing that ssh would take for an option.
fn is_word(name: &str) -> bool {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@:%".contains(&byte);
    let fits = (1..=LONGEST_NAME).contains(&name.len());
    fits && !name.starts_with('-') && name.bytes().all(usual)
}

/// The number of a client on its host.
pub(super) fn client_of(client: ClientId) -> i64 {
    (client & ((1 << CLIENT_BITS) - 1)) as i64
}

impl Machine {
    /// What a host says. What it says of others is not heeded.
    pub fn report(&mut self, host: Tid, report: Report) {
        if !self.hosts.contains_key(&host) {
            return;
        }
        let own = |tid: Tid| tid::is_task(tid) && tid::host_of(tid) == host;
        match report {
            Report::Alive {} => {}
            Report::Ready { version } if version == VERSION => self.host_ready(host),
            Report::Ready { .. } => self.remove_host(host),
            Report::Request { client, pid, request } => {
                if let Some(client) = client_id(host, client) {
                    self.request(client, pid, request);
                }
            }
            Report::Gone { client } => {
                if let Some(client) = client_id(host, client) {
                    self.gone(client);
                }
            }
            Report::Started { tid, pid, code } if own(tid) => self.started(tid, pid, code),
            Report::Output { tid, text } if own(tid) => {
                self.forward(tid, text.0.len() as i32, &text.0);
            }
            Report::OutputEnded { tid } if own(tid) => self.output_ended(tid),
            Report::Ended { tid, pid } if own(tid) => self.process_gone(tid, pid),
            Report::Time { client, seconds, micros } => {
                let client = client as ClientId;
                let waits = self.clocks.iter().position(|known| *known == (client, host));
                if let Some(at) = waits {
                    self.clocks.remove(at);
                    self.answer(client, Answer::Time { seconds, micros });
                }
            }
            Report::Started { .. }
            | Report::Output { .. }
            | Report::OutputEnded { .. }
            | Report::Ended { .. } => {}
        }
    }

    /// All hosts that serve.
    pub fn hosts(&self) -> impl Iterator<Item = Tid> + '_ {
        self.hosts.iter().filter(|(_, host)| host.ready).map(|(tid, _)| *tid)
    }

    pub(super) fn is_ready(&self, tid: Tid) -> bool {
        self.hosts.get(&tid).is_some_and(|host| host.ready)
    }

    /// The host of the name, as the task `of` means it.
    pub(super) fn host_named(&self, name: &str, of: Tid) -> Option<Tid> {
        if hostfile::is_here(name) {
            return Some(tid::host_of(of));
        }
        let named = self.hosts.iter().find(|(_, host)| host.name == name);
        // Earlier versions of PVM have the number of a virtual machine behind the name.
        let short = |(_, host): &(&Tid, &Host)| name.split(':').next() == Some(&host.name);
        let found = named.or_else(|| self.hosts.iter().find(short));
        found.filter(|(_, host)| host.ready).map(|(tid, _)| *tid)
    }

    pub(super) fn host_lines(&self) -> Vec<HostLine> {
        let line = |(tid, host): (&Tid, &Host)| HostLine {
            tid: *tid,
            name: host.name.clone(),
            arch: search::ARCH.to_owned(),
            speed: self.options_of(&host.name).speed.unwrap_or(USUAL_SPEED),
            signature: SIGNATURE,
        };
        self.hosts.iter().filter(|(_, host)| host.ready).map(line).collect()
    }

    /// `None`: the answer comes when all hosts have come or have failed.
    pub(super) fn add_hosts(&mut self, client: ClientId, names: &[String]) -> Option<Answer> {
        let mut adding = Adding { client, codes: Vec::new(), waiting: BTreeSet::new() };
        for name in names {
            let code = match self.add_host(name) {
                Ok(tid) => {
                    adding.waiting.insert(tid);
                    tid
                }
                Err(code) => code.number(),
            };
            adding.codes.push(code);
        }
        if adding.waiting.is_empty() {
            return Some(Answer::Tids { tids: adding.codes });
        }
        self.adding.push(adding);
        None
    }

    /// A name, and options behind it.
    fn add_host(&mut self, line: &str) -> Result<Tid, Code> {
        let Line { name, options } = Line::parse(line).map_err(|_| Code::BadParam)?;
        let options = options.or(&self.options_of(&name));
        let reached = options.reached(&name);
        if !is_word(&name) || !is_word(&reached) {
            return Err(Code::BadParam);
        }
        let known = |host: &Host| host.name == name;
        if hostfile::is_here(&name) || self.hosts.values().any(known) {
            return Err(Code::DupHost);
        }
        let tid = self.new_host().ok_or(Code::OutOfRes)?;
        if options != Options::default() {
            self.keep_options(name.clone(), options)?;
        }
        self.hosts.insert(tid, Host { name, ready: false });
        self.out.push(Effect::Add(tid, reached));
        Ok(tid)
    }

    /// Lines of a hostfile whose hosts are not added by it.
    pub(super) fn set_host_options(&mut self, lines: &[String]) -> Result<i32, Code> {
        for line in lines {
            let Line { mut name, options } = Line::parse(line).map_err(|_| Code::BadParam)?;
            if let Some(first) =
                self.hosts.get(&tid::FIRST_HOST).filter(|_| hostfile::is_here(&name))
            {
                name.clone_from(&first.name);
            }
            self.keep_options(name, options)?;
        }
        Ok(0)
    }

    fn keep_options(&mut self, name: String, options: Options) -> Result<(), Code> {
        if name.len() > LONGEST_NAME {
            return Err(Code::BadParam);
        }
        if self.host_options.len() >= MOST_OPTIONS && !self.host_options.contains_key(&name) {
            return Err(Code::OutOfRes);
        }
        self.host_options.insert(name, options);
        Ok(())
    }

    /// What is known of the host of the name.
    pub(super) fn options_of(&self, name: &str) -> Options {
        let known = |name| self.host_options.get(name);
        known(name).or_else(|| known(hostfile::ALL)).cloned().unwrap_or_default()
    }

    fn new_host(&mut self) -> Option<Tid> {
        for _ in 0..MAX_HOSTS {
            let number = (self.last_host >> tid::LOCAL_BITS) % MAX_HOSTS + 1;
            self.last_host = number << tid::LOCAL_BITS;
            // Output of its tasks may still be on its way to the log.
            let used = self.outlets.range(self.last_host..=self.last_host | tid::LOCAL_MAX);
            if !self.hosts.contains_key(&self.last_host) && used.count() == 0 {
                return Some(self.last_host);
            }
        }
        None
    }

    fn host_ready(&mut self, tid: Tid) {
        let Some(host) = self.hosts.get_mut(&tid).filter(|host| !host.ready) else { return };
        host.ready = true;
        for watch in self.watches.host_added() {
            self.deliver(watch.watcher, watch.mail(tid::FIRST_HOST, &[1, tid]));
        }
        self.added(tid, tid);
    }

    /// One host less is waited for.
    fn added(&mut self, tid: Tid, code: i32) {
        for adding in &mut self.adding {
            if adding.waiting.remove(&tid) {
                adding.codes.iter_mut().filter(|known| **known == tid).for_each(|it| *it = code);
            }
        }
        let ready = |adding: &mut Adding| adding.waiting.is_empty();
        let done: Vec<_> = self.adding.extract_if(.., ready).collect();
        for Adding { client, codes, .. } in done {
            self.answer(client, Answer::Tids { tids: codes });
        }
    }

    pub(super) fn delete_hosts(&mut self, names: &[String]) -> Answer {
        let mut codes = Vec::new();
        for name in names {
            let code = match self.host_named(name, tid::FIRST_HOST) {
                Some(tid::FIRST_HOST) => Code::BadParam.number(),
                Some(tid) => {
                    self.remove_host(tid);
                    0
                }
                None => Code::NoHost.number(),
            };
            codes.push(code);
        }
        Answer::Tids { tids: codes }
    }

    fn remove_host(&mut self, tid: Tid) {
        self.out.push(Effect::Remove(tid));
        self.host_gone(tid);
    }

    /// The host is there no more, or could not be reached: nor are its tasks.
    pub fn host_gone(&mut self, host: Tid) {
        let Some(gone) = self.hosts.remove(&host) else { return };
        self.added(host, Code::CantStart.number());
        if !gone.ready {
            return;
        }
        let tasks = self.tasks.range(host..=host | tid::LOCAL_MAX).map(|(tid, _)| *tid);
        let tasks: Vec<_> = tasks.collect();
        for tid in &tasks {
            self.not_started(*tid, Code::HostFail);
        }
        for tid in tasks {
            let Some(task) = self.tasks.get(&tid) else { continue };
            // As `process_gone`.
            self.task_gone(task.client.unwrap_or(ClientId::MAX), tid);
        }
        let outlets = self.outlets.range(host..=host | tid::LOCAL_MAX).map(|(tid, _)| *tid);
        for tid in outlets.collect::<Vec<_>>() {
            self.output_ended(tid);
        }
        let waiting: Vec<_> = self.clocks.extract_if(.., |(_, of)| *of == host).collect();
        for (client, _) in waiting {
            self.answer(client, Answer::Code { code: Code::HostFail.number() });
        }
        self.tell_end(host);
    }
}
