//! The state of a virtual machine: its tasks, groups, mailbox and notifications.
//!
//! Reports of hosts come in, orders to them go out ([`Effect`]). The first host, on which this is, is one like the others. So all of it is
//! tested without a process.

mod groups;
mod hosts;
pub mod mailbox;
mod notify;
mod spawn;
#[cfg(test)]
mod tests;

use crate::hostfile::Options;
use crate::protocol::{
    Answer, Destination, Hello, Identity, Mail, OUTPUT_EOF, OUTPUT_NEW, Order, Request,
    STATE_CONNECTED, STATE_STARTED, TaskLine, VERSION,
};
use crate::wire::Bytes;
use crate::{Code, Tid, tid};
use hosts::{Adding, Host, client_of, host_of_client};
use notify::{Watch, Watches};
use std::collections::{BTreeMap, BTreeSet};

/// A connection of a task: its host, and its number there.
pub type ClientId = u64;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// The host is to be told.
    Order(Tid, Order),
    /// A host is to be reached; [`Machine::host_ready`] or [`Machine::host_gone`] says how it went.
    Add(Tid, String),
    /// A host is to be let go.
    Remove(Tid),
}

/// A task of the virtual machine.
#[derive(Debug)]
struct Task {
    parent: Tid,
    /// `None`: its process was started and has not said anything yet.
    client: Option<ClientId>,
    /// 0: it is being started.
    pid: i32,
    /// Messages from other hosts that came before it has said anything.
    early: Vec<Mail>,
    program: String,
    no_reset: bool,
    /// The virtual machine has started its process.
    started: bool,
    siblings: Vec<Tid>,
    context: i32,
    output: Destination,
    trace: Destination,
}

/// A virtual machine.
#[derive(Debug)]
pub struct Machine {
    hosts: BTreeMap<Tid, Host>,
    last_host: Tid,
    /// Where the next task is started that may be anywhere.
    next_host: Tid,
    adding: Vec<Adding>,
    /// What hostfiles say of hosts, by name.
    host_options: BTreeMap<String, Options>,
    spawning: Vec<spawn::Spawning>,
    /// Who waits for the time of a host.
    clocks: Vec<(ClientId, Tid)>,
    nonce: i64,
    secret: Vec<u8>,
    tasks: BTreeMap<Tid, Task>,
    clients: BTreeMap<ClientId, Tid>,
    /// Where the output of started processes goes, until they close it.
    outlets: BTreeMap<Tid, Destination>,
    last: i32,
    groups: groups::Groups,
    mailbox: mailbox::Mailbox,
    watches: Watches,
    contexts: BTreeSet<i32>,
    last_context: i32,
    out: Vec<Effect>,
    halting: bool,
}

/// `SIGTERM`.
pub const TERMINATE: i32 = 15;

const PARENT_NONE: Tid = Code::NoParent as i32;

impl Machine {
    pub fn new(host: String, nonce: i64, secret: Vec<u8>) -> Machine {
        Machine {
            hosts: BTreeMap::from([(tid::FIRST_HOST, Host { name: host, ready: true })]),
            last_host: tid::FIRST_HOST,
            next_host: 0,
            adding: Vec::new(),
            host_options: BTreeMap::new(),
            spawning: Vec::new(),
            clocks: Vec::new(),
            nonce,
            secret,
            tasks: BTreeMap::new(),
            clients: BTreeMap::new(),
            outlets: BTreeMap::new(),
            last: 0,
            groups: groups::Groups::default(),
            mailbox: mailbox::Mailbox::default(),
            watches: Watches::default(),
            contexts: BTreeSet::new(),
            last_context: 0,
            out: Vec::new(),
            halting: false,
        }
    }

    /// What is to be sent, in its order.
    pub fn outgoing(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.out)
    }

    /// Whether nobody is left: no task, and no process whose output is not at its end.
    pub fn is_idle(&self) -> bool {
        self.tasks.is_empty() && self.outlets.is_empty()
    }

    /// Somebody has asked for the end.
    pub fn is_halting(&self) -> bool {
        self.halting
    }

    fn new_tid(&mut self, host: Tid) -> Option<Tid> {
        for _ in 0..tid::LOCAL_MAX {
            self.last = self.last % tid::LOCAL_MAX + 1;
            let tid = host | self.last;
            if !self.tasks.contains_key(&tid) && !self.outlets.contains_key(&tid) {
                return Some(tid);
            }
        }
        None
    }

    fn order(&mut self, host: Tid, order: Order) {
        self.out.push(Effect::Order(host, order));
    }

    fn answer(&mut self, client: ClientId, answer: Answer) {
        let (host, client) = (host_of_client(client), client_of(client));
        self.order(host, Order::Answer { client, answer });
    }

    fn deliver(&mut self, tid: Tid, mail: Mail) {
        if let Some(client) = self.tasks.get(&tid).and_then(|task| task.client) {
            self.answer(client, Answer::Event { mail });
        }
    }

    /// A client's request. `pid` is that of the client's process, which its host knows. A request that makes no sense before it
    /// has enrolled ends the connection.
    fn request(&mut self, client: ClientId, pid: i32, request: Request) {
        if let Request::Enroll { hello } = request {
            if !self.enroll(client, pid, hello) {
                self.close(client);
            }
            return;
        }
        let Some(tid) = self.clients.get(&client).copied() else { return self.close(client) };
        let answer = match self.serve(client, tid, request) {
            Ok(Some(answer)) => answer,
            Ok(None) => return,
            Err(code) => Answer::Code { code: code.number() },
        };
        self.answer(client, answer);
    }

    fn close(&mut self, client: ClientId) {
        self.order(host_of_client(client), Order::Close { client: client_of(client) });
        self.gone(client);
    }

    fn enroll(&mut self, client: ClientId, pid: i32, hello: Hello) -> bool {
        if hello.version != VERSION || self.clients.contains_key(&client) {
            self.answer(client, Answer::Code { code: Code::BadVersion.number() });
            return false;
        }
        let claimed = self.tasks.get_mut(&hello.claim);
        let started = claimed.filter(|task| task.client.is_none() && hello.nonce == self.nonce);
        let tid = match started {
            Some(task) if tid::host_of(hello.claim) == host_of_client(client) => {
                task.client = Some(client);
                task.pid = pid;
                hello.claim
            }
            _ => {
                let Some(tid) = self.new_tid(host_of_client(client)) else {
                    self.answer(client, Answer::Code { code: Code::OutOfRes.number() });
                    return false;
                };
                let task = Task {
                    parent: PARENT_NONE,
                    client: Some(client),
                    pid,
                    early: Vec::new(),
                    program: hello.program,
                    no_reset: hello.console,
                    started: false,
                    siblings: vec![tid],
                    context: 0,
                    output: Destination::default(),
                    trace: Destination::default(),
                };
                self.tasks.insert(tid, task);
                tid
            }
        };
        self.clients.insert(client, tid);
        if !self.is_spawning(tid) {
            self.welcome(tid);
        }
        true
    }

    /// Tells a task who it is, and what came for it before.
    fn welcome(&mut self, tid: Tid) {
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        let Some(client) = task.client else { return };
        let identity = Identity {
            tid,
            parent: task.parent,
            nonce: self.nonce,
            secret: Bytes(self.secret.clone()),
            siblings: task.siblings.clone(),
            context: task.context,
            output: task.output.clone(),
            trace: task.trace.clone(),
        };
        let early = std::mem::take(&mut task.early);
        self.answer(client, Answer::Enrolled { identity });
        early.into_iter().for_each(|mail| self.answer(client, Answer::Event { mail }));
    }

    /// A message of a task to one of another host.
    fn send(&mut self, from: Tid, to: Tid, mail: Mail) {
        let mail = Mail { source: from, ..mail };
        match self.tasks.get_mut(&to) {
            Some(task) if task.client.is_some() => self.deliver(to, mail),
            Some(task) => task.early.push(mail),
            // Nobody is there: as between tasks of a host.
            None => {}
        }
    }

    /// The connection has ended, or the process behind it.
    fn gone(&mut self, client: ClientId) {
        if let Some(tid) = self.clients.remove(&client) {
            self.task_gone(client, tid);
        }
    }

    fn task_gone(&mut self, client: ClientId, tid: Tid) {
        if self.tasks.remove(&tid).is_none() {
            return;
        }
        self.clients.remove(&client);
        let released = self.groups.gone(client, tid);
        self.release(released);
        self.mailbox.gone(client, tid);
        self.clocks.retain(|(waiting, _)| *waiting != client);
        self.watches.gone(tid);
        self.tell_end(tid);
    }

    /// Tells who watches the task or the host that it is gone.
    fn tell_end(&mut self, tid: Tid) {
        for watch in self.watches.happened(tid) {
            self.deliver(watch.watcher, watch.mail(tid::FIRST_HOST, &[tid]));
        }
    }

    /// A process that was started has ended. A task that another process has become is not gone by that.
    fn process_gone(&mut self, tid: Tid, pid: i32) {
        let Some(task) = self.tasks.get(&tid).filter(|task| task.pid == pid) else { return };
        // Without a connection there is no client: no group and no mailbox knows it.
        let client = task.client.unwrap_or(ClientId::MAX);
        self.task_gone(client, tid);
    }

    fn release(&mut self, released: groups::Released) {
        for (client, code) in released {
            self.answer(client, Answer::Code { code });
        }
    }

    /// A started process, and all that have its output, have closed it.
    fn output_ended(&mut self, tid: Tid) {
        self.forward(tid, OUTPUT_EOF, &[]);
        self.outlets.remove(&tid);
    }

    fn forward(&mut self, tid: Tid, len: i32, text: &[u8]) {
        let Some(to) = self.outlets.get(&tid).cloned() else { return };
        if to.tid != 0 && self.tasks.get(&to.tid).is_some_and(|task| task.client.is_some()) {
            let mut body = Vec::with_capacity(8 + text.len());
            body.extend_from_slice(&tid.to_ne_bytes());
            body.extend_from_slice(&len.to_ne_bytes());
            if len == OUTPUT_NEW {
                let parent = self.tasks.get(&tid).map_or(PARENT_NONE, |task| task.parent);
                body.extend_from_slice(&parent.to_ne_bytes());
            }
            body.extend_from_slice(text);
            let mail = Mail {
                source: tid,
                tag: to.tag,
                context: to.context,
                body: Bytes(body),
                ..Mail::default()
            };
            self.deliver(to.tid, mail);
        } else if len > 0 {
            self.order(tid::host_of(tid), Order::Log { tid, text: Bytes(text.to_vec()) });
        }
    }

    fn serve(
        &mut self,
        client: ClientId,
        tid: Tid,
        request: Request,
    ) -> Result<Option<Answer>, Code> {
        let code = |code| Ok(Some(Answer::Code { code }));
        match request {
            // Handled before.
            Request::Enroll { .. } => Err(Code::Already),
            Request::Exit {} => {
                self.task_gone(client, tid);
                code(0)
            }
            Request::Spawn { start } => self.spawn(client, tid, start),
            Request::Signal { tid, signal } => self.signal(tid, signal).and_then(code),
            Request::Tasks { place } => self.list(place).map(Some),
            Request::Config {} => Ok(Some(Answer::Hosts { hosts: self.host_lines() })),
            Request::HostStatus { name } => {
                code(if self.host_named(&name, tid).is_some() { 0 } else { Code::NoHost.number() })
            }
            Request::TaskStatus { tid } if !tid::is_task(tid) => Err(Code::BadParam),
            Request::TaskStatus { tid } => {
                code(if self.tasks.contains_key(&tid) { 0 } else { Code::NoTask.number() })
            }
            Request::Notify { what, tag, context, count, tids } => {
                self.notify(Watch { watcher: tid, tag, context }, what, count, &tids).and_then(code)
            }
            Request::AddHosts { names } => Ok(self.add_hosts(client, &names)),
            Request::HostOptions { lines } => self.set_host_options(&lines).and_then(code),
            Request::DeleteHosts { names } => Ok(Some(self.delete_hosts(&names))),
            Request::NewContext {} => self.new_context().and_then(code),
            Request::FreeContext { context } if self.contexts.remove(&context) => code(0),
            Request::FreeContext { context } if context < 0 => Err(Code::BadParam),
            Request::FreeContext { .. } => Err(Code::NotFound),
            Request::Put { name, flags, mail } => {
                let (index, served) = self.mailbox.put(&name, tid, flags, mail)?;
                for (client, mail) in served {
                    self.answer(client, Answer::Mail { mail });
                }
                code(index)
            }
            Request::Fetch { name, index, flags } => {
                let mail = self.mailbox.fetch(&name, client, tid, index, flags)?;
                Ok(mail.map(|mail| Answer::Mail { mail }))
            }
            Request::Delete { name, index } => {
                self.mailbox.delete(&name, tid, index).and_then(|()| code(index))
            }
            Request::Names { pattern } => {
                Ok(Some(Answer::Classes { classes: self.mailbox.names(&pattern) }))
            }
            Request::Output { destination } => {
                if let Some(outlet) = self.outlets.get_mut(&tid) {
                    *outlet = destination;
                }
                code(0)
            }
            Request::NoReset { on } => {
                self.tasks.entry(tid).and_modify(|task| task.no_reset = on);
                code(0)
            }
            Request::NoResets {} => {
                let tids = self.tasks.iter().filter(|(_, task)| task.no_reset).map(|(tid, _)| *tid);
                Ok(Some(Answer::Tids { tids: tids.collect() }))
            }
            Request::Reset { keep } => self.reset(tid, keep).and_then(code),
            Request::DeleteOrphans { name, index } => {
                self.mailbox.delete_orphans(&name, index);
                code(0)
            }
            Request::Halt {} => {
                self.halting = true;
                Ok(Some(Answer::Halting {}))
            }
            Request::Clock { host } if !self.is_ready(tid::host_of(host)) => Err(Code::NoHost),
            Request::Clock { host } => {
                // A task stands for its host.
                let host = tid::host_of(host);
                self.clocks.push((client, host));
                self.order(host, Order::Clock { client: client as i64 });
                Ok(None)
            }
            Request::Send { to, mail } => {
                self.send(tid, to, mail);
                Ok(None)
            }
            request => self.serve_group(client, tid, request),
        }
    }

    fn serve_group(
        &mut self,
        client: ClientId,
        tid: Tid,
        request: Request,
    ) -> Result<Option<Answer>, Code> {
        let code = |code| Ok(Some(Answer::Code { code }));
        let (released, own) = match request {
            Request::Join { group } => {
                let (instance, released) = self.groups.join(&group, tid)?;
                (released, Some(instance))
            }
            Request::Leave { group } => (self.groups.leave(&group, tid)?, Some(0)),
            Request::Barrier { group, count } => {
                (self.groups.barrier(&group, client, tid, count)?, None)
            }
            Request::Freeze { group, size } => {
                (self.groups.freeze(&group, client, tid, size)?, None)
            }
            Request::Instance { group, tid } => return code(self.groups.instance(&group, tid)?),
            Request::Member { group, instance } => {
                return code(self.groups.member(&group, instance)?);
            }
            Request::Members { group } => {
                return Ok(Some(Answer::Tids { tids: self.groups.members(&group)? }));
            }
            Request::Groups {} => {
                let (names, sizes) = self.groups.list();
                return Ok(Some(Answer::Groups { names, sizes }));
            }
            _ => return Err(Code::BadParam),
        };
        self.release(released);
        Ok(own.map(|code| Answer::Code { code }))
    }

    fn new_context(&mut self) -> Result<i32, Code> {
        // The contexts above are the library's own.
        const LARGEST: i32 = 0x7_0000;
        for _ in 0..LARGEST {
            self.last_context = self.last_context % LARGEST + 1;
            if self.contexts.insert(self.last_context) {
                return Ok(self.last_context);
            }
        }
        Err(Code::OutOfRes)
    }

    fn list(&self, place: i32) -> Result<Answer, Code> {
        let wanted = |tid: &Tid| place == 0 || place == *tid || place == tid::host_of(*tid);
        if place != 0 && !self.is_ready(place) {
            if tid::is_host(place) {
                return Err(Code::NoHost);
            }
            if !tid::is_task(place) {
                return Err(Code::BadParam);
            }
            if !self.is_ready(tid::host_of(place)) {
                return Err(Code::NoHost);
            }
        }
        let line = |(tid, task): (&Tid, &Task)| TaskLine {
            tid: *tid,
            parent: task.parent.max(0),
            host: tid::host_of(*tid),
            flags: if task.client.is_some() { STATE_CONNECTED } else { 0 }
                | if task.started { STATE_STARTED } else { 0 },
            program: task.program.clone(),
            pid: task.pid,
        };
        let tasks = self.tasks.iter().filter(|(tid, _)| wanted(tid)).map(line).collect();
        Ok(Answer::Tasks { tasks })
    }

    fn signal(&mut self, tid: Tid, signal: i32) -> Result<i32, Code> {
        // Signals of Linux, and 0, which asks whether somebody is there.
        if !tid::is_task(tid) || !(0..=64).contains(&signal) {
            return Err(Code::BadParam);
        }
        let task = self.tasks.get(&tid).filter(|task| task.pid != 0).ok_or(Code::NoTask)?;
        let pid = task.pid;
        self.order(tid::host_of(tid), Order::Signal { pid, signal });
        Ok(0)
    }

    fn reset(&mut self, tid: Tid, keep: i32) -> Result<i32, Code> {
        let spared = |other: &Tid, task: &Task| *other == tid || *other == keep || task.no_reset;
        let ending = self.tasks.iter().filter(|(other, task)| !spared(other, task));
        let orders: Vec<_> = ending.map(|(other, task)| (*other, task.pid)).collect();
        for (other, pid) in orders {
            self.order(tid::host_of(other), Order::Signal { pid, signal: TERMINATE });
        }
        self.mailbox.clear();
        Ok(0)
    }

    fn notify(&mut self, watch: Watch, what: i32, count: i32, tids: &[Tid]) -> Result<i32, Code> {
        let cancelled = what & notify::CANCEL != 0;
        match what & !notify::CANCEL {
            notify::HOST_ADD if count < -1 => Err(Code::BadParam),
            notify::HOST_ADD if cancelled => {
                if self.watches.cancel_host_add(watch.watcher) {
                    self.deliver(watch.watcher, watch.mail(tid::FIRST_HOST, &[0]));
                }
                Ok(0)
            }
            notify::HOST_ADD => {
                self.watches.add_host(watch, count);
                Ok(0)
            }
            kind @ (notify::TASK_EXIT | notify::HOST_DELETE) => {
                let of_hosts = kind == notify::HOST_DELETE;
                let fits = |tid: &Tid| tid::is_task(*tid) || (of_hosts && tid::is_host(*tid));
                if !tids.iter().all(fits) {
                    return Err(Code::BadParam);
                }
                // A task stands for its host.
                let watched = |tid: &Tid| if of_hosts { tid::host_of(*tid) } else { *tid };
                for tid in &tids.iter().map(watched).collect::<Vec<_>>() {
                    let there = self.tasks.contains_key(tid) || self.is_ready(*tid);
                    if (cancelled && self.watches.cancel(*tid, watch)) || (!cancelled && !there) {
                        self.deliver(watch.watcher, watch.mail(tid::FIRST_HOST, &[*tid]));
                    } else if !cancelled {
                        self.watches.add(*tid, watch);
                    }
                }
                Ok(0)
            }
            notify::ROUTE_ADD | notify::ROUTE_DELETE => Ok(0),
            _ => Err(Code::BadParam),
        }
    }
}
