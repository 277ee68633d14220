//! Finds the program a rank is to run, before anything is started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{LaunchError, NOT_EXECUTABLE, NOT_FOUND, errno_text, plain};

/// Finds a program as the shell would, seen from the ranks' working folder: a name with a slash is
/// a path, any other is searched in `PATH`, and last in the working folder itself.
pub fn find(name: &OsStr, wdir: &Path, path: Option<&OsStr>) -> Result<PathBuf, LaunchError> {
    let shown = name.to_string_lossy();
    if name.as_bytes().contains(&b'/') {
        let file = wdir.join(name);
        return judge(&file).map(|()| file).map_err(|fault| fault.error(&shown));
    }
    let mut best = None;
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    for folder in path.as_bytes().split(|byte| *byte == b':') {
        let file = wdir.join(OsString::from_vec(folder.to_vec())).join(name);
        match judge(&file) {
            Ok(()) => return Ok(file),
            Err(Fault::Missing) | Err(Fault::Folder) => {}
            Err(fault) => best = Some((fault, file)),
        }
    }
    let file = wdir.join(name);
    match judge(&file) {
        Ok(()) => return Ok(file),
        Err(Fault::Missing) => {}
        Err(fault) => best = best.or(Some((fault, file))),
    }
    Err(match best {
        Some((fault, file)) => fault.error(&file.to_string_lossy()),
        None => LaunchError::new(NOT_FOUND, format!("program '{shown}' not found in PATH")),
    })
}

/// A search path with the folders that the user names for one program in front.
pub fn with_own_path(own: Option<&OsStr>, path: Option<OsString>) -> Option<OsString> {
    let Some(own) = own else { return path };
    let mut whole = own.to_os_string();
    if let Some(path) = path {
        whole.push(":");
        whole.push(path);
    }
    Some(whole)
}

/// Checks that the ranks' working folder can be entered.
pub fn check_folder(dir: &Path) -> Result<(), LaunchError> {
    let fault = match std::fs::metadata(dir) {
        Ok(data) if data.is_dir() => return Ok(()),
        Ok(_) => "it is not a folder".to_string(),
        Err(error) => plain(&error),
    };
    Err(LaunchError::new(1, format!("--wdir '{}': {fault}", dir.display())))
}

/// Says why `execve` refused a program that had looked executable.
pub fn refused(file: &Path, errno: i32) -> LaunchError {
    let shown = file.display();
    let text = match errno {
        libc::ENOEXEC => format!(
            "program '{shown}' is neither a binary for this machine nor a script that names its \
             interpreter; a script's first line must be like '#!/bin/sh'"
        ),
        libc::ENOENT => match interpreter(file) {
            Some(name) => {
                format!("program '{shown}' is a script whose interpreter '{name}' does not exist")
            }
            None => {
                format!("program '{shown}' needs a dynamic loader that this machine does not have")
            }
        },
        libc::EACCES => format!(
            "program '{shown}' may not be executed (permission denied for it, its interpreter, or \
             by a 'noexec' mount)"
        ),
        libc::E2BIG => "the arguments and the environment together are too long".to_string(),
        other => format!("program '{shown}' cannot be executed: {}", errno_text(other)),
    };
    LaunchError::new(NOT_EXECUTABLE, text)
}

enum Fault {
    Missing,
    Folder,
    Forbidden,
    Other(String),
}

impl Fault {
    fn error(self, shown: &str) -> LaunchError {
        let (code, text) = match self {
            Fault::Missing => (NOT_FOUND, format!("program '{shown}' does not exist")),
            Fault::Folder => (NOT_EXECUTABLE, format!("'{shown}' is a folder, not a program")),
            Fault::Forbidden => (
                NOT_EXECUTABLE,
                format!(
                    "program '{shown}' is not executable (permission denied); if it is a program, \
                     run: chmod +x {shown}"
                ),
            ),
            Fault::Other(text) => (NOT_EXECUTABLE, format!("program '{shown}': {text}")),
        };
        LaunchError::new(code, text)
    }
}

fn judge(file: &Path) -> Result<(), Fault> {
    let data = std::fs::metadata(file).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => Fault::Missing,
        Some(libc::EACCES) => Fault::Forbidden,
        _ => Fault::Other(plain(&error)),
    })?;
    if data.is_dir() {
        return Err(Fault::Folder);
    }
    let Ok(path) = std::ffi::CString::new(file.as_os_str().as_bytes()) else {
        return Err(Fault::Other("its name holds a zero byte".to_string()));
    };
    // SAFETY: the path is a terminated string that lives through the call.
    let allowed = unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0;
    if allowed && data.permissions().mode() & 0o111 != 0 { Ok(()) } else { Err(Fault::Forbidden) }
}

fn interpreter(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut start = [0_u8; 256];
    let count = std::fs::File::open(file).ok()?.read(&mut start).ok()?;
    let line = start[..count].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).split_whitespace().next()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn file(dir: &Path, name: &str, mode: u32, text: &str) -> PathBuf {
        let file = dir.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    fn found(name: &str, wdir: &Path, path: &str) -> Result<PathBuf, LaunchError> {
        find(OsStr::new(name), wdir, Some(OsStr::new(path)))
    }

    #[test]
    fn search() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        file(&bin, "tool", 0o755, "");
        file(&bin, "data", 0o644, "");
        file(dir.path(), "here", 0o755, "");
        let wdir = dir.path();
        assert_eq!(found("tool", wdir, "/nowhere:bin").unwrap(), bin.join("tool"));
        assert_eq!(found("bin/tool", wdir, "").unwrap(), bin.join("tool"));
        assert_eq!(found("here", wdir, "bin").unwrap(), wdir.join("here"));
        let error = found("absent", wdir, "bin").unwrap_err();
        assert_eq!(error, LaunchError::new(127, "program 'absent' not found in PATH"));
        let error = found("./absent", wdir, "bin").unwrap_err();
        assert_eq!(error, LaunchError::new(127, "program './absent' does not exist"));
        assert_eq!(found("./bin", wdir, "").unwrap_err().code, 126);
        assert_eq!(found("./bin/data", wdir, "").unwrap_err().code, 126);
        let error = found("data", wdir, "bin").unwrap_err();
        assert!(error.message.contains("not executable"), "{error}");
    }

    #[test]
    fn refusals_by_the_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let script = file(dir.path(), "script", 0o755, "#!/no/such/thing -x\n");
        let error = refused(&script, libc::ENOENT);
        assert!(error.message.contains("interpreter '/no/such/thing' does not exist"), "{error}");
        assert!(refused(&script, libc::ENOEXEC).message.contains("#!/bin/sh"));
        assert_eq!(refused(&script, libc::EACCES).code, 126);
    }
}
