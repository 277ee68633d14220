//! Large messages to other hosts: the connections of `hpvm-bulk`.

mod stream;
#[cfg(test)]
mod tests;

use crate::address::Address;
use crate::handshake::random;
use hpvm_bulk::{Action, Bulk, ConnId, Counters, Done, Input, Nonsense};
use hpvm_transport::{Head, Landing, Memory, Rank, Streamed};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use stream::{Io, Stream, limit_segments, read_memory, write_memory};

pub use hpvm_bulk::Settings;

/// Messages from this length on are streamed, unless they fit in one frame: measured, see bench/NOTES.md.
pub const MIN_STREAMED: u64 = 4 * 1024 + 1;
/// Bytes that one connection moves in one turn in either direction, about: others wait meanwhile.
const TURN_BYTES_MAX: usize = 2 << 20;
/// Bytes of the buffer for data with holes.
const SCRATCH: usize = 128 << 10;
/// Connections taken in one turn.
const ACCEPTED_MAX: usize = 8;
const MS: u64 = 1_000_000;
/// Time between two looks for connections that stand still.
const STALL_CHECK_INTERVAL: u64 = 250 * MS;
/// Time between two looks at timers, and at the listening socket while a caller is expected.
const TIMER_CHECK_INTERVAL: u64 = MS / 50;
/// Longest time for which a process that is in MPI leaves a peer without a word about what has come.
const ACK_DELAY_MAX: u64 = MS;
/// Time between two looks at the listening socket otherwise.
const LISTENER_CHECK_INTERVAL: u64 = 100 * MS;
/// Turns from one look at connections on which nothing is expected to the next.
const IDLE_CHECK_TURNS: u32 = 4;
/// Turns without any bytes after which a connection that had some is looked at seldom.
const WARM_TURNS: u32 = 400;
/// Events taken from the kernel at a time.
const EVENTS: usize = 16;

/// Where a peer can be reached, one address for each rail.
pub type Ways<'a> = &'a mut dyn FnMut(Rank) -> Vec<Address>;

/// The bulk streams of one process.
pub struct Streams {
    machine: Bulk<Memory>,
    listener: TcpListener,
    /// By the connection's index: its generation and socket.
    sockets: Vec<Option<(u32, Stream)>>,
    connecting: Vec<ConnId>,
    active: Vec<ConnId>,
    scratch: Vec<u8>,
    /// Who sleeps at, and who has something to read.
    epoll: RawFd,
    ready: Option<OwnedFd>,
    /// The connection that had something to read last, and for how many turns it is looked at.
    warm: Option<ConnId>,
    warmth: u32,
    turns: u32,
    next_tick: u64,
    next_callers: u64,
    next_watch: u64,
    next_word: u64,
    /// How long the segments of new connections may be, where longer ones seem to get lost.
    segment: Option<u16>,
    failed: Option<Nonsense>,
}

impl Streams {
    /// For process `rank` of a job of `size`. Others connect to `listener`, which never blocks;
    /// `key` is the job's, made for this purpose.
    pub fn new(
        (rank, size): (Rank, u32),
        key: &[u8; 16],
        listener: TcpListener,
        settings: Settings,
    ) -> Streams {
        Streams {
            machine: Bulk::new(rank, size, key, settings),
            listener,
            sockets: Vec::new(),
            connecting: Vec::new(),
            active: Vec::new(),
            scratch: Vec::new(),
            epoll: -1,
            ready: ready_list(),
            warm: None,
            warmth: 0,
            turns: 0,
            next_tick: 0,
            next_callers: 0,
            next_watch: 0,
            next_word: 0,
            segment: None,
            failed: None,
        }
    }

    /// The listening socket.
    pub fn descriptor(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// From now on connections also wake who waits at `epoll`, which outlives this.
    pub fn wake_at(&mut self, epoll: RawFd) {
        self.epoll = epoll;
        for (_, stream) in self.sockets.iter().flatten() {
            watch(epoll, stream);
        }
    }

    /// Something is under way: `turn` is worth calling often.
    #[inline(always)]
    pub fn busy(&self) -> bool {
        self.warmth > 0 || self.machine.busy() || self.machine.has_done()
    }

    /// Whether `turn` is to be called now. To be asked in each turn.
    #[inline(always)]
    pub fn is_due(&mut self) -> bool {
        self.busy() || (!self.sockets.is_empty() && self.is_seldom())
    }

    fn is_seldom(&mut self) -> bool {
        self.turns = self.turns.wrapping_add(1);
        self.turns.is_multiple_of(IDLE_CHECK_TURNS)
    }

    /// Datagrams are worth a look every so many turns: when bytes of streams have just moved they
    /// are the less likely to come.
    #[inline(always)]
    pub fn leaves_turns(&self) -> u32 {
        if self.machine.has_ready() {
            16
        } else if self.warmth > WARM_TURNS / 2 {
            4
        } else {
            1
        }
    }

    /// Everything that was sent has come.
    #[cfg(test)]
    pub fn is_quiet(&self) -> bool {
        self.machine.is_quiet()
    }

    /// See [`Bulk::is_quiet_but_for`].
    pub fn is_quiet_but_for(&self, gone: impl Fn(Rank) -> bool) -> bool {
        self.machine.is_quiet_but_for(gone)
    }

    /// See [`Bulk::silent`].
    pub fn silent(&self, now: u64, timeout: u64, each: impl FnMut(Rank, u64)) {
        self.machine.silent(now, timeout, each);
    }

    /// When `turn` has something to do although nothing happens.
    pub fn deadline(&self) -> Option<u64> {
        // The kernel wakes nobody when it sends again in vain.
        let watch = (!self.machine.is_quiet()).then_some(self.next_watch);
        self.machine.deadline().into_iter().chain(watch).min()
    }

    pub fn counters(&self) -> &Counters {
        self.machine.counters()
    }

    /// What is unfinished between this process and `peer`, for the text of a failure.
    pub fn pending(&self, peer: Rank) -> hpvm_bulk::Pending {
        self.machine.pending(peer)
    }

    /// See [`hpvm_transport::Streams::can_open`].
    pub fn may_open(&self, dst: Rank) -> bool {
        self.machine.may_open(dst)
    }

    /// A packet went to or came from `peer` that a stream would have carried sooner.
    #[cold]
    pub fn meet(&mut self, now: u64, peer: Rank) {
        let calls = !self.machine.may_open(peer) && !self.machine.meet(peer, now);
        if calls && now >= self.next_tick {
            self.next_tick = now + TIMER_CHECK_INTERVAL;
            self.accept(now);
        }
    }

    /// See [`hpvm_transport::Streams::stream_open`]. `packets` went to `dst` before.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn open(
        &mut self,
        now: u64,
        dst: Rank,
        stream: (u64, Head),
        source: (Memory, u64),
        (unasked, packets): (bool, u32),
    ) {
        self.machine.stream_open(dst, stream, source, unasked, packets, now);
        self.write_to(dst, now);
    }

    /// A packet has gone to `dst`: see [`Bulk::answered`].
    #[inline(always)]
    pub fn answered(&mut self, dst: Rank) {
        if self.machine.busy() {
            self.machine.answered(dst);
        }
    }

    /// See [`hpvm_transport::Streams::stream_out`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn send(&mut self, now: u64, (dst, number): (Rank, u64), from: Memory, len: u64) {
        self.machine.stream_out(dst, number, from, len, now);
        self.write_to(dst, now);
    }

    /// Writes at once what can be written.
    fn write_to(&mut self, dst: Rank, now: u64) {
        let mut conns = core::mem::take(&mut self.active);
        self.machine.connections(dst, &mut conns);
        for conn in conns.drain(..) {
            if self.write(conn, now, &mut false) == Io::Broken {
                self.lose(conn, now);
            }
        }
        self.active = conns;
    }

    /// See [`hpvm_transport::Streams::stream_in`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn receive(&mut self, now: u64, src: Rank, number: u64, to: Landing) {
        let Landing { memory, room, len, cookie } = to;
        self.machine.stream_in(
            src,
            number,
            memory,
            (room, len),
            cookie,
            now,
            |to, offset, bytes| {
                // SAFETY: the caller vouches for `room` bytes, and the machine cuts to that.
                unsafe { to.scatter(offset, bytes) };
            },
        );
        if self.machine.must_go(src) {
            self.write_to(src, now);
        }
    }

    /// A stream that has ended.
    pub fn done(&mut self) -> Option<Streamed> {
        Some(match self.machine.done()? {
            Done::Came(cookie) => Streamed::Came(cookie),
            Done::Gone(number) => Streamed::Gone(number),
        })
    }

    /// Whether `done` has something.
    pub fn has_done(&self) -> bool {
        self.machine.has_done()
    }

    /// See [`Bulk::fence`].
    #[inline(always)]
    pub fn fence(&self, dst: Rank) -> Option<u32> {
        self.machine.fence(dst)
    }

    /// See [`Bulk::is_ahead`].
    #[inline(always)]
    pub fn is_ahead(&mut self, dst: Rank, packets: impl FnOnce() -> u32) -> bool {
        self.machine.is_ahead(dst, packets)
    }

    /// See [`Bulk::fenced`].
    pub fn fenced(&mut self, dst: Rank) {
        self.machine.fenced(dst);
    }

    /// See [`Bulk::holds`].
    #[inline(always)]
    pub fn holds(&self) -> bool {
        self.machine.holds()
    }

    /// See [`Bulk::packet`].
    #[cold]
    pub fn packet(
        &mut self,
        (now, src): (u64, Rank),
        head: Head,
        data: &[u8],
        sink: &mut impl FnMut(Rank, Head, &[u8]),
    ) {
        self.machine.packet(src, head, data, now, sink);
    }

    /// See [`Bulk::release`].
    #[cold]
    pub fn release(
        &mut self,
        packets: impl Fn(Rank) -> u32,
        sink: &mut impl FnMut(Rank, Head, &[u8]),
    ) -> usize {
        self.machine.release(packets, sink)
    }

    /// Moves what can be moved. False: nothing could.
    ///
    /// # Errors
    /// A peer is out of reach or talks nonsense.
    pub fn turn(&mut self, now: u64, ways: Ways<'_>) -> Result<bool, Nonsense> {
        let mut moved = false;
        if now >= self.next_tick {
            moved |= self.timers(now);
        }
        self.act(now, ways);
        let mut active = core::mem::take(&mut self.active);
        self.machine.active(&mut active);
        let warm = self.warm.filter(|conn| self.warmth > 0 && !active.contains(conn));
        self.warmth = self.warmth.saturating_sub(1);
        active.extend(warm);
        if (active.len() != 1 || self.is_seldom()) && !self.machine.has_ready() {
            self.add_ready(&mut active);
        }
        for conn in active.drain(..) {
            moved |= self.move_bytes(conn, now);
        }
        self.active = active;
        if !moved {
            if self.machine.is_silent(now) {
                // Written by the next turn, or before the process sleeps.
                self.machine.tell(false, now);
            }
            self.machine.copy_brief(kept_copy);
        }
        self.act(now, ways);
        match self.failed.take().or_else(|| self.machine.lost()) {
            Some(lost) => Err(lost),
            None => Ok(moved),
        }
    }

    /// Before the process sleeps: as `turn`, and nobody is left without a word about what has come.
    ///
    /// # Errors
    /// As for `turn`.
    pub fn last_turn(&mut self, now: u64, ways: Ways<'_>) -> Result<bool, Nonsense> {
        self.turns = IDLE_CHECK_TURNS - 1;
        self.warmth = self.warmth.min(1);
        self.machine.tell(true, now);
        self.turn(now, ways)
    }

    /// The next turn reports `lost`.
    pub fn fail(&mut self, lost: Nonsense) {
        self.failed = Some(lost);
    }

    /// Takes connections that wait, as far as it is time. For a process that is not busy.
    pub fn look(&mut self, now: u64) {
        if now >= self.next_callers {
            self.accept(now);
        }
    }

    fn timers(&mut self, now: u64) -> bool {
        self.next_tick = now + TIMER_CHECK_INTERVAL;
        let due = now >= self.next_callers || self.machine.expects_caller();
        let taken = due && self.accept(now);
        self.machine.tick(now);
        if now >= self.next_word {
            // However busy this process is with others, who waits for a word gets one.
            self.next_word = now + ACK_DELAY_MAX;
            self.machine.tell(true, now);
        }
        self.machine.copy_late(now, kept_copy);
        let connected = self.finish_connects(now);
        if now >= self.next_watch {
            self.next_watch = now + STALL_CHECK_INTERVAL;
            self.watch_stalled(now);
        }
        taken | connected
    }

    fn accept(&mut self, now: u64) -> bool {
        self.next_callers = now + LISTENER_CHECK_INTERVAL;
        for taken in 0..ACCEPTED_MAX {
            let Some(stream) = Stream::accept(&self.listener) else { return taken > 0 };
            let Ok(nonce) = random() else { return taken > 0 };
            let conn = self.machine.accepted(nonce, now);
            self.keep(conn, stream);
        }
        true
    }

    fn keep(&mut self, conn: ConnId, stream: Stream) {
        if self.epoll >= 0 {
            watch(self.epoll, &stream);
        }
        if let Some(ready) = &self.ready {
            let events = (libc::EPOLLIN | libc::EPOLLRDHUP) as u32;
            let name = u64::from(conn.index) << 32 | u64::from(conn.generation);
            let mut event = libc::epoll_event { events, u64: name };
            let (ready, fd) = (ready.as_raw_fd(), stream.fd());
            // SAFETY: a valid event. Failure leaves the connection to those who expect something.
            unsafe { libc::epoll_ctl(ready, libc::EPOLL_CTL_ADD, fd, &mut event) };
        }
        let index = conn.index as usize;
        if self.sockets.len() <= index {
            self.sockets.resize_with(index + 1, || None);
        }
        self.sockets[index] = Some((conn.generation, stream));
    }

    /// Adds connections that have something to read.
    fn add_ready(&self, conns: &mut Vec<ConnId>) {
        let Some(ready) = &self.ready else { return self.machine.all(conns) };
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        // SAFETY: valid memory for so many events; returns at once.
        let n = unsafe {
            libc::epoll_wait(ready.as_raw_fd(), events.as_mut_ptr(), EVENTS as libc::c_int, 0)
        };
        for event in events.iter().take(usize::try_from(n).unwrap_or(0)) {
            let name = event.u64;
            let conn = ConnId { index: (name >> 32) as u32, generation: name as u32 };
            if !conns.contains(&conn) {
                conns.push(conn);
            }
        }
    }

    fn socket(&self, conn: ConnId) -> Option<&Stream> {
        match self.sockets.get(conn.index as usize)? {
            Some((generation, stream)) if *generation == conn.generation => Some(stream),
            _ => None,
        }
    }

    fn forget(&mut self, conn: ConnId) {
        if self.socket(conn).is_some() {
            self.sockets[conn.index as usize] = None;
        }
    }

    fn act(&mut self, now: u64, ways: Ways<'_>) {
        while let Some(action) = self.machine.action() {
            match action {
                Action::Close { conn } => self.forget(conn),
                Action::Connect { conn, peer, rail } => {
                    let ways = ways(peer);
                    self.machine.set_rails(peer, ways.len().min(255) as u8, now);
                    let way = ways.get(usize::from(rail));
                    match way.map(|way| Stream::connect(way, self.segment)) {
                        Some(Ok(stream)) => {
                            self.keep(conn, stream);
                            self.connecting.push(conn);
                        }
                        _ => self.machine.broken(conn, now),
                    }
                }
            }
        }
    }

    fn finish_connects(&mut self, now: u64) -> bool {
        let mut some = false;
        let mut index = 0;
        while index < self.connecting.len() {
            let conn = self.connecting[index];
            match self.socket(conn).map(Stream::connected) {
                Some(Some(false)) => {
                    index += 1;
                    continue;
                }
                Some(Some(true)) => {
                    some = true;
                    match random() {
                        Ok(nonce) => self.machine.connected(conn, nonce),
                        Err(_) => self.lose(conn, now),
                    }
                }
                Some(None) => self.lose(conn, now),
                None => {}
            }
            self.connecting.swap_remove(index);
        }
        some
    }

    fn lose(&mut self, conn: ConnId, now: u64) {
        self.forget(conn);
        self.machine.broken(conn, now);
    }

    fn watch_stalled(&mut self, now: u64) {
        let mut active = Vec::new();
        self.machine.active(&mut active);
        for conn in active {
            if self.connecting.contains(&conn) {
                continue;
            }
            let Some(stream) = self.socket(conn) else { continue };
            let Some(stalled) = stream.stalled() else { continue };
            stream.reset_on_close();
            self.shorten(stalled.shorter);
            self.lose(conn, now);
        }
    }

    /// Those who connect to us learn it when they connect; they do so soon, because their connection is closed.
    fn shorten(&mut self, segment: Option<u16>) {
        let Some(segment) = segment.filter(|new| self.segment.is_none_or(|old| *new < old)) else {
            return;
        };
        self.segment = Some(segment);
        limit_segments(&self.listener, segment);
    }

    fn move_bytes(&mut self, conn: ConnId, now: u64) -> bool {
        if !self.connecting.is_empty() && self.connecting.contains(&conn) {
            return false;
        }
        let (mut wrote, mut read) = (false, false);
        // A stream may have ended whose sender waits for a word, and nobody may call for long; or more
        // may go now.
        let broken = self.write(conn, now, &mut wrote) == Io::Broken
            || self.read(conn, now, &mut read) == Io::Broken
            || (read
                && (self.machine.take_stirred(conn) | self.machine.must_tell(conn))
                && self.write(conn, now, &mut wrote) == Io::Broken);
        if read || wrote {
            (self.warm, self.warmth) = (Some(conn), WARM_TURNS);
        }
        if broken {
            self.lose(conn, now);
        }
        wrote || read || broken
    }

    fn write(&mut self, conn: ConnId, now: u64, some: &mut bool) -> Io {
        let mut left = TURN_BYTES_MAX;
        while left > 0 {
            let Some(Some((generation, stream))) = self.sockets.get(conn.index as usize) else {
                return Io::Blocked;
            };
            if *generation != conn.generation {
                return Io::Blocked;
            }
            let Some(output) = self.machine.output(conn) else { return Io::Blocked };
            let head = output.head;
            let (io, asked) = match output.body {
                None => (stream.write(head, &[]), head.len()),
                Some((from, offset, len)) => {
                    if from.run(offset).is_none() {
                        self.scratch.resize(SCRATCH, 0);
                    }
                    let scratch = &mut self.scratch;
                    // SAFETY: who called `send` vouches for the memory until `done` has named
                    // it, after which the machine does not.
                    let io = unsafe { write_memory(stream, head, from, offset, len, scratch) };
                    let most = if from.run(offset).is_some() { len } else { len.min(SCRATCH) };
                    (io, head.len() + most)
                }
            };
            match io {
                Io::Moved(n) => {
                    *some = true;
                    self.machine.wrote(conn, n, now);
                    if n < asked {
                        return Io::Blocked;
                    }
                    left = left.saturating_sub(n);
                }
                other => return other,
            }
        }
        Io::Moved(TURN_BYTES_MAX)
    }

    fn read(&mut self, conn: ConnId, now: u64, some: &mut bool) -> Io {
        let mut left = TURN_BYTES_MAX;
        while left > 0 {
            let Some(Some((generation, stream))) = self.sockets.get(conn.index as usize) else {
                return Io::Blocked;
            };
            if *generation != conn.generation {
                return Io::Blocked;
            }
            let (io, asked) = match self.machine.input(conn) {
                Input::Bytes(to) => (stream.read(to), to.len()),
                Input::Memory { to, offset, len, then } => {
                    if to.run(offset).is_none() {
                        self.scratch.resize(SCRATCH, 0);
                    }
                    let to = (to, offset, len);
                    // SAFETY: who called `receive` vouches for the memory until `done` has named
                    // it, after which the machine does not.
                    (unsafe { read_memory(stream, to, then, &mut self.scratch) }, len)
                }
                Input::Have { to, offset, bytes } => {
                    // SAFETY: as above.
                    unsafe { to.scatter(offset, bytes) };
                    (Io::Moved(bytes.len()), bytes.len())
                }
                Input::Ready(n) => (Io::Moved(n), n),
                Input::Drop(len) => {
                    self.scratch.resize(SCRATCH, 0);
                    let most = len.min(SCRATCH);
                    (stream.read(&mut self.scratch[..most]), most)
                }
                Input::Gone => return Io::Blocked,
            };
            match io {
                Io::Moved(0) => return Io::Blocked,
                Io::Moved(n) => {
                    *some = true;
                    self.machine.read(conn, n, now);
                    // Whoever waits for what has just come need not wait for a look for more.
                    let ends = n < asked && !self.machine.has_ready();
                    if ends || self.machine.take_fresh() || self.machine.has_done() {
                        return Io::Blocked;
                    }
                    left = left.saturating_sub(n);
                }
                other => return other,
            }
        }
        Io::Moved(TURN_BYTES_MAX)
    }
}

/// The first `len` bytes of a stream that has not ended.
fn kept_copy(from: &Memory, len: u64) -> Memory {
    let mut bytes = vec![0; len as usize];
    // SAFETY: who called `open` or `send` vouches for the memory until `done` names the stream.
    unsafe { from.gather(0, &mut bytes) };
    Memory::owned(bytes)
}

/// Where the kernel lists connections that have something to read. `None`: it has no descriptor left.
fn ready_list() -> Option<OwnedFd> {
    // SAFETY: an integer; the result is checked.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    // SAFETY: it was just made and belongs to nobody else.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Lets changes of a connection wake who waits at `epoll`: changes only, because bytes that belong
/// nowhere yet may lie in the kernel for long.
fn watch(epoll: RawFd, stream: &Stream) {
    let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
    let mut event = libc::epoll_event { events, u64: 0 };
    // SAFETY: a valid event. Failure means that timers find what has come.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.fd(), &mut event) };
}
