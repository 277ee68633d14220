//! Where the memory of a process is.

use crate::engine::matching::Table;
use crate::engine::process::Process;
use hpvm_fm::Transport;

impl<T: Transport> Process<T> {
    /// Bytes by what they are for. Of tables that grow with use, those that they have now; not counted are the
    /// transport's own, and the program's buffers.
    pub fn memory(&self) -> Vec<(&'static str, usize)> {
        let inbox = &self.inbox;
        let tables: usize = inbox.tables.iter().map(Table::bytes).sum();
        vec![
            ("process", size_of::<Self>()),
            ("credits by peer", self.fm.bytes()),
            ("quotas by peer", inbox.quota.bytes()),
            ("Fast Messages", inbox.fast.bytes()),
            ("matching", tables + inbox.tables.capacity() * size_of::<Table>()),
            ("requests", inbox.requests.bytes()),
            ("hosts of processes", self.nodes.bytes()),
        ]
    }
}
