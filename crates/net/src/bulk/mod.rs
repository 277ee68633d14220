//! Large messages to other hosts: the connections of `hpvm-bulk`.

mod stream;
#[cfg(test)]
mod tests;

use crate::address::Address;
use hpvm_bulk::{Action, Bulk, ConnId, Counters, Input, Lost};
use hpvm_transport::{Landing, Memory, Rank};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, RawFd};
use stream::{Io, Stream, read_memory, write_memory};

pub use hpvm_bulk::Settings;

/// Messages from this length on are streamed: measured, see bench/NOTES.md.
pub const LEAST: u64 = 16 * 1024 + 1;
/// Bytes that one connection moves in one turn in either direction, about: others wait meanwhile.
const TURN: usize = 2 << 20;
/// Bytes of the buffer for data with holes.
const SCRATCH: usize = 128 << 10;
/// Connections taken in one turn.
const TAKEN: usize = 8;
const MS: u64 = 1_000_000;
/// Time between two looks for connections that stand still.
const WATCH: u64 = 250 * MS;
/// Time between two looks at timers, and at the listening socket while a caller is expected.
const TICK: u64 = MS / 50;
/// Time between two looks at the listening socket otherwise.
const CALLERS: u64 = 100 * MS;

/// Where a peer can be reached, one address for each lane.
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
    epoll: RawFd,
    next_tick: u64,
    next_callers: u64,
    next_watch: u64,
    failed: Option<Lost>,
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
            next_tick: 0,
            next_callers: 0,
            next_watch: 0,
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
        self.machine.busy() || self.machine.has_done()
    }

    /// Peers with which streams are unfinished.
    pub fn pending(&self) -> &[Rank] {
        self.machine.pending()
    }

    /// When `turn` has something to do although nothing happens.
    pub fn deadline(&self) -> Option<u64> {
        // The kernel wakes nobody when it sends again in vain.
        let watch = (!self.machine.pending().is_empty()).then_some(self.next_watch);
        self.machine.deadline().into_iter().chain(watch).min()
    }

    pub fn counters(&self) -> &Counters {
        self.machine.counters()
    }

    /// For the text of a failure.
    pub fn describe(&self) -> String {
        self.machine.describe()
    }

    pub fn may_early(&self, dst: Rank, len: u64) -> bool {
        len >= LEAST && self.machine.may_early(dst, len)
    }

    /// See [`hpvm_transport::Transport::stream_out`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn send(
        &mut self,
        now: u64,
        (dst, number): (Rank, u64),
        from: Memory,
        len: u64,
        early: bool,
    ) {
        match early {
            true => self.machine.stream_early(dst, number, from, len, now),
            false => self.machine.stream_out(dst, number, from, len, now),
        }
    }

    /// See [`hpvm_transport::Transport::stream_end`].
    ///
    /// # Errors
    /// The peer can't have all of it.
    pub fn end(&mut self, now: u64, dst: Rank, number: u64) -> Result<(), Lost> {
        self.machine.stream_end(dst, number, now)
    }

    /// See [`hpvm_transport::Transport::stream_in`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn receive(&mut self, now: u64, src: Rank, number: u64, to: Landing) {
        let Landing { memory, room, len, cookie } = to;
        self.machine.stream_in(src, number, memory, (room, len), cookie, now, |to, bytes| {
            // SAFETY: the caller vouches for `room` bytes, and the machine cuts to that.
            unsafe { to.scatter(0, bytes) };
        });
    }

    /// The cookie of a stream that has come as a whole.
    pub fn done(&mut self) -> Option<u64> {
        self.machine.done()
    }

    /// Whether `done` has something.
    pub fn has_done(&self) -> bool {
        self.machine.has_done()
    }

    /// Moves what can be moved. False: nothing could.
    ///
    /// # Errors
    /// A peer is out of reach or talks nonsense.
    pub fn turn(&mut self, now: u64, ways: Ways<'_>) -> Result<bool, Lost> {
        let mut moved = false;
        if now >= self.next_tick {
            moved |= self.timers(now);
        }
        self.act(now, ways);
        let mut active = core::mem::take(&mut self.active);
        self.machine.active(&mut active);
        for conn in active.drain(..) {
            moved |= self.move_bytes(conn, now);
        }
        self.active = active;
        self.act(now, ways);
        match self.failed.take().or_else(|| self.machine.lost()) {
            Some(lost) => Err(lost),
            None => Ok(moved),
        }
    }

    /// The next turn reports `lost`.
    pub fn fail(&mut self, lost: Lost) {
        self.failed = Some(lost);
    }

    /// Takes connections that wait, as far as it is time. For a process that is not busy.
    pub fn look(&mut self, now: u64) {
        if now >= self.next_callers {
            self.accept(now);
        }
    }

    fn timers(&mut self, now: u64) -> bool {
        self.next_tick = now + TICK;
        let due = now >= self.next_callers || self.machine.expects_caller();
        let taken = due && self.accept(now);
        self.machine.tick(now);
        let connected = self.finish_connects(now);
        if now >= self.next_watch {
            self.next_watch = now + WATCH;
            self.watch_stalled(now);
        }
        taken | connected
    }

    fn accept(&mut self, now: u64) -> bool {
        self.next_callers = now + CALLERS;
        for taken in 0..TAKEN {
            let Some(stream) = Stream::accept(&self.listener) else { return taken > 0 };
            let Some(nonce) = nonce() else { return taken > 0 };
            let conn = self.machine.accepted(nonce, now);
            self.keep(conn, stream);
        }
        true
    }

    fn keep(&mut self, conn: ConnId, stream: Stream) {
        if self.epoll >= 0 {
            watch(self.epoll, &stream);
        }
        let index = conn.index as usize;
        if self.sockets.len() <= index {
            self.sockets.resize_with(index + 1, || None);
        }
        self.sockets[index] = Some((conn.generation, stream));
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
                Action::Connect { conn, peer, lane } => {
                    let ways = ways(peer);
                    self.machine.set_lanes(peer, ways.len().min(255) as u8, now);
                    let begun = ways.get(usize::from(lane)).map(Stream::connect);
                    match begun {
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
        let mut place = 0;
        while place < self.connecting.len() {
            let conn = self.connecting[place];
            match self.socket(conn).map(Stream::connected) {
                Some(Some(false)) => {
                    place += 1;
                    continue;
                }
                Some(Some(true)) => {
                    some = true;
                    match nonce() {
                        Some(nonce) => self.machine.connected(conn, nonce),
                        None => self.lose(conn, now),
                    }
                }
                Some(None) => self.lose(conn, now),
                None => {}
            }
            self.connecting.swap_remove(place);
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
            if !self.connecting.contains(&conn) && self.socket(conn).is_some_and(Stream::stalled) {
                self.lose(conn, now);
            }
        }
    }

    fn move_bytes(&mut self, conn: ConnId, now: u64) -> bool {
        if !self.connecting.is_empty() && self.connecting.contains(&conn) {
            return false;
        }
        let (mut wrote, mut read) = (false, false);
        let broken = self.write(conn, &mut wrote) == Io::Broken
            || self.read(conn, now, &mut read) == Io::Broken;
        if broken {
            self.lose(conn, now);
        }
        wrote || read || broken
    }

    fn write(&mut self, conn: ConnId, some: &mut bool) -> Io {
        let mut left = TURN;
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
                    // SAFETY: who called `send` vouches for the memory until `end`, after which the
                    // machine does not name it.
                    let io = unsafe { write_memory(stream, head, from, offset, len, scratch) };
                    let most = if from.run(offset).is_some() { len } else { len.min(SCRATCH) };
                    (io, head.len() + most)
                }
            };
            match io {
                Io::Moved(n) => {
                    *some = true;
                    self.machine.wrote(conn, n);
                    if n < asked {
                        return Io::Blocked;
                    }
                    left = left.saturating_sub(n);
                }
                other => return other,
            }
        }
        Io::Moved(TURN)
    }

    fn read(&mut self, conn: ConnId, now: u64, some: &mut bool) -> Io {
        let mut left = TURN;
        while left > 0 {
            let Some(Some((generation, stream))) = self.sockets.get(conn.index as usize) else {
                return Io::Blocked;
            };
            if *generation != conn.generation {
                return Io::Blocked;
            }
            let (io, asked) = match self.machine.input(conn) {
                Input::Bytes(to) => (stream.read(to), to.len()),
                Input::Memory { to, offset, len } => {
                    if to.run(offset).is_none() {
                        self.scratch.resize(SCRATCH, 0);
                    }
                    // SAFETY: who called `receive` vouches for the memory until `done` has named
                    // it, after which the machine does not.
                    (unsafe { read_memory(stream, to, offset, len, &mut self.scratch) }, len)
                }
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
                    if n < asked {
                        return Io::Blocked;
                    }
                    left = left.saturating_sub(n);
                }
                other => return other,
            }
        }
        Io::Moved(TURN)
    }
}

/// Sixteen bytes that nobody can guess. `None`: the system has none.
fn nonce() -> Option<[u8; 16]> {
    let mut nonce = [0; 16];
    // SAFETY: a place for sixteen bytes.
    let got = unsafe { libc::getrandom(nonce.as_mut_ptr().cast(), nonce.len(), 0) };
    (got == nonce.len() as isize).then_some(nonce)
}

/// Lets changes of a connection wake who waits at `epoll`: changes only, because bytes that belong
/// nowhere yet may lie in the kernel for long.
fn watch(epoll: RawFd, stream: &Stream) {
    let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
    let mut event = libc::epoll_event { events, u64: 0 };
    // SAFETY: a valid event. Failure means that timers find what has come.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, stream.fd(), &mut event) };
}
