//! Starting tasks.

use super::{Machine, PARENT_NONE, System, Task};
use crate::protocol::{Answer, OUTPUT_NEW, OUTPUT_SPAWN, Start};
use crate::{Code, Tid, search};

/// Flags of `pvm_spawn`.
const ON_HOST: i32 = 1;
const ON_ARCH: i32 = 2;
const DEBUG: i32 = 4;
const COMPLEMENT: i32 = 32;
const NO_PARENT: i32 = 64;

/// More in one call are refused: the number is an error of the program.
const MOST: i32 = 1 << 16;

impl Machine {
    pub(super) fn spawn(
        &mut self,
        parent: Tid,
        start: Start,
        system: &mut impl System,
    ) -> Result<Answer, Code> {
        if !(1..=MOST).contains(&start.count) || start.program.is_empty() {
            return Err(Code::BadParam);
        }
        let tids = match self.may_start_here(&start) {
            Ok(()) => self.start_all(parent, &start, system),
            Err(code) => vec![code.number(); start.count as usize],
        };
        Ok(Answer::Tids { tids })
    }

    fn may_start_here(&self, start: &Start) -> Result<(), Code> {
        let here = match start.flags & (ON_HOST | ON_ARCH) {
            0 => true,
            ON_HOST => self.is_here(&start.place),
            ON_ARCH => start.place == search::ARCH,
            _ => return Err(Code::BadParam),
        };
        if start.flags & DEBUG != 0 {
            return Err(Code::NotImpl);
        }
        let complement = start.flags & COMPLEMENT != 0;
        if here != complement { Ok(()) } else { Err(Code::NoHost) }
    }

    fn start_all(&mut self, parent: Tid, start: &Start, system: &mut impl System) -> Vec<i32> {
        let mut tids = Vec::new();
        for _ in 0..start.count {
            let code = match self.start_one(parent, start, system) {
                Ok(tid) => tid,
                Err(code) => code.number(),
            };
            tids.push(code);
            if code == Code::NoFile.number() {
                // What one does not find, the others do not either.
                tids.resize(start.count as usize, code);
            }
            if tids.len() == start.count as usize {
                break;
            }
        }
        let started: Vec<_> = tids.iter().copied().filter(|tid| *tid > 0).collect();
        for tid in &started {
            self.tasks.entry(*tid).and_modify(|task| task.siblings.clone_from(&started));
        }
        tids
    }

    fn start_one(
        &mut self,
        parent: Tid,
        start: &Start,
        system: &mut impl System,
    ) -> Result<Tid, Code> {
        let tid = self.new_tid().ok_or(Code::OutOfRes)?;
        let pid = system.start(tid, start)?;
        let no_parent = start.flags & NO_PARENT != 0;
        let task = Task {
            parent: if no_parent { PARENT_NONE } else { parent },
            client: None,
            pid,
            program: start.program.clone(),
            console: false,
            no_reset: false,
            siblings: Vec::new(),
            context: start.context,
            output: start.output.clone(),
            trace: start.trace.clone(),
        };
        self.tasks.insert(tid, task);
        self.outlets.insert(tid, start.output.clone());
        for event in [OUTPUT_SPAWN, OUTPUT_NEW] {
            self.forward(tid, event, &[], system);
        }
        Ok(tid)
    }
}
