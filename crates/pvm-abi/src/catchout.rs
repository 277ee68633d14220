//! Output of children that comes here to be printed (`pvm_catchout`).

use core::ffi::c_void;
use hpvm_pvm::body::Body;
use hpvm_pvm::protocol::{OUTPUT_EOF, OUTPUT_NEW, OUTPUT_SPAWN};
use hpvm_pvm::{Code, Tid};
use std::collections::BTreeMap;

/// Where it goes, and who has not ended yet.
pub struct Catching {
    /// The program's `FILE`; null: what still comes goes to standard output.
    pub file: *mut libc::FILE,
    /// By task: the beginning of a line.
    open: BTreeMap<Tid, Vec<u8>>,
}

unsafe extern "C" {
    pub static mut stdout: *mut libc::FILE;
}

impl Catching {
    pub const fn new() -> Catching {
        Catching { file: std::ptr::null_mut(), open: BTreeMap::new() }
    }

    /// Whether somebody may still write.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A message of output.
    pub fn print(&mut self, body: &mut Body, show: bool) {
        let Ok((tid, len)) = read(body) else { return };
        match len {
            OUTPUT_SPAWN => drop(self.open.entry(tid).or_default()),
            OUTPUT_NEW => {
                self.open.entry(tid).or_default();
                if show {
                    self.write(format!("[t{tid:x}] BEGIN\n").as_bytes());
                }
            }
            OUTPUT_EOF => {
                let rest = self.open.remove(&tid).unwrap_or_default();
                if !rest.is_empty() {
                    self.line(tid, &rest, show);
                }
                if show {
                    self.write(format!("[t{tid:x}] EOF\n").as_bytes());
                }
            }
            _ => {
                let mut line = self.open.remove(&tid).unwrap_or_default();
                for part in body.rest().split_inclusive(|byte| *byte == b'\n') {
                    line.extend_from_slice(part);
                    if line.ends_with(b"\n") {
                        line.pop();
                        self.line(tid, &line, show);
                        line.clear();
                    }
                }
                self.open.insert(tid, line);
            }
        }
    }

    fn line(&self, tid: Tid, line: &[u8], show: bool) {
        let front = if show { format!("[t{tid:x}] ") } else { String::new() };
        self.write(&[front.as_bytes(), line, b"\n"].concat());
    }

    fn write(&self, text: &[u8]) {
        // SAFETY: the program's stream, which it keeps open as long as it catches output, or the C library's.
        unsafe {
            let file = if self.file.is_null() { stdout } else { self.file };
            libc::fwrite(text.as_ptr().cast::<c_void>(), 1, text.len(), file);
            libc::fflush(file);
        }
    }
}

fn read(body: &mut Body) -> Result<(Tid, i32), Code> {
    Ok((body.take_int()?, body.take_int()?))
}
