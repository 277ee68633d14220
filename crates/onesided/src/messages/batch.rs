//! Small puts and updates in a row to one rank share packets. While an answer of that rank is awaited they gather here. They leave when
//! no answer is awaited any more, when a packet is full, before anything else goes to that rank, and when the process begins to wait.
//!
//! So the first of a row leaves at once, and none waits longer than an answer takes: no clock is needed, and who computes after a
//! put need not call anything, because the answer wakes the thread that makes progress.
//!
//! Puts before a notice ([`Completion::Notice`]) gather although no answer is awaited: nobody looks at them before the notice, and they
//! leave together with it.

use crate::kind::{AtomicOp, Kind};
use crate::messages::packets::{RUN_BYTES, RegionName, WORD_BYTES, Writer};
use crate::region::{Path, Target};
use crate::{OneSided, mapped};
use hpvm_fm::{Fm, Transport};

/// Longest data of a put or an update that gathers, bytes. Longer ones are worth a packet, and are not copied twice.
pub(crate) const GATHERED_BYTES_MAX: usize = 256;
/// Runs that gather for one packet, bytes: some datagrams that leave in one call of the system.
const BATCH_BYTES_MAX: usize = 4096;

/// What the runs of a batch have in common: what their packet says once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Put(RegionName),
    /// Without a fetch.
    Update(RegionName, Kind, AtomicOp),
}

/// How anybody learns that an operation that fetches nothing has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The origin asks, by a flush or earlier.
    #[default]
    Flush,
    /// The model tells the owner, in a packet behind the operation; the origin asks for nothing.
    Notice,
}

/// Runs that have not left, as a packet carries them: offset, length, data.
#[derive(Default)]
pub(crate) struct Batch {
    of: Option<Of>,
    runs: Vec<u8>,
    /// `Notice` only if it is that of all runs.
    completion: Completion,
}

impl Batch {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.of.is_none()
    }

    /// Whether a run of `len` bytes of data may join, where a packet has `packet` bytes.
    pub fn takes(&self, of: Of, len: usize, packet: usize) -> bool {
        // A packet names a region, what is done to elements, and an operation, besides the runs.
        let most = BATCH_BYTES_MAX.min(packet - 2 * WORD_BYTES);
        self.of.is_none_or(|other| other == of) && self.runs.len() + RUN_BYTES + len <= most
    }

    /// Adds a run that it `takes`.
    ///
    /// # Safety
    /// `data` is readable for `len` bytes.
    pub unsafe fn add(
        &mut self,
        (of, completion): (Of, Completion),
        offset: u64,
        data: *const u8,
        len: usize,
    ) {
        if self.of.replace(of).is_none() || completion == Completion::Flush {
            self.completion = completion;
        }
        let before = self.runs.len();
        self.runs.resize(before + RUN_BYTES + len, 0);
        let mut out = Writer(&mut self.runs[before..]);
        out.word(offset);
        out.word(len as u64);
        // SAFETY: the caller's promise; there is as much room.
        unsafe { mapped::copy(data, out.take(len).as_mut_ptr(), len) };
    }

    pub fn completion(&self) -> Completion {
        self.completion
    }

    /// What has gathered.
    pub fn content(&self) -> Option<(Of, &[u8])> {
        Some((self.of?, &self.runs))
    }

    /// It has left.
    pub fn clear(&mut self) {
        self.of = None;
        self.runs.clear();
    }
}

impl OneSided {
    /// Lets a small put or update that goes in packets gather with those before it. False: it has to travel by itself.
    ///
    /// # Safety
    /// The data are readable.
    pub(crate) unsafe fn gather<T: Transport>(
        &mut self,
        fm: &mut Fm<T>,
        target: &Target,
        (of, offset): (Of, u64),
        completion: Completion,
        data: (*const u8, usize),
    ) -> bool {
        let (rank, of) = (target.key.rank, (of, completion));
        // SAFETY: the caller's promise.
        target.path == Path::Messages
            && unsafe { self.queues.gather(fm, rank, &mut self.under_way, (of, offset), data) }
    }

    /// Sends small puts and updates that have gathered. To be called before this rank waits for what others do.
    #[inline(always)]
    pub fn send_batches<T: Transport>(&mut self, fm: &mut Fm<T>) {
        if self.queues.gathers() {
            self.queues.send_batches(fm, &mut self.under_way);
        }
    }

    /// Whether small puts and updates may have gathered that have not left.
    pub fn gathers(&self) -> bool {
        self.queues.gathers()
    }
}
