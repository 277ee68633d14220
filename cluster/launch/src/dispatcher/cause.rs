//! Why a job failed, as far as it matters for starting it again.

/// The kinds of failure that end a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A rank was killed by a signal that was not the user's, by way of the launcher.
    Killed,
    /// A host on which ranks ran is lost.
    HostLost,
    /// A host was not reached, or nothing could be started on it.
    NotStarted,
    /// A rank has given up because another one cannot be reached over the network.
    PeerLost,
    /// The program's own doing: an exit code, `MPI_Abort`, an error in MPI.
    Program,
    TimeLimit,
    /// What would happen again: a program that is not there, a file that cannot be written.
    Other,
}

/// How a host was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The connection to it broke.
    Broken,
    /// It gave no sign of life for too long.
    Silent,
    /// None of its ranks has started.
    NotStarted,
}
