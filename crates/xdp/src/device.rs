//! One network interface that frames pass, as a process without privileges has it.

use crate::open::{Handed, Queue};
use crate::socket::Xsk;
use crate::umem::{Shares, Umem};
use std::io;
use std::net::IpAddr;

/// An interface that is to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub index: u32,
    /// The addresses at which datagrams are taken.
    pub addresses: Vec<IpAddr>,
}

/// How frames pass the interface, from the best way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// The driver runs the program and moves frames into our memory itself.
    ZeroCopy,
    /// The driver runs the program, frames are copied.
    Native,
    /// The kernel runs the program for any driver, frames are copied.
    Generic,
}

impl Mode {
    pub fn text(self) -> &'static str {
        match self {
            Mode::ZeroCopy => "native mode, zero-copy",
            Mode::Native => "native mode, copied",
            Mode::Generic => "generic mode, copied",
        }
    }
}

/// An interface in use.
pub struct Device {
    pub index: u32,
    pub mode: Mode,
    pub xsk: Xsk,
}

impl Device {
    /// Uses what has been handed over for the process of this local rank, of so many.
    ///
    /// # Errors
    /// It is not that, or the system refuses.
    pub fn new(
        index: u32,
        mode: Mode,
        handed: Handed,
        (local_rank, local_size): (u32, u32),
    ) -> io::Result<Device> {
        let Handed { socket, memory } = handed;
        let shares = Shares::new(local_size).filter(|shares| local_rank < shares.local_size);
        let umem = Umem::map(shares.ok_or(io::ErrorKind::InvalidInput)?, memory)?;
        let xsk = Xsk::new(socket, umem, local_rank, mode == Mode::ZeroCopy)?;
        Ok(Device { index, mode, xsk })
    }

    /// The device of the only process of a queue that this one has opened itself.
    ///
    /// # Errors
    /// The system refuses.
    pub fn alone(queue: &mut Queue, interface: &Interface, port: u16) -> io::Result<Device> {
        let handed = queue.hand_over(0, port, interface.addresses.iter().copied())?;
        Device::new(interface.index, queue.mode, handed, (0, 1))
    }
}
