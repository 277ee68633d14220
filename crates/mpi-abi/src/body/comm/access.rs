//! What a communicator is: ranks, groups, names, hints (sections 7.4.1, 7.4.4, 7.6.1, 7.8).

use crate::body::check::{out, text, wrong};
use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::object::comm::hints;
use crate::object::info;
use crate::raise::on_comm;
use core::ffi::{c_char, c_int};
use hpvm_mpi::comm::group::Likeness;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};

pub unsafe fn comm_rank(comm: MPI_Comm, rank: *mut c_int) -> c_int {
    on_comm("MPI_Comm_rank", comm, |w| {
        out("rank", rank)?;
        // SAFETY: checked above.
        unsafe { *rank = w.objects.comm(comm)?.comm.rank() as c_int };
        Ok(())
    })
}

pub unsafe fn comm_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    on_comm("MPI_Comm_size", comm, |w| {
        out("size", size)?;
        // SAFETY: checked above.
        unsafe { *size = w.objects.comm(comm)?.comm.size() as c_int };
        Ok(())
    })
}

/// What `MPI_Comm_compare` and `MPI_Group_compare` return for groups; `identical` is the result
/// for the same members in the same order.
pub fn likeness(found: Likeness, identical: c_int) -> c_int {
    match found {
        Likeness::Identical => identical,
        Likeness::Similar => MPI_SIMILAR,
        Likeness::Unequal => MPI_UNEQUAL,
    }
}

pub unsafe fn comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int) -> c_int {
    on_comm("MPI_Comm_compare", comm1, |w| {
        let (a, b) = (w.objects.comm(comm1)?, w.objects.comm(comm2)?);
        out("result", result)?;
        let found = match comm1 == comm2 {
            true => MPI_IDENT,
            false => likeness(a.comm.compare(&b.comm), MPI_CONGRUENT),
        };
        // SAFETY: checked above.
        unsafe { *result = found };
        Ok(())
    })
}

pub unsafe fn comm_group(comm: MPI_Comm, group: *mut MPI_Group) -> c_int {
    on_comm("MPI_Comm_group", comm, |w| {
        let members = w.objects.comm(comm)?.comm.group().clone();
        out("group", group)?;
        // SAFETY: checked above.
        unsafe { *group = w.objects.add_group(members)? };
        Ok(())
    })
}

/// The error of a call that needs an intercommunicator.
pub fn no_remote_side() -> Error {
    wrong(Class::Comm, "expected an intercommunicator, found an intracommunicator")
}

pub unsafe fn comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) -> c_int {
    on_comm("MPI_Comm_remote_group", comm, |w| {
        let remote = w.objects.comm(comm)?.comm.remote_group().cloned();
        out("group", group)?;
        let remote = remote.ok_or_else(no_remote_side)?;
        // SAFETY: checked above.
        unsafe { *group = w.objects.add_group(remote)? };
        Ok(())
    })
}

pub unsafe fn comm_remote_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    on_comm("MPI_Comm_remote_size", comm, |w| {
        let remote = w.objects.comm(comm)?.comm.remote_group().cloned();
        out("size", size)?;
        // SAFETY: checked above.
        unsafe { *size = remote.ok_or_else(no_remote_side)?.size() as c_int };
        Ok(())
    })
}

pub unsafe fn comm_test_inter(comm: MPI_Comm, flag: *mut c_int) -> c_int {
    on_comm("MPI_Comm_test_inter", comm, |w| {
        let inter = w.objects.comm(comm)?.comm.is_inter();
        out("flag", flag)?;
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(inter) };
        Ok(())
    })
}

/// A name argument, cut to `MPI_MAX_OBJECT_NAME - 1` bytes.
///
/// # Safety
/// As for [`text`].
pub unsafe fn object_name(what: &str, name: *const c_char) -> Result<String> {
    // SAFETY: the caller's promise.
    let mut name = unsafe { text(what, name)? };
    let mut end = name.len().min(MPI_MAX_OBJECT_NAME as usize - 1);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    Ok(name)
}

pub unsafe fn comm_set_name(comm: MPI_Comm, comm_name: *const c_char) -> c_int {
    on_comm("MPI_Comm_set_name", comm, |w| {
        let object = w.objects.comm(comm)?;
        // SAFETY: the caller's promise.
        object.extras().name = unsafe { object_name("comm_name", comm_name)? };
        Ok(())
    })
}

pub unsafe fn comm_get_name(
    comm: MPI_Comm,
    comm_name: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    on_comm("MPI_Comm_get_name", comm, |w| {
        let name = match comm {
            // The null handle has a name (section 7.8).
            MPI_COMM_NULL => "MPI_COMM_NULL".to_owned(),
            other => w.objects.comm(other)?.extras().name.clone(),
        };
        out("comm_name", comm_name)?;
        out("resultlen", resultlen)?;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(&name, comm_name, MPI_MAX_OBJECT_NAME as usize, resultlen) };
        Ok(())
    })
}

pub unsafe fn comm_set_info(comm: MPI_Comm, info: MPI_Info) -> c_int {
    on_comm("MPI_Comm_set_info", comm, |w| {
        let mut extras = w.objects.comm(comm)?.extras();
        let new = hints(&info::copy_or_empty(info)?);
        for (key, value) in new.iter() {
            extras.info.set(key, value);
        }
        Ok(())
    })
}

pub unsafe fn comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) -> c_int {
    on_comm("MPI_Comm_get_info", comm, |w| {
        let mut used = w.objects.comm(comm)?.extras().info.clone();
        out("info_used", info_used)?;
        used.set(info::ALLOC_KINDS.0, info::ALLOC_KINDS.1);
        // SAFETY: checked above.
        unsafe { *info_used = info::add(used)? };
        Ok(())
    })
}
