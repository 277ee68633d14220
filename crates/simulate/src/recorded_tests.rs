use super::*;
use crate::job::Job;
use crate::machine::Machine;
use crate::program::Kind;

/// A ring: each rank passes bytes on, then all sum up.
fn ring(size: u32) -> Vec<String> {
    let file = |rank: u32| {
        let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
        format!(
            "hpvm-trace 1 rank {rank} of {size}\nhost n{}\ngroup d1 0-{}\ncompute 5us\nirecv {before} 64 7\n\
             isend {next} 64 7\nwait 2\nwait 1\nallreduce 16 @d1\nmark\nend 1ms\n",
            rank / 2,
            size - 1
        )
    };
    (0..size).map(file).collect()
}

fn read(files: &[String]) -> Result<Recorded, Error> {
    Recorded::read(files.iter().map(String::as_str))
}

fn run(recorded: &Rc<Recorded>, ranks: u32, hosts: u32) -> crate::Outcome {
    let program = Replay::new(recorded.clone(), ranks).expect("a replay");
    let job = Job { machine: Machine::default(), ranks, hosts, fabric: None, seed: 0, noise: 0 };
    job.run(Rc::new(program)).unwrap_or_else(|error| panic!("{ranks} ranks: {error}"))
}

#[test]
fn a_recorded_job_runs_on_more_ranks() {
    let recorded = Rc::new(read(&ring(4)).expect("four files"));
    assert_eq!((recorded.ranks(), recorded.hosts()), (4, 2));
    assert_eq!(recorded.measured(), crate::time::MS);
    // A communicator of all ranks in their order is that of all.
    assert_eq!(recorded.calls[3].get(5), Some(&Call::of_all(Kind::Allreduce, 16)));
    let own = run(&recorded, 4, 4);
    // Every rank sends one message, and two each in an allreduce.
    assert_eq!(own.statistics.between, 4 + 8);
    let more = run(&recorded, 64, 64);
    assert_eq!(more.statistics.between, 64 + 64 * 6);
    let replay = Replay::new(recorded.clone(), 64).expect("a replay");
    assert_eq!((replay.peer(3, 0), replay.peer(60, 3), replay.peer(5, 3)), (4, 59, 7));
    for rank in 0..64 {
        for peer in 0..4 {
            // Whoever a rank sends to expects it from there.
            let other = replay.peer(rank, peer);
            assert_eq!(replay.peer(other, rank % 4), rank, "{rank} {peer}");
        }
    }
    let error = Replay::new(recorded, 6).expect_err("no multiple").to_string();
    assert_eq!(error, "6 ranks: 4 were recorded, so expected a multiple of 4");
}

#[test]
fn receives_from_whoever_get_what_came() {
    let files = [
        "hpvm-trace 1 rank 0 of 2\nirecv ? 100 ? @\nirecv ? 100 5\nwait 1 1 5\nwait 2 1 9\nend 1us\n",
        "hpvm-trace 1 rank 1 of 2\nsend 0 50 9\nsend 0 60 5\nend 2us\n",
    ];
    let recorded = Recorded::read(files).expect("two files");
    let tag = |call: &Call| match call {
        Call::Send { tag, .. } | Call::Irecv { tag, .. } => *tag,
        other => panic!("{other:?}"),
    };
    assert_eq!(tag(&recorded.calls[0][0]), tag(&recorded.calls[1][0]));
    assert_eq!(tag(&recorded.calls[0][1]), tag(&recorded.calls[1][1]));
    run(&Rc::new(recorded), 2, 1);
}

#[test]
fn groups_and_blocks_of_different_lengths() {
    let file = |rank: u32| {
        let (group, ranks) = if rank.is_multiple_of(2) { ("e", "0,2") } else { ("o", "3,1") };
        format!(
            "hpvm-trace 1 rank {rank} of 4\ngroup {group} {ranks}\niallgather {} @{group}\nreduce 1 8 @{group}\n\
             wait 1\nalltoall 64\nend 1us\n",
            10 * rank
        )
    };
    let files: Vec<String> = (0..4).map(file).collect();
    let recorded = Rc::new(read(&files).expect("four files"));
    assert_eq!(recorded.groups, [vec![0, 2], vec![3, 1]]);
    let bytes: Vec<usize> = (0..4)
        .map(|rank| match recorded.calls[rank][0] {
            Call::Collective(call) => call.bytes,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bytes, [10, 20, 10, 20]);
    run(&recorded, 4, 4);
    run(&recorded, 16, 4);
    let replay = Replay::new(recorded, 16).expect("a replay");
    assert_eq!(replay.groups(13), [(2, vec![15, 13])]);
    // What a rank has in all stays the same.
    let Some(Call::Collective(all)) = replay.call(13, 3) else { panic!("no collective") };
    assert_eq!((all.kind, all.bytes), (Kind::Alltoall, 16));
}

#[test]
fn faults_are_named() {
    let head = "hpvm-trace 1 rank 0 of 1\n";
    for (text, expected) in [
        ("", "rank 0: '': expected 'hpvm-trace 1 rank R of N'"),
        ("hpvm-trace 2 rank 0 of 1\n", "expected 'hpvm-trace 1"),
        ("hpvm-trace 1 rank 1 of 1\n", "expected 'hpvm-trace 1"),
        ("hpvm-trace 1 rank 1 of 2\n", "the file is that of rank 1"),
        ("hpvm-trace 1 rank 0 of 2\nend 1us\n", "1 files of a job of 2 ranks"),
        ("HEADbarrier", "there is no line 'end'"),
        ("HEADend 1us\nbarrier", "line 3: there is something behind 'end'"),
        ("HEADdance 3", "line 2: 'dance 3': expected barrier"),
        ("HEADunknown MPI_Ineighbor_alltoallw", "MPI_Ineighbor_alltoallw is not among"),
        ("HEADbarrier @x", "'@x': there is no such group before"),
        ("HEADgroup x 1", "'1': expected different ranks below 1"),
        ("HEADgroup x 0,0", "expected different ranks"),
        ("HEADgroup x 0-99999999999", "expected different ranks"),
        ("HEADsend 1 8 0", "'1': expected a rank below 1"),
        ("HEADbcast 1 8", "'1': expected a root below 1"),
        ("HEADirecv ? 8 ?\nend 1us", "receive number 0 has '?'"),
        ("HEADwait x", "'x': expected a number from 1 on"),
        ("HEADcompute 3", "expected a time with its unit"),
    ] {
        let text = text.replace("HEAD", head);
        let error = Recorded::read([&*text]).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let two = |one: &str, other: &str| {
        let files = [
            format!("hpvm-trace 1 rank 0 of 2\n{one}\nend 1us\n"),
            format!("hpvm-trace 1 rank 1 of 2\n{other}\nend 1us\n"),
        ];
        read(&files).expect_err("a contradiction").to_string()
    };
    assert!(
        two("barrier", "allreduce 8").contains("is Allreduce on rank 1, and Barrier on another")
    );
    assert!(two("barrier", "").contains("was called by 1 of its 2 ranks"));
    assert!(two("group x 0-1", "group x 1,0").contains("other ranks than elsewhere"));
    assert!(two("group x 1", "").contains("without the rank that tells of it"));
}

proptest::proptest! {
    #[test]
    fn any_file_is_taken_or_refused(text in "(hpvm-trace 1 rank 0 of 1\n)?([a-z@?0-9 ,\n-]|wait |irecv |group |end 1us){0,60}") {
        let _ = Recorded::read([&*text]);
    }
}
