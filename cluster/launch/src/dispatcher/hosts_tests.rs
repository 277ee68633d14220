//! Jobs of several hosts: the dispatcher fed with made-up frames.

use super::super::*;
use super::*;
use crate::dispatcher::leaving::Found;
use crate::remote::frame::Frame;

const T0: Duration = Duration::ZERO;
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// Host 0 is ours with ranks 0 and 1; ranks 2 and 3 are on host 1, ranks 4 and 5 on host 2, behind
/// connections of their own; ranks 6 and 7 on host 3, behind host 2.
fn job() -> Dispatcher {
    let info = |rank: u32| RankInfo { program: "prog".to_string(), appnum: 0, node: rank / 2 };
    let layout = Layout {
        hosts: ["here", "b", "c", "d"].map(str::to_string).to_vec(),
        groups: vec![vec![1], vec![2, 3]],
        mapping: "(vector,(0,4,2))".to_string(),
        patience: SILENCE_LIMIT,
    };
    let mut job = Dispatcher::new("job", "here", (0..8).map(info).collect(), None).spread(layout);
    for rank in 0..2 {
        job.handle(Event::Started { rank, pid: 100 + rank as i32 }, T0);
    }
    for rank in 2..8 {
        frame(&mut job, rank, Frame::Started { rank, pid: 100 + rank as i32 });
    }
    actions(&mut job);
    job
}

fn link_of(rank: u32) -> usize {
    usize::from(rank >= 4)
}

fn frame(job: &mut Dispatcher, rank: u32, frame: Frame) {
    job.handle(Event::Frame { link: link_of(rank), frame }, T0);
}

fn exit(job: &mut Dispatcher, rank: u32, ended: Ended, now: Duration) {
    match rank {
        0 | 1 => job.handle(Event::Exited { rank, ended }, now),
        _ => {
            let frame = Frame::Exited { rank, ended };
            job.handle(Event::Frame { link: link_of(rank), frame }, now);
        }
    }
}

fn actions(job: &mut Dispatcher) -> Vec<Action> {
    std::iter::from_fn(|| job.poll_action()).collect()
}

fn error(actions: &[Action]) -> String {
    let mut errors = actions.iter().filter_map(|action| match action {
        Action::Error(text) => Some(text.clone()),
        _ => None,
    });
    let first = errors.next().unwrap_or_else(|| panic!("no error in {actions:?}"));
    assert_eq!(errors.next(), None);
    first
}

fn down(frame: Frame) -> Action {
    Action::Down { link: None, frame }
}

fn finish(job: &mut Dispatcher) -> Option<i32> {
    job.handle(Event::Survey(Found::default()), T0);
    for link in 0..2 {
        job.handle(Event::Frame { link, frame: Frame::Left }, T0);
    }
    actions(job).into_iter().find_map(|action| match action {
        Action::Done(code) => Some(code),
        _ => None,
    })
}

#[test]
fn a_good_job_ends_when_all_hosts_have_left() {
    let mut job = job();
    for rank in 0..8 {
        exit(&mut job, rank, Ended::Code(0), T0);
    }
    assert_eq!(actions(&mut job), [down(Frame::Leave { kill: false }), Action::Survey]);
    job.handle(Event::Survey(Found::default()), T0);
    job.handle(Event::Frame { link: 0, frame: Frame::Left }, T0);
    assert_eq!(actions(&mut job), [Action::Cut(0)]);
    job.handle(Event::Frame { link: 1, frame: Frame::Left }, T0);
    assert_eq!(actions(&mut job), [Action::Cut(1), Action::Done(0)]);
}

#[test]
fn a_rank_that_fails_elsewhere_is_named_with_its_host() {
    let mut job = job();
    exit(&mut job, 6, Ended::Signal { number: 9, core: false }, T0);
    // At the same time one fails on another host; the first decides.
    exit(&mut job, 2, Ended::Code(3), T0);
    let all = actions(&mut job);
    let text = error(&all);
    assert!(text.starts_with("rank 6 (pid 106, prog, on d) was killed by signal 9"), "{text}");
    assert!(all.contains(&down(Frame::Signal(libc::SIGTERM))));
    job.handle(Event::Tick, GRACE_FAILURE);
    assert!(actions(&mut job).contains(&down(Frame::Signal(libc::SIGKILL))));
    for rank in [0, 1, 3, 4, 5, 7] {
        exit(&mut job, rank, Ended::Signal { number: 9, core: false }, GRACE_FAILURE);
    }
    assert!(actions(&mut job).contains(&down(Frame::Leave { kill: true })));
    assert_eq!(finish(&mut job), Some(137));
}

#[test]
fn a_host_that_cannot_be_reached_ends_the_job() {
    let mut job = job();
    let text = "cannot start anything on host 'b': ssh exited with code 255: no route".to_string();
    job.handle(Event::LinkLost { link: 0, text, code: 1 }, T0);
    let all = actions(&mut job);
    assert!(error(&all).contains("no route; ending the job"));
    assert!(all.contains(&Action::Cut(0)));
    // Its ranks are not waited for.
    for rank in [0, 1, 4, 5, 6, 7] {
        exit(&mut job, rank, Ended::Code(0), T0);
    }
    assert_eq!(finish(&mut job), Some(1));
}

#[test]
fn an_agent_that_dies_takes_the_hosts_behind_it_along() {
    let mut job = job();
    job.handle(Event::LinkLost { link: 1, text: "lost".to_string(), code: 1 }, T0);
    for rank in 0..4 {
        exit(&mut job, rank, Ended::Code(0), T0);
    }
    assert_eq!(finish(&mut job), Some(1));
}

#[test]
fn the_loss_of_a_host_further_down() {
    let mut job = job();
    let lost = Frame::Lost { nodes: vec![3], text: "host 'd' is gone".to_string(), code: 1 };
    frame(&mut job, 4, lost);
    assert!(error(&actions(&mut job)).contains("host 'd' is gone"));
    for rank in 0..6 {
        exit(&mut job, rank, Ended::Code(0), T0);
    }
    assert_eq!(finish(&mut job), Some(1));
    // It can only speak of hosts behind it.
    let mut job = self::job();
    let lost = Frame::Lost { nodes: vec![1], text: "x".to_string(), code: 1 };
    frame(&mut job, 4, lost);
    assert!(error(&actions(&mut job)).contains("host 'c' sent something that makes no sense"));
}

#[test]
fn a_silent_host_is_given_up() {
    let mut job = job();
    job.handle(Event::Heard { link: 0 }, SILENCE_LIMIT / 2);
    assert_eq!(job.poll_timeout(), Some(SILENCE_LIMIT / 4));
    job.handle(Event::Tick, SILENCE_LIMIT / 4);
    assert_eq!(actions(&mut job), [down(Frame::Alive)]);
    job.handle(Event::Tick, SILENCE_LIMIT);
    let text = error(&actions(&mut job));
    assert!(text.contains("no sign of life from host 'c' for 60 s"), "{text}");
}

#[test]
fn agents_that_do_not_confirm_the_end_are_cut() {
    let mut job = job();
    exit(&mut job, 0, Ended::Code(1), T0);
    exit(&mut job, 1, Ended::Code(1), T0);
    job.handle(Event::Tick, GRACE_FAILURE);
    actions(&mut job);
    job.handle(Event::Tick, GRACE_FAILURE + GRACE_CUT);
    let all = actions(&mut job);
    assert!(all.contains(&Action::Cut(0)) && all.contains(&Action::Cut(1)), "{all:?}");
    job.handle(Event::Survey(Found::default()), GRACE_CUT);
    assert!(actions(&mut job).contains(&Action::Done(1)));
}

#[test]
fn a_barrier_over_all_hosts() {
    let mut job = job();
    for rank in 0..2 {
        let init = b"cmd=init pmi_version=1 pmi_subversion=1";
        job.handle(Event::Pmi { rank, line: init }, T0);
        job.handle(Event::Pmi { rank, line: b"cmd=put key=k value=v" }, T0);
        job.handle(Event::Pmi { rank, line: b"cmd=barrier_in" }, T0);
    }
    frame(&mut job, 2, Frame::Arrived);
    frame(&mut job, 4, Frame::Puts(vec![("a".to_string(), "b".to_string())]));
    actions(&mut job);
    frame(&mut job, 4, Frame::Arrived);
    let all = actions(&mut job);
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert!(all.contains(&down(Frame::Puts(vec![pair("a", "b"), pair("k", "v")]))), "{all:?}");
    assert!(all.contains(&down(Frame::Open)));
    frame(&mut job, 2, Frame::Arrived);
    frame(&mut job, 2, Frame::Arrived);
    assert!(error(&actions(&mut job)).contains("two arrivals"));
}

#[test]
fn a_rank_that_waits_for_one_that_has_left() {
    let mut job = job();
    frame(&mut job, 2, Frame::State { rank: 2, state: ClientState::Initialised });
    exit(&mut job, 7, Ended::Code(0), T0);
    let text = error(&actions(&mut job));
    assert!(
        text.contains("rank 2 (pid 102, prog, on b) has called MPI_Init, but rank 7"),
        "{text}"
    );
}

#[test]
fn frames_about_others_ranks_are_nonsense() {
    for bad in [
        Frame::Exited { rank: 0, ended: Ended::Code(0) },
        Frame::Started { rank: 4, pid: 1 },
        Frame::Started { rank: 99, pid: 1 },
        Frame::Signal(9),
        Frame::Order(Vec::new()),
    ] {
        let mut job = job();
        frame(&mut job, 2, bad.clone());
        let text = error(&actions(&mut job));
        assert!(text.contains("host 'b' sent something that makes no sense"), "{bad:?}: {text}");
    }
}

#[test]
fn leaving_early_is_a_loss() {
    let mut job = job();
    frame(&mut job, 2, Frame::Left);
    assert!(error(&actions(&mut job)).contains("host 'b' went away before its ranks ended"));
}

#[test]
fn programs_that_are_missing_on_one_host() {
    let mut job = job();
    let text = "host 'b': program 'x' not found in PATH".to_string();
    frame(&mut job, 2, Frame::NotStarted { rank: 3, text: text.clone(), code: 127 });
    assert_eq!(error(&actions(&mut job)), text);
}

/// The line of a rank of host 1 that looks a name up, and what follows.
fn look_up(job: &mut Dispatcher) -> Vec<Action> {
    let line = b"cmd=lookup_name service=s".to_vec();
    frame(job, 2, Frame::Ask { rank: 2, line });
    actions(job)
}

#[test]
fn names_are_looked_for_on_all_hosts() {
    let mut job = job();
    let answer = |port: Option<&str>| {
        let text = Server::found(port);
        vec![Action::Down { link: Some(0), frame: Frame::Reply { rank: 2, text } }]
    };
    let find = |question| Action::Find { question, service: "s".to_string() };
    let port = || Some("p".to_string());

    // On ours; what comes of a question that has ended changes nothing.
    assert_eq!(look_up(&mut job), [find(0)]);
    job.handle(Event::Found { question: 0, port: port() }, T0);
    assert_eq!(actions(&mut job), answer(Some("p")));
    job.handle(Event::Found { question: 0, port: port() }, T0);

    // On the last one of the others, or on none.
    for (question, last) in [(1, port()), (2, None)] {
        assert_eq!(look_up(&mut job), [find(question)]);
        job.handle(Event::Found { question, port: None }, T0);
        let service = "s".to_string();
        let all = Action::Down { link: None, frame: Frame::Find { question, service } };
        assert_eq!(actions(&mut job), [all]);
        frame(&mut job, 2, Frame::Found { question, node: 1, port: None });
        frame(&mut job, 4, Frame::Found { question, node: 2, port: None });
        assert_eq!(actions(&mut job), []);
        frame(&mut job, 6, Frame::Found { question, node: 3, port: last.clone() });
        assert_eq!(actions(&mut job), answer(last.as_deref()));
    }

    // A host that is gone answers no more, and none answers for another.
    look_up(&mut job);
    job.handle(Event::Found { question: 3, port: None }, T0);
    frame(&mut job, 2, Frame::Found { question: 3, node: 1, port: None });
    actions(&mut job);
    frame(&mut job, 4, Frame::Found { question: 3, node: 1, port: port() });
    let after = actions(&mut job);
    assert!(error(&after).contains("an answer of host 1"), "{after:?}");
    assert!(after.contains(&answer(None)[0]), "{after:?}");
}

#[test]
fn with_recovery_all_hosts_hear_who_has_died() {
    let mut job = job();
    job.with_recovery(true);
    let ask = |job: &mut Dispatcher| {
        job.handle(Event::Pmi { rank: 0, line: b"cmd=get key=hpvm-lost-ranks" }, T0);
        match actions(job).pop() {
            Some(Action::Reply { rank: 0, text }) => {
                text.split_once("value=").expect("a value").1.trim().to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    for rank in 0..2 {
        job.handle(Event::Pmi { rank, line: b"cmd=init pmi_version=1 pmi_subversion=1" }, T0);
    }
    for rank in 2..7 {
        frame(&mut job, rank, Frame::State { rank, state: ClientState::Initialised });
    }
    assert_eq!(ask(&mut job), "none");
    let killed = Ended::Signal { number: libc::SIGKILL, core: false };
    let tells =
        |lost: &str| down(Frame::Puts(vec![("hpvm-lost-ranks".to_string(), lost.to_string())]));
    for (rank, lost) in [(2, "2"), (1, "2,1")] {
        exit(&mut job, rank, killed, T0);
        let done = actions(&mut job);
        assert!(error(&done).contains("SIGKILL") && done.contains(&tells(lost)), "{done:?}");
        assert_eq!(ask(&mut job), lost);
    }
    // Who leaves in order, or has never called MPI_Init, is missed by nobody in MPI; without recovery nobody asks.
    frame(&mut job, 3, Frame::State { rank: 3, state: ClientState::Finalised });
    exit(&mut job, 3, Ended::Code(0), T0);
    assert_eq!(ask(&mut job), "2,1");
}

#[test]
fn a_name_is_published_when_all_hosts_hold_it() {
    let text = |text: &str| text.to_string();
    let held = |question, node, held| Frame::Held { question, node, held };
    let reply = |word: &str| {
        let text = format!("cmd=publish_result {word}\n");
        Action::Down { link: Some(0), frame: Frame::Reply { rank: 2, text } }
    };
    let publish = |job: &mut Dispatcher, question| {
        let line = b"cmd=publish_name service=s port=p".to_vec();
        frame(job, 2, Frame::Ask { rank: 2, line });
        let (service, port) = (text("s"), text("p"));
        let here = Action::Hold { rank: 2, service: service.clone(), port: port.clone() };
        assert_eq!(actions(job), [here]);
        job.handle(Event::Held { rank: 2, service: text("s"), port: text("p"), held: true }, T0);
        let below = Frame::Hold { question, service, port };
        assert_eq!(actions(job), [Action::Down { link: None, frame: below }]);
    };

    // Another job has it on the last host that answers.
    let mut job = job();
    publish(&mut job, 0);
    frame(&mut job, 2, held(0, 1, true));
    frame(&mut job, 4, held(0, 2, true));
    assert_eq!(actions(&mut job), []);
    frame(&mut job, 6, held(0, 3, false));
    let release = Frame::Release(vec![text("s")]);
    let expected = [
        Action::Down { link: None, frame: release },
        Action::Release(vec![text("s")]),
        reply("rc=-1 msg=duplicate_service"),
    ];
    assert_eq!(actions(&mut job), expected);

    // Now nobody has; an answer to what is over changes nothing.
    publish(&mut job, 1);
    frame(&mut job, 6, held(0, 3, false));
    frame(&mut job, 2, held(1, 1, true));
    frame(&mut job, 4, held(1, 2, true));
    assert_eq!(actions(&mut job), []);
    frame(&mut job, 6, held(1, 3, true));
    assert_eq!(actions(&mut job), [reply("info=ok rc=0 msg=success")]);

    // Its end is answered when all hosts have been told and have looked since.
    let line = b"cmd=unpublish_name service=s".to_vec();
    frame(&mut job, 2, Frame::Ask { rank: 2, line });
    let (service, names) = (text("s"), vec![text("s")]);
    let expected = [
        Action::Down { link: None, frame: Frame::Release(names.clone()) },
        Action::Release(names),
        Action::Down { link: None, frame: Frame::Find { question: 2, service } },
    ];
    assert_eq!(actions(&mut job), expected);
    let found = |node, port: Option<&str>| Frame::Found { question: 2, node, port: port.map(text) };
    frame(&mut job, 2, found(1, None));
    // Of another job, which had it there all the time.
    frame(&mut job, 4, found(2, Some("other")));
    assert_eq!(actions(&mut job), []);
    frame(&mut job, 6, found(3, None));
    let done =
        Frame::Reply { rank: 2, text: text("cmd=unpublish_result info=ok rc=0 msg=success\n") };
    assert_eq!(actions(&mut job), [Action::Down { link: Some(0), frame: done }]);
}
