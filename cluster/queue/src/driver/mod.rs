//! What runs jobs. Everything a driver does can be asked for again: the manager that starts anew
//! asks for all of it.

mod cluster;
mod confine;
mod embedded;
mod watch;

pub use cluster::Cluster;
pub use confine::{Confinement, Told};
pub use embedded::{Embedded, Settings, account_for, account_of, marks_of, processors_on, turn_of};

use crate::attempt::Attempt;
use crate::job::{Job, Outcome};
use crate::time::Stamp;

/// How a job stands that shall run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Somebody looks after it.
    Runs,
    /// It is over.
    Ended(Outcome, Stamp),
    /// It could not be started now; ask again. The sentence says why.
    Later(String),
}

/// What runs jobs.
pub trait Driver: Send {
    /// Sees to it that a job in the state `running` runs, once.
    fn attend(&mut self, job: &Job) -> Standing;

    /// The one who looked after the job is gone.
    fn gone(&mut self, attempt: Attempt);

    /// Sees to it that it ends.
    fn cancel(&mut self, job: &Job, by: &str);

    /// The end of the job's attempt is recorded.
    fn recorded(&mut self, _: &Job) {}

    /// Removes what is kept of an attempt beside the job's record.
    fn remove(&mut self, attempt: Attempt) -> Result<(), String>;
}
