//! Collective writes on one host that leave no hole: all ranks put their pieces where they belong in memory that they share, and
//! one of them writes it. While it writes one half of that memory, the others fill the other half.

use super::access::Access;
use crate::body::agree;
use crate::body::check::wrong;
use crate::object::file::{Common, FileObject};
use hpvm_copy::non_temporal;
use hpvm_copy::slow_stores::{self, MIN_TIMED, SlowStores};
use hpvm_io::two_phase::{self, Plan};
use hpvm_io::{Extent, SharedMemory};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::{Arc, PoisonError};

/// What all ranks write together at least, in bytes: less is not worth memory of its own.
const WORTH: u64 = 1 << 20;

/// The memory for this write, where it goes this way: the same answer on all ranks, who know the same.
pub fn memory(
    file: &FileObject,
    accesses: &[two_phase::Access],
    plan: &Plan,
) -> Result<Option<Arc<SharedMemory>>> {
    let all: u64 = accesses.iter().map(|a| a.bytes).sum();
    let alone = plan.aggregators() == 1 && file.is_near();
    if !alone || all < WORTH || !two_phase::is_dense(accesses) {
        return Ok(None);
    }
    let bytes = 2 * plan.window() as usize;
    let kept = || file.common.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept() {
        Common::Refused => return Ok(None),
        Common::Memory(memory) if memory.bytes() == bytes => return Ok(Some(memory.clone())),
        // A hint has changed.
        Common::Memory(_) | Common::Untried => {}
    }
    let made = make(file, bytes)?;
    *kept() = made.as_ref().map_or(Common::Refused, |made| Common::Memory(made.clone()));
    Ok(made)
}

/// Memory of rank 0 that all ranks map; none if some rank could not. The error is one of messages.
fn make(file: &FileObject, bytes: usize) -> Result<Option<Arc<SharedMemory>>> {
    let first = file.rank() == 0;
    let own = first.then(|| SharedMemory::create(c"hpvm-file-gather", bytes)).transpose();
    let path = own.as_ref().ok().and_then(|own| own.as_ref().map(SharedMemory::path));
    let path = path.map_or(Vec::new(), |path| path.as_os_str().as_bytes().to_vec());
    let path = agree::bytes_of_first(file.comm, file.rank(), path)?;
    let memory = own.and_then(|own| match own {
        Some(own) => Ok(own),
        None => SharedMemory::open(Path::new(&OsString::from_vec(path)), bytes),
    });
    let well = agree::all_words(file.comm, file.size(), [u64::from(memory.is_ok())])?;
    let all = well.iter().all(|[well]| *well == 1);
    Ok(memory.ok().filter(|_| all).map(Arc::new))
}

/// Writes what all ranks have.
///
/// # Safety
/// The memory of the access may be read. All ranks call it with what they have told each other, and with one memory.
pub unsafe fn write(
    access: &Access<'_>,
    accesses: &[two_phase::Access],
    plan: &Plan,
    memory: &SharedMemory,
    sync_follows: bool,
) -> Result<u64> {
    let file = access.file;
    let start = accesses.iter().filter(|a| a.runs > 0).map(|a| a.start).min().unwrap_or(0);
    let mut outcome = Ok(());
    let mut pieces = Pieces::of(access);
    // What the writer places it also reads.
    let places_for_another = file.rank() != 0;
    let mut stores = core::mem::take(&mut file.state().stores);
    for number in 0..plan.rounds() {
        let Some((from, to)) = plan.windows(0, number).first().copied() else { continue };
        // Two rounds ago it was written: its writer was in the barrier of the last one behind that.
        let half = number as usize % 2 * (memory.bytes() / 2);
        let part = memory.address().wrapping_add(half);
        // SAFETY: the caller's promise; a window fits into a half, in which nobody else touches what is ours of the window, and
        // which its writer does not read before the barrier.
        let placed = unsafe {
            match places_for_another {
                true => pieces.place_timed((from, to), part, &mut stores),
                false => pieces.place((from, to), part, false),
            }
        };
        agree::barrier(file.comm)?;
        if file.rank() == 0 {
            let from_first = from.max(start);
            let skipped = (from_first - from) as usize;
            // SAFETY: inside the half, which everybody has filled before the barrier and leaves alone until the next.
            let data = unsafe {
                core::slice::from_raw_parts(part.add(skipped), (to - from_first) as usize)
            };
            // Others go on to the next round, so an error waits for the end.
            outcome = outcome.and_then(|()| file.file.write_at(from_first, data));
            if sync_follows {
                file.file.begin_sync(from_first, to - from_first);
            }
        }
        outcome = outcome.and(placed);
    }
    file.state().stores = stores;
    outcome.map(|()| access.transfer.bytes)
}

/// The pieces of a rank, in the order of the file and of its data.
struct Pieces<'a> {
    access: &'a Access<'a>,
    extents: Box<dyn Iterator<Item = Extent> + 'a>,
    /// The next one, or what is left of it.
    next: Option<Extent>,
    /// Bytes of the data before it.
    done: u64,
    /// Those of one window, and memory to pack them.
    window: Vec<Extent>,
    staging: Vec<u8>,
}

impl<'a> Pieces<'a> {
    fn of(access: &'a Access<'a>) -> Pieces<'a> {
        let transfer = &access.transfer;
        let mut extents = transfer.view.extents(transfer.position, transfer.bytes);
        let next = extents.next();
        let (window, staging) = (Vec::new(), Vec::new());
        Pieces { access, extents: Box::new(extents), next, done: 0, window, staging }
    }

    /// As [`Pieces::place`], past this processor's cache where ordinary stores have been slow.
    ///
    /// # Safety
    /// As there.
    unsafe fn place_timed(
        &mut self,
        window: (u64, u64),
        into: *mut u8,
        stores: &mut SlowStores,
    ) -> Result<()> {
        let (before, start) = (self.done, slow_stores::ticks());
        // SAFETY: the caller's promise.
        unsafe { self.place(window, into, stores.are_slow())? };
        let bytes = (self.done - before) as usize;
        if bytes >= MIN_TIMED {
            stores.wrote(bytes, slow_stores::ticks().wrapping_sub(start));
        }
        Ok(())
    }

    /// Copies what lies in bytes `from..to` of the file, into memory in which `from` is the first byte.
    ///
    /// # Safety
    /// The memory of the access may be read, `into` may be written, as far as the pieces go that lie in the window.
    unsafe fn place(
        &mut self,
        (from, to): (u64, u64),
        into: *mut u8,
        past_cache: bool,
    ) -> Result<()> {
        self.window.clear();
        let mut bytes = 0;
        while let Some(piece) = self.next.filter(|piece| piece.at < to) {
            let len = piece.len.min(to - piece.at);
            self.window.push(Extent { at: piece.at, len });
            bytes += len;
            self.next = match len == piece.len {
                true => self.extents.next(),
                false => Some(Extent { at: piece.at + len, len: piece.len - len }),
            };
        }
        // SAFETY: the caller's promise.
        let data = unsafe { self.access.transfer.memory.read(self.done, bytes, &mut self.staging) };
        if (data.len() as u64) < bytes {
            let text = format!("{} bytes of data, expected {bytes}", data.len());
            return Err(wrong(Class::Intern, text));
        }
        let mut rest = data;
        for piece in &self.window {
            let (own, after) = rest.split_at(piece.len as usize);
            // SAFETY: the caller's promise: inside of the window.
            unsafe {
                let to = into.add((piece.at - from) as usize);
                match past_cache {
                    true => non_temporal::copy_unordered(own.as_ptr(), to, own.len()),
                    false => core::ptr::copy_nonoverlapping(own.as_ptr(), to, own.len()),
                }
            }
            rest = after;
        }
        if past_cache {
            // Before the barrier after which they are read.
            non_temporal::order();
        }
        self.done += bytes;
        Ok(())
    }
}
