//! The arguments that all operations share: which bytes of which rank.

use crate::body::check::wrong;
use crate::generated::constants::*;
use crate::object::Objects;
use crate::object::win::{Peer, WinObject};
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::Held;
use hpvm_mpi::rma::conflicts::Access;
use hpvm_mpi::rma::layout::{Side, span};
use std::sync::Arc;

/// Where the displacement of an operation leads.
#[derive(Clone, Copy)]
pub(super) struct There<'a> {
    pub rank: usize,
    pub peer: &'a Peer,
    /// Of the displacement, in the region.
    pub at: i64,
}

impl WinObject {
    /// Finds the target of an operation, if its epoch allows that. `None`: `MPI_PROC_NULL`.
    #[inline(always)]
    pub(super) fn there(&self, rank: c_int, disp: MPI_Aint) -> Result<Option<There<'_>>> {
        let Some(rank) = self.rank_of(rank)? else { return Ok(None) };
        self.epochs.borrow_mut().access(rank)?;
        let peer = &self.peers[rank];
        match (disp as i64).checked_mul(peer.disp_unit) {
            Some(at) if at >= 0 || self.is_dynamic() => Ok(Some(There { rank, peer, at })),
            _ => {
                let text = format!("target displacement {disp}; expected 0 or more");
                Err(wrong(Class::Disp, text))
            }
        }
    }

    /// Refuses an access that is not inside of the memory that the target exposes. What the target has attached to a
    /// dynamic window only the target knows.
    fn check_range(&self, there: &There<'_>, side: &Side) -> Result<()> {
        let Some((first, len)) = span(side) else { return Ok(()) };
        let from = there.at.checked_add(first);
        let inside = from.is_some_and(|from| match self.is_dynamic() {
            true => there.rank != self.rank() || self.is_attached(from as usize, len as usize),
            false => {
                from >= 0 && (from as u64).checked_add(len).is_some_and(|e| e <= there.peer.size)
            }
        });
        if inside {
            return Ok(());
        }
        let (of, rank, size) = (self.shown(), there.rank, there.peer.size);
        let first = from.unwrap_or(i64::MAX);
        let exposed = match self.is_dynamic() {
            true => "no memory attached there holds them".to_owned(),
            false => format!("{size} bytes are exposed there"),
        };
        let text = format!("{of}, target rank {rank}: {len} bytes from byte {first} on; {exposed}");
        Err(wrong(Class::RmaRange, text))
    }

    /// What windows that are not `plain` ask of an operation before it starts. `access`: what it does with the target's
    /// bytes, if that is to be compared with what others do.
    #[cold]
    pub(super) fn look_closer(
        &self,
        there: &There<'_>,
        side: &Side,
        access: Option<Access>,
    ) -> Result<()> {
        self.check_range(there, side)?;
        if let Some(access) = access {
            self.note_use(there, side, access);
        }
        Ok(())
    }

    fn is_attached(&self, from: usize, len: usize) -> bool {
        let attached = self.attached.borrow();
        let last = attached.range(..=from).next_back();
        last.is_some_and(|(base, bytes)| {
            from.checked_add(len).is_some_and(|end| end <= base + bytes)
        })
    }
}

/// The datatype and count of the target's side.
#[inline(always)]
pub(super) fn target_type(
    objects: &Objects,
    count: MPI_Count,
    datatype: MPI_Datatype,
) -> Result<&Arc<Datatype>> {
    let ty = objects.datatype(datatype)?;
    match ty.packed_size(count) {
        Some(_) => Ok(ty),
        None => {
            let text = format!(
                "target count is {count}; expected 0 or more, and no more than 63 bits of bytes"
            );
            Err(wrong(Class::Count, text))
        }
    }
}

/// In an epoch of `MPI_Win_lock_all`, the lock of a rank that only notices reach is asked for when the rank is first
/// accessed.
#[inline(always)]
pub(super) fn ensure_lock(w: &mut Entered, win: MPI_Win, rank: c_int) -> Result<()> {
    let window = w.objects.window(win)?;
    if !window.distant {
        return Ok(());
    }
    let Some(rank) = window.rank_of(rank)? else { return Ok(()) };
    let late = {
        let epochs = window.epochs.borrow();
        epochs.is_lock_all() && epochs.held(rank) == Held::No
    };
    match late {
        true => super::lock::acquire_late(w, win, rank),
        false => Ok(()),
    }
}
