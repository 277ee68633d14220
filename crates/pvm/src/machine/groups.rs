//! Groups: instances, barriers, static groups.

use super::ClientId;
use crate::{Code, Tid};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
struct Group {
    /// By instance.
    members: Vec<Option<Tid>>,
    barrier: Option<Barrier>,
    /// A frozen group has this size and nobody joins or leaves it.
    frozen: bool,
    /// Who waits until the group can be frozen, and at which size.
    freezing: Vec<(ClientId, usize)>,
    /// Somebody has left it when it was frozen: no barrier can be complete any more.
    broken: bool,
}

#[derive(Debug)]
struct Barrier {
    /// -1: as many as the group has.
    count: i32,
    waiting: Vec<(ClientId, Tid)>,
}

/// All groups of the virtual machine.
#[derive(Debug, Default)]
pub struct Groups(BTreeMap<String, Group>);

/// Who waits no longer, and what the call of each answers.
pub type Released = Vec<(ClientId, i32)>;

impl Group {
    fn size(&self) -> usize {
        self.members.iter().flatten().count()
    }

    fn has(&self, tid: Tid) -> bool {
        self.members.contains(&Some(tid))
    }

    /// Ends the barrier if enough are there.
    fn release(&mut self) -> Released {
        let size = self.size();
        let Some(barrier) = &self.barrier else { return Vec::new() };
        let count = usize::try_from(barrier.count).unwrap_or(size);
        if barrier.waiting.len() < count {
            return Vec::new();
        }
        self.end_barrier(0)
    }

    /// Nobody waits in the barrier any more.
    fn end_barrier(&mut self, code: i32) -> Released {
        let waiting = self.barrier.take().map_or(Vec::new(), |barrier| barrier.waiting);
        waiting.into_iter().map(|(client, _)| (client, code)).collect()
    }

    /// Ends the waiting of those that freeze it, if it has its size.
    fn freeze(&mut self) -> Released {
        let size = self.size();
        if self.freezing.first().is_none_or(|(_, wanted)| *wanted != size) {
            return Vec::new();
        }
        if self.freezing.len() < size {
            return Vec::new();
        }
        self.frozen = true;
        self.freezing.drain(..).map(|(client, _)| (client, size as i32)).collect()
    }
}

impl Groups {
    fn find(&mut self, name: &str) -> Result<&mut Group, Code> {
        if name.is_empty() {
            return Err(Code::NullGroup);
        }
        self.0.get_mut(name).ok_or(Code::NoGroup)
    }

    /// The task gets the lowest free instance.
    ///
    /// # Errors
    /// No name, a frozen group, or the task is in it.
    pub fn join(&mut self, name: &str, tid: Tid) -> Result<(i32, Released), Code> {
        if name.is_empty() {
            return Err(Code::NullGroup);
        }
        let group = self.0.entry(name.to_owned()).or_default();
        if group.has(tid) {
            return Err(Code::DupGroup);
        }
        if group.frozen {
            return Err(Code::Denied);
        }
        let free = group.members.iter().position(Option::is_none);
        let instance = free.unwrap_or_else(|| {
            group.members.push(None);
            group.members.len() - 1
        });
        group.members[instance] = Some(tid);
        Ok((instance as i32, group.freeze()))
    }

    /// # Errors
    /// No such group, or the task is not in it.
    pub fn leave(&mut self, name: &str, tid: Tid) -> Result<Released, Code> {
        let group = self.find(name)?;
        let at =
            group.members.iter().position(|member| *member == Some(tid)).ok_or(Code::NotInGroup)?;
        group.members[at] = None;
        while group.members.last() == Some(&None) {
            group.members.pop();
        }
        group.broken |= group.frozen;
        let mut released = match group.broken {
            true => group.end_barrier(Code::NoGroup.number()),
            false => group.release(),
        };
        if group.members.is_empty() {
            let left = group.freezing.drain(..);
            released.extend(left.map(|(client, _)| (client, Code::NoGroup.number())));
            self.0.remove(name);
        }
        Ok(released)
    }

    /// The task is gone: out of all groups, and of all barriers.
    pub fn gone(&mut self, client: ClientId, tid: Tid) -> Released {
        let mut released = Vec::new();
        for group in self.0.values_mut() {
            if let Some(barrier) = &mut group.barrier {
                barrier.waiting.retain(|(_, waiting)| *waiting != tid);
            }
            group.freezing.retain(|(waiting, _)| *waiting != client);
        }
        let names: Vec<_> = self
            .0
            .iter()
            .filter(|(_, group)| group.has(tid))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names {
            released.extend(self.leave(&name, tid).unwrap_or_default());
        }
        released
    }

    /// The task waits until `count` members do.
    ///
    /// # Errors
    /// It is not in the group, the others wait for another number, or somebody has left the group when it was frozen.
    pub fn barrier(
        &mut self,
        name: &str,
        client: ClientId,
        tid: Tid,
        count: i32,
    ) -> Result<Released, Code> {
        let group = self.find(name)?;
        if !group.has(tid) {
            return Err(Code::NotInGroup);
        }
        if count == 0 || count < -1 {
            return Err(Code::BadParam);
        }
        if group.broken {
            return Err(Code::NoGroup);
        }
        let barrier = group.barrier.get_or_insert(Barrier { count, waiting: Vec::new() });
        if barrier.count != count {
            return Err(Code::Mismatch);
        }
        barrier.waiting.push((client, tid));
        Ok(group.release())
    }

    /// # Errors
    /// No such group, or the task is not in it.
    pub fn instance(&mut self, name: &str, tid: Tid) -> Result<i32, Code> {
        let members = &self.find(name)?.members;
        members
            .iter()
            .position(|member| *member == Some(tid))
            .map(|at| at as i32)
            .ok_or(Code::NotInGroup)
    }

    /// # Errors
    /// No such group, or nobody has that instance.
    pub fn member(&mut self, name: &str, instance: i32) -> Result<Tid, Code> {
        let members = &self.find(name)?.members;
        let member =
            usize::try_from(instance).ok().and_then(|at| members.get(at).copied().flatten());
        member.ok_or(Code::NoInst)
    }

    /// By instance; 0 where nobody has it. A first number other than 0 says that the group is frozen.
    ///
    /// # Errors
    /// No such group.
    pub fn members(&mut self, name: &str) -> Result<Vec<Tid>, Code> {
        let group = self.find(name)?;
        let members = group.members.iter().map(|member| member.unwrap_or(0));
        Ok(std::iter::once(i32::from(group.frozen)).chain(members).collect())
    }

    /// The member waits until the group has `size` members that all want that, and then nobody joins or leaves.
    ///
    /// # Errors
    /// It is not in the group, or the group has more members or is frozen, or others want another size.
    pub fn freeze(
        &mut self,
        name: &str,
        client: ClientId,
        tid: Tid,
        size: i32,
    ) -> Result<Released, Code> {
        let group = self.find(name)?;
        if !group.has(tid) {
            return Err(Code::NotInGroup);
        }
        let size = match size {
            -1 => group.size(),
            size => usize::try_from(size).ok().filter(|size| *size > 0).ok_or(Code::BadParam)?,
        };
        if group.frozen {
            return Err(Code::DupGroup);
        }
        if group.size() > size || group.freezing.first().is_some_and(|(_, wanted)| *wanted != size)
        {
            return Err(Code::Mismatch);
        }
        group.freezing.push((client, size));
        Ok(group.freeze())
    }

    /// Names and sizes.
    pub fn list(&self) -> (Vec<String>, Vec<i32>) {
        self.0.iter().map(|(name, group)| (name.clone(), group.size() as i32)).unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instances_are_the_lowest_that_are_free() {
        let mut groups = Groups::default();
        for tid in 1..=3 {
            assert_eq!(groups.join("g", tid).expect("joins").0, tid - 1);
        }
        assert_eq!(groups.join("g", 2), Err(Code::DupGroup));
        groups.leave("g", 2).expect("leaves");
        assert_eq!(groups.join("g", 9).expect("joins").0, 1);
        assert_eq!(groups.member("g", 1), Ok(9));
        assert_eq!(groups.member("g", 3), Err(Code::NoInst));
        assert_eq!(groups.instance("g", 2), Err(Code::NotInGroup));
        assert_eq!(groups.join("", 1).expect_err("no name"), Code::NullGroup);
        assert_eq!(groups.member("h", 0), Err(Code::NoGroup));
    }

    #[test]
    fn a_barrier_waits_for_its_count_and_the_dead_do_not_hold_it() {
        let mut groups = Groups::default();
        for tid in 1..=3 {
            groups.join("g", tid).expect("joins");
        }
        assert_eq!(groups.barrier("g", 10, 1, 2), Ok(vec![]));
        assert_eq!(groups.barrier("g", 20, 2, 3), Err(Code::Mismatch));
        assert_eq!(groups.barrier("g", 20, 2, 2), Ok(vec![(10, 0), (20, 0)]));
        assert_eq!(groups.barrier("g", 10, 1, -1), Ok(vec![]));
        assert_eq!(groups.barrier("g", 20, 2, -1), Ok(vec![]));
        assert_eq!(groups.gone(30, 3), vec![(10, 0), (20, 0)]);
        assert_eq!(groups.barrier("g", 40, 4, -1), Err(Code::NotInGroup));
    }

    #[test]
    fn a_frozen_group_stays_as_it_is() {
        let mut groups = Groups::default();
        groups.join("g", 1).expect("joins");
        assert_eq!(groups.freeze("g", 10, 1, 2), Ok(vec![]));
        groups.join("g", 2).expect("joins");
        assert_eq!(groups.freeze("g", 20, 2, 2), Ok(vec![(10, 2), (20, 2)]));
        assert_eq!(groups.freeze("g", 20, 2, 2), Err(Code::DupGroup));
        assert_eq!(groups.join("g", 3).expect_err("frozen"), Code::Denied);
        assert_eq!(groups.members("g"), Ok(vec![1, 1, 2]));
    }

    #[test]
    fn a_frozen_group_that_a_member_has_left_has_no_barriers() {
        let mut groups = Groups::default();
        for tid in 1..=3 {
            groups.join("g", tid).expect("joins");
            groups.freeze("g", tid as ClientId, tid, 3).expect("waits");
        }
        assert_eq!(groups.barrier("g", 1, 1, 3), Ok(vec![]));
        assert_eq!(groups.gone(3, 3), vec![(1, Code::NoGroup.number())]);
        assert_eq!(groups.barrier("g", 2, 2, 2), Err(Code::NoGroup));
        assert_eq!(groups.leave("g", 1), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn nobody_is_in_a_group_twice_and_the_empty_vanish(steps in prop::collection::vec((0..3, 1..6i32), 0..60)) {
            let mut groups = Groups::default();
            for (what, tid) in steps {
                match what {
                    0 => drop(groups.join("g", tid)),
                    1 => drop(groups.leave("g", tid)),
                    _ => drop(groups.gone(tid as ClientId, tid)),
                }
                let Ok(members) = groups.members("g") else { continue };
                let mut tids: Vec<_> = members[1..].iter().filter(|tid| **tid != 0).collect();
                prop_assert!(!tids.is_empty());
                let all = tids.len();
                tids.sort();
                tids.dedup();
                prop_assert_eq!(all, tids.len());
            }
        }
    }
}
