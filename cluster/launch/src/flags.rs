//! The table of `hpvm run`'s flags. The parser, `--help` and the man page are all made from it.

/// What a flag means; the parser matches on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Ranks,
    PerHost,
    OnePerHost,
    Host,
    Hostfile,
    MapBy,
    ByNode,
    LaunchAgent,
    Launcher,
    SshArgs,
    LaunchWidth,
    Preload,
    Net,
    NetTimeout,
    Export,
    GlobalEnv,
    ProgramEnv,
    GlobalEnvNone,
    GlobalEnvAll,
    GlobalEnvList,
    ProgramEnvNone,
    ProgramEnvAll,
    ProgramEnvList,
    Wdir,
    BindTo,
    ReportBindings,
    TagOutput,
    TimestampOutput,
    Output,
    Timeout,
    NoLibraryPath,
    Json,
    Quiet,
    Verbose,
    Oversubscribe,
    AllowRoot,
    HwThreads,
    Mca,
    Ignored,
    IgnoredValue,
    Help,
    Version,
}

/// Heading under which a flag is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Ranks,
    Hosts,
    Environment,
    Placement,
    Output,
    Other,
}

impl Group {
    /// All groups in the order in which help shows them.
    pub const ALL: [Group; 6] = [
        Group::Ranks,
        Group::Hosts,
        Group::Environment,
        Group::Placement,
        Group::Output,
        Group::Other,
    ];

    /// The heading's text.
    pub fn title(self) -> &'static str {
        match self {
            Group::Ranks => "Ranks and hosts",
            Group::Hosts => "Several hosts",
            Group::Environment => "Environment",
            Group::Placement => "Placement",
            Group::Output => "Output",
            Group::Other => "Other",
        }
    }
}

/// One flag: its spellings without dashes, the values that follow it, its help.
#[derive(Debug)]
pub struct Flag {
    pub id: Id,
    /// First the preferred spelling. One letter is shown with one dash, more with two; both
    /// are accepted with one or two.
    pub names: &'static [&'static str],
    /// Names of the values that must follow.
    pub values: &'static [&'static str],
    pub group: Group,
    pub help: &'static str,
}

const fn flag(
    id: Id,
    group: Group,
    names: &'static [&'static str],
    values: &'static [&'static str],
    help: &'static str,
) -> Flag {
    Flag { id, names, values, group, help }
}

/// Every flag, in the order of help.
pub const FLAGS: &[Flag] = &[
    flag(
        Id::Ranks,
        Group::Ranks,
        &["n", "np", "c"],
        &["N"],
        "Number of ranks of this program. Default: what -ppn or the slots of the hosts say, else 1. \
         There may be more ranks than cores or slots.",
    ),
    flag(
        Id::PerHost,
        Group::Ranks,
        &["ppn", "N", "npernode", "perhost"],
        &["N"],
        "Ranks per host, whatever its slots. Without -n there are so many on each host; -n must \
         not ask for more than that.",
    ),
    flag(Id::OnePerHost, Group::Ranks, &["pernode"], &[], "As -ppn 1."),
    flag(
        Id::Host,
        Group::Ranks,
        &["host", "H", "hosts"],
        &["HOST[:SLOTS],..."],
        "Hosts to run on; n[01-16] stands for sixteen of them. They hold for this program and \
         those after it. Default: the allocation inside of a Slurm job, else this machine.",
    ),
    flag(
        Id::Hostfile,
        Group::Ranks,
        &["hostfile", "f", "machinefile", "default-hostfile"],
        &["FILE"],
        "Read the hosts from FILE: one a line, HOST, HOST:SLOTS or HOST slots=SLOTS; # starts a \
         comment. - is standard input, of which rank 0 then sees the end.",
    ),
    flag(
        Id::MapBy,
        Group::Ranks,
        &["map-by"],
        &["slot|node"],
        "slot (the default): neighbouring ranks share a host; node: hosts get one each in turn. \
         ppr:N:node is -ppn N. Parts of a host (socket, numa, ...) count as slot.",
    ),
    flag(Id::ByNode, Group::Ranks, &["bynode"], &[], "As --map-by node."),
    flag(
        Id::LaunchAgent,
        Group::Hosts,
        &["launch-agent", "launcher-exec", "bootstrap-exec"],
        &["CMD"],
        "Start hpvm on other hosts with 'CMD HOST COMMAND...' instead of ssh. Like ssh it has to \
         give COMMAND to a shell there, and its standard input and output to COMMAND. Default: \
         HPVM_LAUNCH_AGENT.",
    ),
    flag(
        Id::Launcher,
        Group::Hosts,
        &["launcher", "bootstrap"],
        &["ssh|slurm"],
        "How hosts are reached: by ssh, or by srun inside of a Slurm job (the default there).",
    ),
    flag(
        Id::SshArgs,
        Group::Hosts,
        &["ssh-args"],
        &["ARGS"],
        "Words for ssh in front of the host: '-p 2222 -i KEY'. Default: HPVM_SSH_ARGS.",
    ),
    flag(
        Id::LaunchWidth,
        Group::Hosts,
        &["launch-width"],
        &["N"],
        "Hosts that one host starts, which start others in turn. Default: 16.",
    ),
    flag(
        Id::Preload,
        Group::Hosts,
        &["preload"],
        &[],
        "Copy hpvm to a temporary folder of the other hosts instead of using what is installed \
         there at the same place. It is removed at the end.",
    ),
    flag(
        Id::Net,
        Group::Hosts,
        &["net", "iface"],
        &["NAME|CIDR"],
        "Use this network interface, or those in this network, between hosts (HPVM_NET).",
    ),
    flag(
        Id::NetTimeout,
        Group::Hosts,
        &["net-timeout"],
        &["SECONDS"],
        "Give a host up after so long without any sign of life, 0.5 to 1000000 (HPVM_NET_TIMEOUT). Default: 60.",
    ),
    flag(
        Id::Export,
        Group::Environment,
        &["x"],
        &["VAR[=VALUE]"],
        "Pass VAR to the ranks of all programs, with VALUE or with its present value.",
    ),
    flag(
        Id::GlobalEnv,
        Group::Environment,
        &["genv"],
        &["VAR", "VALUE"],
        "Set VAR to VALUE for the ranks of all programs.",
    ),
    flag(
        Id::ProgramEnv,
        Group::Environment,
        &["env"],
        &["VAR", "VALUE"],
        "Set VAR to VALUE for the ranks of this program.",
    ),
    flag(
        Id::GlobalEnvNone,
        Group::Environment,
        &["genvnone"],
        &[],
        "Pass nothing of the present environment on.",
    ),
    flag(
        Id::GlobalEnvAll,
        Group::Environment,
        &["genvall"],
        &[],
        "Pass the whole present environment on (the default on this machine; without it other \
         hosts get what is named, and HPVM_*).",
    ),
    flag(
        Id::GlobalEnvList,
        Group::Environment,
        &["genvlist"],
        &["VAR,..."],
        "Of the present environment pass only these variables on.",
    ),
    flag(
        Id::ProgramEnvNone,
        Group::Environment,
        &["envnone"],
        &[],
        "As -genvnone, for this program only.",
    ),
    flag(
        Id::ProgramEnvAll,
        Group::Environment,
        &["envall"],
        &[],
        "As -genvall, for this program only.",
    ),
    flag(
        Id::ProgramEnvList,
        Group::Environment,
        &["envlist"],
        &["VAR,..."],
        "As -genvlist, for this program only.",
    ),
    flag(
        Id::NoLibraryPath,
        Group::Environment,
        &["no-library-path"],
        &[],
        "Leave LD_LIBRARY_PATH alone. Else the folder of hpvm's libmpi_abi.so.1 is put in front.",
    ),
    flag(
        Id::Wdir,
        Group::Environment,
        &["wdir", "wd", "cwd"],
        &["DIR"],
        "Working folder of this program's ranks.",
    ),
    flag(
        Id::BindTo,
        Group::Placement,
        &["bind-to"],
        &["core|hwthread|none"],
        "Bind the i-th rank of a host to core (or hardware thread) i, starting again from the first when there are \
         more ranks. Default: none.",
    ),
    flag(
        Id::ReportBindings,
        Group::Placement,
        &["report-bindings"],
        &[],
        "Say on standard error to which cpus each rank is bound.",
    ),
    flag(
        Id::TagOutput,
        Group::Output,
        &["tag-output", "l", "prepend-rank"],
        &[],
        "Put '[RANK] ' in front of every line of output.",
    ),
    flag(
        Id::TimestampOutput,
        Group::Output,
        &["timestamp-output"],
        &[],
        "Put the local time in front of every line of output.",
    ),
    flag(
        Id::Output,
        Group::Output,
        &["output"],
        &["tag,timestamp"],
        "The same two, as Open MPI 5 writes them.",
    ),
    flag(
        Id::Json,
        Group::Output,
        &["json"],
        &[],
        "At the end write a report as one line of JSON to standard error.",
    ),
    flag(Id::Quiet, Group::Output, &["quiet", "q"], &[], "No notes and warnings, only errors."),
    flag(
        Id::Verbose,
        Group::Output,
        &["verbose", "v"],
        &[],
        "Say what is started, and how it ended.",
    ),
    flag(
        Id::Timeout,
        Group::Other,
        &["timeout"],
        &["SECONDS"],
        "End the job after so many seconds; the exit code is then 124.",
    ),
    flag(
        Id::Oversubscribe,
        Group::Other,
        &["oversubscribe"],
        &[],
        "Accepted for compatibility: more ranks than cores are always allowed.",
    ),
    flag(
        Id::AllowRoot,
        Group::Other,
        &["allow-run-as-root"],
        &[],
        "Accepted for compatibility: root may always run.",
    ),
    flag(
        Id::HwThreads,
        Group::Other,
        &["use-hwthread-cpus"],
        &[],
        "Accepted for compatibility: ranks are not counted against cores.",
    ),
    flag(
        Id::Mca,
        Group::Other,
        &["mca", "gmca", "prtemca", "pmixmca"],
        &["KEY", "VALUE"],
        "Accepted and ignored: Open MPI's parameters have no meaning here.",
    ),
    flag(
        Id::Ignored,
        Group::Other,
        &["byslot", "display-allocation", "display-map", "print-rank-map"],
        &[],
        "Accepted and ignored.",
    ),
    flag(
        Id::Ignored,
        Group::Other,
        &["disable-hostname-propagation", "disable-x", "hybrid-hosts"],
        &[],
        "Accepted and ignored.",
    ),
    flag(
        Id::IgnoredValue,
        Group::Other,
        &["demux", "localhost", "personality", "rank-by", "rmk", "topolib", "tune", "usize"],
        &["VALUE"],
        "Accepted and ignored.",
    ),
    flag(Id::Help, Group::Other, &["help", "h", "?"], &[], "Show this text."),
    flag(Id::Version, Group::Other, &["version", "V", "info"], &[], "Show the version."),
];

/// The flag with this spelling (without dashes).
pub fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.names.contains(&name))
}

/// A spelling as people write it: one dash for a letter, two for a word.
pub fn spelled(name: &str) -> String {
    if name.chars().count() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// The flag nearest to a mistyped name, spelled out, if one is near enough to be meant.
pub fn nearest(name: &str) -> Option<String> {
    let limit = (name.len() / 3).max(1);
    FLAGS
        .iter()
        .flat_map(|flag| flag.names)
        .filter(|candidate| candidate.len() > 1)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| spelled(candidate))
}

/// Edit distance with swaps of neighbours counted as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best =
                (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_used_twice() {
        let mut names: Vec<_> = FLAGS.iter().flat_map(|flag| flag.names).collect();
        names.sort();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }

    #[test]
    fn typing_errors_find_their_flag() {
        assert_eq!(nearest("hotsfile").as_deref(), Some("--hostfile"));
        assert_eq!(nearest("tag-ouput").as_deref(), Some("--tag-output"));
        assert_eq!(nearest("wdri").as_deref(), Some("--wdir"));
        assert_eq!(nearest("completely-else"), None);
    }
}
