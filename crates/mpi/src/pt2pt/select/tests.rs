use super::*;

/// A message of one run to a rank of the same host, every rank with a processor, reading permitted.
const NEAR: SendFacts = SendFacts {
    mode: Mode::Standard,
    xoff: false,
    one_run: true,
    inline: 104,
    packet: 16 * KIB,
    fragments: 64 * KIB,
    stream: false,
    rdma: false,
    read: true,
};

const FETCH: ReceiveFacts = ReceiveFacts {
    stream_opened: false,
    one_run_there: true,
    mapped: false,
    read: true,
    split: true,
    fresh: false,
    rdma: false,
    stream: false,
};

/// Where a peer can be, as the columns of the table in ARCHITECTURE.md.
fn columns() -> [(&'static str, SendFacts, ReceiveFacts); 6] {
    let no_read = SendFacts { read: false, ..NEAR };
    let fetch_no_read = ReceiveFacts { read: false, split: false, ..FETCH };
    let oversubscribed = SendFacts { fragments: 0, ..NEAR };
    let fetch_oversubscribed = ReceiveFacts { split: false, ..FETCH };
    let far = SendFacts { fragments: 0, read: false, ..NEAR };
    let cards = SendFacts { rdma: true, ..far };
    let fetch_far = ReceiveFacts { stream: true, ..fetch_no_read };
    [
        ("same host", NEAR, FETCH),
        ("same host, fresh", no_read, ReceiveFacts { fresh: true, ..FETCH }),
        ("same host, memory not readable", no_read, fetch_no_read),
        ("same host, oversubscribed", oversubscribed, fetch_oversubscribed),
        ("other host", far, fetch_far),
        ("other host, RDMA", cards, ReceiveFacts { rdma: true, ..fetch_far }),
    ]
}

/// What a message of `len` bytes does there, in words.
fn way(len: u64, send: &SendFacts, receive: &ReceiveFacts) -> &'static str {
    let send = SendFacts { stream: receive.stream && len >= DEFAULT.min_choice, ..*send };
    match select_send(len, &send, &DEFAULT) {
        SendMethod::Inline => "inline",
        SendMethod::Eager => "eager",
        SendMethod::Fragments => "fragments",
        SendMethod::Stream => "stream",
        SendMethod::Announced { .. } => match select_receive(len, receive, &DEFAULT) {
            ReceiveMethod::Nothing => "announced only",
            ReceiveMethod::Mapped => "mapped memory",
            ReceiveMethod::DirectRead => "direct read",
            ReceiveMethod::SplitCopy => "split copy",
            ReceiveMethod::RdmaRead => "RDMA read",
            ReceiveMethod::Packets => "packets",
            ReceiveMethod::Stream => "stream",
        },
    }
}

/// The table of ARCHITECTURE.md.
fn table() -> String {
    let limits = [
        (104, "104 B"),
        (4 * KIB, "4 KiB"),
        (8 * KIB, "8 KiB"),
        (16 * KIB, "16 KiB"),
        (64 * KIB, "64 KiB"),
        (512 * KIB - 1, "512 KiB"),
    ];
    let mut text = String::from("| length |");
    columns().iter().for_each(|(name, ..)| text += &format!(" {name} |"));
    text += "\n|---|---|---|---|---|---|---|\n";
    let row = |name: &str, len: u64, shortest: u64| {
        let cells: Vec<_> = columns()
            .iter()
            .map(|(_, send, receive)| {
                let way = (way(shortest, send, receive), way(len, send, receive));
                assert_eq!(way.0, way.1, "{shortest} to {len} bytes travel in one way");
                way.0
            })
            .collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let mut shortest = 0;
    for (limit, name) in limits {
        let below = if limit % KIB == KIB - 1 { "below" } else { "up to" };
        text += &row(&format!("{below} {name}"), limit, shortest);
        shortest = limit + 1;
    }
    text + &row("longer", 1 << 40, shortest)
}

#[test]
fn architecture_has_the_table_of_ways() {
    let document = include_str!("../../../../../ARCHITECTURE.md");
    assert!(document.contains(&table()), "ARCHITECTURE.md lacks this table:\n{}", table());
}

#[test]
fn short_messages_travel_alike_whatever_nobody_asks_for() {
    for len in [0, 8, 104, 105, DEFAULT.min_choice - 1] {
        for facts in [NEAR, SendFacts { xoff: true, ..NEAR }] {
            let known = select_send(len, &facts, &DEFAULT);
            for bits in 0..16 {
                let other = SendFacts {
                    fragments: (bits & 1) * 64 * KIB,
                    stream: bits & 2 != 0,
                    read: bits & 4 != 0,
                    rdma: bits & 8 != 0,
                    ..facts
                };
                assert_eq!(select_send(len, &other, &DEFAULT), known, "{len} bytes, {other:?}");
            }
        }
    }
}

#[test]
fn synchronous_sends_and_full_receivers_are_announced() {
    let synchronous = SendFacts { mode: Mode::Synchronous, ..NEAR };
    let full = SendFacts { xoff: true, ..NEAR };
    for len in [0, 8, 9000, 60_000, 1 << 20] {
        let with_data = len + 24 <= 16 * KIB;
        let announced = SendMethod::Announced { with_data };
        assert_eq!(select_send(len, &synchronous, &DEFAULT), announced);
        let announced = SendMethod::Announced { with_data: false };
        assert_eq!(select_send(len, &full, &DEFAULT), announced);
    }
    // What the transport bounds itself it takes all the same.
    let far = SendFacts { stream: true, ..full };
    assert_eq!(select_send(1 << 20, &far, &DEFAULT), SendMethod::Stream);
}

#[test]
fn elements_with_holes_are_not_inline_nor_read() {
    let cards = SendFacts { stream: true, rdma: true, one_run: false, ..NEAR };
    assert_eq!(select_send(1 << 20, &cards, &DEFAULT), SendMethod::Stream);
    let holes = SendFacts { one_run: false, ..NEAR };
    assert_eq!(select_send(8, &holes, &DEFAULT), SendMethod::Eager);
    let there = ReceiveFacts { one_run_there: false, ..FETCH };
    assert_eq!(select_receive(1 << 20, &there, &DEFAULT), ReceiveMethod::Packets);
    let here = ReceiveFacts { split: false, ..FETCH };
    assert_eq!(select_receive(1 << 20, &here, &DEFAULT), ReceiveMethod::DirectRead);
    let mapped = ReceiveFacts { mapped: true, ..FETCH };
    assert_eq!(select_receive(1 << 20, &mapped, &DEFAULT), ReceiveMethod::Mapped);
    assert_eq!(select_receive(0, &mapped, &DEFAULT), ReceiveMethod::Nothing);
}

#[test]
fn thresholds_are_set_by_name() {
    let mut t = DEFAULT;
    for (name, value, text) in DEFAULT.list() {
        assert!(!text.is_empty());
        assert_eq!(t.set(name, value / 2), Ok(()));
    }
    assert_eq!(t.min_split_copy, 256 * KIB);
    assert!(t.list().iter().zip(DEFAULT.list()).all(|(new, old)| new.1 == old.1 / 2));
    assert!(t.set("max-unasked", 64 * KIB + 1).is_err_and(|text| text.contains("65536")));
    assert!(t.set("nothing", 1).is_err_and(|text| text.contains("min-fragments")));
}
