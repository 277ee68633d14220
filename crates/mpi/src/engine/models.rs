//! Packets of other programming models, which need no matching (`hpvm_abi::models`). Each model has a queue, in which its
//! packets wait until the model's library takes them.
//!
//! The packets are short: each is copied into the queue when it comes, and out of it when it is taken. If a call of the model
//! polls for packets, a packet goes to its destination at once. Packets to be sent that find no credit wait, in order for each
//! receiver. A sender that fills a queue beyond [`HIGH`] gets XOFF, and keeps its packets on its own side until it gets XON.

use crate::engine::dispatch::Deferred;
use crate::engine::inbox::Inbox;
use crate::engine::process::Process;
use crate::engine::progress::ONE_PACKET;
use crate::error::Result;
use hpvm_fm::{Broken, Head, Rank, Transport, handler_id};
use std::collections::VecDeque;

/// Models that there may be.
pub const MODELS: usize = (QUOTA - handler_id::MODELS.start) as usize;

/// Bytes of a packet at most.
pub const PACKET: usize = 8192;

/// What has been taken of a queue that never gets empty is given back when it is as much as this, and half of all.
const STALE: usize = 64 << 10;

/// Bytes in a queue above which its senders are told XOFF; below a quarter of them they are told XON.
const HIGH: usize = 4 << 20;

/// Packets that are shown one behind the other before anything else gets its chance.
const MAX_SHOWN: usize = 64;

/// The id of XOFF and XON of models. In `imm`: how often this rank has told the other one, then the model (8 bits), then 1 for XOFF.
pub(super) const QUOTA: u8 = handler_id::MODELS.end - 1;

/// Before each packet in a queue: its sender and its length, 4 bytes each.
const HEAD: usize = 8;

/// Packets that have come, oldest first.
#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// Where the oldest one begins.
    first: usize,
    /// Who has been told XOFF.
    told: Vec<Rank>,
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.first == self.bytes.len()
    }

    fn len(&self) -> usize {
        self.bytes.len() - self.first
    }

    fn push(&mut self, src: Rank, parts: [&[u8]; 2]) {
        if self.first >= STALE && self.first * 2 >= self.bytes.len() {
            self.bytes.drain(..self.first);
            self.first = 0;
        }
        let len = parts[0].len() + parts[1].len();
        self.bytes.reserve(HEAD + len);
        self.bytes.extend_from_slice(&src.to_le_bytes());
        self.bytes.extend_from_slice(&(len as u32).to_le_bytes());
        self.bytes.extend_from_slice(parts[0]);
        self.bytes.extend_from_slice(parts[1]);
    }

    /// Shows the oldest packet to `take`, and forgets it.
    fn take<R>(&mut self, take: impl FnOnce(Rank, &[u8]) -> R) -> Option<R> {
        let (head, rest) = self.bytes[self.first..].split_first_chunk::<HEAD>()?;
        let [a, b, c, d, e, f, g, h] = *head;
        let len = u32::from_le_bytes([e, f, g, h]) as usize;
        let result = take(u32::from_le_bytes([a, b, c, d]), &rest[..len]);
        self.first += HEAD + len;
        if self.is_empty() {
            self.bytes.clear();
            self.first = 0;
        }
        Some(result)
    }
}

/// What polls for a model have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// So many packets, which have been shown.
    Packets(usize),
    /// Something that is not a packet of the model.
    Other,
    Nothing,
}

/// What has come for the models.
#[derive(Default)]
pub(crate) struct Models {
    queues: [Queue; MODELS],
    /// Queues that have packets, as bits.
    full: u32,
    /// XOFF and XON of this rank so far.
    words: u64,
    /// In place of [`HIGH`].
    high: Option<usize>,
}

impl Models {
    /// Some model has packets to take.
    #[inline(always)]
    pub fn have_packets(&self) -> bool {
        self.full != 0
    }

    fn high(&self) -> usize {
        self.high.unwrap_or(HIGH)
    }

    /// The next XOFF or XON.
    fn word(&mut self, model: usize, off: bool) -> u64 {
        self.words += 1;
        self.words << 9 | (model as u64) << 1 | u64::from(off)
    }

    fn push(&mut self, model: usize, src: Rank, parts: [&[u8]; 2]) {
        self.queues[model].push(src, parts);
        self.full |= 1 << model;
    }
}

/// Packets of models that wait for credits, or for XON.
#[derive(Default)]
pub(crate) struct Waiting {
    packets: VecDeque<(Rank, Head, Box<[u8]>)>,
    /// The last word of each rank and model that has told XOFF.
    told: Vec<(Rank, u8, u64)>,
    /// How many of these are XOFF.
    off: usize,
}

impl Waiting {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// True when one of them is for somebody whom it `concerns`.
    pub fn waits_for(&self, concerns: impl Fn(Rank) -> bool) -> bool {
        self.packets.iter().any(|(dst, _, _)| concerns(*dst))
    }

    fn is_off(&self, dst: Rank, handler: u8) -> bool {
        let model = handler - handler_id::MODELS.start;
        self.off != 0
            && self.told.iter().any(|(d, m, word)| (*d, *m) == (dst, model) && word & 1 != 0)
    }

    /// Forgets what waits for the dead, who tell nothing any more.
    pub fn drop_to(&mut self, lost: &[Rank]) {
        self.packets.retain(|(dst, ..)| !lost.contains(dst));
    }

    /// `dst` has told XOFF or XON. Words may overtake each other: the latest one holds.
    pub fn tell(&mut self, dst: Rank, word: u64) {
        let model = (word >> 1) as u8;
        let entry = match self.told.iter_mut().find(|(d, m, _)| (*d, *m) == (dst, model)) {
            Some(entry) => entry,
            None => {
                self.told.push((dst, model, 0));
                let last = self.told.len() - 1;
                &mut self.told[last]
            }
        };
        if word >> 9 > entry.2 >> 9 {
            self.off = self.off + (word & 1) as usize - (entry.2 & 1) as usize;
            entry.2 = word;
        }
    }
}

impl Inbox {
    #[inline(never)]
    pub(super) fn model_packet(&mut self, src: Rank, head: Head, data: &[u8]) {
        if data.len() > PACKET {
            return self.violate(src, format!("{} bytes in a packet of a model", data.len()));
        }
        if head.handler == QUOTA {
            return self.deferred.push_back(Deferred::ModelQuota(src, head.imm));
        }
        let model = usize::from(head.handler - handler_id::MODELS.start);
        self.models.push(model, src, [data, &[]]);
        let high = self.models.high();
        let queue = &mut self.models.queues[model];
        if queue.len() > high && !queue.told.contains(&src) {
            queue.told.push(src);
            let word = self.models.word(model, true);
            self.deferred.push_back(Deferred::TellModel(src, word));
        }
    }
}

/// Writes both parts, one behind the other.
#[inline(always)]
fn fill(parts: [&[u8]; 2], out: &mut [u8]) {
    let (first, second) = out.split_at_mut(parts[0].len());
    let second = &mut second[..parts[1].len()];
    // SAFETY: both are as long as their parts, and nobody else's.
    unsafe {
        copy(parts[0], first.as_mut_ptr());
        copy(parts[1], second.as_mut_ptr());
    }
}

#[inline(always)]
fn head_of(model: usize) -> Head {
    Head { handler: handler_id::MODELS.start + model as u8, flags: 0, aux: 0, imm: 0 }
}

impl<T: Transport> Process<T> {
    /// Sends a packet of `model` (below [`MODELS`]) to another process in two parts, at most [`PACKET`] bytes together, if nothing stands in
    /// the way. False: it is for [`send_model`](Process::send_model), and nothing has been done.
    #[inline(always)]
    pub fn send_model_now(&mut self, model: usize, dst: Rank, parts: [&[u8]; 2]) -> bool {
        let waiting = &self.backlog.models;
        if self.has_lost() || dst == self.fm.rank() || !waiting.is_empty() || waiting.off != 0 {
            return false;
        }
        let len = parts[0].len() + parts[1].len();
        let sent = self.fm.send(dst, head_of(model), len, |out| fill(parts, out)).is_ok();
        if sent && self.traffic.is_some() {
            self.count_sent(dst, 1, len as u64);
        }
        sent
    }

    /// Sends a packet of `model` (below [`MODELS`]) in two parts, at most [`PACKET`] bytes together, now or when there is a
    /// credit. They have been copied.
    ///
    /// # Errors
    /// The process has died, and the job goes on.
    #[inline(never)]
    pub fn send_model(&mut self, model: usize, dst: Rank, parts: [&[u8]; 2]) -> Result<()> {
        if self.has_lost()
            && let Some(error) = self.lost_source(self.world(), dst)
        {
            return Err(error);
        }
        let len = parts[0].len() + parts[1].len();
        if self.traffic.is_some() {
            self.count_sent(dst, 1, len as u64);
        }
        if dst == self.fm.rank() {
            self.inbox.models.push(model, dst, parts);
            return Ok(());
        }
        let head = head_of(model);
        let waits =
            !self.backlog.models.is_empty() || self.backlog.models.is_off(dst, head.handler);
        if waits || self.fm.send(dst, head, len, |out| fill(parts, out)).is_err() {
            self.backlog.models.packets.push_back((dst, head, parts.concat().into()));
        }
        Ok(())
    }

    /// Lets so many bytes wait for a model before its senders are told to hold theirs.
    pub fn set_model_quota(&mut self, bytes: usize) {
        self.inbox.models.high = Some(bytes);
    }

    /// Bytes that wait for `model`, with those that say whose they are.
    pub fn waiting_for_model(&self, model: usize) -> usize {
        self.inbox.models.queues[model].len()
    }

    /// Packets of `model` that wait to leave.
    pub fn unsent_of_model(&self, model: usize) -> usize {
        let handler = head_of(model).handler;
        self.backlog.models.packets.iter().filter(|(_, head, _)| head.handler == handler).count()
    }

    /// Whether a packet of `model` has come.
    #[inline]
    pub fn model_has_packet(&self, model: usize) -> bool {
        self.inbox.models.full & 1 << model != 0
    }

    /// Models of which packets have come, as bits.
    #[inline(always)]
    pub fn models_with_packets(&self) -> u32 {
        self.inbox.models.full
    }

    /// Shows the oldest packet of `model` to `take`, and forgets it. None has come: `None`.
    #[inline]
    pub fn take_model<R>(
        &mut self,
        model: usize,
        take: impl FnOnce(Rank, &[u8]) -> R,
    ) -> Option<R> {
        let models = &mut self.inbox.models;
        let queue = &mut models.queues[model];
        let result = queue.take(take);
        if queue.is_empty() {
            models.full &= !(1 << model);
        }
        if !queue.told.is_empty() && queue.len() <= models.high.unwrap_or(HIGH) / 4 {
            self.tell_on(model);
        }
        result
    }

    /// Polls up to `polls` times for packets of `model`, of which none waits in the queue, and shows them to `show` where they lie, as long
    /// as they are there one behind the other and it says that it takes more. Returns as soon as anything else has happened, too, which
    /// is for a whole step of progress to follow up.
    #[inline(always)]
    pub fn poll_for_model(
        &mut self,
        model: usize,
        polls: u32,
        mut show: impl FnMut(Rank, &[u8]) -> bool,
    ) -> core::result::Result<Polled, Broken> {
        debug_assert!(!self.model_has_packet(model), "packets of a process come in order");
        let wanted = head_of(model).handler;
        for _ in 0..polls {
            let (mut shown, mut more, mut others) = (0, true, false);
            while more && !others && shown < MAX_SHOWN {
                let (inbox, before) = (&mut self.inbox, shown);
                let packets = self.fm.extract(ONE_PACKET, |src, head, data| {
                    // A poll of several transports may bring several.
                    if head.handler == wanted && more && !others && data.len() <= PACKET {
                        more = show(src, data);
                        shown += 1;
                    } else {
                        others = true;
                        inbox.on_packet(src, head, data);
                    }
                })?;
                if shown == before {
                    // What counts as packets and is none: a stream has ended.
                    others |= packets != 0;
                    break;
                }
            }
            if shown != 0 || others {
                self.after_extract()?;
            }
            // A stream of packets shall not keep the rest from moving on.
            let moved = self.do_deferred();
            match shown {
                0 if moved || others => return Ok(Polled::Other),
                0 => core::hint::spin_loop(),
                _ => return Ok(Polled::Packets(shown)),
            }
        }
        Ok(Polled::Nothing)
    }

    /// The model has taken what it had too much of.
    #[cold]
    fn tell_on(&mut self, model: usize) {
        for dst in std::mem::take(&mut self.inbox.models.queues[model].told) {
            let word = self.inbox.models.word(model, false);
            self.tell_model(dst, word);
        }
    }

    /// Tells a sender XOFF or XON.
    pub(super) fn tell_model(&mut self, dst: Rank, word: u64) {
        self.send_control(dst, Head { handler: QUOTA, flags: 0, aux: 0, imm: word }, 0);
    }

    /// Sends packets of models that wait, as far as there are credits. True when something went out.
    pub(super) fn drain_models(&mut self) -> bool {
        let mut stalled: Vec<Rank> = Vec::new();
        let before = self.backlog.models.packets.len();
        for _ in 0..before {
            let Some(packet) = self.backlog.models.packets.pop_front() else { break };
            let (dst, head, bytes) = &packet;
            let sent = !stalled.contains(dst)
                && !self.backlog.models.is_off(*dst, head.handler)
                && self.fm.send(*dst, *head, bytes.len(), |out| out.copy_from_slice(bytes)).is_ok();
            if !sent {
                if !stalled.contains(dst) {
                    stalled.push(*dst);
                }
                self.backlog.models.packets.push_back(packet);
            }
        }
        self.backlog.models.packets.len() < before
    }
}

/// Copies a packet to `place`.
///
/// # Safety
/// There is room for it, elsewhere.
#[inline(always)]
pub unsafe fn copy(packet: &[u8], place: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { hpvm_copy::short(packet.as_ptr(), place, packet.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_as_they_went_in() {
        let mut queue = Queue::default();
        assert_eq!(queue.take(|_, _| ()), None);
        // One stays in the queue all the time, so that what was taken has to be given back.
        queue.push(0, [&[], &[]]);
        for n in 1..5000u32 {
            let bytes = vec![n as u8; n as usize % 700];
            let at = bytes.len() / 3;
            queue.push(n, [&bytes[..at], &bytes[at..]]);
            let before = n - 1;
            let (src, len, right) = queue
                .take(|src, data| (src, data.len(), data.iter().all(|b| *b == src as u8)))
                .expect("a packet");
            assert_eq!((src, len, right), (before, before as usize % 700, true));
        }
        assert!(queue.bytes.len() < 4 * STALE);
        assert_eq!(queue.take(|src, _| src), Some(4999));
        assert!(queue.is_empty() && queue.bytes.is_empty());
    }

    #[test]
    fn the_latest_word_of_a_receiver_holds() {
        let (mut waiting, mut models) = (Waiting::default(), Models::default());
        let words: Vec<u64> = [true, false, true, false].map(|off| models.word(1, off)).into();
        let handler = head_of(1).handler;
        waiting.tell(3, words[0]);
        assert!(waiting.is_off(3, handler) && !waiting.is_off(3, handler + 1));
        assert!(!waiting.is_off(2, handler));
        // XON came first, the XOFF before it later.
        waiting.tell(3, words[3]);
        waiting.tell(3, words[2]);
        waiting.tell(3, words[1]);
        assert!(!waiting.is_off(3, handler) && waiting.off == 0);
    }
}
