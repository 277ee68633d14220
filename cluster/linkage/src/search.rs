//! Finds a library by its name, in the order of glibc's loader (`ld.so(8)`).
//!
//! Left out: the subfolders for newer processors (`glibc-hwcaps`), which hold no MPI, and the
//! tokens `$LIB` and `$PLATFORM`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::elf::Elf;

/// Why a library was found where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The name itself is a path.
    Path,
    /// DT_RPATH of the object with this number in the closure, and the entry as it stands there.
    Rpath { object: usize, entry: OsString },
    /// A folder of `LD_LIBRARY_PATH`.
    LibraryPath,
    /// DT_RUNPATH of the object that needs it.
    Runpath,
    /// The system's list or folders.
    System,
}

/// Where to look.
#[derive(Debug)]
pub struct Search {
    library_path: Vec<PathBuf>,
    cache: Cache,
    system: Vec<PathBuf>,
}

impl Search {
    /// A search with this `LD_LIBRARY_PATH`, in a process whose working folder is `wdir`.
    pub fn new(library_path: &OsStr, wdir: &Path) -> Self {
        let parts = library_path.as_bytes().split(|byte| matches!(byte, b':' | b';'));
        let library_path = match library_path.is_empty() {
            true => Vec::new(),
            // An empty entry is the working folder.
            false => parts.map(|part| wdir.join(OsStr::from_bytes(part))).collect(),
        };
        let system = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"];
        let others = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];
        let debian = system.iter().filter(|_| cfg!(target_arch = "x86_64"));
        let system = debian.chain(&others).map(PathBuf::from).collect();
        Self { library_path, cache: Cache::of_the_system(), system }
    }

    /// Finds `name`, needed by the last object of `chain`; the others loaded each other, the
    /// program first. Objects come with their numbers in the closure.
    pub fn find(&self, name: &OsStr, chain: &[(usize, &Elf)]) -> Option<(PathBuf, Reason)> {
        let (_, needer) = *chain.last()?;
        if name.as_bytes().contains(&b'/') {
            let path = PathBuf::from(expand(name, needer)?);
            return path.exists().then_some((path, Reason::Path));
        }
        if needer.runpath.is_none() {
            for (object, elf) in chain.iter().rev() {
                for entry in &elf.rpath {
                    if let Some(path) = in_folder(entry, elf, name) {
                        let (object, entry) = (*object, entry.clone());
                        return Some((path, Reason::Rpath { object, entry }));
                    }
                }
            }
        }
        let existing = |folder: &PathBuf| Some(folder.join(name)).filter(|path| path.exists());
        if let Some(path) = self.library_path.iter().find_map(existing) {
            return Some((path, Reason::LibraryPath));
        }
        let runpath = needer.runpath.iter().flatten();
        if let Some(path) = runpath.into_iter().find_map(|entry| in_folder(entry, needer, name)) {
            return Some((path, Reason::Runpath));
        }
        let found = self.cache.find(name).or_else(|| self.system.iter().find_map(existing));
        found.map(|path| (path, Reason::System))
    }
}

fn in_folder(entry: &OsStr, elf: &Elf, name: &OsStr) -> Option<PathBuf> {
    Some(PathBuf::from(expand(entry, elf)?).join(name)).filter(|path| path.exists())
}

/// Puts the object's folder for `$ORIGIN`. None for tokens whose value only the loader knows.
fn expand(text: &OsStr, elf: &Elf) -> Option<OsString> {
    let mut rest = text.as_bytes();
    if !rest.contains(&b'$') {
        return Some(text.to_os_string());
    }
    let origin = std::fs::canonicalize(&elf.path).ok()?;
    let origin = origin.parent()?.as_os_str().as_bytes().to_vec();
    let mut whole = Vec::new();
    while let Some(place) = rest.iter().position(|byte| *byte == b'$') {
        whole.extend(&rest[..place]);
        whole.extend(&origin);
        let after = &rest[place..];
        rest = after.strip_prefix(b"$ORIGIN").or_else(|| after.strip_prefix(b"${ORIGIN}"))?;
    }
    whole.extend(rest);
    Some(OsString::from_vec(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(path: &Path, rpath: &[&str], runpath: Option<&[&str]>) -> Elf {
        let list = |texts: &[&str]| texts.iter().map(OsString::from).collect::<Vec<_>>();
        let runpath = runpath.map(list);
        Elf { path: path.to_path_buf(), rpath: list(rpath), runpath, ..Elf::default() }
    }

    #[test]
    fn order_of_the_loader() {
        let dir = tempfile::tempdir().expect("folder");
        let top = dir.path().canonicalize().expect("path");
        for folder in ["r", "l", "u"] {
            std::fs::create_dir(top.join(folder)).expect("folder");
            std::fs::write(top.join(folder).join("libx.so"), "").expect("write");
        }
        std::fs::write(top.join("p"), "").expect("write");
        let search = Search::new(OsStr::new("l"), &top);
        let name = OsStr::new("libx.so");
        let found = |chain: &[(usize, &Elf)]| search.find(name, chain).expect("found");
        let plain = elf(&top.join("p"), &[], None);
        assert_eq!(found(&[(0, &plain)]), (top.join("l/libx.so"), Reason::LibraryPath));
        let rpath = elf(&top.join("p"), &["/nowhere", "$ORIGIN/r"], None);
        let (path, reason) = found(&[(0, &rpath)]);
        assert_eq!(path, top.join("r/libx.so"));
        assert_eq!(reason, Reason::Rpath { object: 0, entry: "$ORIGIN/r".into() });
        // The program's RPATH counts for what its libraries need, but not for those with RUNPATH.
        assert!(matches!(found(&[(0, &rpath), (3, &plain)]).1, Reason::Rpath { object: 0, .. }));
        let runpath = elf(&top.join("p"), &[], Some(&["${ORIGIN}/u"]));
        assert_eq!(found(&[(0, &rpath), (3, &runpath)]).1, Reason::LibraryPath);
        let search = Search::new(OsStr::new(""), &top);
        let (path, reason) = search.find(name, &[(0, &runpath)]).expect("found");
        assert_eq!((path, reason), (top.join("u/libx.so"), Reason::Runpath));
        let absolute = top.join("u/libx.so").into_os_string();
        let (_, reason) = search.find(&absolute, &[(0, &plain)]).expect("found");
        assert_eq!(reason, Reason::Path);
        assert_eq!(search.find(OsStr::new("/u/none"), &[(0, &plain)]), None);
        let (_, reason) = search.find(OsStr::new("libc.so.6"), &[(0, &plain)]).expect("libc");
        assert_eq!(reason, Reason::System);
        assert_eq!(expand(OsStr::new("/a/$LIB/b"), &plain), None);
    }
}
