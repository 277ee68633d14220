//! `hpvm simulate`: output, the same for the same seed, messages about mistakes.

use std::process::{Command, Output};

fn simulate(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_hpvm")).arg("simulate").args(args).output();
    output.expect("hpvm simulate")
}

fn text(args: &[&str]) -> String {
    let output = simulate(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> serde_json::Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&text(&args)).unwrap()
}

#[test]
fn a_barrier_grows_with_the_logarithm() {
    let found = json(&["barrier", "--ranks", "2,4,8,16,32,64,128,256"]);
    let fit = &found["fit"];
    // 2 µs of the sender, 10 of the network, 2 of the receiver, and 106 bytes of headers.
    let slope = fit["b_us"].as_f64().unwrap();
    assert!((14.0..14.2).contains(&slope), "{fit}");
    assert!(fit["off"].as_f64().unwrap() < 0.01, "{fit}");
    assert_eq!(found["rows"][7]["ranks"], 256);
    assert_eq!(found["engines"], true);
}

#[test]
fn schedules_alone_agree_with_engines_where_both_do_the_same() {
    for args in [
        &["barrier", "--ranks", "64"][..],
        &["barrier", "--ranks", "100"],
        &["allreduce", "--ranks", "64", "--size", "64"],
        &["alltoall", "--ranks", "32", "--size", "8"],
    ] {
        let alone: Vec<&str> = args.iter().copied().chain(["--schedules"]).collect();
        let time = |found: &serde_json::Value| found["rows"][0]["time_us"].as_f64().unwrap();
        let (engines, schedules) = (time(&json(args)), time(&json(&alone)));
        assert!((engines / schedules - 1.0).abs() < 0.05, "{args:?}: {engines} {schedules}");
    }
}

#[test]
fn the_same_command_gives_the_same_output() {
    let args = ["allreduce", "--ranks", "48", "--hosts", "6", "--size", "4096", "--noise", "20"];
    let seeded = |seed| text(&[&args[..], &["--seed", seed, "--csv"]].concat());
    assert_eq!(seeded("3"), seeded("3"));
    assert_ne!(seeded("3"), seeded("4"));
}

#[test]
fn a_fabric_makes_packets_wait() {
    let args = ["alltoall", "--ranks", "16", "--size", "65536", "--times", "2"];
    let time = |more: &[&str]| {
        let found = json(&[&args[..], more].concat());
        found["rows"][0]["time_us"].as_f64().unwrap()
    };
    // Links of 1 Gbit/s where hosts could send 25.
    let (free, fabric) = (time(&[]), time(&["--generate", "fattree:k=4"]));
    assert!(fabric > 10.0 * free, "{free} {fabric}");
    let found = json(&[&args[..], &["--generate", "fattree:k=4"]].concat());
    assert!(!found["rows"][0]["links"].as_array().unwrap().is_empty());
}

#[test]
fn a_picture_has_the_papers_line_beside_ours() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("barrier.svg");
    let shown = text(&["barrier", "--ranks", "256", "-o", file.to_str().unwrap()]);
    assert!(shown.contains("fit: ") && shown.lines().count() == 2 + 8 + 1, "{shown}");
    let picture = std::fs::read_to_string(file).unwrap();
    assert!(picture.contains("22 log2 N") && picture.contains("290 us"), "{picture}");
}

#[test]
fn traces_and_machines_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, machine) = (folder.path().join("trace"), folder.path().join("machine"));
    std::fs::write(&trace, "* mark\nrepeat 3\n0 send 1 100\n1 recv 0 100\n* mark\nend\n").unwrap();
    std::fs::write(&machine, text(&["--write-machine", "--latency", "1ms"])).unwrap();
    let (trace, machine) = (trace.to_str().unwrap(), machine.to_str().unwrap());
    let found = json(&["trace", trace, "--ranks", "2", "--machine", machine]);
    let steps = found["rows"][0]["steps_us"].as_array().unwrap().clone();
    assert_eq!(steps.len(), 3);
    assert!(steps[0].as_f64().unwrap() > 1000.0, "{steps:?}");
    let poisson = json(&["trace", "--pattern", "poisson:n=32,iterations=4", "--ranks", "8"]);
    assert_eq!(poisson["rows"][0]["steps_us"].as_array().unwrap().len(), 4);
}

#[test]
fn a_month_with_failures() {
    let found = json(&["failures", "--years", "0.2", "--seed", "2"]);
    assert!(found["jobs"].as_u64().unwrap() > 1, "{found}");
    assert!(found["noticed_most_s"].as_f64().unwrap() <= 80.0, "{found}");
    let shown = text(&["failures", "--years", "0.05", "--seed", "2"]);
    assert!(shown.ends_with("no healthy rank was given up\n"), "{shown}");
}

#[test]
fn starting_takes_a_level_of_agents_for_each_factor_of_sixteen() {
    let found = json(&["start", "--ranks", "16,272", "--spawn", "0ns", "--agent", "1s"]);
    let seconds = |row: usize| found["rows"][row]["time_us"].as_f64().unwrap() / 1e6;
    assert!((1.0..1.1).contains(&seconds(0)) && (2.0..2.1).contains(&seconds(1)), "{found}");
    // Each host but the launcher's is told of everything once, and tells once.
    assert_eq!(found["rows"][1]["packets_out"], 2 * 272);
}

#[test]
fn memory_of_a_rank_hardly_grows() {
    let found = json(&["barrier", "--ranks", "64,1024", "--hosts", "1024", "--memory"]);
    let sum = |row: usize| -> u64 {
        let kinds = found["rows"][row]["memory"].as_array().unwrap();
        kinds.iter().filter(|k| k["shared"] == false).map(|k| k["mean"].as_u64().unwrap()).sum()
    };
    // Sixteen times the ranks; four doublings are four peers more, each with a page of two tables.
    assert!(sum(1) < sum(0) + 8192, "{} {}", sum(0), sum(1));
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "* dance\n").unwrap();
    let file = file.to_str().unwrap();
    for (args, expected) in [
        (&["barrier", "--ranks", "0"][..], "--ranks '0': expected numbers from 1"),
        (&["barrier", "--ranks", "4,x"], "--ranks 'x'"),
        (&["barrier", "--ranks", "4", "--hosts", "5"], "--hosts 5: more than the 4 ranks"),
        (&["barrier", "--latency", "5"], "--latency '5': expected a time with its unit"),
        (&["barrier", "--bandwidth", "fast"], "--bandwidth 'fast': expected a bandwidth"),
        (&["allreduce", "--size", "7"], "a multiple of 8 bytes"),
        (&["trace"], "trace needs a FILE or --pattern"),
        (&["barrier", file], "a FILE and --pattern are for trace"),
        (&["trace", file], "line 1: 'dance': expected barrier"),
        (&["trace", "--pattern", "lattice"], "--pattern 'lattice': expected poisson"),
        (&["trace", "/nowhere/to/be/found"], "'/nowhere/to/be/found': No such file"),
        (&["barrier", "--machine", file], "line 1: '*' is no number of a machine"),
        (&["barrier", "--machine", "/dev/zero"], "'/dev/zero': it is longer than 256 MiB"),
        (&["barrier", "--fabric", file], "simulate: '"),
        (&["barrier", "--generate", "pyramid"], "--generate"),
        (
            &["barrier", "--generate", "torus:2x2", "--ranks", "64"],
            "the fabric has 4 hosts, and the job needs 64",
        ),
        (&["failures", "--years", "-1"], "--years '-1': expected a number"),
        (&["barrier", "--years", "2"], "--years is for failures"),
        (&["barrier", "--agent", "2s"], "--agent and --spawn are for start"),
        (&["start", "--agent", "soon"], "--agent 'soon': expected a time"),
        (&["start", "--ranks", "65536"], "at most 16777216 fit here"),
        (&["barrier", "--on", "a,b"], "--on is for calibrate"),
        (&["failures", "--ranks", "2", "--hosts", "1"], "expected at least 2 hosts"),
        (&["calibrate", "--ranks", "1"], "from 2 ranks on"),
        (&["bcast", "--schedules"], "--schedules is for barrier"),
        (&["pingpong", "--ranks", "1"], "pingpong needs two ranks"),
        (&["barrier", "-o", "/nowhere/x.svg"], "'/nowhere/x.svg': No such file"),
    ] {
        let output = simulate(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    // Wrong words are clap's affair.
    for args in [&["dance"][..], &["barrier", "--times", "0"], &[]] {
        assert_eq!(simulate(args).status.code(), Some(2), "{args:?}");
    }
}
