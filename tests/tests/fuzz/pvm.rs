//! The readers of PVM: what tasks, hosts and the other end of a link write, what is packed into messages, and the console's lines.

use crate::fuzz;
use hpvm_pvm::body::Body;
use hpvm_pvm::buffers::Head;
use hpvm_pvm::element::Element;
use hpvm_pvm::hostfile::{Hostfile, Line};
use hpvm_pvm::machine::{Effect, Machine};
use hpvm_pvm::protocol::{Answer, Hello, Order, Report, Request, VERSION};
use hpvm_pvm::record::Assembler;
use hpvm_pvm::tid::FIRST_HOST;
use hpvm_pvm::wire::{Wire, frame, unframe};
use hpvm_pvm_machine::console::line::{self, Spawn};
use std::fmt::Debug;

/// What tasks and the processes of hosts say. What is read can be written, and is the same then.
#[test]
fn pvm_frames() {
    fn read<T: Wire + Debug + PartialEq>(bytes: &[u8]) -> String {
        let (mut input, mut answers) = (bytes.to_vec(), String::new());
        loop {
            match unframe::<T>(&mut input) {
                Ok(Some(value)) => {
                    let again = unframe::<T>(&mut frame(&value));
                    assert_eq!(again.as_ref(), Ok(&Some(value)));
                    answers += &format!("{again:?} ");
                }
                Ok(None) => return answers,
                Err(fault) => return answers + &fault,
            }
        }
    }
    fuzz("pvm-frames", |bytes| match bytes.split_first() {
        Some((0, rest)) => read::<Request>(rest),
        Some((1, rest)) => read::<Answer>(rest),
        Some((2, rest)) => read::<Order>(rest),
        Some((3, rest)) => read::<Report>(rest),
        _ => String::new(),
    });
}

/// Hostfiles. What is read can be written, and is the same then.
#[test]
fn pvm_hostfiles() {
    fuzz("pvm-hostfiles", |bytes| match Hostfile::parse(&String::from_utf8_lossy(bytes)) {
        Ok(file) => {
            for line in file.hosts.iter().chain(&file.known) {
                assert_eq!(Line::parse(&line.text()).as_ref(), Ok(line));
            }
            format!("{file:?}")
        }
        Err(fault) => fault,
    });
}

/// A virtual machine of two hosts, on each of which a task is.
fn machine() -> (Machine, i32) {
    let mut machine = Machine::new("first".into(), 5, vec![1; 16]);
    let hello = || Hello { version: VERSION, program: "p".into(), ..Hello::default() };
    let ask = |client, request| Report::Request { client, pid: 100, request };
    machine.report(FIRST_HOST, ask(1, Request::Enroll { hello: hello() }));
    machine.report(FIRST_HOST, ask(1, Request::AddHosts { names: vec!["second".into()] }));
    let added = machine.outgoing().into_iter().find_map(|effect| match effect {
        Effect::Add(host, _) => Some(host),
        _ => None,
    });
    let second = added.expect("a host that is to be added");
    machine.report(second, Report::Ready { version: VERSION });
    machine.report(second, ask(1, Request::Enroll { hello: hello() }));
    machine.outgoing();
    (machine, second)
}

/// Reports of two hosts, one after the other; the first byte of each frame's length says of which.
#[test]
fn pvm_reports() {
    fuzz("pvm-reports", |bytes| {
        let ((mut machine, second), mut answers) = (machine(), String::new());
        let mut input = bytes.to_vec();
        while let Some(host) = input.first().copied() {
            input.remove(0);
            let Ok(Some(report)) = unframe::<Report>(&mut input) else { break };
            machine.report(if host % 2 == 0 { FIRST_HOST } else { second }, report);
            answers += &format!("{:?} ", machine.outgoing());
        }
        machine.host_gone(second);
        answers + &format!("{:?} {}", machine.outgoing(), machine.is_idle())
    });
}

/// What lies in a link, from a task that writes what it likes. Memory is given as far as there is some.
#[test]
fn pvm_links() {
    fuzz("pvm-links", |bytes| {
        let (mut assembler, mut rest, mut answers) = (Assembler::default(), bytes, String::new());
        while !rest.is_empty() {
            let mut memory = |len| (len <= 1 << 20).then(|| Vec::with_capacity(len));
            let mut sink = |head: Head, message: Vec<u8>| {
                assert!(message.len() <= bytes.len() && head.source == 7);
                answers += "message ";
            };
            match assembler.take(7, rest, &mut memory, &mut sink, None) {
                Ok(taken) => {
                    let len = taken.room as usize;
                    assert!(len > 0 && len <= rest.len());
                    rest = &rest[len..];
                    answers += "fragment ";
                }
                Err(fault) => return answers + &fault,
            }
        }
        answers
    });
}

/// What is packed into a message, read by the calls that the first eight bytes name. Nothing is written behind the memory for it.
#[test]
fn pvm_packed() {
    fuzz("pvm-packed", |bytes| {
        let (calls, packed) = bytes.split_at(bytes.len().min(8));
        let (mut body, mut answers) = (Body::of(packed.to_vec()), String::new());
        for call in calls {
            let (element, count) =
                (Element::from_number(i32::from(call & 15)), i32::from(call >> 4));
            let (before, said) = (
                body.rest().len(),
                match element {
                    Some(Element::Str) => format!("{:?} ", body.take_str().map(<[u8]>::len)),
                    Some(element) => {
                        let stride = 1 + count % 3;
                        let mut memory = vec![0xa5; (count * stride) as usize * element.size() + 8];
                        // SAFETY: so many elements, so far apart.
                        let done =
                            unsafe { body.unpack(element, memory.as_mut_ptr(), count, stride) };
                        assert!(memory.ends_with(&[0xa5; 8]));
                        format!("{done:?} ")
                    }
                    None => match body.take_message() {
                        Ok((head, inner)) => {
                            let (mut again, mut inside) =
                                (Body::default(), Body::of(inner.clone()));
                            again.append_message(&head, &inner);
                            assert_eq!(again.take_message(), Ok((head, inner)));
                            format!("message {:?} ", inside.take_int().is_ok())
                        }
                        Err(fault) => format!("{fault:?} "),
                    },
                },
            );
            assert!(body.rest().len() <= before);
            answers += &said;
        }
        answers
    });
}

/// Lines of the console. The words of one, put together again with each letter as it is meant, say the same.
#[test]
fn pvm_console() {
    fuzz("pvm-console", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let mut answers = String::new();
        for line in text.lines() {
            let words = line::words(line);
            let meant = |word: &String| match word.as_str() {
                "" => "''".to_owned(),
                word => word.chars().flat_map(|letter| ['\\', letter]).collect(),
            };
            let again = words.iter().map(meant).collect::<Vec<_>>().join(" ");
            assert_eq!(line::words(&again), words);
            let Some((name, words)) = words.split_first() else { continue };
            answers += &match name.as_str() {
                "spawn" => format!("{:?} ", Spawn::parse(words).map(|s| (s.flags, s.output))),
                name => format!(
                    "{name} {:?} ",
                    words.iter().map(|word| line::tid(word)).collect::<Vec<_>>()
                ),
            };
        }
        answers
    });
}
