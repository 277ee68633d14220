//! Lists of hosts in short form; the faults are ours.

use crate::error::LaunchError;

pub use hpvm_routing::hostlist::items;

/// The names that one item stands for.
pub fn expand(item: &str) -> Result<Vec<String>, LaunchError> {
    hpvm_routing::hostlist::expand(item).map_err(|error| LaunchError::usage(error.text))
}
