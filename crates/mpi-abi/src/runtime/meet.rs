//! How the ranks of a job meet: those of one host in shared memory, those of different hosts over
//! the network.

use super::lane::{self, Past, Wish};
use super::tables::{self, Chosen};
use crate::runtime::host_name;
use hpvm_job::{Client, Job, PmiError};
use hpvm_mpi::{Class, Error, Result};
use hpvm_mux::Mux;
use hpvm_net::interfaces::{self, Choice, Interface};
use hpvm_net::{Card, JobKey, Lane, Opened};
use hpvm_shm::{Mapping, SegmentError, Shm};
use hpvm_sites::{CARD_KEY, GATEWAY_KEY, SITES_KEY, Sites};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Key under which the first rank of a host, whose number follows, publishes its segment.
const SEGMENT_KEY: &str = "hpvm-segment-";
/// Key under which rank 0 publishes what its tables are called; read only to explain an error.
const TABLES_KEY: &str = "hpvm-tables-0";
/// Key of the job's secret, which the launcher makes, or else rank 0.
const SECRET_KEY: &str = "hpvm-job-key";
/// Seconds without a sign of life after which another host is given up.
const NET_TIMEOUT: f64 = 60.0;
/// Longer than a launcher takes to end a job in which a rank has died.
const LAUNCHER_ENDS_US: Duration = Duration::from_secs(2);

pub fn manager(cause: PmiError) -> Error {
    Error::new(Class::Other, format!("joining the job failed: {cause}"))
}

fn memory(cause: SegmentError) -> Error {
    Error::new(Class::Other, format!("joining the job failed: {cause}"))
}

pub fn network(cause: String) -> Error {
    Error::new(Class::Other, format!("joining the job failed: {cause}"))
}

/// Meets the other ranks. Their tables have to be the `chosen` ones. Also gives the site of each rank, in a job of several
/// sites. Blocks until all have come.
pub fn connect(job: &mut Job, chosen: &Chosen) -> Result<(Mux, Vec<u16>)> {
    let ranks = job.neighbours();
    let local = ranks.iter().position(|r| *r == job.rank).unwrap_or(0);
    let Some(mut m) = job.manager.clone() else {
        let mapping = Mapping::create(1, random_key()?).map_err(memory)?;
        return Ok((Mux::single_host(attach(mapping, 0, None)?), Vec::new()));
    };
    let opened = match ranks.len() == job.size as usize {
        true => None,
        false => Some(announce(job, &mut m, &ranks)?),
    };
    let mapping = meet(job, &mut m, &ranks, chosen)?;
    let Some((mut opened, secret, far, past)) = opened else {
        let shm = attach(mapping, local as u32, Some(&mut m))?;
        return Ok((Mux::single_host(shm), Vec::new()));
    };
    let past = past.join(&mut m)?;
    let shm = attach(mapping, local as u32, Some(&mut m))?;
    past.pass(&mut opened, (local as u32, ranks.len() as u32))?;
    let key = match secret {
        Some(key) => key,
        None => secret_of(&mut m)?.ok_or_else(|| network(format!("no {SECRET_KEY} is known")))?,
    };
    let mut asked = BTreeSet::new();
    let gateway = far.as_ref().map(|far| gateway_of(&mut m, far.own)).transpose()?;
    let sites = far.as_ref().map_or_else(Vec::new, |far| far.sites.clone());
    let directory = move |rank: u32, wait| match (&far, &gateway) {
        (Some(far), Some(gateway)) if far.is_elsewhere(rank) => Ok(Some(gateway.clone())),
        _ => card_of(&mut m, &mut asked, rank, wait),
    };
    let net = opened.join(key, Box::new(directory)).map_err(network)?;
    let mux = Mux::several_hosts(shm, ranks, job.size, net);
    let mux = mux.map_err(|e| network(format!("descriptors for the network: {e}")))?;
    Ok((mux, sites))
}

/// Maps this host's segment, which its first rank makes. Blocks until all ranks of the job are
/// here.
fn meet(job: &Job, m: &mut Client, ranks: &[u32], chosen: &Chosen) -> Result<Mapping> {
    let first = ranks[0];
    let segment = format!("{SEGMENT_KEY}{first}");
    let hash = chosen.hash;
    let mut mapping = None;
    if job.rank == first {
        let key = random_key()?;
        let made = Mapping::create(ranks.len() as u32, key).map_err(memory)?;
        let text = format!("{}:{:016x}:{:016x}:{hash:016x}", made.path(), key[0], key[1]);
        m.put(&segment, &text).map_err(manager)?;
        if first == 0 {
            m.put(TABLES_KEY, &chosen.name).map_err(manager)?;
        }
        mapping = Some(made);
    }
    m.barrier().map_err(manager)?;
    if first != 0 && mapping.is_some() {
        // The first rank of a host compares its tables with those of rank 0 for all of its host.
        segment_of(job, m, &format!("{SEGMENT_KEY}0"), chosen)?;
    }
    match mapping {
        Some(mapping) => Ok(mapping),
        None => {
            let (path, key) = segment_of(job, m, &segment, chosen)?;
            Mapping::join(&path, ranks.len() as u32, key).map_err(not_joined)
        }
    }
}

/// The error of a segment that cannot be joined. When it is not there any more, the rank that made it
/// has died. Whoever started us sees that too, says so and ends the job: one voice is enough, so it
/// gets the time for that.
fn not_joined(cause: SegmentError) -> Error {
    if let SegmentError::System { cause, .. } = &cause
        && cause.kind() == std::io::ErrorKind::NotFound
    {
        std::thread::sleep(LAUNCHER_ENDS_US);
    }
    memory(cause)
}

/// What another rank published about its segment. Its tables have to be the `chosen` ones.
fn segment_of(
    job: &Job,
    m: &mut Client,
    name: &str,
    chosen: &Chosen,
) -> Result<(String, [u64; 2])> {
    let text = m.get(name).map_err(manager)?;
    let (path, key, hash) = text.as_deref().and_then(parse_segment).ok_or_else(|| {
        let text = format!("{text:?} is published as {name}; expected path:key:key:hash");
        Error::new(Class::Other, text)
    })?;
    if hash != chosen.hash {
        let name = m.get(TABLES_KEY).map_err(manager)?;
        return Err(tables::differ(job.rank, chosen, hash, name.as_deref()));
    }
    Ok((path.to_owned(), key))
}

/// Attaches to `mapping`, and waits for the others to do so.
fn attach(mapping: Mapping, local: u32, m: Option<&mut Client>) -> Result<Shm> {
    let mut shm = Shm::attach(Arc::new(mapping), local).map_err(memory)?;
    if let Some(told) = oversubscribed()? {
        shm.tell_oversubscribed(told);
    }
    if let Some(m) = m {
        m.barrier().map_err(manager)?;
    }
    shm.settle();
    single_copy(&mut shm)?;
    Ok(shm)
}

/// Who is at another site.
struct Far {
    /// The number of this rank's site.
    own: u16,
    /// That of each rank.
    sites: Vec<u16>,
}

impl Far {
    fn is_elsewhere(&self, rank: u32) -> bool {
        self.sites.get(rank as usize).is_some_and(|site| *site != self.own)
    }

    /// Whether each rank is at another site; empty: none is, as in a job that was spawned at one.
    fn ranks(&self) -> Vec<bool> {
        match self.sites.iter().any(|site| *site != self.own) {
            true => self.sites.iter().map(|site| *site != self.own).collect(),
            false => Vec::new(),
        }
    }
}

/// Which ranks are at other sites, in a job of several sites.
fn far_ranks(job: &Job, m: &mut Client) -> Result<Option<Far>> {
    let Some(text) = m.get(SITES_KEY).map_err(manager)? else { return Ok(None) };
    let sites = Sites::parse(&text, job.size as usize).map_err(network)?;
    let own = sites.of(job.rank).unwrap_or(0);
    Ok(Some(Far { own, sites: sites.ranks }))
}

/// Where this site's gateway is. To be asked once all have met.
pub fn gateway_of(m: &mut Client, site: u16) -> Result<Card> {
    let name = format!("{GATEWAY_KEY}{site}");
    let text = m.get(&name).map_err(manager)?;
    let text = text.ok_or_else(|| network(format!("no {name} is known")))?;
    Card::parse(&text).map_err(network)
}

/// Opens the sockets for other hosts and publishes where they are. Returns the job's secret where
/// it is known before the others have come, who is at another site, and how datagrams are to pass the kernel. `ranks`: those
/// of this host.
fn announce(
    job: &Job,
    m: &mut Client,
    ranks: &[u32],
) -> Result<(Opened, Option<JobKey>, Option<Far>, Past)> {
    let (lane, wish) = lane::read()?;
    let chosen = interfaces().map_err(network)?;
    let mut secret = secret_of(m)?;
    if secret.is_none() && job.rank == 0 {
        let [high, low] = random_key()?;
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        let key = JobKey::new(bytes);
        m.put(SECRET_KEY, &key.hex()).map_err(manager)?;
        secret = Some(key);
    }
    let far = far_ranks(job, m)?;
    let opened = Opened::new(hpvm_net::Settings {
        rank: job.rank,
        size: job.size,
        nodes: job.nodes.clone(),
        interfaces: chosen.clone(),
        host: host_name(),
        timeout: net_timeout()?,
        lane: lane.clone(),
        rdma: lane::rdma()?,
        far: far.as_ref().map_or_else(Vec::new, Far::ranks),
    });
    let opened = opened.map_err(|why| match lane {
        Lane::Ofi(_) => lane::named(&why, "ofi"),
        Lane::Udp | Lane::Auto => network(why),
    })?;
    // What goes by libfabric passes the kernel already.
    let wish = if opened.ofi().is_some() { Wish::No } else { wish };
    let past = Past::prepare(wish, m, (job.rank, ranks[0]), &chosen)?;
    let name = format!("{CARD_KEY}{}", job.rank);
    m.put(&name, &opened.card().text()).map_err(manager)?;
    Ok((opened, secret, far, past))
}

/// The interfaces that are used to reach other hosts: obeys `HPVM_NET`.
pub fn interfaces() -> std::result::Result<Vec<Interface>, String> {
    let choice = match std::env::var("HPVM_NET") {
        Ok(text) => Choice::parse(&text).map_err(|e| format!("HPVM_NET: {e}"))?,
        Err(_) => Choice::All,
    };
    let all = interfaces::all().map_err(|e| format!("listing the interfaces: {e}"))?;
    interfaces::choose(&all, &choice).map_err(|e| format!("on host {}: {e}", host_name()))
}

/// A number of the job that no other job has, for the identities of its processes.
pub fn job_number(job: &Job, transport: &Mux) -> Result<u64> {
    let here = transport.mapping().header().key[0];
    let number = match job.manager.clone() {
        Some(mut m) if transport.spans_hosts() => {
            let text = m.get(SECRET_KEY).map_err(manager)?.unwrap_or_default();
            tables::fnv(text.as_bytes())
        }
        _ => here,
    };
    // The upper bits are the number, the lower ones the rank; 0 is no number of a job.
    Ok((number >> hpvm_mpi::engine::peers::RANK_BITS).max(1))
}

/// The job's secret, if somebody has published it.
fn secret_of(m: &mut Client) -> Result<Option<JobKey>> {
    let Some(text) = m.get(SECRET_KEY).map_err(manager)? else { return Ok(None) };
    let bad = || network(format!("{SECRET_KEY} is not 32 hexadecimal digits"));
    JobKey::parse(&text).map(Some).ok_or_else(bad)
}

/// Where `rank` can be reached, once the process manager has answered; the first call asks it.
/// `asked`: of whom it has been asked. Waits for the answer for so long at most.
fn card_of(
    m: &mut Client,
    asked: &mut BTreeSet<u32>,
    rank: u32,
    wait: Duration,
) -> std::result::Result<Option<Card>, String> {
    let name = format!("{CARD_KEY}{rank}");
    let failed = |cause| format!("asking where it is: {cause}");
    if asked.insert(rank) {
        m.begin_get(&name).map_err(failed)?;
    }
    match m.wait_get(&name, wait).map_err(failed)? {
        None => Ok(None),
        Some(Some(text)) => Card::parse(&text).map(Some),
        Some(None) => Err(format!("it has published no {name}")),
    }
}

/// Obeys `HPVM_NET_TIMEOUT`, in seconds; the result is in nanoseconds.
pub fn net_timeout() -> Result<u64> {
    let seconds = match std::env::var("HPVM_NET_TIMEOUT") {
        Err(_) => NET_TIMEOUT,
        Ok(text) if text.is_empty() => NET_TIMEOUT,
        Ok(text) => seconds(&text).ok_or_else(|| {
            let text = format!("HPVM_NET_TIMEOUT is {text:?}; expected 0.5 to 1000000 seconds");
            Error::new(Class::Arg, text)
        })?,
    };
    Ok((seconds * 1e9) as u64)
}

/// A limit as the launcher takes it for `--net-timeout`, too: with a fraction, and `s` behind it.
fn seconds(text: &str) -> Option<f64> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok();
    seconds.filter(|seconds| (0.5..=1e6).contains(seconds))
}

/// The user says how often large messages are copied, whatever was measured.
pub fn copies_named() -> bool {
    std::env::var_os("HPVM_SINGLE_COPY").is_some_and(|word| !word.is_empty() && word != "auto")
}

/// Obeys `HPVM_SINGLE_COPY`: whether large messages are read out of the sender's memory.
fn single_copy(shm: &mut Shm) -> Result<()> {
    match std::env::var("HPVM_SINGLE_COPY").as_deref() {
        Err(_) | Ok("" | "auto") => Ok(()),
        Ok("yes") => {
            shm.prefer_reads();
            Ok(())
        }
        Ok("no") => {
            shm.forbid_reads();
            Ok(())
        }
        Ok(other) => {
            let text = format!("HPVM_SINGLE_COPY is {other:?}; expected auto, yes or no");
            Err(Error::new(Class::Arg, text))
        }
    }
}

/// Obeys `HPVM_OVERSUBSCRIBED`: what the user says about whether ranks have to share processors.
fn oversubscribed() -> Result<Option<bool>> {
    match std::env::var("HPVM_OVERSUBSCRIBED").as_deref() {
        Err(_) | Ok("" | "auto") => Ok(None),
        Ok("yes") => Ok(Some(true)),
        Ok("no") => Ok(Some(false)),
        Ok(other) => {
            let text = format!("HPVM_OVERSUBSCRIBED is {other:?}; expected auto, yes or no");
            Err(Error::new(Class::Arg, text))
        }
    }
}

/// Obeys `HPVM_ONESIDED`: the ways that one-sided operations take, for measurements and tests.
pub fn onesided() -> Result<hpvm_mpi::onesided::Allowed> {
    let (mapped, cross_memory) = match std::env::var("HPVM_ONESIDED").as_deref() {
        Err(_) | Ok("" | "auto") => (true, true),
        Ok("kernel") => (false, true),
        Ok("messages") => (false, false),
        Ok(other) => {
            let text = format!("HPVM_ONESIDED is {other:?}; expected auto, kernel or messages");
            return Err(Error::new(Class::Arg, text));
        }
    };
    Ok(hpvm_mpi::onesided::Allowed { mapped, cross_memory })
}

/// Path of the segment, its key, and the hash of the tables.
fn parse_segment(text: &str) -> Option<(&str, [u64; 2], u64)> {
    let (rest, hash) = text.rsplit_once(':')?;
    let (rest, low) = rest.rsplit_once(':')?;
    let (path, high) = rest.rsplit_once(':')?;
    let word = |t| u64::from_str_radix(t, 16).ok();
    Some((path, [word(high)?, word(low)?], word(hash)?))
}

/// Sixteen bytes that no stranger can guess.
pub fn random_key() -> Result<[u64; 2]> {
    let bytes = hpvm_net::handshake::random()
        .map_err(|cause| Error::new(Class::Other, format!("getrandom: {cause}")))?;
    let both = u128::from_le_bytes(bytes);
    Ok([both as u64, (both >> 64) as u64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_may_have_fractions() {
        for (text, value) in [("0.5", 0.5), ("2.5", 2.5), ("60", 60.0), ("3s", 3.0), ("1e6", 1e6)] {
            assert_eq!(seconds(text), Some(value), "{text}");
        }
        for text in ["", "0", "0.4", "-1", "x", "nan", "inf", "1000001"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
