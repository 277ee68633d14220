//! Packets out of the engine, handlers over them.

use crate::calls::{Handler, QUIT};
use crate::local::{Local, current};
use crate::stream::{Receiving, Stream};
use crate::task::{STACK, Task};
use core::ffi::c_int;
use corosensei::stack::DefaultStack;
use hpvm_fm::backoff::Backoff;
use hpvm_fm::{Arrival, Rank};

/// What another model's packet counts toward an extract's budget, bytes.
const FOREIGN: usize = 64;
/// Payload bytes that a waiting send extracts between two attempts.
const HELPING: usize = 16 * 1024;
/// Stacks kept for handlers to come.
const STACKS: usize = 16;

/// Runs the C handlers of packets that another programming model's progress extracted. To be
/// called without the engine borrowed. Does nothing inside a handler, before `FM_initialize`, or
/// on a thread other than the one that called it: the packets wait for that thread.
pub fn deliver() {
    let Some(local) = current() else { return };
    if local.inside.get() {
        return;
    }
    if let Err(why) = local.exchange() {
        local.host.report(&why);
    }
    while let Some(arrival) = local.next_arrival() {
        local.run(arrival);
    }
    local.drain();
}

impl Local {
    /// See `FM_extract`: how many packets.
    pub fn extract(&self, budget: usize) -> Result<usize, String> {
        if self.inside.get() {
            return Err("FM_extract was called inside a handler; handlers can't extract".into());
        }
        let mut spent = 0_usize;
        let mut packets = 0;
        while spent < budget {
            let Some(arrival) = self.next_arrival() else {
                let polled = self.host.poll().map_err(|why| why.to_string())?;
                // Also when none came: somebody else may have extracted ours.
                self.exchange()?;
                if self.arrivals.borrow().is_empty() {
                    if polled == 0 {
                        break;
                    }
                    spent = spent.saturating_add(FOREIGN);
                    packets += polled;
                }
                continue;
            };
            packets += 1;
            spent = spent.saturating_add(arrival.bytes.len().max(1));
            if self.run(arrival) == QUIT {
                break;
            }
        }
        self.drain();
        Ok(packets)
    }

    /// One turn of waiting for credit.
    pub fn help(&self, backoff: &mut Backoff) -> Result<(), String> {
        if self.extract(HELPING)? == 0 {
            backoff.pause();
        } else {
            backoff.reset();
        }
        Ok(())
    }

    fn next_arrival(&self) -> Option<Arrival> {
        self.arrivals.borrow_mut().pop_front()
    }

    /// Gives buffers back to the engine and takes what has arrived.
    fn exchange(&self) -> Result<(), String> {
        let mut spent = self.spent.borrow_mut();
        let mut arrivals = self.arrivals.borrow_mut();
        self.host.with(&mut |_, fast| {
            spent.drain(..).for_each(|bytes| fast.recycle(bytes));
            while let Some(arrival) = fast.next_arrival() {
                arrivals.push_back(arrival);
            }
        })
    }

    /// Sends what handlers have deferred.
    fn drain(&self) {
        if self.replies.pending()
            && let Err(why) = self.host.with(&mut |net, fast| fast.drain(net))
        {
            self.host.report(&why);
        }
    }

    /// Gives one packet to its handler.
    fn run(&self, arrival: Arrival) -> c_int {
        if !arrival.first {
            return self.go_on(arrival);
        }
        let handler = self.handlers.borrow()[usize::from(arrival.handler)];
        match handler {
            None => self.unknown(arrival),
            Some(handler) if arrival.last => self.run_whole(handler, arrival),
            Some(handler) => self.begin(handler, arrival),
        }
    }

    /// The message has come whole: its handler can't wait, so it needs no stack.
    fn run_whole(&self, handler: Handler, arrival: Arrival) -> c_int {
        let mut stream = Stream::Receive(Receiving::new(arrival.bytes, true));
        self.inside.set(true);
        // SAFETY: the program registered this function as a handler of this signature; the
        // stream outlives the call.
        let code = unsafe { handler(&raw mut stream, arrival.src) };
        self.inside.set(false);
        if let Stream::Receive(side) = stream {
            self.spent.borrow_mut().push(side.chunk);
        }
        code
    }

    fn begin(&self, handler: Handler, arrival: Arrival) -> c_int {
        let Arrival { src, number, bytes, .. } = arrival;
        let kept = self.stacks.borrow_mut().pop();
        let stack = match kept.map_or_else(|| DefaultStack::new(STACK), Ok) {
            Ok(stack) => stack,
            Err(why) => {
                let text = format!("message from node {src} lost: no stack for its handler: {why}");
                self.host.report(&text);
                self.discard(src, number);
                return crate::calls::CONTINUE;
            }
        };
        self.resume(src, false, Task::new(stack, handler, src, number, bytes))
    }

    /// The next packet of a message whose handler waits for it, or has returned early.
    fn go_on(&self, arrival: Arrival) -> c_int {
        let Arrival { src, number, last, bytes, .. } = arrival;
        let task = self.tasks.borrow_mut().remove(&src);
        match task {
            Some(mut task) if task.number == number => {
                let before = task.feed(bytes, last);
                self.spent.borrow_mut().push(before);
                self.resume(src, last, task)
            }
            _ => {
                self.spent.borrow_mut().push(bytes);
                crate::calls::CONTINUE
            }
        }
    }

    fn resume(&self, src: Rank, last: bool, mut task: Task) -> c_int {
        self.inside.set(true);
        let returned = task.resume();
        self.inside.set(false);
        let Some((code, stack, bytes)) = returned else {
            self.tasks.borrow_mut().insert(src, task);
            return crate::calls::CONTINUE;
        };
        self.spent.borrow_mut().push(bytes);
        let mut stacks = self.stacks.borrow_mut();
        if stacks.len() < STACKS {
            stacks.push(stack);
        }
        if !last {
            self.discard(src, task.number);
        }
        code
    }

    fn unknown(&self, arrival: Arrival) -> c_int {
        let Arrival { src, number, handler, last, bytes, .. } = arrival;
        if !self.settings.quiet {
            let fault = hpvm_fm::Fault::UnknownHandler { src, handler };
            self.host.report(&fault.to_string());
        }
        self.spent.borrow_mut().push(bytes);
        if !last {
            self.discard(src, number);
        }
        crate::calls::CONTINUE
    }

    /// The rest of a message is not wanted.
    fn discard(&self, src: Rank, number: u16) {
        if let Err(why) = self.host.with(&mut |_, fast| fast.discard(src, number)) {
            self.host.report(&why);
        }
    }
}
