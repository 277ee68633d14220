//! Error handlers (MPI 5.0, section 9.3). They may be made before `MPI_Init`.

use super::table::{Kind, Table};
use super::{bad_handle, too_many};
use crate::generated::constants::*;
use core::ffi::c_int;
use hpvm_abi::extra::{ERRORS_THROW, ErrorCall, Holder};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::sync::{Mutex, PoisonError};

/// What happens when a call on an object fails.
#[derive(Clone, Copy, Debug, Default)]
pub enum Handler {
    /// `MPI_ERRORS_ARE_FATAL`: ends the job.
    #[default]
    Fatal,
    /// `MPI_ERRORS_ABORT`: ends the processes of the communicator; here, the job.
    Abort,
    /// `MPI_ERRORS_RETURN`: the call returns the error code.
    Return,
    /// `MPI::ERRORS_THROW_EXCEPTIONS` of C++: the call returns the error code, of which the bindings make an exception.
    Throw,
    Comm(MPI_Comm_errhandler_function),
    Session(MPI_Session_errhandler_function),
    Window(MPI_Win_errhandler_function),
    File(MPI_File_errhandler_function),
    /// A function of a program of another ABI.
    Foreign(Foreign),
}

/// A function of a program of another ABI, called through one of the library for that ABI.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    pub holder: Holder,
    pub call: ErrorCall,
    pub state: usize,
}

impl Foreign {
    /// Calls the function for the object of a handle.
    ///
    /// # Safety
    /// The program's function for such objects may be called now: no guard is held.
    pub unsafe fn run(&self, mut handle: usize, code: &mut c_int) {
        // SAFETY: the library gave this function for such calls; both places live through it.
        unsafe { (self.call)(self.state, &mut handle, code) };
    }
}

/// A function of the program and the references to its handle: `MPI_Comm_get_errhandler` and its
/// kin return one, which the program frees.
#[derive(Debug)]
struct Entry {
    handler: Handler,
    references: u32,
}

static HANDLERS: Mutex<Table<Entry>> = Mutex::new(Table::new(Kind::Errhandler));

fn with_handlers<R>(f: impl FnOnce(&mut Table<Entry>) -> R) -> R {
    f(&mut HANDLERS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Handler {
    /// The handle of a handler that is no function of the program.
    fn predefined(self) -> Option<MPI_Errhandler> {
        match self {
            Handler::Fatal => Some(MPI_ERRORS_ARE_FATAL),
            Handler::Abort => Some(MPI_ERRORS_ABORT),
            Handler::Return => Some(MPI_ERRORS_RETURN),
            Handler::Throw => Some(ERRORS_THROW),
            _ => None,
        }
    }

    /// Whether it is the one that objects have until the program says otherwise.
    pub fn is_default(self) -> bool {
        matches!(self, Handler::Fatal)
    }

    /// Whether the program made it for this kind of object.
    pub fn is_for(self, holder: Holder) -> bool {
        match self {
            Handler::Comm(_) => holder == Holder::Comm,
            Handler::Session(_) => holder == Holder::Session,
            Handler::Window(_) => holder == Holder::Window,
            Handler::File(_) => holder == Holder::File,
            Handler::Foreign(f) => f.holder == holder,
            Handler::Fatal | Handler::Abort | Handler::Return | Handler::Throw => false,
        }
    }

    /// Kind and address: the same for handlers that do the same.
    fn identity(self) -> (u8, usize) {
        match self {
            Handler::Fatal => (0, 0),
            Handler::Abort => (1, 0),
            Handler::Return => (2, 0),
            Handler::Comm(f) => (3, f.map_or(0, |f| f as usize)),
            Handler::Session(f) => (4, f.map_or(0, |f| f as usize)),
            Handler::Window(f) => (5, f.map_or(0, |f| f as usize)),
            Handler::File(f) => (6, f.map_or(0, |f| f as usize)),
            Handler::Throw => (7, 0),
            Handler::Foreign(f) => (8 + f.holder as u8, f.state),
        }
    }
}

/// The handler of a handle.
pub fn find(handle: MPI_Errhandler) -> Result<Handler> {
    match handle {
        MPI_ERRORS_ARE_FATAL => Ok(Handler::Fatal),
        MPI_ERRORS_ABORT => Ok(Handler::Abort),
        MPI_ERRORS_RETURN => Ok(Handler::Return),
        ERRORS_THROW => Ok(Handler::Throw),
        other => with_handlers(|t| t.get(other.0).map(|e| e.handler)).ok_or_else(|| {
            bad_handle(Class::Errhandler, "errhandler", handle == MPI_ERRHANDLER_NULL, handle.0)
        }),
    }
}

fn insert(table: &mut Table<Entry>, handler: Handler) -> Result<MPI_Errhandler> {
    let handle = table.insert(Entry { handler, references: 1 });
    handle.map(MPI_Errhandler).ok_or_else(|| too_many("error handlers"))
}

/// A new handle for a function of the program.
pub fn create(handler: Handler) -> Result<MPI_Errhandler> {
    with_handlers(|t| insert(t, handler))
}

/// Handlers that live.
pub fn live() -> usize {
    with_handlers(|t| t.len())
}

/// A reference to `handler`: one more to the handle that it has, or a new handle when the program
/// has freed that.
pub fn add(handler: Handler) -> Result<MPI_Errhandler> {
    if let Some(handle) = handler.predefined() {
        return Ok(handle);
    }
    with_handlers(|t| {
        let same = |(_, e): &(usize, &Entry)| e.handler.identity() == handler.identity();
        let live = t.iter().find(same).map(|(handle, _)| handle);
        match live.and_then(|handle| Some((handle, t.get_mut(handle)?))) {
            Some((handle, entry)) => {
                entry.references += 1;
                Ok(MPI_Errhandler(handle))
            }
            None => insert(t, handler),
        }
    })
}

/// Gives a reference back; the predefined handles stay.
pub fn remove(handle: MPI_Errhandler) -> Result<()> {
    if find(handle)?.predefined().is_some() {
        return Ok(());
    }
    with_handlers(|t| {
        if let Some(entry) = t.get_mut(handle.0) {
            entry.references -= 1;
            if entry.references == 0 {
                t.remove(handle.0);
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_lives_as_long_as_its_references() {
        let handler = Handler::File(None);
        let made = create(handler).unwrap();
        assert_eq!(add(handler).unwrap(), made);
        remove(made).unwrap();
        assert_eq!(find(made).unwrap().identity(), handler.identity());
        remove(made).unwrap();
        assert_eq!(find(made).unwrap_err().class, Class::Errhandler);
        assert_ne!(add(handler).unwrap(), made, "a freed handle does not come back");
    }

    #[test]
    fn predefined_handles_stay() {
        remove(MPI_ERRORS_RETURN).unwrap();
        assert_eq!(add(find(MPI_ERRORS_RETURN).unwrap()).unwrap(), MPI_ERRORS_RETURN);
        assert!(remove(MPI_ERRHANDLER_NULL).is_err());
    }
}
