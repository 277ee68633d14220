//! Jobs whose ranks speak the process manager's protocol.

mod common;

use common::*;

#[test]
fn exchange_and_barrier() {
    let script = r#"
        init
        ask cmd=get_my_kvsname; kvs=${reply#*kvsname=}; kvs=${kvs%% *}
        for round in 1 2 3 4 5; do
            ask cmd=put kvsname=$kvs key=r$round-$PMI_RANK value=$((PMI_RANK * round))
            ask cmd=barrier_in
            [ "$reply" = "cmd=barrier_out rc=0" ] || exit 9
            sum=0
            for ((rank = 0; rank < PMI_SIZE; rank++)); do
                ask cmd=get kvsname=$kvs key=r$round-$rank
                sum=$((sum + ${reply#*value=}))
            done
            [ $sum = $((round * PMI_SIZE * (PMI_SIZE - 1) / 2)) ] || exit 8
            ask cmd=barrier_in
        done
        finalize
        echo "$reply""#;
    let ended = bash(&["-n", "7"], script).run();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.out, "cmd=finalize_ack rc=0\n".repeat(7));
}

#[test]
fn application_numbers() {
    let script = format!("{PMI} init; ask cmd=get_appnum; echo $PMI_RANK $reply; finalize");
    let program = ["bash", "-c", &script];
    let args = [&["-n", "1"][..], &program, &[":", "-n", "2"], &program].concat();
    let ended = mpirun(&args).run();
    let expected =
        ["0 cmd=appnum appnum=0 rc=0", "1 cmd=appnum appnum=1 rc=0", "2 cmd=appnum appnum=1 rc=0"];
    assert_eq!(sorted(&ended.out), expected);
}

#[test]
fn ends_without_finalize() {
    for (last, code) in [("exit 0", 1), ("exit 6", 6)] {
        let script = format!("init; if [ $PMI_RANK = 0 ]; then {last}; fi; ask cmd=barrier_in");
        let ended = bash(&["-n", "3"], &script).run();
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.err.contains("without calling MPI_Finalize"), "{ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
}

#[test]
fn a_code_after_finalize_is_reported_and_the_others_go_on() {
    let script = "init; finalize; if [ $PMI_RANK = 1 ]; then exit 4; fi; sleep 0.5; echo end";
    let ended = bash(&["-n", "3"], script).run();
    assert_eq!((ended.code, ended.out.as_str()), (4, "end\nend\n"));
    assert!(ended.err.contains("exited with code 4 after MPI_Finalize"), "{ended:?}");
}

#[test]
fn abort() {
    for (given, code) in [(42, 42), (0, 0), (256, 0), (300, 44)] {
        let script = format!(
            "init; if [ $PMI_RANK = 1 ]; then say cmd=abort exitcode={given}; exit 3; fi; sleep 1000"
        );
        let ended = bash(&["-n", "3"], &script).run();
        assert_eq!(ended.code, code, "{ended:?}");
        let text = format!("called MPI_Abort with code {given}");
        assert!(ended.err.contains("rank 1 (") && ended.err.contains(&text), "{ended:?}");
    }
}

#[test]
fn malformed_commands_name_the_rank() {
    for (line, part) in [
        ("hello", "does not start with 'cmd='"),
        ("cmd=dance", "'cmd=dance' came before 'cmd=init'"),
        ("$(printf 'x%.0s' {1..5000})", "longer than 4096 bytes"),
    ] {
        let script = format!("[ $PMI_RANK = 1 ] && say {line}; sleep 1000");
        let ended = bash(&["-n", "2"], &script).run();
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.err.contains("rank 1 (") && ended.err.contains(part), "{ended:?}");
    }
}

#[test]
fn waiting_for_a_rank_that_will_not_come() {
    let script = "if [ $PMI_RANK = 0 ]; then exit 0; fi; init; ask cmd=barrier_in";
    let ended = bash(&["-n", "3"], script).run();
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("has called MPI_Init, but rank 0"), "{ended:?}");
}

#[test]
fn spawning_is_refused() {
    let script = "init; say mcmd=spawn; say nprocs=1; say execname=x; say totspawns=1; \
                  say spawnssofar=1; ask endcmd; echo $reply; finalize";
    let ended = bash(&[], script).run();
    assert!(ended.out.starts_with("cmd=spawn_result rc=-1"), "{ended:?}");
    assert_eq!(ended.code, 0);
}

#[test]
fn programs_one_after_another_in_a_script() {
    let ended =
        bash(&["-n", "2"], "for i in 1 2 3; do init; ask cmd=barrier_in; finalize; done").run();
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}
