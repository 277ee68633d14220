//! What keeps a program from loading our MPI although our folder is first on its library path.

use std::path::{Path, PathBuf};

use crate::names::{self, Role};
use crate::search::Reason;
use crate::walk::Closure;

/// An MPI library that would come from elsewhere although our folder has one of that name.
#[derive(Debug, PartialEq, Eq)]
pub struct Defeat {
    /// The library's name.
    pub library: String,
    /// The file that would be loaded.
    pub found: PathBuf,
    /// The file whose dynamic section is the cause.
    pub culprit: PathBuf,
    /// The DT_RPATH entry; None if the library is named by its path.
    pub rpath: Option<String>,
}

impl Defeat {
    /// Cause and remedy for people, in one line.
    pub fn text(&self, folder: &Path) -> String {
        let (library, found, ours) = (&self.library, self.found.display(), folder.display());
        let culprit = self.culprit.display();
        match &self.rpath {
            Some(entry) => format!(
                "'{culprit}' will load {found}, not {ours}/{library}: its DT_RPATH '{entry}' goes \
                 before LD_LIBRARY_PATH; run: patchelf --remove-rpath '{culprit}' (or link it \
                 with -Wl,--enable-new-dtags)"
            ),
            None => format!(
                "'{culprit}' will load {found}, not {ours}/{library}: it names that file by its \
                 path; run: patchelf --replace-needed '{found}' {library} '{culprit}'"
            ),
        }
    }
}

/// The libraries of a closure that are not ours although they should be. `folder` is ours and
/// must have been first on the library path of the search.
pub fn defeats(closure: &Closure, folder: &Path) -> Vec<Defeat> {
    let mut found = Vec::new();
    for object in &closure.objects {
        let named = object.name.to_string_lossy();
        let library = named.rsplit('/').next().unwrap_or_default().to_string();
        let mpi = names::classify(&library).is_some_and(|(_, role)| role != Role::Inner);
        if !mpi || !folder.join(&library).exists() {
            continue;
        }
        let (culprit, rpath) = match &object.reason {
            Some(Reason::Rpath { object, entry }) => {
                (*object, Some(entry.to_string_lossy().into_owned()))
            }
            Some(Reason::Path) => (object.loader, None),
            _ => continue,
        };
        // Its RPATH may well name our own folder.
        let ours = std::fs::canonicalize(folder.join(&library));
        if ours.is_ok() && ours.ok() == std::fs::canonicalize(&object.elf.path).ok() {
            continue;
        }
        let culprit = closure.objects[culprit].elf.path.clone();
        found.push(Defeat { library, found: object.elf.path.clone(), culprit, rpath });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Elf;
    use crate::walk::Object;

    fn closure(library: &Path, name: &str, reason: Reason) -> Closure {
        let elf = |path: &Path| Elf { path: path.to_path_buf(), ..Elf::default() };
        let program =
            Object { elf: elf(Path::new("/p")), name: "".into(), loader: 0, reason: None };
        let library =
            Object { elf: elf(library), name: name.into(), loader: 0, reason: Some(reason) };
        Closure { objects: vec![program, library], aliases: Vec::new(), absent: Vec::new() }
    }

    #[test]
    fn who_defeats() {
        let dir = tempfile::tempdir().expect("folder");
        let (ours, other) = (dir.path().join("ours"), dir.path().join("other"));
        for folder in [&ours, &other] {
            std::fs::create_dir(folder).expect("folder");
            std::fs::write(folder.join("libmpi.so.12"), "").expect("write");
        }
        let rpath = |entry: &Path| Reason::Rpath { object: 0, entry: entry.into() };
        let theirs = other.join("libmpi.so.12");
        let found = defeats(&closure(&theirs, "libmpi.so.12", rpath(&other)), &ours);
        assert_eq!(found.len(), 1);
        let text = found[0].text(&ours);
        assert!(text.contains("--remove-rpath '/p'") && text.contains("DT_RPATH"), "{text}");
        let name = theirs.to_string_lossy();
        let found = defeats(&closure(&theirs, &name, Reason::Path), &ours);
        assert!(found[0].text(&ours).contains("--replace-needed"));
        // Ours by RPATH, theirs through the library path, and what we do not have.
        let own = ours.join("libmpi.so.12");
        assert_eq!(defeats(&closure(&own, "libmpi.so.12", rpath(&ours)), &ours), []);
        assert_eq!(defeats(&closure(&theirs, "libmpi.so.12", Reason::LibraryPath), &ours), []);
        assert_eq!(defeats(&closure(&theirs, "libmpi.so.40", rpath(&other)), &ours), []);
    }
}
