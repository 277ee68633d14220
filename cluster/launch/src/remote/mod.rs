//! Ranks on other hosts: agents, started in a tree, and what is said to them.

pub mod agent;
pub mod brain;
pub mod codec;
pub mod confine;
pub mod frame;
pub mod links;
pub mod order;
pub mod policy;
pub mod preload;
pub mod start;
pub mod tree;
pub mod typed;

use frame::PUTS_MAX;

/// Divides values into parts that fit a frame.
pub fn parts(pairs: Vec<(String, String)>) -> Vec<Vec<(String, String)>> {
    let mut parts: Vec<Vec<(String, String)>> = Vec::new();
    let mut size = usize::MAX;
    for pair in pairs {
        let own = pair.0.len() + pair.1.len() + 8;
        if size.saturating_add(own) > PUTS_MAX {
            parts.push(Vec::new());
            size = 0;
        }
        size += own;
        parts.last_mut().into_iter().for_each(|part| part.push(pair.clone()));
    }
    parts
}
