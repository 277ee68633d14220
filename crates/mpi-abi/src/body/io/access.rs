//! One access of one rank: what is checked, locked and converted around its transfer.

use super::collective;
use super::datarep::Conversion;
use super::striped::Held;
use super::transfer::{Direction, Memory, Transfer};
use crate::body::check::wrong;
use crate::object::file::FileObject;
use hpvm_io::Representation;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};

/// One access of one rank: what, where, and how it is represented there.
pub struct Access<'a> {
    pub file: &'a FileObject,
    pub atomic: bool,
    pub conversion: Conversion,
    pub transfer: Transfer,
}

impl<'a> Access<'a> {
    /// Checks an access at `offset`, in etypes of the file's view.
    pub fn new(
        file: &'a FileObject,
        direction: Direction,
        offset: u64,
        memory: Memory,
    ) -> Result<Access<'a>> {
        check_direction(file, direction)?;
        let (view, hints, atomic) = {
            let state = file.state();
            (state.view.clone(), state.hints.clone(), state.atomic)
        };
        let conversion = Conversion::of(view.representation())?;
        let bytes = conversion.file_bytes(&memory)?;
        let each = view.etype_bytes();
        if bytes % each != 0 {
            let text = format!(
                "the data take {bytes} bytes in the file; expected a whole number of the view's etypes of \
                 {each} bytes"
            );
            return Err(wrong(Class::Type, text));
        }
        let (plain, stripes) = (file.file.clone(), file.stripes.clone());
        let transfer = Transfer { file: plain, stripes, view, hints, position: 0, memory, bytes };
        let mut access = Access { file, atomic, conversion, transfer };
        access.seek(offset)?;
        Ok(access)
    }

    /// Moves the access to `offset`, in etypes.
    pub fn seek(&mut self, offset: u64) -> Result<()> {
        let Transfer { view, bytes, .. } = &self.transfer;
        let position = offset.checked_mul(view.etype_bytes());
        let end = position.and_then(|position| position.checked_add(*bytes));
        let (Some(position), Some(end)) = (position, end) else {
            return Err(too_far(offset));
        };
        if *bytes > 0 {
            view.check_end(end)?;
        }
        // The byte behind the last has to be an offset in the file, too.
        if view.disp().checked_add(end).is_none_or(|end| i64::try_from(end).is_err()) {
            return Err(too_far(offset));
        }
        self.transfer.position = position;
        Ok(())
    }

    /// Etypes that are accessed: how far a file pointer moves.
    pub fn etypes(&self) -> u64 {
        self.transfer.bytes / self.transfer.view.etype_bytes()
    }

    /// Nothing is locked or converted.
    pub fn is_plain(&self) -> bool {
        self.conversion.is_none() && !self.atomic
    }

    /// Does it alone; says how many bytes of the program's data that were.
    ///
    /// # Safety
    /// The memory is valid for the direction.
    pub unsafe fn run(&self, direction: Direction) -> Result<u64> {
        let Transfer { view, position, bytes, .. } = &self.transfer;
        let lock = match self.atomic && *bytes > 0 {
            true => {
                let first = view.byte_offset(*position);
                let last = view.byte_offset(*position + *bytes - 1);
                Some(Lock::wait(self.file, first, last + 1, direction == Direction::Write)?)
            }
            false => None,
        };
        // SAFETY: the caller's promise.
        let moved = unsafe {
            match direction {
                _ if self.conversion.is_none() => self.transfer.run(direction),
                Direction::Write => self.write_converted(),
                Direction::Read => self.read_converted(),
            }
        };
        drop(lock);
        moved
    }

    /// Does it together with the other ranks of the file. A rank whose arguments are wrong takes part with its error, so
    /// that the others have it, too, instead of waiting.
    ///
    /// # Safety
    /// The memory of the access is valid for the direction.
    pub unsafe fn run_together(
        file: &FileObject,
        access: Result<Access<'_>>,
        direction: Direction,
    ) -> Result<u64> {
        // Pieces are gathered as bytes; what has to be converted goes alone. Mode and view are those of all ranks.
        if is_gathered(file)? {
            // SAFETY: the caller's promise.
            unsafe { collective::run(file, access, direction) }
        } else {
            // SAFETY: the caller's promise.
            unsafe { access?.run(direction) }
        }
    }

    unsafe fn write_converted(&self) -> Result<u64> {
        let Transfer { memory, bytes, .. } = &self.transfer;
        // SAFETY: the caller's promise.
        let data = unsafe { self.conversion.encode(memory, *bytes)? };
        self.transfer.store(0, &data)?;
        Ok(memory.bytes())
    }

    unsafe fn read_converted(&self) -> Result<u64> {
        let Transfer { memory, bytes, .. } = &self.transfer;
        let mut data = vec![0; *bytes as usize];
        let n = self.transfer.fetch(0, &mut data)?;
        // SAFETY: the caller's promise.
        unsafe { self.conversion.decode(memory, &data[..n]) }
    }
}

/// Collective access moves the bytes of memory as they are, and locks nothing.
fn is_gathered(file: &FileObject) -> Result<bool> {
    let state = file.state();
    Ok(!state.atomic && Conversion::of(state.view.representation())?.is_none())
}

/// A lock of atomic mode; it ends with this value.
enum Lock<'a> {
    Plain { _range: hpvm_io::RangeLock<'a> },
    Striped { _held: Held<'a> },
}

impl Lock<'_> {
    /// Waits for a lock on bytes `start..end`.
    fn wait(file: &FileObject, start: u64, end: u64, writes: bool) -> Result<Lock<'_>> {
        Ok(match &file.stripes {
            Some(striped) => Lock::Striped { _held: striped.lock(start, end, writes)? },
            None => Lock::Plain { _range: file.file.lock(start, end, writes)? },
        })
    }
}

fn too_far(offset: u64) -> Error {
    let text =
        format!("offset {offset}: the access would end beyond byte {} of the file", i64::MAX);
    wrong(Class::Arg, text)
}

/// The modes that the file was opened with allow it.
fn check_direction(file: &FileObject, direction: Direction) -> Result<()> {
    let amode = file.file.amode();
    let name = || hpvm_io::error::shown(file.file.path());
    match direction {
        Direction::Read if !amode.reads() => {
            let text = format!("'{}' was opened with MPI_MODE_WRONLY and can't be read", name());
            Err(wrong(Class::Access, text))
        }
        Direction::Write if !amode.writes() => {
            let text = format!("'{}' was opened with MPI_MODE_RDONLY and can't be written", name());
            Err(wrong(Class::ReadOnly, text))
        }
        _ => Ok(()),
    }
}

/// Explicit offsets and individual pointers mean nothing in a file that is sequential.
pub fn check_not_sequential(file: &FileObject) -> Result<()> {
    match file.file.amode().is_sequential() {
        false => Ok(()),
        true => {
            let text =
                "the file was opened with MPI_MODE_SEQUENTIAL, for shared and ordered access only";
            Err(wrong(Class::UnsupportedOperation, text))
        }
    }
}

/// Whether a representation stores data as they are in memory.
pub fn is_plain(representation: &Representation) -> bool {
    matches!(representation, Representation::Native | Representation::Internal)
}
