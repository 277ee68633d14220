//! The order in which a launcher best fills hosts: neighbours in the list are near in the fabric.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::error::{Error, quoted};
use crate::network::Network;

/// Hosts, each once. From switch to nearest switch with hosts not yet in the list, those of one switch together, so that
/// subtrees of a fat tree are filled one after another and a mesh row by row.
pub fn hosts(network: &Network) -> Vec<u32> {
    let all = (0..network.switches() as u32)
        .filter(|&switch| !network.local[switch as usize].is_empty())
        .map(|switch| (switch, switch));
    let mut listed = vec![false; network.fabric.hosts.len()];
    let mut order = Vec::new();
    for switch in walk(network, all.collect(), None) {
        for &end_port in &network.local[switch as usize] {
            let host = network.fabric.end_ports[end_port as usize].host;
            if !std::mem::replace(&mut listed[host as usize], true) {
                order.push(host);
            }
        }
    }
    order
}

/// Switches, each from the one before the nearest of those that are left; of equally near ones the one with the least number behind
/// it, with which it begins too, unless another is given. In parts of a fabric that nothing joins, all are equally near.
fn walk(network: &Network, mut left: BTreeMap<u32, u32>, start: Option<u32>) -> Vec<u32> {
    let mut order = Vec::with_capacity(left.len());
    let mut at =
        start.or(left.iter().min_by_key(|(_, number)| **number).map(|(switch, _)| *switch));
    while let Some(switch) = at {
        left.remove(&switch);
        order.push(switch);
        let distance = network.distances(&[switch]);
        let key = |(next, number): &(&u32, &u32)| (distance[**next as usize], **number);
        at = left.iter().min_by_key(key).map(|(next, _)| *next);
    }
    order
}

/// The order in which the hosts of a job, by name and with slots, are best filled with ranks: those of one switch before those of the next, which
/// is the nearest. It begins with the switch on whose hosts all ranks fit and the fewest slots stay empty, or if they fit on none,
/// with that of the first host. Hosts of one switch stay in their order.
///
/// # Errors
/// A host is not in the fabric, or several of it have that name.
pub fn fill(network: &Network, wanted: &[(&str, u32)], ranks: u32) -> Result<Vec<usize>, Error> {
    let names = Names::of(network);
    // Of several ports the first counts.
    let mut switch_of: Vec<Option<u32>> = vec![None; network.fabric.hosts.len()];
    for (end, attached) in network.fabric.end_ports.iter().zip(&network.attached) {
        let first = &mut switch_of[end.host as usize];
        *first = first.or(attached.map(|(switch, _)| switch));
    }
    let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, (name, _)) in wanted.iter().enumerate() {
        let host = names.find(network, name)?;
        let switch = switch_of[host as usize].ok_or_else(|| {
            Error::new(format!("host {} hangs on no switch of the fabric", quoted(name)))
        })?;
        members.entry(switch).or_default().push(at);
    }
    let slots = |hosts: &[usize]| hosts.iter().map(|at| u64::from(wanted[*at].1)).sum::<u64>();
    let fitting = members.iter().filter(|(_, hosts)| slots(hosts) >= u64::from(ranks));
    let tightest = fitting.min_by_key(|(_, hosts)| (slots(hosts), hosts[0]));
    let start = tightest.map(|(switch, _)| *switch);
    let first = members.iter().map(|(switch, hosts)| (*switch, hosts[0] as u32)).collect();
    let order = walk(network, first, start).into_iter();
    Ok(order.filter_map(|switch| members.remove(&switch)).flatten().collect())
}

/// Hosts of a fabric by what jobs call them.
struct Names(HashMap<String, BTreeSet<u32>>);

impl Names {
    fn of(network: &Network) -> Names {
        let mut all: HashMap<String, BTreeSet<u32>> = HashMap::new();
        for (host, name) in (0..).zip(network.fabric.hosts.iter().map(|host| &host.name)) {
            for form in forms(name) {
                all.entry(form).or_default().insert(host);
            }
        }
        Names(all)
    }

    /// The host of a name: the one that has it whole, else one of which a part is the same.
    fn find(&self, network: &Network, name: &str) -> Result<u32, Error> {
        for form in forms(name) {
            let Some(found) = self.0.get(&form) else { continue };
            let whole = |host: &&u32| {
                network.fabric.hosts[**host as usize].name.eq_ignore_ascii_case(&form)
            };
            let whole = found.iter().find(whole);
            if let Some(host) = whole.or(found.first().filter(|_| found.len() == 1)) {
                return Ok(*host);
            }
            let both: Vec<String> = found
                .iter()
                .take(2)
                .map(|host| quoted(&network.fabric.hosts[*host as usize].name))
                .collect();
            let text = format!("host {} may be {} of the fabric", quoted(name), both.join(" or "));
            return Err(Error::new(text));
        }
        let known = network.fabric.hosts.iter().take(3).map(|host| quoted(&host.name));
        let more = if network.fabric.hosts.len() > 3 { ", ..." } else { "" };
        Err(Error::new(format!(
            "host {} is not in the fabric, whose {} hosts are {}{more}",
            quoted(name),
            network.fabric.hosts.len(),
            known.collect::<Vec<_>>().join(", ")
        )))
    }
}

/// A name whole, without what follows the first blank (InfiniBand has `node1 HCA-1`), and without its domain.
fn forms(name: &str) -> Vec<String> {
    let whole = name.to_lowercase();
    let word = whole.split_whitespace().next().unwrap_or_default().to_owned();
    let mut all = vec![word.clone()];
    if word.parse::<std::net::IpAddr>().is_err() {
        all.push(word.split('.').next().unwrap_or_default().to_owned());
    }
    all.insert(0, whole);
    all.dedup();
    all
}

/// A host file for `mpirun --hostfile`.
pub fn hostfile(network: &Network) -> String {
    let line = |host: u32| {
        let host = &network.fabric.hosts[host as usize];
        match host.slots {
            Some(slots) => format!("{} slots={slots}\n", host.name),
            None => format!("{}\n", host.name),
        }
    };
    hosts(network).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Form, read};

    /// Two pods of two leaves with two hosts each.
    fn pods() -> crate::Fabric {
        let leaves = "SwitchName=a1 Nodes=h[0-1]\nSwitchName=a2 Nodes=h[2-3]\nSwitchName=b1 Nodes=h[4-5]\nSwitchName=b2 Nodes=h[6-7]\n";
        let tops = "SwitchName=a Switches=a[1-2]\nSwitchName=b Switches=b[1-2]\nSwitchName=top Switches=a,b\n";
        read(&format!("{leaves}{tops}"), Form::Slurm).unwrap()
    }

    fn filled(list: &str, ranks: u32) -> Result<String, Error> {
        let fabric = pods();
        let wanted: Vec<(&str, u32)> = list
            .split(' ')
            .map(|host| host.split_once(':').map_or((host, 1), |(h, n)| (h, n.parse().unwrap())))
            .collect();
        let order = fill(&Network::new(&fabric), &wanted, ranks)?;
        Ok(order.into_iter().map(|at| wanted[at].0).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_switch_is_filled_before_the_next() {
        assert_eq!(filled("h7 h0 h4 h2 h1 h6 h3 h5", 8).unwrap(), "h7 h6 h4 h5 h0 h1 h2 h3");
        assert_eq!(filled("h1 h6 h0 h2", 4).unwrap(), "h1 h0 h2 h6");
        assert_eq!(filled("h3", 9).unwrap(), "h3");
        assert_eq!(filled("H3 h2.example.org h0", 9).unwrap(), "H3 h2.example.org h0");
    }

    #[test]
    fn a_job_that_fits_below_one_switch_gets_one() {
        assert_eq!(filled("h0 h4 h5 h6 h7", 2).unwrap(), "h4 h5 h6 h7 h0");
        assert_eq!(filled("h0:8 h4:2 h5:2", 4).unwrap(), "h4 h5 h0");
        assert_eq!(filled("h0:8 h4:2 h5:2", 5).unwrap(), "h0 h4 h5");
        assert_eq!(filled("h0:8 h4:2 h5:2", 13).unwrap(), "h0 h4 h5");
    }

    #[test]
    fn hosts_must_be_known() {
        let error = filled("h0 login", 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "host 'login' is not in the fabric, whose 8 hosts are 'h0', 'h1', 'h2', ..."
        );
        let twice = "SwitchName=s Nodes=n1.a,n1.b,n2.a";
        let fabric = read(twice, Form::Slurm).unwrap();
        let network = Network::new(&fabric);
        let error = fill(&network, &[("n1", 1)], 1).unwrap_err().to_string();
        assert_eq!(error, "host 'n1' may be 'n1.a' or 'n1.b' of the fabric");
        assert_eq!(fill(&network, &[("n1.b", 1), ("n2", 1)], 1).unwrap(), [0, 1]);
        let cards = "switch s\nhost n1\nlink n1 s\n";
        let mut fabric = read(cards, Form::Text).unwrap();
        fabric.hosts[0].name = "n1 HCA-1".to_owned();
        assert_eq!(fill(&Network::new(&fabric), &[("n1", 1)], 1).unwrap(), [0]);
    }

    #[test]
    fn parts_that_nothing_joins() {
        let fabric =
            read("SwitchName=a Nodes=h0,h2\nSwitchName=b Nodes=h1,h3", Form::Slurm).unwrap();
        let network = Network::new(&fabric);
        let wanted: Vec<(&str, u32)> = ["h0", "h1", "h2", "h3"].map(|host| (host, 1)).to_vec();
        assert_eq!(fill(&network, &wanted, 4).unwrap(), [0, 2, 1, 3]);
        assert_eq!(hosts(&network), [0, 1, 2, 3]);
    }
}
