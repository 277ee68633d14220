//! Moving data between a program's buffer and the stream of a view.

use super::Striped;
use crate::body::check::typed;
use crate::generated::constants::*;
use crate::runtime::enter;
use core::ffi::c_void;
use hpvm_io::{File, Hints, View};
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

    /// The bytes themselves, where they lie in one run. Where there are none the address is not the program's, which may be null.
    pub fn run(&self) -> Option<(*mut u8, usize)> {
        match self.ty.as_run(self.count)? {
            (_, 0) => Some((core::ptr::dangling_mut(), 0)),
            (at, len) => Some((self.buf.wrapping_offset(at as isize), len as usize)),
        }
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

// SAFETY: the program lends the buffer until the access has ended, on whatever thread that is; the type is shared by
// all threads.
unsafe impl Send for Memory {}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// What is moved, where to and how, all that this needs included: it may happen on any thread.
#[derive(Debug)]
pub struct Transfer {
    pub file: Arc<File>,
    /// Where the data lie if they lie in stripes; then `file` has none.
    pub stripes: Option<Arc<Striped>>,
    pub view: Arc<View>,
    pub hints: Hints,
    /// First byte of the view's stream.
    pub position: u64,
    pub memory: Memory,
    /// Bytes that the data take in the file.
    pub bytes: u64,
}

impl Transfer {
    /// Moves the data as they are; says how many bytes those were.
    ///
    /// # Safety
    /// The memory is valid for the direction.
    pub unsafe fn run(&self, direction: Direction) -> Result<u64> {
        // SAFETY: the caller's promise.
        unsafe {
            match direction {
                Direction::Write => self.write(),
                Direction::Read => self.read(),
            }
        }
    }

    /// Writes bytes `at..` of the data, as they are in the file.
    pub fn store(&self, at: u64, data: &[u8]) -> Result<()> {
        let position = self.position + at;
        match &self.stripes {
            Some(striped) => striped.write_stream(&self.view, position, data),
            None => self.file.write_stream(&self.view, position, data),
        }
    }

    /// Reads bytes `at..` of them until `out` is full or the file ends; says how much that was.
    pub fn fetch(&self, at: u64, out: &mut [u8]) -> Result<usize> {
        let position = self.position + at;
        match &self.stripes {
            Some(striped) => striped.read_stream(&self.view, position, out),
            None => self.file.read_stream(&self.view, position, out, &self.hints),
        }
    }

    unsafe fn write(&self) -> Result<u64> {
        let (mut done, mut staging) = (0, Vec::new());
        while done < self.bytes {
            let len = if self.memory.run().is_some() { self.bytes } else { CHUNK };
            let len = len.min(self.bytes - done);
            // SAFETY: the caller's promise.
            let data = unsafe { self.memory.read(done, len, &mut staging) };
            self.store(done, data)?;
            done += len;
        }
        Ok(done)
    }

    unsafe fn read(&self) -> Result<u64> {
        if let Some((first, len)) = self.memory.run() {
            // SAFETY: the caller's promise: one run of this many bytes, which nobody else uses.
            let out = unsafe { core::slice::from_raw_parts_mut(first, len) };
            return Ok(self.fetch(0, out)? as u64);
        }
        let (mut done, mut staging) = (0, vec![0; CHUNK.min(self.bytes) as usize]);
        while done < self.bytes {
            let part = &mut staging[..CHUNK.min(self.bytes - done) as usize];
            let n = self.fetch(done, part)?;
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
