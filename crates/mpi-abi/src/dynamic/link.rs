//! How two groups of processes become connected: their roots speak over a socket, every process learns of all others
//! and offers its ends of the link, and all attach to those of the others.

use super::link_ends::{Ends, Members, cards_of};
use super::port::host_number;
use super::sites::{self, OwnSite};
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
const VERSION: u64 = 4;
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

    /// Both groups have the same gateways, if they are at sites, however their roots have met.
    fn is_family(self) -> bool {
        matches!(self, Role::Parent | Role::Child)
    }
}

impl Side {
    pub fn is_root(&self) -> bool {
        self.comm.rank() == self.root
    }

    /// As many words of every member, in rank order, at the root; nothing at the others.
    fn collect(&self, w: &mut Entered, words: &[u64]) -> Result<Vec<u64>> {
        dynamic::collect_at(w, &self.comm, self.root, words)
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

/// What the members of a side tell: the processes of the other side that each knows, and its [offer](Ends::offer).
#[derive(Debug, PartialEq, Eq)]
struct Rows {
    /// A row of bits for each member.
    known: Vec<u64>,
    /// As many words for each member; zeros where it offers nothing.
    offers: Vec<u64>,
}

impl Rows {
    /// What has been collected of members each of whom tells of `others` processes.
    fn collected(words: &[u64], others: usize, offer: usize) -> Rows {
        let row = row_of(others);
        let (mut known, mut offers) = (Vec::new(), Vec::new());
        for words in words.chunks_exact(row + offer) {
            known.extend_from_slice(&words[..row]);
            offers.extend_from_slice(&words[row..]);
        }
        Rows { known, offers }
    }

    /// Of members who know nobody and offer nothing.
    fn none(shape: Shape) -> Rows {
        let Shape { ours, others, offer } = shape;
        Rows { known: vec![0; ours * row_of(others)], offers: vec![0; ours * offer] }
    }

    /// In words of which there are few, because few members offer anything where all are on one host.
    fn packed(&self, offer: usize) -> Vec<u64> {
        let mut words = self.known.clone();
        for (member, offer) in (0..).zip(self.offers.chunks_exact(offer)) {
            if offer.iter().any(|word| *word != 0) {
                words.push(member);
                words.extend_from_slice(offer);
            }
        }
        words
    }

    /// The same read again, of `count` members.
    fn unpacked(words: &[u64], count: usize, others: usize, offer: usize) -> Option<Rows> {
        let (known, packed) = words.split_at_checked(count * row_of(others))?;
        let mut offers = vec![0; count * offer];
        let (packed, rest) = (packed.chunks_exact(1 + offer), packed.len() % (1 + offer));
        for words in packed {
            let member = usize::try_from(words[0]).ok().filter(|member| *member < count)?;
            offers[member * offer..][..offer].copy_from_slice(&words[1..]);
        }
        (rest == 0).then(|| Rows { known: known.to_vec(), offers })
    }
}

/// What both roots have agreed on, and what the members of both sides tell.
struct Agreed {
    tag: i32,
    key: JobKey,
    ours: Rows,
    theirs: Rows,
}

/// The numbers of members of both sides, and how many words of an offer each of them tells.
#[derive(Clone, Copy)]
struct Shape {
    ours: usize,
    others: usize,
    offer: usize,
}

impl Agreed {
    fn words(tag: i32, key: &JobKey, ours: &[u64], theirs: &[u64]) -> Vec<u64> {
        let text = words_of(key.hex().as_bytes());
        [&[tag as u64], &*text, &[ours.len() as u64], ours, theirs].concat()
    }

    fn parse(words: &[u64], shape: Shape) -> Option<Agreed> {
        /// The key's digits, and their number.
        const KEY: usize = 1 + 32 / 8;
        let (tag, rest) = words.split_first()?;
        let (key, rest) = rest.split_at_checked(KEY)?;
        let key = String::from_utf8(text_of(key)).ok()?;
        let (len, rest) = rest.split_first()?;
        let (ours, theirs) = rest.split_at_checked(usize::try_from(*len).ok()?)?;
        let Shape { ours: count, others, offer } = shape;
        Some(Agreed {
            tag: i32::try_from(*tag).ok()?,
            key: JobKey::parse(&key)?,
            ours: Rows::unpacked(ours, count, others, offer)?,
            theirs: Rows::unpacked(theirs, others, count, offer)?,
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

/// Links the group of `side`, all of whose members call it, with another. `meet` makes the connection to the other side's root; it is
/// called at the root, which gets the connection back. When the root of the other side ends before all is done, it is an error on
/// all members.
pub fn link(
    w: &mut Entered,
    side: &Side,
    role: Role,
    meet: impl FnOnce(&mut Entered) -> Result<Talk>,
) -> Result<(Linked, Option<Talk>)> {
    let own = w.find_own_site();
    let own_site = own.as_ref().ok().and_then(|own| Some(own.as_ref()?.site));
    let (greeted, mut talk) =
        greet(w, side, role, own.as_ref().ok().and_then(Option::as_ref), meet)?;
    let members = greeted.members(role, side.comm.rank() as usize);
    // Who has none offers nothing, and says so when all are asked.
    let ends = own.and_then(|own| Ok((Ends::open(&members)?, own)));
    let agreed = match greeted.agreed {
        Some(agreed) => agreed,
        None => {
            agree(w, side, &mut talk, &greeted, (&members, ends.as_ref().ok().map(|ends| &ends.0)))?
        }
    };
    let (ours, theirs) = (side.comm.size() as usize, &*greeted.theirs);
    let offers = match role.is_first() {
        true => [&*agreed.ours.offers, &agreed.theirs.offers].concat(),
        false => [&*agreed.theirs.offers, &agreed.ours.offers].concat(),
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
    let both = known_by_both(&agreed.ours.known, &agreed.theirs.known, ours, theirs.len());
    let known = both.get(side.comm.rank() as usize * row_of(theirs.len())..).unwrap_or_default();
    add(w, ends, others_first(role, ours), theirs, known)?;
    let remote = theirs.iter().map(|id| w.process.find(*id)).collect::<Option<Vec<_>>>();
    let remote = remote.ok_or(Class::Intern)?;
    let their_sites = members.sites.iter().skip(others_first(role, ours));
    for (rank, site) in remote.iter().zip(their_sites) {
        let strange = *rank >= w.job.size && *site > 0;
        strange.then(|| w.dynamic.sites.insert(*rank, (*site - 1) as u16));
    }
    // Gateways know processes of our own job.
    let space = space.filter(|_| remote.iter().any(|rank| *rank >= w.job.size));
    w.dynamic.own_site = own_site.or(w.dynamic.own_site);
    w.dynamic.spaces.extend(space.map(|space| (remote.clone(), space)));
    Ok((Linked { remote, tag: agreed.tag }, talk))
}

/// The number of the other side's first member.
fn others_first(role: Role, ours: usize) -> usize {
    if role.is_first() { ours } else { 0 }
}

/// What every member knows once the roots have told each other who their groups are.
struct Greeted {
    /// The host's number and the site of each of our members, one after the other.
    our_places: Vec<u64>,
    /// The identities of the others.
    theirs: Vec<Identity>,
    their_places: Vec<u64>,
    /// Of those who need not be asked what they offer: what the roots have agreed on already.
    agreed: Option<Agreed>,
}

impl Greeted {
    fn words(our_places: &[u64], others: &[u64], agreed: &[u64]) -> Vec<u64> {
        [&[others.len() as u64], our_places, others, agreed].concat()
    }

    /// `ours`: how many we are.
    fn parse(words: &[u64], ours: usize, role: Role) -> Option<Greeted> {
        let (len, rest) = words.split_first()?;
        let (our_places, rest) = rest.split_at_checked(2 * ours)?;
        let (others, agreed) = rest.split_at_checked(usize::try_from(*len).ok()?)?;
        let (theirs, their_places) = others.split_at(others.len() / 3);
        let (our_places, their_places) = (our_places.to_vec(), their_places.to_vec());
        let mut greeted =
            Greeted { our_places, theirs: theirs.to_vec(), their_places, agreed: None };
        if !agreed.is_empty() {
            let shape = greeted.shape(&greeted.members(role, 0));
            greeted.agreed = Some(Agreed::parse(agreed, shape)?);
        }
        Some(greeted)
    }

    /// All members of both sides, seen from number `me` of ours.
    fn members(&self, role: Role, me: usize) -> Members {
        let places = match role.is_first() {
            true => [&*self.our_places, &self.their_places].concat(),
            false => [&*self.their_places, &self.our_places].concat(),
        };
        let first_of_ours = if role.is_first() { 0 } else { self.theirs.len() };
        Members::new(&places, first_of_ours + me)
    }

    fn shape(&self, members: &Members) -> Shape {
        let (ours, others) = (self.our_places.len() / 2, self.theirs.len());
        Shape { ours, others, offer: members.offer_words() }
    }
}

/// The roots meet and tell each other who their groups are: identities, and of each the number of its host and its site. All of our
/// group are told. `own`: our site.
fn greet(
    w: &mut Entered,
    side: &Side,
    role: Role,
    own: Option<&OwnSite>,
    meet: impl FnOnce(&mut Entered) -> Result<Talk>,
) -> Result<(Greeted, Option<Talk>)> {
    let ours = side.comm.size() as usize;
    let place = |_| [host_number(), OwnSite::word(own)];
    // Those of one host of our job need not be asked where they are.
    let first = w.job.size;
    let together =
        !w.process.fm().transport().spans_hosts() && !side.comm.has_member(|p| p >= first);
    let places = match together {
        true if side.is_root() => place(()).repeat(ours),
        true => Vec::new(),
        false => side.collect(w, &place(()))?,
    };
    // Members of a job that was started apart count the sites of theirs, if it has some.
    let family = !side.comm.has_member(|p| p >= first && !w.dynamic.sites.contains_key(&p));
    let mut talk = None;
    let told = side.tell(w, |w| {
        let talk = talk.insert(meet(w)?);
        let shares = role.is_family() || family && talk.shares_gateways();
        let places = places_for(places, shares)?;
        let others = introduce(w, side, &places, talk)?;
        let all = Greeted::words(&places, &others, &[]);
        let greeted = Greeted::parse(&all, ours, role).ok_or(Class::Intern)?;
        let members = greeted.members(role, 0);
        // The others, who come first, make all that there is to make on one host, and nobody knows anybody yet.
        if role != Role::Child || members.spans_hosts() {
            return Ok(all);
        }
        let agreed =
            swap_rows(w, talk, &Rows::none(greeted.shape(&members)), greeted.shape(&members))?;
        Ok(Greeted::words(&places, &others, &agreed))
    })?;
    let greeted = Greeted::parse(&told, ours, role).ok_or(Class::Intern)?;
    Ok((greeted, talk))
}

/// What the other group is told of our `places`: no sites unless it has the same gateways.
fn places_for(mut places: Vec<u64>, shares_gateways: bool) -> Result<Vec<u64>> {
    if shares_gateways {
        return Ok(places);
    }
    let mut each = places.chunks_exact(2).map(|place| place[1]);
    let first = each.next();
    if each.any(|site| Some(site) != first) {
        return Err(sites::strange("the job that connects does not share their gateways"));
    }
    places.chunks_exact_mut(2).for_each(|place| place[1] = 0);
    Ok(places)
}

/// The root tells who its group is, and learns who the other one is.
fn introduce(
    w: &mut Entered,
    side: &Side,
    our_places: &[u64],
    talk: &mut Talk,
) -> Result<Vec<u64>> {
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

/// The members tell their root whom of the other side they know and what they offer (`ends`), and it tells all what the roots have
/// agreed on.
fn agree(
    w: &mut Entered,
    side: &Side,
    talk: &mut Option<Talk>,
    greeted: &Greeted,
    (members, ends): (&Members, Option<&Ends>),
) -> Result<Agreed> {
    let shape = greeted.shape(members);
    let known: Vec<u64> = greeted
        .theirs
        .chunks(64)
        .map(|ids| {
            let bits = ids.iter().enumerate().filter(|(_, id)| w.process.find(**id).is_some());
            bits.fold(0, |word, (bit, _)| word | 1 << bit)
        })
        .collect();
    let offer = ends.map_or_else(|| vec![0; shape.offer], |ends| ends.offer(members));
    let rows = side.collect(w, &[known, offer].concat())?;
    let agreed = side.tell(w, |w| {
        let rows = Rows::collected(&rows, shape.others, shape.offer);
        swap_rows(w, talk.as_mut().ok_or(Class::Intern)?, &rows, shape)
    })?;
    Agreed::parse(&agreed, shape).ok_or_else(|| strange("nothing that can be read"))
}

/// The roots tell each other what their members tell. What follows from their key nobody else knows.
fn swap_rows(w: &mut Entered, talk: &mut Talk, rows: &Rows, shape: Shape) -> Result<Vec<u64>> {
    let ours = rows.packed(shape.offer);
    talk.send(w, &ours)?;
    let theirs = talk.receive(w)?;
    if Rows::unpacked(&theirs, shape.others, shape.ours, shape.offer).is_none() {
        return Err(strange("nothing that can be read"));
    }
    let tag = talk.derive(b"hpvm link tag");
    let tag = i32::from_le_bytes([tag[0], tag[1], tag[2], tag[3]]) & i32::MAX;
    let key = JobKey::new(talk.derive(b"hpvm link key"));
    Ok(Agreed::words(tag, &key, &ours, &theirs))
}

/// Waits until all processes of both sides have attached; an error when one of them could not.
fn all_well(
    w: &mut Entered,
    side: &Side,
    talk: Option<&mut Talk>,
    error: Option<&Error>,
) -> Result<()> {
    let well = side.collect(w, &[u64::from(error.is_none())])?;
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
        // Two of ours, three of theirs, offers of two words, of which one member has one.
        let shape = Shape { ours: 2, others: 3, offer: 2 };
        let rows = [0b010, 8, 9, 0b101, 0, 0];
        let ours = Rows::collected(&rows, 3, 2);
        assert_eq!((&*ours.known, &*ours.offers), (&[0b010, 0b101][..], &[8, 9, 0, 0][..]));
        let theirs = Rows { known: vec![1, 2, 3], offers: vec![0, 0, 0, 0, 0, 7] };
        let (packed, their_words) = (ours.packed(2), theirs.packed(2));
        assert_eq!((&*packed, their_words.len()), (&[0b010, 0b101, 0, 8, 9][..], 3 + 3));
        let key = JobKey::new([9; 16]);
        let words = Agreed::words(5, &key, &packed, &their_words);
        let read = Agreed::parse(&words, shape).unwrap();
        assert_eq!((read.tag, read.key.hex()), (5, key.hex()));
        assert_eq!((read.ours, read.theirs), (ours, theirs));
        // Of 1 word for the tag, 5 for the key, 1 for a length, 5 and 6: no part can be read but one without offers.
        let readable: Vec<usize> =
            (0..words.len()).filter(|cut| Agreed::parse(&words[..*cut], shape).is_some()).collect();
        assert_eq!(readable, [7 + 5 + 3]);
        assert!(Agreed::parse(&[0; 10], shape).is_none());
        // A member that there is not.
        assert_eq!(Rows::unpacked(&[1, 2, 3, 3, 0, 7], 3, 2, 2), None);
    }
}
