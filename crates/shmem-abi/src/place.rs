//! Where the symmetric heap lies: at one address on all PEs if they find one that is free, so that an address in symmetric memory means
//! the same on every PE.

use crate::body::team::TeamObject;
use crate::types::Name;
use core::ffi::c_void;
use hpvm_abi::constants::MPI_BYTE;
use hpvm_model::{done, fail, mpi, onesided};

/// The heap begins at a multiple of this on every PE: what `shmem_align` can give, and what large pages want.
pub const HEAP_ALIGNMENT: usize = 16 << 20;

/// Addresses that are tried, in this order: where systems with 47 or more bits of addresses place neither programs nor libraries nor
/// stacks, and the sanitizers have no shadow memory; the last for systems with 39 bits.
const CANDIDATES: [usize; 4] =
    [0x2a00_0000_0000, 0x3a00_0000_0000, 0x4600_0000_0000, 0x20_0000_0000];
const _: () = assert!(CANDIDATES[3].is_multiple_of(HEAP_ALIGNMENT));

/// Bytes that a heap's memory has besides those of the heap.
pub const BESIDES: usize = HEAP_ALIGNMENT + crate::ends::BYTES;

/// Memory for a heap of `len` bytes from the next multiple of [`HEAP_ALIGNMENT`] on, and behind the heap [`crate::ends::BYTES`] more, to be given
/// back with [`BESIDES`] bytes more. All PEs
/// call this, and as a rule it takes one exchange, which compares their lengths, too.
pub fn memory(name: Name, world: &TeamObject, len: usize) -> *mut c_void {
    let Some(all) = len.checked_add(BESIDES) else { missing(name, len) };
    for address in CANDIDATES {
        // SAFETY: numbers.
        let memory = unsafe { (onesided().allocate_at)(address, all) };
        if everywhere(name, world, len, !memory.is_null()) {
            return memory;
        }
        if !memory.is_null() {
            // SAFETY: returned above, with this size, and nobody uses it.
            unsafe { (onesided().release)(memory, all) };
        }
    }
    // SAFETY: a number.
    let memory = unsafe { (onesided().allocate)(all) };
    if memory.is_null() {
        missing(name, len)
    }
    memory
}

/// Whether all PEs have memory.
fn everywhere(name: Name, world: &TeamObject, len: usize, has: bool) -> bool {
    let mine = [len as u64, has.into()];
    let mut all = vec![[0_u64; 2]; world.size()];
    // SAFETY: two numbers of each.
    done(name, unsafe {
        let (from, to) = (mine.as_ptr().cast(), all.as_mut_ptr().cast());
        (mpi().MPI_Allgather)(from, 16, MPI_BYTE, to, 16, MPI_BYTE, world.comm)
    });
    world.same(name, "SHMEM_SYMMETRIC_SIZE", len as u64, all.iter().map(|[len, _]| *len));
    all.iter().all(|[_, has]| *has != 0)
}

fn missing(name: Name, len: usize) -> ! {
    fail(name, &format!("the {len} bytes of SHMEM_SYMMETRIC_SIZE are not to be had"))
}
