//! New communicators from groups and by splitting (section 7.4.2).

use super::{add, adopt_some};
use crate::body::check::{out, send_tag, text, wrong};
use crate::body::errh::find_for_comm;
use crate::generated::constants::*;
use crate::object::comm::{Extras, hints};
use crate::object::errhandler::Handler;
use crate::object::info::{self, Info};
use crate::raise::{fatal, on_comm, raise_global, remember};
use crate::runtime::{Entered, World, enter};
use core::ffi::{c_char, c_int};
use hpvm_mpi::engine::peers::RANK_BITS as JOB_SHIFT;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Group, build};
use std::sync::Arc;

pub unsafe fn comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm) -> c_int {
    on_comm("MPI_Comm_create", comm, |w| {
        let parent = w.objects.comm(comm)?.clone();
        let group = w.objects.group(group)?;
        out("newcomm", newcomm)?;
        check_part(&group, parent.comm.group())?;
        let made = build::create(w, &parent.comm, &group)?;
        // SAFETY: checked above.
        unsafe { *newcomm = adopt_some(w, &parent, made)? };
        Ok(())
    })
}

/// `group` must be a part of `whole`.
fn check_part(group: &Group, whole: &Group) -> Result<()> {
    match group.processes().position(|p| whole.place(p).is_none()) {
        None => Ok(()),
        Some(rank) => {
            let text = format!("rank {rank} of the group is not a member of the communicator");
            Err(wrong(Class::Group, text))
        }
    }
}

pub unsafe fn comm_create_group(
    comm: MPI_Comm,
    group: MPI_Group,
    tag: c_int,
    newcomm: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Comm_create_group", comm, |w| {
        let parent = w.objects.comm(comm)?.clone();
        let group = w.objects.group(group)?;
        out("newcomm", newcomm)?;
        if parent.comm.is_inter() {
            return Err(wrong(Class::Comm, "expected an intracommunicator"));
        }
        send_tag(tag)?;
        check_part(&group, parent.comm.group())?;
        let made = build::create_group(w, &parent.comm, &group, tag)?;
        // SAFETY: checked above.
        unsafe { *newcomm = adopt_some(w, &parent, made)? };
        Ok(())
    })
}

/// Tags made from strings.
pub struct TagOf;

impl TagOf {
    /// A tag for a string tag: programs that use different ones at the same time are kept apart
    /// (with FNV-1a, two in 2^31 pairs of them are not).
    ///
    /// # Safety
    /// As for [`text`].
    pub unsafe fn string(stringtag: *const c_char) -> Result<i32> {
        // SAFETY: the caller's promise.
        let tag = unsafe { text("stringtag", stringtag)? };
        if tag.len() >= MPI_MAX_STRINGTAG_LEN as usize {
            let most = MPI_MAX_STRINGTAG_LEN - 1;
            let text = format!("stringtag has {} bytes; expected at most {most}", tag.len());
            return Err(wrong(Class::Arg, text));
        }
        let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        Ok((tag.bytes().fold(0x811c_9dc5, step) & i32::MAX as u32) as i32)
    }
}

/// The result of a call without a parent: its errors go to the handler that the new communicator
/// would have had.
pub fn raise_by(function: &'static str, errhandler: MPI_Errhandler, result: Result<()>) -> c_int {
    let Err(error) = result else { return MPI_SUCCESS };
    match find_for_comm(errhandler) {
        Err(_) => raise_global(function, error),
        Ok(Handler::Return) => remember(error),
        Ok(Handler::Comm(Some(f))) => {
            let mut code = remember(error);
            let mut handle = MPI_COMM_NULL;
            // SAFETY: the program's function for communicators, and places that live through it.
            unsafe { f(&mut handle, &mut code) };
            code
        }
        Ok(Handler::Foreign(f)) => {
            let mut code = remember(error);
            // SAFETY: the program's function for communicators, and no guard is held.
            unsafe { f.run(MPI_COMM_NULL.0, &mut code) };
            code
        }
        Ok(_) => fatal(function, "", &error),
    }
}

pub unsafe fn comm_create_from_group(
    group: MPI_Group,
    stringtag: *const c_char,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newcomm: *mut MPI_Comm,
) -> c_int {
    let create = |w: &mut Entered| -> Result<()> {
        let group = w.objects.group(group)?;
        out("newcomm", newcomm)?;
        let handler = find_for_comm(errhandler)?;
        let info = hints(&info::copy_or_empty(info)?);
        // SAFETY: the caller's promise.
        let tag = unsafe { TagOf::string(stringtag)? };
        let made = build::create_from_group(w, &group, tag)?;
        let new = match made {
            None => MPI_COMM_NULL,
            Some(comm) => add(w, comm, Extras { handler, info, ..Extras::default() })?,
        };
        // SAFETY: checked above.
        unsafe { *newcomm = new };
        Ok(())
    };
    let result = enter().and_then(|mut w| create(&mut w));
    raise_by("MPI_Comm_create_from_group", errhandler, result)
}

pub unsafe fn comm_split(
    comm: MPI_Comm,
    color: c_int,
    key: c_int,
    newcomm: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Comm_split", comm, |w| {
        let parent = w.objects.comm(comm)?.clone();
        out("newcomm", newcomm)?;
        let colour = match color {
            MPI_UNDEFINED => None,
            0.. => Some(color),
            _ => {
                let text = format!("color {color}; expected 0 or more, or MPI_UNDEFINED");
                return Err(wrong(Class::Arg, text));
            }
        };
        let made = build::split(w, &parent.comm, colour, key)?;
        // SAFETY: checked above.
        unsafe { *newcomm = adopt_some(w, &parent, made)? };
        Ok(())
    })
}

pub unsafe fn comm_split_type(
    comm: MPI_Comm,
    split_type: c_int,
    key: c_int,
    info: MPI_Info,
    newcomm: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Comm_split_type", comm, |w| {
        let parent = w.objects.comm(comm)?.clone();
        out("newcomm", newcomm)?;
        let given = info::copy_or_empty(info)?;
        let colour = colour_of_type(w, &parent.comm, split_type, &given)?;
        let made = build::split(w, &parent.comm, colour, key)?;
        let new = adopt_some(w, &parent, made)?;
        if new != MPI_COMM_NULL {
            w.objects.comm(new)?.extras().info = hints(&given);
            let chosen = split_type == MPI_COMM_TYPE_HW_UNGUIDED && info != MPI_INFO_NULL;
            if chosen && info::check_writable(info).is_ok() {
                // The caller learns what it was split by (MPI 5.0, section 7.4.2).
                info::with_info(info, |i| i.set(RESOURCE.0, RESOURCE.1))?;
            }
        }
        // SAFETY: checked above.
        unsafe { *newcomm = new };
        Ok(())
    })
}

/// Info key and the one value that names something we know: the memory of a host, which is the
/// only level of hardware that hpvm tells apart.
const RESOURCE: (&str, &str) = ("mpi_hw_resource_type", "mpi_shared_memory");

/// The colour of this process in a split by hardware: the number of its host, or none where the
/// type does not divide the communicator any further.
fn colour_of_type(w: &World, comm: &Arc<Comm>, kind: c_int, info: &Info) -> Result<Option<i32>> {
    // Processes of other jobs share no windows with ours: each job has hosts of its own.
    let job = |process: u32| w.process.identity(process).unwrap_or(0) >> JOB_SHIFT;
    let node = |process: u32| w.job.nodes.get(process as usize).copied().unwrap_or(0);
    let host = |process: u32| (job(process), node(process));
    let mine = host(w.job.rank);
    let strangers = comm.group().processes().any(|p| job(p) != mine.0);
    let number = if strangers { mine.0 as u32 ^ mine.1.rotate_left(16) } else { mine.1 };
    let colour = Some((number & i32::MAX as u32) as i32);
    let divides = comm.group().processes().any(|p| host(p) != mine);
    match kind {
        MPI_UNDEFINED => Ok(None),
        MPI_COMM_TYPE_SHARED => Ok(colour),
        MPI_COMM_TYPE_HW_UNGUIDED => Ok(colour.filter(|_| divides)),
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => match info.get(RESOURCE.0) {
            Some(value) if value == RESOURCE.1 => Ok(colour),
            // Also without the key.
            _ => Ok(None),
        },
        _ => {
            let text = format!("split_type {kind}; expected an MPI_COMM_TYPE constant");
            Err(wrong(Class::Arg, text))
        }
    }
}
