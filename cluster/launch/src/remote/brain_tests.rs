//! An agent's decisions, fed with made-up events.

use super::*;
use crate::dispatcher::leaving::Found;
use crate::pmi::server::ClientState;
use crate::remote::order::tests::order;

const T0: Duration = Duration::ZERO;

/// The agent of host 0 of the sample order: ranks 0 and 1 here, hosts 1 and 2, 3 below in two
/// connections (width 2).
fn brain() -> Brain {
    let mut brain = Brain::new(&order());
    for rank in 0..2 {
        brain.handle(Event::Started { rank, pid: 100 + rank as i32 }, T0);
        brain.handle(Event::Pmi { rank, line: b"cmd=init pmi_version=1 pmi_subversion=1" }, T0);
    }
    actions(&mut brain);
    brain
}

fn actions(brain: &mut Brain) -> Vec<Action> {
    std::iter::from_fn(|| brain.poll_action()).collect()
}

fn ups(brain: &mut Brain) -> Vec<Frame> {
    let frame = |action| match action {
        Action::Up(frame) => Some(frame),
        _ => None,
    };
    actions(brain).into_iter().filter_map(frame).collect()
}

fn below(brain: &mut Brain, link: usize, frame: Frame) {
    brain.handle(Event::Frame { link, frame }, T0);
}

fn say(brain: &mut Brain, rank: u32, line: &str) {
    brain.handle(Event::Pmi { rank, line: line.as_bytes() }, T0);
}

#[test]
fn hosts_are_handed_down() {
    let brain = brain();
    let orders = brain.orders(&order());
    let hosts: Vec<Vec<u32>> =
        orders.iter().map(|order| order.nodes.iter().map(|node| node.number).collect()).collect();
    assert_eq!(hosts, [vec![1], vec![2, 3]]);
    assert_eq!(orders[0].key, order().key);
}

#[test]
fn a_barrier_goes_up_once_and_comes_down() {
    let mut brain = brain();
    say(&mut brain, 1, "cmd=put kvsname=kvs_job key=a value=1");
    say(&mut brain, 1, "cmd=barrier_in");
    assert_eq!(ups(&mut brain), [Frame::Waits { rank: 1 }]);
    below(&mut brain, 1, Frame::Waits { rank: 5 });
    below(&mut brain, 1, Frame::Puts(vec![("b".to_string(), "2".to_string())]));
    below(&mut brain, 1, Frame::Arrived);
    below(&mut brain, 0, Frame::Arrived);
    assert_eq!(ups(&mut brain), []);
    say(&mut brain, 0, "cmd=barrier_in");
    let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
    let pairs = vec![pair("a", "1"), pair("b", "2")];
    assert_eq!(ups(&mut brain), [Frame::Puts(pairs.clone()), Frame::Arrived]);
    brain.instruct(Frame::Puts(pairs), T0);
    brain.instruct(Frame::Open, T0);
    let replies = actions(&mut brain);
    let opened = |rank| Action::Reply { rank, text: "cmd=barrier_out rc=0\n".to_string() };
    assert!(replies.contains(&opened(0)) && replies.contains(&opened(1)), "{replies:?}");
    assert!(replies.contains(&Action::Down { link: None, frame: Frame::Open }));
    // The next one may begin.
    below(&mut brain, 1, Frame::Arrived);
    assert_eq!(ups(&mut brain), []);
}

#[test]
fn the_key_is_told_to_ranks() {
    let mut brain = brain();
    say(&mut brain, 0, "cmd=get kvsname=kvs_job key=hpvm-job-key");
    let all = actions(&mut brain);
    assert!(format!("{all:?}").contains("value=00ff"), "{all:?}");
}

#[test]
fn what_ranks_do_is_told() {
    let mut brain = brain();
    say(&mut brain, 0, "cmd=finalize");
    let state = Frame::State { rank: 0, state: ClientState::Finalised };
    assert_eq!(ups(&mut brain), [state]);
    brain.handle(Event::Exited { rank: 0, ended: Ended::Code(3) }, T0);
    brain.handle(Event::Exited { rank: 0, ended: Ended::Code(3) }, T0);
    assert_eq!(ups(&mut brain), [Frame::Exited { rank: 0, ended: Ended::Code(3) }]);
    say(&mut brain, 1, "cmd=lookup_name service=s");
    let line = b"cmd=lookup_name service=s".to_vec();
    assert_eq!(ups(&mut brain), [Frame::Ask { rank: 1, line }]);
    brain.instruct(Frame::Reply { rank: 1, text: "x\n".to_string() }, T0);
    assert_eq!(actions(&mut brain), [Action::Reply { rank: 1, text: "x\n".to_string() }]);
    let reply = Frame::Reply { rank: 6, text: "y\n".to_string() };
    brain.instruct(reply.clone(), T0);
    assert_eq!(actions(&mut brain), [Action::Down { link: Some(1), frame: reply }]);
}

#[test]
fn signals_and_input_find_their_way() {
    let mut brain = brain();
    brain.instruct(Frame::Signal(15), T0);
    let down = Action::Down { link: None, frame: Frame::Signal(15) };
    assert_eq!(actions(&mut brain), [Action::Signal(15), down]);
    brain.instruct(Frame::Stdin(b"x".to_vec()), T0);
    assert_eq!(actions(&mut brain), [Action::Stdin(b"x".to_vec())]);
}

#[test]
fn the_end_waits_for_all_below() {
    let mut brain = brain();
    for rank in 0..2 {
        brain.handle(Event::Exited { rank, ended: Ended::Code(0) }, T0);
    }
    actions(&mut brain);
    brain.instruct(Frame::Leave { kill: false }, T0);
    let down = Action::Down { link: None, frame: Frame::Leave { kill: false } };
    assert_eq!(actions(&mut brain), [down, Action::Survey]);
    let nothing = Event::Survey(Found::default());
    brain.handle(nothing, T0);
    below(&mut brain, 0, Frame::Left);
    assert_eq!(actions(&mut brain), [Action::Cut(0)]);
    below(&mut brain, 1, Frame::Left);
    assert_eq!(actions(&mut brain), [Action::Cut(1), Action::Up(Frame::Left), Action::Finish]);
}

#[test]
fn a_lost_agent_is_told_with_all_hosts_behind_it() {
    let mut brain = brain();
    brain.handle(Event::LinkLost { link: 1, text: "gone".to_string(), code: 1 }, T0);
    let lost = Frame::Lost { nodes: vec![2, 3], text: "gone".to_string(), code: 1 };
    assert_eq!(actions(&mut brain), [Action::Cut(1), Action::Up(lost)]);
    below(&mut brain, 1, Frame::Alive);
    assert_eq!(actions(&mut brain), []);
}

#[test]
fn nonsense_report_is_a_lost_agent() {
    let text = || "x".to_string();
    for frame in [
        Frame::Exited { rank: 0, ended: Ended::Code(0) },
        Frame::Output { rank: 7, side: 0, bytes: Vec::new() },
        Frame::Lost { nodes: vec![0], text: text(), code: 0 },
        Frame::Lost { nodes: vec![3], text: text(), code: 0 },
        Frame::Signal(9),
        Frame::Order(Vec::new()),
    ] {
        let mut brain = brain();
        below(&mut brain, 0, frame.clone());
        let [Action::Cut(0), Action::Up(Frame::Lost { nodes, text, .. })] =
            &actions(&mut brain)[..]
        else {
            panic!("{frame:?}");
        };
        assert_eq!(*nodes, [1]);
        assert!(text.contains("host 'n1' sent something that makes no sense"), "{text}");
    }
    let mut brain = brain();
    below(&mut brain, 0, Frame::Arrived);
    below(&mut brain, 0, Frame::Arrived);
    assert!(matches!(&ups(&mut brain)[..], [Frame::Lost { .. }]));
}

#[test]
fn silence() {
    let patience = order().shell.patience;
    let mut brain = brain();
    assert_eq!(brain.poll_timeout(), Some(patience / 4));
    brain.handle(Event::Tick, patience / 4);
    assert!(ups(&mut brain).contains(&Frame::Alive));
    brain.handle(Event::Heard { link: 1 }, patience / 2);
    brain.handle(Event::Tick, patience * 3 / 4);
    assert_eq!(ups(&mut brain), [Frame::Alive]);
    brain.heard_above(patience);
    brain.handle(Event::Tick, patience);
    let frames = ups(&mut brain);
    assert!(
        matches!(&frames[..], [Frame::Alive, Frame::Lost { nodes, text, .. }]
            if *nodes == [1] && text.contains("no sign of life from host 'n1' for 60 s")),
        "{frames:?}"
    );
    // Stopped for as long as you like: what came meanwhile is unread.
    let stopped = patience * 100;
    brain.handle(Event::Tick, stopped);
    assert!(!actions(&mut brain).iter().any(|action| matches!(action, Action::Die(_))));
    for quarter in 1..4 * ORPHAN_FACTOR {
        brain.handle(Event::Tick, stopped + patience / 4 * quarter);
    }
    assert!(!actions(&mut brain).iter().any(|action| matches!(action, Action::Die(_))));
    brain.handle(Event::Tick, stopped + patience * ORPHAN_FACTOR);
    let all = actions(&mut brain);
    assert!(all.iter().any(|action| matches!(action, Action::Die(_))), "{all:?}");
}

#[test]
fn orders_report_or_reports_instruct_are_refused() {
    let mut brain = brain();
    brain.instruct(Frame::Arrived, T0);
    assert!(matches!(&actions(&mut brain)[..], [Action::Die(_)]));
}
