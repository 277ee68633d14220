//! The delegation slot of a rank: where others of its host leave an operation on its memory for it to do, while it waits
//! in MPI and polls. For memory that they have not mapped that takes a fifth of the time of a call of the kernel.
//!
//! One origin at a time *takes* the slot, writes a request and data, and *posts* it. The owner, when it polls, *claims*
//! what has been posted, does it, and *finishes* it. An owner that has left MPI does not poll: after a while the origin
//! *withdraws* what nobody has claimed, and does the operation itself, by the kernel. Claim and withdrawal are exchanges of one word,
//! so of the two exactly one happens, and nobody relies on whether the owner polls: [`Attention`] is a hint.
//!
//! Who may not wait does not: an origin that finds the slot taken, or is refused, goes by the kernel.

use hpvm_sync::atomic::{AtomicU32, Ordering};
use hpvm_sync::cell::UnsafeCell;
use hpvm_sync::{Padded, order};

/// Bytes of data of a request and its result together.
pub const DATA: usize = PAGE - 128 - HEAD;
/// Bytes of a slot.
pub const PAGE: usize = 4096;
/// Bytes before the data: operands of a word or two lie in the line of the request.
const HEAD: usize = 32;

/// Nothing is posted, or what was posted has been finished or withdrawn.
const IDLE: u32 = 0;
const POSTED: u32 = 1;
const CLAIMED: u32 = 2;
/// Finished: it has not been done.
const REFUSED: u32 = 3;

/// Whether the owner polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Attention {
    /// Not as far as anybody knows.
    Away = 0,
    Polls = 1,
    /// It waits in MPI and sleeps: it polls again when it is called.
    Sleeps = 2,
    /// It has been called.
    Called = 3,
}

/// What is asked. Meanings are those of the layer above; what stands here is an allegation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Request {
    pub what: u32,
    pub region: u32,
    pub generation: u32,
    /// Bytes.
    pub len: u32,
    pub offset: u64,
}

/// Request and data.
#[repr(C)]
struct Content {
    request: Request,
    data: [u8; DATA],
}

/// See the module's text. A page of zeros is a slot whose owner does not poll.
///
/// Access rules: `holder` is set by the origin that finds 0 there, and cleared by it. `content` is the holder's, except
/// from its post until the owner's finish or its own withdrawal: then it is the owner's, if that claims. `state` goes from `IDLE` or `REFUSED`
/// to `POSTED` by the holder, from there to `IDLE` by the holder or to `CLAIMED` by the owner, and from there to `IDLE` or `REFUSED` by
/// the owner. `attention` is written by all: any value is right at any time.
#[repr(C, align(4096))]
pub struct DelegationSlot {
    /// One more than the rank that has taken the slot; 0: nobody.
    holder: Padded<AtomicU32>,
    state: AtomicU32,
    attention: AtomicU32,
    content: UnsafeCell<Content>,
}

// SAFETY: `content` is accessed by the rules above, the rest is atomic.
unsafe impl Send for DelegationSlot {}
// SAFETY: as above.
unsafe impl Sync for DelegationSlot {}

/// The slot is an origin's while this lives.
pub struct Taken<'a>(&'a DelegationSlot);

/// A request of an origin's that the owner does not have to do any more, or does: what has become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Posted,
    Claimed,
    /// The result is there.
    Done,
    /// It has not been done, and will not be.
    Refused,
}

/// A request that the owner has claimed; refused unless it is finished otherwise.
pub struct Claimed<'a> {
    slot: &'a DelegationSlot,
    outcome: u32,
}

impl DelegationSlot {
    /// Whether the owner polls, as far as it is known.
    #[inline(always)]
    pub fn attention(&self) -> Attention {
        // Relaxed: a hint.
        match self.attention.load(Ordering::Relaxed) {
            1 => Attention::Polls,
            2 => Attention::Sleeps,
            3 => Attention::Called,
            _ => Attention::Away,
        }
    }

    /// Says whether the owner polls.
    pub fn set_attention(&self, attention: Attention) {
        // Relaxed: a hint.
        self.attention.store(attention as u32, Ordering::Relaxed);
    }

    /// The owner, which was said to poll, has let an origin wait in vain. What it has said since stays: that it sleeps, say.
    pub fn lose_attention(&self) {
        let (polls, away) = (Attention::Polls as u32, Attention::Away as u32);
        // Relaxed: a hint. On failure somebody has said something else.
        let relaxed = Ordering::Relaxed;
        let _ = self.attention.compare_exchange(polls, away, relaxed, relaxed);
    }

    /// Takes the slot for the origin `me`, unless another one has it.
    #[inline]
    pub fn take(&self, me: u32) -> Option<Taken<'_>> {
        let holder = me.wrapping_add(1).max(1);
        // Acquire pairs with the release in `Taken::drop`: the last holder has read its result.
        // Relaxed on failure: nothing is read then.
        let taken = order!(Acquire, "delegation.take");
        let word = &self.holder.0;
        word.compare_exchange(0, holder, taken, Ordering::Relaxed).is_ok().then(|| Taken(self))
    }

    /// Whether something is posted. For the owner, as all that follows.
    #[inline(always)]
    pub fn is_posted(&self) -> bool {
        // Relaxed: `claim` looks again.
        self.state.load(Ordering::Relaxed) == POSTED
    }

    /// Claims what is posted.
    pub fn claim(&self) -> Option<Claimed<'_>> {
        // Acquire pairs with the release in `post`: request and data come first. Relaxed on failure: nothing is read.
        let claimed = order!(Acquire, "delegation.claim");
        let had = self.state.compare_exchange(POSTED, CLAIMED, claimed, Ordering::Relaxed);
        had.is_ok().then(|| Claimed { slot: self, outcome: REFUSED })
    }
}

impl Taken<'_> {
    /// Writes the request; `write` gets where its data begin, `DATA` bytes.
    #[inline]
    pub fn post(&self, request: Request, write: impl FnOnce(*mut u8)) {
        self.0.content.with_mut(|content| {
            // SAFETY: the content is the holder's: nothing is posted.
            unsafe {
                (*content).request = request;
                write((&raw mut (*content).data).cast());
            }
        });
        // Release pairs with the acquire in `claim`.
        self.0.state.store(POSTED, order!(Release, "delegation.post"));
    }

    /// What has become of what was posted.
    #[inline(always)]
    pub fn progress(&self) -> Progress {
        // Acquire pairs with the release in `Claimed::drop`: the result, and what was done to memory, come first.
        match self.0.state.load(order!(Acquire, "delegation.done")) {
            POSTED => Progress::Posted,
            CLAIMED => Progress::Claimed,
            IDLE => Progress::Done,
            _ => Progress::Refused,
        }
    }

    /// Withdraws what was posted. False: it has been claimed.
    #[cold]
    pub fn withdraw(&self) -> bool {
        // Relaxed: the content was the holder's own all the time, if nobody has claimed it.
        let state = &self.0.state;
        state.compare_exchange(POSTED, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Reads the result of what is done: `read` gets where data begin.
    #[inline]
    pub fn read(&self, read: impl FnOnce(*const u8)) {
        // SAFETY: the content is the holder's: what was posted has been finished.
        self.0.content.with(|content| read(unsafe { (&raw const (*content).data).cast() }));
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release pairs with the acquire in `take`.
        self.0.holder.0.store(0, order!(Release, "delegation.give_back"));
    }
}

impl Claimed<'_> {
    /// The rank whose request it is, as it says.
    pub fn origin(&self) -> u32 {
        // Relaxed: the claim comes after the post, and the origin has taken the slot before that.
        self.slot.holder.0.load(Ordering::Relaxed).wrapping_sub(1)
    }

    pub fn request(&self) -> Request {
        // SAFETY: the content is the owner's, which has claimed it; any bits are a request.
        self.slot.content.with(|content| unsafe { (&raw const (*content).request).read_volatile() })
    }

    /// Hands out where the data begin, `DATA` bytes, for reading and writing.
    pub fn data<R>(&self, with: impl FnOnce(*mut u8) -> R) -> R {
        // SAFETY: as above.
        self.slot.content.with_mut(|content| with(unsafe { (&raw mut (*content).data).cast() }))
    }

    /// It has been done.
    pub fn finish(mut self) {
        self.outcome = IDLE;
    }
}

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `progress`.
        self.slot.state.store(self.outcome, order!(Release, "delegation.finish"));
    }
}

#[cfg(any(test, hpvm_loom))]
impl Default for DelegationSlot {
    fn default() -> Self {
        let content = Content { request: Request::default(), data: [0; DATA] };
        DelegationSlot {
            holder: Padded(AtomicU32::new(0)),
            state: AtomicU32::new(IDLE),
            attention: AtomicU32::new(Attention::Away as u32),
            content: UnsafeCell::new(content),
        }
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!((size_of::<DelegationSlot>(), align_of::<DelegationSlot>()), (PAGE, PAGE));
        assert_eq!(core::mem::offset_of!(DelegationSlot, state), 128);
        assert_eq!(core::mem::offset_of!(DelegationSlot, content), 136);
        assert_eq!(core::mem::offset_of!(Content, data), HEAD - 8);
    }

    #[test]
    fn a_request_is_claimed_or_withdrawn_and_never_both() {
        let slot = DelegationSlot::default();
        assert!(slot.claim().is_none() && slot.claim().is_none());
        let taken = slot.take(3).unwrap();
        assert!(slot.take(4).is_none() && slot.take(5).is_none());
        let request = Request { what: 1, region: 2, generation: 3, len: 4, offset: 5 };
        // SAFETY: room for more.
        taken.post(request, |data| unsafe { data.write(7) });
        assert_eq!((taken.progress(), slot.is_posted()), (Progress::Posted, true));
        let claimed = slot.claim().unwrap();
        assert!(!taken.withdraw() && taken.progress() == Progress::Claimed);
        assert_eq!(claimed.request(), request);
        // SAFETY: as above.
        claimed.data(|data| unsafe { data.write(data.read() + 1) });
        claimed.finish();
        assert_eq!(taken.progress(), Progress::Done);
        // SAFETY: as above.
        taken.read(|data| assert_eq!(unsafe { data.read() }, 8));
        taken.post(request, |_| ());
        assert!(taken.withdraw() && slot.claim().is_none());
        taken.post(request, |_| ());
        drop(slot.claim().unwrap());
        assert_eq!(taken.progress(), Progress::Refused);
        drop(taken);
        assert!(slot.take(4).is_some());
    }

    #[test]
    fn what_stands_in_the_word_of_attention_is_an_allegation() {
        let slot = DelegationSlot::default();
        let all = [Attention::Away, Attention::Polls, Attention::Sleeps, Attention::Called];
        for attention in all {
            slot.set_attention(attention);
            assert_eq!(slot.attention(), attention);
        }
        slot.set_attention(Attention::Sleeps);
        slot.lose_attention();
        assert_eq!(slot.attention(), Attention::Sleeps);
        slot.set_attention(Attention::Polls);
        slot.lose_attention();
        assert_eq!(slot.attention(), Attention::Away);
        slot.attention.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(slot.attention(), Attention::Away);
    }
}

#[cfg(all(test, hpvm_loom))]
mod loom_tests {
    use super::*;
    use hpvm_sync::loom;
    use hpvm_sync::spin_hint;
    use hpvm_sync::weaken::{Table, check_complete, check_noticed};
    use std::sync::Arc;

    /// A number at the owner that all add to: the memory, and who may touch it how, is looked at by loom. Under
    /// the kernel's copy it is updated under a lock, whose part loom's mutex plays.
    struct Model {
        slot: DelegationSlot,
        number: loom::sync::Mutex<u64>,
        /// Written by the owner when it does what is asked, read by the origin afterwards: a put, and a later get.
        put: UnsafeCell<u64>,
    }

    /// Adds 1, by the owner if that claims it in time. True: it did.
    fn origin(model: &Model, me: u32, patience: usize) -> bool {
        if let Some(taken) = model.slot.take(me) {
            let request = Request { what: me, ..Request::default() };
            // SAFETY: room for more.
            taken.post(request, |data| unsafe { data.write(1) });
            let mut polls = 0;
            loop {
                match taken.progress() {
                    Progress::Done => {
                        // SAFETY: as above; loom looks whether it is ordered.
                        taken.read(|data| assert_eq!(unsafe { data.read() }, 40 + me as u8));
                        model.put.with(|at| assert_eq!(unsafe { at.read() }, 7));
                        return true;
                    }
                    Progress::Posted if polls >= patience && taken.withdraw() => break,
                    Progress::Refused => break,
                    _ => spin_hint(),
                }
                polls += 1;
            }
        }
        *model.number.lock().unwrap() += 1;
        false
    }

    /// One look of the owner; true if it did something.
    fn look(model: &Model) -> bool {
        if !model.slot.is_posted() {
            return false;
        }
        let Some(claimed) = model.slot.claim() else { return false };
        let me = claimed.request().what as u8;
        // SAFETY: room for more; loom looks whether it is ordered.
        let operand = claimed.data(|data| unsafe { data.replace(40 + me) });
        *model.number.lock().unwrap() += u64::from(operand);
        model.put.with_mut(|at| unsafe { at.write(7) });
        claimed.finish();
        true
    }

    fn check(origins: u32, patience: usize, looks: usize) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let model = Arc::new(Model {
                slot: DelegationSlot::default(),
                number: loom::sync::Mutex::new(0),
                put: UnsafeCell::new(0),
            });
            let spawn = |me| {
                let model = model.clone();
                loom::thread::spawn(move || origin(&model, me, patience))
            };
            let others: Vec<_> = (1..=origins).map(spawn).collect();
            let mut done = 0;
            for _ in 0..looks {
                done += u32::from(look(&model));
                spin_hint();
            }
            let by_owner = others.into_iter().map(|other| u32::from(other.join().unwrap()));
            assert_eq!(by_owner.sum::<u32>(), done);
            assert_eq!(*model.number.lock().unwrap(), u64::from(origins));
        });
    }

    /// An owner that looks once and leaves.
    fn one_that_leaves() {
        check(1, 0, 1);
    }

    /// Two origins, one slot.
    fn two_origins() {
        check(2, 1, 2);
    }

    #[test]
    fn an_operation_is_done_once_whether_or_not_the_owner_leaves() {
        one_that_leaves();
        two_origins();
    }

    #[test]
    fn every_ordering_is_needed() {
        let table: &Table = &[
            ("delegation.take", two_origins),
            ("delegation.claim", one_that_leaves),
            ("delegation.post", one_that_leaves),
            ("delegation.done", one_that_leaves),
            ("delegation.give_back", two_origins),
            ("delegation.finish", one_that_leaves),
        ];
        check_noticed(table);
        let code = include_str!("delegation.rs").split("mod loom_tests").next().unwrap();
        check_complete(table, &[code]);
    }
}
