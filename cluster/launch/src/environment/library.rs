//! Leads programs to our libraries: where they are, which of them has the bare name `libmpi.so`,
//! and what programs that choose their library path themselves are told.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hpvm_linkage::elf::{self, Elf, File};
use hpvm_linkage::names::{Family, Role, classify};
use hpvm_linkage::{Search, names};

use super::{Environment, put_first};

/// Says which ABI a program gets that opens `libmpi.so` by this name: `mpich` or `openmpi`.
pub const BARE_NAME: &str = "HPVM_LIBMPI";
/// mpi4py's ready-made wheel opens the library whose path is in here.
const MPI4PY: &str = "MPI4PY_LIBMPI";
/// R puts this in front of `LD_LIBRARY_PATH`.
const R_PATH: &str = "R_LD_LIBRARY_PATH";

/// The folder where hpvm is installed: the parent of the folder that holds the running program.
pub fn prefix() -> std::io::Result<PathBuf> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    Ok(folder.parent().unwrap_or(folder).to_path_buf())
}

/// The folder of our MPI library, if it is installed beside us.
pub fn library_folder() -> Option<PathBuf> {
    let folder = prefix().ok()?.join("lib");
    folder.join("libmpi_abi.so.1").exists().then_some(folder)
}

/// Puts our libraries first, also for programs that do not go by `LD_LIBRARY_PATH`.
pub fn lead_to(environment: &mut Environment, folder: &Path) {
    let family = bare_name(environment, folder);
    put_first(environment, "LD_LIBRARY_PATH", folder);
    let other = folder.join("hpvm/openmpi");
    let mut folders = vec![folder.to_path_buf()];
    if family == Family::OpenMpi && other.join("libmpi.so").exists() {
        put_first(environment, "LD_LIBRARY_PATH", &other);
        folders.insert(0, other);
    }
    let versioned = if family == Family::OpenMpi { "libmpi.so.40" } else { "libmpi.so.12" };
    let file = folder.join(versioned);
    if file.exists() {
        environment.entry(MPI4PY.into()).or_insert_with(|| file.into_os_string());
    }
    if !environment.contains_key(OsStr::new(R_PATH))
        && let Some(list) = r_path(environment.get(OsStr::new("PATH")))
    {
        environment.insert(R_PATH.into(), list);
        folders.iter().rev().for_each(|folder| put_first(environment, R_PATH, folder));
    }
}

/// Whose ABI those expect who open `libmpi.so`: most look what they have got, but some were built
/// for the MPI of this machine. So it is the ABI of the library that has this name without us.
fn bare_name(environment: &Environment, folder: &Path) -> Family {
    let variable = |name: &str| environment.get(OsStr::new(name)).map(OsString::as_os_str);
    match variable(BARE_NAME).and_then(OsStr::to_str) {
        Some("openmpi") => return Family::OpenMpi,
        Some("mpich") => return Family::Mpich,
        _ => {}
    }
    let list = variable("LD_LIBRARY_PATH").unwrap_or(OsStr::new(""));
    let others = std::env::split_paths(list).filter(|entry| !entry.starts_with(folder));
    let list = std::env::join_paths(others).unwrap_or_default();
    let search = Search::new(&list, Path::new("/"));
    let found = search.find(OsStr::new("libmpi.so"), &[(0, &Elf::default())]);
    match found.and_then(|(path, _)| family_of(&path)) {
        Some(Family::OpenMpi) => Family::OpenMpi,
        _ => Family::Mpich,
    }
}

/// Whose ABI a library says it has by its own name (DT_SONAME), else by the file's.
fn family_of(path: &Path) -> Option<Family> {
    let Ok(File::Elf(elf)) = elf::open(path) else { return None };
    let own = elf.soname.map(|name| name.to_string_lossy().into_owned());
    let name = own.unwrap_or_else(|| path.to_string_lossy().into_owned());
    classify(&name).filter(|(_, role)| *role == Role::C).map(|(family, _)| family)
}

/// What R would put in front of the library path by itself, if there is an R.
fn r_path(path: Option<&OsString>) -> Option<OsString> {
    let folders = std::env::split_paths(path?);
    let program = folders.map(|folder| folder.join("R")).find(|file| file.is_file())?;
    let script = std::fs::canonicalize(program).ok()?;
    let text = read_start(&script)?;
    let home = text.lines().find_map(|line| line.strip_prefix("R_HOME_DIR="))?;
    let home = home.trim_matches(['"', '\'']);
    let settings = read_start(&Path::new(home).join("etc/ldpaths"));
    let usual = settings.and_then(|text| {
        let text = text.replace("${R_HOME}", home);
        // A file with several such lines is a choice that only the shell makes.
        let mut values = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(": ${R_LD_LIBRARY_PATH="))
            .filter_map(|value| value.strip_suffix('}').map(str::to_string));
        values.next().filter(|value| !value.contains('$'))
    });
    Some(usual.unwrap_or_else(|| format!("{home}/lib")).into())
}

/// The beginning of a text; a start script is short.
fn read_start(file: &Path) -> Option<String> {
    use std::io::Read;
    const LONGEST: u64 = 64 << 10;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

/// Whether a file is one of hpvm's libraries, wherever it lies: its name is an MPI library's, and
/// only ours export or need this symbol.
pub fn is_ours(path: &Path) -> bool {
    const MARK: &str = "hpvm_entries_1";
    names::classify(&path.to_string_lossy()).is_some()
        && elf::symbols(path).is_ok_and(|symbols| symbols.iter().any(|symbol| symbol.name == MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn installed(dir: &Path) -> PathBuf {
        let folder = dir.join("lib");
        std::fs::create_dir_all(folder.join("hpvm/openmpi")).unwrap();
        for name in ["libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40", "hpvm/openmpi/libmpi.so"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        folder
    }

    #[test]
    fn the_bare_name_has_the_abi_that_was_said() {
        let dir = tempfile::tempdir().unwrap();
        let folder = installed(dir.path());
        let shown = folder.display();
        let mut mpich = environment(&[(BARE_NAME, "mpich"), ("LD_LIBRARY_PATH", "/x")]);
        lead_to(&mut mpich, &folder);
        assert_eq!(mpich[OsStr::new("LD_LIBRARY_PATH")], *format!("{shown}:/x"));
        assert_eq!(mpich[OsStr::new(MPI4PY)], *format!("{shown}/libmpi.so.12"));
        let mut openmpi = environment(&[(BARE_NAME, "openmpi"), (MPI4PY, "/mine")]);
        lead_to(&mut openmpi, &folder);
        let list = format!("{shown}/hpvm/openmpi:{shown}");
        assert_eq!(openmpi[OsStr::new("LD_LIBRARY_PATH")], *list);
        assert_eq!(openmpi[OsStr::new(MPI4PY)], *"/mine");
    }

    #[test]
    fn the_bare_name_has_the_abi_of_the_library_that_has_it_without_us() {
        let dir = tempfile::tempdir().unwrap();
        let folder = installed(dir.path());
        for (soname, family) in [("libmpi.so.40", Family::OpenMpi), ("libmpi.so.12", Family::Mpich)]
        {
            let other = dir.path().join(soname);
            std::fs::create_dir(&other).unwrap();
            let mut cc = std::process::Command::new("cc");
            cc.args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(other.join("libmpi.so"));
            assert!(cc.arg(format!("-Wl,-soname,{soname}")).status().unwrap().success());
            // Our own folder, were it there already, says nothing.
            let list = format!("{}:{}", folder.display(), other.display());
            let environment = environment(&[("LD_LIBRARY_PATH", &list)]);
            assert_eq!(bare_name(&environment, &folder), family, "{soname}");
        }
    }

    #[test]
    fn r_is_told_before_it_puts_its_own_folders_first() {
        let dir = tempfile::tempdir().unwrap();
        let (bin, home) = (dir.path().join("bin"), dir.path().join("R"));
        std::fs::create_dir_all(home.join("etc")).unwrap();
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("R"), format!("#!/bin/sh\nR_HOME_DIR={}\n", home.display()))
            .unwrap();
        let path = bin.into_os_string();
        let own = format!("{}/lib", home.display());
        assert_eq!(r_path(Some(&path)), Some(own.clone().into()));
        let line = "  : ${R_LD_LIBRARY_PATH=${R_HOME}/lib:/usr/lib/x}\n";
        std::fs::write(home.join("etc/ldpaths"), line).unwrap();
        assert_eq!(r_path(Some(&path)), Some(format!("{own}:/usr/lib/x").into()));
        assert_eq!(r_path(Some(&"/nowhere".into())), None);
    }
}
