//! Post, start, complete, wait: synchronisation of some ranks (section 12.5.2). Ranks of a host tell each other in words that
//! they map, the others by notices; both are counts, and whoever waits adds them up.

use super::flush::Extent;
use super::{check_assert, flush, on_win, wait_for_ranks, window};
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::win::WinObject;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::error::Result;
use hpvm_mpi::rma::notice::Notice;
use hpvm_mpi::{Class, Group};
use hpvm_wire::epoch_words::{EpochWords, Told};
use std::rc::Rc;
use std::sync::Arc;

/// The ranks in the window of a group's members, ascending.
fn ranks_of(window: &WinObject, group: Arc<Group>) -> Result<Rc<[u32]>> {
    if let Some((last, ranks)) = &window.sync.borrow().last_group
        && Arc::ptr_eq(last, &group)
    {
        return Ok(ranks.clone());
    }
    let ranks = look_up(window, &group)?;
    window.sync.borrow_mut().last_group = Some((group, ranks.clone()));
    Ok(ranks)
}

#[cold]
fn look_up(window: &WinObject, group: &Group) -> Result<Rc<[u32]>> {
    let all = window.comm().group();
    let rank = |process| {
        all.rank_of(process).ok_or_else(|| {
            let text = format!("process {process} of the group is not in {}", window.shown());
            wrong(Class::Group, text)
        })
    };
    let mut ranks = group.processes().map(rank).collect::<Result<Vec<u32>>>()?;
    ranks.sort_unstable();
    Ok(ranks.into())
}

pub unsafe fn win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    const KNOWN: c_int = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
    on_win("MPI_Win_post", win, |w| {
        let window = window(w, win)?;
        check_assert(assert, KNOWN)?;
        let ranks = ranks_of(&window, w.objects.group(group)?)?;
        window.epochs.borrow_mut().post()?;
        if assert & MPI_MODE_NOCHECK == 0 {
            // Loads and stores of the program come before what is told.
            tell(w, &window, &ranks, Told::Post);
        }
        window.sync.borrow_mut().exposed_to = ranks;
        Ok(())
    })
}

/// The words in which others tell `rank`, if this process maps them.
#[inline]
fn words(window: &WinObject, rank: usize) -> Option<EpochWords<'_>> {
    window.peers[rank].epoch_words(window.peers.len())
}

/// Tells ranks that this one has posted or completed.
fn tell(w: &mut Entered, window: &WinObject, ranks: &[u32], told: Told) {
    let me = window.rank();
    for rank in ranks.iter().map(|rank| *rank as usize) {
        match words(window, rank) {
            Some(words) => {
                let count = &mut window.sync.borrow_mut().told[rank][told as usize];
                *count += 1;
                words.tell(me, told, *count);
            }
            None => super::notices::send(w, window, rank, notice(told)),
        }
    }
    EpochWords::has_told();
    for rank in ranks.iter().map(|rank| *rank as usize) {
        if words(window, rank).is_some_and(|words| words.waits()) {
            super::notices::send(w, window, rank, Notice::Wake);
        }
    }
}

fn notice(told: Told) -> Notice {
    match told {
        Told::Post => Notice::Post,
        Told::Complete => Notice::Complete,
    }
}

impl WinObject {
    /// How often `rank` has told this one that it has posted, or completed, and no epoch has begun or ended by that.
    #[inline]
    fn heard(&self, rank: u32, told: Told) -> u64 {
        let rank = rank as usize;
        let by_words = words(self, self.rank()).map_or(0, |words| words.count(rank, told));
        let sync = self.sync.borrow();
        let noticed = match told {
            Told::Post => sync.posted[rank],
            Told::Complete => sync.completed[rank],
        };
        noticed.wrapping_add(by_words)
    }

    /// Whether all these have told this rank.
    #[inline]
    fn all_heard(&self, ranks: &[u32], told: Told) -> bool {
        ranks.iter().all(|rank| self.heard(*rank, told) > 0)
    }
}

/// Waits until ranks have told this one, for a while by looking at their words and then by packets. `over` says whether they have.
#[inline]
fn wait_until_told(
    w: &mut Entered,
    call: &'static str,
    window: &Rc<WinObject>,
    awaits: fn(&WinObject) -> Vec<u32>,
    over: impl Fn() -> bool,
) -> Result<()> {
    match w.poll_memory(&over)? {
        true => Ok(()),
        false => wait_for_packets(w, call, window, awaits, over),
    }
}

#[cold]
fn wait_for_packets(
    w: &mut Entered,
    call: &'static str,
    window: &Rc<WinObject>,
    awaits: fn(&WinObject) -> Vec<u32>,
    over: impl Fn() -> bool,
) -> Result<()> {
    // Other threads may wait for other ranks.
    let say = |change: fn(u64) -> u64| {
        let waiting = &mut window.sync.borrow_mut().waiting;
        *waiting = change(*waiting);
        if let Some(words) = words(window, window.rank()) {
            words.set_waits(*waiting);
        }
    };
    say(|waiting| waiting + 1);
    let result = wait_for_ranks(w, call, window, awaits, over);
    say(|waiting| waiting - 1);
    result
}

/// The ranks of the access epoch that have not posted.
fn unposted(window: &WinObject) -> Vec<u32> {
    let epochs = window.epochs.borrow();
    let started = epochs.started().map(|ranks| &ranks[..]).unwrap_or_default().iter().copied();
    started.filter(|rank| window.heard(*rank, Told::Post) == 0).collect()
}

pub unsafe fn win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> c_int {
    on_win("MPI_Win_start", win, |w| {
        let window = window(w, win)?;
        check_assert(assert, MPI_MODE_NOCHECK)?;
        let ranks = ranks_of(&window, w.objects.group(group)?)?;
        window.epochs.borrow_mut().start(ranks.clone())?;
        if assert & MPI_MODE_NOCHECK != 0 {
            return Ok(());
        }
        let posted = || window.all_heard(&ranks, Told::Post);
        wait_until_told(w, "MPI_Win_start", &window, unposted, posted)?;
        let posted = &mut window.sync.borrow_mut().posted;
        for rank in ranks.iter().map(|rank| *rank as usize) {
            posted[rank] = posted[rank].wrapping_sub(1);
        }
        Ok(())
    })
}

pub unsafe fn win_complete(win: MPI_Win) -> c_int {
    on_win("MPI_Win_complete", win, |w| {
        let window = window(w, win)?;
        let ranks = window.epochs.borrow().started()?.clone();
        // Operations on mapped memory are complete, and come before what is told.
        let far = ranks.iter().map(|rank| *rank as usize).filter(|rank| !window.is_mapped(*rank));
        let mut told = Vec::new();
        let flushed = flush::these_and_tell(w, &window, far, |w, rank| {
            super::notices::send(w, &window, rank, Notice::Complete);
            told.push(rank as u32);
        });
        // Also after an error: the targets would wait for ever. Those of a group are ascending.
        let untold = |rank: &u32| told.binary_search(rank).is_err();
        match told.is_empty() {
            true => tell(w, &window, &ranks, Told::Complete),
            false => {
                let ranks: Vec<u32> = ranks.iter().copied().filter(untold).collect();
                tell(w, &window, &ranks, Told::Complete);
            }
        }
        window.epochs.borrow_mut().complete();
        flushed.and(window.check_uses(0..window.peers.len(), Extent::Remote))
    })
}

/// The ranks of the exposure epoch that have not completed.
fn uncompleted(window: &WinObject) -> Vec<u32> {
    let ranks = window.sync.borrow().exposed_to.clone();
    ranks.iter().copied().filter(|rank| window.heard(*rank, Told::Complete) == 0).collect()
}

/// All that `MPI_Win_post` let in are done.
fn is_over(window: &WinObject) -> bool {
    let ranks = window.sync.borrow().exposed_to.clone();
    window.all_heard(&ranks, Told::Complete)
}

fn close(window: &WinObject) {
    let mut sync = window.sync.borrow_mut();
    for rank in std::mem::take(&mut sync.exposed_to).iter().map(|rank| *rank as usize) {
        sync.completed[rank] = sync.completed[rank].wrapping_sub(1);
    }
    window.epochs.borrow_mut().waited();
}

pub unsafe fn win_wait(win: MPI_Win) -> c_int {
    const NAME: &str = "MPI_Win_wait";
    on_win(NAME, win, |w| {
        let window = window(w, win)?;
        window.epochs.borrow().check_exposed(NAME)?;
        wait_until_told(w, NAME, &window, uncompleted, || is_over(&window))?;
        close(&window);
        Ok(())
    })
}

pub unsafe fn win_test(win: MPI_Win, flag: *mut c_int) -> c_int {
    const NAME: &str = "MPI_Win_test";
    on_win(NAME, win, |w| {
        let window = window(w, win)?;
        out("flag", flag)?;
        window.epochs.borrow().check_exposed(NAME)?;
        w.glance()?;
        let over = is_over(&window);
        if over {
            close(&window);
        } else if let Some(error) = w.process.lost_member(window.comm()) {
            return Err(error);
        }
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(over) };
        Ok(())
    })
}
