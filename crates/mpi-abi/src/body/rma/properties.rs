//! Group, info and name of a window (sections 12.2.6, 12.2.7 and 7.8).

use super::{hints, on_win};
use crate::body::check::out;
use crate::body::comm::object_name;
use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::object::info;
use core::ffi::{c_char, c_int};

pub unsafe fn win_get_group(win: MPI_Win, group: *mut MPI_Group) -> c_int {
    on_win("MPI_Win_get_group", win, |w| {
        let members = w.objects.window(win)?.comm().group().clone();
        out("group", group)?;
        // SAFETY: checked above.
        unsafe { *group = w.objects.add_group(members)? };
        Ok(())
    })
}

pub unsafe fn win_set_info(win: MPI_Win, info: MPI_Info) -> c_int {
    on_win("MPI_Win_set_info", win, |w| {
        let window = w.objects.window(win)?;
        let new = info::copy_or_empty(info)?;
        hints::apply(&mut window.extras.borrow_mut().info, &new);
        Ok(())
    })
}

pub unsafe fn win_get_info(win: MPI_Win, info_used: *mut MPI_Info) -> c_int {
    on_win("MPI_Win_get_info", win, |w| {
        let used = w.objects.window(win)?.extras.borrow().info.clone();
        out("info_used", info_used)?;
        // SAFETY: checked above.
        unsafe { *info_used = info::add(used)? };
        Ok(())
    })
}

pub unsafe fn win_set_name(win: MPI_Win, win_name: *const c_char) -> c_int {
    on_win("MPI_Win_set_name", win, |w| {
        let window = w.objects.window(win)?;
        // SAFETY: the caller's promise.
        window.extras.borrow_mut().name = unsafe { object_name("win_name", win_name)? };
        Ok(())
    })
}

pub unsafe fn win_get_name(win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int) -> c_int {
    on_win("MPI_Win_get_name", win, |w| {
        let name = match win {
            // The null handle has a name (section 7.8).
            MPI_WIN_NULL => "MPI_WIN_NULL".to_owned(),
            other => w.objects.window(other)?.extras.borrow().name.clone(),
        };
        out("win_name", win_name)?;
        out("resultlen", resultlen)?;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(&name, win_name, MPI_MAX_OBJECT_NAME as usize, resultlen) };
        Ok(())
    })
}
