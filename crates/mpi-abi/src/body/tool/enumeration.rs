//! Enumerations of the values of variables (section 15.3.5).

use super::{Answer, call, put, put_text};
use crate::generated::constants::*;
use core::ffi::{c_char, c_int};

struct Enumeration {
    name: &'static str,
    items: &'static [(c_int, &'static str)],
}

const ENUMERATIONS: &[Enumeration] =
    &[Enumeration { name: "no_yes", items: &[(0, "no"), (1, "yes")] }];

/// Handle of the enumeration of no and yes: its index and one, because 0 is the null handle.
pub(super) const NO_YES: MPI_T_enum = MPI_T_enum(1);

fn of(handle: MPI_T_enum) -> Answer<&'static Enumeration> {
    let index = handle.0.checked_sub(1);
    index.and_then(|i| ENUMERATIONS.get(i)).ok_or(MPI_T_ERR_INVALID_HANDLE)
}

pub unsafe fn enum_get_info(
    enumtype: MPI_T_enum,
    num: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    call(|_| {
        let e = of(enumtype)?;
        // SAFETY: the caller's promises.
        unsafe {
            put(num, e.items.len() as c_int);
            put_text(e.name, name, name_len);
        }
        Ok(())
    })
}

pub unsafe fn enum_get_item(
    enumtype: MPI_T_enum,
    indx: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    call(|_| {
        let items = of(enumtype)?.items;
        let item = usize::try_from(indx).ok().and_then(|i| items.get(i));
        let (number, text) = item.ok_or(MPI_T_ERR_INVALID_ITEM)?;
        // SAFETY: the caller's promises.
        unsafe {
            put(value, *number);
            put_text(text, name, name_len);
        }
        Ok(())
    })
}
