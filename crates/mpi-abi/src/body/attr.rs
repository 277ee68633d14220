//! Attributes of communicators, datatypes and windows, and their keys (section 7.7).
//!
//! Copy and delete functions belong to the program, so they run outside of the engine, on copies
//! of the lists.

use crate::body::check::{TAG_UB, out, wrong};
use crate::body::rma::on_win;
use crate::generated::constants::*;
use crate::object::attributes::{
    Attribute, Attributes, DeleteFunction, Holder, Key, OnCopy, Value, create_key, find_key,
    free_key, on_copy, on_delete,
};
use crate::raise::{anywhere, on_comm, on_world};
use crate::runtime::{Entered, World, enter};
use core::ffi::{c_int, c_void};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::sync::atomic::{AtomicI32, Ordering};

/// An object that carries attributes.
#[derive(Clone, Copy)]
enum On {
    Comm(MPI_Comm),
    Type(MPI_Datatype),
    Window(MPI_Win),
}

impl On {
    fn handle(self) -> usize {
        match self {
            On::Comm(h) => h.0,
            On::Type(h) => h.0,
            On::Window(h) => h.0,
        }
    }

    fn holder(self) -> Holder {
        match self {
            On::Comm(_) => Holder::Comm,
            On::Type(_) => Holder::Datatype,
            On::Window(_) => Holder::Window,
        }
    }

    /// Uses the object's list.
    fn list<R>(self, w: &World, f: impl FnOnce(&mut Attributes) -> R) -> Result<R> {
        match self {
            On::Comm(h) => Ok(f(&mut w.objects.comm(h)?.extras().attributes)),
            On::Type(h) => Ok(f(&mut w.objects.type_object(h)?.extras().attributes)),
            On::Window(h) => Ok(f(&mut w.objects.window(h)?.extras.borrow_mut().attributes)),
        }
    }
}

fn bad_key(keyval: c_int) -> Error {
    let found = match keyval {
        MPI_KEYVAL_INVALID => "MPI_KEYVAL_INVALID".to_owned(),
        MPI_TAG_UB..=MPI_UNIVERSE_SIZE | MPI_WIN_BASE..=MPI_WIN_MODEL => {
            format!("{keyval}, which is predefined and read-only")
        }
        other => format!("{other}, which is not or no longer one for this kind of object"),
    };
    wrong(Class::Keyval, format!("expected an attribute key, found {found}"))
}

/// The error of a function of the program that did not return `MPI_SUCCESS`.
fn refused(what: &str, keyval: c_int, code: c_int) -> Error {
    let text = format!("the {what} function of attribute key {keyval} returned code {code}");
    Error::returned(code, text)
}

fn call_delete(w: &mut Entered, handle: usize, attribute: &Attribute) -> Result<()> {
    let Some(function) = attribute.key.on_delete else { return Ok(()) };
    let (keyval, value, extra) = (attribute.keyval, attribute.shown(), attribute.key.extra);
    // SAFETY: the program registered this function for keys of this kind of object.
    let code = w.outside(|| unsafe { function(handle, keyval, value as _, extra as _) });
    if code == MPI_SUCCESS { Ok(()) } else { Err(refused("delete", keyval, code)) }
}

/// The attributes that a duplicate of the object of `handle` starts with: runs the copy functions
/// on `list`. When one of them fails, what was copied so far is deleted.
pub fn copy_all(w: &mut Entered, handle: usize, list: Vec<Attribute>) -> Result<Attributes> {
    let mut copied = Attributes::default();
    for attribute in list {
        match copy_one(w, handle, &attribute) {
            Ok(None) => {}
            Ok(Some(value)) => drop(copied.set(Attribute { value, ..attribute })),
            Err(error) => {
                // The first error is the one to report.
                let _ = delete_all(w, handle, copied);
                return Err(error);
            }
        }
    }
    Ok(copied)
}

fn copy_one(w: &mut Entered, handle: usize, attribute: &Attribute) -> Result<Option<Value>> {
    let (keyval, value, extra) = (attribute.keyval, attribute.shown(), attribute.key.extra);
    let function = match attribute.key.on_copy {
        OnCopy::Drop => return Ok(None),
        OnCopy::Duplicate => return Ok(Some(attribute.value.duplicate())),
        OnCopy::Call(function) => function,
    };
    let mut new: *mut c_void = core::ptr::null_mut();
    let mut flag = 0;
    let place = (&raw mut new).cast();
    // SAFETY: the program registered this function for keys of this kind of object; both places
    // live through the call.
    let code =
        w.outside(|| unsafe { function(handle, keyval, extra as _, value as _, place, &mut flag) });
    match code {
        MPI_SUCCESS => Ok((flag != 0).then(|| Value::new(new as usize, attribute.key.integers))),
        _ => Err(refused("copy", keyval, code)),
    }
}

/// Runs the delete functions of an object that is to go, the last attribute set first. When one
/// fails, its attribute and those before it come back with the error.
pub fn delete_all(
    w: &mut Entered,
    handle: usize,
    mut attributes: Attributes,
) -> core::result::Result<(), (Error, Attributes)> {
    while let Some(attribute) = attributes.pop() {
        if let Err(error) = call_delete(w, handle, &attribute) {
            attributes.set(attribute);
            return Err((error, attributes));
        }
    }
    Ok(())
}

/// Deletes the attributes of `MPI_COMM_SELF`, which `MPI_Finalize` does before all else (section
/// 11.2.4).
pub fn finalize() -> Result<()> {
    let mut w = enter()?;
    let own = w.objects.comm(MPI_COMM_SELF)?.clone();
    loop {
        // A delete function may set others.
        let attributes = std::mem::take(&mut own.extras().attributes);
        if attributes.is_empty() {
            return Ok(());
        }
        delete_all(&mut w, MPI_COMM_SELF.0, attributes).map_err(|(error, _)| error)?;
    }
}

/// The predefined attributes' values by key minus the first: programs get their addresses.
static PREDEFINED: [AtomicI32; (MPI_UNIVERSE_SIZE - MPI_TAG_UB + 1) as usize] =
    [const { AtomicI32::new(0) }; _];

/// The address of a predefined attribute's value; `None` for other keys and where it is not set.
fn predefined(w: &World, keyval: c_int) -> Option<*mut c_void> {
    let value = match keyval {
        MPI_TAG_UB => TAG_UB,
        MPI_HOST => MPI_PROC_NULL,
        MPI_IO => MPI_ANY_SOURCE,
        // Each process counts from its own start.
        MPI_WTIME_IS_GLOBAL => 0,
        MPI_APPNUM => w.job.appnum as i32,
        MPI_LASTUSEDCODE => crate::body::errh::last_used_code(),
        MPI_UNIVERSE_SIZE => i32::try_from(w.job.universe?).ok()?,
        _ => return None,
    };
    let place = &PREDEFINED[(keyval - MPI_TAG_UB) as usize];
    place.store(value, Ordering::Relaxed); // relaxed: a plain value that orders nothing else
    Some(place.as_ptr().cast())
}

/// A predefined attribute of a window (section 12.2.6): the base itself, of the others the address of the value.
fn predefined_of_window(w: &World, win: MPI_Win, keyval: c_int) -> Result<Option<*mut c_void>> {
    let values = &w.objects.window(win)?.values;
    let address = |value: *const c_int| value.cast_mut().cast::<c_void>();
    Ok(match keyval {
        MPI_WIN_BASE => Some(core::ptr::with_exposed_provenance_mut(values.base)),
        MPI_WIN_SIZE => Some((&raw const values.size).cast_mut().cast()),
        MPI_WIN_DISP_UNIT => Some(address(&raw const values.disp_unit)),
        MPI_WIN_CREATE_FLAVOR => Some(address(&raw const values.flavor)),
        MPI_WIN_MODEL => Some(address(&raw const values.model)),
        _ => None,
    })
}

fn set(w: &mut Entered, on: On, keyval: c_int, value: Value) -> Result<()> {
    let old = on.list(w, |a| a.get(keyval).cloned())?;
    let key = find_key(keyval, on.holder()).ok_or_else(|| bad_key(keyval))?;
    if let Some(old) = old {
        call_delete(w, on.handle(), &old)?;
    }
    on.list(w, |a| drop(a.set(Attribute { keyval, key, value })))
}

unsafe fn get(
    w: &mut Entered,
    on: On,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    seen: fn(&Value) -> usize,
) -> Result<()> {
    out("attribute_val", value)?;
    out("flag", flag)?;
    let known = (MPI_TAG_UB..=MPI_UNIVERSE_SIZE).contains(&keyval);
    let found = match on {
        On::Comm(comm) if known => {
            w.objects.comm(comm)?;
            predefined(w, keyval)
        }
        On::Window(win) if (MPI_WIN_BASE..=MPI_WIN_MODEL).contains(&keyval) => {
            predefined_of_window(w, win, keyval)?
        }
        _ => on.list(w, |a| a.get(keyval).map(|a| seen(&a.value) as *mut c_void))?,
    };
    // A key that the object has is one; programs ask for attributes again and again.
    let known = found.is_some() || (known && on.holder() == Holder::Comm);
    if !known && find_key(keyval, on.holder()).is_none() {
        return Err(bad_key(keyval));
    }
    // SAFETY: checked above; the value's place is that of a pointer.
    unsafe {
        *flag = c_int::from(found.is_some());
        if let Some(found) = found {
            *value.cast::<*mut c_void>() = found;
        }
    }
    Ok(())
}

fn delete(w: &mut Entered, on: On, keyval: c_int) -> Result<()> {
    let old = on.list(w, |a| a.get(keyval).cloned())?;
    find_key(keyval, on.holder()).ok_or_else(|| bad_key(keyval))?;
    if let Some(old) = old {
        call_delete(w, on.handle(), &old)?;
        on.list(w, |a| drop(a.remove(keyval)))?;
    }
    Ok(())
}

/// # Safety
/// The functions are null, predefined, or functions of the program for this kind of object.
unsafe fn create(
    holder: Holder,
    copy: usize,
    delete: usize,
    keyval: *mut c_int,
    extra: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let functions = unsafe { (on_copy(copy), on_delete(delete)) };
    // SAFETY: as above.
    unsafe { create_released(holder, functions, false, keyval, extra, None) }
}

/// Makes a key whose `extra` is handed to `release` when nothing uses the key any more. After an
/// error it never is. `integers`: the functions are Fortran's.
///
/// # Safety
/// `keyval` is null or may be written.
pub unsafe fn create_released(
    holder: Holder,
    (on_copy, on_delete): (OnCopy, Option<DeleteFunction>),
    integers: bool,
    keyval: *mut c_int,
    extra: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
) -> Result<()> {
    out("keyval", keyval)?;
    let key = Key { holder, on_copy, on_delete, integers, extra: extra as usize, release };
    // SAFETY: checked above.
    unsafe { *keyval = create_key(key) };
    Ok(())
}

unsafe fn free(holder: Holder, keyval: *mut c_int) -> Result<()> {
    out("keyval", keyval)?;
    // SAFETY: checked above.
    let number = unsafe { *keyval };
    if !free_key(number, holder) {
        return Err(bad_key(number));
    }
    // SAFETY: as above.
    unsafe { *keyval = MPI_KEYVAL_INVALID };
    Ok(())
}

macro_rules! keys {
    ($($holder:ident fn $create:ident $create_name:literal $copy:ident $delete:ident
       fn $free:ident $free_name:literal;)*) => {$(
        pub unsafe fn $create(copy: $copy, delete: $delete, keyval: *mut c_int,
            extra_state: *mut c_void) -> c_int {
            let copy = copy.map_or(0, |f| f as usize);
            let delete = delete.map_or(0, |f| f as usize);
            anywhere($create_name, || {
                // SAFETY: the caller's promises.
                unsafe { create(Holder::$holder, copy, delete, keyval, extra_state) }
            })
        }

        pub unsafe fn $free(keyval: *mut c_int) -> c_int {
            // SAFETY: the caller's promises.
            anywhere($free_name, || unsafe { free(Holder::$holder, keyval) })
        }
    )*};
}

keys! {
    Comm fn comm_create_keyval "MPI_Comm_create_keyval"
        MPI_Comm_copy_attr_function MPI_Comm_delete_attr_function
        fn comm_free_keyval "MPI_Comm_free_keyval";
    Datatype fn type_create_keyval "MPI_Type_create_keyval"
        MPI_Type_copy_attr_function MPI_Type_delete_attr_function
        fn type_free_keyval "MPI_Type_free_keyval";
    Window fn win_create_keyval "MPI_Win_create_keyval"
        MPI_Win_copy_attr_function MPI_Win_delete_attr_function
        fn win_free_keyval "MPI_Win_free_keyval";
}

/// Errors of a call on a communicator or a window go to its handler, others to that of `MPI_COMM_SELF`.
fn on(function: &'static str, on: On, body: impl FnOnce(&mut Entered) -> Result<()>) -> c_int {
    match on {
        On::Comm(comm) => on_comm(function, comm, body),
        On::Window(win) => on_win(function, win, body),
        On::Type(_) => on_world(function, body),
    }
}

macro_rules! values {
    ($($variant:ident $handle:ty: fn $set:ident $set_name:literal fn $get:ident $get_name:literal
       fn $delete:ident $delete_name:literal;)*) => {$(
        pub unsafe fn $set(object: $handle, keyval: c_int, value: *mut c_void) -> c_int {
            let object = On::$variant(object);
            on($set_name, object, |w| set(w, object, keyval, Value::Pointer(value as usize)))
        }

        pub unsafe fn $get(object: $handle, keyval: c_int, value: *mut c_void,
            flag: *mut c_int) -> c_int {
            let object = On::$variant(object);
            // SAFETY: the caller's promises.
            on($get_name, object, |w| unsafe {
                get(w, object, keyval, value, flag, Value::pointer)
            })
        }

        pub unsafe fn $delete(object: $handle, keyval: c_int) -> c_int {
            let object = On::$variant(object);
            on($delete_name, object, |w| delete(w, object, keyval))
        }
    )*};
}

values! {
    Comm MPI_Comm: fn comm_set_attr "MPI_Comm_set_attr" fn comm_get_attr "MPI_Comm_get_attr"
        fn comm_delete_attr "MPI_Comm_delete_attr";
    Type MPI_Datatype: fn type_set_attr "MPI_Type_set_attr" fn type_get_attr "MPI_Type_get_attr"
        fn type_delete_attr "MPI_Type_delete_attr";
    Window MPI_Win: fn win_set_attr "MPI_Win_set_attr" fn win_get_attr "MPI_Win_get_attr"
        fn win_delete_attr "MPI_Win_delete_attr";
}

impl On {
    fn new(holder: Holder, handle: usize) -> On {
        match holder {
            Holder::Comm => On::Comm(MPI_Comm(handle)),
            Holder::Datatype => On::Type(MPI_Datatype(handle)),
            Holder::Window => On::Window(MPI_Win(handle)),
        }
    }
}

/// `MPI_X_set_attr` with an integer of Fortran.
pub fn set_integer(holder: Holder, handle: usize, keyval: c_int, value: MPI_Aint) -> c_int {
    let name = match holder {
        Holder::Comm => "MPI_Comm_set_attr",
        Holder::Datatype => "MPI_Type_set_attr",
        Holder::Window => "MPI_Win_set_attr",
    };
    let object = On::new(holder, handle);
    on(name, object, |w| set(w, object, keyval, Value::new(value as usize, true)))
}

/// `MPI_X_get_attr` as Fortran sees the value. Predefined ones stay addresses.
///
/// # Safety
/// The places are null or may be written.
pub unsafe fn get_integer(
    holder: Holder,
    handle: usize,
    keyval: c_int,
    value: *mut MPI_Aint,
    flag: *mut c_int,
) -> c_int {
    let name = match holder {
        Holder::Comm => "MPI_Comm_get_attr",
        Holder::Datatype => "MPI_Type_get_attr",
        Holder::Window => "MPI_Win_get_attr",
    };
    let object = On::new(holder, handle);
    let seen = |value: &Value| value.integer() as usize;
    // SAFETY: the caller's promise.
    on(name, object, |w| unsafe { get(w, object, keyval, value.cast(), flag, seen) })
}
