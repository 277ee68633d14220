//! Static data that other PEs of the host load from and store to.
//!
//! The pages of a writable segment of the program are replaced by pages of memory that the engine lends, with the same
//! contents at the same addresses: an *alias* of them. That is sound because
//!
//! - nobody else runs: it is done only in a process of one thread, with signals blocked, and what happens between the first
//!   page that is copied and the replacement are loads, stores and a system call (the program may have a `malloc` or a
//!   `memcpy` of its own, with static data);
//! - only whole pages are replaced, and only private ones that may be read and written: what lies on the pages beside the
//!   segment's data moves with them. What the dynamic linker makes read-only is not among them;
//! - a child of `fork` gets pages of its own, as it would have had. Who calls the kernel past the C library shares
//!   them with the parent.
//!
//! Where any of that is not so, the data stay private, and other PEs reach them through the kernel.

use crate::types::Name;
use core::ffi::c_void;
use core::ops::Range;
use core::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use hpvm_model::{fail, onesided};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const PAGE: usize = 4096;

/// In an entry of /proc/self/pagemap: the page is in memory, or swapped out. Else nobody has touched it.
const TOUCHED: u64 = 1 << 63 | 1 << 62;

/// Pages of a segment, and the lent memory that lies there, too.
#[derive(Clone, Debug)]
pub struct Alias {
    pages: Range<usize>,
    memory: usize,
}

impl Alias {
    /// Where an address of the segment is in the lent memory.
    pub fn lent(&self, address: usize) -> usize {
        self.memory + (address - self.pages.start)
    }
}

/// Replaces the pages of a segment. `None`: they stay as they are.
pub fn share(name: Name, segment: &Range<usize>, others: &[Range<usize>]) -> Option<Alias> {
    let pages = whole_pages(segment);
    let meets = |other: &Range<usize>| {
        let other = whole_pages(other);
        other.start < pages.end && pages.start < other.end
    };
    if others.iter().filter(|other| meets(other)).count() > 1 || !one_thread() {
        return None;
    }
    // Relaxed: one thread.
    let slot = SHARED.iter().find(|slot| slot.len.load(Ordering::Relaxed) == 0)?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let parts = covered(&maps, &pages, "rw-p")?;
    // SAFETY: a number.
    let memory = unsafe { (onesided().allocate)(pages.len()) };
    if memory.is_null() {
        return None;
    }
    let memory = memory.expose_provenance();
    let give_back = || {
        // SAFETY: `allocate` returned it, with this size, and nothing else uses it.
        unsafe { (onesided().release)(with_exposed_provenance_mut(memory), pages.len()) };
    };
    let maps = std::fs::read_to_string("/proc/self/maps").ok();
    let lent = memory..memory + pages.len();
    let is_lent = maps.is_some_and(|maps| covered(&maps, &lent, "rw-s").is_some());
    if !is_lent || !zeroed(&lent) {
        give_back();
        return None;
    }
    // What the system refuses, it refuses here. Length 0: the same pages once more.
    let place = remap(memory, 0, pages.len(), None);
    let Some(place) = place else {
        give_back();
        return None;
    };
    let touched = touched(&pages, &parts);
    let signals = Blocked::new();
    for (index, entry) in touched.iter().enumerate() {
        if entry & TOUCHED != 0 {
            // SAFETY: pages of the segment, and as many that are ours alone.
            unsafe { copy(pages.start + index * PAGE, memory + index * PAGE, PAGE) };
        }
    }
    let done = remap(place, pages.len(), pages.len(), Some(pages.start));
    drop(signals);
    if done.is_none() {
        fail(name, "the system lost the program's static data");
    }
    // Relaxed: handlers of a fork run on this thread, or on one that it starts later.
    slot.start.store(pages.start, Ordering::Relaxed);
    slot.len.store(pages.len(), Ordering::Relaxed);
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: functions of this library, which stays loaded because programs are linked with it.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
    Some(Alias { pages, memory })
}

/// Ends an alias: the pages are the process's own again. Not possible while other threads run; then they stay as they
/// are, and the memory lent.
pub fn unshare(alias: &Alias) {
    let slot = SHARED.iter().find(|slot| slot.start.load(Ordering::Relaxed) == alias.pages.start);
    let (Some(slot), true) = (slot, one_thread()) else { return };
    let signals = Blocked::new();
    let private = snapshot(&alias.pages).and_then(|copy| {
        remap(copy, alias.pages.len(), alias.pages.len(), Some(alias.pages.start))
    });
    drop(signals);
    if private.is_some() {
        slot.clear();
        let memory = with_exposed_provenance_mut(alias.memory);
        // SAFETY: `allocate` returned it, with this size; the alias is gone.
        unsafe { (onesided().release)(memory, alias.pages.len()) };
    }
}

fn whole_pages(segment: &Range<usize>) -> Range<usize> {
    segment.start & !(PAGE - 1)..segment.end.next_multiple_of(PAGE)
}

/// Nobody else runs in this process.
fn one_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// The parts of /proc/self/maps that make up `pages`, and whether they are of no file, if all have the given rights.
fn covered(maps: &str, pages: &Range<usize>, rights: &str) -> Option<Vec<(Range<usize>, bool)>> {
    let mut next = pages.start;
    let mut parts = Vec::new();
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (first, end) = fields.next()?.split_once('-')?;
        let first = usize::from_str_radix(first, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let is = fields.next()?;
        if end <= next || next >= pages.end {
            continue;
        }
        if first > next || is != rights {
            return None;
        }
        let end = end.min(pages.end);
        // Behind them come the offset, the device and the number of the file.
        parts.push((next..end, fields.nth(2)? == "0"));
        next = end;
    }
    (next >= pages.end).then_some(parts)
}

/// An entry of /proc/self/pagemap for each page; all bits where that says nothing, or where a file has contents.
fn touched(pages: &Range<usize>, parts: &[(Range<usize>, bool)]) -> Vec<u64> {
    let mut entries = vec![!0_u64; pages.len() / PAGE];
    let Ok(pagemap) = File::open("/proc/self/pagemap") else { return entries };
    for (part, anonymous) in parts {
        if *anonymous {
            let first = (part.start - pages.start) / PAGE;
            let entries = &mut entries[first..first + part.len() / PAGE];
            let (to, at) = (entries.as_mut_ptr().cast(), part.start / PAGE * 8);
            // SAFETY: as many bytes of ours. What is not written there stays all bits.
            unsafe { libc::pread(pagemap.as_raw_fd(), to, size_of_val(entries), at as i64) };
        }
    }
    entries
}

/// Makes shared pages read as zeros.
fn zeroed(lent: &Range<usize>) -> bool {
    // SAFETY: memory that is ours alone.
    unsafe {
        libc::madvise(with_exposed_provenance_mut(lent.start), lent.len(), libc::MADV_REMOVE) == 0
    }
}

/// Copies words by loads and stores of this function, and leaves pages alone whose words are 0 on both sides.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, of whole words, which are 0 at `to`. Nobody changes them.
unsafe fn copy(from: usize, to: usize, len: usize) {
    for offset in (0..len).step_by(size_of::<u64>()) {
        let (from, to) =
            (with_exposed_provenance::<u64>(from), with_exposed_provenance_mut::<u64>(to));
        // SAFETY: the caller's promise. Volatile, so that it stays a loop.
        unsafe {
            let word = from.wrapping_byte_add(offset).read_volatile();
            if word != 0 {
                to.wrapping_byte_add(offset).write_volatile(word);
            }
        }
    }
}

/// `mremap(2)`; where the pages are now.
fn remap(from: usize, len: usize, new: usize, to: Option<usize>) -> Option<usize> {
    let fixed = if to.is_some() { libc::MREMAP_FIXED } else { 0 };
    let flags = libc::MREMAP_MAYMOVE | fixed;
    // SAFETY: pages of ours go to a place of the kernel's choice, or to where our callers have made copies of what is there.
    let at = unsafe { libc::syscall(libc::SYS_mremap, from, len, new, flags, to.unwrap_or(0)) };
    (at != -1).then_some(at as usize)
}

/// A private copy of pages: where it is.
fn snapshot(pages: &Range<usize>) -> Option<usize> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    let place: *mut c_void = null_mut();
    // SAFETY: a new mapping at a place of the kernel's choice.
    let at =
        unsafe { libc::syscall(libc::SYS_mmap, place, pages.len(), protection, flags, -1, 0_i64) };
    if at == -1 {
        return None;
    }
    // SAFETY: as many readable bytes, and as many of the new mapping.
    unsafe { copy(pages.start, at as usize, pages.len()) };
    Some(at as usize)
}

/// No handler of a signal runs while this lives.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn new() -> Blocked {
        let mut before = core::mem::MaybeUninit::uninit();
        // SAFETY: places for sets of signals, which the calls fill.
        unsafe {
            let mut all = core::mem::MaybeUninit::uninit();
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Blocked(before.assume_init())
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set that was in force.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
    }
}

/// Pages that are shared now, as the handlers of a fork need them: they may not lock or allocate.
struct Slot {
    start: AtomicUsize,
    len: AtomicUsize,
    /// During a fork: a private copy. 0: there was no memory for one.
    copy: AtomicUsize,
}

impl Slot {
    const fn new() -> Slot {
        Slot { start: AtomicUsize::new(0), len: AtomicUsize::new(0), copy: AtomicUsize::new(0) }
    }

    fn clear(&self) {
        // Relaxed, both: as in `pages`.
        self.len.store(0, Ordering::Relaxed);
        self.start.store(0, Ordering::Relaxed);
    }

    // Relaxed, here and above: under `FORKING`, or on one thread.
    fn pages(&self) -> Option<Range<usize>> {
        let (start, len) = (self.start.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        (len != 0).then_some(start..start + len)
    }
}

/// Linkers make one or two writable segments.
static SHARED: [Slot; 4] = [const { Slot::new() }; 4];
/// A thread is between `before_fork` and what follows it.
static FORKING: AtomicBool = AtomicBool::new(false);

/// Copies what the child shall have. The child itself could not tell what its parent changes meanwhile.
unsafe extern "C" fn before_fork() {
    // Acquire pairs with the release in `in_parent`.
    while FORKING.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
    for slot in &SHARED {
        let copy = slot.pages().and_then(|pages| snapshot(&pages));
        // Relaxed: under `FORKING`.
        slot.copy.store(copy.unwrap_or(0), Ordering::Relaxed);
    }
}

unsafe extern "C" fn in_parent() {
    for slot in &SHARED {
        // Relaxed: under `FORKING`.
        let copy = slot.copy.swap(0, Ordering::Relaxed);
        if let (Some(pages), true) = (slot.pages(), copy != 0) {
            // SAFETY: a mapping of `snapshot`, with this size.
            unsafe { libc::munmap(with_exposed_provenance_mut(copy), pages.len()) };
        }
    }
    // Release pairs with the acquire in `before_fork`.
    FORKING.store(false, Ordering::Release);
}

unsafe extern "C" fn in_child() {
    let signals = Blocked::new();
    for slot in &SHARED {
        let Some(pages) = slot.pages() else { continue };
        // Relaxed: the only thread of the child.
        let copy = slot.copy.swap(0, Ordering::Relaxed);
        let own = (copy != 0).then(|| remap(copy, pages.len(), pages.len(), Some(pages.start)));
        if own.flatten().is_none() {
            let text =
                b"hpvm: fork: there is no memory for the child's static data; ending the child\n";
            // SAFETY: bytes of ours; then the child ends, before it runs any code of the program.
            unsafe {
                libc::write(2, text.as_ptr().cast(), text.len());
                libc::_exit(1)
            }
        }
        slot.clear();
    }
    drop(signals);
    // Release: as in `in_parent`.
    FORKING.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::covered;

    const MAPS: &str = "\
1000-2000 r--p 00000000 fe:00 17 /bin/program
2000-4000 rw-p 00001000 fe:00 17 /bin/program
4000-9000 rw-p 00000000 00:00 0
9000-a000 rw-p 00000000 00:00 0 [heap]
b000-c000 rw-s 00000000 00:01 5 /memfd:hpvm-mapped (deleted)
";

    #[test]
    fn pages_are_covered_by_mappings_with_the_same_rights() {
        let parts = |pages, rights| covered(MAPS, &pages, rights);
        assert_eq!(
            parts(0x3000..0x6000, "rw-p"),
            Some(vec![(0x3000..0x4000, false), (0x4000..0x6000, true)])
        );
        assert_eq!(parts(0xb000..0xc000, "rw-s"), Some(vec![(0xb000..0xc000, false)]));
        for (pages, rights) in [
            (0x1000..0x3000, "rw-p"),
            (0x9000..0xc000, "rw-p"),
            (0xb000..0xd000, "rw-s"),
            (0x2000..0x3000, "rw-s"),
            (0xd000..0xe000, "rw-p"),
        ] {
            assert_eq!(parts(pages.clone(), rights), None, "{pages:x?} {rights}");
        }
        assert_eq!(covered("", &(0x1000..0x2000), "rw-p"), None);
        assert_eq!(covered("garbage", &(0x1000..0x2000), "rw-p"), None);
    }
}
