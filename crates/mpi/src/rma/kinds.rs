//! MPI's operations and elements in the words of the one-sided layer.

use crate::datatype::predefined::{Group, all};
use crate::datatype::{Basic, Datatype, Kind as Shape, Predefined};
use crate::op::Predef;
use hpvm_onesided::{Apply, AtomicOp, Kind};
use std::sync::OnceLock;

/// What the one-sided layer calls an operation.
pub fn atomic_op(op: Predef) -> AtomicOp {
    match op {
        Predef::Sum => AtomicOp::Sum,
        Predef::Min => AtomicOp::Min,
        Predef::Max => AtomicOp::Max,
        Predef::Prod => AtomicOp::Prod,
        Predef::Band => AtomicOp::BitAnd,
        Predef::Bor => AtomicOp::BitOr,
        Predef::Bxor => AtomicOp::BitXor,
        Predef::Land => AtomicOp::LogicalAnd,
        Predef::Lor => AtomicOp::LogicalOr,
        Predef::Lxor => AtomicOp::LogicalXor,
        Predef::MinLoc => AtomicOp::MinLoc,
        Predef::MaxLoc => AtomicOp::MaxLoc,
        Predef::Replace => AtomicOp::Replace,
        Predef::NoOp => AtomicOp::NoOp,
    }
}

fn predef(op: AtomicOp) -> Predef {
    let same = |p: &&Predef| atomic_op(**p) == op;
    Predef::ALL.iter().find(same).copied().unwrap_or(Predef::NoOp)
}

/// First handle of a named predefined datatype: codes below it stand for unnamed pairs.
const NAMED: usize = 0x200;

/// Elements that the processor has no operation for.
fn native(entry: &Predefined) -> Option<Kind> {
    let kind = match entry.basic()? {
        Basic::I8 => Kind::I8,
        Basic::I16 => Kind::I16,
        Basic::I32 => Kind::I32,
        Basic::I64 => Kind::I64,
        Basic::Char if core::ffi::c_char::MIN == 0 => Kind::U8,
        Basic::Char => Kind::I8,
        Basic::U8 | Basic::Bool | Basic::Logical8 | Basic::Byte | Basic::Packed => Kind::U8,
        Basic::U16 | Basic::Logical16 => Kind::U16,
        Basic::U32 | Basic::Logical32 => Kind::U32,
        Basic::WChar if entry.size == 4 => Kind::U32,
        Basic::U64 | Basic::Logical64 => Kind::U64,
        Basic::F32 => Kind::F32,
        Basic::F64 => Kind::F64,
        _ => return None,
    };
    Some(kind)
}

/// What the one-sided layer calls an element; `None` for pairs of a kind that it has no code for.
pub fn kind(entry: &'static Predefined) -> Option<Kind> {
    native(entry).or_else(|| code(entry).map(Kind::Other))
}

/// Whether an accumulate may have one of these elements at the origin and the other at the target: they are the same
/// (section 12.3.4), or two names of it, as `MPI_INT`, `MPI_INT32_T` and `MPI_INTEGER` are. `None` stands for elements of several
/// kinds.
pub fn same_elements(a: Option<&Predefined>, b: Option<&Predefined>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    match (a.kind, b.kind) {
        (Shape::Scalar(a), Shape::Scalar(b)) => a == b,
        (Shape::Pair { value, index, .. }, Shape::Pair { value: v, index: i, .. }) => {
            value.basic() == v.basic() && index.basic() == i.basic()
        }
        _ => false,
    }
}

/// The scalars that unnamed pairs are made of.
fn scalars() -> &'static [&'static Predefined] {
    static LIST: OnceLock<Vec<&'static Predefined>> = OnceLock::new();
    LIST.get_or_init(|| {
        let number = |group| group != Group::Character && Predef::Min.allows(group);
        let scalar = |e: &&Predefined| e.basic().is_some() && number(e.group);
        let mut kinds: Vec<&'static Predefined> = Vec::new();
        for entry in all().filter(scalar) {
            if !kinds.iter().any(|k| k.basic() == entry.basic()) {
                kinds.push(entry);
            }
        }
        kinds
    })
}

/// Codes are the same on all ranks: handles, and for unnamed pairs the places of value and index in one list.
fn code(entry: &Predefined) -> Option<u16> {
    if entry.abi != 0 {
        return u16::try_from(entry.abi).ok();
    }
    let Shape::Pair { value, index, .. } = entry.kind else { return None };
    let place = |of: &Predefined| scalars().iter().position(|k| k.basic() == of.basic());
    let number = place(value)? * scalars().len() + place(index)?;
    u16::try_from(number).ok().filter(|n| usize::from(*n) < NAMED)
}

/// The element of a code.
fn entry_of(code: u16) -> Option<&'static Predefined> {
    let code = usize::from(code);
    if code >= NAMED {
        return Datatype::predefined(code)?.element();
    }
    static UNNAMED: OnceLock<Vec<Option<&'static Predefined>>> = OnceLock::new();
    let unnamed = UNNAMED.get_or_init(|| {
        let n = scalars().len();
        let made = |number: usize| {
            let of = |entry: &Predefined| Datatype::predefined(entry.abi);
            let (value, index) = (scalars().get(number / n)?, scalars().get(number % n)?);
            Datatype::value_index(of(value)?, of(index)?)?.element()
        };
        (0..NAMED).map(made).collect()
    });
    *unnamed.get(code)?
}

/// The operations on elements that no processor has.
#[derive(Debug)]
pub struct MpiElements;

impl Apply for MpiElements {
    fn size(&self, code: u16) -> Option<usize> {
        // Pairs with their padding: that is how they lie in memory.
        entry_of(code).map(|entry| entry.extent)
    }

    fn supports(&self, code: u16, op: AtomicOp) -> bool {
        entry_of(code).is_some_and(|entry| predef(op).allows(entry.group))
    }

    unsafe fn apply(
        &self,
        code: u16,
        op: AtomicOp,
        operand: *const u8,
        element: *mut u8,
        count: usize,
    ) {
        let Some(entry) = entry_of(code) else { return };
        // SAFETY: the caller's promise. The operation is defined for such elements (`supports`), so that this
        // can't fail.
        let _ = unsafe { predef(op).apply(entry, operand, element, count) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_kind_of_its_size() {
        for entry in all().filter(|e| e.size > 0) {
            match kind(entry) {
                Some(Kind::Other(code)) => {
                    assert_eq!(MpiElements.size(code), Some(entry.extent), "{}", entry.name);
                    for op in Predef::ALL {
                        let known = MpiElements.supports(code, atomic_op(*op));
                        assert_eq!(known, op.allows(entry.group), "{} {}", op.name(), entry.name);
                    }
                }
                Some(native) => {
                    assert_eq!(native.native_size(), Some(entry.size), "{}", entry.name)
                }
                None => panic!("{} has no kind", entry.name),
            }
        }
    }

    #[test]
    fn unnamed_pairs_have_codes_that_lead_back() {
        let of = |abi| Datatype::predefined(abi).unwrap();
        let pair = Datatype::value_index(of(0x208), of(0x258)).unwrap();
        let entry = pair.element().unwrap();
        let Some(Kind::Other(code)) = kind(entry) else { panic!("no code") };
        assert!(usize::from(code) < NAMED);
        let back = entry_of(code).unwrap();
        assert_eq!((back.size, back.extent), (entry.size, entry.extent));
    }

    #[test]
    fn elements_are_the_same_by_what_they_are() {
        let named = |name| all().find(|e| e.name == name);
        let same = |a, b| same_elements(named(a), named(b));
        assert!(same("MPI_INT", "MPI_INT") && same("MPI_INT", "MPI_INT32_T"));
        assert!(same("MPI_INTEGER", "MPI_INT") && same("MPI_AINT", "MPI_INT64_T"));
        assert!(same("MPI_2INTEGER", "MPI_2INT"));
        assert!(!same("MPI_INT", "MPI_FLOAT") && !same("MPI_INT", "MPI_UNSIGNED"));
        assert!(!same("MPI_FLOAT_INT", "MPI_2INT") && !same("MPI_FLOAT_INT", "MPI_FLOAT"));
        assert!(!same_elements(named("MPI_INT"), None) && same_elements(None, None));
    }

    #[test]
    fn operations_are_found_again() {
        for op in Predef::ALL {
            assert_eq!(predef(atomic_op(*op)), *op);
        }
    }
}
