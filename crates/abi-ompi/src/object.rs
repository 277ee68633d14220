//! What predefined handles of this ABI point to.
//!
//! A handle is a pointer. Predefined handles are the addresses of data symbols (`ompi_mpi_comm_world`);
//! programs have them as constants. An executable that is linked at a fixed address holds a copy of
//! such an object, made from ours when it is loaded, and everybody uses the copy, so the address is
//! known only then and the object itself has to say what it stands for. Real ones are larger than the
//! two words that are used here; the size is kept because the copies have the size that the object had
//! where the program was linked. All other handles are the engine's numbers.

/// First word of our objects: a pointer to something else is not taken for one.
const MAGIC: usize = 0x6870_766d_6f62_6a31;

/// Objects are aligned so that their addresses cannot be numbers of the engine, whose low four bits
/// are never all zero. Copies are aligned at least as the original.
const LOW_BITS: usize = 15;

/// Numbers of the standard ABI's predefined handles are below.
pub const PREDEFINED: usize = 0x400;

/// An object with `REST` bytes behind the two words that are used.
#[repr(C, align(32))]
pub struct Object<const REST: usize> {
    magic: usize,
    standard: usize,
    rest: [u8; REST],
}

impl<const REST: usize> Object<REST> {
    /// Stands for a handle of the standard ABI.
    pub const fn new(standard: usize) -> Object<REST> {
        Object { magic: MAGIC, standard, rest: [0; REST] }
    }
}

/// An entry of the table by which handles go back to the program: an address that the dynamic linker
/// fills in, or 0.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Address(*const ());

// SAFETY: only the number is used.
unsafe impl Sync for Address {}

impl Address {
    pub const NONE: Address = Address(core::ptr::null());

    pub const fn of<const REST: usize>(object: *const Object<REST>) -> Address {
        Address(object.cast())
    }
}

/// The address of the object that stands for a predefined handle of the standard ABI; 0: none does.
#[inline(always)]
pub fn address(standard: usize) -> usize {
    crate::generated::symbols::ADDRESSES[standard & (PREDEFINED - 1)].0.addr()
}

/// The standard ABI's handle for one of this ABI, or 0, which nothing accepts.
#[inline(always)]
pub fn standard(handle: usize) -> usize {
    if handle & LOW_BITS != 0 {
        return if handle < PREDEFINED { 0 } else { handle };
    }
    predefined(handle)
}

#[inline(always)]
fn predefined(handle: usize) -> usize {
    if handle < 4096 {
        return 0;
    }
    let object = core::ptr::with_exposed_provenance::<[usize; 2]>(handle);
    // SAFETY: a handle with these low bits is the address of an object: programs have no others. (A
    // wild pointer faults here as in any MPI whose handles are pointers.)
    let [magic, standard] = unsafe { *object };
    if magic == MAGIC { standard } else { 0 }
}

/// The handle of this ABI for one of the standard ABI.
#[inline(always)]
pub fn foreign(standard: usize) -> usize {
    if standard < PREDEFINED { address(standard) } else { standard }
}
