//! How two groups of processes become connected: their roots speak over a socket, every process learns of all others
//! and offers its ends of the link, and all attach to those of the others.

use super::link_ends::{Ends, Members, OFFER, cards_of};
use super::port::host_number;
use super::sites::OwnSite;
use super::talk::Talk;
use crate::runtime::Entered;
use hpvm_fm::Rank;
use hpvm_mpi::comm::dynamic::{self, text_of, words_of};
use hpvm_mpi::engine::peers::Identity;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Comm, Error};
use hpvm_mux::LinkEnds;
use hpvm_net::JobKey;
use std::sync::Arc;

/// Version of what roots say.
const VERSION: u64 = 3;
/// Words that a root tells its group at a time, at most.
const MAX_WORDS: usize = 1 << 24;

/// A group that becomes connected with another one.
pub struct Side {
    pub comm: Arc<Comm>,
    pub root: u32,
}

/// Which of the two sides has the lower member numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Accepts,
    Connects,
    /// As [`Role::Accepts`]; the other group is what this one has spawned, wherever its job's sites are.
    Parent,
    /// As [`Role::Connects`], the other way round.
    Child,
}

impl Role {
    /// Our members have the lower numbers.
    fn is_first(self) -> bool {
        matches!(self, Role::Accepts | Role::Parent)
    }

    /// Both groups have the same gateways, if they are at sites.
    fn knows_sites(self) -> bool {
        matches!(self, Role::Parent | Role::Child)
    }
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
        let words = dynamic::tell(w, &self.comm, self.root, words, MAX_WORDS)?;
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

/// What every member tells: the processes of the other side that it knows, and its [offer](Ends::offer).
struct Rows {
    known: Vec<u64>,
    offers: Vec<u64>,
}

impl Rows {
    /// Rows of members each of whom tells of `others` processes.
    fn of(words: &[u64], others: usize) -> Rows {
        let row = row_of(others);
        let (mut known, mut offers) = (Vec::new(), Vec::new());
        for words in words.chunks_exact(row + OFFER) {
            known.extend_from_slice(&words[..row]);
            offers.extend_from_slice(&words[row..]);
        }
        Rows { known, offers }
    }
}

/// What both roots have agreed on.
struct Agreed {
    tag: i32,
    key: JobKey,
    /// What the members of the other side tell.
    theirs: Vec<u64>,
}

impl Agreed {
    fn words(&self) -> Vec<u64> {
        let text = words_of(self.key.hex().as_bytes());
        [vec![self.tag as u64], text, self.theirs.clone()].concat()
    }

    fn parse(words: &[u64]) -> Option<Agreed> {
        /// The key's digits, and their number.
        const KEY: usize = 1 + 32 / 8;
        let (tag, rest) = words.split_first()?;
        let (key, theirs) = rest.split_at_checked(KEY)?;
        let key = String::from_utf8(text_of(key)).ok()?;
        Some(Agreed {
            tag: i32::try_from(*tag).ok()?,
            key: JobKey::parse(&key)?,
            theirs: theirs.to_vec(),
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
    let own = if role.knows_sites() { w.find_own_site() } else { Ok(None) };
    let word = own.as_ref().map_or(0, |own| OwnSite::word(own.as_ref()));
    let own_site = own.as_ref().ok().and_then(|own| Some(own.as_ref()?.site));
    let our_places = dynamic::collect(w, &side.comm, &[host_number(), word])?;
    let told = side.tell(w, |w| greet(w, side, &our_places, talk.as_mut()))?;
    let (theirs, their_places) = told.split_at(told.len() / 3);
    let (ours, others) = (our_places.len() / 2, theirs.len());
    let first_of_ours = if role.is_first() { 0 } else { others };
    let places = match role.is_first() {
        true => [&our_places, their_places].concat(),
        false => [their_places, &our_places].concat(),
    };
    let me = side.comm.rank() as usize;
    let members = Members::new(&places, first_of_ours + me);
    let known: Vec<u64> = theirs
        .chunks(64)
        .map(|ids| {
            let bits = ids.iter().enumerate().filter(|(_, id)| w.process.find(**id).is_some());
            bits.fold(0, |word, (bit, _)| word | 1 << bit)
        })
        .collect();
    // Who has none offers nothing, and says so when all are asked.
    let ends = own.and_then(|own| Ok((Ends::open(&members)?, own)));
    let offer = ends.as_ref().map_or_else(|_| vec![0; OFFER], |(ends, _)| ends.offer());
    let rows = dynamic::collect(w, &side.comm, &[known, offer].concat())?;
    let agreed = side.tell(w, |w| agree(w, talk.as_mut(), &rows, (ours, others)))?;
    let agreed = Agreed::parse(&agreed).ok_or_else(|| strange("nothing that can be read"))?;
    let (mine, theirs_rows) = (Rows::of(&rows, others), Rows::of(&agreed.theirs, ours));
    let offers = match role.is_first() {
        true => [&*mine.offers, &theirs_rows.offers].concat(),
        false => [&*theirs_rows.offers, &mine.offers].concat(),
    };
    let mut space = None;
    let attached = ends.and_then(|(ends, own)| {
        if let Some(own) =
            own.as_ref().filter(|_| members.spans_sites() && side.is_root() && role.is_first())
        {
            let cards = cards_of(&members, &offers);
            space = Some(own.tell_gateways(&agreed.key, &members.sites, &cards)?);
        }
        let gateway = own.as_ref().map(OwnSite::gateway);
        ends.attach(&members, &offers, agreed.key, gateway)
    });
    all_well(w, side, talk.as_mut(), attached.as_ref().err())?;
    let mut ends = attached?;
    ends.shm.iter_mut().for_each(|(shm, _)| shm.settle());
    let both = known_by_both(&mine.known, &theirs_rows.known, ours, others);
    let known = both.get(me * row_of(others)..).unwrap_or_default();
    add(w, ends, others_first(role, ours), theirs, known)?;
    let remote = theirs.iter().map(|id| w.process.find(*id)).collect::<Option<Vec<_>>>();
    let remote = remote.ok_or(Class::Intern)?;
    let sites = members.sites.iter().skip(others_first(role, ours));
    for (rank, site) in remote.iter().zip(sites) {
        let strange = *rank >= w.job.size && *site > 0;
        strange.then(|| w.dynamic.sites.insert(*rank, (*site - 1) as u16));
    }
    w.dynamic.own_site = own_site.or(w.dynamic.own_site);
    w.dynamic.spaces.extend(space.map(|space| (remote.clone(), space)));
    Ok(Linked { remote, tag: agreed.tag })
}

/// The number of the other side's first member.
fn others_first(role: Role, ours: usize) -> usize {
    if role.is_first() { ours } else { 0 }
}

/// The root tells who its group is, and learns who the other one is: identities, and for each the number of its host and its site.
fn greet(
    w: &mut Entered,
    side: &Side,
    our_places: &[u64],
    talk: Option<&mut Talk>,
) -> Result<Vec<u64>> {
    let talk = talk.ok_or(Class::Intern)?;
    let members = side.comm.group().processes().map(|process| w.process.identity(process));
    let ours: Vec<Identity> = members.collect::<Option<_>>().ok_or_else(|| {
        let text = "a member of the group is connected no more";
        Error::new(Class::Comm, text)
    })?;
    let head = [VERSION, w.dynamic.tables];
    talk.send(w, &[&head[..], &ours, our_places].concat())?;
    let said = talk.receive(w)?;
    let (head, theirs) = match &*said {
        [version, tables, theirs @ ..] if !theirs.is_empty() && theirs.len().is_multiple_of(3) => {
            ([*version, *tables], theirs)
        }
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
    if theirs[..theirs.len() / 3].iter().any(|id| ours.contains(id)) {
        return Err(Error::new(Class::Comm, "the two groups have a process in common"));
    }
    Ok(theirs.to_vec())
}

/// The roots tell each other what their members tell. What follows from their key nobody else knows.
fn agree(
    w: &mut Entered,
    talk: Option<&mut Talk>,
    rows: &[u64],
    (ours, others): (usize, usize),
) -> Result<Vec<u64>> {
    let talk = talk.ok_or(Class::Intern)?;
    talk.send(w, rows)?;
    let theirs = talk.receive(w)?;
    if theirs.len() != others * (row_of(ours) + OFFER) {
        return Err(strange("nothing that can be read"));
    }
    let tag = talk.derive(b"hpvm link tag");
    let tag = i32::from_le_bytes([tag[0], tag[1], tag[2], tag[3]]) & i32::MAX;
    let key = JobKey::new(talk.derive(b"hpvm link key"));
    Ok(Agreed { tag, key, theirs }.words())
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
                let text = format!("rank {rank} of the group could not attach to the link");
                Err(Error::new(Class::Other, text))
            }
            (None, _) => Err(strange("that a process there could not attach to the link")),
        }
    });
    match error {
        Some(error) => Err(error.clone()),
        None => told.map(drop),
    }
}

/// The processes of the other side, whose member numbers begin with `first`, get numbers here, but for those that have one.
fn add(
    w: &mut Entered,
    ends: LinkEnds,
    first: usize,
    theirs: &[Identity],
    known: &[u64],
) -> Result<()> {
    let is_new = |place: usize| known.get(place / 64).is_none_or(|k| k >> (place % 64) & 1 == 0);
    let fresh: Vec<usize> = (0..theirs.len()).filter(|place| is_new(*place)).collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let members: Vec<u32> = fresh.iter().map(|place| (first + place) as u32).collect();
    let linked = w.process.fm_mut().transport_mut().link(ends, &members);
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
        let agreed = Agreed { tag: 5, key: JobKey::new([9; 16]), theirs: vec![7, 8] };
        let words = agreed.words();
        let read = Agreed::parse(&words).unwrap();
        assert_eq!((read.tag, read.key.hex(), &*read.theirs), (5, agreed.key.hex(), &[7, 8][..]));
        for cut in 0..6 {
            assert!(Agreed::parse(&words[..cut]).is_none(), "{cut}");
        }
        assert!(Agreed::parse(&[0; 10]).is_none());
    }
}
