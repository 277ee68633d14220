//! Access modes of `MPI_File_open` (MPI 5.0, section 14.2.1).

use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};

/// A combination of access modes that makes sense. The bits are those of the standard ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amode(i32);

pub const APPEND: i32 = 1;
pub const CREATE: i32 = 2;
pub const DELETE_ON_CLOSE: i32 = 4;
pub const EXCL: i32 = 8;
pub const RDONLY: i32 = 16;
pub const RDWR: i32 = 32;
pub const SEQUENTIAL: i32 = 64;
pub const UNIQUE_OPEN: i32 = 128;
pub const WRONLY: i32 = 256;

const NAMES: [(i32, &str); 9] = [
    (RDONLY, "MPI_MODE_RDONLY"),
    (RDWR, "MPI_MODE_RDWR"),
    (WRONLY, "MPI_MODE_WRONLY"),
    (CREATE, "MPI_MODE_CREATE"),
    (EXCL, "MPI_MODE_EXCL"),
    (DELETE_ON_CLOSE, "MPI_MODE_DELETE_ON_CLOSE"),
    (UNIQUE_OPEN, "MPI_MODE_UNIQUE_OPEN"),
    (SEQUENTIAL, "MPI_MODE_SEQUENTIAL"),
    (APPEND, "MPI_MODE_APPEND"),
];

/// The modes of `bits` by name, and what is left over.
fn names(bits: i32) -> String {
    let known = NAMES.iter().fold(0, |all, (bit, _)| all | bit);
    let mut found: Vec<String> =
        NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| (*name).into()).collect();
    if bits & !known != 0 || bits == 0 {
        found.push(format!("{:#x}", bits & !known));
    }
    found.join(" | ")
}

impl Amode {
    /// Checks a combination: exactly one of reading, writing and both; no creating of what is only read;
    /// no sequential access to a file that is read and written.
    pub fn new(bits: i32) -> Result<Amode> {
        let refuse = |why: &str| {
            Err(Error::new(Class::Amode, format!("the access mode is {}; {why}", names(bits))))
        };
        let known = NAMES.iter().fold(0, |all, (bit, _)| all | bit);
        let ways = [RDONLY, RDWR, WRONLY].iter().filter(|bit| bits & **bit != 0).count();
        if bits & !known != 0 {
            return refuse("it has bits that mean nothing");
        }
        if ways != 1 {
            return refuse(
                "expected exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY",
            );
        }
        if bits & RDONLY != 0 && bits & (CREATE | EXCL) != 0 {
            return refuse("a file that is only read can be neither created nor exclusive");
        }
        if bits & RDWR != 0 && bits & SEQUENTIAL != 0 {
            return refuse("a file that is read and written can't be sequential");
        }
        Ok(Amode(bits))
    }

    pub fn bits(self) -> i32 {
        self.0
    }

    fn has(self, bit: i32) -> bool {
        self.0 & bit != 0
    }

    pub fn reads(self) -> bool {
        !self.has(WRONLY)
    }

    pub fn writes(self) -> bool {
        !self.has(RDONLY)
    }

    pub fn is_sequential(self) -> bool {
        self.has(SEQUENTIAL)
    }

    pub fn appends(self) -> bool {
        self.has(APPEND)
    }

    pub fn creates(self) -> bool {
        self.has(CREATE)
    }

    pub fn is_exclusive(self) -> bool {
        self.has(EXCL)
    }

    pub fn deletes_on_close(self) -> bool {
        self.has(DELETE_ON_CLOSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations() {
        for good in [RDONLY, RDWR | CREATE | EXCL, WRONLY | SEQUENTIAL | APPEND, RDWR | UNIQUE_OPEN]
        {
            assert_eq!(Amode::new(good).unwrap().bits(), good);
        }
        let bad =
            [0, RDONLY | WRONLY, RDONLY | CREATE, RDONLY | EXCL, RDWR | SEQUENTIAL, RDWR | 4096];
        for bits in bad {
            let error = Amode::new(bits).unwrap_err();
            assert_eq!(error.class, Class::Amode, "{bits:#x}");
        }
        let text = Amode::new(RDONLY | CREATE).unwrap_err().to_string();
        assert!(text.contains("MPI_MODE_RDONLY | MPI_MODE_CREATE"), "{text}");
    }
}
