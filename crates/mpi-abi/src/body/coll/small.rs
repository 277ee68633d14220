//! Small blocking collectives through collective slots (`hpvm_mpi::coll::shm`).

use super::Call;
use crate::generated::constants::*;
use crate::object::comm::CommObject;
use crate::runtime::Entered;
use hpvm_mpi::coll::Combine;
use hpvm_mpi::coll::shm::{self, LongWay, Part, Sides, Way, What};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::Op;
use hpvm_mpi::pt2pt::{Incoming, Outgoing, packed_size};
use hpvm_mpi::{Class, Error};
use std::sync::Arc;

/// A collective that slots can do, and the bytes of its longest slot.
pub type Small = Option<(u64, What)>;

/// Does the collective that `small` makes of its arguments over slots, if they are to be used.
/// Blocks; false when it is to be done by messages.
///
/// # Safety
/// The buffers in it are those of the call.
#[inline]
pub unsafe fn try_slots(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    small: impl FnOnce(Call<'_>) -> Result<Small>,
) -> Result<bool> {
    if w.audit || !w.process.may_use_slots(&object.comm) {
        return Ok(false);
    }
    let Some((bytes, what)) = small(Call { world: w, object, notes: None })? else {
        return Ok(false);
    };
    if !w.process.slots_pay(&object.comm, &what, bytes) {
        return Ok(false);
    }
    let mut way = w.process.way_of(&object.comm, &what, bytes);
    if way == Way::Negotiate {
        negotiate(w, object)?;
        way = w.process.way_of(&object.comm, &what, bytes);
    }
    match way {
        Way::Slots => {}
        // SAFETY: the caller's promise.
        Way::Hierarchical => return unsafe { hierarchical(w, object, function, bytes, what) },
        _ => return Ok(false),
    }
    if bytes > shm::MOST {
        // SAFETY: the caller's promise.
        return unsafe { long(w, object, function, bytes, what) };
    }
    // SAFETY: the caller's promise; we wait for the end below.
    let call = unsafe { shm::Call::begin(&object.comm, what, Part::Short) };
    let mut call = call.ok_or_else(|| Error::from(Class::Intern))?;
    if call.poll(&mut w.process)? {
        return Ok(true);
    }
    w.wait_for_slots(&mut call, function, object).map(|()| true)
}

/// `what` in as many exchanges of long slots as it takes.
///
/// # Safety
/// As for `try_slots`.
#[inline(never)]
unsafe fn long(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    bytes: u64,
    mut what: What,
) -> Result<bool> {
    let comm = &object.comm;
    match w.process.long_way(comm, &what, bytes) {
        LongWay::LargeSlots => {}
        LongWay::RingReduce => {
            // SAFETY: the caller's promise; we wait for the end.
            let ring = unsafe { w.process.begin_ring_reduce(comm, what) };
            let mut ring = ring.ok_or_else(|| Error::from(Class::Intern))?;
            return w.wait_for_slots(&mut ring, function, object).map(|()| true);
        }
        LongWay::DirectRead => {
            // SAFETY: as above.
            let reads = unsafe { w.process.begin_direct_read(comm, what) };
            let mut reads = reads.ok_or_else(|| Error::from(Class::Intern))?;
            w.wait_for_slots(&mut reads, function, object)?;
            match reads.refused() {
                None => return Ok(true),
                Some(again) => what = again,
            }
            if w.process.way_of(comm, &what, bytes) != Way::Slots {
                return Ok(false);
            }
        }
    }
    let mut result = Ok(());
    for (what, part) in w.process.steps(&object.comm, what, bytes) {
        // SAFETY: the caller's promise; we wait for the end below.
        let call = unsafe { shm::Call::begin(&object.comm, what, part) };
        let mut call = call.ok_or_else(|| Error::from(Class::Intern))?;
        let done = match call.poll(&mut w.process) {
            Ok(false) => w.wait_for_slots(&mut call, function, object),
            done => done.map(drop),
        };
        // The others go on after an error of ours, so we do: numbers have to be the same.
        result = result.and(done);
    }
    result.map(|()| true)
}

/// `what` over the slots of each host and messages between them.
///
/// # Safety
/// As for `try_slots`.
// Kept out of that: what stays on a host must not pay for it.
#[inline(never)]
unsafe fn hierarchical(
    w: &mut Entered,
    object: &Arc<CommObject>,
    function: &'static str,
    bytes: u64,
    what: What,
) -> Result<bool> {
    let Some(longest) = w.process.longest_slot(&object.comm, &what, bytes) else {
        return Ok(false);
    };
    if w.process.may_stage(&object.comm, longest).is_none() {
        lengthen(w, object)?;
    }
    if w.process.may_stage(&object.comm, longest) != Some(true) {
        return Ok(false);
    }
    // SAFETY: the caller's promise; we wait for the end below.
    let call = unsafe { w.process.begin_hierarchical(&object.comm, what, longest) };
    let mut call = call.ok_or_else(|| Error::from(Class::Intern))?;
    w.wait_for_slots(&mut call, function, object).map(|()| true)
}

/// The members agree on slots that are longer than a slot, or on none.
#[cold]
fn lengthen(w: &mut Entered, object: &Arc<CommObject>) -> Result<()> {
    const NAME: &str = "MPI_Allreduce";
    if u64::from(object.comm.size()) * 8 > shm::MOST {
        // What follows would itself need a long slot.
        w.process.agree_on_staging(&object.comm, None);
        return Ok(());
    }
    let word = || Datatype::predefined(MPI_UINT64_T.0).ok_or_else(|| Error::from(Class::Intern));
    let mut offer = w.process.offer_staging(&object.comm);
    let mut offers = vec![0u64; object.comm.size() as usize];
    let exchange = Sides {
        send: Some((&raw const offer).cast()),
        send_count: 1,
        send_ty: word()?.clone(),
        recv: offers.as_mut_ptr().cast(),
        recv_count: 1,
        recv_ty: word()?.clone(),
    };
    // SAFETY: the buffers live until it returns.
    let done = unsafe { hierarchical(w, object, NAME, 8, What::Allgather(exchange))? };
    let seen = w.process.see_staging(&object.comm, &offers).filter(|_| done);
    offer = u64::from(seen.is_none());
    let max = w.objects.op(MPI_MAX)?.clone();
    let combine = Combine { count: 1, ty: word()?, op: &max };
    let missing = || Error::from(Class::Intern);
    let (bytes, vote) = reduce(None, None, (&raw mut offer).cast(), combine).ok_or_else(missing)?;
    // SAFETY: as above.
    let done = unsafe { hierarchical(w, object, NAME, bytes, vote)? };
    w.process.agree_on_staging(&object.comm, seen.filter(|_| done && offer == 0));
    Ok(())
}

/// The members agree to use slots, or not to.
#[cold]
fn negotiate(w: &mut Entered, object: &Arc<CommObject>) -> Result<()> {
    let comm = &object.comm;
    let mut words = w.process.proposal(comm, w.oversubscribed);
    let missing = || Error::from(Class::Intern);
    let combine = Combine {
        count: words.len() as i64,
        ty: Datatype::predefined(MPI_UINT64_T.0).ok_or_else(missing)?,
        op: &w.objects.op(MPI_MAX)?.clone(),
    };
    let plan = w.process.plan(comm).allreduce(None, words.as_mut_ptr().cast(), combine);
    // SAFETY: `words` outlives the wait below.
    let id = unsafe { w.process.start_collective(comm, plan) };
    w.complete(id)?;
    w.process.negotiated(comm, words);
    Ok(())
}

/// A broadcast of `m`.
pub fn bcast(root: u32, m: Incoming<'_>) -> Small {
    let bytes = packed_size(m.ty, m.count);
    Some((bytes, What::Bcast { root, buf: m.buf, count: m.count, ty: m.ty.clone() }))
}

/// A reduction, if its operation is predefined and its elements have no gaps. `send` is `None` for
/// `MPI_IN_PLACE`; without `root` everybody gets the result.
pub fn reduce(root: Option<u32>, send: Option<*const u8>, recv: *mut u8, c: Combine<'_>) -> Small {
    let (Op::Predefined(op), Some(ty)) = (&**c.op, c.ty.as_predefined()) else { return None };
    let (first, bytes) = c.ty.as_run(c.count)?;
    let (count, send) = (usize::try_from(c.count).ok()?, send.unwrap_or(core::ptr::null()));
    let what = What::Reduce { root, send, recv, count, bytes: bytes as usize, ty, op: *op };
    (first == 0).then_some((bytes, what))
}

/// The buffers of an exchange of equal blocks, and the bytes of a block.
pub fn sides(send: Option<Outgoing<'_>>, recv: Incoming<'_>) -> (u64, Sides) {
    let sides = Sides {
        send: send.map(|m| m.buf),
        send_count: send.map_or(0, |m| m.count),
        send_ty: send.map_or(recv.ty, |m| m.ty).clone(),
        recv: recv.buf,
        recv_count: recv.count,
        recv_ty: recv.ty.clone(),
    };
    (packed_size(recv.ty, recv.count), sides)
}
