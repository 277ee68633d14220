//! Predefined handles, by tables made at compile time from the generated pairs.

use crate::generated::handles as pairs;
use core::ffi::c_int;

/// A handle of the program that means nothing: 0 is no handle of the standard ABI.
const NOTHING: usize = 0;

/// Whether a handle is one that MPICH predefines, or looks like one: a null handle, or top bits
/// that the engine's handles do not have.
#[inline(always)]
const fn is_predefined(handle: c_int) -> bool {
    handle as u32 >> 30 != 0 || handle & 0xf == 0
}

macro_rules! kinds {
    ($($kind:ident $pairs:ident;)*) => {$(
        pub mod $kind {
            use super::*;

            #[inline(always)]
            pub fn to_standard(handle: c_int) -> usize {
                if is_predefined(handle) {
                    let list = pairs::$pairs.iter();
                    for (theirs, standard) in list {
                        if *theirs as u32 == handle as u32 {
                            return standard.0;
                        }
                    }
                    return NOTHING;
                }
                handle as usize
            }

            #[inline(always)]
            pub fn to_foreign(handle: usize) -> c_int {
                let list = pairs::$pairs.iter();
                for (theirs, standard) in list {
                    if standard.0 == handle {
                        return *theirs as c_int;
                    }
                }
                handle as c_int
            }
        }
    )*};
}

kinds! {
    comm COMM;
    group GROUP;
    message MESSAGE;
    errhandler ERRHANDLER;
    info INFO;
    win WIN;
    session SESSION;
}

/// Requests: those of the engine use the top bits, too, and have a low nibble that is not 0.
pub mod request {
    use super::*;

    #[inline(always)]
    pub fn to_standard(handle: c_int) -> usize {
        match handle {
            0x2c00_0000 => hpvm_abi::constants::MPI_REQUEST_NULL.0,
            other => other as u32 as usize,
        }
    }

    pub fn to_foreign(handle: usize) -> c_int {
        let found = pairs::REQUEST.iter().find(|pair| pair.1.0 == handle);
        found.map_or(handle as c_int, |pair| pair.0 as c_int)
    }
}

/// Many predefined handles, which differ in their last byte: tables both ways.
macro_rules! tables {
    ($($kind:ident $pairs:ident;)*) => {$(
        pub mod $kind {
            use super::*;

            /// Their handle and the standard's, by the last byte of theirs and bit 31 of it.
            const IN: [[(u32, u16); 256]; 2] = {
                let mut table = [[(0, 0); 256]; 2];
                let mut i = 0;
                while i < pairs::$pairs.len() {
                    let (theirs, standard) = (pairs::$pairs[i].0 as u32, pairs::$pairs[i].1.0);
                    let place = &mut table[(theirs >> 31) as usize][(theirs & 0xff) as usize];
                    assert!(place.1 == 0, "two predefined handles with the same last byte");
                    *place = (theirs, standard as u16);
                    i += 1;
                }
                table
            };

            /// Their handle by the standard's.
            const OUT: [c_int; 0x400] = {
                let mut table = [0; 0x400];
                let mut i = pairs::$pairs.len();
                while i > 0 {
                    // From the end: of two names for one type the first is the one to return.
                    i -= 1;
                    table[pairs::$pairs[i].1.0] = pairs::$pairs[i].0 as c_int;
                }
                table
            };

            static IN_TABLE: [[(u32, u16); 256]; 2] = IN;
            static OUT_TABLE: [c_int; 0x400] = OUT;

            #[inline(always)]
            pub fn to_standard(handle: c_int) -> usize {
                if is_predefined(handle) {
                    let word = handle as u32;
                    let row = &IN_TABLE[(word >> 31) as usize];
                    let (theirs, standard) = row[(word & 0xff) as usize];
                    return if theirs == word { standard as usize } else { NOTHING };
                }
                handle as usize
            }

            #[inline(always)]
            pub fn to_foreign(handle: usize) -> c_int {
                match OUT_TABLE.get(handle) {
                    Some(theirs) => *theirs,
                    None => handle as c_int,
                }
            }
        }
    )*};
}

tables! {
    datatype DATATYPE;
    op OP;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_handles_come_back_and_others_are_left_alone() {
        for (theirs, standard) in pairs::DATATYPE {
            assert_eq!(datatype::to_standard(*theirs as c_int), standard.0);
            let back = datatype::to_foreign(standard.0);
            assert_eq!(datatype::to_standard(back), standard.0);
            // MPICH has two names for this one, of which the first counts.
            let twice = *standard == hpvm_abi::constants::MPI_REAL2;
            assert!(back == *theirs as c_int || twice);
        }
        for (theirs, standard) in pairs::OP {
            assert_eq!(op::to_standard(*theirs as c_int), standard.0);
            assert_eq!(op::to_foreign(standard.0), *theirs as c_int);
        }
        for (theirs, standard) in pairs::COMM {
            assert_eq!(comm::to_standard(*theirs as c_int), standard.0);
            assert_eq!(comm::to_foreign(standard.0), *theirs as c_int);
        }
        for dynamic in [0x3fff_fff1, 0x0040_0013] {
            assert_eq!(datatype::to_standard(dynamic), dynamic as usize);
            assert_eq!(datatype::to_foreign(dynamic as usize), dynamic);
        }
        for nonsense in [0, 0x4c00_01ff, 0x4400_0007, -16] {
            assert_eq!(datatype::to_standard(nonsense), 0);
            assert_eq!(comm::to_standard(nonsense), 0);
        }
    }
}
