//! Files that take the output of ranks.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::rc::Rc;

use super::pattern::Context;
use super::routing::Routing;
use crate::error::{LaunchError, plain};

/// A file with its name for messages; streams may share one.
type Shared = Rc<(PathBuf, File)>;

/// The files of all ranks, at the rank's number; two streams may share one.
#[derive(Debug, Default)]
pub struct Files {
    of_ranks: Vec<[Option<Shared>; 2]>,
    fault: Option<String>,
}

impl Files {
    /// Makes all files, and folders for them. What was in them is lost, unless they are appended to.
    pub fn create<'a>(
        routing: &Routing,
        ranks: impl Iterator<Item = Context<'a>>,
    ) -> Result<Self, LaunchError> {
        let mut files = Self::default();
        if routing.files.iter().all(Option::is_none) {
            return Ok(files);
        }
        let mut known: std::collections::BTreeMap<PathBuf, Shared> = Default::default();
        for context in ranks {
            let mut both = [None, None];
            for (side, own) in both.iter_mut().enumerate() {
                // What goes to standard output goes to its file, too.
                let wanted = if routing.merge { 0 } else { side };
                let Some(pattern) = &routing.files[wanted] else { continue };
                let path = PathBuf::from(OsString::from_vec(pattern.fill(&context)));
                let file = match known.get(&path) {
                    Some(file) => file.clone(),
                    None => Rc::new((path.clone(), open(&path, routing.append)?)),
                };
                known.insert(path, file.clone());
                *own = Some(file);
            }
            files.of_ranks.push(both);
        }
        Ok(files)
    }

    /// How many descriptors the files of so many ranks need at most.
    pub fn count(routing: &Routing, ranks: u32) -> u64 {
        routing.files.iter().flatten().count() as u64 * u64::from(ranks)
    }

    /// Writes what a rank wrote.
    pub fn write(&mut self, rank: u32, side: usize, bytes: &[u8]) {
        let Some([.., _]) = self.of_ranks.get(rank as usize) else { return };
        let slot = &mut self.of_ranks[rank as usize][side];
        let Some(file) = slot else { return };
        if let Err(error) = (&file.1).write_all(bytes) {
            let text = format!("cannot write to '{}': {}", file.0.display(), plain(&error));
            self.fault.get_or_insert(text);
            *slot = None;
        }
    }

    /// Why a file could not be written, once.
    pub fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }
}

fn open(path: &std::path::Path, append: bool) -> Result<File, LaunchError> {
    let fault = |error: std::io::Error| {
        LaunchError::system(format!("cannot write to '{}'", path.display()), &error)
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(fault)?;
    }
    let mut options = File::options();
    options.create(true).write(!append).append(append).truncate(!append);
    options.open(path).map_err(fault)
}
