//! What a total exchange needs of the machine.

use crate::buffer::Buffer;
use crate::counts::Counts;

/// Which of the messages between two processes. Those of one tag arrive in the order in which they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// What one process has for another, packed.
    Packed = 1,
    /// A large block that the packed message announces.
    Large = 2,
    /// What the gets of the packed message asked for.
    Answer = 3,
    /// A large block that a get asked for.
    LargeAnswer = 4,
}

/// A message that its receiver reads where its sender has put a copy, in place of [`Tag::Packed`] and [`Tag::Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shown {
    Packed,
    Answer,
}

/// Messages and two collectives among the processes of a program. Errors are texts for people.
pub trait Carrier {
    /// Process `i` gets `out[i]`, and we `into[i]` from it.
    fn all_to_all(&mut self, out: &[Counts], into: &mut [Counts]) -> Result<(), String>;

    /// Everybody gets everybody's words, by number of the process; all give equally many.
    fn all_gather(&mut self, own: &[i64], into: &mut [i64]) -> Result<(), String>;

    /// Starts to send.
    ///
    /// # Safety
    /// The bytes stay readable and unchanged until `complete`.
    unsafe fn send(
        &mut self,
        to: usize,
        tag: Tag,
        from: *const u8,
        len: usize,
    ) -> Result<(), String>;

    /// Starts to receive a message of exactly `len` bytes.
    ///
    /// # Safety
    /// The bytes stay writable, and nobody else uses them, until `complete`.
    unsafe fn receive(
        &mut self,
        from: usize,
        tag: Tag,
        into: *mut u8,
        len: usize,
    ) -> Result<(), String>;

    /// Waits for everything that was started.
    fn complete(&mut self) -> Result<(), String>;

    /// Whether all messages of this kind are shown, and none is sent. The same on all processes.
    fn in_place(&self, what: Shown) -> bool {
        let _ = what;
        false
    }

    /// Lets `to` read a copy of the message, which is made at once. A packed message is shown before the `all_to_all` that
    /// tells its length, an answer behind it.
    fn show(&mut self, to: usize, what: Shown, message: &Buffer) -> Result<(), String> {
        let _ = (to, what, message);
        Err("this carrier shows no messages".to_owned())
    }

    /// Where messages are shown: something travels in this superstep, with these counts. Called behind `all_to_all`.
    fn turn(&mut self, out: &[Counts], into: &[Counts]) {
        let _ = (out, into);
    }

    /// Makes `into` the message of `len` bytes that `from` shows; waits for an answer that is not there yet. A packed message
    /// stays until the end of the next `all_to_all`, an answer until its begin.
    fn view(
        &mut self,
        from: usize,
        what: Shown,
        len: usize,
        into: &mut Buffer,
    ) -> Result<(), String> {
        let _ = (from, what, len, into);
        Err("this carrier shows no messages".to_owned())
    }
}
