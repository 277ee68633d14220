//! Who starts whose agent: a tree of bounded width, so that time grows with the logarithm of the
//! number of hosts.

use std::collections::BTreeMap;

/// Agents that one process starts, unless the user says otherwise.
pub const DEFAULT_TREE_WIDTH: usize = 16;

/// Divides hosts among the children of one node of the tree: each part is a child, first, and
/// what it is to start in turn. Parts differ by at most one host.
pub fn split<T: Clone>(hosts: &[T], width: usize) -> Vec<Vec<T>> {
    let parts = width.max(1).min(hosts.len());
    (0..parts)
        .map(|part| {
            let (begin, end) = (part * hosts.len() / parts, (part + 1) * hosts.len() / parts);
            hosts[begin..end].to_vec()
        })
        .collect()
}

/// As [`split`], but hosts of different groups are behind different children: those of one may not reach those of another.
/// Each group has so many children.
pub fn split_apart<T: Clone>(hosts: &[T], width: usize, group: impl Fn(&T) -> u16) -> Vec<Vec<T>> {
    let mut groups: BTreeMap<u16, Vec<T>> = BTreeMap::new();
    hosts.iter().for_each(|host| groups.entry(group(host)).or_default().push(host.clone()));
    groups.values().flat_map(|hosts| split(hosts, width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts on the longest way down, and all hosts there are.
    fn walk(hosts: &[u32], width: usize, seen: &mut Vec<u32>) -> usize {
        let parts = split(hosts, width);
        assert!(parts.len() <= width);
        parts
            .iter()
            .map(|part| {
                seen.push(part[0]);
                1 + walk(&part[1..], width, seen)
            })
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn everybody_is_started_once_and_depth_is_logarithmic() {
        for (count, width, depth) in [
            (0, 16, 0),
            (1, 16, 1),
            (16, 16, 1),
            (17, 16, 2),
            (272, 16, 2),
            (4368, 16, 3),
            (3, 1, 3),
        ] {
            let hosts: Vec<u32> = (0..count).collect();
            let mut seen = Vec::new();
            assert_eq!(walk(&hosts, width, &mut seen), depth, "{count} hosts, width {width}");
            seen.sort();
            assert_eq!(seen, hosts);
        }
    }

    #[test]
    fn nobody_starts_hosts_of_another_group() {
        let hosts: Vec<u32> = (0..100).collect();
        let group = |host: &u32| (host % 3) as u16;
        let parts = split_apart(&hosts, 2, group);
        assert_eq!(parts.len(), 6);
        assert!(parts.iter().all(|part| part.iter().all(|host| group(host) == group(&part[0]))));
        let mut all = parts.concat();
        all.sort();
        assert_eq!(all, hosts);
        assert_eq!(split_apart(&hosts, 7, |_| 0), split(&hosts, 7));
    }
}
