//! Lower and upper bounds of a type map (MPI 5.0, section 5.1.6 to 5.1.8), overflow-checked.
use crate::error::{Class, Error, Result};

/// Where the data and the bound markers of a type map lie, relative to the buffer's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// First byte and one past the last byte of data; `None` without data.
    pub data: Option<(i64, i64)>,
    /// As `data`, with the padding at the end of the constituents and of the type itself. MPICH
    /// and Open MPI, too, count the constituents' padding in; the standard's formula alone would
    /// let the bounds of a struct end inside its last item, which programs do not expect (mpi4py's
    /// conversion to types of NumPy, in whose tests such types are).
    span: Option<(i64, i64)>,
    /// The bound markers that `MPI_Type_create_resized` leaves; they win over the data.
    pub marks: Option<(i64, i64)>,
    /// Strictest alignment of the basic elements, at least 1.
    pub align: i64,
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds { data: None, span: None, marks: None, align: 1 };

    /// The bounds of data from `low` to `high`, without padding.
    pub fn of_data(low: i64, high: i64) -> Bounds {
        let data = Some((low, high));
        Bounds { data, span: data, marks: None, align: 1 }
    }

    /// The bounds of a predefined type of `extent` bytes, of which those before `last` are data.
    pub fn predefined(last: usize, extent: usize, align: usize) -> Bounds {
        let (data, span) = (Some((0, last as i64)), Some((0, extent as i64)));
        Bounds { data, span, marks: None, align: align as i64 }
    }

    /// Lower and upper bound.
    pub fn lb_ub(&self) -> (i64, i64) {
        self.marks.or(self.span).unwrap_or((0, 0))
    }

    /// The bounds of a finished type: without markers the extent is rounded up to the alignment.
    pub fn padded(self) -> Result<Bounds> {
        let Some((lb, ub)) = self.span else { return Ok(self) };
        let extent = ub.checked_sub(lb).ok_or_else(overflow)?;
        let padding = (self.align - extent % self.align) % self.align;
        Ok(Bounds { span: Some((lb, add(ub, padding)?)), ..self })
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
        let (data, span, marks) = (shift(self.data)?, shift(self.span)?, shift(self.marks)?);
        Bounds { data, span, marks, align: self.align }.check()
    }

    /// The bounds of both type maps together.
    pub fn union(&self, other: &Bounds) -> Bounds {
        let join = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some((al, au)), Some((bl, bu))) => Some((al.min(bl), au.max(bu))),
            (a, b) => a.or(b),
        };
        Bounds {
            data: join(self.data, other.data),
            span: join(self.span, other.span),
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
        for (lb, ub) in [self.data, self.span, self.marks].into_iter().flatten() {
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
