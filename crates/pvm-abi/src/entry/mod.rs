//! The C functions, by chapter.

pub mod buffer;
pub mod group;
pub mod handler;
pub mod hostfile;
pub mod machine;
pub mod mailbox;
pub mod message;
pub mod option;
pub mod pack;
pub mod reduce;
pub mod task;
pub mod varargs;
