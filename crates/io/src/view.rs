//! What part of a file a rank sees (MPI 5.0, section 14.3).

use crate::file::Extent;
use hpvm_mpi::datatype::Datatype;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::sync::Arc;

/// How data lie in a file (section 14.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Representation {
    Native,
    /// The same as native here: all ranks of a job have one kind of processor.
    Internal,
    External32,
    /// One that the program has registered, by name. Data of it lie without holes between elements.
    Registered(String),
}

impl Representation {
    /// The name that `MPI_File_set_view` was given.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Registered(name) => name,
        }
    }
}

/// A view: the file's bytes from `disp` on, of which a rank sees those that copies of `filetype`, one after
/// the other, have data at. Positions in it are counted in bytes of the data as they lie in the file.
#[derive(Clone, Debug)]
pub struct View {
    disp: u64,
    etype: Arc<Datatype>,
    filetype: Arc<Datatype>,
    representation: Representation,
    /// Bytes that one etype takes in the file.
    etype_bytes: u64,
    tile: Tile,
}

#[derive(Clone, Debug)]
enum Tile {
    /// The data have no holes.
    Dense,
    /// Data where the filetype has them; one copy takes `extent` bytes of the file and holds `size`.
    Holes { size: u64, extent: u64 },
    /// The same, where the next copy would begin before the end of the first: there is one. Programs make
    /// such types of a header and a subarray, whose bounds become those of the whole. Also a filetype without
    /// data, which ranks set that have nothing to access.
    Single { size: u64 },
}

impl View {
    /// The whole file as bytes: what `MPI_File_open` sets.
    pub fn bytes() -> View {
        let byte = Datatype::byte();
        View {
            disp: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            etype_bytes: 1,
            tile: Tile::Dense,
        }
    }

    /// A view from `disp` on. `etype_bytes` is what one etype takes in the file, which is its size unless
    /// a registered representation says something else.
    ///
    /// # Errors
    /// Types that no file can have: negative or decreasing displacements, an etype without data, a
    /// filetype that is no whole number of etypes, holes in a representation whose sizes differ.
    pub fn new(
        disp: u64,
        etype: &Arc<Datatype>,
        filetype: &Arc<Datatype>,
        representation: Representation,
        etype_bytes: u64,
    ) -> Result<View> {
        if etype.size() <= 0 {
            return Err(Error::new(Class::Type, "the etype has no data; expected at least a byte"));
        }
        if filetype.size() % etype.size() != 0 {
            let text = format!(
                "the filetype has {} bytes of data; expected a multiple of the etype's {}",
                filetype.size(),
                etype.size()
            );
            return Err(Error::new(Class::Type, text));
        }
        let end = check_order(filetype)?;
        let dense = filetype.is_dense() && filetype.true_lb() == 0;
        if !dense && etype_bytes != etype.size() as u64 {
            let text = format!(
                "in the representation '{}' an etype takes {etype_bytes} bytes instead of {}; filetypes \
                 with holes are supported for equal sizes only",
                representation.name(),
                etype.size()
            );
            return Err(Error::new(Class::UnsupportedDatarep, text));
        }
        let (size, extent) = (filetype.size() as u64, filetype.extent());
        let tile = match dense {
            _ if size == 0 => Tile::Single { size },
            true => Tile::Dense,
            false if extent < end - filetype.true_lb() => Tile::Single { size },
            false => Tile::Holes { size, extent: extent as u64 },
        };
        let (etype, filetype) = (etype.clone(), filetype.clone());
        Ok(View { disp, etype, filetype, representation, etype_bytes, tile })
    }

    pub fn disp(&self) -> u64 {
        self.disp
    }

    pub fn etype(&self) -> &Arc<Datatype> {
        &self.etype
    }

    pub fn filetype(&self) -> &Arc<Datatype> {
        &self.filetype
    }

    pub fn representation(&self) -> &Representation {
        &self.representation
    }

    /// Bytes that one etype takes in the file.
    pub fn etype_bytes(&self) -> u64 {
        self.etype_bytes
    }

    /// Whether an access may go up to stream byte `end`.
    ///
    /// # Errors
    /// It would reach a second copy of a filetype whose copies overlap, or data where the filetype has none.
    pub fn check_end(&self, end: u64) -> Result<()> {
        let Tile::Single { size } = self.tile else { return Ok(()) };
        if end <= size {
            return Ok(());
        }
        let text = match size {
            0 => "the view's filetype has no data; expected an access of 0 bytes".to_owned(),
            _ => format!(
                "the filetype's extent of {} bytes is less than its data take, so copies of it would overlap; \
                 an access of bytes up to {end} of the view goes beyond the first, which has {size}. Expected \
                 an access inside of it, or a filetype with a larger extent (MPI_Type_create_resized)",
                self.filetype.extent()
            ),
        };
        Err(Error::new(Class::Type, text))
    }

    /// The data from stream byte `position` on, `len` of them: where they lie in the file, in order.
    pub fn extents(&self, position: u64, len: u64) -> Extents<'_> {
        Extents { view: self, position, left: len, ahead: None }
    }

    /// The byte of the file where stream byte `position` lies (`MPI_File_get_byte_offset`).
    pub fn byte_offset(&self, position: u64) -> u64 {
        self.extents(position, 1).next().map_or(self.disp, |extent| extent.at)
    }

    /// Stream bytes that lie before byte `size` of the file, up to a whole etype: where `MPI_SEEK_END`
    /// counts from.
    pub fn stream_end(&self, size: u64) -> u64 {
        let bytes = size.saturating_sub(self.disp);
        let stream = match self.tile {
            Tile::Dense => bytes,
            Tile::Holes { size, extent } => {
                bytes / extent * size + self.seen_in_copy(bytes % extent)
            }
            Tile::Single { .. } => self.seen_in_copy(bytes),
        };
        stream.div_ceil(self.etype_bytes) * self.etype_bytes
    }

    /// Bytes of data that a copy of the filetype has before its byte `end`.
    fn seen_in_copy(&self, end: u64) -> u64 {
        let seen = self.filetype.segments(1).map(|(at, len)| {
            let at = u64::try_from(at).unwrap_or(0);
            end.saturating_sub(at).min(len)
        });
        seen.sum()
    }
}

/// Filetypes must have displacements that neither are negative nor decrease (section 14.1.1). Says where the
/// data of one copy end.
fn check_order(filetype: &Datatype) -> Result<i64> {
    let mut end = 0;
    for (at, len) in filetype.segments(1) {
        if at < end {
            let text = format!(
                "the filetype has data at byte {at} behind data that end at {end}; expected \
                 displacements that are not negative and do not decrease"
            );
            return Err(Error::new(Class::Type, text));
        }
        end = at.saturating_add_unsigned(len);
    }
    Ok(end)
}

/// Ranges of bytes of a file in the order of the stream; those that continue each other come as one.
#[derive(Clone, Debug)]
pub struct Extents<'a> {
    view: &'a View,
    position: u64,
    left: u64,
    /// The one that comes next, found while it was looked whether it continues the one before.
    ahead: Option<Extent>,
}

impl Extents<'_> {
    fn one(&mut self) -> Option<Extent> {
        if self.left == 0 {
            return None;
        }
        let found = match self.view.tile {
            Tile::Dense => {
                Extent { at: self.view.disp.saturating_add(self.position), len: self.left }
            }
            Tile::Holes { size, extent } => {
                let (copy, inside) = (self.position / size, self.position % size);
                let (at, len) = self.view.filetype.run_at(1, inside)?;
                let base = copy.saturating_mul(extent).saturating_add(self.view.disp);
                Extent { at: base.saturating_add_signed(at), len: len.min(self.left) }
            }
            // `check_end` keeps accesses inside; beyond, the view has nothing.
            Tile::Single { size } if self.position >= size => return None,
            Tile::Single { .. } => {
                let (at, len) = self.view.filetype.run_at(1, self.position)?;
                Extent { at: self.view.disp.saturating_add_signed(at), len: len.min(self.left) }
            }
        };
        self.position += found.len;
        self.left -= found.len;
        Some(found)
    }
}

impl Iterator for Extents<'_> {
    type Item = Extent;

    fn next(&mut self) -> Option<Extent> {
        let mut found = self.ahead.take().or_else(|| self.one())?;
        loop {
            match self.one() {
                Some(next) if next.at == found.at + found.len => found.len += next.len,
                next => {
                    self.ahead = next;
                    return Some(found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> Arc<Datatype> {
        Datatype::contiguous(4, Datatype::byte()).unwrap()
    }

    /// Every third group of four bytes, from byte 4 of each twelve on.
    fn third() -> Arc<Datatype> {
        let placed = Datatype::hindexed(&[1], &[4], &int()).unwrap();
        Datatype::resized(0, 12, &placed).unwrap()
    }

    fn list(view: &View, position: u64, len: u64) -> Vec<(u64, u64)> {
        view.extents(position, len).map(|e| (e.at, e.len)).collect()
    }

    #[test]
    fn tiles_with_holes() {
        let view = View::new(100, &int(), &third(), Representation::Native, 4).unwrap();
        assert_eq!(list(&view, 0, 12), [(104, 4), (116, 4), (128, 4)]);
        assert_eq!(list(&view, 6, 4), [(118, 2), (128, 2)]);
        assert_eq!(view.byte_offset(8), 128);
        // Bytes 104 to 107 and 116 to 119 are seen before 120, and one more etype in part before 129.
        assert_eq!(view.stream_end(120), 8);
        assert_eq!(view.stream_end(129), 12);
        assert_eq!(view.stream_end(50), 0);
    }

    #[test]
    fn dense_views_are_one_range() {
        let view = View::new(7, &int(), &int(), Representation::Native, 4).unwrap();
        assert_eq!(list(&view, 8, 1 << 40), [(15, 1 << 40)]);
        assert_eq!(list(&View::bytes(), 5, 0), []);
    }

    #[test]
    fn neighbouring_tiles_join() {
        let two = Datatype::hindexed(&[1, 1], &[0, 8], &int()).unwrap();
        let view = View::new(0, &int(), &two, Representation::Native, 4).unwrap();
        assert_eq!(list(&view, 0, 16), [(0, 4), (8, 8), (20, 4)]);
    }

    #[test]
    fn types_that_no_file_can_have() {
        let class = |etype: &Arc<Datatype>, filetype: &Arc<Datatype>| {
            View::new(0, etype, filetype, Representation::Native, 4).unwrap_err().class
        };
        let backwards = Datatype::hindexed(&[1, 1], &[8, 0], &int()).unwrap();
        let negative = Datatype::hindexed(&[1], &[-4], &int()).unwrap();
        let odd = Datatype::contiguous(6, Datatype::byte()).unwrap();
        let empty = Datatype::contiguous(0, Datatype::byte()).unwrap();
        assert_eq!(class(&int(), &backwards), Class::Type);
        assert_eq!(class(&int(), &negative), Class::Type);
        assert_eq!(class(&int(), &odd), Class::Type);
        assert_eq!(class(&empty, &int()), Class::Type);
    }

    #[test]
    fn copies_that_overlap() {
        let two = Datatype::hindexed(&[1, 1], &[0, 8], &int()).unwrap();
        let marked = Datatype::resized(8, 4, &two).unwrap();
        let view = View::new(100, &int(), &marked, Representation::Native, 4).unwrap();
        assert_eq!(list(&view, 0, 8), [(100, 4), (108, 4)]);
        assert_eq!(list(&view, 4, 8), [(108, 4)]);
        assert!(view.check_end(8).is_ok());
        assert_eq!(view.check_end(9).unwrap_err().class, Class::Type);
        assert_eq!(view.stream_end(1000), 8);
        assert_eq!(view.stream_end(110), 8);
        assert_eq!(view.stream_end(104), 4);
    }

    #[test]
    fn a_filetype_without_data() {
        let nothing = Datatype::hindexed(&[0], &[516], Datatype::byte()).unwrap();
        let view = View::new(7, Datatype::byte(), &nothing, Representation::Native, 1).unwrap();
        assert_eq!(list(&view, 0, 8), []);
        assert!(view.check_end(0).is_ok());
        assert_eq!(view.check_end(1).unwrap_err().class, Class::Type);
        assert_eq!((view.stream_end(1000), view.byte_offset(0)), (0, 7));
    }
}
