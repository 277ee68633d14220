//! Multi-process tests and their runner.
//!
//! The programs are C files in `tests/conformance/`; each tests one part of the MPI 5.0 standard
//! and knows nothing of hpvm, so that the same list also runs on another MPI: a test that is
//! wrong about the standard is found out there. `testlist` says how each is run ([`list`]),
//! [`build`] compiles them, [`process`] runs one under a launcher with a time limit, and
//! [`suite`] puts the three together. [`instructions`] counts those of the
//! main paths. [`processes`] finds those of a test in `/proc`. [`hosts`] makes test hosts of network namespaces. [`skip`] counts what cannot run here,
//! [`watchdog`] ends tests that wait for ever, and [`wan`] is a slow cable between two hosts.

pub mod build;
pub mod hosts;
pub mod instructions;
pub mod list;
pub mod process;
pub mod processes;
pub mod skip;
pub mod slurm;
pub mod suite;
pub mod wan;
pub mod watchdog;
