//! What the links of a process have in common.

use crate::config::Config;
use crate::counters::Counters;
use crate::pool::{Pool, Share};

pub(crate) struct Shared {
    pub config: Config,
    pub counters: Counters,
    pub pool: Pool,
    /// Buffers and credits for sending.
    pub sending: Share,
    /// Windows granted to senders.
    pub windows: Share,
    /// Buffers that hold datagrams until those before them have come.
    pub reordering: Share,
    /// Links whose window is larger than their share.
    pub wide: u32,
    /// Somebody wants a larger window and there is none: those above the average give some back.
    pub scarce: bool,
    /// A packet before it is cut; `config.packet` bytes once it was used.
    pub scratch: Vec<u8>,
}

impl Shared {
    pub fn new(config: Config) -> Shared {
        Shared {
            config,
            counters: Counters::default(),
            pool: Pool::new(config.most_datagram),
            sending: Share::new(config.guaranteed(), config.send_pool),
            windows: Share::new(config.share as usize, config.receive_pool),
            reordering: Share::new(config.share as usize, config.receive_pool),
            wide: 0,
            scarce: false,
            scratch: Vec::new(),
        }
    }

    /// The window that each wide link may have when all want one.
    pub fn fair_window(&self) -> u32 {
        let each = self.windows.total() / self.wide.max(1);
        u32::from(self.config.share) + each
    }

    pub fn memory(&self) -> usize {
        self.pool.memory() + self.scratch.capacity()
    }
}
