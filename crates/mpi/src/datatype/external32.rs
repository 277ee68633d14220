//! The portable representation `external32`: big-endian, fixed sizes, no padding
//! (MPI 5.0, section 5.3 and 14.5.2).
use super::predefined::{Basic, Predefined};
use super::{Datatype, as_count};
use crate::error::{Class, Error, Result};

/// Native bytes converted at a time.
const STAGE: usize = 4096;

impl Datatype {
    /// Bytes that `count` copies take in `external32` (`MPI_Pack_external_size`); `None` when
    /// they do not fit in 63 bits or `count` is negative.
    pub fn external_size(&self, count: i64) -> Option<i64> {
        let each = i64::try_from(self.signature.external).ok()?;
        if count < 0 { None } else { each.checked_mul(count) }
    }

    /// Packs `count` copies at `base` in `external32` and returns the bytes written.
    /// Fails with `MPI_ERR_TRUNCATE` when `out` is too small, and with `MPI_ERR_CONVERSION` at a
    /// value that the smaller external type (`MPI_LONG`, `MPI_WCHAR`) cannot hold.
    ///
    /// # Safety
    /// As for [`Datatype::pack`].
    pub unsafe fn pack_external32(
        &self,
        base: *const u8,
        count: i64,
        out: &mut [u8],
    ) -> Result<usize> {
        self.check_room(count, out.len())?;
        let (mut position, mut written) = (0, 0);
        self.for_each_piece(count, &mut |entry, bytes| {
            let mut stage = [0u8; STAGE];
            let stage = &mut stage[..bytes];
            // SAFETY: the caller's promise; the stage is our own.
            position += unsafe { self.pack(base, count, position, stage) } as u64;
            let parts = Parts::of(entry);
            for native in stage.chunks_exact(parts.native) {
                parts.encode(entry, native, &mut out[written..written + parts.external])?;
                written += parts.external;
            }
            Ok(())
        })?;
        Ok(written)
    }

    /// Unpacks `count` copies in `external32` from `data` to `base` and returns the bytes read.
    /// Fails with `MPI_ERR_TRUNCATE` when `data` holds fewer.
    ///
    /// # Safety
    /// As for [`Datatype::unpack`].
    pub unsafe fn unpack_external32(
        &self,
        base: *mut u8,
        count: i64,
        data: &[u8],
    ) -> Result<usize> {
        self.check_room(count, data.len())?;
        let (mut position, mut read) = (0, 0);
        self.for_each_piece(count, &mut |entry, bytes| {
            let mut stage = [0u8; STAGE];
            let stage = &mut stage[..bytes];
            let parts = Parts::of(entry);
            for native in stage.chunks_exact_mut(parts.native) {
                parts.decode(&data[read..read + parts.external], native);
                read += parts.external;
            }
            // SAFETY: the caller's promise; the stage is our own.
            position += unsafe { self.unpack(base, count, position, stage) } as u64;
            Ok(())
        })?;
        Ok(read)
    }

    fn check_room(&self, count: i64, room: usize) -> Result<()> {
        match self.external_size(count) {
            Some(need) if need as u64 <= room as u64 => Ok(()),
            need => {
                let need = need.map_or("too many".to_owned(), |n| n.to_string());
                let text = format!("external32 data of {need} bytes, a buffer of {room} bytes");
                Err(Error::new(Class::Truncate, text))
            }
        }
    }

    /// Calls `f(scalar, native bytes)` for pieces of equal elements that fit the stage.
    fn for_each_piece(
        &self,
        count: i64,
        f: &mut impl FnMut(&'static Predefined, usize) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..as_count(count) {
            if self.size() == 0 {
                break;
            }
            self.signature.for_each(&mut |entry, elements| {
                let most = (STAGE / entry.size) as u64;
                let mut left = elements;
                while left > 0 {
                    let now = left.min(most);
                    f(entry, now as usize * entry.size)?;
                    left -= now;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// How a scalar, or each half of a complex number, is converted.
struct Parts {
    native: usize,
    external: usize,
    conversion: Conversion,
}

#[derive(Clone, Copy, PartialEq)]
enum Conversion {
    /// Reverse the bytes.
    Swap,
    /// Sign-extended or zero-extended integers of different size.
    Signed,
    Unsigned,
    /// x87 extended precision to IEEE binary128 and back.
    Extended,
}

impl Parts {
    fn of(entry: &Predefined) -> Parts {
        let halves = match entry.basic() {
            Some(Basic::C16 | Basic::C32 | Basic::C64 | Basic::C80 | Basic::C128) => 2,
            _ => 1,
        };
        let (native, external) = (entry.size / halves, entry.external / halves);
        let conversion = match entry.basic() {
            Some(Basic::F80 | Basic::C80) if cfg!(target_arch = "x86_64") => Conversion::Extended,
            Some(Basic::I64) if native != external => Conversion::Signed,
            _ if native != external => Conversion::Unsigned,
            _ => Conversion::Swap,
        };
        Parts { native, external, conversion }
    }

    fn encode(&self, entry: &Predefined, native: &[u8], out: &mut [u8]) -> Result<()> {
        match self.conversion {
            Conversion::Swap => reverse(native, out),
            Conversion::Extended => {
                let quad = extended_to_quad(u128_from_le(native));
                out.copy_from_slice(&quad.to_be_bytes());
            }
            Conversion::Signed | Conversion::Unsigned => {
                let mut back = [0u8; 16];
                let back = &mut back[..self.native];
                reverse(&native[..self.external], out);
                self.decode(out, back);
                if back != native {
                    let text = format!(
                        "a value of {} does not fit in the {} bytes it has in external32",
                        entry.name, self.external
                    );
                    return Err(Error::new(Class::Conversion, text));
                }
            }
        }
        Ok(())
    }

    fn decode(&self, external: &[u8], native: &mut [u8]) {
        match self.conversion {
            Conversion::Swap => reverse(external, native),
            Conversion::Extended => {
                let mut quad = [0u8; 16];
                quad.copy_from_slice(external);
                let value = quad_to_extended(u128::from_be_bytes(quad));
                native.copy_from_slice(&value.to_le_bytes());
            }
            Conversion::Signed | Conversion::Unsigned => {
                let negative = self.conversion == Conversion::Signed && external[0] & 0x80 != 0;
                native.fill(if negative { 0xff } else { 0 });
                reverse(external, &mut native[..self.external]);
            }
        }
    }
}

fn reverse(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from.iter().rev()) {
        *to = *from;
    }
}

fn u128_from_le(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

/// Both formats have 15 exponent bits with the same bias; the x87 one has 63 fraction bits below
/// an explicit integer bit, binary128 has 112 below an implicit one.
fn extended_to_quad(value: u128) -> u128 {
    let sign_exponent = value >> 64 & 0xffff;
    let fraction = value & ((1 << 63) - 1);
    sign_exponent << 112 | fraction << 49
}

/// Rounds to nearest, ties to even; not-a-number stays not-a-number.
fn quad_to_extended(quad: u128) -> u128 {
    let sign = quad >> 127;
    let mut exponent = quad >> 112 & 0x7fff;
    let fraction = quad & ((1 << 112) - 1);
    let mut kept = fraction >> 49;
    if exponent == 0x7fff {
        let nan = u128::from(fraction != 0) << 62;
        return sign << 79 | exponent << 64 | 1 << 63 | kept | nan;
    }
    let (rest, half) = (fraction & ((1 << 49) - 1), 1 << 48);
    if rest > half || (rest == half && kept & 1 == 1) {
        kept += 1;
        if kept >> 63 == 1 {
            kept = 0;
            exponent += 1;
        }
    }
    let integer = u128::from(exponent != 0) << 63;
    sign << 79 | exponent << 64 | integer | kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_precision_survives_the_round_trip() {
        // 1.0, -2.5, the largest number, the smallest denormal, infinity.
        for value in [
            0x3fff_8000_0000_0000_0000u128,
            0xc000_a000_0000_0000_0000,
            0x7ffe_ffff_ffff_ffff_ffff,
            0x0000_0000_0000_0000_0001,
            0x7fff_8000_0000_0000_0000,
        ] {
            assert_eq!(quad_to_extended(extended_to_quad(value)), value, "{value:#x}");
        }
        assert_eq!(extended_to_quad(0x3fff_8000_0000_0000_0000), 0x3fff << 112);
    }

    #[test]
    fn rounding_carries_into_the_exponent() {
        let just_below_two = 0x3fff << 112 | ((1u128 << 112) - 1);
        assert_eq!(quad_to_extended(just_below_two), 0x4000_8000_0000_0000_0000);
        let infinity = 0x7fff_8000_0000_0000_0000;
        assert_eq!(quad_to_extended(0x7ffe << 112 | ((1u128 << 112) - 1)), infinity);
    }
}
