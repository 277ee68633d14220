//! The log: output of tasks that nobody catches, in `/tmp/pvml.UID`, where PVM has it.

use hpvm_pvm::Tid;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// A line that is longer is cut into several.
const LONGEST_LINE: usize = 4 << 10;

#[derive(Default)]
pub struct Log {
    file: Option<File>,
    /// Lines that are not at their end yet.
    lines: BTreeMap<Tid, Vec<u8>>,
}

impl Log {
    pub fn write(&mut self, tid: Tid, text: &[u8]) {
        let mut line = self.lines.remove(&tid).unwrap_or_default();
        for byte in text {
            if *byte != b'\n' {
                line.push(*byte);
            }
            if *byte == b'\n' || line.len() >= LONGEST_LINE {
                self.line(tid, &line);
                line.clear();
            }
        }
        self.lines.insert(tid, line);
    }

    /// The task writes nothing any more.
    pub fn ended(&mut self, tid: Tid) {
        if let Some(line) = self.lines.remove(&tid).filter(|line| !line.is_empty()) {
            self.line(tid, &line);
        }
    }

    fn line(&mut self, tid: Tid, line: &[u8]) {
        if self.file.is_none() {
            self.file = open();
        }
        if let Some(file) = &mut self.file {
            let text = [format!("[t{tid:x}] ").as_bytes(), line, b"\n"].concat();
            // A full disk: there is nobody to tell.
            let _ = file.write_all(&text);
        }
    }
}

/// A line about the virtual machine itself.
pub fn say(text: &str) {
    if let Some(mut file) = open() {
        let _ = writeln!(file, "hpvm pvm: {text}");
    }
}

/// The file, if it is ours: another user may have put one there.
pub fn open() -> Option<File> {
    let folder = std::env::var("PVM_TMP").unwrap_or_else(|_| "/tmp".to_owned());
    let name = format!("{folder}/pvml.{}", hpvm_os::user());
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(name).ok()?;
    let about = file.metadata().ok()?;
    (about.is_file() && about.uid() == hpvm_os::user()).then_some(file)
}
