//! Everything that the loader would load for a program.

use std::ffi::{OsStr, OsString};

use crate::elf::{self, Elf, File};
use crate::names;
use crate::search::{Reason, Search};

/// No program has more libraries; a circle of generated names must end, too.
const MAX_LIBRARIES: usize = 1024;

/// One loaded file.
#[derive(Debug)]
pub struct Object {
    pub elf: Elf,
    /// The name it was needed by; the program has none.
    pub name: OsString,
    /// The number of the object that needed it first; the program's is its own, 0.
    pub loader: usize,
    /// Why it was found where it was; the program has none.
    pub reason: Option<Reason>,
}

/// The objects in loading order, the program first.
#[derive(Debug)]
pub struct Closure {
    pub objects: Vec<Object>,
    /// Further names by which objects were needed (links to one file), and their numbers.
    pub aliases: Vec<(OsString, usize)>,
    /// Names that no file was found for or whose file cannot be loaded, and the number of the
    /// object that needs it.
    pub absent: Vec<(OsString, usize)>,
}

impl Closure {
    /// Follows what a program needs. `deep` opens every library; otherwise those that cannot need
    /// MPI are left out, and so is what MPI libraries themselves need.
    pub fn new(program: Elf, search: &Search, deep: bool) -> Self {
        let first = Object { elf: program, name: OsString::new(), loader: 0, reason: None };
        let mut closure = Self { objects: vec![first], aliases: Vec::new(), absent: Vec::new() };
        let mut at = 0;
        while at < closure.objects.len() && closure.objects.len() < MAX_LIBRARIES {
            if deep || at == 0 || !closure.objects[at].is_mpi() {
                for name in closure.objects[at].elf.needed.clone() {
                    closure.load(&name, at, search, deep);
                }
            }
            at += 1;
        }
        closure
    }

    /// The objects that lead from the program to this one, both included.
    pub fn chain(&self, mut object: usize) -> Vec<(usize, &Elf)> {
        let mut chain = vec![(object, &self.objects[object].elf)];
        // Loaders have lower numbers, so this ends.
        while object != 0 {
            object = self.objects[object].loader;
            chain.push((object, &self.objects[object].elf));
        }
        chain.reverse();
        chain
    }

    /// The object that stands for a needed name.
    pub fn named(&self, name: &OsStr) -> Option<&Object> {
        let known = |object: &&Object| object.name == *name || object.elf.soname() == Some(name);
        let alias = self.aliases.iter().find(|(alias, _)| alias == name);
        self.objects.iter().find(known).or_else(|| self.objects.get(alias?.1))
    }

    fn load(&mut self, name: &OsStr, needer: usize, search: &Search, deep: bool) {
        let text = name.to_string_lossy();
        if !deep && names::is_plain(&text) || self.named(name).is_some() {
            return;
        }
        let found = search.find(name, &self.chain(needer));
        let opened = found.and_then(|(path, reason)| match elf::open(&path) {
            Ok(File::Elf(elf)) => Some((*elf, reason)),
            _ => None,
        });
        let same = |elf: &Elf| self.objects.iter().position(|o| o.elf.identity == elf.identity);
        match opened {
            // Another name of a file that is there already adds no object.
            Some((elf, reason)) => match same(&elf) {
                Some(object) => self.aliases.push((name.to_os_string(), object)),
                None => {
                    let (name, reason) = (name.to_os_string(), Some(reason));
                    self.objects.push(Object { elf, name, loader: needer, reason });
                }
            },
            None if self.absent.iter().any(|(absent, _)| absent == name) => {}
            None => self.absent.push((name.to_os_string(), needer)),
        }
    }
}

impl Object {
    /// Whether it is an MPI library, by its name.
    pub fn is_mpi(&self) -> bool {
        names::classify(&self.name.to_string_lossy()).is_some()
    }
}

impl Elf {
    fn soname(&self) -> Option<&OsStr> {
        self.soname.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn this_program_needs_the_c_library() {
        let own = std::env::current_exe().expect("a program");
        let Ok(File::Elf(elf)) = elf::open(&own) else { panic!("no ELF file") };
        let search = Search::new(OsStr::new(""), Path::new("/"));
        let closure = Closure::new(*elf.clone(), &search, true);
        assert!(closure.objects.iter().any(|object| object.name == "libc.so.6"));
        assert!(closure.absent.is_empty(), "{:?}", closure.absent);
        let chain = closure.chain(closure.objects.len() - 1);
        assert_eq!(chain[0].0, 0);
        let quick = Closure::new(*elf, &search, false);
        assert_eq!(quick.objects.len(), 1, "{:?}", quick.objects);
    }
}
