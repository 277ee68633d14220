//! Comparing the calls that the members of a communicator make.
//!
//! Every member tells one of them, the collector, what it calls, and the collector tells all whether they
//! agree. A blocking call waits for that before it runs; a non-blocking one goes on, and the answer is looked at
//! when the program makes progress. Members call on a communicator in one order, and messages of a pair do
//! not overtake each other, so what comes first belongs to the earlier call. The messages travel on the
//! communicator's context for partitioned messages, with a tag that those do not use (theirs are negative
//! first).

use super::collective::{BYTES, Notes, Record, agree, describe, record};
use crate::object::comm::CommObject;
use crate::raise::{EXPLANATION, fatal};
use crate::runtime::{Entered, World};
use hpvm_fm::Rank;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, Comm, Error, ReqId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

const TAG: i32 = hpvm_wire::pending::COMPARE_TAG;

/// Comparisons under way, in the order of the calls.
#[derive(Debug, Default)]
pub struct Comparisons {
    next: u64,
    list: VecDeque<Comparison>,
}

impl Comparisons {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.list.len()
    }
}

#[derive(Debug)]
struct Comparison {
    number: u64,
    function: &'static str,
    object: Arc<CommObject>,
    own: Record,
    /// Messages that have not come.
    pending: Vec<ReqId>,
    /// Where they go: at the collector the others' records, at the others its answer.
    incoming: Box<[u8]>,
    /// The call waits for the answer.
    blocking: bool,
    answer: Option<Answer>,
}

/// The collector's call and the first that differs; both the collector's when all agree.
type Answer = [Record; 2];

fn mistake([first, other]: &Answer) -> Result<()> {
    if agree(first, other) {
        return Ok(());
    }
    let text = format!("{} while {}", describe(other), describe(first));
    Err(Error::new(Class::NotSame, text))
}

/// Compares what the members are about to call. Blocks. The error, the same on every member, names the
/// first one that differs from the collector.
pub fn compare(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    notes: &Notes,
) -> Result<()> {
    let Some(number) = begin(w, object, function, notes, true)? else { return Ok(()) };
    let mut found = None;
    w.wait_until(|w| {
        let list = &mut w.objects.comparisons.list;
        let ended = |c: &Comparison| c.number == number && c.answer.is_some();
        if let Some(index) = list.iter().position(ended) {
            found = list.remove(index).and_then(|c| c.answer);
        }
        found.is_some()
    })?;
    found.map_or(Ok(()), |answer| mistake(&answer))
}

/// The same for a call that does not wait: a mistake ends the job when it is found.
pub fn compare_later(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    notes: &Notes,
) -> Result<()> {
    begin(w, object, function, notes, false).map(drop)
}

/// Waits until all calls have been compared: the members of a communicator all make them.
pub fn compare_all(w: &mut Entered) -> Result<()> {
    w.wait_until(|w| w.objects.comparisons.is_empty())
}

/// Before an operation's error is told: calls that do not fit are the better explanation, whose answer may
/// still be under way.
pub fn compare_soon(w: &mut Entered) {
    if w.objects.comparisons.is_empty() {
        return;
    }
    let end = Instant::now() + EXPLANATION;
    // Whatever goes wrong here, the error to be told came first.
    let _ = w.wait_until(|w| w.objects.comparisons.is_empty() || Instant::now() >= end);
}

/// Tells the others what this member calls. The comparison's number; `None`: there are no others.
fn begin(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    notes: &Notes,
    blocking: bool,
) -> Result<Option<u64>> {
    let comm = &object.comm;
    let members = members(comm);
    let (Some(me), [collector, others @ ..]) = (comm.group().process(comm.rank()), &*members)
    else {
        return Err(Class::Intern.into());
    };
    if others.is_empty() {
        return Ok(None);
    }
    let own = record(comm, function, notes);
    let (from, each) = match me == *collector {
        true => (others, BYTES),
        false => {
            send(w, comm, *collector, &own);
            (&members[..1], 2 * BYTES)
        }
    };
    let mut incoming = vec![0; from.len() * each].into_boxed_slice();
    let places = incoming.chunks_exact_mut(each).zip(from);
    let pending = places.map(|(place, from)| receive(w, comm, *from, place)).collect();
    let comparisons = &mut w.objects.comparisons;
    let number = comparisons.next;
    comparisons.next += 1;
    let object = object.clone();
    comparisons.list.push_back(Comparison {
        number,
        function,
        object,
        own,
        pending,
        incoming,
        blocking,
        answer: None,
    });
    Ok(Some(number))
}

/// The processes of a communicator, the collector first: the first process, of an intercommunicator the
/// lower one of the two groups' first ones.
fn members(comm: &Comm) -> Vec<Rank> {
    let all = |group: &hpvm_mpi::Group| -> Vec<Rank> {
        (0..group.size()).filter_map(|rank| group.process(rank)).collect()
    };
    let (mut first, mut second) = (all(comm.group()), Vec::new());
    if let Some(remote) = comm.remote_group() {
        second = all(remote);
        if second.first() < first.first() {
            core::mem::swap(&mut first, &mut second);
        }
    }
    first.append(&mut second);
    first
}

/// Looks at what has come. True when a comparison has ended. No function of the program runs.
pub fn settle(w: &mut Entered) -> bool {
    let mut moved = false;
    let mut index = 0;
    while index < w.objects.comparisons.list.len() {
        match settle_one(w, index) {
            Some(true) => {
                w.objects.comparisons.list.remove(index);
                moved = true;
            }
            Some(false) => {
                index += 1;
                moved = true;
            }
            None => index += 1,
        }
    }
    moved
}

/// Looks at one. `Some`: it has just ended; true: nobody waits for it.
fn settle_one(w: &mut Entered, index: usize) -> Option<bool> {
    let World { process, objects, .. } = &mut **w;
    let c = objects.comparisons.list.get_mut(index).filter(|c| c.answer.is_none())?;
    c.pending.retain(|id| process.take_outcome(*id).is_none());
    if !c.pending.is_empty() {
        return None;
    }
    let comm = c.object.comm.clone();
    let members = members(&comm);
    let (records, _) = c.incoming.as_chunks::<BYTES>();
    let collects = comm.group().process(comm.rank()) == members.first().copied();
    let answer = match (collects, records) {
        (false, [first, other]) => [*first, *other],
        _ => [c.own, records.iter().find(|r| !agree(&c.own, r)).copied().unwrap_or(c.own)],
    };
    c.answer = Some(answer);
    let (blocking, function, object) = (c.blocking, c.function, c.object.clone());
    if collects {
        for member in &members[1..] {
            send(w, &comm, *member, answer.as_flattened());
        }
    }
    if let (false, Err(error)) = (blocking, mistake(&answer)) {
        let name = object.extras().name.clone();
        fatal(function, &name, &error);
    }
    Some(!blocking)
}

fn send(w: &mut Entered, comm: &Comm, to: Rank, bytes: &[u8]) {
    let context = comm.context(Channel::Partitioned);
    let m = Outgoing { buf: bytes.as_ptr(), count: bytes.len() as i64, ty: Datatype::byte() };
    // SAFETY: the bytes are copied where the message cannot go out at once.
    let started = unsafe { w.process.send(m, to, context, TAG, Mode::Buffered, None) };
    if let Started::Pending(id) = started {
        w.process.detach(id);
    }
}

fn receive(w: &mut Entered, comm: &Arc<Comm>, from: Rank, bytes: &mut [u8]) -> ReqId {
    let pattern = Pattern { src: from, tag: TAG };
    let m = Incoming { buf: bytes.as_mut_ptr(), count: bytes.len() as i64, ty: Datatype::byte() };
    let world: &mut World = w;
    // SAFETY: the comparison keeps the bytes until it has ended, and they do not move.
    unsafe { world.process.recv(m, comm, Channel::Partitioned, pattern, None) }
}
