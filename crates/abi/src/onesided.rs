//! One-sided operations for the libraries of other programming models, which hold no protocol: `liboshmem.so` and
//! `libarmci.so`.
//!
//! `libmpi_abi.so.1` exports the data symbol `hpvm_onesided_1`, a table of functions; the number is the version
//! of the layout. The engine must run (`MPI_Init`, or a session). Ranks are those of `mpi://WORLD`.
//!
//! A rank *exposes* memory and gets a key, plain bytes that the model exchanges as it likes. Who *attaches* a key
//! gets a target, and where the memory can be mapped its address: then the model may load, store and use the
//! processor's atomics there, as long as [`Attached::locked`] is 0. Everything else goes through the calls below.
//!
//! Calls return [`DONE`] or [`STARTED`], or else an error code of MPI, whose text `MPI_Error_string` gives on the same
//! thread. All may be called by several threads, if the thread level allows it.

use core::ffi::{c_int, c_void};

/// The operation is complete, at the other side too. For calls that transfer nothing: it has worked.
pub const DONE: c_int = 0;
/// The operation is complete at the other side once a later `flush` is done.
pub const STARTED: c_int = -1;

/// Names exposed memory.
pub type Key = [u8; 48];

/// Memory of a rank that this process has attached: an opaque pointer.
pub type Target = *mut c_void;

/// What `attach` finds.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Attached {
    pub target: Target,
    /// Where the memory lies in this process; null where it can't be mapped.
    pub base: *mut c_void,
    /// Not 0: atomics are done by calls alone, even if the memory is mapped.
    pub locked: c_int,
}

/// Bytes at `local` and at `offset` of the target.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Run {
    pub local: *mut c_void,
    pub offset: u64,
    pub len: usize,
}

/// Elements at `operand` and, as many, at `offset` of the target.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Update {
    pub operand: *const c_void,
    pub offset: u64,
    /// Elements.
    pub count: usize,
}

/// What elements of atomic operations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// As `F32` of any alignment: updated under the accumulate lock of the memory and never by the processor, so many of
    /// them at a time are fast. Atomic among themselves, and not with `F32`.
    LockedF32,
    /// The same of `F64`.
    LockedF64,
}

/// Atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Op {
    Sum,
    Prod,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// The operand replaces the element.
    Replace,
    /// The element stays as it is: an atomic read.
    Read,
}

/// `hpvm_onesided_1`.
#[repr(C)]
pub struct OneSided {
    /// Size of this structure where the library was built: a check against mixed installations.
    pub size: usize,
    /// Memory of whole pages that the ranks of the host can map, or where there is none, any. Null: there is no memory.
    pub allocate: unsafe extern "C" fn(bytes: usize) -> *mut c_void,
    /// Gives back what `allocate` or `allocate_at` returned, with the same size. Nobody uses it any more.
    pub release: unsafe extern "C" fn(memory: *mut c_void, bytes: usize),
    /// Lets others access `len` bytes at `memory` until `withdraw`.
    pub expose: unsafe extern "C" fn(memory: *mut c_void, len: usize, key: *mut Key) -> c_int,
    /// Ends what `expose` began, when nobody accesses the memory any more.
    pub withdraw: unsafe extern "C" fn(key: *const Key) -> c_int,
    /// Finds out how the memory of a key is reached. Valid until `detach`.
    pub attach: unsafe extern "C" fn(key: *const Key, attached: *mut Attached) -> c_int,
    /// Ends what `attach` began.
    pub detach: unsafe extern "C" fn(target: Target),
    /// Copies `len` bytes at `local` to the target. With `wait` other than 0 they are no longer needed when it returns,
    /// else when a later `flush` is done.
    pub put: unsafe extern "C" fn(
        target: Target,
        offset: u64,
        local: *const c_void,
        len: usize,
        wait: c_int,
    ) -> c_int,
    /// Copies `len` bytes of the target to `local`. With `wait` other than 0 they are there when it returns, else when a
    /// later `flush` is done.
    pub get: unsafe extern "C" fn(
        target: Target,
        offset: u64,
        local: *mut c_void,
        len: usize,
        wait: c_int,
    ) -> c_int,
    /// `put` of `count` runs as one operation, which is waited for.
    pub put_runs: unsafe extern "C" fn(target: Target, runs: *const Run, count: usize) -> c_int,
    /// `get` of `count` runs as one operation, which is waited for.
    pub get_runs: unsafe extern "C" fn(target: Target, runs: *const Run, count: usize) -> c_int,
    /// Updates `count` elements, each atomically. Values before go to `fetch` unless it is null. `wait` as for `get`.
    pub accumulate: unsafe extern "C" fn(
        target: Target,
        offset: u64,
        kind: Kind,
        op: Op,
        operand: *const c_void,
        count: usize,
        fetch: *mut c_void,
        wait: c_int,
    ) -> c_int,
    /// Replaces an element by `swap` if it has the bytes of `compare`. Its value before goes to `result`; `wait` as for
    /// `get`.
    pub compare_and_swap: unsafe extern "C" fn(
        target: Target,
        offset: u64,
        kind: Kind,
        compare: *const c_void,
        swap: *const c_void,
        result: *mut c_void,
        wait: c_int,
    ) -> c_int,
    /// Remote completion of all earlier operations at the ranks of these targets. Blocks.
    pub flush: unsafe extern "C" fn(targets: *const Target, count: usize) -> c_int,
    /// One step of progress, for a program that asks again and again: it gives way to others as waiting does.
    pub progress: unsafe extern "C" fn() -> c_int,
    /// Blocks until `ready` returns other than 0: memory that others store to has changed. `ready` calls nothing of MPI or
    /// of this table.
    pub wait: unsafe extern "C" fn(
        ready: unsafe extern "C" fn(*mut c_void) -> c_int,
        state: *mut c_void,
    ) -> c_int,
    /// Ends the job with exit code `code`, which may be 0, without a word.
    pub end_job: unsafe extern "C" fn(code: c_int) -> !,
    /// `put_runs` that is not waited for: the local memory is needed until a later `flush` is done, `runs` is not.
    pub start_put_runs:
        unsafe extern "C" fn(target: Target, runs: *const Run, count: usize) -> c_int,
    /// `get_runs` that is not waited for: the bytes are there once a later `flush` is done.
    pub start_get_runs:
        unsafe extern "C" fn(target: Target, runs: *const Run, count: usize) -> c_int,
    /// `accumulate` of `count` runs of elements as one operation, without values before. With `wait` other than 0 the
    /// operands are no longer needed when it returns, else when a later `flush` is done.
    pub accumulate_runs: unsafe extern "C" fn(
        target: Target,
        kind: Kind,
        op: Op,
        updates: *const Update,
        count: usize,
        wait: c_int,
    ) -> c_int,
    /// Sends small puts and updates that have gathered to share packets, because somebody waits for the last of them. Without it they
    /// leave with the next answer, full packet, `flush`, `progress` or `wait`.
    pub hasten: unsafe extern "C" fn() -> c_int,
    /// 1: ranks of this host have to share processors, by their number, their bindings and `HPVM_OVERSUBSCRIBED`, so that waiting for
    /// memory without the engine would be long. 0: each has one. The same on all ranks of the host.
    pub shares_processors: unsafe extern "C" fn() -> c_int,
    /// As `allocate`, at this address, a multiple of a page. Null also where something else lies there, or where the memory could be mapped
    /// at other addresses only.
    pub allocate_at: unsafe extern "C" fn(address: usize, bytes: usize) -> *mut c_void,
    /// Names the function that is called by a thread that waits, in whatever call, when nothing has come for half a second; ever more
    /// rarely as long as nothing comes. It may call MPI and this table. If it returns other than 0, it is called again soon, after that
    /// thread has looked once more for what it waits for. `None`: no more.
    pub on_long_wait: unsafe extern "C" fn(call: Option<LongWait>),
}

/// See [`OneSided::on_long_wait`].
pub type LongWait = unsafe extern "C" fn() -> c_int;
