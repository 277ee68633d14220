//! A rank's endpoint in the shared memory of its host: the `Transport` of this crate.

use crate::asleep;
use crate::balance::Balance;
use crate::deaths;
use crate::doorbell::{self, Bell};
use crate::fragments::{self, Pipeline};
use crate::frames::{self, FramePool};
use crate::mapped::peers::PeerRegions;
use crate::mapped::{self, own::OwnRegions};
use crate::processors;
use crate::ptracer;
use crate::reply_frames::{Frame, ReplyFrames};
use crate::ring::{self, Receiver, Taken};
use crate::turns::Turns;
use core::cell::OnceCell;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering;
use hpvm_copy::attach::{self, Cost};
use hpvm_copy::slow_stores::SlowStores;
use hpvm_sync::barrier;
use hpvm_transport::{
    Broken, Doorbell, Head, Life, Limits, PREFIX, Packets, PeerMemory, PeerMemoryError, Rank,
    Refused, Segment, Streams,
};
use hpvm_wire::accumulate_lock::Updating;
use hpvm_wire::cell::{BARE_FRAGMENTS, FRAME, INLINE, LINE_PAYLOAD, RawHead};
use hpvm_wire::coll_slots::{COLL_SLOTS, CollSlots, LARGE_SETS, LargeSlot};
use hpvm_wire::counters::{Counters, add};
use hpvm_wire::delegation::DelegationSlot;
use hpvm_wire::segment::{
    FRAME_BYTES, READS_DO_NOT, READS_PAY, SLEEPS_ON_PIPE, SLEEPS_ON_WORD, SLOTS,
};
use hpvm_wire::split_copy::SplitCopy;
use hpvm_wire::traffic::Traffic;
use std::fs::File;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use crate::life::Lives;
use crate::segment::{Mapping, OwnControl, SegmentError};

/// One rank's endpoint.
pub struct Shm {
    pub(crate) mapping: Arc<Mapping>,
    /// This rank's own control block.
    pub(crate) control: OwnControl,
    pub(crate) lives: Arc<Lives>,
    pub(crate) rank: Rank,
    batch: u16,
    pub(crate) receiver: Receiver,
    pub(crate) frames: FramePool,
    pub(crate) reply_frames: ReplyFrames,
    pub(crate) slow_stores: SlowStores,
    /// Incoming messages in fragments that are not complete.
    pub(crate) pipelines: Vec<Pipeline>,
    /// See [`Shm::oversubscribed`].
    pub(crate) oversubscribed: bool,
    /// Whether they take turns, where there are more of them than processors.
    pub(crate) turns: Turns,
    pub(crate) balance: Balance,
    /// Some rank of the host can't use `membarrier`, so senders fence after each publish.
    fences: bool,
    /// The kernel lets peers read our memory only if we declare who may (Yama's ptracer).
    declares_ptracer: bool,
    /// Cleared for good when the kernel refuses a read.
    reads_permitted: bool,
    /// The user prefers reads of a peer's memory to two copies through frames, whatever was measured.
    reads_preferred: bool,
    /// See [`PeerMemory::read_was_slow`].
    read_was_slow: bool,
    /// The value of the doorbell while this rank sleeps: on its word or on a pipe.
    asleep: u32,
    /// For each rank the pipe by which it is woken, once it has been opened.
    pipes: Box<[OnceCell<File>]>,
    /// Memory that this rank lends, and memory of other ranks that it has mapped.
    pub(crate) own_regions: OwnRegions,
    pub(crate) peer_regions: PeerRegions,
    /// See `PeerMemory::min_mapped`.
    pub(crate) min_mapped: u64,
}

impl Shm {
    /// Attaches as `rank`. Every rank attaches once; [`Shm::settle`] follows when all have.
    pub fn attach(mapping: Arc<Mapping>, rank: Rank) -> Result<Shm, SegmentError> {
        let ranks = mapping.ranks();
        if rank >= ranks {
            return Err(SegmentError::Foreign(format!("rank {rank} of {ranks}")));
        }
        let declares_ptracer = ranks > 1 && ptracer::is_needed();
        if declares_ptracer {
            ptracer::allow_any();
        }
        if !barrier::register() {
            // Relaxed: read after the job's bootstrap barrier, which orders it.
            mapping.header().fences.store(1, Ordering::Relaxed);
        }
        let control = mapping.control(rank);
        // Release pairs with the acquire of whoever looks for our pid.
        control.identity.pid.store(std::process::id(), Ordering::Release);
        // Relaxed: for tools. A job that spans hosts changes it later.
        control.identity.rank.store(rank, Ordering::Relaxed);
        // Relaxed: a statistic for tests and tools.
        mapping.attached().fetch_add(1, Ordering::Relaxed);
        processors::show(mapping.header(), control);
        Ok(Shm {
            batch: ring::batch(SLOTS, ranks),
            receiver: Receiver::new(SLOTS),
            frames: FramePool::new(0, ranks),
            reply_frames: ReplyFrames::new(ranks),
            slow_stores: SlowStores::default(),
            pipelines: Vec::new(),
            oversubscribed: false,
            turns: Turns::new(ranks, 0),
            balance: Balance::default(),
            fences: true,
            declares_ptracer,
            reads_permitted: true,
            reads_preferred: false,
            read_was_slow: false,
            asleep: SLEEPS_ON_WORD,
            pipes: (0..ranks).map(|_| OnceCell::new()).collect(),
            own_regions: OwnRegions::default(),
            peer_regions: PeerRegions::default(),
            min_mapped: u64::MAX,
            lives: Arc::new(Lives::new(mapping.clone())),
            control: OwnControl::new(&mapping, rank),
            mapping,
            rank,
        })
    }

    /// The user's answer to whether the ranks of this host share processors, in place of what the ranks would find
    /// out. To be called before the bootstrap barrier, by at least one rank: it holds for all. If ranks give two
    /// answers, "yes" holds.
    pub fn tell_oversubscribed(&self, oversubscribed: bool) {
        processors::tell(self.mapping.header(), oversubscribed);
    }

    /// Finds out whether senders must fence, and whether ranks share processors. To be called after the bootstrap
    /// barrier, when all ranks have attached, and before anything is sent.
    pub fn settle(&mut self) {
        let (header, ranks) = (self.mapping.header(), self.mapping.ranks());
        // Relaxed: the bootstrap barrier orders every rank's store before this load.
        self.fences = header.fences.load(Ordering::Relaxed) != 0;
        let controls: Vec<_> = (0..ranks).map(|rank| self.mapping.control(rank)).collect();
        self.oversubscribed = processors::oversubscribed(header, &controls);
        self.turns = Turns::new(ranks, processors::common(header, &controls));
        // Ranks that take turns on a processor share its cache.
        let (shared, own) = match self.oversubscribed {
            true => (0, 0),
            false => (frames::shared_cache(), mapped::own_cache()),
        };
        self.frames = FramePool::new(shared, ranks);
        self.min_mapped = own;
        if self.declares_ptracer {
            // Acquire pairs with the release in `attach`.
            let pid = |rank| self.mapping.control(rank).identity.pid.load(Ordering::Acquire);
            ptracer::allow_ranks((0..ranks).map(pid));
        }
    }

    /// Whether the ranks of this host share processors, so that a sender and its receiver may never run at the
    /// same time. The same answer on all ranks of the host.
    pub fn oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// The ranks of this host take turns on its processors at present, as far as this one knows.
    #[inline(always)]
    fn take_turns(&self) -> bool {
        self.oversubscribed && self.turns.are_taken()
    }

    /// Ranks of this host that are awake, this one among them.
    fn awake(&self) -> u32 {
        let sleeps = |rank: &Rank| {
            // Relaxed: a hint, which orders nothing.
            self.mapping.control(*rank).doorbell.load(Ordering::Relaxed) != 0
        };
        let ranks = self.mapping.ranks();
        ranks - (0..ranks).filter(|rank| *rank != self.rank && sleeps(rank)).count() as u32
    }

    /// Looks whether the ranks of an oversubscribed host take turns.
    #[cold]
    pub(crate) fn look_for_turns(&mut self) {
        let awake = self.awake();
        if let Some(taken) = self.turns.saw(awake) {
            // Ranks that take turns on a processor have one cache.
            let shared = if taken { 0 } else { frames::shared_cache() };
            self.frames.share(shared, self.turns.processors());
        }
    }

    pub fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// Reads peers' memory (one copy) wherever that is permitted, without measuring whether it pays.
    pub fn prefer_reads(&mut self) {
        self.reads_preferred = true;
    }

    /// The process id of `peer`, whose memory is to be read or written.
    fn peer_process(&self, peer: Rank) -> Result<u32, PeerMemoryError> {
        if !self.reads_permitted {
            return Err(PeerMemoryError::NotPermitted);
        }
        // Acquire pairs with the release in `attach`.
        Ok(self.mapping.control(peer).identity.pid.load(Ordering::Acquire))
    }

    /// Whether reading a peer's memory pays on this host. The first rank that asks measures it for all.
    fn reads_pay(&self) -> bool {
        let reads = &self.mapping.header().reads;
        // Relaxed, all three: a choice between two right ways, which orders nothing.
        let mut known = reads.load(Ordering::Relaxed);
        if known == 0 {
            let cost = attach::measure();
            let measured = if cost.pays { READS_PAY } else { READS_DO_NOT };
            // Relaxed: as above.
            self.mapping.header().cached_read_ns.store(cost.cached_ns, Ordering::Relaxed);
            // Relaxed: as above.
            let first = reads.compare_exchange(0, measured, Ordering::Relaxed, Ordering::Relaxed);
            known = first.err().unwrap_or(measured);
        }
        known == READS_PAY
    }

    /// Whether a read of `len` bytes that took `ns` was slow; never where the user prefers reads.
    fn is_slow(&self, len: usize, ns: u64) -> bool {
        if self.reads_preferred || !self.reads_pay() {
            return false;
        }
        // Relaxed: as in `reads_pay`. 0 while another rank is between its two stores: then no read is slow.
        Cost::is_slow(self.mapping.header().cached_read_ns.load(Ordering::Relaxed), len, ns)
    }

    /// Forbids reads of peers' memory (for tests, and for users whose system forbids them late).
    pub fn forbid_reads(&mut self) {
        self.reads_permitted = false;
        if self.declares_ptracer {
            ptracer::allow_nobody();
        }
    }

    #[inline(always)]
    pub(crate) fn counters_ref(&self) -> &Counters {
        &self.control.counters
    }

    /// Whether `dst` sleeps, or is about to. To be asked after a publish.
    #[inline(always)]
    fn is_asleep(&self, dst: Rank) -> bool {
        asleep::is_announced(&self.mapping.control(dst).doorbell, self.fences)
    }

    /// Wakes `dst` if it sleeps. To be called after a publish.
    #[inline(always)]
    pub(crate) fn wake_if_asleep(&self, dst: Rank) {
        if self.is_asleep(dst) {
            self.ring_doorbell(dst);
        }
    }

    #[cold]
    fn ring_doorbell(&self, dst: Rank) {
        let control = self.mapping.control(dst);
        match doorbell::ring(&control.doorbell) {
            0 => return,
            SLEEPS_ON_PIPE => {
                // If the pipe can't be opened, the rank's sleep ends by itself after 0.5 s at most. The next
                // wake-up tries to open it again: there may have been no free descriptor.
                if let Some(pipe) = self.pipe_of(dst) {
                    doorbell::write(pipe);
                }
            }
            _ => {}
        }
        add(&self.counters_ref().doorbells, 1);
    }

    /// The pipe on which `dst` sleeps, opened when it is first needed.
    fn pipe_of(&self, dst: Rank) -> Option<&File> {
        let opened = &self.pipes[dst as usize];
        if opened.get().is_none() {
            let control = self.mapping.control(dst);
            // Acquire pairs with the releases in `attach` and `sleep_on`.
            let pid = control.identity.pid.load(Ordering::Acquire);
            let fd = control.own.pipe.load(Ordering::Acquire).wrapping_sub(1); // as above
            let _ = opened.set(doorbell::open(pid, fd).ok()?);
        }
        opened.get()
    }

    /// From now on this rank sleeps on a pipe when [`Packets::arm`] has been called. `fd` is the pipe's writing end
    /// in this process.
    pub fn sleep_on(&mut self, fd: RawFd) {
        self.asleep = SLEEPS_ON_PIPE;
        // Release pairs with the acquire in `wake`.
        self.control.own.pipe.store(fd as u32 + 1, Ordering::Release);
    }

    /// Shows the number that this rank has in the job, for tools.
    pub fn show_rank(&self, rank: Rank) {
        // Relaxed: orders nothing.
        self.control.identity.rank.store(rank, Ordering::Relaxed);
    }
}

/// Where the payload of a packet lies.
pub(crate) enum Payload {
    Slot,
    Frame(*const u8, Frame),
    /// In the frames of a message in fragments.
    Fragments,
}

/// Checks a slot's header, which a peer has written, and says where the payload lies that it names.
#[inline(always)]
pub(crate) fn locate(
    mapping: &Mapping,
    rank: Rank,
    head: &RawHead,
    slot: *const u8,
) -> Result<Payload, Broken> {
    if head.src >= mapping.ranks() {
        return Err(corrupt("source rank", head.src, mapping.ranks() - 1));
    }
    if head.flags & FRAME == 0 {
        if head.len as usize > INLINE {
            return Err(corrupt("bytes in a slot", head.len, INLINE as u32));
        }
        return Ok(Payload::Slot);
    }
    // SAFETY: a slot's payload holds at least four readable bytes.
    let number = unsafe { slot.cast::<u32>().read_unaligned() };
    if number >= BARE_FRAGMENTS {
        return Ok(Payload::Fragments);
    }
    let frame = Frame::checked(number)?;
    if head.len as usize > FRAME_BYTES {
        return Err(corrupt("bytes in a frame", head.len, FRAME_BYTES as u32));
    }
    let owner = if frame.mine { rank } else { head.src };
    Ok(Payload::Frame(mapping.frame(owner, frame.index.into()), frame))
}

/// A packet's head as the engine sees it, without the transport's own fields.
#[inline(always)]
pub(crate) fn head_of(raw: &RawHead) -> Head {
    Head { handler: raw.handler, flags: raw.flags & !FRAME, aux: raw.aux, imm: raw.imm }
}

#[cold]
pub(crate) fn corrupt(what: &str, found: u32, most: u32) -> Broken {
    Broken::Corrupt(format!("{what} {found} in the shared-memory ring; expected at most {most}"))
}

impl Packets for Shm {
    #[inline(always)]
    fn rank(&self) -> Rank {
        self.rank
    }

    #[inline(always)]
    fn size(&self) -> u32 {
        self.mapping.ranks()
    }

    #[inline(always)]
    fn limits(&self) -> Limits {
        Limits { inline: INLINE, packet: FRAME_BYTES }
    }

    #[inline]
    fn take_credits(&mut self, dst: Rank) -> u16 {
        ring::take_credits(&self.mapping.control(dst).credits, self.batch)
    }

    #[inline(always)]
    fn send<F: FnOnce(&mut [u8])>(
        &mut self,
        dst: Rank,
        head: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        debug_assert!(len <= FRAME_BYTES && head.flags & FRAME == 0);
        let raw = RawHead {
            src: self.rank,
            imm: head.imm,
            handler: head.handler,
            flags: head.flags,
            aux: head.aux,
            len: len as u32,
        };
        if len <= INLINE {
            let claim = self.claim(dst);
            let cell = claim.cell();
            let mut aside = MaybeUninit::uninit();
            let near = len <= LINE_PAYLOAD;
            let to = if near { cell.payload() } else { aside.write([0; INLINE]).as_mut_ptr() };
            // SAFETY: the claimed slot is ours until published; `len` fits in its payload, which has
            // `INLINE` bytes, and `aside` is written where it is read.
            unsafe {
                fill(core::slice::from_raw_parts_mut(to, len));
                if near {
                    cell.write_head(raw);
                } else {
                    cell.write_backwards(raw, aside.assume_init_ref());
                }
            }
            claim.publish();
        } else {
            // Filled before the claim: a slow copy must not hold a slot unpublished.
            let Some(frame) = self.fill_frame(dst, len, fill) else {
                add(&self.counters_ref().frame_stalls, 1);
                return Err(Refused::NoBuffer);
            };
            let claim = self.claim(dst);
            // SAFETY: the claimed slot is ours until published; four bytes fit.
            unsafe {
                claim.cell().write_head(RawHead { flags: raw.flags | FRAME, ..raw });
                claim.cell().payload().cast::<u32>().write_unaligned(frame.number());
            }
            claim.publish();
        }
        self.wake_if_asleep(dst);
        let c = self.counters_ref();
        add(&c.packets_sent, 1);
        add(&c.bytes_sent, len as u64);
        Ok(())
    }

    #[inline(always)]
    fn poll<F: FnMut(Rank, Head, &[u8])>(
        &mut self,
        budget: usize,
        mut sink: F,
    ) -> Result<usize, Broken> {
        if !self.pipelines.is_empty() {
            return self.poll_pipelines(budget, (0, 0), sink);
        }
        let mapping = &*self.mapping;
        let control = &*self.control;
        let cells = mapping.ring(self.rank);
        let mut packets = 0;
        let mut bytes = 0;
        while bytes < budget {
            let taken = match self.receiver.next(&control.tail, cells) {
                Ok(Some(taken)) => taken,
                Ok(None) => break,
                Err(halt) => {
                    match deaths::halted(
                        halt,
                        &mut self.receiver,
                        (mapping, self.rank),
                        &self.lives,
                    )? {
                        true => continue,
                        false => break,
                    }
                }
            };
            let Taken { ticket, cell, leapt } = taken;
            // SAFETY: `next` returned it published, and it is ours until `done`.
            let raw = unsafe { cell.read_head() };
            let mut payload = cell.payload().cast_const();
            let mut read = None;
            match locate(mapping, self.rank, &raw, payload)? {
                Payload::Slot => {}
                Payload::Frame(start, frame) => (payload, read) = (start, Some(frame)),
                // `poll_pipelines` takes the slot once more.
                Payload::Fragments => return self.poll_pipelines(budget, (packets, bytes), sink),
            }
            // SAFETY: `locate` checked that `len` bytes lie inside the slot or the frame, and
            // both are ours to read until they are given back below.
            let payload = unsafe { core::slice::from_raw_parts(payload, raw.len as usize) };
            sink(raw.src, head_of(&raw), payload);
            if let Some(frame) = read {
                self.reply_frames.keep(mapping, self.rank, raw.src, frame);
            }
            self.receiver.done(ticket, &control.credits, SLOTS);
            packets += 1;
            bytes += 64 + raw.len as usize;
            if leapt {
                add(&control.counters.leapfrogs, 1);
            }
        }
        if packets != 0 {
            add(&control.counters.packets_received, packets as u64);
        }
        Ok(packets)
    }

    fn arm(&mut self) -> bool {
        let control = &*self.control;
        asleep::announce(&control.doorbell, self.asleep, || !self.fences && barrier::everywhere());
        let mut pipelines = self.pipelines.iter();
        if self.receiver.pending(&control.tail)
            || pipelines.any(|pipeline| pipeline.waits(&self.mapping, self.rank))
        {
            self.disarm();
            return false;
        }
        add(&control.counters.sleeps, 1);
        true
    }

    fn disarm(&mut self) {
        // Relaxed: a late ring only costs its sender a system call.
        self.control.doorbell.store(0, Ordering::Relaxed);
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Bell::new(self.mapping.clone(), self.rank))
    }

    #[inline(always)]
    fn stores_are_slow(&self, dst: Rank) -> bool {
        // A receiver that runs later finds the data in memory anyway.
        self.take_turns() || (self.slow_stores.are_slow() && !self.reply_frames.serves(dst))
    }

    #[inline(always)]
    fn max_fragmented(&self, _: Rank) -> u64 {
        if self.take_turns() { 0 } else { fragments::MAX_LEN as u64 }
    }

    fn send_fragments<F: FnMut(usize, &mut [u8], bool)>(
        &mut self,
        dst: Rank,
        first: Option<(Head, &[u8; PREFIX])>,
        rest: Head,
        len: usize,
        fill: F,
    ) -> Result<(), Refused> {
        self.send_pipeline(dst, first, rest, len, fill)
    }
}

impl PeerMemory for Shm {
    fn read_pays(&self, src: Rank) -> bool {
        self.can_read(src) && (self.reads_preferred || self.reads_pay())
    }

    fn can_read(&self, src: Rank) -> bool {
        self.reads_permitted && src < self.size()
    }

    fn read_was_slow(&self) -> bool {
        self.read_was_slow
    }

    unsafe fn read(
        &mut self,
        src: Rank,
        remote: u64,
        local: *mut u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let pid = self.peer_process(src)?;
        let start = Instant::now();
        // SAFETY: the caller promises that `local` is valid for `len` bytes.
        let result =
            unsafe { attach::read(pid, remote, local, len) }.map_err(PeerMemoryError::from);
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.read_was_slow = self.is_slow(len, ns);
        match result {
            Ok(()) => add(&self.counters_ref().peer_bytes_read, len as u64),
            Err(PeerMemoryError::NotPermitted) => {
                self.reads_permitted = false;
                // Relaxed: a hint to senders, which orders nothing.
                self.mapping.header().reads.store(READS_DO_NOT, Ordering::Relaxed);
            }
            Err(PeerMemoryError::Gone | PeerMemoryError::Failed(_)) => {}
        }
        result
    }

    unsafe fn write(
        &mut self,
        dst: Rank,
        remote: u64,
        local: *const u8,
        len: usize,
    ) -> Result<(), PeerMemoryError> {
        let pid = self.peer_process(dst)?;
        // SAFETY: the caller promises that `local` is valid for `len` bytes.
        unsafe { attach::write(pid, remote, local, len) }?;
        add(&self.counters_ref().peer_bytes_written, len as u64);
        Ok(())
    }

    fn mapped(&mut self, src: Rank, remote: u64, len: u64) -> Option<*const u8> {
        self.mapped_of(src, remote, len)
    }

    fn min_mapped(&self) -> u64 {
        self.min_mapped
    }

    fn lend(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        self.lend_region(bytes)
    }

    fn lend_at(&mut self, address: usize, bytes: usize) -> Option<NonNull<u8>> {
        self.lend_region_at(address, bytes)
    }

    fn take_back(&mut self, memory: *mut u8) -> bool {
        self.take_back_region(memory)
    }

    fn mapped_mut(&mut self, owner: Rank, remote: u64, len: u64) -> Option<NonNull<u8>> {
        self.mapped_mut_of(owner, remote, len)
    }
}

impl Streams for Shm {}

impl Segment for Shm {
    fn split_copy(&self, owner: Rank, index: usize) -> Option<&SplitCopy> {
        let there = !self.oversubscribed && owner < self.mapping.ranks();
        if there { self.mapping.control(owner).split_copies.get(index) } else { None }
    }

    #[inline(always)]
    fn traffic(&self) -> Option<&Traffic> {
        Some(self.mapping.traffic(self.rank))
    }

    fn counters(&self) -> Option<&Counters> {
        Some(self.counters_ref())
    }

    fn updating(&self, rank: Rank) -> Option<&Updating> {
        (rank < self.mapping.ranks()).then(|| &self.mapping.control(rank).updating.0)
    }

    fn life(&self) -> Option<Arc<dyn Life>> {
        Some(self.lives.clone())
    }

    #[inline(always)]
    fn delegation(&self, rank: Rank) -> Option<&DelegationSlot> {
        (rank < self.mapping.ranks()).then(|| self.mapping.delegation(rank))
    }

    #[inline(always)]
    fn coll_slots(&self, rank: Rank, index: usize) -> Option<&CollSlots> {
        (rank < self.mapping.ranks() && index < COLL_SLOTS)
            .then(|| self.mapping.coll_slots(rank, index))
    }

    #[inline(always)]
    fn large_slot(&self, rank: Rank, index: usize, number: u64) -> Option<&LargeSlot> {
        let there = rank < self.mapping.ranks() && index < LARGE_SETS;
        there.then(|| self.mapping.large_slot(rank, index, number))
    }

    #[inline(always)]
    fn announce(&self, reader: Rank) -> bool {
        self.is_asleep(reader)
    }

    #[inline(always)]
    fn wake(&self, dst: Rank) {
        self.wake_if_asleep(dst);
    }

    fn call(&self, dst: Rank) {
        self.show_processor();
        self.wake_if_asleep(dst);
    }
}
