//! mpi4py's own tests on two test hosts, whose cables stay in (`flap` has those that do not).

use std::process::{Command, Stdio};
use std::time::Duration;

use hpvm_tests::hosts::Hosts;

use crate::common::{clean, prefix, tell, workspace};

/// How long the tests may take on each number of ranks.
const LIMIT: Duration = Duration::from_secs(1800);

/// `scripts/mpi4py` with its tests, started by this `mpirun`.
pub fn tests_by(mpirun: &Command) -> Command {
    let words = std::iter::once(mpirun.get_program()).chain(mpirun.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = clean(workspace().join("scripts/mpi4py"));
    command.arg("tests").arg(prefix()).env("MPIRUN", words.join(" "));
    command
}

/// On the numbers of ranks in `RANKS`, which the hosts get in turn; the lines of `scripts/mpi4py` appear as they come.
#[test]
#[ignore = "long: make mpi4py-hosts"]
fn mpi4py_on_two_hosts() {
    let Some(hosts) = Hosts::up(2, &[]) else { return };
    let mut mpirun = hosts.command(1, prefix().join("bin/mpirun"));
    mpirun.args(["-H", &hosts.list(), "--map-by", "node", "--launch-agent"]).arg(Hosts::agent());
    let mut command = tests_by(&mpirun);
    command.env("RANKS", std::env::var("RANKS").as_deref().unwrap_or("2 3 4 5"));
    command.env("LIMIT", LIMIT.as_secs().to_string());
    let status = command.stdin(Stdio::null()).status().expect("scripts/mpi4py");
    tell(&format!("scripts/mpi4py on two hosts: {status}"));
    assert!(status.success());
}
