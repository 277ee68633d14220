//! Command lines and what they ask for.

use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn request(line: &str) -> Request {
    match parse("mpirun", &words(line)) {
        Ok(Parsed::Run(request)) => *request,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal(line: &str) -> String {
    match parse("mpirun", &words(line)) {
        Err(error) => {
            assert_eq!(error.code, crate::error::USAGE);
            error.message
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn both_dialects() {
    for line in [
        "-n 4 prog",
        "-np 4 prog",
        "--np 4 prog",
        "-n4 prog",
        "-np4 prog",
        "--np=4 prog",
        "-ppn 4 prog",
        "-N 4 prog",
        "-host localhost:4 prog",
        "--host=localhost:2,127.0.0.1:2 prog",
        "--oversubscribe --allow-run-as-root --mca btl self -n 4 -- prog",
        "--map-by ppr:4:node prog",
        "--map-by ppr:2:node:PE=2 -H a,b prog",
        "-pernode -H n[1-4] -launcher ssh prog",
        "-bootstrap ssh -rmk user -iface net0 -envall -print-rank-map -n 4 prog",
        "--bynode --rank-by slot --display-map --output tag,timestamp -n 4 prog",
    ] {
        let request = request(line);
        assert_eq!(request.programs[0].ranks, 4, "{line}");
        assert_eq!(request.programs[0].argv, words("prog"), "{line}");
    }
}

#[test]
fn options_end_at_the_program() {
    let request = request("-n 2 prog -n 3 --tag-output -- x");
    assert_eq!(request.programs[0].ranks, 2);
    assert_eq!(request.programs[0].argv, words("prog -n 3 --tag-output -- x"));
    assert!(!request.options.output.tag);
}

#[test]
fn several_programs() {
    let request = request("-genv A 1 -n 2 -env B 2 a x : -wdir /tmp -n 3 b : c");
    let ranks: Vec<_> = request.programs.iter().map(|program| program.ranks).collect();
    assert_eq!(ranks, [2, 3, 1]);
    assert_eq!(request.options.genv, [("A".into(), "1".into())]);
    assert_eq!(request.programs[0].env, [("B".into(), "2".into())]);
    assert_eq!(request.programs[1].wdir, Some(PathBuf::from("/tmp")));
    assert!(request.programs[2].env.is_empty());
}

#[test]
fn variables_in_one_word() {
    let request = request("-genv A=1=2 -genv B 3 -n 1 -env C= a");
    assert_eq!(request.options.genv, [("A".into(), "1=2".into()), ("B".into(), "3".into())]);
    assert_eq!(request.programs[0].env, [("C".into(), "".into())]);
    assert_eq!(request.programs[0].argv, words("a"));
}

#[test]
fn parts_of_all_hosts_in_turn() {
    let parts = parts_here(Level::Core).unwrap();
    let request = request(&format!("-H a:9,b:9 --map-by core:SPAN -n {} a", parts + 1));
    let room = request.programs[0].room.as_ref().unwrap();
    let placed = room.place(parts + 1, &request.options.policy.map, request.options.policy.rank);
    assert_eq!(placed.iter().filter(|host| **host == 1).count(), 1, "{placed:?}");
}

#[test]
fn hosts_hold_until_others_are_named() {
    let request = request("-n 1 a : -H x,y:2 b : -ppn 3 c : -H z d");
    let rooms: Vec<_> = request
        .programs
        .iter()
        .map(|program| program.room.as_ref().map(|room| room.hosts.clone()))
        .collect();
    let host = |name: &str, slots| (name.to_string(), slots);
    assert_eq!(rooms[0], None);
    assert_eq!(rooms[1], Some(vec![host("x", 1), host("y", 2)]));
    assert_eq!(rooms[2], Some(vec![host("x", 3), host("y", 3)]));
    assert_eq!(rooms[3], Some(vec![host("z", 1)]));
    let ranks: Vec<_> = request.programs.iter().map(|program| program.ranks).collect();
    assert_eq!(ranks, [1, 1, 6, 1]);
}

#[test]
fn slots_and_hosts_give_the_number_of_ranks() {
    for (line, ranks) in [
        ("-H a,b prog", 2),
        ("-H a:2,b prog", 3),
        ("-H a prog", 1),
        ("-H a,b -ppn 3 prog", 6),
        ("-H n[1-16]:2 prog", 32),
        ("-H a,b -n 5 prog", 5),
        ("-H a,a,a prog", 3),
        ("-ppn 2 -n 5 prog", 5),
        ("-H a,b -perhost=2 -n 5 prog", 5),
    ] {
        assert_eq!(request(line).programs[0].ranks, ranks, "{line}");
    }
}

#[test]
fn refusals_name_the_token() {
    for (line, part) in [
        ("", "no program given; usage: mpirun"),
        ("-n 2", "no program given"),
        ("-n 2 a :", "no program given after ':'"),
        (": a", "no program given before ':'"),
        ("-n", "'-n' needs a value: N"),
        ("-n 0 a", "at least one rank"),
        ("-n -3 a", "'-3' is not a number of ranks"),
        ("-n 99999999 a", "at most"),
        ("-np two a", "'two' is not a number"),
        ("--hotsfile x a", "unknown flag '--hotsfile'; did you mean '--hostfile'?"),
        ("-zzzzzz a", "unknown flag '-zzzzzz'; see --help all"),
        ("--tag-output=3 a", "takes no value"),
        ("--bind-to wheel a", "'--bind-to wheel'"),
        ("--rank-by wheel a", "'--rank-by wheel'"),
        ("--stdin 2 -n 2 a", "2 ranks, numbered from 0"),
        ("--stdin x a", "'--stdin x'"),
        ("-gdb a", "'-gdb' is not there: start a debugger"),
        ("--xterm 0 a", "xterm -hold -e PROGRAM"),
        ("--app /no/such", "'--app /no/such': No such file"),
        ("--rankfile /no/such a", "rankfile '/no/such': No such file"),
        ("-outfile-pattern %x a", "'-outfile-pattern %x'"),
        ("--display wheel a", "'--display wheel'"),
        ("--timeout 0 a", "above 0"),
        ("--timeout x a", "'--timeout x'"),
        ("-N 2 -n 4 a", "more ranks than 2 on each host allow on one host"),
        ("-H a,b --npernode=2 -n 5 a", "more ranks than 2 on each host allow on 2 hosts"),
        ("--map-by ppr:2:node -n 4 a", "more ranks than 2 on each host"),
        ("-initial-errhandler wheel a", "'-initial-errhandler wheel'"),
        ("-H a:0 a", "not a number of slots"),
        ("--map-by wheel a", "'--map-by wheel'"),
        ("--fabric /no/such -H a b", "fabric '/no/such': No such file"),
        ("--map-by switch -H a b", "which host hangs on which switch"),
        ("--map-by seq --fabric /no/such -H a b", "says already which rank runs where"),
        ("--map-by ppr:0:node a", "'--map-by ppr:0:node'"),
        ("--launcher lsf a", "'--launcher lsf'"),
        ("--ssh-args= a", "no command given"),
        ("--output wheel a", "'--output wheel'"),
        ("--output file a", "no name given"),
        ("--launch-agent= a", "no command given"),
        ("--net-timeout 0 a", "above 0"),
        ("--net-timeout 0.4 a", "0.5 to 1000000"),
        ("--net-timeout 1000001 a", "0.5 to 1000000"),
        ("-n +2 a", "'-n +2'"),
        ("--wdir= a", "'--wdir=': the folder's name is empty"),
        ("-H [::1 a", "'[::1' is not the name of a host"),
        ("-genv A", "'-genv' needs a value: VALUE"),
        ("-x =3 a", "not the name of a variable"),
    ] {
        let message = refusal(line);
        assert!(message.contains(part), "{line}: {message}");
    }
}

#[test]
fn variables_say_what_flags_do_not() {
    let variables = |name: &str| match name {
        LAUNCH_AGENT => Some("rsh -x".into()),
        SSH_ARGS => Some("-p 2222".into()),
        _ => None,
    };
    let with = |line: &str| {
        let mut options = request(line).options;
        from_variables(&mut options, variables).unwrap();
        (options.launch_agent, options.ssh_args)
    };
    assert_eq!(with("a"), (Some(words("rsh -x")), words("-p 2222")));
    assert_eq!(with("--ssh-args -v --launcher ssh a"), (None, words("-v")));
    assert_eq!(with("--launch-agent x a").0, Some(words("x")));
}

#[test]
fn help_wins_over_a_missing_program() {
    assert!(matches!(parse("mpirun", &words("-n 2 --help")), Ok(Parsed::Help(None))));
    assert!(matches!(parse("mpirun", &words("-V")), Ok(Parsed::Version)));
}

#[test]
fn nothing_is_ignored_without_a_word() {
    let request = request("--mca btl self,vader -mca pml ob1 --demux poll --hybrid-hosts -n 2 a");
    let warnings = &request.options.warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("'--demux' has no effect here"), "{warnings:?}");
    assert!(warnings[2].starts_with("--mca btl, pml: no effect here"), "{warnings:?}");
    let obeyed = words("--mca hwloc_base_binding_policy core -n 2 a");
    let Ok(Parsed::Run(request)) = parse("mpirun", &obeyed) else { panic!() };
    assert!(request.options.warnings.is_empty());
}

#[test]
fn programs_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("app");
    std::fs::write(&file, "-n 1 a x\n-n 2 'b c'\n").unwrap();
    let file = file.to_str().unwrap();
    for line in
        [format!("--app {file} -l"), format!("-l -configfile {file}"), format!("-app {file} -l")]
    {
        let request = request(&line);
        let programs = request.programs.iter().map(|program| (program.ranks, program.argv.len()));
        assert_eq!(programs.collect::<Vec<_>>(), [(1, 2), (2, 1)], "{line}");
        assert!(request.options.output.tag, "{line}");
    }
    let request = request(&format!("--app {file} -n 3 first"));
    let ranks: Vec<u32> = request.programs.iter().map(|program| program.ranks).collect();
    assert_eq!(ranks, [3, 1, 2]);
}

#[test]
fn help_has_topics() {
    let topic = |line: &str| match parse("mpirun", &words(line)) {
        Ok(Parsed::Help(topic)) => topic,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(topic("--help all").as_deref(), Some("all"));
    assert_eq!(topic("-h --map-by").as_deref(), Some("--map-by"));
    assert_eq!(topic("--help ./prog"), None);
}
