//! What a shared object holds: bytes, or a structure of the program that is packed where it travels.

use crate::Fault;
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::rc::Rc;

/// Contents begin at a cache line, so that every type of a program may lie there.
const ALIGNMENT: usize = 64;
/// What every allocation has. More of an allocator takes it several times as long, so there are some bytes more instead.
const GIVEN: usize = 16;

/// Owned bytes, zero at first.
pub struct Buffer {
    /// As it was allocated.
    block: NonNull<u8>,
    /// The first [`ALIGNMENT`] in it.
    memory: NonNull<u8>,
    len: usize,
}

impl Buffer {
    /// # Errors
    /// There is no memory.
    pub fn new(len: usize) -> Result<Buffer, Fault> {
        // SAFETY: the layout has a size above 0.
        Buffer::made(len, |layout| unsafe { alloc_zeroed(layout) })
    }

    /// # Errors
    /// There is no memory.
    pub fn copied(bytes: &[u8]) -> Result<Buffer, Fault> {
        // SAFETY: as in `new`; the bytes are written before anybody reads them.
        let buffer = Buffer::made(bytes.len(), |layout| unsafe { alloc(layout) })?;
        // SAFETY: memory of ours of as many bytes.
        unsafe { buffer.memory.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Ok(buffer)
    }

    fn made(len: usize, allocate: impl FnOnce(Layout) -> *mut u8) -> Result<Buffer, Fault> {
        let layout = Buffer::layout(len).ok_or_else(|| Fault::no_memory(len))?;
        let block = NonNull::new(allocate(layout)).ok_or_else(|| Fault::no_memory(len))?;
        let skip = block.addr().get().wrapping_neg() & (ALIGNMENT - 1);
        // SAFETY: the block has as many bytes more than `len`.
        Ok(Buffer { block, memory: unsafe { block.add(skip) }, len })
    }

    fn layout(len: usize) -> Option<Layout> {
        let bytes = len.max(1).checked_add(ALIGNMENT - GIVEN)?;
        Layout::from_size_align(bytes, GIVEN).ok()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub fn address(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: our memory of `len` initialized bytes.
        unsafe { core::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has a reference.
        unsafe { core::slice::from_raw_parts_mut(self.memory.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(layout) = Buffer::layout(self.len) {
            // SAFETY: `made` got the block with this layout.
            unsafe { dealloc(self.block.as_ptr(), layout) };
        }
    }
}

/// How structures of one type travel. An object is the address of a structure, which only its type understands.
pub trait ContentType {
    /// Bytes that `pack` writes for this object.
    fn packed_len(&self, object: usize) -> usize;
    fn pack(&self, object: usize, out: &mut [u8]);
    /// A new object out of what another rank packed; none if the bytes are not such.
    fn unpack(&self, bytes: &[u8]) -> Option<usize>;
    /// Nobody uses the object any more.
    fn release(&self, object: usize);
}

/// A structure of the program, which now belongs to the shared object.
pub struct Object {
    address: usize,
    number: u16,
    weight: usize,
    kind: Rc<dyn ContentType>,
}

impl Object {
    /// `number` is that of the type among the registered ones, from 1.
    pub fn new(address: usize, number: u16, kind: Rc<dyn ContentType>) -> Object {
        Object { address, number, weight: kind.packed_len(address), kind }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.kind.release(self.address);
    }
}

#[derive(Clone)]
pub enum Content {
    Bytes(Rc<Buffer>),
    Object(Rc<Object>),
}

impl Content {
    /// Where the program finds it, and how long it is: of a structure, how long it is when packed.
    #[inline(always)]
    pub fn place(&self) -> (*mut u8, usize) {
        match self {
            Content::Bytes(buffer) => (buffer.address(), buffer.len()),
            Content::Object(object) => {
                (core::ptr::with_exposed_provenance_mut(object.address), object.weight)
            }
        }
    }

    /// Bytes that it counts for in a cache.
    pub fn weight(&self) -> usize {
        self.place().1
    }

    /// As it travels: the number of its type (0: bytes), and the bytes.
    ///
    /// # Errors
    /// There is no memory.
    pub fn packed(&self) -> Result<(u16, Rc<Buffer>), Fault> {
        match self {
            Content::Bytes(buffer) => Ok((0, buffer.clone())),
            Content::Object(object) => {
                let mut buffer = Buffer::new(object.kind.packed_len(object.address))?;
                object.kind.pack(object.address, buffer.bytes_mut());
                Ok((object.number, Rc::new(buffer)))
            }
        }
    }

    /// The same content, which nobody else has: a copy if somebody has.
    ///
    /// # Errors
    /// There is no memory, or the type does not understand what it has packed.
    pub fn into_unique(self) -> Result<Content, Fault> {
        match &self {
            Content::Bytes(buffer) if Rc::strong_count(buffer) > 1 => {
                Ok(Content::Bytes(Rc::new(Buffer::copied(buffer.bytes())?)))
            }
            Content::Object(object) if Rc::strong_count(object) > 1 => {
                let (number, packed) = self.packed()?;
                let copy = unpacked(&object.kind, number, packed.bytes())?;
                Ok(Content::Object(Rc::new(copy)))
            }
            _ => Ok(self),
        }
    }
}

/// What a rank has packed, as a structure of this one.
pub fn unpacked(kind: &Rc<dyn ContentType>, number: u16, bytes: &[u8]) -> Result<Object, Fault> {
    let object = kind.unpack(bytes).ok_or_else(|| {
        Fault::new(format!("type {number} cannot unpack the {} bytes that came", bytes.len()))
    })?;
    Ok(Object::new(object, number, kind.clone()))
}
