//! Arguments of collectives: checked, and turned into what plans are made of.

use super::Call;
use crate::args::{Counts, Displs};
use crate::body::check::{self, wrong};
use crate::generated::constants::*;
use core::ffi::{c_int, c_void};
use hpvm_mpi::coll::{Combine, Root, Typed, Varied};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::{Op, Predef};
use hpvm_mpi::pt2pt::{Incoming, Outgoing, packed_size};
use hpvm_mpi::{Class, Error};
use std::sync::Arc;

/// Address, count and datatype of a buffer.
pub type Out = (*const c_void, MPI_Count, MPI_Datatype);
pub type In = (*mut c_void, MPI_Count, MPI_Datatype);
/// Address, counts, displacements and datatype of a buffer with a block for every peer.
pub type OutV = (*const c_void, Counts, Displs, MPI_Datatype);
pub type InV = (*mut c_void, Counts, Displs, MPI_Datatype);
/// The same with a datatype for every peer.
pub type OutW = (*const c_void, Counts, Displs, *const MPI_Datatype);
pub type InW = (*mut c_void, Counts, Displs, *const MPI_Datatype);

/// A side of a `v` operation with its arrays read.
pub struct Vector<'a, B> {
    buf: B,
    counts: Vec<i64>,
    displs: Vec<i64>,
    ty: &'a Arc<Datatype>,
}

impl<B: Copy> Vector<'_, B> {
    pub fn varied(&self) -> Varied<'_, B> {
        Varied { buf: self.buf, counts: &self.counts, displs: &self.displs, ty: self.ty }
    }
}

/// The address of a buffer for either direction.
pub trait Address: Copy {
    fn address(self) -> *const u8;
}

impl Address for *const u8 {
    fn address(self) -> *const u8 {
        self
    }
}

impl Address for *mut u8 {
    fn address(self) -> *const u8 {
        self.cast_const()
    }
}

/// A buffer with a block for every peer.
pub trait Blocks {
    /// Where block `i` starts, and its packed bytes.
    fn block(&self, i: usize) -> (*const u8, i64);
}

impl<B: Address> Blocks for Vector<'_, B> {
    fn block(&self, i: usize) -> (*const u8, i64) {
        let away = self.displs[i].wrapping_mul(self.ty.extent());
        let start = self.buf.address().wrapping_offset(away as isize);
        (start, self.counts[i].saturating_mul(self.ty.size()))
    }
}

impl<B: Address> Blocks for Typed<B> {
    fn block(&self, i: usize) -> (*const u8, i64) {
        let start = self.buf.address().wrapping_offset(self.displs[i] as isize);
        (start, self.counts[i].saturating_mul(self.types[i].size()))
    }
}

/// What a process does in a rooted operation.
#[derive(Clone, Copy)]
pub struct Part {
    pub root: Root,
    /// The arguments that are significant at the root are so here.
    pub is_root: bool,
    /// Those of all ranks are so here.
    pub is_leaf: bool,
}

impl Part {
    /// `MPI_IN_PLACE` is for a process that is both.
    pub fn may_be_in_place(&self) -> bool {
        self.is_root && self.is_leaf
    }
}

pub fn is_in_place(buf: *const c_void) -> bool {
    core::ptr::eq(buf, MPI_IN_PLACE)
}

#[cold]
fn misplaced(what: &str) -> Error {
    let text = format!("{what} is MPI_IN_PLACE, which this call does not allow at this process");
    wrong(Class::Buffer, text)
}

/// Refuses `MPI_IN_PLACE`.
#[inline(always)]
fn real(what: &str, buf: *const c_void) -> Result<()> {
    if is_in_place(buf) { Err(misplaced(what)) } else { Ok(()) }
}

/// Refuses one buffer for input and output.
#[inline(always)]
pub fn apart(send: *const u8, recv: *const u8, bytes: i64) -> Result<()> {
    if bytes > 0 && !send.is_null() && core::ptr::eq(send, recv) {
        return Err(same_address());
    }
    Ok(())
}

#[cold]
fn same_address() -> Error {
    wrong(Class::Buffer, "sendbuf and recvbuf are the same address; use MPI_IN_PLACE instead")
}

/// Refuses the same block for the input and the output of one of `n` peers.
pub fn blocks_apart(send: &impl Blocks, recv: &impl Blocks, n: usize) -> Result<()> {
    (0..n).try_for_each(|i| {
        let ((from, bytes), (to, room)) = (send.block(i), recv.block(i));
        apart(from, to, bytes.min(room))
    })
}

impl<'a> Call<'a> {
    pub fn peers(&self) -> usize {
        self.comm().peers().size() as usize
    }

    /// A send buffer that is not in place.
    #[inline(always)]
    pub fn send(&self, (buf, count, datatype): Out) -> Result<Outgoing<'a>> {
        real("sendbuf", buf)?;
        let m = check::outgoing(self.objects, buf, count, datatype)?;
        if let Some(notes) = self.notes {
            notes.sent.set(m.packed_size() as i64);
        }
        Ok(m)
    }

    /// A receive buffer that is not in place.
    #[inline(always)]
    pub fn recv(&self, (buf, count, datatype): In) -> Result<Incoming<'a>> {
        real("recvbuf", buf)?;
        let m = check::incoming(self.objects, buf, count, datatype)?;
        if let Some(notes) = self.notes {
            notes.got.set(packed_size(m.ty, m.count) as i64);
        }
        Ok(m)
    }

    /// Whether `buf` is `MPI_IN_PLACE`, which on intercommunicators it never may be.
    #[inline(always)]
    pub fn in_place(&self, buf: *const c_void) -> Result<bool> {
        match is_in_place(buf) {
            true if self.comm().is_inter() => Err(misplaced("sendbuf")),
            found => Ok(found),
        }
    }

    /// A side of a `v` operation with `n` blocks.
    ///
    /// # Safety
    /// The arrays are null or have `n` elements.
    pub unsafe fn send_v(&self, v: OutV, n: usize) -> Result<Vector<'a, *const u8>> {
        let (buf, counts, displs, datatype) = v;
        real("sendbuf", buf)?;
        // SAFETY: the caller's promise.
        let (counts, displs) = unsafe { arrays(counts, displs, n)? };
        // The block with the most elements speaks for all. Its displacement counts, because blocks
        // at absolute addresses are told as MPI_BOTTOM and displacements.
        let most = (0..n).max_by_key(|i| counts[*i]);
        let (count, displ) = most.map_or((0, 0), |i| (counts[i], displs[i]));
        let first = buf.wrapping_byte_offset(displ as isize);
        let ty = check::outgoing(self.objects, first, count, datatype)?.ty;
        Ok(Vector { buf: buf.cast(), counts, displs, ty })
    }

    /// As `send_v`.
    ///
    /// # Safety
    /// The arrays are null or have `n` elements.
    pub unsafe fn recv_v(&self, v: InV, n: usize) -> Result<Vector<'a, *mut u8>> {
        let (buf, counts, displs, datatype) = v;
        real("recvbuf", buf)?;
        // SAFETY: the caller's promise.
        let v = unsafe { self.send_v((buf, counts, displs, datatype), n)? };
        Ok(Vector { buf: buf.cast(), counts: v.counts, displs: v.displs, ty: v.ty })
    }

    /// A side of a `w` operation with `n` blocks. Types of blocks without elements are not looked
    /// at.
    ///
    /// # Safety
    /// The arrays are null or have `n` elements.
    pub unsafe fn send_w(&self, w: OutW, n: usize) -> Result<Typed<*const u8>> {
        let (buf, counts, displs, datatypes) = w;
        real("sendbuf", buf)?;
        // SAFETY: the caller's promise.
        let (counts, displs) = unsafe { arrays(counts, displs, n)? };
        if n > 0 {
            check::out("the array of datatypes", datatypes.cast_mut())?;
        }
        let types = (0..n).map(|i| match counts[i] {
            0 => Ok(Datatype::byte().clone()),
            count => {
                // SAFETY: the caller's promise, and not null.
                let datatype = unsafe { *datatypes.add(i) };
                // Displacements are in bytes, so those from MPI_BOTTOM are addresses.
                let block = buf.wrapping_byte_offset(displs[i] as isize);
                check::typed(self.objects, block, count, datatype)
            }
        });
        let types = types.collect::<Result<_>>()?;
        Ok(Typed { buf: buf.cast(), counts, displs, types })
    }

    /// As `send_w`.
    ///
    /// # Safety
    /// The arrays are null or have `n` elements.
    pub unsafe fn recv_w(&self, w: InW, n: usize) -> Result<Typed<*mut u8>> {
        let (buf, counts, displs, datatypes) = w;
        real("recvbuf", buf)?;
        // SAFETY: the caller's promise.
        let w = unsafe { self.send_w((buf, counts, displs, datatypes), n)? };
        Ok(Typed { buf: buf.cast(), counts: w.counts, displs: w.displs, types: w.types })
    }

    /// The root argument and this process's part.
    #[inline(always)]
    pub fn root(&self, root: c_int) -> Result<Part> {
        let comm = self.comm();
        let inter = comm.is_inter();
        if let Some(notes) = self.notes {
            notes.root.set(i64::from(root));
        }
        match u32::try_from(root) {
            Ok(root) if root < comm.peers().size() => {
                let is_root = !inter && root == comm.rank();
                Ok(Part { root: Root::Rank(root), is_root, is_leaf: true })
            }
            _ if inter && root == MPI_ROOT => {
                Ok(Part { root: Root::Here, is_root: true, is_leaf: false })
            }
            _ if inter && root == MPI_PROC_NULL => {
                Ok(Part { root: Root::Nowhere, is_root: false, is_leaf: false })
            }
            _ => Err(bad_root(root, comm.peers().size(), inter)),
        }
    }

    /// Elements, type and operation of a reduction.
    pub fn combine(&self, count: i64, datatype: MPI_Datatype, op: MPI_Op) -> Result<Combine<'a>> {
        if count < 0 {
            return Err(wrong(Class::Count, format!("count is {count}; expected 0 or more")));
        }
        let objects = self.objects;
        let ty = objects.datatype(datatype)?;
        let op = objects.op(op)?;
        for_reductions(op)?;
        op.check(ty)?;
        if let Some(notes) = self.notes {
            notes.reduced.set(packed_size(ty, count) as i64);
            notes.note_op(op);
        }
        Ok(Combine { count, ty, op })
    }

    /// The buffers of a reduction that every rank gives and gets: `None` for `MPI_IN_PLACE`.
    /// `sent` and `got` are their lengths in elements of `datatype`.
    pub fn operands(
        &self,
        (send, sent): (*const c_void, i64),
        (recv, got): (*mut c_void, i64),
        datatype: MPI_Datatype,
    ) -> Result<(Option<*const u8>, *mut u8)> {
        let into = self.recv((recv, got, datatype))?;
        if self.in_place(send)? {
            // The buffer holds the whole input.
            self.recv((recv, sent, datatype))?;
            return Ok((None, into.buf));
        }
        let from = self.send((send, sent, datatype))?;
        apart(from.buf, into.buf, sent)?;
        Ok((Some(from.buf), into.buf))
    }
}

/// Refuses the operations that only one-sided communication has.
pub fn for_reductions(op: &Op) -> Result<()> {
    match op {
        Op::Predefined(p @ (Predef::Replace | Predef::NoOp)) => {
            let text = format!("{} is for one-sided communication only", p.name());
            Err(wrong(Class::Op, text))
        }
        _ => Ok(()),
    }
}

#[cold]
fn bad_root(root: c_int, size: u32, inter: bool) -> Error {
    let last = size.wrapping_sub(1) as i32;
    let others = if inter { ", MPI_ROOT or MPI_PROC_NULL" } else { "" };
    wrong(Class::Root, format!("root {root}; expected 0 to {last}{others}"))
}

/// Counts and displacements of `n` blocks.
///
/// # Safety
/// The arrays are null or have `n` elements.
unsafe fn arrays(counts: Counts, displs: Displs, n: usize) -> Result<(Vec<i64>, Vec<i64>)> {
    if n > 0 && counts.is_null() {
        return Err(wrong(Class::Arg, "the array of counts is null; expected an address"));
    }
    if n > 0 && displs.is_null() {
        return Err(wrong(Class::Arg, "the array of displacements is null; expected an address"));
    }
    // SAFETY: the caller's promise.
    let (counts, displs) = unsafe { (counts.to_vec(n), displs.to_vec(n)) };
    match counts.iter().position(|c| *c < 0) {
        None => Ok((counts, displs)),
        Some(i) => {
            let text = format!("count {i} is {}; expected 0 or more", counts[i]);
            Err(wrong(Class::Count, text))
        }
    }
}
