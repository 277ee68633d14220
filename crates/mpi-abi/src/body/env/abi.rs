//! Questions about the ABI (chapter 20): sizes of types, and what the program says about Fortran.

use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::info::{self, Info};
use crate::raise::anywhere;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::sync::{Mutex, PoisonError};

pub unsafe fn abi_get_info(info: *mut MPI_Info) -> c_int {
    anywhere("MPI_Abi_get_info", || {
        out("info", info)?;
        let mut sizes = Info::default();
        sizes.set("mpi_aint_size", &size_of::<MPI_Aint>().to_string());
        sizes.set("mpi_count_size", &size_of::<MPI_Count>().to_string());
        sizes.set("mpi_offset_size", &size_of::<MPI_Offset>().to_string());
        // SAFETY: checked above.
        unsafe { *info = info::add(sizes)? };
        Ok(())
    })
}

/// Bytes of the Fortran types behind `MPI_LOGICAL`, `MPI_INTEGER` and so on. The library's
/// datatypes have these sizes, so it accepts no others.
const FORTRAN_SIZES: [(&str, &str); 4] = [
    ("mpi_logical_size", "4"),
    ("mpi_integer_size", "4"),
    ("mpi_real_size", "4"),
    ("mpi_double_precision_size", "8"),
];

/// What `MPI_Abi_set_fortran_info` said.
static FORTRAN: Mutex<Option<Info>> = Mutex::new(None);

pub unsafe fn abi_set_fortran_info(info: MPI_Info) -> c_int {
    anywhere("MPI_Abi_set_fortran_info", || {
        let told = info::with_info(info, |i| i.clone())?;
        for (key, ours) in FORTRAN_SIZES {
            if let Some(value) = told.get(key).filter(|v| *v != ours) {
                let text = format!("{key} is {value}; this library's Fortran types have {ours}");
                return Err(wrong(Class::Abi, text));
            }
        }
        let mut fortran = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
        if fortran.is_some() {
            return Err(wrong(Class::Abi, "the Fortran information has been set already"));
        }
        *fortran = Some(told);
        Ok(())
    })
}

/// Gives `MPI_INFO_NULL` before the information is set.
pub unsafe fn abi_get_fortran_info(info: *mut MPI_Info) -> c_int {
    anywhere("MPI_Abi_get_fortran_info", || {
        out("info", info)?;
        let told = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // SAFETY: checked above.
        unsafe { *info = told.map_or(Ok(MPI_INFO_NULL), info::add)? };
        Ok(())
    })
}

/// Sizes that a Fortran `LOGICAL` may have: 1, 2, 4, 8 and 16 bytes.
const LOGICALS: usize = 5;
const LOGICAL_BYTES_MAX: usize = 1 << (LOGICALS - 1);

/// The bytes of true and false.
#[derive(Clone, Copy)]
struct Booleans {
    yes: [u8; LOGICAL_BYTES_MAX],
    no: [u8; LOGICAL_BYTES_MAX],
}

/// By the binary logarithm of the size.
static BOOLEANS: Mutex<[Option<Booleans>; LOGICALS]> = Mutex::new([None; LOGICALS]);

/// Index in `BOOLEANS` of a size.
fn index_of(logical_size: c_int) -> Result<usize> {
    let index = (0..LOGICALS).find(|n| 1 << n == logical_size);
    index.ok_or_else(|| {
        let text = format!("logical_size is {logical_size}; expected 1, 2, 4, 8 or 16");
        wrong(Class::Arg, text)
    })
}

pub unsafe fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> c_int {
    anywhere("MPI_Abi_set_fortran_booleans", || {
        let index = index_of(logical_size)?;
        out("logical_true", logical_true)?;
        out("logical_false", logical_false)?;
        let mut told = Booleans { yes: [0; LOGICAL_BYTES_MAX], no: [0; LOGICAL_BYTES_MAX] };
        // SAFETY: the program vouches for `logical_size` bytes, which is at most `LOGICAL_BYTES_MAX`.
        unsafe {
            let n = 1 << index;
            core::ptr::copy_nonoverlapping(logical_true.cast(), told.yes.as_mut_ptr(), n);
            core::ptr::copy_nonoverlapping(logical_false.cast(), told.no.as_mut_ptr(), n);
        }
        // Reductions take 0 for false and write 1 for true, which every compiler reads as true
        // whose own truth is odd: those that test the lowest bit, and those that test for 0.
        let lowest = if cfg!(target_endian = "big") { (1 << index) - 1 } else { 0 };
        if told.no != [0; LOGICAL_BYTES_MAX] || told.yes[lowest].is_multiple_of(2) {
            let text = "expected 0 as .FALSE. and an odd number as .TRUE.";
            return Err(wrong(Class::Abi, text));
        }
        let mut booleans = BOOLEANS.lock().unwrap_or_else(PoisonError::into_inner);
        if booleans[index].is_some() {
            let text = format!("the booleans of {logical_size} bytes have been set already");
            return Err(wrong(Class::Abi, text));
        }
        booleans[index] = Some(told);
        Ok(())
    })
}

pub unsafe fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut c_int,
) -> c_int {
    anywhere("MPI_Abi_get_fortran_booleans", || {
        let index = index_of(logical_size)?;
        out("is_set", is_set)?;
        let told = BOOLEANS.lock().unwrap_or_else(PoisonError::into_inner)[index];
        if let Some(told) = &told {
            out("logical_true", logical_true)?;
            out("logical_false", logical_false)?;
            // SAFETY: the program vouches for `logical_size` bytes.
            unsafe {
                let n = 1 << index;
                core::ptr::copy_nonoverlapping(told.yes.as_ptr(), logical_true.cast(), n);
                core::ptr::copy_nonoverlapping(told.no.as_ptr(), logical_false.cast(), n);
            }
        }
        // SAFETY: checked above.
        unsafe { *is_set = c_int::from(told.is_some()) };
        Ok(())
    })
}
