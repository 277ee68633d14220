//! Fabrics of known shapes: `KIND:PARAMETERS`.

mod fattree;
mod grid;
mod irregular;

use crate::error::{Error, quoted};
use crate::fabric::{Builder, End, Fabric, Node};

/// Hosts of a generated fabric: more than any machine has, and few enough that tables fit into memory.
const MAX_HOSTS: usize = 100_000;
/// Switches of a generated fabric.
const MAX_SWITCHES: usize = 50_000;

/// What can be asked for, with an example of each.
pub const KINDS: [(&str, &str); 8] = [
    ("fattree:hpvm3", "the three levels of the HPVM III cluster, 96 hosts, one root"),
    ("fattree:hpvm3-doubled", "the same with the top of the tree doubled"),
    ("fattree:k=16", "three levels of switches with 16 ports each, 1024 hosts"),
    ("fattree:m=16,3,2:w=1,1,2:p=1,4,6", "children, parents and parallel links, level by level"),
    ("ntree:k=4:n=3", "a k-ary n-tree: 4^3 hosts"),
    ("torus:8x8x2", "hosts=N on every switch, 1 by default"),
    ("mesh:8x8x2", "the same with open ends"),
    ("irregular:switches=40:ports=12:hosts=4:seed=1", "random links, connected"),
];

/// Makes the fabric that a specification names.
pub fn generate(specification: &str) -> Result<Fabric, Error> {
    let (kind, rest) = specification.split_once(':').unwrap_or((specification, ""));
    let words: Vec<&str> = rest.split(':').filter(|word| !word.is_empty()).collect();
    let made = match kind {
        "fattree" => fattree::generate(&words),
        "ntree" => fattree::k_ary(&words),
        "mesh" => grid::generate(&words, false),
        "torus" => grid::generate(&words, true),
        "irregular" => irregular::generate(&words),
        _ => {
            let kinds: Vec<&str> = KINDS.iter().map(|(example, _)| *example).collect();
            Err(Error::new(format!("{}: expected one of {}", quoted(kind), kinds.join(", "))))
        }
    };
    made.map_err(|error| Error::new(format!("--generate {specification}: {}", error.text)))
}

/// Values of `KEY=NUMBER` words; each key has a default and limits.
fn numbers<const N: usize>(
    words: &[&str],
    keys: [(&str, Option<usize>, usize, usize); N],
) -> Result<[usize; N], Error> {
    let mut values = keys.map(|(_, default, _, _)| default);
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let Some(at) = keys.iter().position(|(name, ..)| *name == key) else {
            let names: Vec<&str> = keys.iter().map(|(name, ..)| *name).collect();
            let names = names.join("=, ");
            return Err(Error::new(format!("{}: expected one of {names}=", quoted(word))));
        };
        let (_, _, least, most) = keys[at];
        let number = value.parse().ok().filter(|number| (least..=most).contains(number));
        let Some(number) = number else {
            return Err(Error::new(format!(
                "{}: expected {key}= and a number from {least} to {most}",
                quoted(word)
            )));
        };
        values[at] = Some(number);
    }
    let mut found = [0; N];
    for (at, value) in values.into_iter().enumerate() {
        let name = keys[at].0;
        found[at] = value.ok_or_else(|| Error::new(format!("'{name}=' is missing")))?;
    }
    Ok(found)
}

/// Refuses sizes before memory is asked for them.
fn limit(hosts: usize, switches: usize) -> Result<(), Error> {
    if hosts > MAX_HOSTS || switches > MAX_SWITCHES {
        return Err(Error::new(format!(
            "{hosts} hosts and {switches} switches; the limits are {MAX_HOSTS} and {MAX_SWITCHES}"
        )));
    }
    Ok(())
}

/// Links two nodes by free ports.
fn join(builder: &mut Builder, a: Node, b: Node, bandwidth: f64) -> Result<(), Error> {
    builder.link(End { node: a, port: 0 }, End { node: b, port: 0 }, bandwidth).map(|_| ())
}
