//! Virtual connections: bytes in order, in parts of any size, until the connection breaks.

use super::config::StreamConfig;
use std::collections::VecDeque;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Socket {
    link: usize,
    end: usize,
}

/// What a call on a socket came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Io {
    Moved(usize),
    /// Nothing can be read or written now.
    Blocked,
    /// The connection is gone, and this end knows.
    Broken,
}

/// Bytes on their way to one end.
#[derive(Default)]
struct Pipe {
    /// When each part can be read, and the part.
    parts: VecDeque<(u64, VecDeque<u8>)>,
    held: usize,
    latest: u64,
}

struct Link {
    /// Who is at each end: the connecting process first. A stranger has no rank.
    owners: [Option<u32>; 2],
    /// When the connecting side knows that it is connected.
    ready: u64,
    /// `None`: the other host does not answer.
    answers: bool,
    /// `pipes[e]` leads to end `e`.
    pipes: [Pipe; 2],
    /// When each end learns that the connection is gone.
    gone: [Option<u64>; 2],
    closed: [bool; 2],
    /// Bytes that it still carries before it breaks.
    life: u64,
    buffer: usize,
    /// Nothing moves before that.
    stalled: u64,
}

/// All virtual connections of a job.
pub(crate) struct Pipes {
    pub config: StreamConfig,
    random: fastrand::Rng,
    pub now: u64,
    links: Vec<Link>,
    /// Per process, ends of connections that it has not accepted, and when they come.
    backlog: Vec<VecDeque<(u64, Socket)>>,
    /// Bytes that were written lately by anybody, for strangers who replay them.
    overheard: VecDeque<u8>,
    pub broken: u64,
    pub strangers: u64,
}

const OVERHEARD: usize = 4096;

impl Pipes {
    pub fn new(size: u32, config: StreamConfig) -> Pipes {
        Pipes {
            random: fastrand::Rng::with_seed(config.seed ^ 0x7370_6970_6573),
            config,
            now: 0,
            links: Vec::new(),
            backlog: (0..size).map(|_| VecDeque::new()).collect(),
            overheard: VecDeque::new(),
            broken: 0,
            strangers: 0,
        }
    }

    pub fn nonce(&mut self) -> [u8; 16] {
        self.random.u128(..).to_le_bytes()
    }

    fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.random.u8(0..100) < percent
    }

    /// Lets a tick pass. Now and then a stranger comes along.
    pub fn tick(&mut self) {
        self.now += 1;
        if self.random.u32(0..10_000) < self.config.strangers {
            self.stranger();
        }
    }

    /// `from` connects to `to`.
    pub fn connect(&mut self, from: u32, to: u32, rail: u8) -> Socket {
        let dead = u32::from(rail) + 1 == self.config.dead_rail && self.now > self.config.dies;
        let answers = !dead && !self.chance(self.config.black_hole_percent);
        let refused = answers && self.chance(self.config.refuse_percent);
        let at = self.now + self.random.u64(self.config.delay.clone());
        let socket = self.link([Some(from), Some(to)], at, answers);
        if dead {
            self.links[socket.link].life = 0;
        }
        if refused {
            self.links[socket.link].gone = [Some(at), Some(at)];
        } else if answers {
            let other = Socket { end: 1, ..socket };
            self.backlog[to as usize].push_back((at, other));
        }
        socket
    }

    fn link(&mut self, owners: [Option<u32>; 2], ready: u64, answers: bool) -> Socket {
        let life = if self.chance(self.config.break_percent) {
            self.random.u64(self.config.life.clone())
        } else {
            u64::MAX
        };
        self.links.push(Link {
            owners,
            ready,
            answers,
            pipes: Default::default(),
            gone: [None; 2],
            closed: [false; 2],
            life,
            buffer: self.random.usize(self.config.buffer.clone()),
            stalled: 0,
        });
        Socket { link: self.links.len() - 1, end: 0 }
    }

    /// A connection that waits at `rank`.
    pub fn accept(&mut self, rank: u32) -> Option<Socket> {
        let queue = &mut self.backlog[rank as usize];
        let index = queue.iter().position(|(at, _)| *at <= self.now)?;
        queue.remove(index).map(|(_, socket)| socket)
    }

    /// Whether a connection that was begun is there. `None`: it failed.
    pub fn connected(&self, socket: Socket) -> Option<bool> {
        let link = &self.links[socket.link];
        match link.gone[socket.end] {
            Some(at) if at <= self.now => None,
            _ => Some(link.answers && link.ready <= self.now),
        }
    }

    pub fn write(&mut self, socket: Socket, bytes: &[u8]) -> Io {
        let now = self.now;
        let Socket { link: index, end } = socket;
        if self.knows(socket) {
            return Io::Broken;
        }
        self.weather(index);
        let most = self.random.usize(1..=self.config.part);
        let delay = self.random.u64(self.config.delay.clone());
        let link = &mut self.links[index];
        let other = 1 - end;
        let free = link.buffer.saturating_sub(link.pipes[other].held);
        let n = bytes.len().min(most).min(free);
        if n == 0 {
            return Io::Blocked;
        }
        if link.gone[other].is_some() || link.closed[other] {
            // It only looks as if: nobody will read this.
            return Io::Moved(n);
        }
        let part: VecDeque<u8> = bytes[..n].iter().copied().collect();
        let pipe = &mut link.pipes[other];
        pipe.latest = pipe.latest.max(now + delay);
        pipe.parts.push_back((pipe.latest, part));
        pipe.held += n;
        link.life = link.life.saturating_sub(n as u64);
        if link.life == 0 {
            self.snap(index);
        }
        self.overhear(&bytes[..n]);
        Io::Moved(n)
    }

    pub fn read(&mut self, socket: Socket, into: &mut [u8]) -> Io {
        let now = self.now;
        let most = self.random.usize(1..=self.config.part);
        let link = &mut self.links[socket.link];
        let stalled = link.stalled > now;
        let pipe = &mut link.pipes[socket.end];
        if let Some((at, part)) = pipe.parts.front_mut()
            && *at <= now
            && !stalled
            && !into.is_empty()
        {
            let n = part.len().min(into.len()).min(most);
            for (to, from) in into.iter_mut().zip(part.drain(..n)) {
                *to = from;
            }
            if part.is_empty() {
                pipe.parts.pop_front();
            }
            pipe.held -= n;
            return Io::Moved(n);
        }
        if self.knows(socket) { Io::Broken } else { Io::Blocked }
    }

    pub fn close(&mut self, socket: Socket) {
        let delay = self.random.u64(self.config.learn.clone());
        let at = self.now + delay;
        let link = &mut self.links[socket.link];
        link.closed[socket.end] = true;
        link.pipes[socket.end] = Pipe::default();
        let other = 1 - socket.end;
        link.gone[other].get_or_insert(at);
    }

    /// Whether this end knows that the connection is gone.
    fn knows(&self, socket: Socket) -> bool {
        self.links[socket.link].gone[socket.end].is_some_and(|at| at <= self.now)
    }

    /// The connection breaks: of what is on its way some is lost, and either end learns it later.
    fn snap(&mut self, index: usize) {
        self.broken += 1;
        for end in 0..2 {
            let learn = self.now + self.random.u64(self.config.learn.clone());
            let kept = self.random.usize(0..=self.links[index].pipes[end].parts.len());
            let link = &mut self.links[index];
            link.gone[end].get_or_insert(learn);
            link.pipes[end].parts.truncate(kept);
        }
    }

    fn weather(&mut self, index: usize) {
        if self.chance(self.config.stall_percent) {
            let until = self.now + self.random.u64(self.config.stall.clone());
            self.links[index].stalled = until;
        }
    }

    fn overhear(&mut self, bytes: &[u8]) {
        self.overheard.extend(bytes);
        let over = self.overheard.len().saturating_sub(OVERHEARD);
        self.overheard.drain(..over);
    }

    /// Somebody connects who has no business here: noise, a replay of what he overheard, or
    /// silence.
    fn stranger(&mut self) {
        self.strangers += 1;
        let to = self.random.usize(0..self.backlog.len());
        let at = self.now;
        let socket = self.link([None, Some(to as u32)], at, true);
        let n = self.random.usize(0..200);
        let bytes: VecDeque<u8> = match self.random.u8(0..3) {
            0 => VecDeque::new(),
            1 => (0..n).map(|_| self.random.u8(..)).collect(),
            _ => {
                let from = self.random.usize(0..=self.overheard.len());
                self.overheard.iter().skip(from).take(n).copied().collect()
            }
        };
        let link = &mut self.links[socket.link];
        link.life = u64::MAX;
        link.pipes[1].held = bytes.len();
        if !bytes.is_empty() {
            link.pipes[1].parts.push_back((at, bytes));
        }
        self.backlog[to].push_back((at, Socket { end: 1, ..socket }));
    }

    /// For the text of a failure.
    pub fn describe(&self) -> String {
        let open = |l: &&Link| !l.closed[0] && !l.closed[1];
        let open = self.links.iter().filter(open);
        let lines: Vec<String> = open
            .map(|l| {
                let held = [l.pipes[0].held, l.pipes[1].held];
                format!("{:?} holds {held:?} gone {:?} stalled {}", l.owners, l.gone, l.stalled)
            })
            .collect();
        format!("time {}; {}", self.now, lines.join("; "))
    }
}
