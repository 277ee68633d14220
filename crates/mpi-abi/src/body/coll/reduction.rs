//! Reductions (sections 6.9 to 6.11).

use super::Call;
use super::shared_memory::{self, ShmArgs};
use crate::args::Counts;
use crate::body::check::wrong;
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use hpvm_mpi::Class;
use hpvm_mpi::coll::{Plan, Root};
use hpvm_mpi::error::Result;

/// Count, datatype and operation.
type Operands = (MPI_Count, MPI_Datatype, MPI_Op);

type Buffers = (Option<*const u8>, *mut u8);

/// Checks the operands of an operation that gives each rank as much as it takes.
fn same_length(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    operands: Operands,
) -> Result<Buffers> {
    c.operands((send, operands.0), (recv, operands.0), operands.1)
}

pub(super) unsafe fn allreduce_shm_args(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    operands: Operands,
) -> Result<ShmArgs> {
    let combine = c.combine(operands.0, operands.1, operands.2)?;
    let (send, recv) = same_length(c, send, recv, operands)?;
    Ok(shared_memory::reduce(None, send, recv, combine))
}

pub(super) unsafe fn allreduce_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    operands: Operands,
) -> Result<Plan> {
    let combine = c.combine(operands.0, operands.1, operands.2)?;
    let (send, recv) = same_length(c, send, recv, operands)?;
    Ok(c.plan().allreduce(send, recv, combine))
}

/// Scans are defined within one group only.
fn one_group(c: Call<'_>) -> Result<()> {
    match c.comm().is_inter() {
        false => Ok(()),
        true => Err(wrong(Class::Comm, "scans are not defined on intercommunicators")),
    }
}

pub(super) unsafe fn scan_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    operands: Operands,
) -> Result<Plan> {
    one_group(c)?;
    let combine = c.combine(operands.0, operands.1, operands.2)?;
    let (send, recv) = same_length(c, send, recv, operands)?;
    Ok(c.plan().scan(send, recv, combine))
}

pub(super) unsafe fn exscan_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    operands: Operands,
) -> Result<Plan> {
    one_group(c)?;
    let combine = c.combine(operands.0, operands.1, operands.2)?;
    let (send, recv) = same_length(c, send, recv, operands)?;
    Ok(c.plan().exscan(send, recv, combine))
}

pub(super) unsafe fn reduce_shm_args(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    operands: Operands,
    root: c_int,
) -> Result<ShmArgs> {
    let part = c.root(root)?;
    // Elsewhere in intercommunicators the other arguments may say nothing.
    let Root::Rank(root) = part.root else { return Ok(None) };
    let combine = c.combine(operands.0, operands.1, operands.2)?;
    let (send, recv) = match part.is_root {
        true => same_length(c, send, recv, operands)?,
        false => (Some(c.send((send, operands.0, operands.1))?.buf), null_mut()),
    };
    Ok(shared_memory::reduce(Some(root), send, recv, combine))
}

pub(super) unsafe fn reduce_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    (count, datatype, op): Operands,
    root: c_int,
) -> Result<Plan> {
    let part = c.root(root)?;
    if !part.is_root && !part.is_leaf {
        // Nothing is significant here.
        let combine = c.combine(0, MPI_BYTE, MPI_BOR)?;
        return Ok(c.plan().reduce(part.root, None, null_mut(), combine));
    }
    let combine = c.combine(count, datatype, op)?;
    let (send, recv) = match (part.is_leaf, part.is_root) {
        (true, true) => same_length(c, send, recv, (count, datatype, op))?,
        (true, false) => (Some(c.send((send, count, datatype))?.buf), null_mut()),
        (false, _) => (None, c.recv((recv, count, datatype))?.buf),
    };
    Ok(c.plan().reduce(part.root, send, recv, combine))
}

pub(super) unsafe fn reduce_scatter_block_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    (count, datatype, op): Operands,
) -> Result<Plan> {
    let combine = c.combine(count, datatype, op)?;
    let whole = whole(count, c.comm().size())?;
    let (send, recv) = c.operands((send, whole), (recv, count), datatype)?;
    Ok(c.plan().reduce_scatter_block(send, recv, combine))
}

/// Elements of `n` parts of `count` each.
fn whole(count: i64, n: u32) -> Result<i64> {
    count.checked_mul(i64::from(n)).ok_or_else(|| {
        wrong(Class::Count, format!("{n} times {count} elements are more than 63 bits hold"))
    })
}

pub(super) unsafe fn reduce_scatter_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    counts: Counts,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Result<Plan> {
    let n = c.comm().size() as usize;
    if counts.is_null() {
        return Err(wrong(Class::Arg, "recvcounts is null; expected an address"));
    }
    // SAFETY: the array has an element for every rank of the local group.
    let counts = unsafe { counts.to_vec(n) };
    if let Some(i) = counts.iter().position(|c| *c < 0) {
        let text = format!("recvcounts[{i}] is {}; expected 0 or more", counts[i]);
        return Err(wrong(Class::Count, text));
    }
    let all = counts
        .iter()
        .try_fold(0i64, |a, b| a.checked_add(*b))
        .ok_or_else(|| wrong(Class::Count, "the sum of recvcounts is more than 63 bits hold"))?;
    let combine = c.combine(all, datatype, op)?;
    let own = counts[c.comm().rank() as usize];
    let (send, recv) = c.operands((send, all), (recv, own), datatype)?;
    Ok(c.plan().reduce_scatter(send, recv, &counts, combine))
}
