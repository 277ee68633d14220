//! More ranks than processors, and what waiting costs.

use std::time::Duration;

use crate::common::{mpirun, number_after, program, succeed, succeed_within, tell};

const LONG: Duration = Duration::from_secs(240);

#[test]
fn sixty_four_ranks_talk() {
    let output = succeed_within(mpirun(64, "many", &["ring"]), LONG);
    assert_eq!(output, "done, 64 ranks\n");
}

#[test]
fn a_hundred_and_twenty_eight_ranks_start_and_end() {
    let output = succeed_within(mpirun(128, "many", &["init"]), LONG);
    assert_eq!(output, "done, 128 ranks\n");
}

#[test]
fn ranks_may_differ_in_the_processors_that_they_may_use() {
    let mut command = mpirun(1, "masks", &["narrow"]);
    command.args([":", "-n", "1"]).arg(program("masks"));
    assert_eq!(succeed(command), "right\n");
}

/// Less than a tenth of a processor each, over a second or more of waiting.
fn waits_cheaply(how: &str, ranks: u32) {
    let output = succeed(mpirun(ranks, "idle", &[how, "1.2"]));
    assert_eq!(output.lines().count() as u32, ranks - 1, "one line per waiting rank:\n{output}");
    for line in output.lines() {
        let (Some(wait), Some(cpu)) = (number_after(line, "wait"), number_after(line, "cpu"))
        else {
            panic!("not understood: {line}");
        };
        tell(&format!("{how}, {ranks} ranks: {:.2} % of a core", 100.0 * cpu / wait));
        assert!(wait > 1_100_000.0, "{how}: the message came before it was sent: {line}");
        assert!(cpu < 0.1 * wait, "{how}: waiting is not idle: {line}");
    }
}

#[test]
fn a_waiting_receive_is_idle() {
    waits_cheaply("recv", 2);
}

#[test]
fn a_waiting_waitany_is_idle() {
    waits_cheaply("waitany", 2);
}

#[test]
fn a_waiting_barrier_is_idle() {
    waits_cheaply("barrier", 4);
}

/// The most memory that rank 0 of a flood has, in MiB.
fn flooded(ranks: u32, messages: &str, bytes: &str) -> f64 {
    let output = succeed_within(mpirun(ranks, "flood", &[messages, bytes]), LONG);
    let kib: f64 = output.trim().parse().unwrap_or_else(|_| panic!("not understood: {output}"));
    tell(&format!(
        "flood of {messages} times {bytes} bytes, {ranks} ranks: {:.0} MiB",
        kib / 1024.0
    ));
    kib / 1024.0
}

#[test]
fn a_million_messages_that_nobody_receives_do_not_fill_the_memory() {
    // One sender leaves 32 MiB here. Without a bound it was 430 MiB: as much as came in two seconds.
    assert!(flooded(2, "1000000", "1000") < 80.0);
}

#[test]
fn messages_of_some_kib_from_several_do_not_fill_it_either() {
    // They left 1.3 GiB. 48 MiB and 4.5 MiB each are allowed, and their frames are seen as ours.
    assert!(flooded(4, "40000", "16000") < 130.0);
}
