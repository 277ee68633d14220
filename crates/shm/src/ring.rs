//! The receive queue of a rank: many senders, one receiver, no lock.
//!
//! A sender takes a ticket with one `fetch_add`; the ticket's slot is its own until it publishes
//! by storing `ticket + 1` in the slot. Holding a credit guarantees that the slot is free, so the
//! claim can't fail. Senders never wait for one another.
//!
//! The receiver takes slots in ticket order, except that it may *leap-frog*: when the slot at the
//! head has been claimed but not published (its sender was descheduled), it takes published slots
//! behind it. Order per sender holds, because a sender publishes one ticket before it claims the
//! next. Credits of slots taken out of order are given back only when the head has passed them,
//! so tickets in use never span more than one lap.
//!
//! A sender that dies between claim and publish leaves a slot that the head would never pass. Each sender says in a word
//! of its own in whose ring it is claiming a slot. When no rank that lives says so of this ring, the slot at
//! the head is nobody's any more ([`Receiver::head_is_abandoned`]), and the head passes it.
//!
//! Credits: `Control::credits` counts the slots that nobody holds a credit for. Senders take them
//! in small batches ([`batch`]); the receiver gives back an eighth of the ring at a time. A rank that
//! sends keeps taking credits; a rank that is idle holds less than one batch. With `P` ranks all idle
//! holdings together are at most `P * (batch - 1) <= SLOTS / 4`, and at most `SLOTS / 8` wait to be given
//! back. So more than half of the ring always serves the ranks that send, whatever `P` is.

use core::sync::atomic::Ordering;
use hpvm_sync::atomic::AtomicU32;
use hpvm_sync::order;
use hpvm_transport::Rank;
use hpvm_wire::cell::Cell;

/// Credits that a sender takes at a time in a job of `ranks` on a ring of `slots`.
pub fn batch(slots: u32, ranks: u32) -> u16 {
    (slots / (4 * ranks.max(1))).clamp(1, 32) as u16
}

/// Takes up to `want` credits; 0 when there are none.
#[inline]
pub fn take_credits(pool: &AtomicU32, want: u16) -> u16 {
    // Relaxed: only a guess for the exchange below.
    let mut there = pool.load(Ordering::Relaxed);
    loop {
        let take = there.min(u32::from(want));
        if take == 0 {
            return 0;
        }
        // Acquire pairs with the release in `Receiver::give_back`: the receiver's reads of these
        // slots come before our writes to them.
        match pool.compare_exchange_weak(
            there,
            there - take,
            order!(Acquire, "ring.take_credits"),
            Ordering::Relaxed, // a failed try reads again
        ) {
            Ok(_) => return take as u16,
            Err(now) => there = now,
        }
    }
}

/// How many slots ahead of the one that it has published a sender prefetches the line of a slot. The next
/// ticket's locked instruction waits until the stores before it are done, so a line that is fetched only when
/// it is written costs its full latency. The nearest slots are left alone, because the receiver may be polling
/// there.
const CLAIMED_AHEAD: u32 = 4;
/// The same for a receiver to which messages come faster than it takes them.
const TAKEN_AHEAD: u32 = 3;

/// A claimed slot. Publishing is the only way to end a claim, so it can't be forgotten. If a sender dies before
/// it publishes, the receiver leap-frogs the slot, and passes it when it finds out.
#[must_use = "a claimed slot blocks its ring until it is published"]
pub struct Claim<'a> {
    cell: &'a Cell,
    ticket: u32,
    claiming: &'a AtomicU32,
    /// The slot `CLAIMED_AHEAD` tickets later.
    ahead: &'a Cell,
}

impl<'a> Claim<'a> {
    /// Claims the next slot of the ring of rank `dst`. The caller has taken a credit for it. `claiming` is the
    /// sender's word of that name.
    #[inline(always)]
    pub fn new(tail: &AtomicU32, cells: &'a [Cell], claiming: &'a AtomicU32, dst: Rank) -> Self {
        // Relaxed: ordered before the ticket by the release of the latter.
        claiming.store(dst + 1, Ordering::Relaxed);
        // The ticket only makes slots distinct; the slot's content is ordered by the credit (before) and by `seq`
        // (after). Release pairs with the acquire in `Receiver::head_is_abandoned`: who sees the ticket sees `claiming`.
        let ticket = tail.fetch_add(1, order!(Release, "ring.claim"));
        let mask = cells.len() - 1;
        let ahead = &cells[ticket.wrapping_add(CLAIMED_AHEAD) as usize & mask];
        Claim { cell: &cells[ticket as usize & mask], ticket, claiming, ahead }
    }

    #[inline(always)]
    pub fn cell(&self) -> &'a Cell {
        self.cell
    }

    /// Hands the slot to the receiver.
    #[inline(always)]
    pub fn publish(self) {
        // Release pairs with the acquire load in `Receiver::next`: header and payload come first.
        self.cell.seq.store(self.ticket.wrapping_add(1), order!(Release, "ring.publish"));
        // Release pairs with the acquire in `Receiver::head_is_abandoned`: who sees no claim sees the slot published.
        self.claiming.store(0, order!(Release, "ring.claimed"));
        hpvm_sync::prefetch_to_write(core::ptr::from_ref(self.ahead).cast());
    }
}

/// Polls that find the head unpublished before the receiver looks for a slot to leap-frog to. Looking reads
/// the `tail` line, which the senders contend for.
const MISSES_BEFORE_LEAP: u32 = if cfg!(hpvm_loom) { 1 } else { 64 };

/// A published slot that the receiver may read now.
#[derive(Clone, Copy)]
pub struct Taken<'a> {
    pub ticket: u32,
    pub cell: &'a Cell,
    pub leapt: bool,
}

/// Looks behind an unpublished head that find nothing, after which the receiver suspects that the head's sender
/// has died. It then asks again after twice as many, up to [`RARE_SUSPICION`].
const FIRST_SUSPICION: u32 = if cfg!(hpvm_loom) { 1 } else { 16 };
/// See [`FIRST_SUSPICION`].
const RARE_SUSPICION: u32 = 1 << 12;

/// Why there may be no next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// So many tickets are out at once. These are more than the ring has slots, so some sender had no credit.
    RunAway(u32),
    /// The slot at the head has been claimed for long and is not published: see [`Receiver::head_is_abandoned`].
    Suspicion,
}

/// The receiver's private side of its ring.
pub struct Receiver {
    /// Ticket at the head.
    head: u32,
    /// Slots passed whose credits have not been given back yet.
    passed: u32,
    /// Polls in a row that found the head unpublished.
    misses: u32,
    /// Slots beyond the head that were taken already: bit `ticket % slots`.
    taken: Box<[u64]>,
    /// How many bits of `taken` are set.
    ahead: u32,
    /// A head that was found unpublished, and how often nothing was found behind it either.
    hole: (u32, u32),
}

impl Receiver {
    /// For a ring of `slots` slots, a power of two.
    pub fn new(slots: u32) -> Self {
        let words = (slots as usize).div_ceil(64);
        Receiver {
            head: 0,
            passed: 0,
            misses: 0,
            taken: vec![0; words].into(),
            ahead: 0,
            hole: (0, 0),
        }
    }

    /// The next published slot, if any. The caller reads the slot and then calls [`Receiver::done`] with the same
    /// ticket, before it asks again. `leapt` says whether the slot lies behind an unpublished one. It is an error if
    /// more tickets are out than credits allow, or if the sender of the slot at the head may have died.
    #[inline(always)]
    pub fn next<'a>(
        &mut self,
        tail: &AtomicU32,
        cells: &'a [Cell],
    ) -> Result<Option<Taken<'a>>, Halt> {
        let cell = &cells[self.head as usize & (cells.len() - 1)];
        // Acquire pairs with the release in `Claim::publish`.
        if cell.seq.load(order!(Acquire, "ring.next")) == self.head.wrapping_add(1) {
            if self.misses == 0 {
                let ahead = self.head.wrapping_add(TAKEN_AHEAD) as usize & (cells.len() - 1);
                hpvm_sync::prefetch(core::ptr::from_ref(&cells[ahead]).cast());
            }
            return Ok(Some(Taken { ticket: self.head, cell, leapt: false }));
        }
        self.misses += 1;
        if self.misses < MISSES_BEFORE_LEAP {
            return Ok(None);
        }
        self.leapfrog(tail, cells)
    }

    /// Looks for a published slot behind an unpublished head.
    #[cold]
    fn leapfrog<'a>(
        &mut self,
        tail: &AtomicU32,
        cells: &'a [Cell],
    ) -> Result<Option<Taken<'a>>, Halt> {
        self.misses = 0;
        // Relaxed: a stale tail only hides slots until the next look.
        let span = tail.load(Ordering::Relaxed).wrapping_sub(self.head);
        if span > cells.len() as u32 {
            return Err(Halt::RunAway(span));
        }
        let mut end = span;
        let mut found = None;
        // The sender of the slot that was found may have published an earlier slot after we looked at that one.
        // Since we have seen the later publication, we now see the earlier one, too. So look again at all slots
        // before it, the head included, until no earlier one turns up. Otherwise a sender would overtake itself.
        while let Some(step) = (0..end).find(|step| self.published(cells, *step)) {
            found = Some(step);
            end = step;
        }
        let Some(step) = found else { return self.suspect(span) };
        self.misses = MISSES_BEFORE_LEAP; // the next poll looks behind the head again
        let ticket = self.head.wrapping_add(step);
        let cell = &cells[ticket as usize & (cells.len() - 1)];
        Ok(Some(Taken { ticket, cell, leapt: step != 0 }))
    }

    /// Nothing is published among the `span` tickets from the head on. Whether some of them have been so for long.
    fn suspect<T>(&mut self, span: u32) -> Result<Option<T>, Halt> {
        if span == self.ahead {
            return Ok(None); // all of them have been taken, or there is none
        }
        if self.hole.0 != self.head {
            self.hole = (self.head, 0);
        }
        self.hole.1 = self.hole.1.saturating_add(1);
        let looks = self.hole.1;
        let due = looks >= FIRST_SUSPICION
            && (looks.is_power_of_two() || looks.is_multiple_of(RARE_SUSPICION));
        if due { Err(Halt::Suspicion) } else { Ok(None) }
    }

    /// Whether the slot at the head of rank `me`'s ring was claimed by a rank that has died before it published the
    /// slot. `claiming` are the words of that name of all ranks that can send here; `is_gone` asks whether a rank has died.
    /// False also where that can't be told at the moment, because another rank is claiming a slot.
    pub fn head_is_abandoned<'a>(
        &self,
        (me, tail, cells): (Rank, &AtomicU32, &[Cell]),
        claiming: impl Iterator<Item = (Rank, &'a AtomicU32)>,
        is_gone: impl Fn(Rank) -> bool,
    ) -> bool {
        // Acquire pairs with the release in `Claim::new`: whoever has claimed the head says so below, or has published it.
        if tail.load(order!(Acquire, "ring.abandoned")) == self.head {
            return false;
        }
        let mut dead = false;
        for (rank, word) in claiming {
            // Acquire pairs with the release in `Claim::publish`.
            if word.load(order!(Acquire, "ring.claiming")) != me + 1 {
                continue;
            }
            if !is_gone(rank) {
                return false;
            }
            dead = true;
        }
        dead && !self.published(cells, 0)
    }

    /// Passes the head, which is abandoned.
    pub fn pass_head(&mut self, pool: &AtomicU32, slots: u32) {
        self.done(self.head, pool, slots);
    }

    /// The published slots that have not been taken yet.
    pub fn waiting<'a>(
        &self,
        tail: &AtomicU32,
        cells: &'a [Cell],
    ) -> impl Iterator<Item = &'a Cell> {
        // Relaxed: slots that are claimed from now on do not matter to the caller.
        let span = tail.load(Ordering::Relaxed).wrapping_sub(self.head).min(cells.len() as u32);
        let index = move |step| self.head.wrapping_add(step) as usize & (cells.len() - 1);
        (0..span).filter(|step| self.published(cells, *step)).map(move |step| &cells[index(step)])
    }

    /// Whether the slot `step` tickets behind the head is published and not taken yet.
    fn published(&self, cells: &[Cell], step: u32) -> bool {
        let ticket = self.head.wrapping_add(step);
        let index = ticket as usize & (cells.len() - 1);
        self.taken[index / 64] >> (index % 64) & 1 == 0
            // Acquire pairs with the release in `Claim::publish`.
            && cells[index].seq.load(order!(Acquire, "ring.leapfrog")) == ticket.wrapping_add(1)
    }

    /// The slot of `ticket` has been read. Gives credits back when enough have gathered.
    #[inline(always)]
    pub fn done(&mut self, ticket: u32, pool: &AtomicU32, slots: u32) {
        if ticket == self.head {
            self.head = self.head.wrapping_add(1);
            self.passed += 1;
            self.misses = 0;
            if self.ahead != 0 {
                self.skip_taken(slots);
            }
        } else {
            let index = (ticket & (slots - 1)) as usize;
            self.taken[index / 64] |= 1 << (index % 64);
            self.ahead += 1;
        }
        if self.passed >= slots / 8 {
            self.give_back(pool);
        }
    }

    /// Moves the head over slots that were taken out of order.
    #[cold]
    fn skip_taken(&mut self, slots: u32) {
        while self.ahead != 0 {
            let index = (self.head & (slots - 1)) as usize;
            let bit = 1u64 << (index % 64);
            if self.taken[index / 64] & bit == 0 {
                return;
            }
            self.taken[index / 64] &= !bit;
            self.ahead -= 1;
            self.head = self.head.wrapping_add(1);
            self.passed += 1;
        }
    }

    /// Returns the credits of the slots passed so far to the pool.
    fn give_back(&mut self, pool: &AtomicU32) {
        // Release pairs with the acquire in `take_credits`: our reads of the slots come first.
        pool.fetch_add(self.passed, order!(Release, "ring.give_back"));
        self.passed = 0;
    }

    /// True when a published slot waits (used before sleeping; never leap-frogs by itself).
    pub fn pending(&self, tail: &AtomicU32) -> bool {
        // Relaxed: called after the barrier that `Packets::arm` pays. A claimed slot that is
        // not published yet also counts: its sender is about to publish.
        tail.load(Ordering::Relaxed).wrapping_sub(self.head) > self.ahead
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    /// The word of a sender that nobody asks.
    static CLAIMING: AtomicU32 = AtomicU32::new(0);

    /// The next slot. A sender that is long in a claim, under the load of other tests, is suspected and lives.
    fn next<'a>(r: &mut Receiver, tail: &AtomicU32, cells: &'a [Cell]) -> Option<Taken<'a>> {
        match r.next(tail, cells) {
            Ok(taken) => taken,
            Err(Halt::Suspicion) => None,
            Err(Halt::RunAway(span)) => panic!("{span} tickets"),
        }
    }

    fn ring(slots: usize) -> (AtomicU32, AtomicU32, Vec<Cell>) {
        let cells = (0..slots).map(|_| Cell::new()).collect();
        (AtomicU32::new(0), AtomicU32::new(slots as u32), cells)
    }

    #[test]
    fn leapfrog_passes_a_stopped_sender_and_withholds_credits() {
        let (tail, pool, cells) = ring(16);
        let mut r = Receiver::new(16);
        assert_eq!(take_credits(&pool, 16), 16);
        let stopped = Claim::new(&tail, &cells, &CLAIMING, 0);
        for _ in 0..15 {
            Claim::new(&tail, &cells, &CLAIMING, 0).publish();
        }
        let mut got = 0;
        for _ in 0..2 * MISSES_BEFORE_LEAP {
            if let Some(Taken { ticket, leapt, .. }) = next(&mut r, &tail, &cells) {
                assert!(leapt);
                assert_eq!(ticket, got + 1);
                got += 1;
                r.done(ticket, &pool, 16);
            }
        }
        assert_eq!(got, 15);
        assert_eq!(take_credits(&pool, 16), 0, "no slot beyond an unread one may be used again");
        stopped.publish();
        let Taken { ticket, leapt, .. } = next(&mut r, &tail, &cells).unwrap();
        assert_eq!((ticket, leapt), (0, false));
        r.done(ticket, &pool, 16);
        assert_eq!(take_credits(&pool, 16), 16);
        assert!(!r.pending(&tail));
    }

    #[test]
    fn tickets_wrap() {
        let (tail, pool, cells) = ring(8);
        tail.store(u32::MAX - 3, Ordering::Relaxed);
        let mut r = Receiver::new(8);
        r.head = u32::MAX - 3;
        for i in 0..64u64 {
            while take_credits(&pool, 1) == 0 {}
            let c = Claim::new(&tail, &cells, &CLAIMING, 0);
            let head =
                hpvm_wire::cell::RawHead { src: 0, imm: i, handler: 0, flags: 0, aux: 0, len: 0 };
            // SAFETY: this test owns the ring.
            unsafe { c.cell().write_head(head) };
            c.publish();
            let Taken { ticket: t, cell, .. } = next(&mut r, &tail, &cells).unwrap();
            // SAFETY: published just above.
            assert_eq!(unsafe { cell.read_head() }.imm, i);
            r.done(t, &pool, 8);
        }
    }

    #[test]
    fn batches_never_starve_the_ring() {
        for ranks in (1..2000).step_by(if cfg!(miri) { 97 } else { 1 }) {
            let b = u32::from(batch(512, ranks));
            assert!(b >= 1 && ranks * (b - 1) <= 512 / 4, "{ranks} ranks, batch {b}");
        }
    }

    /// Bursts of one sender, with pauses in which the receiver runs out of patience: a leap must
    /// not take the second slot of a burst before the first.
    #[test]
    fn bursts_of_one_sender_keep_their_order() {
        // Miri takes some 1000 times as long for each.
        const BURSTS: u32 = if cfg!(miri) { 60 } else { 60_000 };
        let (tail, pool, cells) = ring(64);
        std::thread::scope(|s| {
            s.spawn(|| {
                let mut pause = 1u32;
                for _ in 0..BURSTS {
                    pause = pause.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (0..pause >> 24).for_each(|_| core::hint::spin_loop());
                    for _ in 0..2 {
                        while take_credits(&pool, 1) == 0 {
                            std::thread::yield_now();
                        }
                        Claim::new(&tail, &cells, &CLAIMING, 0).publish();
                    }
                }
            });
            let mut r = Receiver::new(64);
            let mut want = 0;
            while want < 2 * BURSTS {
                match next(&mut r, &tail, &cells) {
                    Some(Taken { ticket, .. }) => {
                        assert_eq!(ticket, want, "taken out of the sender's order");
                        want += 1;
                        r.done(ticket, &pool, 64);
                    }
                    None => std::hint::spin_loop(),
                }
            }
        });
    }

    #[test]
    fn many_senders_keep_their_order() {
        // As above.
        const EACH: u64 = if cfg!(miri) { 50 } else { 20_000 };
        let (tail, pool, cells) = ring(64);
        let shared = (&tail, &pool, &cells);
        std::thread::scope(|s| {
            for src in 0..4u32 {
                s.spawn(move || {
                    let (tail, pool, cells) = shared;
                    for i in 0..EACH {
                        while take_credits(pool, 1) == 0 {
                            std::thread::yield_now();
                        }
                        let c = Claim::new(tail, cells, &CLAIMING, 0);
                        let head = hpvm_wire::cell::RawHead {
                            src,
                            imm: i,
                            handler: 0,
                            flags: 0,
                            aux: 0,
                            len: 0,
                        };
                        // SAFETY: the claim is ours.
                        unsafe { c.cell().write_head(head) };
                        c.publish();
                    }
                });
            }
            let mut r = Receiver::new(64);
            let mut want = [0u64; 4];
            while want.iter().sum::<u64>() < 4 * EACH {
                let Some(Taken { ticket: t, cell, .. }) = next(&mut r, &tail, &cells) else {
                    std::thread::yield_now();
                    continue;
                };
                // SAFETY: published and not yet done.
                let h = unsafe { cell.read_head() };
                assert_eq!(h.imm, want[h.src as usize]);
                want[h.src as usize] += 1;
                r.done(t, &pool, 64);
            }
        });
    }
}
