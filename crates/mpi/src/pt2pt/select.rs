//! The method by which a message travels: two pure functions over one table of thresholds.
//!
//! The sender chooses by [`select_send`] when a send starts. If it announces the message, the receiver
//! chooses by [`select_receive`] how to fetch it, when the receive has matched. Both functions look at the
//! message's length, at facts about the peer, the host and the layout of the elements, and at
//! [`Thresholds`]. `hpvm info` prints the thresholds, and the tables of `hpvm tune` override them. Each
//! method is a file beside this one.

use super::Mode;

const KIB: u64 = 1024;

/// Declares the thresholds: each one's name in the tables and in the output of `hpvm info`, its built-in
/// value, the largest one that makes sense, and what it limits.
macro_rules! thresholds {
    ($($(#[doc = $text:literal])+ $field:ident, $name:literal, $value:expr, $max:expr;)+) => {
        /// Lengths, in bytes, at which the method changes. The same on all ranks of a job.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Thresholds {
            $($(#[doc = $text])+ pub $field: u64,)+
        }

        /// The built-in thresholds.
        pub const DEFAULT: Thresholds = Thresholds { $($field: $value,)+ };

        impl Thresholds {
            /// Name, value and meaning of each, for people.
            pub fn list(&self) -> Vec<(&'static str, u64, &'static str)> {
                vec![$(($name, self.$field, concat!($($text),+).trim_ascii()),)+]
            }

            /// The built-in ones with the changes that tables make.
            ///
            /// # Errors
            /// As of [`Thresholds::set`].
            pub fn with(changes: &[(String, u64)]) -> Result<Thresholds, String> {
                let mut all = DEFAULT;
                changes.iter().try_for_each(|(name, bytes)| all.set(name, *bytes))?;
                Ok(all)
            }

            /// Sets the one that is called `name`.
            ///
            /// # Errors
            /// A text: there is none of that name, or `bytes` is too large.
            pub fn set(&mut self, name: &str, bytes: u64) -> Result<(), String> {
                match name {
                    $($name if bytes <= $max => self.$field = bytes,
                    $name => return Err(format!(
                        "threshold {name} is {bytes} bytes; expected at most {}", $max
                    )),)+
                    _ => {
                        let known = [$($name),+].join(", ");
                        return Err(format!("no threshold is called {name:?}; expected one of {known}"));
                    }
                }
                Ok(())
            }
        }
    };
}

thresholds! {
    /// Shortest message whose method depends on more than its length. Below it neither a stream nor
    /// fragments ever pay, so a send does not look up the facts that they depend on.
    min_choice, "min-choice", 4 * KIB + 1, 16 * KIB;
    /// Shortest message in fragments. A shorter one is copied faster in one packet: the second copy cannot
    /// overlap enough of the first to pay for the second frame.
    min_fragments, "min-fragments", 8 * KIB + 1, u64::MAX;
    /// Longest message that goes out in fragments without a handshake. Above it the handshake costs little
    /// beside the copies.
    max_unasked, "max-unasked", 64 * KIB, super::protocol::MAX_FRAGMENTED;
    /// The same where the receiver could read the sender's memory: above it one copy and three small packets
    /// take less time than two copies that overlap.
    max_unasked_beside_read, "max-unasked-beside-read", 16 * KIB, super::protocol::MAX_FRAGMENTED;
    /// Shortest message that sender and receiver copy together, from both ends. Below it the question to the
    /// sender costs more than its help brings, and what the sender copies ends up in the sender's cache.
    min_split_copy, "min-split-copy", 512 * KIB, u64::MAX;
    /// Longest message that comes in packets where it could be read, because its sender has written it shortly before: two copies that
    /// overlap take less time than one read out of another processor's cache.
    max_packets_fresh, "max-packets-fresh", 512 * KIB - 1, u64::MAX;
    /// Most bytes of long messages that one progress step copies; meanwhile no other thread gets the engine.
    /// Copying a MiB takes about 100 µs, beside which the cost of a step does not count.
    max_step, "max-step", 1024 * KIB, u64::MAX;
    /// Bytes of unexpected messages, from all senders together, that a process keeps.
    quota, "quota", 64 * 1024 * KIB, u64::MAX;
    /// Least share of that for one sender.
    min_quota, "min-quota", 256 * KIB, u64::MAX;
}

/// What the sender's choice depends on, beside the length.
#[derive(Clone, Copy, Debug)]
pub struct SendFacts {
    pub mode: Mode,
    /// The receiver keeps too many unexpected messages of ours and has sent XOFF.
    pub xoff: bool,
    /// The elements lie in one run of memory.
    pub one_run: bool,
    /// Bytes of the longest message that fits in a slot, and in a packet.
    pub inline: u64,
    pub packet: u64,
    /// Bytes of the longest message that the transport takes in fragments to this peer; 0: none. It is 0
    /// where ranks share processors, because the receiver does not copy while the sender writes.
    pub fragments: u64,
    /// A stream to this peer can be opened: the peer is on another host, and the message is long enough.
    pub stream: bool,
    /// A card of the receiver's host reads messages of one run out of our memory.
    pub rdma: bool,
    /// The receiver would read the message out of our memory.
    pub read: bool,
}

/// How a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMethod {
    /// In a slot ([`super::inline`]).
    Inline,
    /// In one packet ([`super::eager`]).
    Eager,
    /// In fragments that follow each other unasked ([`super::fragments`]).
    Fragments,
    /// As a stream of the transport ([`super::stream`]).
    Stream,
    /// Announced by an RTS ([`super::rendezvous`]), which carries the message itself if `with_data`.
    Announced { with_data: bool },
}

/// How a message of `len` bytes is sent.
#[inline(always)]
pub fn select_send(len: u64, facts: &SendFacts, t: &Thresholds) -> SendMethod {
    let asks = facts.mode == Mode::Synchronous || facts.xoff;
    if len >= t.min_choice {
        if facts.stream && !(facts.rdma && facts.one_run) {
            return SendMethod::Stream;
        }
        let max = if facts.read { t.max_unasked_beside_read } else { t.max_unasked };
        if !asks && len >= t.min_fragments && len <= max.min(facts.fragments) {
            return SendMethod::Fragments;
        }
    }
    if !asks && len <= facts.packet {
        let inline = len <= facts.inline && facts.one_run;
        return if inline { SendMethod::Inline } else { SendMethod::Eager };
    }
    let with_data = !facts.xoff && len + super::protocol::Rts::BYTES as u64 <= facts.packet;
    SendMethod::Announced { with_data }
}

/// What the receiver's choice depends on, beside the length.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveFacts {
    /// The sender has opened a stream.
    pub stream_opened: bool,
    /// The message lies in one run of the sender's memory.
    pub one_run_there: bool,
    /// That memory is mapped here, and copying from there is worth while.
    pub mapped: bool,
    /// Reading the sender's memory is permitted, and one copy is faster than two.
    pub read: bool,
    /// The sender may write into the receive buffer meanwhile: the buffer is one run of memory, ranks do not
    /// share processors, and this process has no long message of its own for others to read.
    pub split: bool,
    /// Both ranks have a processor, and the sender has written its last messages shortly before, by the time that reading them took
    /// ([`super::fresh`]).
    pub fresh: bool,
    /// The sender has exposed the message to a card of this host, and the receive buffer is one run of memory.
    pub rdma: bool,
    /// The transport has streams for a message of this length from this peer.
    pub stream: bool,
}

/// How an announced message is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveMethod {
    /// Nothing is left to move: the message is empty, or came with its announcement.
    Nothing,
    /// Copied out of mapped memory ([`super::mapped`]).
    Mapped,
    /// Read out of the sender's memory ([`super::direct_read`]).
    DirectRead,
    /// The receiver reads from the beginning while the sender writes from the end ([`super::split_copy`]).
    SplitCopy,
    /// Read by a network card out of the sender's memory ([`super::rdma_read`]).
    RdmaRead,
    /// In packets that the sender is asked for ([`super::packets`]).
    Packets,
    /// As a stream of the transport ([`super::stream`]); if the sender has not opened it, the receiver asks.
    Stream,
}

/// How the receiver fetches the first `want` bytes of an announced message, as many as it has room for.
pub fn select_receive(want: u64, facts: &ReceiveFacts, t: &Thresholds) -> ReceiveMethod {
    if facts.stream_opened {
        ReceiveMethod::Stream
    } else if want == 0 {
        ReceiveMethod::Nothing
    } else if facts.mapped {
        ReceiveMethod::Mapped
    } else if !(facts.one_run_there && facts.read) {
        match facts {
            ReceiveFacts { rdma: true, .. } => ReceiveMethod::RdmaRead,
            ReceiveFacts { stream: true, .. } => ReceiveMethod::Stream,
            _ => ReceiveMethod::Packets,
        }
    } else if facts.fresh && want > t.max_unasked && want <= t.max_packets_fresh {
        // A shorter one has been announced to find out anew, or because it must be.
        ReceiveMethod::Packets
    } else if facts.split && want >= t.min_split_copy {
        ReceiveMethod::SplitCopy
    } else {
        ReceiveMethod::DirectRead
    }
}

#[cfg(test)]
mod tests;
