//! Lower and upper bounds of a type map (MPI 5.0, section 5.1.6 to 5.1.8), overflow-checked.
use crate::error::{Class, Error, Result};

/// Where the data and the bound markers of a type map lie, relative to the buffer's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// First byte and one past the last byte of data; `None` without data.
    pub data: Option<(i64, i64)>,
    /// The bound markers that `MPI_Type_create_resized` leaves; they win over the data.
    pub marks: Option<(i64, i64)>,
    /// Strictest alignment of the basic elements, at least 1.
    pub align: i64,
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds { data: None, marks: None, align: 1 };

    /// The bounds of data from `low` to `high`, without padding.
    pub fn of_data(low: i64, high: i64) -> Bounds {
        Bounds { data: Some((low, high)), marks: None, align: 1 }
    }

    /// The bounds of a predefined type with `last` bytes from the first to the last of its data.
    pub fn predefined(last: usize, align: usize) -> Bounds {
        Bounds { data: Some((0, last as i64)), marks: None, align: align as i64 }
    }

    /// Lower and upper bound: the markers, or the data, whose extent is rounded up to the alignment. What
    /// pads the constituents does not count, as the standard's formula is about the type map alone; a
    /// struct may end inside the padding of its last item. (MPICH and Open MPI count some of it, each
    /// differently.)
    pub fn lb_ub(&self) -> Result<(i64, i64)> {
        let Some((lb, ub)) = self.marks.or(self.data) else { return Ok((0, 0)) };
        if self.marks.is_some() {
            return Ok((lb, ub));
        }
        let extent = ub.checked_sub(lb).ok_or_else(overflow)?;
        let padding = (self.align - extent % self.align) % self.align;
        Ok((lb, add(ub, padding)?))
    }

    /// The bounds of `count` copies, `stride` bytes apart, the first one moved by `disp` bytes.
    pub fn replicate(&self, disp: i64, count: i64, stride: i64) -> Result<Bounds> {
        if count <= 0 {
            return Ok(Bounds::EMPTY);
        }
        let far = add(disp, mul(stride, count - 1)?)?;
        let (low, high) = (disp.min(far), disp.max(far));
        let shift = |range: Option<(i64, i64)>| -> Result<Option<(i64, i64)>> {
            range.map(|(lb, ub)| Ok((add(lb, low)?, add(ub, high)?))).transpose()
        };
        Bounds { data: shift(self.data)?, marks: shift(self.marks)?, align: self.align }.check()
    }

    /// The bounds of both type maps together.
    pub fn union(&self, other: &Bounds) -> Bounds {
        let join = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some((al, au)), Some((bl, bu))) => Some((al.min(bl), au.max(bu))),
            (a, b) => a.or(b),
        };
        Bounds {
            data: join(self.data, other.data),
            marks: join(self.marks, other.marks),
            align: self.align.max(other.align),
        }
    }

    /// Replaces the markers: `MPI_Type_create_resized`.
    pub fn resized(&self, lb: i64, extent: i64) -> Result<Bounds> {
        Ok(Bounds { marks: Some((lb, add(lb, extent)?)), ..*self })
    }

    /// Refuses bounds whose extent does not fit in 64 bits.
    pub fn check(self) -> Result<Bounds> {
        for (lb, ub) in [self.data, self.marks].into_iter().flatten() {
            ub.checked_sub(lb).ok_or_else(overflow)?;
        }
        Ok(self)
    }
}

pub(super) fn overflow() -> Error {
    Error::new(Class::ValueTooLarge, "a datatype's bounds or size do not fit in 64 bits")
}

pub(super) fn add(a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or_else(overflow)
}

pub(super) fn mul(a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or_else(overflow)
}
