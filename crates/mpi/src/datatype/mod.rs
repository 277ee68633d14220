//! Datatypes: what a message is made of and where it lies (MPI 5.0, chapter 5).
//!
//! A [`Datatype`] is immutable once built, apart from its commit flag, and shared through `Arc`.
//! Each constructor derives three things from the constituent types: the bounds, the signature
//! (which basic elements, in which order) and the layout, a compact program of loops over runs
//! that packing, unpacking and scatter-gather walk. Nothing is ever expanded element by element.
//!
//! Displacements are relative to the address that the caller passes as the buffer. That address
//! may be null (`MPI_BOTTOM`) when the displacements are absolute addresses.
//!
//! Deliberately absent: names, attributes and handles. They belong to the C interface.
mod array;
mod bounds;
mod construct;
mod copy;
mod external32;
mod fortran;
mod fuse;
mod kernel;
mod layout;
pub mod predefined;
mod recipe;
mod section;
mod segments;
mod signature;
#[cfg(test)]
mod tests;
mod type_ref;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Result;
use bounds::Bounds;
use layout::Placed;
use recipe::Recipe;
use signature::Signature;
use walk::Layout;

pub use array::{DFLT_DARG, Distribution, Order};
pub use copy::copy;
pub use predefined::{Basic, Group, Kind, Predefined};
pub use recipe::{Combiner, Contents};
pub use segments::Segments;
pub use type_ref::TypeRef;

/// A predefined or derived datatype.
#[derive(Debug)]
pub struct Datatype {
    id: u64,
    lb: i64,
    ub: i64,
    bounds: Bounds,
    layout: Layout,
    signature: Arc<Signature>,
    element: Option<&'static Predefined>,
    recipe: Recipe,
    committed: AtomicBool,
    large_count_call: AtomicBool,
    /// Where the one run of any number of copies starts, if they are one; kept because every
    /// message asks.
    dense_at: Option<i64>,
    /// Whether one reference to it is never dropped: those of the tables of predefined types.
    immortal: bool,
}

/// Numbers datatypes for caches. Relaxed suffices: only uniqueness matters.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

fn fresh_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed) // relaxed: see above
}

impl Datatype {
    /// The predefined datatype with this ABI handle value; `None` for any other value,
    /// `MPI_DATATYPE_NULL` included. Lock-free after the first call.
    pub fn predefined(abi: usize) -> Option<&'static Arc<Datatype>> {
        predefined::by_handle(abi)
    }

    /// `MPI_BYTE`.
    pub fn byte() -> &'static Arc<Datatype> {
        predefined::byte()
    }

    /// A number that no other datatype of this process has or will have.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Bytes of data in one copy (`MPI_Type_size`).
    #[inline]
    pub fn size(&self) -> i64 {
        self.layout.size as i64
    }

    /// Lower bound in bytes.
    pub fn lb(&self) -> i64 {
        self.lb
    }

    /// Upper bound in bytes.
    pub fn ub(&self) -> i64 {
        self.ub
    }

    /// Bytes from one copy to the next in an array.
    pub fn extent(&self) -> i64 {
        self.layout.extent
    }

    /// Offset of the first byte of data; 0 without data.
    pub fn true_lb(&self) -> i64 {
        self.bounds.data.map_or(0, |data| data.0)
    }

    /// Bytes from the first to one past the last byte of data; 0 without data.
    pub fn true_extent(&self) -> i64 {
        self.bounds.data.map_or(0, |data| data.1 - data.0)
    }

    /// Whether any number of copies is one contiguous run in stream order, which then starts at
    /// the buffer's address plus [`Datatype::true_lb`].
    pub fn is_dense(&self) -> bool {
        self.layout.is_dense()
    }

    /// Offset and length in bytes of the one contiguous run that `count` copies are; `None` when
    /// they are no single run, (0, 0) when they hold no data. Covers more than [`Datatype::is_dense`]: one copy of a resized
    /// contiguous type, say.
    #[inline(always)]
    pub fn as_run(&self, count: i64) -> Option<(i64, u64)> {
        // Nearly every message: a multiplication instead of a walk.
        if let Some(first) = self.dense_at {
            return Some((first, self.layout.size.wrapping_mul(as_count(count))));
        }
        self.layout.as_run(as_count(count))
    }

    /// The one predefined datatype that the whole signature consists of; `None` when it is mixed
    /// or empty.
    pub fn element(&self) -> Option<&'static Predefined> {
        self.element
    }

    /// The one kind of basic element that the whole signature consists of; `None` when it is
    /// mixed, a pair, or empty.
    pub fn basic(&self) -> Option<Basic> {
        self.element.and_then(Predefined::basic)
    }

    /// The predefined datatype that this is or duplicates; `None` for all other derived types.
    pub fn as_predefined(&self) -> Option<&'static Predefined> {
        match &self.recipe {
            Recipe::Named(entry) => Some(entry),
            Recipe::F90 { .. } | Recipe::ValueIndex { .. } => self.element,
            Recipe::Dup(old) => old.as_predefined(),
            _ => None,
        }
    }

    /// The predefined type that a type with a homogeneous signature is built on.
    pub(crate) fn innermost(&self) -> Option<&Datatype> {
        let entry = self.element?;
        let mut ty = self;
        while !ty.is_predefined() {
            ty = ty.recipe.source_of(entry)?;
        }
        Some(ty)
    }

    /// Whether this is a named predefined datatype, which cannot be freed.
    #[inline]
    pub fn is_named(&self) -> bool {
        matches!(self.recipe, Recipe::Named(_))
    }

    /// Whether this is a predefined datatype, named or not (`MPI_Type_create_f90_real` and its
    /// kin, value-index types): it is always committed and cannot be freed.
    pub fn is_predefined(&self) -> bool {
        matches!(self.recipe, Recipe::Named(_) | Recipe::F90 { .. } | Recipe::ValueIndex { .. })
    }

    /// Marks the type as ready for communication. Layouts are complete from the start, so this
    /// costs nothing.
    pub fn commit(&self) {
        // Relaxed: the flag publishes nothing; the type is immutable.
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Whether the type may be used in communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// Notes that a large-count (`_c`) call made this type, which decides how
    /// [`Datatype::contents`] sorts the arguments.
    pub fn note_large_count_call(&self) {
        self.large_count_call.store(true, Ordering::Relaxed);
    }

    /// Which constructor made the type.
    pub fn combiner(&self) -> Combiner {
        self.recipe.combiner()
    }

    /// The constructor's arguments, for `MPI_Type_get_envelope` and `MPI_Type_get_contents`.
    pub fn contents(&self) -> Contents {
        self.recipe.contents(self.large_count_call.load(Ordering::Relaxed))
    }

    /// Bytes of data in `count` copies; `None` when they do not fit in 63 bits or `count` is
    /// negative.
    #[inline]
    pub fn packed_size(&self, count: i64) -> Option<i64> {
        if count < 0 { None } else { self.size().checked_mul(count) }
    }

    /// How many whole copies `bytes` bytes hold, for `MPI_Get_count`; `None` (`MPI_UNDEFINED`)
    /// when they end inside a copy.
    pub fn get_count(&self, bytes: u64) -> Option<u64> {
        match self.layout.size {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then(|| bytes / size),
        }
    }

    /// How many basic elements `bytes` bytes hold, for `MPI_Get_elements`; `None`
    /// (`MPI_UNDEFINED`) when they end inside an element. A pair such as `MPI_FLOAT_INT` is two.
    pub fn get_elements(&self, bytes: u64) -> Option<u64> {
        match self.layout.size {
            0 => (bytes == 0).then_some(0),
            size => {
                let rest = self.signature.elements_in(bytes % size)?;
                (bytes / size).checked_mul(self.signature.elements)?.checked_add(rest)
            }
        }
    }

    fn from_predefined(entry: &'static Predefined, recipe: Recipe) -> Arc<Datatype> {
        let root = match entry.kind {
            Kind::Scalar(_) => Placed::run(0, entry.size as u64),
            Kind::Pair { value, index, index_at } => {
                layout::from_runs([(0, value.size as u64), (index_at as i64, index.size as u64)])
            }
        };
        let last = match entry.kind {
            Kind::Scalar(_) => entry.size,
            Kind::Pair { index, index_at, .. } => index_at + index.size,
        };
        let bounds = Bounds::predefined(last, entry.extent, entry.align);
        // Named types are made by their tables only.
        let immortal = matches!(recipe, Recipe::Named(_));
        Arc::new(Datatype {
            id: fresh_id(),
            lb: 0,
            ub: entry.extent as i64,
            bounds,
            layout: Layout::new(root, entry.size as u64, entry.extent as i64),
            signature: Signature::of(entry),
            element: Some(entry),
            recipe,
            committed: AtomicBool::new(true),
            large_count_call: AtomicBool::new(false),
            dense_at: matches!(entry.kind, Kind::Scalar(_)).then_some(0),
            immortal,
        })
    }

    /// Puts a derived type together; `root` must describe as many bytes as `signature`.
    fn derived(
        recipe: Recipe,
        bounds: Bounds,
        root: Placed,
        signature: Arc<Signature>,
        element: Option<&'static Predefined>,
    ) -> Result<Arc<Datatype>> {
        let bounds = bounds.padded()?;
        let (lb, ub) = bounds.lb_ub();
        let extent = ub.checked_sub(lb).ok_or_else(bounds::overflow)?;
        debug_assert_eq!(root.node.size(), signature.bytes);
        let layout = Layout::new(root, signature.bytes, extent);
        let dense_at = (layout.is_dense() && layout.size > 0).then_some(layout.root.disp);
        Ok(Arc::new(Datatype {
            id: fresh_id(),
            lb,
            ub,
            bounds,
            layout,
            dense_at,
            element: element.filter(|_| signature.bytes > 0),
            signature,
            recipe,
            committed: AtomicBool::new(false),
            large_count_call: AtomicBool::new(false),
            immortal: false,
        }))
    }
}

/// A count for the walking functions: negative counts mean nothing.
#[inline(always)]
fn as_count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
