//! PVM 3.4 without C and without the system: what a message holds ([`body`]), buffers by number and the queue of
//! received messages ([`buffers`]), receives that wait ([`posted`]), the state of a virtual machine ([`machine`]) and what its tasks and it say to
//! each other ([`protocol`]). Of the system there is only the connection that they do it by ([`connection`]).

pub mod body;
pub mod buffers;
pub mod connection;
pub mod element;
pub mod error;
pub mod hostfile;
pub mod limit;
pub mod machine;
pub mod posted;
pub mod protocol;
pub mod record;
pub mod search;
pub mod tid;
pub mod wire;

pub use error::Code;
pub use tid::Tid;
