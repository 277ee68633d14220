//! Graphics processors: how busy they are and how much of their memory is in use, as their drivers say.
//!
//! NVIDIA's driver tells it through a library that comes with it, AMD's in files. Where neither has a
//! processor nothing is loaded and nobody is asked. A driver can take seconds to answer, and one in
//! trouble does not: a thread of its own asks.

mod amd;
mod nvidia;

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sample::Gpu;
use crate::watch::Watch;

/// As often as the host is sampled.
const QUERY_INTERVAL: Duration = Duration::from_secs(1);

/// Where the drivers are.
#[derive(Clone, Debug)]
pub struct Drivers {
    /// `/`, but for a test.
    root: PathBuf,
    /// NVIDIA's library, by a name that the loader knows, or a path.
    library: CString,
}

impl Default for Drivers {
    fn default() -> Drivers {
        Drivers { root: PathBuf::from("/"), library: c"libnvidia-ml.so.1".to_owned() }
    }
}

impl Drivers {
    /// Others than this host's, for tests.
    pub fn at(root: &Path, library: &Path) -> Drivers {
        use std::os::unix::ffi::OsStrExt;
        let library = CString::new(library.as_os_str().as_bytes()).unwrap_or_default();
        Drivers { root: root.to_path_buf(), library }
    }

    /// Watches the graphics processors, if there are any now.
    pub(crate) fn watch(self) -> Option<Watch<Vec<Gpu>>> {
        let has_nvidia = nvidia::is_there(&self.root);
        if !has_nvidia && amd::cards(&self.root).is_empty() {
            return None;
        }
        let mut library = None;
        let ask = move || {
            if has_nvidia && library.is_none() {
                library = nvidia::Library::load(&self.library);
            }
            let mut found = library.as_ref().map(nvidia::Library::ask).unwrap_or_default();
            found.extend(amd::cards(&self.root).iter().filter_map(|card| amd::ask(card)));
            // None answers: nothing is known.
            (!found.is_empty()).then_some(found)
        };
        Some(Watch::new("hpvm-gpus", QUERY_INTERVAL, None, ask))
    }
}
