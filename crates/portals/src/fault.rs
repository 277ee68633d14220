//! Return codes of functions, `PTL_*`, but for `PTL_OK`.

use crate::portal::Refused;

/// Why a call did not do what it should. The numbers are those of portals4.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Fault {
    ArgInvalid = 1,
    CtNoneReached = 2,
    /// An event is returned, and others before it are lost.
    EqDropped = 3,
    EqEmpty = 4,
    Fail = 5,
    Ignored = 6,
    InUse = 7,
    Interrupted = 8,
    ListTooLong = 9,
    NoInit = 10,
    NoSpace = 11,
    PidInUse = 12,
    PtFull = 13,
    PtEqNeeded = 14,
    PtInUse = 15,
    Aborted = 16,
}

pub type Result<T> = std::result::Result<T, Fault>;

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Fault {
        match refused {
            Refused::ListTooLong => Fault::ListTooLong,
            Refused::NotLinked => Fault::ArgInvalid,
            Refused::InUse => Fault::InUse,
        }
    }
}
