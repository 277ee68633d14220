//! References to types that are held for the time of a call.

use super::Datatype;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use std::sync::Arc;

/// Holds a type as an `Arc` does, without counting references to types that live as long as the process: nearly every
/// call is given one of those, and each reference costs two locked instructions, some 10 ns.
#[derive(Debug)]
pub struct TypeRef(ManuallyDrop<Arc<Datatype>>);

impl TypeRef {
    #[inline(always)]
    pub fn new(ty: &Arc<Datatype>) -> TypeRef {
        if !ty.immortal {
            return TypeRef(ManuallyDrop::new(ty.clone()));
        }
        // SAFETY: a second owner of one reference, whose owner never drops it (`Datatype::immortal`), nor does this
        // one (`drop`).
        TypeRef(ManuallyDrop::new(unsafe { core::ptr::read(ty) }))
    }
}

impl Drop for TypeRef {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.0.immortal {
            // SAFETY: it was counted, as `immortal` never changes, and is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Clone for TypeRef {
    #[inline(always)]
    fn clone(&self) -> TypeRef {
        TypeRef::new(self)
    }
}

impl Deref for TypeRef {
    type Target = Arc<Datatype>;
    #[inline(always)]
    fn deref(&self) -> &Arc<Datatype> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_program_are_counted_and_others_are_not() {
        let byte = Datatype::byte();
        let made = Datatype::contiguous(3, byte).unwrap();
        for (ty, more) in [(byte, 0), (&made, 2)] {
            let before = Arc::strong_count(ty);
            let first = TypeRef::new(ty);
            let second = first.clone();
            assert_eq!(second.size(), ty.size());
            assert_eq!(Arc::strong_count(ty), before + more);
            drop((first, second));
            assert_eq!(Arc::strong_count(ty), before);
        }
    }

    #[test]
    fn a_held_type_outlives_its_owner() {
        let made = Datatype::contiguous(3, Datatype::byte()).unwrap();
        let (weak, held) = (Arc::downgrade(&made), TypeRef::new(&made));
        drop(made);
        assert_eq!(held.size(), 3);
        drop(held);
        assert!(weak.upgrade().is_none());
    }
}
