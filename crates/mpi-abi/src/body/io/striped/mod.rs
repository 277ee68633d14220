//! Files whose bytes lie in stripes on the hosts' own disks ([`hpvm_io::stripes`]).
//!
//! One rank of each host is the owner of the host's stripe. In collective calls it moves the stripe's bytes, and the
//! others hand theirs to it. What a rank does alone it does itself where the stripe's file is on its host, and asks the owner
//! else ([`far`], [`owner`]). Rank 0 alone looks at the file's name, which other hosts need not see.
//!
//! The lengths of the stripes say how large the file is; nobody keeps another number.

mod far;
mod owner;

pub use far::Held;
pub use owner::{Owner, end as end_owner, take};

use crate::body::agree;
use crate::body::check::wrong;
use crate::generated::constants::MPI_Comm;
use crate::object::comm::CommObject;
use crate::object::file::FileObject;
use crate::object::info::Info;
use crate::runtime::{enter, host_name};
use hpvm_io::stripes::{self, DEFAULT_UNIT, Layout, Manifest, Stripe, UNITS};
use hpvm_io::{Amode, File, error::shown};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

/// The info key: `true`, `false`, or a folder that each host has.
pub const KEY: &str = "hpvm_stripes";

/// What the ranks of a file know of its stripes.
#[derive(Debug)]
pub struct Striped {
    manifest: Manifest,
    /// The rank that moves the bytes of each stripe.
    owners: Vec<usize>,
    /// The stripe of this rank.
    own: Option<Arc<Stripe>>,
    /// The stripes whose files this rank has open, its own among them.
    here: Vec<Option<Arc<Stripe>>>,
    /// The file is made by this call.
    new: bool,
    /// The file's own communicator.
    object: Arc<CommObject>,
    /// The number of this rank's next request.
    next: AtomicU32,
    /// Since others ask this rank for its stripe.
    serves: Mutex<Option<Arc<Owner>>>,
}

/// What rank 0 has found at the name of a file that is being opened.
enum Found {
    /// Not striped.
    Plain,
    /// To be made in such a folder by units of so many bytes, on so many hosts at most.
    New {
        folder: Vec<u8>,
        unit: u64,
        hosts: usize,
    },
    Old(Manifest),
}

/// The ranks that open a file.
#[derive(Clone, Copy)]
pub struct Ranks {
    pub comm: MPI_Comm,
    pub size: usize,
    pub rank: usize,
}

/// Opens a file that is striped, or is to be; `None`: it is another one. All ranks call it.
pub fn open(ranks: Ranks, path: &Path, amode: Amode, info: &Info) -> Result<Option<Striped>> {
    let Ranks { comm, size, rank } = ranks;
    let found = if rank == 0 { look(path, amode, info) } else { Ok(Found::Plain) };
    // Most files are plain: of those the others hear no more than a length.
    let kind = match &found {
        Ok(Found::Plain) => Vec::new(),
        Ok(Found::New { .. }) => vec![1],
        Ok(Found::Old(_)) | Err(_) => vec![0],
    };
    let kind = agree::bytes_of_first(comm, rank, kind)?;
    let found = match kind.first() {
        None => return Ok(None),
        Some(_) => agree::together_on(comm, size, found)?,
    };
    let new = kind.first() == Some(&1);
    let hosts = hosts(ranks)?;
    let made = match found {
        Found::Plain => Ok(Vec::new()),
        Found::Old(manifest) => Ok(manifest.text().into_bytes()),
        Found::New { folder, unit, hosts: wanted } => {
            let mut distinct = hosts.clone();
            let mut seen = std::collections::BTreeSet::new();
            distinct.retain(|host| seen.insert(host.clone()));
            distinct.truncate(wanted.min(stripes::MAX_STRIPES));
            manifest(path, &folder, &distinct, unit).map(|made| made.text().into_bytes())
        }
    };
    let text = agree::together_on(comm, size, made)?;
    let text = agree::bytes_of_first(comm, rank, text)?;
    let bad = |what| wrong(Class::BadFile, format!("'{}': {what}", shown(path)));
    let manifest = Manifest::parse(&text).map_err(bad)?;
    let owners = owners(path, &manifest, &hosts)?;
    if !new && manifest.size.is_none() {
        let text = format!(
            "'{}' is a striped file that is open for writing, or that was not closed; hpvm stripes cat --incomplete \
             reads what is there",
            shown(path)
        );
        return Err(wrong(Class::FileInUse, text));
    }
    let object = enter()?.objects.comm(comm)?.clone();
    let here = vec![None; owners.len()];
    let (next, serves) = (AtomicU32::new(0), Mutex::new(None));
    let mut striped = Striped { manifest, owners, own: None, here, new, object, next, serves };
    let attached = agree::together_on(comm, size, striped.attach(rank, path, amode));
    let attached = attached.and_then(|()| {
        striped.open_here(amode);
        // Somebody has to ask for a stripe: then all owners answer.
        let all = striped.here.iter().all(Option::is_some);
        let all = agree::all_words(comm, size, [u64::from(all)])?;
        let serves = if all.contains(&[0]) { striped.serve() } else { Ok(()) };
        agree::together_on(comm, size, serves)
    });
    match attached {
        Ok(()) => Ok(Some(striped)),
        Err(error) => {
            striped.abandon(rank, path);
            Err(error)
        }
    }
}

/// Rank 0's part: what the name and the hints say.
fn look(path: &Path, amode: Amode, info: &Info) -> Result<Found> {
    let folder = match info.get_bytes(KEY.as_bytes()).map(<[u8]>::trim_ascii) {
        Some(b"false" | b"disable") => return Ok(Found::Plain),
        Some(b"true" | b"enable") => {
            let whole = std::path::absolute(path)
                .map_err(|e| hpvm_io::error::of("cannot find the folder of", path, &e))?;
            Some(whole.parent().unwrap_or(Path::new("/")).as_os_str().as_bytes().to_vec())
        }
        Some(folder) if folder.first() == Some(&b'/') => Some(folder.to_vec()),
        Some(other) => {
            let text = format!(
                "{KEY} is '{}'; expected true, false, or a folder that begins with '/'",
                other.escape_ascii()
            );
            return Err(wrong(Class::InfoValue, text));
        }
        None => None,
    };
    let bad = |what| wrong(Class::BadFile, format!("'{}': {what}", shown(path)));
    let exists = |what| wrong(Class::FileExists, format!("'{}' {what}", shown(path)));
    match (Manifest::look(path).map_err(bad)?, folder) {
        (Some(_), _) if amode.creates() && amode.is_exclusive() => Err(exists("exists already")),
        (Some(manifest), _) => Ok(Found::Old(manifest)),
        (None, Some(folder)) if amode.creates() => {
            if path.symlink_metadata().is_ok() {
                return Err(exists("exists, and is not striped"));
            }
            let number = |key| info.get(key).and_then(|value| value.trim().parse::<u64>().ok());
            let unit = number("striping_unit").filter(|n| *n > 0).unwrap_or(DEFAULT_UNIT);
            let hosts = number("striping_factor").filter(|n| *n > 0).unwrap_or(u64::MAX);
            let unit = unit.clamp(*UNITS.start(), *UNITS.end());
            Ok(Found::New { folder, unit, hosts: usize::try_from(hosts).unwrap_or(usize::MAX) })
        }
        _ => Ok(Found::Plain),
    }
}

/// The manifest of a new file.
fn manifest(path: &Path, folder: &[u8], hosts: &[String], unit: u64) -> Result<Manifest> {
    let random = hpvm_net::handshake::random()
        .map_err(|e| wrong(Class::Other, format!("no random name for the stripes: {e}")))?;
    let name = path.file_name().unwrap_or_default().as_bytes();
    Manifest::new(name, folder, hosts, unit, random)
        .map_err(|what| wrong(Class::BadFile, format!("'{}': {what}", shown(path))))
}

/// Words that the name of a host takes.
const NAME_WORDS: usize = 32;

/// The host of every rank, by name. Names outlive a job, unlike the numbers of hosts.
fn hosts(ranks: Ranks) -> Result<Vec<String>> {
    let mut name = host_name().into_bytes();
    name.resize(NAME_WORDS * 8, 0);
    let mut words = [0; NAME_WORDS];
    for (word, bytes) in words.iter_mut().zip(name.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let all = agree::all_words(ranks.comm, ranks.size, words)?;
    let name_of = |words: [u64; NAME_WORDS]| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Ok(all.into_iter().map(name_of).collect())
}

/// The first rank of each stripe's host.
fn owners(path: &Path, manifest: &Manifest, hosts: &[String]) -> Result<Vec<usize>> {
    let owner = |(number, place): (usize, &stripes::StripeLocation)| {
        hosts.iter().position(|host| *host == place.host).ok_or_else(|| {
            let (name, host) = (shown(path), &place.host);
            let text = format!(
                "stripe {number} of '{name}' is on host '{host}', where no rank of the communicator is"
            );
            wrong(Class::NoSuchFile, text)
        })
    };
    manifest.stripes.iter().enumerate().map(owner).collect()
}

impl Striped {
    pub fn layout(&self) -> Layout {
        self.manifest.layout()
    }

    pub fn owners(&self) -> &[usize] {
        &self.owners
    }

    /// Bytes of the file when it was opened.
    pub fn size_at_open(&self) -> u64 {
        self.manifest.size.unwrap_or(0)
    }

    /// The stripe of this rank, which is its owner.
    pub fn own(&self) -> Result<&Stripe> {
        self.own
            .as_deref()
            .ok_or_else(|| wrong(Class::Intern, "a rank without a stripe got its data"))
    }

    /// Opens this rank's stripe, or makes it. The name of a new file comes first: by it all stripes are found, if
    /// this job dies.
    fn attach(&mut self, rank: usize, path: &Path, amode: Amode) -> Result<()> {
        let write = |manifest: &Manifest, new| {
            let written = manifest.write(path, new);
            written.map_err(|e| hpvm_io::error::of("cannot write", path, &e))
        };
        if self.new && rank == 0 {
            write(&self.manifest, true)?;
        }
        if let Some(number) = self.owners.iter().position(|owner| *owner == rank) {
            let place = &self.manifest.stripes[number].path;
            let number = number as u64;
            let of = (self.manifest.set.as_str(), self.layout());
            self.own = Some(Arc::new(match self.new {
                true => Stripe::create(&self.manifest, number, amode)?,
                false => Stripe::open(of, number, place, amode)?,
            }));
            let share = self.layout().share(number, self.size_at_open());
            let there = self.own()?.len()?;
            if there != share {
                let name = shown(place);
                let text = format!("the stripe '{name}' has {there} bytes; expected {share}");
                return Err(wrong(Class::BadFile, text));
            }
        }
        if !self.new && amode.writes() && rank == 0 {
            // From now on it is incomplete.
            write(&Manifest { size: None, ..self.manifest.clone() }, false)?;
        }
        Ok(())
    }

    /// Opens the stripes that other ranks of this host own. One that can't be opened is asked for.
    fn open_here(&mut self, amode: Amode) {
        let (host, of) = (host_name(), (self.manifest.set.as_str(), self.manifest.layout()));
        for (number, place) in self.manifest.stripes.iter().enumerate() {
            let own = self.own.as_ref().filter(|own| own.number == number as u64).cloned();
            let open = || Stripe::open(of, number as u64, &place.path, amode).ok().map(Arc::new);
            self.here[number] = own.or_else(|| (place.host == host).then(open).flatten());
        }
    }

    /// Answers what others ask of this rank's stripe from now on, if it has one.
    pub fn serve(&self) -> Result<()> {
        let Some(own) = &self.own else { return Ok(()) };
        let mut serves = self.serves.lock().unwrap_or_else(PoisonError::into_inner);
        if serves.is_none() {
            *serves = Some(Owner::start(self.object.clone(), own.clone())?);
        }
        Ok(())
    }

    /// Nobody asks any more. To be called when all ranks have done so.
    pub fn end_service(&self) -> Result<()> {
        let served = self.serves.lock().unwrap_or_else(PoisonError::into_inner).take();
        served.map_or(Ok(()), |owner| owner.end())
    }

    /// A stripe whose file this rank has open.
    fn reach(&self, stripe: u64) -> Option<&Stripe> {
        self.here.get(stripe as usize)?.as_deref()
    }

    /// Undoes `attach`, as well as that goes: somebody's has failed, which is the error that counts.
    pub fn abandon(&self, rank: usize, path: &Path) {
        let _ = self.end_service();
        if !self.new {
            if rank == 0 && matches!(Manifest::look(path), Ok(Some(there)) if there.size.is_none())
            {
                let _ = self.manifest.write(path, false);
            }
            return;
        }
        if let Some(stripe) = &self.own {
            let _ = self.remove(stripe.number as usize);
        }
        if rank == 0
            && matches!(Manifest::look(path), Ok(Some(there)) if there.set == self.manifest.set)
        {
            let _ = File::delete(path);
        }
    }

    fn remove(&self, number: usize) -> Result<bool> {
        let of = (self.manifest.set.as_str(), self.layout());
        stripes::remove(of, number as u64, &self.manifest.stripes[number].path)
    }

    /// The size that the stripes make up. All ranks call it.
    pub fn measured(&self, file: &FileObject) -> Result<u64> {
        let size = match &self.own {
            Some(stripe) => stripe.len().map(|len| self.layout().size_of(stripe.number, len)),
            None => Ok(0),
        };
        let mine = *size.as_ref().unwrap_or(&0);
        let (_, all) = agree::together_with(file, size, [mine])?;
        Ok(all.iter().map(|[size]| *size).max().unwrap_or(0))
    }

    /// Does something with this rank's stripe, of which it has a share at a size of the file. All ranks call it.
    fn each(
        &self,
        file: &FileObject,
        size: u64,
        what: impl FnOnce(&Stripe, u64) -> Result<()>,
    ) -> Result<()> {
        let done = match &self.own {
            Some(stripe) => what(stripe, self.layout().share(stripe.number, size)),
            None => Ok(()),
        };
        agree::together(file, done)
    }

    pub fn set_size(&self, file: &FileObject, size: u64) -> Result<()> {
        self.each(file, size, Stripe::set_len)
    }

    pub fn preallocate(&self, file: &FileObject, size: u64) -> Result<()> {
        self.each(file, size, Stripe::preallocate)
    }

    pub fn sync(&self, file: &FileObject) -> Result<()> {
        self.each(file, 0, |stripe, _| stripe.sync())
    }

    /// The last of the file: it is deleted, or its size is told. All ranks call it.
    pub fn close(&self, file: &FileObject) -> Result<()> {
        let (path, amode) = (file.file.path(), file.file.amode());
        let first = file.rank() == 0;
        self.end_service()?;
        if amode.deletes_on_close() {
            self.each(file, 0, |stripe, _| self.remove(stripe.number as usize).map(drop))?;
            return agree::together(file, if first { File::delete(path) } else { Ok(()) });
        }
        if !amode.writes() {
            return Ok(());
        }
        let size = self.measured(file)?;
        // All have the length that they should have, so that one that is cut short is noticed.
        self.each(file, size, Stripe::set_len)?;
        let closed = Manifest { size: Some(size), ..self.manifest.clone() };
        let told = if first { closed.write(path, false) } else { Ok(()) };
        agree::together(file, told.map_err(|e| hpvm_io::error::of("cannot write", path, &e)))
    }

    /// What `MPI_File_get_info` tells.
    pub fn hints(&self) -> [(&'static str, String); 3] {
        let Layout { unit, count } = self.layout();
        [
            (KEY, "true".to_owned()),
            ("striping_unit", unit.to_string()),
            ("striping_factor", count.to_string()),
        ]
    }
}

/// `MPI_File_delete`: what one rank can do. Where other hosts have stripes nothing is deleted.
pub fn delete_all(path: &Path) -> Result<()> {
    // What begins as a manifest and is none leads to no stripes.
    let Ok(Some(manifest)) = Manifest::look(path) else { return File::delete(path) };
    let here = host_name();
    let far: Vec<_> =
        manifest.stripes.iter().map(|place| place.host.as_str()).filter(|h| *h != here).collect();
    if !far.is_empty() {
        let text = format!(
            "'{}' has stripes on {}, which this call does not reach; hpvm stripes rm deletes it, or \
             MPI_MODE_DELETE_ON_CLOSE",
            shown(path),
            far.join(", ")
        );
        return Err(wrong(Class::UnsupportedOperation, text));
    }
    let of = (manifest.set.as_str(), manifest.layout());
    for (number, place) in manifest.stripes.iter().enumerate() {
        stripes::remove(of, number as u64, &place.path)?;
    }
    File::delete(path)
}
