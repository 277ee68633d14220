//! Help text and man page of `hpvm run`, made from the table of flags.

use std::fmt::Write;

use crate::environment::ranks::RANK_VARIABLES;
use crate::flags::{self, Effect, Flag, Group, spelled};
use crate::run::TIMEOUT_VARIABLE;

const ABOUT: &str = "Start a parallel program: N copies (ranks) of it, on this machine or others.";

const RULES: &[&str] = &[
    "Options end at the first word that is not one, or at '--'; everything after the program is \
     the program's. Every long flag may be written with one dash or two, and with '=' or a space \
     before its value. ':' separates programs that run as one job; each has its own -n, -env, \
     -wdir, and gets its position as MPI's application number.",
    "Standard input goes to rank 0. Output is joined line by line; standard output and standard \
     error stay apart. Each rank runs in a process group of its own.",
    "On other hosts the same hpvm has to be installed at the same place, and ssh must not ask for \
     anything. Ranks there get the environment of a login there, hpvm's variables (HPVM_*) and \
     what -x, -genv, -env and -genvlist name; everything with -genvall. When a host is lost, \
     everything ends everywhere.",
    "The job ends when all ranks have ended. When a rank is killed, calls MPI_Abort, exits without \
     MPI_Finalize, or (not being an MPI program) exits with a code other than 0, the others get \
     SIGTERM and 0.4 s later SIGKILL. SIGINT, SIGTERM and SIGHUP are passed on and followed by \
     SIGKILL after 2 s, or at once when a second one comes; SIGQUIT, SIGUSR1 and SIGUSR2 are \
     passed on; Ctrl-Z stops the whole job.",
];

const CODES: &[(&str, &str)] = &[
    ("0", "all ranks ended well, or one called MPI_Abort with 0"),
    ("code of the first rank that failed", "also MPI_Abort's, modulo 256"),
    ("128 + signal", "the first rank that failed was killed by it, or the job was ended by it"),
    ("1", "a rank left without MPI_Finalize and with code 0; the job could not be started"),
    ("2", "wrong usage"),
    ("124", "--timeout"),
    ("126, 127", "the program cannot be executed; was not found"),
];

const VARIABLES_READ: &[(&str, &str)] = &[
    (
        "SLURM_JOB_ID, SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE",
        "the hosts of a Slurm allocation, used where none are named; agents are then started by srun",
    ),
    (
        "HPVM_LIBMPI",
        "which ABI a program gets that opens libmpi.so by this name: mpich or openmpi. Default: that of \
         the libmpi.so that this machine has besides, else mpich",
    ),
    (
        "HPVM_LAUNCH_AGENT, HPVM_SSH_ARGS",
        "as --launch-agent and --ssh-args, where those are not given",
    ),
    ("HPVM_LANE", "as --lane; read by the ranks"),
    (
        "HPVM_XDP_HELPER",
        "read by the ranks, and by hpvm info and doctor: the helper that lets datagrams pass the kernel. Default: \
         libexec/hpvm/hpvm-xdp of the installation (network.md)",
    ),
    (
        "HPVM_OFI_PROVIDER",
        "read by the ranks, with --lane ofi. The provider of libfabric, spelled as fi_info does (tcp;ofi_rxm). Default: the \
         one that libfabric prefers and that has an address at an interface in use (network.md)",
    ),
    (
        "HPVM_OFI_RDMA",
        "read by the ranks, where messages go by libfabric: 1 lets its provider read long messages out of their senders' \
         memory, 0 does not. Default: auto, which is 1 for providers that drive a card (network.md)",
    ),
    ("HPVM_NET", "as --net; read by the ranks, and by tasks of PVM"),
    ("HPVM_NET_TIMEOUT", "as --net-timeout; also read by the ranks"),
    (
        "HPVM_NAMESERVER",
        "as --nameserver; read by mpirun, and by processes that it has not started",
    ),
    (
        "HPVM_NAMESERVER_KEY",
        "read by the same and by hpvm nameserver: the file of the key by which your name server knows you. Default: \
         hpvm/names.key in $XDG_CONFIG_HOME or ~/.config",
    ),
    (
        "HPVM_RESTART_COUNT, SLURM_RESTART_COUNT",
        "starts of the job before this launcher; --max-restarts counts on from there",
    ),
    ("PATH", "where programs without a slash in their name are searched"),
    (TIMEOUT_VARIABLE, "time limit in seconds, where --timeout is not given"),
    (
        "OMPI_MCA_..., PRTE_MCA_...",
        "Open MPI's parameters that --mca obeys (coming-from.md), where no flag says otherwise; the others \
     mean nothing here",
    ),
    ("HYDRA_HOST_FILE, I_MPI_HYDRA_HOST_FILE", "as --hostfile, where no hosts are given"),
    ("HYDRA_LAUNCHER, I_MPI_HYDRA_BOOTSTRAP", "as --launcher, where none is given"),
    ("HYDRA_LAUNCHER_EXEC, I_MPI_HYDRA_BOOTSTRAP_EXEC", "as --launch-agent, where none is given"),
    ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "as --ssh-args, where none are given"),
    ("HYDRA_IFACE, I_MPI_HYDRA_IFACE", "as --net, where none is given"),
    ("I_MPI_PERHOST", "as -ppn, where neither that nor --map-by is given; a number"),
    (
        "HPVM_CHECK",
        "read by the ranks. 1: MPI_Finalize reports what was not freed, not completed or never \
         received, collectives that do not fit together end with an error that names both sides, and so do \
         accesses to windows that meet; slower",
    ),
    (
        "HPVM_PVM_QUEUE",
        "read by PVM programs. Bytes of messages that may wait in a task's queue, and on the way to another task (1g) ([pvm.md](pvm.md))",
    ),
    (
        "HPVM_OVERSUBSCRIBED",
        "read by the ranks. Whether ranks of a host have to share processors (yes: they sleep soon when they wait), have one \
         each (no), or what their number, bindings and limits say (auto, the default); one answer holds for all ranks of the host",
    ),
    (
        "HPVM_SAM_CACHE",
        "read by programs of shared objects. Bytes of copies of other ranks' objects that a rank keeps (256m) ([sam.md](sam.md))",
    ),
    (
        "HPVM_SINGLE_COPY",
        "read by the ranks. Whether large messages are read out of the sender's memory (yes), sent \
         through shared memory (no), or what hpvm tune found faster, or else a rank that tried (auto, \
         the default)",
    ),
    (
        "SHMEM_SYMMETRIC_SIZE, SHMEM_INFO, SHMEM_VERSION, SHMEM_DEBUG",
        "read by OpenSHMEM programs, also with SMA_ for SHMEM_: bytes of each PE's symmetric heap (128m), and what to \
         print at the start; docs/shmem.md",
    ),
    (
        "HPVM_ONESIDED",
        "read by the ranks. How one-sided operations reach the memory of ranks of the same host: in every way \
         that there is (auto, the default), not by loads and stores (kernel), or in messages only (messages); for \
         measurements, the same on all ranks",
    ),
    (
        "HPVM_STATIC_DATA",
        "read by the PEs of OpenSHMEM. private: static data are not mapped by other PEs, which is slower; shared (the default): \
         docs/shmem.md",
    ),
    (
        "HPVM_TABLES",
        "read by the ranks. The file of tables by which collectives choose their algorithms and \
         large messages the number of copies, the same on all ranks; empty: the built-in tables. Not set: what hpvm tune left for this \
         machine in $XDG_CACHE_HOME/hpvm or ~/.cache/hpvm, if anything",
    ),
    (
        "HPVM_INITIAL_ERRHANDLER",
        "read by the ranks. The error handler at the start: mpi_errors_are_fatal (the default), \
         mpi_errors_abort or mpi_errors_return",
    ),
    (
        "HPVM_LIFELINE",
        "0, set by MPI_Comm_spawn for the mpirun that it starts: standard input leads to the process that spawns",
    ),
    (
        "HPVM_FAMILY",
        "set by the mpirun of a job over several sites for those of jobs that its ranks spawn: the sites and their gateways",
    ),
    ("HPVM_PARENTS", "set with HPVM_FAMILY: descriptors that such an mpirun inherits"),
    (
        "HPVM_QUEUE_JOB_ID",
        "set by hpvm's queue inside of its jobs; mpirun then starts HPVM_NTASKS ranks where no number is given",
    ),
    ("HPVM_NTASKS", "ranks that a job of hpvm's queue has asked for; see HPVM_QUEUE_JOB_ID"),
    (
        "HPVM_LOSS_FD",
        "set by hpvm's queue: the descriptor on which mpirun says that a host was lost, so that the queue can start the job again",
    ),
    (
        "HPVM_MONITOR",
        "as --monitor (1), read by the ranks; hpvm's queue sets it for its jobs unless they set it to 0",
    ),
    ("HPVM_RECORD", "set by --record for the ranks: the folder where they write what they call"),
    (
        "HPVM_PROF",
        "set by hpvm prof for the command: the socket where mpirun's ranks say that they are there to be counted",
    ),
    (
        "HPVM_REGION",
        "set by hpvm prof --region: the descriptors of events that MPI_Pcontrol and hpvm_region.h switch",
    ),
    (
        "HPVM_NODELIST",
        "hosts that a job of hpvm's queue has got, with their ranks, where they are several: what mpirun uses \
         in the job without -H; see HPVM_QUEUE_JOB_ID",
    ),
    (
        "HPVM_QUEUE_UID",
        "set by hpvm serve --system for its jobs: the number of their user, and mpirun starts no rank as another one \
         on a further host",
    ),
    (
        "HPVM_QUEUE_UMASK",
        "set by hpvm's queue for its jobs: the file mode creation mask that ranks have on further hosts, too, in octal",
    ),
    (
        "HPVM_QUEUE_LIMITS",
        "the same of the soft limits (ulimit) by their names in prlimit(1), as far as a host's hard limits allow: \
         nofile=1024,stack=unlimited",
    ),
    (
        "HPVM_SERVER",
        "read by hpvm submit, queue and their like: the address or socket of the server to speak to. Default: \
         your own one on this machine",
    ),
    (
        "HPVM_NODE_CONFIG, HPVM_NODE_CPUS, HPVM_NODE_DATA, HPVM_NODE_FINGERPRINT, HPVM_NODE_GPUS, \
         HPVM_NODE_NAME, HPVM_NODE_SERVER, HPVM_NODE_TOKEN_FILE",
        "read by hpvm node: its configuration file, and what a flag of the same name sets. They \
         count more than the file and less than the flag",
    ),
    (
        "HPVM_SERVE_CONFIG, HPVM_SERVE_DATA, HPVM_SERVE_HOSTS, HPVM_SERVE_KEEP_DAYS, HPVM_SERVE_KEEP_JOBS, \
         HPVM_SERVE_LAUNCH_AGENT, HPVM_SERVE_LISTEN, HPVM_SERVE_NAME, HPVM_SERVE_NODE_TIMEOUT, HPVM_SERVE_QUEUE, \
         HPVM_SERVE_QUIET, HPVM_SERVE_SYSTEM, HPVM_SERVE_TLS_CERT, HPVM_SERVE_TLS_KEY",
        "read by hpvm serve: its configuration file, and what a flag of the same name sets. They count more than the \
         file and less than the flag",
    ),
    (
        "HPVM_TOKEN",
        "read by the same: the token of a server elsewhere, instead of the one that hpvm login has kept",
    ),
];

const VARIABLES_SET: &[(&str, &str)] = &[
    ("PMI_RANK, PMI_SIZE, PMI_FD", "rank, number of ranks, connection to the launcher (PMI-1)"),
    (
        "OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, MPI_LOCALRANKID, ...",
        "the same numbers under the names of other MPIs: docs/environment.md has all of them",
    ),
    ("HPVM_NODE", "number of the host, in jobs of several hosts"),
    ("HPVM_JOB_ID", "a name of the job, unique; OUTER/INNER for a job started in a job"),
    (
        "HPVM_PARENT_PORT",
        "in ranks that MPI_Comm_spawn has started: where MPI_Init finds those who have called it",
    ),
    (
        "HPVM_DOOR",
        "in ranks of a job over several sites: the socket of their host by which the launcher does for them what they cannot, and \
         what the host is called",
    ),
    ("LD_LIBRARY_PATH", "hpvm's library folder is put in front, unless --no-library-path"),
    (
        "MPI4PY_LIBMPI, R_LD_LIBRARY_PATH",
        "hpvm's library for mpi4py's wheel; hpvm's folder in front of those that R puts in front of \
         LD_LIBRARY_PATH. Unless they are set already, or --no-library-path is given",
    ),
];

/// A flag as help shows it: `-n, --np N`.
fn usage_of(flag: &Flag) -> String {
    let mut names: Vec<String> = flag.names.iter().map(|name| spelled(name)).collect();
    names.sort_by_key(|name| name.starts_with("--"));
    let mut text = names.join(", ");
    for value in flag.values {
        let _ = write!(text, " {value}");
    }
    text
}

/// What `--help` shows, by the word behind it: the flags needed most, all of them, or one.
pub fn about(label: &str, topic: Option<&str>) -> String {
    match topic {
        Some("all") => text(label),
        Some(name) => match flags::find(name.trim_start_matches('-')) {
            Some(flag) => one(flag),
            None => short(label),
        },
        None => short(label),
    }
}

/// One screen.
fn short(label: &str) -> String {
    let mut out = format!("{ABOUT}\n\nUsage: {}\n\n", synopsis(label));
    for (name, meaning) in flags::BASIC_FLAGS {
        let Some(flag) = flags::find(name) else { continue };
        let usage = format!("{} {}", spelled(name), flag.values.join(" "));
        let _ = writeln!(out, "  {usage:<28}{meaning}");
    }
    let _ = write!(
        out,
        "\nA program's own flags follow its name; ':' separates several programs of one job.\n\
         {label} --help all shows every flag, {label} --help FLAG one of them; flags of Open MPI,\n\
         MPICH and Intel MPI are understood. A job that hangs: hpvm jobs.\n"
    );
    out
}

fn one(flag: &Flag) -> String {
    let mut out = format!("{}\n", usage_of(flag));
    let state = match flag.effect {
        Effect::Works(_) => "",
        Effect::Remark => "Accepted, without effect here: ",
        Effect::Refused => "Not there: ",
    };
    wrap(&mut out, &format!("{state}{}", flag.help), 4);
    out
}

/// The flags of all groups, those that work first.
fn groups() -> impl Iterator<Item = Group> {
    Group::WORKING.into_iter().chain([Group::NoEffect, Group::Refused])
}

/// The text of `--help all` for the command of this name.
pub fn text(label: &str) -> String {
    let mut out = format!("{ABOUT}\n\nUsage: {}\n", synopsis(label));
    for group in groups() {
        let _ = write!(out, "\n{}:\n", group.title());
        for flag in flags::all().filter(|flag| flag.group == group) {
            wrap(&mut out, &usage_of(flag), 2);
            wrap(&mut out, flag.help, 10);
        }
    }
    out.push('\n');
    for rule in RULES {
        wrap(&mut out, rule, 0);
        out.push('\n');
    }
    for (title, rows) in
        [("Exit code", CODES), ("Variables read", VARIABLES_READ), ("Variables set", VARIABLES_SET)]
    {
        let _ = writeln!(out, "{title}:");
        for (name, meaning) in rows {
            wrap(&mut out, &format!("{name}: {meaning}"), 2);
        }
        out.push('\n');
    }
    out.pop();
    out
}

fn synopsis(label: &str) -> String {
    format!("{label} [FLAGS] PROGRAM [ARGUMENTS] [: [FLAGS] PROGRAM [ARGUMENTS]]...")
}

fn wrap(out: &mut String, text: &str, indent: usize) {
    const WIDTH: usize = 88;
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent + length;
        } else {
            out.push(' ');
            column += 1 + length;
        }
        out.push_str(word);
    }
    out.push('\n');
}

/// The man page for the command of this name, for example `mpirun` or `hpvm run`.
pub fn man(label: &str) -> String {
    let page = label.replace(' ', "-");
    let mut out = format!(
        ".TH {} 1 \"\" \"hpvm {}\"\n.SH NAME\n{} \\- start a parallel program\n.SH SYNOPSIS\n{}\n",
        escape(&page.to_uppercase()),
        env!("CARGO_PKG_VERSION"),
        escape(&page),
        escape(&synopsis(label)),
    );
    let _ = writeln!(out, ".SH DESCRIPTION\n{}", escape(ABOUT));
    for rule in RULES {
        let _ = writeln!(out, ".PP\n{}", escape(rule));
    }
    for group in groups() {
        let _ = writeln!(out, ".SH {}", group.title().to_uppercase());
        for flag in flags::all().filter(|flag| flag.group == group) {
            let _ = writeln!(out, ".TP\n.B {}\n{}", escape(&usage_of(flag)), escape(flag.help));
        }
    }
    for (title, rows) in [
        ("EXIT STATUS", CODES),
        ("ENVIRONMENT READ", VARIABLES_READ),
        ("ENVIRONMENT SET", VARIABLES_SET),
    ] {
        let _ = writeln!(out, ".SH {title}");
        for (name, meaning) in rows {
            let _ = writeln!(out, ".TP\n.B {}\n{}", escape(name), escape(meaning));
        }
    }
    out.push_str(
        ".SH SEE ALSO\n.BR hpvm (1),\n.BR hpvm\\-jobs (1) \\- what a job that hangs waits for\n",
    );
    out
}

/// The page `docs/flags.md`.
pub fn flags_page() -> String {
    let mut out = String::from(
        "# Flags of mpirun and mpiexec\n\n\
         Generated from the launcher's table by `hpvm docs docs`; do not edit. Flags of Open MPI 4 and 5, \
         MPICH and\nIntel MPI are in it under their names; every long flag takes one dash or two. \
         [coming-from.md](coming-from.md) says more\nabout habits, and which of Open MPI's parameters \
         (`--mca`) are obeyed.\n",
    );
    for group in groups() {
        let _ = write!(out, "\n## {}\n\n| flag | |\n|---|---|\n", group.title());
        for flag in flags::all().filter(|flag| flag.group == group) {
            let usage = usage_of(flag).replace('|', "\\|");
            let _ = writeln!(out, "| `{usage}` | {} |", flag.help.replace('|', "\\|"));
        }
    }
    out
}

/// The page `docs/environment.md`.
pub fn environment_page() -> String {
    let mut out = String::from(
        "# Environment variables\n\n\
         Generated from the launcher's tables by `hpvm docs docs`; do not edit.\n\n\
         ## What every rank finds\n\n\
         Set by the launcher, on other hosts by its agents, before the program starts; so scripts and \
         programs can read it\nbefore `MPI_Init`. Values of a job around this one are not handed on.\n\n\
         | variable | whose name | what |\n|---|---|---|\n",
    );
    for variable in RANK_VARIABLES {
        let _ =
            writeln!(out, "| `{}` | {} | {} |", variable.name, variable.whose, variable.meaning);
    }
    for (name, meaning) in VARIABLES_SET.iter().filter(|(name, _)| !name.contains("_RANK")) {
        let _ = writeln!(out, "| `{name}` | | {meaning} |");
    }
    out.push_str("| `PMI_FD` | PMI | connection to the launcher (PMI-1) |\n");
    out.push_str("\n## What mpirun and the library read\n\n| variable | what |\n|---|---|\n");
    for (name, meaning) in VARIABLES_READ {
        let _ = writeln!(out, "| `{name}` | {meaning} |");
    }
    out
}

/// Text that roff takes literally.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_in_both() {
        let (help, man) = (text("mpirun"), man("mpirun"));
        let joined = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for flag in flags::all() {
            assert!(joined.contains(&usage_of(flag)), "{flag:?}");
            assert!(man.contains(&escape(&usage_of(flag))), "{flag:?}");
        }
        assert!(help.lines().all(|line| line.len() <= 100), "{help}");
        assert!(!man.lines().any(|line| line.starts_with('\'')));
    }

    #[test]
    fn the_first_screen_is_one() {
        let text = about("mpirun", None);
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
        for (name, _) in flags::BASIC_FLAGS {
            assert!(text.contains(&spelled(name)), "{name}");
        }
        assert!(about("mpirun", Some("map-by")).starts_with("--map-by WAY\n"));
        assert!(about("mpirun", Some("-xterm")).contains("Not there: start terminals"));
        assert!(about("mpirun", Some("all")).contains("--nooversubscribe"));
    }

    /// Run `hpvm docs docs` when this fails.
    #[test]
    fn the_pages_are_what_the_tables_say() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for (name, text) in [("flags.md", flags_page()), ("environment.md", environment_page())] {
            let page = std::fs::read_to_string(docs.join(name)).expect(name);
            assert_eq!(page, text, "docs/{name} is stale; run: cargo run -p hpvm -- docs docs");
        }
    }
}
