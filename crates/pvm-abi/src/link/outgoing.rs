//! The sender's side of a link.

use super::nap;
use super::segment::{ON_BELL, ON_WORD, Segment};
use hpvm_copy::non_temporal;
use hpvm_copy::slow_stores::{self, MIN_TIMED, SlowStores};
use hpvm_pvm::Tid;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::record;
use hpvm_shm::balance;
use hpvm_sync::atomic::Ordering;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The first segment of a link: enough for small messages, little where many tasks talk to each other.
const FIRST_CAPACITY: u64 = 64 << 10;
/// What a link grows to for large messages that go fragment by fragment. A larger one is used again from its start after so many
/// bytes, as long as the receiver follows: memory further on leaves the cache, and may never have been touched.
const STREAM_CAPACITY: u64 = 1 << 20;
/// A large message is written in fragments of this size, so that the receiver copies one while the next is written.
const FRAGMENT: u64 = 32 << 10;
/// How long a sender polls for a receiver that has stopped taking fragments, before it sleeps: a few times what it takes to copy a
/// fragment. Where both have one processor it sleeps at once.
const SPIN: Duration = Duration::from_micros(50);
/// How long it waits in all before it gives the link more memory. A receiver that only waits for a processor gets one in that time,
/// mostly; memory that is touched for the first time costs more than that, and leaves the cache.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// What the link needs of the task it belongs to.
pub trait Carrier {
    /// Gives a new segment to the receiver. An error: it is gone.
    fn hand_over(
        &mut self,
        to: Tid,
        generation: u32,
        capacity: u64,
        file: OwnedFd,
    ) -> io::Result<()>;
    /// Wakes the receiver.
    fn ring(&mut self, to: Tid);
    /// So much waits for the receiver that nothing more may be added: takes what others have sent here, and rests a moment. An
    /// error: it is gone, or nothing more can be taken here, either.
    fn rest(&mut self, to: Tid) -> io::Result<()>;
}

/// What a receiver shows its senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// It does not sleep in a receive.
    pub awake: bool,
    /// As [`hpvm_shm::balance::here`] counts.
    pub processor: u32,
    pub knows: u32,
}

/// A link to a task.
pub struct Outgoing {
    pub to: Tid,
    segment: Segment,
    head: u64,
    tail: u64,
    generation: u32,
    /// Bytes in segments before this one, as long as the receiver has not left them.
    behind: u64,
    /// Bytes that may wait for the receiver.
    limit: u64,
    /// The receiver has not followed: the segment is used beyond its first part, up to its end.
    lags: bool,
    /// It has taken nothing since that was found out.
    computes: bool,
    /// Where the end of the ring was left out last, and how much of it.
    skipped: (u64, u64),
    stores: SlowStores,
    /// When the last message was sent.
    stamp: u64,
}

/// The bytes of a message that were not copied yet.
struct Parts<'a> {
    parts: &'a [&'a [u8]],
    /// Of the first one.
    at: usize,
}

impl Parts<'_> {
    /// Copies the next `len` bytes, which are there.
    ///
    /// # Safety
    /// So many can be written at `to`.
    unsafe fn copy(&mut self, mut to: *mut u8, mut len: usize, past_the_cache: bool) {
        while len > 0
            && let [first, others @ ..] = self.parts
        {
            let part = &first[self.at..];
            let now = len.min(part.len());
            // SAFETY: the caller's promise; a link's memory is not the program's.
            unsafe {
                if past_the_cache {
                    non_temporal::copy(part.as_ptr(), to, now);
                } else {
                    part.as_ptr().copy_to_nonoverlapping(to, now);
                }
                to = to.add(now);
            }
            (self.at, len) = (self.at + now, len - now);
            if self.at == first.len() {
                (self.parts, self.at) = (others, 0);
            }
        }
    }
}

/// Where the next fragment goes: so many bytes are left out before it.
struct Room(u64);

impl Outgoing {
    /// # Errors
    /// There is no memory, or no such task.
    pub fn open(to: Tid, limit: u64, carrier: &mut impl Carrier) -> io::Result<Outgoing> {
        let (segment, file) = Segment::create(FIRST_CAPACITY)?;
        carrier.hand_over(to, 0, FIRST_CAPACITY, file)?;
        let (head, tail, generation, behind) = (0, 0, 0, 0);
        let (lags, computes, skipped, stores) = (false, false, (0, 0), SlowStores::default());
        Ok(Outgoing {
            to,
            segment,
            head,
            tail,
            generation,
            behind,
            limit,
            lags,
            computes,
            skipped,
            stores,
            stamp: 0,
        })
    }

    /// Where the next fragment begins in the ring.
    pub fn offset(&self) -> u64 {
        self.head & (self.segment.capacity() - 1)
    }

    /// Bytes of this segment that wait for the receiver, as far as is known without asking.
    fn unread(&self) -> u64 {
        let (at, left_out) = self.skipped;
        self.head - self.tail - if self.tail <= at { left_out } else { 0 }
    }

    /// The same of all segments.
    fn waiting(&self) -> u64 {
        self.behind + self.unread()
    }

    /// Where `now` bytes may be added; asks the receiver if that may change the answer.
    fn room(&mut self, now: u64, anywhere: bool) -> Option<Room> {
        self.known_room(now, false).or_else(|| {
            self.ask();
            self.known_room(now, anywhere)
        })
    }

    /// The same as far as is known. `anywhere`: also beyond the first part of the segment.
    fn known_room(&self, now: u64, anywhere: bool) -> Option<Room> {
        // Where nothing waits even a large fragment may.
        let allowed = self.waiting() == 0 || self.waiting() + now <= self.limit;
        let capacity = self.segment.capacity();
        let free = capacity - (self.head - self.tail);
        if !allowed || free < now {
            return None;
        }
        let offset = self.offset();
        if capacity <= STREAM_CAPACITY || offset + now <= STREAM_CAPACITY {
            return Some(Room(0));
        }
        let rest = capacity - offset;
        if self.unread() <= STREAM_CAPACITY && free >= rest + now {
            return Some(Room(rest));
        }
        anywhere.then_some(Room(0))
    }

    /// How far the receiver is.
    fn ask(&mut self) {
        // Pairs with the receiver's store: what it has read may be overwritten. What it says is checked.
        let tail = self.segment.tail().load(Ordering::Acquire);
        if tail > self.tail && tail <= self.head {
            (self.tail, self.computes) = (tail, false);
        }
        // Relaxed: a hint.
        if self.behind > 0 && self.segment.entered().load(Ordering::Relaxed) != 0 {
            (self.behind, self.computes) = (0, false);
        }
    }

    /// Sends a message whose bytes are those of `parts`, one after the other. Waits for the receiver as long as it takes
    /// fragments, and where more than the limit waits for it.
    ///
    /// # Errors
    /// There is no memory, or the task has gone. The receiver forgets a message of which only a part was sent.
    pub fn send(
        &mut self,
        head: &Head,
        parts: &[&[u8]],
        carrier: &mut impl Carrier,
    ) -> io::Result<()> {
        let total: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let wanted = record::room(true, total).next_power_of_two();
        if wanted > self.segment.capacity() / 2 && self.segment.capacity() < STREAM_CAPACITY {
            self.grow(STREAM_CAPACITY, carrier)?;
        }
        if total > FRAGMENT {
            balance::show(self.segment.sender(), balance::here());
        }
        // Not before the last one, should the processors' counters differ.
        self.stamp = self.stamp.max(slow_stores::ticks());
        let head = &Head { stamp: self.stamp, ..*head };
        let (mut parts, mut rest, mut first) = (Parts { parts, at: 0 }, total, true);
        while first || rest > 0 {
            let len = rest.min(FRAGMENT);
            self.reserve(record::room(first, len), record::room(first, rest), carrier)?;
            self.write(first.then_some((head, total)), len as usize, &mut parts);
            rest -= len;
            self.wake(rest == 0, carrier);
            first = false;
        }
        Ok(())
    }

    /// Writes a fragment where room was reserved, the first one with the message's head and length.
    fn write(&mut self, first: Option<(&Head, u64)>, len: usize, parts: &mut Parts) {
        let to = self.segment.at(self.head);
        let kind = if first.is_some() { record::FIRST } else { record::MORE };
        // SAFETY: so much room was reserved, in one run; it is the sender's until `head` moves.
        unsafe {
            to.cast::<[u32; 2]>().write([len as u32, kind]);
            let mut data = to.add(record::FRONT as usize);
            if let Some((head, total)) = first {
                data.cast::<[u8; record::HEAD as usize]>().write(record::encode(head, total));
                data = data.add(record::HEAD as usize);
            }
            self.fill(data, len, parts);
        }
        self.head += record::room(first.is_some(), len as u64);
        // Publishes the bytes: pairs with the receiver's load.
        self.segment.head().store(self.head, Ordering::Release);
    }

    /// Copies bytes of the message into the ring. Where ordinary stores are slow there, because the receiver shares no cache with this processor, past the
    /// cache: that is found out on the first bytes of a fragment.
    ///
    /// # Safety
    /// `len` bytes can be written at `to`.
    unsafe fn fill(&mut self, to: *mut u8, len: usize, parts: &mut Parts) {
        if len < 2 * MIN_TIMED || self.shares_processor() {
            // SAFETY: the caller's promise.
            return unsafe { parts.copy(to, len, false) };
        }
        let tried = if self.stores.are_slow() { 0 } else { MIN_TIMED };
        let start = slow_stores::ticks();
        // SAFETY: the caller's promise.
        unsafe { parts.copy(to, tried, false) };
        self.stores.wrote(MIN_TIMED, slow_stores::ticks().wrapping_sub(start));
        // SAFETY: as above; the rest.
        unsafe { parts.copy(to.add(tried), len - tried, self.stores.are_slow()) };
    }

    /// Waits until `now` bytes are free, as long as the receiver takes some; else makes room for `all`, as far as the limit lets.
    fn reserve(&mut self, now: u64, all: u64, carrier: &mut impl Carrier) -> io::Result<()> {
        if let Some(room) = self.room(now, self.lags) {
            self.enter(room);
            return Ok(());
        }
        let (mut since, mut tail) = (Instant::now(), self.tail);
        loop {
            let waited = since.elapsed();
            if let Some(room) = self.room(now, self.lags && waited > SPIN) {
                self.enter(room);
                return Ok(());
            }
            if self.tail != tail {
                (since, tail) = (Instant::now(), self.tail);
            } else if waited > MAX_WAIT || self.computes {
                if self.waiting() + now <= self.limit {
                    return self.make_room(now, all, carrier);
                }
                self.wake(true, carrier);
                carrier.rest(self.to)?;
            } else if waited > SPIN || self.shares_processor() {
                self.wake(true, carrier);
                self.sleep(MAX_WAIT.saturating_sub(waited));
            }
            core::hint::spin_loop();
        }
    }

    fn shares_processor(&self) -> bool {
        let here = balance::here();
        // Relaxed: a hint.
        here != 0 && self.segment.processor().load(Ordering::Relaxed) == here
    }

    /// Sleeps until the receiver has taken something.
    fn sleep(&self, longest: Duration) {
        balance::show(self.segment.sender(), balance::here());
        // Relaxed: what was taken is looked at afterwards.
        let taken = || self.segment.tail().load(Ordering::Relaxed) != self.tail;
        nap::sleep(self.segment.lacks(), 1, longest, taken);
    }

    /// Leaves out the end of the ring, if that is said.
    fn enter(&mut self, Room(left_out): Room) {
        if left_out == 0 {
            return;
        }
        // SAFETY: `known_room` has seen that these bytes are free. Fragments begin at multiples of eight bytes, as the ring ends at one.
        unsafe { self.segment.at(self.head).cast::<[u32; 2]>().write([0, record::SKIP]) };
        self.skipped = (self.head, left_out);
        self.head += left_out;
        self.lags = false;
    }

    /// The receiver takes nothing: goes on in the rest of the segment, or in a new one.
    fn make_room(&mut self, now: u64, all: u64, carrier: &mut impl Carrier) -> io::Result<()> {
        (self.lags, self.computes) = (true, true);
        if let Some(room) = self.room(now, true) {
            self.enter(room);
            return Ok(());
        }
        let more = (all.min(self.limit) + 4096).max(2 * self.unread()).next_power_of_two();
        self.grow(more.max(2 * self.segment.capacity().min(STREAM_CAPACITY)), carrier)
    }

    /// Goes on in a new segment; the receiver reads this one to its end first.
    fn grow(&mut self, capacity: u64, carrier: &mut impl Carrier) -> io::Result<()> {
        let (segment, file) = Segment::create(capacity)?;
        carrier.hand_over(self.to, self.generation + 1, capacity, file)?;
        // Behind all bytes of this segment: pairs with the receiver's load.
        self.segment.moved().store(1, Ordering::Release);
        self.wake(true, carrier);
        self.ask();
        self.behind = self.waiting();
        self.segment = segment;
        self.generation += 1;
        (self.head, self.tail, self.skipped) = (0, 0, (0, 0));
        Ok(())
    }

    /// What the receiver has shown.
    pub fn receiver(&self) -> Receiver {
        // Relaxed: hints, which order nothing.
        Receiver {
            awake: self.segment.asleep().load(Ordering::Relaxed) == 0,
            processor: self.segment.processor().load(Ordering::Relaxed), // relaxed: as above
            knows: self.segment.knows().load(Ordering::Relaxed),         // relaxed: as above
        }
    }

    /// Wakes the receiver after something was published. One that sleeps for the rest of a message is left alone until all of it is there, or half of
    /// what the link holds, or there is nothing else to do (`now`).
    fn wake(&mut self, now: bool, carrier: &mut impl Carrier) {
        let state = nap::state(self.segment.asleep());
        if state == 0 {
            return;
        }
        if state == ON_WORD && !now {
            self.ask();
            if 2 * self.unread() < self.segment.capacity().min(STREAM_CAPACITY) {
                return;
            }
        }
        if nap::wake(self.segment.asleep()) == ON_BELL {
            carrier.ring(self.to);
        }
    }
}
