//! The dispatcher fed with made-up events, in any order.

use proptest::prelude::*;

use super::*;
use crate::dispatcher::leaving::Found;

const T0: Duration = Duration::ZERO;

fn job(ranks: usize) -> Dispatcher {
    let info = RankInfo { program: "prog".to_string(), appnum: 0, node: 0 };
    let mut job = Dispatcher::new("job", "here", vec![info; ranks], None);
    for rank in 0..ranks {
        job.handle(Event::Started { rank: rank as u32, pid: 100 + rank as i32 }, T0);
    }
    job
}

fn say(job: &mut Dispatcher, rank: u32, line: &str) {
    job.handle(Event::Pmi { rank, line: line.as_bytes() }, T0);
}

fn init(job: &mut Dispatcher, rank: u32) {
    say(job, rank, "cmd=init pmi_version=1 pmi_subversion=1");
}

fn exit(job: &mut Dispatcher, rank: u32, code: i32, now: Duration) {
    job.handle(Event::Exited { rank, ended: Ended::Code(code) }, now);
}

/// All waiting actions but the answers to ranks.
fn actions(job: &mut Dispatcher) -> Vec<Action> {
    std::iter::from_fn(|| job.poll_action())
        .filter(|action| !matches!(action, Action::Reply { .. }))
        .collect()
}

/// The only error among the actions.
fn error(job: &mut Dispatcher) -> String {
    let mut errors = actions(job).into_iter().filter_map(|action| match action {
        Action::Error(text) => Some(text),
        _ => None,
    });
    let first = errors.next().expect("an error");
    assert_eq!(errors.next(), None);
    first
}

/// Answers surveys with "nothing left" until the job is over.
fn finish(job: &mut Dispatcher, now: Duration) -> i32 {
    job.handle(Event::Survey(Found::default()), now);
    match actions(job).last() {
        Some(Action::Done(code)) => *code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_good_job() {
    let mut job = job(2);
    for rank in 0..2 {
        init(&mut job, rank);
    }
    for rank in 0..2 {
        say(&mut job, rank, "cmd=finalize");
        exit(&mut job, rank, 0, T0);
    }
    assert_eq!(actions(&mut job), [Action::Survey]);
    assert_eq!(finish(&mut job, T0), 0);
}

#[test]
fn the_first_failure_decides() {
    let mut job = job(3);
    exit(&mut job, 1, 3, T0);
    let all = actions(&mut job);
    let text = "rank 1 (pid 101, prog, on here) exited with code 3; ending the job".to_string();
    let term = [Action::Signal(libc::SIGTERM), Action::Signal(libc::SIGCONT)];
    assert_eq!(all, [&[Action::Error(text)][..], &term].concat());
    exit(&mut job, 0, 4, T0);
    assert_eq!(actions(&mut job), []);
    assert_eq!(job.poll_timeout(), Some(GRACE_FAILURE));
    job.handle(Event::Tick, GRACE_FAILURE);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
    let ended = Ended::Signal { number: 9, core: false };
    job.handle(Event::Exited { rank: 2, ended }, GRACE_FAILURE);
    assert_eq!(actions(&mut job), [Action::SignalLeftovers(libc::SIGKILL), Action::Survey]);
    assert_eq!(finish(&mut job, GRACE_FAILURE), 3);
}

#[test]
fn how_ranks_may_not_end() {
    let mut first = job(2);
    init(&mut first, 0);
    exit(&mut first, 0, 0, T0);
    assert!(error(&mut first).contains("exited with code 0 without calling MPI_Finalize"));
    exit(&mut first, 1, 0, T0);
    assert_eq!(finish(&mut first, T0), 1);

    let mut second = job(1);
    let ended = Ended::Signal { number: libc::SIGSEGV, core: true };
    second.handle(Event::Exited { rank: 0, ended }, T0);
    assert!(
        error(&mut second)
            .contains("killed by signal 11 (SIGSEGV, invalid memory access), core dumped")
    );
    assert_eq!(finish(&mut second, T0), 139);

    for (code, expected) in [(42, 42), (0, 0), (256, 0), (-1, 255)] {
        let mut third = job(1);
        init(&mut third, 0);
        say(&mut third, 0, &format!("cmd=abort exitcode={code}"));
        let text = format!("called MPI_Abort with code {code}; ending");
        assert!(error(&mut third).contains(&text));
        exit(&mut third, 0, 9, T0);
        assert_eq!(finish(&mut third, T0), expected);
    }

    for code in [0, 5] {
        let mut global = job(2);
        init(&mut global, 1);
        say(&mut global, 1, &format!("cmd=abort exitcode={code} message=global-exit"));
        exit(&mut global, 0, 143, T0);
        exit(&mut global, 1, code, T0);
        assert_eq!(finish(&mut global, T0), code);
    }

    let mut gives_up = job(2);
    init(&mut gives_up, 1);
    say(&mut gives_up, 1, "cmd=abort exitcode=16 message=rank 0 is gone");
    assert!(error(&mut gives_up).contains("on here) gives up: rank 0 is gone; ending the job"));
    for code in [0, 16] {
        let mut gives_up = job(1);
        init(&mut gives_up, 0);
        say(&mut gives_up, 0, &format!("cmd=abort exitcode={code} message=no memory"));
        exit(&mut gives_up, 0, 143, T0);
        assert_eq!(finish(&mut gives_up, T0), code.max(1));
    }

    let mut fourth = job(2);
    say(&mut fourth, 1, "hello");
    assert!(error(&mut fourth).contains("rank 1 (pid 101, prog, on here) sent a malformed PMI"));
}

#[test]
fn a_code_after_finalize_does_not_stop_the_others() {
    let mut job = job(2);
    for rank in 0..2 {
        init(&mut job, rank);
        say(&mut job, rank, "cmd=finalize");
    }
    exit(&mut job, 1, 5, T0);
    assert!(error(&mut job).ends_with("exited with code 5 after MPI_Finalize"));
    exit(&mut job, 0, 6, T0);
    assert_eq!(actions(&mut job), [Action::Survey]);
    assert_eq!(finish(&mut job, T0), 5);
}

#[test]
fn a_code_after_finalize_tells_of_ranks_that_may_wait_for_ever() {
    let mut job = job(3);
    for rank in 0..3 {
        init(&mut job, rank);
    }
    say(&mut job, 0, "cmd=finalize");
    exit(&mut job, 0, 1, T0);
    let told = error(&mut job);
    assert!(
        told.contains("with code 1 after MPI_Finalize; ranks that go on: 2 (hpvm jobs"),
        "{told}"
    );
}

#[test]
fn waiting_for_a_rank_that_is_gone() {
    let mut first = job(2);
    exit(&mut first, 1, 0, T0);
    init(&mut first, 0);
    let text = error(&mut first);
    assert!(
        text.contains("rank 0 (pid 100, prog, on here) has called MPI_Init, but rank 1"),
        "{text}"
    );

    let mut second = job(2);
    for rank in 0..2 {
        init(&mut second, rank);
    }
    say(&mut second, 0, "cmd=barrier_in");
    say(&mut second, 1, "cmd=finalize");
    exit(&mut second, 1, 0, T0);
    assert!(error(&mut second).contains("waits in a barrier, but rank 1"));
}

#[test]
fn the_user_ends_the_job() {
    let mut job = job(1);
    job.handle(Event::Signal(libc::SIGINT), T0);
    let all = actions(&mut job);
    assert!(matches!(&all[0], Action::Note(text) if text.contains("SIGINT")));
    let [parted, signal] = [Action::SignalParted, Action::Signal];
    assert_eq!(all[1..], [parted(libc::SIGINT), signal(libc::SIGINT), signal(libc::SIGCONT)]);
    assert_eq!(job.poll_timeout(), Some(GRACE_USER));
    job.handle(Event::Signal(libc::SIGINT), T0);
    assert_eq!(actions(&mut job), [parted(libc::SIGINT), signal(libc::SIGKILL)]);
    exit(&mut job, 0, 0, T0);
    actions(&mut job);
    assert_eq!(finish(&mut job, T0), 130);
}

#[test]
fn other_signals_pass_through() {
    let mut job = job(1);
    for number in [libc::SIGUSR1, libc::SIGUSR2, libc::SIGQUIT, libc::SIGCONT] {
        job.handle(Event::Signal(number), T0);
        assert_eq!(actions(&mut job), [Action::Signal(number)]);
    }
    job.handle(Event::Signal(libc::SIGTSTP), T0);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGSTOP), Action::StopSelf]);
}

#[test]
fn leftovers_get_time_then_signals_then_are_given_up() {
    let mut job = job(1);
    exit(&mut job, 0, 0, T0);
    assert_eq!(actions(&mut job), [Action::Survey]);
    let (mut now, mut sent) = (T0, Vec::new());
    for _ in 0..10_000 {
        job.handle(
            Event::Survey(Found { processes: true, outputs: true, ..Found::default() }),
            now,
        );
        for action in actions(&mut job) {
            match action {
                Action::SignalLeftovers(number) => sent.push((now, number)),
                Action::Done(code) => {
                    assert_eq!(code, 0);
                    assert_eq!(sent[0], (GRACE_LEFTOVERS, libc::SIGTERM));
                    assert_eq!(sent[1], (GRACE_LEFTOVERS * 2, libc::SIGKILL));
                    assert!(sent[2..].iter().all(|(_, number)| *number == libc::SIGKILL));
                    assert_eq!(now, GRACE_LEFTOVERS * 2 + GRACE_KILLED);
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
        now = job.poll_timeout().expect("a next survey");
        job.handle(Event::Tick, now);
        assert_eq!(actions(&mut job), [Action::Survey]);
    }
    panic!("never done");
}

/// What else is left of a killed job is killed meanwhile.
#[test]
fn jobs_that_have_parted_are_waited_for_also_by_a_killed_one() {
    let mut job = job(1);
    exit(&mut job, 0, 3, T0);
    actions(&mut job);
    let left =
        Found { processes: true, outputs: true, jobs: true, parted: true, ..Found::default() };
    let mut now = T0;
    for turn in 0..1000 {
        job.handle(Event::Survey(left), now);
        let told = (turn == 0).then_some(Action::Ended(3));
        let kill = Action::SignalLeftovers(libc::SIGKILL);
        assert_eq!(actions(&mut job), [kill].into_iter().chain(told).collect::<Vec<_>>());
        now = job.poll_timeout().expect("a next survey");
        job.handle(Event::Tick, now);
        assert_eq!(actions(&mut job), [Action::Survey]);
    }
    assert_eq!(finish(&mut job, now), 3);
}

/// The launcher becomes the parent of theirs, whose end it need not look for.
#[test]
fn the_end_of_the_last_spawned_job_is_seen_at_once() {
    let mut job = job(1);
    exit(&mut job, 0, 0, T0);
    assert_eq!(actions(&mut job), [Action::Survey]);
    job.handle(Event::Survey(Found { processes: true, jobs: true, ..Found::default() }), T0);
    assert_eq!((actions(&mut job), job.poll_timeout()), (vec![], Some(SURVEY_BLOCKED)));
    let ended = Duration::from_millis(1);
    job.handle(Event::ChildrenEnded, ended);
    assert_eq!(job.poll_timeout(), Some(ended));
    job.handle(Event::Tick, ended);
    assert_eq!(actions(&mut job), [Action::Survey]);
    assert_eq!(finish(&mut job, ended), 0);
}

/// Their launchers end them, and spare what has parted from those. One that does not is killed.
#[test]
fn launchers_of_spawned_jobs_get_time_when_the_job_is_killed() {
    let mut job = job(1);
    exit(&mut job, 0, 3, T0);
    actions(&mut job);
    let left = Found { processes: true, outputs: true, blocked: false, jobs: true, parted: false };
    let kill = Action::SignalLeftovers(libc::SIGKILL);
    let mut now = T0;
    while now < GRACE_JOBS {
        job.handle(Event::Survey(left), now);
        assert_eq!(actions(&mut job), std::slice::from_ref(&kill));
        now = job.poll_timeout().expect("a next survey");
        job.handle(Event::Tick, now);
        assert_eq!(actions(&mut job), [Action::Survey]);
    }
    job.handle(Event::Survey(left), now);
    assert_eq!(actions(&mut job), [Action::KillJobs, kill]);
    assert_eq!(finish(&mut job, now), 3);
}

#[test]
fn a_slow_reader_is_waited_for_until_the_user_gives_up() {
    let mut job = job(1);
    exit(&mut job, 0, 0, T0);
    actions(&mut job);
    let mut now = T0;
    for _ in 0..1000 {
        job.handle(Event::Survey(Found { outputs: true, blocked: true, ..Found::default() }), now);
        assert_eq!(actions(&mut job), []);
        now = job.poll_timeout().expect("a next survey");
        job.handle(Event::Tick, now);
        assert_eq!(actions(&mut job), [Action::Survey]);
    }
    assert!(!job.abandoned());
    job.handle(Event::Signal(libc::SIGINT), now);
    let ends = [
        Action::SignalParted(libc::SIGINT),
        Action::SignalLeftovers(libc::SIGKILL),
        Action::Survey,
    ];
    assert_eq!(actions(&mut job), ends);
    assert!(job.abandoned());
    job.handle(Event::Survey(Found { outputs: true, blocked: true, ..Found::default() }), now);
    assert_eq!(actions(&mut job), [Action::Done(130)]);
}

#[test]
fn starting_fails_in_the_middle() {
    let info = RankInfo { program: "prog".to_string(), appnum: 0, node: 0 };
    let mut job = Dispatcher::new("job", "here", vec![info; 3], None);
    job.handle(Event::Started { rank: 0, pid: 100 }, T0);
    job.handle(Event::NotStarted { rank: 1, text: "no".to_string(), code: 1 }, T0);
    assert_eq!(error(&mut job), "no");
    exit(&mut job, 0, 0, T0);
    actions(&mut job);
    assert_eq!(finish(&mut job, T0), 1);
}

#[test]
fn a_closed_reader_ends_the_job_silently() {
    let mut job = job(1);
    job.handle(Event::OutputBroken { errno: libc::EPIPE }, T0);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM), Action::Signal(libc::SIGCONT)]);
    exit(&mut job, 0, 0, T0);
    actions(&mut job);
    assert_eq!(finish(&mut job, T0), 141);
}

#[test]
fn a_time_limit() {
    let info = RankInfo { program: "prog".to_string(), appnum: 0, node: 0 };
    let limit = Duration::from_secs(5);
    let mut job = Dispatcher::new("job", "here", vec![info], Some(limit));
    job.handle(Event::Started { rank: 0, pid: 100 }, T0);
    assert_eq!(job.poll_timeout(), Some(limit));
    job.handle(Event::Tick, limit - Duration::from_millis(1));
    assert_eq!(actions(&mut job), []);
    job.handle(Event::Tick, limit);
    assert!(error(&mut job).contains("5 s of --timeout"));
    assert_eq!(job.poll_timeout(), Some(limit + GRACE_USER));
}

/// One made-up event by number.
fn event(job: &mut Dispatcher, ranks: u32, kind: u8, which: u32, now: Duration) {
    const LINES: [&str; 6] = [
        "cmd=init pmi_version=1 pmi_subversion=1",
        "cmd=barrier_in",
        "cmd=finalize",
        "cmd=put key=k value=v",
        "cmd=abort exitcode=3",
        "nonsense",
    ];
    const SIGNALS: [i32; 5] =
        [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGTSTP, libc::SIGCONT];
    let rank = which % ranks;
    match kind {
        0..=5 => say(job, rank, LINES[usize::from(kind)]),
        6 | 7 => exit(job, rank, i32::from(kind - 6), now),
        8 => {
            let ended = Ended::Signal { number: 11, core: false };
            job.handle(Event::Exited { rank, ended }, now);
        }
        9 => job.handle(Event::Signal(SIGNALS[which as usize % SIGNALS.len()]), now),
        10 => job.handle(Event::OutputBroken { errno: libc::EPIPE }, now),
        11 => job.handle(Event::PmiOverflow { rank }, now),
        _ => job.handle(Event::Tick, now),
    }
}

proptest! {
    /// In whatever order things happen: at most one error is shown before `Done`, `Done` comes
    /// once and last, not before all ranks have ended, always in bounded time after the first
    /// reason to end, and a killed job had its `SIGKILL`.
    #[test]
    fn any_order(
        ranks in 1u32..5,
        events in prop::collection::vec((0u8..14, any::<u32>(), 0u64..700), 0..60),
    ) {
        let mut job = job(ranks as usize);
        let (mut now, mut seen) = (T0, Vec::new());
        for (kind, which, pause) in events {
            now += Duration::from_millis(pause);
            event(&mut job, ranks, kind, which, now);
            seen.extend(actions(&mut job));
        }
        for rank in 0..ranks {
            exit(&mut job, rank, 0, now);
        }
        seen.extend(actions(&mut job));
        // From here on nothing is left, or something is left for ever.
        for _ in 0..1000 {
            if matches!(seen.last(), Some(Action::Done(_))) { break; }
            job.handle(Event::Survey(Found { processes: ranks == 3, ..Found::default() }), now);
            seen.extend(actions(&mut job));
            if let Some(next) = job.poll_timeout() {
                now = now.max(next);
                job.handle(Event::Tick, now);
                seen.extend(actions(&mut job));
            }
        }
        let done = seen.iter().filter(|action| matches!(action, Action::Done(_))).count();
        prop_assert_eq!(done, 1, "{:?}", seen);
        prop_assert!(matches!(seen.last(), Some(Action::Done(_))));
        prop_assert!(job.ranks().iter().all(|rank| rank.ended.is_some()));
        let fatal = seen.iter().filter(|action| {
            matches!(action, Action::Error(text) if text.ends_with("ending the job"))
        }).count();
        prop_assert!(fatal <= 1, "{:?}", seen);
        prop_assert_eq!(job.poll_timeout(), None);
    }
}
