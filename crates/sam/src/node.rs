//! A machine whose messages a carrier moves: calls block until they are done.
//!
//! A rank answers others while it is in one of these calls, and not while it computes. Pointers are valid as long as the
//! use or the update that they came from.

use crate::carrier::{Carrier, Received};
use crate::machine::{Counters, Machine};
use crate::tasks::Next;
use crate::{Fault, Name};
use std::time::{Duration, Instant};

/// Messages that wait for their receivers, above which a call waits, too: what a rank sends of its own accord is
/// bounded.
const BACKLOG: usize = 1024;

/// Calls that need nobody else between two looks at the clock, which costs more than such a call.
const CALLS: u32 = 64;

/// Between two looks for messages in such calls. A look may give way to other processes.
const PAUSE: Duration = Duration::from_micros(20);

pub struct Node<C> {
    machine: Machine,
    carrier: C,
    calls: u32,
    looked: Instant,
    /// Messages have been handled since the last `wait`.
    news: bool,
}

impl<C: Carrier> Node<C> {
    pub fn new(machine: Machine, carrier: C) -> Node<C> {
        Node { machine, carrier, calls: 0, looked: Instant::now(), news: false }
    }

    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    pub fn carrier(&mut self) -> &mut C {
        &mut self.carrier
    }

    pub fn counters(&self) -> Counters {
        self.machine.counters()
    }

    #[inline]
    fn flush(&mut self) -> Result<(), Fault> {
        if self.machine.has_outgoing() { self.send_all() } else { Ok(()) }
    }

    fn send_all(&mut self) -> Result<(), Fault> {
        while let Some(message) = self.machine.first_outgoing() {
            self.carrier.send(message)?;
            self.machine.sent();
        }
        Ok(())
    }

    /// Handles what has come, if anything has, or with `wait` when something has.
    fn take(&mut self, wait: bool) -> Result<bool, Fault> {
        let received = self.carrier.receive(wait, &mut self.machine)?;
        self.handle(received)
    }

    /// Handles what the owner of the carrier has received. False: nothing.
    ///
    /// # Errors
    /// Somebody's mistake, or a lost peer; here and below.
    #[inline]
    pub fn handle(&mut self, received: Received) -> Result<bool, Fault> {
        match received {
            Received::Nothing => return Ok(false),
            Received::Here => {}
            Received::Message(incoming) => {
                self.machine.receive(incoming.from, &incoming.head, incoming.content)?;
            }
        }
        self.news = true;
        self.flush()?;
        Ok(true)
    }

    /// Both, for who waits for messages and for something else.
    pub fn parts(&mut self) -> (&mut Machine, &mut C) {
        (&mut self.machine, &mut self.carrier)
    }

    pub fn into_carrier(self) -> C {
        self.carrier
    }

    /// Asks again and again until there is an answer, and handles messages meanwhile.
    fn until<T>(
        &mut self,
        mut ask: impl FnMut(&mut Machine) -> Result<Option<T>, Fault>,
    ) -> Result<T, Fault> {
        loop {
            let answer = ask(&mut self.machine)?;
            self.flush()?;
            match answer {
                Some(answer) => return Ok(answer),
                None => self.take(true)?,
            };
        }
    }

    /// A call that has its answer at once.
    fn now<T>(&mut self, call: impl FnOnce(&mut Machine) -> Result<T, Fault>) -> Result<T, Fault> {
        let answer = call(&mut self.machine)?;
        self.flush()?;
        self.look()?;
        while self.carrier.backlog() > BACKLOG {
            self.take(false)?;
        }
        Ok(answer)
    }

    #[inline(always)]
    fn count_call(&mut self) -> Result<(), Fault> {
        self.calls += 1;
        if self.calls < CALLS {
            return Ok(());
        }
        self.look()
    }

    /// Answers others, if it is time.
    #[cold]
    #[inline(never)]
    fn look(&mut self) -> Result<(), Fault> {
        self.calls = 0;
        if self.looked.elapsed() < PAUSE {
            return Ok(());
        }
        self.poll()?;
        self.looked = Instant::now();
        Ok(())
    }

    /// Answers others. Does not block.
    pub fn poll(&mut self) -> Result<(), Fault> {
        // So many at a time, that the program gets on with its work.
        for _ in 0..64 {
            if !self.take(false)? {
                break;
            }
        }
        Ok(())
    }

    /// Blocks until at least one message has come and was handled since the last `wait`, in whichever call: who looks
    /// for several values in vain and then waits misses none of them.
    pub fn wait(&mut self) -> Result<(), Fault> {
        self.flush()?;
        if !self.news {
            self.take(true)?;
        }
        self.poll()?;
        self.news = false;
        Ok(())
    }

    pub fn value_begin(&mut self, name: Name, len: usize) -> Result<*mut u8, Fault> {
        self.machine.value_begin(name, len)
    }

    pub fn value_end(&mut self, name: Name, uses: u64) -> Result<(), Fault> {
        self.now(|machine| machine.value_end(name, uses))
    }

    pub fn value_object(
        &mut self,
        name: Name,
        number: u16,
        object: usize,
        uses: u64,
    ) -> Result<(), Fault> {
        self.now(|machine| machine.value_object(name, number, object, uses))
    }

    /// Begins a use; blocks until the value has been written, and is here.
    #[inline]
    pub fn use_begin(&mut self, name: Name) -> Result<(*mut u8, usize), Fault> {
        if let Some(place) = self.machine.use_begin(name)? {
            self.count_call()?;
            return Ok(place);
        }
        self.flush()?;
        self.take(true)?;
        self.until(|machine| machine.use_begin(name))
    }

    /// Begins a use if the value is here; if not asks for it, and does not block.
    pub fn use_try(&mut self, name: Name) -> Result<Option<(*mut u8, usize)>, Fault> {
        if !self.machine.is_here(name) {
            self.prefetch(name)?;
            self.poll()?;
            if !self.machine.is_here(name) {
                return Ok(None);
            }
        }
        self.machine.use_begin(name)
    }

    #[inline]
    pub fn use_end(&mut self, name: Name) -> Result<(), Fault> {
        self.machine.use_end(name)?;
        self.flush()
    }

    /// Asks for a value. Does not block, unless thousands are asked for already.
    pub fn prefetch(&mut self, name: Name) -> Result<(), Fault> {
        self.until(|machine| Ok(machine.prefetch(name)?.then_some(())))
    }

    pub fn push(&mut self, name: Name, to: u32) -> Result<(), Fault> {
        self.now(|machine| machine.push(name, to))
    }

    /// Blocks until all counted uses of `old` but this are over.
    pub fn rename(&mut self, old: Name, new: Name) -> Result<(*mut u8, usize), Fault> {
        self.until(|machine| machine.rename(old, new))
    }

    pub fn free(&mut self, name: Name) -> Result<(), Fault> {
        self.now(|machine| machine.free(name))
    }

    pub fn accumulator_begin(&mut self, name: Name, len: usize) -> Result<*mut u8, Fault> {
        let place = self.machine.accumulator_begin(name, len)?;
        self.flush()?;
        Ok(place)
    }

    /// Begins an update; blocks until the accumulator has been made, and is here.
    pub fn update_begin(&mut self, name: Name) -> Result<(*mut u8, usize), Fault> {
        self.until(|machine| machine.update_begin(name))
    }

    pub fn update_end(&mut self, name: Name) -> Result<(), Fault> {
        self.now(|machine| machine.update_end(name))
    }

    pub fn update_end_to_value(&mut self, name: Name, uses: u64) -> Result<(), Fault> {
        self.now(|machine| machine.update_end_to_value(name, uses))
    }

    /// Begins a chaotic read; blocks only if no snapshot has come yet.
    pub fn chaotic_begin(&mut self, name: Name) -> Result<(*const u8, usize, u64), Fault> {
        self.until(|machine| machine.chaotic_begin(name))
    }

    pub fn chaotic_end(&mut self, name: Name) -> Result<(), Fault> {
        self.now(|machine| machine.chaotic_end(name))
    }

    pub fn refresh(&mut self, name: Name) -> Result<(), Fault> {
        self.now(|machine| machine.refresh(name))
    }

    pub fn task_add(&mut self, task: &[u8]) -> Result<(), Fault> {
        self.now(|machine| machine.task_add(task))
    }

    /// See [`Machine::task_ranks`].
    pub fn task_ranks(&mut self, ranks: u32, series: u64) -> Result<(), Fault> {
        self.now(|machine| machine.task_ranks(ranks, series))
    }

    /// The next task of this phase; blocks while others may still give some. None: the phase is over.
    pub fn task_next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.poll()?;
        self.until(|machine| {
            Ok(match machine.task_next()? {
                Next::Task(task) => Some(Some(task)),
                Next::Over => Some(None),
                Next::Wait => None,
            })
        })
    }
}
