//! Real jobs of several processes on a built installation: `cargo test -p hpvm-tests`.
//!
//! The installation is that of `HPVM_PREFIX`, or `build/` of this workspace. The programs are C
//! files in `tests/programs/`, compiled with the installation's own `mpicc` once per run. One
//! test binary holds all of it, so that no more jobs run at a time than there are processors.
//!
//! `HPVM_TEST_SEED=N` repeats the random moments of the kill tests; `HPVM_PEERS=DIR` says where
//! the other MPIs are (`peers/` of this workspace otherwise).

mod abi;
mod apps;
mod apps_aspcg;
mod apps_files;
mod apps_relativity;
mod apps_sam;
mod apps_sweep;
mod armci;
mod bindings;
mod bound;
mod bsp;
mod build_systems;
mod chain;
mod check;
mod common;
mod dynamic;
mod dynamic_hosts;
mod ends;
mod files;
mod flap;
mod fm;
mod forbidden;
mod foreign;
mod fortran;
mod hardware;
mod hosts;
mod install;
mod kill;
mod load;
mod long_run;
mod mistakes;
mod models;
mod mpi4py_hosts;
mod network;
mod ofi;
mod peers;
mod portals;
mod pvm;
mod pvm_fortran;
mod pvm_hosts;
mod queue_run;
mod random;
mod record;
mod recovery;
mod report;
mod sam;
mod shmem;
mod silence;
mod sites;
mod sites_coll;
mod sites_slurm;
mod sites_spawn;
mod solo;
mod strangers;
mod stripes;
mod stuck;
mod tables;
mod threads;
mod together;
mod traffic;
mod vm;
mod wrappers;
mod xdp;
mod xdp_native;
