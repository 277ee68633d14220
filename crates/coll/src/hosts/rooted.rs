//! Gather and scatter by hosts.

use super::Hosts;
use crate::input::Exchange;
use crate::schedule::{Block, Buffer, Peer, Schedule, Ty};
use crate::select::Tables;
use crate::{gather as plain_gather, scatter as plain_scatter};

/// The blocks of a host go to its head, which sends them to the root in one message; those of the
/// root's own host go straight there.
///
/// Cost: one message per host into the root; a block is forwarded as often as in a gather within its
/// host, and once more.
pub fn gather(tables: &Tables, hosts: &Hosts, input: &Exchange) -> Schedule {
    let bytes = plain_gather::block_bytes(input);
    if bytes > hosts.limits(tables).gather {
        return match hosts.sites() {
            Some(_) => plain_gather::linear::with_window(input, input.size),
            None => plain_gather::schedule_with(tables, input),
        };
    }
    let mut s = Schedule::new();
    if bytes == 0 {
        return s;
    }
    let Exchange { rank, root, .. } = *input;
    let host = hosts.host(rank);
    if rank == root {
        let own = (!input.in_place).then(|| input.sent(0, 1));
        let moves = sides(&mut s, hosts, root, bytes, |first, n| input.received(first, n));
        moves.messages.iter().for_each(|(peer, block)| s.recv(*peer, *block));
        if let Some(own) = own {
            s.copy(own, input.received(root, 1));
        }
        moves.parts.iter().for_each(|(packed, block)| s.copy(*packed, *block));
        s.end_round();
        return s;
    }
    let team = hosts.team(host);
    let head = hosts.head(host, root);
    if host == hosts.host(root) || team.len() == 1 {
        s.send(Peer::Local(root), input.sent(0, 1));
        s.end_round();
        return s;
    }
    let all = team.len() as i64 * bytes;
    let held = if rank == head { s.temp_bytes(all) } else { Buffer::Recv };
    let mut among = within(hosts, input, head);
    if rank == head {
        among = Exchange { recv_count: bytes, recv_extent: 1, recv_size: 1, ..among };
    }
    let part = plain_gather::schedule_with(tables, &among);
    s.append(&part, |number| team[number as usize], |b| packed(b, Buffer::Recv, held));
    if rank == head {
        s.send(Peer::Local(root), Block::bytes(held, 0, all));
        s.end_round();
    }
    s
}

/// The root sends all blocks of a host in one message to its head, which hands them out; those of
/// its own host go straight to their ranks.
///
/// Cost: one message per host out of the root; a block is forwarded as often as in a scatter within
/// its host, and once more.
pub fn scatter(tables: &Tables, hosts: &Hosts, input: &Exchange) -> Schedule {
    let bytes = plain_scatter::block_bytes(input);
    if bytes > hosts.limits(tables).gather {
        return match hosts.sites() {
            Some(_) => plain_scatter::linear::with_window(input, input.size),
            None => plain_scatter::schedule_with(tables, input),
        };
    }
    let mut s = Schedule::new();
    if bytes == 0 {
        return s;
    }
    let Exchange { rank, root, .. } = *input;
    let host = hosts.host(rank);
    if rank == root {
        let moves = sides(&mut s, hosts, root, bytes, |first, n| input.sent(first, n));
        moves.parts.iter().for_each(|(packed, block)| s.copy(*block, *packed));
        if !input.in_place {
            s.copy(input.sent(root, 1), input.received(0, 1));
        }
        s.end_round();
        moves.messages.iter().for_each(|(peer, block)| s.send(*peer, *block));
        s.end_round();
        return s;
    }
    let team = hosts.team(host);
    let head = hosts.head(host, root);
    if host == hosts.host(root) || team.len() == 1 {
        s.recv(Peer::Local(root), input.received(0, 1));
        s.end_round();
        return s;
    }
    let all = team.len() as i64 * bytes;
    let held = if rank == head { s.temp_bytes(all) } else { Buffer::Send };
    if rank == head {
        s.recv(Peer::Local(root), Block::bytes(held, 0, all));
        s.end_round();
    }
    let mut among = within(hosts, input, head);
    if rank == head {
        among = Exchange { send_count: bytes, send_extent: 1, send_size: 1, ..among };
    }
    let part = plain_scatter::schedule_with(tables, &among);
    s.append(&part, |number| team[number as usize], |b| packed(b, Buffer::Send, held));
    s
}

/// The numbers of the same operation within the host of a rank, rooted at its head.
fn within(hosts: &Hosts, input: &Exchange, head: u32) -> Exchange {
    let size = hosts.team(hosts.host(input.rank)).len() as u32;
    let (rank, root) = (hosts.number(input.rank), hosts.number(head));
    Exchange { rank, size, root, in_place: false, ..*input }
}

/// A block of packed bytes in `held`, if it was in `from`.
fn packed(b: Block, from: Buffer, held: Buffer) -> Block {
    if b.buffer == from { Block { buffer: held, ty: Ty::Bytes, ..b } } else { b }
}

/// What the root exchanges with others.
struct Sides {
    messages: Vec<(Peer, Block)>,
    /// Packed blocks of hosts whose ranks are not neighbours, and where they belong.
    parts: Vec<(Block, Block)>,
}

/// The root's side; `blocks` tells where a run of blocks lies.
fn sides(
    s: &mut Schedule,
    hosts: &Hosts,
    root: u32,
    bytes: i64,
    blocks: impl Fn(u32, u32) -> Block,
) -> Sides {
    let mut sides = Sides { messages: Vec::new(), parts: Vec::new() };
    for host in 0..hosts.count() {
        let team = hosts.team(host);
        if host == hosts.host(root) {
            let others = team.iter().filter(|rank| **rank != root);
            sides.messages.extend(others.map(|rank| (Peer::Local(*rank), blocks(*rank, 1))));
            continue;
        }
        let head = Peer::Local(team[0]);
        if hosts.is_run(host) {
            sides.messages.push((head, blocks(team[0], team.len() as u32)));
            continue;
        }
        let all = team.len() as i64 * bytes;
        let held = s.temp_bytes(all);
        sides.messages.push((head, Block::bytes(held, 0, all)));
        sides.parts.extend(
            (0..)
                .zip(team)
                .map(|(i, rank)| (Block::bytes(held, i * bytes, bytes), blocks(*rank, 1))),
        );
    }
    sides
}
