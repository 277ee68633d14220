//! Functions whose translation does not follow from the kinds of their arguments: functions of the
//! program, which get handles of its ABI, and attributes, some of which are numbers.
//!
//! A function of the program without state of its own is the state of one of ours. Others are kept
//! in a box that lives as long as their object.
//!
//! Safety of every public function here: the caller keeps the promises of the MPI standard about
//! its arguments, in the form of its own ABI.
#![allow(clippy::missing_safety_doc)]

use crate::bindings;
use crate::numbers::{error_in, error_out, keyval_in, rank_out, to_foreign};
use crate::out_param::OutParam;
use crate::program::{self, query_status, reduce_in_pieces, start_generalised};
use crate::text::Text;
use crate::{Abi, entries};
use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use hpvm_abi::constants::*;
use hpvm_abi::extra::{ErrorCall, Holder, Reduction};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use crate::contents::{type_get_contents, type_get_contents_c};

type Narrow<A> =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut <A as Abi>::Datatype);
type Wide<A> =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut MPI_Count, *mut <A as Abi>::Datatype);

/// How bindings call a reduction: operands, elements, datatype, the program's function.
type ReduceThrough<A> =
    unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, <A as Abi>::Datatype, usize);

/// Calls a reduction of the program.
unsafe extern "C" fn reduce<A: Abi>(
    state: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
) {
    let call = |invec, inoutvec, mut len| {
        let mut own = A::datatype_out(datatype);
        // SAFETY: `op_create` gave the address of such a function, or of one that the bindings call for us; the buffers
        // are the engine's.
        unsafe {
            match bindings::through(state) {
                Some(through) => {
                    transmute::<usize, ReduceThrough<A>>(through)(invec, inoutvec, len, own, state)
                }
                None => transmute::<usize, Narrow<A>>(state)(invec, inoutvec, &mut len, &mut own),
            }
        };
    };
    // SAFETY: the engine's buffers hold `count` elements.
    unsafe { reduce_in_pieces(invec, inoutvec, count, datatype, call) };
}

unsafe extern "C" fn reduce_c<A: Abi>(
    state: usize,
    invec: *mut c_void,
    inoutvec: *mut c_void,
    mut count: MPI_Count,
    datatype: MPI_Datatype,
) {
    let mut own = A::datatype_out(datatype);
    // SAFETY: `op_create_c` gave the address of such a function; the buffers hold `count` elements.
    unsafe { transmute::<usize, Wide<A>>(state)(invec, inoutvec, &mut count, &mut own) };
}

unsafe fn create_op<A: Abi>(
    call: Reduction,
    function: *const c_void,
    commute: c_int,
    op: *mut A::Op,
) -> c_int {
    let mut own = OutParam::new(op);
    bindings::given([function.addr(), 0]);
    // SAFETY: the caller's promises; a null function is for the engine to refuse.
    unsafe {
        let code = match function.is_null() {
            true => (entries().standard.MPI_Op_create)(None, commute, own.pointer()),
            false => (entries().extra.op_create)(call, function.addr(), commute, own.pointer()),
        };
        own.give(A::op_out);
        error_out::<A>(code)
    }
}

/// `MPI_Op_create`.
pub unsafe fn op_create<A: Abi>(user_fn: *const c_void, commute: c_int, op: *mut A::Op) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { create_op::<A>(reduce::<A>, user_fn, commute, op) }
}

/// `MPI_Op_create_c`.
pub unsafe fn op_create_c<A: Abi>(user_fn: *const c_void, commute: c_int, op: *mut A::Op) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { create_op::<A>(reduce_c::<A>, user_fn, commute, op) }
}

/// `MPI_Abi_get_version`: -1 and -1, "no standard ABI", as the MPI whose library this is says. By it
/// programs that can use several ABIs tell which one they have loaded.
pub unsafe fn abi_get_version<A: Abi>(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    // SAFETY: the caller's promises; the engine has refused null pointers when it succeeds.
    unsafe {
        let code = (entries().standard.MPI_Abi_get_version)(abi_major, abi_minor);
        if code == MPI_SUCCESS {
            (*abi_major, *abi_minor) = (-1, -1);
        }
        error_out::<A>(code)
    }
}

/// `MPI_Get_library_version`: [`Abi::FAMILY`], then the engine's own text.
pub unsafe fn get_library_version<A: Abi>(version: *mut c_char, resultlen: *mut c_int) -> c_int {
    let mut text = Text::after(A::FAMILY, version, A::MPI_MAX_LIBRARY_VERSION_STRING);
    // SAFETY: the caller's promises; the text lives through the call.
    unsafe {
        let code = (entries().standard.MPI_Get_library_version)(text.pointer(), resultlen);
        if code == MPI_SUCCESS {
            text.give(resultlen);
        }
        error_out::<A>(code)
    }
}

/// How bindings call an error handler: the kind of object, its handle, the error code, the program's function.
type ErrorThrough<H> = unsafe extern "C" fn(c_int, *mut H, *mut c_int, usize);

/// MPICH's numbers of the kinds of objects that have error handlers in C++.
fn error_kind(holder: Holder) -> c_int {
    match holder {
        Holder::File => 1,
        Holder::Window => 2,
        _ => 0,
    }
}

macro_rules! error_handlers {
    ($($create:ident $call:ident $holder:ident $handle:ident $type:ident $out:ident;)*) => {$(
        unsafe extern "C" fn $call<A: Abi>(state: usize, handle: *mut usize, code: *mut c_int) {
            type Function<A> = unsafe extern "C" fn(*mut <A as Abi>::$handle, *mut c_int, ...);
            // SAFETY: the state is the address of such a function; the engine's places are valid.
            unsafe {
                let mut own = A::$out($type(*handle));
                let mut number = error_out::<A>(*code);
                match bindings::through(state) {
                    Some(through) => transmute::<usize, ErrorThrough<A::$handle>>(through)(
                        error_kind(Holder::$holder), &mut own, &mut number, state,
                    ),
                    None => transmute::<usize, Function<A>>(state)(&mut own, &mut number),
                }
                *code = error_in::<A>(number);
            }
        }

        #[doc = concat!("`MPI_", stringify!($handle), "_create_errhandler`.")]
        pub unsafe fn $create<A: Abi>(
            function: *const c_void,
            errhandler: *mut A::Errhandler,
        ) -> c_int {
            // SAFETY: the caller's promises.
            unsafe { create_errhandler::<A>(Holder::$holder, $call::<A>, function, errhandler) }
        }
    )*};
}

error_handlers! {
    comm_create_errhandler error_on_comm Comm Comm MPI_Comm comm_out;
    win_create_errhandler error_on_win Window Win MPI_Win win_out;
    file_create_errhandler error_on_file File File MPI_File file_out;
    session_create_errhandler error_on_session Session Session MPI_Session session_out;
}

unsafe fn create_errhandler<A: Abi>(
    holder: Holder,
    call: ErrorCall,
    function: *const c_void,
    errhandler: *mut A::Errhandler,
) -> c_int {
    let mut own = OutParam::new(errhandler);
    bindings::given([function.addr(), 0]);
    // SAFETY: the caller's promises; a null function is for the engine to refuse.
    unsafe {
        let code = match function.is_null() {
            true => (entries().standard.MPI_Comm_create_errhandler)(None, own.pointer()),
            false => {
                (entries().extra.errhandler_create)(holder, call, function.addr(), own.pointer())
            }
        };
        own.give(A::errhandler_out);
        error_out::<A>(code)
    }
}

/// How bindings call the copy function of an attribute: the program's function, the object's handle, the key, the
/// program's state, the kind of value, the value, and the places of the new one and of the flag.
type CopyThrough<H> = unsafe extern "C" fn(
    usize,
    H,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;
/// The same for delete functions, without the places, the state last.
type DeleteThrough<H> =
    unsafe extern "C" fn(usize, H, c_int, c_int, *mut c_void, *mut c_void) -> c_int;
/// The kind of value: a pointer of C.
const POINTER: c_int = 0;

/// A key with the program's word of state.
type Key = program::Key<*mut c_void>;

macro_rules! attributes {
    ($($holder:ident $handle:ident $type:ident $out:ident $in:ident:
       $create:ident $copy:ident $delete:ident $get:ident $standard:ident;)*) => {$(
        unsafe extern "C" fn $copy<A: Abi>(
            handle: usize,
            keyval: c_int,
            key: *mut c_void,
            value: *mut c_void,
            new: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            type Function<A> = unsafe extern "C" fn(
                <A as Abi>::$handle, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int,
            ) -> c_int;
            // SAFETY: the key is the box of `create_keyval`, with the address of such a function.
            unsafe {
                let key = &*key.cast::<Key>();
                let (own, extra) = (A::$out($type(handle)), key.extra);
                if let Some(through) = bindings::through(key.copy) {
                    let through = transmute::<usize, CopyThrough<A::$handle>>(through);
                    return error_in::<A>(through(
                        key.copy, own, keyval, extra, POINTER, value, new, flag,
                    ));
                }
                let function = transmute::<usize, Function<A>>(key.copy);
                error_in::<A>(function(own, keyval, extra, value, new, flag))
            }
        }

        unsafe extern "C" fn $delete<A: Abi>(
            handle: usize,
            keyval: c_int,
            value: *mut c_void,
            key: *mut c_void,
        ) -> c_int {
            type Function<A> = unsafe extern "C" fn(
                <A as Abi>::$handle, c_int, *mut c_void, *mut c_void,
            ) -> c_int;
            // SAFETY: as for the copy function.
            unsafe {
                let key = &*key.cast::<Key>();
                let (own, extra) = (A::$out($type(handle)), key.extra);
                if let Some(through) = bindings::through(key.delete) {
                    let through = transmute::<usize, DeleteThrough<A::$handle>>(through);
                    return error_in::<A>(through(key.delete, own, keyval, POINTER, value, extra));
                }
                let function = transmute::<usize, Function<A>>(key.delete);
                error_in::<A>(function(own, keyval, value, extra))
            }
        }

        #[doc = concat!("`MPI_", stringify!($handle), "_create_keyval` or the like.")]
        pub unsafe fn $create<A: Abi>(
            copy: *const c_void,
            delete: *const c_void,
            keyval: *mut c_int,
            extra_state: *mut c_void,
        ) -> c_int {
            let ours = ($copy::<A> as *const c_void, $delete::<A> as *const c_void);
            // SAFETY: the caller's promises.
            unsafe {
                create_keyval::<A>(Holder::$holder, (copy, delete), ours, keyval, extra_state)
            }
        }

        #[doc = concat!("`", stringify!($standard), "`.")]
        pub unsafe fn $get<A: Abi>(
            object: A::$handle,
            keyval: c_int,
            attribute_val: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            let key = keyval_in::<A>(keyval);
            // SAFETY: the caller's promises.
            unsafe {
                let code =
                    (entries().standard.$standard)(A::$in(object), key, attribute_val, flag);
                if code == MPI_SUCCESS && *flag != 0 && key < FIRST_KEY {
                    predefined_out::<A>(key, attribute_val.cast());
                }
                error_out::<A>(code)
            }
        }
    )*};
}

attributes! {
    Comm Comm MPI_Comm comm_out comm_in: comm_create_keyval copy_on_comm delete_on_comm
        comm_get_attr MPI_Comm_get_attr;
    Datatype Datatype MPI_Datatype datatype_out datatype_in: type_create_keyval copy_on_type
        delete_on_type type_get_attr MPI_Type_get_attr;
    Window Win MPI_Win win_out win_in: win_create_keyval copy_on_win delete_on_win
        win_get_attr MPI_Win_get_attr;
}

/// The standard ABI's predefined keys lie below.
const FIRST_KEY: c_int = 0x1000;

/// `MPI_Keyval_create`.
pub unsafe fn keyval_create<A: Abi>(
    copy_fn: *const c_void,
    delete_fn: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { comm_create_keyval::<A>(copy_fn, delete_fn, keyval, extra_state) }
}

/// `MPI_Attr_get`.
pub unsafe fn attr_get<A: Abi>(
    comm: A::Comm,
    keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { comm_get_attr::<A>(comm, keyval, attribute_val, flag) }
}

/// Makes a key: predefined functions of the ABI become those of the standard, others are called
/// through `ours`.
unsafe fn create_keyval<A: Abi>(
    holder: Holder,
    (copy, delete): (*const c_void, *const c_void),
    ours: (*const c_void, *const c_void),
    keyval: *mut c_int,
    extra: *mut c_void,
) -> c_int {
    let (copy, delete) = (A::copy_function(copy), A::delete_function(delete));
    let key = Key { copy: copy.addr(), delete: delete.addr(), extra };
    bindings::given([key.copy, key.delete]);
    let predefined = |function: *const c_void| function.addr() <= 1;
    let copy = if predefined(copy) { copy } else { ours.0 };
    let delete = if predefined(delete) { delete } else { ours.1 };
    // SAFETY: the caller's promises; ours have the right signatures.
    unsafe { program::create_keyval::<A, _>(holder, false, key, (copy, delete), keyval) }
}

/// Replaces the value of a predefined attribute, the address of a number, where numbers differ.
unsafe fn predefined_out<A: Abi>(key: c_int, place: *mut *const c_int) {
    // SAFETY: the engine has just stored the address of such a number.
    let own = || unsafe { **place };
    if let MPI_HOST | MPI_IO | MPI_LASTUSEDCODE | MPI_WIN_CREATE_FLAVOR | MPI_WIN_MODEL = key {
        // SAFETY: the caller's promise.
        unsafe { *place = cell(predefined_value::<A>(key, own())) };
    }
}

/// The number of a predefined attribute as the ABI has it.
pub fn predefined_value<A: Abi>(key: c_int, own: c_int) -> c_int {
    match key {
        MPI_HOST | MPI_IO => rank_out::<A>(own),
        MPI_LASTUSEDCODE => error_out::<A>(own),
        MPI_WIN_CREATE_FLAVOR => to_foreign(A::WIN_FLAVOR, own),
        MPI_WIN_MODEL => to_foreign(A::WIN_MODEL, own),
        _ => own,
    }
}

/// A number that lies somewhere for good; there are as many as there are different values.
fn cell(value: c_int) -> *const c_int {
    static CELLS: Mutex<BTreeMap<c_int, &'static c_int>> = Mutex::new(BTreeMap::new());
    let mut cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    *cells.entry(value).or_insert_with(|| Box::leak(Box::new(value)))
}

/// A generalised request with the program's word of state.
type Generalised = program::Generalised<*mut c_void>;

unsafe extern "C" fn query<A: Abi>(state: *mut c_void, status: *mut MPI_Status) -> c_int {
    type Function<A> = unsafe extern "C" fn(*mut c_void, *mut <A as Abi>::Status) -> c_int;
    // SAFETY: the state is the box of `grequest_start` and lives until `free`, with the address of
    // such a function; the engine's status is valid.
    unsafe {
        let functions = &*state.cast::<Generalised>();
        let function = transmute::<usize, Function<A>>(functions.query);
        query_status::<A>(status, |own| function(functions.extra, own))
    }
}

unsafe extern "C" fn free<A: Abi>(state: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void) -> c_int;
    // SAFETY: the engine frees a request once, and does not use the state after it.
    let functions = unsafe { Box::from_raw(state.cast::<Generalised>()) };
    if functions.free == 0 {
        return MPI_SUCCESS;
    }
    // SAFETY: the program gave the address of such a function.
    error_in::<A>(unsafe { transmute::<usize, Function>(functions.free)(functions.extra) })
}

unsafe extern "C" fn cancel<A: Abi>(state: *mut c_void, complete: c_int) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
    // SAFETY: as in `query`.
    error_in::<A>(unsafe {
        let functions = &*state.cast::<Generalised>();
        transmute::<usize, Function>(functions.cancel)(functions.extra, complete)
    })
}

/// `MPI_Grequest_start`.
pub unsafe fn grequest_start<A: Abi>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut c_void,
    request: *mut A::Request,
) -> c_int {
    let functions = Generalised {
        query: query_fn.addr(),
        free: free_fn.addr(),
        cancel: cancel_fn.addr(),
        extra: extra_state,
    };
    let mut own = OutParam::new(request);
    let query: MPI_Grequest_query_function =
        if query_fn.is_null() { None } else { Some(query::<A>) };
    let cancel: MPI_Grequest_cancel_function =
        if cancel_fn.is_null() { None } else { Some(cancel::<A>) };
    // SAFETY: the caller's promises.
    unsafe {
        let code = start_generalised(functions, (query, Some(free::<A>), cancel), own.pointer());
        own.give(A::request_out);
        error_out::<A>(code)
    }
}

/// `MPI_Register_datarep`. This version has no files, so the functions are never called.
pub unsafe fn register_datarep<A: Abi>(
    datarep: *const c_char,
    _read: *const c_void,
    _write: *const c_void,
    _extent: *const c_void,
    _extra_state: *mut c_void,
) -> c_int {
    let register = entries().standard.MPI_Register_datarep;
    // SAFETY: the caller's promises.
    error_out::<A>(unsafe { register(datarep, None, None, None, null_mut()) })
}

/// `MPI_Register_datarep_c`, likewise.
pub unsafe fn register_datarep_c<A: Abi>(
    datarep: *const c_char,
    _read: *const c_void,
    _write: *const c_void,
    _extent: *const c_void,
    _extra_state: *mut c_void,
) -> c_int {
    let register = entries().standard.MPI_Register_datarep_c;
    // SAFETY: the caller's promises.
    error_out::<A>(unsafe { register(datarep, None, None, None, null_mut()) })
}
