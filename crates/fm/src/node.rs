//! A program that speaks Fast Messages only: the engine and its streams in one value.

use crate::backoff::Backoff;
use crate::fast::Fast;
use crate::fault::{Fault, SendError};
use crate::handler::{Action, RecvStream};
use crate::outgoing::SendStream;
use crate::{Broken, Fm, Rank, Transport};
use core::time::Duration;

/// Packets that a send which waits for credit extracts between two attempts, about.
const HELPING: usize = 16 * 1024;

/// What one extract did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Extracted {
    pub packets: usize,
    /// Payload bytes of those packets.
    pub bytes: usize,
    /// A handler asked to stop.
    pub quit: bool,
}

/// One process of a Fast Messages program.
///
/// ```
/// use hpvm_fm::{Action, Node, RecvStream};
/// # use hpvm_fm::Transport;
/// # fn main_part<T: Transport>(transport: T) -> Result<(), Box<dyn std::error::Error>> {
/// const GREET: u8 = 1;
/// let mut node = Node::new(transport);
/// node.register(GREET, |mut stream: RecvStream| async move {
///     let mut word = [0; 5];
///     stream.receive(&mut word).await;
///     println!("{} from {}", String::from_utf8_lossy(&word), stream.src());
///     Action::Quit
/// });
/// let next = (node.rank() + 1) % node.size();
/// let mut stream = node.begin_message(next, 100, GREET)?;
/// node.send_piece(&mut stream, b"hel")?;
/// node.send_piece(&mut stream, b"lo")?;
/// node.end_message(stream)?;
/// while !node.extract(usize::MAX)?.quit {
///     node.wait(std::time::Duration::from_secs(1));
/// }
/// # Ok(())
/// # }
/// ```
pub struct Node<T: Transport> {
    fm: Fm<T>,
    fast: Fast,
}

impl<T: Transport> Node<T> {
    pub fn new(transport: T) -> Node<T> {
        let fast = Fast::new(transport.size(), transport.limits().packet);
        Node { fm: Fm::new(transport), fast }
    }

    /// This node's number, 0 to `size() - 1`.
    pub fn rank(&self) -> Rank {
        self.fm.rank()
    }

    /// How many nodes the program has.
    pub fn size(&self) -> u32 {
        self.fm.size()
    }

    /// Both halves, for calls that never block ([`Fast::push`], [`Fast::finish`]).
    pub fn split(&mut self) -> (&mut Fm<T>, &mut Fast) {
        (&mut self.fm, &mut self.fast)
    }

    /// See [`Fast::register`].
    pub fn register<H, F>(&mut self, id: u8, handler: H)
    where
        H: Fn(RecvStream) -> F + Send + 'static,
        F: Future<Output = Action> + Send + 'static,
    {
        self.fast.register(id, handler);
    }

    /// Begins a message of at most `bound` bytes for `handler` of node `dst`. Waits for deferred
    /// messages to `dst`, which go first; handlers may run meanwhile.
    ///
    /// # Errors
    /// `Busy` while a stream to `dst` is open. `NoSuchNode`, `TooLong`, `Broken`.
    pub fn begin_message(
        &mut self,
        dst: Rank,
        bound: usize,
        handler: u8,
    ) -> Result<SendStream, SendError> {
        let mut backoff = Backoff::default();
        loop {
            match self.fast.begin(dst, bound, handler) {
                Err(SendError::Stalled) => self.help(&mut backoff)?,
                result => return result,
            }
        }
    }

    /// Sends a piece. Waits for credit; handlers may run meanwhile.
    ///
    /// # Errors
    /// `TooLong`, `Ended`, `Broken`. The stream stays open: end it.
    pub fn send_piece(&mut self, stream: &mut SendStream, piece: &[u8]) -> Result<(), SendError> {
        let mut backoff = Backoff::default();
        let mut rest = piece;
        loop {
            let taken = self.fast.push(&mut self.fm, stream, rest)?;
            rest = &rest[taken..];
            if rest.is_empty() {
                return Ok(());
            }
            if taken > 0 {
                backoff.reset();
            }
            self.help(&mut backoff)?;
        }
    }

    /// Ends a message. Waits for credit; handlers may run meanwhile. The message may be shorter
    /// than announced.
    ///
    /// # Errors
    /// `Broken`.
    pub fn end_message(&mut self, stream: SendStream) -> Result<(), SendError> {
        let mut backoff = Backoff::default();
        while !self.fast.finish(&mut self.fm, &stream)? {
            self.help(&mut backoff)?;
        }
        Ok(())
    }

    /// Runs the handlers of messages that have come, until about `budget` payload bytes (whole
    /// packets), a handler's `Quit`, or nothing more is there. Never blocks.
    ///
    /// # Errors
    /// A peer is gone, or one sent what can't be delivered (an unknown handler, say): that message
    /// is discarded, and extract may be called again.
    pub fn extract(&mut self, budget: usize) -> Result<Extracted, Broken> {
        let mut done = Extracted::default();
        let mut spent = 0_usize;
        let mut outcome = Ok(Action::Continue);
        while spent < budget {
            let fast = &mut self.fast;
            // One at a time, so that Quit and the budget hold to the packet.
            let packets = self.fm.extract(1, |src, head, payload| {
                done.bytes += payload.len();
                // An empty packet is work too.
                spent = spent.saturating_add(payload.len().max(1));
                match fast.on_packet(src, head, payload) {
                    Ok(Action::Continue) => {}
                    Ok(Action::Quit) => done.quit = true,
                    Err(fault) => outcome = Err(fault),
                }
            })?;
            done.packets += packets;
            if packets == 0 || done.quit || outcome.is_err() {
                break;
            }
        }
        self.fast.drain(&mut self.fm);
        outcome.map_err(|fault: Fault| Broken::from(fault))?;
        Ok(done)
    }

    /// Sleeps until a packet may have come or `timeout` has passed. Returns soon when deferred
    /// messages wait for credit, which no packet announces.
    pub fn wait(&mut self, timeout: Duration) {
        if self.fast.replies().pending() {
            std::thread::yield_now();
            self.fast.drain(&mut self.fm);
        } else {
            self.fm.sleep(timeout);
        }
    }

    /// One turn of waiting for credit. Extracts, because others may wait for us.
    fn help(&mut self, backoff: &mut Backoff) -> Result<(), SendError> {
        if self.extract(HELPING)?.packets == 0 {
            backoff.pause();
        } else {
            backoff.reset();
        }
        Ok(())
    }
}
