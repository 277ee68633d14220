//! `HPVM_CHECK` for windows: accesses to the same bytes that nothing orders, and synchronisation that does not fit.
//! What a rank's own operations do to each other is looked at wherever that rank orders them, what those of several
//! ranks do at fences, which all of them call.

use super::access::There;
use super::flush::Extent;
use crate::audit::{self, Notes};
use crate::body::agree;
use crate::body::check::wrong;
use crate::object::win::WinObject;
use crate::runtime::Entered;
use core::ops::Range;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::conflicts::{Access, Log, Use};
use hpvm_mpi::rma::layout::{Parts, Side};
use hpvm_mpi::{Class, Error};
use std::cell::RefCell;

/// A use in messages: first byte, end, code of the access.
const WORDS: usize = 3;
const BYTES: usize = WORDS * 8;

impl WinObject {
    /// Notes what an operation does until something orders it.
    pub(super) fn note_use(&self, there: &There<'_>, side: &Side, access: Access) {
        let Some(uses) = &self.uses else { return };
        let log = &mut uses.borrow_mut()[there.rank];
        for part in Parts::new([side.clone()]) {
            let first = there.at.wrapping_add(part.offsets[0]) as u64;
            let (end, origin) = (first.saturating_add(part.len), self.rank() as u32);
            log.note(Use { first, end, origin, access });
        }
    }

    /// The operations of this rank at `targets` are complete: looks whether they met each other.
    pub(super) fn check_uses(&self, targets: Range<usize>, extent: Extent) -> Result<()> {
        match &self.uses {
            None => Ok(()),
            Some(uses) => self.check_noted(uses, targets, extent),
        }
    }

    #[cold]
    fn check_noted(
        &self,
        uses: &RefCell<Vec<Log>>,
        targets: Range<usize>,
        extent: Extent,
    ) -> Result<()> {
        let mut result = Ok(());
        for target in targets {
            let log = &mut uses.borrow_mut()[target];
            if let Some(pair) = log.conflict() {
                result = result.and(Err(self.conflict(target, pair)));
            }
            match extent {
                Extent::Local if result.is_ok() => log.complete_locally(),
                _ => log.clear(),
            }
        }
        result
    }

    /// All ranks call `MPI_Win_fence`: looks whether what any of them did met at this rank's memory.
    pub(super) fn check_all_origins(&self, w: &mut Entered) -> Result<()> {
        let Some(uses) = &self.uses else { return Ok(()) };
        let logs: Vec<Log> = uses.borrow_mut().iter_mut().map(std::mem::take).collect();
        let mut here = w.outside(|| self.gather_uses(&logs))?;
        here.conflict().map_or(Ok(()), |pair| Err(self.conflict(self.rank(), pair)))
    }

    /// Sends every rank what this rank did there; what all ranks did here.
    fn gather_uses(&self, logs: &[Log]) -> Result<Log> {
        let counts: Vec<[u64; 1]> = logs.iter().map(|log| [log.uses().len() as u64]).collect();
        let counts_here = agree::exchange_words(self.comm, &counts)?;
        let (send_parts, sent) = parts(&counts);
        let (recv_parts, due) = parts(&counts_here);
        let mut send = Vec::with_capacity(sent);
        for one in logs.iter().flat_map(Log::uses) {
            for word in [one.first, one.end, one.access.code()] {
                send.extend_from_slice(&word.to_le_bytes());
            }
        }
        let mut recv = vec![0; due];
        agree::exchange_bytes(self.comm, (&send, &send_parts), (&mut recv, &recv_parts))?;
        let mut log = Log::default();
        for (origin, (at, len)) in recv_parts.iter().enumerate() {
            for bytes in recv[*at..at + len].as_chunks::<BYTES>().0 {
                let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
                let [first, end, code] = words.collect::<Vec<_>>()[..] else { continue };
                // A rank of another version may know accesses that this one does not: they are not looked at.
                if let Some(access) = Access::from_code(code) {
                    log.note(Use { first, end, origin: origin as u32, access });
                }
            }
        }
        Ok(log)
    }

    #[cold]
    fn conflict(&self, target: usize, (a, b): (Use, Use)) -> Error {
        let (first, last) = (a.first.max(b.first), a.end.min(b.end) - 1);
        let (one, other) = (a.origin, b.origin);
        let text = format!(
            "{}: {} of rank {one} and {} of rank {other} both access bytes {first} to {last} of rank {target}, and nothing orders them",
            self.shown(),
            a.access,
            b.access
        );
        wrong(Class::RmaConflict, text)
    }

    /// Compares what the ranks of the window are about to call. Blocks.
    pub(super) fn compare_calls(&self, w: &mut Entered, function: &'static str) -> Result<()> {
        match w.audit {
            true => audit::compare(w, &self.object, function, &Notes::new()),
            false => Ok(()),
        }
    }
}

/// Where the uses of each rank lie in a buffer, and its length.
fn parts(counts: &[[u64; 1]]) -> (agree::Parts, usize) {
    let mut end = 0;
    let each = counts.iter().map(|[count]| {
        let len = *count as usize * BYTES;
        end += len;
        (end - len, len)
    });
    let each = each.collect();
    (each, end)
}
