//! Broadcast, gather and scatter (sections 6.4 to 6.6).

use super::Call;
use super::arg::{Blocks, In, InV, Out, OutV, Part, apart};
use super::shared_memory::{self, ShmArgs};
use crate::generated::constants::*;
use core::ffi::c_int;
use hpvm_mpi::coll::{Plan, Root};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Outgoing};

pub(super) unsafe fn bcast_shm_args(c: Call<'_>, buffer: In, root: c_int) -> Result<ShmArgs> {
    match c.root(root)?.root {
        Root::Rank(root) => Ok(shared_memory::bcast(root, c.recv(buffer)?)),
        _ => Ok(None),
    }
}

pub(super) unsafe fn bcast_plan(c: Call<'_>, buffer: In, root: c_int) -> Result<Plan> {
    let part = c.root(root)?;
    let buffer = match part.is_root || part.is_leaf {
        true => c.recv(buffer)?,
        false => c.recv((core::ptr::null_mut(), 0, MPI_BYTE))?,
    };
    Ok(c.plan().bcast(part.root, buffer))
}

/// The buffers of a gather or a scatter: none for `MPI_IN_PLACE`, nor where a member has none.
type Buffers<'a> = (Part, Option<Outgoing<'a>>, Option<Incoming<'a>>);

#[inline(always)]
fn gather_sides(c: Call<'_>, send: Out, recv: In, root: c_int) -> Result<Buffers<'_>> {
    let part = c.root(root)?;
    let recv = part.is_root.then(|| c.recv(recv)).transpose()?;
    let send = gathered(c, send, part.is_leaf, part.may_be_in_place())?;
    if let (Some(send), Some(recv)) = (send, recv) {
        let own = recv.ty.extent().wrapping_mul(recv.count) * i64::from(c.comm().rank());
        apart(send.buf, recv.buf.wrapping_offset(own as isize), send.packed_size() as i64)?;
    }
    Ok((part, send, recv))
}

pub(super) unsafe fn gather_shm_args(
    c: Call<'_>,
    send: Out,
    recv: In,
    root: c_int,
) -> Result<ShmArgs> {
    let (part, send, recv) = gather_sides(c, send, recv, root)?;
    let Root::Rank(root) = part.root else { return Ok(None) };
    Ok(shared_memory::gather(root, send, recv))
}

pub(super) unsafe fn gather_plan(c: Call<'_>, send: Out, recv: In, root: c_int) -> Result<Plan> {
    let (part, send, recv) = gather_sides(c, send, recv, root)?;
    Ok(c.plan().gather(part.root, send, recv))
}

/// The send side of a gather.
#[inline(always)]
fn gathered(c: Call<'_>, send: Out, is_leaf: bool, may: bool) -> Result<Option<Outgoing<'_>>> {
    match !is_leaf || (may && c.in_place(send.0)?) {
        true => Ok(None),
        false => c.send(send).map(Some),
    }
}

pub(super) unsafe fn gatherv_plan(c: Call<'_>, send: Out, recv: InV, root: c_int) -> Result<Plan> {
    let part = c.root(root)?;
    // SAFETY: at the root the arrays have an element for every peer.
    let recv = part.is_root.then(|| unsafe { c.recv_v(recv, c.peers()) }).transpose()?;
    let send = gathered(c, send, part.is_leaf, part.may_be_in_place())?;
    if let (Some(send), Some(recv)) = (send, &recv) {
        let (own, bytes) = recv.block(c.comm().rank() as usize);
        apart(send.buf, own, bytes.min(send.packed_size() as i64))?;
    }
    Ok(c.plan().gatherv(part.root, send, recv.as_ref().map(|v| v.varied())))
}

#[inline(always)]
fn scatter_sides(c: Call<'_>, send: Out, recv: In, root: c_int) -> Result<Buffers<'_>> {
    let part = c.root(root)?;
    let send = part.is_root.then(|| c.send(send)).transpose()?;
    let recv = match !part.is_leaf || (part.may_be_in_place() && c.in_place(recv.0)?) {
        true => None,
        false => Some(c.recv(recv)?),
    };
    if let (Some(send), Some(recv)) = (send, recv) {
        let own = send.ty.extent().wrapping_mul(send.count) * i64::from(c.comm().rank());
        apart(send.buf.wrapping_offset(own as isize), recv.buf, send.packed_size() as i64)?;
    }
    Ok((part, send, recv))
}

pub(super) unsafe fn scatter_shm_args(
    c: Call<'_>,
    send: Out,
    recv: In,
    root: c_int,
) -> Result<ShmArgs> {
    let (part, send, recv) = scatter_sides(c, send, recv, root)?;
    let Root::Rank(root) = part.root else { return Ok(None) };
    Ok(shared_memory::scatter(root, c.comm().size(), send, recv))
}

pub(super) unsafe fn scatter_plan(c: Call<'_>, send: Out, recv: In, root: c_int) -> Result<Plan> {
    let (part, send, recv) = scatter_sides(c, send, recv, root)?;
    Ok(c.plan().scatter(part.root, send, recv))
}

pub(super) unsafe fn scatterv_plan(c: Call<'_>, send: OutV, recv: In, root: c_int) -> Result<Plan> {
    let part = c.root(root)?;
    // SAFETY: at the root the arrays have an element for every peer.
    let send = part.is_root.then(|| unsafe { c.send_v(send, c.peers()) }).transpose()?;
    let recv = match !part.is_leaf || (part.may_be_in_place() && c.in_place(recv.0)?) {
        true => None,
        false => Some(c.recv(recv)?),
    };
    if let (Some(send), Some(recv)) = (&send, recv) {
        let (own, bytes) = send.block(c.comm().rank() as usize);
        apart(own, recv.buf, bytes)?;
    }
    Ok(c.plan().scatterv(part.root, send.as_ref().map(|v| v.varied()), recv))
}
