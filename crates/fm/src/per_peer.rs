//! What a process knows of each of its peers, with memory for those only that it has to do with.

use crate::Rank;

/// Peers in a page; memory is allocated by pages. A table that was never used costs nothing. A table in use costs a word for
/// each page below its highest peer, and the pages of the peers that it knows.
const PAGE: usize = 64;

/// A table by peer.
#[derive(Debug)]
pub struct PerPeer<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T> Default for PerPeer<T> {
    fn default() -> PerPeer<T> {
        PerPeer { pages: Vec::new() }
    }
}

impl<T: Default> PerPeer<T> {
    /// The entry of `peer`; `None` if its page does not exist yet.
    #[inline(always)]
    pub fn get(&self, peer: Rank) -> Option<&T> {
        let page = self.pages.get(peer as usize / PAGE)?.as_deref()?;
        Some(&page[peer as usize % PAGE])
    }

    #[inline(always)]
    pub fn get_mut(&mut self, peer: Rank) -> Option<&mut T> {
        let page = self.pages.get_mut(peer as usize / PAGE)?.as_deref_mut()?;
        Some(&mut page[peer as usize % PAGE])
    }

    /// The entry of `peer`, which is made if it does not exist. The caller has checked that there is such a peer. Callers
    /// to whom each instruction matters ask `get_mut` first.
    #[inline(never)]
    pub fn at(&mut self, peer: Rank) -> &mut T {
        let page = peer as usize / PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let new = || Box::new(core::array::from_fn(|_| T::default()));
        &mut self.pages[page].get_or_insert_with(new)[peer as usize % PAGE]
    }

    /// Bytes that the table takes.
    pub fn bytes(&self) -> usize {
        let pages = self.pages.iter().flatten().count();
        pages * size_of::<[T; PAGE]>() + self.pages.capacity() * size_of::<Option<Box<[T; PAGE]>>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_peers_that_are_known_cost_memory() {
        let mut table = PerPeer::<u16>::default();
        assert_eq!((table.bytes(), table.get(70_000)), (0, None));
        assert!(table.get_mut(3).is_none());
        *table.at(3) = 7;
        let small = table.bytes();
        assert!(small < 256, "{small} bytes");
        *table.at(65_535) += 1;
        assert_eq!(
            (table.get(3), table.get(65_535), table.get(65_534)),
            (Some(&7), Some(&1), Some(&0))
        );
        assert_eq!((table.get(64), table.get(65_536)), (None, None));
        assert!(table.bytes() < 17_000, "{} bytes", table.bytes());
    }
}
