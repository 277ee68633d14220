//! The library that holds the process's engine, as this interface needs it.

use hpvm_fm::{Broken, Fast, PacketSender};
use std::sync::OnceLock;

/// What the program asked for before `FM_initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `FM_QUIET`: nothing is said about messages for unknown handlers.
    pub quiet: bool,
}

/// Holds the engine of this process and its [`Fast`].
///
/// Rules for whoever extracts outside [`Host::poll`] (another programming model's progress): give
/// Fast Messages' packets to `Fast::on_packet`, and when `Fast::has_arrivals` says so call
/// [`crate::deliver`] after each bounded extract, without any lock held. That bounds the memory of
/// packets that wait for their C handlers to what one extract brings.
pub trait Host: Sync {
    /// Joins the job, or takes note of one more user of an engine that runs already. Collective.
    ///
    /// # Errors
    /// For the user: cause and what to do.
    fn start(&self, settings: &Settings) -> Result<(), String>;

    /// Ends what `start` began. Collective: no process of the job needs us to extract afterwards.
    ///
    /// # Errors
    /// For the user.
    fn stop(&self) -> Result<(), String>;

    /// Calls `work` once with the engine. `work` neither blocks nor calls the host.
    ///
    /// # Errors
    /// The engine does not run.
    fn with(&self, work: &mut dyn FnMut(&mut dyn PacketSender, &mut Fast)) -> Result<(), String>;

    /// Extracts one packet, if one has come, and hands it to its owner: Fast Messages' to
    /// `Fast::on_packet` (reporting its faults), others' to their handlers. Returns how many.
    ///
    /// # Errors
    /// The engine can't go on.
    fn poll(&self) -> Result<usize, Broken>;

    /// Passes time until a packet may have come, at most about a millisecond. Called when the
    /// program has extracted in vain for some microseconds and does nothing else: to poll a
    /// little longer or to sleep at once is the host's to decide, as for every model it serves.
    fn wait_a_little(&self);

    /// Tells the user about an error that a C call can't describe.
    fn report(&self, text: &str);
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// Names the process's host. The first call counts; true if this was it.
pub fn install(host: &'static dyn Host) -> bool {
    HOST.set(host).is_ok()
}

pub(crate) fn installed() -> Option<&'static dyn Host> {
    HOST.get().copied()
}
