//! Jobs, their states, the policy that starts them, the store that keeps them.

pub mod apply;
pub mod job;
pub mod policy;
pub mod stepd;
pub mod store;
pub mod time;
