//! Representations of data in files (section 14.5): `external32`, and those that programs register.

use super::access::is_plain;
use super::on_no_file;
use super::transfer::Memory;
use crate::body::check::{text, wrong};
use crate::generated::constants::*;
use crate::object::datatype::handle_of;
use core::ffi::{c_char, c_int, c_void};
use hpvm_io::Representation;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The functions of a registered representation.
#[derive(Clone, Copy, Debug)]
struct Functions {
    read: Convert,
    write: Convert,
    extent: MPI_Datarep_extent_function,
    /// Handed back to the functions, never looked at.
    state: usize,
}

/// A conversion function, in one of its two forms; `None`: data lie in the file as in memory.
#[derive(Clone, Copy, Debug)]
enum Convert {
    None,
    Small(MPI_Datarep_conversion_function),
    Large(MPI_Datarep_conversion_function_c),
}

/// Registered for the life of the process: there is no call that takes one back.
static REGISTERED: Mutex<BTreeMap<String, Functions>> = Mutex::new(BTreeMap::new());

fn registered(name: &str) -> Option<Functions> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
}

/// The representation of a name that `MPI_File_set_view` gets.
pub fn by_name(name: &str) -> Result<Representation> {
    match name {
        "native" => Ok(Representation::Native),
        "internal" => Ok(Representation::Internal),
        "external32" => Ok(Representation::External32),
        other if registered(other).is_some() => Ok(Representation::Registered(other.into())),
        other => {
            let shown = other.escape_debug();
            let text = format!(
                "'{shown}' is no data representation; expected native, internal, external32 or one that \
                 MPI_Register_datarep has registered"
            );
            Err(wrong(Class::UnsupportedDatarep, text))
        }
    }
}

/// What has to be done to data on their way.
#[derive(Clone, Copy, Debug)]
pub enum Conversion {
    None,
    External32,
    Program(Registered),
}

/// A representation with functions of the program.
#[derive(Clone, Copy, Debug)]
pub struct Registered(Functions);

impl Conversion {
    pub fn of(representation: &Representation) -> Result<Conversion> {
        Ok(match representation {
            plain if is_plain(plain) => Conversion::None,
            Representation::External32 => Conversion::External32,
            named => match registered(named.name()) {
                Some(functions) => Conversion::Program(Registered(functions)),
                None => return Err(by_name(named.name()).err().unwrap_or_else(gone)),
            },
        })
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Conversion::None)
    }

    /// Bytes that one element of a type takes in a file, holes included (`MPI_File_get_type_extent`).
    pub fn extent(&self, ty: &Arc<Datatype>) -> Result<u64> {
        match self {
            Conversion::None => Ok(ty.extent().max(0) as u64),
            Conversion::External32 => match ty.external_size(1) {
                // Sizes that differ are known for types without holes only.
                Some(size) if ty.is_dense() => Ok(size as u64),
                _ => Ok(ty.extent().max(0) as u64),
            },
            Conversion::Program(Registered(functions)) => functions.extent_of(ty),
        }
    }

    /// Bytes that a buffer takes in a file.
    pub fn file_bytes(&self, memory: &Memory) -> Result<u64> {
        let too_large = || wrong(Class::Count, "the data take more bytes than 63 bits hold");
        match self {
            Conversion::None => Ok(memory.bytes()),
            Conversion::External32 => {
                let size = memory.ty.external_size(memory.count).ok_or_else(too_large)?;
                Ok(size as u64)
            }
            Conversion::Program(Registered(functions)) => {
                let each = functions.extent_of(&memory.ty)?;
                each.checked_mul(memory.count as u64).ok_or_else(too_large)
            }
        }
    }

    /// The buffer's data as they are to be in the file: `bytes` bytes.
    ///
    /// # Safety
    /// The buffer may be read.
    pub unsafe fn encode(&self, memory: &Memory, bytes: u64) -> Result<Vec<u8>> {
        let mut out = vec![0; bytes as usize];
        match self {
            Conversion::None => {
                // SAFETY: the caller's promise.
                unsafe { memory.ty.pack(memory.buf, memory.count, 0, &mut out) };
            }
            Conversion::External32 => {
                // SAFETY: the caller's promise.
                unsafe { memory.ty.pack_external32(memory.buf, memory.count, &mut out)? };
            }
            Conversion::Program(Registered(Functions { write: Convert::None, .. })) => {
                // SAFETY: the caller's promise.
                unsafe { memory.ty.pack(memory.buf, memory.count, 0, &mut out) };
            }
            Conversion::Program(Registered(functions)) => {
                // SAFETY: the caller's promise.
                unsafe {
                    functions.convert(functions.write, memory, memory.count, out.as_mut_ptr())?
                };
            }
        }
        Ok(out)
    }

    /// Stores data of the file in the buffer, as many whole elements as have come; says how many bytes of
    /// the program's data that were.
    ///
    /// # Safety
    /// The buffer may be written.
    pub unsafe fn decode(&self, memory: &Memory, data: &[u8]) -> Result<u64> {
        if memory.count == 0 || memory.ty.size() == 0 {
            return Ok(0);
        }
        let each = self.file_bytes(&Memory { count: 1, ..memory.clone() })?.max(1);
        let count = ((data.len() as u64 / each) as i64).min(memory.count);
        match self {
            Conversion::None => {
                // SAFETY: the caller's promise.
                unsafe { memory.write(0, data) };
            }
            Conversion::External32 => {
                // SAFETY: the caller's promise.
                unsafe { memory.ty.unpack_external32(memory.buf, count, data)? };
            }
            Conversion::Program(Registered(Functions { read: Convert::None, .. })) => {
                // SAFETY: the caller's promise.
                unsafe { memory.ty.unpack(memory.buf, count, 0, data) };
            }
            Conversion::Program(Registered(functions)) => {
                let mut copy = data.to_vec();
                // SAFETY: the caller's promise.
                unsafe { functions.convert(functions.read, memory, count, copy.as_mut_ptr())? };
            }
        }
        Ok(count as u64 * memory.ty.size() as u64)
    }
}

fn gone() -> Error {
    wrong(Class::UnsupportedDatarep, "the view's data representation is no longer registered")
}

impl Functions {
    fn extent_of(&self, ty: &Arc<Datatype>) -> Result<u64> {
        let Some(function) = self.extent else { return Err(gone()) };
        let mut extent = 0;
        // SAFETY: the program's function, a type, a place for the result, and the program's own state.
        let code = unsafe { function(handle_of(ty), &mut extent, self.state as *mut c_void) };
        check(code)?;
        u64::try_from(extent).map_err(|_| {
            let text =
                format!("the representation's extent function gave {extent}; expected 0 or more");
            wrong(Class::Conversion, text)
        })
    }

    /// Calls a conversion function for `count` elements; without one the data are packed or unpacked.
    ///
    /// # Safety
    /// The memory is valid for the direction, and `file` for as many elements as they take in the file.
    unsafe fn convert(
        &self,
        function: Convert,
        memory: &Memory,
        count: i64,
        file: *mut u8,
    ) -> Result<()> {
        let (user, ty) = (memory.buf.cast(), handle_of(&memory.ty));
        let (file, state) = (file.cast(), self.state as *mut c_void);
        // SAFETY: the program's function and its own state; the caller's promise about the buffers.
        let code = unsafe {
            match function {
                Convert::Small(Some(f)) => {
                    let small = c_int::try_from(count).map_err(|_| {
                        wrong(Class::Count, "more elements than the conversion function can count")
                    })?;
                    f(user, ty, small, file, 0, state)
                }
                Convert::Large(Some(f)) => f(user, ty, count, file, 0, state),
                _ => return Err(gone()),
            }
        };
        check(code)
    }
}

fn check(code: c_int) -> Result<()> {
    match code {
        MPI_SUCCESS => Ok(()),
        code => {
            let text = format!("a function of the data representation returned error {code}");
            Err(wrong(Class::Conversion, text))
        }
    }
}

/// # Safety
/// `datarep` is null or a string with a final zero byte.
unsafe fn register(
    datarep: *const c_char,
    read: Convert,
    write: Convert,
    extent: MPI_Datarep_extent_function,
    state: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let name = unsafe { text("datarep", datarep)? };
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        let text = format!(
            "the name of the data representation has {} bytes; expected 1 to {}",
            name.len(),
            MPI_MAX_DATAREP_STRING - 1
        );
        return Err(wrong(Class::Arg, text));
    }
    if extent.is_none() {
        return Err(wrong(Class::Arg, "dtype_file_extent_fn is null; expected a function"));
    }
    let mut all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if ["native", "internal", "external32"].contains(&name.as_str()) || all.contains_key(&name) {
        let text = format!("there is a data representation '{}' already", name.escape_debug());
        return Err(wrong(Class::DupDatarep, text));
    }
    all.insert(name, Functions { read, write, extent, state: state as usize });
    Ok(())
}

pub unsafe fn register_datarep(
    datarep: *const c_char,
    read_conversion_fn: MPI_Datarep_conversion_function,
    write_conversion_fn: MPI_Datarep_conversion_function,
    dtype_file_extent_fn: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
) -> c_int {
    let form = |f: MPI_Datarep_conversion_function| match f.map_or(0, |f| f as usize) {
        MPI_CONVERSION_FN_NULL => Convert::None,
        _ => Convert::Small(f),
    };
    let (read, write) = (form(read_conversion_fn), form(write_conversion_fn));
    // SAFETY: the caller's promise.
    on_no_file("MPI_Register_datarep", || unsafe {
        register(datarep, read, write, dtype_file_extent_fn, extra_state)
    })
}

pub unsafe fn register_datarep_c(
    datarep: *const c_char,
    read_conversion_fn: MPI_Datarep_conversion_function_c,
    write_conversion_fn: MPI_Datarep_conversion_function_c,
    dtype_file_extent_fn: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
) -> c_int {
    let form = |f: MPI_Datarep_conversion_function_c| match f.map_or(0, |f| f as usize) {
        MPI_CONVERSION_FN_NULL_C => Convert::None,
        _ => Convert::Large(f),
    };
    let (read, write) = (form(read_conversion_fn), form(write_conversion_fn));
    // SAFETY: the caller's promise.
    on_no_file("MPI_Register_datarep_c", || unsafe {
        register(datarep, read, write, dtype_file_extent_fn, extra_state)
    })
}
