//! One process's ends of a link: a segment for the members on its host, sockets for those on others.

use crate::runtime::{host_name, interfaces, net_timeout, random_key};
use hpvm_mpi::comm::dynamic::{text_of, words_of};
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use hpvm_mux::LinkEnds;
use hpvm_net::{CARD_BYTES_MAX, Card, JobKey, Lane, Opened, Settings};
use hpvm_shm::{Mapping, SegmentError, Shm};
use std::sync::Arc;

/// Longest path of a segment, bytes: `/proc/PID/fd/N` with the largest numbers has some 40.
const LONGEST_PATH: usize = 64;
/// Words of a text of so many bytes, and of its length.
const PATH: usize = 1 + LONGEST_PATH / 8;
const CARD: usize = 1 + CARD_BYTES_MAX.div_ceil(8);
/// Words of the key and path of a segment.
const SEGMENT: usize = 2 + PATH;

/// Who belongs to a link.
pub struct Members {
    /// The number of the host of each.
    pub hosts: Vec<u64>,
    /// The site of each, counted from 1; 0: nothing is known of sites.
    pub sites: Vec<u64>,
    /// This process's number among them.
    pub me: usize,
}

impl Members {
    /// `places` tells the host and the site of each in turn.
    pub fn new(places: &[u64], me: usize) -> Members {
        let (hosts, sites) = places.chunks_exact(2).map(|place| (place[0], place[1])).unzip();
        Members { hosts, sites, me }
    }

    /// Whether some of them are reached through gateways only.
    pub fn spans_sites(&self) -> bool {
        let known = |site: &u64| *site > 0;
        self.sites.iter().all(known) && self.sites.iter().any(|site| *site != self.sites[0])
    }

    /// Whether this process reaches each through its gateway only; empty: it needs none.
    fn far(&self) -> Vec<bool> {
        match self.spans_sites() {
            true => self.sites.iter().map(|site| *site != self.sites[self.me]).collect(),
            false => Vec::new(),
        }
    }

    /// The members on our host.
    fn local(&self) -> Box<[u32]> {
        let here = self.hosts[self.me];
        (0..).zip(&self.hosts).filter(|(_, host)| **host == here).map(|(at, _)| at).collect()
    }

    /// Words of what a member offers: the key and path of a segment and, where there are several hosts, a card.
    pub fn offer_words(&self) -> usize {
        if self.spans_hosts() { SEGMENT + CARD } else { SEGMENT }
    }

    /// What `member` has offered.
    fn offer_of<'a>(&self, offers: &'a [u64], member: usize) -> &'a [u64] {
        let len = self.offer_words();
        offers.get(member * len..(member + 1) * len).unwrap_or(&[0; SEGMENT + CARD])
    }

    /// Whether they are on several hosts.
    pub fn spans_hosts(&self) -> bool {
        self.hosts.iter().any(|host| *host != self.hosts[self.me])
    }

    /// The hosts of all members, counted from 0 in the order in which they come.
    fn nodes(&self) -> Vec<u32> {
        let first = |host: &u64| self.hosts.iter().position(|other| other == host).unwrap_or(0);
        self.hosts.iter().map(|host| first(host) as u32).collect()
    }
}

/// What this process has made and others have not attached to yet.
pub struct Ends {
    /// The segment of our host, at its first member.
    made: Option<(Mapping, [u64; 2])>,
    opened: Option<Opened>,
}

fn memory(cause: SegmentError) -> Error {
    Error::new(Class::Other, format!("connecting two groups: {cause}"))
}

fn network(cause: String) -> Error {
    Error::new(Class::Other, format!("connecting two groups on several hosts: {cause}"))
}

impl Ends {
    /// Makes what this member has to make.
    pub fn open(members: &Members) -> Result<Ends> {
        let local = members.local();
        let mut ends = Ends { made: None, opened: None };
        if local.len() > 1 && local[0] as usize == members.me {
            let key = random_key()?;
            let mapping = Mapping::create(local.len() as u32, key).map_err(memory)?;
            ends.made = Some((mapping, key));
        }
        if members.spans_hosts() {
            let opened = Opened::new(Settings {
                rank: members.me as u32,
                size: members.hosts.len() as u32,
                nodes: members.nodes(),
                interfaces: interfaces().map_err(network)?,
                host: host_name(),
                timeout: net_timeout()?,
                // The job's own sockets have the interfaces' programs.
                lane: Lane::Udp,
                rdma: hpvm_net::Rdma::Never,
                far: members.far(),
            });
            ends.opened = Some(opened.map_err(network)?);
        }
        Ok(ends)
    }

    /// What the others need to know: zeros if there is nothing.
    pub fn offer(&self, members: &Members) -> Vec<u64> {
        let (path, key) = match &self.made {
            Some((mapping, key)) => (mapping.path(), *key),
            None => (String::new(), [0; 2]),
        };
        let card = self.opened.as_ref().map(|opened| opened.card().text());
        let padded = |text: &str, len: usize| {
            let mut words = words_of(text.as_bytes());
            words.resize(len, 0);
            words
        };
        let segment = [key.to_vec(), padded(&path, PATH)].concat();
        let card = card.map_or_else(Vec::new, |card| padded(&card, CARD));
        let mut offer = [segment, card].concat();
        offer.resize(members.offer_words(), 0);
        offer
    }

    /// Attaches to what all members have offered. `key`: of the link.
    /// `gateway`: where members of other sites are reached.
    pub fn attach(
        self,
        members: &Members,
        offers: &[u64],
        key: JobKey,
        gateway: Option<Card>,
    ) -> Result<LinkEnds> {
        let local = members.local();
        let mut shm = None;
        if local.len() > 1 {
            let mapping = match self.made {
                Some((mapping, _)) => mapping,
                None => {
                    let (path, key) = segment(members, offers, local[0] as usize)?;
                    Mapping::join(&path, local.len() as u32, key).map_err(memory)?
                }
            };
            let place = local.iter().position(|member| *member as usize == members.me).unwrap_or(0);
            let attached = Shm::attach(Arc::new(mapping), place as u32).map_err(memory)?;
            shm = Some((attached, local));
        }
        let net = match self.opened {
            None => None,
            Some(opened) => {
                let cards = cards(members, offers, gateway.as_ref())?;
                let directory =
                    move |member: u32, _| Ok(cards.get(member as usize).cloned().flatten());
                Some(opened.join(key, Box::new(directory)).map_err(network)?)
            }
        };
        Ok(LinkEnds { size: members.hosts.len() as u32, shm, net })
    }
}

/// The path and key of the segment that `member` has made.
fn segment(members: &Members, offers: &[u64], member: usize) -> Result<(String, [u64; 2])> {
    let offer = members.offer_of(offers, member);
    let path = String::from_utf8(text_of(&offer[2..SEGMENT])).unwrap_or_default();
    if path.is_empty() {
        let text = format!("connecting two groups: member {member} has made no segment");
        return Err(Error::new(Class::Other, text));
    }
    Ok((path, [offer[0], offer[1]]))
}

/// Where all members say that they are.
pub fn cards_of(members: &Members, offers: &[u64]) -> Vec<Option<Card>> {
    let card = |member: usize| {
        let text = text_of(&members.offer_of(offers, member)[SEGMENT..]);
        Card::parse(&String::from_utf8_lossy(&text)).ok()
    };
    (0..members.hosts.len()).map(card).collect()
}

/// Where the members on other hosts are.
fn cards(members: &Members, offers: &[u64], gateway: Option<&Card>) -> Result<Vec<Option<Card>>> {
    let (here, far) = (members.hosts[members.me], members.far());
    let card = |member: usize| {
        if far.get(member).copied().unwrap_or(false) {
            return Ok(gateway.cloned());
        }
        if members.hosts[member] == here {
            return Ok(None);
        }
        let text = text_of(&members.offer_of(offers, member)[SEGMENT..]);
        Card::parse(&String::from_utf8_lossy(&text)).map(Some).map_err(network)
    };
    (0..members.hosts.len()).map(card).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpvm_fm::Packets;

    fn nowhere(hosts: &[u64], me: usize) -> Members {
        Members::new(&hosts.iter().flat_map(|host| [*host, 0]).collect::<Vec<_>>(), me)
    }

    #[test]
    fn members_of_other_sites_are_reached_through_the_gateway() {
        let members = Members::new(&[7, 1, 8, 2, 9, 1], 0);
        assert_eq!(members.far(), [false, true, false]);
        let gateway = Card::parse("9,9,gate,10.0.0.9/8").unwrap();
        let offer = members.offer_words();
        let mut offers = vec![0; 3 * offer];
        let card = Card::parse("7,7,here,10.0.0.1/8").unwrap();
        let text = words_of(card.text().as_bytes());
        offers[2 * offer + SEGMENT..][..text.len()].copy_from_slice(&text);
        // Of who is reached through the gateway no card is needed.
        let cards = cards(&members, &offers, Some(&gateway)).unwrap();
        assert_eq!(cards, [None, Some(gateway), Some(card.clone())]);
        assert_eq!(cards_of(&members, &offers), [None, None, Some(card)]);
        // At one site, or if somebody knows nothing of sites, none is.
        for places in [[7, 1, 8, 1, 9, 1], [7, 1, 8, 0, 9, 2]] {
            assert!(!Members::new(&places, 0).spans_sites());
        }
    }

    #[test]
    fn members_of_one_host_share_memory_and_others_have_sockets() {
        let members = nowhere(&[7, 9, 7, 9, 8], 3);
        assert_eq!((&*members.local(), members.nodes()), (&[1, 3][..], vec![0, 1, 0, 1, 4]));
        assert!(members.spans_hosts());
        let alone = nowhere(&[5, 5], 1);
        let ends = Ends::open(&alone).unwrap();
        assert!(ends.opened.is_none() && ends.made.is_none());
        let first = Ends::open(&nowhere(&[5, 5], 0)).unwrap();
        let offers = [first.offer(&alone), ends.offer(&alone)].concat();
        assert_eq!((offers.len(), &offers[SEGMENT..]), (2 * SEGMENT, &[0; SEGMENT][..]));
        let attached = ends.attach(&alone, &offers, JobKey::new([1; 16]), None).unwrap();
        assert!(
            attached.net.is_none()
                && attached.shm.is_some_and(|(shm, m)| shm.rank() == 1 && *m == [0, 1])
        );
    }

    #[test]
    fn what_was_not_offered_is_an_error() {
        let members = nowhere(&[5, 5, 6], 1);
        let ends = Ends { made: None, opened: None };
        let error = ends.attach(&members, &[], JobKey::new([1; 16]), None).err().unwrap();
        assert!(error.text.contains("no segment"), "{}", error.text);
        assert!(cards(&members, &[], None).unwrap_err().text.contains("card"));
    }
}
