//! `hpvm bench report`: it is stopped, goes on where it was, and writes its page.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{clean, folder, prefix, run_within};
use hpvm_tests::process;

/// A loaded machine is slow at measuring, too.
const LONG: Duration = Duration::from_secs(240);

fn report(only: &str, page: &Path) -> Command {
    let mut command = clean(prefix().join("bin/hpvm"));
    command.args(["bench", "report", "--quick", "-n", "2", "--only", only, "-o"]).arg(page);
    command
}

/// Runs until the second measurement begins, presses Ctrl-C, and gives the exit code.
fn interrupted(mut command: Command) -> i32 {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("hpvm starts");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut pressed = false;
    for line in lines.map_while(Result::ok) {
        if !pressed && line.starts_with("[2/") {
            let group = i32::try_from(child.id()).expect("a process id");
            // SAFETY: kill has no memory effects, and the child has not been waited for.
            unsafe { libc::kill(group, libc::SIGINT) };
            pressed = true;
        }
    }
    assert!(pressed, "the second measurement has not begun");
    process::code_of(child.wait().expect("hpvm ends"))
}

#[test]
fn a_report_that_was_stopped_goes_on() {
    let page = folder("report").join("report.html");
    let work = page.with_extension("work");
    // What follows the first measurement takes many seconds, so that it can be stopped inside of it.
    let code = interrupted(report("barrier,bisection,rma,files,startup", &page));
    assert_eq!(code, 130);
    assert!(work.join("barrier.json").is_file(), "what was finished is not in {}", work.display());
    let text = std::fs::read_to_string(&page).expect("a page of what there is");
    assert!(text.contains("MPI_Barrier, back to back") && text.contains("Not complete"));

    // Other settings are refused, by name.
    let mut other = report("barrier", &page);
    other.args(["--launch-arg", "-l"]);
    let refused = run_within(other, LONG);
    assert_eq!(refused.code, Some(2), "{}", refused.output);
    assert!(
        refused.output.contains("--launch-arg") && refused.output.contains("--fresh"),
        "{}",
        refused.output
    );

    let outcome = run_within(report("barrier,probe", &page), LONG);
    assert_eq!(outcome.code, Some(0), "{}", outcome.output);
    assert!(outcome.output.contains("barrier: from"), "{}", outcome.output);
    let text = std::fs::read_to_string(&page).expect("a page");
    assert!(text.contains("Looking for messages") && !text.contains("Not complete"));
    assert!(!work.exists(), "the work folder is still there");
    let json = std::fs::read_to_string(page.with_extension("json")).expect("the data");
    assert!(json.contains("\"launches\"") && json.contains("\"probe\""));
}
