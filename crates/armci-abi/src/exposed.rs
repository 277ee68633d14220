//! Memory that all processes of a communicator let each other access.

use crate::types::Name;
use core::ffi::c_void;
use core::ptr::null_mut;
use hpvm_abi::constants::{MPI_BYTE, MPI_Comm};
use hpvm_abi::onesided::{Attached, Key};
use hpvm_model::{done, mpi, onesided};

/// What a process says of its memory.
#[derive(Clone, Copy)]
#[repr(C)]
struct Offer {
    /// 0: there is none to be had.
    ok: u64,
    address: u64,
    len: u64,
    key: Key,
}

/// Memory of one of the processes.
pub struct Part {
    /// Where it lies in its owner.
    pub address: usize,
    pub len: usize,
    /// `None`: it is empty.
    pub there: Option<Attached>,
}

/// See the module's text.
pub struct Exposed {
    /// Of this process; null where it is empty.
    pub memory: *mut c_void,
    len: usize,
    key: Key,
    /// By number in the communicator.
    pub parts: Box<[Part]>,
}

// SAFETY: pointers of the table may be used by any thread, by its interface.
unsafe impl Send for Exposed {}
// SAFETY: as above; it does not change.
unsafe impl Sync for Exposed {}

/// A place for an answer of `attach`.
pub const NOWHERE: Attached = Attached { target: null_mut(), base: null_mut(), locked: 0 };

impl Exposed {
    /// Allocates `len` bytes here and what the others say there. `None`, for all: some process has no memory.
    pub fn new(name: Name, comm: MPI_Comm, size: usize, len: usize) -> Option<Exposed> {
        let mut key: Key = [0; size_of::<Key>()];
        let memory = match len {
            0 => null_mut(),
            // SAFETY: a number.
            len => unsafe { (onesided().allocate)(len) },
        };
        if !memory.is_null() {
            // SAFETY: as many bytes, which others will change.
            done(name, unsafe { (onesided().expose)(memory, len, &mut key) });
        }
        let ok = (len == 0 || !memory.is_null()).into();
        let address = memory.expose_provenance() as u64;
        let mine = Offer { ok, address, len: len as u64, key };
        let mut all = vec![mine; size];
        let bytes = size_of::<Offer>() as i32;
        // SAFETY: an offer of each.
        done(name, unsafe {
            let (from, to) = ((&raw const mine).cast(), all.as_mut_ptr().cast());
            (mpi().MPI_Allgather)(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm)
        });
        let mut exposed = Exposed { memory, len, key, parts: Box::default() };
        if all.iter().any(|offer| offer.ok == 0) {
            exposed.release(name);
            return None;
        }
        exposed.parts = all.iter().map(|offer| part(name, offer)).collect();
        Some(exposed)
    }

    /// Gives everything back. Nobody accesses the memory any more.
    pub fn release(self, name: Name) {
        let attached = self.parts.iter().filter_map(|part| part.there);
        // SAFETY: attached and exposed by `new`.
        unsafe {
            attached.for_each(|there| (onesided().detach)(there.target));
            if !self.memory.is_null() {
                done(name, (onesided().withdraw)(&self.key));
                (onesided().release)(self.memory, self.len);
            }
        }
    }
}

fn part(name: Name, offer: &Offer) -> Part {
    let (address, len) = (offer.address as usize, offer.len as usize);
    let attach = || {
        let mut there = NOWHERE;
        // SAFETY: a key that its owner has made.
        done(name, unsafe { (onesided().attach)(&offer.key, &mut there) });
        there
    };
    Part { address, len, there: (len != 0).then(attach) }
}
