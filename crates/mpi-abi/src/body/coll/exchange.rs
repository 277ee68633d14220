//! Barrier, allgather and alltoall (sections 6.3, 6.7 and 6.8).

use super::Call;
use super::arg::{Blocks, In, InV, InW, Out, OutV, OutW, apart, blocks_apart};
use super::shared_memory::{self, ShmArgs};
use hpvm_mpi::coll::Plan;
use hpvm_mpi::coll::shm::CollArgs;
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::{Incoming, Outgoing};

pub(super) unsafe fn barrier_shm_args(_: Call<'_>) -> Result<ShmArgs> {
    // It shows nothing, but is not nothing.
    Ok(Some((1, CollArgs::Barrier)))
}

pub(super) unsafe fn allgather_shm_args(c: Call<'_>, send: Out, recv: In) -> Result<ShmArgs> {
    let (send, recv) = allgather_sides(c, send, recv)?;
    let (bytes, buffers) = shared_memory::buffers(send, recv);
    Ok(Some((bytes, CollArgs::Allgather(buffers))))
}

pub(super) unsafe fn alltoall_shm_args(c: Call<'_>, send: Out, recv: In) -> Result<ShmArgs> {
    let (send, recv) = alltoall_sides(c, send, recv)?;
    let (bytes, buffers) = shared_memory::buffers(send, recv);
    Ok(Some((bytes.saturating_mul(u64::from(c.comm().size())), CollArgs::Alltoall(buffers))))
}

pub(super) unsafe fn barrier_plan(c: Call<'_>) -> Result<Plan> {
    Ok(c.plan().barrier())
}

/// The send side of an operation that all ranks may do in place.
#[inline(always)]
fn sent(c: Call<'_>, send: Out) -> Result<Option<Outgoing<'_>>> {
    if c.in_place(send.0)? { Ok(None) } else { c.send(send).map(Some) }
}

/// The buffers of an exchange; no send buffer for `MPI_IN_PLACE`.
type Buffers<'a> = (Option<Outgoing<'a>>, Incoming<'a>);

#[inline(always)]
fn allgather_sides(c: Call<'_>, send: Out, recv: In) -> Result<Buffers<'_>> {
    let recv = c.recv(recv)?;
    let send = sent(c, send)?;
    if let Some(send) = send {
        let own = recv.ty.extent().wrapping_mul(recv.count) * i64::from(c.comm().rank());
        let bytes = if c.comm().is_inter() { 0 } else { send.packed_size() as i64 };
        apart(send.buf, recv.buf.wrapping_offset(own as isize), bytes)?;
    }
    Ok((send, recv))
}

pub(super) unsafe fn allgather_plan(c: Call<'_>, send: Out, recv: In) -> Result<Plan> {
    let (send, recv) = allgather_sides(c, send, recv)?;
    Ok(c.plan().allgather(send, recv))
}

pub(super) unsafe fn allgatherv_plan(c: Call<'_>, send: Out, recv: InV) -> Result<Plan> {
    // SAFETY: the arrays have an element for every peer.
    let recv = unsafe { c.recv_v(recv, c.peers())? };
    let send = sent(c, send)?;
    if let (Some(send), false) = (send, c.comm().is_inter()) {
        let (own, bytes) = recv.block(c.comm().rank() as usize);
        apart(send.buf, own, bytes.min(send.packed_size() as i64))?;
    }
    Ok(c.plan().allgatherv(send, recv.varied()))
}

#[inline(always)]
fn alltoall_sides(c: Call<'_>, send: Out, recv: In) -> Result<Buffers<'_>> {
    let recv = c.recv(recv)?;
    let send = sent(c, send)?;
    if let Some(send) = send {
        apart(send.buf, recv.buf, send.packed_size() as i64)?;
    }
    Ok((send, recv))
}

pub(super) unsafe fn alltoall_plan(c: Call<'_>, send: Out, recv: In) -> Result<Plan> {
    let (send, recv) = alltoall_sides(c, send, recv)?;
    Ok(c.plan().alltoall(send, recv))
}

pub(super) unsafe fn alltoallv_plan(c: Call<'_>, send: OutV, recv: InV) -> Result<Plan> {
    let n = c.peers();
    // SAFETY: the arrays have an element for every peer.
    let recv = unsafe { c.recv_v(recv, n)? };
    let send = match c.in_place(send.0)? {
        true => None,
        // SAFETY: as above.
        false => Some(unsafe { c.send_v(send, n)? }),
    };
    if let Some(send) = &send {
        blocks_apart(send, &recv, n)?;
    }
    Ok(c.plan().alltoallv(send.as_ref().map(|v| v.varied()), recv.varied()))
}

pub(super) unsafe fn alltoallw_plan(c: Call<'_>, send: OutW, recv: InW) -> Result<Plan> {
    let n = c.peers();
    // SAFETY: the arrays have an element for every peer.
    let recv = unsafe { c.recv_w(recv, n)? };
    let send = match c.in_place(send.0)? {
        true => None,
        // SAFETY: as above.
        false => Some(unsafe { c.send_w(send, n)? }),
    };
    if let Some(send) = &send {
        blocks_apart(send, &recv, n)?;
    }
    Ok(c.plan().alltoallw(send, recv))
}
