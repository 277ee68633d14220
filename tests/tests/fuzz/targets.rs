//! The readers, one test for each.

use crate::fuzz;
use hpvm_launch::errands::{Act, End, Errands};
use hpvm_launch::pmi::line::{Command, LineBuffer};
use hpvm_launch::pmi::server::Server;
use hpvm_launch::remote::frame::FrameBuffer;
use hpvm_launch::remote::order::Order;
use hpvm_launch::{hostlist, hosts, place::rankfile};
use hpvm_reliable::{Config, Hub};
use hpvm_wire::bulk::{FRAME, Frame, GREETING, Greeting};
use hpvm_wire::envelope::Envelope;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Datagrams that the kernel has joined, from anybody.
#[test]
fn envelopes() {
    fuzz("envelopes", |mut bytes| {
        let mut kinds = Vec::new();
        while let Some((found, rest)) = Envelope::open(bytes) {
            assert_eq!(usize::from(found.envelope.len), found.body.len());
            assert!(rest.len() < bytes.len());
            kinds.push(found.envelope.kind);
            bytes = rest;
        }
        format!("{kinds:?} {}", if bytes.is_empty() { "whole" } else { "rest" })
    });
}

/// Datagrams of the reliability protocol, behind a length of one byte each, from a peer with the key.
#[test]
fn datagrams() {
    fuzz("datagrams", |bytes| {
        let config = Config { share: 4, window: 16, queue: 8, ..Config::default() };
        let mut hub = Hub::new(config, 2).expect("a sound configuration");
        let (mut rest, mut answers) = (bytes, String::new());
        while let Some((len, behind)) = rest.split_first() {
            let (datagram, behind) = behind.split_at(behind.len().min(usize::from(*len)));
            let outcome = hub.on_datagram(behind.len() as u64, 1, datagram, &mut |_, payload| {
                assert!(payload.len() <= config.packet);
            });
            answers += &format!("{outcome:?} ");
            rest = behind;
        }
        answers
    });
}

/// Greetings and frame headers of streams.
#[test]
fn stream_headers() {
    fuzz("stream-headers", |bytes| {
        let greeting = bytes.first_chunk::<GREETING>().and_then(Greeting::read);
        if let Some(greeting) = &greeting {
            assert_eq!(Greeting::read(&greeting.write()).as_ref(), Some(greeting));
        }
        let frame = bytes.first_chunk::<FRAME>().and_then(Frame::read);
        if let Some(frame) = &frame {
            assert_eq!(Frame::read(&frame.write()).as_ref(), Some(frame));
        }
        let (greeting, frame) =
            (greeting.map(|g| g.kind), frame.map(|f| (f.kind, f.opening.is_some())));
        format!("{greeting:?} {frame:?}")
    });
}

/// Control messages between launcher and agents. What is read can be written, and is the same then.
#[test]
fn control_messages() {
    fuzz("control-messages", |bytes| {
        let mut answers = String::new();
        for mut buffer in [FrameBuffer::default(), FrameBuffer::greeted()] {
            buffer.push(bytes);
            loop {
                match buffer.next_frame() {
                    Ok(Some(frame)) => {
                        let mut written = Vec::new();
                        frame.encode(&mut written);
                        let mut again = FrameBuffer::greeted();
                        again.push(&written);
                        assert_eq!(again.next_frame().ok().flatten().as_ref(), Some(&frame));
                        answers += &format!("{frame:?}");
                    }
                    Ok(None) => break,
                    Err(fault) => {
                        answers += &format!("{fault:?}");
                        break;
                    }
                }
            }
            let _ = buffer.noise();
        }
        answers
    });
}

/// What an agent is told to start.
#[test]
fn orders() {
    fuzz("orders", |bytes| match Order::decode(bytes) {
        Ok(order) => {
            assert_eq!(Order::decode(&order.encode()).as_ref(), Ok(&order));
            "read".to_owned()
        }
        Err(fault) => format!("{fault:?}"),
    });
}

/// What processes of a job over several sites say to its launcher, on four streams: of each part the first byte says which, the second how
/// many follow.
#[test]
fn errands() {
    fuzz("errands", |bytes| {
        let (mut errands, mut rest, mut answers) = (Errands::default(), bytes, String::new());
        while let [stream, len, after @ ..] = rest {
            let (said, later) = after.split_at(after.len().min(usize::from(*len)));
            rest = later;
            let from = End { node: Some(1), number: u32::from(stream % 4) };
            errands.said(from, said, |rank, _| rank == 0);
            while let Some(act) = errands.poll_act() {
                if let Act::Launch { ends, .. } = &act {
                    errands.launched(*ends, Err("no".to_owned()));
                }
                answers += match act {
                    Act::Say { bytes, .. } if bytes.is_empty() => "end ",
                    Act::Say { .. } => "words ",
                    Act::Launch { .. } => "launch ",
                    Act::Reach { .. } => "reach ",
                    Act::Tell { .. } => "tell ",
                };
            }
        }
        answers
    });
}

/// A conversation of three ranks with the process manager, a line each; its first byte says which rank.
#[test]
fn pmi_conversations() {
    fuzz("pmi-conversations", |bytes| {
        let mut server = Server::new("job", &[0, 0, 0]);
        let (mut lines, mut answers) = (LineBuffer::default(), String::new());
        lines.push(bytes);
        while let Ok(Some(line)) = lines.next_line() {
            let Some((rank, line)) = line.split_first() else { continue };
            let known = Command::parse(line).is_ok();
            let outcome = server.handle(u32::from(rank % 3), line);
            answers += &format!("{known} {outcome:?} ");
        }
        answers
    });
}

/// The text in a file of its own, for readers of files.
fn in_file<T>(bytes: &[u8], read: impl FnOnce(&PathBuf) -> T) -> T {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).expect("a file");
    read(&path)
}

/// Host files, rank files, and lists of hosts on the command line.
#[test]
fn host_files() {
    fuzz("host-files", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let list = hosts::parse_list(&text).map_err(|e| e.to_string());
        let names: Vec<_> =
            hostlist::items(&text).into_iter().take(8).map(hostlist::expand).collect();
        let names = names.iter().find_map(|name| name.as_ref().err());
        in_file(bytes, |path| {
            let hosts = hosts::read_file(path).map(|_| "hosts").map_err(|e| e.to_string());
            let known = ["a".to_owned(), "b".to_owned()];
            let ranks = rankfile::read(path, &known).map(|_| "ranks").map_err(|e| e.to_string());
            format!("{:?} {names:?} {hosts:?} {ranks:?}", list.map(|_| "list"))
        })
    });
}

/// The tables that `hpvm tune` writes and people edit. What is read can be written, and is the same then.
#[test]
fn tables() {
    fuzz("tables", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        match text.parse::<hpvm_coll::select::Tables>() {
            Ok(tables) => {
                assert_eq!(tables.to_string().parse().as_ref(), Ok(&tables));
                "read".to_owned()
            }
            Err(error) => error.to_string(),
        }
    });
}

/// Command lines, a word a line.
#[test]
fn command_lines() {
    fuzz("command-lines", |bytes| {
        let words: Vec<OsString> =
            bytes.split(|b| *b == b'\n').map(|word| OsString::from_vec(word.to_vec())).collect();
        match hpvm_launch::parse("mpirun", &words) {
            Ok(_) => "understood".to_owned(),
            Err(error) => error.to_string(),
        }
    });
}

/// Address cards of other processes, mappings of ranks to hosts, and choices of networks.
#[test]
fn cards() {
    fuzz("cards", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let card = hpvm_net::Card::parse(&text);
        if let Ok(card) = &card {
            assert_eq!(hpvm_net::Card::parse(&card.text()).as_ref().map(|c| c.port), Ok(card.port));
        }
        let mapping = hpvm_job::mapping::parse(&text, 8);
        let choice = hpvm_net::interfaces::Choice::parse(&text).map(|_| "choice");
        format!("{:?} {:?} {choice:?}", card.map(|_| "card"), mapping.map(|_| "mapping"))
    });
}
