//! `libarmci.so.1`: ARMCI for C, on which Global Arrays stand.
//!
//! It holds no protocol. `libmpi_abi.so.1` has the engine; this library starts a use of it (a session), and exposes what
//! programs allocate through the table `hpvm_onesided_1`. Where memory of a process is mapped, put, get and
//! read-modify-write are copies and the processor's atomics (`state.rs` finds the place); everything else goes through the
//! table. Messages, reductions and groups are MPI's.
//!
//! `entries.rs` has the C symbols; each calls a function of `body` with its own name, for errors. Programs call MPI by
//! whatever ABI they were compiled for: `program.rs`.

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("long and pointers are expected to have 64 bits, the lower half first");

mod body;
mod entries;
mod exposed;
mod program;
mod races;
mod state;
mod types;
