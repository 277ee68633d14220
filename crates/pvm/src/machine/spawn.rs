//! Starting tasks.

use super::{ClientId, Machine, PARENT_NONE, Task};
use crate::protocol::{Answer, OUTPUT_NEW, OUTPUT_SPAWN, Order, Start};
use crate::{Code, Tid, search, tid};
use std::collections::BTreeSet;

/// Flags of `pvm_spawn`.
const ON_HOST: i32 = 1;
const ON_ARCH: i32 = 2;
const DEBUG: i32 = 4;
const COMPLEMENT: i32 = 32;
const NO_PARENT: i32 = 64;

/// More in one call are refused: the number is an error of the program.
const MAX_STARTED: i32 = 1 << 16;

/// The host or the kind of machine, and the folder behind its colon in which the tasks are to work; without a colon none.
fn place_and_folder(place: &str) -> (&str, &str) {
    match place.split_once(':') {
        // Earlier versions of PVM have the number of a virtual machine there.
        Some((_, number)) if number.parse::<u32>().is_ok() => (place, ""),
        Some(parts) => parts,
        None => (place, ""),
    }
}

/// The folder that a call asks for, within the usual one of the host.
fn within(usual: &str, asked: String) -> String {
    match (usual, asked.as_str()) {
        (usual, "") => usual.to_owned(),
        ("", _) => asked,
        (_, folder) if folder.starts_with(['/', '$']) => asked,
        (usual, folder) => format!("{usual}/{folder}"),
    }
}

/// A request for tasks, until all hosts have said whether they were started.
#[derive(Debug)]
pub(super) struct Spawning {
    client: ClientId,
    tids: Vec<i32>,
    waiting: BTreeSet<Tid>,
}

impl Machine {
    /// `Ok(None)`: the answer comes when all tasks were started or have failed.
    pub(super) fn spawn(
        &mut self,
        client: ClientId,
        parent: Tid,
        mut start: Start,
    ) -> Result<Option<Answer>, Code> {
        let (place, folder) = place_and_folder(&start.place);
        (start.place, start.working) = (place.to_owned(), folder.to_owned());
        if !(1..=MAX_STARTED).contains(&start.count) || start.program.is_empty() {
            return Err(Code::BadParam);
        }
        let hosts = match self.hosts_for(parent, &start) {
            Ok(hosts) => hosts,
            Err(code) => {
                return Ok(Some(Answer::Tids { tids: vec![code.number(); start.count as usize] }));
            }
        };
        let mut spawning = Spawning { client, tids: Vec::new(), waiting: BTreeSet::new() };
        let before = hosts.iter().position(|host| *host > self.next_host).unwrap_or(0);
        for host in hosts.iter().cycle().skip(before).take(start.count as usize) {
            let code = match self.start_one(*host, parent, &start) {
                Ok(tid) => {
                    spawning.waiting.insert(tid);
                    tid
                }
                Err(code) => code.number(),
            };
            self.next_host = *host;
            spawning.tids.push(code);
        }
        if spawning.waiting.is_empty() {
            return Ok(Some(Answer::Tids { tids: spawning.tids }));
        }
        self.spawning.push(spawning);
        Ok(None)
    }

    /// The hosts that the flags allow.
    fn hosts_for(&self, parent: Tid, start: &Start) -> Result<Vec<Tid>, Code> {
        let wanted: Vec<Tid> = match start.flags & (ON_HOST | ON_ARCH) {
            0 => self.hosts().collect(),
            ON_HOST => self.host_named(&start.place, parent).into_iter().collect(),
            ON_ARCH if start.place == search::ARCH => self.hosts().collect(),
            ON_ARCH => Vec::new(),
            _ => return Err(Code::BadParam),
        };
        if start.flags & DEBUG != 0 {
            return Err(Code::NotImpl);
        }
        let complement = start.flags & COMPLEMENT != 0;
        let hosts: Vec<_> =
            self.hosts().filter(|host| wanted.contains(host) != complement).collect();
        if hosts.is_empty() { Err(Code::NoHost) } else { Ok(hosts) }
    }

    fn start_one(&mut self, host: Tid, parent: Tid, start: &Start) -> Result<Tid, Code> {
        let tid = self.new_tid(host).ok_or(Code::OutOfRes)?;
        let no_parent = start.flags & NO_PARENT != 0;
        let task = Task {
            parent: if no_parent { PARENT_NONE } else { parent },
            client: None,
            pid: 0,
            early: Vec::new(),
            program: start.program.clone(),
            no_reset: false,
            started: true,
            siblings: Vec::new(),
            context: start.context,
            output: start.output.clone(),
            trace: start.trace.clone(),
        };
        self.tasks.insert(tid, task);
        let mut start = start.clone();
        if let Some(name) = self.hosts.get(&host).map(|host| &host.name) {
            let asked = std::mem::take(&mut start.working);
            self.options_of(name).apply(&mut start);
            start.working = within(&start.working, asked);
        }
        self.order(host, Order::Start { tid, start });
        Ok(tid)
    }

    /// The host has started a task (`code` 0), or could not.
    pub(super) fn started(&mut self, tid: Tid, pid: i32, code: i32) {
        if !self.is_spawning(tid) {
            return;
        }
        if code != 0 {
            self.tasks.remove(&tid);
            return self.settle(tid, code);
        }
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        if task.client.is_none() {
            task.pid = pid;
        }
        let output = task.output.clone();
        self.outlets.insert(tid, output);
        for event in [OUTPUT_SPAWN, OUTPUT_NEW] {
            self.forward(tid, event, &[]);
        }
        self.settle(tid, tid);
    }

    /// A task that will not come: its host is gone.
    pub(super) fn not_started(&mut self, tid: Tid, code: Code) {
        if self.is_spawning(tid) {
            self.tasks.remove(&tid);
            self.settle(tid, code.number());
        }
    }

    /// Whether not all have been started that were to be started with the task.
    pub(super) fn is_spawning(&self, tid: Tid) -> bool {
        self.spawning.iter().any(|spawning| spawning.tids.contains(&tid))
    }

    fn settle(&mut self, tid: Tid, code: i32) {
        let mine = |spawning: &Spawning| spawning.waiting.contains(&tid);
        let Some(at) = self.spawning.iter().position(mine) else { return };
        let spawning = &mut self.spawning[at];
        spawning.waiting.remove(&tid);
        spawning.tids.iter_mut().filter(|known| **known == tid).for_each(|known| *known = code);
        if !spawning.waiting.is_empty() {
            return;
        }
        let Spawning { client, tids, .. } = self.spawning.remove(at);
        let started: Vec<_> = tids.iter().copied().filter(|tid| tid::is_task(*tid)).collect();
        for tid in &started {
            self.tasks.entry(*tid).and_modify(|task| task.siblings.clone_from(&started));
        }
        self.answer(client, Answer::Tids { tids });
        // Those that have enrolled meanwhile could not be told who their siblings are.
        started.into_iter().for_each(|tid| self.welcome(tid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_follows_the_colon_of_a_place() {
        assert_eq!(place_and_folder("host.org:/home/joe"), ("host.org", "/home/joe"));
        assert_eq!(place_and_folder(":work"), ("", "work"));
        assert_eq!(place_and_folder("host.org"), ("host.org", ""));
        assert_eq!(place_and_folder("host.org:3"), ("host.org:3", ""));
        for (usual, asked, folder) in [
            ("", "", ""),
            ("/w", "", "/w"),
            ("", "x", "x"),
            ("/w", "x", "/w/x"),
            ("/w", "/x", "/x"),
            ("/w", "$T/x", "$T/x"),
        ] {
            assert_eq!(within(usual, asked.to_owned()), folder);
        }
    }
}
