//! The flags that work.

use super::{Effect, Flag, Group, Id};

const fn flag(
    id: Id,
    group: Group,
    names: &'static [&'static str],
    values: &'static [&'static str],
    help: &'static str,
) -> Flag {
    Flag { effect: Effect::Works(id), names, values, group, help }
}

use Group::{Environment, Hosts, Other, Output, Placement, Ranks};

#[rustfmt::skip]
pub const WORKING: &[Flag] = &[
    flag(Id::Ranks, Ranks, &["n", "np", "c"], &["N"],
        "Number of ranks of this program. Default: what -ppn or the slots of the hosts say, else 1. There may be more \
         ranks than cores or slots."),
    flag(Id::PerHost, Ranks, &["ppn", "N", "npernode", "perhost", "grr"], &["N"],
        "Ranks per host, whatever its slots. Without -n there are so many on each host. With more, hosts are filled again in \
         turn (-ppn, -perhost, -grr; MPICH, Intel MPI), or that is an error (-N, --npernode, ppr:N:node; Open MPI)."),
    flag(Id::OnePerHost, Ranks, &["pernode"], &[], "As -ppn 1."),
    flag(Id::Universe, Ranks, &["usize"], &["N|SYSTEM|INFINITE"],
        "What MPI_UNIVERSE_SIZE and OMPI_UNIVERSE_SIZE say, at least the number of ranks. SYSTEM, the default: the slots of \
         the hosts, this machine's cores where none are named. INFINITE: programs see no MPI_UNIVERSE_SIZE."),
    flag(Id::Host, Ranks, &["host", "H", "hosts", "hosts-group", "hostlist", "machinelist"], &["HOST[:SLOTS],..."],
        "Hosts to run on; n[01-16] stands for sixteen of them. They hold for this program and those after it. Default: \
         the allocation inside of a Slurm job, else this machine."),
    flag(Id::Hostfile, Ranks, &["hostfile", "f", "machinefile", "machine", "machines", "default-hostfile"], &["FILE"],
        "Read the hosts from FILE: one a line, HOST, HOST:SLOTS or HOST slots=SLOTS; # starts a comment. - is standard \
         input, of which rank 0 then sees the end."),
    flag(Id::File, Ranks, &["app", "configfile", "cf"], &["FILE"],
        "Read programs from FILE, one a line with its own flags, as between ':'; # starts a comment, \\ at the end of a \
         line joins the next."),
    flag(Id::LaunchAgent, Hosts, &["launch-agent", "launcher-exec", "bootstrap-exec"], &["CMD"],
        "Start hpvm on other hosts with 'CMD HOST COMMAND...' instead of ssh. Like ssh it has to give COMMAND to a \
         shell there, and its standard input and output to COMMAND. Default: HPVM_LAUNCH_AGENT."),
    flag(Id::Launcher, Hosts, &["launcher", "bootstrap"], &["ssh|rsh|slurm|fork"],
        "How hosts are reached: by ssh, by rsh, by srun inside of a Slurm job (the default there); fork: other hosts are \
         refused."),
    flag(Id::SshArgs, Hosts, &["ssh-args", "bootstrap-exec-args"], &["ARGS"],
        "Words for ssh in front of the host: '-p 2222 -i KEY'. Default: HPVM_SSH_ARGS."),
    flag(Id::LaunchWidth, Hosts, &["launch-width", "branch-count"], &["N"],
        "Hosts that one host starts, which start others in turn. Default: 16."),
    flag(Id::Prefix, Hosts, &["prefix"], &["DIR"],
        "Where hpvm is installed on the other hosts (DIR/bin/hpvm), if not at the same place as here."),
    flag(Id::Preload, Hosts, &["preload"], &[],
        "Copy hpvm to a temporary folder of the other hosts instead of using what is installed there at the same place. \
         It is removed at the end."),
    flag(Id::Site, Hosts, &["site"], &["NAME=HOST[:SLOTS],..."],
        "Hosts to run on that cannot reach those of other sites (docs/sites.md): given once for each site. Ranks of different \
         sites talk through a gateway at each. NAME=slurm: the hosts of the Slurm job that mpirun is in; NAME=slurm:JOB@LOGIN: \
         those of a job of the cluster that host LOGIN reaches."),
    flag(Id::Gateway, Hosts, &["gateway"], &["NAME=HOST[:PORT]"],
        "The host of a site on which its gateway runs, and the port at which the gateways of other sites reach it. Default: \
         the first host of the site, any port."),
    flag(Id::Compress, Hosts, &["compress"], &["auto|never"],
        "Whether what goes between sites is compressed. auto, the default: while data waits for the link, where that makes it \
         shorter."),
    flag(Id::Net, Hosts, &["net", "iface"], &["NAME|CIDR"],
        "Use this network interface, or those in this network, between hosts (HPVM_NET)."),
    flag(Id::Lane, Hosts, &["lane"], &["auto|udp|xdp|ofi"],
        "How datagrams go between hosts (HPVM_LANE): through the kernel (udp), past it by AF_XDP (xdp), which takes a \
         helper with privileges, or in messages of libfabric (ofi), by the provider that HPVM_OFI_PROVIDER names. xdp and \
         ofi fail where they can't be had. auto is ofi where the host has a card for it, else xdp where nobody pays for it, \
         else udp (docs/network.md)."),
    flag(Id::NetTimeout, Hosts, &["net-timeout"], &["SECONDS"],
        "Give a host up after so long without any sign of life, 0.5 to 1000000 (HPVM_NET_TIMEOUT). Default: 60."),
    flag(Id::NameServer, Hosts, &["nameserver", "ompi-server"], &["HOST[:PORT]|file:FILE"],
        "Where hpvm nameserver runs, which knows the names that your jobs publish: for jobs that share no host \
         (docs/dynamic.md). FILE is what its --report-uri has written. Default: HPVM_NAMESERVER."),
    flag(Id::Export, Environment, &["x", "set-env"], &["VAR[=VALUE]"],
        "Pass VAR to the ranks of all programs, with VALUE or with its present value."),
    flag(Id::Unset, Environment, &["unset-env"], &["VAR"], "Do not pass VAR of the present environment on."),
    flag(Id::GlobalEnv, Environment, &["genv"], &["VAR", "VALUE"], "Set VAR to VALUE for the ranks of all programs; VAR=VALUE in one word will do, too."),
    flag(Id::ProgramEnv, Environment, &["env"], &["VAR", "VALUE"], "Set VAR to VALUE for the ranks of this program; VAR=VALUE in one word will do, too."),
    flag(Id::GlobalEnvNone, Environment, &["genvnone"], &[], "Pass nothing of the present environment on."),
    flag(Id::GlobalEnvAll, Environment, &["genvall", "genvuser", "fwd-environment"], &[],
        "Pass the whole present environment on (the default on this machine; without it other hosts get what is named, \
         HPVM_*, SHMEM_* and SMA_*)."),
    flag(Id::GlobalEnvList, Environment, &["genvlist"], &["VAR,..."],
        "Of the present environment pass only these variables on."),
    flag(Id::UnsetList, Environment, &["genvexcl"], &["VAR,..."], "Do not pass these variables of the present environment on."),
    flag(Id::InitialErrhandler, Environment, &["initial-errhandler"], &["HANDLER"],
        "The error handler at the start (HPVM_INITIAL_ERRHANDLER): mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return."),
    flag(Id::ProgramEnvNone, Environment, &["envnone"], &[], "As -genvnone, for this program only."),
    flag(Id::ProgramEnvAll, Environment, &["envall", "envuser"], &[], "As -genvall, for this program only."),
    flag(Id::ProgramEnvList, Environment, &["envlist"], &["VAR,..."], "As -genvlist, for this program only."),
    flag(Id::NoLibraryPath, Environment, &["no-library-path"], &[],
        "Leave LD_LIBRARY_PATH alone. Else the folder of hpvm's libraries is put in front."),
    flag(Id::Wdir, Environment, &["wdir", "wd", "cwd"], &["DIR"], "Working folder of this program's ranks."),
    flag(Id::Path, Environment, &["path"], &["DIR:..."],
        "Where this program is searched, if there is no slash in its name, before PATH."),
    flag(Id::MapBy, Placement, &["map-by"], &["WAY"],
        "slot (the default): neighbouring ranks share a host; node: hosts get one each in turn; switch: as slot, and all \
         hosts of a switch come before those of the next (see --fabric); ppr:N:node: -ppn N. \
         socket, numa, l3cache, l2cache, l1cache, core, hwthread: the parts of a host get one each in turn; ppr:N:PART: N \
         on each part. Ranks are then bound to their part, unless --bind-to says otherwise. seq: one on each host of the \
         list in turn; pe-list=LIST: on these cores; rankfile:file=FILE. Behind it :pe=K (K cores for each rank), \
         :nooversubscribe, :nolocal, :span (the parts of all hosts in turn), :hwtcpus (hardware threads count as cores), :file=FILE. Other hosts are taken to \
         have as many parts as this one."),
    flag(Id::Fabric, Placement, &["fabric"], &["FILE"],
        "Take the hosts in the order of the network in FILE, which hpvm route or Slurm's topology.conf describes: those of a \
         switch together, then those of the nearest one. It begins with the switch on which the ranks fit most tightly, or \
         else that of the first host. Within a host --map-by holds. --map-by switch without it asks scontrol inside of \
         a Slurm job."),
    flag(Id::MapFixed("node"), Placement, &["bynode", "rr"], &[], "As --map-by node."),
    flag(Id::MapFixed("slot"), Placement, &["byslot"], &[], "As --map-by slot."),
    flag(Id::MapFixed("core"), Placement, &["bycore"], &[], "As --map-by core."),
    flag(Id::MapFixed("socket"), Placement, &["bysocket"], &[], "As --map-by socket."),
    flag(Id::PerSocket, Placement, &["npersocket"], &["N"], "As --map-by ppr:N:socket."),
    flag(Id::Ppr, Placement, &["ppr"], &["N:PART"], "As --map-by ppr:N:PART."),
    flag(Id::RankBy, Placement, &["rank-by"], &["WAY"],
        "How mapped ranks are numbered: slot (the default), as they were mapped; fill, core: one part after the other; \
         socket, numa, span: over the parts in turn; node: over the hosts in turn."),
    flag(Id::Rankfile, Placement, &["rankfile", "rf"], &["FILE"],
        "Read host and cores of each rank from FILE: 'rank N=HOST slot=SLOT', where SLOT is 0-2,5 (cores), 1:0-2 (cores of \
         a socket) or *; HOST may be +nK, the K-th of the hosts given."),
    flag(Id::Sequence, Placement, &["seq"], &[], "As --map-by seq."),
    flag(Id::CpusPerRank, Placement, &["cpus-per-rank", "cpus-per-proc"], &["K"], "As --map-by :pe=K."),
    flag(Id::CpuSet, Placement, &["cpu-set", "cpu-list"], &["LIST"],
        "Use only these cores of each host, by their logical numbers (0-3,8). Without --bind-to each rank may use all of \
         them; --bind-to cpu-list:ordered gives them one each."),
    flag(Id::BindTo, Placement, &["bind-to"], &["PART"],
        "Bind ranks to core, hwthread, l1cache, l2cache, l3cache, numa, socket (PART:N for N neighbouring ones), machine, \
         rr (hardware threads in turn), user:0+2,1+3 (sets of hardware threads) or none: the i-th rank of a host to its \
         i-th part, or within the part that it is mapped to, starting again from the first when there are more ranks. \
         Default: none, or the part by which ranks are mapped."),
    flag(Id::BindFixed("core"), Placement, &["bind-to-core"], &[], "As --bind-to core."),
    flag(Id::BindFixed("socket"), Placement, &["bind-to-socket"], &[], "As --bind-to socket."),
    flag(Id::BindFixed("none"), Placement, &["bind-to-none"], &[], "As --bind-to none."),
    flag(Id::CpuBind, Placement, &["cpu-bind"], &["list:CPUS:...|K"],
        "Lists of hardware threads for one rank of a host after the other, or the number of cores of each rank."),
    flag(Id::Threads, Placement, &["use-hwthread-cpus"], &[], "Count hardware threads instead of cores: --map-by :hwtcpus."),
    flag(Id::Oversubscribe, Placement, &["oversubscribe"], &[], "Allow more ranks than slots, which is the default."),
    flag(Id::NoOversubscribe, Placement, &["nooversubscribe"], &[],
        "Refuse to start more ranks on a host than it has slots; this machine without a list of hosts has as many as cores."),
    flag(Id::NoLocal, Placement, &["nolocal", "skip-launch-node"], &[], "No ranks on this machine."),
    flag(Id::ReportBindings, Placement, &["report-bindings"], &[], "Say on standard error to which cpus each rank is bound."),
    flag(Id::Display, Placement, &["display"], &["map,bind,allocation,topo"],
        "Before the job starts, show on standard output which rank runs where, the hosts with their slots, what this \
         machine is made of; bind: as --report-bindings."),
    flag(Id::DisplayFixed("map"), Placement,
        &["display-map", "print-rank-map", "display-devel-map", "display-diffable-map"], &[], "As --display map."),
    flag(Id::DisplayFixed("allocation"), Placement, &["display-allocation", "display-devel-allocation"], &[],
        "As --display allocation."),
    flag(Id::DisplayFixed("topo"), Placement, &["display-topo"], &[], "As --display topo."),
    flag(Id::DoNotLaunch, Placement, &["do-not-launch"], &[], "Start nothing: for --display."),
    flag(Id::Stdin, Output, &["stdin", "s"], &["RANK|all|none"],
        "Which ranks get standard input: one (0 is the default), several (1,3-4) or all, each the whole of it, or none. Several \
         have to run on this machine."),
    flag(Id::TagOutput, Output, &["tag-output", "l", "prepend-rank"], &[], "Put '[RANK] ' in front of every line of output."),
    flag(Id::TimestampOutput, Output, &["timestamp-output", "prepend-timestamp"], &[],
        "Put the local time in front of every line of output."),
    flag(Id::PrependPattern, Output, &["prepend-pattern"], &["TEXT"],
        "Put TEXT in front of every line of output: %r is the rank, %h its host, %p the number of the host, %g 0, %t the time \
         in seconds."),
    flag(Id::Output, Output, &["output"], &["WORD,..."],
        "tag, tag-detailed, tag-fullname, timestamp, merge (--merge-stderr-to-stdout), file=NAME (--output-filename), dir=DIR, \
         with :nocopy behind."),
    flag(Id::OutputFile, Output, &["output-filename"], &["NAME[:nocopy]"],
        "Write the output of each rank to NAME.RANK, its errors to NAME.RANK.err, too; nocopy: only there. Folders are made."),
    flag(Id::OutputFolder, Output, &["output-directory"], &["DIR[:nocopy]"],
        "The same as DIR/1/rank.RANK/stdout and stderr."),
    flag(Id::OutPattern, Output, &["outfile-pattern", "outfile"], &["NAME"],
        "Write standard output to this file instead, a file for each rank with %r in it; %h, %p, %g, %t as in \
         -prepend-pattern."),
    flag(Id::ErrPattern, Output, &["errfile-pattern", "errfile"], &["NAME"], "The same for standard error."),
    flag(Id::Merge, Output, &["merge-stderr-to-stdout"], &[], "Write what ranks write to standard error to standard output."),
    flag(Id::Json, Output, &["json"], &[], "At the end write a report as one line of JSON to standard error."),
    flag(Id::ExitCodes, Output, &["print-all-exitcodes"], &[], "At the end write the exit codes of all ranks to standard error."),
    flag(Id::Quiet, Output, &["quiet", "q", "silent-abort"], &[], "No notes and warnings, only errors."),
    flag(Id::Verbose, Output, &["verbose", "v"], &[], "Say what is started, and how it ended."),
    flag(Id::Monitor, Other, &["monitor"], &[],
        "Count messages and bytes for each pair of ranks (HPVM_MONITOR), which hpvm jobs JOB --matrix shows while the job runs."),
    flag(Id::Record, Other, &["record"], &["FOLDER"],
        "Record what each rank calls of MPI, and how long it computes in between, in a file of this folder (HPVM_RECORD): for hpvm \
         simulate trace FOLDER. For programs that were compiled by hpvm's mpicc or mpicxx."),
    flag(Id::Timeout, Other, &["timeout"], &["SECONDS"], "End the job after so many seconds; the exit code is then 124."),
    flag(Id::StackTraces, Other, &["get-stack-traces"], &[],
        "When --timeout ends the job, first write the stacks of the ranks on this machine to standard error; needs gdb, gstack \
         or eu-stack."),
    flag(Id::MaxRestarts, Other, &["max-restarts", "restart"], &["N"],
        "When a rank is killed by a signal or a host is lost, start the whole job again, at most N times (default: 0), on the hosts \
         that remain. Ranks find the number of starts before theirs in HPVM_RESTART_COUNT. Not when the program ends by itself, \
         by an exit code or MPI_Abort, by --timeout or by the user; see --restart-on."),
    flag(Id::RestartOn, Other, &["restart-on"], &["abnormal|failure"],
        "abnormal (the default): --max-restarts is for killed ranks and lost hosts; failure: also for programs that end with \
         an exit code other than 0, MPI_Abort or an error in MPI."),
    flag(Id::RestartDelay, Other, &["restart-delay"], &["SECONDS"],
        "Pause before the job is started again (default: 1), doubled each time up to 60 s; after 10 minutes of work it is as at \
         first."),
    flag(Id::RestartWait, Other, &["restart-wait"], &["SECONDS"],
        "Try so long to reach a lost host again before the job goes on without it. Default: 0."),
    flag(Id::Recovery, Other, &["enable-recovery", "disable-auto-cleanup"], &[],
        "A rank that fails does not end the others. A call of MPI that needs one that is gone ends with MPI_ERR_PROC_ABORTED, \
         within some seconds. In a job on several hosts MPI_Finalize then ends the job, and so does, after --net-timeout, a \
         message to a rank that is gone on another host."),
    flag(Id::NoRecovery, Other, &["disable-recovery", "enable-auto-cleanup", "cleanup"], &[],
        "A rank that fails ends the job, which is the default."),
    flag(Id::ReportPid, Other, &["report-pid"], &["FILE|-|+"],
        "Write the launcher's process number to FILE, to standard output (-) or standard error (+)."),
    flag(Id::AllowRoot, Other, &["allow-run-as-root"], &[], "Root may run jobs, which is the default."),
    flag(Id::Mca, Other, &["mca", "gmca", "prtemca", "pmixmca", "gpmixmca", "omca", "gomca"], &["KEY", "VALUE"],
        "Open MPI's parameters: those that steer what a flag of ours steers are obeyed (docs/coming-from.md), others are accepted with \
         a remark."),
    flag(Id::Help, Other, &["help", "h", "?"], &[],
        "Show the flags needed most; --help all shows every flag, --help FLAG one of them."),
    flag(Id::Version, Other, &["version", "V", "info"], &[], "Show the version."),
];
