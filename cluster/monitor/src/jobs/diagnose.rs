//! What can be said about a job that does not go on. Nothing is guessed: a finding is stated only
//! where the operations that the ranks show leave no other way.

use hpvm_launch::text::printable;
use hpvm_wire::pending::{ANY, COMPARE_TAG, Kind, Record};

/// What a rank does, as far as others can see.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It has not called MPI_Init.
    Starting,
    Running,
    Sleeping {
        seconds: f64,
        records: Vec<Record>,
        /// Operations that are not among the records.
        more: u32,
        /// Other threads of the rank may call MPI meanwhile.
        threads: bool,
    },
    Finalized,
    /// Its process is there no more.
    Gone,
}

/// A communicator has four context ids; the lowest is its own.
const CONTEXTS: u32 = 4;

fn comm(record: &Record) -> u32 {
    record.context / CONTEXTS
}

/// "rank 1", with the number in the job where that is another.
pub fn peer(record: &Record) -> String {
    match (record.peer, record.process) {
        (ANY, _) => "any rank".into(),
        (peer, process) if peer == process => format!("rank {peer}"),
        (-1, process) => format!("rank {process} of the job"),
        (peer, process) => format!("rank {peer} (rank {process} of the job)"),
    }
}

fn tag(record: &Record) -> String {
    match record.tag {
        ANY => "any tag".into(),
        tag => format!("tag {tag}"),
    }
}

pub fn place(record: &Record) -> String {
    match record.comm.as_str() {
        "" => format!("a communicator without a name (context {})", record.context),
        name => printable(name),
    }
}

/// The operation in words.
pub fn describe(r: &Record) -> String {
    let (who, tag, place) = (peer(r), tag(r), place(r));
    if r.tag == COMPARE_TAG && r.context % CONTEXTS == CONTEXTS - 1 {
        return format!("HPVM_CHECK compares a collective on {place} with {who}");
    }
    match r.kind {
        _ if r.part && r.kind == Kind::Receive => format!("waits there for {who}"),
        _ if r.part && r.kind != Kind::Unexpected => format!("has there a message for {who}"),
        Kind::Receive => format!("receive from {who}, {tag}, up to {} bytes, on {place}", r.bytes),
        Kind::Probe => format!("probe for a message from {who}, {tag}, on {place}"),
        Kind::Send => format!("send to {who}, {tag}, {} bytes, on {place}", r.bytes),
        Kind::SynchronousSend => {
            format!("synchronous send to {who}, {tag}, {} bytes, on {place}", r.bytes)
        }
        Kind::Collective if r.call.is_empty() => format!("making a communicator from {place}"),
        Kind::Collective => format!("{} on {place}", printable(&r.call)),
        Kind::Window if r.comm.is_empty() => {
            format!("{} on a window without a name (context {})", printable(&r.call), r.context)
        }
        Kind::Window => format!("{} on {place}", printable(&r.call)),
        Kind::Other => format!("an operation of several parts or of the program, on {place}"),
        Kind::Unexpected if r.part => {
            format!("not received yet: a collective's message from {who}")
        }
        Kind::Unexpected => {
            format!("not received yet: message from {who}, {tag}, {} bytes, on {place}", r.bytes)
        }
    }
}

/// A rank that cannot go on without another one.
#[derive(Debug)]
struct Wait<'a> {
    target: usize,
    record: &'a Record,
}

fn records(state: &State) -> &[Record] {
    match state {
        State::Sleeping { records, .. } => records,
        _ => &[],
    }
}

/// Whom a sleeping rank needs. With several operations or threads at once a rank may go on after
/// any of them, so nothing is said then.
fn waits(state: &State) -> Vec<Wait<'_>> {
    let State::Sleeping { records, more: 0, threads: false, .. } = state else { return Vec::new() };
    let mut whole = records.iter().filter(|r| !r.part && r.kind != Kind::Unexpected);
    let (Some(only), None) = (whole.next(), whole.next()) else { return Vec::new() };
    let parts = records.iter().filter(|r| r.part && r.kind == Kind::Receive).filter_map(wait);
    match only.kind {
        // Each of the messages has to come.
        Kind::Collective | Kind::Window => parts.map(|w| Wait { record: only, ..w }).collect(),
        Kind::Other => parts.collect(),
        _ => wait(only).into_iter().collect(),
    }
}

fn wait(record: &Record) -> Option<Wait<'_>> {
    // Any process is none in particular.
    let target = usize::try_from(record.process).ok()?;
    Some(Wait { target, record })
}

fn sentence(rank: usize, wait: &Wait<'_>) -> String {
    let (r, target) = (wait.record, wait.target);
    match r.kind {
        Kind::Receive | Kind::Probe => {
            let (who, tag) = (peer(r), tag(r));
            format!("rank {rank} waits for a message from {who} with {tag} on {}", place(r))
        }
        Kind::Collective if r.call.is_empty() => {
            format!(
                "rank {rank} makes a communicator from {} and waits for rank {target}",
                place(r)
            )
        }
        Kind::Collective | Kind::Window => {
            format!("rank {rank} waits in {} for rank {target}", describe(r))
        }
        _ => format!("rank {rank} waits until {} receives {}", peer(r), what_is_sent(r)),
    }
}

fn what_is_sent(r: &Record) -> String {
    format!("its message of {} bytes with {} on {}", r.bytes, tag(r), place(r))
}

/// Whether nobody can wake anybody: all that have not ended sleep, each waits for messages, and no
/// other thread may send one.
pub fn is_stuck(states: &[State]) -> bool {
    let threads = |s: &State| matches!(s, State::Sleeping { threads: true, .. });
    all_wait(states) && !states.iter().any(threads)
}

fn all_wait(states: &[State]) -> bool {
    let message = |r: &Record| !matches!(r.kind, Kind::Other | Kind::Unexpected);
    let waits = |state: &State| records(state).iter().any(message);
    let ended = |state: &State| matches!(state, State::Finalized | State::Gone);
    states.iter().any(|s| !ended(s)) && states.iter().all(|s| ended(s) || waits(s))
}

/// What is to be said, most important first.
pub fn findings(states: &[State]) -> Vec<String> {
    let waiting: Vec<Vec<Wait<'_>>> = states.iter().map(waits).collect();
    let mut found = Vec::new();
    let circle = circle(&waiting);
    if is_stuck(states) {
        found.push("no rank can go on: this looks like a deadlock".into());
    } else if all_wait(states) {
        let text = "all ranks wait; unless another thread of theirs calls MPI, none can go on";
        found.push(text.into());
    } else if circle.is_some() {
        found.push("some ranks wait for each other: this looks like a deadlock".into());
    }
    for (rank, wait) in circle.unwrap_or_default() {
        found.push(sentence(rank, &waiting[rank][wait]));
    }
    for (rank, list) in waiting.iter().enumerate() {
        let ended = |w: &&Wait<'_>| matches!(states.get(w.target), Some(State::Finalized));
        if let Some(wait) = list.iter().find(ended) {
            let target = wait.target;
            found.push(format!(
                "{}, but rank {target} has called MPI_Finalize",
                sentence(rank, wait)
            ));
        }
    }
    found.extend(different_collectives(states));
    found.extend(states.iter().enumerate().filter_map(|(rank, s)| wrong_tag(rank, s)));
    found
}

/// Ranks of which each waits for the next and the last for the first, with the place of the wait
/// in the rank's list.
fn circle(waiting: &[Vec<Wait<'_>>]) -> Option<Vec<(usize, usize)>> {
    // Ranks from which no circle can be reached.
    let mut clear = vec![false; waiting.len()];
    for start in 0..waiting.len() {
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((rank, next)) = path.last().copied() {
            let Some(wait) = waiting[rank].get(next) else {
                clear[rank] = true;
                path.pop();
                if let Some(last) = path.last_mut() {
                    last.1 += 1;
                }
                continue;
            };
            let target = wait.target;
            if let Some(at) = path.iter().position(|(on_path, _)| *on_path == target) {
                return Some(path.split_off(at));
            }
            if target >= waiting.len() || clear[target] {
                path.last_mut()?.1 += 1;
            } else {
                path.push((target, 0));
            }
        }
    }
    None
}

/// Two sleeping ranks in different collectives on one communicator.
fn different_collectives(states: &[State]) -> Option<String> {
    let mut seen: Vec<(usize, &Record)> = Vec::new();
    for (rank, state) in states.iter().enumerate() {
        let mut all = records(state).iter().filter(|r| r.kind == Kind::Collective && !r.part);
        let (Some(own), None) = (all.next(), all.next()) else { continue };
        let other = seen.iter().find(|(_, r)| comm(r) == comm(own));
        match other {
            Some((first, r))
                if r.call != own.call && !r.call.is_empty() && !own.call.is_empty() =>
            {
                return Some(format!(
                    "rank {first} is in {}, rank {rank} in {}, both on {}",
                    printable(&r.call),
                    printable(&own.call),
                    place(own)
                ));
            }
            Some(_) => {}
            None => seen.push((rank, own)),
        }
    }
    None
}

/// A message that a receive would take but for its tag.
fn wrong_tag(rank: usize, state: &State) -> Option<String> {
    let all = records(state);
    let mut receives =
        all.iter().filter(|r| !r.part && matches!(r.kind, Kind::Receive | Kind::Probe));
    receives.find_map(|r| {
        let there = all.iter().find(|m| {
            let from = r.process == ANY || r.process == m.process;
            m.kind == Kind::Unexpected && !m.part && comm(m) == comm(r) && from && m.tag != r.tag
        })?;
        Some(format!(
            "rank {rank} waits for {} from {}, and has a message from {} with {} that nobody \
             receives",
            tag(r),
            peer(r),
            peer(there),
            tag(there)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(kind: Kind, process: i32, tag: i32) -> Record {
        Record {
            kind,
            part: false,
            peer: process,
            process,
            tag,
            context: 0,
            bytes: 4,
            comm: "MPI_COMM_WORLD".into(),
            call: String::new(),
        }
    }

    fn asleep(records: Vec<Record>) -> State {
        State::Sleeping { seconds: 1.0, records, more: 0, threads: false }
    }

    fn collective(call: &str, needs: &[i32]) -> State {
        let whole = Record { call: call.into(), ..op(Kind::Collective, -1, -1) };
        let part = |p: &i32| Record { part: true, context: 1, ..op(Kind::Receive, *p, 0) };
        asleep([whole].into_iter().chain(needs.iter().map(part)).collect())
    }

    #[test]
    fn a_circle_of_receives_is_told() {
        let states = [
            asleep(vec![op(Kind::Receive, 1, 5)]),
            asleep(vec![op(Kind::Receive, 2, 6)]),
            asleep(vec![op(Kind::SynchronousSend, 1, ANY)]),
        ];
        let found = findings(&states);
        assert_eq!(found[0], "no rank can go on: this looks like a deadlock");
        assert_eq!(found[1], "rank 1 waits for a message from rank 2 with tag 6 on MPI_COMM_WORLD");
        assert!(found[2].starts_with("rank 2 waits until rank 1 receives"), "{found:?}");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_rank_that_runs_may_still_help() {
        let waits = asleep(vec![op(Kind::Receive, 1, 5)]);
        assert_eq!(findings(&[waits.clone(), State::Running]), [""; 0]);
        let two = asleep(vec![op(Kind::Receive, 0, 1), op(Kind::Receive, 2, 1)]);
        assert_eq!(findings(&[waits.clone(), two, State::Running]), [""; 0]);
        let outside = asleep(vec![op(Kind::Other, -1, -1)]);
        let threads = State::Sleeping {
            seconds: 1.0,
            records: vec![op(Kind::Receive, 0, 1)],
            more: 0,
            threads: true,
        };
        let found = findings(&[waits.clone(), threads.clone()]);
        assert!(found.len() == 1 && found[0].contains("another thread"), "{found:?}");
        assert!(!is_stuck(&[waits.clone(), threads]));
        assert!(!is_stuck(&[waits, outside]));
        assert!(!is_stuck(&[State::Finalized]));
        assert!(!is_stuck(&[State::Starting, asleep(vec![op(Kind::Receive, 0, 1)])]));
    }

    #[test]
    fn a_part_of_the_job_in_a_circle_is_told() {
        let states = [
            State::Running,
            asleep(vec![op(Kind::Receive, 2, 5)]),
            asleep(vec![op(Kind::Receive, 1, 5)]),
        ];
        assert!(findings(&states)[0].starts_with("some ranks wait for each other"));
    }

    #[test]
    fn different_collectives_and_ended_ranks_are_told() {
        let states = [collective("MPI_Barrier", &[1]), collective("MPI_Bcast", &[0])];
        let found = findings(&states);
        let expected = "rank 0 is in MPI_Barrier, rank 1 in MPI_Bcast, both on MPI_COMM_WORLD";
        assert!(found.iter().any(|f| f == expected), "{found:?}");
        let found = findings(&[collective("MPI_Barrier", &[1]), State::Finalized]);
        assert!(found.iter().any(|f| f.ends_with("rank 1 has called MPI_Finalize")), "{found:?}");
    }

    #[test]
    fn a_wrong_tag_is_told() {
        let there = op(Kind::Unexpected, 1, 4);
        let state = asleep(vec![op(Kind::Receive, 1, 5), there.clone()]);
        let text = wrong_tag(0, &state).unwrap();
        assert!(text.contains("tag 5") && text.contains("tag 4"), "{text}");
        let elsewhere = Record { context: 8, ..there };
        assert_eq!(wrong_tag(0, &asleep(vec![op(Kind::Receive, 1, 5), elsewhere])), None);
    }
}
