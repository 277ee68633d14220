//! What a peer says of a large message is checked, not believed: of one that is copied together with
//! its sender, and of one that is asked for.

use hpvm_fm::{Broken, Head, Packets, PeerMemory, Rank, Segment};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::pt2pt::protocol::{
    AS_STREAM, CTS, DATA, FIN, MessageHead, RTS, Rts, SPLIT_DONE, SPLIT_REQUEST, STREAM_HEAD,
    SplitRequest, envelope,
};
use hpvm_mpi::pt2pt::select::{DEFAULT, Thresholds};
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Process, ReqId};
use hpvm_sim::{Config, Network, SimTransport};
use hpvm_wire::split_copy::{self, End, SplitCopy};
use std::ops::Range;

/// Pages enough that the receiver, which copies up to three parts at once, leaves some.
const LEN: usize = 300 * 4096;

/// Rank 0, which is whatever a test makes of it, has announced a message to rank 1, which has begun to
/// copy it and asked for help.
struct Scene {
    network: Network,
    sender: SimTransport,
    receiver: Process<SimTransport>,
    sent: Box<[u8]>,
    buffer: Box<[u8]>,
    id: ReqId,
    help: SplitRequest,
}

impl Scene {
    fn new() -> Scene {
        let network = Network::new(Config::calm(2));
        let (mut sender, mut receiver) = (network.endpoint(0), Process::new(network.endpoint(1)));
        receiver.set_thresholds(Thresholds { min_split_copy: 1, max_step: 1, ..DEFAULT });
        let sent: Box<[u8]> = (0..LEN).map(|i| (i / 7) as u8).collect();
        let mut buffer = vec![0; LEN].into_boxed_slice();
        let (buf, ty) = (buffer.as_mut_ptr(), Datatype::byte());
        let (into, pattern) = (Incoming { buf, count: LEN as i64, ty }, Pattern { src: 0, tag: 5 });
        let comm = receiver.world().clone();
        // SAFETY: the scene holds the buffer for longer than the process.
        let id = unsafe { receiver.recv(into, &comm, Channel::User, pattern, None) };
        let address = sent.as_ptr().expose_provenance() as u64;
        let rts = Rts { address, len: LEN as u64, request: 77 };
        say(&mut sender, RTS, envelope(comm.context(Channel::User), 5), Rts::BYTES, |out| {
            rts.write(out);
        });
        network.settle();
        receiver.progress().unwrap();
        network.settle();
        let mut help = None;
        let polled = sender.poll(usize::MAX, |src, head, data| {
            assert_eq!((src, head.handler, head.imm), (1, SPLIT_REQUEST, 77));
            help = SplitRequest::read(data);
        });
        assert_eq!(polled, Ok(1));
        let help = help.expect("a request for help");
        Scene { network, sender, receiver, sent, buffer, id, help }
    }

    fn split_copy(&self) -> &SplitCopy {
        self.sender.split_copy(1, self.help.index as usize).expect("the receiver's split")
    }

    fn claim(&self) -> Option<Range<u32>> {
        self.split_copy().claim(self.help.name, End::Back, self.help.want)
    }

    /// Copies `part`, as an honest sender does.
    fn copy(&mut self, part: &Range<u32>) {
        let bytes = split_copy::bytes(self.help.want, part);
        let from = self.sent[bytes.start as usize..].as_ptr();
        let n = (bytes.end - bytes.start) as usize;
        // SAFETY: the part lies in what is sent.
        let outcome = unsafe { self.sender.push(1, self.help.to + bytes.start, from, n) };
        assert_eq!(outcome, Ok(()));
        self.split_copy().finish(part.end - part.start, split_copy::units(self.help.want));
    }

    /// The sender says that it has finished, or could not copy these parts; what the receiver makes
    /// of it.
    fn helped(&mut self, word: u64) -> Result<bool, Broken> {
        self.say_helped(word);
        self.listen()
    }

    fn say_helped(&mut self, word: u64) {
        let receive = self.help.receive;
        say(&mut self.sender, SPLIT_DONE, receive, 8, |out| {
            out.copy_from_slice(&word.to_le_bytes())
        });
    }

    fn listen(&mut self) -> Result<bool, Broken> {
        self.network.settle();
        turns(&mut self.receiver)
    }

    /// The message has come, as it was sent, and the sender is told so.
    fn comes_to_its_end(&mut self) {
        assert!(self.receiver.take_outcome(self.id).is_some_and(|o| o.error.is_none()));
        assert!(self.buffer == self.sent);
        self.network.settle();
        let mut told = Vec::new();
        let told = &mut told;
        let polled = self.sender.poll(usize::MAX, |_, head, _| told.push((head.handler, head.imm)));
        assert_eq!((polled, &told[..]), (Ok(1), &[(FIN, 77)][..]));
    }
}

fn say(end: &mut SimTransport, handler: u8, imm: u64, len: usize, fill: impl FnOnce(&mut [u8])) {
    const RECEIVER: Rank = 1;
    assert!(end.grant(RECEIVER) > 0);
    end.send(RECEIVER, Head::single(handler, imm), len, fill).unwrap();
}

fn word(undone: Range<u32>) -> u64 {
    u64::from(undone.end) << 32 | u64::from(undone.start)
}

fn is_refused(outcome: Result<bool, Broken>) -> bool {
    matches!(outcome, Err(Broken::Corrupt(text)) if text.contains("process 0 sent a SPLIT_DONE"))
}

#[test]
fn a_sender_that_is_not_through_can_not_say_it_is() {
    assert!(is_refused(Scene::new().helped(0)), "nothing has been copied");

    let mut scene = Scene::new();
    let part = scene.claim().unwrap();
    assert!(is_refused(scene.helped(0)), "{part:?} has been claimed, not copied");

    let mut scene = Scene::new();
    assert!(is_refused(scene.helped(3 << 32 | 9)), "no parts at all");
}

#[test]
fn a_sender_can_give_back_what_it_has_claimed_and_nothing_else() {
    let all = split_copy::units(LEN as u64);
    assert!(is_refused(Scene::new().helped(word(0..all))), "it has claimed nothing");
    let wrong: [fn(Range<u32>) -> Range<u32>; 4] = [
        |part| part.start - 1..part.end,
        |part| part.start..part.end + 1,
        |part| part.start + 1..part.end,
        |part| part.start..part.end - 1,
    ];
    for wrong in wrong {
        let mut scene = Scene::new();
        let first = scene.claim().unwrap();
        scene.copy(&first);
        let part = scene.claim().unwrap();
        let said = wrong(part.clone());
        assert!(is_refused(scene.helped(word(said.clone()))), "{said:?} for {part:?}");
    }
    let mut scene = Scene::new();
    let first = scene.claim().unwrap();
    scene.copy(&first);
    let part = scene.claim().unwrap();
    scene.helped(word(part)).unwrap();
    scene.comes_to_its_end();
}

#[test]
fn a_sender_speaks_once() {
    let mut scene = Scene::new();
    let part = scene.claim().unwrap();
    scene.say_helped(word(part.clone()));
    assert!(is_refused(scene.helped(word(part))));

    let mut scene = Scene::new();
    while let Some(part) = scene.claim() {
        scene.copy(&part);
    }
    scene.helped(0).unwrap();
    scene.comes_to_its_end();
    assert!(is_refused(scene.helped(0)), "the message has come");
}

#[test]
fn a_message_that_is_being_copied_does_not_come_in_packets_too() {
    let mut scene = Scene::new();
    let receive = scene.help.receive;
    say(&mut scene.sender, DATA, receive, 100, |out| out.fill(1));
    let outcome = scene.listen();
    assert!(matches!(outcome, Err(Broken::Corrupt(_))), "{outcome:?}");
}

/// Takes turns until nothing moves. Whether something has.
fn turns(p: &mut Process<SimTransport>) -> Result<bool, Broken> {
    let mut moved = false;
    while p.progress()? {
        moved = true;
    }
    Ok(moved)
}

/// A receiver, rank 1, asks for the message of rank 0 by CTS packets with these `aux`.
fn asked(words: &[u16]) -> Result<bool, Broken> {
    let network = Network::new(Config::calm(2));
    let (mut p, mut receiver) = (Process::new(network.endpoint(0)), network.endpoint(1));
    let bytes = vec![7u8; LEN].into_boxed_slice();
    let out = Outgoing { buf: bytes.as_ptr(), count: LEN as i64, ty: Datatype::byte() };
    let context = p.world().context(Channel::User);
    // SAFETY: the bytes outlive the process.
    let started = unsafe { p.send(out, 1, context, 5, Mode::Standard, None) };
    let Started::Pending(id) = started else { panic!("it has to be announced") };
    for aux in words {
        assert!(receiver.grant(0) > 0);
        let head = Head { aux: *aux, ..Head::single(CTS, id.number()) };
        receiver.send(0, head, 8, |out| out.fill(0)).unwrap();
    }
    network.settle();
    let outcome = turns(&mut p);
    drop((p, bytes));
    outcome
}

#[test]
fn a_message_is_asked_for_once() {
    asked(&[0]).unwrap();
    for words in [[0, 0], [0, AS_STREAM]] {
        let outcome = asked(&words);
        assert!(matches!(outcome, Err(Broken::Corrupt(_))), "{words:?}: {outcome:?}");
    }
}

/// Rank 1 has no streams to rank 0, and rank 0 speaks of one, or asks for one.
#[test]
fn nobody_waits_for_streams_of_a_transport_without() {
    let network = Network::new(Config::calm(2));
    let (mut sender, mut p) = (network.endpoint(0), Process::new(network.endpoint(1)));
    let comm = p.world().clone();
    let (context, ty) = (comm.context(Channel::User), Datatype::byte());
    let mut buffer = vec![7u8; LEN].into_boxed_slice();
    let out = Outgoing { buf: buffer.as_ptr(), count: LEN as i64, ty };
    let into = Incoming { buf: buffer.as_mut_ptr(), count: LEN as i64, ty };
    // SAFETY: the buffer outlives the process, and neither is copied.
    let ids = unsafe {
        let Started::Pending(sent) = p.send(out, 0, context, 5, Mode::Standard, None) else {
            panic!("it has to be announced");
        };
        [sent, p.recv(into, &comm, Channel::User, Pattern { src: 0, tag: 5 }, None)]
    };
    let say = |end: &mut SimTransport, head: Head, data: &[u8]| {
        assert!(end.grant(1) > 0);
        end.send(1, head, data.len(), |out| out.copy_from_slice(data)).unwrap();
    };
    let cts = Head { aux: AS_STREAM, ..Head::single(CTS, ids[0].number()) };
    say(&mut sender, cts, &[0; 8]);
    let bulk = MessageHead { len: LEN as u64, number: 3 };
    say(&mut sender, Head::single(STREAM_HEAD, envelope(context, 5)), &bulk.to_bytes());
    network.settle();
    p.progress().unwrap();
    for id in ids {
        let outcome = p.take_outcome(id).expect("nothing to wait for");
        let error = outcome.error.expect("an error");
        assert!(error.to_string().contains("stream"), "{error}");
    }
}
