//! The end of a superstep: the total exchange.

use crate::buffer::Buffer;
use crate::carrier::{Carrier, Shown, Tag};
use crate::conflict::Claims;
use crate::counts::{COMMON_WORDS, Common, difference};
use crate::fault::Fault;
use crate::prefetch;
use crate::process::Process;
use crate::queue::Queue;
use crate::record::{Kind, OFFSET, Record, Records, offset};
use crate::tip::copy_small;

/// A large block that comes to us.
struct Incoming {
    peer: usize,
    into: *mut u8,
    len: usize,
    /// Its number among the claims; a message has none.
    claim: Option<usize>,
    /// Where it is until its turn comes; null if it goes straight to `into`.
    staged: *mut u8,
}

/// A large block of ours that a get asked for.
struct Read {
    peer: usize,
    from: *mut u8,
    len: usize,
    claim: usize,
}

/// What the packed messages say, beyond small things.
#[derive(Default)]
struct Survey {
    claims: Claims,
    reads: Vec<Read>,
    /// Puts and messages, as they are announced.
    incoming: Vec<Incoming>,
    /// What our large gets bring.
    brought: Vec<Incoming>,
    messages: usize,
    payload: usize,
}

impl Process {
    /// Ends the superstep: `bsp_sync`, or `bsp_end`, at which nothing travels.
    pub fn sync(&mut self, carrier: &mut impl Carrier, end: bool) -> Result<(), Fault> {
        let (pushes, pops) = (self.registry.pushes(), self.registry.pops());
        let common = Common {
            superstep: self.superstep,
            end,
            pushes,
            pops,
            tag: self.tags.next as u64,
            tag_calls: self.tags.calls,
        };
        let digest = common.digest();
        for to in 0..self.processes() {
            self.rows_end(to)?;
        }
        let mut busy = false;
        for (out, counts) in self.out.iter_mut().zip(&mut self.counts_out) {
            out.close()?;
            *counts = common.counts(digest, out.buffer.len());
            busy |= !out.buffer.is_empty();
        }
        if busy && carrier.in_place(Shown::Packed) {
            self.show_packed(carrier)?;
        }
        carrier.all_to_all(&self.counts_out, &mut self.counts_in)?;
        if self.counts_in.iter().any(|counts| counts.digest != digest) {
            let mut all = vec![0; COMMON_WORDS * self.processes()];
            carrier.all_gather(&common.words(), &mut all)?;
            return Err(difference(&all));
        }
        if !end {
            self.arrivals.reset()?;
            self.queue.clear();
            if busy || self.counts_in.iter().any(|counts| counts.bytes() > 0) {
                self.exchange(carrier)?;
            }
            self.tags.sending = self.tags.next;
            if pushes + pops > 0 {
                self.exchange_registrations(carrier)?;
            }
        }
        self.superstep += 1;
        self.tags.calls = 0;
        Ok(())
    }

    fn exchange_registrations(&mut self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        let own = self.registry.own_words();
        let mut all = vec![0; own.len() * self.processes()];
        carrier.all_gather(&own, &mut all)?;
        self.registry.agree(&all)
    }

    fn exchange(&mut self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        self.exchange_packed(carrier)?;
        let inbox = std::mem::take(&mut self.inbox);
        let mut survey = self.survey(&inbox)?;
        if self.settings.checks {
            crate::races::look(&self.registry, self.tags.sending, &inbox)?;
        }
        self.claim(&inbox, &mut survey);
        self.exchange_large(carrier, &mut survey)?;
        self.write_gets(&inbox, &survey)?;
        self.write_puts(&inbox, &survey)?;
        let mut large: Vec<_> =
            survey.incoming.iter().filter(|block| block.claim.is_none()).collect();
        large.sort_by_key(|block| std::cmp::Reverse(block.peer));
        let large = large.iter().map(|block| block.staged.cast_const()).collect();
        let tag = self.tags.sending;
        self.queue = Queue::new(tag, self.processes(), survey.messages, survey.payload, large);
        self.inbox = inbox;
        self.out.iter_mut().for_each(|out| out.clear());
        self.copies.reset()
    }

    /// The other processes, beginning with the next one, so that not all begin with the same.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (pid, processes) = (self.pid, self.processes());
        (1..processes).map(move |i| (pid + i) % processes)
    }

    fn show_packed(&self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        for peer in self.others() {
            let buffer = &self.out[peer].buffer;
            if !buffer.is_empty() {
                carrier.show(peer, Shown::Packed, buffer)?;
            }
        }
        Ok(())
    }

    fn exchange_packed(&mut self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        std::mem::swap(&mut self.out[self.pid].buffer, &mut self.inbox[self.pid]);
        if !carrier.in_place(Shown::Packed) {
            return self.send_packed(carrier);
        }
        carrier.turn(&self.counts_out, &self.counts_in);
        for peer in self.others() {
            let (len, inbox) = (self.counts_in[peer].bytes(), &mut self.inbox[peer]);
            inbox.clear();
            if len > 0 {
                carrier.view(peer, Shown::Packed, len, inbox)?;
                prefetch::begin(inbox.as_ptr(), inbox.len());
            }
        }
        Ok(())
    }

    fn send_packed(&mut self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        for peer in self.others() {
            let len = self.counts_in[peer].bytes();
            let into = self.inbox[peer].prepare(len)?;
            if len > 0 {
                // SAFETY: the buffer stays until the end of the exchange.
                unsafe { carrier.receive(peer, Tag::Packed, into, len)? };
            }
        }
        for peer in self.others() {
            let buffer = &self.out[peer].buffer;
            if !buffer.is_empty() {
                // SAFETY: the buffer stays until the end of the exchange.
                unsafe { carrier.send(peer, Tag::Packed, buffer.as_ptr(), buffer.len())? };
            }
        }
        Ok(carrier.complete()?)
    }

    /// Reads what all processes have sent: answers small gets, lists what is large. Writes nothing of the program's.
    fn survey(&mut self, inbox: &[Buffer]) -> Result<Survey, Fault> {
        let mut survey = Survey::default();
        for (peer, buffer) in inbox.iter().enumerate() {
            self.answers[peer].clear();
            let mut own = 0;
            for record in Records::new(buffer.as_slice(), self.tags.sending) {
                let record = record.map_err(|at| malformed(peer, at.0))?;
                match record.header.kind {
                    Kind::Puts => {}
                    Kind::Gets => self.read_small(peer, buffer, &record)?,
                    Kind::Messages => {
                        survey.messages += record.count();
                        survey.payload += record.count() * record.len();
                    }
                    Kind::LargeGet => {
                        let (from, len) = (self.large_block(peer, &record)?, record.len());
                        let claim = survey.claims.add(from.addr(), len, false);
                        survey.reads.push(Read { peer, from, len, claim });
                    }
                    Kind::LargePut | Kind::LargeMessage => {
                        let block = self.announced(peer, &record, own, &mut survey)?;
                        survey.incoming.push(block);
                        own += 1;
                    }
                }
            }
        }
        self.survey_brought(&mut survey);
        Ok(survey)
    }

    /// What a record of a large put or message announces; it is the `n`th of its sender.
    fn announced(
        &mut self,
        peer: usize,
        record: &Record,
        n: usize,
        survey: &mut Survey,
    ) -> Result<Incoming, Fault> {
        let (mut into, len) = (std::ptr::null_mut(), record.len());
        // What this process sends to itself is here already.
        let own = (peer == self.pid).then(|| self.out[peer].large[n].start);
        let mut claim = None;
        let staged;
        if record.header.kind == Kind::LargePut {
            into = self.large_block(peer, record)?;
            claim = Some(survey.claims.add(into.addr(), len, true));
            staged = own.unwrap_or_default();
        } else {
            survey.messages += 1;
            survey.payload += len;
            staged = match own {
                // SAFETY: a copy of ours of as many bytes.
                Some(from) => unsafe { self.arrivals.copy(from, len)? },
                None => self.arrivals.take(len)?,
            };
        }
        Ok(Incoming { peer, into, len, claim, staged })
    }

    fn survey_brought(&mut self, survey: &mut Survey) {
        for (peer, out) in self.out.iter().enumerate() {
            for block in &out.large_wanted {
                let claim = Some(survey.claims.add(block.start.addr(), block.len, true));
                let (into, len, staged) = (block.start, block.len, std::ptr::null_mut());
                survey.brought.push(Incoming { peer, into, len, claim, staged });
            }
        }
    }

    fn large_block(&self, peer: usize, record: &Record) -> Result<*mut u8, Fault> {
        let (slot, at, len) = (record.header.slot, record.count(), record.len());
        self.registry.block(slot, at, len).ok_or_else(|| outside(peer, slot, at, len))
    }

    fn read_small(&mut self, peer: usize, buffer: &Buffer, record: &Record) -> Result<(), Fault> {
        let (slot, len) = (record.header.slot, record.len());
        let (base, size) = self.registry.whole(slot).ok_or_else(|| outside(peer, slot, 0, len))?;
        let total = len.checked_mul(record.count()).ok_or_else(|| Fault::no_memory(usize::MAX))?;
        let answer = &mut self.answers[peer];
        answer.reserve(total)?;
        let body = &buffer.as_slice()[record.body..record.body + record.body_len];
        // SAFETY: there is room for all of the record.
        let outside_at = unsafe {
            match len {
                8 => gather(body, base, size, 8, answer.end()),
                4 => gather(body, base, size, 4, answer.end()),
                _ => gather(body, base, size, len, answer.end()),
            }
        };
        if let Some(at) = outside_at {
            return Err(outside(peer, slot, at, len));
        }
        // SAFETY: they were just written.
        unsafe { answer.advance(total) };
        Ok(())
    }

    /// Finds which large blocks meet other accesses.
    fn claim(&self, inbox: &[Buffer], survey: &mut Survey) {
        if survey.claims.is_empty() {
            return;
        }
        survey.claims.settle();
        for buffer in inbox {
            for record in Records::new(buffer.as_slice(), self.tags.sending).flatten() {
                if record.header.kind == Kind::Puts
                    && let Some((base, _)) = self.registry.whole(record.header.slot)
                {
                    let body = &buffer.as_slice()[record.body..record.body + record.body_len];
                    for entry in body.chunks_exact(OFFSET + record.len()) {
                        survey.claims.write(base.addr() + offset(entry), record.len());
                    }
                }
            }
        }
        for peer in 0..self.processes() {
            let mut wanted = self.out[peer].wanted.iter();
            for record in self.own_gets(peer, inbox) {
                match record.header.kind {
                    Kind::Gets => {
                        for into in wanted.by_ref().take(record.count()) {
                            survey.claims.write(into.addr(), record.len());
                        }
                    }
                    _ => _ = wanted.next(),
                }
            }
        }
    }

    /// The records of what this process gets from another, or itself.
    fn own_gets<'a>(
        &'a self,
        peer: usize,
        inbox: &'a [Buffer],
    ) -> impl Iterator<Item = Record> + 'a {
        let buffer = if peer == self.pid { &inbox[peer] } else { &self.out[peer].buffer };
        let bytes = if self.out[peer].wanted.is_empty() { &[] } else { buffer.as_slice() };
        let records = Records::new(bytes, self.tags.sending).flatten();
        records.filter(|record| matches!(record.header.kind, Kind::Gets | Kind::LargeGet))
    }

    /// Answers of gets, and all that is large. Afterwards nothing of this superstep is under way.
    fn exchange_large(
        &mut self,
        carrier: &mut impl Carrier,
        survey: &mut Survey,
    ) -> Result<(), Fault> {
        let in_place = carrier.in_place(Shown::Answer);
        let mut started = if in_place {
            self.show_answers(carrier)?;
            false
        } else {
            self.exchange_answers(carrier)?
        };
        started |= self.receive_large(carrier, survey)?;
        for peer in self.others() {
            let out = &self.out[peer];
            started |= !out.large.is_empty();
            for block in &out.large {
                // SAFETY: a copy of ours, or the program's block, which the program leaves alone (`bsp_hpput`).
                unsafe { carrier.send(peer, Tag::Large, block.start, block.len)? };
            }
        }
        started |= self.send_large_answers(carrier, survey)?;
        if started {
            carrier.complete()?;
        }
        if in_place { self.view_answers(carrier) } else { Ok(()) }
    }

    /// Starts to send and to receive what small gets bring; false: there is nothing of that.
    fn exchange_answers(&mut self, carrier: &mut impl Carrier) -> Result<bool, Fault> {
        let mut started = false;
        for peer in self.others() {
            let len = self.out[peer].answer;
            if len > 0 {
                let into = self.replies[peer].prepare(len)?;
                // SAFETY: the buffer stays until the next exchange.
                unsafe { carrier.receive(peer, Tag::Answer, into, len)? };
                started = true;
            }
        }
        for peer in self.others() {
            let answer = &self.answers[peer];
            if !answer.is_empty() {
                // SAFETY: the buffer stays until the next exchange.
                unsafe { carrier.send(peer, Tag::Answer, answer.as_ptr(), answer.len())? };
                started = true;
            }
        }
        Ok(started)
    }

    fn show_answers(&self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        for peer in self.others() {
            let answer = &self.answers[peer];
            if !answer.is_empty() {
                carrier.show(peer, Shown::Answer, answer)?;
            }
        }
        Ok(())
    }

    fn view_answers(&mut self, carrier: &mut impl Carrier) -> Result<(), Fault> {
        for peer in self.others() {
            let (len, reply) = (self.out[peer].answer, &mut self.replies[peer]);
            reply.clear();
            if len > 0 {
                carrier.view(peer, Shown::Answer, len, reply)?;
                prefetch::begin(reply.as_ptr(), reply.len());
            }
        }
        Ok(())
    }

    fn receive_large(
        &mut self,
        carrier: &mut impl Carrier,
        survey: &mut Survey,
    ) -> Result<bool, Fault> {
        let mut started = false;
        let lists = [(Tag::Large, &mut survey.incoming), (Tag::LargeAnswer, &mut survey.brought)];
        for (tag, list) in lists {
            for block in list.iter_mut().filter(|block| block.peer != self.pid) {
                let conflict = block.claim.is_some_and(|claim| survey.claims.conflicts(claim));
                if conflict {
                    block.staged = self.arrivals.take(block.len)?;
                }
                let into = if block.staged.is_null() { block.into } else { block.staged };
                // SAFETY: a block of ours for this superstep, or the program's memory, which nothing else touches.
                unsafe { carrier.receive(block.peer, tag, into, block.len)? };
                started = true;
            }
        }
        Ok(started)
    }

    /// Sends what others get; what this process gets of itself is noted where it is to be found.
    fn send_large_answers(
        &mut self,
        carrier: &mut impl Carrier,
        survey: &mut Survey,
    ) -> Result<bool, Fault> {
        let mut started = false;
        let mut own = survey.brought.iter_mut().filter(|block| block.peer == self.pid);
        for read in &survey.reads {
            let mut from = read.from;
            if survey.claims.conflicts(read.claim) {
                // SAFETY: `survey` has checked the block. Arrivals stay until the next superstep.
                from = unsafe { self.arrivals.copy(from, read.len)? };
            }
            if read.peer != self.pid {
                // SAFETY: a copy, or the program's memory, which nothing writes before all is complete.
                unsafe { carrier.send(read.peer, Tag::LargeAnswer, from, read.len)? };
                started = true;
            } else if let Some(block) = own.next() {
                block.staged = from;
            }
        }
        Ok(started)
    }

    /// Writes what this process gets.
    fn write_gets(&self, inbox: &[Buffer], survey: &Survey) -> Result<(), Fault> {
        let mut large = survey.brought.iter();
        for peer in 0..self.processes() {
            let answer = if peer == self.pid { &self.answers[peer] } else { &self.replies[peer] };
            let mut from = answer.as_ptr();
            let mut wanted = self.out[peer].wanted.as_slice();
            for record in self.own_gets(peer, inbox) {
                if record.header.kind == Kind::LargeGet {
                    wanted = wanted.get(1..).unwrap_or_default();
                    large.next().into_iter().for_each(write_staged);
                    continue;
                }
                let (places, rest) = wanted.split_at(record.count().min(wanted.len()));
                wanted = rest;
                // SAFETY: the answer has the bytes of all our small gets from this process; the program vouches for the
                // places.
                unsafe {
                    from = match record.len() {
                        8 => deliver(from, places, 8),
                        4 => deliver(from, places, 4),
                        len => deliver(from, places, len),
                    };
                }
            }
        }
        Ok(())
    }

    /// Writes what all processes put here.
    fn write_puts(&self, inbox: &[Buffer], survey: &Survey) -> Result<(), Fault> {
        let mut large = survey.incoming.iter();
        for (peer, buffer) in inbox.iter().enumerate() {
            for record in Records::new(buffer.as_slice(), self.tags.sending).flatten() {
                match record.header.kind {
                    Kind::Puts => self.write_small(peer, buffer, &record)?,
                    Kind::LargePut => large.next().into_iter().for_each(write_staged),
                    Kind::LargeMessage => _ = large.next(),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn write_small(&self, peer: usize, buffer: &Buffer, record: &Record) -> Result<(), Fault> {
        let (slot, len) = (record.header.slot, record.len());
        let (base, size) = self.registry.whole(slot).ok_or_else(|| outside(peer, slot, 0, len))?;
        let body = &buffer.as_slice()[record.body..record.body + record.body_len];
        let outside_at = match len {
            8 => scatter(body, base, size, 8),
            4 => scatter(body, base, size, 4),
            _ => scatter(body, base, size, len),
        };
        outside_at.map_or(Ok(()), |at| Err(outside(peer, slot, at, len)))
    }
}

/// Reads what a record of gets asks for out of a block of `size` bytes, and writes it one behind the other. Returns an
/// offset outside of the block, if there is one.
///
/// # Safety
/// There is room for all of it at `into`, which is no part of the block; the block is readable.
#[inline(always)]
unsafe fn gather(
    body: &[u8],
    base: *const u8,
    size: usize,
    len: usize,
    into: *mut u8,
) -> Option<usize> {
    for (i, entry) in body.chunks_exact(OFFSET).enumerate() {
        prefetch::reading(entry.as_ptr());
        let at = offset(entry);
        if at + len > size {
            return Some(at);
        }
        // SAFETY: the block has these bytes; the caller vouches for the room.
        unsafe {
            copy_small(base.add(at), into.add(i * len), len);
        }
    }
    None
}

/// Writes what the gets of a record bring, `len` bytes to each place; returns where the next record's begin.
///
/// # Safety
/// The bytes are readable one behind the other at `from`, and the places writable.
#[inline(always)]
unsafe fn deliver(mut from: *const u8, places: &[*mut u8], len: usize) -> *const u8 {
    for into in places {
        prefetch::reading(from);
        // SAFETY: the caller's promise.
        unsafe {
            copy_small(from, *into, len);
            from = from.add(len);
        }
    }
    from
}

/// Writes what a record of puts brings into our block of `size` bytes, up to an offset outside of it, which it returns.
#[inline(always)]
fn scatter(body: &[u8], base: *mut u8, size: usize, len: usize) -> Option<usize> {
    for entry in body.chunks_exact(OFFSET + len) {
        prefetch::reading(entry.as_ptr());
        let at = offset(entry);
        if at + len > size {
            return Some(at);
        }
        // SAFETY: the block has these bytes, as the program has said, and the entry this data.
        unsafe { copy_small(entry.as_ptr().add(OFFSET), base.add(at), len) };
    }
    None
}

/// Brings a block that waited to where it belongs.
fn write_staged(block: &Incoming) {
    if !block.staged.is_null() {
        // SAFETY: both have `len` bytes. A process may put from one part of its block to another.
        unsafe { std::ptr::copy(block.staged, block.into, block.len) };
    }
}

fn malformed(peer: usize, at: usize) -> Fault {
    Fault::new(format!(
        "what process {peer} has sent is no packed message at byte {at}; are all processes of one version of the library?"
    ))
}

fn outside(peer: usize, slot: u32, at: usize, len: usize) -> Fault {
    Fault::new(format!(
        "process {peer} accesses {len} bytes at offset {at} of registration {slot}, which is no memory of this process"
    ))
}
