//! UDP datagrams past the kernel: AF_XDP sockets (XSK).
//!
//! What is on the wire are ordinary UDP datagrams of a port that a UDP socket of the process holds, so
//! the peer may use XDP or not. A program on the interface ([`program`]) gives the datagrams for that port to
//! the process's XSK (`socket`, over the rings of `ring` in the memory of `umem`), and leaves everything else to
//! the kernel. The process writes Ethernet, IP and UDP headers itself (`frame`); which way a datagram takes
//! and to whose MAC address it goes the kernel is asked (`netlink`, `destinations`). Whatever can't go
//! this way is left to the UDP socket.
//!
//! Nothing outlives the process: the program is attached by a link, and link, maps and sockets are
//! descriptors without names.

mod bpf;
mod destinations;
mod device;
mod frame;
mod insn;
#[cfg(test)]
mod interpreter;
pub mod netlink;
pub mod program;
mod ring;
mod socket;
mod umem;
mod xdp;

pub use bpf::{Kind as BpfKind, ids, maps_of};
pub use device::{Interface, Mode, probe};
pub use xdp::{Received, Tally, Xdp};
