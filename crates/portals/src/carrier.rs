//! What an interface needs of the world: packets to other processes, and the program's memory.

use crate::memory::Region;
use crate::slab::Id;
use crate::wire::{Head, Reply};

/// Bytes that go with a header.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    None,
    Memory { region: &'a Region, offset: u64, length: u64 },
    Bytes(&'a [u8]),
}

/// Data that goes by itself. Between two processes, what is sent for one `purpose` arrives in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A put whose target has asked for the data.
    Put,
    /// A put whose data follows its header.
    Push,
    Get,
}

/// One of several transfers that an interface has started, told when it is done, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub purpose: Purpose,
    /// Whether this process sends.
    pub sends: bool,
    pub id: Id,
}

/// Memory that cannot be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inaccessible;

/// The process cannot be reached any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable;

pub trait Carrier {
    /// Sends a packet. The data has been copied when this returns, and is at most [`crate::EAGER`] bytes. Packets to
    /// one process arrive in order. Memory that cannot be read goes as zeros.
    fn send(&mut self, to: u32, head: &Head, data: Data) -> Result<(), Unreachable>;

    /// Sends the end of an operation that fetches nothing, maybe together with others. A process that is gone waits for none.
    fn answer(&mut self, to: u32, reply: &Reply) {
        let _ = self.send(to, &reply.head(), Data::None);
    }

    /// The same with what was fetched, which has been copied when this returns. Memory that cannot be read goes as zeros.
    fn answer_with(&mut self, to: u32, reply: &Reply, data: Data) {
        let _ = self.send(to, &reply.head(), data);
    }

    /// Starts to send bytes by themselves; later the interface is told how that ended.
    fn send_bytes(
        &mut self,
        to: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        length: u64,
    );

    /// Starts to receive bytes: so many are kept, so many come. Later the interface is told how that ended.
    fn receive_bytes(
        &mut self,
        from: u32,
        transfer: Transfer,
        region: &Region,
        offset: u64,
        kept_of: (u64, u64),
    );

    /// Whether the bytes can be read. Those of memory that the program has named as such can be.
    fn readable(&self, _region: &Region, _offset: u64, _length: u64) -> bool {
        true
    }

    fn read(&self, region: &Region, offset: u64, into: &mut [u8]) -> Result<(), Inaccessible>;

    fn write(&mut self, region: &Region, offset: u64, bytes: &[u8]) -> Result<(), Inaccessible>;
}
