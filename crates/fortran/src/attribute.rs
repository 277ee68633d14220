//! Attributes: in Fortran their values are integers of the size of an address, in the functions of
//! MPI-1 plain ones.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr::with_exposed_provenance;

use hpvm_abi::constants::*;
use hpvm_abi::extra::Holder;
use hpvm_foreign::numbers::{error_in, error_out, keyval_in};
use hpvm_foreign::{by_hand, entries, program};

use crate::Fortran;

/// A value of Fortran for an attribute.
pub trait Value: Copy {
    fn from_word(word: MPI_Aint) -> Self;
    fn word(self) -> MPI_Aint;
}

impl Value for MPI_Aint {
    fn from_word(word: MPI_Aint) -> Self {
        word
    }
    fn word(self) -> MPI_Aint {
        self
    }
}

impl Value for c_int {
    fn from_word(word: MPI_Aint) -> Self {
        word as c_int
    }
    fn word(self) -> MPI_Aint {
        self as MPI_Aint
    }
}

/// A key with the program's state, an integer.
type Key = program::Key<MPI_Aint>;

unsafe fn call_copy<V: Value, F: Fortran>(
    object: c_int,
    keyval: c_int,
    key: *mut c_void,
    value: *mut c_void,
    new: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    type Function<V> = unsafe extern "C" fn(
        *const c_int,
        *const c_int,
        *const V,
        *const V,
        *mut V,
        *mut c_int,
        *mut c_int,
    );
    // SAFETY: the key is the box of `create_keyval`, with the address of such a function; the
    // engine's places are valid.
    unsafe {
        let key = &*key.cast::<Key>();
        let function = transmute::<usize, Function<V>>(key.copy);
        let (extra, old) = (V::from_word(key.extra), V::from_word(value.addr() as MPI_Aint));
        let (mut copied, mut code) = (old, MPI_SUCCESS);
        function(&object, &keyval, &extra, &old, &mut copied, flag, &mut code);
        *flag = c_int::from(*flag != 0);
        *new.cast::<MPI_Aint>() = copied.word();
        error_in::<F>(code)
    }
}

unsafe fn call_delete<V: Value, F: Fortran>(
    object: c_int,
    keyval: c_int,
    value: *mut c_void,
    key: *mut c_void,
) -> c_int {
    type Function<V> =
        unsafe extern "C" fn(*const c_int, *const c_int, *const V, *const V, *mut c_int);
    // SAFETY: as for the copy function.
    unsafe {
        let key = &*key.cast::<Key>();
        let function = transmute::<usize, Function<V>>(key.delete);
        let (extra, old) = (V::from_word(key.extra), V::from_word(value.addr() as MPI_Aint));
        let mut code = MPI_SUCCESS;
        function(&object, &keyval, &old, &extra, &mut code);
        error_in::<F>(code)
    }
}

macro_rules! attributes {
    ($($holder:ident $type:ident $in:ident $out:ident $toint:ident $fromint:ident:
       $copy:ident $delete:ident $create:ident $get:ident $set:ident;)*) => {$(
        unsafe extern "C" fn $copy<V: Value, F: Fortran>(
            handle: usize,
            keyval: c_int,
            key: *mut c_void,
            value: *mut c_void,
            new: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            let object = F::$toint(F::$out($type(handle)));
            // SAFETY: the engine's arguments.
            unsafe { call_copy::<V, F>(object, keyval, key, value, new, flag) }
        }

        unsafe extern "C" fn $delete<V: Value, F: Fortran>(
            handle: usize,
            keyval: c_int,
            value: *mut c_void,
            key: *mut c_void,
        ) -> c_int {
            let object = F::$toint(F::$out($type(handle)));
            // SAFETY: the engine's arguments.
            unsafe { call_delete::<V, F>(object, keyval, value, key) }
        }

        #[doc = concat!("`", stringify!($create), "` for keys of values `V`.")]
        pub unsafe fn $create<V: Value, F: Fortran>(
            copy: *const c_void,
            delete: *const c_void,
            keyval: *mut c_int,
            extra_state: *const V,
            ierror: *mut c_int,
        ) {
            let ours = ($copy::<V, F> as *const c_void, $delete::<V, F> as *const c_void);
            // SAFETY: the program's promises.
            unsafe {
                let extra = extra_state.read_unaligned().word();
                let key = Key { copy: copy.addr(), delete: delete.addr(), extra };
                *ierror = program::create_keyval::<F, _>(Holder::$holder, true, key, ours, keyval);
            }
        }

        #[doc = concat!("`", stringify!($get), "`.")]
        pub unsafe fn $get<V: Value, F: Fortran>(
            object: *const c_int,
            keyval: *const c_int,
            value: *mut V,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the program's promises.
            unsafe {
                let handle = F::$in(F::$fromint(*object)).0;
                *ierror = get::<V, F>(Holder::$holder, handle, *keyval, value, flag);
            }
        }

        #[doc = concat!("`", stringify!($set), "`.")]
        pub unsafe fn $set<V: Value, F: Fortran>(
            object: *const c_int,
            keyval: *const c_int,
            value: *const V,
            ierror: *mut c_int,
        ) {
            // SAFETY: the program's promises.
            unsafe {
                let handle = F::$in(F::$fromint(*object)).0;
                let key = keyval_in::<F>(F::keyval_in(*keyval));
                let set = entries().extra.attr_set_integer;
                let code = set(Holder::$holder, handle, key, value.read_unaligned().word());
                *ierror = error_out::<F>(code);
            }
        }
    )*};
}

attributes! {
    Comm MPI_Comm comm_in comm_out comm_toint comm_fromint:
        copy_on_comm delete_on_comm comm_create_keyval comm_get_attr comm_set_attr;
    Datatype MPI_Datatype datatype_in datatype_out datatype_toint datatype_fromint:
        copy_on_type delete_on_type type_create_keyval type_get_attr type_set_attr;
    Window MPI_Win win_in win_out win_toint win_fromint:
        copy_on_win delete_on_win win_create_keyval win_get_attr win_set_attr;
}

/// Stores the attribute of an object of the engine. Returns an error of the ABI.
unsafe fn get<V: Value, F: Fortran>(
    holder: Holder,
    handle: usize,
    keyval: c_int,
    value: *mut V,
    flag: *mut c_int,
) -> c_int {
    let own = F::keyval_in(keyval);
    let key = keyval_in::<F>(own);
    let predefined = F::KEYVAL.iter().any(|pair| pair.0 == own);
    let mut word = 0;
    // SAFETY: the program's promises; the engine gives addresses of predefined attributes' values.
    unsafe {
        let code = (entries().extra.attr_get_integer)(holder, handle, key, &mut word, flag);
        if code == MPI_SUCCESS && *flag != 0 {
            let word = if predefined { pointed_to::<F>(key, word) } else { word };
            value.write_unaligned(V::from_word(word));
        }
        error_out::<F>(code)
    }
}

/// The number that a predefined attribute of the engine is the address of, as the ABI has it.
unsafe fn pointed_to<F: Fortran>(key: c_int, word: MPI_Aint) -> MPI_Aint {
    let address = with_exposed_provenance::<c_void>(word as usize);
    // SAFETY: the engine has just given the address of such a number.
    unsafe {
        match key {
            _ if word == 0 => 0,
            MPI_WIN_BASE => word,
            MPI_WIN_SIZE => *address.cast::<MPI_Aint>(),
            _ => by_hand::predefined_value::<F>(key, *address.cast::<c_int>()).word(),
        }
    }
}

/// `MPI_COMM_DUP_FN`, `MPI_TYPE_DUP_FN`, `MPI_WIN_DUP_FN`, and `MPI_DUP_FN` for plain integers.
pub unsafe fn dup_fn<V: Value>(
    _object: *const c_int,
    _keyval: *const c_int,
    _extra: *const V,
    value: *const V,
    new: *mut V,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the caller's promises.
    unsafe {
        new.write_unaligned(value.read_unaligned());
        *flag = 1;
        *ierror = MPI_SUCCESS;
    }
}

/// `MPI_COMM_NULL_COPY_FN` and its like.
pub unsafe fn null_copy_fn<V: Value>(
    _object: *const c_int,
    _keyval: *const c_int,
    _extra: *const V,
    _value: *const V,
    _new: *mut V,
    flag: *mut c_int,
    ierror: *mut c_int,
) {
    // SAFETY: the caller's promises.
    unsafe {
        *flag = 0;
        *ierror = MPI_SUCCESS;
    }
}

/// `MPI_COMM_NULL_DELETE_FN` and its like.
pub unsafe fn null_delete_fn<V: Value>(
    _object: *const c_int,
    _keyval: *const c_int,
    _value: *const V,
    _extra: *const V,
    ierror: *mut c_int,
) {
    // SAFETY: the caller's promises.
    unsafe { *ierror = MPI_SUCCESS };
}

/// Defines predefined functions of attributes under the names of a module: copy functions and what they
/// do, delete functions.
#[macro_export]
macro_rules! predefined_functions {
    ($($copy:ident $path:ident)*; $($delete:ident)*) => {
        $(
            /// A predefined copy function.
            ///
            /// # Safety
            /// The arguments are those of a copy function.
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $copy(
                object: *const $crate::entry::I,
                keyval: *const $crate::entry::I,
                extra: *const $crate::entry::A,
                value: *const $crate::entry::A,
                new: *mut $crate::entry::A,
                flag: *mut $crate::entry::I,
                ierror: *mut $crate::entry::I,
            ) {
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::attribute::$path(object, keyval, extra, value, new, flag, ierror)
                }
            }
        )*
        $(
            /// A predefined delete function.
            ///
            /// # Safety
            /// The arguments are those of a delete function.
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $delete(
                object: *const $crate::entry::I,
                keyval: *const $crate::entry::I,
                value: *const $crate::entry::A,
                extra: *const $crate::entry::A,
                ierror: *mut $crate::entry::I,
            ) {
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::attribute::null_delete_fn(object, keyval, value, extra, ierror)
                }
            }
        )*
    };
}
