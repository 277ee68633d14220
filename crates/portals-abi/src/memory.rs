//! The program's memory.

use hpvm_portals::{Inaccessible, Region, Run};

/// An entry this long covers more than a program has: what a message is about there may be no memory, which the kernel is asked
/// while it copies. Shorter entries are what the program says they are.
const UNKNOWN: u64 = 1 << 46;

#[inline(always)]
fn is_unknown(region: &Region) -> bool {
    region.length() >= UNKNOWN
}

#[inline(always)]
fn place(run: Run) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(run.address as usize)
}

/// Fills `into` with the bytes at `offset`.
///
/// # Safety
/// The region is memory of the program, or covers more than there can be.
#[inline(always)]
pub unsafe fn read(region: &Region, offset: u64, into: &mut [u8]) -> Result<(), Inaccessible> {
    if let Some(run) = single(region, offset, into.len() as u64) {
        // SAFETY: the caller's promise; the buffer is as long.
        unsafe { hpvm_model::copy(place(run), into.as_mut_ptr(), into.len()) };
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { read_runs(region, offset, into) }
}

#[inline(never)]
unsafe fn read_runs(region: &Region, offset: u64, into: &mut [u8]) -> Result<(), Inaccessible> {
    let mut at = 0;
    for run in region.runs(offset, into.len() as u64) {
        let to = &mut into[at..at + run.length as usize];
        at += to.len();
        if is_unknown(region) {
            ask(run, to.as_mut_ptr(), false)?;
        } else {
            // SAFETY: the caller's promise; the buffer is as long.
            unsafe { hpvm_model::copy(place(run), to.as_mut_ptr(), to.len()) };
        }
    }
    if at == into.len() { Ok(()) } else { Err(Inaccessible) }
}

/// Puts bytes at `offset`.
///
/// # Safety
/// As for `read`; nobody else writes there meanwhile, or wants what is written.
#[inline(always)]
pub unsafe fn write(region: &Region, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
    if let Some(run) = single(region, offset, bytes.len() as u64) {
        // SAFETY: as in `read`.
        unsafe { hpvm_model::copy(bytes.as_ptr(), place(run), bytes.len()) };
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { write_runs(region, offset, bytes) }
}

#[inline(never)]
unsafe fn write_runs(region: &Region, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible> {
    let mut at = 0;
    for run in region.runs(offset, bytes.len() as u64) {
        let from = &bytes[at..at + run.length as usize];
        at += from.len();
        if is_unknown(region) {
            ask(run, from.as_ptr().cast_mut(), true)?;
        } else {
            // SAFETY: as in `read`.
            unsafe { hpvm_model::copy(from.as_ptr(), place(run), from.len()) };
        }
    }
    if at == bytes.len() { Ok(()) } else { Err(Inaccessible) }
}

/// Lets the kernel copy between `run` and as many bytes at `here`.
fn ask(run: Run, here: *mut u8, writes: bool) -> Result<(), Inaccessible> {
    let len = run.length as usize;
    let local = libc::iovec { iov_base: here.cast(), iov_len: len };
    let remote = libc::iovec { iov_base: place(run).cast(), iov_len: len };
    // SAFETY: `here` is our buffer; what is at the other address, the kernel finds out.
    let moved = unsafe {
        let me = libc::getpid();
        match writes {
            true => libc::process_vm_writev(me, &local, 1, &remote, 1, 0),
            false => libc::process_vm_readv(me, &local, 1, &remote, 1, 0),
        }
    };
    if moved == len as isize { Ok(()) } else { Err(Inaccessible) }
}

/// Whether the bytes at `offset` can be read.
#[inline(always)]
pub fn readable(region: &Region, offset: u64, length: u64) -> bool {
    !is_unknown(region) || region.runs(offset, length).all(are_there)
}

/// Pages that the kernel is asked for at once.
const PAGES: usize = 64;

/// Asks the kernel for one byte of each page.
#[inline(never)]
fn are_there(run: Run) -> bool {
    // SAFETY: takes a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let end = run.address + run.length;
    // The first byte, and the first of each page behind it.
    let mut next = Some(run.address);
    let mut addresses = core::iter::from_fn(|| {
        let at = next.filter(|at| *at < end)?;
        next = (at / page + 1).checked_mul(page);
        Some(at)
    })
    .peekable();
    while addresses.peek().is_some() {
        let mut bytes = [0u8; PAGES];
        let byte = |address| libc::iovec {
            iov_base: place(Run { address, length: 1 }).cast(),
            iov_len: 1,
        };
        let mut remote = [byte(0); PAGES];
        let mut count = 0;
        for (to, address) in remote.iter_mut().zip(addresses.by_ref()) {
            *to = byte(address);
            count += 1;
        }
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: count };
        // SAFETY: as many bytes of our buffer; what is at the other addresses, the kernel finds out.
        let read = unsafe {
            libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), count as u64, 0)
        };
        if read != count as isize {
            return false;
        }
    }
    true
}

/// The only run of a region's part, if it is one.
#[inline(always)]
pub fn single(region: &Region, offset: u64, length: u64) -> Option<Run> {
    if is_unknown(region) {
        return None;
    }
    region.run(offset, length).or_else(|| only_run(region, offset, length))
}

/// The same of a vector.
#[inline(never)]
fn only_run(region: &Region, offset: u64, length: u64) -> Option<Run> {
    region.runs(offset, length).next().filter(|run| run.length == length)
}

#[inline(always)]
pub fn pointer(run: Run) -> *mut u8 {
    place(run)
}
