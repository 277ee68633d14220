//! Tables that turn handles into objects and recognise stale or made-up handles.
//!
//! The ABI gives predefined objects handles below 0x400. A dynamic handle is a number of 30 bits,
//! so that it fits in an `int` for `MPI_Comm_toint` and its kin:
//!
//! ```text
//! | generation: 8, never 0 | index: 18 | kind: 4 |
//! ```

/// What a handle is a handle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    Comm = 1,
    Group = 2,
    Datatype = 3,
    Op = 4,
    Request = 5,
    Info = 6,
    Errhandler = 7,
    Session = 8,
    Message = 9,
    Window = 10,
    File = 11,
    /// The short form of requests of the engine, whose own ids are too long for an `int`; no table
    /// has this kind (`hpvm_abi::request`).
    ShortRequest = hpvm_abi::request::SHORT_REQUEST,
    /// Handles of the tool interface.
    Control = 13,
    Performance = 14,
    PerformanceSession = 15,
}

const KIND_BITS: u32 = 4;
const INDEX_BITS: u32 = 18;
const GENERATIONS: usize = 1 << 8;
/// Objects of one kind that may live at a time.
pub const CAPACITY: usize = 1 << INDEX_BITS;

/// Objects of one kind.
#[derive(Debug)]
pub struct Table<T> {
    kind: Kind,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u8,
    object: Option<T>,
}

impl<T> Table<T> {
    pub const fn new(kind: Kind) -> Table<T> {
        Table { kind, entries: Vec::new(), free: Vec::new() }
    }

    /// Keeps `object` and returns its handle; `None` when `CAPACITY` objects live.
    pub fn insert(&mut self, object: T) -> Option<usize> {
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.object = Some(object);
            return Some(self.handle(index as usize));
        }
        if self.entries.len() == CAPACITY {
            return None;
        }
        self.entries.push(Entry { generation: 1, object: Some(object) });
        Some(self.handle(self.entries.len() - 1))
    }

    fn handle(&self, index: usize) -> usize {
        let generation = usize::from(self.entries[index].generation);
        (generation << INDEX_BITS | index) << KIND_BITS | self.kind as usize
    }

    #[inline]
    fn index(&self, handle: usize) -> Option<usize> {
        let kind = handle & ((1 << KIND_BITS) - 1);
        let index = handle >> KIND_BITS & (CAPACITY - 1);
        let generation = handle >> (KIND_BITS + INDEX_BITS);
        let entry = self.entries.get(index)?;
        let live = kind == self.kind as usize && generation == usize::from(entry.generation);
        live.then_some(index)
    }

    #[inline]
    pub fn get(&self, handle: usize) -> Option<&T> {
        self.entries[self.index(handle)?].object.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, handle: usize) -> Option<&mut T> {
        let index = self.index(handle)?;
        self.entries[index].object.as_mut()
    }

    /// Takes the object out; the handle is stale from now on.
    pub fn remove(&mut self, handle: usize) -> Option<T> {
        let index = self.index(handle)?;
        let entry = &mut self.entries[index];
        let object = entry.object.take()?;
        // Generation 0 is skipped: such handles could look like predefined ones.
        entry.generation = ((usize::from(entry.generation) % (GENERATIONS - 1)) + 1) as u8;
        self.free.push(index as u32);
        Some(object)
    }

    /// Handles and objects.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(i, p)| p.object.as_ref().map(|o| (self.handle(i), o)))
    }

    /// Objects that live.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_foreign_handles_are_refused() {
        let mut comms = Table::new(Kind::Comm);
        let groups = Table::<u8>::new(Kind::Group);
        let a = comms.insert('a').unwrap();
        assert!(a >= 0x400 && i32::try_from(a).is_ok());
        assert_eq!(comms.get(a), Some(&'a'));
        assert_eq!(groups.get(a), None);
        assert_eq!(comms.remove(a), Some('a'));
        assert_eq!(comms.remove(a), None);
        let b = comms.insert('b').unwrap();
        assert_ne!(a, b);
        assert_eq!(comms.get(a), None);
        assert_eq!(comms.get(0x101), None);
        assert_eq!(comms.get(usize::MAX), None);
        for _ in 0..1000 {
            let h = comms.insert('c').unwrap();
            assert!(h >= 0x400 && i32::try_from(h).is_ok());
            comms.remove(h);
        }
        assert_eq!(comms.len(), 1);
    }
}
