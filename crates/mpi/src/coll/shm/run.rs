//! A whole collective through shared memory, by whichever method: what the members may have to agree on before it,
//! and the steps that it consists of.

use super::direct_read::DirectRead;
use super::hierarchical::Hierarchical;
use super::large::{Part, Steps};
use super::ring_reduce::RingReduce;
use super::slots::Exchange;
use super::{AGREED, ALL_READ, BlockBuffers, CollArgs, HOSTS, MAX_SLOT, NEVER, NEW, ShmCollective};
use crate::comm::Comm;
use crate::datatype::{Datatype, TypeRef};
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::op::Predef;
use crate::pt2pt::protocol::MAX_FRAGMENTED;
use hpvm_coll::select::{self, Carrier, Facts, ShmMethod};
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::LARGE_SETS;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Handle value of `MPI_UINT64_T`.
const UINT64_T: usize = 0x259;

/// A collective that is under way. The caller polls it until it is done.
#[derive(Debug)]
pub enum ShmOperation<'a> {
    /// There was nothing to do.
    Done,
    /// One exchange through slots.
    Slots(Exchange<'a>),
    Long(Box<Long<'a>>),
}

/// A collective that is more than one exchange through slots.
#[derive(Debug)]
pub struct Long<'a> {
    comm: &'a Arc<Comm>,
    bytes: u64,
    /// The collective, until its method is chosen.
    args: Option<CollArgs>,
    step: Step<'a>,
    /// The words that the members exchange to agree on something.
    words: Box<[u64]>,
    /// The first error. This member goes on nevertheless, because the others do, and all must count the same
    /// operations.
    error: Option<Box<Error>>,
}

#[derive(Debug)]
enum Step<'a> {
    /// The members tell each other whether they can read long data out of each other's memory.
    Negotiate(Exchange<'a>),
    /// Each member offers a staging buffer.
    Offer(Hierarchical<'a>),
    /// Each member says whether it could map the staging buffers of its host.
    Vote(Hierarchical<'a>, Option<super::StagingBuffers>),
    Exchange(Exchange<'a>, Steps),
    RingReduce(RingReduce<'a>),
    DirectRead(DirectRead<'a>),
    Hierarchical(Hierarchical<'a>),
    /// The collective goes by messages; nothing of it has been done.
    Messages,
    End,
}

impl<T: Transport> Process<T> {
    /// Whether `args`, the next blocking collective on `comm`, is one exchange through slots ([`Exchange::begin`]).
    /// A member shows up to `bytes` of it, 1 for a barrier. If not, [`Process::begin_shm`] chooses. The same answer
    /// on all members.
    #[inline(always)]
    pub fn goes_by_slots(&self, comm: &Comm, args: &CollArgs, bytes: u64) -> bool {
        // Relaxed: see `SlotState`.
        let limit = comm.coll_slots().slots_up_to[args.limit_index()].load(Ordering::Relaxed);
        bytes.wrapping_sub(1) < u64::from(limit)
    }

    /// Whether `args`, of which a member shows up to `bytes`, certainly goes by messages. The same answer on all
    /// members.
    #[inline(always)]
    pub fn goes_by_messages(&self, comm: &Comm, args: &CollArgs, bytes: u64) -> bool {
        args.kind().is_some_and(|kind| {
            let limit = &comm.coll_slots().messages_above[kind as usize];
            bytes > limit.load(Ordering::Relaxed) // relaxed: see `SlotState`
        })
    }

    /// Whether `args` would be one exchange through slots if these were not suspended
    /// ([`Process::suspend_slots`]).
    #[inline(always)]
    pub fn would_go_by_slots(&self, comm: &Comm, args: &CollArgs, bytes: u64) -> bool {
        // Relaxed: see `SlotState`.
        let limit = comm.coll_slots().suspended[args.limit_index()].load(Ordering::Relaxed);
        bytes.wrapping_sub(1) < u64::from(limit)
    }

    /// Begins `args`, the next blocking collective on `comm`. A member shows up to `bytes` of it, 1 for a barrier.
    /// `None`: it goes by messages. To be called once per collective; the same answer on all members.
    ///
    /// # Safety
    /// The buffers stay valid, for as many elements as the call of MPI says, until `poll` says
    /// that the collective is done.
    pub unsafe fn begin_shm<'a>(
        &mut self,
        comm: &'a Arc<Comm>,
        args: CollArgs,
        bytes: u64,
    ) -> Result<Option<ShmOperation<'a>>> {
        let state = comm.coll_slots();
        let stage = || state.stage.load(Ordering::Relaxed); // relaxed: see `SlotState`
        if stage() == NEW {
            self.set_up_slots(comm);
        }
        if bytes == 0 && !comm.is_inter() {
            return Ok(Some(ShmOperation::Done));
        }
        let long =
            |step, args| Long { comm, bytes, args, step, words: Box::default(), error: None };
        match stage() {
            NEVER => Ok(None),
            HOSTS => {
                // SAFETY: the caller's promise.
                let mut long = long(Step::Messages, Some(args));
                // SAFETY: as above.
                unsafe { long.begin_across_hosts(self)? };
                Ok(long.into_operation())
            }
            _ if self.goes_by_slots(comm, &args, bytes) => {
                // SAFETY: the caller's promise.
                Ok(unsafe { Exchange::begin(comm, args, Part::Short) }.map(ShmOperation::Slots))
            }
            _ if self.goes_by_messages(comm, &args, bytes) => Ok(None),
            _ if state.has_agreed(AGREED) => {
                let mut long = long(Step::Messages, Some(args));
                // SAFETY: the caller's promise.
                unsafe { long.choose(self)? };
                Ok(long.into_operation())
            }
            _ => {
                let mut long = long(Step::Messages, Some(args));
                long.negotiate(self)?;
                Ok(long.into_operation())
            }
        }
    }

    /// The facts about `comm` that all members know alike. `reads` is false until they have agreed on it.
    pub(super) fn facts(&self, comm: &Comm) -> Facts {
        let state = comm.coll_slots();
        Facts {
            members: comm.size(),
            oversubscribed: self.oversubscribed,
            reads: state.all_read(),
            large: state.index().is_some_and(|index| index < LARGE_SETS),
        }
    }
}

impl<'a> Long<'a> {
    fn into_operation(self) -> Option<ShmOperation<'a>> {
        match self.step {
            Step::Messages => None,
            Step::Exchange(exchange, steps) if steps.is_empty() => {
                Some(ShmOperation::Slots(exchange))
            }
            step => Some(ShmOperation::Long(Box::new(Long { step, ..self }))),
        }
    }

    /// Begins the exchange in which the members tell each other whether they can read each other's memory.
    fn negotiate<T: Transport>(&mut self, p: &Process<T>) -> Result<()> {
        let reads = p.prefers_read(p.fm().rank(), MAX_FRAGMENTED);
        self.words = [u64::from(!reads)].into();
        let vote = maximum(&mut self.words)?;
        // SAFETY: the words live in a box that stays until the exchange has ended.
        let exchange = unsafe { Exchange::begin(self.comm, vote, Part::Short) };
        self.step = Step::Negotiate(exchange.ok_or_else(intern)?);
        Ok(())
    }

    /// Chooses the method and begins its first step.
    ///
    /// # Safety
    /// As for [`Process::begin_shm`].
    unsafe fn choose<T: Transport>(&mut self, p: &Process<T>) -> Result<()> {
        let (comm, args) = (self.comm, self.args.take().ok_or_else(intern)?);
        let kind = args.kind().ok_or_else(intern)?;
        let tuned =
            || match p.select.carrier(kind, comm.size(), self.bytes.min(i64::MAX as u64) as i64) {
                Carrier::SharedMemory => None,
                Carrier::Messages => Some(ShmMethod::Messages),
            };
        let facts = p.facts(comm);
        let method = match p.carriers_tuned {
            true => tuned().unwrap_or_else(|| select::untimed_shm(kind, &facts, self.bytes)),
            false => select::select_shm(kind, &facts, self.bytes),
        };
        // SAFETY: the caller's promise, for all of them.
        self.step = unsafe {
            match method {
                ShmMethod::Messages => {
                    if !p.carriers_tuned {
                        let limit = select::messages_above(kind, &facts);
                        // Relaxed: see `SlotState`.
                        comm.coll_slots().messages_above[kind as usize]
                            .store(limit, Ordering::Relaxed);
                    }
                    Step::Messages
                }
                ShmMethod::Slots => {
                    if !p.carriers_tuned {
                        let limit = select::slots_up_to(kind, &facts) as u32;
                        // Relaxed: see `SlotState`.
                        comm.coll_slots().slots_up_to[kind as usize]
                            .store(limit, Ordering::Relaxed);
                    }
                    let exchange = Exchange::begin(comm, args, Part::Short);
                    Step::Exchange(exchange.ok_or_else(intern)?, Steps::default())
                }
                ShmMethod::LargeSlots => self.steps(args, facts.oversubscribed)?,
                ShmMethod::RingReduce => {
                    Step::RingReduce(p.begin_ring_reduce(comm, args).ok_or_else(intern)?)
                }
                ShmMethod::DirectRead => {
                    Step::DirectRead(p.begin_direct_read(comm, args).ok_or_else(intern)?)
                }
            }
        };
        Ok(())
    }

    /// `args` in as many exchanges of large slots as it takes.
    ///
    /// # Safety
    /// As for [`Process::begin_shm`].
    unsafe fn steps(&self, args: CollArgs, oversubscribed: bool) -> Result<Step<'a>> {
        let at = (self.comm.rank(), self.comm.size());
        let mut steps = Steps::new(args, self.bytes, at, oversubscribed);
        let (args, part) = steps.next().ok_or_else(intern)?;
        // SAFETY: the caller's promise.
        let exchange = unsafe { Exchange::begin(self.comm, args, part) };
        Ok(Step::Exchange(exchange.ok_or_else(intern)?, steps))
    }

    /// Begins a collective of members on several hosts, or what has to be agreed on before.
    ///
    /// # Safety
    /// As for [`Process::begin_shm`].
    unsafe fn begin_across_hosts<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        let (comm, args) = (self.comm, self.args.take().ok_or_else(intern)?);
        let kind = args.kind();
        let bytes = if matches!(args, CollArgs::Barrier) { 0 } else { self.bytes };
        if p.carriers_tuned
            && let Some(kind) = kind
            && p.select.carrier(kind, comm.size(), bytes.min(i64::MAX as u64) as i64)
                == Carrier::Messages
        {
            return Ok(());
        }
        let Some(longest) = p.longest_slot(comm, &args, bytes) else { return Ok(()) };
        match p.may_stage(comm, longest) {
            Some(false) => {}
            Some(true) => {
                // SAFETY: the caller's promise.
                let call = unsafe { p.begin_hierarchical(comm, args, longest) };
                self.step = Step::Hierarchical(call.ok_or_else(intern)?);
            }
            None if u64::from(comm.size()) * size_of::<u64>() as u64 > MAX_SLOT => {
                // To agree would itself need more than slots.
                p.agree_on_staging(comm, None);
            }
            None => {
                self.args = Some(args);
                self.offer(p)?;
            }
        }
        Ok(())
    }

    /// Begins to offer a staging buffer.
    fn offer<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        let comm = self.comm;
        // The last word is ours, the others are everybody's.
        let own = p.offer_staging(comm);
        self.words = (0..comm.size()).map(|_| 0).chain([own]).collect();
        let word = Datatype::predefined(UINT64_T).ok_or_else(intern)?;
        let offers = CollArgs::Allgather(BlockBuffers {
            send: Some(self.words[comm.size() as usize..].as_ptr().cast()),
            send_count: 1,
            send_ty: TypeRef::new(word),
            recv: self.words.as_mut_ptr().cast(),
            recv_count: 1,
            recv_ty: TypeRef::new(word),
        });
        let longest = p.longest_slot(comm, &offers, size_of::<u64>() as u64).ok_or_else(intern)?;
        // SAFETY: the words live in a box that stays until the operation has ended.
        let call = unsafe { p.begin_hierarchical(comm, offers, longest) };
        self.step = Step::Offer(call.ok_or_else(intern)?);
        Ok(())
    }

    /// Begins the exchange in which each member says whether it could map the staging buffers of its host.
    fn vote<T: Transport>(&mut self, p: &mut Process<T>, offered: bool) -> Result<()> {
        let comm = self.comm;
        let seen = p.see_staging(comm, &self.words).filter(|_| offered);
        self.words = [u64::from(seen.is_none())].into();
        let vote = maximum(&mut self.words)?;
        // SAFETY: as for `offer`.
        let call = unsafe { p.begin_hierarchical(comm, vote, size_of::<u64>() as u64) };
        self.step = Step::Vote(call.ok_or_else(intern)?, seen);
        Ok(())
    }

    fn keep(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(Box::new(error));
        }
    }

    /// A step is done: begins the next one.
    fn next_step<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        // SAFETY, all: the buffers are those of `begin_shm`, whose caller keeps them.
        match core::mem::replace(&mut self.step, Step::End) {
            Step::Negotiate(_) => {
                let [copies] = self.words[..] else { return Err(intern()) };
                let agreed = if copies == 0 { AGREED | ALL_READ } else { AGREED };
                self.comm.coll_slots().agreed.store(agreed, Ordering::Relaxed); // relaxed: see `SlotState`
                // SAFETY: see above.
                unsafe { self.choose(p) }
            }
            Step::Offer(_) => {
                let offered = self.error.take().is_none();
                self.vote(p, offered)
            }
            Step::Vote(_, seen) => {
                let all = self.error.take().is_none() && self.words[0] == 0;
                p.agree_on_staging(self.comm, seen.filter(|_| all));
                self.step = Step::Messages;
                // SAFETY: see above.
                unsafe { self.begin_across_hosts(p) }
            }
            Step::Exchange(_, mut steps) => {
                if let Some((args, part)) = steps.next() {
                    // SAFETY: see above.
                    let exchange = unsafe { Exchange::begin(self.comm, args, part) };
                    self.step = Step::Exchange(exchange.ok_or_else(intern)?, steps);
                }
                Ok(())
            }
            Step::DirectRead(read) => {
                if let Some(args) = read.refused() {
                    // A read was refused, so from now on nobody reads, and another method is chosen.
                    self.args = Some(args);
                    // SAFETY: see above.
                    unsafe { self.choose(p)? };
                }
                Ok(())
            }
            step @ Step::Messages => {
                self.step = step;
                Ok(())
            }
            Step::RingReduce(_) | Step::Hierarchical(_) | Step::End => Ok(()),
        }
    }

    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        loop {
            let polled = match &mut self.step {
                Step::Negotiate(step) | Step::Exchange(step, _) => step.poll(p),
                Step::Offer(step) | Step::Vote(step, _) | Step::Hierarchical(step) => step.poll(p),
                Step::RingReduce(step) => step.poll(p),
                Step::DirectRead(step) => step.poll(p),
                Step::Messages | Step::End => {
                    return self.error.take().map_or(Ok(true), |error| Err(*error));
                }
            };
            match polled {
                Ok(false) => return Ok(false),
                polled => self.keep(polled.map(drop)),
            }
            self.next_step(p)?;
        }
    }
}

/// An allreduce over `words` whose result is the highest word of all members, in each position.
fn maximum(words: &mut [u64]) -> Result<CollArgs> {
    let ty = Datatype::predefined(UINT64_T).and_then(|ty| ty.as_predefined()).ok_or_else(intern)?;
    Ok(CollArgs::Reduce {
        root: None,
        send: core::ptr::null(),
        recv: words.as_mut_ptr().cast(),
        count: words.len(),
        bytes: size_of_val(words),
        ty,
        op: Predef::Max,
    })
}

#[cold]
fn intern() -> Error {
    Class::Intern.into()
}

impl ShmOperation<'_> {
    /// To be asked when `poll` has said that it is done: whether it goes by messages after all, and nothing has been
    /// done. The same answer on all members.
    #[inline]
    pub fn goes_by_messages(&self) -> bool {
        matches!(self, ShmOperation::Long(long) if matches!(long.step, Step::Messages))
    }
}

/// Calls a method of the step that is under way.
macro_rules! under_way {
    ($shm:expr, $otherwise:expr, $step:ident => $call:expr) => {
        match $shm {
            ShmOperation::Done => $otherwise,
            ShmOperation::Slots($step) => $call,
            ShmOperation::Long(long) => match &long.step {
                Step::Negotiate($step) | Step::Exchange($step, _) => $call,
                Step::Offer($step) | Step::Vote($step, _) | Step::Hierarchical($step) => $call,
                Step::RingReduce($step) => $call,
                Step::DirectRead($step) => $call,
                Step::Messages | Step::End => $otherwise,
            },
        }
    };
}

impl ShmCollective for ShmOperation<'_> {
    #[inline(always)]
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        match self {
            ShmOperation::Done => Ok(true),
            ShmOperation::Slots(exchange) => exchange.poll(p),
            ShmOperation::Long(long) => long.poll(p),
        }
    }

    fn awaits<T: Transport>(&self, p: &Process<T>, which: impl Fn(Rank) -> bool) -> bool {
        under_way!(self, false, step => step.awaits(p, which))
    }

    fn number(&self) -> u64 {
        under_way!(self, 0, step => step.number())
    }

    fn lacks_room(&self) -> bool {
        under_way!(self, false, step => step.lacks_room())
    }

    fn is_ready<T: Transport>(&self, p: &Process<T>) -> bool {
        under_way!(self, true, step => step.is_ready(p))
    }

    fn is_crossing(&self) -> bool {
        under_way!(self, false, step => step.is_crossing())
    }

    fn is_long(&self) -> bool {
        under_way!(self, false, step => step.is_long())
    }
}

#[cfg(test)]
mod tests {
    use hpvm_coll::select;
    use hpvm_wire::coll_slots::{LARGE_SLOT_BYTES, SLOT_BYTES};

    #[test]
    fn the_table_of_ways_knows_how_long_slots_are() {
        assert_eq!(select::SLOT, SLOT_BYTES as u64);
        assert_eq!(select::LARGE_SLOT, LARGE_SLOT_BYTES as u64);
    }
}
