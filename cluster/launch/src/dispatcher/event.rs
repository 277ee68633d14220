//! What can happen to a job, and what there is to do.

use super::leaving::Found;
use crate::remote::frame::Frame;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal { number: i32, core: bool },
}

impl Ended {
    /// The exit code a shell would show.
    pub fn code(self) -> i32 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal { number, .. } => 128 + number,
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    Started {
        rank: u32,
        pid: i32,
    },
    /// This rank and those after it could not be started.
    NotStarted {
        rank: u32,
        text: String,
        code: i32,
    },
    /// The started process could not become the program; its exit follows.
    NotExecuted {
        rank: u32,
        text: String,
        code: i32,
    },
    /// One line on a rank's PMI connection.
    Pmi {
        rank: u32,
        line: &'a [u8],
    },
    /// A rank sent a line without end.
    PmiOverflow {
        rank: u32,
    },
    Exited {
        rank: u32,
        ended: Ended,
    },
    /// A frame from an agent, but for those about output and input.
    Frame {
        link: usize,
        frame: Frame,
    },
    /// Bytes have come from an agent.
    Heard {
        link: usize,
    },
    /// The connection to an agent has broken, or never came to be.
    LinkLost {
        link: usize,
        text: String,
        code: i32,
    },
    /// The launcher received a signal.
    Signal(i32),
    /// Children have ended, ranks or what ranks left behind.
    ChildrenEnded,
    /// A file that takes output cannot be written.
    FileBroken {
        text: String,
    },
    /// The ranks of a host have too many threads for it ([`crate::executor::threads`]).
    TooManyThreads {
        text: String,
    },
    /// A rank of this host, or of an agent's, uses another MPI's library.
    OtherMpi {
        text: String,
    },
    /// A gateway between groups of hosts has given up, or cannot be started.
    GatewayLost {
        text: String,
    },
    /// Standard output cannot be written any more.
    OutputBroken {
        errno: i32,
    },
    /// The process that spawned this job is gone.
    LifelineCut,
    /// The answer to [`Action::Survey`].
    Survey(Found),
    /// The answer to [`Action::Hold`] of a rank's name; `held`: it stands for nothing else on this host.
    Held {
        rank: u32,
        service: String,
        port: String,
        held: bool,
    },
    /// The same on the host of an agent.
    HeldHere {
        question: u32,
        held: bool,
    },
    /// The answer to [`Action::Find`].
    Found {
        question: u32,
        port: Option<String>,
    },
    /// A process of an agent's host says something to the launcher; nothing is its end.
    Stream {
        number: u32,
        bytes: Vec<u8>,
    },
    /// Nothing but time has passed.
    Tick,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send these bytes on a rank's PMI connection.
    Reply { rank: u32, text: String },
    /// Send a signal to the process groups of all ranks on this host.
    Signal(i32),
    /// Send a frame to one agent, or to all whose connection is open.
    Down { link: Option<usize>, frame: Frame },
    /// Close the connection to an agent.
    Cut(usize),
    /// Send a signal to every process that descends from the job, but for launchers of jobs that ranks have spawned and what is below
    /// them.
    SignalLeftovers(i32),
    /// From now on such launchers are leftovers, too, unless their jobs have parted from ours.
    KillJobs,
    /// Send a signal to the launchers of jobs that this one has spawned and that have parted from it, on all hosts, unless
    /// those who have spawned this job decide about that.
    SignalParted(i32),
    /// All ranks have ended and the job has failed with this code, but the launcher waits for jobs that have parted from it.
    Ended(i32),
    /// Find out whether any process or output of the job is left.
    Survey,
    /// Hold a name that a rank publishes, for other jobs on this host.
    Hold { rank: u32, service: String, port: String },
    /// Look for a name on this host.
    Find { question: u32, service: String },
    /// Hold these names no longer.
    Release(Vec<String>),
    /// Show the stacks of the ranks on this host.
    StackTraces,
    /// Stop the launcher itself, as the terminal asked.
    StopSelf,
    /// Write an error, which is shown always, on standard error.
    Error(String),
    /// Write a remark, which `--quiet` suppresses.
    Note(String),
    /// The job is over.
    Done(i32),
}
