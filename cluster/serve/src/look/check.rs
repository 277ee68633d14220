//! What a look may be: hosts keep to it, and the server checks that they have.

use super::{JobLook, Launch};
use crate::api::types::{Counters, Rank};

/// Launches of a job that run on a host at one time: a script may start some side by side.
const LAUNCHES: usize = 64;
/// Ranks of a launch, on all hosts.
const SIZE: u32 = 1 << 20;
/// Ranks of a job on one host that are told of. With 1.5 kB each they fit into a request.
const RANKS: usize = 4096;
/// Pairs of ranks that a host tells of: 1.5 MB. A host of 64 ranks has so many when each talks to 1,024.
const PAIRS: usize = 1 << 16;
/// Counters of a rank; events of a job; sentences of a rank or a look.
const COUNTERS: usize = 512;
const SENTENCES: usize = 64;
/// Bytes of a sentence, and of a counter's name.
const SENTENCE: usize = 1024;
const NAME: usize = 100;
/// Ranks that a rank is said to wait for.
const WAITS: usize = 1024;

/// Leaves out what is too much, with a sentence about it.
pub fn trim(look: &mut JobLook, host: &str) {
    let mut cut = Vec::new();
    look.launches.truncate(LAUNCHES);
    let (mut ranks, mut pairs) = (RANKS, PAIRS);
    for launch in &mut look.launches {
        if launch.ranks.len() > ranks {
            cut.push(format!("host {host} shows the first {RANKS} of its ranks"));
            launch.ranks.truncate(ranks);
        }
        ranks -= launch.ranks.len();
        launch.ranks.iter_mut().for_each(trim_rank);
        trim_sentences(&mut launch.findings);
        let Some(sent) = &mut launch.sent else { continue };
        if sent.len() > pairs {
            cut.push(format!("host {host} shows the {PAIRS} largest of its pairs"));
            sent.sort_by_key(|(.., bytes)| std::cmp::Reverse(*bytes));
            sent.truncate(pairs);
        }
        pairs -= sent.len();
    }
    look.notes.extend(cut);
    trim_sentences(&mut look.notes);
}

fn trim_rank(rank: &mut Rank) {
    rank.waits_for.truncate(WAITS);
    trim_sentences(&mut rank.operations);
}

fn trim_sentences(all: &mut Vec<String>) {
    all.truncate(SENTENCES);
    for text in all {
        if text.len() > SENTENCE {
            text.truncate(super::boundary(text, SENTENCE));
        }
    }
}

/// Refuses what no host of ours would tell; the ranks are `host`'s, whatever they say.
pub fn take(look: &mut JobLook, host: &str) -> Result<(), String> {
    within("launches", look.launches.len(), LAUNCHES)?;
    within("ranks", look.launches.iter().map(|launch| launch.ranks.len()).sum(), RANKS)?;
    let pairs = look.launches.iter().filter_map(|launch| launch.sent.as_ref());
    within("pairs", pairs.map(Vec::len).sum(), PAIRS)?;
    sentences(&look.notes)?;
    for launch in &mut look.launches {
        take_launch(launch, host)?;
    }
    look.counters.as_mut().map_or(Ok(()), |counters| take_counters(counters, host))
}

fn take_launch(launch: &mut Launch, host: &str) -> Result<(), String> {
    let size = launch.size;
    within("size", size as usize, SIZE as usize)?;
    sentences(&launch.findings)?;
    for rank in &mut launch.ranks {
        inside("rank", rank.rank, size)?;
        within("ranks it waits for", rank.waits_for.len(), WAITS)?;
        rank.waits_for.iter().try_for_each(|other| inside("rank", *other, size))?;
        sentences(&rank.operations)?;
        within("counters", rank.counters.len(), COUNTERS)?;
        rank.counters.keys().try_for_each(|name| a_name(name))?;
        rank.host = host.to_string();
    }
    for (from, to, ..) in launch.sent.iter().flatten() {
        inside("sender", *from, size)?;
        inside("receiver", *to, size)?;
    }
    Ok(())
}

fn take_counters(counters: &mut Counters, host: &str) -> Result<(), String> {
    within("events", counters.events.len(), COUNTERS)?;
    within("ranks", counters.ranks.len(), RANKS)?;
    sentences(&counters.notes)?;
    for event in &counters.events {
        a_name(&event.name)?;
        a_name(&event.unit)?;
    }
    for rank in &mut counters.ranks {
        inside("rank", rank.rank, SIZE)?;
        if rank.values.len() != counters.events.len() {
            let (values, events) = (rank.values.len(), counters.events.len());
            return Err(format!("{values} values of {events} events"));
        }
        rank.host = host.to_string();
    }
    Ok(())
}

fn within(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count > most { Err(format!("{count} {what}; at most {most}")) } else { Ok(()) }
}

fn inside(what: &str, number: u32, size: u32) -> Result<(), String> {
    match number < size {
        true => Ok(()),
        false => Err(format!("{what} {number}; expected a number below {size}")),
    }
}

fn sentences(all: &[String]) -> Result<(), String> {
    within("sentences", all.len(), SENTENCES)?;
    all.iter().try_for_each(|text| within("bytes of a sentence", text.len(), SENTENCE))
}

fn a_name(name: &str) -> Result<(), String> {
    within("bytes of a name", name.len(), NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::{CountedEvent, RankCounters, RankState};

    fn rank(rank: u32) -> Rank {
        Rank {
            rank,
            host: "another".into(),
            pid: 1,
            state: RankState::Computing,
            waits_for: Vec::new(),
            operations: Vec::new(),
            since_seconds: None,
            processor: None,
            memory: None,
            counters: Default::default(),
        }
    }

    fn look(launch: Launch) -> JobLook {
        JobLook { launches: vec![launch], ..JobLook::default() }
    }

    #[test]
    fn what_hosts_tell_is_theirs_and_makes_sense() {
        let good = Launch {
            size: 2,
            ranks: vec![rank(1)],
            sent: Some(vec![(1, 0, 1, 9)]),
            ..Launch::default()
        };
        let mut told = look(good.clone());
        assert_eq!(take(&mut told, "n1"), Ok(()));
        assert_eq!(told.launches[0].ranks[0].host, "n1");
        let bad = |change: &dyn Fn(&mut Launch), expected: &str| {
            let mut launch = good.clone();
            change(&mut launch);
            let text = take(&mut look(launch), "n1").expect_err(expected);
            assert!(text.contains(expected), "{text}");
        };
        bad(&|l| l.ranks[0].rank = 2, "rank 2; expected a number below 2");
        bad(&|l| l.sent = Some(vec![(0, 7, 1, 1)]), "receiver 7");
        bad(&|l| l.ranks[0].waits_for = vec![u32::MAX], "expected a number below 2");
        bad(&|l| l.size = u32::MAX, "size");
        bad(&|l| l.ranks = vec![rank(0); RANKS + 1], "ranks");
        bad(&|l| l.sent = Some(vec![(0, 1, 1, 1); PAIRS + 1]), "pairs");
        bad(&|l| l.findings = vec!["x".repeat(SENTENCE + 1)], "bytes of a sentence");
        bad(&|l| _ = l.ranks[0].counters.insert("x".repeat(NAME + 1), 1), "bytes of a name");
        let events = vec![CountedEvent { name: "cycles".into(), unit: "count".into() }];
        let ranks = vec![RankCounters { rank: 0, host: "x".into(), pid: 1, values: Vec::new() }];
        let counters = Counters { elapsed_seconds: 1.0, events, ranks, notes: Vec::new() };
        let mut told = JobLook { counters: Some(counters), ..JobLook::default() };
        assert_eq!(take(&mut told, "n1"), Err("0 values of 1 events".into()));
    }

    #[test]
    fn what_is_too_much_is_left_out_and_the_rest_is_taken() {
        let sent = (0..PAIRS as u32 + 5).map(|i| (i % 1000, i / 1000, 1, u64::from(i))).collect();
        let mut big = look(Launch {
            size: 5000,
            ranks: (0..5000).map(rank).collect(),
            sent: Some(sent),
            ..Launch::default()
        });
        big.launches[0].ranks[0].operations = vec!["ä".repeat(SENTENCE); SENTENCES + 1];
        assert!(take(&mut big.clone(), "n1").is_err());
        trim(&mut big, "n1");
        assert_eq!(take(&mut big, "n1"), Ok(()));
        assert_eq!((big.launches[0].ranks.len(), big.notes.len()), (RANKS, 2));
        let sent = big.launches[0].sent.as_ref().unwrap();
        assert!(
            sent.len() == PAIRS && sent.iter().all(|(.., bytes)| *bytes >= 5),
            "the largest stay"
        );
    }
}
