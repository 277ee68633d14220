//! `hpvm tune`: measures the algorithms of collectives on this machine and writes the tables by
//! which the library then chooses.
//!
//! Every algorithm is measured as a program would meet it: `hpvmbench` runs with a table
//! (`HPVM_TABLES`) that chooses nothing else. Only what is faster than the built-in choice in every
//! round, and by a margin in the best one, replaces it. The file is written whole or not at all.

mod decide;
mod file;

use crate::error::BenchError;
use crate::machine::Machine;
use crate::progress::Progress;
use crate::target::Target;
use decide::Time;
use hpvm_coll::select::text::{Algorithm, HEAD};
use hpvm_coll::select::{
    Allgather, Allreduce, Alltoall, Bcast, DEFAULT, Gather, Reduce, ReduceScatter, Scatter, Table,
    Tables,
};
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

/// A run that takes longer is broken: its time is bounded by the program itself.
const LIMIT: Duration = Duration::from_secs(60);
/// The most bytes of a result of one rank that are measured.
const MOST_BYTES: i64 = 4 << 20;

/// What `hpvm tune` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub target: Target,
    /// Numbers of ranks, in order, each once.
    pub ranks: Vec<u32>,
    pub quick: bool,
    /// The file to be written.
    pub output: PathBuf,
    /// The file that jobs use instead of `output`, if the environment names one.
    pub overridden: Option<String>,
}

impl Plan {
    fn sizes(&self) -> &'static [i64] {
        match self.quick {
            true => &[8, 512, 8192, 65536, 1 << 20],
            false => &[8, 64, 512, 2048, 8192, 32768, 131_072, 524_288, 1 << 20],
        }
    }

    /// Seconds for one size of one algorithm in one round.
    fn budget(&self) -> f64 {
        if self.quick { 0.02 } else { 0.03 }
    }

    /// The candidates take turns so often; the least disturbed turn counts.
    fn rounds(&self) -> u32 {
        if self.quick { 2 } else { 3 }
    }
}

/// A collective that is tuned.
struct Subject<A: Algorithm> {
    /// Its name in tables, and the benchmark's mode.
    name: &'static str,
    rules: fn(&Tables) -> &Table<A>,
    choose: fn(&Tables, u32, i64) -> A,
    /// Candidates beside those of the built-in table.
    others: &'static [A],
    /// One form for algorithms that do the same on so many ranks.
    same: fn(A, u32) -> A,
    /// What the table counts, of the size that the benchmark is given.
    bytes: fn(u32, i64) -> i64,
    /// The size of a rank's longest buffer.
    buffer: fn(u32, i64) -> i64,
}

fn unchanged<A>(algorithm: A, _ranks: u32) -> A {
    algorithm
}

fn message(_ranks: u32, size: i64) -> i64 {
    size
}

fn whole(ranks: u32, size: i64) -> i64 {
    i64::from(ranks) * size
}

/// A window that holds all peers is as good as any larger one.
fn windows(algorithm: Alltoall, ranks: u32) -> Alltoall {
    match algorithm {
        Alltoall::Pairwise { window } if window + 1 >= ranks => {
            Alltoall::Pairwise { window: ranks.saturating_sub(1).max(8) }
        }
        other => other,
    }
}

/// What has been found out so far.
struct Session<'a> {
    plan: &'a Plan,
    progress: Progress,
    /// Where the table of one algorithm is written for the next run.
    forced: tempfile::NamedTempFile,
    /// Lines for people.
    said: Vec<String>,
}

/// Measures, writes the tables and tells what is different. Blocks for some minutes, less with
/// `quick`. After Ctrl-C nothing has been written.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let machine = Machine::here();
    if let Some(warning) = machine.warning() {
        eprintln!("hpvm tune: warning: {warning}");
    }
    let forced = tempfile::NamedTempFile::with_prefix("hpvm-tune-")
        .map_err(|e| BenchError::io("cannot make a temporary file", e))?;
    let progress = Progress::new(steps(plan));
    let mut session = Session { plan, progress, forced, said: Vec::new() };
    let tables = session.tables()?;
    let Session { progress, said, .. } = session;
    drop(progress);
    file::write(&plan.output, &file::text(&tables, plan, &machine))?;
    file::tell(&said, plan);
    Ok(())
}

const ALLREDUCE: Subject<Allreduce> = Subject {
    name: "allreduce",
    rules: |tables| &tables.allreduce,
    choose: Tables::allreduce,
    others: &[
        Allreduce::Direct,
        Allreduce::RecursiveDoubling,
        Allreduce::Rabenseifner,
        Allreduce::Ring,
    ],
    same: unchanged,
    bytes: message,
    buffer: message,
};

const BCAST: Subject<Bcast> = Subject {
    name: "bcast",
    rules: |tables| &tables.bcast,
    choose: Tables::bcast,
    others: &[
        Bcast::Binomial,
        Bcast::ScatterAllgather,
        Bcast::Chain { segment: 16 << 10 },
        Bcast::Chain { segment: 64 << 10 },
    ],
    same: unchanged,
    bytes: message,
    buffer: message,
};

const REDUCE: Subject<Reduce> = Subject {
    name: "reduce",
    rules: |tables| &tables.reduce,
    choose: Tables::reduce,
    others: &[Reduce::Binomial, Reduce::Rabenseifner],
    same: unchanged,
    bytes: message,
    buffer: message,
};

const ALLGATHER: Subject<Allgather> = Subject {
    name: "allgather",
    rules: |tables| &tables.allgather,
    choose: Tables::allgather,
    others: &[Allgather::Direct, Allgather::Dissemination, Allgather::Ring],
    same: unchanged,
    bytes: whole,
    buffer: whole,
};

const GATHER: Subject<Gather> = Subject {
    name: "gather",
    rules: |tables| &tables.gather,
    choose: Tables::gather,
    others: &[Gather::Binomial, Gather::Linear],
    same: unchanged,
    bytes: message,
    buffer: whole,
};

const SCATTER: Subject<Scatter> = Subject {
    name: "scatter",
    rules: |tables| &tables.scatter,
    choose: Tables::scatter,
    others: &[Scatter::Binomial, Scatter::Linear],
    same: unchanged,
    bytes: message,
    buffer: whole,
};

const ALLGATHERV: Subject<Allgather> = Subject {
    name: "allgatherv",
    rules: |tables| &tables.allgatherv,
    choose: Tables::allgatherv,
    others: &[Allgather::Direct, Allgather::Dissemination, Allgather::Ring],
    same: unchanged,
    bytes: whole,
    buffer: whole,
};

const REDUCE_SCATTER: Subject<ReduceScatter> = Subject {
    name: "reduce_scatter",
    rules: |tables| &tables.reduce_scatter,
    choose: Tables::reduce_scatter,
    others: &[ReduceScatter::Tree, ReduceScatter::Halving, ReduceScatter::Pairwise],
    same: unchanged,
    bytes: whole,
    buffer: whole,
};

const ALLTOALL: Subject<Alltoall> = Subject {
    name: "alltoall",
    rules: |tables| &tables.alltoall,
    choose: Tables::alltoall,
    others: &[
        Alltoall::Bruck,
        Alltoall::Pairwise { window: 4 },
        Alltoall::Pairwise { window: 8 },
        Alltoall::Pairwise { window: 32 },
    ],
    same: windows,
    bytes: message,
    buffer: whole,
};

/// Runs of the benchmark that a whole tuning takes.
fn steps(plan: &Plan) -> u64 {
    let of = |ranks: u32| {
        ALLREDUCE.candidates(ranks).len()
            + BCAST.candidates(ranks).len()
            + REDUCE.candidates(ranks).len()
            + ALLGATHER.candidates(ranks).len()
            + ALLTOALL.candidates(ranks).len()
            + GATHER.candidates(ranks).len()
            + SCATTER.candidates(ranks).len()
            + ALLGATHERV.candidates(ranks).len()
            + REDUCE_SCATTER.candidates(ranks).len()
    };
    plan.ranks.iter().map(|ranks| of(*ranks) as u64).sum::<u64>() * u64::from(plan.rounds())
}

impl<A: Algorithm> Subject<A> {
    fn candidates(&self, ranks: u32) -> Vec<A> {
        decide::candidates((self.rules)(&DEFAULT), self.others, ranks, self.same)
    }

    /// The built-in choice.
    fn choose(&self, ranks: u32, bytes: i64) -> A {
        (self.same)((self.choose)(&DEFAULT, ranks, bytes), ranks)
    }
}

impl Session<'_> {
    fn tables(&mut self) -> Result<Tables, BenchError> {
        Ok(Tables {
            allreduce: self.tune(&ALLREDUCE)?,
            bcast: self.tune(&BCAST)?,
            reduce: self.tune(&REDUCE)?,
            allgather: self.tune(&ALLGATHER)?,
            alltoall: self.tune(&ALLTOALL)?,
            gather: self.tune(&GATHER)?,
            scatter: self.tune(&SCATTER)?,
            allgatherv: self.tune(&ALLGATHERV)?,
            reduce_scatter: self.tune(&REDUCE_SCATTER)?,
            hosts: DEFAULT.hosts,
        })
    }

    /// One collective: its table, changed where that pays.
    fn tune<A: Algorithm>(&mut self, subject: &Subject<A>) -> Result<Table<A>, BenchError> {
        let times = self.measure(subject)?;
        let choose = |ranks, bytes| subject.choose(ranks, bytes);
        let changes = decide::changes(&times, choose);
        for c in &changes {
            self.said.push(format!(
                "{:<14} {:>4} {:>9}  {:<26} {:>9.2}  {:<26} {:>9.2}  {:>4.0} %",
                subject.name,
                c.ranks,
                c.bytes,
                c.from.shown(),
                c.us_from,
                c.to.shown(),
                c.us_to,
                100.0 * (c.us_to / c.us_from - 1.0),
            ));
        }
        let built_in = (subject.rules)(&DEFAULT);
        let rules = decide::table(&times, &changes, built_in, choose);
        Ok(rules.map_or_else(|| built_in.clone(), Cow::Owned))
    }

    /// The times of each candidate at each point, by round.
    fn measure<A: Algorithm>(&mut self, subject: &Subject<A>) -> Result<Vec<Time<A>>, BenchError> {
        let mut times: Vec<Time<A>> = Vec::new();
        for &ranks in &self.plan.ranks {
            let mut sizes = self.plan.sizes().to_vec();
            sizes.retain(|size| (subject.buffer)(ranks, *size) <= MOST_BYTES);
            for _ in 0..self.plan.rounds() {
                for algorithm in subject.candidates(ranks) {
                    for (size, us) in self.run(subject.name, algorithm, ranks, &sizes)? {
                        let bytes = (subject.bytes)(ranks, size);
                        let same = |t: &&mut Time<A>| {
                            (t.ranks, t.bytes) == (ranks, bytes) && t.algorithm == algorithm
                        };
                        match times.iter_mut().find(same) {
                            Some(time) => time.us.push(us),
                            None => times.push(Time { ranks, bytes, algorithm, us: vec![us] }),
                        }
                    }
                }
            }
        }
        Ok(times)
    }

    /// One run: microseconds by size.
    fn run<A: Algorithm>(
        &mut self,
        name: &str,
        algorithm: A,
        ranks: u32,
        sizes: &[i64],
    ) -> Result<Vec<(i64, f64)>, BenchError> {
        self.progress.step(&format!("{name}, {ranks} ranks, {}", algorithm.shown()));
        let rule = format!("{HEAD}\n{name} any any {}\n", algorithm.shown());
        let path = self.forced.path().to_path_buf();
        std::fs::write(&path, rule)
            .map_err(|e| BenchError::io(format!("cannot write {}", path.display()), e))?;
        let mut target = self.plan.target.clone();
        target.env.push(("HPVM_TABLES".to_owned(), path.into_os_string()));
        let list: Vec<String> = sizes.iter().map(i64::to_string).collect();
        let budget = self.plan.budget().to_string();
        let args = [name, "--budget", &budget, "--sizes", &list.join(",")].map(str::to_owned);
        let output = target.run(ranks, &args, LIMIT)?;
        Ok(output.points.iter().map(|point| (point.size as i64, point.median)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_hold_all_peers_are_one() {
        let window = |window| Alltoall::Pairwise { window };
        assert_eq!(windows(window(4), 5), windows(window(32), 5));
        assert_eq!(windows(window(4), 8), window(4));
        assert_eq!(windows(window(32), 64), window(32));
        assert_eq!(windows(window(99), 64), window(63));
        assert_eq!(ALLTOALL.candidates(2).len(), 2);
        assert_eq!(ALLTOALL.candidates(8).len(), 3);
    }

    #[test]
    fn the_built_in_choice_is_always_a_candidate() {
        fn check<A: Algorithm>(subject: &Subject<A>) {
            for ranks in 2..40 {
                let candidates = subject.candidates(ranks);
                for bytes in (0..24).map(|shift| 1 << shift) {
                    assert!(candidates.contains(&subject.choose(ranks, bytes)), "{}", subject.name);
                }
            }
        }
        check(&ALLREDUCE);
        check(&BCAST);
        check(&REDUCE);
        check(&ALLGATHER);
        check(&ALLTOALL);
        check(&GATHER);
        check(&SCATTER);
        check(&ALLGATHERV);
        check(&REDUCE_SCATTER);
    }
}
