//! File pointers: seeking and asking (sections 14.4.3 and 14.4.4).

use super::access::check_not_sequential;
use super::{not_negative, on_file};
use crate::body::agree;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::file::FileObject;
use core::ffi::c_int;
use hpvm_io::View;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// Where a seek by a file's view leads, in etypes, from `now`.
fn target(
    file: &FileObject,
    view: &View,
    now: u64,
    offset: MPI_Offset,
    whence: c_int,
) -> Result<u64> {
    let base = match whence {
        MPI_SEEK_SET => 0,
        MPI_SEEK_CUR => now,
        MPI_SEEK_END => view.stream_end(file.length()?) / view.etype_bytes(),
        other => {
            let text =
                format!("whence is {other}; expected MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END");
            return Err(wrong(Class::Arg, text));
        }
    };
    let target = base.checked_add_signed(offset);
    // A place that no offset can say is none.
    target.filter(|etypes| i64::try_from(*etypes).is_ok()).ok_or_else(|| {
        let beyond =
            if offset < 0 { "before the view's beginning" } else { "beyond the largest offset" };
        wrong(Class::Arg, format!("{offset} from etype {base} on lies {beyond}"))
    })
}

/// An offset in etypes as a program gets it.
fn offset_of(etypes: u64) -> MPI_Offset {
    MPI_Offset::try_from(etypes).unwrap_or(MPI_Offset::MAX)
}

pub unsafe fn file_seek(fh: MPI_File, offset: MPI_Offset, whence: c_int) -> c_int {
    on_file("MPI_File_seek", fh, |file| {
        check_not_sequential(file)?;
        // Held meanwhile: another thread may move the pointer, too.
        let mut state = file.state();
        state.position = target(file, &state.view, state.position, offset, whence)?;
        Ok(())
    })
}

pub unsafe fn file_get_position(fh: MPI_File, offset: *mut MPI_Offset) -> c_int {
    on_file("MPI_File_get_position", fh, |file| {
        check_not_sequential(file)?;
        out("offset", offset)?;
        // SAFETY: checked above.
        unsafe { *offset = offset_of(file.state().position) };
        Ok(())
    })
}

pub unsafe fn file_get_byte_offset(
    fh: MPI_File,
    offset: MPI_Offset,
    disp: *mut MPI_Offset,
) -> c_int {
    on_file("MPI_File_get_byte_offset", fh, |file| {
        check_not_sequential(file)?;
        out("disp", disp)?;
        let view = file.state().view.clone();
        let etypes = not_negative("offset", offset)?;
        let position = etypes.checked_mul(view.etype_bytes());
        let byte = position.and_then(|position| i64::try_from(view.byte_offset(position)).ok());
        let Some(byte) = byte else {
            let text =
                format!("etype {etypes} of the view lies beyond the largest offset in bytes");
            return Err(wrong(Class::Arg, text));
        };
        // SAFETY: checked above.
        unsafe { *disp = byte };
        Ok(())
    })
}

pub unsafe fn file_seek_shared(fh: MPI_File, offset: MPI_Offset, whence: c_int) -> c_int {
    on_file("MPI_File_seek_shared", fh, |file| {
        agree::same(file, "the offset", offset as u64)?;
        agree::same(file, "whence", whence as u64)?;
        let view = file.state().view.clone();
        let position = file.shared.get().and_then(|now| target(file, &view, now, offset, whence));
        let position = agree::together(file, position)?;
        let set = if file.rank() == 0 { file.shared.set(position) } else { Ok(()) };
        // Nobody uses the pointer before it has been moved.
        agree::together(file, set)
    })
}

pub unsafe fn file_get_position_shared(fh: MPI_File, offset: *mut MPI_Offset) -> c_int {
    on_file("MPI_File_get_position_shared", fh, |file| {
        out("offset", offset)?;
        let etypes = file.shared.get()?;
        // SAFETY: checked above.
        unsafe { *offset = offset_of(etypes) };
        Ok(())
    })
}

/// What a new view does to the shared pointer: back to its beginning. All ranks call it.
pub(super) fn pointer_reset(file: &FileObject) -> Result<()> {
    // Nobody looks at the old one any more.
    agree::barrier(file.comm)?;
    let set = if file.rank() == 0 { file.shared.set(0) } else { Ok(()) };
    agree::together(file, set)
}
