//! Jobs, their states, the policy that starts them, the store that keeps them.

pub mod job;
pub mod time;
