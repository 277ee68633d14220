//! Waiting: progress until something is done, polling first and sleeping later.
//!
//! A waiting thread polls for a while, because most answers come within microseconds. Then it
//! yields between polls: the rank it waits for may be waiting for this very processor, whether
//! because the job has more ranks than processors or because others use the machine. After that
//! it sleeps in the kernel, and the next packet wakes it.
//!
//! With several threads one of the waiting ones, the leader, polls for all; the others sleep until
//! the leader has completed something, was woken or leaves.

use crate::object::comm::CommObject;
use crate::runtime::{Entered, World, end_process};
use crate::say::say;
use hpvm_mpi::coll::shm;
use hpvm_mpi::comm::build::Host;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error, Outcome, Process, ReqId};
use hpvm_mux::Mux;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Polls before the first yield where every rank has a processor: some microseconds.
pub const POLLS: u32 = 300;
/// The same where ranks share processors.
pub const OVERSUBSCRIBED_POLLS: u32 = 20;
/// The same where each poll may ask a socket.
const OVERSUBSCRIBED_NET_POLLS: u32 = 2;
/// Yields before sleeping. One that gives way to nobody takes half a microsecond.
pub const YIELDS: u32 = 50;
/// Polls from one yield to the next where every rank has a processor.
const BETWEEN: u32 = 32;
/// Polls for a slot from one look at the network to the next.
const SLOT_POLLS: u32 = 8;
/// Polls for a slot of a rank on another processor from one yield to the next where ranks share
/// processors.
const SLOT_SPINS: u32 = 40;
/// Turns of a rank that waits for messages of another host, in a collective over slots, from one
/// yield to the next where ranks share processors: the answer takes some 10 µs.
const CROSSING: u32 = 20;
/// Yields from one look at how ranks are spread over the processors to the next.
const SPREAD: u32 = 64;
/// The same while others work on long slots: few yields, and much to win.
const SPREAD_LONG: u32 = 8;
/// The same of ranks that wait for slots and have a processor each: all of them show where they are.
const SPREAD_APART: u32 = 4;
/// Yields for a slot before sleeping.
const SLOT_YIELDS: u32 = 400;
/// A yield takes so long where others than waiting ranks want the processor: programs that compute
/// get milliseconds. A sleeper that is woken gets it at once.
const LONG_YIELD: Duration = Duration::from_micros(300);
/// Waits for slots without yields after that.
const LOADED: u32 = 100;
/// Longest sleep: then look whether the launcher still lives.
pub const LONG: Duration = Duration::from_millis(500);
/// Longest sleep while packets wait for credits, whose return rings no bell.
const SHORT: Duration = Duration::from_micros(50);

impl Entered {
    /// Moves everything on, and runs the program's reduction functions that are due.
    #[inline]
    pub fn turn(&mut self) -> Result<bool> {
        let moved = self.process.progress();
        let mut moved = moved.map_err(|broken| crate::raise::broken(&mut self.job, &broken))?;
        while let Some(mut compute) = self.process.take_compute() {
            let lent = self.objects.lend_handle(compute.ty());
            self.outside(|| compute.run());
            if let Some(handle) = lent {
                self.objects.take_back(handle);
            }
            self.process.computed(compute);
            moved = true;
        }
        if !self.objects.unfinished.is_empty() {
            moved |= crate::body::comm::poll_unfinished(self);
        }
        if !self.objects.watched.is_empty() {
            moved |= crate::body::watch::poll(self);
        }
        if self.process.has_fast_arrivals() {
            self.outside(hpvm_fm_abi::deliver);
        }
        if moved {
            self.alarm();
        }
        Ok(moved)
    }

    /// One turn for a call that does not wait. A program that waits by calling again and again would
    /// keep the processor from those whom it waits for, so turns in vain give way as waiting does,
    /// though they never sleep.
    #[inline]
    pub fn glance(&mut self) -> Result<()> {
        self.vain = if self.turn()? { 0 } else { self.vain.saturating_add(1) };
        if self.vain > self.patience() {
            self.give_way_in_vain();
        }
        Ok(())
    }

    #[cold]
    fn give_way_in_vain(&mut self) {
        if self.oversubscribed || self.vain.is_multiple_of(BETWEEN) {
            self.give_way(SPREAD);
        }
    }

    /// Blocks until `done` says so. `done` is asked after every turn, at least once.
    #[inline]
    pub fn wait_until(&mut self, mut done: impl FnMut(&mut World) -> bool) -> Result<()> {
        let mut idle = 0;
        loop {
            let moved = self.turn()?;
            if done(self) {
                if self.followers > 0 {
                    self.turn_over();
                }
                return Ok(());
            }
            idle = if moved { 0 } else { idle + 1 };
            if !self.shared() {
                self.rest(idle);
            } else if self.leader {
                self.follow_leader();
            } else {
                self.lead(idle, moved);
            }
        }
    }

    /// Polls that are worth doing before anything else.
    #[inline(always)]
    pub fn patience(&self) -> u32 {
        match self.oversubscribed {
            true if self.process.fm().transport().spans_hosts() => OVERSUBSCRIBED_NET_POLLS,
            true => OVERSUBSCRIBED_POLLS,
            false if self.shares => OVERSUBSCRIBED_POLLS,
            false => POLLS,
        }
    }

    /// Yields before sleeping. A bell that also watches sockets is slow.
    #[inline]
    fn most_yields(&self) -> u32 {
        let spans = self.oversubscribed && self.process.fm().transport().spans_hosts();
        if spans { SLOT_YIELDS } else { YIELDS }
    }

    /// Nothing came for `idle` turns in a row: spin, yield or sleep.
    #[inline]
    pub(crate) fn rest(&mut self, idle: u32) {
        let polls = self.patience();
        let between = if self.oversubscribed { 1 } else { BETWEEN };
        let beyond = idle.saturating_sub(polls);
        if beyond == 1 && !self.oversubscribed {
            self.look_around(SPREAD);
        }
        if beyond > 0 && self.shares {
            self.sleep();
        } else if beyond == 0 || !beyond.is_multiple_of(between) {
            hpvm_sync::spin_hint();
        } else if beyond <= self.most_yields() * between {
            self.give_way(SPREAD);
        } else {
            self.sleep();
        }
    }

    /// Sees whether another rank waits on this very processor, although there are enough for all: the
    /// kernel puts two there that wake each other, or that yield.
    fn look_around(&mut self, spread: u32) {
        self.shares = self.process.fm().transport().shares_processor();
        if self.shares {
            self.part(spread);
        }
    }

    /// Goes elsewhere, once in `spread` calls, where there is a better place. Two ranks that wake each other on
    /// one processor look to the kernel as if one processor was enough for both.
    fn part(&mut self, spread: u32) {
        let World { process, yields, .. } = &mut **self;
        *yields = yields.wrapping_add(1);
        if yields.is_multiple_of(spread) {
            process.fm_mut().transport_mut().spread();
        } else {
            process.fm().transport().show_processor();
        }
    }

    /// Lets another process have our processor.
    fn give_way(&mut self, spread: u32) {
        if self.oversubscribed {
            self.part(spread);
        }
        // SAFETY: a system call without arguments.
        self.outside(|| unsafe { libc::sched_yield() });
    }

    /// Something ended by other means than the leader's polling: it may sleep on the network.
    #[inline]
    pub fn alarm(&mut self) {
        if self.leader && self.shared() {
            self.bell().ring();
        }
    }

    fn bell(&mut self) -> std::sync::Arc<dyn hpvm_transport::Doorbell> {
        let World { objects, process, .. } = &mut **self;
        objects.bell(process)
    }

    #[cold]
    fn sleep(&mut self) {
        self.nap(LONG);
    }

    /// Blocks until a collective over collective slots is done.
    ///
    /// Nobody who waits for a slot can have it before the others were on a processor, so ranks that
    /// share processors yield at once, and for longer: a sleep and its wake-up cost as much as
    /// dozens of yields.
    pub fn wait_for_slots(
        &mut self,
        call: &mut impl shm::ShmCollective,
        name: &'static str,
        object: &Arc<CommObject>,
    ) -> Result<()> {
        let (mut polls, mut spins, mut yields) = (0u32, 0, 0);
        let mut began = None;
        // A sleeper of a job on several hosts is woken by a pipe: yields are better even then.
        let spans = self.process.fm().transport().spans_hosts();
        // What others do with long slots takes as long as other programs would.
        let judges = !spans && !call.is_long();
        let mut yielding = !judges || self.loaded == 0;
        self.loaded = self.loaded.saturating_sub(1);
        while !call.poll(&mut self.process)? {
            polls += 1;
            if polls % SLOT_POLLS == 0 || self.oversubscribed && !spans || call.is_crossing() {
                self.turn()?;
            }
            if spins < self.slot_patience(call, spans) {
                spins += 1;
                hpvm_sync::spin_hint();
            } else if yielding && yields < SLOT_YIELDS {
                let began = *began.get_or_insert_with(Instant::now);
                if yields == 0 && !self.oversubscribed {
                    self.look_around(SPREAD_APART);
                }
                yields += 1;
                spins = if self.oversubscribed { 0 } else { spins };
                self.give_way(if call.is_long() { SPREAD_LONG } else { SPREAD });
                if judges && yields.is_power_of_two() && began.elapsed() > LONG_YIELD * yields {
                    // The first one may have been an interruption of the whole machine.
                    self.loaded = if self.suspects_load { LOADED } else { 0 };
                    self.suspects_load = true;
                    yielding = false;
                }
            } else if self.leader {
                // The bell is that thread's: two on it would miss each other's packets.
                self.follow_leader();
            } else {
                self.objects.meeting = Some((name, object.comm.base_context()));
                self.nap_for_slots(call);
                self.objects.meeting = None;
            }
        }
        if judges && yielding && yields > 0 {
            self.suspects_load = false;
        }
        if self.followers > 0 {
            self.turn_over();
        }
        Ok(())
    }

    /// Polls for what `call` waits for that are worth doing before a yield.
    fn slot_patience(&self, call: &impl shm::ShmCollective, spans: bool) -> u32 {
        match self.oversubscribed {
            false if self.shares => OVERSUBSCRIBED_POLLS,
            false => POLLS,
            true if call.is_crossing() => CROSSING,
            true if !self.awaits_other_processors(call) => 0,
            true if spans => OVERSUBSCRIBED_NET_POLLS,
            true => SLOT_SPINS,
        }
    }

    /// Everybody whose slot `call` waits for was last seen on another processor than ours: to give
    /// ours away would not bring the slot.
    fn awaits_other_processors(&self, call: &impl shm::ShmCollective) -> bool {
        let transport = self.process.fm().transport();
        let here = transport.show_processor();
        !call.awaits(&self.process, |rank| transport.processor(rank) == here)
    }

    #[cold]
    fn nap_for_slots(&mut self, call: &mut impl shm::ShmCollective) {
        let limit = if call.lacks_room() { SHORT } else { LONG };
        self.nap_unless(limit, |w| call.is_ready(&w.process));
    }

    /// Sleeps until a packet comes, at most `limit`.
    pub fn nap(&mut self, limit: Duration) {
        self.nap_unless(limit, |_| false);
    }

    /// As `nap`, unless `ready` says, when everybody rings the bell already, that there is no need.
    fn nap_unless(&mut self, limit: Duration, ready: impl FnOnce(&World) -> bool) {
        let limit = if self.process.has_backlog() { SHORT.min(limit) } else { limit };
        if !self.process.fm_mut().arm() {
            return;
        }
        if ready(self) {
            self.process.fm_mut().disarm();
            return;
        }
        let limit = self.fall_asleep(limit);
        if limit == LONG {
            // Before and not after the sleep: whoever wakes us shall not wait for it.
            self.check_launcher();
        }
        let bell = self.bell();
        // Whoever comes meanwhile leaves the bell to us.
        self.leader = true;
        self.outside(|| bell.wait(limit));
        self.leader = false;
        self.process.fm_mut().disarm();
        if self.followers > 0 {
            // It may have rung for a slot that one of them waits for.
            self.turn_over();
        }
        self.woken();
    }

    /// Ends this process when the launcher is gone: nobody would ever end it otherwise.
    fn check_launcher(&self) {
        let Some(manager) = &self.job.manager else { return };
        let mut poll = libc::pollfd { fd: manager.fd(), events: 0, revents: 0 };
        // SAFETY: one valid pollfd; returns at once.
        let n = unsafe { libc::poll(&mut poll, 1, 0) };
        if n > 0 && poll.revents & (libc::POLLHUP | libc::POLLERR) != 0 {
            say(&format!("rank {}: the launcher is gone; giving up", self.job.rank));
            // Not `exit`, whose handlers may call MPI: the engine is held.
            end_process(1);
        }
    }

    /// One turn of rest as the thread that polls for all.
    fn lead(&mut self, idle: u32, moved: bool) {
        if moved && self.followers > 0 {
            self.turn_over();
        }
        self.leader = true;
        if self.oversubscribed || idle > self.patience() {
            self.rest(idle);
        } else if idle % 16 == 15 {
            // Lets other threads in.
            self.outside(std::thread::yield_now);
        }
        self.leader = false;
    }

    fn follow_leader(&mut self) {
        self.followers += 1;
        self.follow(Duration::from_millis(1));
        self.followers -= 1;
    }

    /// Blocks until request `id` is done, and frees it.
    #[inline]
    pub fn wait_for(&mut self, id: ReqId) -> Result<Outcome> {
        self.wait_until(|w| w.process.requests().get(id).is_none_or(|r| r.done))?;
        self.outcome(id)
    }

    /// As `wait_for`, for an operation that has just been started by the same call: if it was done
    /// there and then, nothing is looked at.
    #[inline]
    pub fn wait_for_new(&mut self, id: ReqId) -> Result<Outcome> {
        match self.process.requests().get(id) {
            Some(request) if request.done => self.outcome(id),
            _ => self.wait_for(id),
        }
    }

    fn outcome(&mut self, id: ReqId) -> Result<Outcome> {
        self.process
            .take_outcome(id)
            .ok_or_else(|| Error::new(Class::Request, "the request was freed by another thread"))
    }

    /// As `wait_for`, with the operation's error as the call's error.
    #[inline]
    pub fn complete(&mut self, id: ReqId) -> Result<hpvm_mpi::Status> {
        let outcome = self.wait_for(id)?;
        match outcome.error {
            None => Ok(outcome.status),
            Some(error) => Err(*error),
        }
    }

    /// Blocks until every send that nobody waits for has left this process.
    pub fn flush(&mut self) -> Result<()> {
        self.wait_until(|w| {
            let detached = |r: &hpvm_mpi::engine::requests::Request| r.detached && !r.done;
            !w.process.owes_packets() && !w.process.requests().iter().any(|(_, r)| detached(r))
        })
    }
}

impl Host for Entered {
    type T = Mux;

    fn with<R>(&mut self, f: impl FnOnce(&mut Process<Mux>) -> R) -> R {
        f(&mut self.process)
    }

    fn wait_only(&mut self, id: ReqId) -> Result<()> {
        self.wait_until(|w| w.process.requests().get(id).is_none_or(|r| r.done))
    }
}
