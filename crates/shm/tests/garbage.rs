//! A peer that writes garbage into the shared segment is found out: polling returns an error that
//! names what was expected and what was found, and never hangs or reads outside.

use hpvm_shm::{Mapping, SegmentError, Shm};
use hpvm_transport::{Broken, Head, PREFIX, Packets};
use hpvm_wire::cell::{BARE_FRAGMENTS, FRAGMENTS, FRAME, Fragments, INLINE, MAX_FRAMES, RawHead};
use hpvm_wire::segment::{FRAME_BYTES, FRAMES, Geometry, SLOTS};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn pair() -> (Arc<Mapping>, Shm, Shm) {
    let mapping = Arc::new(Mapping::create(2, [3, 4]).expect("a segment"));
    let mut a = Shm::attach(mapping.clone(), 0).expect("rank 0");
    let mut b = Shm::attach(mapping.clone(), 1).expect("rank 1");
    a.settle();
    b.settle();
    (mapping, a, b)
}

/// Publishes a slot with this header in the ring of rank 1, as rank 0 could.
fn publish<P>(mapping: &Mapping, head: RawHead, payload: P) {
    const { assert!(size_of::<P>() <= INLINE) };
    // Relaxed: one thread.
    let ticket = mapping.control(1).tail.fetch_add(1, Ordering::Relaxed);
    let cell = &mapping.ring(1)[ticket as usize % SLOTS as usize];
    // SAFETY: this test is the only writer, and the slot is not published.
    unsafe {
        cell.write_head(head);
        cell.payload().cast::<P>().write_unaligned(payload);
    }
    cell.seq.store(ticket + 1, Ordering::Release); // pairs with the receiver's acquire
}

const GOOD: RawHead = RawHead { src: 0, imm: 0, handler: 1, flags: 3, aux: 0, len: 4 };

/// Polls until an error comes; panics when none does.
fn error(end: &mut Shm) -> String {
    for _ in 0..10_000 {
        match end.poll(usize::MAX, |_, _, _| panic!("garbage was delivered")) {
            Ok(_) => {}
            Err(Broken::Corrupt(text)) => return text,
            Err(other) => panic!("unexpected: {other}"),
        }
    }
    panic!("garbage was not noticed")
}

#[test]
fn headers_that_lie() {
    let lies = [
        (RawHead { src: 2, ..GOOD }, 0, "source rank 2"),
        (RawHead { src: u32::MAX, ..GOOD }, 0, "source rank"),
        (RawHead { len: INLINE as u32 + 1, ..GOOD }, 0, "bytes in a slot 105"),
        (RawHead { len: u32::MAX, ..GOOD }, 0, "bytes in a slot"),
        (RawHead { flags: FRAME, ..GOOD }, 2 * FRAMES as u32, "frame 1024"),
        (RawHead { flags: FRAME, len: 0, ..GOOD }, FRAGMENTS, "bytes of a message in fragments 0"),
        (
            RawHead { flags: FRAME, len: u32::MAX, ..GOOD },
            BARE_FRAGMENTS,
            "bytes of a message in fragments",
        ),
        (RawHead { flags: FRAME, len: FRAME_BYTES as u32 + 1, ..GOOD }, 0, "bytes in a frame"),
    ];
    for (head, payload, expected) in lies {
        let (mapping, _a, mut b) = pair();
        publish(&mapping, head, payload);
        let text = error(&mut b);
        assert!(text.contains(expected) && text.contains("expected at most"), "{text}");
    }
}

#[test]
fn a_message_that_grows_beyond_its_end() {
    let (mapping, _a, mut b) = pair();
    mapping.progress(0, 0).store(5, Ordering::Relaxed); // relaxed: one thread
    publish(&mapping, RawHead { flags: FRAME, ..GOOD }, BARE_FRAGMENTS);
    let text = error(&mut b);
    assert!(text.contains("bytes of a fragment 5") && text.contains("at most 4"), "{text}");
}

#[test]
fn a_sender_that_leaves_a_message_unfinished() {
    let (mapping, _a, mut b) = pair();
    publish(&mapping, RawHead { flags: FRAME, ..GOOD }, BARE_FRAGMENTS);
    assert_eq!(b.poll(usize::MAX, |_, _, _| panic!("nothing has come")), Ok(1));
    publish(&mapping, RawHead { len: 0, ..GOOD }, 0);
    let text = error(&mut b);
    assert!(text.contains("unfinished message"), "{text}");
}

#[test]
fn a_tail_that_runs_away() {
    let (mapping, _a, mut b) = pair();
    mapping.control(1).tail.store(1_000_000, Ordering::Relaxed); // relaxed: one thread
    let text = error(&mut b);
    assert!(text.contains("1000000") && text.contains("512"), "{text}");
}

#[test]
fn random_bytes_in_the_ring() {
    // Whatever lies in the slots: an error or nothing, but no crash and no endless loop.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut bytes, mut fragments) = (0, 0);
    for _ in 0..2000 {
        let (mapping, mut a, mut b) = pair();
        for _ in 0..8 {
            let head = RawHead {
                src: word() as u32 % 4,
                imm: word(),
                handler: word() as u8,
                flags: word() as u8,
                aux: word() as u16,
                len: (word() % 20_000) as u32,
            };
            if word() % 2 == 0 {
                publish(&mapping, head, word() as u32 % 128);
                continue;
            }
            // A message in fragments, of which some or too much is there.
            let head = RawHead { flags: head.flags | FRAME, len: (word() % 80_000) as u32, ..head };
            let raw = Fragments {
                mark: if word() % 2 == 0 { FRAGMENTS } else { BARE_FRAGMENTS },
                prefix: [word() as u8; PREFIX],
                imm: word(),
                handler: word() as u8,
                flags: word() as u8,
                aux: word() as u16,
                frames: [(); MAX_FRAMES].map(|()| (word() % (2 * FRAMES as u64 + 4)) as u16),
            };
            let grown = (word() % (u64::from(head.len) + 2)) as u32;
            let first = usize::from(raw.frames[0]) % FRAMES;
            for owner in 0..2 {
                mapping.progress(owner, first).store(grown, Ordering::Relaxed); // relaxed: one thread
            }
            publish(&mapping, head, raw);
        }
        for _ in 0..100 {
            let mut count = |_, _, data: &[u8]| {
                bytes += data.len();
                fragments += u32::from(data.len() > INLINE);
            };
            if b.poll(usize::MAX, &mut count).is_err() {
                break;
            }
        }
        // The other direction is not harmed.
        let head = Head::single(1, 7);
        assert_ne!(b.take_credits(0), 0);
        b.send(0, head, 4, |out| out.copy_from_slice(b"fine")).expect("room");
        let mut seen = false;
        let got = a.poll(usize::MAX, |_, _, data| seen = data == b"fine");
        assert_eq!((got, seen), (Ok(1), true));
    }
    assert!(
        bytes > 1_000_000 && fragments > 500,
        "{bytes} bytes, {fragments} long fragments: hardly any"
    );
}

#[test]
fn segments_that_lie() {
    let mapping = Mapping::create(2, [3, 4]).expect("a segment");
    let path = mapping.path();
    let text = |r: Result<Mapping, SegmentError>| r.err().expect("refused").to_string();
    assert!(Mapping::join(&path, 2, [3, 4]).is_ok());
    assert!(text(Mapping::join(&path, 2, [3, 5])).contains("another job"));
    assert!(text(Mapping::join(&path, 3, [3, 4])).contains("bytes for 3 ranks"));
    assert!(text(Mapping::join("/proc/self/fd/9999", 2, [3, 4])).contains("/proc/self/fd/9999"));
    assert!(text(Mapping::join("/etc/hostname", 2, [3, 4])).contains("/etc/hostname"));
    assert!(text(Mapping::create(0, [0, 0])).contains("expected 1 to"));
    mapping.header().magic.store(0, Ordering::Relaxed); // relaxed: one thread
    assert!(text(Mapping::join(&path, 2, [3, 4])).contains("magic"));
}

#[test]
fn memory_does_not_grow_with_the_square_of_the_job() {
    let per_rank = |ranks| Geometry { ranks }.bytes() / ranks as usize;
    assert!(per_rank(256) <= per_rank(2));
}
