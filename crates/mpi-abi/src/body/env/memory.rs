//! `MPI_Alloc_mem` (section 9.2): memory that the other ranks of the host can read, so that large
//! messages from it are copied once, without the kernel. Small blocks, and all where shared memory
//! is not to be had, are ordinary memory.

use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::info::with_info;
use crate::raise::on_world;
use crate::runtime::Entered;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use hpvm_transport::PeerMemory;
use std::collections::BTreeMap;

/// Least alignment of memory that the library hands out: a cache line pair.
pub const ALIGNMENT: usize = 128;
/// Alignment of memory that is lent.
const PAGE: usize = 4096;
/// Allocations below this many bytes are not worth a page of their own: what can be sent from them
/// goes out in packets.
const MIN_LENT: usize = 32 * 1024;

/// What `MPI_Alloc_mem` has handed out and `MPI_Free_mem` has not taken back.
#[derive(Default)]
pub struct Allocated(BTreeMap<usize, Block>);

struct Block {
    bytes: usize,
    /// Part of what this rank lends; else of the C library's heap.
    lent: bool,
}

impl Allocated {
    /// Bytes of every block.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        self.0.values().map(|b| b.bytes)
    }
}

/// What the hints of an info object ask for.
struct Hints {
    alignment: usize,
    /// False: the program says that no other process needs to read it.
    shared: bool,
}

impl Hints {
    /// Keys and values that we do not know mean nothing, as section 10 wants it.
    fn of(info: MPI_Info) -> Result<Hints> {
        let mut hints = Hints { alignment: ALIGNMENT, shared: true };
        if info == MPI_INFO_NULL {
            return Ok(hints);
        }
        with_info(info, |i| {
            let asked = i.get("mpi_minimum_memory_alignment").and_then(|v| v.trim().parse().ok());
            let asked = asked.filter(|a: &usize| a.is_power_of_two());
            hints.alignment = asked.unwrap_or(ALIGNMENT).max(ALIGNMENT);
            hints.shared = i.get("alloc_shm") != Some("false");
        })?;
        Ok(hints)
    }
}

pub unsafe fn alloc_mem(size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void) -> c_int {
    on_world("MPI_Alloc_mem", |w| {
        out("baseptr", baseptr)?;
        let bytes = usize::try_from(size)
            .map_err(|_| wrong(Class::Arg, format!("size is {size}; expected 0 or more")))?;
        let memory = allocate(w, bytes, &Hints::of(info)?)?;
        // SAFETY: `baseptr` is the address of the program's pointer.
        unsafe { *baseptr.cast::<*mut c_void>() = memory };
        Ok(())
    })
}

fn allocate(w: &mut Entered, bytes: usize, hints: &Hints) -> Result<*mut c_void> {
    let lent = match hints.shared && hints.alignment <= PAGE && bytes >= MIN_LENT {
        true => w.process.fm_mut().transport_mut().lend(bytes),
        false => None,
    };
    let memory = match lent {
        Some(memory) => memory.as_ptr().cast(),
        None => heap(bytes, hints.alignment)?,
    };
    let block = Block { bytes, lent: lent.is_some() };
    w.objects.allocated.0.insert(memory.addr(), block);
    Ok(memory)
}

pub fn heap(bytes: usize, alignment: usize) -> Result<*mut c_void> {
    let mut memory = core::ptr::null_mut();
    // SAFETY: a valid place for the result; the alignment is a power of two.
    match unsafe { libc::posix_memalign(&mut memory, alignment, bytes.max(1)) } {
        0 => Ok(memory),
        _ => Err(wrong(Class::NoMem, format!("{bytes} bytes are not to be had"))),
    }
}

pub unsafe fn free_mem(base: *mut c_void) -> c_int {
    on_world("MPI_Free_mem", |w| {
        if base.is_null() {
            return Ok(());
        }
        let Some(block) = w.objects.allocated.0.remove(&base.addr()) else {
            let text = format!("{base:p} is not the start of memory from MPI_Alloc_mem");
            return Err(wrong(Class::Base, text));
        };
        if block.lent {
            w.process.fm_mut().transport_mut().take_back(base.cast());
        } else {
            // SAFETY: `heap` returned it, and it has not been freed.
            unsafe { libc::free(base) };
        }
        Ok(())
    })
}
