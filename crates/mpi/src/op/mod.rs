//! Reduction operations (MPI 5.0, section 6.9 and 12.3.4).
//!
//! Every operation computes `inout[i] = in[i] op inout[i]`. Buffers may have any alignment.
//! Integer sums and products wrap; the minimum or maximum with a not-a-number is either operand.
//!
//! Deliberately absent: handles and the lifetime of user-defined operations. They belong to the
//! C interface.
mod accumulate;
mod element;
mod location;
mod long_double;
mod quad;

use std::fmt;
use std::sync::Arc;

use crate::datatype::{Basic, Datatype, Group, Kind, Predefined};
use crate::error::{Class, Error, Result};
use element::{Complex, F16, bitwise, integer, logical, real, ring};
use long_double::LongDouble;
use quad::Quad;

macro_rules! predefs {
    ($($variant:ident = $abi:literal, $name:literal;)*) => {
        /// The predefined operations; the discriminants are the ABI's handle values.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Predef {
            $(#[doc = concat!("`", $name, "`")] $variant = $abi,)*
        }

        impl Predef {
            /// Every predefined operation.
            pub const ALL: &'static [Predef] = &[$(Predef::$variant,)*];

            /// The operation with this ABI handle value.
            pub fn from_abi(abi: usize) -> Option<Predef> {
                match abi {
                    $($abi => Some(Predef::$variant),)*
                    _ => None,
                }
            }

            /// The name of the constant, such as `"MPI_SUM"`.
            pub fn name(self) -> &'static str {
                match self { $(Predef::$variant => $name,)* }
            }
        }
    };
}

predefs! {
    Sum = 0x21, "MPI_SUM";
    Min = 0x22, "MPI_MIN";
    Max = 0x23, "MPI_MAX";
    Prod = 0x24, "MPI_PROD";
    Band = 0x28, "MPI_BAND";
    Bor = 0x29, "MPI_BOR";
    Bxor = 0x2a, "MPI_BXOR";
    Land = 0x30, "MPI_LAND";
    Lor = 0x31, "MPI_LOR";
    Lxor = 0x32, "MPI_LXOR";
    MinLoc = 0x38, "MPI_MINLOC";
    MaxLoc = 0x39, "MPI_MAXLOC";
    Replace = 0x3c, "MPI_REPLACE";
    NoOp = 0x3d, "MPI_NO_OP";
}

/// A user-defined function: `in`, `inout`, the number of copies, and their datatype. Its addresses
/// are those of the first copy as a program would pass a buffer of that type.
pub type UserFunction = dyn Fn(*const u8, *mut u8, i64, &Arc<Datatype>) + Send + Sync;

/// An operation made by `MPI_Op_create`.
#[derive(Clone)]
pub struct UserOp {
    /// Whether operands may be exchanged.
    pub commute: bool,
    /// What to call.
    pub function: Arc<UserFunction>,
}

impl fmt::Debug for UserOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserOp").field("commute", &self.commute).finish_non_exhaustive()
    }
}

/// A reduction operation.
#[derive(Debug, Clone)]
pub enum Op {
    /// One of the standard's.
    Predefined(Predef),
    /// One of the program's.
    User(UserOp),
    /// One of this library's, associative and commutative: `inout` becomes what `input` and it make, for
    /// so many elements of the datatype that goes with it.
    Internal(unsafe fn(*const u8, *mut u8, i64)),
}

impl Op {
    /// Whether operands may be exchanged (`MPI_Op_commutative`).
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::Predefined(predef) => predef.is_commutative(),
            Op::User(user) => user.commute,
            Op::Internal(_) => true,
        }
    }

    /// Refuses predefined operations on datatypes for which section 6.9.2 does not define them:
    /// `MPI_ERR_OP`. Derived datatypes are refused, except duplicates of predefined ones.
    pub fn check(&self, ty: &Datatype) -> Result<()> {
        let Op::Predefined(predef) = self else { return Ok(()) };
        if predef.takes_any() {
            return Ok(());
        }
        match ty.as_predefined() {
            Some(entry) => predef.check(entry),
            None => Err(Error::new(
                Class::Op,
                format!(
                    "{} is not defined for derived datatypes; use a predefined datatype or create \
                     an operation with MPI_Op_create",
                    predef.name()
                ),
            )),
        }
    }

    /// `inout[i] = input[i] op inout[i]` for `count` copies of `ty`. Fails as [`Op::check`] does,
    /// and then changes nothing. Calls user-defined functions on this thread.
    ///
    /// # Safety
    /// Both buffers hold `count` copies of `ty`, valid for reads and, `inout`, for writes; they do
    /// not overlap, or are the same.
    pub unsafe fn apply(
        &self,
        input: *const u8,
        inout: *mut u8,
        count: i64,
        ty: &Arc<Datatype>,
    ) -> Result<()> {
        match self {
            Op::User(user) => {
                (user.function)(input, inout, count, ty);
                Ok(())
            }
            Op::Internal(function) => {
                // SAFETY: the caller's promise.
                unsafe { function(input, inout, count) };
                Ok(())
            }
            Op::Predefined(Predef::NoOp) => Ok(()),
            Op::Predefined(Predef::Replace) => {
                if input != inout.cast_const() {
                    // SAFETY: the caller's promise.
                    unsafe { crate::datatype::copy(input, count, ty, inout, count, ty) };
                }
                Ok(())
            }
            Op::Predefined(predef) => {
                self.check(ty)?;
                let Some(entry) = ty.as_predefined() else { return Ok(()) };
                let count = usize::try_from(count).unwrap_or(0);
                // SAFETY: the caller's promise; copies of a predefined type are an array of it.
                unsafe { predef.apply(entry, input, inout, count) }
            }
        }
    }
}

impl Predef {
    /// The ABI's handle value.
    pub fn abi(self) -> usize {
        self as usize
    }

    /// Whether operands may be exchanged: all but `MPI_REPLACE` and `MPI_NO_OP`.
    pub fn is_commutative(self) -> bool {
        !self.takes_any()
    }

    /// The two operations of one-sided communication, which only move data.
    pub fn takes_any(self) -> bool {
        matches!(self, Predef::Replace | Predef::NoOp)
    }

    /// Whether the operation is defined for the group (section 6.9.2), here or in other MPIs.
    pub fn allows(self, group: Group) -> bool {
        use Group::{CInteger, Complex, Floating, FortranInteger, Logical, MultiLanguage, Pair};
        let group = if group == Group::Character { CInteger } else { group };
        let number = matches!(group, CInteger | FortranInteger | Floating | MultiLanguage);
        match self {
            Predef::Max | Predef::Min => number,
            Predef::Sum | Predef::Prod => number || group == Complex,
            // The standard leaves out the multi-language types; other MPIs and programs do not.
            Predef::Land | Predef::Lor | Predef::Lxor => {
                matches!(group, CInteger | Logical | MultiLanguage)
            }
            Predef::Band | Predef::Bor | Predef::Bxor => {
                matches!(group, CInteger | FortranInteger | MultiLanguage | Group::Byte)
            }
            Predef::MinLoc | Predef::MaxLoc => group == Pair,
            Predef::Replace | Predef::NoOp => true,
        }
    }

    /// Refuses predefined datatypes for which the operation is not defined: `MPI_ERR_OP`.
    pub fn check(self, entry: &Predefined) -> Result<()> {
        if self.allows(entry.group) {
            return Ok(());
        }
        let ty = if entry.name.is_empty() { "a value-index datatype" } else { entry.name };
        let text = format!("{} is not defined for {ty} (MPI 5.0, section 6.9.2)", self.name());
        Err(Error::new(Class::Op, text))
    }

    /// `inout[i] = input[i] op inout[i]` for `n` elements of a predefined datatype in an array.
    /// For reductions on parts of a homogeneous derived type, as one-sided accumulates need them.
    ///
    /// # Safety
    /// As for [`Op::apply`].
    pub unsafe fn apply(
        self,
        entry: &Predefined,
        input: *const u8,
        inout: *mut u8,
        n: usize,
    ) -> Result<()> {
        self.check(entry)?;
        match (self, entry.kind) {
            (Predef::NoOp, _) => {}
            // SAFETY: the caller's promise, here and in the following arms.
            (Predef::Replace, _) => unsafe { std::ptr::copy(input, inout, n * entry.extent) },
            // SAFETY: as above.
            (_, Kind::Scalar(basic)) => unsafe { scalar(self, basic, input, inout, n) },
            (_, Kind::Pair { value, index, index_at }) => {
                let array = location::Array { extent: entry.extent, index_at, n };
                // SAFETY: as above.
                unsafe {
                    location::apply(self == Predef::MaxLoc, value, index, &array, input, inout);
                }
            }
        }
        Ok(())
    }
}

/// Picks the loop for the kind of element. The operation is allowed for it.
///
/// # Safety
/// `n` elements each, valid as for [`Op::apply`].
unsafe fn scalar(op: Predef, basic: Basic, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: in each arm, the caller's promise.
    unsafe {
        match basic {
            Basic::I8 => integer::<i8>(op, input, inout, n),
            Basic::Char => integer::<core::ffi::c_char>(op, input, inout, n),
            Basic::I16 => integer::<i16>(op, input, inout, n),
            Basic::I32 => integer::<i32>(op, input, inout, n),
            Basic::I64 => integer::<i64>(op, input, inout, n),
            Basic::I128 => integer::<i128>(op, input, inout, n),
            Basic::U8 => integer::<u8>(op, input, inout, n),
            Basic::U16 => integer::<u16>(op, input, inout, n),
            Basic::U32 => integer::<u32>(op, input, inout, n),
            Basic::U64 => integer::<u64>(op, input, inout, n),
            Basic::F16 => real::<F16>(op, input, inout, n),
            Basic::F32 => real::<f32>(op, input, inout, n),
            Basic::F64 => real::<f64>(op, input, inout, n),
            Basic::F80 => real::<LongDouble>(op, input, inout, n),
            Basic::F128 => real::<Quad>(op, input, inout, n),
            Basic::C16 => ring::<Complex<F16>>(op, input, inout, n),
            Basic::C32 => ring::<Complex<f32>>(op, input, inout, n),
            Basic::C64 => ring::<Complex<f64>>(op, input, inout, n),
            Basic::C80 => ring::<Complex<LongDouble>>(op, input, inout, n),
            Basic::C128 => ring::<Complex<Quad>>(op, input, inout, n),
            Basic::Bool | Basic::Logical8 => logical::<u8>(op, input, inout, n),
            Basic::Logical16 => logical::<u16>(op, input, inout, n),
            Basic::Logical32 => logical::<u32>(op, input, inout, n),
            Basic::Logical64 => logical::<u64>(op, input, inout, n),
            Basic::Logical128 => logical::<u128>(op, input, inout, n),
            Basic::Byte => bitwise::<u8>(op, input, inout, n),
            // `check` lets no reduction through to these.
            Basic::WChar | Basic::Packed => {}
        }
    }
}

#[cfg(test)]
mod tests;
