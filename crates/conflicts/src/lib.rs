//! One-sided accesses to the same bytes that nothing orders, so that no standard says what comes of them: what `HPVM_CHECK`
//! looks for. Which accesses clash is the model's to say ([`Access`]).

/// What an operation does with bytes of the target.
pub trait Access: Copy + PartialEq {
    /// Whether the two may not meet at the same bytes, if they are of the same process or of two.
    fn clashes(self, other: Self, same_origin: bool) -> bool;

    /// Whether the bytes may still be changed when the operation has returned.
    fn is_put(self) -> bool;
}

/// Bytes of a target that an operation of a rank accesses: from `first` up to, without, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use<A> {
    pub first: u64,
    pub end: u64,
    pub origin: u32,
    pub access: A,
}

impl<A: Access> Use<A> {
    /// Whether there are bytes that both access.
    pub fn meets(&self, other: &Use<A>) -> bool {
        self.end.min(other.end) > self.first.max(other.first)
    }

    pub fn clashes(&self, other: &Use<A>) -> bool {
        self.meets(other) && self.access.clashes(other.access, self.origin == other.origin)
    }
}

/// Uses that a log has room for. Those beyond are not looked at, so that a program with very many of them in one
/// epoch does not need more memory for the check (24 MiB) than for its data.
const MAX_USES: usize = 1 << 20;

/// The uses of one target's memory that nothing orders so far.
#[derive(Clone, Debug)]
pub struct Log<A>(Vec<Use<A>>);

impl<A> Default for Log<A> {
    fn default() -> Log<A> {
        Log(Vec::new())
    }
}

impl<A: Access> Log<A> {
    pub fn note(&mut self, new: Use<A>) {
        if new.end <= new.first {
            return;
        }
        if let Some(last) = self.0.last_mut()
            && (last.origin, last.access) == (new.origin, new.access)
            && last.end == new.first
        {
            last.end = new.end;
        } else if self.0.len() < MAX_USES {
            self.0.push(new);
        }
    }

    /// Two uses that clash, if any do.
    pub fn conflict(&mut self) -> Option<(Use<A>, Use<A>)> {
        self.0.sort_unstable_by_key(|one| (one.first, one.end, one.origin));
        let mut open: Vec<Use<A>> = Vec::new();
        for new in &self.0 {
            open.retain(|old| old.end > new.first);
            if let Some(old) = open.iter().find(|old| old.clashes(new)) {
                return Some((*old, *new));
            }
            // The same access of the same rank once more: as if it were longer.
            let same = |old: &&mut Use<A>| (old.origin, old.access) == (new.origin, new.access);
            match open.iter_mut().find(same) {
                Some(old) => old.end = old.end.max(new.end),
                None => open.push(*new),
            }
        }
        None
    }

    /// What has fetched has been at the target; puts may still be under way. (Accumulates that fetch nothing may be,
    /// too, but are not told from those that do.)
    pub fn complete_locally(&mut self) {
        self.0.retain(|one| one.access.is_put());
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn uses(&self) -> &[Use<A>] {
        &self.0
    }
}
