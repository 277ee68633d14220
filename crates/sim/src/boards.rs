//! Notice boards of the processes of a virtual network. A note is seen as soon as it is posted.

use core::cell::OnceCell;
use hpvm_transport::Rank;
use hpvm_wire::board::{BOARDS, Board};

/// The boards of all processes; each comes into being when it is first looked at.
pub(crate) struct Boards {
    all: Vec<OnceCell<Box<Board>>>,
}

impl Boards {
    pub fn new(size: u32) -> Boards {
        Boards { all: (0..size as usize * BOARDS).map(|_| OnceCell::new()).collect() }
    }

    /// Board `index` of `rank`; `None` when there is no such rank or board.
    pub fn get(&self, rank: Rank, index: usize) -> Option<&Board> {
        if index >= BOARDS {
            return None;
        }
        let place = self.all.get(rank as usize * BOARDS + index)?;
        Some(place.get_or_init(Board::new))
    }
}
