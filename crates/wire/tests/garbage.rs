//! Bytes from the network, whatever they are: each layout is read without a panic, and what is
//! taken for one of ours says exactly what its bytes say.

use hpvm_wire::Head;
use hpvm_wire::bulk::{FRAME, Frame, FrameKind, GREETING, Greeting, GreetingKind, Opening};
use hpvm_wire::datagram::{Datagram, HEADER, Header};
use hpvm_wire::envelope::{Envelope, Kind, MAC, SIGNED};
use proptest::prelude::*;

/// Any bytes, or something of ours with up to three bytes changed and the end cut or longer.
fn bent(sound: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let tail = prop::collection::vec(any::<u8>(), 0..40);
    let ours = (Just(sound), changes, any::<prop::sample::Index>(), tail).prop_map(
        |(mut bytes, changes, cut, tail)| {
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if cut.index(4) == 0 {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            bytes.extend(tail);
            bytes
        },
    );
    prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..200), 4 => ours]
}

fn envelope() -> Vec<u8> {
    let sound = Envelope { job: 5, kind: Kind::Data, src: 1, dst: 2, number: 9, len: 30 };
    [&sound.bytes()[..], &[7; MAC], &[1; 30]].concat()
}

fn datagram() -> Vec<u8> {
    let header =
        Header { number: 1, seq: 2, ack: 3, stamp: 4, echo: 5, window: 8, flags: 1, sacks: 1 };
    let mut bytes = [0; HEADER];
    header.write(&mut bytes);
    [&bytes[..], &[3; 20], &[255; 8]].concat()
}

fn greeting() -> Vec<u8> {
    let kind = GreetingKind::Proof;
    let (value, tag) = ([1; 16], [2; 16]);
    Greeting { kind, rail: 3, from: 1, to: 2, epoch: 9, value, tag }.write().to_vec()
}

/// Bytes of a frame that say something: in front of its opening, and with it. The last eight are the
/// tag's.
const BARE: usize = 40;
const OPENED: usize = 68;

fn opening() -> Opening {
    Opening { total: 5000, order: 7, packets: 8, head: Head::single(9, 10) }
}

fn frame(opening: Option<Opening>) -> Vec<u8> {
    let offset = if opening.is_some() { 0 } else { 4096 };
    Frame { len: 1000, opening, ..Frame::bare(FrameKind::Chunk, 3, offset) }.write().to_vec()
}

#[test]
fn the_sound_frames_are_sound() {
    for frame in [frame(None), frame(Some(opening()))] {
        assert!(Frame::read(frame.first_chunk().expect("a whole frame")).is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn envelopes(bytes in bent(envelope())) {
        // Several may be joined: each is as long as it says, and they come to an end.
        let mut rest = &bytes[..];
        while let Some((found, after)) = Envelope::open(rest) {
            let whole = SIGNED + MAC + usize::from(found.envelope.len);
            prop_assert_eq!(&found.envelope.bytes()[..], &rest[..SIGNED]);
            prop_assert_eq!(found.body, &rest[SIGNED + MAC..whole]);
            prop_assert_eq!(after, &rest[whole..]);
            rest = after;
        }
    }

    #[test]
    fn datagrams(bytes in bent(datagram())) {
        if let Some(found) = Datagram::read(&bytes) {
            let mut header = [0; HEADER];
            found.header.write(&mut header);
            prop_assert_eq!(&header[..], &bytes[..HEADER]);
            let words = 8 * usize::from(found.header.sacks);
            prop_assert_eq!(HEADER + found.payload.len() + words, bytes.len());
        }
    }

    #[test]
    fn greetings(bytes in bent(greeting())) {
        if let Some(bytes) = bytes.first_chunk::<GREETING>()
            && let Some(found) = Greeting::read(bytes)
        {
            prop_assert_eq!(&found.write(), bytes);
        }
    }

    #[test]
    fn frames(bytes in prop_oneof![bent(frame(None)), bent(frame(Some(opening())))]) {
        if let Some(bytes) = bytes.first_chunk::<FRAME>()
            && let Some(found) = Frame::read(bytes)
        {
            let said = if found.opening.is_some() { OPENED } else { BARE };
            prop_assert_eq!(&found.write()[..said], &bytes[..said]);
        }
    }
}
