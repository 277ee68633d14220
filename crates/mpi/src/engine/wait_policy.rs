//! How to wait: spin, look around, yield, move to another processor, or sleep. Facts and the time go in, decisions come
//! out; there is no clock and no system call in here.
//!
//! A waiting thread polls for a while, because most answers come within microseconds. Then it yields between polls: the
//! rank it waits for may be waiting for this very processor, whether because the job has more ranks than processors or
//! because others use the machine. After that it sleeps in the kernel, and the next packet wakes it.

use core::time::Duration;
use std::time::Instant;

/// Polls before the first yield where every rank has a processor: some microseconds.
pub const POLLS: u32 = 300;
/// The same where ranks share processors.
pub const OVERSUBSCRIBED_POLLS: u32 = 20;
/// The same where each poll may ask a socket.
const OVERSUBSCRIBED_NET_POLLS: u32 = 2;
/// Yields before sleeping. One that gives way to nobody takes half a microsecond.
pub const YIELDS: u32 = 50;
/// Polls from one yield to the next where every rank has a processor.
const POLLS_BETWEEN_YIELDS: u32 = 32;
/// Polls of slots from one progress step to the next.
const SLOT_POLLS: u32 = 8;
/// Polls for a slot of a rank on another processor from one yield to the next where ranks share
/// processors.
const SLOT_SPINS: u32 = 40;
/// Polls from one yield to the next of a rank that waits for messages of another host in a collective through slots, where
/// ranks share processors. The answer takes some 10 us.
const CROSSING_SPINS: u32 = 20;
/// Yields for a slot before sleeping: a sleep and its wake-up cost as much as dozens of yields.
const SLOT_YIELDS: u32 = 400;
/// Yields from one look at how ranks are spread over the processors to the next.
const MIGRATE_YIELDS: u32 = 64;
/// The same while others work on long data: few yields, and much to win.
const MIGRATE_YIELDS_LONG: u32 = 8;
/// The same for ranks that wait for slots and have a processor each: all of them show where they are.
const MIGRATE_YIELDS_APART: u32 = 4;
/// A yield that takes longer than this means that other programs than waiting ranks want the processor: programs that
/// compute get milliseconds. A sleeper that is woken gets the processor at once.
const LONG_YIELD: Duration = Duration::from_micros(300);
/// Once in so many collectives the ranks try whether that is still so. All of them try at the same collective, because a rank
/// that yields while the others sleep gets the processor last.
const TRIAL_EVERY: u64 = 128;
/// Collectives of a trial. More than one, because the rank that comes last to the first one does not wait in it.
const TRIALS: u32 = 2;
/// Longest sleep. After it a rank looks whether the launcher still lives.
pub const MAX_SLEEP: Duration = Duration::from_millis(500);
/// Longest sleep of a rank that waits for something that rings no bell: credits, or room in slots.
pub const MAX_SLEEP_WITHOUT_BELL: Duration = Duration::from_micros(50);
/// Progress steps after which a waiting thread lets other threads in, whether or not anything moved.
const STEPS_BETWEEN_THREADS: u32 = 16;

/// Calls that do not wait (such as `MPI_Test`) from one look at the time to the next.
const CALLS: u32 = 16;
/// A program that makes that many calls within this time is waiting by calling again and again.
const CALLS_WITHIN: Duration = Duration::from_micros(50);

/// What to do before the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Spin,
    /// See whether another rank waits on this very processor ([`WaitPolicy::shares`]); then `Migrate` or `Spin`.
    Look,
    /// Let others have the processor, and show them where this process waits.
    Yield,
    /// The same, and go elsewhere if there is a better place.
    Migrate,
    /// At most so long, in the kernel.
    Sleep(Duration),
}

/// What a process remembers of its waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitPolicy {
    /// More ranks than processors on this host: waiting must make room for others.
    pub oversubscribed: bool,
    /// Ranks are on several hosts: polling may ask sockets, and a bell that watches them is slow.
    pub spans_hosts: bool,
    /// At the last look another rank was waiting on this very processor.
    pub shares: bool,
    /// How often a waiting thread has yielded.
    yields: u32,
    /// Times that a thread that waits for packets was to sleep.
    sleeps: u32,
    /// Progress steps in a row in which calls that do not wait found nothing.
    vain: u32,
    /// Calls that do not wait, since the time was last looked at, which `called` is.
    calls: u32,
    called: Option<Instant>,
    /// These calls come so fast that the program must be waiting.
    waits_by_calling: bool,
    /// Other programs want the processors, so waits for slots sleep at once; the number of waits that have.
    loaded: Option<u32>,
    /// The last yields for a slot took long.
    suspects_load: bool,
    /// Progress steps of waiting threads.
    steps: u32,
}

/// A wait for slots under way.
#[derive(Clone, Copy, Debug)]
pub struct SlotWait {
    polls: u32,
    spins: u32,
    yields: u32,
    began: Duration,
    /// Long yields mean load.
    judges: bool,
    yielding: bool,
}

/// The facts about a wait for slots after a poll in vain.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotFacts {
    /// The data are so long that other members work on them for a while.
    pub long: bool,
    /// The rank waits for messages of other hosts.
    pub crossing: bool,
    /// A rank that it waits for was last seen on this very processor.
    pub here: bool,
    /// The rank waits for room in its slots, which rings no bell.
    pub lacks_room: bool,
}

impl SlotWait {
    /// Whether the yields so far took so long that others than waiting ranks had the processor.
    fn yielded_long(&self, now: impl FnOnce() -> Duration) -> bool {
        self.judges && now() - self.began > LONG_YIELD * self.yields
    }
}

impl WaitPolicy {
    pub fn new(oversubscribed: bool, spans_hosts: bool) -> WaitPolicy {
        WaitPolicy { oversubscribed, spans_hosts, ..WaitPolicy::default() }
    }

    /// Polls that are worth doing before anything else.
    #[inline(always)]
    pub fn polls(&self) -> u32 {
        match self.oversubscribed {
            true if self.spans_hosts => OVERSUBSCRIBED_NET_POLLS,
            true => OVERSUBSCRIBED_POLLS,
            false if self.shares => OVERSUBSCRIBED_POLLS,
            false => POLLS,
        }
    }

    /// Whether a waiting thread looks for operations that others leave for it: not where it would keep them from a
    /// processor, who then do such operations by themselves.
    #[inline(always)]
    pub fn serves_delegations(&self) -> bool {
        !self.oversubscribed
    }

    /// To be asked in each call that does not wait: whether the program waits by calling again and again, so that more calls
    /// are to be expected at once.
    pub fn waits_by_calling(&mut self, now: impl FnOnce() -> Instant) -> bool {
        self.calls += 1;
        if self.calls >= CALLS {
            let now = now();
            let fast = |called| now.saturating_duration_since(called) < CALLS_WITHIN;
            self.waits_by_calling = self.called.is_some_and(fast);
            (self.calls, self.called) = (0, Some(now));
        }
        self.waits_by_calling
    }

    /// Of a call in vain where ranks share processors. Apart, so that calls elsewhere are short.
    #[inline(never)]
    fn gives_way_while_computing(&mut self, now: impl FnOnce() -> Instant) -> bool {
        self.waits_by_calling(now) || self.calls == 0
    }

    /// A call that does not wait has made a progress step. A program that waits by calling again and again
    /// would keep the processor from those whom it waits for; it never sleeps. One that calls now and then while it computes
    /// gives way once in [`CALLS`] where ranks share processors: each time costs two switches of processes.
    #[inline]
    pub fn after_glance(&mut self, moved: bool, now: impl FnOnce() -> Instant) -> Decision {
        self.vain = if moved { 0 } else { self.vain.saturating_add(1) };
        if self.vain <= self.polls() {
            return Decision::Spin;
        }
        let gives_way = match self.oversubscribed {
            true => self.gives_way_while_computing(now),
            false => self.vain.is_multiple_of(POLLS_BETWEEN_YIELDS),
        };
        match gives_way {
            true => self.give_way(MIGRATE_YIELDS),
            false => Decision::Spin,
        }
    }

    /// Nothing came for `idle` progress steps in a row, while packets are awaited. To be asked again after a look.
    #[inline]
    pub fn for_packets(&mut self, idle: u32, looked: bool) -> Decision {
        let between = if self.oversubscribed { 1 } else { POLLS_BETWEEN_YIELDS };
        let beyond = idle.saturating_sub(self.polls());
        let yields = if self.oversubscribed && self.spans_hosts { SLOT_YIELDS } else { YIELDS };
        if beyond == 1 && !self.oversubscribed && !looked {
            Decision::Look
        } else if beyond > 0 && self.shares {
            self.sleep()
        } else if beyond == 0 || !beyond.is_multiple_of(between) {
            Decision::Spin
        } else if beyond <= yields * between {
            self.give_way(MIGRATE_YIELDS)
        } else {
            self.sleep()
        }
    }

    /// As `for_packets`, while what others store into memory is awaited, which rings no bell: who sleeps finds it too late. So a rank that
    /// shares its processor with another one yields to it, and soon looks for a better place.
    #[inline]
    pub fn for_memory(&mut self, idle: u32, looked: bool) -> Decision {
        let beyond = idle.saturating_sub(self.polls());
        let decides = !self.oversubscribed && self.shares && (beyond > 1 || looked);
        if decides && (1..=SLOT_YIELDS).contains(&beyond) {
            return self.give_way(MIGRATE_YIELDS_APART);
        }
        self.for_packets(idle, looked)
    }

    fn sleep(&mut self) -> Decision {
        self.sleeps = self.sleeps.wrapping_add(1);
        Decision::Sleep(MAX_SLEEP)
    }

    /// How often the thread that waits for packets has let others run, by yielding or sleeping.
    pub fn pauses(&self) -> u32 {
        self.yields.wrapping_add(self.sleeps)
    }

    /// A wait for slots begins, for collective `number`, which all members count alike.
    pub fn begin_slots(&mut self, long: bool, number: u64) -> SlotWait {
        // What others do with long data takes as long as other programs would. A sleeper of a job on several hosts is
        // woken by a pipe: yields are better even then.
        let judges = !self.spans_hosts && !long;
        if judges && let Some(slept) = self.loaded {
            let tries = number % TRIAL_EVERY < u64::from(TRIALS) && slept >= TRIALS;
            self.loaded = (!tries).then_some(slept.saturating_add(1));
            self.suspects_load &= !tries;
        }
        let yielding = !judges || self.loaded.is_none();
        SlotWait { polls: 0, spins: 0, yields: 0, began: Duration::ZERO, judges, yielding }
    }

    /// Something has been done for others meanwhile, so more is to be expected.
    #[inline]
    pub fn go_on_polling(&self, wait: &mut SlotWait) {
        (wait.spins, wait.yields) = (0, 0);
    }

    /// Whether a progress step comes before the next poll for slots.
    #[inline]
    pub fn steps_for_slots(&self, wait: &mut SlotWait, crossing: bool) -> bool {
        wait.polls = wait.polls.wrapping_add(1);
        wait.polls.is_multiple_of(SLOT_POLLS)
            || self.oversubscribed && !self.spans_hosts
            || crossing
    }

    /// A slot is not there. Nobody can have it before the others were on a processor, so ranks that share
    /// processors yield at once, and for longer than for packets. `now` is asked for at yields only.
    pub fn for_slots(
        &mut self,
        wait: &mut SlotWait,
        facts: SlotFacts,
        now: impl FnOnce() -> Duration,
    ) -> Decision {
        if wait.spins < self.slot_spins(facts) {
            wait.spins += 1;
            return Decision::Spin;
        }
        if !wait.yielding || wait.yields >= SLOT_YIELDS {
            return Decision::Sleep(if facts.lacks_room {
                MAX_SLEEP_WITHOUT_BELL
            } else {
                MAX_SLEEP
            });
        }
        if wait.yields == 0 {
            wait.began = now();
        } else if wait.yields.is_power_of_two() && wait.yielded_long(now) {
            self.suspect_load();
            wait.yielding = false;
            return Decision::Spin;
        }
        wait.yields += 1;
        if self.oversubscribed {
            wait.spins = 0;
        } else if wait.yields == 1 {
            return Decision::Look;
        }
        self.give_way(if facts.long { MIGRATE_YIELDS_LONG } else { MIGRATE_YIELDS })
    }

    /// What was awaited is there. One yield may have been enough, for which others had the processor for long:
    /// programs that meet often would lose milliseconds each time.
    #[inline]
    pub fn end_slots(&mut self, wait: &SlotWait, now: impl FnOnce() -> Duration) {
        if wait.judges && wait.yielding && wait.yields > 0 {
            match wait.yielded_long(now) {
                true => self.suspect_load(),
                false => self.suspects_load = false,
            }
        }
    }

    /// Yields took long. The first time may have been an interruption of the whole machine.
    fn suspect_load(&mut self) {
        self.loaded = self.suspects_load.then_some(0);
        self.suspects_load = true;
    }

    /// Polls for slots that are worth doing before a yield.
    fn slot_spins(&self, facts: SlotFacts) -> u32 {
        match self.oversubscribed {
            false if self.shares => OVERSUBSCRIBED_POLLS,
            false => POLLS,
            true if facts.crossing => CROSSING_SPINS,
            // To spin would not bring what somebody posts who needs this processor.
            true if facts.here => 0,
            true if self.spans_hosts => OVERSUBSCRIBED_NET_POLLS,
            true => SLOT_SPINS,
        }
    }

    /// After a look that has found another rank on this processor, although there are enough for all: the
    /// kernel puts two there that wake each other, or that yield. `slots`: all that wait show where they are.
    pub fn after_look(&mut self, slots: bool) -> Decision {
        match self.shares {
            true => self.give_way(if slots { MIGRATE_YIELDS_APART } else { MIGRATE_YIELDS }),
            false => Decision::Spin,
        }
    }

    /// Two ranks that wake each other on one processor look to the kernel as if one processor was enough for both, so
    /// once in `every` times a rank looks for a better place.
    fn give_way(&mut self, every: u32) -> Decision {
        self.yields = self.yields.wrapping_add(1);
        if self.yields.is_multiple_of(every) { Decision::Migrate } else { Decision::Yield }
    }

    /// A waiting thread has made a progress step: whether it now lets other threads in, which is bounded whether or not
    /// packets keep coming.
    #[inline]
    pub fn lets_threads_in(&mut self) -> bool {
        self.steps = self.steps.wrapping_add(1);
        self.steps.is_multiple_of(STEPS_BETWEEN_THREADS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decisions of a wait for packets, the same ones in a row counted.
    fn packets(mut policy: WaitPolicy, steps: u32) -> Vec<(Decision, u32)> {
        let mut all: Vec<(Decision, u32)> = Vec::new();
        for idle in 1..=steps {
            let mut decision = policy.for_packets(idle, false);
            if decision == Decision::Look {
                decision = policy.for_packets(idle, true);
            }
            match all.last_mut() {
                Some((last, n)) if *last == decision => *n += 1,
                _ => all.push((decision, 1)),
            }
        }
        all
    }

    #[test]
    fn who_has_a_processor_polls_then_yields_now_and_then_then_sleeps() {
        let all = packets(WaitPolicy::default(), POLLS + 51 * POLLS_BETWEEN_YIELDS);
        assert_eq!(all[0], (Decision::Spin, POLLS + POLLS_BETWEEN_YIELDS - 1));
        assert_eq!(all[1], (Decision::Yield, 1));
        assert_eq!(all.iter().filter(|(d, _)| *d == Decision::Yield).count(), YIELDS as usize);
        assert_eq!(all.last(), Some(&(Decision::Sleep(MAX_SLEEP), 1)));
    }

    #[test]
    fn who_calls_again_and_again_waits_and_who_calls_now_and_then_does_not() {
        let mut policy = WaitPolicy::default();
        let mut now = Instant::now();
        let mut calls = |n: u32, apart: Duration| {
            let call = |_: &u32| {
                now += apart;
                policy.waits_by_calling(|| now)
            };
            (0..n).filter(call).count() as u32
        };
        let fast = CALLS_WITHIN / CALLS / 2;
        assert_eq!(calls(4 * CALLS, Duration::from_millis(1)), 0);
        assert_eq!(calls(4 * CALLS, fast), 3 * CALLS + 1);
        // It is found out at the next look at the time.
        assert_eq!(calls(4 * CALLS, Duration::from_millis(1)), CALLS - 1);
    }

    #[test]
    fn who_shares_processors_yields_at_every_step_and_who_shares_this_one_sleeps() {
        let policy = WaitPolicy { oversubscribed: true, ..WaitPolicy::default() };
        let all = packets(policy, OVERSUBSCRIBED_POLLS + YIELDS + 1);
        let sleep = Decision::Sleep(MAX_SLEEP);
        assert_eq!(
            all,
            [(Decision::Spin, OVERSUBSCRIBED_POLLS), (Decision::Yield, YIELDS), (sleep, 1)]
        );
        let policy = WaitPolicy { shares: true, ..WaitPolicy::default() };
        assert_eq!(packets(policy, OVERSUBSCRIBED_POLLS + 1)[1], (sleep, 1));
    }

    #[test]
    fn who_shares_this_processor_and_waits_for_memory_yields_long_and_moves_soon() {
        let mut policy = WaitPolicy { shares: true, ..WaitPolicy::default() };
        assert_eq!(policy.for_memory(OVERSUBSCRIBED_POLLS, false), Decision::Spin);
        assert_eq!(policy.for_memory(OVERSUBSCRIBED_POLLS + 1, false), Decision::Look);
        let all: Vec<Decision> = (1..=SLOT_YIELDS + 1)
            .map(|beyond| policy.for_memory(OVERSUBSCRIBED_POLLS + beyond, true))
            .collect();
        let moves = all.iter().filter(|d| **d == Decision::Migrate).count() as u32;
        assert_eq!(moves, SLOT_YIELDS / MIGRATE_YIELDS_APART);
        let rests: Vec<usize> =
            (0..all.len()).filter(|i| matches!(all[*i], Decision::Sleep(_))).collect();
        assert_eq!(rests, [SLOT_YIELDS as usize]);
        // Elsewhere it makes no difference what is awaited.
        for shape in [WaitPolicy::default(), WaitPolicy { oversubscribed: true, ..policy }] {
            let (mut memory, mut packets) = (shape, shape);
            for idle in 1..=POLLS + (YIELDS + 2) * POLLS_BETWEEN_YIELDS {
                assert_eq!(memory.for_memory(idle, false), packets.for_packets(idle, false));
            }
        }
    }

    #[test]
    fn every_yield_and_sleep_of_a_wait_for_packets_counts_as_a_pause() {
        let mut policy = WaitPolicy::default();
        let last = POLLS + (YIELDS + 2) * POLLS_BETWEEN_YIELDS;
        for idle in 1..=last {
            policy.for_packets(idle, true);
        }
        assert_eq!(policy.pauses(), YIELDS + 2);
    }

    #[test]
    fn one_step_in_sixteen_lets_threads_in_even_if_packets_keep_coming() {
        let mut policy = WaitPolicy::default();
        let times = (0..160).filter(|_| policy.lets_threads_in()).count();
        assert_eq!(times, 10);
    }

    #[test]
    fn calls_that_do_not_wait_give_way_after_many_in_vain() {
        // Sixteen until the time is looked at first, sixteen until it is seen that they come fast.
        assert_eq!(yields_of_calls(3 * CALLS, CALLS_WITHIN / CALLS / 2), CALLS + 2);
    }

    #[test]
    fn who_calls_now_and_then_while_it_computes_gives_way_now_and_then() {
        assert_eq!(yields_of_calls(4 * CALLS, Duration::from_micros(20)), 4);
    }

    /// How many of `count` calls in vain give way, where ranks share processors and one call comes `apart` after the other. Many were in
    /// vain before; one that found something, and as many as are worth doing in vain, give way to nobody.
    fn yields_of_calls(count: u32, apart: Duration) -> u32 {
        let mut policy = WaitPolicy { oversubscribed: true, ..WaitPolicy::default() };
        let mut time = Instant::now();
        let mut glance = |moved: bool| {
            time += apart;
            policy.after_glance(moved, || time) == Decision::Spin
        };
        (0..OVERSUBSCRIBED_POLLS).for_each(|_| assert!(glance(false)));
        let spins = (0..count).filter(|_| glance(false)).count() as u32;
        assert!(glance(true) && glance(false));
        count - spins
    }

    #[test]
    fn a_slot_of_somebody_on_this_processor_is_yielded_for_at_once() {
        let mut policy = WaitPolicy { oversubscribed: true, ..WaitPolicy::default() };
        let mut wait = policy.begin_slots(false, 1);
        let here = SlotFacts { here: true, ..SlotFacts::default() };
        assert_eq!(policy.for_slots(&mut wait, here, || Duration::ZERO), Decision::Yield);
        let elsewhere = SlotFacts::default();
        for _ in 0..SLOT_SPINS {
            assert_eq!(policy.for_slots(&mut wait, elsewhere, || Duration::ZERO), Decision::Spin);
        }
        assert_eq!(policy.for_slots(&mut wait, elsewhere, || Duration::ZERO), Decision::Yield);
    }

    /// A policy that has found the machine loaded.
    fn loaded() -> WaitPolicy {
        let mut policy = WaitPolicy { oversubscribed: true, ..WaitPolicy::default() };
        for number in 10..12 {
            assert_eq!(yields_once(&mut policy, number, 2 * LONG_YIELD), Decision::Yield);
        }
        policy
    }

    /// What a wait for collective `number` does first; it ends after `long`.
    fn yields_once(policy: &mut WaitPolicy, number: u64, long: Duration) -> Decision {
        let facts = SlotFacts { here: true, ..SlotFacts::default() };
        let mut wait = policy.begin_slots(false, number);
        let decision = policy.for_slots(&mut wait, facts, || Duration::ZERO);
        policy.end_slots(&wait, || long);
        decision
    }

    #[test]
    fn where_yields_take_long_twice_the_next_waits_sleep_at_once() {
        let mut policy = WaitPolicy { oversubscribed: true, ..WaitPolicy::default() };
        let facts = SlotFacts { here: true, lacks_room: true, ..SlotFacts::default() };
        let sleep = Decision::Sleep(MAX_SLEEP_WITHOUT_BELL);
        for number in 10..12 {
            let mut wait = policy.begin_slots(false, number);
            let mut clock = Duration::ZERO;
            while policy.for_slots(&mut wait, facts, || clock) != sleep {
                clock += 2 * LONG_YIELD;
            }
            policy.end_slots(&wait, || clock);
        }
        let mut wait = policy.begin_slots(false, 12);
        assert_eq!(policy.for_slots(&mut wait, facts, || Duration::ZERO), sleep);
    }

    #[test]
    fn all_ranks_try_again_at_the_same_collective_whenever_they_found_the_load() {
        let sleep = Decision::Sleep(MAX_SLEEP);
        let begin = 10 * TRIAL_EVERY;
        // Who came last to the first of a trial did not wait in it.
        for (slept, first) in [(1..100, begin), (90..100, begin), (90..100, begin + 1)] {
            let mut policy = loaded();
            for number in slept.map(|number| 9 * TRIAL_EVERY + TRIALS as u64 + number) {
                assert_eq!(yields_once(&mut policy, number, Duration::ZERO), sleep);
            }
            assert_eq!(yields_once(&mut policy, first, Duration::ZERO), Decision::Yield);
            assert_eq!(yields_once(&mut policy, first + 1, Duration::ZERO), Decision::Yield);
        }
    }

    #[test]
    fn a_trial_that_finds_the_load_again_ends_after_two_waits() {
        let mut policy = loaded();
        for number in [100, 101] {
            yields_once(&mut policy, number, Duration::ZERO);
        }
        let long = 2 * LONG_YIELD;
        let first = TRIAL_EVERY;
        assert_eq!(yields_once(&mut policy, first, long), Decision::Yield);
        assert_eq!(yields_once(&mut policy, first + 1, long), Decision::Yield);
        for number in first + 2..2 * TRIAL_EVERY {
            assert_eq!(yields_once(&mut policy, number, long), Decision::Sleep(MAX_SLEEP));
        }
    }

    #[test]
    fn waits_for_long_data_neither_judge_nor_try() {
        let mut policy = loaded();
        let facts = SlotFacts { here: true, long: true, ..SlotFacts::default() };
        for _ in 0..4 {
            let mut wait = policy.begin_slots(true, 0);
            assert_eq!(policy.for_slots(&mut wait, facts, || Duration::ZERO), Decision::Yield);
            policy.end_slots(&wait, || 2 * LONG_YIELD);
        }
        assert_eq!(yields_once(&mut policy, 12, Duration::ZERO), Decision::Sleep(MAX_SLEEP));
    }

    #[test]
    fn one_long_yield_in_each_of_two_waits_is_load_and_a_short_one_between_them_is_not() {
        let mut policy = WaitPolicy { oversubscribed: true, ..WaitPolicy::default() };
        let mut number = 10;
        for long in [1, 0, 1, 0, 1, 1] {
            number += 1;
            let decision = yields_once(&mut policy, number, 2 * LONG_YIELD * long);
            assert_eq!(decision, Decision::Yield);
        }
        let decision = yields_once(&mut policy, number + 1, Duration::ZERO);
        assert_eq!(decision, Decision::Sleep(MAX_SLEEP));
    }
}
