//! Random fabrics: a random tree joins all switches, then random pairs with free ports are linked.

use super::{join, limit, numbers};
use crate::error::Error;
use crate::fabric::{Builder, Fabric, MAX_PORTS, Node};
use crate::random::Random;

pub fn generate(words: &[&str]) -> Result<Fabric, Error> {
    let keys = [
        ("switches", None, 1, 50_000),
        ("ports", None, 2, MAX_PORTS),
        ("hosts", Some(1), 0, MAX_PORTS),
        ("seed", Some(1), 0, usize::MAX),
    ];
    let [switches, ports, hosts, seed] = numbers(words, keys)?;
    limit(switches.saturating_mul(hosts), switches)?;
    if hosts == 0 || ports < hosts + 2 {
        return Err(Error::new(format!(
            "'ports={ports}': each switch needs {hosts} for hosts, at least 1, and 2 for other switches"
        )));
    }
    let mut random = Random::new(seed as u64);
    let mut builder = Builder::new();
    for at in 0..switches {
        builder.switch(&format!("s{at}"), Some(ports), 0)?;
    }
    for at in 0..switches * hosts {
        let host = builder.host(&format!("h{at}"), None, 0)?;
        join(&mut builder, Node::Host(host), Node::Switch((at / hosts) as u32), 1.0)?;
    }
    let mut free = vec![ports - hosts; switches];
    // Those of the tree that have a port left.
    let mut open = vec![0usize];
    for at in 1..switches {
        let place = random.below(open.len());
        let parent = open[place];
        link(&mut builder, &mut free, at, parent)?;
        if free[parent] == 0 {
            open.swap_remove(place);
        }
        if free[at] > 0 {
            open.push(at);
        }
    }
    let mut open: Vec<usize> = (0..switches).filter(|&at| free[at] > 0).collect();
    while open.len() > 1 {
        random.shuffle(&mut open);
        for pair in open.chunks_exact(2) {
            link(&mut builder, &mut free, pair[0], pair[1])?;
        }
        open.retain(|&at| free[at] > 0);
    }
    builder.finish()
}

fn link(builder: &mut Builder, free: &mut [usize], a: usize, b: usize) -> Result<(), Error> {
    free[a] -= 1;
    free[b] -= 1;
    join(builder, Node::Switch(a as u32), Node::Switch(b as u32), 1.0)
}
