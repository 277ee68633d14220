//! Packets for the libraries of other programming models whose messages need no matching: `libportals.so.4` and
//! `libsam.so.1`.
//!
//! `libmpi_abi.so.1` exports the data symbol `hpvm_models_1`, a table of functions; the number is the version of the
//! layout. The engine must run (`MPI_Init`, or a session). Ranks are those of `mpi://WORLD`.
//!
//! Packets from one rank to another arrive in order. They are copied when a call returns; those that have come wait in
//! this process, whichever call makes progress, until the model takes them, some MiB of them; then more wait at their senders. All functions may be called by several threads,
//! if the thread level allows it.

use crate::constants::MPI_Request;
use core::ffi::{c_int, c_uint, c_void};

/// A model: its packets are apart from those of others.
pub const PORTALS: c_uint = 0;
pub const SAM: c_uint = 1;
/// Models that there may be.
pub const COUNT: usize = 7;

/// Bytes of a packet at most: what every transport carries as one.
pub const PACKET: usize = 8192;

/// In place of a length: no packet has come.
pub const NOTHING: isize = -1;

/// What `take` and `wait` return that is less than [`NOTHING`] is an error of MPI: its code, whose text `MPI_Error_string`
/// gives on the same thread.
pub fn error_of(length: isize) -> c_int {
    (NOTHING - length) as c_int
}

/// See [`Models::visit`]: `context`, the sender, the packet and its length. The packet is there until this returns. 0: show no more.
pub type Show = unsafe extern "C" fn(
    context: *mut c_void,
    from: c_uint,
    packet: *const u8,
    len: usize,
) -> c_int;

/// Whether and how [`Models::visit`] blocks.
pub const LOOKS: c_int = 0;
pub const BLOCKS: c_int = 1;
/// It blocks, and it is an error that a rank of the job has died, where the job goes on without it.
pub const BLOCKS_FOR_ALL: c_int = 2;

/// See [`Models::serve`].
pub type Serve = unsafe extern "C" fn() -> c_int;

/// `hpvm_models_1`.
#[repr(C)]
pub struct Models {
    /// Size of this structure where the library was built: a check against mixed installations.
    pub size: usize,
    /// Sends a packet, the bytes at `head` followed by those at `data`, of which both together have at most [`PACKET`]. 0, or
    /// an error code of MPI.
    pub send: unsafe extern "C" fn(
        model: c_uint,
        to: c_uint,
        head: *const u8,
        head_len: usize,
        data: *const u8,
        len: usize,
    ) -> c_int,
    /// Packets of the model that wait to leave, because their receivers take no more. Progress sends them.
    pub unsent: unsafe extern "C" fn(model: c_uint) -> usize,
    /// Takes the oldest packet into `place`, which has room for the longest, and says whose it is: its length, or
    /// [`NOTHING`]. Makes a step of progress if none is there, for a program that asks again and again.
    pub take: unsafe extern "C" fn(model: c_uint, place: *mut u8, from: *mut c_uint) -> isize,
    /// The same, and blocks until there is one. [`NOTHING`]: one of `count` requests is done, or another thread has called
    /// `wake`. Requests are those of sends, receives and non-blocking collectives. With `needs_all` other than 0 it is an error
    /// that a rank of the job has died, where the job goes on without it.
    pub wait: unsafe extern "C" fn(
        model: c_uint,
        place: *mut u8,
        from: *mut c_uint,
        requests: *const MPI_Request,
        count: usize,
        needs_all: c_int,
    ) -> isize,
    /// Shows packets to `show` where they lie, which takes them so, the oldest first: as many as are there one behind the other, until
    /// `show` returns 0. Says how many, or an error as `wait` does. Without one it makes a step of progress, as `take`; where
    /// `blocks` is not [`LOOKS`] it blocks, as `wait`, and 0 means what [`NOTHING`] means there. `show` is called inside the engine: it calls no
    /// function of this library and does not block.
    pub visit: unsafe extern "C" fn(
        model: c_uint,
        show: Show,
        context: *mut c_void,
        requests: *const MPI_Request,
        count: usize,
        blocks: c_int,
    ) -> isize,
    /// Ends a `wait` or a `visit` that blocks of another thread; if there is none, the next one.
    pub wake: unsafe extern "C" fn(model: c_uint),
    /// Names a function, or none, that progress calls when packets have come and no `wait`, `take` or `visit` of the model is there to have
    /// them. It takes them and does not block; it is called outside of the engine, on the thread that made progress, by one thread at a
    /// time. From when it is named, again maybe, until it returns 0 it is also called after progress that may have ended a
    /// request.
    pub serve: unsafe extern "C" fn(model: c_uint, serve: Option<Serve>),
}
