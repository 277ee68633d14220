//! Messages that nobody takes out of the queue, while another model's progress extracts: their senders stop.

use hpvm_fm::incoming::QUEUED;
use hpvm_fm::{Fast, Fm, SendStream};
use hpvm_sim::{Config, Network, SimTransport};

const HANDLER: u8 = 7;
const LEN: usize = 4096;

struct Node {
    fm: Fm<SimTransport>,
    fast: Fast,
    /// The message that is being sent, and how much of it has been.
    open: Option<(SendStream, [u8; LEN], usize)>,
}

impl Node {
    fn new(network: &Network, rank: u32) -> Node {
        let fm = Fm::new(network.endpoint(rank));
        let fast = Fast::new(fm.size(), fm.limits().packet);
        Node { fm, fast, open: None }
    }

    /// As another programming model makes progress.
    fn progress(&mut self) {
        let fast = &mut self.fast;
        let sink = |src, head, data: &[u8]| {
            fast.on_packet(src, head, data).unwrap();
        };
        self.fm.extract(usize::MAX, sink).unwrap();
        self.fast.drain(&mut self.fm);
    }

    /// Sends a message, if all of it leaves in some tries.
    fn send(&mut self, network: &Network, receiver: &mut Node, number: u32) -> bool {
        let mut bytes = [number as u8; LEN];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        let stream = self.fast.begin(1, LEN, HANDLER).expect("no stream is open");
        self.open = Some((stream, bytes, 0));
        self.resume(network, receiver)
    }

    /// Goes on to send the open message.
    fn resume(&mut self, network: &Network, receiver: &mut Node) -> bool {
        let Some((stream, bytes, mut taken)) = self.open.take() else { return true };
        for _ in 0..1000 {
            taken += self.fast.push(&mut self.fm, &stream, &bytes[taken..]).unwrap();
            if taken == LEN && self.fast.finish(&mut self.fm, &stream).unwrap() {
                return true;
            }
            network.settle();
            receiver.progress();
            network.settle();
            self.progress();
        }
        self.open = Some((stream, bytes, taken));
        false
    }
}

#[test]
fn what_nobody_extracts_is_bounded_and_comes_in_the_end() {
    let network = Network::new(Config::calm(2));
    let (mut sender, mut receiver) = (Node::new(&network, 0), Node::new(&network, 1));
    receiver.fast.register_inbox(HANDLER);
    let most = (QUEUED / LEN as u64) as u32 * 2;
    let sent = (0..most).take_while(|n| sender.send(&network, &mut receiver, *n)).count() as u32;
    assert!(sent < most, "{sent} messages wait, and nobody has been told to stop");
    assert!(u64::from(sent) * LEN as u64 >= QUEUED / 4, "a share is more than {sent} messages");
    // Somebody extracts at last: all of them are there, and the sender goes on.
    let mut next = 0;
    while let Some(arrival) = receiver.fast.next_arrival() {
        if arrival.first {
            assert_eq!(arrival.bytes[..4], u32::to_le_bytes(next));
            next += 1;
        }
        receiver.fast.recycle(arrival.bytes);
    }
    assert!(next >= sent);
    receiver.progress();
    network.settle();
    sender.progress();
    // The message that had to stop goes on.
    assert!(sender.resume(&network, &mut receiver), "nobody has been told to go on");
    // Its last packet may still be on its way.
    network.settle();
    receiver.progress();
    let last = std::iter::from_fn(|| receiver.fast.next_arrival()).last();
    assert!(last.is_some_and(|arrival| arrival.last));
}
