//! Accumulates: the factor is applied here, the sum is made where the memory is. Whole numbers are added by the
//! processor, as `ARMCI_Rmw` does, so both may be used on one variable; the others under the accumulate lock of
//! the memory, many at a time.

#![expect(clippy::too_many_arguments, reason = "as ARMCI has them")]

use super::handle::{When, note};
use super::transfer::{SOURCE, length};
use crate::races::Access;
use crate::state::{State, There, state};
use crate::types::{Handle, Name};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use hpvm_abi::onesided::{Kind, Op, Update};
use hpvm_armci::Element;
use hpvm_model::{fail, onesided, present};

/// Bytes that are multiplied at a time: they stay in a processor's own cache.
const SCRATCH: usize = 16 * 1024;
/// Runs that go to a call at a time.
const RUNS_PER_CALL: usize = 1024;
/// Longest accumulate of one run that is no batch, bytes: its products have room on the stack.
const STACK_BYTES: usize = 256;

/// Products of a short accumulate, aligned as the longest number wants it.
#[repr(C, align(16))]
struct Products([u8; STACK_BYTES]);

/// What is added: elements, and the factor.
pub struct Sum {
    element: Element,
    factor: [u8; 16],
    one: bool,
    kind: Kind,
    /// Bytes of a number; a complex element has two.
    number: usize,
}

impl Sum {
    /// # Safety
    /// `scale` is a factor of the type.
    pub unsafe fn new(name: Name, kind: c_int, scale: *const c_void) -> Sum {
        let Some(element) = Element::from_code(kind) else {
            fail(name, &format!("datatype {kind}; expected ARMCI_ACC_INT (0) to ARMCI_ACC_DCP (5)"))
        };
        if scale.is_null() {
            fail(name, "scale is null; expected the address of a factor");
        }
        // SAFETY: the caller's promise.
        let factor = unsafe { core::slice::from_raw_parts(scale.cast::<u8>(), element.size()) };
        let factor = element.factor(factor);
        let (kind, number) = match element {
            Element::Int => (Kind::I32, 4),
            Element::Long => (Kind::I64, 8),
            Element::Float | Element::Complex => (Kind::LockedF32, 4),
            Element::Double | Element::DoubleComplex => (Kind::LockedF64, 8),
        };
        Sum { element, factor, one: element.is_one(&factor), kind, number }
    }

    /// Refuses parts of elements.
    pub fn whole(&self, name: Name, len: usize) {
        let size = self.element.size();
        if !len.is_multiple_of(size) {
            fail(
                name,
                &format!("{len} bytes; expected a multiple of {size}, the size of the datatype"),
            );
        }
    }
}

impl There {
    /// Bytes behind these.
    pub fn at(&self, offset: isize) -> There {
        let mapped =
            if self.mapped.is_null() { null_mut() } else { self.mapped.wrapping_offset(offset) };
        There { mapped, offset: self.offset.wrapping_add_signed(offset as i64), ..*self }
    }
}

/// Accumulates with one process, which go out together.
pub struct Batch<'a> {
    s: &'a State,
    name: Name,
    sum: &'a Sum,
    process: usize,
    now: bool,
    target: *mut c_void,
    updates: Vec<Update>,
    scratch: Vec<u8>,
    started: bool,
}

impl<'a> Batch<'a> {
    pub fn new(s: &'a State, name: Name, sum: &'a Sum, process: usize, now: bool) -> Batch<'a> {
        let (updates, scratch) = (Vec::new(), Vec::new());
        Batch { s, name, sum, process, now, target: null_mut(), updates, scratch, started: false }
    }

    /// Adds `len` bytes, whole elements.
    ///
    /// # Safety
    /// `local` is readable for them, and `there` is as long.
    pub unsafe fn add(&mut self, local: *const u8, there: &There, len: usize) {
        if there.target.is_null() {
            // SAFETY: memory of this process that nobody else can reach, and the caller's promise.
            unsafe {
                let from = core::slice::from_raw_parts(local, len);
                let to = core::slice::from_raw_parts_mut(there.mapped, len);
                self.sum.element.add(&self.sum.factor, from, to);
            }
            return;
        }
        if there.target != self.target {
            self.send();
            self.target = there.target;
        }
        let mut done = 0;
        while done < len {
            let at = there.offset + done as u64;
            let n = if self.sum.one { len } else { (len - done).min(SCRATCH) };
            let operand = match self.sum.one {
                true => local,
                // SAFETY: the caller's promise.
                false => unsafe { self.scaled(local.wrapping_add(done), n) },
            };
            let count = n / self.sum.number;
            self.updates.push(Update { operand: operand.cast(), offset: at, count });
            if self.updates.len() == RUNS_PER_CALL {
                self.send();
            }
            done += n;
        }
    }

    /// Multiplies into the scratch, where the products stay until they are sent.
    ///
    /// # Safety
    /// As for `add`; no more than [`SCRATCH`] bytes.
    unsafe fn scaled(&mut self, local: *const u8, len: usize) -> *const u8 {
        self.scratch.reserve_exact(SCRATCH - self.scratch.len());
        if self.scratch.len() + len > SCRATCH {
            self.send();
        }
        let at = self.scratch.len();
        // There is room, so what is pointed to stays where it is.
        self.scratch.resize(at + len, 0);
        // SAFETY: the caller's promise.
        let from = unsafe { core::slice::from_raw_parts(local, len) };
        self.sum.element.scale(&self.sum.factor, from, &mut self.scratch[at..]);
        self.scratch[at..].as_ptr()
    }

    fn send(&mut self) {
        if !self.updates.is_empty() {
            // Products are gone with the batch.
            let wait = c_int::from(self.now || !self.sum.one);
            let (call, updates) = (onesided().accumulate_runs, &self.updates);
            // SAFETY: attached; operands are those of `add`, which are valid until the operation is complete here.
            let code = unsafe {
                call(self.target, self.sum.kind, Op::Sum, updates.as_ptr(), updates.len(), wait)
            };
            self.started |= self.s.note(self.name, self.process, code);
            self.updates.clear();
        }
        self.scratch.clear();
    }

    /// Sends what is left. True: it needs a flush.
    pub fn end(mut self) -> bool {
        self.send();
        self.started
    }
}

/// Adds one run at once, without the lists of a batch. `None`: it is too long, or this process's own memory.
///
/// # Safety
/// As for [`Batch::add`].
unsafe fn add_short(
    sum: &Sum,
    local: *const u8,
    there: &There,
    len: usize,
    now: bool,
) -> Option<c_int> {
    if len > STACK_BYTES || there.target.is_null() {
        return None;
    }
    let mut products = Products([0; STACK_BYTES]);
    let mut operand = local;
    if !sum.one {
        // SAFETY: the caller's promise.
        let from = unsafe { core::slice::from_raw_parts(local, len) };
        sum.element.scale(&sum.factor, from, &mut products.0[..len]);
        operand = products.0.as_ptr();
    }
    // Products are gone when this returns.
    let (wait, count) = (c_int::from(now || !sum.one), len / sum.number);
    let (call, operand) = (onesided().accumulate, operand.cast());
    // SAFETY: attached; the operand is valid until the operation is complete here.
    let code = unsafe {
        call(there.target, there.offset, sum.kind, Op::Sum, operand, count, null_mut(), wait)
    };
    Some(code)
}

/// Adds one run of `len` bytes.
///
/// # Safety
/// The program's promises.
pub unsafe fn add(
    name: Name,
    sum: &Sum,
    (source, dest): (*mut c_void, *mut c_void),
    len: usize,
    process: c_int,
    when: When,
) -> c_int {
    let s = state(name);
    let process = s.process(name, process);
    sum.whole(name, len);
    let mut started = false;
    if len != 0 {
        present(name, SOURCE, source.cast(), len);
        s.accesses(process, dest.addr(), len, Access::Update);
        let there = s.shared(name, process, dest.addr(), len);
        // SAFETY: the program's promises; `there` has as many bytes.
        let code = unsafe { add_short(sum, source.cast(), &there, len, when.now()) };
        started = match code {
            Some(code) => s.note(name, process, code),
            None => {
                let mut batch = Batch::new(s, name, sum, process, when.now());
                // SAFETY: as above.
                unsafe { batch.add(source.cast(), &there, len) };
                batch.end()
            }
        };
    }
    // SAFETY: the program's handle.
    unsafe { note(when, process, started) };
    0
}

pub unsafe fn accumulate(
    name: Name,
    kind: c_int,
    scale: *const c_void,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    process: c_int,
) -> c_int {
    let len = length(name, len);
    // SAFETY: the program's promises.
    unsafe { add(name, &Sum::new(name, kind, scale), (source, dest), len, process, When::Now) }
}

pub unsafe fn nb_accumulate(
    name: Name,
    kind: c_int,
    scale: *const c_void,
    source: *mut c_void,
    dest: *mut c_void,
    len: c_int,
    process: c_int,
    handle: *mut Handle,
) -> c_int {
    let (len, when) = (length(name, len), When::Later(handle));
    // SAFETY: the program's promises.
    unsafe { add(name, &Sum::new(name, kind, scale), (source, dest), len, process, when) }
}
