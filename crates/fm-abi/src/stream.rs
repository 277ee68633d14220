//! What an `FM_stream *` points to.

use corosensei::Yielder;
use hpvm_fm::SendStream;
use hpvm_fm::deferred::Reply;

/// One message, being sent or received. Opaque to C.
pub enum Stream {
    /// Begun outside handlers: leaves packet by packet.
    #[doc(hidden)]
    Send(Sending),
    /// Begun inside a handler: leaves after it has returned.
    #[doc(hidden)]
    Reply(Replying),
    /// Given to a handler.
    #[doc(hidden)]
    Receive(Receiving),
}

pub struct Sending(pub(crate) SendStream);
pub struct Replying(pub(crate) Reply);

/// The receiving side: what has come and was not taken yet.
pub struct Receiving {
    pub(crate) chunk: Vec<u8>,
    /// Bytes of `chunk` that were taken.
    pub(crate) taken: usize,
    /// Nothing follows the chunk.
    pub(crate) last: bool,
    /// How the handler waits for more; null when all has come.
    pub(crate) yielder: *const Yielder<(), ()>,
}

impl Receiving {
    pub(crate) fn new(chunk: Vec<u8>, last: bool) -> Receiving {
        Receiving { chunk, taken: 0, last, yielder: core::ptr::null() }
    }

    /// Copies what is there to `to`, at most `len` bytes; how many.
    ///
    /// # Safety
    /// `to` is valid for writes of `len` bytes.
    unsafe fn take(&mut self, to: *mut u8, len: usize) -> usize {
        let rest = &self.chunk[self.taken..];
        let n = rest.len().min(len);
        // SAFETY: `n` is at most what either side holds (the caller's promise for `to`); the
        // chunk is ours, so they can't overlap.
        unsafe { core::ptr::copy_nonoverlapping(rest.as_ptr(), to, n) };
        self.taken += n;
        n
    }
}

/// Receives `len` bytes of the stream, waiting for them; fewer only at the end of the message.
/// -1: the stream is not one to receive from.
///
/// # Safety
/// `stream` was given to the handler that calls this, which has not returned; `to` is valid for
/// writes of `len` bytes.
pub(crate) unsafe fn receive(stream: *mut Stream, to: *mut u8, len: usize) -> isize {
    let mut done = 0;
    loop {
        // No reference outlives this block: while we are suspended, extract changes the stream.
        let wait = {
            // SAFETY: the stream lives as long as its handler (the caller's promise), and only
            // the running side, us, touches it now.
            let Some(Stream::Receive(side)) = (unsafe { stream.as_mut() }) else { return -1 };
            if done < len {
                // SAFETY: the caller's promise for `to`, less the `done` bytes written.
                done += unsafe { side.take(to.add(done), len - done) };
            }
            if done == len || side.last || side.yielder.is_null() {
                return done as isize;
            }
            side.yielder
        };
        // SAFETY: the yielder lives on the handler's stack, below the frame we are called from.
        unsafe { (*wait).suspend(()) };
    }
}
