//! What a completed operation reports (MPI 5.0, section 3.2.5).

/// Wildcards and special ranks, with the numbers that the ABI gives them.
pub const ANY_SOURCE: i32 = -1;
pub const ANY_TAG: i32 = -2;
pub const PROC_NULL: i32 = -3;
pub const ROOT: i32 = -4;

/// The status of a message. The error travels beside it, in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender in the communicator of the receive.
    pub source: i32,
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    pub cancelled: bool,
}

impl Status {
    /// The empty status: what a send, a null or an inactive request reports.
    pub const EMPTY: Status =
        Status { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0, cancelled: false };
    /// The status of a receive from `MPI_PROC_NULL`.
    pub const FROM_NULL: Status =
        Status { source: PROC_NULL, tag: ANY_TAG, bytes: 0, cancelled: false };
}
