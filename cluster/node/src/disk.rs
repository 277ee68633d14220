//! The data folder of `hpvm node`: who this host is, the jobs it has, those that it had.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use hpvm_queue::attempt::Attempt;
use hpvm_queue::node::{Orders, Work};
use hpvm_queue::stepd::order::replace;

/// Who this host is, and whose jobs it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Of this folder; a new one knows nothing of the jobs of the old.
    pub identity: String,
    /// How often `hpvm node` was started here.
    pub session: u64,
    /// The queue that its jobs are of, once it has had orders.
    pub queue: Option<u64>,
    /// What the marks of its jobs begin with.
    pub marks: String,
    /// Jobs run as their submitters.
    #[serde(default)]
    pub system: bool,
}

/// The folder; nobody else uses it meanwhile.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    _lock: File,
}

impl Disk {
    /// Opens the folder, which is made if need be.
    pub fn open(folder: &Path) -> Result<Disk, String> {
        let told = |error: io::Error| format!("data folder {}: {error}", folder.display());
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder.join("jobs")).map_err(told)?;
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(folder.join("lock")).map_err(told)?;
        // SAFETY: takes a descriptor, which is open, and a number.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let text = format!("another hpvm node uses the data folder {}", folder.display());
            return Err(format!("{text}; use another one (--data)"));
        }
        Ok(Disk { folder: folder.to_path_buf(), _lock: lock })
    }

    /// Who we are, in a life that was never before.
    pub fn begin(&self) -> Result<Identity, String> {
        let path = self.folder.join("identity.json");
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut identity = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Identity>(&bytes).map_err(|e| told(&e))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Identity {
                identity: hpvm_serve::secret::token()?[..32].into(),
                ..Identity::default()
            },
            Err(error) => return Err(told(&error)),
        };
        identity.session += 1;
        self.put_identity(&identity).map_err(|error| told(&error))?;
        Ok(identity)
    }

    pub fn put_identity(&self, identity: &Identity) -> io::Result<()> {
        durable(&self.folder.join("identity.json"), &serde_json::to_vec(identity)?)
    }

    /// Takes the orders' queue for ours; the first orders decide which it is. `true` when something
    /// has changed.
    pub fn adopt(&self, identity: &mut Identity, orders: &Orders) -> Result<bool, String> {
        if orders.system && hpvm_os::user() != 0 {
            let text =
                "the server runs jobs as their submitters (hpvm serve --system), which only root";
            return Err(format!("{text} can: start hpvm node as root"));
        }
        match identity.queue {
            Some(queue) if queue == orders.queue && identity.system == orders.system => Ok(false),
            Some(queue) if queue == orders.queue => {
                identity.system = orders.system;
                let put = self.put_identity(identity);
                put.map(|()| true).map_err(|e| format!("{}: {e}", self.folder.display()))
            }
            Some(_) => Err(format!(
                "the jobs in {} are of another server, or of one that was set up anew: use another \
                 data folder (--data), or remove this one when nothing of it is needed any more",
                self.folder.display()
            )),
            None => {
                (identity.queue, identity.marks) = (Some(orders.queue), orders.marks.clone());
                identity.system = orders.system;
                let put = self.put_identity(identity);
                put.map(|()| true).map_err(|e| format!("{}: {e}", self.folder.display()))
            }
        }
    }

    fn job(&self, id: Attempt) -> PathBuf {
        self.folder.join("jobs").join(id.to_string())
    }

    /// Records a job that was ordered, before anything of it is started.
    pub fn put_work(&self, work: &Work) -> io::Result<()> {
        let folder = self.job(work.job.attempt());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        durable(&folder.join("work.json"), &serde_json::to_vec(work)?)
    }

    /// Whether a job is recorded.
    pub fn has_work(&self, id: Attempt) -> io::Result<()> {
        std::fs::metadata(self.job(id).join("work.json")).map(|_| ())
    }

    /// The jobs that were ordered, and why some cannot be read.
    pub fn works(&self) -> io::Result<(BTreeMap<Attempt, Work>, BTreeMap<Attempt, String>)> {
        let (mut works, mut damaged) = (BTreeMap::new(), BTreeMap::new());
        let torn = |error: &dyn std::fmt::Display| format!("its record cannot be read: {error}");
        for entry in std::fs::read_dir(self.folder.join("jobs"))? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<Attempt>().ok()) else {
                continue;
            };
            match std::fs::read(entry.path().join("work.json")) {
                Ok(bytes) => match serde_json::from_slice::<Work>(&bytes) {
                    Ok(work) => drop(works.insert(id, work)),
                    Err(error) => drop(damaged.insert(id, torn(&error))),
                },
                // Made, and never written to: the order comes again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    std::fs::remove_dir_all(entry.path())?;
                }
                Err(error) => drop(damaged.insert(id, torn(&error))),
            }
        }
        Ok((works, damaged))
    }

    pub fn remove_work(&self, id: Attempt) -> io::Result<()> {
        match std::fs::remove_dir_all(self.job(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The jobs that were here and are gone.
    pub fn forgotten(&self) -> Result<BTreeSet<Attempt>, String> {
        let path = self.folder.join("forgotten.json");
        match std::fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|e| format!("{}: {e}", path.display()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    pub fn put_forgotten(&self, all: &BTreeSet<Attempt>) -> io::Result<()> {
        replace(&self.folder.join("forgotten.json"), &serde_json::to_vec(all)?, 0o600)
    }
}

/// Puts a file in place in one step, so that it is there after a power cut as well.
fn durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o600)?;
    File::open(path)?.sync_all()?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_life_has_a_number_and_the_first_orders_decide_whose_jobs_it_runs() {
        let dir = tempfile::tempdir().unwrap();
        let first = {
            let disk = Disk::open(dir.path()).unwrap();
            assert!(Disk::open(dir.path()).unwrap_err().contains("another hpvm node"));
            disk.begin().unwrap()
        };
        let disk = Disk::open(dir.path()).unwrap();
        let mut second = disk.begin().unwrap();
        assert_eq!((second.session, &second.identity), (first.session + 1, &first.identity));
        let orders = Orders { queue: 7, marks: "m".into(), ..Orders::default() };
        assert_eq!(disk.adopt(&mut second, &orders), Ok(true));
        assert_eq!(disk.adopt(&mut second, &orders), Ok(false));
        let other = Orders { queue: 8, ..orders };
        assert!(disk.adopt(&mut second, &other).unwrap_err().contains("another server"));
        drop(disk);
        assert_eq!(Disk::open(dir.path()).unwrap().begin().unwrap().queue, Some(7));
    }

    #[test]
    fn damaged_and_unfinished_folders_keep_nobody_from_starting() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::open(dir.path()).unwrap();
        std::fs::create_dir(disk.job(Attempt::first(3))).unwrap();
        std::fs::create_dir(disk.job(Attempt::first(4))).unwrap();
        std::fs::write(disk.job(Attempt::first(4)).join("work.json"), "{").unwrap();
        let (works, damaged) = disk.works().unwrap();
        assert!(works.is_empty() && damaged.keys().eq([&Attempt::first(4)]), "{damaged:?}");
        assert!(!disk.job(Attempt::first(3)).exists() && disk.job(Attempt::first(4)).exists());
    }
}
