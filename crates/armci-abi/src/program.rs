//! Communicators as the program knows them. Its calls of MPI may go to the library of another ABI, as those of Debian's
//! Global Arrays do, which are compiled for Open MPI's. Fortran's integers are the same in all of them.

use core::ffi::{CStr, c_int, c_void};
use hpvm_abi::constants::MPI_Comm;
use hpvm_model::mpi;
use std::sync::OnceLock;

/// How the program's MPI library hands out communicators.
#[derive(Clone, Copy)]
enum Abi {
    Standard,
    /// A pointer, as in the standard.
    OpenMpi {
        from_fortran: extern "C" fn(c_int) -> usize,
        to_fortran: extern "C" fn(usize) -> c_int,
    },
    /// An `int`, so structures with communicators are shorter.
    Mpich {
        from_fortran: extern "C" fn(c_int) -> c_int,
        to_fortran: extern "C" fn(c_int) -> c_int,
    },
}

/// A function of a library that the process has loaded already.
fn loaded(library: &CStr, function: &CStr) -> Option<*mut c_void> {
    // SAFETY: C strings. The library is not loaded by this, and stays.
    unsafe {
        let library = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let found =
            if library.is_null() { library } else { libc::dlsym(library, function.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

fn abi() -> Abi {
    static ABI: OnceLock<Abi> = OnceLock::new();
    let both =
        |library| Some((loaded(library, c"PMPI_Comm_f2c")?, loaded(library, c"PMPI_Comm_c2f")?));
    *ABI.get_or_init(|| {
        // SAFETY: the functions of that name have these types in the two ABIs.
        unsafe {
            if let Some((from, to)) = both(c"libmpi.so.40") {
                Abi::OpenMpi {
                    from_fortran: core::mem::transmute::<*mut c_void, extern "C" fn(c_int) -> usize>(from),
                    to_fortran: core::mem::transmute::<*mut c_void, extern "C" fn(usize) -> c_int>(to),
                }
            } else if let Some((from, to)) = both(c"libmpi.so.12") {
                Abi::Mpich {
                    from_fortran: core::mem::transmute::<*mut c_void, extern "C" fn(c_int) -> c_int>(from),
                    to_fortran: core::mem::transmute::<*mut c_void, extern "C" fn(c_int) -> c_int>(to),
                }
            } else {
                Abi::Standard
            }
        }
    })
}

/// A communicator of ours, for the program.
fn lent(comm: MPI_Comm) -> usize {
    // SAFETY: a communicator.
    let number = |comm| unsafe { (mpi().MPI_Comm_toint)(comm) };
    match abi() {
        Abi::Standard => comm.0,
        Abi::OpenMpi { from_fortran, .. } => from_fortran(number(comm)),
        Abi::Mpich { from_fortran, .. } => from_fortran(number(comm)) as u32 as usize,
    }
}

/// A communicator of the program, for us.
pub fn taken(comm: usize) -> MPI_Comm {
    // SAFETY: a number that the program's library has given.
    let of = |number| unsafe { (mpi().MPI_Comm_fromint)(number) };
    match abi() {
        Abi::Standard => MPI_Comm(comm),
        Abi::OpenMpi { to_fortran, .. } => of(to_fortran(comm)),
        Abi::Mpich { to_fortran, .. } => of(to_fortran(comm as c_int)),
    }
}

/// What a program's `ARMCI_Group` says.
pub struct Shown {
    pub comm: MPI_Comm,
    /// In the place of a second communicator, which programs leave alone.
    pub handle: usize,
    /// Numbers in the world by number in the group, and the other way round.
    pub absolute: *const c_int,
    pub relative: *const c_int,
    pub rank: c_int,
    pub size: c_int,
}

#[repr(C)]
struct Wide {
    comm: usize,
    handle: usize,
    absolute: *const c_int,
    relative: *const c_int,
    rank: c_int,
    size: c_int,
}

#[repr(C)]
struct Narrow {
    comm: u32,
    handle: u32,
    absolute: *const c_int,
    relative: *const c_int,
    rank: c_int,
    size: c_int,
}

/// `ARMCI_Group`, of one of two forms.
pub type Group = *mut c_void;

/// Writes an `ARMCI_Group`. False: the handle does not fit in.
///
/// # Safety
/// `group` is writable.
pub unsafe fn show(group: Group, shown: Shown) -> bool {
    let Shown { comm, handle, absolute, relative, rank, size } = shown;
    let comm = lent(comm);
    // SAFETY: the caller's promise; the form is that of the program's ABI.
    unsafe {
        if let Abi::Mpich { .. } = abi() {
            let Ok(handle) = u32::try_from(handle) else { return false };
            let comm = comm as u32;
            group.cast::<Narrow>().write(Narrow { comm, handle, absolute, relative, rank, size });
        } else {
            group.cast::<Wide>().write(Wide { comm, handle, absolute, relative, rank, size });
        }
    }
    true
}

/// The handle in an `ARMCI_Group`.
///
/// # Safety
/// `group` is readable.
pub unsafe fn handle(group: Group) -> usize {
    // SAFETY: as in `show`.
    unsafe {
        match abi() {
            Abi::Mpich { .. } => (*group.cast::<Narrow>()).handle as usize,
            _ => (*group.cast::<Wide>()).handle,
        }
    }
}

/// The communicator in an `ARMCI_Group`, as the program knows it.
///
/// # Safety
/// `group` is readable.
pub unsafe fn comm(group: Group) -> usize {
    // SAFETY: as in `show`.
    unsafe {
        match abi() {
            Abi::Mpich { .. } => (*group.cast::<Narrow>()).comm as usize,
            _ => (*group.cast::<Wide>()).comm,
        }
    }
}
