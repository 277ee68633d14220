//! Who owns which handler id. One static table, so that different programs can talk and several
//! programming models can share the engine.

/// MPI's protocol packets.
pub const MPI: core::ops::Range<u8> = 0..16;
/// Fast Messages' own packets.
pub const FM: core::ops::Range<u8> = 16..24;
/// Packets of one-sided operations.
pub const ONESIDED: core::ops::Range<u8> = 24..32;
/// Packets of other programming models, one id for each, and the last for what they tell of full queues.
pub const MODELS: core::ops::Range<u8> = 32..40;
