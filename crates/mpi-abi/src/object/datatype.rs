//! What a datatype handle refers to.

use super::attributes::Attributes;
use super::{Objects, bad_handle, too_many};
use crate::generated::constants::{MPI_DATATYPE_NULL, MPI_Datatype};
use crate::generated::predefined::DATATYPES;
use hpvm_mpi::datatype::{Combiner, Datatype};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A datatype and what the C interface keeps on it.
#[derive(Debug)]
pub struct TypeObject {
    pub ty: Arc<Datatype>,
    extras: Mutex<TypeExtras>,
}

/// The parts that change.
#[derive(Debug, Default)]
pub struct TypeExtras {
    pub name: String,
    pub attributes: Attributes,
}

impl TypeObject {
    pub fn new(ty: Arc<Datatype>, name: &str) -> Arc<TypeObject> {
        let extras = TypeExtras { name: name.to_owned(), ..TypeExtras::default() };
        Arc::new(TypeObject { ty, extras: Mutex::new(extras) })
    }

    /// The changing parts. Held for moments only, never across a callback.
    pub fn extras(&self) -> MutexGuard<'_, TypeExtras> {
        self.extras.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Objects of the predefined types, by handle minus `FIRST_HANDLE`.
fn predefined() -> &'static [Option<Arc<TypeObject>>] {
    static TABLE: OnceLock<Vec<Option<Arc<TypeObject>>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Vec::new();
        for entry in DATATYPES {
            let Some(index) = entry.handle.0.checked_sub(FIRST_HANDLE) else { continue };
            if table.len() <= index {
                table.resize(index + 1, None);
            }
            let ty = Datatype::predefined(entry.handle.0);
            table[index] = ty.map(|ty| TypeObject::new(ty.clone(), entry.name));
        }
        table
    })
}

/// The predefined type of a handle. It never changes, so that nobody has to enter the engine for it.
#[inline]
pub fn named_type(handle: MPI_Datatype) -> Option<&'static Arc<Datatype>> {
    predefined().get(handle.0.wrapping_sub(FIRST_HANDLE))?.as_ref().map(|object| &object.ty)
}

/// The predefined types by handle minus `FIRST_HANDLE`, for `Objects`.
pub fn named_types() -> Box<[Option<Arc<Datatype>>]> {
    predefined().iter().map(|o| o.as_ref().map(|o| o.ty.clone())).collect()
}

/// The null datatype's handle; all predefined ones follow within 0x100.
const FIRST_HANDLE: usize = MPI_DATATYPE_NULL.0;

/// Handles of derived types by the id of the type: functions of the program that get a datatype
/// (reductions) need a handle for it. `MPI_Type_get_contents` gives a type further handles.
static HANDLES: Mutex<Option<HashMap<u64, Vec<usize>>>> = Mutex::new(None);

fn with_handles<R>(f: impl FnOnce(&mut HashMap<u64, Vec<usize>>) -> R) -> R {
    let mut handles = HANDLES.lock().unwrap_or_else(PoisonError::into_inner);
    f(handles.get_or_insert_with(HashMap::new))
}

fn a_handle(ty: &Datatype) -> Option<usize> {
    with_handles(|h| h.get(&ty.id()).and_then(|list| list.last().copied()))
}

/// A handle that means `ty`, to be shown to a function of the program.
pub fn handle_of(ty: &Datatype) -> MPI_Datatype {
    let entry = ty.as_predefined().filter(|entry| entry.abi != 0);
    let predefined = entry.map(|entry| entry.abi);
    let found = match ty.is_named() {
        true => predefined,
        // A duplicate whose handle is freed already looks like the type it duplicates.
        false => a_handle(ty).or(predefined),
    };
    MPI_Datatype(found.unwrap_or(MPI_DATATYPE_NULL.0))
}

/// Types that `MPI_Type_create_f90_*` made, by constructor and arguments: the same arguments mean
/// the same type (section 19.1.9).
static FORTRAN: Mutex<Option<HashMap<FortranKey, Arc<Datatype>>>> = Mutex::new(None);

/// Constructor, precision, range.
pub type FortranKey = (Combiner, i32, i32);

/// The type of these arguments, made by `make` the first time.
pub fn fortran_type(
    key: FortranKey,
    make: impl FnOnce() -> Result<Arc<Datatype>>,
) -> Result<Arc<Datatype>> {
    let mut types = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    let types = types.get_or_insert_with(HashMap::new);
    if let Some(ty) = types.get(&key) {
        return Ok(ty.clone());
    }
    let ty = make()?;
    types.insert(key, ty.clone());
    Ok(ty)
}

impl Objects {
    /// The object of a datatype handle, committed or not.
    #[inline]
    pub fn type_object(&self, handle: MPI_Datatype) -> Result<&Arc<TypeObject>> {
        let found = match handle.0.wrapping_sub(FIRST_HANDLE) {
            index if index < 0x100 => predefined().get(index).and_then(Option::as_ref),
            _ => self.types.get(handle.0),
        };
        found.ok_or_else(|| {
            bad_handle(Class::Type, "datatype", handle == MPI_DATATYPE_NULL, handle.0)
        })
    }

    /// The datatype of a handle, committed or not.
    #[inline(always)]
    pub fn any_type(&self, handle: MPI_Datatype) -> Result<&Arc<Datatype>> {
        if let Some(Some(ty)) = self.named.get(handle.0.wrapping_sub(FIRST_HANDLE)) {
            return Ok(ty);
        }
        Ok(&self.type_object(handle)?.ty)
    }

    /// The predefined datatype of a handle, if it is one.
    #[inline(always)]
    pub fn named_type(&self, handle: MPI_Datatype) -> Option<&Arc<Datatype>> {
        self.named.get(handle.0.wrapping_sub(FIRST_HANDLE))?.as_ref()
    }

    /// The datatype of a handle, for communication: it must be committed.
    #[inline(always)]
    pub fn datatype(&self, handle: MPI_Datatype) -> Result<&Arc<Datatype>> {
        // Nearly every message: a predefined type, always committed.
        if let Some(ty) = self.named_type(handle) {
            return Ok(ty);
        }
        self.derived(handle)
    }

    /// As `datatype`, for types that the program made, and for mistakes.
    fn derived(&self, handle: MPI_Datatype) -> Result<&Arc<Datatype>> {
        let ty = &self.type_object(handle)?.ty;
        if ty.is_committed() {
            return Ok(ty);
        }
        Err(Error::new(Class::Type, "the datatype is not committed: call MPI_Type_commit first"))
    }

    /// Keeps a new datatype and returns its handle.
    pub fn add_type(&mut self, object: Arc<TypeObject>) -> Result<MPI_Datatype> {
        let id = object.ty.id();
        let handle = self.types.insert(object).ok_or_else(|| too_many("datatypes"))?;
        with_handles(|h| h.entry(id).or_default().push(handle));
        Ok(MPI_Datatype(handle))
    }

    /// A handle that the program gets for a type that exists: the constant one of a named type,
    /// always the same one of an unnamed predefined type, and a new one of any other.
    pub fn hand_out_type(&mut self, ty: &Arc<Datatype>) -> Result<MPI_Datatype> {
        if let Some(entry) = ty.as_predefined().filter(|_| ty.is_named()) {
            return Ok(MPI_Datatype(entry.abi));
        }
        if ty.is_predefined()
            && let Some(handle) = a_handle(ty)
            && self.types.get(handle).is_some_and(|object| object.ty.id() == ty.id())
        {
            return Ok(MPI_Datatype(handle));
        }
        self.add_type(TypeObject::new(ty.clone(), ""))
    }

    /// A handle for a type whose handles the program has freed while a reduction of it is under
    /// way: the program's function must still get one. `None` where there is one already.
    pub fn lend_handle(&mut self, ty: &Arc<Datatype>) -> Option<MPI_Datatype> {
        match handle_of(ty) {
            MPI_DATATYPE_NULL => self.add_type(TypeObject::new(ty.clone(), "")).ok(),
            _ => None,
        }
    }

    /// Ends the life of a handle that was lent.
    pub fn take_back(&mut self, handle: MPI_Datatype) {
        // The program may have freed it, which it must not, but does no harm.
        let _ = self.remove_type(handle);
    }

    /// Frees a derived datatype's handle and returns its object, whose attributes are deleted.
    pub fn remove_type(&mut self, handle: MPI_Datatype) -> Result<Arc<TypeObject>> {
        let object = self.types.remove(handle.0).ok_or_else(|| {
            let text = "a predefined datatype can't be freed, and this is no other live one";
            Error::new(Class::Type, text)
        })?;
        with_handles(|h| {
            let id = object.ty.id();
            let Some(list) = h.get_mut(&id) else { return };
            list.retain(|other| *other != handle.0);
            if list.is_empty() {
                h.remove(&id);
            }
        });
        Ok(object)
    }
}
