//! New communicators from groups and by splitting (section 7.4.2).

use super::{add, adopt_some};
use crate::body::check::{out, send_tag, text, wrong};
use crate::body::env::localities;
use crate::body::errh::find_for_comm;
use crate::body::session::process_set;
use crate::generated::constants::*;
use crate::object::comm::{Extras, hints};
use crate::object::errhandler::Handler;
use crate::object::info::{self, Info};
use crate::raise::{fatal, on_comm, raise_global, remember};
use crate::runtime::{Entered, World, enter};
use core::ffi::{c_char, c_int};
use hpvm_mpi::comm::hardware::{self, By, Level, Locality, Resource};
use hpvm_mpi::engine::peers::RANK_BITS as JOB_SHIFT;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Group, build};

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
    match group.processes().position(|p| whole.rank_of(p).is_none()) {
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
        let by = by_type(w, &parent.comm, split_type, &given)?;
        let (made, level) = hardware::split(w, &parent.comm, by, key)?;
        let new = adopt_some(w, &parent, made)?;
        if new != MPI_COMM_NULL {
            w.objects.comm(new)?.extras().info = hints(&given);
            let chosen = split_type == MPI_COMM_TYPE_HW_UNGUIDED && info != MPI_INFO_NULL;
            if chosen && info::check_writable(info).is_ok() {
                // The caller learns what it was split by (MPI 5.0, section 7.4.2).
                let name = level.map_or(SHARED_MEMORY, Level::uri);
                info::with_info(info, |i| i.set(RESOURCE, name))?;
            }
        }
        // SAFETY: checked above.
        unsafe { *newcomm = new };
        Ok(())
    })
}

/// Info keys that say what a communicator is split by.
const RESOURCE: &str = "mpi_hw_resource_type";
const SET: &str = "mpi_pset_name";
/// The resource that is a host.
const SHARED_MEMORY: &str = "mpi_shared_memory";

/// The host of a process: its job and the host's number in that. Processes of other jobs share no windows with ours, so each job has
/// hosts of its own.
fn host_of(w: &World, process: u32) -> (u64, u32) {
    let job = w.process.identity(process).unwrap_or(0) >> JOB_SHIFT;
    (job, w.job.nodes.get(process as usize).copied().unwrap_or(0))
}

/// A colour for this process's part of its host, other than those of other hosts' parts. (If there are members of other jobs two of
/// 2^63 pairs agree.)
fn colour(w: &World, comm: &Comm, part: u32) -> u64 {
    let mine = host_of(w, w.job.rank);
    match comm.group().processes().any(|p| host_of(w, p).0 != mine.0) {
        false => u64::from(mine.1) << 32 | u64::from(part),
        true => {
            // Odd, with bits of both kinds everywhere.
            const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
            let words = [u64::from(mine.1), u64::from(part)];
            let step = |hash: u64, word: u64| (hash ^ hash >> 29 ^ word).wrapping_mul(SPREAD);
            words.into_iter().fold(mine.0.wrapping_mul(SPREAD), step) >> 1
        }
    }
}

/// How this process takes part in a split by a type.
fn by_type(w: &World, comm: &Comm, kind: c_int, info: &Info) -> Result<By> {
    let host = || By::Colour(colour(w, comm, 0));
    let resource = || match info.get(RESOURCE).and_then(Resource::of) {
        Some(Resource::Host) => host(),
        Some(Resource::Part(level)) => match localities()[level as usize] {
            Locality::In(part) => By::Colour(colour(w, comm, part)),
            Locality::Several | Locality::Absent => By::Nothing,
        },
        // Also without the key.
        None => By::Nothing,
    };
    match kind {
        MPI_UNDEFINED => Ok(By::Nothing),
        MPI_COMM_TYPE_SHARED => Ok(host()),
        MPI_COMM_TYPE_HW_GUIDED => Ok(resource()),
        MPI_COMM_TYPE_RESOURCE_GUIDED => match (info.get(RESOURCE), info.get(SET)) {
            (Some(_), Some(_)) => {
                let text = format!("info has both {RESOURCE} and {SET}; expected one of them");
                Err(wrong(Class::Info, text))
            }
            (_, None) => Ok(resource()),
            (None, Some(name)) => Ok(by_set(w, name)),
        },
        MPI_COMM_TYPE_HW_UNGUIDED => {
            let mine = host_of(w, w.job.rank);
            let divides = comm.group().processes().any(|p| host_of(w, p) != mine);
            Ok(if divides { host() } else { By::Parts(localities()) })
        }
        _ => {
            let text = format!("split_type {kind}; expected an MPI_COMM_TYPE constant");
            Err(wrong(Class::Arg, text))
        }
    }
}

/// By a process set: those of its processes that are members stay together.
fn by_set(w: &World, name: &str) -> By {
    // Unknown sets are no error here.
    let Ok(set) = process_set(w, name) else { return By::Nothing };
    // Every process knows only the sets that it is in, and a set goes by its first process: sets of the same name are told apart.
    match set.process(0).and_then(|first| w.process.identity(first)) {
        Some(first) if set.rank_of(w.job.rank).is_some() => By::Colour(first & u64::MAX >> 1),
        _ => By::Nothing,
    }
}
