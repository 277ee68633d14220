//! One network interface that frames pass, as a process without privileges has it.

use crate::open::{Handed, Queue, Refusal, explain};
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
    /// Maps what has been handed over for the process of this local rank, of so many. It can be used once it is bound.
    ///
    /// # Errors
    /// It is not that, or the system refuses.
    pub fn new(
        index: u32,
        handed: Handed,
        (local_rank, local_size): (u32, u32),
    ) -> io::Result<Device> {
        let Handed { socket, first, memory } = handed;
        let shares = Shares::new(local_size).filter(|shares| local_rank < shares.local_size);
        let umem = Umem::map(shares.ok_or(io::ErrorKind::InvalidInput)?, memory)?;
        let xsk = Xsk::new(socket, &first, umem, local_rank)?;
        Ok(Device { index, mode: Mode::Generic, xsk })
    }

    /// It is bound, in this mode.
    pub fn set_bound(&mut self, mode: Mode) {
        self.mode = mode;
        self.xsk.zero_copy = mode == Mode::ZeroCopy;
    }

    /// The device of the only process of a queue that this one has opened itself, bound.
    ///
    /// # Errors
    /// The system refuses.
    pub fn alone(queue: &mut Queue, interface: &Interface, port: u16) -> Result<Device, Refusal> {
        let failed = |error: io::Error| explain(&interface.name, &error);
        let handed = queue.hand_over(0).map_err(failed)?;
        let mut device = Device::new(interface.index, handed, (0, 1)).map_err(failed)?;
        device.set_bound(queue.bind()?.0);
        queue.take(0, port, interface.addresses.iter().copied()).map_err(failed)?;
        Ok(device)
    }
}
