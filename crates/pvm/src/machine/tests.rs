//! The machine with made-up processes.

use super::*;
use crate::protocol::Start;

/// Starts everything but `nosuch`.
#[derive(Default)]
struct Made {
    pids: i32,
    signals: Vec<(i32, i32)>,
    logged: Vec<u8>,
}

impl System for Made {
    fn start(&mut self, _: Tid, start: &Start) -> Result<i32, Code> {
        if start.program == "nosuch" {
            return Err(Code::NoFile);
        }
        self.pids += 1;
        Ok(1000 + self.pids)
    }
    fn signal(&mut self, pid: i32, signal: i32) -> bool {
        self.signals.push((pid, signal));
        true
    }
    fn time(&mut self) -> (i64, i32) {
        (1, 2)
    }
    fn log(&mut self, _: Tid, text: &[u8]) {
        self.logged.extend_from_slice(text);
    }
}

struct Fixture {
    machine: Machine,
    system: Made,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { machine: Machine::new("here".into(), 42, vec![1]), system: Made::default() }
    }

    fn ask(&mut self, client: ClientId, request: Request) -> Vec<(ClientId, Answer)> {
        self.machine.request(client, 100 + client as i32, request, &mut self.system);
        self.machine.outgoing()
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
    f.machine.gone(2);
    let told = f.machine.outgoing();
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
    f.machine.process_gone(tid, 7);
    assert_eq!(f.code(1, Request::TaskStatus { tid }), 0, "another process");
    f.machine.process_gone(tid, 1001);
    assert_eq!(f.code(1, Request::TaskStatus { tid }), Code::NoTask.number());
    f.machine.gone(1);
    assert!(!f.machine.is_idle(), "its output is open");
    f.machine.output(tid, b"late", &mut f.system);
    f.machine.output_ended(tid, &mut f.system);
    assert!(f.machine.is_idle());
    assert_eq!(f.system.logged, b"late");
}

#[test]
fn signals_reach_tasks_and_nobody_else() {
    let mut f = Fixture::new();
    let tid = f.enroll(1, 0).tid;
    assert_eq!(f.code(1, Request::Signal { tid, signal: 10 }), 0);
    assert_eq!(f.code(1, Request::Signal { tid: tid + 1, signal: 10 }), Code::NoTask.number());
    assert_eq!(f.code(1, Request::Signal { tid, signal: 99 }), Code::BadParam.number());
    assert_eq!(f.system.signals, [(101, 10)]);
    assert!(
        !f.machine.request(9, 1, Request::Halt {}, &mut f.system),
        "who has not enrolled is sent away"
    );
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
    assert_eq!(f.system.signals, [(102, TERMINATE)]);
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
