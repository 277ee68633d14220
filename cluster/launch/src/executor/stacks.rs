//! Stacks of the ranks on this machine, for `--get-stack-traces`.

use std::process::{Command, Stdio};

use super::Executor;

/// Programs that print the stacks of a process, with the arguments in front of its number and behind.
pub const TOOLS: &[(&str, &[&str], &[&str])] = &[
    ("gdb", &["-batch", "-nx", "-p"], &["-ex", "thread apply all backtrace"]),
    ("eu-stack", &["-p"], &[]),
    ("gstack", &[], &[]),
    ("pstack", &[], &[]),
];

/// The first of them that is installed.
pub fn tool() -> Option<&'static (&'static str, &'static [&'static str], &'static [&'static str])> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    TOOLS.iter().find(|(name, ..)| folders.iter().any(|folder| folder.join(name).is_file()))
}

impl Executor<'_> {
    /// Writes them to standard error; waits until that is done.
    pub(super) fn stack_traces(&mut self) {
        let Some((name, front, behind)) = tool() else { return };
        for rank in 0..self.here.ranks.len() {
            if !self.here.ranks[rank].is_running() {
                continue;
            }
            let pid = self.here.ranks[rank].pid.to_string();
            let mut command = Command::new(name);
            command.args(*front).arg(&pid).args(*behind).stdin(Stdio::null());
            let text = match command.output() {
                Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_string(),
                Err(error) => format!("{name}: {error}"),
            };
            self.message(&format!("stacks of {}:\n{text}", self.dispatcher.who(rank as u32)));
        }
    }
}
