//! Dynamic processes (chapter 11.8 to 11.10): of these, only what any communicator may need.

pub use super::comm::disconnect as comm_disconnect;
