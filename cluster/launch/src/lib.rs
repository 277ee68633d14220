//! Starts ranks on hosts, forwards signals and output, cleans up: the library behind `hpvm run`,
//! `mpirun` and `mpiexec`.
//!
//! The way of a job: [`args`] reads the command line by the table in [`flags`]; [`run`] finds the
//! programs ([`program`]), makes their [`environment`] and gives a plan to the [`executor`], which
//! performs what the [`dispatcher`] decides. Decisions are pure (the dispatcher, the process
//! manager's protocol in [`pmi`], the joining of lines in [`output::mux`]) and tested with made-up
//! events; system calls are in the executor and [`sys`].
//!
//! A job of several hosts is [`spread`] over them ([`hosts`], [`place`], [`slurm`]); [`remote`] has
//! the agents that start ranks there. [`place`] also says to which part of a host each rank is
//! bound; [`loaded`] finds out whether ranks use another MPI.
//!
//! Processes of a job: the launcher; its guardian, which ends the job should the launcher be
//! killed; each rank, in a process group of its own.

pub mod args;
pub mod clock;
pub mod dispatcher;
pub mod display;
pub mod environment;
mod errand;
pub mod errands;
pub mod error;
pub mod executor;
pub mod family;
pub mod flags;
pub mod help;
pub mod hostlist;
pub mod hosts;
pub mod lifeline;
pub mod limits;
pub mod linkage;
pub mod loaded;
pub mod loss;
mod name_server;
pub mod output;
pub mod place;
pub mod pmi;
pub mod program;
pub mod remote;
pub mod restart;
pub mod run;
pub mod sites;
pub mod slurm;
pub mod spread;
pub mod sys;
pub mod text;
pub mod text_file;

pub use args::{Parsed, Request, parse};
pub use error::LaunchError;
pub use run::{main, run};
