//! Comparing the calls that the members of a communicator make.
//!
//! Before a blocking collective runs, every member tells rank 0 what it calls, and rank 0 tells
//! all whether they agree. The messages travel on the communicator's context for partitioned
//! messages, with a tag that those do not use (theirs are negative first), so a member that is in
//! another kind of call never takes them for its own. Intercommunicators are not compared.

use crate::runtime::{Entered, World};
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::engine::matching::Pattern;
use hpvm_mpi::error::Result;
use hpvm_mpi::op::Op;
use hpvm_mpi::pt2pt::{Incoming, Mode, Outgoing, Started};
use hpvm_mpi::{Channel, Class, Comm, Error, ReqId};
use std::cell::Cell;
use std::sync::Arc;

/// Tag of the messages. Every member compares the calls on a communicator one after the other,
/// and messages of one pair do not overtake each other.
const TAG: i32 = hpvm_wire::pending::COMPARE_TAG;

/// What a call tells about its arguments while it checks them. A number is -1 where the operation
/// has no such argument.
#[derive(Debug)]
pub struct Notes {
    /// Argument root.
    pub root: Cell<i64>,
    /// Bytes of the send buffer, of one block.
    pub sent: Cell<i64>,
    /// Bytes of the receive buffer, of one block.
    pub got: Cell<i64>,
    /// Bytes that are reduced.
    pub reduced: Cell<i64>,
    /// Number of the predefined operation; of the program's own, `OWN`.
    pub op: Cell<i64>,
}

/// An operation made by the program.
const OWN: i64 = -2;

impl Notes {
    pub fn new() -> Notes {
        let none = || Cell::new(-1);
        Notes { root: none(), sent: none(), got: none(), reduced: none(), op: none() }
    }

    /// The operation of a reduction.
    pub fn note_op(&self, op: &Op) {
        self.op.set(match op {
            Op::Predefined(p) => *p as i64,
            Op::User(_) | Op::Internal(_) => OWN,
        });
    }

    /// The bytes that must be the same at all members, -1 where the standard lets them differ.
    fn bytes(&self, function: &str, is_root: bool) -> i64 {
        match function {
            "MPI_Bcast" | "MPI_Allgather" | "MPI_Alltoall" => self.got.get(),
            "MPI_Gather" if is_root => self.got.get(),
            "MPI_Gather" => self.sent.get(),
            "MPI_Scatter" if is_root => self.sent.get(),
            "MPI_Scatter" => self.got.get(),
            _ => self.reduced.get(),
        }
    }
}

/// Bytes of a function's name in a record.
const NAME: usize = 40;
const BYTES: usize = NAME + 4 * 8;

/// What a member calls, as it is sent.
type Record = [u8; BYTES];

fn record(rank: u32, function: &str, notes: &Notes) -> Record {
    let is_root = notes.root.get() == i64::from(rank);
    let mut out = [0; BYTES];
    let name = &function.as_bytes()[..function.len().min(NAME)];
    out[..name.len()].copy_from_slice(name);
    let numbers =
        [notes.root.get(), notes.bytes(function, is_root), notes.op.get(), i64::from(rank)];
    for (to, number) in out[NAME..].chunks_exact_mut(8).zip(numbers) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    out
}

fn number(record: &Record, index: usize) -> i64 {
    let word = record[NAME + index * 8..][..8].try_into();
    i64::from_le_bytes(word.unwrap_or_default())
}

fn name(record: &Record) -> String {
    let end = record[..NAME].iter().position(|b| *b == 0).unwrap_or(NAME);
    String::from_utf8_lossy(&record[..end]).into_owned()
}

/// The record without the rank: equal for calls that belong together. What one side leaves open
/// (an `MPI_IN_PLACE` that says no length) agrees with everything.
fn agree(a: &Record, b: &Record) -> bool {
    let same = |i| number(a, i) == number(b, i);
    let bytes = same(1) || number(a, 1) < 0 || number(b, 1) < 0;
    a[..NAME] == b[..NAME] && same(0) && bytes && same(2)
}

/// "rank 2 calls MPI_Bcast (root 1, 64 bytes)".
fn describe(record: &Record) -> String {
    let mut arguments = Vec::new();
    if number(record, 0) != -1 {
        arguments.push(format!("root {}", number(record, 0)));
    }
    if number(record, 1) != -1 {
        arguments.push(format!("{} bytes", number(record, 1)));
    }
    match number(record, 2) {
        -1 => {}
        OWN => arguments.push("an operation of its own".into()),
        op => arguments.push(op_name(op)),
    }
    let arguments = match arguments.is_empty() {
        true => String::new(),
        false => format!(" ({})", arguments.join(", ")),
    };
    format!("rank {} calls {}{arguments}", number(record, 3), name(record))
}

fn op_name(op: i64) -> String {
    let all = hpvm_mpi::op::Predef::ALL.iter();
    let found = all.into_iter().find(|p| **p as i64 == op);
    found.map_or_else(|| format!("operation {op}"), |p| p.name().to_owned())
}

/// Compares what the members of `comm` are about to call. Blocks. The error, the same on every
/// member, names the first one that differs from rank 0.
pub fn compare(w: &mut Entered, comm: &Arc<Comm>, function: &str, notes: &Notes) -> Result<()> {
    if comm.is_inter() || comm.size() == 1 {
        return Ok(());
    }
    let own = record(comm.rank(), function, notes);
    // Two records: rank 0's and the one that differs. Both rank 0's when all agree.
    let mut verdict = [own, own];
    if comm.rank() == 0 {
        for member in 1..comm.size() {
            let mut theirs = [0; BYTES];
            receive(w, comm, member, &mut theirs)?;
            if agree(&verdict[0], &verdict[1]) && !agree(&own, &theirs) {
                verdict[1] = theirs;
            }
        }
        for member in 1..comm.size() {
            send(w, comm, member, verdict.as_flattened())?;
        }
    } else {
        send(w, comm, 0, &own)?;
        receive(w, comm, 0, verdict.as_flattened_mut())?;
    }
    let [first, other] = &verdict;
    if agree(first, other) {
        return Ok(());
    }
    let text = format!("{} while {}", describe(other), describe(first));
    Err(Error::new(Class::NotSame, text))
}

fn process(comm: &Comm, rank: u32) -> Result<u32> {
    comm.group().process(rank).ok_or_else(|| Class::Intern.into())
}

fn send(w: &mut Entered, comm: &Arc<Comm>, to: u32, bytes: &[u8]) -> Result<()> {
    let (dst, context) = (process(comm, to)?, comm.context(Channel::Partitioned));
    let ty = Datatype::byte();
    let m = Outgoing { buf: bytes.as_ptr(), count: bytes.len() as i64, ty };
    // SAFETY: `bytes` outlive the call, which waits until they have been sent.
    match unsafe { w.process.send(m, dst, context, TAG, Mode::Standard, None) } {
        Started::Done => Ok(()),
        Started::Pending(id) => finish(w, id),
    }
}

fn receive(w: &mut Entered, comm: &Arc<Comm>, from: u32, bytes: &mut [u8]) -> Result<()> {
    let pattern = Pattern { src: process(comm, from)?, tag: TAG };
    let count = bytes.len() as i64;
    let m = Incoming { buf: bytes.as_mut_ptr(), count, ty: Datatype::byte() };
    let world: &mut World = w;
    // SAFETY: `bytes` outlive the call, which waits until they have come.
    let id = unsafe { world.process.recv(m, comm, Channel::Partitioned, pattern, None) };
    finish(w, id)
}

fn finish(w: &mut Entered, id: ReqId) -> Result<()> {
    w.complete(id).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(root: i64, got: i64) -> Notes {
        let notes = Notes::new();
        notes.root.set(root);
        notes.got.set(got);
        notes
    }

    #[test]
    fn calls_that_belong_together_agree() {
        let bcast = |rank, root, bytes| record(rank, "MPI_Bcast", &with(root, bytes));
        assert!(agree(&bcast(0, 1, 64), &bcast(5, 1, 64)));
        assert!(!agree(&bcast(0, 1, 64), &bcast(5, 2, 64)));
        assert!(!agree(&bcast(0, 1, 64), &bcast(5, 1, 60)));
        assert!(!agree(&bcast(0, 1, 64), &record(5, "MPI_Scatterv", &with(1, 64))));
        // Blocks of a gather: what the root takes and what the others give.
        let (root, leaf) = (with(0, 8), with(0, -1));
        root.sent.set(999);
        leaf.sent.set(8);
        assert!(agree(&record(0, "MPI_Gather", &root), &record(1, "MPI_Gather", &leaf)));
    }

    #[test]
    fn a_call_is_described() {
        let text = describe(&record(2, "MPI_Bcast", &with(1, 64)));
        assert_eq!(text, "rank 2 calls MPI_Bcast (root 1, 64 bytes)");
        assert_eq!(describe(&record(0, "MPI_Barrier", &Notes::new())), "rank 0 calls MPI_Barrier");
        let notes = Notes::new();
        notes.reduced.set(8);
        notes.note_op(&Op::Predefined(hpvm_mpi::op::Predef::Sum));
        let text = describe(&record(1, "MPI_Allreduce", &notes));
        assert_eq!(text, "rank 1 calls MPI_Allreduce (8 bytes, MPI_SUM)");
    }
}
