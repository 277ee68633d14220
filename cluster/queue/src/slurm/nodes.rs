//! What sinfo says of nodes and partitions.

use super::rows::{names, seconds};

const BETWEEN: char = '\u{1f}';
/// Name, state, processors (allocated/idle/other/total), memory in MB, load, free memory, reason.
pub const NODES: &str = "%N\u{1f}%T\u{1f}%C\u{1f}%m\u{1f}%O\u{1f}%e\u{1f}%E";
/// Name, whether it is open, time limit, nodes.
pub const PARTITIONS: &str = "%R\u{1f}%a\u{1f}%l\u{1f}%N";

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: String,
    pub state: NodeState,
    pub cpus: u32,
    pub cpus_allocated: u32,
    /// Bytes.
    pub memory: u64,
    pub load: Option<f64>,
    /// Slurm's words when it is not in use as usual.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Up,
    Drained,
    Down,
}

/// A partition, which we call a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    pub name: String,
    pub open: bool,
    pub time_limit_seconds: Option<u64>,
    pub nodes: Vec<String>,
}

/// Each node once, though it may be in several partitions.
pub fn nodes(text: &str) -> Vec<Node> {
    let mut nodes: Vec<Node> = text.lines().filter_map(node).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    nodes.dedup_by(|a, b| a.name == b.name);
    nodes
}

fn node(line: &str) -> Option<Node> {
    let words: Vec<&str> = line.splitn(7, BETWEEN).collect();
    let &[name, state, cpus, memory, load, _, reason] = words.as_slice() else { return None };
    let mut counts = cpus.split('/').map(|word| word.trim().parse::<u32>().unwrap_or(0));
    let allocated = counts.next()?;
    let total = counts.nth(2)?;
    // A star behind it: the node does not answer.
    let plain = state.trim_end_matches(['*', '~', '#', '!', '%', '$', '@', '^', '-', '+']);
    let state = match plain {
        "drained" | "draining" | "drain" | "maint" | "reserved" => NodeState::Drained,
        "down" | "fail" | "failing" | "error" | "unknown" => NodeState::Down,
        _ if state.ends_with('*') => NodeState::Down,
        _ => NodeState::Up,
    };
    let reason = Some(reason.trim()).filter(|reason| !matches!(*reason, "none" | ""));
    Some(Node {
        name: name.trim().to_string(),
        state,
        cpus: total,
        cpus_allocated: allocated,
        memory: memory.trim().trim_end_matches('+').parse::<u64>().unwrap_or(0) << 20,
        load: load.trim().parse().ok(),
        reason: reason.map(str::to_owned),
    })
}

pub fn partitions(text: &str) -> Vec<Partition> {
    let mut found: Vec<Partition> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, BETWEEN).collect();
        let &[name, open, limit, list] = words.as_slice() else { continue };
        let nodes = names(list);
        // One line for each state of its nodes.
        match found.iter_mut().find(|partition| partition.name == name) {
            Some(partition) => partition.nodes.extend(nodes),
            None => found.push(Partition {
                name: name.to_string(),
                open: open == "up",
                time_limit_seconds: seconds(limit),
                nodes,
            }),
        }
    }
    found.iter_mut().for_each(|partition| partition.nodes.sort());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        words.join(&BETWEEN.to_string()) + "\n"
    }

    #[test]
    fn nodes_and_partitions() {
        let text = line(&["n2", "mixed", "2/2/0/4", "1000", "0.5", "900", "none"])
            + &line(&["n1", "idle*", "0/4/0/4", "1000", "N/A", "N/A", "Not responding"])
            + &line(&["n1", "idle*", "0/4/0/4", "1000", "N/A", "N/A", "Not responding"])
            + &line(&["n3", "drained", "0/0/4/4", "1000", "N/A", "N/A", "a fan"]);
        let found = nodes(&text);
        let states: Vec<_> = found.iter().map(|node| (node.name.as_str(), node.state)).collect();
        let expected = [("n1", NodeState::Down), ("n2", NodeState::Up), ("n3", NodeState::Drained)];
        assert_eq!(states, expected);
        assert_eq!((found[1].cpus, found[1].cpus_allocated), (4, 2));
        assert_eq!(found[2].reason.as_deref(), Some("a fan"));
        let text =
            line(&["all", "up", "infinite", "n2,n[3-3]"]) + &line(&["all", "up", "infinite", "n1"]);
        let found = partitions(&text);
        assert_eq!(found[0].nodes, ["n1", "n2", "n3"]);
        assert_eq!(found[0].time_limit_seconds, None);
    }
}
