//! Jobs on several hosts, all of them in this process: each host has a segment of its own, and the
//! sockets are real.

#![allow(dead_code, reason = "no test file needs all of it")]

use hpvm_mux::Mux;
use hpvm_net::interfaces::Interface;
use hpvm_net::{Card, JobKey, Lane, Opened, Settings, interfaces};
use hpvm_shm::{Mapping, Shm};
use hpvm_transport::Packets;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Cards come late even for those who wait. Relaxed: only the threads of one test file look.
pub static LATE: AtomicBool = AtomicBool::new(false);
pub const KEY: [u8; 16] = *b"a key of a test.";

/// The processes of a job whose hosts have `per_host` processes each, connected by loopback.
pub fn open(size: u32, per_host: u32) -> Vec<Mux> {
    open_through(size, per_host, |_, cards| cards)
}

/// The same; process `rank` believes that the others are where `change(rank, cards)` says.
pub fn open_through(
    size: u32,
    per_host: u32,
    mut change: impl FnMut(u32, Vec<Card>) -> Vec<Card>,
) -> Vec<Mux> {
    open_with(size, per_host, 60_000_000_000, &mut change)
}

/// The same as [`open`]; datagrams go by `lane`.
pub fn open_lane(size: u32, per_host: u32, lane: &Lane) -> Vec<Mux> {
    let open = |rank| sockets(rank, (size, per_host), 60_000_000_000, lane);
    join((0..size).map(open).collect(), per_host, &mut |_, cards| cards)
}

/// The same with a time after which silent peers are given up, in nanoseconds.
pub fn open_with(
    size: u32,
    per_host: u32,
    timeout: u64,
    change: &mut dyn FnMut(u32, Vec<Card>) -> Vec<Card>,
) -> Vec<Mux> {
    let open = |rank| sockets(rank, (size, per_host), timeout, &Lane::Udp);
    join((0..size).map(open).collect(), per_host, change)
}

/// The same of hosts that are one machine under several names: they have one address, which is not taken for that of a
/// loopback interface.
pub fn open_one_machine(size: u32, per_host: u32, timeout: u64) -> Vec<Mux> {
    let open = |rank| {
        let mut interfaces = loopback();
        interfaces.iter_mut().for_each(|interface| interface.loopback = false);
        sockets_on(interfaces, rank, (size, per_host), timeout, &Lane::Udp)
    };
    join((0..size).map(open).collect(), per_host, &mut |_, cards| cards)
}

/// Brings processes together whose sockets are open.
fn join(
    opened: Vec<Opened>,
    per_host: u32,
    change: &mut dyn FnMut(u32, Vec<Card>) -> Vec<Card>,
) -> Vec<Mux> {
    let size = opened.len() as u32;
    let cards: Vec<Card> = opened.iter().map(Opened::card).collect();
    let mut shms = segments(size, per_host).into_iter();
    let mut ends = Vec::new();
    for (rank, opened) in (0..).zip(opened) {
        let cards = change(rank, cards.clone());
        // Whoever does not wait for a card gets it only when it has been asked for some times.
        let mut asked = vec![0; size as usize];
        let directory = move |rank: u32, wait: Duration| {
            let times = &mut asked[rank as usize];
            *times += 1;
            let come = *times > 3 || (!wait.is_zero() && !LATE.load(Ordering::Relaxed));
            Ok(come.then(|| cards[rank as usize].clone()))
        };
        let net = opened.join(JobKey::new(KEY), Box::new(directory)).expect("settings");
        let first = rank / per_host * per_host;
        let ranks: Vec<u32> = (first..(first + per_host).min(size)).collect();
        let shm = shms.next().expect("as many endpoints as ranks");
        ends.push(Mux::several_hosts(shm, ranks, size, net).expect("descriptors"));
    }
    assert!(ends.iter().enumerate().all(|(i, e)| e.rank() as usize == i));
    ends
}

fn loopback() -> Vec<Interface> {
    let all = interfaces::all().expect("interfaces");
    let loopback = interfaces::Choice::parse("127.0.0.0/8").expect("a network");
    interfaces::choose(&all, &loopback).expect("a loopback interface")
}

fn sockets(rank: u32, shape: (u32, u32), timeout: u64, lane: &Lane) -> Opened {
    sockets_on(loopback(), rank, shape, timeout, lane)
}

fn sockets_on(
    interfaces: Vec<Interface>,
    rank: u32,
    (size, per_host): (u32, u32),
    timeout: u64,
    lane: &Lane,
) -> Opened {
    let host = "here".to_owned();
    let nodes = (0..size).map(|rank| rank / per_host).collect();
    Opened::new(Settings {
        rank,
        size,
        nodes,
        interfaces,
        host,
        timeout,
        lane: lane.clone(),
        rdma: hpvm_net::Rdma::Never,
        far: Vec::new(),
    })
    .expect("sockets")
}

fn segments(size: u32, per_host: u32) -> Vec<Shm> {
    let mut shms = Vec::new();
    for first in (0..size).step_by(per_host as usize) {
        let ranks = per_host.min(size - first);
        let mapping = Arc::new(Mapping::create(ranks, [1, 2]).expect("memory"));
        let attach = |local| Shm::attach(mapping.clone(), local).expect("a local rank");
        let mut host: Vec<Shm> = (0..ranks).map(attach).collect();
        host.iter_mut().for_each(Shm::settle);
        shms.extend(host);
    }
    shms
}
