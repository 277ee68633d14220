//! Files that say where each rank runs: Open MPI's rankfile, and its file of hosts for `seq`.

use std::path::Path;

use super::affinity::Cpus;
use super::topology::{Level, Topology};
use crate::error::LaunchError;
use crate::text::digits;
use crate::text_file;

/// Where one rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    pub host: String,
    /// As it stands behind `slot=`; empty: nothing was said.
    pub slot: String,
}

/// More bytes are no rankfile.
const FILE_MAX: u64 = 64 << 20;

/// Reads a rankfile: `rank N=HOST slot=SLOT` in any order, every number from 0 once. `hosts` are
/// those of the command line, for `+n0`.
pub fn read(path: &Path, hosts: &[String]) -> Result<Vec<Seat>, LaunchError> {
    let shown = path.display();
    let fault = |what: String| LaunchError::usage(format!("rankfile '{shown}': {what}"));
    let text = text_file::read(path, FILE_MAX).map_err(|unread| fault(unread.to_string()))?;
    parse(&text, hosts).map_err(fault)
}

fn parse(text: &str, hosts: &[String]) -> Result<Vec<Seat>, String> {
    let mut seats: Vec<(usize, Seat)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let (rank, seat) =
            parse_line(line, hosts).map_err(|what| format!("line {}: {what}", number + 1))?;
        if seats.iter().any(|(other, _)| *other == rank) {
            return Err(format!("line {}: rank {rank} is there twice", number + 1));
        }
        seats.push((rank, seat));
    }
    seats.sort_by_key(|(rank, _)| *rank);
    if let Some(missing) = (0..seats.len()).find(|rank| seats[*rank].0 != *rank) {
        return Err(format!("there is no line for rank {missing}"));
    }
    match seats.is_empty() {
        true => Err("there is no line 'rank N=HOST slot=SLOT' in it".to_string()),
        false => Ok(seats.into_iter().map(|(_, seat)| seat).collect()),
    }
}

fn parse_line(line: &str, hosts: &[String]) -> Result<(usize, Seat), String> {
    let expected = || format!("'{}': expected 'rank N=HOST slot=SLOT'", line.escape_debug());
    let rest = line.strip_prefix("rank").ok_or_else(expected)?;
    let (rank, rest) = rest.split_once('=').ok_or_else(expected)?;
    let rank: usize = digits(rank.trim()).ok_or_else(expected)?;
    if rank >= crate::args::MAX_RANKS as usize {
        return Err(format!("rank {rank}: at most {} ranks", crate::args::MAX_RANKS));
    }
    let (host, slot) = match rest.split_once("slot") {
        Some((host, slot)) => {
            let slot = slot.trim().strip_prefix(['s', '=']).unwrap_or_else(|| slot.trim());
            (host.trim(), slot.trim().trim_start_matches('=').trim())
        }
        None => (rest.trim(), ""),
    };
    let host = match host.strip_prefix("+n") {
        Some(index) => {
            let found = digits::<usize>(index).and_then(|index| hosts.get(index));
            found.ok_or_else(|| format!("'{host}': {} hosts are given", hosts.len()))?
        }
        None => host,
    };
    if host.is_empty() || host.split_whitespace().count() != 1 {
        return Err(expected());
    }
    Slot::parse(slot).ok_or_else(|| {
        format!(
            "'slot={}': expected numbers of cores like 0-2,5, of cores of a socket like 1:0-2, or *",
            slot.escape_debug()
        )
    })?;
    Ok((rank, Seat { host: host.to_string(), slot: slot.to_string() }))
}

/// What stands behind `slot=`, taken apart.
#[derive(Debug, PartialEq, Eq)]
enum Slot {
    Anywhere,
    /// Cores of the whole host by their logical numbers.
    Cores(Vec<usize>),
    /// Cores of a socket; none: all of them.
    OfSockets(Vec<(usize, Option<Vec<usize>>)>),
}

impl Slot {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text == "*" {
            return Some(Slot::Anywhere);
        }
        let text = text.trim_matches('"');
        if !text.contains(':') {
            return super::affinity::parse_user_list(text).map(Slot::Cores);
        }
        // A comma separates cores, or begins the next socket: `0:0,1` and `0:0-1,1:0-1`.
        let mut sockets: Vec<(usize, Option<Vec<usize>>)> = Vec::new();
        for part in text.split([',', ';']) {
            match (part.split_once(':'), sockets.last_mut()) {
                (Some((socket, "*")), _) => sockets.push((digits(socket)?, None)),
                (Some((socket, cores)), _) => {
                    let cores = super::affinity::parse_user_list(cores)?;
                    sockets.push((digits(socket)?, Some(cores)));
                }
                (None, Some((_, Some(cores)))) => {
                    cores.extend(super::affinity::parse_user_list(part)?);
                }
                (None, _) => return None,
            }
        }
        Some(Slot::OfSockets(sockets))
    }
}

/// The hardware threads that a slot means on this machine.
pub fn cpus_of(slot: &str, machine: &Topology) -> Result<Option<Cpus>, LaunchError> {
    let fault = |what: &str, number: usize, count: usize| {
        LaunchError::usage(format!(
            "'slot={slot}': there is no {what} {number} on this host, which has {count}, numbered \
             from 0"
        ))
    };
    let pick = |cores: &[Cpus], numbers: &[usize]| -> Result<Cpus, LaunchError> {
        let core = |number: &usize| {
            cores.get(*number).cloned().ok_or_else(|| fault("core", *number, cores.len()))
        };
        Ok(numbers.iter().map(core).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    };
    let parsed = Slot::parse(slot)
        .ok_or_else(|| LaunchError::usage(format!("'slot={slot}' is not understood")))?;
    Ok(match parsed {
        Slot::Anywhere => None,
        Slot::Cores(numbers) => Some(pick(&machine.parts(Level::Core), &numbers)?),
        Slot::OfSockets(list) => {
            let sockets = machine.parts(Level::Socket);
            let mut cpus = Cpus::new();
            for (number, cores) in list {
                let socket = sockets.get(number);
                let socket = socket.ok_or_else(|| fault("socket", number, sockets.len()))?;
                let inside = machine.parts_in(Level::Core, socket);
                match cores {
                    Some(cores) => cpus.extend(pick(&inside, &cores)?),
                    None => cpus.extend(socket),
                }
            }
            Some(cpus)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::topology::made_up::two_sockets;

    #[test]
    fn files() {
        let hosts = ["a".to_string(), "b".to_string()];
        let text = "# mine\nrank 1=bb slot=0:0,1\nrank 0=+n1 slot=1-2\n\nrank 2=cc\n";
        let seats = parse(text, &hosts).unwrap();
        let shown: Vec<_> =
            seats.iter().map(|seat| format!("{} {}", seat.host, seat.slot)).collect();
        assert_eq!(shown, ["b 1-2", "bb 0:0,1", "cc "]);
        for (text, part) in [
            ("", "no line 'rank N"),
            ("rank 0=a\nrank 0=b", "line 2: rank 0 is there twice"),
            ("rank 1=a", "no line for rank 0"),
            ("rank x=a", "expected 'rank N"),
            ("rank 0=+n7", "2 hosts are given"),
            ("rank 0=a slot=x", "'slot=x'"),
            ("rank 0=a b slot=1", "expected 'rank N"),
            ("\u{1}", "'\\u{1}'"),
        ] {
            let error = parse(text, &hosts).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn slots_on_a_machine_of_two_sockets() {
        let machine = two_sockets();
        let cpus = |slot: &str| cpus_of(slot, &machine);
        assert_eq!(cpus("*").unwrap(), None);
        assert_eq!(cpus("1-2").unwrap(), Some(Cpus::from([1, 2, 17, 18])));
        assert_eq!(cpus("1:0-1").unwrap(), Some(Cpus::from([8, 9, 24, 25])));
        assert_eq!(cpus("0:0,1,1:3").unwrap(), Some(Cpus::from([0, 1, 11, 16, 17, 27])));
        assert_eq!(cpus("1:*").unwrap().unwrap().len(), 16);
        assert!(cpus("16").unwrap_err().message.contains("no core 16"));
        assert!(cpus("2:0").unwrap_err().message.contains("no socket 2"));
    }
}
