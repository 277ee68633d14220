//! Memory of the program that a stream reads or writes.

/// A message in the program's memory whose bytes do not form one run.
///
/// Positions count packed bytes, as if the message had been packed into one run.
pub trait Holes {
    /// Copies the packed bytes from `offset` on to `out`, all of it.
    ///
    /// # Safety
    /// The memory is still valid for reads, and `offset + out.len()` is at most its packed size.
    unsafe fn gather(&self, offset: u64, out: &mut [u8]);
    /// Stores `data` as the packed bytes from `offset` on.
    ///
    /// # Safety
    /// The memory is still valid for writes, and `offset + data.len()` is at most its packed size.
    unsafe fn scatter(&self, offset: u64, data: &[u8]);
}

/// The memory from which a stream is sent, or to which it goes. Whoever makes this value guarantees that the memory is valid
/// until the stream has ended.
pub enum Memory {
    /// One run of bytes from here on.
    Run(*mut u8),
    /// Anything else. The bytes are moved through a buffer.
    Holes(Box<dyn Holes>),
}

/// Bytes that belong to the stream itself.
struct Owned(Vec<u8>);

impl Holes for Owned {
    unsafe fn gather(&self, offset: u64, out: &mut [u8]) {
        let from = offset as usize;
        out.copy_from_slice(&self.0[from..from + out.len()]);
    }

    unsafe fn scatter(&self, _: u64, _: &[u8]) {
        debug_assert!(false, "nobody receives into memory that is owned for sending");
    }
}

impl Memory {
    /// Memory to send from that belongs to this value, so that nobody has to guarantee anything.
    pub fn owned(bytes: Vec<u8>) -> Memory {
        Memory::Holes(Box::new(Owned(bytes)))
    }

    /// The address of byte `offset` when the bytes are one run.
    #[inline]
    pub fn run(&self, offset: u64) -> Option<*mut u8> {
        match self {
            Memory::Run(first) => Some(first.wrapping_add(offset as usize)),
            Memory::Holes(_) => None,
        }
    }

    /// Copies the bytes from `offset` on to `out`.
    ///
    /// # Safety
    /// As for [`Holes::gather`].
    pub unsafe fn gather(&self, offset: u64, out: &mut [u8]) {
        match self {
            Memory::Run(first) => {
                let from = first.wrapping_add(offset as usize);
                // SAFETY: the caller's promise; `out` is memory of ours.
                unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
            }
            // SAFETY: the caller's promise.
            Memory::Holes(holes) => unsafe { holes.gather(offset, out) },
        }
    }

    /// Stores `data` as the bytes from `offset` on.
    ///
    /// # Safety
    /// As for [`Holes::scatter`].
    pub unsafe fn scatter(&self, offset: u64, data: &[u8]) {
        match self {
            Memory::Run(first) => {
                let to = first.wrapping_add(offset as usize);
                // SAFETY: the caller's promise; `data` is memory of ours.
                unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
            }
            // SAFETY: the caller's promise.
            Memory::Holes(holes) => unsafe { holes.scatter(offset, data) },
        }
    }
}
