//! Context ids: agreeing on one that no member of a new communicator uses.
//!
//! Every process keeps the set of ids that are free, in `CLASSES` classes. The members of a parent
//! combine theirs of one class with a bitwise AND and all take the lowest that is left, so ids are
//! used again and never run out while fewer than `MAX_COMMS` communicators live in one process.
//!
//! A process may take part in several agreements at the same time (threads, `MPI_Comm_idup`). Then
//! a class belongs to one of them; the others contribute nothing, learn that it was in vain, and
//! try again with the next class. That is what lets an agreement end while another waits for a
//! member that comes only later. Within a class the agreement with the lowest parent and tag has
//! precedence, and all members see the same order, so somebody always wins. A repetition uses the
//! tag of the first try: all messages of a pair of processes stay in order, and no other operation
//! may slip in between.
//!
//! A freed communicator's id becomes free when the last operation on it has ended. That is looked
//! up when it matters: at the start of the next agreement.

use crate::coll::{Data, Plan};
use crate::comm::{CONTEXTS, Channel, Comm, ContextId};
use crate::datatype::Datatype;
use crate::engine::contexts::{CLASSES, Precedence, WORDS};
use crate::engine::process::{MAX_COMMS, Process};
use crate::engine::requests::ReqId;
use crate::error::{Class, Error, Result};
use crate::op::{Op, Predef};
use hpvm_coll::Reduction;
use hpvm_fm::Transport;
use std::sync::{Arc, OnceLock};

/// Context of communicators that are built from a group without a parent.
pub const FROM_GROUP: ContextId = 2 * CONTEXTS;

/// An agreement under way. Its words live here, so it must stay where it is until it ends.
#[derive(Debug)]
pub struct Agreement {
    request: ReqId,
    words: Box<[u64]>,
    comm: Arc<Comm>,
    channel: Channel,
    tag: i32,
    /// Tries so far, which all members count alike, and those that found no id in the class.
    tries: usize,
    empty: usize,
    mine: bool,
}

/// How an agreement ended.
#[derive(Debug)]
pub enum Agreed {
    /// The first context id of the new communicator.
    Context(ContextId),
    /// Another agreement was in the way: this one was started again.
    Again(Agreement),
}

/// The class that a try of an agreement uses: the same on all members.
fn class_of((base, tag): Precedence, tries: usize) -> usize {
    ((base / CONTEXTS) as usize).wrapping_add(tag as usize).wrapping_add(tries) % CLASSES
}

fn bitwise_and() -> &'static Arc<Op> {
    static AND: OnceLock<Arc<Op>> = OnceLock::new();
    AND.get_or_init(|| Arc::new(Op::Predefined(Predef::Band)))
}

fn word_type() -> Result<&'static Arc<Datatype>> {
    Datatype::predefined(UINT64_T).ok_or_else(|| Class::Intern.into())
}

/// Handle value of `MPI_UINT64_T`.
const UINT64_T: usize = 0x259;

impl<T: Transport> Process<T> {
    /// Starts to agree with all members of `comm`, which may be an intracommunicator made up for
    /// this purpose. Wait for [`Agreement::request`], then call [`Process::agreed`].
    pub fn agree(&mut self, comm: &Arc<Comm>, channel: Channel, tag: i32) -> Result<Agreement> {
        self.try_agree(comm, channel, tag, 0, 0)
    }

    fn try_agree(
        &mut self,
        comm: &Arc<Comm>,
        channel: Channel,
        tag: i32,
        tries: usize,
        empty: usize,
    ) -> Result<Agreement> {
        let ty = word_type()?;
        self.release_retired();
        let precedence = (comm.base_context(), tag);
        let class = class_of(precedence, tries);
        let mine = self.contexts.acquire(class, precedence);
        self.contexts.waiting.push((class, precedence));
        // The last word tells whether everybody owned the class.
        let mut words: Box<[u64]> = match mine {
            true => self.contexts.of_class(class).chain([u64::MAX]).collect(),
            false => vec![0; WORDS / CLASSES + 1].into(),
        };
        let input = Reduction {
            rank: comm.rank(),
            size: comm.size(),
            root: 0,
            count: words.len() as i64,
            extent: 8,
            size_bytes: 8,
            commutative: true,
            in_place: true,
        };
        let schedule = hpvm_coll::allreduce::schedule_with(&self.select, &input);
        let data = Data::new(core::ptr::null(), ty, words.as_mut_ptr().cast(), ty);
        let plan = Plan::new(schedule, data, Some(bitwise_and().clone()));
        // SAFETY: `words` is on the heap and belongs to the agreement, which lives until the
        // request is complete.
        let request = unsafe { self.start_tagged(comm, channel, tag, plan) };
        Ok(Agreement { request, words, comm: comm.clone(), channel, tag, tries, empty, mine })
    }

    /// Ends an agreement whose request is complete. If it is not, because waiting for it has failed, that
    /// is an error, and the words are left to the operation for ever.
    pub fn agreed(&mut self, mut agreement: Agreement) -> Result<Agreed> {
        let outcome = self.take_outcome(agreement.request);
        if outcome.is_none() {
            self.detach(agreement.request);
            core::mem::forget(core::mem::take(&mut agreement.words));
        }
        let contexts = &mut self.contexts;
        let precedence = (agreement.comm.base_context(), agreement.tag);
        let class = class_of(precedence, agreement.tries);
        if let Some(i) = contexts.waiting.iter().position(|w| *w == (class, precedence)) {
            contexts.waiting.swap_remove(i);
        }
        if agreement.mine {
            contexts.owners[class] = None;
        }
        match outcome {
            Some(o) => o.error.map_or(Ok(()), |e| Err(*e))?,
            None => return Err(Class::Intern.into()),
        }
        let (all_owned, free) = match agreement.words.split_last() {
            Some((last, free)) => (*last != 0, free),
            None => return Err(Class::Intern.into()),
        };
        let Some(place) = free.iter().position(|w| *w != 0) else {
            return self.again(agreement, all_owned);
        };
        let bit = free[place].trailing_zeros();
        let word = class + place * CLASSES;
        if contexts.free[word] & 1 << bit == 0 {
            let text = format!(
                "the members agreed on context id {}, which is in use here; expected one that all \
                 of them have free",
                word * 64 + bit as usize
            );
            return Err(Error::new(Class::Other, text));
        }
        contexts.free[word] &= !(1 << bit);
        Ok(Agreed::Context((word as u32 * 64 + bit) * CONTEXTS))
    }

    /// Starts the next try: another agreement was in the way, or the class has no id left.
    fn again(&mut self, before: Agreement, exhausted: bool) -> Result<Agreed> {
        let Agreement { comm, channel, tag, tries, .. } = before;
        let empty = if exhausted { before.empty + 1 } else { 0 };
        if empty == CLASSES {
            let text = format!(
                "no context id is free on all members: some process has {MAX_COMMS} \
                 communicators; free those that are not needed"
            );
            return Err(Error::new(Class::Other, text));
        }
        self.try_agree(&comm, channel, tag, tries + 1, empty).map(Agreed::Again)
    }

    /// The program has freed `comm`. Its context id is used again when nobody else holds the
    /// communicator: not before the last operation on it has ended.
    pub fn retire(&mut self, comm: Arc<Comm>) {
        self.contexts.retired.push(comm);
        self.release_retired();
    }

    fn release_retired(&mut self) {
        let retired = &mut self.contexts.retired;
        if retired.is_empty() {
            return;
        }
        self.inbox.requests.hold_nothing();
        let unused = |c: &mut Arc<Comm>| Arc::strong_count(c) == 1;
        let gone: Vec<Arc<Comm>> = retired.extract_if(.., unused).collect();
        for comm in gone {
            self.clear_tables(comm.base_context());
            self.contexts.release(comm.base_context());
        }
    }

    /// A context was agreed on, but this process makes no communicator with it.
    pub(crate) fn release_base(&mut self, base: ContextId) {
        self.contexts.release(base);
    }
}

impl Agreement {
    /// A context of the communicator whose members agree, for error handlers.
    pub fn parent(&self) -> ContextId {
        self.comm.base_context()
    }

    /// The request that completes when all members have contributed.
    pub fn request(&self) -> ReqId {
        self.request
    }
}
