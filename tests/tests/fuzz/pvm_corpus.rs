//! The inputs of PVM's readers that are not text, written anew when a layout has changed:
//! `cargo test -p hpvm-tests --test fuzz -- --ignored write_pvm_corpus`.

use crate::corpus::write;
use hpvm_pvm::body::Body;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::protocol::{
    Answer, Destination, Hello, Identity, Mail, Order, Report, Request, Start,
};
use hpvm_pvm::record;
use hpvm_pvm::wire::{Bytes, Wire, frame};

#[test]
#[ignore = "writes files of the tree"]
fn write_pvm_corpus() {
    write("pvm-frames", "requests", &frames(0, &requests()));
    write("pvm-frames", "answers", &frames(1, &answers()));
    write("pvm-frames", "orders", &frames(2, &orders()));
    write("pvm-frames", "reports", &frames(3, &reports()));
    let of_hosts = |host: u8| {
        reports()
            .iter()
            .flat_map(|report| [vec![host], frame(report)].concat())
            .collect::<Vec<u8>>()
    };
    write("pvm-reports", "first-host", &of_hosts(0));
    write("pvm-reports", "second-host", &of_hosts(1));
    write("pvm-links", "messages", &[fragments(5, &[5]), fragments(40, &[20, 20])].concat());
    write("pvm-links", "given-up", &[fragments(90, &[20]), fragments(0, &[0])].concat());
    let mut body = Body::default();
    (1..12).for_each(|number| body.append_int(number));
    body.append_str(b"a string");
    body.append_message(&Head { tag: 5, ..Head::default() }, &[9; 24]);
    let calls = [0x13, 0x26, 0x28, 0x00, 0x0f, 0x41, 0x45, 0x13];
    write("pvm-packed", "all", &[&calls[..], body.bytes()].concat());
    let script = "# a script\nconf\nspawn -3 -host -> prog a b\nspawn ->>file prog\nkill t40002\nsig 15 40003\n\
                  alias p ps -a\nadd one two\nbogus \u{e9}\n";
    write("pvm-console", "script", script.as_bytes());
    let hosts = "# hosts\nthud\nfred lo=me ip=fast ep=/a:$HOME/b wd=/w sp=2000 dx=/usr/pvmd\n* ep=/all\nwilma\n&barney\n";
    write("pvm-hostfiles", "hosts", hosts.as_bytes());
}

fn frames(kind: u8, values: &[impl Wire]) -> Vec<u8> {
    [vec![kind], values.iter().flat_map(frame).collect()].concat()
}

fn mail() -> Mail {
    let body = Bytes(vec![1, 2, 3]);
    Mail { source: 0x40001, tag: 3, context: 0, wait_id: 0, encoding: 1, body }
}

fn start() -> Start {
    Start {
        program: "prog".into(),
        arguments: vec![Bytes(b"x".to_vec())],
        count: 3,
        environment: vec![Bytes(b"A=1".to_vec())],
        folders: vec!["/bin".into()],
        output: Destination { tid: 0x40001, context: 0, tag: 2 },
        ..Start::default()
    }
}

fn requests() -> Vec<Request> {
    let name = || "name".to_owned();
    let group = name;
    vec![
        Request::Enroll { hello: Hello { version: 2, program: name(), ..Hello::default() } },
        Request::Join { group: group() },
        Request::Barrier { group: group(), count: 2 },
        Request::Members { group: group() },
        Request::Freeze { group: group(), size: 1 },
        Request::Instance { group: group(), tid: 0x40001 },
        Request::Member { group: group(), instance: 0 },
        Request::Put { name: name(), flags: 2, mail: mail() },
        Request::Fetch { name: name(), index: 0, flags: 8 },
        Request::Names { pattern: "n*".into() },
        Request::HostOptions { lines: vec!["* wd=$HOME/w".into()] },
        Request::Delete { name: name(), index: 0 },
        Request::Notify { what: 1, tag: 9, context: 0, count: 1, tids: vec![0x40001] },
        Request::Spawn { start: start() },
        Request::Signal { tid: 0x40001, signal: 15 },
        Request::Send { to: 0x80002, mail: mail() },
        Request::NewContext {},
        Request::Tasks { place: 0 },
        Request::AddHosts { names: vec![name(), "third lo=u ep=/e".into()] },
        Request::DeleteHosts { names: vec!["second".into()] },
        Request::Clock { host: 0x80000 },
        Request::Reset { keep: 0 },
        Request::Exit {},
        Request::Halt {},
    ]
}

fn answers() -> Vec<Answer> {
    vec![
        Answer::Code { code: -24 },
        Answer::Enrolled {
            identity: Identity { tid: 0x40001, siblings: vec![1], ..Identity::default() },
        },
        Answer::Tids { tids: vec![1, -2] },
        Answer::Mail { mail: mail() },
        Answer::Groups { names: vec!["g".into()], sizes: vec![4] },
        Answer::Event { mail: mail() },
        Answer::Halting {},
    ]
}

fn orders() -> Vec<Order> {
    vec![
        Order::Welcome { version: 2, nonce: 5, machine: "m".into(), silence: 60_000 },
        Order::Start { tid: 0x80002, start: start() },
        Order::Answer { client: 1, answer: Answer::Code { code: 0 } },
        Order::Log { tid: 0x80002, text: Bytes(b"text\n".to_vec()) },
        Order::Halt {},
    ]
}

fn reports() -> Vec<Report> {
    let asked =
        requests().into_iter().map(|request| Report::Request { client: 1, pid: 9, request });
    let others = [
        Report::Started { tid: 0x40003, pid: 77, code: 0 },
        Report::Output { tid: 0x40003, text: Bytes(b"out\n".to_vec()) },
        Report::OutputEnded { tid: 0x40003 },
        Report::Ended { tid: 0x40003, pid: 77 },
        Report::Time { client: 1, seconds: 5, micros: 6 },
        Report::Gone { client: 1 },
        Report::Alive {},
    ];
    asked.chain(others).collect()
}

/// A message of `total` bytes in fragments.
fn fragments(total: u64, lengths: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, len) in lengths.iter().enumerate() {
        let first = number == 0;
        let kind = if first { record::FIRST } else { record::MORE };
        let end = out.len() + record::room(first, u64::from(*len)) as usize;
        out.extend([len.to_le_bytes(), kind.to_le_bytes()].concat());
        if first {
            out.extend(record::encode(&Head { tag: 3, ..Head::default() }, total));
        }
        out.resize(end, number as u8);
    }
    out
}
