//! What the functions do, by subject. All get the name that the program called first, for errors.

pub mod amo;
pub mod cache;
pub mod coll;
pub mod context;
pub mod held;
pub mod lock;
pub mod memory;
pub mod order;
pub mod query;
pub mod rma;
pub mod set;
pub mod signal;
pub mod start;
pub mod strided;
pub mod team;
pub mod wait;
