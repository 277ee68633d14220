//! What a shared object holds: bytes, or a structure of the program that is packed where it travels.

use crate::Fault;
use crate::buffer::Buffer;
use crate::store::Store;
use std::rc::Rc;

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
    Bytes(Buffer),
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
    pub fn packed(&self, store: &Store) -> Result<(u16, Buffer), Fault> {
        match self {
            Content::Bytes(buffer) => Ok((0, buffer.clone())),
            Content::Object(object) => {
                let mut buffer = store.zeroed(object.kind.packed_len(object.address))?;
                if let Some(bytes) = buffer.bytes_mut() {
                    object.kind.pack(object.address, bytes);
                }
                Ok((object.number, buffer))
            }
        }
    }

    /// The same content, which nobody else has: a copy if somebody has.
    ///
    /// # Errors
    /// There is no memory, or the type does not understand what it has packed.
    pub fn into_unique(self, store: &Store) -> Result<Content, Fault> {
        match &self {
            Content::Bytes(buffer) if !buffer.is_unique() => {
                Ok(Content::Bytes(store.copied(buffer.bytes())?))
            }
            Content::Object(object) if Rc::strong_count(object) > 1 => {
                let (number, packed) = self.packed(store)?;
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
