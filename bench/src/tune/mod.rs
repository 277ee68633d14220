//! `hpvm tune`: measures on this machine which algorithm each collective should use, whether slots or
//! messages should carry small ones, and how often large messages should be copied; and writes the
//! tables by which the library then chooses.
//!
//! Everything is measured as a program would meet it: `hpvmbench` runs with a table
//! (`HPVM_TABLES`) that chooses nothing else. Only what is faster than the built-in choice in every
//! round, and by a margin in the best one, and is so again when both are measured once more, replaces it. The file is written whole or not at all.

mod decide;
mod file;
mod subjects;

use crate::error::BenchError;
use crate::machine::Machine;
use crate::progress::Progress;
use crate::target::Target;
use crate::whole_file;
use decide::{Change, Time};
use hpvm_coll::select::origin::Origin;
use hpvm_coll::select::text::{Algorithm, CARRIED, HEAD};
use hpvm_coll::select::{ANY, Copies, DEFAULT, Rule, Table, Tables};
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;
use subjects::Subject;

/// A run that takes longer is broken: its time is bounded by the program itself.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The most bytes of a result of one rank that are measured.
const MOST_BYTES: i64 = 4 << 20;

/// What `hpvm tune` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub target: Target,
    /// Numbers of ranks, in order, each once.
    pub ranks: Vec<u32>,
    pub thorough: bool,
    /// The file to be written.
    pub output: PathBuf,
    /// The file that jobs use instead of `output`, if the environment names one.
    pub overridden: Option<String>,
}

impl Plan {
    /// Seconds for one size of one candidate in one round.
    fn budget(&self) -> f64 {
        if self.thorough { 0.03 } else { 0.01 }
    }

    /// The candidates take turns so often; the least disturbed turn counts.
    fn rounds(&self) -> u32 {
        if self.thorough { 3 } else { 2 }
    }

    /// What has won takes so many turns with what it would replace.
    fn trials(&self) -> u32 {
        if self.thorough { 6 } else { 4 }
    }
}

/// What has been found out so far.
struct Session<'a> {
    plan: &'a Plan,
    progress: Progress,
    /// Where the table of one candidate is written for the next run.
    forced: tempfile::NamedTempFile,
    /// What has been decided.
    tables: Tables,
    /// Lines for people.
    said: Vec<String>,
}

/// Measures, writes the tables and tells what is different. Blocks for half a minute, or some with
/// `thorough`. After Ctrl-C nothing has been written.
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let machine = Machine::here();
    if let Some(warning) = machine.warning() {
        eprintln!("hpvm tune: warning: {warning}");
    }
    let forced = tempfile::NamedTempFile::with_prefix("hpvm-tune-")
        .map_err(|e| BenchError::io("cannot make a temporary file", e))?;
    let progress = Progress::new(subjects::steps(plan));
    let mut session = Session { plan, progress, forced, tables: DEFAULT.clone(), said: Vec::new() };
    session.tune_all()?;
    let Session { progress, tables, said, .. } = session;
    drop(progress);
    let here = hpvm_job::machine::Machine::here();
    let origin = Origin::new(&here.cpu, here.processors, &here.kernel);
    whole_file::write(&plan.output, &file::text(&tables, plan, &machine, &origin))?;
    file::tell(&said, plan);
    Ok(())
}

impl Session<'_> {
    fn tune_all(&mut self) -> Result<(), BenchError> {
        // Lines for ranks that read memory would stand before those that are measured.
        let reads = std::mem::take(&mut self.tables.allreduce_reads);
        self.tables.allreduce = self.tune(&subjects::ALLREDUCE)?;
        if self.tables.allreduce == DEFAULT.allreduce {
            self.tables.allreduce_reads = reads;
        }
        self.tables.bcast = self.tune(&subjects::BCAST)?;
        self.tables.reduce = self.tune(&subjects::REDUCE)?;
        self.tables.allgather = self.tune(&subjects::ALLGATHER)?;
        self.tables.alltoall = self.tune(&subjects::ALLTOALL)?;
        self.tables.gather = self.tune(&subjects::GATHER)?;
        self.tables.scatter = self.tune(&subjects::SCATTER)?;
        self.tables.allgatherv = self.tune(&subjects::ALLGATHERV)?;
        self.tables.reduce_scatter = self.tune(&subjects::REDUCE_SCATTER)?;
        for (at, subject) in subjects::CARRIERS.iter().enumerate() {
            self.tables.carriers[at] = self.tune(subject)?;
        }
        let copies = self.tune(&subjects::COPIES)?;
        self.tables.copies = match (copies.is_empty(), self.plan.ranks.last()) {
            // What was measured holds, too, where it is what most machines need.
            (true, Some(&ranks)) => {
                Cow::Owned(vec![Rule { ranks, bytes: ANY, algorithm: Copies::Two }])
            }
            _ => copies,
        };
        Ok(())
    }

    /// One subject: its table, changed where that pays.
    fn tune<A: Algorithm>(&mut self, subject: &Subject<A>) -> Result<Table<A>, BenchError> {
        let times = self.measure(subject)?;
        let choose = |ranks, bytes| subject.choose(ranks, bytes);
        let changes = self.confirmed(subject, &decide::changes(&times, choose))?;
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

    /// The changes that still win when they are measured again, beside nothing but what they replace.
    /// Of many candidates one is always lucky.
    fn confirmed<A: Algorithm>(
        &mut self,
        subject: &Subject<A>,
        changes: &[Change<A>],
    ) -> Result<Vec<Change<A>>, BenchError> {
        let mut kept = Vec::new();
        for group in decide::groups(changes) {
            let Some(Change { ranks, from, to, .. }) = group.first().copied() else { continue };
            let mut sizes = subject.measured(self.plan, ranks);
            sizes.retain(|size| group.iter().any(|c| c.bytes == (subject.bytes)(ranks, *size)));
            let runs = 2 * (subject.modes)(ranks).len() as u64;
            self.progress.expect(runs * u64::from(self.plan.trials()));
            let mut times = Vec::new();
            for _ in 0..self.plan.trials() {
                for algorithm in [from, to] {
                    self.take(subject, algorithm, ranks, &sizes, &mut times)?;
                }
            }
            kept.extend(decide::changes(&times, |_, _| from));
        }
        Ok(kept)
    }

    /// The times of each candidate at each point, by round.
    fn measure<A: Algorithm>(&mut self, subject: &Subject<A>) -> Result<Vec<Time<A>>, BenchError> {
        let mut times: Vec<Time<A>> = Vec::new();
        for &ranks in &self.plan.ranks {
            let sizes = subject.measured(self.plan, ranks);
            for _ in 0..self.plan.rounds() {
                for algorithm in subject.candidates(ranks) {
                    self.take(subject, algorithm, ranks, &sizes, &mut times)?;
                }
            }
        }
        Ok(times)
    }

    /// One candidate in one round; its times are added to `times`.
    fn take<A: Algorithm>(
        &mut self,
        subject: &Subject<A>,
        algorithm: A,
        ranks: u32,
        sizes: &[i64],
        times: &mut Vec<Time<A>>,
    ) -> Result<(), BenchError> {
        for (size, us) in self.run(subject, algorithm, ranks, sizes)? {
            let bytes = (subject.bytes)(ranks, size);
            let same =
                |t: &&mut Time<A>| (t.ranks, t.bytes) == (ranks, bytes) && t.algorithm == algorithm;
            match times.iter_mut().find(same) {
                Some(time) => time.us.push(us),
                None => times.push(Time { ranks, bytes, algorithm, us: vec![us] }),
            }
        }
        Ok(())
    }

    /// Microseconds by size, in each of the modes.
    fn run<A: Algorithm>(
        &mut self,
        subject: &Subject<A>,
        algorithm: A,
        ranks: u32,
        sizes: &[i64],
    ) -> Result<Vec<(i64, f64)>, BenchError> {
        let (name, shown) = (subject.name, algorithm.shown());
        let path = self.forced.path().to_path_buf();
        std::fs::write(&path, forced(name, &shown, &self.tables))
            .map_err(|e| BenchError::io(format!("cannot write {}", path.display()), e))?;
        let mut target = self.plan.target.clone();
        target.env.push(("HPVM_TABLES".to_owned(), path.into_os_string()));
        // It would be stronger than the tables.
        target.env.push(("HPVM_SINGLE_COPY".to_owned(), "auto".into()));
        let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
        let budget = self.plan.budget().to_string();
        let mut times = Vec::new();
        for mode in (subject.modes)(ranks) {
            self.progress.step(&format!("{name}, {ranks} ranks, {shown}"));
            let args = [mode, "--budget", &budget, "--sizes", &sizes.join(",")].map(str::to_owned);
            let output = target.run(ranks, &args, TIME_LIMIT)?;
            times.extend(output.points.iter().map(|point| {
                let us = match point.unit.as_str() {
                    // A megabyte a second is a byte a microsecond.
                    "MB/s" => point.size as f64 / point.median,
                    _ => point.median,
                };
                (point.size as i64, us)
            }));
        }
        Ok(times)
    }
}

/// Tables that use nothing but `algorithm` for `name`. Algorithms show only where messages carry a
/// collective, so slots are kept out of it, unless they are what is measured. For the rest what has
/// been decided holds.
fn forced(name: &str, algorithm: &str, decided: &Tables) -> String {
    let mut text = format!("{HEAD}\n{name} any any {algorithm}\n");
    if !CARRIED.contains(&name) {
        CARRIED.iter().for_each(|by| text += &format!("{by} any any messages\n"));
    }
    let decided = decided.to_string();
    text + decided.split_once('\n').map_or("", |(_, rules)| rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_coll::select::{Allreduce, Carrier, CollKind};

    #[test]
    fn a_forced_table_leaves_no_choice_and_the_rest_as_it_is() {
        let mut decided = DEFAULT.clone();
        decided.carriers[CollKind::Bcast as usize] =
            Cow::Owned(vec![Rule { ranks: 4, bytes: 64, algorithm: Carrier::Messages }]);
        let tables: Tables = forced("allreduce", "ring", &decided).parse().unwrap();
        for bytes in [0, 8, 1 << 20] {
            assert_eq!(tables.allreduce(9, bytes), Allreduce::Ring);
            assert_eq!(tables.carrier(CollKind::Allreduce, 9, bytes), Carrier::Messages);
        }
        assert_eq!(tables.alltoall, decided.alltoall);
        let tables: Tables = forced("reduce-by", "shared-memory", &decided).parse().unwrap();
        assert_eq!(tables.carrier(CollKind::Reduce, 2, 8), Carrier::SharedMemory);
        assert_eq!(tables.carrier(CollKind::Bcast, 4, 8), Carrier::Messages);
        assert_eq!(tables.allreduce, decided.allreduce);
    }
}
