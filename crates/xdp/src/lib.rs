//! UDP datagrams past the kernel: AF_XDP sockets (XSK).
//!
//! What is on the wire are ordinary UDP datagrams of a port that a UDP socket of the process holds, so
//! the peer may use XDP or not. A program on the interface ([`program`]) gives the datagrams for that port to
//! the process's XSK (`socket`, over its own rings, `ring`, and those of all processes of the job on this host, `shared_ring`, in
//! the memory of `umem`), and leaves everything else to
//! the kernel. The process writes Ethernet, IP and UDP headers itself (`frame`); which way a datagram takes
//! and to whose MAC address it goes the kernel is asked (`netlink`, `destinations`). Whatever can't go
//! this way is left to the UDP socket.
//!
//! All that takes privileges is in `open`. A helper does it ([`serve`]), for processes that ask it (`helper`, `message`)
//! and need none themselves.
//!
//! Nothing outlives the helper, which ends after the last process: the program is attached by a link, and link, maps and sockets are
//! descriptors without names.

mod bpf;
mod destinations;
mod device;
mod features;
mod frame;
mod helper;
mod insn;
#[cfg(test)]
mod interpreter;
mod message;
pub mod netlink;
mod open;
pub mod program;
mod ring;
mod serve;
mod shared_ring;
mod socket;
mod umem;
mod xdp;

pub use bpf::{Kind as BpfKind, ids, maps_of};
pub use device::{Device, Interface, Mode};
pub use features::{expected, worth};
pub use helper::{GRANT, Granted, HELPER, Helper, usable};
pub use open::{Queue, Refusal, Why, Wish, probe};
pub use serve::serve;
pub use xdp::{Received, Tally, Xdp};
