//! Attributes: in Fortran their values are integers of the size of an address, in the functions of
//! MPI-1 plain ones.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr::without_provenance_mut;

use hpvm_abi::constants::*;
use hpvm_abi::extra::Holder;
use hpvm_foreign::numbers::{error_in, keyval_in};
use hpvm_foreign::{by_hand, generated, program};

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
    ($($holder:ident $type:ident $out:ident $toint:ident $fromint:ident:
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
                *ierror = program::create_keyval::<F, _>(Holder::$holder, key, ours, keyval);
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
            let mut word = core::ptr::null_mut::<c_void>();
            // SAFETY: the program's promises.
            unsafe {
                let (place, keyval) = ((&raw mut word).cast(), F::keyval_in(*keyval));
                *ierror = by_hand::$get::<F>(F::$fromint(*object), keyval, place, flag);
                if *ierror == MPI_SUCCESS && *flag != 0 {
                    value.write_unaligned(V::from_word(integer::<F>(keyval, word)));
                }
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
                let word = without_provenance_mut(value.read_unaligned().word() as usize);
                let keyval = F::keyval_in(*keyval);
                *ierror = generated::attr::$set::<F>(F::$fromint(*object), keyval, word);
            }
        }
    )*};
}

attributes! {
    Comm MPI_Comm comm_out comm_toint comm_fromint:
        copy_on_comm delete_on_comm comm_create_keyval comm_get_attr comm_set_attr;
    Datatype MPI_Datatype datatype_out datatype_toint datatype_fromint:
        copy_on_type delete_on_type type_create_keyval type_get_attr type_set_attr;
    Window MPI_Win win_out win_toint win_fromint:
        copy_on_win delete_on_win win_create_keyval win_get_attr win_set_attr;
}

/// The value in Fortran of what C gets: predefined attributes are addresses of numbers there.
unsafe fn integer<F: Fortran>(keyval: c_int, word: *mut c_void) -> MPI_Aint {
    let predefined = F::KEYVAL.iter().any(|pair| pair.0 == keyval);
    let key = keyval_in::<F>(keyval);
    // SAFETY: the engine has just given the address of such a number.
    unsafe {
        match key {
            _ if !predefined || word.is_null() => word.addr() as MPI_Aint,
            MPI_WIN_BASE => word.addr() as MPI_Aint,
            MPI_WIN_SIZE => *word.cast::<MPI_Aint>(),
            _ => (*word.cast::<c_int>()).word(),
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
