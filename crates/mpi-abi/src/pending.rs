//! What a process that sleeps shows about its pending operations, for `hpvm jobs`.
//!
//! Only a sleep that has lasted for a while is worth telling about, so the first sleep is cut
//! short; what comes awake before that pays a look at the clock.

use crate::object::Meeting;
use crate::object::comm::CommObject;
use crate::object::win::WinObject;
use crate::runtime::{Entered, World};
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::engine::matching::{ANY_PROCESS, Pattern};
use hpvm_mpi::engine::requests::{Operation, Request};
use hpvm_mpi::status::ANY_TAG;
use hpvm_mpi::{Comm, pt2pt::protocol};
use hpvm_wire::pending::{ANY, Kind, OPERATIONS_MAX, Pending, Record, Stage};
use std::sync::Arc;
use std::time::Duration;

/// Longest sleep that nobody is told about.
const PRIVATE: Duration = Duration::from_millis(20);
/// Half of it: what has lasted this long when it begins again is shown.
const SHOW: u64 = PRIVATE.as_nanos() as u64 / 2;
/// Time after which the operations of a long sleep are looked through again. Sleeps are short
/// while packets wait for credits, and there may be many operations.
const RENEW: u64 = 100_000_000;
/// Models that wait for packets, by their numbers in `hpvm_abi::models`.
const MODELS: [&str; 2] = ["Portals", "SAM"];
/// Unexpected messages that are shown.
const MESSAGES: usize = 8;

/// Since when nothing has happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet {
    /// Completions and packets received then.
    mark: (u64, u64),
    /// CLOCK_MONOTONIC, nanoseconds.
    since: u64,
    /// When the operations are to be looked through again.
    next: u64,
    shown: bool,
}

/// CLOCK_MONOTONIC in nanoseconds: the same clock in all processes of a host.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the result; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn page(world: &World) -> &Pending {
    let transport = world.process.fm().transport();
    transport.mapping().pending(transport.local_rank())
}

impl World {
    /// Shows in which part of its life the process is.
    pub(crate) fn show_stage(&self, stage: Stage) {
        page(self).set_stage(stage);
    }
}

impl Entered {
    /// The process is about to sleep for at most `limit`. Returns how long it may.
    pub(crate) fn fall_asleep(&mut self, limit: Duration) -> Duration {
        // Relaxed, as every counter: ours, and it orders nothing.
        let packets = self.process.fm().counters();
        let packets =
            packets.map_or(0, |c| c.packets_received.load(std::sync::atomic::Ordering::Relaxed));
        let mark = (self.process.completions(), packets);
        let now = now();
        if mark != self.quiet.mark || self.quiet.since == 0 {
            self.quiet = Quiet { mark, since: now, next: 0, shown: false };
            self.long_waits.begin(now);
        }
        let limit = self.long_waits.shorten(now, limit);
        if now - self.quiet.since < SHOW {
            return limit.min(PRIVATE);
        }
        if now < self.quiet.next {
            page(self).again();
        } else {
            self.quiet.next = now + RENEW;
            let (records, total) = records(self);
            page(self).publish(self.quiet.since, self.may_be_shared(), &records, total);
        }
        self.quiet.shown = true;
        limit
    }

    /// The process is awake again.
    #[inline]
    pub(crate) fn woken(&mut self) {
        if self.quiet.shown {
            page(self).awake();
            self.quiet.shown = false;
        }
    }

    /// Names the message that a probe waits for while `wait` runs.
    pub(crate) fn probing<R>(
        &mut self,
        object: &CommObject,
        pattern: Pattern,
        wait: impl FnOnce(&mut Entered) -> R,
    ) -> R {
        self.objects.probe = Some((object.comm.clone(), pattern));
        let result = wait(self);
        self.objects.probe = None;
        result
    }
}

/// The first operations of this process, and how many there are.
fn records(world: &World) -> (Vec<Record>, usize) {
    let requests = world.process.requests();
    let mut records = Vec::new();
    let mut total = 0;
    if let Some((comm, pattern)) = &world.objects.probe {
        total += 1;
        records.push(Record { kind: Kind::Probe, ..of_pattern(world, comm, *pattern) });
    }
    if let Some(Meeting { call, context, awaits }) = &world.objects.meeting {
        total += 1 + awaits.len();
        let call = (*call).to_owned();
        records.push(Record { kind: Kind::Collective, call, ..on(world, *context) });
        // As the receives of a collective by messages.
        let comm = world.objects.comm_of_context(*context);
        records.extend(awaits.iter().take(OPERATIONS_MAX - records.len()).map(|process| Record {
            kind: Kind::Receive,
            part: true,
            peer: comm.as_ref().map_or(-1, |(_, c)| c.comm.rank_of(*process)),
            process: *process as i32,
            ..on(world, *context)
        }));
    }
    if let Some(wait) = &world.objects.window_wait {
        let awaits = (wait.awaits)(&wait.window);
        total += 1 + awaits.len();
        let of = on_window(world, &wait.window);
        records.push(Record { call: wait.call.to_owned(), ..of.clone() });
        records.extend(awaits.iter().take(OPERATIONS_MAX - records.len()).map(|rank| Record {
            kind: Kind::Receive,
            part: true,
            peer: *rank as i32,
            process: wait.window.peers[*rank as usize].process as i32,
            ..of.clone()
        }));
    }
    for (bit, model) in MODELS.iter().enumerate() {
        if world.objects.models_waiting & 1 << bit != 0 {
            total += 1;
            let call = format!("{model}: messages");
            records.push(Record { kind: Kind::Other, call, ..on(world, u32::MAX) });
        }
    }
    if requests.live() > 0 {
        let pending = requests.iter().filter(|(_, r)| !r.done);
        for (_, request) in pending {
            total += 1;
            if records.len() < OPERATIONS_MAX {
                records.push(record(world, request));
            }
        }
    }
    for (context, m) in world.process.unexpected_messages().take(MESSAGES) {
        total += 1;
        let comm = world.objects.comm_of_context(context);
        records.push(Record {
            kind: Kind::Unexpected,
            part: context % CONTEXTS != 0,
            peer: comm.as_ref().map_or(-1, |(_, c)| c.comm.rank_of(m.src)),
            process: m.src as i32,
            tag: m.tag,
            bytes: m.bytes(),
            ..on(world, context)
        });
    }
    (records, total)
}

fn record(world: &World, request: &Request) -> Record {
    let part = request.parent.is_some();
    let record = match &request.op {
        Operation::Recv(op) => {
            let of = of_pattern(world, &op.comm, op.pattern);
            let bytes = op.packed_size();
            let of = Record { kind: Kind::Receive, context: op.context, bytes, ..of };
            match &op.transfer {
                // It has matched: from now on the sender is known.
                Some(t) => Record { process: t.src as i32, peer: op.comm.rank_of(t.src), ..of },
                None => of,
            }
        }
        Operation::Send(op) => {
            let (context, tag) = protocol::open_envelope(op.envelope);
            let comm = world.objects.comm_of_context(context);
            Record {
                kind: if op.synchronous { Kind::SynchronousSend } else { Kind::Send },
                peer: comm.map_or(-1, |(_, c)| c.comm.rank_of(op.dst)),
                process: op.dst as i32,
                tag,
                bytes: op.packed_size(),
                ..on(world, context)
            }
        }
        Operation::Collective(Some(c)) => Record {
            kind: Kind::Collective,
            call: c.name().to_owned(),
            ..on(world, c.comm().base_context())
        },
        _ => on(world, request.context.unwrap_or(u32::MAX)),
    };
    Record { part, ..record }
}

fn of_pattern(world: &World, comm: &Arc<Comm>, pattern: Pattern) -> Record {
    let any = pattern.src == ANY_PROCESS;
    Record {
        peer: if any { ANY } else { comm.rank_of(pattern.src) },
        process: if any { ANY } else { pattern.src as i32 },
        tag: if pattern.tag == ANY_TAG { ANY } else { pattern.tag },
        ..on(world, comm.base_context())
    }
}

/// A call on a window of which nothing else is known.
fn on_window(world: &World, window: &WinObject) -> Record {
    let comm = window.extras.borrow().name.clone();
    Record { kind: Kind::Window, comm, ..on(world, window.context()) }
}

/// An operation on the communicator of `context` of which nothing else is known.
fn on(world: &World, context: u32) -> Record {
    let comm = world.objects.comm_of_context(context);
    Record {
        kind: Kind::Other,
        part: false,
        peer: -1,
        process: -1,
        tag: -1,
        context,
        bytes: 0,
        comm: comm.map_or_else(String::new, |(_, c)| c.extras().name.clone()),
        call: String::new(),
    }
}
