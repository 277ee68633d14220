//! How long it takes from handing a job in to its first instruction: in the queue of our own, with Slurm's `sbatch`, and
//! with `hpvm submit` before Slurm. It measures, so it runs when asked for only:
//! `cargo test -p hpvm --test cluster first -- --ignored --nocapture`.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use hpvm_tests::process::clean;

use crate::common;
use crate::server::Server;
use crate::slurm::Front;

const ROUNDS: usize = 11;
/// Says when it begins, before it does anything else.
const SCRIPT: &str = "#!/bin/bash\nnow=$EPOCHREALTIME\necho $now >$1.new && mv $1.new $1\n";
/// Says when it hands the job in.
const HANDS_IN: &str = "echo $EPOCHREALTIME; exec \"$@\"";
const HPVM: &str = env!("CARGO_BIN_EXE_hpvm");

/// Makes a command of words, with what it needs.
type Make<'a> = dyn Fn(&[&str]) -> Command + 'a;

/// A way to hand a job in.
struct Way<'a> {
    name: &'a str,
    command: Box<Make<'a>>,
    words: Vec<String>,
    /// Seconds, of each round.
    took: Vec<f64>,
}

fn seconds(text: &str) -> f64 {
    text.lines()
        .next()
        .and_then(|line| line.trim().parse().ok())
        .unwrap_or_else(|| panic!("{text}"))
}

impl Way<'_> {
    fn round(&mut self, file: &Path) {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let all = [&["bash", "-c", HANDS_IN, "bash"][..], &words].concat();
        let output = (self.command)(&all).output().unwrap();
        assert!(output.status.success(), "{}: {output:?}", self.name);
        assert!(common::until(|| file.exists()), "{}: no job ran", self.name);
        let began = seconds(&std::fs::read_to_string(file).unwrap());
        self.took.push(began - seconds(&String::from_utf8_lossy(&output.stdout)));
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn from_handing_in_to_the_first_instruction() {
    let Some(front) = Front::start() else { return };
    let server = Server::start();
    let folder = front.dir.path();
    let script = common::script(folder, "first", SCRIPT);
    let file = folder.join("began");
    let (path, srun) = (file.to_str().unwrap(), format!("srun {script} {}", file.display()));
    let ours = |words: &[&str]| {
        let mut command = clean(words[0]);
        command.args(&words[1..]).env("HPVM_SERVER", server.data()).current_dir(folder);
        command
    };
    let before = |words: &[&str]| {
        let mut command = front.cluster.command(words);
        command.env("HPVM_SERVER", folder.join("data")).current_dir(folder);
        command
    };
    let way = |name, command, words: &[&str]| {
        let words = words.iter().map(|word| word.to_string()).collect();
        Way { name, command, words, took: Vec::new() }
    };
    // A program by its own name is a script of its own right, so a shell runs it.
    let program = [HPVM, "submit", "bash", &script, path];
    let batch = [HPVM, "submit", &script, path];
    let quiet = ["sbatch", "-o", "/dev/null"];
    let all_ended = || {
        let ours = server.jobs().iter().all(|job| job["state"] == "ended");
        ours && front.slurm(&["squeue", "-h"]).trim().is_empty()
    };
    let mut ways = [
        way("script, hpvm submit, own queue", Box::new(ours), &batch),
        way("script, sbatch", Box::new(before), &[&quiet[..], &[&script, path]].concat()),
        way("script, hpvm submit before Slurm", Box::new(before), &batch),
        way("one rank, hpvm submit, own queue", Box::new(ours), &program),
        way(
            "one rank, sbatch and srun",
            Box::new(before),
            &[&quiet[..], &["--wrap", &srun]].concat(),
        ),
        way("one rank, hpvm submit before Slurm", Box::new(before), &program),
    ];
    println!("Slurm as it is installed");
    measure(&mut ways, 3, &file, &all_ended);
    // It gathers batch jobs for 3 s before it looks at them, and looks again after 2 s, unless it is told otherwise.
    let mut conf =
        std::fs::OpenOptions::new().append(true).open(front.cluster.configuration()).unwrap();
    conf.write_all(b"SchedulerParameters=batch_sched_delay=0,sched_min_interval=0\n").unwrap();
    front.slurm(&["scontrol", "reconfigure"]);
    println!("Slurm without its pauses");
    measure(&mut ways, ROUNDS, &file, &all_ended);
}

/// Lets each way have its turn so often, and tells the medians and the largest.
fn measure(ways: &mut [Way], rounds: usize, file: &Path, all_ended: &dyn Fn() -> bool) {
    for _ in 0..rounds {
        for way in &mut *ways {
            way.round(file);
            // The next one finds all processors free.
            assert!(common::until(all_ended), "after {}", way.name);
        }
    }
    for way in ways {
        way.took.sort_by(f64::total_cmp);
        let (middle, most) = (way.took[rounds / 2] * 1e3, way.took[rounds - 1] * 1e3);
        println!("{}: {middle:.0} ms ({most:.0})", way.name);
        way.took.clear();
    }
}
