//! `liboshmem.so.1`: OpenSHMEM 1.6 for C.
//!
//! It holds no protocol. `libmpi_abi.so.1` has the engine; this library starts a use of it (a session), and exposes the
//! symmetric heap and the program's static data through the table `hpvm_onesided_1`. Where the heap of a PE is
//! mapped, put, get and atomics are loads, stores and the processor's atomics at `bases[pe] + offset` (`state.rs`);
//! everything else goes through the table (`far.rs`). Collectives are MPI's, teams are communicators.
//!
//! `generated` has the C symbols, made from spec/shmem; each calls a function of `body` with its own name, for errors.

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("long and size_t are expected to have 64 bits, the lower half first");

/// Defines a function under its name and its profiling name.
macro_rules! entry {
    ($name:ident $profiling:ident ($($argument:ident: $ty:ty),*) $(-> $result:ty)? = $call:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) $(-> $result)? {
            // SAFETY: the program's promises, by the standard.
            unsafe { $call }
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiling($($argument: $ty),*) $(-> $result)? {
            // SAFETY: as above.
            unsafe { $call }
        }
    };
    ($name:ident $profiling:ident ($($argument:ident: $ty:ty),*) -> ! = $call:expr) => {
        entry!($name $profiling ($($argument: $ty),*) -> core::convert::Infallible = $call);
    };
}

mod body;
mod ends;
mod far;
mod generated;
mod long_double;
mod mpi;
mod place;
mod races;
mod settings;
mod shared_static;
mod state;
mod static_data;
mod types;
