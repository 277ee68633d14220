//! The language of schedules: rounds of messages and local steps over three kinds of buffer.

/// A partner of a message, by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A rank of the (local) group.
    Local(u32),
    /// A rank of the remote group of an intercommunicator.
    Remote(u32),
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// The user's send buffer; only read.
    Send,
    /// The user's receive buffer. With `MPI_IN_PLACE` it also holds the input. The one buffer of
    /// a broadcast is this one, on every rank.
    Recv,
    /// Scratch memory, the index is into [`Schedule::temps`].
    Temp(u16),
}

/// Which datatype gives a block's count its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// The send type.
    Send,
    /// The receive type; the one type of a broadcast; the type of a reduction in all buffers.
    Recv,
    /// The send type of a peer (`MPI_Alltoallw`), or of a neighbour by its place in the list.
    SendOf(u32),
    /// The receive type of a peer (`MPI_Alltoallw`), or of a neighbour by its place in the list.
    RecvOf(u32),
    /// Bytes as they are: packed data in a temporary, or a user's buffer without gaps.
    Bytes,
}

/// A run of elements in a buffer.
///
/// `offset` counts bytes from the buffer's start, the address that MPI calls the buffer address: a
/// type with a lower bound other than zero may touch bytes before it. A temporary of
/// [`TempSpec::Elements`] must therefore be placed so that its elements, from the true lower bound
/// of the first to the true upper bound of the last, lie inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    pub buffer: Buffer,
    /// Bytes from the buffer's start.
    pub offset: i64,
    /// Elements of `ty`.
    pub count: i64,
    pub ty: Ty,
}

impl Block {
    #[inline]
    pub const fn new(buffer: Buffer, offset: i64, count: i64, ty: Ty) -> Block {
        Block { buffer, offset, count, ty }
    }

    /// A run of plain bytes.
    #[inline]
    pub const fn bytes(buffer: Buffer, offset: i64, count: i64) -> Block {
        Block { buffer, offset, count, ty: Ty::Bytes }
    }

    /// A block without content, for messages that only signal.
    pub const EMPTY: Block = Block::bytes(Buffer::Recv, 0, 0);
}

/// A message of a round. The bytes that travel are the packed form of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comm {
    Send { to: Peer, block: Block },
    Recv { from: Peer, block: Block },
}

/// Work without messages, done when the messages of its round are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Local {
    /// Packs, unpacks or copies; the packed forms of both blocks have the same length.
    Copy { from: Block, to: Block },
    /// `inout = input OP inout`, element by element; `input` is the operand of lower rank.
    Reduce { input: Block, inout: Block },
}

/// Scratch memory that a schedule needs while it runs; its content at the start does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TempSpec {
    Bytes(usize),
    /// Elements of the reduction type ([`Ty::Recv`]), laid out with its extent.
    Elements(i64),
}

/// One round: all messages start together, and when all are complete the local steps run in order.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    pub comms: &'a [Comm],
    pub locals: &'a [Local],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    comms: u32,
    locals: u32,
}

/// What one rank does in one collective operation.
///
/// Rounds run one after the other; ranks are not in step with each other. Messages between a pair
/// of ranks within one schedule match in the order in which they are issued, so one tag is enough.
/// Within a round no block that is received overlaps another block of the round's messages.
///
/// A schedule holds numbers only, so it may be kept and run again (persistent collectives).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    comms: Vec<Comm>,
    locals: Vec<Local>,
    ends: Vec<End>,
    temps: Vec<TempSpec>,
}

impl Schedule {
    /// The schedule that does nothing.
    pub const fn new() -> Schedule {
        Schedule { comms: Vec::new(), locals: Vec::new(), ends: Vec::new(), temps: Vec::new() }
    }

    /// An empty schedule with room for so many rounds, messages and local steps.
    pub fn with_capacity(rounds: usize, comms: usize, locals: usize) -> Schedule {
        Schedule {
            comms: Vec::with_capacity(comms),
            locals: Vec::with_capacity(locals),
            ends: Vec::with_capacity(rounds),
            temps: Vec::new(),
        }
    }

    /// How many rounds there are. No round is empty.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is nothing to do.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Round `index`, counted from 0; `None` behind the last.
    #[inline]
    pub fn round(&self, index: usize) -> Option<Round<'_>> {
        let end = self.ends.get(index)?;
        let start = match index {
            0 => End { comms: 0, locals: 0 },
            _ => self.ends[index - 1],
        };
        Some(Round {
            comms: &self.comms[start.comms as usize..end.comms as usize],
            locals: &self.locals[start.locals as usize..end.locals as usize],
        })
    }

    /// The rounds in order.
    pub fn rounds(&self) -> impl Iterator<Item = Round<'_>> {
        (0..self.len()).filter_map(|index| self.round(index))
    }

    /// The temporaries that must exist while the schedule runs, [`Buffer::Temp`] by index.
    #[inline]
    pub fn temps(&self) -> &[TempSpec] {
        &self.temps
    }

    /// The most messages in flight at once, so that an executor can size its request table.
    pub fn widest_round(&self) -> usize {
        self.rounds().map(|round| round.comms.len()).max().unwrap_or(0)
    }

    /// Adds a temporary.
    pub fn temp(&mut self, spec: TempSpec) -> Buffer {
        self.temps.push(spec);
        Buffer::Temp((self.temps.len() - 1) as u16)
    }

    /// Adds a temporary of packed bytes; a negative length counts as none.
    pub fn temp_bytes(&mut self, bytes: i64) -> Buffer {
        self.temp(TempSpec::Bytes(usize::try_from(bytes).unwrap_or(0)))
    }

    /// Adds a message to the current round, unless the block is empty.
    #[inline]
    pub fn send(&mut self, to: Peer, block: Block) {
        if block.count > 0 {
            self.comms.push(Comm::Send { to, block });
        }
    }

    /// Adds a receive to the current round, unless the block is empty.
    #[inline]
    pub fn recv(&mut self, from: Peer, block: Block) {
        if block.count > 0 {
            self.comms.push(Comm::Recv { from, block });
        }
    }

    /// Adds a message without content to the current round.
    #[inline]
    pub fn signal(&mut self, to: Peer) {
        self.comms.push(Comm::Send { to, block: Block::EMPTY });
    }

    /// Adds the receive of a message without content to the current round.
    #[inline]
    pub fn await_signal(&mut self, from: Peer) {
        self.comms.push(Comm::Recv { from, block: Block::EMPTY });
    }

    /// Adds a copy behind the messages of the current round, unless the block is empty.
    #[inline]
    pub fn copy(&mut self, from: Block, to: Block) {
        if from.count > 0 && to.count > 0 {
            self.locals.push(Local::Copy { from, to });
        }
    }

    /// Adds `inout = input OP inout` behind the messages of the current round.
    #[inline]
    pub fn reduce(&mut self, input: Block, inout: Block) {
        if input.count > 0 {
            self.locals.push(Local::Reduce { input, inout });
        }
    }

    /// Closes the current round; a round without content leaves no trace.
    #[inline]
    pub fn end_round(&mut self) {
        let end = End { comms: self.comms.len() as u32, locals: self.locals.len() as u32 };
        let last = self.ends.last().copied().unwrap_or(End { comms: 0, locals: 0 });
        if end != last {
            self.ends.push(end);
        }
    }

    /// Appends the rounds of a schedule that was made for a part of the group: `name` gives the
    /// rank of each of its ranks, `place` says where its blocks outside of temporaries lie. The
    /// current round must be closed.
    pub(crate) fn append(
        &mut self,
        part: &Schedule,
        name: impl Fn(u32) -> u32,
        place: impl Fn(Block) -> Block,
    ) {
        let base = self.temps.len() as u16;
        self.temps.extend_from_slice(&part.temps);
        let place = |block: Block| match block.buffer {
            Buffer::Temp(index) => Block { buffer: Buffer::Temp(base + index), ..block },
            _ => place(block),
        };
        let peer = |peer: Peer| match peer {
            Peer::Local(rank) => Peer::Local(name(rank)),
            Peer::Remote(_) => peer,
        };
        for round in part.rounds() {
            self.comms.extend(round.comms.iter().map(|comm| match *comm {
                Comm::Send { to, block } => Comm::Send { to: peer(to), block: place(block) },
                Comm::Recv { from, block } => Comm::Recv { from: peer(from), block: place(block) },
            }));
            self.locals.extend(round.locals.iter().map(|local| match *local {
                Local::Copy { from, to } => Local::Copy { from: place(from), to: place(to) },
                Local::Reduce { input, inout } => {
                    Local::Reduce { input: place(input), inout: place(inout) }
                }
            }));
            self.end_round();
        }
    }

    /// Exchanges the names of two buffers throughout. Both must be free for the algorithm to
    /// write and hold the same layout.
    pub(crate) fn swap_buffers(&mut self, a: Buffer, b: Buffer) {
        let swap = |block: &mut Block| {
            if block.buffer == a {
                block.buffer = b;
            } else if block.buffer == b {
                block.buffer = a;
            }
        };
        for comm in &mut self.comms {
            match comm {
                Comm::Send { block, .. } | Comm::Recv { block, .. } => swap(block),
            }
        }
        for local in &mut self.locals {
            match local {
                Local::Copy { from, to } => {
                    swap(from);
                    swap(to);
                }
                Local::Reduce { input, inout } => {
                    swap(input);
                    swap(inout);
                }
            }
        }
    }

    /// Whether any message or local step touches the buffer.
    pub(crate) fn touches(&self, buffer: Buffer) -> bool {
        let comm = |comm: &Comm| match comm {
            Comm::Send { block, .. } | Comm::Recv { block, .. } => block.buffer == buffer,
        };
        let local = |local: &Local| match local {
            Local::Copy { from: a, to: b } | Local::Reduce { input: a, inout: b } => {
                a.buffer == buffer || b.buffer == buffer
            }
        };
        self.comms.iter().any(comm) || self.locals.iter().any(local)
    }

    /// Makes an element temporary at least so large.
    pub(crate) fn grow_temp(&mut self, buffer: Buffer, elements: i64) {
        if let Buffer::Temp(index) = buffer
            && let Some(TempSpec::Elements(held)) = self.temps.get_mut(index as usize)
        {
            *held = (*held).max(elements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_cut_where_they_end() {
        let mut s = Schedule::new();
        s.end_round();
        s.signal(Peer::Local(1));
        s.await_signal(Peer::Local(2));
        s.end_round();
        s.end_round();
        s.copy(Block::bytes(Buffer::Send, 0, 4), Block::bytes(Buffer::Recv, 0, 4));
        s.end_round();
        assert_eq!(s.len(), 2);
        let shape: Vec<_> = s.rounds().map(|r| (r.comms.len(), r.locals.len())).collect();
        assert_eq!(shape, [(2, 0), (0, 1)]);
        assert_eq!(s.widest_round(), 2);
        assert!(s.round(2).is_none());
    }

    #[test]
    fn empty_blocks_leave_no_trace() {
        let mut s = Schedule::new();
        let none = Block::bytes(Buffer::Send, 0, 0);
        s.send(Peer::Local(0), none);
        s.recv(Peer::Local(0), none);
        s.copy(none, none);
        s.reduce(none, none);
        s.end_round();
        assert!(s.is_empty());
    }
}
