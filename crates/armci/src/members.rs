//! Groups of processes, and binary trees of them.

/// The processes of a group, by their numbers in the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    world: Box<[u32]>,
    /// Number in the group of the process that asks.
    me: Option<usize>,
}

impl Members {
    /// Numbers in the world, without a number twice.
    pub fn new(world: Box<[u32]>, me: u32) -> Members {
        let me = world.iter().position(|member| *member == me);
        Members { world, me }
    }

    /// The members of this group that `list` names by their numbers in it.
    ///
    /// # Errors
    /// Names the number, and what was expected.
    pub fn child(&self, list: &[i32], me: u32) -> Result<Members, String> {
        let mut world = Vec::with_capacity(list.len());
        for (i, number) in list.iter().enumerate() {
            let member = usize::try_from(*number).ok().and_then(|number| self.world.get(number));
            let Some(member) = member else {
                let last = self.world.len() as i64 - 1;
                return Err(format!("pid_list[{i}] is process {number}; expected 0 to {last}"));
            };
            if world.contains(member) {
                return Err(format!("pid_list[{i}] is process {number}, which is listed before"));
            }
            world.push(*member);
        }
        Ok(Members::new(world.into(), me))
    }

    pub fn len(&self) -> usize {
        self.world.len()
    }

    pub fn is_empty(&self) -> bool {
        self.world.is_empty()
    }

    /// Number in the group of the process that asks.
    pub fn me(&self) -> Option<usize> {
        self.me
    }

    /// Number in the world of a member.
    pub fn world(&self, number: usize) -> Option<u32> {
        self.world.get(number).copied()
    }

    /// Numbers in the world of all members.
    pub fn all(&self) -> &[u32] {
        &self.world
    }
}

/// A process's neighbours in a binary tree of `len`: above it, and below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Children {
    pub up: Option<usize>,
    pub left: Option<usize>,
    pub right: Option<usize>,
}

/// The neighbours of process `me` in the tree whose root is process 0.
pub fn children(me: usize, len: usize) -> Children {
    let below = |child: usize| Some(child).filter(|child| *child < len);
    Children {
        up: me.checked_sub(1).map(|i| i / 2),
        left: below(2 * me + 1),
        right: below(2 * me + 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_groups() {
        let world = Members::new((0..8).collect(), 5);
        let odd = world.child(&[7, 5, 3, 1], 5).unwrap();
        assert_eq!((odd.me(), odd.world(0), odd.world(4)), (Some(1), Some(7), None));
        let pair = odd.child(&[3, 0], 5).unwrap();
        assert_eq!((pair.all(), pair.me()), (&[1, 7][..], None));
        let error = odd.child(&[4], 5).expect_err("no member");
        assert!(error.contains("pid_list[0] is process 4; expected 0 to 3"), "{error}");
        assert!(world.child(&[0, -1], 5).is_err());
        assert!(world.child(&[2, 3, 2], 5).expect_err("twice").contains("listed before"));
        assert!(world.child(&[], 5).unwrap().is_empty());
    }

    #[test]
    fn every_child_knows_its_parent() {
        for len in 1..20 {
            let mut found = vec![0];
            for me in 0..len {
                let Children { left, right, .. } = children(me, len);
                for child in left.into_iter().chain(right) {
                    assert_eq!(children(child, len).up, Some(me));
                    found.push(child);
                }
            }
            found.sort_unstable();
            assert_eq!(found, (0..len).collect::<Vec<_>>());
            assert_eq!(children(0, len).up, None);
        }
    }
}
