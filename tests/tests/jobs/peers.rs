//! `hpvm bench peers`: the benchmark is compiled and run with another MPI.

use std::time::Duration;

use crate::common::{clean, prefix, succeed_within, workspace};

/// A loaded machine is slow at measuring, too.
const LONG: Duration = Duration::from_secs(240);

/// Open MPI compiles the benchmark with a header of its own, which includes less than ours.
#[test]
fn open_mpi_compiles_and_runs_the_benchmark() {
    let peers = std::env::var_os("HPVM_PEERS").map(std::path::PathBuf::from);
    let peers = peers.unwrap_or_else(|| workspace().join("peers"));
    if !peers.join("openmpi/bin/mpicc").exists() {
        let text = format!("no Open MPI in {}", peers.display());
        return hpvm_tests::skip::skipped(&text);
    }
    let mut command = clean(prefix().join("bin/hpvm"));
    command.args(["bench", "peers", "--quick", "--repeat", "1", "--only", "openmpi", "-n", "2"]);
    command.args(["--what", "latency,touched", "--dir"]).arg(&peers);
    let output = succeed_within(command, LONG);
    for part in ["latency, µs", "latency, touched, µs", "alltoall, touched, µs"] {
        assert!(output.contains(&format!("\n{part}\n")), "no {part}: {output}");
    }
}
