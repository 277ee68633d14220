//! How two groups of processes become connected: their roots speak over a socket, every process learns of all others,
//! and all attach to a segment made for the purpose.

use super::talk::Talk;
use crate::runtime::Entered;
use hpvm_fm::Rank;
use hpvm_mpi::comm::dynamic::{self, text_of, words_of};
use hpvm_mpi::engine::peers::Identity;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error};
use hpvm_shm::{Mapping, Shm};
use std::sync::Arc;

/// Version of what roots say.
const VERSION: u64 = 1;
/// Words that a root tells its group at a time, at most.
const MOST: usize = 1 << 24;

/// A group that becomes connected with another one.
pub struct Side {
    pub comm: Arc<Comm>,
    pub root: u32,
}

/// Which of the two sides makes the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Accepts,
    Connects,
}

impl Side {
    pub fn is_root(&self) -> bool {
        self.comm.rank() == self.root
    }

    /// What the root has found out, told to all members; its error is everybody's.
    pub fn tell(
        &self,
        w: &mut Entered,
        from_root: impl FnOnce(&mut Entered) -> Result<Vec<u64>>,
    ) -> Result<Vec<u64>> {
        let mut failure = None;
        let words = match self.is_root().then(|| from_root(w)) {
            None => Vec::new(),
            Some(Ok(words)) => [vec![0], words].concat(),
            Some(Err(error)) => {
                let text = words_of(error.text.as_bytes());
                let words = [vec![error.class.code() as u64], text].concat();
                failure = Some(error);
                words
            }
        };
        let words = dynamic::tell(w, &self.comm, self.root, words, MOST)?;
        if let Some(error) = failure {
            return Err(error);
        }
        match words.split_first() {
            Some((0, words)) => Ok(words.to_vec()),
            Some((code, text)) => {
                let class = i32::try_from(*code).ok().and_then(Class::from_code);
                let text = String::from_utf8_lossy(&text_of(text)).into_owned();
                Err(Error::new(class.unwrap_or(Class::Other), text))
            }
            None => Err(Class::Intern.into()),
        }
    }
}

/// What both roots have agreed on.
struct Agreed {
    tag: i32,
    key: [u64; 2],
    path: String,
    /// For each member of our side a bit for each process of the other side that both know already.
    known: Vec<u64>,
}

/// Words of a bit for each of `count` processes.
fn row_of(count: usize) -> usize {
    count.div_ceil(64)
}

/// Which of each other's processes both sides know: for each of our `ours` members a row of bits. `mine` holds a
/// row for each of our members, `theirs` one for each of their `others`.
fn known_by_both(mine: &[u64], theirs: &[u64], ours: usize, others: usize) -> Vec<u64> {
    let (row, their_row) = (row_of(others), row_of(ours));
    let mut both = mine.to_vec();
    for (i, word) in both.iter_mut().enumerate() {
        let (member, base) = (i / row, i % row * 64);
        let theirs = |bit: usize| {
            let word = theirs.get((base + bit) * their_row + member / 64);
            word.is_some_and(|word| word >> (member % 64) & 1 == 1)
        };
        let kept = (0..64).filter(|bit| *word >> bit & 1 == 1 && theirs(*bit));
        *word = kept.fold(0, |word, bit| word | 1 << bit);
    }
    both
}

impl Agreed {
    fn words(&self) -> Vec<u64> {
        let head = vec![self.tag as u64, self.key[0], self.key[1], self.known.len() as u64];
        [head, self.known.clone(), words_of(self.path.as_bytes())].concat()
    }

    fn parse(words: &[u64]) -> Option<Agreed> {
        let [tag, high, low, known, rest @ ..] = words else { return None };
        let (known, path) = rest.split_at_checked(usize::try_from(*known).ok()?)?;
        Some(Agreed {
            tag: i32::try_from(*tag).ok()?,
            key: [*high, *low],
            path: String::from_utf8(text_of(path)).ok()?,
            known: known.to_vec(),
        })
    }
}

fn strange(what: &str) -> Error {
    Error::new(Class::Other, format!("the other group's root says {what}"))
}

/// Two groups all of whose processes reach each other, and have to agree on a communicator yet.
pub struct Linked {
    remote: Vec<Rank>,
    tag: i32,
}

impl Linked {
    /// The processes of the other side.
    pub fn remote(&self) -> &[Rank] {
        &self.remote
    }

    /// The intercommunicator. All members of both sides call it.
    pub fn join(self, w: &mut Entered, side: &Side) -> Result<Arc<Comm>> {
        dynamic::join(w, side.comm.group(), self.remote, self.tag)
    }
}

/// Links the group of `side`, all of whose members call it, with another. `talk` is the root's: when the root of the other
/// side ends before that is done, it is an error on all members.
pub fn link(w: &mut Entered, side: &Side, role: Role, talk: &mut Option<Talk>) -> Result<Linked> {
    let theirs = side.tell(w, |w| greet(w, side, talk.as_mut()))?;
    let ours = side.comm.size() as usize;
    let known: Vec<u64> = theirs
        .chunks(64)
        .map(|ids| {
            let bits = ids.iter().enumerate().filter(|(_, id)| w.process.find(**id).is_some());
            bits.fold(0, |word, (bit, _)| word | 1 << bit)
        })
        .collect();
    let all_known = dynamic::collect(w, &side.comm, &known)?;
    let mut made = None;
    let agreed = side.tell(w, |w| {
        let talk = talk.as_mut().ok_or(Class::Intern)?;
        let agreed = agree(w, role, talk, (ours, theirs.len()), &all_known, &mut made)?;
        Ok(agreed.words())
    })?;
    let agreed = Agreed::parse(&agreed).ok_or_else(|| strange("nothing that can be read"))?;
    let shm = attach(side, role, made, &agreed, (ours, theirs.len()));
    all_well(w, side, talk.as_mut(), shm.as_ref().err())?;
    let mut shm = shm?;
    shm.settle();
    let row = row_of(theirs.len());
    let known = agreed.known.get(side.comm.rank() as usize * row..).unwrap_or_default();
    add(w, role, shm, ours, &theirs, known)?;
    let remote = theirs.iter().map(|id| w.process.find(*id)).collect::<Option<Vec<_>>>();
    Ok(Linked { remote: remote.ok_or(Class::Intern)?, tag: agreed.tag })
}

/// The root tells who its group is, and learns who the other one is.
fn greet(w: &mut Entered, side: &Side, talk: Option<&mut Talk>) -> Result<Vec<u64>> {
    let talk = talk.ok_or(Class::Intern)?;
    let members = side.comm.group().processes().map(|process| w.process.identity(process));
    let ours: Vec<Identity> = members.collect::<Option<_>>().ok_or_else(|| {
        let text = "a member of the group is connected no more";
        Error::new(Class::Comm, text)
    })?;
    let head = [VERSION, w.dynamic.tables];
    talk.send(w, &[&head[..], &ours].concat())?;
    let said = talk.receive(w)?;
    let (head, theirs) = match &*said {
        [version, tables, theirs @ ..] if !theirs.is_empty() => ([*version, *tables], theirs),
        _ => return Err(strange("nothing that can be read")),
    };
    if head[0] != VERSION {
        let text = format!("version {}; expected {VERSION}: use the same hpvm", head[0]);
        return Err(strange(&text));
    }
    if head[1] != w.dynamic.tables {
        let text = "that it has other tables of collectives; give both groups the same HPVM_TABLES";
        return Err(strange(text));
    }
    if theirs.iter().any(|id| ours.contains(id)) {
        return Err(Error::new(Class::Comm, "the two groups have a process in common"));
    }
    Ok(theirs.to_vec())
}

/// The roots agree on the segment, which that of the side that accepts makes.
fn agree(
    w: &mut Entered,
    role: Role,
    talk: &mut Talk,
    (ours, others): (usize, usize),
    known: &[u64],
    made: &mut Option<Mapping>,
) -> Result<Agreed> {
    let expected = others * row_of(ours);
    let both = |theirs: &[u64]| match theirs.len() == expected {
        true => Ok(known_by_both(known, theirs, ours, others)),
        false => Err(strange("nothing that can be read")),
    };
    if role == Role::Connects {
        let said = talk.receive(w)?;
        let agreed = Agreed::parse(&said).ok_or_else(|| strange("nothing that can be read"))?;
        talk.send(w, known)?;
        return Ok(Agreed { known: both(&agreed.known)?, ..agreed });
    }
    let [high, low] = crate::runtime::random_key()?;
    let mapping = Mapping::create((ours + others) as u32, [high, low]).map_err(memory)?;
    let path = mapping.path();
    *made = Some(mapping);
    let tag = (high ^ low) as i32 & i32::MAX;
    let mut agreed = Agreed { tag, key: [high, low], path, known: known.to_vec() };
    talk.send(w, &agreed.words())?;
    agreed.known = both(&talk.receive(w)?)?;
    Ok(agreed)
}

fn memory(cause: hpvm_shm::SegmentError) -> Error {
    Error::new(Class::Other, format!("connecting two groups: {cause}"))
}

/// Maps the segment and takes this process's slot of it.
fn attach(
    side: &Side,
    role: Role,
    made: Option<Mapping>,
    agreed: &Agreed,
    (ours, others): (usize, usize),
) -> Result<Shm> {
    let mapping = match made {
        Some(mapping) => mapping,
        None => Mapping::join(&agreed.path, (ours + others) as u32, agreed.key).map_err(memory)?,
    };
    let first = if role == Role::Accepts { 0 } else { others as u32 };
    Shm::attach(Arc::new(mapping), first + side.comm.rank()).map_err(memory)
}

/// Waits until all processes of both sides have attached; an error when one of them could not.
fn all_well(
    w: &mut Entered,
    side: &Side,
    talk: Option<&mut Talk>,
    error: Option<&Error>,
) -> Result<()> {
    let well = dynamic::collect(w, &side.comm, &[u64::from(error.is_none())])?;
    let told = side.tell(w, |w| {
        let talk = talk.ok_or(Class::Intern)?;
        let ours = well.iter().position(|well| *well == 0);
        talk.send(w, &[u64::from(ours.is_none())])?;
        let theirs = talk.receive(w)?;
        match (ours, &*theirs) {
            (None, [1]) => Ok(Vec::new()),
            (Some(rank), _) => {
                let text = format!("rank {rank} of the group could not attach to the segment");
                Err(Error::new(Class::Other, text))
            }
            (None, _) => Err(strange("that a process there could not attach to the segment")),
        }
    });
    match error {
        Some(error) => Err(error.clone()),
        None => told.map(drop),
    }
}

/// The processes of the other side get numbers here, but for those that have one.
fn add(
    w: &mut Entered,
    role: Role,
    shm: Shm,
    ours: usize,
    theirs: &[Identity],
    known: &[u64],
) -> Result<()> {
    let first = if role == Role::Accepts { ours } else { 0 };
    let is_new = |place: usize| known.get(place / 64).is_none_or(|k| k >> (place % 64) & 1 == 0);
    let fresh: Vec<usize> = (0..theirs.len()).filter(|place| is_new(*place)).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let slots: Vec<u32> = fresh.iter().map(|place| (first + place) as u32).collect();
    let linked = w.process.fm_mut().transport_mut().link(shm, &slots);
    linked.map_err(|e| Error::new(Class::Other, format!("connecting two groups: {e}")))?;
    w.objects.forget_bell();
    let identities: Vec<Identity> = fresh.iter().map(|place| theirs[*place]).collect();
    w.process.add_peers(&identities);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_know_is_found() {
        // Two of ours, three of theirs: we know (0,1), (1,0), (1,2); they know (1,0) and (2,1).
        let both = known_by_both(&[0b010, 0b101], &[0b00, 0b01, 0b10], 2, 3);
        assert_eq!(both, [0b010, 0b100]);
        // Rows of two words: ours knows the 70th of theirs, who knows it too.
        let mut theirs = vec![0; 71];
        theirs[70] = 1;
        assert_eq!(known_by_both(&[1, 1 << 6], &theirs, 1, 71), [0, 1 << 6]);
    }

    #[test]
    fn agreements_are_read_as_they_were_written() {
        let agreed = Agreed { tag: 5, key: [1, 2], path: "/proc/1/fd/3".into(), known: vec![7, 8] };
        let words = agreed.words();
        let read = Agreed::parse(&words).unwrap();
        assert_eq!((read.tag, read.key, &*read.path), (5, [1, 2], "/proc/1/fd/3"));
        assert_eq!(read.known, [7, 8]);
        for cut in 0..5 {
            assert!(Agreed::parse(&words[..cut]).is_none(), "{cut}");
        }
        assert!(Agreed::parse(&[0, 0, 0, u64::MAX, 0]).is_none());
    }
}
