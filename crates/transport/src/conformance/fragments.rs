//! Messages in fragments, where the transport has them.

use super::{Fixture, MAX_IDLE_STEPS};
use crate::{Head, PREFIX, Packets, Segment};
use core::sync::atomic::Ordering;
use hpvm_wire::counters::Counters;

/// The head and the prefix of message `n`, and the head of its fragments.
fn heads(n: u64) -> (Head, [u8; PREFIX], Head) {
    let mut prefix = [0; PREFIX];
    prefix[..8].copy_from_slice(&n.to_le_bytes());
    let rest = Head { handler: 3, flags: 0, aux: 77, imm: !n };
    (Head { handler: 2, flags: Head::FIRST, aux: 5, imm: n }, prefix, rest)
}

fn byte(n: u64, at: usize) -> u8 {
    (n * 31 + at as u64 * 7 + (at as u64 >> 8)) as u8
}

/// What a receiver has seen: plain packets, and messages as far as they have come.
#[derive(Default)]
struct Seen {
    plain: Vec<u64>,
    /// Number of a message and its bytes, in order of their beginning; those without a first packet have
    /// the number in their fragments only.
    messages: Vec<(u64, usize)>,
}

impl Seen {
    fn heard(&mut self, head: Head, data: &[u8]) {
        match head.handler {
            1 => self.plain.push(head.imm),
            2 => {
                assert_eq!((head, data), (heads(head.imm).0, &heads(head.imm).1[..]));
                self.messages.push((head.imm, 0));
            }
            3 => {
                let n = !head.imm;
                assert_eq!(head, heads(n).2);
                if self.messages.last().is_none_or(|m| m.0 != n) {
                    self.messages.push((n, 0));
                }
                let Some((_, done)) = self.messages.last_mut() else { return };
                let whole = data.iter().enumerate().all(|(i, b)| *b == byte(n, *done + i));
                assert!(whole, "{} bytes of message {n} from {done} on", data.len());
                *done += data.len();
            }
            other => panic!("handler {other}"),
        }
    }

    fn listen<F: Fixture>(&mut self, end: &mut F::Endpoint, fixture: &mut F) {
        fixture.turn();
        end.poll(usize::MAX, |_, head, data| self.heard(head, data)).expect("clean packets");
    }

    fn wait<F: Fixture>(
        &mut self,
        end: &mut F::Endpoint,
        fixture: &mut F,
        there: impl Fn(&Seen) -> bool,
    ) {
        for _ in 0..MAX_IDLE_STEPS {
            if there(self) {
                return;
            }
            self.listen(end, fixture);
        }
        panic!("seed {}: only {:?} and {:?} came", fixture.seed(), self.plain, self.messages);
    }
}

/// Takes a credit toward `dst`.
fn credit<F: Fixture>(end: &mut F::Endpoint, dst: u32, held: &mut u32, fixture: &mut F) {
    for _ in 0..MAX_IDLE_STEPS {
        if *held > 0 {
            return;
        }
        fixture.turn();
        *held = u32::from(end.take_credits(dst));
    }
    panic!("seed {}: no credit", fixture.seed());
}

/// Messages of all lengths arrive whole and in order, whether the receiver looks while they are
/// written or not, and in either direction.
pub fn fragments_make_a_message<F: Fixture>(fixture: &mut F) {
    let mut ends = fixture.open(2);
    let longest = ends[0].max_fragmented(1) as usize;
    if longest == 0 {
        return;
    }
    let [a, b] = &mut ends[..] else { panic!("the fixture made no 2 endpoints") };
    let mut held = [0, 0];
    let lengths = [1, 100, 4096, 4097, 16 << 10, (16 << 10) + 1, 65_000, longest - 1, longest];
    for n in 0..60 {
        let (from, to, dst) =
            if n % 3 == 2 { (&mut *b, &mut *a, 0) } else { (&mut *a, &mut *b, 1) };
        let held = &mut held[dst as usize];
        let len = lengths[n % lengths.len()].min(longest);
        let n = n as u64;
        let (head, prefix, rest) = heads(n);
        let first = (n % 4 != 3).then_some((head, &prefix));
        let mut seen = Seen::default();
        let mut patience = MAX_IDLE_STEPS;
        loop {
            credit(from, dst, held, fixture);
            let mut next = 0;
            let sent = from.send_fragments(dst, first, rest, len, |at, out, _| {
                assert_eq!(at, next, "fragments are asked for in order");
                next += out.len();
                out.iter_mut().enumerate().for_each(|(i, b)| *b = byte(n, at + i));
                if n.is_multiple_of(2) {
                    seen.listen(to, fixture);
                }
            });
            if sent.is_ok() {
                assert_eq!(next, len, "all fragments are asked for");
                break;
            }
            patience -= 1;
            assert!(patience > 0, "no buffer for {len} bytes");
            seen.listen(to, fixture);
        }
        *held -= 1;
        credit(from, dst, held, fixture);
        from.send(dst, Head::single(1, n), 0, |_| ()).expect("an empty packet");
        *held -= 1;
        seen.wait(to, fixture, |seen| !seen.plain.is_empty());
        assert_eq!((seen.plain, seen.messages), (vec![n], vec![(n, len)]));
    }
    let counters = ends.iter().filter_map(|end| end.counters());
    let counted = |c: &Counters| {
        // Relaxed: one thread.
        [&c.packets_sent, &c.packets_received].map(|n| n.load(Ordering::Relaxed))
    };
    let [sent, received] = counters.map(counted).fold([0, 0], |a, b| [a[0] + b[0], a[1] + b[1]]);
    assert_eq!(sent, received, "each message is one packet to both sides");
}

/// While one sender is between two fragments, others reach the same receiver.
pub fn an_unfinished_message_blocks_nobody<F: Fixture>(fixture: &mut F) {
    let mut ends = fixture.open(3);
    let longest = ends[0].max_fragmented(2) as usize;
    if longest == 0 {
        return;
    }
    let [slow, quick, receiver] = &mut ends[..] else { panic!("the fixture made no 3 endpoints") };
    let (mut slow_held, mut quick_held) = (0, 0);
    let (head, prefix, rest) = heads(1);
    let mut seen = Seen::default();
    let mut patience = MAX_IDLE_STEPS;
    loop {
        credit(slow, 2, &mut slow_held, fixture);
        let mut fragments = 0;
        let sent = slow.send_fragments(2, Some((head, &prefix)), rest, longest, |at, out, _| {
            out.iter_mut().enumerate().for_each(|(i, b)| *b = byte(1, at + i));
            fragments += 1;
            credit(quick, 2, &mut quick_held, fixture);
            quick.send(2, Head::single(1, fragments), 0, |_| ()).expect("an empty packet");
            quick_held -= 1;
            seen.wait(receiver, fixture, |seen| seen.plain.len() as u64 == fragments);
        });
        if sent.is_ok() {
            break;
        }
        patience -= 1;
        assert!(patience > 0, "no buffer for {longest} bytes");
        fixture.turn();
    }
    seen.wait(receiver, fixture, |seen| seen.messages == [(1, longest)]);
}
