//! What libraries for other ABIs need beyond the standard: callbacks with a word of state (see the
//! crate hpvm-abi).

use crate::body::check::{out, wrong};
use crate::body::{attr, env, op};
use crate::generated::constants::*;
use crate::object::attributes::{Holder, on_copy, on_delete};
use crate::object::datatype::{TypeObject, handle_of};
use crate::object::errhandler::{self, Foreign, Handler};
use crate::raise::{anywhere, end_with, on_world};
use core::ffi::{CStr, c_char, c_int, c_void};
use hpvm_abi::Extra;
use hpvm_abi::extra::{self as outer, ErrorCall, Reduction, SectionDimension};
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::op::UserFunction;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The part of the table that is not generated.
pub const EXTRA: Extra = Extra {
    op_create,
    errhandler_create,
    keyval_create,
    attr_set_integer,
    attr_get_integer,
    section_type,
    stage: crate::staged::stage,
    unsupported,
    init_for_model,
    adopted,
    fail,
    lay_out: crate::body::pt2pt::lay_out,
};

unsafe extern "C" fn op_create(
    call: Reduction,
    state: usize,
    commute: c_int,
    op: *mut MPI_Op,
) -> c_int {
    let function: Arc<UserFunction> = Arc::new(move |input: *const u8, inout, count, ty| {
        // SAFETY: the library registered this function for such calls; the buffers hold `count`
        // elements.
        unsafe { call(state, input.cast_mut().cast(), inout.cast(), count, handle_of(ty)) };
    });
    // SAFETY: the caller's promises.
    unsafe { op::create("MPI_Op_create", Some(function), commute, op) }
}

unsafe extern "C" fn errhandler_create(
    holder: outer::Holder,
    call: ErrorCall,
    state: usize,
    place: *mut MPI_Errhandler,
) -> c_int {
    let name = match holder {
        outer::Holder::Comm => "MPI_Comm_create_errhandler",
        outer::Holder::Window => "MPI_Win_create_errhandler",
        outer::Holder::File => "MPI_File_create_errhandler",
        _ => "MPI_Session_create_errhandler",
    };
    anywhere(name, || {
        out("errhandler", place)?;
        let handler = Handler::Foreign(Foreign { holder, call, state });
        // SAFETY: checked above.
        unsafe { *place = errhandler::create(handler)? };
        Ok(())
    })
}

/// The kinds of object that attributes belong to.
fn holder_of(holder: outer::Holder) -> Holder {
    match holder {
        outer::Holder::Comm => Holder::Comm,
        outer::Holder::Datatype => Holder::Datatype,
        _ => Holder::Window,
    }
}

unsafe extern "C" fn attr_set_integer(
    holder: outer::Holder,
    handle: usize,
    keyval: c_int,
    value: MPI_Aint,
) -> c_int {
    attr::set_integer(holder_of(holder), handle, keyval, value)
}

unsafe extern "C" fn attr_get_integer(
    holder: outer::Holder,
    handle: usize,
    keyval: c_int,
    value: *mut MPI_Aint,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { attr::get_integer(holder_of(holder), handle, keyval, value, flag) }
}

unsafe extern "C" fn keyval_create(
    holder: outer::Holder,
    integers: c_int,
    copy: MPI_Comm_copy_attr_function,
    delete: MPI_Comm_delete_attr_function,
    release: unsafe extern "C" fn(*mut c_void),
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    let name = match holder {
        outer::Holder::Comm => "MPI_Comm_create_keyval",
        outer::Holder::Datatype => "MPI_Type_create_keyval",
        _ => "MPI_Win_create_keyval",
    };
    let copy = copy.map_or(0, |f| f as usize);
    let delete = delete.map_or(0, |f| f as usize);
    anywhere(name, || {
        // SAFETY: the caller's promises: functions of these signatures, up to the handle.
        let (copy, delete) = unsafe { (on_copy(copy), on_delete(delete)) };
        let (functions, integers, release) = ((copy, delete), integers != 0, Some(release));
        let holder = holder_of(holder);
        // SAFETY: as above.
        unsafe { attr::create_released(holder, functions, integers, keyval, extra_state, release) }
    })
}

unsafe extern "C" fn section_type(
    element: MPI_Aint,
    rank: c_int,
    dimensions: *const SectionDimension,
    count: MPI_Count,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> c_int {
    on_world("a procedure of mpi_f08", |w| {
        if newtype.is_null() {
            let text = "the buffer is an array section whose elements do not follow each other in memory; \
                        here it has to be contiguous: pass a whole array, or a copy of the section";
            return Err(wrong(Class::Buffer, text));
        }
        let rank = usize::try_from(rank).unwrap_or(0);
        // SAFETY: the caller's promise.
        let dimensions = unsafe { core::slice::from_raw_parts(dimensions, rank) };
        let dimensions: Vec<_> =
            dimensions.iter().map(|d| (d.extent as i64, d.stride as i64)).collect();
        let old = w.objects.datatype(oldtype)?;
        let made = Datatype::over_section(element as i64, &dimensions, count, old)?;
        made.commit();
        // SAFETY: not null, so the caller's place.
        unsafe { *newtype = w.objects.add_type(TypeObject::new(made, ""))? };
        Ok(())
    })
}

unsafe extern "C" fn unsupported(name: *const c_char) -> c_int {
    if name.is_null() {
        return anywhere("an MPI function", || Err(wrong(Class::Arg, "no name was given")));
    }
    // SAFETY: the caller's promise: a C string.
    crate::unsupported(lasting(unsafe { CStr::from_ptr(name) }))
}

unsafe extern "C" fn init_for_model() -> c_int {
    anywhere("MPI_Init", env::init_for_model)
}

unsafe extern "C" fn adopted() -> c_int {
    c_int::from(!env::is_models())
}

unsafe extern "C" fn fail(text: *const c_char, code: c_int) -> ! {
    // SAFETY: the caller's promise: a C string.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    end_with(&text, code)
}

/// The text of a name for good: errors keep it. There are as many as functions.
fn lasting(name: &CStr) -> &'static str {
    static NAMES: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = name.to_string_lossy().into_owned();
    names.entry(name.clone()).or_insert_with(|| name.leak())
}
