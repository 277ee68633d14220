//! A look at a job's segment from outside: no signal, no stop, nothing written.
//!
//! The segment is read through its file, not mapped: whatever its owners do to it meanwhile, a
//! read ends with bytes or an error.

use hpvm_wire::counters::Counters;
use hpvm_wire::pending::{PENDING, Snapshot, Stage};
use hpvm_wire::segment::{
    CONTROL, Control, Geometry, HEADER, Header, Identity, MAGIC, MAX_RANKS, VERSION,
};
use hpvm_wire::traffic::{MEMBERS, PEERS, Peer, Traffic};
use std::fs::File;
use std::mem::{offset_of, size_of};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use crate::segment::SegmentError;

/// Name of a segment's file as `/proc/PID/fd/N` shows it.
pub const LINK: &str = "/memfd:hpvm (deleted)";

/// Times a page is read again because its owner woke up meanwhile.
const TRIES: u32 = 20;

/// A segment that is only read.
#[derive(Debug)]
pub struct View {
    file: File,
    geometry: Geometry,
}

/// What a rank shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Process id in the job's own namespace; 0 until the rank has joined.
    pub pid: u32,
    /// Its number in the job, which may span hosts.
    pub rank: u32,
    /// It sleeps in the kernel or is about to.
    pub doorbell: bool,
    pub pending: Snapshot,
    /// Name and value of every counter.
    pub counters: Vec<(&'static str, u64)>,
}

/// What a rank has sent to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The receiver's number in the job, as its sender says.
    pub to: u32,
    pub messages: u64,
    pub bytes: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let found = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    u64::from_le_bytes(found.unwrap_or_default())
}

fn half(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    u32::from_le_bytes(found.unwrap_or_default())
}

/// What a list of peers and teams says; a peer may come more than once.
fn sent(mut bytes: &[u8]) -> Vec<Sent> {
    let mut found = Vec::new();
    while let Some((peer, rest)) = bytes.split_at_checked(size_of::<Peer>()) {
        let (messages, sum) =
            (word(peer, offset_of!(Peer, messages)), word(peer, offset_of!(Peer, bytes)));
        let to = |to| Sent { to, messages, bytes: sum };
        bytes = rest;
        match half(peer, offset_of!(Peer, team)) as usize {
            0 => found.push(to(half(peer, offset_of!(Peer, rank)))),
            team => {
                let entries = team.div_ceil(MEMBERS).saturating_mul(size_of::<Peer>());
                // A team that is larger than the list is none.
                let Some((members, rest)) = bytes.split_at_checked(entries) else { break };
                found.extend((0..team).map(|at| to(half(members, at * size_of::<u32>()))));
                bytes = rest;
            }
        }
    }
    found
}

impl View {
    /// Opens the segment at `path`, a link like `/proc/PID/fd/N`.
    pub fn open(path: &Path) -> Result<View, SegmentError> {
        let what = |what: &str| format!("{what} {}", path.display());
        let file = File::open(path)
            .map_err(|cause| SegmentError::System { what: what("opening"), cause })?;
        let mut header = [0; size_of::<Header>()];
        file.read_exact_at(&mut header, 0)
            .map_err(|cause| SegmentError::System { what: what("the header of"), cause })?;
        let magic = word(&header, offset_of!(Header, magic));
        if magic != MAGIC {
            return Err(SegmentError::Foreign(format!("magic {magic:#x}, expected {MAGIC:#x}")));
        }
        let version = half(&header, offset_of!(Header, version));
        let ranks = half(&header, offset_of!(Header, ranks));
        if version != VERSION {
            return Err(SegmentError::Foreign(format!(
                "the job uses layout {version}, this command knows layout {VERSION}: use the \
                 command of the hpvm that the job runs with"
            )));
        }
        let geometry = Geometry { ranks };
        let size = file.metadata().map_or(0, |m| m.len());
        if ranks == 0 || ranks > MAX_RANKS || size != geometry.bytes() as u64 {
            let text = format!("{size} bytes for {ranks} ranks, expected {}", geometry.bytes());
            return Err(SegmentError::Foreign(text));
        }
        Ok(View { file, geometry })
    }

    pub fn ranks(&self) -> u32 {
        self.geometry.ranks
    }

    fn read<const N: usize>(&self, at: usize) -> Result<[u8; N], SegmentError> {
        let mut bytes = [0; N];
        debug_assert!(at >= HEADER);
        self.file.read_exact_at(&mut bytes, at as u64).map_err(|cause| SegmentError::System {
            what: format!("reading {N} bytes at {at}"),
            cause,
        })?;
        Ok(bytes)
    }

    /// Generation of the page of `rank`: it stands still while the rank sleeps.
    pub fn generation(&self, rank: u32) -> Result<u64, SegmentError> {
        Ok(word(&self.read::<8>(self.geometry.pending(rank))?, 0))
    }

    /// What `rank`, which is below `ranks()`, shows now. Waits some milliseconds at most for a
    /// moment in which it does not change.
    pub fn look(&self, rank: u32) -> Result<Seen, SegmentError> {
        let control: [u8; CONTROL] = self.read(self.geometry.control(rank))?;
        let pending = self.snapshot(rank)?;
        let first = offset_of!(Control, counters);
        let names = Counters::TABLE.iter().enumerate();
        Ok(Seen {
            pid: half(&control, offset_of!(Control, identity) + offset_of!(Identity, pid)),
            rank: half(&control, offset_of!(Control, identity) + offset_of!(Identity, rank)),
            doorbell: half(&control, offset_of!(Control, doorbell)) != 0,
            counters: names.map(|(i, (name, _))| (*name, word(&control, first + i * 8))).collect(),
            pending,
        })
    }

    /// What `rank`, which is below `ranks()`, has sent to whom, if it counts that.
    pub fn traffic(&self, rank: u32) -> Result<Option<Vec<Sent>>, SegmentError> {
        let at = self.geometry.traffic(rank);
        let head: [u8; Traffic::PEERS_AT] = self.read(at)?;
        if half(&head, Traffic::ON_AT) != 1 {
            return Ok(None);
        }
        // What the rank says may be anything; there is no more than this.
        let len = (half(&head, Traffic::LEN_AT) as usize).min(PEERS);
        let mut bytes = vec![0; len * size_of::<Peer>()];
        let at = at + Traffic::PEERS_AT;
        self.file.read_exact_at(&mut bytes, at as u64).map_err(|cause| SegmentError::System {
            what: format!("reading {} bytes at {at}", bytes.len()),
            cause,
        })?;
        Ok(Some(sent(&bytes)))
    }

    fn snapshot(&self, rank: u32) -> Result<Snapshot, SegmentError> {
        for _ in 0..TRIES {
            let before = self.generation(rank)?;
            let page: [u8; PENDING] = self.read(self.geometry.pending(rank))?;
            let found = Snapshot::read(&page).filter(|s| s.generation == before);
            match found {
                Some(found) if self.generation(rank)? == before => return Ok(found),
                // Its owner writes, or has written.
                _ => std::thread::sleep(Duration::from_micros(200)),
            }
        }
        // Always on its way between two sleeps: awake, as far as anybody can tell.
        let generation = self.generation(rank)?;
        if generation % 4 == 2 {
            let text = format!("rank {rank} shows operations that make no sense");
            return Err(SegmentError::Foreign(text));
        }
        Ok(Snapshot { generation, stage: Stage::Running, asleep: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapping, Shm};
    use hpvm_transport::Segment;
    use hpvm_wire::counters::add;
    use hpvm_wire::pending::{ANY, Kind, Record};
    use std::sync::Arc;

    #[test]
    fn a_view_sees_what_ranks_show() {
        let mapping = Arc::new(Mapping::create(2, [1, 2]).unwrap());
        let path = mapping.path();
        assert_eq!(std::fs::read_link(&path).unwrap(), Path::new(LINK));
        let shm = Shm::attach(mapping.clone(), 1).unwrap();
        let view = View::open(Path::new(&path)).unwrap();
        assert_eq!(view.ranks(), 2);
        assert_eq!(view.look(0).unwrap().pid, 0);
        let record = Record {
            kind: Kind::Receive,
            part: false,
            peer: 3,
            process: 0,
            tag: ANY,
            context: 0,
            bytes: 4,
            comm: "x".into(),
            call: String::new(),
        };
        mapping.pending(1).publish(5, false, std::slice::from_ref(&record), 1);
        add(&shm.counters().unwrap().sleeps, 7);
        let seen = view.look(1).unwrap();
        assert_eq!((seen.pid, seen.rank), (std::process::id(), 1));
        assert_eq!(seen.pending.asleep.unwrap().records, [record]);
        assert!(seen.counters.contains(&("sleeps", 7)), "{:?}", seen.counters);
        mapping.pending(1).awake();
        assert_eq!(view.look(1).unwrap().pending.asleep, None);
    }

    #[test]
    fn a_view_sees_who_sent_how_much_to_whom() {
        let mapping = Arc::new(Mapping::create(2, [1, 2]).unwrap());
        let view = View::open(Path::new(&mapping.path())).unwrap();
        assert_eq!(view.traffic(1).unwrap(), None);
        let traffic = mapping.traffic(1);
        traffic.begin();
        assert_eq!(view.traffic(1).unwrap(), Some(Vec::new()));
        for (rank, bytes) in [(70_000, 5), (0, 6)] {
            let at = traffic.add(rank).unwrap();
            let peer = traffic.peer(at).unwrap();
            add(&peer.messages, 1);
            add(&peer.bytes, bytes);
        }
        let sent = |to, bytes| Sent { to, messages: 1, bytes };
        assert_eq!(view.traffic(1).unwrap(), Some(vec![sent(70_000, 5), sent(0, 6)]));
        assert_eq!(view.traffic(0).unwrap(), None);
        let members: Vec<u32> = (10..17).collect();
        let at = traffic.add_team(&members).unwrap();
        add(&traffic.peer(at).unwrap().messages, 1);
        add(&traffic.peer(at).unwrap().bytes, 8);
        let after = traffic.add(1).unwrap();
        add(&traffic.peer(after).unwrap().messages, 1);
        let mut all = vec![sent(70_000, 5), sent(0, 6)];
        all.extend(members.iter().map(|member| sent(*member, 8)));
        all.push(sent(1, 0));
        assert_eq!(view.traffic(1).unwrap(), Some(all));
        // A team that cannot be is nobody.
        traffic.peer(at).unwrap().team.store(u32::MAX, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(view.traffic(1).unwrap(), Some(vec![sent(70_000, 5), sent(0, 6)]));
        assert_eq!(traffic.add_team(&vec![0; PEERS * MEMBERS]), None);
    }

    #[test]
    fn another_layout_is_refused() {
        let mapping = Mapping::create(1, [1, 2]).unwrap();
        let path = mapping.path();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let at = offset_of!(Header, version) as u64;
        file.write_all_at(&(VERSION + 1).to_le_bytes(), at).unwrap();
        let text = View::open(Path::new(&path)).unwrap_err().to_string();
        assert!(text.contains(&format!("layout {}", VERSION + 1)), "{text}");
        file.write_all_at(&VERSION.to_le_bytes(), at).unwrap();
        let at = offset_of!(Header, ranks) as u64;
        file.write_all_at(&7u32.to_le_bytes(), at).unwrap();
        let text = View::open(Path::new(&path)).unwrap_err().to_string();
        assert!(text.contains("for 7 ranks"), "{text}");
    }

    #[test]
    fn what_is_no_segment_is_refused() {
        assert!(matches!(View::open(Path::new("/dev/null")), Err(SegmentError::System { .. })));
        let page = View::open(&std::env::current_exe().unwrap()).unwrap_err();
        assert!(page.to_string().contains("magic"), "{page}");
    }
}
