//! Messages in packets of the virtual network, which may be shorter than a message.

use hpvm_fm::{Broken, Fm, Head as PacketHead};
use hpvm_sam::{Buffer, Head, Outgoing, Store};
use hpvm_sim::SimTransport;
use std::collections::VecDeque;

const HANDLER: u8 = 1;

pub struct Wire {
    fm: Fm<SimTransport>,
    /// Destination, message, bytes of it that are sent.
    out: VecDeque<(u32, Vec<u8>, usize)>,
    /// By sender: what has come of a message.
    coming: Vec<Vec<u8>>,
}

type Came = (u32, Head, Option<Buffer>);

impl Wire {
    pub fn new(endpoint: SimTransport) -> Wire {
        let fm = Fm::new(endpoint);
        let coming = vec![Vec::new(); fm.size() as usize];
        Wire { fm, out: VecDeque::new(), coming }
    }

    pub fn rank(&self) -> u32 {
        self.fm.rank()
    }

    pub fn ranks(&self) -> u32 {
        self.fm.size()
    }

    pub fn send(&mut self, message: Outgoing) {
        let (head, len) = message.head.to_bytes();
        let mut bytes = head[..len].to_vec();
        bytes.extend(message.content.iter().flat_map(|content| content.bytes()));
        self.out.push_back((message.to, bytes, 0));
    }

    /// Sends as much as can be sent.
    pub fn drain(&mut self) -> bool {
        let mut worked = false;
        let most = self.fm.limits().packet;
        while let Some((to, bytes, sent)) = self.out.front_mut() {
            let len = (bytes.len() - *sent).min(most);
            let part = &bytes[*sent..*sent + len];
            let head = PacketHead::single(HANDLER, bytes.len() as u64);
            if self.fm.send(*to, head, len, |out| out.copy_from_slice(part)).is_err() {
                break;
            }
            worked = true;
            *sent += len;
            if *sent == bytes.len() {
                self.out.pop_front();
            }
        }
        worked
    }

    pub fn extract(&mut self) -> Result<Vec<Came>, Broken> {
        let mut came = Vec::new();
        let coming = &mut self.coming;
        self.fm.extract(4096, |src, head, data| {
            let message = &mut coming[src as usize];
            message.extend_from_slice(data);
            if message.len() as u64 == head.imm {
                came.push((src, std::mem::take(message)));
            }
        })?;
        Ok(came.into_iter().map(|(src, bytes)| parsed(src, &bytes)).collect())
    }
}

fn parsed(src: u32, bytes: &[u8]) -> Came {
    let (head, rest) = Head::from_bytes(bytes).expect("a head");
    let content = head.kind.carries().then(|| Store::default().copied(rest).expect("memory"));
    (src, head, content)
}
