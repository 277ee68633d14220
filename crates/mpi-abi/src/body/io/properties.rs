//! Sizes, groups, hints, atomicity and sync (sections 14.2 and 14.6).

use super::{not_negative, on_file};
use crate::body::agree;
use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::info::{self, Info};
use crate::runtime::enter;
use core::ffi::c_int;
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// Refuses to change a file that was opened for reading.
fn check_writable(file: &crate::object::file::FileObject) -> Result<()> {
    match file.file.amode().writes() {
        true => Ok(()),
        false => {
            let name = hpvm_io::error::shown(file.file.path());
            Err(wrong(Class::ReadOnly, format!("'{name}' was opened with MPI_MODE_RDONLY")))
        }
    }
}

pub unsafe fn file_set_size(fh: MPI_File, size: MPI_Offset) -> c_int {
    on_file("MPI_File_set_size", fh, |file| {
        let checked = check_writable(file).and_then(|()| not_negative("size", size));
        let bytes = agree::together(file, checked)?;
        agree::same(file, "the size", bytes)?;
        if let Some(striped) = &file.stripes {
            return striped.set_size(file, bytes);
        }
        let first = file.rank() == 0;
        agree::together(file, if first { file.file.set_size(bytes) } else { Ok(()) })?;
        file.file.refresh();
        Ok(())
    })
}

pub unsafe fn file_preallocate(fh: MPI_File, size: MPI_Offset) -> c_int {
    on_file("MPI_File_preallocate", fh, |file| {
        let checked = check_writable(file).and_then(|()| not_negative("size", size));
        let bytes = agree::together(file, checked)?;
        agree::same(file, "the size", bytes)?;
        if let Some(striped) = &file.stripes {
            return striped.preallocate(file, bytes);
        }
        let first = file.rank() == 0;
        agree::together(file, if first { file.file.preallocate(bytes) } else { Ok(()) })?;
        file.file.refresh();
        Ok(())
    })
}

pub unsafe fn file_get_size(fh: MPI_File, size: *mut MPI_Offset) -> c_int {
    on_file("MPI_File_get_size", fh, |file| {
        out("size", size)?;
        let bytes = file.length()?;
        // SAFETY: checked above.
        unsafe { *size = MPI_Offset::try_from(bytes).unwrap_or(MPI_Offset::MAX) };
        Ok(())
    })
}

pub unsafe fn file_get_group(fh: MPI_File, group: *mut MPI_Group) -> c_int {
    on_file("MPI_File_get_group", fh, |file| {
        out("group", group)?;
        let made = enter()?.objects.add_group(file.comm().group().clone())?;
        // SAFETY: checked above.
        unsafe { *group = made };
        Ok(())
    })
}

pub unsafe fn file_get_amode(fh: MPI_File, amode: *mut c_int) -> c_int {
    on_file("MPI_File_get_amode", fh, |file| {
        out("amode", amode)?;
        // SAFETY: checked above.
        unsafe { *amode = file.file.amode().bits() };
        Ok(())
    })
}

pub unsafe fn file_set_info(fh: MPI_File, info: MPI_Info) -> c_int {
    on_file("MPI_File_set_info", fh, |file| {
        let given = info::copy_or_empty(info)?;
        let mut state = file.state();
        given.iter().for_each(|(key, value)| state.hints.set(key, value));
        drop(state);
        agree::barrier(file.comm)
    })
}

pub unsafe fn file_get_info(fh: MPI_File, info_used: *mut MPI_Info) -> c_int {
    on_file("MPI_File_get_info", fh, |file| {
        out("info_used", info_used)?;
        let mut used = Info::default();
        let (key, value) = info::ALLOC_KINDS;
        used.set(key, value);
        file.state().hints.list().iter().for_each(|(key, value)| used.set(key, value));
        let striping = file.stripes.iter().flat_map(|striped| striped.hints());
        striping.for_each(|(key, value)| used.set(key, &value));
        let made = info::add(used)?;
        // SAFETY: checked above.
        unsafe { *info_used = made };
        Ok(())
    })
}

pub unsafe fn file_set_atomicity(fh: MPI_File, flag: c_int) -> c_int {
    on_file("MPI_File_set_atomicity", fh, |file| {
        agree::same(file, "the flag", u64::from(flag != 0))?;
        if flag != 0 {
            // The owner of the first stripe keeps the locks.
            let first = file.stripes.as_ref().filter(|striped| striped.owners()[0] == file.rank());
            agree::together(file, first.map_or(Ok(()), |striped| striped.serve()))?;
        }
        file.state().atomic = flag != 0;
        Ok(())
    })
}

pub unsafe fn file_get_atomicity(fh: MPI_File, flag: *mut c_int) -> c_int {
    on_file("MPI_File_get_atomicity", fh, |file| {
        out("flag", flag)?;
        // SAFETY: checked above.
        unsafe { *flag = c_int::from(file.state().atomic) };
        Ok(())
    })
}

pub unsafe fn file_sync(fh: MPI_File) -> c_int {
    on_file("MPI_File_sync", fh, |file| {
        if let Some(striped) = &file.stripes {
            agree::together(file, check_writable(file))?;
            return striped.sync(file);
        }
        file.state().rhythm.sync();
        // One rank of a host does so in any case: it brings along what the program has written there in other ways.
        let syncs = file.is_first_of_host() || file.file.is_unsynced();
        let synced = check_writable(file).and_then(|()| match syncs {
            true => file.file.sync(),
            false => Ok(()),
        });
        let told = agree::together(file, synced);
        if told.is_err() {
            // The system tells each descriptor of what it could not write back, also of what another rank has written when this one
            // had synced. All have been told now: a later call, for which there is room, shall not tell it again.
            let _ = file.file.sync();
        }
        told?;
        // What all have brought to the device is there for all.
        file.file.refresh();
        Ok(())
    })
}
