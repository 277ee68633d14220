//! A C handler at work on a message that has not come whole: a stack of its own.

use crate::calls::Handler;
use crate::stream::{Receiving, Stream};
use core::ffi::c_int;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use hpvm_fm::Rank;

/// Bytes of a handler's stack. Reserved, not used, until touched; a guard page lies below.
pub(crate) const STACK: usize = 256 * 1024;

/// A handler that runs or waits in `FM_receive`.
pub(crate) struct Task {
    coroutine: Option<Coroutine<(), (), c_int>>,
    /// From `Box::into_raw`; the handler has this pointer too, so no reference is kept.
    stream: *mut Stream,
    /// The message's number, which tells it from the same sender's next.
    pub number: u16,
}

impl Task {
    /// A handler for a message of `src` whose first packet is `chunk`. Not yet running.
    pub fn new(
        stack: DefaultStack,
        handler: Handler,
        src: Rank,
        number: u16,
        chunk: Vec<u8>,
    ) -> Task {
        let side = Receiving::new(chunk, false);
        let stream = Box::into_raw(Box::new(Stream::Receive(side)));
        let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
            // SAFETY: `stream` is freed with the task, which outlives this stack's use; nobody
            // else holds a reference to it now.
            if let Stream::Receive(side) = unsafe { &mut *stream } {
                side.yielder = yielder;
            }
            // SAFETY: the program registered this function as a handler of this signature.
            unsafe { handler(stream, src) }
        });
        Task { coroutine: Some(coroutine), stream, number }
    }

    /// The next packet for a task that waits; the buffer of the one before.
    pub fn feed(&mut self, chunk: Vec<u8>, last: bool) -> Vec<u8> {
        // SAFETY: as in `new`; the handler is suspended and holds no reference.
        let Stream::Receive(side) = (unsafe { &mut *self.stream }) else { return chunk };
        (side.taken, side.last) = (0, last);
        core::mem::replace(&mut side.chunk, chunk)
    }

    /// Runs the handler until it returns (what it returned, its stack, its buffer) or waits.
    pub fn resume(&mut self) -> Option<(c_int, DefaultStack, Vec<u8>)> {
        let mut coroutine = self.coroutine.take()?;
        match coroutine.resume(()) {
            CoroutineResult::Yield(()) => {
                self.coroutine = Some(coroutine);
                None
            }
            CoroutineResult::Return(code) => {
                Some((code, coroutine.into_stack(), self.feed(Vec::new(), true)))
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(coroutine) = &mut self.coroutine {
            // SAFETY: the abandoned stack holds frames of the C handler and of `receive`, which
            // own nothing that anyone else refers to; C frames can't be unwound.
            unsafe { coroutine.force_reset() };
        }
        // SAFETY: from `Box::into_raw` in `new`, freed only here; the handler will not run again.
        drop(unsafe { Box::from_raw(self.stream) });
    }
}
