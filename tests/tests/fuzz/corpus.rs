//! The inputs that are not text, written anew when a layout has changed:
//! `cargo test -p hpvm-tests --test fuzz -- --ignored write_corpus`.

use crate::folder;
use hpvm_launch::errands::Request;
use hpvm_launch::remote::frame::{Frame as Message, HELLO};
use hpvm_launch::remote::order::{Node, Order, Program, Run, Shell};
use hpvm_launch::sites::{Gateway, Plan};
use hpvm_wire::Head;
use hpvm_wire::bulk::{Frame, FrameKind, Greeting, GreetingKind, Opening};
use hpvm_wire::datagram::{HEADER, Header};
use hpvm_wire::envelope::{Envelope, Kind, MAC, PROBE};
use std::time::Duration;

pub fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = folder(target);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(name), bytes).expect("an input");
}

#[test]
#[ignore = "writes files of the tree"]
fn write_corpus() {
    write(
        "envelopes",
        "joined",
        &[envelope(Kind::Data, 30), envelope(Kind::Probe, PROBE)].concat(),
    );
    write("envelopes", "answer", &envelope(Kind::Answer, PROBE));
    write("datagrams", "conversation", &(1..6).flat_map(datagram).collect::<Vec<u8>>());
    for kind in
        [GreetingKind::Hello, GreetingKind::Challenge, GreetingKind::Proof, GreetingKind::Welcome]
    {
        let greeting =
            Greeting { kind, rail: 1, from: 1, to: 2, epoch: 9, value: [1; 16], tag: [2; 16] };
        write("stream-headers", &format!("{kind:?}").to_lowercase(), &greeting.write());
    }
    let opening = Opening { total: 5000, order: 7, packets: 8, head: Head::single(9, 10) };
    let chunk = Frame { len: 1000, opening: Some(opening), ..Frame::bare(FrameKind::Chunk, 3, 0) };
    write("stream-headers", "opening", &chunk.write());
    let later = Frame { len: 1000, ..Frame::bare(FrameKind::Chunk, 3, 4096) };
    write("stream-headers", "chunk", &later.write());
    write("orders", "four-hosts", &order().encode());
    let request =
        Request { arguments: vec!["a".into()], variables: vec![("B".into(), "c".into())] };
    let body = request.encode();
    let launch = [format!("launch t 0 {}\n", body.len()).as_bytes(), &body].concat();
    let said: [(u8, &[u8]); 6] = [
        (0, b"life t\n"),
        (1, b"port t\n"),
        (2, &launch),
        (3, b"space\nk 2 A,B;0x2\n0 c\n"),
        (3, b""),
        (2, b"D"),
    ];
    let part = |(stream, words): (u8, &[u8])| [&[stream, words.len() as u8], words].concat();
    write("errands", "launch", &said.into_iter().flat_map(part).collect::<Vec<u8>>());
    write("control-messages", "from-launcher", &messages(false));
    write("control-messages", "from-agent", &messages(true));
}

fn envelope(kind: Kind, len: usize) -> Vec<u8> {
    let envelope = Envelope { job: 5, kind, src: 1, dst: 2, number: 9, len: len as u16 };
    [&envelope.bytes()[..], &[7; MAC], &vec![1; len]].concat()
}

/// A datagram that carries one record of 8 bytes, behind its length.
fn datagram(number: u64) -> Vec<u8> {
    let (seq, window) = (number as u32, 64);
    let header = Header { number, seq, ack: 1, stamp: 4, echo: 0, window, flags: 1, sacks: 0 };
    let mut bytes = [0; HEADER];
    header.write(&mut bytes);
    let record = [8, 0, 0, 0, 3, 1, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0];
    let whole = [&bytes[..], &record, &[5; 8]].concat();
    [&[whole.len() as u8][..], &whole].concat()
}

fn messages(greets: bool) -> Vec<u8> {
    let text = || "text".to_owned();
    let from_agent = vec![
        Message::Alive,
        Message::Started { rank: 1, pid: 77 },
        Message::NotStarted { rank: 2, text: text(), code: 127 },
        Message::Abort { rank: 1, code: 3, message: Some(text()) },
        Message::Output { rank: 1, side: 1, bytes: b"out\n".to_vec() },
        Message::OutputEnd { rank: 1, side: 0 },
        Message::Ask { rank: 1, line: b"cmd=lookup_name service=a".to_vec() },
        Message::Lost { nodes: vec![1, 2], text: text(), code: 255 },
        Message::Note(text()),
        Message::Left,
    ];
    let from_launcher = vec![
        Message::Puts(vec![("key".into(), "value".into()), ("a".into(), "b".into())]),
        Message::Order(order().encode()),
        Message::Signal(15),
        Message::Pause(true),
        Message::Open,
        Message::Reply { rank: 0, text: text() },
        Message::Stdin(b"in\n".to_vec()),
        Message::Leave { kill: true },
    ];
    let mut bytes = Vec::new();
    if greets {
        bytes.extend_from_slice(format!("motd\n{HELLO}{}\n", env!("CARGO_PKG_VERSION")).as_bytes());
    }
    let all = if greets { from_agent } else { from_launcher };
    all.iter().for_each(|message| message.encode(&mut bytes));
    bytes
}

fn order() -> Order {
    let program = Program {
        argv: vec!["prog".into(), "x".into()],
        wdir: "/tmp".into(),
        inherit: true,
        set: vec![("A".into(), "1".into())],
        library_path: true,
        path: "/opt/bin".into(),
    };
    let node = |number: u32| Node {
        number,
        host: format!("n{number}"),
        runs: vec![Run { first: 2 * number, count: 2, program: 0 }],
        slots: vec![format!("{number}:0"), String::new()],
    };
    let shell = Shell {
        words: vec!["ssh".into(), "-x".into()],
        login: Vec::new(),
        raw: false,
        preload: false,
        width: 2,
        patience: Duration::from_secs(60),
        prefix: Some("/opt/hpvm".into()),
    };
    Order {
        job: "job".into(),
        key: "00ff".into(),
        size: 8,
        mapping: "(vector,(0,4,2))".into(),
        programs: vec![program],
        policy: Default::default(),
        input: Some(0),
        universe: Some(12),
        report_bindings: true,
        shell,
        sites: Some(Plan {
            text: "A,B;0x4,1x4".into(),
            gateways: vec![Gateway { site: 1, node: 2, host: "n2".into(), port: 7 }],
            compress: true,
        }),
        nodes: (0..4).map(node).collect(),
    }
}
