//! Procedures whose arguments differ from those of the C function.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

use hpvm_abi::constants::{MPI_Count, MPI_SUCCESS};
use hpvm_foreign::generated::{env, info, pt2pt, session, spawn};
use hpvm_foreign::several::length;

use crate::handle::Handle;
use crate::text::{TextList, TextOut, room, text_in, trimmed_in};
use crate::{Fortran, Texts};

/// `MPI_INIT`.
pub unsafe fn init<F: Fortran>(ierror: *mut c_int) {
    // SAFETY: the program's promises, here and below.
    unsafe { *ierror = env::init::<F>(null_mut(), null_mut()) };
}

/// `MPI_INIT_THREAD`.
pub unsafe fn init_thread<F: Fortran>(
    required: *const c_int,
    provided: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: as above.
    unsafe { *ierror = env::init_thread::<F>(null_mut(), null_mut(), *required, provided) };
}

/// `MPI_INFO_CREATE_ENV`: Fortran has no arguments of `main` to hand over.
pub unsafe fn info_create_env<F: Fortran>(info: *mut c_int, ierror: *mut c_int) {
    // SAFETY: as above.
    unsafe {
        let mut own = Handle::fresh(info, F::info_fromint);
        *ierror = info::info_create_env::<F>(0, null_mut(), own.pointer());
        own.give_if(*ierror == MPI_SUCCESS, F::info_toint);
    }
}

/// `MPI_F_SYNC_REG`: that the compiler calls something with the buffer is all that it is for.
pub unsafe fn f_sync_reg<T>(_buffer: *const T) {}

/// `MPI_PCONTROL`, which means something to tools only.
pub unsafe fn pcontrol<F: Fortran>(_level: *const c_int, ierror: *mut c_int) {
    // SAFETY: as above.
    unsafe { *ierror = MPI_SUCCESS };
}

macro_rules! detach {
    ($($name:ident $($object:ident $fromint:ident)?;)*) => {$(
        #[doc = concat!("`MPI_", stringify!($name), "`. The address is of no use to Fortran.")]
        pub unsafe fn $name<F: Fortran>(
            $($object: *const c_int,)?
            _buffer: *mut c_void,
            size: *mut c_int,
            ierror: *mut c_int,
        ) {
            let mut address = null_mut::<c_void>();
            // SAFETY: as above.
            unsafe {
                let place = (&raw mut address).cast();
                *ierror = pt2pt::$name::<F>($(F::$fromint(*$object),)? place, size);
            }
        }
    )*};
}

macro_rules! detach_f08 {
    ($($name:ident $path:ident $size:ty $(, $object:ident $fromint:ident)?;)*) => {$(
        #[doc = concat!("`MPI_", stringify!($path), "` of `mpi_f08`, which gets the address.")]
        pub unsafe fn $name<F: Fortran>(
            $($object: *const c_int,)?
            buffer: *mut c_void,
            size: *mut $size,
            ierror: *mut c_int,
        ) {
            // SAFETY: as above.
            unsafe { *ierror = pt2pt::$path::<F>($(F::$fromint(*$object),)? buffer, size) };
        }
    )*};
}

detach_f08! {
    buffer_detach_f08 buffer_detach c_int;
    buffer_detach_f08_c buffer_detach_c MPI_Count;
    comm_detach_buffer_f08 comm_detach_buffer c_int, comm comm_fromint;
    comm_detach_buffer_f08_c comm_detach_buffer_c MPI_Count, comm comm_fromint;
    session_detach_buffer_f08 session_detach_buffer c_int, session session_fromint;
    session_detach_buffer_f08_c session_detach_buffer_c MPI_Count, session session_fromint;
}

detach! {
    buffer_detach;
    comm_detach_buffer comm comm_fromint;
    session_detach_buffer session session_fromint;
}

/// `MPI_INFO_GET`.
pub unsafe fn info_get<F: Fortran>(
    info: *const c_int,
    key: *const c_char,
    valuelen: *const c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_len: usize,
    value_len: usize,
) {
    // SAFETY: as above.
    unsafe {
        let key = trimmed_in(key, key_len);
        let mut own = TextOut::new(value, value_len, room(*valuelen));
        let info = F::info_fromint(*info);
        *ierror = info::info_get::<F>(info, key.as_ptr(), *valuelen, own.pointer(), flag);
        if *ierror == MPI_SUCCESS && *flag != 0 {
            own.give();
        }
    }
}

/// `MPI_INFO_GET_STRING`. C counts the zero byte, Fortran has none.
pub unsafe fn info_get_string<F: Fortran>(
    info: *const c_int,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
    ierror: *mut c_int,
    key_len: usize,
    value_len: usize,
) {
    // SAFETY: as above.
    unsafe {
        let key = trimmed_in(key, key_len);
        let asked = *buflen;
        let mut own = TextOut::new(value, value_len, room(asked));
        let mut size = if asked > 0 { asked.saturating_add(1) } else { 0 };
        let info = F::info_fromint(*info);
        let get = info::info_get_string::<F>;
        *ierror = get(info, key.as_ptr(), &mut size, own.pointer(), flag);
        if *ierror == MPI_SUCCESS && *flag != 0 {
            *buflen = (size - 1).max(0);
            if asked > 0 {
                own.give();
            }
        }
    }
}

/// `MPI_SESSION_GET_NTH_PSET`, likewise.
pub unsafe fn session_get_nth_pset<F: Fortran>(
    session: *const c_int,
    info: *const c_int,
    n: *const c_int,
    pset_len: *mut c_int,
    name: *mut c_char,
    ierror: *mut c_int,
    name_len: usize,
) {
    // SAFETY: as above.
    unsafe {
        let asked = *pset_len;
        let mut own = TextOut::new(name, name_len, room(asked));
        let mut size = if asked > 0 { asked.saturating_add(1) } else { 0 };
        let (session, info) = (F::session_fromint(*session), F::info_fromint(*info));
        let get = session::session_get_nth_pset::<F>;
        *ierror = get(session, info, *n, &mut size, own.pointer());
        if *ierror == MPI_SUCCESS {
            *pset_len = (size - 1).max(0);
            if asked > 0 {
                own.give();
            }
        }
    }
}

/// The arguments of a program to start, or `MPI_ARGV_NULL`.
unsafe fn arguments<F: Fortran>(argv: Texts, len: usize, stride: usize) -> TextList {
    let known = F::sentinels();
    let none = [known.argv_null, known.argvs_null].as_flattened().contains(&argv.cast());
    // SAFETY: the list ends with a blank text; a length of 0 makes an empty one.
    unsafe { TextList::new(argv, if none { 0 } else { len }, stride) }
}

unsafe fn error_codes<F: Fortran>(codes: *mut c_int) -> *mut c_int {
    let ignore = F::sentinels().errcodes_ignore.contains(&codes.cast_const().cast());
    if ignore { null_mut() } else { codes }
}

/// `MPI_COMM_SPAWN`.
pub unsafe fn comm_spawn<F: Fortran>(
    command: *const c_char,
    argv: Texts,
    maxprocs: *const c_int,
    info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    codes: *mut c_int,
    ierror: *mut c_int,
    command_len: usize,
    argv_len: usize,
) {
    // SAFETY: as above.
    unsafe {
        let command = text_in(command, command_len);
        let mut argv = arguments::<F>(argv, argv_len, argv_len);
        let mut own = Handle::fresh(intercomm, F::comm_fromint);
        *ierror = spawn::comm_spawn::<F>(
            command.as_ptr(),
            argv.pointer(),
            *maxprocs,
            F::info_fromint(*info),
            *root,
            F::comm_fromint(*comm),
            own.pointer(),
            error_codes::<F>(codes),
        );
        own.give_if(*ierror == MPI_SUCCESS, F::comm_toint);
    }
}

/// `MPI_COMM_SPAWN_MULTIPLE`. The arguments of a program are a row of a matrix: they lie `count`
/// elements apart.
pub unsafe fn comm_spawn_multiple<F: Fortran>(
    count: *const c_int,
    commands: Texts,
    argvs: Texts,
    maxprocs: *const c_int,
    infos: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    codes: *mut c_int,
    ierror: *mut c_int,
    command_len: usize,
    argv_len: usize,
) {
    // SAFETY: as above.
    unsafe {
        let programs = length(*count);
        let mut commands: Vec<_> = (0..programs)
            .map(|i| text_in(commands.wrapping_add(i * command_len), command_len))
            .collect();
        let mut commands: Vec<_> = commands.iter_mut().map(|text| text.as_mut_ptr()).collect();
        let mut argvs: Vec<_> = (0..programs)
            .map(|i| {
                let none = F::sentinels().argvs_null.contains(&argvs.cast());
                let first = if none { argvs } else { argvs.wrapping_add(i * argv_len) };
                arguments::<F>(first, argv_len, programs * argv_len)
            })
            .collect();
        let mut argvs: Vec<_> = argvs.iter_mut().map(|list| list.pointer()).collect();
        let infos: Vec<_> = (0..programs).map(|i| F::info_fromint(*infos.add(i))).collect();
        let mut own = Handle::fresh(intercomm, F::comm_fromint);
        *ierror = spawn::comm_spawn_multiple::<F>(
            *count,
            commands.as_mut_ptr(),
            argvs.as_mut_ptr(),
            maxprocs,
            infos.as_ptr(),
            *root,
            F::comm_fromint(*comm),
            own.pointer(),
            error_codes::<F>(codes),
        );
        own.give_if(*ierror == MPI_SUCCESS, F::comm_toint);
    }
}

/// `MPI_CONVERSION_FN_NULL`: only its address counts.
pub unsafe fn conversion_fn_null() {}
