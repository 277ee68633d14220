//! A datatype as contiguous pieces of memory, for scatter-gather system calls.
use super::{Datatype, as_count};

/// Iterator over the contiguous runs of a number of copies, in stream order: offset from the
/// buffer's address and length, both in bytes. Runs that continue each other come as one.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    ty: &'a Datatype,
    count: u64,
    position: u64,
    end: u64,
}

impl Datatype {
    /// The contiguous runs of `count` copies.
    pub fn segments(&self, count: i64) -> Segments<'_> {
        self.segments_of(count, 0, u64::MAX)
    }

    /// The run that stream byte `position` of `count` copies lies in, from there on: offset from the buffer's address and length. It
    /// is found anew, and may be continued by the next one.
    pub fn run_at(&self, count: i64, position: u64) -> Option<(i64, u64)> {
        self.layout.locate(as_count(count), position)
    }

    /// The contiguous runs of stream bytes `position..position + limit` of `count` copies.
    pub fn segments_of(&self, count: i64, position: u64, limit: u64) -> Segments<'_> {
        let count = as_count(count);
        let end = self.layout.total(count).min(position.saturating_add(limit));
        Segments { ty: self, count, position, end }
    }
}

impl Segments<'_> {
    /// The stream byte that the next run begins with.
    pub fn position(&self) -> u64 {
        self.position
    }

    fn run(&self) -> Option<(i64, u64)> {
        if self.position >= self.end {
            return None;
        }
        let (off, len) = self.ty.layout.locate(self.count, self.position)?;
        Some((off, len.min(self.end - self.position)))
    }
}

impl Iterator for Segments<'_> {
    type Item = (i64, u64);

    fn next(&mut self) -> Option<(i64, u64)> {
        let (off, mut len) = self.run()?;
        self.position += len;
        while let Some((next, more)) = self.run()
            && off.wrapping_add_unsigned(len) == next
        {
            self.position += more;
            len += more;
        }
        Some((off, len))
    }
}
