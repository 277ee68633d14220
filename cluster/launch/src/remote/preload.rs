//! `--preload`: hpvm itself, packed to be sent to hosts where it is not installed.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const BLOCK: usize = 512;

/// The running program and the libraries beside it, as a tar archive with `bin/hpvm` and `lib/*`.
/// Blocks for reading them.
pub fn pack() -> io::Result<Vec<u8>> {
    let program = std::fs::read_link("/proc/self/exe")?;
    let mut archive = Archive::default();
    archive.folder("bin/");
    archive.folder("lib/");
    archive.file("bin/hpvm", 0o755, &std::fs::read(&program)?)?;
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let mut libraries: Vec<_> = match std::fs::read_dir(prefix.join("lib")) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    libraries.sort();
    for path in libraries {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !name.contains(".so") {
            continue;
        }
        let entry = format!("lib/{name}");
        if path.is_symlink() {
            archive.link(&entry, std::fs::read_link(&path)?.as_os_str().as_bytes())?;
        } else if path.is_file() {
            archive.file(&entry, 0o755, &std::fs::read(&path)?)?;
        }
    }
    // A link, or in a wheel a small library that needs the real one.
    let bare = "lib/hpvm/openmpi/libmpi.so";
    let path = prefix.join(bare);
    if path.exists() {
        archive.folder("lib/hpvm/");
        archive.folder("lib/hpvm/openmpi/");
        match std::fs::read_link(&path) {
            Ok(target) => archive.link(bare, target.as_os_str().as_bytes())?,
            Err(_) => archive.file(bare, 0o755, &std::fs::read(&path)?)?,
        }
    }
    Ok(archive.finish())
}

/// The shell script that unpacks an archive of so many bytes from its standard input, and runs the
/// agent. What follows the archive is left to the agent. The shell stays, whatever signals come,
/// to remove the folder when the agent and its guardian were killed.
pub fn script(length: usize) -> String {
    format!(
        "trap : HUP INT QUIT TERM; d=$(mktemp -d \"${{TMPDIR:-/tmp}}/hpvm-XXXXXXXX\") && \
         head -c {length} | tar -x -f - -C \"$d\" && \"$d/bin/hpvm\" agent \"$d\"; \
         s=$?; rm -rf \"$d\"; exit $s"
    )
}

/// A tar archive (POSIX ustar) in the making.
#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    fn folder(&mut self, name: &str) {
        self.header(name, 0o755, 0, b'5', b"");
    }

    fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        check(name.as_bytes())?;
        self.header(name, mode, bytes.len(), b'0', b"");
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
        Ok(())
    }

    fn link(&mut self, name: &str, target: &[u8]) -> io::Result<()> {
        check(name.as_bytes())?;
        check(target)?;
        self.header(name, 0o777, 0, b'2', target);
        Ok(())
    }

    fn header(&mut self, name: &str, mode: u32, size: usize, kind: u8, target: &[u8]) {
        let mut block = [0_u8; BLOCK];
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, name.as_bytes());
        put(100, format!("{mode:07o}").as_bytes());
        put(108, b"0000000");
        put(116, b"0000000");
        put(124, format!("{size:011o}").as_bytes());
        put(136, b"00000000000");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, target);
        put(257, b"ustar\x0000");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        self.0.extend_from_slice(&block);
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }
}

/// A name in a header has room for 100 bytes.
fn check(name: &[u8]) -> io::Result<()> {
    if name.len() < 100 {
        return Ok(());
    }
    let text = format!("'{}' is too long a name to be sent", String::from_utf8_lossy(name));
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn tar_reads_it_and_what_follows_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::default();
        archive.folder("bin/");
        archive.folder("lib/");
        let program = b"#!/bin/sh\ncat; ls -l \"$2/lib\"; rm -rf \"$2\"\n";
        archive.file("bin/hpvm", 0o755, program).unwrap();
        archive.file("lib/a.so.1", 0o755, &[7; 100_000]).unwrap();
        archive.link("lib/a.so", b"a.so.1").unwrap();
        let archive = archive.finish();
        let mut child = Command::new("sh")
            .args(["-c", &script(archive.len())])
            .env("TMPDIR", dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&archive).unwrap();
        stdin.write_all(b"and then\n").unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("and then\n"), "{text}");
        assert!(text.contains("100000") && text.contains("a.so -> a.so.1"), "{text}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_agent_that_is_killed_leaves_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let mut archive = Archive::default();
        archive.folder("bin/");
        archive.file("bin/hpvm", 0o755, b"#!/bin/sh\nkill -9 $$\n").unwrap();
        let archive = archive.finish();
        let mut child = Command::new("sh")
            .args(["-c", &script(archive.len())])
            .env("TMPDIR", dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&archive).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + 9));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
