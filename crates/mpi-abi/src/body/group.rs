//! Groups (section 7.3).

pub use crate::body::session::group_from_session_pset;

use crate::body::check::{out, wrong};
use crate::body::comm::likeness;
use crate::generated::constants::*;
use crate::raise::on_world;
use crate::runtime::Entered;
use core::ffi::c_int;
use hpvm_mpi::comm::group::expand_ranges;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error, Group};
use std::sync::Arc;

pub unsafe fn group_size(group: MPI_Group, size: *mut c_int) -> c_int {
    on_world("MPI_Group_size", |w| {
        let members = w.objects.group(group)?;
        out("size", size)?;
        // SAFETY: checked above.
        unsafe { *size = members.size() as c_int };
        Ok(())
    })
}

pub unsafe fn group_rank(group: MPI_Group, rank: *mut c_int) -> c_int {
    on_world("MPI_Group_rank", |w| {
        let members = w.objects.group(group)?;
        out("rank", rank)?;
        let place = members.rank_of(w.job.rank);
        // SAFETY: checked above.
        unsafe { *rank = place.map_or(MPI_UNDEFINED, |p| p as c_int) };
        Ok(())
    })
}

pub unsafe fn group_compare(group1: MPI_Group, group2: MPI_Group, result: *mut c_int) -> c_int {
    on_world("MPI_Group_compare", |w| {
        let (a, b) = (w.objects.group(group1)?, w.objects.group(group2)?);
        out("result", result)?;
        // SAFETY: checked above.
        unsafe { *result = likeness(a.compare(&b), MPI_IDENT) };
        Ok(())
    })
}

/// An array argument of `n` elements.
///
/// # Safety
/// `array` is null or valid for `n` elements.
unsafe fn slice<'a, T>(what: &str, n: c_int, array: *const T) -> Result<&'a [T]> {
    match usize::try_from(n) {
        Ok(0) => Ok(&[]),
        Ok(_) if array.is_null() => Err(wrong(Class::Arg, format!("{what} is null"))),
        // SAFETY: not null; the caller's promise.
        Ok(n) => Ok(unsafe { core::slice::from_raw_parts(array, n) }),
        Err(_) => Err(wrong(Class::Arg, format!("n is {n}; expected 0 or more"))),
    }
}

fn bad_rank(rank: impl std::fmt::Display, group: &Group) -> Error {
    let last = i64::from(group.size()) - 1;
    let text = format!("rank {rank} is named twice or no rank of the group; expected 0 to {last}");
    wrong(Class::Rank, text)
}

pub unsafe fn group_translate_ranks(
    group1: MPI_Group,
    n: c_int,
    ranks1: *const c_int,
    group2: MPI_Group,
    ranks2: *mut c_int,
) -> c_int {
    on_world("MPI_Group_translate_ranks", |w| {
        let (a, b) = (w.objects.group(group1)?, w.objects.group(group2)?);
        // SAFETY: the caller's promise.
        let ranks = unsafe { slice("ranks1", n, ranks1)? };
        if !ranks.is_empty() {
            out("ranks2", ranks2)?;
        }
        for (i, rank) in ranks.iter().enumerate() {
            let there = match (*rank, u32::try_from(*rank).ok().and_then(|r| a.process(r))) {
                (_, Some(process)) => b.rank_of(process).map_or(MPI_UNDEFINED, |p| p as c_int),
                (MPI_PROC_NULL, None) => MPI_PROC_NULL,
                (rank, None) => return Err(bad_rank(rank, &a)),
            };
            // SAFETY: `i` is below `n`, and the place is not null.
            unsafe { *ranks2.add(i) = there };
        }
        Ok(())
    })
}

/// Stores the handle of a new group.
unsafe fn give(w: &mut Entered, group: Arc<Group>, place: *mut MPI_Group) -> Result<()> {
    out("newgroup", place)?;
    // SAFETY: checked above.
    unsafe { *place = w.objects.add_group(group)? };
    Ok(())
}

macro_rules! set_operations {
    ($(fn $function:ident $name:literal $operation:ident;)*) => {$(
        pub unsafe fn $function(group1: MPI_Group, group2: MPI_Group,
            newgroup: *mut MPI_Group) -> c_int {
            on_world($name, |w| {
                let (a, b) = (w.objects.group(group1)?, w.objects.group(group2)?);
                // SAFETY: the caller's promise.
                unsafe { give(w, a.$operation(&b), newgroup) }
            })
        }
    )*};
}

set_operations! {
    fn group_union "MPI_Group_union" union;
    fn group_intersection "MPI_Group_intersection" intersection;
    fn group_difference "MPI_Group_difference" difference;
}

/// How a list of ranks picks members: those, or all others.
type Pick = fn(&Group, &[i64]) -> core::result::Result<Arc<Group>, i64>;

unsafe fn by_ranks(
    function: &'static str,
    group: MPI_Group,
    n: c_int,
    ranks: *const c_int,
    newgroup: *mut MPI_Group,
    pick: Pick,
) -> c_int {
    on_world(function, |w| {
        let members = w.objects.group(group)?;
        // SAFETY: the caller's promise.
        let places: Vec<i64> =
            unsafe { slice("ranks", n, ranks)? }.iter().map(|r| i64::from(*r)).collect();
        let picked = pick(&members, &places).map_err(|rank| bad_rank(rank, &members))?;
        // SAFETY: the caller's promise.
        unsafe { give(w, picked, newgroup) }
    })
}

unsafe fn by_ranges(
    function: &'static str,
    group: MPI_Group,
    n: c_int,
    ranges: *mut [c_int; 3],
    newgroup: *mut MPI_Group,
    pick: Pick,
) -> c_int {
    on_world(function, |w| {
        let members = w.objects.group(group)?;
        // SAFETY: the caller's promise.
        let triplets: Vec<[i64; 3]> =
            unsafe { slice("ranges", n, ranges)? }.iter().map(|r| r.map(i64::from)).collect();
        for triplet in &triplets {
            check_range(*triplet, &members)?;
        }
        let places = expand_ranges(&triplets).map_err(bad_range)?;
        let picked = pick(&members, &places).map_err(|rank| bad_rank(rank, &members))?;
        // SAFETY: the caller's promise.
        unsafe { give(w, picked, newgroup) }
    })
}

fn bad_range([first, last, stride]: [i64; 3]) -> Error {
    let text = format!("the stride of the range {first} to {last} by {stride} leads away from it");
    wrong(Class::Arg, text)
}

/// Both ends of a range are ranks, so that it can't be longer than the group. The last one counts
/// only where the stride hits it.
fn check_range(range @ [first, last, stride]: [i64; 3], group: &Group) -> Result<()> {
    if stride == 0 {
        let text = format!("the range {first} to {last} has a stride of 0");
        return Err(wrong(Class::Arg, text));
    }
    let size = i64::from(group.size());
    if !(0..size).contains(&first) {
        return Err(bad_rank(first, group));
    }
    if (stride > 0 && first > last) || (stride < 0 && first < last) {
        return Err(bad_range(range));
    }
    let reached = first + (last - first) / stride * stride;
    if last < 0 || !(0..size).contains(&reached) {
        return Err(bad_rank(last, group));
    }
    Ok(())
}

macro_rules! picks {
    ($(fn $function:ident $name:literal $by:ident $list:ty, $pick:path;)*) => {$(
        pub unsafe fn $function(group: MPI_Group, n: c_int, list: $list,
            newgroup: *mut MPI_Group) -> c_int {
            // SAFETY: the caller's promises.
            unsafe { $by($name, group, n, list, newgroup, $pick) }
        }
    )*};
}

picks! {
    fn group_incl "MPI_Group_incl" by_ranks *const c_int, Group::incl;
    fn group_excl "MPI_Group_excl" by_ranks *const c_int, Group::excl;
    fn group_range_incl "MPI_Group_range_incl" by_ranges *mut [c_int; 3], Group::incl;
    fn group_range_excl "MPI_Group_range_excl" by_ranges *mut [c_int; 3], Group::excl;
}

pub unsafe fn group_free(group: *mut MPI_Group) -> c_int {
    on_world("MPI_Group_free", |w| {
        out("group", group)?;
        // SAFETY: checked above.
        let handle = unsafe { *group };
        w.objects.group(handle)?;
        w.objects.groups.remove(handle.0);
        // SAFETY: as above.
        unsafe { *group = MPI_GROUP_NULL };
        Ok(())
    })
}
