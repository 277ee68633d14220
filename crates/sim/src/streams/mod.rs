//! Streams on the virtual network: any transport's packets, and large messages beside them over
//! virtual connections that break, stall and deliver any number of bytes at a time.

mod cards;
mod config;
mod pipes;

pub use config::StreamConfig;

use crate::network::Network;
use cards::Cards;
use core::cell::RefCell;
use core::ptr::NonNull;
pub use hpvm_bulk::Counters as BulkCounters;
use hpvm_bulk::{Action, Bulk, ConnId, Done, FENCE, Input, Nonsense};
use hpvm_transport::{
    Broken, Doorbell, Exposed, Head, Landing, Limits, Memory, PREFIX, Packets, PeerMemory,
    PeerMemoryError, Rank, Refused, Segment, Streamed, Transport,
};
use hpvm_wire::coll_slots::{CollSlots, LargeSlot};
use hpvm_wire::counters::Counters;
use hpvm_wire::split_copy::SplitCopy;
use pipes::{Io, Pipes, Socket};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Most packets of a message in fragments, which goes as a whole.
const FRAGMENTS: usize = 41;

/// The virtual connections of a job, beside a [`Network`] for its packets.
#[derive(Clone)]
pub struct Streams {
    network: Network,
    pipes: Rc<RefCell<Pipes>>,
    books: Rc<RefCell<Books>>,
    cards: Rc<RefCell<Cards>>,
}

/// What is known across processes, for checks.
#[derive(Default)]
struct Books {
    /// Memory that a process has promised to others: streams out that have not ended.
    lent: HashMap<(Rank, u64), u64>,
    streams: u64,
    bytes: u64,
    opened: u64,
    copied: u64,
    ahead: u64,
}

impl Streams {
    pub fn new(network: &Network, config: StreamConfig) -> Streams {
        Streams {
            network: network.clone(),
            cards: Rc::new(RefCell::new(Cards::new(&config))),
            pipes: Rc::new(RefCell::new(Pipes::new(network.size(), config))),
            books: Rc::default(),
        }
    }

    /// The end of one process: `inner` moves its packets.
    pub fn endpoint<T: Transport>(&self, inner: T) -> Streaming<T> {
        let config = self.pipes.borrow().config.clone();
        let (rank, size) = (inner.rank(), inner.size());
        let mut bulk = Bulk::new(rank, size, &[7; 16], config.settings.clone());
        for peer in 0..size {
            bulk.set_rails(peer, config.rails, 0);
        }
        Streaming {
            inner,
            streams: self.clone(),
            bulk,
            sockets: HashMap::new(),
            connecting: Vec::new(),
            sent: vec![0; size as usize],
            came: vec![0; size as usize],
            least: config.least,
            most_behind: config.settings.most_behind as usize,
            broken: None,
        }
    }

    /// Streams begun, their bytes, how many of them were opened by the sender, and of how many the
    /// memory was copied.
    pub fn moved(&self) -> (u64, u64, u64, u64) {
        let books = self.books.borrow();
        (books.streams, books.bytes, books.opened, books.copied)
    }

    /// How often a packet had to wait because many had gone behind an opening.
    pub fn waits(&self) -> u64 {
        self.books.borrow().ahead
    }

    /// Reads of cards that came to a good end, and that failed.
    pub fn card_reads(&self) -> (u64, u64) {
        let cards = self.cards.borrow();
        (cards.came, cards.failed)
    }

    /// No memory is exposed to cards any more, and none is being read.
    pub fn cards_are_idle(&self) -> bool {
        self.cards.borrow().are_idle()
    }

    /// Connections that broke, and strangers that came.
    pub fn trouble(&self) -> (u64, u64) {
        let pipes = self.pipes.borrow();
        (pipes.broken, pipes.strangers)
    }

    /// For the text of a failure.
    pub fn describe(&self) -> String {
        self.pipes.borrow().describe()
    }
}

/// A transport with streams beside its packets.
pub struct Streaming<T> {
    inner: T,
    streams: Streams,
    bulk: Bulk<Memory>,
    sockets: HashMap<ConnId, Socket>,
    connecting: Vec<ConnId>,
    /// Packets to and from each process.
    sent: Vec<u32>,
    came: Vec<u32>,
    least: u64,
    /// Most packets of one process that may be held back.
    most_behind: usize,
    broken: Option<Broken>,
}

impl<T: Transport> Streaming<T> {
    pub fn inner(&self) -> &T {
        &self.inner
    }

    pub fn bulk_counters(&self) -> &BulkCounters {
        self.bulk.counters()
    }

    /// What is unfinished, for the text of a failure.
    pub fn describe(&self) -> String {
        self.bulk.describe()
    }

    /// True while a stream of this process has not ended.
    pub fn busy(&self) -> bool {
        !self.bulk.is_quiet() || self.streams.cards.borrow().is_reading(self.rank())
    }

    fn promise(&self, dst: Rank, number: u64, len: u64) {
        let mut books = self.streams.books.borrow_mut();
        books.streams += 1;
        books.bytes += len;
        let lent = books.lent.insert((self.rank(), number), len);
        assert_eq!(lent, None, "stream {number:#x} to {dst} began twice");
    }

    fn now(&self) -> u64 {
        self.streams.pipes.borrow().now
    }

    /// Moves bytes of all connections that have something to do.
    fn pump(&mut self) {
        self.streams.pipes.borrow_mut().tick();
        let now = self.now();
        self.accept(now);
        let mut cards = self.streams.cards.borrow_mut();
        if self.bulk.busy() || cards.is_reading(self.inner.rank()) {
            self.streams.network.stir();
        }
        cards.pump(self.inner.rank(), now);
        drop(cards);
        self.bulk.tick(now);
        self.copy_late(now);
        self.bulk.tell(false, now);
        self.act();
        self.finish_connects(now);
        let mut active = Vec::new();
        self.bulk.all(&mut active);
        for conn in active {
            let Some(socket) = self.sockets.get(&conn).copied() else { continue };
            if self.write(conn, socket) == Io::Broken || self.read(conn, socket) == Io::Broken {
                self.lose(conn, socket, now);
            }
        }
        self.act();
        if let Some(lost) = self.bulk.lost() {
            self.broken = Some(as_broken(lost));
        }
    }

    fn copy_late(&mut self, now: u64) {
        let books = &self.streams.books;
        self.bulk.copy_late(now, |from, len| kept_copy(books, from, len));
        self.bulk.copy_brief(|from, len| kept_copy(books, from, len));
    }

    /// Writes to a peer what can be written at once.
    fn write_to(&mut self, dst: Rank, now: u64) {
        let mut conns = Vec::new();
        self.bulk.connections(dst, &mut conns);
        for conn in conns {
            let Some(socket) = self.sockets.get(&conn).copied() else { continue };
            if self.write(conn, socket) == Io::Broken {
                self.lose(conn, socket, now);
            }
        }
    }

    fn lose(&mut self, conn: ConnId, socket: Socket, now: u64) {
        self.sockets.remove(&conn);
        self.streams.pipes.borrow_mut().close(socket);
        self.bulk.broken(conn, now);
    }

    fn accept(&mut self, now: u64) {
        let mut pipes = self.streams.pipes.borrow_mut();
        while let Some(socket) = pipes.accept(self.inner.rank()) {
            let conn = self.bulk.accepted(pipes.nonce(), now);
            self.sockets.insert(conn, socket);
        }
    }

    fn act(&mut self) {
        let mut pipes = self.streams.pipes.borrow_mut();
        while let Some(action) = self.bulk.action() {
            match action {
                Action::Connect { conn, peer, rail } => {
                    let socket = pipes.connect(self.inner.rank(), peer, rail);
                    self.sockets.insert(conn, socket);
                    self.connecting.push(conn);
                }
                Action::Close { conn } => {
                    if let Some(socket) = self.sockets.remove(&conn) {
                        pipes.close(socket);
                    }
                }
            }
        }
    }

    fn finish_connects(&mut self, now: u64) {
        let mut waiting = std::mem::take(&mut self.connecting);
        waiting.retain(|conn| {
            let Some(socket) = self.sockets.get(conn).copied() else { return false };
            let state = self.streams.pipes.borrow().connected(socket);
            match state {
                Some(true) => {
                    let nonce = self.streams.pipes.borrow_mut().nonce();
                    self.bulk.connected(*conn, nonce);
                }
                None => {
                    self.sockets.remove(conn);
                    self.bulk.broken(*conn, now);
                }
                Some(false) => return true,
            }
            false
        });
        self.connecting.extend(waiting);
    }

    /// Some calls as a process makes them in one turn.
    fn write(&mut self, conn: ConnId, socket: Socket) -> Io {
        if self.connecting.contains(&conn) {
            return Io::Blocked;
        }
        let now = self.now();
        for _ in 0..4 {
            let Some(output) = self.bulk.output(conn) else { return Io::Blocked };
            let mut bytes = output.head.to_vec();
            if let Some((from, offset, len)) = output.body {
                let head = bytes.len();
                bytes.resize(head + len, 0);
                // SAFETY: who called `stream_out` vouches for the memory until `streamed` has named
                // it, after which the machine does not.
                unsafe { from.gather(offset, &mut bytes[head..]) };
            }
            match self.streams.pipes.borrow_mut().write(socket, &bytes) {
                Io::Moved(n) => self.bulk.wrote(conn, n, now),
                other => return other,
            }
        }
        Io::Blocked
    }

    fn read(&mut self, conn: ConnId, socket: Socket) -> Io {
        let now = self.now();
        for _ in 0..4 {
            let mut pipes = self.streams.pipes.borrow_mut();
            let io = match self.bulk.input(conn) {
                Input::Bytes(into) => pipes.read(socket, into),
                Input::Memory { to, offset, len, then } => {
                    let mut bytes = vec![0; len + then.len()];
                    let io = pipes.read(socket, &mut bytes);
                    if let Io::Moved(n) = io {
                        let of_stream = n.min(len);
                        // SAFETY: who called `stream_in` vouches for the memory until `streamed`
                        // has named it, after which the machine does not.
                        unsafe { to.scatter(offset, &bytes[..of_stream]) };
                        then[..n - of_stream].copy_from_slice(&bytes[of_stream..n]);
                    }
                    io
                }
                Input::Have { to, offset, bytes } => {
                    // SAFETY: as above.
                    unsafe { to.scatter(offset, bytes) };
                    Io::Moved(bytes.len())
                }
                Input::Ready(n) => Io::Moved(n),
                Input::Drop(len) => pipes.read(socket, &mut vec![0; len]),
                Input::Gone => return Io::Blocked,
            };
            drop(pipes);
            match io {
                Io::Moved(n) => self.bulk.read(conn, n, now),
                other => return other,
            }
            if self.bulk.take_fresh() {
                break;
            }
        }
        Io::Blocked
    }
}

/// The first `len` bytes of a stream that has not ended.
fn kept_copy(books: &RefCell<Books>, from: &Memory, len: u64) -> Memory {
    let mut bytes = vec![0; len as usize];
    // SAFETY: who called `stream_open` or `stream_out` vouches for the memory until `streamed` has named the
    // stream.
    unsafe { from.gather(0, &mut bytes) };
    books.borrow_mut().copied += 1;
    Memory::owned(bytes)
}

fn as_broken(lost: Nonsense) -> Broken {
    Broken::Corrupt(format!("process {}: {}", lost.peer, lost.what))
}

impl<T: Transport> Packets for Streaming<T> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn limits(&self) -> Limits {
        let inner = self.inner.limits();
        Limits { packet: inner.packet - FENCE, ..inner }
    }

    fn take_credits(&mut self, dst: Rank) -> u16 {
        self.inner.take_credits(dst)
    }

    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        assert!(head.flags < Head::TRANSPORT, "{:#x} has a flag of the transport", head.flags);
        let count = self.sent[dst as usize];
        if self.bulk.is_ahead(dst, || count) {
            self.streams.books.borrow_mut().ahead += 1;
            return Err(Refused::NoBuffer);
        }
        let sent = match self.bulk.fence(dst) {
            None => self.inner.send(dst, head, len, fill),
            Some(fence) => {
                let head = Head { flags: head.flags | Head::TRANSPORT, ..head };
                let sent = self.inner.send(dst, head, len + FENCE, |out| {
                    fill(&mut out[..len]);
                    out[len..].copy_from_slice(&fence.to_le_bytes());
                });
                if sent.is_ok() {
                    self.bulk.fenced(dst);
                }
                sent
            }
        };
        let count = &mut self.sent[dst as usize];
        *count = count.wrapping_add(u32::from(sent.is_ok()));
        sent
    }

    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        self.pump();
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let now = self.now();
        let (bulk, came) = (&mut self.bulk, &mut self.came);
        let packets = self.inner.poll(budget, |src, head, data| {
            came[src as usize] = came[src as usize].wrapping_add(1);
            if bulk.holds() || head.flags & Head::TRANSPORT != 0 {
                bulk.packet(src, head, data, now, &mut sink);
            } else {
                sink(src, head, data);
            }
        })?;
        let released = bulk.release(|src| came[src as usize], &mut sink);
        for src in 0..came.len() as Rank {
            let fragments = if self.inner.max_fragmented(src) > 0 { FRAGMENTS } else { 0 };
            let (held, most) = (bulk.held(src), self.most_behind + fragments);
            assert!(held <= most, "{held} packets of {src} held back, at most {most} expected");
        }
        let read = self.streams.cards.borrow().has_ended(self.rank());
        Ok(packets + released + usize::from(self.bulk.has_done() || read))
    }

    fn arm(&mut self) -> bool {
        let reads = self.streams.cards.borrow().is_reading(self.rank());
        !self.bulk.busy() && !reads && self.inner.arm()
    }

    fn disarm(&mut self) {
        self.inner.disarm();
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.inner.doorbell()
    }

    fn max_fragmented(&self, dst: Rank) -> u64 {
        self.inner.max_fragmented(dst)
    }

    fn send_fragments<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        mut fill: F,
    ) -> Result<(), Refused> {
        let count = self.sent[dst as usize];
        if self.bulk.fence(dst).is_some() || self.bulk.is_ahead(dst, || count) {
            return Err(Refused::NoBuffer);
        }
        let mut packets = u32::from(first.is_some());
        self.inner.send_fragments(dst, first, rest, len, |at, out, bypass| {
            packets += 1;
            fill(at, out, bypass);
        })?;
        let count = &mut self.sent[dst as usize];
        *count = count.wrapping_add(packets);
        Ok(())
    }
}

impl<T: Transport> PeerMemory for Streaming<T> {
    fn can_read(&self, src: Rank) -> bool {
        self.inner.can_read(src)
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.write(dst, remote, local, len) }
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        // SAFETY: the caller's promise.
        unsafe { self.inner.read(src, remote, local, len) }
    }

    fn has_rdma(&self, peer: Rank) -> bool {
        self.streams.cards.borrow().reach(self.rank(), peer, self.now())
    }

    unsafe fn expose(
        &mut self,
        peer: Rank,
        number: u64,
        from: *const u8,
        len: u64,
    ) -> Option<Exposed> {
        if !self.has_rdma(peer) {
            return None;
        }
        Some(self.streams.cards.borrow_mut().expose(self.rank(), number, from, len as usize))
    }

    fn conceal(&mut self, number: u64) {
        self.streams.cards.borrow_mut().conceal(self.rank(), number);
    }

    unsafe fn rdma_read(
        &mut self,
        src: Rank,
        exposed: Exposed,
        (to, len): (*mut u8, u64),
        cookie: u64,
    ) -> bool {
        if !self.has_rdma(src) {
            return false;
        }
        let (from, to) = ((src, exposed), (to, len as usize));
        self.streams.cards.borrow_mut().begin(self.rank(), from, to, cookie, self.now());
        true
    }

    fn mapped(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.inner.mapped(src, remote, len)
    }

    fn lend(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.inner.lend(bytes)
    }

    fn mapped_mut(&mut self, owner: Rank, remote: u64, len: u64) -> Option<NonNull<u8>> {
        self.inner.mapped_mut(owner, remote, len)
    }
}

impl<T: Transport> hpvm_transport::Streams for Streaming<T> {
    fn can_stream(&self, peer: Rank, len: u64) -> bool {
        peer != self.rank() && len >= self.least
    }

    fn can_open(&self, dst: Rank, len: u64) -> bool {
        len > 0 && self.can_stream(dst, len) && self.bulk.may_open(dst)
    }

    unsafe fn stream_open(
        &mut self,
        dst: Rank,
        (number, head): (u64, Head),
        (from, len): (Memory, u64),
        unasked: bool,
    ) {
        self.promise(dst, number, len);
        self.streams.books.borrow_mut().opened += 1;
        let (now, packets) = (self.now(), self.sent[dst as usize]);
        self.bulk.stream_open(dst, (number, head), (from, len), unasked, packets, now);
        self.write_to(dst, now);
        self.act();
    }

    unsafe fn stream_out(&mut self, dst: Rank, number: u64, from: Memory, len: u64) {
        self.promise(dst, number, len);
        self.bulk.stream_out(dst, number, from, len, self.now());
        self.act();
    }

    unsafe fn stream_in(&mut self, src: Rank, number: u64, to: Landing) {
        let now = self.now();
        let Landing { memory, room, len, cookie } = to;
        self.bulk.stream_in(src, number, memory, (room, len), cookie, now, |to, offset, bytes| {
            // SAFETY: the caller vouches for `room` bytes, and the machine cuts to that.
            unsafe { to.scatter(offset, bytes) };
        });
        self.act();
    }

    fn streamed(&mut self) -> Option<Streamed> {
        let Some(done) = self.bulk.done() else {
            return self.streams.cards.borrow_mut().ended(self.rank());
        };
        Some(match done {
            Done::Came(cookie) => Streamed::Came(cookie),
            Done::Gone(number) => {
                let lent = self.streams.books.borrow_mut().lent.remove(&(self.rank(), number));
                assert!(lent.is_some(), "stream {number:#x} ended twice");
                Streamed::Gone(number)
            }
        })
    }
}

impl<T: Transport> Segment for Streaming<T> {
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        self.inner.split_copy(owner, index)
    }

    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        self.inner.coll_slots(rank, index)
    }

    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        self.inner.large_slot(rank, index, number)
    }

    fn announce(&self, reader: Rank) -> bool {
        self.inner.announce(reader)
    }

    fn wake(&self, dst: Rank) {
        self.inner.wake(dst);
    }

    fn counters(&self) -> Option<&Counters> {
        self.inner.counters()
    }
}
