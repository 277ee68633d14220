//! `libportals.so.4`: Portals 4.3 in C (include/portals4.h) over `libmpi_abi.so.1`, which holds the engine.
//!
//! What interfaces and their objects do is in hpvm-portals. Here are the entry points with their checks, the program's memory
//! ([`memory`]), the communicator by which packets and data travel ([`carrier`]), and who waits for them ([`progress`]). One lock
//! guards all of it.
//!
//! The safety of every entry point is C's: pointers are null, or point to what the call says.
#![allow(clippy::missing_safety_doc)]
#![allow(non_snake_case, reason = "names of the C interface")]

mod carrier;
mod counter;
mod interface;
mod memory;
mod operation;
mod process;
mod progress;
mod queue;
mod runtime;
mod table;
mod triggered;
mod types;
mod visit;
