//! The machine with made-up processes.

use super::*;
use crate::protocol::{Report, Start};

struct Fixture {
    machine: Machine,
    pids: i32,
    signals: Vec<(i32, i32)>,
    logged: Vec<u8>,
    /// Other effects.
    others: Vec<Effect>,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture {
            machine: Machine::new("here".into(), 42, vec![1]),
            pids: 0,
            signals: Vec::new(),
            logged: Vec::new(),
            others: Vec::new(),
        }
    }

    fn ask(&mut self, client: ClientId, request: Request) -> Vec<(ClientId, Answer)> {
        self.ask_on(tid::FIRST_HOST, client, request)
    }

    fn ask_on(&mut self, host: Tid, client: ClientId, request: Request) -> Vec<(ClientId, Answer)> {
        let (client, pid) = (client as i64, 100 + client as i32);
        self.machine.report(host, Report::Request { client, pid, request });
        self.settle()
    }

    fn report(&mut self, report: Report) -> Vec<(ClientId, Answer)> {
        self.machine.report(tid::FIRST_HOST, report);
        self.settle()
    }

    /// Does what the machine orders: everything is started but `nosuch`, and nothing on the host of `later`.
    fn settle(&mut self) -> Vec<(ClientId, Answer)> {
        let mut answers = Vec::new();
        loop {
            let effects = self.machine.outgoing();
            if effects.is_empty() {
                return answers;
            }
            for effect in effects {
                match effect {
                    Effect::Order(_, Order::Answer { client, answer }) => {
                        answers.push((client as ClientId, answer));
                    }
                    Effect::Order(host, Order::Start { tid, start })
                        if start.program != "later" =>
                    {
                        let code = match &start.program[..] {
                            "nosuch" => Code::NoFile.number(),
                            _ => 0,
                        };
                        self.pids += i32::from(code == 0);
                        let pid = 1000 + self.pids;
                        self.machine.report(host, Report::Started { tid, pid, code });
                    }
                    Effect::Order(_, Order::Signal { pid, signal }) => {
                        self.signals.push((pid, signal));
                    }
                    Effect::Order(_, Order::Log { text, .. }) => self.logged.extend(text.0),
                    other => self.others.push(other),
                }
            }
        }
    }

    fn code(&mut self, client: ClientId, request: Request) -> i32 {
        match &self.ask(client, request)[..] {
            [(to, Answer::Code { code })] if *to == client => *code,
            other => panic!("{other:?}"),
        }
    }

    fn enroll(&mut self, client: ClientId, claim: Tid) -> Identity {
        let hello = Hello { version: VERSION, claim, nonce: 42, ..Hello::default() };
        match &self.ask(client, Request::Enroll { hello })[..] {
            [(_, Answer::Enrolled { identity })] => identity.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn spawn(&mut self, client: ClientId, program: &str, count: i32) -> Vec<Tid> {
        let start = Start { program: program.into(), count, ..Start::default() };
        match self.ask(client, Request::Spawn { start }).pop() {
            Some((_, Answer::Tids { tids })) => tids,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn spawned_tasks_know_their_parent_and_siblings() {
    let mut f = Fixture::new();
    let root = f.enroll(1, 0);
    assert_eq!(root.parent, Code::NoParent.number());
    let tids = f.spawn(1, "slave", 2);
    let child = f.enroll(2, tids[1]);
    assert_eq!((child.tid, child.parent, &child.siblings), (tids[1], root.tid, &tids));
    let stranger = f.enroll(3, tids[1]);
    assert_ne!(stranger.tid, tids[1], "a tid is claimed once");
    assert_eq!(f.spawn(1, "nosuch", 3), [Code::NoFile.number(); 3]);
}

#[test]
fn who_watches_a_task_is_told_of_its_end_once() {
    let mut f = Fixture::new();
    let watcher = f.enroll(1, 0).tid;
    let tid = f.enroll(2, 0).tid;
    let notify =
        |tids| Request::Notify { what: notify::TASK_EXIT, tag: 9, context: 0, count: 1, tids };
    assert_eq!(f.code(1, notify(vec![tid])), 0);
    let told = f.report(Report::Gone { client: 2 });
    let expected = Watch { watcher, tag: 9, context: 0 }.mail(tid::FIRST_HOST, &[tid]);
    assert_eq!(told, [(1, Answer::Event { mail: expected.clone() })]);
    let again = f.ask(1, notify(vec![tid]));
    assert_eq!(again[0], (1, Answer::Event { mail: expected }), "who is gone is gone at once");
    assert_eq!(f.code(1, notify(vec![7])), Code::BadParam.number());
}

#[test]
fn a_started_process_that_ends_before_it_enrolls_is_a_task_that_ends() {
    let mut f = Fixture::new();
    f.enroll(1, 0);
    let tid = f.spawn(1, "slave", 1)[0];
    f.report(Report::Ended { tid, pid: 7 });
    assert_eq!(f.code(1, Request::TaskStatus { tid }), 0, "another process");
    f.report(Report::Ended { tid, pid: 1001 });
    assert_eq!(f.code(1, Request::TaskStatus { tid }), Code::NoTask.number());
    f.report(Report::Gone { client: 1 });
    assert!(!f.machine.is_idle(), "its output is open");
    f.report(Report::Output { tid, text: Bytes(b"late".to_vec()) });
    f.report(Report::OutputEnded { tid });
    assert!(f.machine.is_idle());
    assert_eq!(f.logged, b"late");
}

#[test]
fn signals_reach_tasks_and_nobody_else() {
    let mut f = Fixture::new();
    let tid = f.enroll(1, 0).tid;
    assert_eq!(f.code(1, Request::Signal { tid, signal: 10 }), 0);
    assert_eq!(f.code(1, Request::Signal { tid: tid + 1, signal: 10 }), Code::NoTask.number());
    assert_eq!(f.code(1, Request::Signal { tid, signal: 99 }), Code::BadParam.number());
    assert_eq!(f.signals, [(101, 10)]);
    assert!(f.ask(9, Request::Halt {}).is_empty());
    let away = Effect::Order(tid::FIRST_HOST, Order::Close { client: 9 });
    assert_eq!(f.others, [away], "who has not enrolled is sent away");
    assert!(!f.machine.is_halting());
}

#[test]
fn reset_spares_its_caller_and_those_that_want_it() {
    let mut f = Fixture::new();
    f.enroll(1, 0);
    f.enroll(2, 0);
    f.enroll(3, 0);
    assert_eq!(f.code(3, Request::NoReset { on: true }), 0);
    assert_eq!(f.code(1, Request::Reset { keep: 0 }), 0);
    assert_eq!(f.signals, [(102, TERMINATE)]);
}

#[test]
fn contexts_are_new_until_they_are_given_back() {
    let mut f = Fixture::new();
    f.enroll(1, 0);
    assert_eq!(f.code(1, Request::NewContext {}), 1);
    assert_eq!(f.code(1, Request::NewContext {}), 2);
    assert_eq!(f.code(1, Request::FreeContext { context: 1 }), 0);
    assert_eq!(f.code(1, Request::FreeContext { context: 1 }), Code::NotFound.number());
}

const SECOND: Tid = 2 << tid::LOCAL_BITS;

/// A machine of two hosts with a task on each: clients 1 of both.
fn two_hosts() -> (Fixture, Tid, Tid) {
    let mut f = Fixture::new();
    let first = f.enroll(1, 0).tid;
    let names = vec!["there".to_owned(), "here".to_owned(), "-oX".to_owned()];
    assert!(f.ask(1, Request::AddHosts { names }).is_empty(), "it is being added");
    assert_eq!(f.others, [Effect::Add(SECOND, "there".into())]);
    assert!(f.machine.hosts().eq([tid::FIRST_HOST]));
    f.machine.report(SECOND, Report::Ready { version: VERSION });
    let tids = vec![SECOND, Code::DupHost.number(), Code::BadParam.number()];
    assert_eq!(f.settle(), [(1, Answer::Tids { tids })]);
    let hello = Hello { version: VERSION, ..Hello::default() };
    let enrolled = f.ask_on(SECOND, 1, Request::Enroll { hello });
    let [(1, Answer::Enrolled { identity })] = &enrolled[..] else { panic!("{enrolled:?}") };
    assert_eq!(tid::host_of(identity.tid), SECOND);
    (f, first, identity.tid)
}

#[test]
fn options_of_a_hostfile_hold_for_its_hosts_and_those_that_are_added_later() {
    let mut f = Fixture::new();
    f.enroll(1, 0);
    let lines = ["here wd=/w sp=3", "known lo=u ip=way ep=/e", "* wd=/all"].map(str::to_owned);
    assert_eq!(f.code(1, Request::HostOptions { lines: lines.to_vec() }), 0);
    let names = ["known", "new wd=/own", "other", "bad xx=1", "bad lo=-o"].map(str::to_owned);
    assert!(f.ask(1, Request::AddHosts { names: names.to_vec() }).is_empty());
    let added = |number: i32, word: &str| Effect::Add(number << tid::LOCAL_BITS, word.into());
    assert_eq!(f.others, [added(2, "u@way"), added(3, "new"), added(4, "other")]);
    for host in 2..=4 {
        f.machine.report(host << tid::LOCAL_BITS, Report::Ready { version: VERSION });
    }
    let wrong = Code::BadParam.number();
    let tids = [2, 3, 4].map(|host| host << tid::LOCAL_BITS).into_iter().chain([wrong; 2]);
    assert_eq!(f.settle(), [(1, Answer::Tids { tids: tids.collect() })]);
    f.others.clear();
    let start = Start { program: "later".into(), count: 4, ..Start::default() };
    assert!(f.ask(1, Request::Spawn { start }).is_empty());
    let places = f.others.iter().map(|effect| match effect {
        Effect::Order(host, Order::Start { start, .. }) => {
            (host >> tid::LOCAL_BITS, &start.working[..], start.host_folders.join(":"))
        }
        other => panic!("{other:?}"),
    });
    let mut places = places.collect::<Vec<_>>();
    places.sort();
    let none = String::new;
    assert_eq!(
        places,
        [(1, "/w", none()), (2, "", "/e".into()), (3, "/own", none()), (4, "/all", none())]
    );
    let answers = f.ask(1, Request::Config {});
    let [(1, Answer::Hosts { hosts })] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(hosts.iter().map(|host| host.speed).collect::<Vec<_>>(), [3, 1000, 1000, 1000]);
}

#[test]
fn a_message_to_another_host_says_who_has_sent_it() {
    let (mut f, first, second) = two_hosts();
    let mail = Mail { source: 7, tag: 3, ..Mail::default() };
    let got = f.ask(1, Request::Send { to: second, mail: mail.clone() });
    let mail = Mail { source: first, ..mail };
    assert_eq!(got, [(1, Answer::Event { mail: mail.clone() })]);
    assert!(f.ask(1, Request::Send { to: second + 1, mail: mail.clone() }).is_empty());
    // A task that has not said anything yet gets it when it does.
    let start = Start {
        program: "slave".into(),
        count: 1,
        flags: 1,
        place: "there".into(),
        ..Start::default()
    };
    let spawned = f.ask(1, Request::Spawn { start });
    let [(1, Answer::Tids { tids })] = &spawned[..] else { panic!("{spawned:?}") };
    let claim = tids[0];
    assert_eq!(tid::host_of(claim), SECOND);
    assert!(f.ask(1, Request::Send { to: claim, mail: mail.clone() }).is_empty());
    let hello = Hello { version: VERSION, claim, nonce: 42, ..Hello::default() };
    let elsewhere = f.ask(5, Request::Enroll { hello: hello.clone() });
    assert!(
        !matches!(&elsewhere[0].1, Answer::Enrolled { identity } if identity.tid == claim),
        "nobody on another host is this task"
    );
    let got = f.ask_on(SECOND, 2, Request::Enroll { hello });
    assert!(matches!(&got[0].1, Answer::Enrolled { identity } if identity.tid == claim));
    assert_eq!(got[1], (2, Answer::Event { mail }));
}

#[test]
fn a_host_that_is_gone_takes_its_tasks_with_it_and_nobody_waits_for_it() {
    let (mut f, watcher, second) = two_hosts();
    let watch = |what, tids| Request::Notify { what, tag: 5, context: 0, count: 1, tids };
    assert_eq!(f.code(1, watch(notify::HOST_DELETE, vec![SECOND])), 0);
    assert_eq!(f.code(1, watch(notify::TASK_EXIT, vec![second])), 0);
    assert!(f.ask(1, Request::Clock { host: SECOND }).is_empty());
    f.enroll(2, 0);
    let start = Start { program: "later".into(), count: 2, ..Start::default() };
    assert!(f.ask(2, Request::Spawn { start }).is_empty());
    let here = f.machine.tasks.iter().find(|(_, task)| task.pid == 0).map(|(tid, _)| *tid);
    let tid = here.filter(|tid| tid::host_of(*tid) == tid::FIRST_HOST).expect("one is here");
    assert!(f.report(Report::Started { tid, pid: 9, code: 0 }).is_empty());
    f.machine.host_gone(SECOND);
    let told = f.settle();
    for tid in [second, SECOND] {
        let mail = Watch { watcher, tag: 5, context: 0 }.mail(tid::FIRST_HOST, &[tid]);
        assert!(told.contains(&(1, Answer::Event { mail })), "{told:?}");
    }
    let code = Code::HostFail.number();
    assert!(told.contains(&(1, Answer::Code { code })), "{told:?}");
    let tids = told.iter().find_map(|(client, answer)| match answer {
        Answer::Tids { tids } if *client == 2 => Some(tids.clone()),
        _ => None,
    });
    let mut tids = tids.expect("an answer");
    tids.sort_unstable();
    assert_eq!(tids, [code, tid]);
    assert_eq!(f.code(1, Request::TaskStatus { tid: second }), Code::NoTask.number());
    assert_eq!(f.code(1, Request::HostStatus { name: "there".into() }), Code::NoHost.number());
}

#[test]
fn who_waits_for_hosts_is_told_of_each_that_comes_and_a_failure_is_an_answer() {
    let mut f = Fixture::new();
    let watcher = f.enroll(1, 0).tid;
    let notify =
        Request::Notify { what: notify::HOST_ADD, tag: 6, context: 0, count: 1, tids: vec![] };
    assert_eq!(f.code(1, notify), 0);
    f.enroll(2, 0);
    let names = vec!["a".to_owned(), "b".to_owned()];
    assert!(f.ask(2, Request::AddHosts { names }).is_empty());
    f.machine.host_gone(3 << tid::LOCAL_BITS);
    assert!(f.settle().is_empty(), "one is still awaited");
    f.machine.report(SECOND, Report::Ready { version: VERSION });
    let mail = Watch { watcher, tag: 6, context: 0 }.mail(tid::FIRST_HOST, &[1, SECOND]);
    let tids = vec![SECOND, Code::CantStart.number()];
    assert_eq!(f.settle(), [(1, Answer::Event { mail }), (2, Answer::Tids { tids })]);
    let names = vec!["a".to_owned()];
    let deleted = f.ask(2, Request::DeleteHosts { names });
    assert_eq!(deleted, [(2, Answer::Tids { tids: vec![0] })]);
    assert_eq!(f.others.last(), Some(&Effect::Remove(SECOND)));
}
