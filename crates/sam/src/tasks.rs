//! Tasks: each rank takes its newest first; a rank that has none asks the others, who give their oldest.
//!
//! A phase is over when no rank has a task and none is on its way. That is found by Safra's algorithm (Dijkstra, EWD
//! 998): a token goes round the idle ranks and adds up tasks sent less tasks received; a rank that has received one since
//! it last had the token spoils the round.

use crate::Fault;
use crate::Name;
use crate::content::Content;
use crate::machine::Machine;
use crate::message::{Head, Kind, Rank};
use std::collections::VecDeque;

/// What a rank does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    Task(Vec<u8>),
    /// Nothing yet: ask again after messages have come.
    Wait,
    /// All tasks of all ranks are done. What is added from now on belongs to the next phase.
    Over,
}

#[derive(Clone, Copy)]
struct Token {
    phase: u64,
    balance: i64,
    spoilt: bool,
}

pub(crate) struct Tasks {
    me: Rank,
    /// The first so many ranks share tasks.
    ranks: u32,
    phase: u64,
    queue: VecDeque<Vec<u8>>,
    /// The program waits for a task.
    idle: bool,
    /// The phase before was over, which the program was not told yet.
    over: bool,
    /// Who has asked for a task, and those who have ended this phase already.
    thieves: VecDeque<Rank>,
    early: VecDeque<Rank>,
    /// Whom this rank has asked, and who has not given anything since.
    asked: Box<[bool]>,
    /// Tasks sent less tasks received.
    balance: i64,
    /// A task was received since the token was last here.
    spoils: bool,
    token: Option<Token>,
    /// Rank 0: the token is on its way.
    round: bool,
}

impl Tasks {
    pub fn new(me: Rank, ranks: u32) -> Tasks {
        Tasks {
            me,
            ranks,
            phase: 0,
            queue: VecDeque::new(),
            idle: false,
            over: false,
            thieves: VecDeque::new(),
            early: VecDeque::new(),
            asked: vec![false; ranks as usize].into(),
            balance: 0,
            spoils: false,
            token: None,
            round: false,
        }
    }

    /// Everything as at the beginning, but for what others have said about the next phase.
    fn end_phase(&mut self) {
        self.phase += 1;
        // Active until the program asks again: it may add tasks.
        (self.over, self.idle) = (true, false);
        self.thieves = std::mem::take(&mut self.early);
        self.asked.fill(false);
        (self.balance, self.spoils, self.round) = (0, false, false);
    }

    /// Whether this rank, or another as far as this one has heard, is in the middle of a phase.
    fn is_under_way(&self) -> bool {
        self.idle || self.over || !self.queue.is_empty() || !self.thieves.is_empty()
    }

    /// Who can have a task that this rank can spare.
    fn thief(&mut self) -> Option<(Rank, Vec<u8>)> {
        if self.queue.len() < 1 + usize::from(self.idle) {
            return None;
        }
        let thief = self.thieves.pop_front()?;
        self.queue.pop_front().map(|task| (thief, task))
    }
}

/// Tasks have no names.
const NAMELESS: Name = Name { space: 0, key: 0 };

/// The number of a phase has that of its series above so many bits.
const PHASE_BITS: u32 = 32;

impl Machine {
    /// From now on the first `ranks` ranks share tasks. Each of them says so, between two phases, with the same numbers, and adds or
    /// asks for no task until all have. `series` grows from call to call, so that they agree on the numbers of phases, of which
    /// ranks that were left out have seen fewer.
    ///
    /// # Errors
    /// This rank is none of them; a phase is under way; the series is no later one.
    pub fn task_ranks(&mut self, ranks: u32, series: u64) -> Result<(), Fault> {
        let (me, all) = (self.me, self.ranks);
        if ranks <= me || ranks > all {
            let least = me + 1;
            let text = format!("tasks of the first {ranks} ranks; expected {least} to {all}");
            return Err(Fault::new(text));
        }
        let (least, most) = ((self.tasks.phase >> PHASE_BITS) + 1, u64::MAX >> PHASE_BITS);
        if series < least || series > most {
            let text = format!("series {series} of tasks; expected {least} to {most}");
            return Err(Fault::new(text));
        }
        if self.tasks.is_under_way() {
            return Err(Fault::new("other ranks share tasks while a phase of them is under way"));
        }
        let fresh = Tasks::new(me, all);
        self.tasks = Tasks { ranks, phase: series << PHASE_BITS, ..fresh };
        Ok(())
    }

    /// A task for any rank, of a form that the program chooses.
    ///
    /// # Errors
    /// This rank waits for a task.
    pub fn task_add(&mut self, task: &[u8]) -> Result<(), Fault> {
        if self.tasks.idle {
            return Err(Fault::new("a task is added while the rank waits for one"));
        }
        let mut copy = Vec::new();
        copy.try_reserve_exact(task.len()).map_err(|_| Fault::no_memory(task.len()))?;
        copy.extend_from_slice(task);
        self.tasks.queue.push_back(copy);
        self.give()?;
        self.settle()
    }

    /// The next task of this rank, from wherever. After `Wait` the program has to ask again, and adds no tasks meanwhile.
    ///
    /// # Errors
    /// There is no memory.
    pub fn task_next(&mut self) -> Result<Next, Fault> {
        if std::mem::take(&mut self.tasks.over) {
            self.tasks.idle = false;
            return Ok(Next::Over);
        }
        if let Some(task) = self.tasks.queue.pop_back() {
            self.tasks.idle = false;
            return Ok(Next::Task(task));
        }
        self.tasks.idle = true;
        for victim in 0..self.tasks.ranks {
            if victim != self.me && !std::mem::replace(&mut self.tasks.asked[victim as usize], true)
            {
                let a = self.tasks.phase;
                self.post(victim, Head { a, ..Head::new(Kind::Ask, NAMELESS) }, None)?;
            }
        }
        self.look_for_the_end()?;
        self.settle()?;
        if self.tasks.over { self.task_next() } else { Ok(Next::Wait) }
    }

    fn give(&mut self) -> Result<(), Fault> {
        while let Some((thief, task)) = self.tasks.thief() {
            self.tasks.balance += 1;
            let a = self.tasks.phase;
            let content = Content::Bytes(self.store.copied(&task)?);
            self.post(thief, Head { a, ..Head::new(Kind::Give, NAMELESS) }, Some(content))?;
        }
        Ok(())
    }

    /// An idle rank hands the token on; rank 0 makes it, and looks at what it brings back.
    fn look_for_the_end(&mut self) -> Result<(), Fault> {
        let tasks = &mut self.tasks;
        if !tasks.idle || !tasks.queue.is_empty() {
            return Ok(());
        }
        let current = tasks.token.take_if(|token| token.phase == tasks.phase);
        let token = match (tasks.me, current) {
            (0, Some(token)) => {
                tasks.round = false;
                if !token.spoilt && !tasks.spoils && token.balance + tasks.balance == 0 {
                    return self.tell_over();
                }
                Some(Token { phase: tasks.phase, balance: 0, spoilt: false })
            }
            (0, None) if tasks.ranks == 1 => return self.tell_over(),
            (0, None) if !tasks.round => {
                Some(Token { phase: tasks.phase, balance: 0, spoilt: false })
            }
            (0, None) => None,
            (_, token) => token.map(|token| Token {
                phase: token.phase,
                balance: token.balance + tasks.balance,
                spoilt: token.spoilt || tasks.spoils,
            }),
        };
        let Some(token) = token else { return Ok(()) };
        (tasks.spoils, tasks.round) = (false, true);
        let head = Head {
            a: token.phase,
            b: token.balance as u64,
            rank: token.spoilt.into(),
            ..Head::new(Kind::Token, NAMELESS)
        };
        self.post((self.me + 1) % self.tasks.ranks, head, None)
    }

    fn tell_over(&mut self) -> Result<(), Fault> {
        let a = self.tasks.phase;
        for rank in 1..self.tasks.ranks {
            self.post(rank, Head { a, ..Head::new(Kind::Over, NAMELESS) }, None)?;
        }
        self.tasks.end_phase();
        Ok(())
    }

    pub(crate) fn task_word(&mut self, from: Rank, head: &Head) -> Result<(), Fault> {
        let tasks = &mut self.tasks;
        match head.kind {
            // The phase is over, which the thief will hear, or has heard.
            Kind::Ask if head.a < tasks.phase => Ok(()),
            _ if from >= tasks.ranks => {
                Err(self.absurd(from, head, "comes from a rank that has no part in these tasks"))
            }
            Kind::Ask if head.a == tasks.phase && !tasks.thieves.contains(&from) => {
                tasks.thieves.push_back(from);
                self.give()
            }
            Kind::Ask if head.a == tasks.phase + 1 && !tasks.early.contains(&from) => {
                tasks.early.push_back(from);
                Ok(())
            }
            Kind::Token
                if (head.a == tasks.phase || head.a == tasks.phase + 1)
                    && tasks.token.is_none()
                    && head.rank <= 1 =>
            {
                let spoilt = head.rank == 1;
                tasks.token = Some(Token { phase: head.a, balance: head.b as i64, spoilt });
                self.look_for_the_end()
            }
            Kind::Over if head.a == tasks.phase && from == 0 && tasks.idle => {
                tasks.end_phase();
                Ok(())
            }
            _ => Err(self.absurd(from, head, "does not belong to this phase of tasks")),
        }
    }

    pub(crate) fn task_came(
        &mut self,
        from: Rank,
        head: &Head,
        content: &Content,
    ) -> Result<(), Fault> {
        let tasks = &mut self.tasks;
        let Content::Bytes(bytes) = content else {
            return Err(self.absurd(from, head, "has a content of a type"));
        };
        if head.a != tasks.phase || !std::mem::take(&mut tasks.asked[from as usize]) {
            return Err(self.absurd(from, head, "was not asked for"));
        }
        tasks.balance -= 1;
        tasks.spoils = true;
        tasks.queue.push_back(bytes.bytes().to_vec());
        self.counters.stolen += 1;
        self.give()
    }
}
