//! Reductions (sections 6.9 to 6.11).

use super::small::{self, Small};
use super::{Call, forms};
use crate::args::Counts;
use crate::body::check::wrong;
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use hpvm_mpi::Class;
use hpvm_mpi::coll::{Plan, Root};
use hpvm_mpi::error::Result;

/// Count, datatype and operation.
type What = (MPI_Count, MPI_Datatype, MPI_Op);

forms! {
    (sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
        op: MPI_Op)
    as (sendbuf, recvbuf, (count, datatype, op));
    allreduce_plan or allreduce_small: "Allreduce", allreduce, iallreduce, allreduce_init;
    scan_plan: "Scan", scan, iscan, scan_init;
    exscan_plan: "Exscan", exscan, iexscan, exscan_init;
    reduce_scatter_block_plan: "Reduce_scatter_block", reduce_scatter_block, ireduce_scatter_block,
        reduce_scatter_block_init;
}

forms! {
    (sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
        op: MPI_Op, root: c_int)
    as (sendbuf, recvbuf, (count, datatype, op), root);
    reduce_plan or reduce_small: "Reduce", reduce, ireduce, reduce_init;
}

forms! {
    (sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: Counts, datatype: MPI_Datatype,
        op: MPI_Op)
    as (sendbuf, recvbuf, recvcounts, datatype, op);
    reduce_scatter_plan: "Reduce_scatter", reduce_scatter, ireduce_scatter, reduce_scatter_init;
}

type Buffers = (Option<*const u8>, *mut u8);

/// Checks the operands of an operation that gives each rank as much as it takes.
fn same_length(c: Call<'_>, send: *const c_void, recv: *mut c_void, what: What) -> Result<Buffers> {
    c.operands((send, what.0), (recv, what.0), what.1)
}

unsafe fn allreduce_small(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    what: What,
) -> Result<Small> {
    let combine = c.combine(what.0, what.1, what.2)?;
    let (send, recv) = same_length(c, send, recv, what)?;
    Ok(small::reduce(None, send, recv, combine))
}

unsafe fn allreduce_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    what: What,
) -> Result<Plan> {
    let combine = c.combine(what.0, what.1, what.2)?;
    let (send, recv) = same_length(c, send, recv, what)?;
    Ok(c.plan().allreduce(send, recv, combine))
}

/// Scans are defined within one group only.
fn one_group(c: Call<'_>) -> Result<()> {
    match c.comm().is_inter() {
        false => Ok(()),
        true => Err(wrong(Class::Comm, "scans are not defined on intercommunicators")),
    }
}

unsafe fn scan_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    what: What,
) -> Result<Plan> {
    one_group(c)?;
    let combine = c.combine(what.0, what.1, what.2)?;
    let (send, recv) = same_length(c, send, recv, what)?;
    Ok(c.plan().scan(send, recv, combine))
}

unsafe fn exscan_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    what: What,
) -> Result<Plan> {
    one_group(c)?;
    let combine = c.combine(what.0, what.1, what.2)?;
    let (send, recv) = same_length(c, send, recv, what)?;
    Ok(c.plan().exscan(send, recv, combine))
}

unsafe fn reduce_small(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    what: What,
    root: c_int,
) -> Result<Small> {
    let part = c.root(root)?;
    // Elsewhere in intercommunicators the other arguments may say nothing.
    let Root::Rank(root) = part.root else { return Ok(None) };
    let combine = c.combine(what.0, what.1, what.2)?;
    let (send, recv) = match part.is_root {
        true => same_length(c, send, recv, what)?,
        false => (Some(c.send((send, what.0, what.1))?.buf), null_mut()),
    };
    Ok(small::reduce(Some(root), send, recv, combine))
}

unsafe fn reduce_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    (count, datatype, op): What,
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

unsafe fn reduce_scatter_block_plan(
    c: Call<'_>,
    send: *const c_void,
    recv: *mut c_void,
    (count, datatype, op): What,
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

unsafe fn reduce_scatter_plan(
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
