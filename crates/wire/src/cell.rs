//! The slot of a receive ring: a header and a small payload that share a cache line with the
//! sequence number that publishes them.

use crate::packet::Head;
use core::sync::atomic::Ordering;
use hpvm_sync::atomic::{AtomicU32, compiler_fence};
use hpvm_sync::cell::UnsafeCell;

/// Payload bytes that a slot holds itself; the first `LINE_PAYLOAD` share the header's line.
pub const INLINE: usize = 128 - 24;
/// Payload bytes that share one cache line with the header and the sequence number.
pub const LINE_PAYLOAD: usize = 64 - 24;
/// Transport flag: the payload lies in a frame, or is a message in fragments; the slot's first word says
/// which frame, or is [`FRAGMENTS`].
pub const FRAME: u8 = Head::TRANSPORT;
/// Stands in place of the number of a frame if the payload is a [`Fragments`].
pub const FRAGMENTS: u32 = u32::MAX;
/// The same for a message in fragments without a first packet.
pub const BARE_FRAGMENTS: u32 = u32::MAX - 1;
/// Most frames of a message in fragments.
pub const MAX_FRAMES: usize = 16;
/// Bytes of the first packet of a message in fragments.
pub const PREFIX: usize = 16;

/// The payload of a slot whose packet is a message in fragments; one credit pays for all of it. The first packet has the
/// slot's head and the payload `prefix`; each fragment has the head `rest`. The slot's length is that of all fragments
/// together. With [`BARE_FRAGMENTS`] there is no first packet. The slot is published before the frames are filled: the word
/// at `FRAME_PROGRESS` of the first frame says how many bytes have been written by now (stored with release, loaded with
/// acquire).
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct Fragments {
    /// [`FRAGMENTS`] or [`BARE_FRAGMENTS`].
    pub mark: u32,
    pub prefix: [u8; PREFIX],
    pub imm: u64,
    pub handler: u8,
    pub flags: u8,
    pub aux: u16,
    /// Numbers of as many frames as the length needs.
    pub frames: [u16; MAX_FRAMES],
}

const _: () = assert!(size_of::<Fragments>() <= INLINE);

/// The header as it lies in the slot, after the sequence number.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawHead {
    /// The sender's rank in the segment.
    pub src: u32,
    pub imm: u64,
    pub handler: u8,
    pub flags: u8,
    pub aux: u16,
    /// Payload bytes.
    pub len: u32,
}

/// One slot: two cache lines, of which a message of up to 40 bytes touches the first only.
///
/// Access rules: between claiming ticket `t` and storing `t + 1` in `seq`, the sender that holds
/// the ticket owns `body` alone. From then until it gives the slot's credit back, the receiver
/// owns it. Nobody else touches it.
#[repr(C, align(128))]
pub struct Cell {
    /// `ticket + 1` once the slot's content for that ticket is complete.
    pub seq: AtomicU32,
    body: UnsafeCell<Body>,
}

#[repr(C, packed(4))]
#[derive(Clone, Copy)]
struct Body {
    head: RawHeadPacked,
    payload: [u8; INLINE],
}

#[repr(C, packed(4))]
#[derive(Clone, Copy)]
struct RawHeadPacked {
    src: u32,
    imm: u64,
    handler: u8,
    flags: u8,
    aux: u16,
    len: u32,
}

// SAFETY: the access rules above hand `body` from one owner to the next through `seq` (release to
// publish, acquire to take) and through the credit counter on the way back.
unsafe impl Sync for Cell {}

impl Cell {
    /// An empty slot, for models and tests; in a segment a slot is zeroed memory.
    pub fn new() -> Self {
        Cell {
            seq: AtomicU32::new(0),
            body: UnsafeCell::new(Body {
                head: RawHeadPacked { src: 0, imm: 0, handler: 0, flags: 0, aux: 0, len: 0 },
                payload: [0; INLINE],
            }),
        }
    }

    /// Writes the header.
    ///
    /// # Safety
    /// The caller holds this slot's ticket and has not published it.
    #[inline(always)]
    pub unsafe fn write_head(&self, h: RawHead) {
        // SAFETY: the ticket holder is the only one to touch `body` (the caller's promise).
        self.body.with_mut(|body| unsafe {
            (*body).head = RawHeadPacked {
                src: h.src,
                imm: h.imm,
                handler: h.handler,
                flags: h.flags,
                aux: h.aux,
                len: h.len,
            };
        });
    }

    /// Writes a payload that reaches into the second line, and the header; the second line is written first. The receiver
    /// polls the first line. A sender that wrote there first, and then had to wait for the second line, would lose the first
    /// line again before it stores the sequence number.
    ///
    /// # Safety
    /// As for [`Cell::write_head`].
    #[inline(always)]
    pub unsafe fn write_backwards(&self, h: RawHead, bytes: &[u8; INLINE]) {
        let (first, second) = bytes.split_at(LINE_PAYLOAD);
        // SAFETY: both parts lie inside the payload, which is the caller's alone.
        unsafe {
            let payload = self.payload();
            payload.add(LINE_PAYLOAD).copy_from_nonoverlapping(second.as_ptr(), second.len());
            // For speed only: the compiler keeps the order, x86 does so by itself.
            compiler_fence(Ordering::Release);
            self.write_head(h);
            payload.copy_from_nonoverlapping(first.as_ptr(), first.len());
        }
    }

    /// A copy of the header. It is an allegation: the caller checks `src` and `len`.
    ///
    /// # Safety
    /// The caller is the receiver and has seen this slot published.
    #[inline(always)]
    pub unsafe fn read_head(&self) -> RawHead {
        // SAFETY: after publication the receiver is the only owner (the caller's promise); a peer
        // that breaks the rule can change the bytes but every bit pattern is a valid header.
        let h = self.body.with(|body| unsafe { (*body).head });
        RawHead {
            src: h.src,
            imm: h.imm,
            handler: h.handler,
            flags: h.flags,
            aux: h.aux,
            len: h.len,
        }
    }

    /// The address of the slot's own payload, `INLINE` bytes.
    #[inline(always)]
    pub fn payload(&self) -> *mut u8 {
        // SAFETY: a field projection inside the slot; nothing is read or written here.
        self.body.with(|body| unsafe { (&raw mut (*body.cast_mut()).payload).cast() })
    }
}

impl Default for Cell {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(hpvm_loom)))]
mod tests {
    use super::*;

    #[test]
    fn layout_is_pinned() {
        assert_eq!(size_of::<Cell>(), 128);
        assert_eq!(align_of::<Cell>(), 128);
        let c = Cell::new();
        let base = (&raw const c).addr();
        assert_eq!(c.payload().addr() - base, 64 - LINE_PAYLOAD);
    }

    #[test]
    fn header_round_trip() {
        let c = Cell::new();
        let h =
            RawHead { src: 7, imm: 0x0123_4567_89ab_cdef, handler: 3, flags: 1, aux: 9, len: 5 };
        // SAFETY: the only owner in this test.
        unsafe {
            c.write_head(h);
            let r = c.read_head();
            assert_eq!((r.src, r.imm, r.handler, r.flags, r.aux, r.len), (7, h.imm, 3, 1, 9, 5));
        }
    }
}
