//! Waiting: progress until something is done, polling first and sleeping later.
//!
//! How a thread waits is decided by the wait policy ([`hpvm_mpi::engine::wait_policy`]); here it is done.
//!
//! With several threads one of the waiting ones, the leader, polls for all; the others sleep until
//! the leader has completed something, was woken or leaves.

use crate::dynamic::link::Side;
use crate::object::Meeting;
use crate::object::comm::CommObject;
use crate::runtime::{Entered, World, end_process};
use crate::say::say;
use hpvm_mpi::coll::shm;
use hpvm_mpi::comm::build::Host;
use hpvm_mpi::engine::wait_policy::{self, Decision, SlotFacts};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error, Outcome, Process, ReqId};
use hpvm_mux::Mux;
use std::cell::{OnceCell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Looks at memory from one turn to the next, while that is polled for.
const POLLS_PER_TURN: u32 = 8;
/// Turns, at most, from one time to the next that a waiting thread asks the kernel about a descriptor.
const TURNS_BETWEEN_QUESTIONS: u32 = 256;

impl Entered {
    /// Moves on what needs no function of the program.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<bool> {
        let moved = self.process.progress();
        let moved = moved.map_err(|broken| crate::raise::broken(&mut self.job, &broken));
        if self.process.has_notices() {
            crate::body::rma::deliver(self);
        }
        moved
    }

    /// Moves everything on, and runs the program's reduction functions that are due.
    #[inline]
    pub fn progress_step(&mut self) -> Result<bool> {
        let mut moved = self.step()?;
        while let Some(mut compute) = self.process.take_compute() {
            let lent = self.objects.lend_handle(compute.ty());
            self.outside(|| compute.run());
            if let Some(handle) = lent {
                self.objects.take_back(handle);
            }
            self.process.computed(compute);
            moved = true;
        }
        if self.objects.has_rarities() {
            moved |= self.progress_rarities();
        }
        if self.process.has_fast_arrivals() {
            self.outside(hpvm_fm_abi::deliver);
        }
        let due = self.objects.model_service.due(self.process.models_with_packets(), moved);
        if due != 0 {
            crate::models::serve(self, due);
        }
        if moved {
            self.alarm();
        }
        Ok(moved)
    }

    /// Moves on what few programs have.
    #[cold]
    fn progress_rarities(&mut self) -> bool {
        let mut moved = false;
        if !self.objects.unfinished.is_empty() {
            moved |= crate::body::comm::poll_unfinished(self);
        }
        if !self.objects.comparisons.is_empty() {
            moved |= crate::audit::settle(self);
        }
        if !self.objects.watched.is_empty() {
            moved |= crate::body::watch::poll(self);
        }
        moved
    }

    /// One turn for a call that does not wait. A program that waits by calling again and again would
    /// keep the processor from those whom it waits for, so turns in vain give way as waiting does,
    /// though they never sleep.
    #[inline]
    pub fn glance(&mut self) -> Result<()> {
        let moved = self.progress_step()? || self.poll_delegations_in_passing();
        self.glanced(moved);
        Ok(())
    }

    /// Whoever waits for others may wait for what they make of small puts that have not left.
    #[inline(always)]
    pub fn send_batches(&mut self) {
        let (fm, onesided) = self.process.onesided();
        onesided.send_batches(fm);
    }

    /// As `poll_delegations`, in a call that does not wait.
    #[inline(always)]
    fn poll_delegations_in_passing(&mut self) -> bool {
        self.process.onesided().1.offers() && self.serve_offered()
    }

    /// Others expect that this rank polls while its program waits by such calls. One that looks now and then does what it finds, but
    /// nobody is to wait for it.
    #[inline(never)]
    fn serve_offered(&mut self) -> bool {
        let World { policy, process, .. } = &mut **self;
        if !policy.serves_delegations() {
            return false;
        }
        let (fm, onesided) = process.onesided();
        let found = match policy.waits_by_calling(Instant::now) {
            true => onesided.poll_delegations(fm),
            false => onesided.do_posted(fm),
        };
        if found {
            policy.shares = false;
        }
        found
    }

    /// What follows on the turn of a call that does not wait.
    #[inline]
    pub fn glanced(&mut self, moved: bool) {
        match self.policy.after_glance(moved, Instant::now) {
            Decision::Spin => {}
            decision => {
                self.do_as(decision);
                self.learn_of_deaths_sometimes();
            }
        }
    }

    /// Whether a turn now is no more than to take packets and what they leave to be done, for this thread alone.
    #[inline(always)]
    pub fn turns_are_plain(&self) -> bool {
        let objects = &self.objects;
        !self.leader && self.followers == 0 && !objects.has_rarities()
    }

    /// Blocks until `done` says so. `done` is asked after every turn, at least once.
    #[inline]
    pub fn wait_until(&mut self, mut done: impl FnMut(&mut World) -> bool) -> Result<()> {
        let mut idle = 0;
        loop {
            let moved = self.progress_step()?;
            if done(self) {
                if self.followers > 0 {
                    self.turn_over();
                }
                return Ok(());
            }
            self.send_batches();
            idle = if moved || self.poll_delegations() { 0 } else { idle + 1 };
            if !self.shared() {
                if !self.let_in() {
                    self.rest(idle);
                }
            } else if self.leader {
                self.follow_leader();
            } else {
                self.lead(idle, moved);
            }
        }
    }

    /// As `wait_until`, where `done` asks the kernel about descriptors that end sleeps (`watch`). To ask takes microseconds, as
    /// long as dozens of turns, so `done` is asked at first, whenever this thread has let others run since, and once in
    /// many turns, should packets keep coming. Where several threads wait it is asked in each turn.
    pub fn wait_for_kernel(&mut self, mut done: impl FnMut(&mut World) -> bool) -> Result<()> {
        let (mut asked, mut turns) = (None, 0u32);
        self.wait_until(|w| {
            let pauses = w.policy.pauses();
            turns = turns.wrapping_add(1);
            let due = asked != Some(pauses)
                || turns.is_multiple_of(TURNS_BETWEEN_QUESTIONS)
                || w.leader
                || w.followers > 0;
            asked = Some(pauses);
            due && done(w)
        })
    }

    /// Polls for what other ranks write into memory, as long as that is worth doing before anything else. True: `there` says that it is
    /// there. Several threads don't: they wait for packets together.
    #[inline]
    pub fn poll_memory(&mut self, there: impl Fn() -> bool) -> Result<bool> {
        if there() {
            return Ok(true);
        }
        let polls = if self.shared() { 0 } else { self.polls_before_yield() };
        for poll in 1..=polls {
            hpvm_sync::spin_hint();
            if there() {
                return Ok(true);
            }
            self.poll_delegations();
            if poll.is_multiple_of(POLLS_PER_TURN) {
                self.progress_step()?;
            }
        }
        Ok(false)
    }

    /// While this thread waits: does an operation on memory of this rank that another one has left for it. True: there was one.
    #[inline(always)]
    fn poll_delegations(&mut self) -> bool {
        let World { policy, process, .. } = &mut **self;
        let (fm, onesided) = process.onesided();
        let found = policy.serves_delegations() && onesided.poll_delegations(fm);
        if found {
            // Who runs while we do is on another processor.
            policy.shares = false;
        }
        found
    }

    /// Polls that are worth doing before anything else.
    #[inline(always)]
    pub fn polls_before_yield(&self) -> u32 {
        self.policy.polls()
    }

    /// Nothing came for `idle` turns in a row: spin, yield or sleep.
    #[inline]
    pub(crate) fn rest(&mut self, idle: u32) {
        let memory = self.polls_memory != 0;
        let decide = |w: &mut World, looked| match memory {
            true => w.policy.for_memory(idle, looked),
            false => w.policy.for_packets(idle, looked),
        };
        let mut decision = decide(self, false);
        if decision == Decision::Look {
            self.look_around(memory);
            decision = decide(self, true);
        }
        self.do_as(decision);
    }

    #[inline]
    fn do_as(&mut self, decision: Decision) {
        match decision {
            Decision::Spin | Decision::Look => hpvm_sync::spin_hint(),
            Decision::Yield => self.give_way(false),
            Decision::Migrate => self.give_way(true),
            Decision::Sleep(limit) => self.nap(limit),
        }
    }

    /// Sees whether another rank waits on this very processor.
    fn look_around(&mut self, slots: bool) {
        self.policy.shares = self.process.fm().transport().shares_processor();
        match self.policy.after_look(slots) {
            Decision::Migrate => self.process.fm_mut().transport_mut().migrate(),
            Decision::Yield => {
                self.process.fm().transport().show_processor();
            }
            _ => {}
        }
    }

    /// Lets another process have our processor, and looks for a better one if it `migrates`.
    fn give_way(&mut self, migrates: bool) {
        if self.policy.oversubscribed && migrates {
            self.process.fm_mut().transport_mut().migrate();
        } else if self.policy.oversubscribed {
            self.process.fm().transport().show_processor();
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

    /// Lets threads that wait look again.
    pub fn call_back(&mut self) {
        if self.followers > 0 {
            self.turn_over();
        }
        self.alarm();
    }

    pub(crate) fn bell(&mut self) -> std::sync::Arc<dyn hpvm_transport::Doorbell> {
        let World { objects, process, .. } = &mut **self;
        objects.bell(process)
    }

    /// Blocks until a collective through shared memory is done.
    pub fn wait_for_slots(
        &mut self,
        call: &mut impl shm::ShmCollective,
        name: &'static str,
        object: &Arc<CommObject>,
    ) -> Result<()> {
        let began = OnceCell::new();
        let now = || began.get_or_init(Instant::now).elapsed();
        let mut wait = self.policy.begin_slots(call.is_long(), call.number());
        while !call.poll(&mut self.process)? {
            if self.policy.steps_for_slots(&mut wait, call.is_crossing()) {
                self.let_in();
                self.progress_step()?;
            }
            if self.poll_delegations() {
                self.policy.go_on_polling(&mut wait);
            }
            let facts = self.facts(call);
            let decision = self.policy.for_slots(&mut wait, facts, now);
            if matches!(decision, Decision::Sleep(_)) && !call.is_crossing() {
                self.check_members(object)?;
            }
            match decision {
                Decision::Look => {
                    self.look_around(true);
                    self.give_way(false);
                }
                // The bell is that thread's: two on it would miss each other's packets.
                Decision::Sleep(_) if self.leader => self.follow_leader(),
                Decision::Sleep(limit) => {
                    let awaits = RefCell::new(Vec::new());
                    call.awaits(&self.process, |rank| {
                        awaits.borrow_mut().push(rank);
                        false
                    });
                    let (context, awaits) = (object.comm.base_context(), awaits.into_inner());
                    self.objects.meeting = Some(Meeting { call: name, context, awaits });
                    self.nap_unless(limit, |w| call.is_ready(&w.process));
                    self.objects.meeting = None;
                }
                decision => self.do_as(decision),
            }
        }
        self.policy.end_slots(&wait, now);
        if self.followers > 0 {
            self.turn_over();
        }
        Ok(())
    }

    /// What the wait policy asks about a collective that waits.
    fn facts(&self, call: &impl shm::ShmCollective) -> SlotFacts {
        let here = || {
            let transport = self.process.fm().transport();
            let here = transport.show_processor();
            call.awaits(&self.process, |rank| transport.processor(rank) == here)
        };
        SlotFacts {
            long: call.is_long(),
            crossing: call.is_crossing(),
            here: self.policy.oversubscribed && !call.is_crossing() && here(),
            lacks_room: call.lacks_room(),
        }
    }

    /// Sleeps until a packet comes, at most `limit`.
    pub fn nap(&mut self, limit: Duration) {
        self.nap_unless(limit, |_| false);
    }

    /// As `nap`, unless `ready` says, when everybody rings the bell already, that there is no need.
    fn nap_unless(&mut self, limit: Duration, ready: impl FnOnce(&World) -> bool) {
        if self.learn_of_deaths() {
            return;
        }
        let limit = self.deaths.shorten(limit);
        let short = wait_policy::MAX_SLEEP_WITHOUT_BELL;
        let unannounced = self.process.has_backlog() || self.polls_memory != 0;
        let limit = if unannounced { short.min(limit) } else { limit };
        if !self.process.fm_mut().arm() {
            return;
        }
        if ready(self) || crate::body::watch::is_due(self) {
            self.process.fm_mut().disarm();
            return;
        }
        if self.policy.serves_delegations() {
            self.process.onesided().1.look_away();
        }
        let limit = self.fall_asleep(limit);
        if self.long_waits.is_due() {
            self.process.fm_mut().disarm();
            self.woken();
            self.tell_of_long_wait();
            return;
        }
        if limit == wait_policy::MAX_SLEEP {
            // Before and not after the sleep: whoever wakes us shall not wait for it.
            self.check_launcher();
        }
        let bell = self.bell();
        // Whoever comes meanwhile leaves the bell to us.
        self.leader = true;
        // Two on the bell would miss each other's packets.
        self.wake_progress_thread();
        self.naps = true;
        self.outside(|| bell.wait(limit));
        self.naps = false;
        self.leader = false;
        self.process.fm_mut().disarm();
        if self.policy.serves_delegations() && self.process.onesided().1.is_called() {
            // The kernel likes to let a process run where it was woken from: on the processor of whoever called.
            self.process.fm_mut().transport_mut().migrate();
        }
        if self.followers > 0 {
            // It may have rung for a slot that one of them waits for.
            self.turn_over();
        }
        self.woken();
    }

    /// Ends this process when the launcher is gone: nobody would ever end it otherwise.
    fn check_launcher(&self) {
        let Some(manager) = &self.job.manager else { return };
        // Its end is told without being asked for. A program may have closed the descriptor, which is no end.
        let mut fds = [hpvm_os::entry(&manager.fd(), 0)];
        let told = matches!(hpvm_os::poll(&mut fds, Some(Duration::ZERO)), Ok(1..));
        if told && fds[0].revents & (libc::POLLHUP | libc::POLLERR) != 0 {
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
        // Not instead of rest: both count steps, and in step they would keep the leader from ever sleeping.
        self.count_step();
        if self.policy.lets_threads_in() {
            self.hand_over();
        }
        if self.policy.oversubscribed || idle > self.polls_before_yield() {
            self.rest(idle);
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
        self.wait_for(id)?.into_status()
    }

    /// The same for an operation that has just been started by the same call, as `wait_for_new`.
    #[inline]
    pub fn complete_new(&mut self, id: ReqId) -> Result<hpvm_mpi::Status> {
        self.wait_for_new(id)?.into_status()
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

    fn acquaint(
        &mut self,
        side: &Arc<Comm>,
        leader: u32,
        accepts: bool,
        pass: impl FnMut(&mut Entered, &[u64]) -> Result<Vec<u64>>,
    ) -> Result<()> {
        self.connect_groups(&Side { comm: side.clone(), root: leader }, accepts, pass)
    }
}
