//! What a message holds: packed elements without holes.
//!
//! The hosts of a virtual machine are alike (64 bits, the small end first), so all encodings pack elements as they lie in
//! memory; they differ in when the elements are copied: `PvmDataInPlace` does so when the message is sent.

use crate::{Code, buffers::Head, element::Element};

/// How a message was made; the numbers are those of `pvm_initsend`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    #[default]
    Default = 0,
    Raw = 1,
    InPlace = 2,
    Trace = 4,
}

impl Encoding {
    pub fn from_number(number: i32) -> Option<Encoding> {
        match number {
            0 => Some(Encoding::Default),
            1 => Some(Encoding::Raw),
            2 => Some(Encoding::InPlace),
            4 => Some(Encoding::Trace),
            _ => None,
        }
    }
}

/// Elements that stay in the program's memory until the message is sent.
#[derive(Clone, Copy, Debug)]
struct Borrowed {
    /// Bytes packed before.
    at: usize,
    from: *const u8,
    count: usize,
    size: usize,
    /// Bytes from one element to the next.
    step: isize,
}

impl Borrowed {
    fn len(&self) -> usize {
        self.count * self.size
    }
}

/// The elements of a message, and how far they have been unpacked.
#[derive(Clone, Debug, Default)]
pub struct Body {
    packed: Vec<u8>,
    borrowed: Vec<Borrowed>,
    /// Bytes that `borrowed` stand for.
    borrowed_len: usize,
    read: usize,
}

/// Copies `count` elements of `N` bytes, so many bytes apart on both sides.
///
/// # Safety
/// They can be read and written, and do not overlap.
unsafe fn spread_of<const N: usize>(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: isize,
    count: usize,
) {
    for i in 0..count as isize {
        // SAFETY: the caller's promise. A length that the compiler knows is a move or two.
        unsafe {
            let element = from.offset(i * from_step).cast::<[u8; N]>().read_unaligned();
            to.offset(i * to_step).cast::<[u8; N]>().write_unaligned(element);
        }
    }
}

/// The same with a length of an element's.
///
/// # Safety
/// As `spread_of`; `size` is that of an [`Element`].
unsafe fn spread(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: isize,
    count: usize,
    size: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1 => spread_of::<1>(from, from_step, to, to_step, count),
            2 => spread_of::<2>(from, from_step, to, to_step, count),
            4 => spread_of::<4>(from, from_step, to, to_step, count),
            8 => spread_of::<8>(from, from_step, to, to_step, count),
            _ => spread_of::<16>(from, from_step, to, to_step, count),
        }
    }
}

/// Appends `count` elements of `size` bytes, `step` bytes apart.
///
/// # Safety
/// They can be read.
unsafe fn gather(packed: &mut Vec<u8>, from: *const u8, count: usize, size: usize, step: isize) {
    let len = count * size;
    packed.reserve(len);
    // SAFETY: there is room, reserved; the elements can be read (caller).
    unsafe {
        let to = packed.as_mut_ptr().add(packed.len());
        if step == size as isize {
            from.copy_to_nonoverlapping(to, len);
        } else {
            spread(from, step, to, size as isize, count, size);
        }
        packed.set_len(packed.len() + len);
    }
}

/// Elements and the bytes from one to the next, if the program's numbers make sense.
fn checked(element: Element, count: i32, stride: i32) -> Result<(usize, isize), Code> {
    let count = usize::try_from(count).map_err(|_| Code::BadParam)?;
    Ok((count, stride as isize * element.size() as isize))
}

impl Body {
    /// In memory that is used again.
    pub fn within(mut memory: Vec<u8>) -> Body {
        memory.clear();
        Body { packed: memory, ..Body::default() }
    }

    /// Of bytes that were packed elsewhere.
    pub fn of(packed: Vec<u8>) -> Body {
        Body { packed, ..Body::default() }
    }

    /// Bytes, those that still lie in the program's memory included.
    pub fn len(&self) -> usize {
        self.packed.len() + self.borrowed_len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed bytes. In-place elements are not among them: [`Body::settle`].
    pub fn bytes(&self) -> &[u8] {
        &self.packed
    }

    pub fn into_memory(self) -> Vec<u8> {
        self.packed
    }

    /// Appends `count` elements at `from`, every `stride`th.
    ///
    /// # Errors
    /// A negative number.
    ///
    /// # Safety
    /// The elements can be read; with `in_place` until the message is settled.
    pub unsafe fn pack(
        &mut self,
        element: Element,
        from: *const u8,
        count: i32,
        stride: i32,
        in_place: bool,
    ) -> Result<(), Code> {
        let (count, step) = checked(element, count, stride)?;
        if count == 0 {
            return Ok(());
        }
        if from.is_null() {
            return Err(Code::BadParam);
        }
        let size = element.size();
        if in_place {
            let part = Borrowed { at: self.packed.len(), from, count, size, step };
            self.borrowed_len += part.len();
            self.borrowed.push(part);
        } else {
            // SAFETY: the caller's promise.
            unsafe { gather(&mut self.packed, from, count, size, step) };
        }
        Ok(())
    }

    /// Appends bytes as they are.
    pub fn append(&mut self, bytes: &[u8]) {
        self.packed.extend_from_slice(bytes);
    }

    /// Appends an integer of C.
    pub fn append_int(&mut self, value: i32) {
        self.append(&value.to_ne_bytes());
    }

    /// Appends a string as `pvm_pkstr` does: its length with the NUL, and the bytes with it.
    pub fn append_str(&mut self, text: &[u8]) {
        self.append_int(text.len() as i32 + 1);
        self.append(text);
        self.append(&[0]);
    }

    /// Everything as it is now, in memory of its own: what lies in the program's memory is read.
    ///
    /// # Safety
    /// The elements packed in place can be read.
    pub unsafe fn settled(&self, memory: Vec<u8>) -> Vec<u8> {
        let mut all = memory;
        all.clear();
        all.reserve(self.len());
        let mut done = 0;
        for part in &self.borrowed {
            all.extend_from_slice(&self.packed[done..part.at]);
            done = part.at;
            // SAFETY: the caller's promise.
            unsafe { gather(&mut all, part.from, part.count, part.size, part.step) };
        }
        all.extend_from_slice(&self.packed[done..]);
        all
    }

    /// The bytes in their order, where each part lies without holes: else the message has to be settled first.
    ///
    /// # Safety
    /// As [`Body::settled`], for as long as the parts are used.
    pub unsafe fn parts(&self) -> Option<Vec<&[u8]>> {
        let mut parts = Vec::with_capacity(2 * self.borrowed.len() + 1);
        let mut done = 0;
        for part in &self.borrowed {
            if part.step != part.size as isize {
                return None;
            }
            parts.push(&self.packed[done..part.at]);
            done = part.at;
            // SAFETY: the elements lie side by side and can be read (caller).
            parts.push(unsafe { core::slice::from_raw_parts(part.from, part.len()) });
        }
        parts.push(&self.packed[done..]);
        Some(parts)
    }

    /// Whether something lies in the program's memory.
    pub fn has_borrowed(&self) -> bool {
        !self.borrowed.is_empty()
    }

    /// Puts what lies in the program's memory where it belongs.
    ///
    /// # Safety
    /// As [`Body::settled`].
    pub unsafe fn settle(&mut self) {
        if self.has_borrowed() {
            // SAFETY: the caller's promise.
            self.packed = unsafe { self.settled(Vec::new()) };
            self.borrowed.clear();
            self.borrowed_len = 0;
        }
    }

    /// The next `len` bytes to be unpacked.
    ///
    /// # Errors
    /// The message is at its end before.
    pub fn take(&mut self, len: usize) -> Result<&[u8], Code> {
        let end = self.read.checked_add(len).ok_or(Code::NoData)?;
        let bytes = self.packed.get(self.read..end).ok_or(Code::NoData)?;
        self.read = end;
        Ok(bytes)
    }

    /// The next integer of C.
    ///
    /// # Errors
    /// The message is at its end before.
    pub fn take_int(&mut self) -> Result<i32, Code> {
        let bytes = self.take(4)?;
        Ok(i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// The next string of `pvm_pkstr`, with its NUL.
    ///
    /// # Errors
    /// The message is at its end before, or has something else here.
    pub fn take_str(&mut self) -> Result<&[u8], Code> {
        let start = self.read;
        let len = self.take_int()?;
        let len = usize::try_from(len).ok().filter(|len| *len > 0);
        let Some(len) = len.filter(|len| *len <= self.packed.len() - self.read) else {
            self.read = start;
            return Err(Code::NoData);
        };
        self.take(len)
    }

    /// Appends a whole message, with its head, as `pvm_pkmesg` does.
    pub fn append_message(&mut self, head: &Head, bytes: &[u8]) {
        let words =
            [bytes.len() as i32, head.context, head.tag, head.wait_id, head.encoding, head.crc];
        words.into_iter().chain([head.source, head.target]).for_each(|word| self.append_int(word));
        self.append(bytes);
    }

    /// The next message of `pvm_pkmesg`: its head and its bytes.
    ///
    /// # Errors
    /// The message is at its end before, or has something else here; then nothing is taken.
    pub fn take_message(&mut self) -> Result<(Head, Vec<u8>), Code> {
        let start = self.read;
        let taken = self.message();
        if taken.is_err() {
            self.read = start;
        }
        taken
    }

    fn message(&mut self) -> Result<(Head, Vec<u8>), Code> {
        let mut words = [0; 8];
        for word in &mut words {
            *word = self.take_int()?;
        }
        let [len, context, tag, wait_id, encoding, crc, source, target] = words;
        let len = usize::try_from(len).map_err(|_| Code::BadMsg)?;
        let bytes = self.take(len)?.to_vec();
        let stamp = 0;
        Ok((Head { source, target, tag, context, wait_id, encoding, crc, stamp }, bytes))
    }

    /// Unpacks `count` elements to `to`, every `stride`th.
    ///
    /// # Errors
    /// A negative number, or the message is at its end before; then nothing is unpacked.
    ///
    /// # Safety
    /// The elements can be written.
    pub unsafe fn unpack(
        &mut self,
        element: Element,
        to: *mut u8,
        count: i32,
        stride: i32,
    ) -> Result<(), Code> {
        let (count, step) = checked(element, count, stride)?;
        if count == 0 {
            return Ok(());
        }
        if to.is_null() {
            return Err(Code::BadParam);
        }
        let size = element.size();
        let bytes = self.take(count.checked_mul(size).ok_or(Code::NoData)?)?.as_ptr();
        // SAFETY: so many bytes were taken; the elements can be written (caller).
        unsafe {
            if step == size as isize {
                bytes.copy_to_nonoverlapping(to, count * size);
            } else {
                spread(bytes, size as isize, to, step, count, size);
            }
        }
        Ok(())
    }

    /// Unpacks from the beginning again.
    pub fn rewind(&mut self) {
        self.read = 0;
    }

    /// The bytes that are not unpacked yet.
    pub fn rest(&self) -> &[u8] {
        &self.packed[self.read..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pack<T>(
        body: &mut Body,
        element: Element,
        from: &[T],
        count: i32,
        stride: i32,
        in_place: bool,
    ) {
        // SAFETY: tests give as many elements as they say.
        unsafe { body.pack(element, from.as_ptr().cast(), count, stride, in_place) }
            .expect("packs");
    }

    #[test]
    fn every_second_element_travels_without_holes() {
        let mut body = Body::default();
        pack(&mut body, Element::Int, &[1i32, 2, 3, 4, 5, 6], 3, 2, false);
        assert_eq!(body.len(), 12);
        let mut to = [0i32; 9];
        // SAFETY: nine elements are enough for three, three apart.
        unsafe { body.unpack(Element::Int, to.as_mut_ptr().cast(), 3, 3) }.expect("unpacks");
        assert_eq!(to, [1, 0, 0, 3, 0, 0, 5, 0, 0]);
        assert_eq!(body.take_int(), Err(Code::NoData));
    }

    #[test]
    fn in_place_is_read_when_settled() {
        let mut body = Body::default();
        let mut values = [1i32, 2];
        body.append_int(7);
        pack(&mut body, Element::Int, &values, 2, 1, true);
        body.append_int(8);
        values[1] = 5;
        std::hint::black_box(&mut values);
        assert_eq!(body.len(), 16);
        // SAFETY: `values` is alive.
        unsafe { body.settle() };
        let ints: Vec<_> = (0..4).map(|_| body.take_int().expect("four")).collect();
        assert_eq!(ints, [7, 1, 5, 8]);
    }

    #[test]
    fn strings_that_lie_about_their_length_are_refused() {
        let mut body = Body::default();
        body.append_str(b"abc");
        assert_eq!(body.take_str(), Ok(&b"abc\0"[..]));
        for len in [-1, 0, 5, i32::MAX] {
            let mut body = Body::default();
            body.append_int(len);
            body.append(b"ab\0");
            assert_eq!(body.take_str(), Err(Code::NoData), "{len}");
            assert_eq!(body.take_int(), Ok(len), "nothing was taken");
        }
    }

    #[test]
    fn negative_counts_are_bad_parameters() {
        let mut body = Body::default();
        // SAFETY: nothing is read.
        let packed = unsafe { body.pack(Element::Int, std::ptr::null(), -1, 1, false) };
        assert_eq!(packed, Err(Code::BadParam));
        // SAFETY: nothing is read.
        let packed = unsafe { body.pack(Element::Int, std::ptr::null(), 1, 1, false) };
        assert_eq!(packed, Err(Code::BadParam));
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(parts in prop::collection::vec((prop::collection::vec(any::<u64>(), 1..40), 1i32..4, any::<bool>()), 1..8)) {
            let mut body = Body::default();
            for (values, stride, in_place) in &parts {
                let count = (values.len() as i32 - 1) / stride + 1;
                pack(&mut body, Element::Long, values, count, *stride, *in_place);
            }
            // SAFETY: `parts` is alive.
            unsafe { body.settle() };
            for (values, stride, _) in &parts {
                for value in values.iter().step_by(*stride as usize) {
                    let mut got = 0u64;
                    // SAFETY: one element.
                    unsafe { body.unpack(Element::Long, (&raw mut got).cast(), 1, 1) }.expect("as many");
                    prop_assert_eq!(got, *value);
                }
            }
            prop_assert!(body.rest().is_empty());
        }
    }
}
