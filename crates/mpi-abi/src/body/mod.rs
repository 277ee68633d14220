//! The functions of the ABI behind their C entry points, a module per chapter (`spec/*.toml`).
//!
//! Every body is `pub unsafe fn` with one safety rule, that of the entry points: the caller keeps
//! the promises of the MPI standard about its arguments.
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

pub mod agree;
pub mod attr;
pub mod buffer;
pub mod check;
pub mod coll;
pub mod comm;
pub mod convert;
pub mod datatype;
pub mod env;
pub mod errh;
pub mod group;
pub mod info;
pub mod io;
pub mod op;
pub mod pt2pt;
pub mod rma;
pub mod session;
pub mod spawn;
pub mod tool;
pub mod topo;
pub mod watch;
