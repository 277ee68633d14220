//! `MPI_Comm_split_type` with Open MPI's own types (`OMPI_COMM_TYPE_CORE`, ...), which it had before the standard had
//! `MPI_COMM_TYPE_HW_GUIDED`.
//!
//! Safety of every function here: the caller keeps the promises of the MPI standard about its arguments.
#![allow(non_snake_case, clippy::missing_safety_doc)]

use crate::{Comm, Info, Ompi};
use core::ffi::{CStr, c_int};
use hpvm_abi::constants::{
    MPI_COMM_NULL, MPI_COMM_SELF, MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_SHARED, MPI_Comm,
    MPI_ERRHANDLER_NULL, MPI_INFO_NULL, MPI_Info, MPI_SUCCESS,
};
use hpvm_foreign::numbers::error_out;
use hpvm_foreign::out_param::OutParam;
use hpvm_foreign::{Abi, entries, generated};

/// What a type of Open MPI goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// One of the standard, or none at all: the engine knows.
    Standard,
    /// Boards, compute units and clusters are hosts to Open MPI, too.
    Host,
    /// The parts of this name.
    Part(&'static CStr),
}

/// By the numbers of Open MPI's mpi.h, which are the same from 1.7 to 5.0.
fn meaning(split_type: c_int) -> By {
    match split_type {
        1 => By::Part(c"hwloc://PU"),
        2 => By::Part(c"hwloc://Core"),
        3 => By::Part(c"hwloc://L1Cache"),
        4 => By::Part(c"hwloc://L2Cache"),
        5 => By::Part(c"hwloc://L3Cache"),
        6 => By::Part(c"hwloc://Package"),
        7 => By::Part(c"hwloc://NUMANode"),
        8..=11 => By::Host,
        _ => By::Standard,
    }
}

/// `PMPI_Comm_split_type`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_split_type(
    comm: Comm,
    split_type: c_int,
    key: c_int,
    info: Info,
    newcomm: *mut Comm,
) -> c_int {
    let by = meaning(split_type);
    if by == By::Standard {
        // SAFETY: the caller's promises.
        return unsafe {
            generated::comm::comm_split_type::<Ompi>(comm, split_type, key, info, newcomm)
        };
    }
    let (comm, info) = (Ompi::comm_in(comm), Ompi::info_in(info));
    let mut own = OutParam::<Comm, MPI_Comm>::new(newcomm);
    // SAFETY: the caller's promises; places of ours live through the call.
    unsafe {
        let code = match by {
            By::Part(name) if !newcomm.is_null() => match by_part(comm, name, key, info) {
                Ok(part) => {
                    *own.pointer() = part;
                    MPI_SUCCESS
                }
                Err(code) => code,
            },
            _ => by_host(comm, key, info, own.pointer()),
        };
        own.give(Ompi::comm_out);
        error_out::<Ompi>(code)
    }
}

/// Calls [`PMPI_Comm_split_type`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_split_type(
    comm: Comm,
    split_type: c_int,
    key: c_int,
    info: Info,
    newcomm: *mut Comm,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { PMPI_Comm_split_type(comm, split_type, key, info, newcomm) }
}

unsafe fn by_host(comm: MPI_Comm, key: c_int, info: MPI_Info, made: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { (entries().standard.MPI_Comm_split_type)(comm, MPI_COMM_TYPE_SHARED, key, info, made) }
}

fn done(code: c_int) -> Result<(), c_int> {
    if code == MPI_SUCCESS { Ok(()) } else { Err(code) }
}

/// The standard gives no communicator to a process that is in no part of that kind, or in several; Open MPI one of its own.
unsafe fn by_part(
    comm: MPI_Comm,
    name: &CStr,
    key: c_int,
    info: MPI_Info,
) -> Result<MPI_Comm, c_int> {
    let (mpi, kind) = (&entries().standard, MPI_COMM_TYPE_HW_GUIDED);
    let (mut guide, mut part) = (MPI_INFO_NULL, MPI_COMM_NULL);
    // SAFETY: the caller's promises; places of ours live through each call.
    unsafe {
        done(match info {
            MPI_INFO_NULL => (mpi.MPI_Info_create)(&mut guide),
            _ => (mpi.MPI_Info_dup)(info, &mut guide),
        })?;
        let code = (mpi.MPI_Info_set)(guide, c"mpi_hw_resource_type".as_ptr(), name.as_ptr());
        let code = match code {
            MPI_SUCCESS => (mpi.MPI_Comm_split_type)(comm, kind, key, guide, &mut part),
            _ => code,
        };
        (mpi.MPI_Info_free)(&mut guide);
        done(code)?;
        if part == MPI_COMM_NULL {
            part = alone(comm)?;
        }
    }
    Ok(part)
}

/// A communicator of the caller, with the error handler of `comm`, as parts of it have.
unsafe fn alone(comm: MPI_Comm) -> Result<MPI_Comm, c_int> {
    let mpi = &entries().standard;
    let (mut made, mut handler) = (MPI_COMM_NULL, MPI_ERRHANDLER_NULL);
    // SAFETY: the caller's promises; places of ours live through each call.
    unsafe {
        done((mpi.MPI_Comm_dup)(MPI_COMM_SELF, &mut made))?;
        done((mpi.MPI_Comm_get_errhandler)(comm, &mut handler))?;
        let code = (mpi.MPI_Comm_set_errhandler)(made, handler);
        (mpi.MPI_Errhandler_free)(&mut handler);
        done(code)?;
    }
    Ok(made)
}
