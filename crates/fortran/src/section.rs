//! Buffers of `mpi_f08`: `type(*), dimension(..)` is a descriptor, which may describe an array section
//! whose elements do not follow each other in memory. MPI sees such a section as the contiguous array that it would
//! be copied to (section 19.1.12 of MPI 5.0).
//!
//! What a procedure does with a section depends on what the buffer is for:
//! [`Typed`] describes it by a datatype, which lives as long as an operation uses it; [`Copied`]
//! copies it for the time of the call or of the operation; [`Parts`] stretches the datatype where that gives every part of a
//! collective buffer its place; [`Divided`] tells a partitioned request of its datatype; [`whole`] refuses it.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};

use hpvm_abi::constants::*;
use hpvm_abi::extra::SectionDimension;
use hpvm_foreign::entries;
use hpvm_foreign::numbers::error_out;

use crate::Fortran;

/// The most dimensions that Fortran allows (since 2008).
pub const MAX_RANK: usize = 15;

/// What an argument `type(*), dimension(..)` says: where the first element lies, how long elements are,
/// and the dimensions, the fastest first.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    address: *mut c_void,
    element: MPI_Aint,
    rank: usize,
    dimensions: [SectionDimension; MAX_RANK],
}

/// A descriptor of some compiler.
pub trait Descriptor {
    /// # Safety
    /// The descriptor and its dimensions are valid.
    unsafe fn section(this: *const Self) -> Section;
}

/// gfortran's own descriptor, which arguments of procedures without `bind(C)` are (GCC 9 and later).
#[repr(C)]
pub struct Gfortran {
    address: *mut c_void,
    offset: usize,
    element: usize,
    version: c_int,
    rank: i8,
    kind: i8,
    attribute: i16,
    /// Bytes from an element to the next of the array that a section is of, in whose units strides are.
    span: MPI_Aint,
    dimensions: [GfortranDimension; 0],
}

#[repr(C)]
struct GfortranDimension {
    stride: MPI_Aint,
    lower: MPI_Aint,
    upper: MPI_Aint,
}

impl Descriptor for Gfortran {
    unsafe fn section(this: *const Self) -> Section {
        // SAFETY: the caller's promise.
        let head = unsafe { &*this };
        let element = head.element as MPI_Aint;
        let span = if head.span == 0 { element } else { head.span };
        // SAFETY: the dimensions follow.
        let first = unsafe { (&raw const (*this).dimensions).cast::<GfortranDimension>() };
        Section::new(head.address, element, head.rank, |i| {
            // SAFETY: the caller's promise: `i` is below the rank.
            let dimension = unsafe { &*first.add(i) };
            SectionDimension {
                extent: dimension.upper - dimension.lower + 1,
                stride: dimension.stride * span,
            }
        })
    }
}

/// `CFI_cdesc_t` of ISO_Fortran_binding.h (TS 29113, Fortran 2018), which arguments of procedures with
/// `bind(C)` are.
#[repr(C)]
pub struct Standard {
    address: *mut c_void,
    element: usize,
    version: c_int,
    rank: i8,
    attribute: i8,
    kind: i16,
    dimensions: [StandardDimension; 0],
}

#[repr(C)]
struct StandardDimension {
    lower: MPI_Aint,
    extent: MPI_Aint,
    stride: MPI_Aint,
}

impl Descriptor for Standard {
    unsafe fn section(this: *const Self) -> Section {
        // SAFETY: the caller's promise.
        let head = unsafe { &*this };
        // SAFETY: the dimensions follow.
        let first = unsafe { (&raw const (*this).dimensions).cast::<StandardDimension>() };
        Section::new(head.address, head.element as MPI_Aint, head.rank, |i| {
            // SAFETY: the caller's promise: `i` is below the rank.
            let dimension = unsafe { &*first.add(i) };
            SectionDimension { extent: dimension.extent, stride: dimension.stride }
        })
    }
}

impl Section {
    /// Dimensions of one element, and those that continue the one before, are left out; no dimension
    /// remains of what is contiguous.
    fn new(
        address: *mut c_void,
        element: MPI_Aint,
        rank: i8,
        dimension: impl Fn(usize) -> SectionDimension,
    ) -> Section {
        let none = SectionDimension { extent: 1, stride: 0 };
        let mut section = Section { address, element, rank: 0, dimensions: [none; MAX_RANK] };
        let rank = usize::try_from(rank).unwrap_or(0).min(MAX_RANK);
        if address.is_null() || element <= 0 {
            return section;
        }
        for i in 0..rank {
            let next = dimension(i);
            match next.extent {
                // The last extent of an assumed-size array is -1: such arrays are contiguous.
                ..=0 => return Section { rank: 0, ..section },
                1 => {}
                _ => section.add(next),
            }
        }
        section
    }

    fn add(&mut self, next: SectionDimension) {
        if self.rank == 0 && next.stride == self.element {
            self.element = self.element.saturating_mul(next.extent);
            return;
        }
        if let Some(last) = self.dimensions[..self.rank].last_mut()
            && next.stride == last.stride.wrapping_mul(last.extent)
        {
            last.extent = last.extent.saturating_mul(next.extent);
            return;
        }
        self.dimensions[self.rank] = next;
        self.rank += 1;
    }

    /// Whether the elements follow each other.
    #[inline(always)]
    pub fn is_contiguous(&self) -> bool {
        self.rank == 0
    }

    /// The address of the first element.
    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    /// Bytes of all elements.
    fn bytes(&self) -> usize {
        let extents = self.dimensions[..self.rank].iter().map(|d| d.extent);
        let all = extents.fold(self.element, MPI_Aint::saturating_mul);
        usize::try_from(all).unwrap_or(0)
    }

    /// Calls `each` with the offset of every contiguous run of `element` bytes, in order.
    fn for_each(&self, mut each: impl FnMut(MPI_Aint)) {
        let mut index = [0; MAX_RANK];
        let dimensions = &self.dimensions[..self.rank];
        loop {
            each(index.iter().zip(dimensions).map(|(i, d)| i * d.stride).sum());
            let Some(k) = (0..self.rank).find(|k| {
                index[*k] += 1;
                let on = index[*k] < dimensions[*k].extent;
                if !on {
                    index[*k] = 0;
                }
                on
            }) else {
                return;
            };
            debug_assert!(index[k] > 0);
        }
    }
}

/// A count of either form of a function.
pub trait Count: Copy + Into<MPI_Count> {
    const ONE: Self;
}

impl Count for c_int {
    const ONE: c_int = 1;
}

impl Count for MPI_Count {
    const ONE: MPI_Count = 1;
}

/// A buffer with count and datatype: those of the program, or one of a datatype that describes the
/// section. That one is freed at the end of the call, which leaves it to pending operations.
pub struct Typed<N> {
    address: *mut c_void,
    count: N,
    datatype: c_int,
    made: MPI_Datatype,
}

impl<N: Count> Typed<N> {
    /// Returns an error of the ABI where the section is smaller than what count and datatype reach.
    ///
    /// # Safety
    /// The descriptor is valid.
    #[inline(always)]
    pub unsafe fn new<F: Fortran, D: Descriptor>(
        buffer: *const D,
        count: N,
        datatype: c_int,
    ) -> Result<Typed<N>, c_int> {
        // SAFETY: the caller's promise.
        let section = unsafe { D::section(buffer) };
        let plain = Typed { address: section.address, count, datatype, made: MPI_DATATYPE_NULL };
        if section.is_contiguous() || count.into() <= 0 {
            return Ok(plain);
        }
        let old = F::datatype_in(F::datatype_fromint(datatype));
        let (rank, dimensions) = (section.rank as c_int, section.dimensions.as_ptr());
        let mut made = MPI_DATATYPE_NULL;
        let make = entries().extra.section_type;
        // SAFETY: the array has `rank` dimensions at least, and the place is a local variable.
        let code = unsafe { make(section.element, rank, dimensions, count.into(), old, &mut made) };
        match code {
            MPI_SUCCESS => {
                let datatype = F::datatype_toint(F::datatype_out(made));
                Ok(Typed { count: N::ONE, datatype, made, ..plain })
            }
            code => Err(error_out::<F>(code)),
        }
    }

    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    #[inline(always)]
    pub fn count(&self) -> *const N {
        &self.count
    }

    #[inline(always)]
    pub fn datatype(&self) -> *const c_int {
        &self.datatype
    }
}

impl<N> Drop for Typed<N> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.made != MPI_DATATYPE_NULL {
            // SAFETY: a datatype that `new` made, and nobody else frees.
            unsafe { (entries().standard.MPI_Type_free)(&mut self.made) };
        }
    }
}

/// A copy of a section for the time of a call, or of the operation that the call starts; a contiguous buffer itself.
pub struct Copied {
    section: Section,
    copy: Vec<UnsafeCell<u8>>,
}

impl Copied {
    /// # Safety
    /// The descriptor is valid, and the section may be read.
    #[inline(always)]
    pub unsafe fn new<D: Descriptor>(buffer: *const D) -> Copied {
        // SAFETY: the caller's promise.
        let section = unsafe { D::section(buffer) };
        let mut copied = Copied { section, copy: Vec::new() };
        if !section.is_contiguous() {
            copied.fill();
        }
        copied
    }

    /// Runs of the section and of the copy, in order.
    fn runs(&self, each: impl Fn(*mut u8, *mut u8, usize)) {
        let length = self.section.element as usize;
        let (user, own) =
            (self.section.address.cast::<u8>(), UnsafeCell::raw_get(self.copy.as_ptr()));
        let mut position = 0;
        self.section.for_each(|offset| {
            each(user.wrapping_offset(offset), own.wrapping_add(position), length);
            position += length;
        });
    }

    fn fill(&mut self) {
        self.copy.resize_with(self.section.bytes(), || UnsafeCell::new(0));
        // SAFETY: the caller of `new` promises that the section may be read.
        unsafe { self.refill() };
    }

    /// # Safety
    /// The section may be read, and nobody else uses the copy.
    unsafe fn refill(&self) {
        // SAFETY: the copy has as many bytes as the section.
        self.runs(|user, own, length| unsafe { user.copy_to_nonoverlapping(own, length) });
    }

    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        match self.section.is_contiguous() {
            true => self.section.address,
            false => UnsafeCell::raw_get(self.copy.as_ptr()).cast(),
        }
    }

    /// Copies back what the call has written.
    ///
    /// # Safety
    /// The section may be written.
    #[inline(always)]
    pub unsafe fn give(self) {
        if !self.section.is_contiguous() {
            // SAFETY: the caller's promise.
            unsafe { self.empty() };
        }
    }

    /// # Safety
    /// The section may be written, and nobody writes the copy meanwhile.
    unsafe fn empty(&self) {
        // SAFETY: the copy has as many bytes as the section.
        self.runs(|user, own, length| unsafe { own.copy_to_nonoverlapping(user, length) });
    }

    /// Has the request that the call has made keep the copy, which is `written` into the section when the operation ends,
    /// unless it is only read. A call that has failed has made none.
    ///
    /// # Safety
    /// `request` and `ierror` are addresses of integers; the section stays valid until the operation has ended.
    #[inline(always)]
    pub unsafe fn keep<F: Fortran>(self, written: bool, request: *const c_int, ierror: *mut c_int) {
        if !self.section.is_contiguous() {
            // SAFETY: the caller's promise.
            unsafe { self.stage::<F>(written, request, ierror) };
        }
    }

    #[cold]
    unsafe fn stage<F: Fortran>(self, written: bool, request: *const c_int, ierror: *mut c_int) {
        // SAFETY: the caller's promise.
        if unsafe { *ierror } != MPI_SUCCESS {
            return;
        }
        // SAFETY: as above.
        let request = F::request_in(F::request_fromint(unsafe { *request }));
        let state = Box::into_raw(Box::new(Kept { copied: self, written })) as usize;
        // SAFETY: the functions are for this state.
        let code = unsafe { (entries().extra.stage)(request, state, fill, empty, release) };
        if code != MPI_SUCCESS {
            // SAFETY: the caller's promise.
            unsafe { *ierror = error_out::<F>(code) };
        }
    }
}

/// A copy that a request keeps.
struct Kept {
    copied: Copied,
    written: bool,
}

unsafe extern "C" fn fill(state: usize) {
    // SAFETY: `stage` gave this address, which is valid until `release`; the program keeps the section until then.
    unsafe { (*(state as *const Kept)).copied.refill() }
}

unsafe extern "C" fn empty(state: usize) {
    // SAFETY: as in `fill`.
    unsafe {
        let kept = &*(state as *const Kept);
        if kept.written {
            kept.copied.empty();
        }
    }
}

unsafe extern "C" fn release(state: usize) {
    // SAFETY: `stage` made it of a box, and this is called once.
    drop(unsafe { Box::from_raw(state as *mut Kept) });
}

/// A buffer whose parts a collective operation finds by counts and the datatype's extent.
pub struct Parts {
    copied: Option<Copied>,
    address: *mut c_void,
    datatype: c_int,
    made: MPI_Datatype,
}

impl Parts {
    /// The section is copied where the datatype cannot be stretched.
    ///
    /// # Safety
    /// As [`Copied::new`].
    #[inline(always)]
    pub unsafe fn new<F: Fortran, D: Descriptor>(buffer: *const D, datatype: c_int) -> Parts {
        // SAFETY: the caller's promise.
        let section = unsafe { D::section(buffer) };
        let plain =
            Parts { copied: None, address: section.address, datatype, made: MPI_DATATYPE_NULL };
        if section.is_contiguous() {
            return plain;
        }
        // SAFETY: as above.
        unsafe { plain.scattered::<F, D>(buffer, &section) }
    }

    #[cold]
    unsafe fn scattered<F: Fortran, D: Descriptor>(
        mut self,
        buffer: *const D,
        section: &Section,
    ) -> Parts {
        if stretch::<F>(section, self.datatype, &mut self.made) {
            self.datatype = F::datatype_toint(F::datatype_out(self.made));
            return self;
        }
        // SAFETY: the caller's promise.
        let copied = unsafe { Copied::new(buffer) };
        self.address = copied.address();
        self.copied = Some(copied);
        self
    }

    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        self.address
    }

    #[inline(always)]
    pub fn datatype(&self) -> *const c_int {
        &self.datatype
    }

    /// Copies back what the call has written, if it was copied.
    ///
    /// # Safety
    /// As [`Copied::give`].
    #[inline(always)]
    pub unsafe fn give(mut self) {
        if let Some(copied) = self.copied.take() {
            // SAFETY: the caller's promise.
            unsafe { copied.give() };
        }
    }

    /// As [`Copied::keep`], if it was copied.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn keep<F: Fortran>(
        mut self,
        written: bool,
        request: *const c_int,
        ierror: *mut c_int,
    ) {
        if let Some(copied) = self.copied.take() {
            // SAFETY: the caller's promise.
            unsafe { copied.keep::<F>(written, request, ierror) };
        }
    }
}

impl Drop for Parts {
    #[inline(always)]
    fn drop(&mut self) {
        if self.made != MPI_DATATYPE_NULL {
            // SAFETY: a datatype that `stretch` made, and nobody else frees.
            unsafe { (entries().standard.MPI_Type_free)(&mut self.made) };
        }
    }
}

/// The buffer of partitioned communication: partitions follow each other in the contiguous array that the section would be
/// copied to.
pub struct Divided {
    parts: Parts,
    /// Describes all partitions, where the datatype of the program cannot be stretched.
    whole: Option<Typed<MPI_Count>>,
}

impl Divided {
    /// Returns an error of the ABI where the section is smaller than what the arguments reach.
    ///
    /// # Safety
    /// The descriptor is valid.
    pub unsafe fn new<F: Fortran, D: Descriptor>(
        buffer: *const D,
        partitions: c_int,
        count: impl Count,
        datatype: c_int,
    ) -> Result<Divided, c_int> {
        // SAFETY: the caller's promise.
        let section = unsafe { D::section(buffer) };
        let (address, made) = (section.address, MPI_DATATYPE_NULL);
        let mut divided =
            Divided { parts: Parts { copied: None, address, datatype, made }, whole: None };
        if section.is_contiguous() {
            return Ok(divided);
        }
        if stretch::<F>(&section, datatype, &mut divided.parts.made) {
            let made = F::datatype_out(divided.parts.made);
            divided.parts.datatype = F::datatype_toint(made);
            return Ok(divided);
        }
        let count: MPI_Count = count.into();
        let all = count.checked_mul(partitions.into()).unwrap_or(MPI_Count::MAX);
        // SAFETY: as above.
        divided.whole = Some(unsafe { Typed::new::<F, D>(buffer, all, datatype)? });
        Ok(divided)
    }

    #[inline(always)]
    pub fn address(&self) -> *mut c_void {
        self.parts.address
    }

    #[inline(always)]
    pub fn datatype(&self) -> *const c_int {
        &self.parts.datatype
    }

    /// Tells the request that the call has made where its buffer lies. A call that has failed has made none.
    ///
    /// # Safety
    /// `request` and `ierror` are addresses of integers.
    pub unsafe fn lay_out<F: Fortran>(self, request: *const c_int, ierror: *mut c_int) {
        let made = self.whole.as_ref().map_or(MPI_DATATYPE_NULL, |whole| whole.made);
        // SAFETY: the caller's promise.
        if made == MPI_DATATYPE_NULL || unsafe { *ierror } != MPI_SUCCESS {
            return;
        }
        // SAFETY: as above; the datatype lives through the call.
        unsafe {
            let request = F::request_in(F::request_fromint(*request));
            let code = (entries().extra.lay_out)(request, made);
            if code != MPI_SUCCESS {
                *ierror = error_out::<F>(code);
            }
        }
    }
}

/// A datatype with the distance of the section's elements as its extent, if the section has one dimension, of
/// elements of just this datatype: then counts and displacements mean the same in the section.
fn stretch<F: Fortran>(section: &Section, datatype: c_int, made: &mut MPI_Datatype) -> bool {
    let old = F::datatype_in(F::datatype_fromint(datatype));
    let [dimension, ..] = section.dimensions;
    let standard = &entries().standard;
    let (mut size, mut lb, mut extent) = (0, 0, 0);
    // SAFETY: the places are local variables.
    unsafe {
        (standard.MPI_Type_size)(old, &mut size) == MPI_SUCCESS
            && (standard.MPI_Type_get_extent)(old, &mut lb, &mut extent) == MPI_SUCCESS
            && section.rank == 1
            && (lb, extent) == (0, section.element)
            && size as MPI_Aint == section.element
            && (standard.MPI_Type_create_resized)(old, 0, dimension.stride, made) == MPI_SUCCESS
            && (standard.MPI_Type_commit)(made) == MPI_SUCCESS
    }
}

/// The error of a section that cannot be used. It is raised.
#[cold]
fn refuse<F: Fortran>() -> c_int {
    let make = entries().extra.section_type;
    // SAFETY: without a place for a result there is only an error.
    error_out::<F>(unsafe { make(0, 0, null(), 0, MPI_DATATYPE_NULL, null_mut()) })
}

/// The address of a buffer that must be contiguous, because it stays in use after the call.
///
/// # Safety
/// The descriptor is valid.
#[inline(always)]
pub unsafe fn whole<F: Fortran, D: Descriptor>(buffer: *const D) -> Result<*mut c_void, c_int> {
    // SAFETY: the caller's promise.
    let section = unsafe { D::section(buffer) };
    if section.is_contiguous() { Ok(section.address) } else { Err(refuse::<F>()) }
}

/// The address of a buffer of which nothing else counts.
///
/// # Safety
/// The descriptor is valid.
#[inline(always)]
pub unsafe fn first<D: Descriptor>(buffer: *const D) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { D::section(buffer).address }
}
