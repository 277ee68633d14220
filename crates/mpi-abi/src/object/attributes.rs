//! Attributes: values that programs and libraries cache on objects (MPI 5.0, section 7.7).

use crate::generated::constants::*;
use core::ffi::c_void;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The kinds of object that carry attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    Comm,
    Datatype,
    Window,
}

/// The functions of a key, in the form in which the C program gave them. The three kinds of
/// holder have the same signatures up to the handle, which is a pointer-sized word in all.
pub type CopyFunction = unsafe extern "C" fn(
    usize,
    core::ffi::c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut core::ffi::c_int,
) -> core::ffi::c_int;
pub type DeleteFunction =
    unsafe extern "C" fn(usize, core::ffi::c_int, *mut c_void, *mut c_void) -> core::ffi::c_int;

/// What happens to an attribute when its object is duplicated.
#[derive(Clone, Copy, Debug)]
pub enum OnCopy {
    /// `MPI_*_NULL_COPY_FN`: it stays behind.
    Drop,
    /// `MPI_*_DUP_FN`: the same value.
    Duplicate,
    Call(CopyFunction),
}

/// What a key stands for.
#[derive(Debug)]
pub struct Key {
    pub holder: Holder,
    pub on_copy: OnCopy,
    /// `None`: `MPI_*_NULL_DELETE_FN`.
    pub on_delete: Option<DeleteFunction>,
    /// Both functions are Fortran's: they get and give integers, C's pointers.
    pub integers: bool,
    /// The program's own pointer, handed to both functions. An address, never dereferenced here.
    pub extra: usize,
    /// Called with `extra` when the key is not used any more.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl Drop for Key {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: who made the key gave this function for its pointer, to be called once.
            unsafe { release(self.extra as *mut c_void) };
        }
    }
}

/// What an attribute holds. What one language set the other gets as section 19.3.7 says: C the
/// address of Fortran's integer, Fortran C's pointer as an integer.
#[derive(Clone, Debug)]
pub enum Value {
    /// The program's pointer, as an address.
    Pointer(usize),
    /// An integer of Fortran. C may write to it.
    Integer(Arc<AtomicI64>),
}

impl Value {
    /// What a function of the given language gave.
    pub fn new(word: usize, integers: bool) -> Value {
        match integers {
            false => Value::Pointer(word),
            true => Value::Integer(Arc::new(AtomicI64::new(word as i64))),
        }
    }

    /// As C sees it.
    pub fn pointer(&self) -> usize {
        match self {
            Value::Pointer(word) => *word,
            Value::Integer(integer) => integer.as_ptr() as usize,
        }
    }

    /// As Fortran sees it.
    pub fn integer(&self) -> i64 {
        match self {
            Value::Pointer(word) => *word as i64,
            // Relaxed: a plain value that orders nothing else.
            Value::Integer(integer) => integer.load(Ordering::Relaxed),
        }
    }

    /// A value of its own for a duplicate.
    pub fn duplicate(&self) -> Value {
        match self {
            Value::Pointer(word) => Value::Pointer(*word),
            Value::Integer(_) => Value::new(self.integer() as usize, true),
        }
    }
}

/// An attribute: its key outlives `MPI_Comm_free_keyval` while attributes refer to it.
#[derive(Clone, Debug)]
pub struct Attribute {
    pub keyval: i32,
    pub key: Arc<Key>,
    pub value: Value,
}

impl Attribute {
    /// What the functions of its key get.
    pub fn shown(&self) -> usize {
        match self.key.integers {
            true => self.value.integer() as usize,
            false => self.value.pointer(),
        }
    }
}

/// The attributes of one object in the order in which they were set.
#[derive(Debug, Default)]
pub struct Attributes(Vec<Attribute>);

impl Attributes {
    pub fn get(&self, keyval: i32) -> Option<&Attribute> {
        self.0.iter().find(|a| a.keyval == keyval)
    }

    /// Sets a value and returns the attribute that it replaces.
    pub fn set(&mut self, attribute: Attribute) -> Option<Attribute> {
        match self.0.iter_mut().find(|a| a.keyval == attribute.keyval) {
            Some(place) => Some(std::mem::replace(place, attribute)),
            None => {
                self.0.push(attribute);
                None
            }
        }
    }

    pub fn remove(&mut self, keyval: i32) -> Option<Attribute> {
        let place = self.0.iter().position(|a| a.keyval == keyval)?;
        Some(self.0.remove(place))
    }

    /// A copy of the list: callbacks run on it while nothing is borrowed.
    pub fn snapshot(&self) -> Vec<Attribute> {
        self.0.clone()
    }

    /// The last attribute set, out of the list: objects are emptied in reverse order (section
    /// 7.7.1 asks for that on `MPI_COMM_SELF`).
    pub fn pop(&mut self) -> Option<Attribute> {
        self.0.pop()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Keys that programs made. Numbers are never used again, so a freed key is recognised.
#[derive(Default)]
struct Keys {
    next: i32,
    live: HashMap<i32, Arc<Key>>,
    /// Freed by the program, yet there until no attribute refers to them (section 7.7.2): programs
    /// delete such attributes by a copy of the number.
    freed: HashMap<i32, Weak<Key>>,
}

impl Keys {
    fn find(&self, number: i32, holder: Holder) -> Option<Arc<Key>> {
        let freed = || self.freed.get(&number).and_then(Weak::upgrade);
        self.live.get(&number).cloned().or_else(freed).filter(|key| key.holder == holder)
    }
}

static KEYS: Mutex<Option<Keys>> = Mutex::new(None);

/// First number of a key made at run time; the ABI's own are around 500.
const FIRST_KEY: i32 = 0x1000;

fn with_keys<R>(f: impl FnOnce(&mut Keys) -> R) -> R {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    f(keys.get_or_insert_with(|| Keys { next: FIRST_KEY, ..Keys::default() }))
}

/// Registers a key.
pub fn create_key(key: Key) -> i32 {
    with_keys(|k| {
        let number = k.next;
        k.next += 1;
        k.live.insert(number, Arc::new(key));
        number
    })
}

/// The key of a number, for use with `holder`: one that was not freed, or that attributes use.
pub fn find_key(number: i32, holder: Holder) -> Option<Arc<Key>> {
    with_keys(|k| k.find(number, holder))
}

/// Frees a key, which attributes that use it keep alive; `false` when there is none.
pub fn free_key(number: i32, holder: Holder) -> bool {
    with_keys(|k| {
        let Some(key) = k.find(number, holder) else { return false };
        k.live.remove(&number);
        k.freed.retain(|_, key| key.strong_count() > 0);
        k.freed.insert(number, Arc::downgrade(&key));
        true
    })
}

/// The copy callback that a C argument means; the ABI gives the predefined ones small numbers.
///
/// # Safety
/// `function` is null, a predefined number, or a copy function of C with the signature above.
pub unsafe fn on_copy(function: usize) -> OnCopy {
    match function {
        MPI_COMM_NULL_COPY_FN => OnCopy::Drop,
        MPI_COMM_DUP_FN => OnCopy::Duplicate,
        // SAFETY: the caller's promise; the number is none of the predefined ones.
        _ => OnCopy::Call(unsafe { core::mem::transmute::<usize, CopyFunction>(function) }),
    }
}

/// The delete callback that a C argument means.
///
/// # Safety
/// `function` is null or a delete function of C with the signature above.
pub unsafe fn on_delete(function: usize) -> Option<DeleteFunction> {
    match function {
        MPI_COMM_NULL_DELETE_FN => None,
        // SAFETY: the caller's promise.
        _ => Some(unsafe { core::mem::transmute::<usize, DeleteFunction>(function) }),
    }
}
