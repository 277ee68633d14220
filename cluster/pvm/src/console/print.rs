//! Output of tasks that the console has spawned, and its lists.

use hpvm_pvm::Tid;
use hpvm_pvm::body::Body;
use hpvm_pvm::connection::Connection;
use hpvm_pvm::protocol::{
    HostLine, OUTPUT_EOF, OUTPUT_NEW, OUTPUT_SPAWN, STATE_CONNECTED, STATE_STARTED, TaskLine,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};

/// A `spawn` whose output comes to the console.
struct Job {
    running: BTreeSet<Tid>,
    to: Option<File>,
}

/// All of them, by number: the tag of their output.
#[derive(Default)]
pub struct Jobs {
    jobs: BTreeMap<i32, Job>,
    last: i32,
    /// Beginnings of lines.
    lines: BTreeMap<Tid, Vec<u8>>,
}

impl Jobs {
    /// A new one, whose output goes to the file, or to standard output.
    pub fn add(&mut self, to: Option<File>) -> i32 {
        self.last += 1;
        self.jobs.insert(self.last, Job { running: BTreeSet::new(), to });
        self.last
    }

    /// Its tasks, of which nothing has been printed yet.
    pub fn started<'a>(&mut self, job: i32, tids: impl Iterator<Item = &'a Tid>) {
        let Some(known) = self.jobs.get_mut(&job) else { return };
        known.running.extend(tids);
        if known.running.is_empty() {
            // Nobody will end it.
            self.jobs.remove(&job);
        }
    }

    pub fn list(&self) {
        for (number, job) in &self.jobs {
            let tids: Vec<_> = job.running.iter().map(|tid| format!("t{tid:x}")).collect();
            say!("[{number}] {}", tids.join(" "));
        }
    }

    /// With what is known of their tasks.
    pub fn list_long(&self, hosts: &[HostLine], tasks: &[TaskLine]) {
        task_head(false);
        for (number, job) in &self.jobs {
            say!("[{number}]");
            let own = tasks.iter().filter(|task| job.running.contains(&task.tid));
            own.for_each(|found| task(hosts, found, false));
        }
    }

    /// Prints what has come, each line with the number of its job and with its task, if `tids` are wanted.
    pub fn print(&mut self, connection: &mut Connection, tids: bool) -> io::Result<()> {
        while let Some(mail) = connection.events.pop_front() {
            let mut body = Body::of(mail.body.0);
            let (Ok(tid), Ok(len)) = (body.take_int(), body.take_int()) else { continue };
            let number = mail.tag;
            let Some(job) = self.jobs.get_mut(&number) else { continue };
            let mut say = |text: &[u8]| {
                let head = if tids { format!("[{number}:t{tid:x}] ") } else { String::new() };
                let text = [head.as_bytes(), text, b"\n"].concat();
                match &mut job.to {
                    Some(file) => file.write_all(&text),
                    None => io::stdout().write_all(&text),
                }
            };
            match len {
                OUTPUT_SPAWN | OUTPUT_NEW => drop(job.running.insert(tid)),
                OUTPUT_EOF => {
                    if let Some(rest) = self.lines.remove(&tid).filter(|rest| !rest.is_empty()) {
                        say(&rest)?;
                    }
                    if tids {
                        say(b"EOF")?;
                    }
                    job.running.remove(&tid);
                }
                _ => {
                    let mut line = self.lines.remove(&tid).unwrap_or_default();
                    for part in body.rest().split_inclusive(|byte| *byte == b'\n') {
                        line.extend_from_slice(part);
                        if line.ends_with(b"\n") {
                            line.pop();
                            say(&line)?;
                            line.clear();
                        }
                    }
                    self.lines.insert(tid, line);
                }
            }
            if job.running.is_empty() && len == OUTPUT_EOF {
                say!("[{number}] finished");
                self.jobs.remove(&number);
            }
        }
        Ok(())
    }

    /// Waits for the output of all jobs.
    pub fn finish(&mut self, connection: &mut Connection, tids: bool) -> io::Result<()> {
        loop {
            // What came behind an answer is there already.
            connection.answer()?;
            self.print(connection, tids)?;
            if self.jobs.is_empty() {
                return Ok(());
            }
            connection.read()?;
        }
    }
}

pub fn hosts(hosts: &[HostLine]) {
    let s = if hosts.len() == 1 { "" } else { "s" };
    say!("{} host{s}, 1 data format", hosts.len());
    say!("{:>24} {:>8} {:>8} {:>7} {:>10}", "HOST", "DTID", "ARCH", "SPEED", "DSIG");
    for host in hosts {
        let HostLine { tid, name, arch, speed, signature } = host;
        say!("{name:>24} {tid:>8x} {arch:>8} {speed:>7} {signature:#010x}");
    }
}

/// Whether a task is a console, which has no program's name.
pub fn is_console(task: &TaskLine) -> bool {
    task.program == "-"
}

/// The line above those of [`task`].
pub fn task_head(long: bool) {
    let long = if long { format!(" {:>8} {:>6}", "PTID", "PID") } else { String::new() };
    say!("{:>24} {:>8}{long}   FLAG 0x COMMAND", "HOST", "TID");
}

/// A line of a task; `long`: also its parent and process.
pub fn task(hosts: &[HostLine], task: &TaskLine, long: bool) {
    let host = hosts.iter().find(|host| host.tid == task.host);
    let host = host.map_or("-", |host| &host.name);
    let tid = if is_console(task) { "(cons)".to_owned() } else { format!("{:x}", task.tid) };
    let parent = if task.parent > 0 { format!("{:x}", task.parent) } else { "-".to_owned() };
    let long = if long { format!(" {parent:>8} {:>6}", task.pid) } else { String::new() };
    let flags = format!("{:x}/{}", task.flags, flags(task.flags));
    say!("{host:>24} {tid:>8}{long} {flags:>9} {}", task.program);
}

/// The letters of a task's flags.
fn flags(flags: i32) -> String {
    let letters = [(STATE_CONNECTED, "c"), (STATE_STARTED, "f")];
    let set = letters.iter().filter(|(flag, _)| flags & flag != 0);
    set.map(|(_, letter)| *letter).collect::<Vec<_>>().join(",")
}
