//! Views (section 14.3) and extents in a representation (section 14.5).

use super::datarep::{Conversion, by_name};
use super::on_file;
use super::pointer::pointer_reset;
use crate::args::CountOut;
use crate::body::agree;
use crate::body::check::{out, text, wrong};
use crate::generated::constants::*;
use crate::object::file::FileObject;
use crate::object::info;
use crate::runtime::enter;
use core::ffi::{c_char, c_int};
use hpvm_io::{Representation, View};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::sync::Arc;

pub unsafe fn file_set_view(
    fh: MPI_File,
    disp: MPI_Offset,
    etype: MPI_Datatype,
    filetype: MPI_Datatype,
    datarep: *const c_char,
    info: MPI_Info,
) -> c_int {
    on_file("MPI_File_set_view", fh, |file| {
        // SAFETY: the caller's promise.
        let made = unsafe { make(file, disp, (etype, filetype), datarep) };
        let hints = info::copy_or_empty(info);
        let (view, hints) = agree::together(file, made.and_then(|view| Ok((view, hints?))))?;
        agree::same(file, "the bytes of an etype", view.etype_bytes())?;
        same_representation(file, view.representation())?;
        {
            let mut state = file.state();
            hints.iter().for_each(|(key, value)| state.hints.set(key, value));
            state.view = Arc::new(view);
            state.position = 0;
        }
        pointer_reset(file)
    })
}

/// Fails on all ranks when they do not have the same one: accesses that are converted go other ways than those that are not.
fn same_representation(file: &FileObject, own: &Representation) -> Result<()> {
    const NAMES: [&str; 4] = ["native", "internal", "external32", "a registered one"];
    let number = match own {
        Representation::Native => 0,
        Representation::Internal => 1,
        Representation::External32 => 2,
        Representation::Registered(_) => 3,
    };
    let all = agree::all_words(file.comm, file.size(), [number])?;
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => {
            let name = |[number]: [u64; 1]| NAMES.get(number as usize).copied().unwrap_or("none");
            let text = format!(
                "the data representation is {} at rank 0 and {} at rank {rank}; expected the same",
                name(all[0]),
                name(all[rank])
            );
            Err(wrong(Class::NotSame, text))
        }
    }
}

/// # Safety
/// `datarep` is null or a string with a final zero byte.
unsafe fn make(
    file: &FileObject,
    disp: MPI_Offset,
    (etype, filetype): (MPI_Datatype, MPI_Datatype),
    datarep: *const c_char,
) -> Result<View> {
    // SAFETY: the caller's promise.
    let representation = by_name(&unsafe { text("datarep", datarep)? })?;
    let sequential = file.file.amode().is_sequential();
    let disp = match disp {
        // Where the shared pointer is: the only place that a sequential file has.
        MPI_DISPLACEMENT_CURRENT if sequential => {
            let view = file.state().view.clone();
            let etypes = file.shared.get()?;
            view.byte_offset(etypes * view.etype_bytes())
        }
        MPI_DISPLACEMENT_CURRENT => {
            let text = "MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL";
            return Err(wrong(Class::Arg, text));
        }
        other => super::not_negative("disp", other)?,
    };
    let (etype, filetype) = {
        let w = enter()?;
        (w.objects.datatype(etype)?.clone(), w.objects.datatype(filetype)?.clone())
    };
    let etype_bytes = match Conversion::of(&representation)? {
        Conversion::None => etype.size() as u64,
        other => other.extent(&etype)?,
    };
    if etype_bytes == 0 {
        return Err(wrong(Class::Type, "the etype takes no bytes in the file"));
    }
    View::new(disp, &etype, &filetype, representation, etype_bytes)
}

pub unsafe fn file_get_view(
    fh: MPI_File,
    disp: *mut MPI_Offset,
    etype: *mut MPI_Datatype,
    filetype: *mut MPI_Datatype,
    datarep: *mut c_char,
) -> c_int {
    on_file("MPI_File_get_view", fh, |file| {
        out("disp", disp)?;
        out("etype", etype)?;
        out("filetype", filetype)?;
        out("datarep", datarep)?;
        let view = file.state().view.clone();
        let mut w = enter()?;
        let types =
            (w.objects.hand_out_type(view.etype())?, w.objects.hand_out_type(view.filetype())?);
        let name = view.representation().name().as_bytes();
        // SAFETY: checked above; the string has room for MPI_MAX_DATAREP_STRING bytes, which names and
        // their final zero byte never exceed.
        unsafe {
            *disp = MPI_Offset::try_from(view.disp()).unwrap_or(MPI_Offset::MAX);
            (*etype, *filetype) = types;
            core::ptr::copy_nonoverlapping(name.as_ptr().cast(), datarep, name.len());
            *datarep.add(name.len()) = 0;
        }
        Ok(())
    })
}

pub unsafe fn file_get_type_extent(
    fh: MPI_File,
    datatype: MPI_Datatype,
    extent: CountOut,
) -> c_int {
    on_file("MPI_File_get_type_extent", fh, |file| {
        let ty = enter()?.objects.type_object(datatype)?.ty.clone();
        let conversion = Conversion::of(file.state().view.representation())?;
        let bytes = conversion.extent(&ty)?;
        if extent.is_null() {
            return Err(wrong(Class::Arg, "extent is null; expected an address"));
        }
        // SAFETY: not null; the caller vouches for it.
        unsafe { extent.set(i64::try_from(bytes).unwrap_or(i64::MAX)) };
        Ok(())
    })
}
