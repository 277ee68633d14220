//! What goes in and out of the state machine.

use crate::{Rank, Time};

/// Names a connection, from the action or call that made it to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnId {
    pub index: u32,
    pub generation: u32,
}

/// What the caller is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to rail `rail` of `peer`, then say `connected` or `broken`.
    Connect { conn: ConnId, peer: Rank, rail: u8 },
    /// Close it. It has no meaning any more, and nothing more is to be said about it.
    Close { conn: ConnId },
}

/// Where bytes that come belong.
#[derive(Debug, PartialEq, Eq)]
pub enum Input<'a, M> {
    /// Here: at most that many.
    Bytes(&'a mut [u8]),
    /// Into a stream's memory, from byte `offset` of the stream on: at most `len`. What comes with
    /// them, behind the last, may go to `then`.
    Memory { to: &'a M, offset: u64, len: usize, then: &'a mut [u8] },
    /// They came with others: these belong into a stream's memory, from byte `offset` on.
    Have { to: &'a M, offset: u64, bytes: &'a [u8] },
    /// So many came with others, and there is nothing to do but to say that they have been read.
    Ready(usize),
    /// Nowhere: at most that many.
    Drop(usize),
    /// The connection is not there any more.
    Gone,
}

/// A stream whose memory is not touched any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// One that came in, by the cookie of its destination.
    Came(u64),
    /// One that went out, by its number.
    Gone(u64),
}

/// What is to be written next: all of `head`, then `body`.
#[derive(Debug)]
pub struct Output<'a, M> {
    pub head: &'a [u8],
    /// `len` bytes of a stream's memory, from byte `offset` of the stream on.
    pub body: Option<(&'a M, u64, usize)>,
}

/// A process proved that it belongs to the job, but what it says is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonsense {
    pub peer: Rank,
    pub what: String,
}

/// What is unfinished between this process and another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Streams to the other process, and how many of their bytes have not come there yet.
    pub outgoing: usize,
    pub unsent: u64,
    /// Streams from the other process, and how many of their bytes have not come here yet.
    pub incoming: usize,
    pub missing: u64,
}

impl std::fmt::Display for Pending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { outgoing, unsent, incoming, missing } = self;
        write!(f, "{outgoing} to it lack {unsent} bytes, {incoming} from it {missing}")
    }
}

/// Numbers that may be chosen. All processes of a job may choose differently.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Most bytes of a chunk.
    pub chunk: u32,
    /// Least bytes of a chunk when several rails share a stream.
    pub share: u32,
    /// Largest stream that goes out unasked as a whole, and whose memory is copied when the
    /// receiver takes long.
    pub early: u32,
    /// Bytes of longer ones that go unasked.
    pub ahead: u32,
    /// Largest stream that is copied as soon as its sender has nothing else to do.
    pub brief: u32,
    /// Longest chunk whose bytes are read together with headers and copied.
    pub short: u32,
    /// Bytes that a receiver takes unasked from each peer at first. The same in all processes of a
    /// job, and at least `early` and `ahead`.
    pub early_window: u32,
    /// Bytes that it may come to take unasked from a peer whose messages it expects, and from all
    /// peers together above what each may send anyway.
    pub most_window: u32,
    pub spare_window: u64,
    /// Packets that may go behind an opening before it is known to have come: the receiver keeps them
    /// until it has. At least 1.
    pub most_behind: u32,
    /// Bytes of chunks of which the sender may not know that they have come.
    pub most_untold: u32,
    /// Nothing has come for so long: the peer is told what has come, in a word for that alone.
    pub silence: Time,
    /// The same of a peer that sends more without waiting for words.
    pub flowing_silence: Time,
    /// A sender of at most `early` bytes waits so long, while the receiver takes nothing and says
    /// nothing, until it copies them, and longer by what all bytes on their way take at `least_flow`.
    pub restless: Time,
    /// Bytes in a microsecond that a connection is believed to carry if its reader reads.
    pub least_flow: u32,
    /// An attempt to connect takes at most so long.
    pub connect: Time,
    /// The first pause after a failure, which doubles with each further one.
    pub pause: Time,
    /// The longest pause.
    pub longest_pause: Time,
    /// How long a rail may be down before another takes over what it had not delivered.
    pub patience: Time,
    /// How long a stranger has to prove that it is none.
    pub greeting: Time,
    /// How many strangers may be at it at the same time.
    pub strangers: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        const MS: Time = 1_000_000;
        Settings {
            chunk: 1 << 20,
            share: 64 << 10,
            early: 256 << 10,
            ahead: 128 << 10,
            brief: 16 << 10,
            short: 16 << 10,
            early_window: 512 << 10,
            most_window: 4 << 20,
            spare_window: 64 << 20,
            most_behind: 512,
            most_untold: 512 << 10,
            silence: 3000,
            flowing_silence: 30_000,
            restless: MS / 30,
            least_flow: 2000,
            connect: 1000 * MS,
            pause: 10 * MS,
            longest_pause: 500 * MS,
            patience: 300 * MS,
            greeting: 10_000 * MS,
            strangers: 16,
        }
    }
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Chunks written and read as a whole.
    pub chunks_sent: u64,
    pub chunks_received: u64,
    /// Chunks written again after a connection broke.
    pub resent: u64,
    /// Chunks that another rail took over.
    pub moved: u64,
    /// Connections that proved themselves at both ends.
    pub connections: u64,
    /// Connections that broke after that.
    pub broken: u64,
    /// Connections of strangers dropped: garbage, a wrong proof, or no word for too long.
    pub strangers: u64,
    /// Frames with a wrong tag, or that no correct peer sends; the connection was closed.
    pub forged: u64,
}

impl core::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.chunks_sent += other.chunks_sent;
        self.chunks_received += other.chunks_received;
        self.resent += other.resent;
        self.moved += other.moved;
        self.connections += other.connections;
        self.broken += other.broken;
        self.strangers += other.strangers;
        self.forged += other.forged;
    }
}
