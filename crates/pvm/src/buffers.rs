//! Message buffers by number, the send and the receive buffer, and the queue of messages that have come.

use crate::body::{Body, Encoding};
use crate::{Code, Tid};
use std::collections::VecDeque;

/// Stands for any task, any tag or any context.
pub const ANY: i32 = -1;

/// What a message's head says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub source: Tid,
    pub target: Tid,
    pub tag: i32,
    pub context: i32,
    pub wait_id: i32,
    pub encoding: i32,
    pub crc: i32,
    /// When its sender began to send it, by a clock of the host; 0: not known.
    pub stamp: u64,
}

/// A message buffer.
#[derive(Clone, Debug, Default)]
pub struct Message {
    pub head: Head,
    pub body: Body,
    pub encoding: Encoding,
    /// It is in the queue of those that nobody has received.
    queued: bool,
}

impl Message {
    pub fn new(head: Head, body: Body, encoding: Encoding) -> Message {
        Message { head, body, encoding, queued: false }
    }

    /// Bytes that the message takes while nobody receives it.
    fn cost(&self) -> u64 {
        self.body.len() as u64 + OVERHEAD
    }
}

/// What a message takes beside its bytes, about: a message of none is not for nothing.
const OVERHEAD: u64 = 256;

/// Buffers whose memory is used again, and how many bytes they may have together: enough for a pair of large messages
/// that go back and forth, little beside what programs use.
const SPARE_BUFFERS: usize = 8;
const SPARE_BYTES: usize = 64 << 20;

/// Whether memory is not much too large for a message.
fn is_fit(capacity: usize, len: usize) -> bool {
    capacity / 8 <= len.max(512)
}

/// What a receive accepts.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub source: Tid,
    pub tag: i32,
    pub context: i32,
}

impl Pattern {
    pub fn accepts(&self, head: &Head) -> bool {
        (self.source == ANY || self.source == head.source)
            && (self.tag == ANY || self.tag == head.tag)
            && (self.context == ANY || self.context == head.context)
    }

    /// Whether there are messages that both accept.
    pub fn meets(&self, other: &Pattern) -> bool {
        let meet = |one: i32, other: i32| one == ANY || other == ANY || one == other;
        meet(self.source, other.source)
            && meet(self.tag, other.tag)
            && meet(self.context, other.context)
    }
}

/// All buffers of a task. A number is an index and one.
#[derive(Debug, Default)]
pub struct Buffers {
    all: Vec<Option<Box<Message>>>,
    free: Vec<i32>,
    send: i32,
    receive: i32,
    queue: VecDeque<i32>,
    /// Bytes of the messages in the queue.
    waiting_bytes: u64,
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
}

impl Buffers {
    /// Memory for `len` bytes, from what was given back where that is possible. `None`: there is none.
    pub fn try_memory(&mut self, len: usize) -> Option<Vec<u8>> {
        // The smallest that is large enough; small messages leave the large ones alone.
        let fits = |memory: &(usize, usize)| memory.1 >= len && is_fit(memory.1, len);
        let sizes = self.spare.iter().map(Vec::capacity).enumerate();
        let Some((index, bytes)) = sizes.filter(fits).min_by_key(|memory| memory.1) else {
            let mut memory = Vec::new();
            return memory.try_reserve_exact(len).is_ok().then_some(memory);
        };
        self.spare_bytes -= bytes;
        Some(self.spare.remove(index))
    }

    /// Takes memory back, in the place of what has not been used for longest.
    pub fn recycle(&mut self, mut memory: Vec<u8>) {
        memory.clear();
        let bytes = memory.capacity();
        if bytes == 0 || bytes > SPARE_BYTES {
            return;
        }
        while self.spare.len() >= SPARE_BUFFERS || self.spare_bytes + bytes > SPARE_BYTES {
            self.spare_bytes -= self.spare.remove(0).capacity();
        }
        self.spare_bytes += bytes;
        self.spare.push(memory);
    }

    /// A number for `message`.
    pub fn add(&mut self, message: Box<Message>) -> i32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize - 1] = Some(message);
            return number;
        }
        self.all.push(Some(message));
        self.all.len() as i32
    }

    pub fn get(&mut self, number: i32) -> Option<&mut Message> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.all.get_mut(index)?.as_deref_mut()
    }

    /// A new buffer (`pvm_mkbuf`).
    pub fn make(&mut self, encoding: Encoding) -> i32 {
        let memory = self.try_memory(0).unwrap_or_default();
        self.make_within(memory, encoding)
    }

    fn make_within(&mut self, memory: Vec<u8>, encoding: Encoding) -> i32 {
        let body = Body::within(memory);
        let head = Head { encoding: encoding as i32, ..Head::default() };
        self.add(Box::new(Message::new(head, body, encoding)))
    }

    /// Ends a buffer (`pvm_freebuf`); it is the send or the receive buffer no more. 0 is no buffer, which is ended already.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn remove(&mut self, number: i32) -> Result<(), Code> {
        if self.known(number)? == 0 {
            return Ok(());
        }
        let message = self.take(number).ok_or(Code::NoSuchBuf)?;
        self.recycle(message.body.into_memory());
        Ok(())
    }

    /// Takes a buffer out.
    pub fn take(&mut self, number: i32) -> Option<Box<Message>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        if self.all.get(index)?.as_ref()?.queued {
            self.unqueue(number);
        }
        let message = self.all.get_mut(index)?.take()?;
        self.free.push(number);
        if self.send == number {
            self.send = 0;
        }
        if self.receive == number {
            self.receive = 0;
        }
        Some(message)
    }

    /// Takes a buffer out for a moment; its number stays its own until [`Buffers::put_back`].
    pub fn take_out(&mut self, number: i32) -> Option<Box<Message>> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.all.get_mut(index)?.take()
    }

    pub fn put_back(&mut self, number: i32, message: Box<Message>) {
        if let Some(room) = self.all.get_mut((number - 1) as usize) {
            *room = Some(message);
        }
    }

    pub fn send_buffer(&self) -> i32 {
        self.send
    }

    pub fn receive_buffer(&self) -> i32 {
        self.receive
    }

    fn known(&mut self, number: i32) -> Result<i32, Code> {
        match number {
            0 => Ok(0),
            number if number < 0 => Err(Code::BadParam),
            number => self.get(number).map(|_| number).ok_or(Code::NoSuchBuf),
        }
    }

    /// The buffer that a call names.
    ///
    /// # Errors
    /// The number is none of a buffer, or no buffer has it.
    pub fn named(&mut self, number: i32) -> Result<&mut Message, Code> {
        if number <= 0 {
            return Err(Code::BadParam);
        }
        self.get(number).ok_or(Code::NoSuchBuf)
    }

    /// Makes `number` the send buffer (0: none), which it is instead of the receive buffer; returns the one before.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn set_send(&mut self, number: i32) -> Result<i32, Code> {
        let number = self.known(number)?;
        if self.receive == number {
            self.receive = 0;
        }
        Ok(std::mem::replace(&mut self.send, number))
    }

    /// Makes `number` the receive buffer (0: none), which it is instead of the send buffer; returns the one before.
    ///
    /// # Errors
    /// There is none of this number.
    pub fn set_receive(&mut self, number: i32) -> Result<i32, Code> {
        let number = self.known(number)?;
        if self.send == number {
            self.send = 0;
        }
        Ok(std::mem::replace(&mut self.receive, number))
    }

    /// An empty send buffer in place of the one before (`pvm_initsend`).
    pub fn init_send(&mut self, encoding: Encoding) -> i32 {
        let memory = self.take(self.send).map(|before| before.body.into_memory());
        // As long as messages stay alike they are packed where the last one was: that is in the caches.
        let alike = |memory: &Vec<u8>| is_fit(memory.capacity(), memory.len());
        match memory {
            Some(memory) if encoding != Encoding::InPlace && alike(&memory) => {
                self.send = self.make_within(memory, encoding);
            }
            other => {
                self.recycle(other.unwrap_or_default());
                self.send = self.make(encoding);
            }
        }
        self.send
    }

    /// # Errors
    /// There is no send buffer.
    pub fn sending(&mut self) -> Result<&mut Message, Code> {
        self.get(self.send).ok_or(Code::NoBuf)
    }

    /// # Errors
    /// There is no receive buffer.
    pub fn receiving(&mut self) -> Result<&mut Message, Code> {
        self.get(self.receive).ok_or(Code::NoBuf)
    }

    /// A message has come.
    pub fn arrived(&mut self, mut message: Box<Message>) -> i32 {
        message.queued = true;
        self.waiting_bytes += message.cost();
        let number = self.add(message);
        self.queue.push_back(number);
        number
    }

    /// The first message in the queue that `accept` likes.
    pub fn find(&mut self, mut accept: impl FnMut(&Head) -> bool) -> Option<i32> {
        let Buffers { queue, all, .. } = self;
        let head =
            |number: i32| all.get(number as usize - 1)?.as_ref().map(|message| &message.head);
        queue.iter().copied().find(|number| head(*number).is_some_and(&mut accept))
    }

    /// How many messages are in the queue.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    fn stamp(&self, number: i32) -> u64 {
        let message = self.all.get(number as usize - 1).and_then(Option::as_ref);
        message.map_or(0, |message| message.head.stamp)
    }

    /// When the last of the messages was sent that are behind the first `count` of the queue.
    pub fn latest_behind(&self, count: usize) -> Option<u64> {
        self.queue.iter().skip(count).map(|number| self.stamp(*number)).max()
    }

    /// Puts the messages behind the first `count` of the queue in the order in which they were sent.
    pub fn sort_behind(&mut self, count: usize) {
        let mut behind: Vec<_> =
            self.queue.iter().skip(count).map(|number| (self.stamp(*number), *number)).collect();
        if behind.is_sorted_by_key(|(stamp, _)| *stamp) {
            return;
        }
        behind.sort_by_key(|(stamp, _)| *stamp);
        self.queue.truncate(count);
        self.queue.extend(behind.into_iter().map(|(_, number)| number));
    }

    /// The messages in the queue, the oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = i32> + '_ {
        self.queue.iter().copied()
    }

    /// Takes a message out of the queue; its buffer stays.
    pub fn unqueue(&mut self, number: i32) {
        let Some(at) = self.queue.iter().position(|queued| *queued == number) else { return };
        self.queue.remove(at);
        if let Some(message) = self.get(number) {
            message.queued = false;
            let cost = message.cost();
            self.waiting_bytes -= cost;
        }
    }

    /// Bytes of the messages that have come and that nobody has received.
    pub fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// A message of the queue becomes the receive buffer, and the one before ends.
    pub fn receive(&mut self, number: i32) {
        self.unqueue(number);
        let _ = self.remove(self.receive);
        self.receive = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: Tid, tag: i32, context: i32) -> Box<Message> {
        Box::new(Message {
            head: Head { source, tag, context, ..Head::default() },
            ..Message::default()
        })
    }

    #[test]
    fn the_oldest_message_that_fits_is_received() {
        let mut buffers = Buffers::default();
        buffers.arrived(message(1, 5, 0));
        let second = buffers.arrived(message(2, 6, 0));
        let third = buffers.arrived(message(2, 6, 0));
        buffers.arrived(message(2, 6, 9));
        let pattern = Pattern { source: 2, tag: ANY, context: 0 };
        assert_eq!(buffers.find(|head| pattern.accepts(head)), Some(second));
        buffers.receive(second);
        assert_eq!(buffers.find(|head| pattern.accepts(head)), Some(third));
        buffers.receive(third);
        assert!(buffers.get(second).is_none(), "the next receive ends the buffer");
        assert_eq!(buffers.find(|head| pattern.accepts(head)), None);
        assert_eq!(buffers.waiting().count(), 2);
    }

    #[test]
    fn initsend_ends_the_buffer_before_and_setsbuf_does_not() {
        let mut buffers = Buffers::default();
        let first = buffers.init_send(Encoding::Raw);
        assert_eq!(buffers.set_send(0), Ok(first));
        assert!(buffers.get(first).is_some());
        assert_eq!(buffers.set_send(first), Ok(0));
        buffers.init_send(Encoding::Raw);
        assert_eq!(buffers.waiting().count(), 0);
        assert_eq!(buffers.set_send(77), Err(Code::NoSuchBuf));
        assert_eq!(buffers.set_receive(-1), Err(Code::BadParam));
        assert_eq!(buffers.remove(0), Ok(()), "no buffer is ended already");
        assert_eq!(buffers.remove(77), Err(Code::NoSuchBuf));
        assert!(matches!(buffers.named(0), Err(Code::BadParam)));
    }

    /// A received message that is to be sent on outlives the next receive.
    #[test]
    fn a_buffer_is_the_send_or_the_receive_buffer() {
        let mut buffers = Buffers::default();
        let first = buffers.arrived(message(1, 5, 0));
        let second = buffers.arrived(message(1, 6, 0));
        buffers.receive(first);
        assert_eq!(buffers.set_send(first), Ok(0));
        assert_eq!(buffers.receive_buffer(), 0);
        buffers.receive(second);
        assert_eq!(buffers.send_buffer(), first);
        assert!(buffers.sending().is_ok());
        assert_eq!(buffers.set_receive(first), Ok(second));
        assert_eq!(buffers.send_buffer(), 0);
    }

    /// A buffer that `pvm_probe` has named may be ended without having been received.
    #[test]
    fn a_message_that_is_ended_in_the_queue_leaves_it() {
        let mut buffers = Buffers::default();
        let first = buffers.arrived(message(1, 5, 0));
        let second = buffers.arrived(message(1, 6, 0));
        assert_eq!(buffers.waiting_bytes(), 2 * OVERHEAD);
        assert_eq!(buffers.remove(first), Ok(()));
        let own = buffers.make(Encoding::Raw);
        assert_eq!(own, first, "the number is used again");
        assert_eq!(buffers.waiting().collect::<Vec<_>>(), [second]);
        buffers.receive(second);
        assert_eq!(buffers.waiting_bytes(), 0);
    }

    #[test]
    fn messages_that_came_together_are_in_the_order_in_which_they_were_sent() {
        let mut buffers = Buffers::default();
        let mut sent = |tag, stamp| {
            let mut message = message(1, tag, 0);
            message.head.stamp = stamp;
            buffers.arrived(message)
        };
        let numbers = [sent(1, 90), sent(2, 70), sent(3, 80), sent(4, 70)];
        assert_eq!(buffers.queued(), 4);
        assert_eq!(buffers.latest_behind(1), Some(80));
        assert_eq!(buffers.latest_behind(4), None);
        buffers.sort_behind(1);
        let [first, second, third, fourth] = numbers;
        assert_eq!(buffers.waiting().collect::<Vec<_>>(), [first, second, fourth, third]);
    }

    #[test]
    fn messages_that_are_alike_are_packed_where_the_last_one_was() {
        let mut buffers = Buffers::default();
        let mut pack = |len| {
            buffers.init_send(Encoding::Raw);
            let body = &mut buffers.sending().expect("a buffer").body;
            body.append(&vec![1; len]);
            body.bytes().as_ptr()
        };
        let first = pack(100_000);
        assert_eq!(pack(90_000), first);
        assert_eq!(pack(5), first);
        assert_ne!(pack(5), first, "a small message does not keep the large memory");
    }

    #[test]
    fn memory_of_messages_that_have_grown_is_kept_in_the_place_of_the_others() {
        let mut buffers = Buffers::default();
        for _ in 0..SPARE_BUFFERS {
            buffers.recycle(Vec::with_capacity(4096));
        }
        let large = Vec::<u8>::with_capacity(1 << 20);
        let address = large.as_ptr();
        buffers.recycle(large);
        assert_eq!(buffers.spare.len(), SPARE_BUFFERS);
        let again = buffers.try_memory(1 << 20).expect("memory");
        assert_eq!(again.as_ptr(), address);
        assert_eq!(buffers.spare_bytes, (SPARE_BUFFERS - 1) * 4096);
    }

    #[test]
    fn memory_is_used_again() {
        let mut buffers = Buffers::default();
        let mut memory = Vec::<u8>::with_capacity(1 << 20);
        memory.push(1);
        let address = memory.as_ptr();
        buffers.recycle(memory);
        let small = buffers.try_memory(10).expect("memory");
        assert_ne!(small.as_ptr(), address, "a small message leaves it");
        let large = buffers.try_memory(1 << 20).expect("memory");
        assert_eq!(large.as_ptr(), address);
        assert!(large.is_empty());
    }
}
