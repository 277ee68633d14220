//! Message streams and handlers, apart from the engine that moves their packets.
//!
//! Programming models share one engine, so [`Fast`] does not own it: whoever extracts gives it
//! the packets for which [`Fast::wants`] is true, and whoever sends lends it the engine. A program
//! that speaks Fast Messages only uses [`crate::Node`], which holds both.

use crate::deferred::Replies;
use crate::fault::{Fault, SendError};
use crate::handler::{Action, RecvStream, Task};
use crate::handler_id;
use crate::head::{XOFF, XON};
use crate::incoming::{Arrival, Counts, Demux, Entry};
use crate::outgoing::{Outgoing, SendStream};
use crate::sender::PacketSender;
use crate::{Head, Rank};

/// Fast Messages of one node: its handlers and its streams in both directions.
pub struct Fast {
    demux: Demux,
    outgoing: Outgoing,
    replies: Replies,
    /// Nodes of the job.
    processes: u32,
}

impl Fast {
    /// For a job of `size` nodes over an engine whose packets hold up to `packet` bytes
    /// (`limits().packet`).
    pub fn new(size: u32, packet: usize) -> Fast {
        let replies = Replies::new(size);
        Fast {
            demux: Demux::new(size, replies.clone()),
            outgoing: Outgoing::new(size, packet),
            replies,
            processes: size,
        }
    }

    /// Whether a packet belongs to Fast Messages.
    #[inline(always)]
    pub fn wants(&self, head: Head) -> bool {
        handler_id::FM.contains(&head.handler)
    }

    /// Names `handler` with `id`, in place of what had that id before. Sender and receiver agree
    /// on ids; they need not run the same program.
    ///
    /// The handler is called when the first packet of a message has come. It may wait for the
    /// message's bytes ([`RecvStream::receive`]) and for nothing else.
    pub fn register<H, F>(&mut self, id: u8, handler: H)
    where
        H: Fn(RecvStream) -> F + Send + 'static,
        F: Future<Output = Action> + Send + 'static,
    {
        let start = Box::new(move |stream| -> Task { Box::pin(handler(stream)) });
        self.demux.register(id, Some(Entry::Handler(start)));
    }

    /// Messages for `id` are copied and queued, for handlers that can't run inside `on_packet`
    /// (those in C): see [`Fast::next_arrival`]. A node of whose packets too many wait
    /// ([`crate::incoming::QUEUED`]) is told to send no more, until half of them have been taken out.
    pub fn register_inbox(&mut self, id: u8) {
        self.demux.register(id, Some(Entry::Inbox));
    }

    /// From now on messages for `id` are faults. Those that have begun go on.
    pub fn unregister(&mut self, id: u8) {
        self.demux.register(id, None);
    }

    /// Takes one packet that the engine extracted; runs its handler as far as the bytes go.
    ///
    /// # Errors
    /// A packet that can't be delivered: its message is discarded, the rest goes on.
    pub fn on_packet(&mut self, src: Rank, head: Head, payload: &[u8]) -> Result<Action, Fault> {
        if src >= self.processes {
            let text =
                format!("it is of another job; Fast Messages reach {} nodes", self.processes);
            return Err(Fault::Corrupt { src, text });
        }
        match head.handler {
            XOFF | XON => self.outgoing.told(src, head.handler == XOFF),
            _ => return self.demux.on_packet(src, head, payload),
        }
        Ok(Action::Continue)
    }

    /// The oldest queued packet. Give its buffer back with [`Fast::recycle`].
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        self.demux.next_arrival()
    }

    /// Whether `next_arrival` has something.
    #[inline(always)]
    pub fn has_arrivals(&self) -> bool {
        self.demux.has_arrivals()
    }

    /// A buffer for a later arrival.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        self.demux.recycle(bytes);
    }

    /// The rest of stream `number` of `src` is not wanted.
    pub fn discard(&mut self, src: Rank, number: u16) {
        self.demux.discard(src, number);
    }

    /// Bytes that the tables take.
    pub fn bytes(&self) -> usize {
        self.demux.bytes() + self.outgoing.bytes()
    }

    /// Begins a message of at most `bound` bytes for `handler` of node `dst`. Sends nothing.
    ///
    /// # Errors
    /// `Busy`: a stream to `dst` is open. `Stalled`: deferred messages to `dst` go first; drain,
    /// extract, try again. `NoSuchNode`, `TooLong`.
    pub fn begin(&mut self, dst: Rank, bound: usize, handler: u8) -> Result<SendStream, SendError> {
        self.outgoing.begin(&self.replies, dst, bound, handler)
    }

    /// Sends a piece as far as credits go and returns how many of its bytes were taken: fewer
    /// than all means extract, then push the rest. Never blocks; the taken bytes are copied.
    ///
    /// # Errors
    /// `TooLong`: more than begin announced; nothing is taken then. `Ended`.
    pub fn push<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        stream: &SendStream,
        bytes: &[u8],
    ) -> Result<usize, SendError> {
        self.outgoing.push(net, stream, bytes)
    }

    /// Ends a message: true once all of it has left, false when that needs a credit (extract,
    /// then try again). Never blocks.
    ///
    /// # Errors
    /// `Ended`.
    pub fn finish<P: PacketSender + ?Sized>(
        &mut self,
        net: &mut P,
        stream: &SendStream,
    ) -> Result<bool, SendError> {
        self.outgoing.finish(net, stream)
    }

    /// Where handlers put what they send.
    pub fn replies(&self) -> &Replies {
        &self.replies
    }

    /// Sends what handlers have deferred, as far as credits go. To be called after each extract;
    /// one load when there is nothing.
    #[inline(always)]
    pub fn drain<P: PacketSender + ?Sized>(&mut self, net: &mut P) {
        if self.demux.has_to_tell() {
            self.demux.tell(net);
        }
        if self.replies.pending() {
            self.outgoing.drain(net, &self.replies);
        }
    }

    /// What has come so far.
    pub fn counts(&self) -> Counts {
        self.demux.counts
    }
}
