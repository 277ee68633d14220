//! Categories of variables (section 15.3.9).

use super::cvar::CONTROLS;
use super::pvar::performances;
use super::{Answer, at, call, find, must, put, put_text};
use crate::generated::constants::*;
use core::ffi::{c_char, c_int};

struct Category {
    name: &'static str,
    text: &'static str,
    /// Categories inside of this one.
    inside: &'static [c_int],
}

pub(super) const LIMITS: usize = 1;
pub(super) const WAITING: usize = 2;
pub(super) const TRAFFIC: usize = 3;
pub(super) const MATCHING: usize = 4;

const CATEGORIES: &[Category] = &[
    Category { name: "hpvm", text: "Everything that the library tells.", inside: &[1, 2, 3, 4] },
    Category { name: "limits", text: "What the library was built or started for.", inside: &[] },
    Category { name: "waiting", text: "How a rank waits that has nothing to do.", inside: &[] },
    Category { name: "traffic", text: "Packets, bytes and stalls of this rank.", inside: &[] },
    Category { name: "matching", text: "Receives and messages that wait.", inside: &[] },
];

/// Indices of the control variables in a category.
fn controls(category: c_int) -> Vec<c_int> {
    let all = CONTROLS.iter().enumerate();
    all.filter(|(_, c)| c.category as c_int == category).map(|(i, _)| i as c_int).collect()
}

/// Indices of the performance variables in a category.
fn measures(category: c_int) -> Vec<c_int> {
    let all = performances().iter().enumerate();
    all.filter(|(_, p)| p.category as c_int == category).map(|(i, _)| i as c_int).collect()
}

pub unsafe fn category_get_num(num_cat: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(num_cat, CATEGORIES.len() as c_int) })
}

pub unsafe fn category_get_info(
    cat_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    num_cvars: *mut c_int,
    num_pvars: *mut c_int,
    num_categories: *mut c_int,
) -> c_int {
    call(|_| {
        let c = at(CATEGORIES, cat_index)?;
        // SAFETY: the caller's promises.
        unsafe {
            put_text(c.name, name, name_len);
            put_text(c.text, desc, desc_len);
            put(num_cvars, controls(cat_index).len() as c_int);
            put(num_pvars, measures(cat_index).len() as c_int);
            put(num_categories, c.inside.len() as c_int);
        }
        Ok(())
    })
}

pub unsafe fn category_get_num_events(cat_index: c_int, num_events: *mut c_int) -> c_int {
    call(|_| {
        at(CATEGORIES, cat_index)?;
        // SAFETY: the caller's promises.
        unsafe { must(num_events, 0) }
    })
}

pub unsafe fn category_get_index(name: *const c_char, cat_index: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(cat_index, find(CATEGORIES, name, |c| c.name)? as c_int) })
}

/// Stores as many indices as the caller has room for.
unsafe fn give(found: &[c_int], len: c_int, indices: *mut c_int) -> Answer {
    let room = usize::try_from(len).map_err(|_| MPI_T_ERR_INVALID)?;
    let n = found.len().min(room);
    if n > 0 && indices.is_null() {
        return Err(MPI_T_ERR_INVALID);
    }
    for (i, index) in found[..n].iter().enumerate() {
        // SAFETY: the caller gave `len` places.
        unsafe { *indices.add(i) = *index };
    }
    Ok(())
}

macro_rules! members {
    ($(fn $function:ident, $found:expr;)*) => {$(
        pub unsafe fn $function(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
            call(|_| {
                let category = at(CATEGORIES, cat_index)?;
                let found: fn(c_int, &Category) -> Vec<c_int> = $found;
                // SAFETY: the caller's promises.
                unsafe { give(&found(cat_index, category), len, indices) }
            })
        }
    )*};
}

members! {
    fn category_get_cvars, |index, _| controls(index);
    fn category_get_pvars, |index, _| measures(index);
    fn category_get_events, |_, _| Vec::new();
    fn category_get_categories, |_, category| category.inside.to_vec();
}

/// The tables never change.
pub unsafe fn category_changed(update_number: *mut c_int) -> c_int {
    // SAFETY: the caller's promises.
    call(|_| unsafe { must(update_number, 0) })
}
