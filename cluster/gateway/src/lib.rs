//! `hpvm gateway`: carries datagrams between the ranks of its site and the gateways of other sites. It decides nothing about
//! the ranks' protocol and keeps nothing of it; what is lost here is sent again by the ranks.
//!
//! Whoever starts it (the launcher, or an agent) holds its standard streams. In come lines: `start SITE PORT LIMIT KEY COMPRESS SIZE SITES`
//! first, then `peer SITE HOST CARD` for each other site and `rank RANK CARD` for each rank of this one, again when they
//! change. Out come `ready CARD`, and `failed TEXT` when it cannot go on. It ends when its input does.

mod compress;
mod link;
mod site;
mod tls;

use hpvm_net::interfaces::{self, Choice};
use hpvm_net::{Card, JobKey};
use hpvm_sites::Sites;
use link::{Conversation, Gate};
use site::Site;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use tls::Tls;

/// Ports that are tried until one is free for both.
const TRIES: u32 = 64;
/// Connections that may be in their greeting at once. Who comes then pushes out the oldest.
const GREETINGS: usize = 64;

/// Runs a gateway on this process's standard streams. Gives the exit code.
pub fn main(_: &[OsString]) -> i32 {
    // SAFETY: asks about a descriptor number.
    if unsafe { libc::isatty(0) } == 1 {
        eprintln!("hpvm gateway: this command is for mpirun --site, which starts it");
        return 2;
    }
    match run() {
        Ok(()) => 0,
        Err(text) => {
            say(&format!("failed {text}"));
            1
        }
    }
}

/// Tells whoever started us. One line.
fn say(line: &str) {
    let line = format!("{}\n", line.replace('\n', " "));
    let mut out = io::stdout().lock();
    // If nobody hears it, our input ends, too.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// What the first line says.
struct Start {
    site: u16,
    port: u16,
    limit: u64,
    key: JobKey,
    compress: bool,
    sites: Sites,
}

impl Start {
    fn parse(line: &str) -> Option<Start> {
        let mut words = line.split(' ');
        if words.next()? != "start" {
            return None;
        }
        let (site, port) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let limit: u64 = words.next()?.parse().ok()?;
        let key = JobKey::parse(words.next()?)?;
        let compress = match words.next()? {
            "auto" => true,
            "never" => false,
            _ => return None,
        };
        let (size, text) = (words.next()?.parse().ok()?, words.next()?);
        let sites = Sites::parse(text, size).ok()?;
        let known = usize::from(site) < sites.names.len();
        known.then_some(Start {
            site,
            port,
            limit: limit.saturating_mul(1_000_000),
            key,
            compress,
            sites,
        })
    }
}

fn run() -> Result<(), String> {
    let mut lines = io::stdin().lock().lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    let start = Start::parse(&first).ok_or("the first line is no order for a gateway")?;
    let (listener, socket) = open(start.port)?;
    let card = card(&listener)?;
    let tls = Arc::new(Tls::new(&start.key)?);
    let others = (0..start.sites.names.len() as u16).filter(|other| *other != start.site);
    let gates: Result<Vec<Gate>, io::Error> = others.map(Gate::new).collect();
    let gates = Arc::new(gates.map_err(|error| format!("cannot make a descriptor: {error}"))?);
    let site = Arc::new(Site::new(start.sites, (start.site, start.compress), start.key, socket));
    for index in 0..gates.len() {
        let (gates, site, tls) = (Arc::clone(&gates), Arc::clone(&site), Arc::clone(&tls));
        begin("link", move || {
            let text = gates[index].serve(&site, &tls, start.limit);
            fail(&text)
        })?;
    }
    let (gates_of_ranks, ranks) = (Arc::clone(&gates), Arc::clone(&site));
    begin("ranks", move || {
        if let Err(error) = ranks.listen(&gates_of_ranks) {
            fail(&format!("receiving from the ranks of the site: {error}"));
        }
    })?;
    let (gates_of_others, door) = (Arc::clone(&gates), Door { listener, tls });
    begin("door", move || door.keep(&gates_of_others))?;
    say(&format!("ready {}", card.text()));
    for line in lines {
        let Ok(line) = line else { break };
        instruct(&line, &site, &gates)
            .ok_or_else(|| format!("an order that makes no sense: {line:?}"))?;
    }
    Ok(())
}

/// Says why it cannot go on, and ends.
fn fail(text: &str) {
    say(&format!("failed {text}"));
    std::process::exit(1);
}

fn begin(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map(drop).map_err(|error| format!("cannot start a thread: {error}"))
}

fn instruct(line: &str, site: &Site, gates: &[Gate]) -> Option<()> {
    let mut words = line.split(' ');
    match words.next()? {
        "peer" => {
            let (number, host): (u16, _) = (words.next()?.parse().ok()?, words.next()?);
            let card = Card::parse(words.next()?).ok()?;
            gates.iter().find(|gate| gate.site == number)?.told(host, card);
        }
        "rank" => {
            let rank = words.next()?.parse().ok()?;
            site.told(rank, &Card::parse(words.next()?).ok()?);
        }
        // Of what ranks of other jobs have said: what makes no sense costs them the gateway, and nobody else.
        "space" | "place" | "forget" => drop(serve(line, site)),
        _ => return None,
    }
    Some(())
}

/// What the launcher says of ranks that are numbered by themselves: `space NUMBER KEY SIZE SITES`, `place NUMBER RANK CARD`,
/// `forget NUMBER`. None: it makes no sense.
fn serve(line: &str, site: &Site) -> Option<()> {
    let mut words = line.split(' ');
    let (verb, number) = (words.next()?, words.next()?.parse().ok()?);
    match verb {
        "space" => {
            let key = JobKey::parse(words.next()?)?;
            let size = words.next()?.parse().ok()?;
            site.add(number, Sites::parse(words.next()?, size).ok()?, key);
        }
        "place" => {
            let rank = words.next()?.parse().ok()?;
            site.place(number, rank, &Card::parse(words.next()?).ok()?);
        }
        _ => site.forget(number),
    }
    Some(())
}

/// A listening TCP socket and a UDP socket at the same port: this one, or for 0 any that is free for both.
fn open(port: u16) -> Result<(TcpListener, UdpSocket), String> {
    let mut result = open_both(port);
    for _ in 1..if port == 0 { TRIES } else { 1 } {
        if result.is_ok() {
            break;
        }
        result = open_both(port);
    }
    result.map_err(|error| match port {
        0 => format!("opening a port: {error}"),
        port => format!("opening port {port}: {error}; name another with --gateway"),
    })
}

fn open_both(port: u16) -> io::Result<(TcpListener, UdpSocket)> {
    // A host without IPv6 has IPv4 only.
    let listener =
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
            _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)),
        })?;
    let socket = UdpSocket::bind(listener.local_addr()?)?;
    Ok((listener, socket))
}

/// Where others find us.
fn card(listener: &TcpListener) -> Result<Card, String> {
    let failed = |error: io::Error| format!("finding out where it can be reached: {error}");
    let port = listener.local_addr().map_err(failed)?.port();
    let found = interfaces::choose(&interfaces::all().map_err(failed)?, &Choice::All)?;
    let addresses = found.into_iter().map(|interface| interface.subnet).collect();
    Ok(Card { port, liveness_port: port, host: host_name(), addresses, fabric: None })
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Where other gateways knock, and strangers.
struct Door {
    listener: TcpListener,
    tls: Arc<Tls>,
}

impl Door {
    fn keep(&self, gates: &Arc<Vec<Gate>>) {
        let greeted: Arc<Mutex<Vec<(u64, TcpStream)>>> = Arc::default();
        for number in 0.. {
            let Ok((tcp, _)) = self.listener.accept() else {
                // Out of descriptors, say: those in their greeting end soon.
                std::thread::sleep(std::time::Duration::from_millis(50));
                continue;
            };
            let Ok(copy) = tcp.try_clone() else { continue };
            let mut held = greeted.lock().unwrap_or_else(PoisonError::into_inner);
            if held.len() >= GREETINGS {
                // Its thread sees the end.
                let _ = held.remove(0).1.shutdown(Shutdown::Both);
            }
            held.push((number, copy));
            drop(held);
            let (gates, tls, all) =
                (Arc::clone(gates), Arc::clone(&self.tls), Arc::clone(&greeted));
            let begun = begin("greeting", move || {
                let conversation = greet(tcp, &tls);
                all.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .retain(|(other, _)| *other != number);
                if let Some((site, conversation)) = conversation
                    && let Some(gate) = gates.iter().find(|gate| gate.site == site)
                {
                    gate.take(conversation);
                }
            });
            if begun.is_err() {
                let mut held = greeted.lock().unwrap_or_else(PoisonError::into_inner);
                held.retain(|(other, _)| *other != number);
            }
        }
    }
}

/// The gateway that has knocked, with the number of its site. Strangers are none.
fn greet(tcp: TcpStream, tls: &Tls) -> Option<(u16, Conversation)> {
    let mut conversation = Conversation::greet(tcp, tls.takes().ok()?).ok()?;
    let site = conversation.site().ok()?;
    Some((site, conversation))
}

#[cfg(test)]
mod tests;
