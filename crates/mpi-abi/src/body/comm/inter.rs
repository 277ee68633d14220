//! Intercommunicators (section 7.6).

use super::make::{TagOf, raise_by};
use super::{adopt, no_remote_side};
use crate::body::check::{out, send_tag, wrong};
use crate::body::errh::find_for_comm;
use crate::generated::constants::*;
use crate::object::comm::{Extras, hints};
use crate::object::info;
use crate::raise::on_comm;
use crate::runtime::{Entered, enter};
use core::ffi::{c_char, c_int};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, build};

/// A leader's rank.
fn leader(what: &str, rank: c_int, size: u32) -> Result<u32> {
    match u32::try_from(rank) {
        Ok(leader) if leader < size => Ok(leader),
        _ => {
            let text = format!("{what} {rank}; expected 0 to {}", size.wrapping_sub(1) as i32);
            Err(wrong(Class::Rank, text))
        }
    }
}

pub unsafe fn intercomm_create(
    local_comm: MPI_Comm,
    local_leader: c_int,
    peer_comm: MPI_Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Intercomm_create", local_comm, |w| {
        let local = w.objects.comm(local_comm)?.clone();
        out("newintercomm", newintercomm)?;
        if local.comm.is_inter() {
            return Err(wrong(Class::Comm, "local_comm is an intercommunicator"));
        }
        let first = leader("local leader", local_leader, local.comm.size())?;
        send_tag(tag)?;
        let bridge = match local.comm.rank() == first {
            false => None,
            true => {
                let peer = w.objects.comm(peer_comm)?.comm.clone();
                leader("remote leader", remote_leader, peer.peers().size())?;
                Some(peer)
            }
        };
        let bridge = bridge.as_ref().map(|peer| (peer, remote_leader));
        let made = build::intercomm_create(w, &local.comm, first, bridge, tag)?;
        // SAFETY: checked above.
        unsafe { *newintercomm = adopt(w, &local, made)? };
        Ok(())
    })
}

pub unsafe fn intercomm_create_from_groups(
    local_group: MPI_Group,
    local_leader: c_int,
    remote_group: MPI_Group,
    remote_leader: c_int,
    stringtag: *const c_char,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newintercomm: *mut MPI_Comm,
) -> c_int {
    let create = |w: &mut Entered| -> Result<()> {
        out("newintercomm", newintercomm)?;
        let handler = find_for_comm(errhandler)?;
        let hints = hints(&info::copy_or_empty(info)?);
        // SAFETY: the caller's promise.
        let tag = unsafe { TagOf::string(stringtag)? };
        let local = w.objects.group(local_group)?;
        let first = leader("local leader", local_leader, local.size())?;
        let me = w.job.rank;
        let Some(place) = local.rank_of(me) else {
            return Err(wrong(Class::Group, "the calling process is not in local_group"));
        };
        let peer = match place == first {
            false => None,
            true => {
                let remote = w.objects.group(remote_group)?;
                remote.process(leader("remote leader", remote_leader, remote.size())?)
            }
        };
        let made = build::intercomm_create_from_groups(w, &local, first, peer, tag)?;
        let extras = Extras { handler, info: hints, ..Extras::default() };
        // SAFETY: checked above.
        unsafe { *newintercomm = super::add(w, made, extras)? };
        Ok(())
    };
    let result = enter().and_then(|mut w| create(&mut w));
    raise_by("MPI_Intercomm_create_from_groups", errhandler, result)
}

pub unsafe fn intercomm_merge(
    intercomm: MPI_Comm,
    high: c_int,
    newintracomm: *mut MPI_Comm,
) -> c_int {
    on_comm("MPI_Intercomm_merge", intercomm, |w| {
        let parent = w.objects.comm(intercomm)?.clone();
        out("newintracomm", newintracomm)?;
        if !parent.comm.is_inter() {
            return Err(no_remote_side());
        }
        let made = build::intercomm_merge(w, &parent.comm, high != 0)?;
        // SAFETY: checked above.
        unsafe { *newintracomm = adopt(w, &parent, made)? };
        Ok(())
    })
}
