//! A whole collective through shared memory, whichever way it goes: what may have to be agreed on before, and the
//! steps that it consists of.

use super::direct_read::DirectRead;
use super::hierarchical::Hierarchical;
use super::large::{Part, Steps};
use super::ring_reduce::RingReduce;
use super::slots::Exchange;
use super::{HOSTS, MAX_SLOT, NEVER, NEW, READS, SAID, ShmCollective, Sides, What};
use crate::comm::Comm;
use crate::datatype::{Datatype, TypeRef};
use crate::engine::process::Process;
use crate::error::{Class, Error, Result};
use crate::op::Predef;
use crate::pt2pt::protocol::MAX_FRAGMENTED;
use hpvm_coll::select::{self, Carrier, Facts, Way};
use hpvm_fm::{Rank, Transport};
use hpvm_wire::coll_slots::LARGE_SETS;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Handle value of `MPI_UINT64_T`.
const UINT64_T: usize = 0x259;

/// A collective under way. To be polled until it is done.
#[derive(Debug)]
pub enum Shm<'a> {
    /// There was nothing to do.
    Done,
    /// One exchange through slots.
    Slots(Exchange<'a>),
    Long(Box<Long<'a>>),
}

/// What is more than one exchange through slots.
#[derive(Debug)]
pub struct Long<'a> {
    comm: &'a Arc<Comm>,
    bytes: u64,
    /// The collective, until its way is known.
    what: Option<What>,
    step: Step<'a>,
    /// What members tell each other first.
    words: Box<[u64]>,
    /// The first error; the others go on, so we do: numbers have to be the same.
    error: Option<Box<Error>>,
}

#[derive(Debug)]
enum Step<'a> {
    /// All say what they know of long data.
    Negotiate(Exchange<'a>),
    /// All offer a staging buffer.
    Offer(Hierarchical<'a>),
    /// All say whether they have seen those of their hosts.
    Vote(Hierarchical<'a>, Option<super::StagingBuffers>),
    Exchange(Exchange<'a>, Steps),
    RingReduce(RingReduce<'a>),
    DirectRead(DirectRead<'a>),
    Hierarchical(Hierarchical<'a>),
    /// Nothing has been done: it goes by messages.
    Messages,
    End,
}

impl<T: Transport> Process<T> {
    /// Whether `what`, the next blocking collective on `comm`, of which a member shows up to `bytes`, 1 for a
    /// barrier, is one exchange through slots ([`Exchange::begin`]). If not, [`Process::begin_shm`] knows. The same on
    /// all members.
    #[inline(always)]
    pub fn goes_by_slots(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        // Relaxed: see `Use`.
        let limit = comm.coll_slots().slots_up_to[what.kind()].load(Ordering::Relaxed);
        bytes.wrapping_sub(1) < u64::from(limit)
    }

    /// Whether `what`, of which a member shows up to `bytes`, goes by messages for sure. The same on all members.
    #[inline(always)]
    pub fn goes_by_messages(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        what.small().is_some_and(|small| {
            let limit = &comm.coll_slots().messages_above[small as usize];
            bytes > limit.load(Ordering::Relaxed) // relaxed: see `Use`
        })
    }

    /// The same between two collectives of a process that counts them ([`Process::veil_slots`]).
    #[inline(always)]
    pub fn goes_by_veiled_slots(&self, comm: &Comm, what: &What, bytes: u64) -> bool {
        // Relaxed: see `Use`.
        let limit = comm.coll_slots().veiled[what.kind()].load(Ordering::Relaxed);
        bytes.wrapping_sub(1) < u64::from(limit)
    }

    /// Begins `what` on `comm`, the next blocking collective there, of which a member shows up to `bytes`; 1 for a
    /// barrier. `None`: it goes by messages. To be asked once per collective, with the same answer on
    /// all members.
    ///
    /// # Safety
    /// The buffers stay valid, for as many elements as the call of MPI says, until `poll` says
    /// that the collective is done.
    pub unsafe fn begin_shm<'a>(
        &mut self,
        comm: &'a Arc<Comm>,
        what: What,
        bytes: u64,
    ) -> Result<Option<Shm<'a>>> {
        let used = comm.coll_slots();
        let stage = || used.stage.load(Ordering::Relaxed); // relaxed: see `Use`
        if stage() == NEW {
            self.look_at(comm);
        }
        if bytes == 0 && !comm.is_inter() {
            return Ok(Some(Shm::Done));
        }
        let long =
            |step, what| Long { comm, bytes, what, step, words: Box::default(), error: None };
        match stage() {
            NEVER => Ok(None),
            HOSTS => {
                // SAFETY: the caller's promise.
                let mut long = long(Step::Messages, Some(what));
                // SAFETY: as above.
                unsafe { long.cross_hosts(self)? };
                Ok(long.goes_on())
            }
            _ if self.goes_by_slots(comm, &what, bytes) => {
                // SAFETY: the caller's promise.
                Ok(unsafe { Exchange::begin(comm, what, Part::Short) }.map(Shm::Slots))
            }
            _ if self.goes_by_messages(comm, &what, bytes) => Ok(None),
            _ if used.says(SAID) => {
                let mut long = long(Step::Messages, Some(what));
                // SAFETY: the caller's promise.
                unsafe { long.choose(self)? };
                Ok(long.goes_on())
            }
            _ => {
                let mut long = long(Step::Messages, Some(what));
                long.negotiate(self)?;
                Ok(long.goes_on())
            }
        }
    }

    /// What all members of `comm` know of it; that they read, once they have told each other.
    pub(super) fn facts(&self, comm: &Comm) -> Facts {
        let used = comm.coll_slots();
        Facts {
            members: comm.size(),
            oversubscribed: self.oversubscribed,
            reads: used.says(READS),
            large: used.index().is_some_and(|index| index < LARGE_SETS),
        }
    }
}

impl<'a> Long<'a> {
    fn goes_on(self) -> Option<Shm<'a>> {
        match self.step {
            Step::Messages => None,
            Step::Exchange(exchange, steps) if steps.is_empty() => Some(Shm::Slots(exchange)),
            step => Some(Shm::Long(Box::new(Long { step, ..self }))),
        }
    }

    /// Begins to tell the others what this process knows of long data.
    fn negotiate<T: Transport>(&mut self, p: &Process<T>) -> Result<()> {
        let reads = p.reads(p.fm().rank(), MAX_FRAGMENTED);
        self.words = [u64::from(!reads)].into();
        let vote = maximum(&mut self.words)?;
        // SAFETY: the words live in a box that stays until the exchange has ended.
        let exchange = unsafe { Exchange::begin(self.comm, vote, Part::Short) };
        self.step = Step::Negotiate(exchange.ok_or_else(intern)?);
        Ok(())
    }

    /// Chooses the way.
    ///
    /// # Safety
    /// As for [`Process::begin_shm`].
    unsafe fn choose<T: Transport>(&mut self, p: &Process<T>) -> Result<()> {
        let (comm, what) = (self.comm, self.what.take().ok_or_else(intern)?);
        let small = what.small().ok_or_else(intern)?;
        let tuned =
            || match p.select.carrier(small, comm.size(), self.bytes.min(i64::MAX as u64) as i64) {
                Carrier::SharedMemory => None,
                Carrier::Messages => Some(Way::Messages),
            };
        let facts = p.facts(comm);
        let way = match p.carriers_tuned {
            true => tuned().unwrap_or_else(|| select::untimed_way(small, &facts, self.bytes)),
            false => select::way(small, &facts, self.bytes),
        };
        // SAFETY: the caller's promise, for all of them.
        self.step = unsafe {
            match way {
                Way::Messages => {
                    if !p.carriers_tuned {
                        let limit = select::messages_above(small, &facts);
                        // Relaxed: see `Use`.
                        comm.coll_slots().messages_above[small as usize]
                            .store(limit, Ordering::Relaxed);
                    }
                    Step::Messages
                }
                Way::Slots => {
                    if !p.carriers_tuned {
                        let limit = select::slots_up_to(small, &facts) as u32;
                        // Relaxed: see `Use`.
                        comm.coll_slots().slots_up_to[small as usize]
                            .store(limit, Ordering::Relaxed);
                    }
                    let exchange = Exchange::begin(comm, what, Part::Short);
                    Step::Exchange(exchange.ok_or_else(intern)?, Steps::default())
                }
                Way::LargeSlots => self.steps(what, facts.oversubscribed)?,
                Way::RingReduce => {
                    Step::RingReduce(p.begin_ring_reduce(comm, what).ok_or_else(intern)?)
                }
                Way::DirectRead => {
                    Step::DirectRead(p.begin_direct_read(comm, what).ok_or_else(intern)?)
                }
            }
        };
        Ok(())
    }

    /// `what` in as many exchanges of large slots as it takes.
    ///
    /// # Safety
    /// As for [`Process::begin_shm`].
    unsafe fn steps(&self, what: What, oversubscribed: bool) -> Result<Step<'a>> {
        let at = (self.comm.rank(), self.comm.size());
        let mut steps = Steps::new(what, self.bytes, at, oversubscribed);
        let (what, part) = steps.next().ok_or_else(intern)?;
        // SAFETY: the caller's promise.
        let exchange = unsafe { Exchange::begin(self.comm, what, part) };
        Ok(Step::Exchange(exchange.ok_or_else(intern)?, steps))
    }

    /// Begins a collective of members on several hosts, or what has to be agreed on before.
    ///
    /// # Safety
    /// As for [`Process::begin_shm`].
    unsafe fn cross_hosts<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        let (comm, what) = (self.comm, self.what.take().ok_or_else(intern)?);
        let small = what.small();
        let bytes = if matches!(what, What::Barrier) { 0 } else { self.bytes };
        if p.carriers_tuned
            && let Some(small) = small
            && p.select.carrier(small, comm.size(), bytes.min(i64::MAX as u64) as i64)
                == Carrier::Messages
        {
            return Ok(());
        }
        let Some(longest) = p.longest_slot(comm, &what, bytes) else { return Ok(()) };
        match p.may_stage(comm, longest) {
            Some(false) => {}
            Some(true) => {
                // SAFETY: the caller's promise.
                let call = unsafe { p.begin_hierarchical(comm, what, longest) };
                self.step = Step::Hierarchical(call.ok_or_else(intern)?);
            }
            None if u64::from(comm.size()) * size_of::<u64>() as u64 > MAX_SLOT => {
                // To agree would itself need more than slots.
                p.agree_on_staging(comm, None);
            }
            None => {
                self.what = Some(what);
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
        let offers = What::Allgather(Sides {
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

    /// Begins to say whether the staging buffers of this host were seen.
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

    /// One step is done; what follows.
    fn go_on<T: Transport>(&mut self, p: &mut Process<T>) -> Result<()> {
        // SAFETY, all: the buffers are those of `begin_shm`, whose caller keeps them.
        match core::mem::replace(&mut self.step, Step::End) {
            Step::Negotiate(_) => {
                let [copies] = self.words[..] else { return Err(intern()) };
                let said = if copies == 0 { SAID | READS } else { SAID };
                self.comm.coll_slots().said.store(said, Ordering::Relaxed); // relaxed: see `Use`
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
                unsafe { self.cross_hosts(p) }
            }
            Step::Exchange(_, mut steps) => {
                if let Some((what, part)) = steps.next() {
                    // SAFETY: see above.
                    let exchange = unsafe { Exchange::begin(self.comm, what, part) };
                    self.step = Step::Exchange(exchange.ok_or_else(intern)?, steps);
                }
                Ok(())
            }
            Step::DirectRead(read) => {
                if let Some(what) = read.refused() {
                    // From now on nobody reads.
                    self.what = Some(what);
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
            self.go_on(p)?;
        }
    }
}

/// Makes each of `words` the highest that a member has there.
fn maximum(words: &mut [u64]) -> Result<What> {
    let ty = Datatype::predefined(UINT64_T).and_then(|ty| ty.as_predefined()).ok_or_else(intern)?;
    Ok(What::Reduce {
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

impl Shm<'_> {
    /// Whether it has not been done after all, once `poll` has said that it is over: it goes by messages. The same
    /// on all members.
    #[inline]
    pub fn goes_by_messages(&self) -> bool {
        matches!(self, Shm::Long(long) if matches!(long.step, Step::Messages))
    }
}

/// Calls a method of what is under way.
macro_rules! under_way {
    ($shm:expr, $otherwise:expr, $step:ident => $call:expr) => {
        match $shm {
            Shm::Done => $otherwise,
            Shm::Slots($step) => $call,
            Shm::Long(long) => match &long.step {
                Step::Negotiate($step) | Step::Exchange($step, _) => $call,
                Step::Offer($step) | Step::Vote($step, _) | Step::Hierarchical($step) => $call,
                Step::RingReduce($step) => $call,
                Step::DirectRead($step) => $call,
                Step::Messages | Step::End => $otherwise,
            },
        }
    };
}

impl ShmCollective for Shm<'_> {
    #[inline(always)]
    fn poll<T: Transport>(&mut self, p: &mut Process<T>) -> Result<bool> {
        match self {
            Shm::Done => Ok(true),
            Shm::Slots(exchange) => exchange.poll(p),
            Shm::Long(long) => long.poll(p),
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
