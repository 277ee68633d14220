//! Windows (chapter 12). What moves the data is `hpvm-onesided`, what is allowed when is `hpvm_mpi::rma`; here are
//! handles, checks, waiting, and what ranks tell each other about a window.

mod access;
mod atomic;
mod conflicts;
mod create;
mod data;
mod dynamic;
mod fence;
mod flush;
mod hints;
mod lock;
mod notices;
mod plain;
mod properties;
mod pscw;
mod recent;
mod request;
mod shared;

pub use atomic::*;
pub use create::*;
pub use data::*;
pub use dynamic::{win_attach, win_create_dynamic, win_detach};
pub use fence::{win_fence, win_sync};
pub use flush::*;
pub use lock::{win_lock, win_lock_all, win_unlock, win_unlock_all};
pub use notices::deliver;
pub use properties::*;
pub use pscw::{win_complete, win_post, win_start, win_test, win_wait};
pub use recent::Recent;
pub use request::poll;
pub use shared::{win_allocate_shared, win_shared_query};

use crate::body::check::wrong;
use crate::body::errh::raise_window;
use crate::generated::constants::*;
use crate::object::WindowWait;
use crate::object::win::WinObject;
use crate::raise::in_engine;
use crate::runtime::{Entered, World};
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_onesided::{Error as Failure, OpId, Path};
use std::rc::Rc;

/// Runs the body of a call on a window, and hands errors to the window's handler.
#[inline(always)]
pub fn on_win(
    function: &'static str,
    win: MPI_Win,
    body: impl FnOnce(&mut Entered) -> Result<()>,
) -> c_int {
    in_engine(body, |error| raise_window(function, win, error))
}

/// The window of a handle, to be held while others use the world.
fn window(w: &World, win: MPI_Win) -> Result<Rc<WinObject>> {
    w.objects.window(win).cloned()
}

impl WinObject {
    /// The rank that an argument means; `None` for `MPI_PROC_NULL`.
    #[inline(always)]
    fn rank_of(&self, rank: c_int) -> Result<Option<usize>> {
        match usize::try_from(rank) {
            Ok(rank) if rank < self.peers.len() => Ok(Some(rank)),
            _ if rank == MPI_PROC_NULL => Ok(None),
            _ => Err(self.bad_rank(rank)),
        }
    }

    /// Operations at `rank` are this process's own loads and stores.
    fn is_mapped(&self, rank: usize) -> bool {
        matches!(self.peers[rank].target.path(), Path::Mapped(_))
    }

    #[cold]
    fn bad_rank(&self, rank: c_int) -> Error {
        let last = self.peers.len() - 1;
        let text = format!("target rank {rank}; expected 0 to {last} or MPI_PROC_NULL");
        wrong(Class::Rank, text)
    }
}

/// The class of what the one-sided layer has refused.
fn class(failure: &Failure) -> Class {
    match failure {
        Failure::Range { .. } | Failure::Memory { .. } | Failure::NotExposed { .. } => {
            Class::RmaRange
        }
        Failure::Gone { .. } | Failure::Died { .. } | Failure::HolderGone { .. } => {
            Class::ProcAborted
        }
        Failure::Unsupported { .. } => Class::Op,
        _ => Class::Other,
    }
}

/// What the one-sided layer has refused, in MPI's words.
#[cold]
fn refused(window: &WinObject, rank: usize, failure: &Failure) -> Error {
    crate::onesided::await_explanation(failure);
    let class = class(failure);
    let of = window.shown();
    let what = match failure {
        Failure::Range { offset, len, size, .. } => {
            let from = *offset as i64;
            format!("{len} bytes at byte {from} are outside of the {size} bytes exposed there")
        }
        other => other.to_string(),
    };
    wrong(class, format!("{of}, target rank {rank}: {what}"))
}

/// Assertions of a call: bits out of `known`.
fn check_assert(assert: c_int, known: c_int) -> Result<()> {
    match assert & !known {
        0 => Ok(()),
        bits => {
            let text = format!("assert {assert:#x} has bits {bits:#x}, which this call has not");
            Err(wrong(Class::Assert, text))
        }
    }
}

/// Nobody asks for the operation any more. What goes wrong with it is told by the next flush.
fn leave(w: &mut Entered, op: OpId) {
    let _ = w.process.onesided().1.forget(op);
}

/// Waits in a call on a window until what other ranks do has come. `awaits`: which of them, for `hpvm jobs`.
fn wait_for_ranks(
    w: &mut Entered,
    call: &'static str,
    window: &Rc<WinObject>,
    awaits: fn(&WinObject) -> Vec<u32>,
    over: impl Fn() -> bool,
) -> Result<()> {
    if over() {
        return Ok(());
    }
    w.objects.window_wait = Some(WindowWait { call, window: window.clone(), awaits });
    let result = w.wait_for_members(window.comm(), |_| over());
    w.objects.window_wait = None;
    result
}

/// Waits until operations are done.
pub fn wait_for_ops(w: &mut Entered, ops: &[OpId]) -> Result<()> {
    if ops.is_empty() {
        return Ok(());
    }
    w.wait_until(|w| {
        let (_, onesided) = w.process.onesided();
        ops.iter().all(|op| onesided.is_done(*op))
    })
}
