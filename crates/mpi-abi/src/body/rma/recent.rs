//! The last update that was looked up: most programs make the same ones again and again, of the same elements on all sides.

use super::atomic::{Arguments, Update};
use super::{leave, refused};
use crate::generated::constants::*;
use crate::runtime::{Entered, World};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_onesided::{AtomicOp, OpId};

/// Handles below this one are the constants of the ABI, which mean the same for ever.
const FIRST_OWN: usize = 0x400;
/// Most elements of an update that is started without further checks.
const MAX_COUNT: MPI_Count = 1 << 20;

/// An operation on elements of a predefined datatype that lie one after the other without holes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recent(Option<(MPI_Op, MPI_Datatype, Update)>);

impl Recent {
    /// What `op` does to elements of `datatype`, if that is known.
    #[inline(always)]
    pub(super) fn find(&self, op: MPI_Op, datatype: MPI_Datatype) -> Option<Update> {
        let (known, of, update) = self.0?;
        (known == op && of == datatype).then_some(update)
    }

    /// What has been looked up, if it is of the kind that is kept.
    pub(super) fn of(
        (op, datatype): (MPI_Op, MPI_Datatype),
        ty: &Datatype,
        update: Update,
    ) -> Option<Recent> {
        let constant = op.0 < FIRST_OWN && datatype.0 < FIRST_OWN;
        let dense = |count| ty.as_run(count) == Some((0, update.size * count as u64));
        let kept = constant && update.pairs.is_none() && dense(1) && dense(2);
        kept.then_some(Recent(Some((op, datatype, update))))
    }
}

/// Starts an update that has been looked up before and needs no closer look. `None`: this is none.
///
/// # Safety
/// As for `atomic::start`.
#[inline]
unsafe fn start(w: &mut Entered, win: MPI_Win, a: &Arguments) -> Option<Result<Option<OpId>>> {
    let World { process, objects, .. } = &mut **w;
    let update = objects.recent_update.find(a.op, a.datatype)?;
    let fetch = match a.result {
        None => None,
        Some((buf, count, datatype)) if count == a.count && datatype == a.datatype => Some(buf),
        Some(_) => return None,
    };
    let alike = a.datatype == a.target_datatype
        && a.count == a.target_count
        && (1..=MAX_COUNT).contains(&a.count);
    let odd = a.origin.is_null() || fetch.is_some_and(|buf| buf.is_null());
    if !alike || odd || update.op == AtomicOp::NoOp {
        return None;
    }
    let window = objects.find_window(win)?;
    if !window.plain || window.distant {
        return None;
    }
    let there = window.there(a.rank, a.disp).ok()??;
    let (fm, onesided) = process.onesided();
    // SAFETY: the caller's promise; the range is checked by the layer below.
    let started = unsafe {
        onesided.accumulate(
            fm,
            &there.peer.target,
            there.at as u64,
            update.kind,
            update.op,
            a.origin.cast(),
            a.count as usize,
            fetch.map(|buf| buf.cast()),
        )
    };
    Some(started.map_err(|failure| refused(window, there.rank, &failure)))
}

/// Starts an update that the end of the epoch waits for.
///
/// # Safety
/// As for `start`.
#[inline(never)]
pub(super) unsafe fn start_any(w: &mut Entered, win: MPI_Win, a: &Arguments) -> Result<()> {
    // SAFETY: the caller's promise.
    if let Some(started) = unsafe { start(w, win, a) } {
        started?.into_iter().for_each(|op| leave(w, op));
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { super::atomic::start(w, win, a)? }.into_iter().for_each(|op| leave(w, op));
    Ok(())
}
