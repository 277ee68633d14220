//! What the functions do. Each gets the name of the function that the program called first, for errors.

pub mod accumulate;
pub mod domain;
pub mod global;
pub mod group;
pub mod handle;
pub mod memory;
pub mod message;
pub mod mutex;
pub mod notify;
pub mod order;
pub mod reduce;
pub mod rmw;
pub mod start;
pub mod strided;
pub mod transfer;
pub mod value;
pub mod vector;
