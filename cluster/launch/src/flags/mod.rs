//! The flags of `mpirun`: those that work, those that are accepted though they have no effect here,
//! and those that are refused with what does the same. The parser, `--help`, the man page, the
//! completions and `docs/flags.md` are all made from the [`table`].

mod elsewhere;
mod table;

/// What a flag that works means; the parser matches on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id {
    Ranks,
    PerHost,
    OnePerHost,
    PerSocket,
    Ppr,
    Host,
    Hostfile,
    MapBy,
    Fabric,
    MapFixed(&'static str),
    RankBy,
    Rankfile,
    Sequence,
    CpusPerRank,
    CpuSet,
    BindTo,
    BindFixed(&'static str),
    CpuBind,
    Threads,
    Oversubscribe,
    NoOversubscribe,
    NoLocal,
    LaunchAgent,
    Launcher,
    SshArgs,
    LaunchWidth,
    Universe,
    Prefix,
    Preload,
    Net,
    Site,
    Gateway,
    Compress,
    NetTimeout,
    NameServer,
    Lane,
    Export,
    Unset,
    UnsetList,
    InitialErrhandler,
    GlobalEnv,
    ProgramEnv,
    GlobalEnvNone,
    GlobalEnvAll,
    GlobalEnvList,
    ProgramEnvNone,
    ProgramEnvAll,
    ProgramEnvList,
    Wdir,
    Path,
    File,
    ReportBindings,
    Display,
    DisplayFixed(&'static str),
    DoNotLaunch,
    TagOutput,
    TimestampOutput,
    PrependPattern,
    Output,
    OutputFile,
    OutputFolder,
    OutPattern,
    ErrPattern,
    Merge,
    Monitor,
    Record,
    Stdin,
    Timeout,
    StackTraces,
    MaxRestarts,
    RestartOn,
    RestartDelay,
    RestartWait,
    Recovery,
    NoRecovery,
    ExitCodes,
    ReportPid,
    NoLibraryPath,
    Json,
    Quiet,
    Verbose,
    AllowRoot,
    Mca,
    Help,
    Version,
}

/// What becomes of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does what its help says.
    Works(Id),
    /// It is accepted with a remark; its help says why it has no effect.
    Remark,
    /// It is refused; its help says what to do instead.
    Refused,
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
    NoEffect,
    Refused,
}

impl Group {
    /// The groups of flags that work, in the order in which help shows them.
    pub const WORKING: [Group; 6] = [
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
            Group::Output => "Input and output",
            Group::Other => "Other",
            Group::NoEffect => "Accepted with a remark, without effect here",
            Group::Refused => "Refused, with what to do instead",
        }
    }
}

/// One flag: its spellings without dashes, the values that follow it, its help.
#[derive(Debug)]
pub struct Flag {
    pub effect: Effect,
    /// First the preferred spelling. One letter is shown with one dash, more with two; both
    /// are accepted with one or two.
    pub names: &'static [&'static str],
    /// Names of the values that must follow.
    pub values: &'static [&'static str],
    pub group: Group,
    pub help: &'static str,
}

/// The flags that a newcomer needs first, in a few words: what `--help` shows on one screen.
pub const BASIC_FLAGS: [(&str, &str); 10] = [
    ("n", "number of ranks; there may be more than cores"),
    ("ppn", "ranks on each host"),
    ("host", "hosts to run on: a:4,b:4 or n[01-16]"),
    ("hostfile", "read the hosts from FILE, one a line"),
    ("x", "pass a variable of the environment to the ranks"),
    ("wdir", "working folder of the ranks"),
    ("bind-to", "bind ranks to core, socket, ... or none (the default)"),
    ("tag-output", "put the rank in front of every line of output"),
    ("timeout", "end the job after so long; the exit code is then 124"),
    ("verbose", "say what is started, and how it ended"),
];

/// Every flag, in the order of help.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    table::WORKING.iter().chain(elsewhere::REMARKS).chain(elsewhere::REFUSED)
}

/// The flag with this spelling (without dashes).
pub fn find(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.names.contains(&name))
}

/// A spelling as people write it: one dash for a letter, two for a word.
pub fn spelled(name: &str) -> String {
    if name.chars().count() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// The flag nearest to a mistyped name, spelled out, if one is near enough to be meant.
pub fn nearest(name: &str) -> Option<String> {
    let limit = (name.len() / 3).max(1);
    all()
        .filter(|flag| flag.effect != Effect::Refused)
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
        let mut names: Vec<_> = all().flat_map(|flag| flag.names).collect();
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

    #[test]
    fn every_flag_has_its_group() {
        for flag in all() {
            let expected = match flag.effect {
                Effect::Works(_) => Group::WORKING.contains(&flag.group),
                Effect::Remark => flag.group == Group::NoEffect,
                Effect::Refused => flag.group == Group::Refused,
            };
            assert!(expected && !flag.names.is_empty() && !flag.help.is_empty(), "{flag:?}");
        }
        for (name, _) in BASIC_FLAGS {
            assert!(find(name).is_some_and(|flag| flag.names[0] == name), "{name}");
        }
    }

    /// The flags of the manuals: `mpirun` of Open MPI 4.1 and 5.0 (with PRRTE's), `mpiexec` of MPICH 5
    /// (hydra), `mpiexec.hydra` of Intel MPI 2021.
    const MANUALS: &str = "\
        allow-run-as-root am amca app bind-to bind-to-core bind-to-socket bycore bynode byslot cartofile \
        continuous cpu-list cpu-set cpus-per-proc cpus-per-rank debug debug-daemons debug-daemons-file \
        debug-devel debugger default-hostfile disable-recovery display-allocation \
        display-devel-allocation display-devel-map display-diffable-map display-map display-topo \
        do-not-launch do-not-resolve dvm enable-recovery get-stack-traces gmca help hnp host hostfile \
        index-argv-by-rank launch-agent leave-session-attached machinefile map-by max-restarts \
        max-vm-size mca merge-stderr-to-stdout n nolocal nooversubscribe noprefix novm npernode \
        npersocket ompi-server output-filename output-proctable oversubscribe path pernode personality \
        ppr prefix preload-binary preload-files quiet rank-by rankfile report-bindings \
        report-child-jobs-separately report-events report-pid report-state-on-timeout report-uri \
        set-cwd-to-session-dir show-progress stdin tag-output terminate timeout timestamp-output tune tv \
        use-hwthread-cpus use-regexp verbose version xml xml-file xterm H N V c cf d h np q rf s v wd \
        wdir x add-host add-hostfile append-env prepend-env set-env unset-env display dvm-uri \
        do-not-connect forward-signals hetero-nodes keepalive machine memory-alloc-kinds \
        num-connect-retries output output-directory pmix-prefix app-pmix-prefix no-app-prefix prtemca \
        pmixmca gpmixmca omca gomca pset runtime-options set-sid singleton spawn-timeout stop-on-exec \
        stop-in-init stop-in-app stream-buffering system-server system-server-first \
        system-server-only tmpdir wait-to-connect with-ft display-comm display-comm-finalize \
        initial-errhandler fwd-environment gpu-support report-state-on-timeout \
        genv genvlist genvnone genvall f hosts rankmap configfile env envlist envnone envall launcher \
        launcher-exec bootstrap bootstrap-exec enable-x disable-x rmk topolib membind demux \
        disable-auto-cleanup enable-auto-cleanup disable-hostname-propagation \
        enable-hostname-propagation errfile-pattern errfile gpus-per-proc hybrid-hosts iface info \
        localhost nameserver order-nodes outfile-pattern outfile pmi-port ppn perhost prepend-pattern \
        prepend-rank print-all-exitcodes profile skip-launch-node usize output-from machines \
        machinelist hostlist aps mps gdb gdba gdb-args gtool gtoolfile hosts-group silent-abort \
        print-rank-map prepend-timestamp prot cpu-bind rr grr branch-count cleanup noconf \
        ordered-output check-mpi trace ilp64 arch soft file bootstrap-exec-args l";

    #[test]
    fn every_flag_of_the_manuals_is_there() {
        let absent: Vec<_> =
            MANUALS.split_whitespace().filter(|name| find(name).is_none()).collect();
        assert_eq!(absent, Vec::<&str>::new());
    }
}
