//! A step of ours inside of somebody's job, which looks at its ranks: Slurm starts it on all hosts of the job,
//! as the job's user, and lets nobody else do that.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::Slurm;
use super::run::{Identity, command_as};
use crate::account;
use crate::job::Job;

impl Slurm {
    /// Starts `program` with these words once on each host of the job, beside what runs there; standard input
    /// and output are pipes, the output that of all of them.
    pub fn step(&self, job: &Job, program: &Path, words: &[&str]) -> Result<Child, String> {
        let (id, hosts) = (job.id(), job.summary.hosts.len().max(1));
        let who = identity(&job.summary.user)?;
        let args =
            [format!("--jobid={id}"), format!("--nodes={hosts}"), format!("--ntasks={hosts}")];
        let flags = [
            "--ntasks-per-node=1",
            // It takes nothing from the job: no processor, memory or device of its own.
            "--overlap",
            "--mem=0",
            "--cpu-bind=none",
            "--gres=none",
            "--mpi=none",
            "--export=NONE",
            "--chdir=/",
            "--job-name=hpvm-look",
            "--quiet",
            "--kill-on-bad-exit=0",
        ];
        let program = program.display().to_string();
        let all = args.iter().map(String::as_str).chain(flags).chain([program.as_str()]);
        let all: Vec<&str> = all.chain(words.iter().copied()).collect();
        let mut command = command_as("srun", &all, &who);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| format!("Slurm (srun) cannot be started: {error}"))
    }
}

/// The job's user. Only root may start steps in jobs of others.
fn identity(user: &str) -> Result<Identity, String> {
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::getuid() };
    let account = account::find(user).ok_or_else(|| {
        format!("'{user}' is no user of this system, so nothing can be looked at in their name")
    })?;
    if own != 0 && account.uid != own {
        return Err(format!(
            "this server does not run as root, so it looks at the ranks of who has started it only, not of '{user}'"
        ));
    }
    let env = account.env();
    Ok(Identity {
        user: (own == 0 && account.uid != 0).then_some((account.uid, account.gid, account.groups)),
        env,
        folder: PathBuf::from("/"),
    })
}
