//! Notice boards of the processes of a virtual network. A note is seen as soon as it is posted.

use core::cell::OnceCell;
use hpvm_transport::Rank;
use hpvm_wire::coll_slots::{BOARDS, Board, SHEETS, Sheet};
use hpvm_wire::duet::{DUETS, Duet};

/// The boards of all processes; each comes into being when it is first looked at.
pub(crate) struct Boards {
    all: Vec<OnceCell<Box<Board>>>,
    sheets: Vec<OnceCell<Box<Sheet>>>,
    duets: Vec<[Duet; DUETS]>,
}

impl Boards {
    pub fn new(size: u32) -> Boards {
        let boards = size as usize * BOARDS;
        Boards {
            all: (0..boards).map(|_| OnceCell::new()).collect(),
            sheets: (0..boards * SHEETS).map(|_| OnceCell::new()).collect(),
            duets: (0..size).map(|_| core::array::from_fn(|_| Duet::new())).collect(),
        }
    }

    /// Board `index` of `rank`; `None` when there is no such rank or board.
    pub fn get(&self, rank: Rank, index: usize) -> Option<&Board> {
        if index >= BOARDS {
            return None;
        }
        let place = self.all.get(rank as usize * BOARDS + index)?;
        Some(place.get_or_init(Board::new))
    }

    /// Duet `place` of `owner`; `None` when there is no such rank or duet.
    pub fn duet(&self, owner: Rank, place: usize) -> Option<&Duet> {
        self.duets.get(owner as usize)?.get(place)
    }

    /// The sheet for note `number` of that board.
    pub fn sheet(&self, rank: Rank, index: usize, number: u64) -> Option<&Sheet> {
        if index >= BOARDS {
            return None;
        }
        let board = rank as usize * BOARDS + index;
        let place = self.sheets.get(board * SHEETS + number as usize % SHEETS)?;
        Some(place.get_or_init(Sheet::new))
    }
}
