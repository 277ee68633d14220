//! Meshes and tori of any number of dimensions, with hosts on every switch.

use super::{join, limit, numbers};
use crate::error::{Error, quoted};
use crate::fabric::{Builder, Fabric, Node};

/// Dimensions; more are no shape that anybody builds.
const MAX_DIMENSIONS: usize = 8;

pub fn generate(words: &[&str], torus: bool) -> Result<Fabric, Error> {
    let Some((sizes, rest)) = words.split_first() else {
        return Err(Error::new("the size is missing, as in torus:8x8"));
    };
    let [hosts] = numbers(rest, [("hosts", Some(1), 1, 1024)])?;
    let number = |word: &str| word.parse::<usize>().ok().filter(|n| (1..=4096).contains(n));
    let parsed: Option<Vec<usize>> = sizes.split('x').map(number).collect();
    let sizes = parsed.filter(|sizes| sizes.len() <= MAX_DIMENSIONS).ok_or_else(|| {
        Error::new(format!("{}: expected sizes from 1 to 4096, as in 8x8x2", quoted(sizes)))
    })?;
    let switches = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    let switches = switches.unwrap_or(usize::MAX);
    limit(switches.saturating_mul(hosts), switches)?;
    let mut builder = Builder::new();
    for at in 0..switches {
        let place = coordinates(at, &sizes);
        let words: Vec<String> = place.iter().map(usize::to_string).collect();
        let switch = builder.switch(&format!("s{}", words.join("-")), None, 0)?;
        builder.fabric().switches[switch as usize].position = Some(drawn(&place, &sizes));
    }
    for at in 0..switches * hosts {
        let host = builder.host(&format!("h{at}"), None, 0)?;
        join(&mut builder, Node::Host(host), Node::Switch((at / hosts) as u32), 1.0)?;
    }
    for at in 0..switches {
        let mut stride = 1;
        for (dimension, &size) in sizes.iter().enumerate() {
            let here = coordinates(at, &sizes)[dimension];
            let next = match here + 1 < size {
                true => Some(at + stride),
                // Around the ring; two in a ring are joined once.
                false => (torus && size > 2).then(|| at + stride - stride * size),
            };
            if let Some(next) = next {
                join(&mut builder, Node::Switch(at as u32), Node::Switch(next as u32), 1.0)?;
            }
            stride *= size;
        }
    }
    builder.finish()
}

fn coordinates(at: usize, sizes: &[usize]) -> Vec<usize> {
    let mut rest = at;
    sizes.iter().map(|size| (rest % size, rest /= size).0).collect()
}

/// Where a switch is drawn: even dimensions to the right, odd ones down, further ones beside.
fn drawn(place: &[usize], sizes: &[usize]) -> (f64, f64) {
    let mut at = (0.0, 0.0);
    let mut step = (1.0, 1.0);
    for (dimension, (&here, &size)) in place.iter().zip(sizes).enumerate() {
        let (at, step) =
            if dimension % 2 == 0 { (&mut at.0, &mut step.0) } else { (&mut at.1, &mut step.1) };
        *at += here as f64 * *step;
        *step *= size as f64 + 0.5;
    }
    at
}
