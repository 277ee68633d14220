//! What members of a communicator tell each other of a collective call, and whether their calls belong
//! together.

use crate::generated::constants::MPI_ROOT;
use hpvm_mpi::Comm;
use hpvm_mpi::op::Op;
use std::cell::Cell;

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
    fn bytes(&self, operation: &str, is_root: bool) -> i64 {
        match operation {
            "bcast" | "allgather" | "alltoall" => self.got.get(),
            "gather" if is_root => self.got.get(),
            "gather" => self.sent.get(),
            "scatter" if is_root => self.sent.get(),
            "scatter" => self.got.get(),
            _ => self.reduced.get(),
        }
    }

    /// The same on an intercommunicator, where the two directions have lengths of their own.
    fn bytes_between(&self, operation: &str) -> i64 {
        if matches!(operation, "allreduce" | "reduce") { self.reduced.get() } else { -1 }
    }
}

/// The operation of a function, blocking or not: "bcast" of "MPI_Bcast" and of "MPI_Ibcast".
fn operation(function: &str) -> String {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    let name = match name.strip_prefix('I') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => rest,
        _ => name,
    };
    name.to_ascii_lowercase()
}

/// Bytes of a function's name in a record.
const NAME: usize = 40;
pub(super) const BYTES: usize = NAME + 5 * 8;

/// What a member calls, as it is sent: the function, and [`ROOT`] and its kin.
pub(super) type Record = [u8; BYTES];

/// The numbers of a record.
const ROOT: usize = 0;
const LENGTH: usize = 1;
const OP: usize = 2;
const RANK: usize = 3;
/// One more than the process, on an intercommunicator; else 0.
const PROCESS: usize = 4;

pub(super) fn record(comm: &Comm, function: &str, notes: &Notes) -> Record {
    let process = match comm.is_inter() {
        true => comm.group().process(comm.rank()).map_or(0, |process| i64::from(process) + 1),
        false => 0,
    };
    record_of(comm.rank(), process, function, notes)
}

fn record_of(rank: u32, process: i64, function: &str, notes: &Notes) -> Record {
    let (is_root, operation) = (notes.root.get() == i64::from(rank), operation(function));
    let bytes = match process {
        0 => notes.bytes(&operation, is_root),
        _ => notes.bytes_between(&operation),
    };
    let mut out = [0; BYTES];
    let name = &function.as_bytes()[..function.len().min(NAME)];
    out[..name.len()].copy_from_slice(name);
    let numbers = [notes.root.get(), bytes, notes.op.get(), i64::from(rank), process];
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

/// Whether the calls belong together. What one side leaves open (an `MPI_IN_PLACE` that says no length)
/// agrees with everything.
pub(super) fn agree(a: &Record, b: &Record) -> bool {
    let same = |i| number(a, i) == number(b, i);
    let open = |i| number(a, i) == -1 || number(b, i) == -1;
    let length = same(LENGTH) || number(a, LENGTH) < 0 || number(b, LENGTH) < 0;
    let between = number(a, PROCESS) != 0;
    let arguments = match between {
        true => roots_agree(a, b) && (same(OP) || open(OP)),
        false => same(ROOT) && same(OP),
    };
    a[..NAME] == b[..NAME] && length && arguments
}

/// Roots of an operation between two groups: in one of them the root says so and the others name nobody, in
/// the other all name the root.
fn roots_agree(a: &Record, b: &Record) -> bool {
    let named = |record| match number(record, ROOT) {
        root if root == i64::from(MPI_ROOT) => Some(number(record, RANK)),
        root => (root >= 0).then_some(root),
    };
    named(a).zip(named(b)).is_none_or(|(a, b)| a == b)
}

/// "rank 2 calls MPI_Bcast (root 1, 64 bytes)".
pub(super) fn describe(record: &Record) -> String {
    let mut arguments = Vec::new();
    match number(record, ROOT) {
        -1 => {}
        root if root == i64::from(MPI_ROOT) => arguments.push("MPI_ROOT".into()),
        root if root < -1 => arguments.push("root MPI_PROC_NULL".into()),
        root => arguments.push(format!("root {root}")),
    }
    if number(record, LENGTH) != -1 {
        arguments.push(format!("{} bytes", number(record, LENGTH)));
    }
    match number(record, OP) {
        -1 => {}
        OWN => arguments.push("an operation of its own".into()),
        op => arguments.push(op_name(op)),
    }
    let arguments = match arguments.is_empty() {
        true => String::new(),
        false => format!(" ({})", arguments.join(", ")),
    };
    let who = match number(record, PROCESS) {
        0 => String::new(),
        process => format!(" of the group of process {}", process - 1),
    };
    format!("rank {}{who} calls {}{arguments}", number(record, RANK), name(record))
}

fn op_name(op: i64) -> String {
    let all = hpvm_mpi::op::Predef::ALL.iter();
    let found = all.into_iter().find(|p| **p as i64 == op);
    found.map_or_else(|| format!("operation {op}"), |p| p.name().to_owned())
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
        let bcast = |rank, root, bytes| record_of(rank, 0, "MPI_Bcast", &with(root, bytes));
        assert!(agree(&bcast(0, 1, 64), &bcast(5, 1, 64)));
        assert!(!agree(&bcast(0, 1, 64), &bcast(5, 2, 64)));
        assert!(!agree(&bcast(0, 1, 64), &bcast(5, 1, 60)));
        assert!(!agree(&bcast(0, 1, 64), &record_of(5, 0, "MPI_Scatterv", &with(1, 64))));
        // Blocks of a gather: what the root takes and what the others give.
        let (root, leaf) = (with(0, 8), with(0, -1));
        root.sent.set(999);
        leaf.sent.set(8);
        assert!(agree(
            &record_of(0, 0, "MPI_Gather", &root),
            &record_of(1, 0, "MPI_Gather", &leaf)
        ));
    }

    #[test]
    fn calls_that_wait_later_are_compared_by_the_same_rules() {
        assert_eq!(
            (operation("MPI_Ibcast"), operation("MPI_Bcast")),
            ("bcast".into(), "bcast".into())
        );
        let ibcast = |bytes| record_of(0, 0, "MPI_Ibcast", &with(1, bytes));
        assert!(agree(&ibcast(64), &ibcast(64)) && !agree(&ibcast(64), &ibcast(60)));
        assert!(
            !agree(&ibcast(64), &record_of(0, 0, "MPI_Bcast", &with(1, 64))),
            "they never match"
        );
    }

    #[test]
    fn between_two_groups_the_root_is_one() {
        let of = |rank, process, root| record_of(rank, process, "MPI_Bcast", &with(root, 64));
        let root = of(2, 3, i64::from(MPI_ROOT));
        assert!(agree(&root, &of(0, 9, 2)) && !agree(&root, &of(0, 9, 1)));
        assert!(agree(&of(1, 2, -3), &of(0, 9, 2)));
        assert_eq!(describe(&root), "rank 2 of the group of process 2 calls MPI_Bcast (MPI_ROOT)");
    }

    #[test]
    fn a_call_is_described() {
        let text = describe(&record_of(2, 0, "MPI_Bcast", &with(1, 64)));
        assert_eq!(text, "rank 2 calls MPI_Bcast (root 1, 64 bytes)");
        assert_eq!(
            describe(&record_of(0, 0, "MPI_Barrier", &Notes::new())),
            "rank 0 calls MPI_Barrier"
        );
        let notes = Notes::new();
        notes.reduced.set(8);
        notes.note_op(&Op::Predefined(hpvm_mpi::op::Predef::Sum));
        let text = describe(&record_of(1, 0, "MPI_Allreduce", &notes));
        assert_eq!(text, "rank 1 calls MPI_Allreduce (8 bytes, MPI_SUM)");
    }
}
