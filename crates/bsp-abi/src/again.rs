//! What hpvm_bsp_inline.h knows of the library, so that a call that goes on where the last one ended is no call.
//!
//! The functions of that header that a compiler puts into the program look at the tip of the other process's outbox
//! (`hpvm_bsp::Process::tips`), and call the library whenever it does not take the access. A change of what they look at needs
//! a function of another name here; this one then has no tips for ever, and programs that know it call the library.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use hpvm_bsp::{Process, Taking};

/// `struct hpvm_bsp_lines` of the header.
#[repr(C)]
pub struct Lines {
    /// How many processes have a tip at `tips`: none outside of the SPMD part, and where races are looked for.
    processes: u32,
    /// Size of the tags of messages that are sent.
    tag: u32,
    tips: *mut u8,
    /// Where messages are taken from; null as `processes` is 0.
    queue: *mut Taking,
}

const NONE: Lines = Lines { processes: 0, tag: 0, tips: null_mut(), queue: null_mut() };

struct Global(UnsafeCell<Lines>);

// SAFETY: one thread calls BSPlib, which docs/bsp.md says.
unsafe impl Sync for Global {}

static LINES: Global = Global(UnsafeCell::new(NONE));
static NOTHING: Global = Global(UnsafeCell::new(NONE));

/// The distance that the header knows.
const _: () = assert!(Process::TIP_STRIDE == 512);

/// The tips of a process, from now on; again for each size of tags. The process stays where it is until `close`.
pub fn open(process: &mut Process) {
    if process.checks() {
        return;
    }
    let processes = process.processes() as u32;
    // Sizes are `int`s of C.
    let tag = process.sent_tag_size() as u32;
    let lines = Lines { processes, tag, tips: process.tips(), queue: process.taking() };
    // SAFETY: as for `Global`; nobody has a reference.
    unsafe { *LINES.0.get() = lines };
}

/// No tips from now on.
pub fn close() {
    // SAFETY: as in `open`.
    unsafe { *LINES.0.get() = NONE };
}

/// Where the tips are, for the header; the place never changes, what lies there does.
#[unsafe(no_mangle)]
pub extern "C" fn hpvm_bsp_lines_2() -> *const Lines {
    LINES.0.get()
}

/// For programs whose header knows another form of the tips: there are none.
#[unsafe(no_mangle)]
pub extern "C" fn hpvm_bsp_lines_1() -> *const Lines {
    NOTHING.0.get()
}
