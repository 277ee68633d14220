//! One process of a BSP program: what its program calls between two synchronisations.

use crate::arena::Arena;
use crate::buffer::Buffer;
use crate::counts::Counts;
use crate::fault::Fault;
use crate::outbox::{Large, OUTBOX_BYTES, Outbox};
use crate::queue::{Queue, Taking};
use crate::record::HP;
use crate::registry::Registry;
use crate::tip::copy_small;

/// What may be chosen; the processes of a program have the same.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Blocks of so many bytes and more travel by themselves.
    pub large: usize,
    /// Accesses to the same bytes whose outcome the standard leaves open are errors.
    pub checks: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        // A message by itself costs about what copying 16 KiB twice does.
        Settings { large: 16 << 10, checks: false }
    }
}

/// Sizes of tags: a size that is set is that of messages sent from the next superstep on, and of messages
/// received from the one after it on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tags {
    pub sending: usize,
    pub next: usize,
    /// Calls of `bsp_set_tagsize` in this superstep.
    pub calls: u64,
}

pub struct Process {
    pub(crate) pid: usize,
    pub(crate) superstep: u64,
    pub(crate) settings: Settings,
    pub(crate) registry: Registry,
    pub(crate) tags: Tags,
    /// For each process, itself included: what this one wants of it.
    pub(crate) out: Vec<Outbox>,
    /// Copies of large blocks that this process sends.
    pub(crate) copies: Arena,
    /// Packed messages of all processes. They stay until the next superstep, because the queue lies in them.
    pub(crate) inbox: Vec<Buffer>,
    /// Large blocks that had to wait for their turn, and payloads of large messages.
    pub(crate) arrivals: Arena,
    pub(crate) queue: Queue,
    /// What others get of this process, and this one of them.
    pub(crate) answers: Vec<Buffer>,
    pub(crate) replies: Vec<Buffer>,
    pub(crate) counts_out: Vec<Counts>,
    pub(crate) counts_in: Vec<Counts>,
}

/// `Vec` of `n` new values.
fn fresh<T: Default>(n: usize) -> Vec<T> {
    std::iter::repeat_with(T::default).take(n).collect()
}

/// The addresses that the program gives must be what C says they are: blocks of at least as many bytes as it says.
impl Process {
    pub fn new(pid: usize, processes: usize, settings: Settings) -> Process {
        Process {
            pid,
            superstep: 0,
            settings,
            registry: Registry::new(pid, processes),
            tags: Tags::default(),
            out: (0..processes).map(|to| Outbox::new(to, settings.large)).collect(),
            copies: Arena::default(),
            inbox: fresh(processes),
            arrivals: Arena::default(),
            queue: Queue::default(),
            answers: fresh(processes),
            replies: fresh(processes),
            counts_out: fresh(processes),
            counts_in: fresh(processes),
        }
    }

    pub fn pid(&self) -> usize {
        self.pid
    }

    /// Whether unbuffered accesses are told apart from others.
    #[inline(always)]
    pub fn checks(&self) -> bool {
        self.settings.checks
    }

    pub fn processes(&self) -> usize {
        self.out.len()
    }

    /// The tips of all processes, [`Process::TIP_STRIDE`] bytes from one to the next; they stay where they are.
    pub fn tips(&mut self) -> *mut u8 {
        self.out.as_mut_ptr().cast()
    }

    /// After the last synchronisation: the tips stay where they are for ever, and take nothing, since programs remember them.
    pub fn leave_tips(mut self) {
        for out in &mut self.out {
            out.leave();
        }
        std::mem::take(&mut self.out).leak();
    }

    /// Size of the tags of messages that are sent in this superstep.
    pub fn sent_tag_size(&self) -> usize {
        self.tags.sending
    }

    /// The beginning of the queue; it stays where it is, as the process does.
    pub fn taking(&mut self) -> *mut Taking {
        self.queue.taking()
    }

    /// Bytes from the tip of one process to that of the next.
    pub const TIP_STRIDE: usize = OUTBOX_BYTES;

    /// The number of synchronisations so far.
    pub fn superstep(&self) -> u64 {
        self.superstep
    }

    pub fn push_reg(&mut self, base: *mut u8, size: i32) -> Result<(), Fault> {
        self.registry.push(base, size)
    }

    pub fn pop_reg(&mut self, base: *mut u8) -> Result<(), Fault> {
        self.registry.pop(base)
    }

    /// A buffered put like the last one to that process; false: `put` has to do it.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`.
    #[inline(always)]
    pub unsafe fn put_again(
        &mut self,
        to: i32,
        from: *const u8,
        base: *const u8,
        offset: i32,
        len: i32,
    ) -> bool {
        let Some(out) = self.out.get_mut(to as u32 as usize) else { return false };
        // SAFETY: the caller vouches for the source.
        unsafe { out.put_again(base, offset, from, len) }
    }

    /// An unbuffered put like the last one to that process, where races are not looked for; false: `put` has to do it.
    ///
    /// # Safety
    /// `len` bytes are readable at `from` until the synchronisation.
    #[inline(always)]
    pub unsafe fn hpput_again(
        &mut self,
        to: i32,
        from: *const u8,
        base: *const u8,
        offset: i32,
        len: i32,
    ) -> bool {
        let Some(out) = self.out.get_mut(to as u32 as usize) else { return false };
        // SAFETY: the caller vouches for the source.
        unsafe { out.hpput_again(base, offset, from, len) }
    }

    /// A buffered get like the last one from that process; false: `get` has to do it.
    #[inline(always)]
    pub fn get_again(
        &mut self,
        from: i32,
        base: *const u8,
        offset: i32,
        into: *mut u8,
        len: i32,
    ) -> bool {
        let Some(out) = self.out.get_mut(from as u32 as usize) else { return false };
        out.get_again(base, offset, into, len)
    }

    /// A message like the last one to that process; false: `send` has to do it.
    ///
    /// # Safety
    /// As `send`.
    #[inline(always)]
    pub unsafe fn send_again(
        &mut self,
        to: i32,
        tag: *const u8,
        payload: *const u8,
        len: i32,
    ) -> bool {
        let Some(out) = self.out.get_mut(to as u32 as usize) else { return false };
        // SAFETY: the caller vouches for both.
        unsafe { out.message_again(tag, self.tags.sending, payload, len) }
    }

    /// `bsp_put`, and `bsp_hpput` if not `buffered`: then a large block is read at the synchronisation.
    ///
    /// # Safety
    /// `len` bytes are readable at `from`; without `buffered`, until the synchronisation.
    #[inline(never)]
    pub unsafe fn put(
        &mut self,
        to: i32,
        from: *const u8,
        base: *const u8,
        offset: i32,
        len: i32,
        buffered: bool,
    ) -> Result<(), Fault> {
        let Some(mut block) = self.registry.reach(base, to, offset, len) else {
            return self.refuse(base, to, offset, len);
        };
        let hp = !buffered && self.settings.checks;
        block.slot |= if hp { HP } else { 0 };
        // `reach` has checked that `to` is a process, and that the numbers are not negative.
        let (to, bytes) = (to as usize, len as usize);
        self.rows_end(to)?;
        if from.is_null() && len > 0 {
            return Err(Fault::new(format!(
                "the source is NULL; expected the address of {len} bytes, which process {to} is to get"
            )));
        }
        if bytes >= self.settings.large {
            // SAFETY: the caller vouches for the source.
            return unsafe { self.put_large(to, from, block.slot, offset as u32, bytes, buffered) };
        }
        if len == 0 {
            return Ok(());
        }
        let (out, offset, len) = (&mut self.out[to], offset as u32, len as u32);
        // SAFETY: the caller vouches for the source.
        unsafe {
            match buffered || hp {
                true => out.put(block, offset, from, len, hp),
                false => out.hpput(block, offset, from, len),
            }
        }
    }

    /// Refuses what a row of calls inside of the program has wanted behind the end of a block.
    #[inline(always)]
    pub(crate) fn rows_end(&self, to: usize) -> Result<(), Fault> {
        match self.out.get(to).and_then(Outbox::gone_too_far) {
            None => Ok(()),
            Some((base, offset, len, function)) => {
                Err(self.registry.refusal(base, to as i32, offset as i32, len as i32).of(function))
            }
        }
    }

    /// A call that moves nothing may say what it likes.
    #[cold]
    fn refuse(&self, base: *const u8, process: i32, offset: i32, len: i32) -> Result<(), Fault> {
        if len == 0 { Ok(()) } else { Err(self.registry.refusal(base, process, offset, len)) }
    }

    /// # Safety
    /// As `put`.
    #[cold]
    unsafe fn put_large(
        &mut self,
        to: usize,
        from: *const u8,
        slot: u32,
        offset: u32,
        len: usize,
        buffered: bool,
    ) -> Result<(), Fault> {
        let mut start = from.cast_mut();
        if buffered {
            // SAFETY: the caller vouches for the source.
            start = unsafe { self.copies.copy(from, len)? };
        }
        self.out[to].large_put(slot, offset, Large { start, len })
    }

    /// `bsp_get`, and `bsp_hpget` if not `buffered`, which is the same here.
    #[inline(always)]
    pub fn get(
        &mut self,
        from: i32,
        base: *const u8,
        offset: i32,
        into: *mut u8,
        len: i32,
        buffered: bool,
    ) -> Result<(), Fault> {
        let Some(mut block) = self.registry.reach(base, from, offset, len) else {
            return self.refuse(base, from, offset, len);
        };
        let hp = !buffered && self.settings.checks;
        block.slot |= if hp { HP } else { 0 };
        self.rows_end(from as usize)?;
        let out = &mut self.out[from as usize];
        let bytes = len as usize;
        match bytes {
            0 => Ok(()),
            _ if into.is_null() => Err(Fault::new(format!(
                "the destination is NULL; expected the address of {len} bytes, which come from process {from}"
            ))),
            _ if bytes < self.settings.large => out.get(block, offset as u32, into, len as u32, hp),
            _ => out.large_get(block.slot, offset as u32, Large { start: into, len: bytes }),
        }
    }

    /// Sets the size of tags; returns the one set before.
    pub fn set_tagsize(&mut self, size: i32) -> Result<i32, Fault> {
        let Ok(new) = usize::try_from(size) else {
            return Err(Fault::new(format!("the tag size is {size}; expected 0 or more bytes")));
        };
        self.tags.calls += 1;
        Ok(std::mem::replace(&mut self.tags.next, new) as i32)
    }

    /// `bsp_send`.
    ///
    /// # Safety
    /// A tag of the valid size is readable at `tag`, and `len` bytes at `payload`.
    #[inline(always)]
    pub unsafe fn send(
        &mut self,
        to: i32,
        tag: *const u8,
        payload: *const u8,
        len: i32,
    ) -> Result<(), Fault> {
        let tag_len = self.tags.sending;
        let valid = to as u32 as usize;
        if valid >= self.out.len()
            || len < 0
            || (tag.is_null() && tag_len > 0)
            || (payload.is_null() && len > 0)
        {
            return Err(self.refuse_send(to, tag, len));
        }
        self.rows_end(valid)?;
        let bytes = len as usize;
        if bytes < self.settings.large {
            // SAFETY: the caller vouches for both.
            return unsafe { self.out[valid].message(tag, tag_len, payload, len as u32) };
        }
        // SAFETY: the caller vouches for both.
        unsafe {
            let start = self.copies.copy(payload, bytes)?;
            self.out[valid].large_message(tag, tag_len, Large { start, len: bytes })
        }
    }

    #[cold]
    fn refuse_send(&self, to: i32, tag: *const u8, len: i32) -> Fault {
        let last = self.out.len() - 1;
        if to < 0 || to as usize > last {
            return Fault::new(format!("there is no process {to}; expected 0 to {last}"));
        }
        if len < 0 {
            return Fault::new(format!("the payload has {len} bytes; expected 0 or more"));
        }
        let tag_len = self.tags.sending;
        if tag.is_null() && tag_len > 0 {
            return Fault::new(format!(
                "the tag is NULL; expected the address of {tag_len} bytes, the tag size"
            ));
        }
        Fault::new(format!("the payload is NULL; expected the address of {len} bytes"))
    }

    /// Messages in the queue, and bytes of their payloads.
    pub fn qsize(&self) -> (usize, usize) {
        self.queue.size()
    }

    /// Bytes of the tags of messages in the queue.
    pub fn queue_tag_size(&self) -> usize {
        self.queue.tag_size()
    }

    /// Copies the tag of the first message; returns the length of its payload, `None` if there is none.
    ///
    /// # Safety
    /// A tag is writable at `tag`.
    pub unsafe fn get_tag(&mut self, tag: *mut u8) -> Result<Option<usize>, Fault> {
        let Some(front) = self.queue.front(&self.inbox) else { return Ok(None) };
        let len = self.queue.tag_size();
        if tag.is_null() && len > 0 {
            return Err(Fault::new(format!(
                "the tag is NULL; expected the address of {len} bytes, the tag size"
            )));
        }
        // SAFETY: the caller vouches for the place, the queue for the tag.
        unsafe { copy_small(front.tag, tag, len) };
        Ok(Some(front.len))
    }

    /// Copies the first `len` bytes of the first message's payload, or all of it, and removes the message.
    ///
    /// # Safety
    /// `len` bytes are writable at `payload`.
    pub unsafe fn take(&mut self, payload: *mut u8, len: i32) -> Result<(), Fault> {
        let Ok(len) = usize::try_from(len) else {
            return Err(Fault::new(format!("the size is {len}; expected 0 or more bytes")));
        };
        if payload.is_null() && len > 0 {
            return Err(Fault::new(format!(
                "the payload is NULL; expected the address of {len} bytes"
            )));
        }
        let Some(first) = self.queue.take(&self.inbox) else {
            return Err(Fault::new(
                "the queue of messages is empty; bsp_qsize and bsp_get_tag tell",
            ));
        };
        // SAFETY: the caller vouches for the place, the queue for the payload.
        unsafe { copy_small(first.payload, payload, len.min(first.len)) };
        Ok(())
    }

    /// Removes the first message, whose memory stays until the end of the superstep: tag, payload, its length.
    pub fn hpmove(&mut self) -> Option<(*const u8, *const u8, usize)> {
        let first = self.queue.take(&self.inbox)?;
        Some((first.tag, first.payload, first.len))
    }

    /// `hpmove` of a message like the last one; `None`: `hpmove` knows whether there is another one.
    #[inline(always)]
    pub fn hpmove_again(&mut self) -> Option<(*const u8, *const u8, usize)> {
        let first = self.queue.take_again()?;
        Some((first.tag, first.payload, first.len))
    }
}
