//! This process as a task: its links, and its connection to the virtual machine.

use crate::control;
use crate::direct::{self, Direct, Ended};
use crate::link::incoming::{Extent, Incoming, Stopped};
use crate::link::outgoing::{Carrier, Outgoing};
use crate::link::sockets::{Arrival, Machine, Sockets};
use crate::neighbours::Neighbours;
use crate::say::say;
use hpvm_pvm::body::{Body, Encoding};
use hpvm_pvm::buffers::{Buffers, Head, Message};
use hpvm_pvm::connection::Connection;
use hpvm_pvm::limit;
use hpvm_pvm::posted::Posted;
use hpvm_pvm::protocol::{Answer, Identity, Mail, Request};
use hpvm_pvm::wire::{Bytes, FRAME_BYTES_MAX};
use hpvm_pvm::{Code, Tid, tid};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// The sockets are looked at at most so often while the task polls: what comes by them, new links and what the virtual
/// machine says, is seen that much later, and a look costs some hundred nanoseconds.
const SOCKET_POLL_INTERVAL: Duration = Duration::from_micros(20);
/// So many polls that find something come between two looks.
const BUSY_LOOK: u32 = 256;
/// How long a sender sleeps for whose receiver too much waits, if nothing comes for it meanwhile; and how often it asks whether the
/// receiver is there at all.
const REST: Duration = Duration::from_millis(1);
const ASK_EVERY: Duration = Duration::from_millis(200);
/// How long somebody who is about to listen is waited for.
const LISTENING_SOON: Duration = Duration::from_secs(1);
/// How often a held notification is looked at by who sleeps.
const HELD_LOOK: Duration = Duration::from_millis(100);
/// What is said about a message beside its bytes is shorter.
const HEADROOM: usize = 4 << 10;

/// How much a call looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It does not wait: the next message of each link of this host, others now and then.
    Glance,
    /// It waits: all links, as far as the next large message.
    Waiting,
    /// Everything.
    Thorough,
}

pub struct Task {
    pub identity: Identity,
    pub control: Connection,
    sockets: Sockets,
    outgoing: Vec<Outgoing>,
    /// The link that was used last: its index.
    recent: usize,
    incoming: Vec<Incoming>,
    /// Where the next look at them begins: behind the one that a look stopped at.
    next: usize,
    /// The links to and from other hosts.
    pub direct: Direct,
    /// What the virtual machine has said, and when: not delivered yet.
    told: VecDeque<(Instant, Mail)>,
    looked: Instant,
    /// Polls that have found something.
    busy: u32,
    /// The virtual machine has ended.
    pub lost: bool,
    /// The program sleeps on our descriptors itself (`pvm_getfds`).
    pub watched: bool,
    /// Bytes of messages that may wait here, and with each task that this one sends to (`HPVM_PVM_QUEUE`).
    pub limit: u64,
    /// Something has come that is not taken, because so much waits here already.
    pub full: bool,
    /// Something was taken while a send waited: output of children may be among it.
    pub unseen: bool,
    pub neighbours: Neighbours,
}

impl Task {
    /// # Errors
    /// A text for people.
    pub fn enroll() -> Result<Task, String> {
        let limit = limit::parse(std::env::var_os(limit::VARIABLE))?;
        let (control, identity, made) = control::open()?;
        let machine = Machine { nonce: identity.nonce, secret: identity.secret.0.clone() };
        let sockets = Sockets::open(machine, identity.tid, made)
            .map_err(|cause| format!("the sockets of task t{:x}: {cause}", identity.tid))?;
        let direct = Direct::new(identity.tid);
        Ok(Task {
            identity,
            control,
            sockets,
            outgoing: Vec::new(),
            recent: 0,
            incoming: Vec::new(),
            next: 0,
            direct,
            told: VecDeque::new(),
            looked: Instant::now(),
            busy: 0,
            lost: false,
            watched: false,
            limit,
            full: false,
            unseen: false,
            neighbours: Neighbours::default(),
        })
    }

    /// The connection to the virtual machine, to sleep on.
    pub fn control_fd(&self) -> RawFd {
        self.control.stream().as_raw_fd()
    }

    pub fn tid(&self) -> Tid {
        self.identity.tid
    }

    /// Asks the virtual machine.
    ///
    /// # Errors
    /// It has ended, or says no.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Code> {
        match self.control.ask(request) {
            Ok(answer) => Ok(answer),
            Err(_) => {
                self.lost = true;
                Err(Code::SysErr)
            }
        }
    }

    /// Sends a message to another task. Where it waits, what comes goes to `buffers`.
    ///
    /// # Errors
    /// There is no memory. A task that is gone gets nothing, and that is no error.
    pub fn send(
        &mut self,
        to: Tid,
        head: &Head,
        parts: &[&[u8]],
        buffers: &mut Buffers,
    ) -> Result<(), Code> {
        if tid::host_of(to) != tid::host_of(self.tid()) {
            return self.send_away(to, head, parts, buffers);
        }
        let Some(index) = self.link_to(to)? else { return Ok(()) };
        let mut links = std::mem::take(&mut self.outgoing);
        let sent =
            links[index].send(head, parts, &mut Sending { task: self, buffers, asked: None });
        self.outgoing = links;
        sent.or_else(|cause| {
            // Of no memory the link knows; the next message may find some.
            if cause.kind() != io::ErrorKind::OutOfMemory {
                self.outgoing.swap_remove(index);
            }
            no_task(&cause)
        })
    }

    /// Waits a moment for a receiver that takes nothing; meanwhile this task takes what others send, so that two that send to
    /// each other do not wait for ever. An error: it cannot take more, either, or the receiver is gone.
    fn rest(
        &mut self,
        to: Tid,
        buffers: &mut Buffers,
        asked: &mut Instant,
        full: Option<RawFd>,
    ) -> io::Result<()> {
        self.unseen |= self.poll(buffers, Look::Thorough, None);
        if self.full {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        if asked.elapsed() > ASK_EVERY {
            *asked = Instant::now();
            match self.ask(&Request::TaskStatus { tid: to }) {
                Ok(Answer::Code { code: 0 }) => {}
                _ => return Err(io::ErrorKind::ConnectionReset.into()),
            }
        }
        let mut fds: Vec<_> = self.descriptors().into_iter().map(waiting).collect();
        fds.extend(full.map(|fd| libc::pollfd { fd, events: libc::POLLOUT, revents: 0 }));
        doze(&mut fds, Some(Instant::now() + REST));
        Ok(())
    }

    /// To another host: by a direct link, or as long as there is none by the virtual machine's processes. What they cannot pass on
    /// at once is waited for.
    fn send_away(
        &mut self,
        to: Tid,
        head: &Head,
        parts: &[&[u8]],
        buffers: &mut Buffers,
    ) -> Result<(), Code> {
        if let Some(mut link) = self.direct.take(to) {
            let mut asked = None;
            let sent = link.send(head, parts, &mut |full| {
                let asked = asked.get_or_insert_with(Instant::now);
                self.rest(to, buffers, asked, Some(full))
            });
            match sent {
                Err(ref cause) if cause.kind() != io::ErrorKind::OutOfMemory => {
                    self.direct.forget(to)
                }
                _ => self.direct.put(to, link),
            }
            if let Err(cause) = &sent
                && no_task(cause) == Err(Code::SysErr)
            {
                let text = format!(
                    "the connection to t{to:x} broke: {cause}; the last messages may be lost"
                );
                say(Some(self.identity.tid), &text);
            }
            return sent.or_else(|cause| no_task(&cause));
        }
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len > FRAME_BYTES_MAX - HEADROOM {
            return Err(Code::NoMem);
        }
        let mail = Mail {
            source: self.tid(),
            tag: head.tag,
            context: head.context,
            wait_id: head.wait_id,
            encoding: head.encoding,
            body: Bytes(parts.concat()),
        };
        self.say(to, mail)?;
        match self.direct.sent(to) {
            Some(word) => self.say(to, word),
            None => Ok(()),
        }
    }

    /// Sends by the virtual machine's processes.
    fn say(&mut self, to: Tid, mail: Mail) -> Result<(), Code> {
        self.control.tell(&Request::Send { to, mail }).map_err(|_| {
            self.lost = true;
            Code::SysErr
        })
    }

    /// The link to a task; `None`: it is gone.
    fn link_to(&mut self, to: Tid) -> Result<Option<usize>, Code> {
        if self.outgoing.get(self.recent).is_some_and(|link| link.to == to) {
            return Ok(Some(self.recent));
        }
        if let Some(index) = self.outgoing.iter().position(|link| link.to == to) {
            self.recent = index;
            return Ok(Some(index));
        }
        let since = Instant::now();
        loop {
            match Outgoing::open(to, self.limit, &mut self.sockets) {
                Ok(link) => {
                    self.outgoing.push(link);
                    self.recent = self.outgoing.len() - 1;
                    return Ok(Some(self.recent));
                }
                Err(cause) => no_task(&cause)?,
            }
            // A task that has just enrolled listens in a moment.
            let there = self.ask(&Request::TaskStatus { tid: to })? == Answer::Code { code: 0 };
            if !there || since.elapsed() > LISTENING_SOON {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Takes what has come; the next message that `posted` accepts goes there. Looks at the sockets if that was long ago, or thoroughly.
    pub fn poll(
        &mut self,
        buffers: &mut Buffers,
        look: Look,
        mut posted: Option<&mut Posted>,
    ) -> bool {
        let extent = match look {
            Look::Glance => Extent::Next,
            Look::Waiting => Extent::OneMessage,
            Look::Thorough => Extent::Everything,
        };
        let mut some = self.poll_links(buffers, extent, posted.as_deref_mut());
        if !self.direct.incoming.is_empty() && (look != Look::Glance || self.direct.is_due()) {
            some |= self.poll_direct(buffers);
        }
        if look == Look::Thorough || (!some && self.looked.elapsed() >= SOCKET_POLL_INTERVAL) {
            self.look();
            // Everything where the virtual machine tells something: that happened after it.
            let tells = !self.control.events.is_empty() || !self.told.is_empty();
            let next = look == Look::Glance && !tells;
            let extent = if next { Extent::Next } else { Extent::Everything };
            some |= self.poll_links(buffers, extent, posted);
            some |= self.poll_direct(buffers);
            some |= self.take_told(buffers);
        } else if some {
            // New links may wait behind one by which something always comes.
            self.busy = self.busy.wrapping_add(1);
            if self.busy.is_multiple_of(BUSY_LOOK) {
                self.look();
            }
        }
        if self.watched {
            self.arm();
        }
        some
    }

    #[inline]
    fn poll_links(
        &mut self,
        buffers: &mut Buffers,
        extent: Extent,
        mut posted: Option<&mut Posted>,
    ) -> bool {
        let mut some = false;
        let mut garbled = None;
        let mut young = false;
        self.full = false;
        let count = self.incoming.len();
        let before = buffers.queued();
        if posted.is_some() && self.may_be_caused() {
            posted = None;
        }
        for at in 0..count {
            let index = (self.next + at) % count;
            let link = &mut self.incoming[index];
            if !link.is_ready() {
                continue;
            }
            if buffers.waiting_bytes() > self.limit {
                self.full |= !link.awaits_segment();
                continue;
            }
            young |= link.is_young();
            let (came, polled) = take(buffers, |mut memory, mut sink| {
                link.poll(&mut memory, &mut sink, extent, posted.as_deref_mut())
            });
            some |= came;
            match polled {
                Ok(Stopped::AtEnd) => {}
                Ok(Stopped::Early) => {
                    // Others come first the next time.
                    self.next = index + 1;
                    some = true;
                    break;
                }
                Err(cause) => {
                    let text = format!("the link from t{:x} is closed: {}", link.from, cause.0);
                    say(Some(self.identity.tid), &text);
                    garbled = Some(index);
                }
            }
        }
        if let Some(index) = garbled {
            self.incoming.swap_remove(index);
        }
        if (young || count > 1) && buffers.queued() > before {
            self.take_causes(buffers, before, young);
        }
        some || posted.is_some_and(|posted| posted.got().is_some())
    }

    /// Whether a message that is there may be the effect of another one that has to come first: then none goes straight to a receive.
    #[inline(never)]
    fn may_be_caused(&self) -> bool {
        let ready = || self.incoming.iter().filter(|link| link.is_ready());
        // A cause is there when its effect is: so all are looked at again behind the first one that is ready.
        ready().any(Incoming::is_young) || (ready().next().is_some() && ready().count() > 1)
    }

    /// Takes what others had sent before the messages behind the first `count` of the queue, and puts all of these in the order in which they
    /// were sent. A message that another one was sent because of lies in its link when that other one does; but the look at that link may
    /// have been before. `young`: there may be links that are not known yet.
    #[inline(never)]
    fn take_causes(&mut self, buffers: &mut Buffers, count: usize, young: bool) {
        if young {
            self.look();
        }
        if self.incoming.len() < 2 {
            return;
        }
        let Some(latest) = buffers.latest_behind(count) else { return };
        for link in &mut self.incoming {
            while buffers.waiting_bytes() <= self.limit
                && link.next_stamp().is_some_and(|stamp| stamp < latest)
            {
                let (came, _) = take(buffers, |mut memory, mut sink| {
                    link.poll(&mut memory, &mut sink, Extent::Next, None)
                });
                // Not whole, or no message at all, which the next poll finds out again and tells.
                if !came {
                    break;
                }
            }
        }
        buffers.sort_behind(count);
    }

    /// The same of other hosts' tasks. A look takes what one read has brought, not all there is: a link goes above the limit of what
    /// waits by one long message and the short ones of a buffer.
    fn poll_direct(&mut self, buffers: &mut Buffers) -> bool {
        let mut some = false;
        let ready = ready(self.direct.open());
        let mut ready = ready.iter();
        let mut links = std::mem::take(&mut self.direct.incoming);
        links.retain_mut(|link| {
            if !link.is_open || ready.next() == Some(&false) {
                return true;
            }
            if buffers.waiting_bytes() > self.limit {
                self.full |= hpvm_os::is_ready(link, libc::POLLIN);
                return true;
            }
            let (came, polled) =
                take(buffers, |mut memory, mut sink| link.poll(&mut memory, &mut sink));
            some |= came;
            if let Err(Ended::Broken(cause)) = &polled {
                let text = format!("the connection from t{:x} is closed: {cause}", link.from);
                say(Some(self.identity.tid), &text);
            }
            polled.is_ok()
        });
        self.direct.incoming = links;
        some
    }

    /// Delivers what the virtual machine has said, behind what its senders had sent before: the end of a task is told after its
    /// last message.
    fn take_told(&mut self, buffers: &mut Buffers) -> bool {
        let mut some = false;
        if !self.control.events.is_empty() {
            let now = Instant::now();
            self.told.extend(self.control.events.drain(..).map(|mail| (now, mail)));
        }
        while let Some((since, mail)) = self.told.pop_front() {
            if direct::is_word(&mail) {
                if let Some(answer) = self.direct.heard(mail.source, mail.tag, &mail.body.0) {
                    // That the virtual machine has ended is noted.
                    let _ = self.say(mail.source, answer);
                }
                continue;
            }
            if self.direct.holds(&mail, since, self.full) {
                self.told.push_front((since, mail));
                break;
            }
            let head = Head { target: self.tid(), ..mail.head() };
            deliver(buffers, head, mail.body.0);
            some = true;
        }
        some
    }

    /// When who sleeps has to look although nothing happens.
    pub fn due(&self) -> Option<Instant> {
        (!self.told.is_empty()).then(|| Instant::now() + HELD_LOOK)
    }

    /// Looks at the sockets.
    fn look(&mut self) {
        self.looked = Instant::now();
        let (own, seldom) = (self.own_descriptors(), self.direct.seldom());
        let first = own.len();
        let mut fds: Vec<_> = own.into_iter().chain(seldom).map(waiting).collect();
        if !matches!(hpvm_os::poll(&mut fds, Some(Duration::ZERO)), Ok(1..)) {
            return;
        }
        // Before the links: what it tells happened after what the links have.
        if fds[0].revents != 0 && self.control.look().is_err() {
            self.lost = true;
        }
        if fds[first..].iter().any(|fd| fd.revents != 0) {
            for (to, word) in self.direct.look() {
                // That the virtual machine has ended is noted.
                let _ = self.say(to, word);
            }
        }
        self.sockets.quiet();
        for Arrival { from, generation, segment } in self.sockets.arrivals() {
            match self.incoming.iter_mut().find(|link| link.from == from && generation > 0) {
                Some(link) => link.add(generation, segment),
                None if generation == 0 => self.incoming.push(Incoming::new(from, segment)),
                None => {}
            }
        }
    }

    /// What to sleep on; the first is the virtual machine's.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let mut all = self.own_descriptors();
        all.extend(self.direct.seldom().chain(self.direct.open()));
        all
    }

    /// Those of this host.
    fn own_descriptors(&self) -> Vec<RawFd> {
        std::iter::once(self.control_fd()).chain(self.sockets.descriptors()).collect()
    }

    /// Asks all senders to ring; says whether nothing is there yet.
    pub fn arm(&self) -> bool {
        // All of them, also behind one that has something.
        self.incoming.iter().filter(|link| !link.arm()).count() == 0
    }

    /// The links to tasks of this host.
    pub fn links(&self) -> &[Outgoing] {
        &self.outgoing
    }

    /// Shows those who send to this task where it waits, and how many tasks it knows.
    pub fn show(&self, here: u32, knows: u32) {
        self.incoming.iter().for_each(|link| link.show(here, knows));
    }

    pub fn disarm(&self) {
        if !self.watched {
            self.incoming.iter().for_each(Incoming::disarm);
        }
    }
}

/// A task that sends, as its link needs it.
struct Sending<'a> {
    task: &'a mut Task,
    buffers: &'a mut Buffers,
    /// When the virtual machine was asked for the receiver.
    asked: Option<Instant>,
}

impl Carrier for Sending<'_> {
    fn hand_over(
        &mut self,
        to: Tid,
        generation: u32,
        capacity: u64,
        file: OwnedFd,
    ) -> io::Result<()> {
        self.task.sockets.hand_over(to, generation, capacity, file)
    }

    fn ring(&mut self, to: Tid) {
        self.task.sockets.ring(to);
    }

    fn rest(&mut self, to: Tid) -> io::Result<()> {
        let asked = self.asked.get_or_insert_with(Instant::now);
        self.task.rest(to, self.buffers, asked, None)
    }
}

/// Sleeps until one of the descriptors is ready, or until the time.
pub fn sleep(fds: &[RawFd], until: Option<Instant>) {
    doze(&mut fds.iter().copied().map(waiting).collect::<Vec<_>>(), until);
}

fn doze(fds: &mut [libc::pollfd], until: Option<Instant>) {
    // Whatever ends it, the task looks.
    let _ = hpvm_os::poll(fds, until.map(|until| until.saturating_duration_since(Instant::now())));
}

/// Which of several descriptors have something to read. Of one that is found out by reading.
fn ready(fds: impl Iterator<Item = RawFd>) -> Vec<bool> {
    let mut fds: Vec<_> = fds.map(waiting).collect();
    if fds.len() < 2 {
        return Vec::new();
    }
    // Of a call that fails no descriptor is ready.
    let _ = hpvm_os::poll(&mut fds, Some(Duration::ZERO));
    fds.iter().map(|fd| fd.revents != 0).collect()
}

fn waiting(fd: RawFd) -> libc::pollfd {
    hpvm_os::entry(&fd, libc::POLLIN)
}

fn deliver(buffers: &mut Buffers, head: Head, bytes: Vec<u8>) {
    let encoding = Encoding::from_number(head.encoding).unwrap_or_default();
    buffers.arrived(Box::new(Message::new(head, Body::of(bytes), encoding)));
}

type Memory<'a> = &'a mut dyn FnMut(usize) -> Option<Vec<u8>>;
type Sink<'a> = &'a mut dyn FnMut(Head, Vec<u8>);

/// Delivers what a link has whole, and says whether that was anything.
#[inline]
fn take<T>(buffers: &mut Buffers, poll: impl FnOnce(Memory<'_>, Sink<'_>) -> T) -> (bool, T) {
    let mut whole = Vec::new();
    let polled =
        poll(&mut |len| buffers.try_memory(len), &mut |head, bytes| whole.push((head, bytes)));
    let came = !whole.is_empty();
    for (head, bytes) in whole {
        deliver(buffers, head, bytes);
    }
    (came, polled)
}

/// Nobody is there: no error. No memory, or a network that fails, is one.
fn no_task(cause: &io::Error) -> Result<(), Code> {
    match cause.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::NotFound => Ok(()),
        io::ErrorKind::PermissionDenied => Err(Code::Denied),
        io::ErrorKind::TimedOut
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown => Err(Code::SysErr),
        _ => Err(Code::NoMem),
    }
}

impl AsRawFd for Task {
    fn as_raw_fd(&self) -> RawFd {
        self.control_fd()
    }
}
