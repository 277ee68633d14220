//! Dynamic windows (section 12.2.4): memory is attached later, and displacements are addresses.

use super::create::{Ingredients, Private, assemble, attach};
use super::{on_win, window};
use crate::body::agree;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::info;
use crate::object::win::{Memory, WinObject, control_words};
use crate::raise::on_comm;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

pub unsafe fn win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) -> c_int {
    on_comm("MPI_Win_create_dynamic", comm, |w| {
        out("win", win)?;
        let private = Private::of(w, comm)?;
        let (handle, size) = (private.handle, private.size());
        let hints = info::copy_or_empty(info);
        let made = w.outside(|| agree::together_on(handle, size, hints)).and_then(|info| {
            let (fm, onesided) = w.process.onesided();
            let nothing = core::ptr::null_mut();
            let key = onesided.expose_dynamic(fm, control_words(size));
            let part = Ingredients {
                flavor: MPI_WIN_FLAVOR_DYNAMIC,
                base: nothing,
                size: 0,
                disp_unit: 1,
                memory: Memory::Program,
                info,
            };
            assemble(w, &private, part, key, |w, _, key| attach(w, key))
        });
        if made.is_err() {
            private.free(w);
        }
        // SAFETY: checked above.
        unsafe { *win = made? };
        Ok(())
    })
}

fn check_dynamic(window: &WinObject) -> Result<()> {
    match window.is_dynamic() {
        true => Ok(()),
        false => {
            let text = format!("{} was not made by MPI_Win_create_dynamic", window.shown());
            Err(wrong(Class::RmaFlavor, text))
        }
    }
}

pub unsafe fn win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) -> c_int {
    on_win("MPI_Win_attach", win, |w| {
        let window = window(w, win)?;
        check_dynamic(&window)?;
        let Ok(bytes) = usize::try_from(size) else {
            return Err(wrong(Class::Size, format!("size is {size}; expected 0 or more")));
        };
        if base.is_null() && bytes > 0 {
            return Err(wrong(Class::Base, format!("base is null, and size {size}")));
        }
        let from = base.expose_provenance();
        let mut attached = window.attached.borrow_mut();
        let before = attached.range(..from + bytes).next_back();
        let overlaps = before.is_some_and(|(base, len)| base + len > from && bytes > 0);
        if overlaps || attached.contains_key(&from) {
            let text = format!("{bytes} bytes at {base:p} overlap memory that is attached already");
            return Err(wrong(Class::RmaAttach, text));
        }
        attached.insert(from, bytes);
        let (_, onesided) = w.process.onesided();
        // SAFETY: the program has named the memory for this use, until it detaches it.
        unsafe { onesided.add_part(&window.key, base.cast(), bytes) };
        Ok(())
    })
}

pub unsafe fn win_detach(win: MPI_Win, base: *const c_void) -> c_int {
    on_win("MPI_Win_detach", win, |w| {
        let window = window(w, win)?;
        check_dynamic(&window)?;
        match window.attached.borrow_mut().remove(&base.addr()) {
            Some(_) => {
                let (_, onesided) = w.process.onesided();
                onesided.remove_part(&window.key, base.cast());
                Ok(())
            }
            None => {
                let text = format!("{base:p} is not the start of memory that is attached");
                Err(wrong(Class::RmaAttach, text))
            }
        }
    })
}
