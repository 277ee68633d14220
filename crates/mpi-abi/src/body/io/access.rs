//! Moving data between a program's buffer and the stream of a view.

use super::collective;
use super::datarep::Conversion;
use crate::body::check::{typed, wrong};
use crate::generated::constants::*;
use crate::object::file::FileObject;
use crate::runtime::enter;
use core::ffi::c_void;
use hpvm_io::{Hints, Representation, View};
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use std::sync::Arc;

/// Bytes of a buffer with holes that are packed or unpacked at a time.
const CHUNK: u64 = 4 << 20;

/// Elements of a program.
#[derive(Clone, Debug)]
pub struct Memory {
    pub buf: *mut u8,
    pub count: i64,
    pub ty: Arc<Datatype>,
}

impl Memory {
    /// Checks a buffer that is to be written to a file.
    pub fn outgoing(
        buf: *const c_void,
        count: MPI_Count,
        datatype: MPI_Datatype,
    ) -> Result<Memory> {
        let w = enter()?;
        let ty = typed(&w.objects, buf, count, datatype)?;
        Ok(Memory { buf: buf.cast_mut().cast(), count, ty })
    }

    /// Checks a buffer that is to be read to.
    pub fn incoming(buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype) -> Result<Memory> {
        Memory::outgoing(buf, count, datatype)
    }

    /// Bytes of data.
    pub fn bytes(&self) -> u64 {
        (self.ty.size() * self.count) as u64
    }

    /// The bytes themselves, where they lie in one run.
    fn run(&self) -> Option<(*mut u8, usize)> {
        let (at, len) = self.ty.as_run(self.count)?;
        Some((self.buf.wrapping_offset(at as isize), len as usize))
    }

    /// Bytes `at..at + len` of the packed data.
    ///
    /// # Safety
    /// The buffer may be read, and there are as many bytes.
    pub unsafe fn read<'a>(&'a self, at: u64, len: u64, staging: &'a mut Vec<u8>) -> &'a [u8] {
        if let Some((first, all)) = self.run() {
            let len = (len as usize).min(all.saturating_sub(at as usize));
            // SAFETY: the caller's promise; inside the run.
            return unsafe { core::slice::from_raw_parts(first.wrapping_add(at as usize), len) };
        }
        staging.resize(len as usize, 0);
        // SAFETY: the caller's promise.
        unsafe { self.ty.pack(self.buf, self.count, at, staging) };
        staging
    }

    /// Stores bytes `at..` of the packed data.
    ///
    /// # Safety
    /// The buffer may be written, and has room for them.
    pub unsafe fn write(&self, at: u64, data: &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { self.ty.unpack(self.buf, self.count, at, data) };
    }
}

/// One access of one rank: what, where, and how it is represented there.
pub struct Access<'a> {
    pub file: &'a FileObject,
    pub view: Arc<View>,
    pub hints: Hints,
    pub atomic: bool,
    /// First byte of the view's stream.
    pub position: u64,
    pub memory: Memory,
    pub conversion: Conversion,
    /// Bytes that the data take in the file.
    pub bytes: u64,
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
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
        let mut access =
            Access { file, view, hints, atomic, position: 0, memory, conversion, bytes };
        access.seek(offset)?;
        Ok(access)
    }

    /// Moves the access to `offset`, in etypes.
    pub fn seek(&mut self, offset: u64) -> Result<()> {
        let position = offset.checked_mul(self.view.etype_bytes());
        let end = position.and_then(|position| position.checked_add(self.bytes));
        let (Some(position), Some(end)) = (position, end) else {
            let text = format!("offset {offset} lies beyond what 64 bits address");
            return Err(wrong(Class::Arg, text));
        };
        if self.bytes > 0 {
            self.view.check_end(end)?;
        }
        self.position = position;
        Ok(())
    }

    /// Etypes that are accessed: how far a file pointer moves.
    pub fn etypes(&self) -> u64 {
        self.bytes / self.view.etype_bytes()
    }

    /// Does it alone; says how many bytes of the program's data that were.
    ///
    /// # Safety
    /// The memory is valid for the direction.
    pub unsafe fn run(&self, direction: Direction) -> Result<u64> {
        let lock = match self.atomic && self.bytes > 0 {
            true => {
                let first = self.view.byte_offset(self.position);
                let last = self.view.byte_offset(self.position + self.bytes - 1);
                Some(self.file.file.lock(first, last + 1, direction == Direction::Write)?)
            }
            false => None,
        };
        // SAFETY: the caller's promise.
        let moved = unsafe {
            match direction {
                Direction::Write => self.write(),
                Direction::Read => self.read(),
            }
        };
        drop(lock);
        moved
    }

    /// Does it together with the other ranks of the file.
    ///
    /// # Safety
    /// The memory is valid for the direction.
    pub unsafe fn run_together(&self, direction: Direction) -> Result<u64> {
        // Pieces are gathered as bytes; what has to be converted goes alone.
        if self.conversion.is_none() && !self.atomic {
            // SAFETY: the caller's promise.
            unsafe { collective::run(self, direction) }
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.run(direction) }
        }
    }

    unsafe fn write(&self) -> Result<u64> {
        if !self.conversion.is_none() {
            // SAFETY: the caller's promise.
            let data = unsafe { self.conversion.encode(&self.memory, self.bytes)? };
            self.file.file.write_stream(&self.view, self.position, &data)?;
            return Ok(self.memory.bytes());
        }
        let (mut done, mut staging) = (0, Vec::new());
        while done < self.bytes {
            let len = if self.memory.run().is_some() { self.bytes } else { CHUNK };
            let len = len.min(self.bytes - done);
            // SAFETY: the caller's promise.
            let data = unsafe { self.memory.read(done, len, &mut staging) };
            self.file.file.write_stream(&self.view, self.position + done, data)?;
            done += len;
        }
        Ok(done)
    }

    unsafe fn read(&self) -> Result<u64> {
        let read = |at, out: &mut [u8]| {
            self.file.file.read_stream(&self.view, self.position + at, out, &self.hints)
        };
        if !self.conversion.is_none() {
            let mut data = vec![0; self.bytes as usize];
            let n = read(0, &mut data)?;
            // SAFETY: the caller's promise.
            return unsafe { self.conversion.decode(&self.memory, &data[..n]) };
        }
        if let Some((first, len)) = self.memory.run() {
            // SAFETY: the caller's promise: one run of this many bytes, which nobody else uses.
            let out = unsafe { core::slice::from_raw_parts_mut(first, len) };
            return Ok(read(0, out)? as u64);
        }
        let (mut done, mut staging) = (0, vec![0; CHUNK.min(self.bytes) as usize]);
        while done < self.bytes {
            let part = &mut staging[..CHUNK.min(self.bytes - done) as usize];
            let n = read(done, part)?;
            // SAFETY: the caller's promise.
            unsafe { self.memory.write(done, &part[..n]) };
            done += n as u64;
            if n < part.len() {
                break;
            }
        }
        Ok(done)
    }
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
