//! The packet header that every transport carries.

/// What travels with each packet besides its payload.
///
/// `imm` belongs to the protocol above: MPI keeps its envelope (context id and tag) there, so a
/// small message needs no header of its own in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Which handler of the receiver gets the packet.
    pub handler: u8,
    /// `FIRST` and `LAST`, and whatever bits below `TRANSPORT` the handler gives a meaning to.
    pub flags: u8,
    /// Sixteen bits for the handler (FM keeps the stream's number there).
    pub aux: u16,
    /// Sixty-four bits for the handler.
    pub imm: u64,
}

impl Head {
    /// The packet starts a message.
    pub const FIRST: u8 = 1;
    /// The packet ends a message.
    pub const LAST: u8 = 2;
    /// Bits from here up belong to the transport and never reach a handler.
    pub const TRANSPORT: u8 = 0x80;

    /// The header of a message that fits in one packet.
    #[inline(always)]
    pub const fn single(handler: u8, imm: u64) -> Head {
        Head { handler, flags: Self::FIRST | Self::LAST, aux: 0, imm }
    }
}
