//! The state of a virtual machine: its tasks, groups, mailbox and notifications.
//!
//! Requests come in, answers and messages go out; processes are started and signalled through [`System`]. So all of it is
//! tested without a process.

mod groups;
mod mailbox;
mod notify;
mod spawn;
#[cfg(test)]
mod tests;

use crate::protocol::{
    Answer, Destination, Hello, HostLine, Identity, Mail, OUTPUT_EOF, OUTPUT_NEW, Request,
    TaskLine, VERSION,
};
use crate::wire::Bytes;
use crate::{Code, Tid, search, tid};
use notify::{Watch, Watches};
use std::collections::{BTreeMap, BTreeSet};

/// A connection of a task.
pub type ClientId = u64;

/// What the state needs of the system.
pub trait System {
    /// Starts the program as task `tid`; returns its process.
    ///
    /// # Errors
    /// Why not, as `pvm_spawn` says it.
    fn start(&mut self, tid: Tid, start: &crate::protocol::Start) -> Result<i32, Code>;
    /// Sends a signal; says whether the process is there.
    fn signal(&mut self, pid: i32, signal: i32) -> bool;
    /// Seconds and microseconds of the clock.
    fn time(&mut self) -> (i64, i32);
    /// Output that nobody wants goes to the log.
    fn log(&mut self, tid: Tid, text: &[u8]);
}

/// A task of the virtual machine.
#[derive(Debug)]
struct Task {
    parent: Tid,
    /// `None`: its process was started and has not said anything yet.
    client: Option<ClientId>,
    pid: i32,
    program: String,
    console: bool,
    no_reset: bool,
    siblings: Vec<Tid>,
    context: i32,
    output: Destination,
    trace: Destination,
}

/// A virtual machine of one host.
#[derive(Debug)]
pub struct Machine {
    host: String,
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
    out: Vec<(ClientId, Answer)>,
    halting: bool,
}

/// `SIGTERM` and `SIGKILL`.
pub const TERMINATE: i32 = 15;
pub const KILL: i32 = 9;

/// What PVM's code for a host with small end first and 64 bits is.
const SIGNATURE: i32 = 0x0040_8841;
const PARENT_NONE: Tid = Code::NoParent as i32;

impl Machine {
    pub fn new(host: String, nonce: i64, secret: Vec<u8>) -> Machine {
        Machine {
            host,
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
    pub fn outgoing(&mut self) -> Vec<(ClientId, Answer)> {
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

    /// The processes of all tasks.
    pub fn processes(&self) -> Vec<i32> {
        self.tasks.values().filter(|task| !task.console).map(|task| task.pid).collect()
    }

    fn new_tid(&mut self) -> Option<Tid> {
        for _ in 0..tid::LOCAL_MAX {
            self.last = self.last % tid::LOCAL_MAX + 1;
            let tid = tid::FIRST_HOST | self.last;
            if !self.tasks.contains_key(&tid) && !self.outlets.contains_key(&tid) {
                return Some(tid);
            }
        }
        None
    }

    fn answer(&mut self, client: ClientId, answer: Answer) {
        self.out.push((client, answer));
    }

    fn deliver(&mut self, tid: Tid, mail: Mail) {
        if let Some(client) = self.tasks.get(&tid).and_then(|task| task.client) {
            self.answer(client, Answer::Event { mail });
        }
    }

    /// A client's request. `pid` is that of the client's process, which the system knows. Says whether the client may
    /// go on: a request that makes no sense before it has enrolled ends the connection.
    pub fn request(
        &mut self,
        client: ClientId,
        pid: i32,
        request: Request,
        system: &mut impl System,
    ) -> bool {
        if let Request::Enroll { hello } = request {
            return self.enroll(client, pid, hello);
        }
        let Some(tid) = self.clients.get(&client).copied() else { return false };
        let answer = match self.serve(client, tid, request, system) {
            Ok(Some(answer)) => answer,
            Ok(None) => return true,
            Err(code) => Answer::Code { code: code.number() },
        };
        self.answer(client, answer);
        true
    }

    fn enroll(&mut self, client: ClientId, pid: i32, hello: Hello) -> bool {
        if hello.version != VERSION || self.clients.contains_key(&client) {
            self.answer(client, Answer::Code { code: Code::BadVersion.number() });
            return false;
        }
        let claimed = self.tasks.get_mut(&hello.claim);
        let started = claimed.filter(|task| task.client.is_none() && hello.nonce == self.nonce);
        let tid = match started {
            Some(task) => {
                task.client = Some(client);
                task.pid = pid;
                hello.claim
            }
            None => {
                let Some(tid) = self.new_tid() else {
                    self.answer(client, Answer::Code { code: Code::OutOfRes.number() });
                    return false;
                };
                let task = Task {
                    parent: PARENT_NONE,
                    client: Some(client),
                    pid,
                    program: hello.program,
                    console: hello.console,
                    no_reset: hello.console,
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
        let task = &self.tasks[&tid];
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
        self.answer(client, Answer::Enrolled { identity });
        true
    }

    /// The connection has ended, or the process behind it.
    pub fn gone(&mut self, client: ClientId) {
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
        self.release(released, Answer::Code { code: 0 });
        self.mailbox.gone(client, tid);
        self.watches.gone(tid);
        for watch in self.watches.happened(tid) {
            self.deliver(watch.watcher, watch.mail(tid::FIRST_HOST, &[tid]));
        }
    }

    /// A process that was started has ended. A task that another process has become is not gone by that.
    pub fn process_gone(&mut self, tid: Tid, pid: i32) {
        let Some(task) = self.tasks.get(&tid).filter(|task| task.pid == pid) else { return };
        // Without a connection there is no client: no group and no mailbox knows it.
        let client = task.client.unwrap_or(ClientId::MAX);
        self.task_gone(client, tid);
    }

    fn release(&mut self, clients: Vec<ClientId>, answer: Answer) {
        for client in clients {
            self.answer(client, answer.clone());
        }
    }

    /// What a started process has written.
    pub fn output(&mut self, tid: Tid, text: &[u8], system: &mut impl System) {
        self.forward(tid, text.len() as i32, text, system);
    }

    /// A started process, and all that have its output, have closed it.
    pub fn output_ended(&mut self, tid: Tid, system: &mut impl System) {
        self.forward(tid, OUTPUT_EOF, &[], system);
        self.outlets.remove(&tid);
    }

    fn forward(&mut self, tid: Tid, len: i32, text: &[u8], system: &mut impl System) {
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
            system.log(tid, text);
        }
    }

    fn serve(
        &mut self,
        client: ClientId,
        tid: Tid,
        request: Request,
        system: &mut impl System,
    ) -> Result<Option<Answer>, Code> {
        let code = |code| Ok(Some(Answer::Code { code }));
        match request {
            // Handled before.
            Request::Enroll { .. } => Err(Code::Already),
            Request::Exit {} => {
                self.task_gone(client, tid);
                code(0)
            }
            Request::Spawn { start } => self.spawn(tid, start, system).map(Some),
            Request::Signal { tid, signal } => self.signal(tid, signal, system).and_then(code),
            Request::Tasks { place } => self.list(place).map(Some),
            Request::Config {} => Ok(Some(Answer::Hosts { hosts: vec![self.host_line()] })),
            Request::HostStatus { name } => {
                code(if self.is_here(&name) { 0 } else { Code::NoHost.number() })
            }
            Request::TaskStatus { tid } if !tid::is_task(tid) => Err(Code::BadParam),
            Request::TaskStatus { tid } => {
                code(if self.tasks.contains_key(&tid) { 0 } else { Code::NoTask.number() })
            }
            Request::Notify { what, tag, context, count, tids } => {
                self.notify(Watch { watcher: tid, tag, context }, what, count, &tids).and_then(code)
            }
            Request::AddHosts { names } => {
                let code = |name: &String| match self.is_here(name) {
                    true => Code::DupHost.number(),
                    false => Code::CantStart.number(),
                };
                Ok(Some(Answer::Tids { tids: names.iter().map(code).collect() }))
            }
            Request::DeleteHosts { names } => {
                let code = |name: &String| match self.is_here(name) {
                    true => Code::BadParam.number(),
                    false => Code::NoHost.number(),
                };
                Ok(Some(Answer::Tids { tids: names.iter().map(code).collect() }))
            }
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
                self.mailbox.delete(&name, tid, index).and_then(|()| code(0))
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
            Request::Reset { keep } => self.reset(tid, keep, system).and_then(code),
            Request::Halt {} => {
                self.halting = true;
                Ok(Some(Answer::Halting {}))
            }
            Request::Clock { host } => match host == tid::FIRST_HOST {
                true => {
                    let (seconds, micros) = system.time();
                    Ok(Some(Answer::Time { seconds, micros }))
                }
                false if tid::is_host(host) => Err(Code::NoHost),
                false => Err(Code::BadParam),
            },
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
        self.release(released, Answer::Code { code: 0 });
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

    fn is_here(&self, name: &str) -> bool {
        let name = name.split(':').next().unwrap_or_default();
        name == "." || name == "localhost" || name == self.host
    }

    fn host_line(&self) -> HostLine {
        HostLine {
            tid: tid::FIRST_HOST,
            name: self.host.clone(),
            arch: search::ARCH.to_owned(),
            speed: 1000,
            signature: SIGNATURE,
        }
    }

    fn list(&self, place: i32) -> Result<Answer, Code> {
        let wanted = |tid: &Tid| place == 0 || place == *tid || place == tid::host_of(*tid);
        if place != 0 && place != tid::FIRST_HOST {
            if tid::is_host(place) {
                return Err(Code::NoHost);
            }
            if !tid::is_task(place) {
                return Err(Code::BadParam);
            }
            if !self.tasks.contains_key(&place) {
                return Err(Code::NoTask);
            }
        }
        let line = |(tid, task): (&Tid, &Task)| TaskLine {
            tid: *tid,
            parent: task.parent.max(0),
            host: tid::FIRST_HOST,
            flags: if task.client.is_some() { 4 } else { 0 },
            program: task.program.clone(),
            pid: task.pid,
        };
        let tasks = self.tasks.iter().filter(|(tid, _)| wanted(tid)).map(line).collect();
        Ok(Answer::Tasks { tasks })
    }

    fn signal(&mut self, tid: Tid, signal: i32, system: &mut impl System) -> Result<i32, Code> {
        // Signals of Linux, and 0, which asks whether somebody is there.
        if !tid::is_task(tid) || !(0..=64).contains(&signal) {
            return Err(Code::BadParam);
        }
        let task = self.tasks.get(&tid).ok_or(Code::NoTask)?;
        if system.signal(task.pid, signal) { Ok(0) } else { Err(Code::NoTask) }
    }

    fn reset(&mut self, tid: Tid, keep: i32, system: &mut impl System) -> Result<i32, Code> {
        for (other, task) in &self.tasks {
            if *other != tid && *other != keep && !task.no_reset {
                system.signal(task.pid, TERMINATE);
            }
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
                let form = if kind == notify::TASK_EXIT { tid::is_task } else { tid::is_host };
                if !tids.iter().all(|tid| form(*tid)) {
                    return Err(Code::BadParam);
                }
                for tid in tids {
                    let there = self.tasks.contains_key(tid) || *tid == tid::FIRST_HOST;
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
