//! Flags of other MPIs that mean nothing here, and those that mean something that is not there.

use super::{Effect, Flag, Group};

const fn remark(
    names: &'static [&'static str],
    values: &'static [&'static str],
    help: &'static str,
) -> Flag {
    Flag { effect: Effect::Remark, names, values, group: Group::NoEffect, help }
}

const fn refused(
    names: &'static [&'static str],
    values: &'static [&'static str],
    help: &'static str,
) -> Flag {
    Flag { effect: Effect::Refused, names, values, group: Group::Refused, help }
}

const V: &[&str] = &["VALUE"];

/// Accepted with a remark: what they ask for is so anyway, or steers something that hpvm does not have.
#[rustfmt::skip]
pub const REMARKS: &[Flag] = &[
    remark(&["demux", "topolib"], V, "hpvm has one way to wait for output and one to read the topology."),
    remark(&["rmk"], V, "the hosts come from -host, --hostfile or the Slurm allocation, whichever is there."),
    remark(&["localhost"], V, "names of this machine are recognised."),
    remark(&["tune", "am", "amca"], V, "files of parameters for other MPIs mean nothing here; hpvm tune measures ours."),
    remark(&["personality"], V, "the flags of all MPIs are read at once."),
    remark(&["enable-x", "disable-x"], &[], "X forwarding is ssh's: --ssh-args -X."),
    remark(&["disable-hostname-propagation", "enable-hostname-propagation", "do-not-resolve"], &[],
        "hosts find each other by what they tell, not by names."),
    remark(&["hybrid-hosts", "hetero-nodes"], &[], "every host finds the program and its own topology itself."),
    remark(&["leave-session-attached", "debug-daemons", "debug-daemons-file", "debug-devel", "d", "show-progress"], &[],
        "what agents on other hosts have to say is always shown; -v says what is started."),
    remark(&["max-vm-size"], V, "there are as many agents as hosts with ranks."),
    remark(&["novm", "use-regexp", "fwd-mpirun-port", "set-sid", "noconf"], &[], "a detail of another launcher."),
    remark(&["noprefix", "no-app-prefix"], &[], "without --prefix hpvm is expected at the same place on all hosts."),
    remark(&["pmix-prefix", "app-pmix-prefix"], V, "hpvm has no PMIx of its own."),
    remark(&["forward-signals"], V, "SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed on always."),
    remark(&["tmpdir"], V, "nothing is kept in temporary files."),
    remark(&["pmi-port"], &[], "ranks get PMI_FD."),
    remark(&["keepalive"], V, "agents end with their launcher; --net-timeout says after how long without a sign of life."),
    remark(&["memory-alloc-kinds"], V, "ranks are offered mpi and system."),
    remark(&["gpus-per-proc", "gpu-support"], V, "devices are not shared out; the rank on its host is in MPI_LOCALRANKID."),
    remark(&["membind"], V, "memory lies where a bound rank first writes it."),
    remark(&["report-child-jobs-separately", "report-state-on-timeout"], &[], "hpvm jobs shows jobs and the state of their ranks."),
    remark(&["stream-buffering"], V, "programs buffer as they do for a pipe; stdbuf -oL PROGRAM changes that."),
    remark(&["ordered-output"], &[], "lines of ranks are never mixed."),
    remark(&["xml"], &[], "--json writes a report for programs; output itself is not wrapped."),
    remark(&["xml-file"], V, "--json writes a report for programs; output itself is not wrapped."),
    remark(&["report-events", "output-from"], V, "there is nobody to report to."),
    remark(&["prot", "display-comm", "display-comm-finalize"], &[], "hpvm info says how ranks talk: shared memory inside a host, the network between."),
    remark(&["with-ft"], V, "a job ends when a rank fails; see --enable-recovery and --max-restarts."),
    remark(&["rdma", "RDMA", "dapl", "DAPL", "ib", "IB", "tmi", "TMI", "mx", "MX", "mxm", "MXM", "psm", "PSM", "psm2", "PSM2"], &[],
        "hpvm chooses by itself how to send."),
    remark(&["profile"], &[], "-v says how long the job took."),
    remark(&["spawn-timeout", "wait-to-connect", "num-connect-retries"], V, "what cannot be started is an error at once."),
    remark(&["ilp64", "static_mpi"], &[], "a program is what it was linked with."),
];

/// Refused: another thing would happen than what is asked for.
#[rustfmt::skip]
pub const REFUSED: &[Flag] = &[
    refused(&["xterm"], &["RANKS"], "start terminals yourself: mpirun -n N xterm -hold -e PROGRAM."),
    refused(&["gdb", "gdb-args", "debug", "debugger", "tv"], &[],
        "start a debugger for each rank: mpirun -n N xterm -e gdb --args PROGRAM; or attach to a rank: gdb -p PID, with the \
         process numbers that hpvm jobs JOB shows."),
    refused(&["gdba"], &["PID"], "attach to a rank: gdb -p PID, with the process numbers that hpvm jobs JOB shows."),
    refused(&["stop-on-exec", "stop-in-init", "stop-in-app", "output-proctable"], &[],
        "there is no interface for parallel debuggers; attach to ranks with gdb -p PID."),
    refused(&["gtool", "gtoolfile"], &["TOOL"],
        "name the tool in the program's place: mpirun -n 1 valgrind ./a : -n 3 ./a."),
    refused(&["aps", "mps", "trace"], &[], "these tools are Intel's; perf record and HPVM's counters (hpvm jobs JOB) work."),
    refused(&["check-mpi", "check_mpi"], &[], "-genv HPVM_CHECK 1 looks for mistakes in the use of MPI."),
    refused(&["umask"], &["MASK"], "a job has the mask of the shell that starts it; on other hosts: mpirun sh -c 'umask MASK; exec PROGRAM'."),
    refused(&["binding"], &["LIST"], "--bind-to and --map-by say where ranks run."),
    refused(&["ckpoint-interval", "ckpoint-prefix", "ckpoint-num", "ckpointlib"], &["VALUE"],
        "programs write checkpoints themselves; --max-restarts N starts the job again."),
    refused(&["continuous"], &[], "single ranks are not started again; --max-restarts N starts the whole job again."),
    refused(&["preload-binary", "set-cwd-to-session-dir"], &[],
        "copy the program to the other hosts first; --preload copies hpvm only."),
    refused(&["preload-files"], &["FILES"], "copy files to the other hosts first; --preload copies hpvm only."),
    refused(&["dvm", "dvm-uri", "hnp", "singleton", "pset"], &["URI"], "there are no daemons that outlive a job; start the job itself."),
    refused(&["system-server", "system-server-first", "system-server-only", "do-not-connect", "terminate"], &[],
        "there are no daemons that outlive a job; start the job itself."),
    refused(&["append-env", "prepend-env"], &["VAR"], "give the whole value: -x VAR=VALUE."),
    refused(&["add-host", "add-hostfile"], &["HOSTS"], "a job has the hosts of -host and --hostfile."),
    refused(&["runtime-options"], &["LIST"],
        "there are flags: --do-not-launch, --timeout, --get-stack-traces, --enable-recovery, --display."),
    refused(&["rankmap"], &["MAP"], "--rankfile FILE says for each rank on which host it runs."),
    refused(&["order-nodes"], &["ORDER"], "write the hosts in the order they are to have."),
    refused(&["index-argv-by-rank"], &[], "the programs of a job have different arguments: ':' between them."),
    refused(&["cartofile", "report-uri"], &["FILE"], "there is nothing that could be read or written there."),
    refused(&["arch", "soft", "file"], &["VALUE"], "a number of ranks (-n) and hosts (-host) say the same."),
];
