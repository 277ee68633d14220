//! Reduction operations (sections 6.9.5 to 6.9.8).

use crate::body::check::{self, out, wrong};
use crate::body::coll::{apart, for_reductions};
use crate::generated::constants::*;
use crate::object::datatype::handle_of;
use crate::object::op::OpObject;
use crate::object::too_many;
use crate::raise::on_world;
use core::ffi::{c_int, c_void};
use hpvm_mpi::Class;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::{Op, UserFunction, UserOp};
use std::sync::Arc;

/// Keeps an operation and stores its handle.
///
/// # Safety
/// `op` is null or may be written.
pub unsafe fn create(
    name: &'static str,
    function: Option<Arc<UserFunction>>,
    commute: c_int,
    op: *mut MPI_Op,
) -> c_int {
    on_world(name, |w| {
        out("op", op)?;
        let function = function.ok_or_else(|| {
            wrong(Class::Arg, "user_fn is null; expected the address of a function")
        })?;
        let made = Op::User(UserOp { commute: commute != 0, function });
        let object = Arc::new(OpObject { op: Arc::new(made) });
        let handle = w.objects.ops.insert(object).ok_or_else(|| too_many("operations"))?;
        // SAFETY: checked above.
        unsafe { *op = MPI_Op(handle) };
        Ok(())
    })
}

pub unsafe fn op_create(user_fn: MPI_User_function, commute: c_int, op: *mut MPI_Op) -> c_int {
    let function = user_fn.map(|f| -> Arc<UserFunction> {
        Arc::new(move |input, inout, count, ty| in_pieces(f, input, inout, count, ty))
    });
    // SAFETY: the caller's promises.
    unsafe { create("MPI_Op_create", function, commute, op) }
}

pub unsafe fn op_create_c(user_fn: MPI_User_function_c, commute: c_int, op: *mut MPI_Op) -> c_int {
    let function = user_fn.map(|f| -> Arc<UserFunction> {
        Arc::new(move |input: *const u8, inout, mut count, ty| {
            let mut datatype = handle_of(ty);
            let input = input.cast_mut().cast();
            // SAFETY: the program registered this function for such calls; the buffers hold
            // `count` elements.
            unsafe { f(input, inout.cast(), &mut count, &mut datatype) };
        })
    });
    // SAFETY: the caller's promises.
    unsafe { create("MPI_Op_create_c", function, commute, op) }
}

type Narrow = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);

/// Calls a function whose length is an `int`, as often as `count` needs.
fn in_pieces(f: Narrow, input: *const u8, inout: *mut u8, count: i64, ty: &Arc<Datatype>) {
    let mut done = 0;
    while done < count {
        let mut len = (count - done).min(i64::from(c_int::MAX)) as c_int;
        let piece = i64::from(len);
        let mut datatype = handle_of(ty);
        let offset = (done * ty.extent()) as isize;
        let from = input.wrapping_offset(offset).cast_mut().cast();
        let to = inout.wrapping_offset(offset).cast();
        // SAFETY: the program registered this function for such calls; the buffers hold `count`
        // elements.
        unsafe { f(from, to, &mut len, &mut datatype) };
        // The function may have written to its own copy of the length.
        done += piece;
    }
}

pub unsafe fn op_free(op: *mut MPI_Op) -> c_int {
    on_world("MPI_Op_free", |w| {
        out("op", op)?;
        // SAFETY: checked above.
        let handle = unsafe { *op };
        // Operations under way keep theirs alive.
        if w.objects.ops.remove(handle.0).is_none() {
            w.objects.op(handle)?;
            return Err(wrong(Class::Op, "a predefined operation cannot be freed"));
        }
        // SAFETY: checked above.
        unsafe { *op = MPI_OP_NULL };
        Ok(())
    })
}

pub unsafe fn op_commutative(op: MPI_Op, commute: *mut c_int) -> c_int {
    on_world("MPI_Op_commutative", |w| {
        out("commute", commute)?;
        // SAFETY: checked above.
        unsafe { *commute = c_int::from(w.objects.op(op)?.is_commutative()) };
        Ok(())
    })
}

pub unsafe fn reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> c_int {
    on_world("MPI_Reduce_local", |w| {
        let (op, ty) = local_operands(&w.objects, inbuf, inoutbuf, count, datatype, op)?;
        // The function may call MPI.
        // SAFETY: both buffers hold `count` elements and are not the same.
        w.outside(|| unsafe { op.apply(inbuf.cast(), inoutbuf.cast(), count, &ty) })
    })
}

fn local_operands(
    objects: &crate::object::Objects,
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: MPI_Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> Result<(Arc<Op>, Arc<Datatype>)> {
    for (name, buf) in [("inbuf", inbuf), ("inoutbuf", inoutbuf.cast_const())] {
        if core::ptr::eq(buf, MPI_IN_PLACE) {
            let text = format!("{name} is MPI_IN_PLACE, which this call does not allow");
            return Err(wrong(Class::Buffer, text));
        }
    }
    let ty = check::typed(objects, inbuf, count, datatype)?;
    check::incoming(objects, inoutbuf, count, datatype)?;
    let op = objects.op(op)?.clone();
    for_reductions(&op)?;
    op.check(&ty)?;
    apart(inbuf.cast(), inoutbuf.cast(), count.saturating_mul(ty.size()))?;
    Ok((op, ty))
}
