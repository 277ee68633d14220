//! Handles to and from integers (chapter 20).
//!
//! Predefined handles are small numbers, and handles made at run time fit 30 bits, so both are
//! their own integers. Only requests of the engine do not fit; they get numbers from a table.

use crate::generated::constants::*;
use crate::object::request::handle;
use crate::object::table::{Kind, Table};
use crate::runtime::enter;
use core::ffi::c_int;
use hpvm_mpi::ReqId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

macro_rules! identical {
    ($($to:ident, $from:ident, $handle:ident;)*) => {$(
        pub unsafe fn $to(object: $handle) -> c_int {
            // At most 30 bits, unless the program made the handle up.
            object.0 as c_int
        }

        pub unsafe fn $from(number: c_int) -> $handle {
            $handle(number as usize)
        }
    )*};
}

identical! {
    comm_toint, comm_fromint, MPI_Comm;
    errhandler_toint, errhandler_fromint, MPI_Errhandler;
    file_toint, file_fromint, MPI_File;
    group_toint, group_fromint, MPI_Group;
    info_toint, info_fromint, MPI_Info;
    message_toint, message_fromint, MPI_Message;
    op_toint, op_fromint, MPI_Op;
    session_toint, session_fromint, MPI_Session;
    type_toint, type_fromint, MPI_Datatype;
    win_toint, win_fromint, MPI_Win;
}

/// Numbers of engine requests, in both directions. A request that has ended keeps its number until
/// the table is swept, so a stale number never means another request.
struct Numbers {
    requests: Table<u64>,
    numbers: HashMap<u64, usize>,
    /// Size at which ended requests are swept out.
    sweep_at: usize,
}

static NUMBERS: Mutex<Option<Numbers>> = Mutex::new(None);

fn with_numbers<R>(f: impl FnOnce(&mut Numbers) -> R) -> R {
    let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    f(numbers.get_or_insert_with(|| Numbers {
        requests: Table::new(Kind::RequestNumber),
        numbers: HashMap::new(),
        sweep_at: 64,
    }))
}

impl Numbers {
    fn sweep(&mut self, lives: impl Fn(u64) -> bool) {
        let ended: Vec<_> = self.requests.iter().filter(|(_, id)| !lives(**id)).collect();
        let ended: Vec<_> = ended.into_iter().map(|(number, id)| (number, *id)).collect();
        for (number, id) in ended {
            self.requests.remove(number);
            self.numbers.remove(&id);
        }
        self.sweep_at = 2 * self.requests.len() + 64;
    }

    /// The number of a request; `None` when there are too many.
    fn number(&mut self, id: u64) -> Option<usize> {
        if let Some(number) = self.numbers.get(&id) {
            return Some(*number);
        }
        let number = self.requests.insert(id)?;
        self.numbers.insert(id, number);
        Some(number)
    }
}

/// `MPI_UNDEFINED` when more requests have numbers than the table holds.
pub unsafe fn request_toint(request: MPI_Request) -> c_int {
    if request.0 >> 32 == 0 {
        return request.0 as c_int;
    }
    let full = with_numbers(|n| n.requests.len() >= n.sweep_at);
    if full && let Ok(w) = enter() {
        let lives = |id| w.process.requests().get(ReqId::from_number(id)).is_some();
        with_numbers(|n| n.sweep(lives));
    }
    with_numbers(|n| n.number(request.0 as u64)).map_or(MPI_UNDEFINED, |n| n as c_int)
}

/// A number that means no request becomes a handle that means none.
pub unsafe fn request_fromint(number: c_int) -> MPI_Request {
    let found = with_numbers(|n| n.requests.get(number as usize).copied());
    found.map_or(MPI_Request(number as usize), |id| handle(ReqId::from_number(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_ended_requests_are_swept() {
        let mut n = Numbers {
            requests: Table::new(Kind::RequestNumber),
            numbers: HashMap::new(),
            sweep_at: 64,
        };
        let numbers: Vec<_> = (0..100).map(|i| n.number(1 << 32 | i).unwrap()).collect();
        assert_eq!(n.number(1 << 32 | 7), Some(numbers[7]));
        n.sweep(|id| id % 2 == 0);
        assert_eq!((n.requests.len(), n.numbers.len()), (50, 50));
        assert_eq!(n.requests.get(numbers[4]), Some(&(1 << 32 | 4)));
        assert_eq!(n.requests.get(numbers[5]), None);
        assert_ne!(n.number(1 << 32 | 5), Some(numbers[5]));
    }
}
