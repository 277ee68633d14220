//! Jobs, their states, the policy that starts them, the store that keeps them, what runs them.
//!
//! No HTTP and no terminal. Read [`job`], then [`apply`] (a job's life, pure), [`policy`] (who
//! starts when, pure), [`manager`] (the thread that brings all together), [`driver`] and [`stepd`]
//! (what runs a job, and survives us).

pub mod account;
pub mod apply;
pub mod attempt;
pub mod check;
pub mod describe;
pub mod driver;
pub mod job;
pub mod manager;
pub mod name;
pub mod node;
pub mod policy;
pub mod processors;
pub mod program;
pub mod slurm;
pub mod stepd;
pub mod store;
pub mod time;
