//! Message streams over the virtual network: many seeds, every kind of network.

use fastrand::Rng;
use hpvm_fm::{Action, Node, RecvStream, SendStream};
use hpvm_sim::{Config, Network, SimTransport, Turn};
use std::sync::{Arc, Mutex};

/// Reads all of a message.
const WHOLE: u8 = 1;
/// Reads the first bytes and returns.
const GLANCE: u8 = 200;
/// Reads all and answers with what it read.
const ECHO: u8 = 255;
/// Takes an echo's answer.
const ANSWER: u8 = 0;
/// How much `GLANCE` reads.
const GLIMPSE: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    peer: u32,
    handler: u8,
    bytes: Vec<u8>,
}

/// What the handlers of one node saw.
#[derive(Default)]
struct Log {
    /// Messages in the order of their ends.
    ended: Vec<Message>,
    /// Handlers between their first byte and their return.
    running: usize,
    most_running: usize,
}

struct Machine {
    node: Node<SimTransport>,
    log: Arc<Mutex<Log>>,
    random: Rng,
    /// Messages to send, latest first.
    plan: Vec<Message>,
    now: Option<(SendStream, Message, usize)>,
    /// Messages that must have come in the end.
    expected: usize,
}

async fn read(stream: &mut RecvStream, random: &mut Rng, most: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < most {
        let mut piece = vec![0; random.usize(0..=400).min(most - all.len())];
        let n = stream.receive(&mut piece).await;
        all.extend_from_slice(&piece[..n]);
        if n < piece.len() {
            break;
        }
    }
    all
}

fn register(node: &mut Node<SimTransport>, id: u8, log: &Arc<Mutex<Log>>, seed: u64) {
    let log = log.clone();
    node.register(id, move |mut stream: RecvStream| {
        let log = log.clone();
        async move {
            let mut random = Rng::with_seed(seed ^ stream.bound());
            {
                let mut log = log.lock().unwrap();
                log.running += 1;
                log.most_running = log.most_running.max(log.running);
            }
            let most = if id == GLANCE { GLIMPSE } else { usize::MAX };
            let bytes = read(&mut stream, &mut random, most).await;
            if id == ECHO {
                stream.send(stream.src(), ANSWER, &bytes).unwrap();
            }
            let mut log = log.lock().unwrap();
            log.running -= 1;
            log.ended.push(Message { peer: stream.src(), handler: id, bytes });
            if random.u8(0..10) == 0 { Action::Quit } else { Action::Continue }
        }
    });
}

impl Machine {
    fn turn(&mut self) -> Turn {
        let budget = [1, 100, usize::MAX][self.random.usize(0..3)];
        let mut worked = self.node.extract(budget).unwrap().packets > 0;
        worked |= self.send();
        let done = self.plan.is_empty()
            && self.now.is_none()
            // Not the handlers' returns: whoever stops polling before the end of a message that
            // its handler cut short keeps the sender waiting.
            && self.node.split().1.counts().messages == self.expected as u64
            && !self.node.split().1.replies().pending();
        match (done, worked) {
            (true, _) => Turn::Done,
            (_, true) => Turn::Worked,
            _ => Turn::Idle,
        }
    }

    /// One step of the message being sent: some of it, or its beginning or end.
    fn send(&mut self) -> bool {
        let (fm, fast) = self.node.split();
        let Some((stream, message, sent)) = &mut self.now else {
            let Some(next) = self.plan.last() else { return false };
            let bound = next.bytes.len() + self.random.usize(0..=1) * self.random.usize(0..=900);
            let Ok(stream) = fast.begin(next.peer, bound, next.handler) else { return false };
            assert!(fast.begin(next.peer, bound, next.handler).is_err(), "one stream per node");
            let message = self.plan.pop().unwrap();
            self.now = Some((stream, message, 0));
            return true;
        };
        if *sent < message.bytes.len() {
            let piece = self.random.usize(0..=message.bytes.len() - *sent);
            let taken = fast.push(fm, stream, &message.bytes[*sent..*sent + piece]).unwrap();
            *sent += taken;
            return taken > 0;
        }
        let ended = fast.finish(fm, stream).unwrap();
        if ended {
            assert!(fast.finish(fm, stream).is_err(), "a stream ends once");
            self.now = None;
        }
        ended
    }
}

fn random_plan(random: &mut Rng, size: u32) -> Vec<Message> {
    let mut message = |_| {
        let most = [0, 8, 200, 5000][random.usize(0..4)];
        Message {
            peer: random.u32(0..size),
            handler: [WHOLE, GLANCE, ECHO][random.usize(0..3)],
            bytes: (0..random.usize(0..=most)).map(|_| random.u8(..)).collect(),
        }
    };
    let plan: Vec<Message> = (0..20).map(&mut message).collect();
    plan
}

/// What `to` must see from `from`, in order: its messages, cut for `GLANCE`. Answers apart.
fn foreseen(plans: &[Vec<Message>], from: usize, to: usize) -> (Vec<Message>, Vec<Message>) {
    let of = |a: usize, b: usize| plans[a].iter().rev().filter(move |m| m.peer == b as u32);
    let direct = of(from, to)
        .map(|m| {
            let n = if m.handler == GLANCE { GLIMPSE.min(m.bytes.len()) } else { m.bytes.len() };
            Message { peer: from as u32, handler: m.handler, bytes: m.bytes[..n].to_vec() }
        })
        .collect();
    let answers = of(to, from)
        .filter(|m| m.handler == ECHO)
        .map(|m| Message { peer: from as u32, handler: ANSWER, bytes: m.bytes.clone() })
        .collect();
    (direct, answers)
}

/// Messages of one sender in the order in which their handlers ended: those of one kind.
fn seen(log: &Log, from: usize, answers: bool) -> Vec<Message> {
    let of_kind = |m: &&Message| m.peer == from as u32 && (m.handler == ANSWER) == answers;
    log.ended.iter().filter(of_kind).cloned().collect()
}

/// Runs one seed; the most handlers of one node that were under way at once.
fn exchange(seed: u64) -> usize {
    let mut random = Rng::with_seed(seed);
    let size = random.u32(1..=5);
    let network = Network::new(Config::random(size, seed));
    let plans: Vec<_> = (0..size).map(|_| random_plan(&mut random, size)).collect();
    let n = size as usize;
    let mut machines: Vec<Machine> = (0..n)
        .map(|r| {
            let mut node = Node::new(network.endpoint(r as u32));
            let log = Arc::<Mutex<Log>>::default();
            for id in [WHOLE, GLANCE, ECHO, ANSWER] {
                register(&mut node, id, &log, seed);
            }
            let count = |from| {
                let (direct, answers) = foreseen(&plans, from, r);
                direct.len() + answers.len()
            };
            Machine {
                node,
                log,
                random: Rng::with_seed(seed + 1 + r as u64),
                plan: plans[r].clone(),
                now: None,
                expected: (0..n).map(count).sum(),
            }
        })
        .collect();
    network.run(2_000_000, &mut machines, |_, m| m.turn());
    let mut most = 0;
    for (to, machine) in machines.iter().enumerate() {
        let log = machine.log.lock().unwrap();
        for from in 0..n {
            let (direct, answers) = foreseen(&plans, from, to);
            assert_eq!(seen(&log, from, false), direct, "seed {seed}: {from} to {to}");
            assert_eq!(seen(&log, from, true), answers, "seed {seed}: answers {from} to {to}");
        }
        most = most.max(log.most_running);
    }
    most
}

#[test]
fn random_pieces_arrive_whole_and_in_order() {
    let most = (0..1500).map(exchange).max();
    assert!(most >= Some(4), "handlers of several senders never overlapped: {most:?}");
}

fn pair() -> (Network, Node<SimTransport>, Node<SimTransport>) {
    let network = Network::new(Config::calm(2));
    let (a, b) = (Node::new(network.endpoint(0)), Node::new(network.endpoint(1)));
    (network, a, b)
}

fn send(node: &mut Node<SimTransport>, handler: u8, bytes: &[u8]) {
    let mut stream = node.begin_message(1, bytes.len(), handler).unwrap();
    node.send_piece(&mut stream, bytes).unwrap();
    node.end_message(stream).unwrap();
}

#[test]
fn budget_is_kept_to_the_packet() {
    let (network, mut a, mut b) = pair();
    b.register(WHOLE, |_| async { Action::Continue });
    for _ in 0..10 {
        send(&mut a, WHOLE, &[1; 100]);
    }
    network.settle();
    assert_eq!(b.extract(0).unwrap().packets, 0);
    assert_eq!(b.extract(1).unwrap().packets, 1);
    let done = b.extract(250).unwrap();
    assert_eq!((done.packets, done.bytes, done.quit), (3, 300, false));
    assert_eq!(b.extract(usize::MAX).unwrap().packets, 6);
}

#[test]
fn quit_stops_an_extract() {
    let (network, mut a, mut b) = pair();
    b.register(WHOLE, |mut stream: RecvStream| async move {
        let mut byte = [0];
        stream.receive(&mut byte).await;
        if byte[0] == 3 { Action::Quit } else { Action::Continue }
    });
    for i in 1..=5 {
        send(&mut a, WHOLE, &[i]);
    }
    network.settle();
    let done = b.extract(usize::MAX).unwrap();
    assert_eq!((done.packets, done.quit), (3, true));
    let done = b.extract(usize::MAX).unwrap();
    assert_eq!((done.packets, done.quit), (2, false));
}

#[test]
fn more_than_announced_is_refused() {
    let (network, mut a, mut b) = pair();
    let got = Arc::new(Mutex::new(Vec::new()));
    let log = got.clone();
    b.register(WHOLE, move |mut stream: RecvStream| {
        let log = log.clone();
        async move {
            let mut all = [0; 16];
            let n = stream.receive(&mut all).await;
            log.lock().unwrap().push(all[..n].to_vec());
            Action::Continue
        }
    });
    let mut stream = a.begin_message(1, 4, WHOLE).unwrap();
    a.send_piece(&mut stream, b"abc").unwrap();
    assert!(a.send_piece(&mut stream, b"de").is_err());
    a.end_message(stream).unwrap();
    network.settle();
    b.extract(usize::MAX).unwrap();
    assert_eq!(*got.lock().unwrap(), [b"abc".to_vec()]);
    assert!(a.begin_message(2, 1, WHOLE).is_err(), "there is no node 2");
}

#[test]
fn a_lost_peer_ends_a_wait_for_credit() {
    let network = Network::new(Config { poll_ticks: 1, credits: 4, ..Config::calm(2) });
    let mut a = Node::new(network.endpoint(0));
    let _b = network.endpoint(1);
    let mut stream = a.begin_message(1, 1 << 20, WHOLE).unwrap();
    network.kill(1);
    let result = a.send_piece(&mut stream, &[0; 1 << 20]);
    assert!(matches!(result, Err(hpvm_fm::SendError::Broken(_))), "{result:?}");
}
