//! Transfers as runs: contiguous parts, one or many, from which packets take what fits.

/// A part of a put or a get: contiguous on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub local: *mut u8,
    /// In the region.
    pub offset: u64,
    /// Bytes.
    pub len: usize,
}

/// A part of an accumulate: elements that lie together on all sides.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// May be null for `NoOp`.
    pub operand: *const u8,
    /// Where the values before go, unless it is null: for all parts of an operation, or for none.
    pub fetch: *mut u8,
    /// In the region.
    pub offset: u64,
    /// Elements.
    pub count: usize,
}

/// One part, or many.
pub(crate) enum Parts<P> {
    One(Option<P>),
    Many(Box<dyn Iterator<Item = P>>),
}

// SAFETY: the callers of operations on runs promise that any thread may draw from the iterator, one at a time, and the
// memory of parts is that of operations, which any thread moves on.
unsafe impl<P> Send for Parts<P> {}
// SAFETY: nothing is drawn but through `&mut`.
unsafe impl<P> Sync for Parts<P> {}
// SAFETY: as above.
unsafe impl Send for Run {}
// SAFETY: a run never changes.
unsafe impl Sync for Run {}
// SAFETY: as above.
unsafe impl Send for Update {}
// SAFETY: as above.
unsafe impl Sync for Update {}

impl<P> Parts<P> {
    pub fn next(&mut self) -> Option<P> {
        match self {
            Parts::One(part) => part.take(),
            Parts::Many(parts) => parts.next(),
        }
    }
}

/// What a part of a transfer must tell to be cut to the size of packets.
pub(crate) trait Part: Copy {
    fn is_empty(&self) -> bool;
    /// Bytes of data, in elements of `size`.
    fn bytes(&self, size: usize) -> usize;
    /// Cuts off at most `room` bytes of data from the front, whole elements of `size`. `None`: nothing fits.
    fn cut(&mut self, room: usize, size: usize) -> Option<Self>;
}

impl Part for Run {
    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn bytes(&self, _: usize) -> usize {
        self.len
    }

    fn cut(&mut self, room: usize, _: usize) -> Option<Run> {
        let n = self.len.min(room);
        let first = Run { len: n, ..*self };
        self.local = self.local.wrapping_add(n);
        self.offset += n as u64;
        self.len -= n;
        (n != 0).then_some(first)
    }
}

impl Part for Update {
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn bytes(&self, size: usize) -> usize {
        self.count * size
    }

    fn cut(&mut self, room: usize, size: usize) -> Option<Update> {
        let n = self.count.min(room / size);
        let first = Update { count: n, ..*self };
        let bytes = n * size;
        self.operand = self.operand.wrapping_add(bytes);
        if !self.fetch.is_null() {
            self.fetch = self.fetch.wrapping_add(bytes);
        }
        self.offset += bytes as u64;
        self.count -= n;
        (n != 0).then_some(first)
    }
}

/// Parts on their way into packets.
pub(crate) struct Cursor<P> {
    parts: Parts<P>,
    /// What the last packet left of its last part.
    rest: Option<P>,
    /// What the next packet takes, cut already: it may have to wait for a credit.
    pub staged: Vec<P>,
}

/// The room of a packet for parts.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub bytes: usize,
    /// Bytes of each part besides its data.
    pub head: usize,
    /// Bytes of an element, which is not torn.
    pub element: usize,
    /// The packet carries the data of the parts.
    pub carries: bool,
}

impl<P: Part> Cursor<P> {
    /// `rest` comes before the parts.
    pub fn new(parts: Parts<P>, rest: Option<P>) -> Cursor<P> {
        Cursor { parts, rest, staged: Vec::new() }
    }

    /// Fills `staged` for the next packet; `check` refuses what is not to be sent. False: there is nothing more.
    pub fn stage<E>(
        &mut self,
        room: Room,
        mut check: impl FnMut(&P) -> Result<(), E>,
    ) -> Result<bool, E> {
        if !self.staged.is_empty() {
            return Ok(true);
        }
        let mut left = room.bytes;
        while left > room.head {
            if self.rest.is_none_or(|rest| rest.is_empty()) {
                self.rest = self.parts.next();
                if self.rest.is_none() {
                    break;
                }
                continue;
            }
            let Some(rest) = &mut self.rest else { break };
            check(rest)?;
            let fits = if room.carries { left - room.head } else { usize::MAX };
            let Some(part) = rest.cut(fits, room.element) else { break };
            left -= room.head + if room.carries { part.bytes(room.element) } else { 0 };
            self.staged.push(part);
        }
        Ok(!self.staged.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn staged(cursor: &mut Cursor<Run>, room: Room) -> Vec<(u64, usize)> {
        let more = cursor.stage(room, |_| Ok::<(), ()>(())).unwrap();
        assert_eq!(more, !cursor.staged.is_empty());
        cursor.staged.drain(..).map(|run| (run.offset, run.len)).collect()
    }

    #[test]
    fn parts_are_cut_to_packets_and_share_them() {
        let run = |offset, len| Run { local: core::ptr::null_mut(), offset, len };
        let parts = [run(0, 10), run(50, 0), run(60, 3), run(100, 100)];
        let room = Room { bytes: 60, head: 16, element: 1, carries: true };
        let many = || Cursor::new(Parts::Many(Box::new(parts.into_iter())), None);
        let mut cursor = many();
        assert_eq!(staged(&mut cursor, room), [(0, 10), (60, 3)]);
        assert_eq!(staged(&mut cursor, room), [(100, 44)]);
        assert_eq!(staged(&mut cursor, room), [(144, 44)]);
        assert_eq!(staged(&mut cursor, room), [(188, 12)]);
        assert_eq!(staged(&mut cursor, room), []);
        let mut cursor = many();
        assert_eq!(
            staged(&mut cursor, Room { carries: false, ..room }),
            [(0, 10), (60, 3), (100, 100)]
        );
        let mut cursor = Cursor::new(Parts::One(Some(run(5, 7))), None);
        assert_eq!(staged(&mut cursor, room), [(5, 7)]);
        assert_eq!(staged(&mut cursor, room), []);
    }

    #[test]
    fn elements_are_not_torn() {
        let null = core::ptr::null_mut();
        let update = Update { operand: null, fetch: null, offset: 8, count: 5 };
        let room = Room { bytes: 60, head: 16, element: 16, carries: true };
        let mut cursor = Cursor::new(Parts::One(Some(update)), None);
        let mut all = Vec::new();
        while cursor.stage(room, |_| Ok::<(), ()>(())).unwrap() {
            all.extend(cursor.staged.drain(..).map(|part| (part.offset, part.count)));
        }
        assert_eq!(all, [(8, 2), (40, 2), (72, 1)]);
    }
}
