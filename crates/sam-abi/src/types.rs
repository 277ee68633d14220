//! Types of contents whose functions are the program's.

use core::ffi::c_void;
use hpvm_sam::ContentType;

type Length = unsafe extern "C" fn(*const c_void) -> usize;
type Pack = unsafe extern "C" fn(*const c_void, *mut c_void);
type Unpack = unsafe extern "C" fn(*const c_void, usize) -> *mut c_void;
type Release = unsafe extern "C" fn(*mut c_void);

/// The functions that `sam_type_register` was given.
pub struct CType {
    pub length: Length,
    pub pack: Pack,
    pub unpack: Unpack,
    pub release: Release,
}

fn pointer(object: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(object)
}

impl ContentType for CType {
    fn packed_len(&self, object: usize) -> usize {
        // SAFETY: the program's function, for an object of its type.
        unsafe { (self.length)(pointer(object)) }
    }

    fn pack(&self, object: usize, out: &mut [u8]) {
        // SAFETY: as above; as long as `packed_len` has said.
        unsafe { (self.pack)(pointer(object), out.as_mut_ptr().cast()) };
    }

    fn unpack(&self, bytes: &[u8]) -> Option<usize> {
        // SAFETY: as above.
        let object = unsafe { (self.unpack)(bytes.as_ptr().cast(), bytes.len()) };
        (!object.is_null()).then(|| object.expose_provenance())
    }

    fn release(&self, object: usize) {
        // SAFETY: as above; nobody uses the object any more.
        unsafe { (self.release)(pointer(object)) };
    }
}
