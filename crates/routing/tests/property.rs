//! Properties of routes on random fabrics, against slower ways to say the same.

use std::collections::{HashMap, HashSet};

use hpvm_routing::check::{check, path};
use hpvm_routing::fabric::{End, Node};
use hpvm_routing::network::Hop;
use hpvm_routing::random::Random;
use hpvm_routing::reroute::{Kept, reroute};
use hpvm_routing::tables::NONE;
use hpvm_routing::updown::{Orientation, Roots, route};
use hpvm_routing::{Fabric, Network, Tables, generate, lft};
use proptest::prelude::*;

fn shapes() -> impl Strategy<Value = String> {
    let irregular =
        (1usize..14, 1usize..4, 2usize..6, any::<u32>()).prop_map(|(s, h, free, seed)| {
            format!("irregular:switches={s}:ports={}:hosts={h}:seed={seed}", h + free)
        });
    let grid = (1usize..5, 1usize..6, 1usize..3, any::<bool>()).prop_map(|(x, y, h, torus)| {
        format!("{}:{x}x{y}:hosts={h}", if torus { "torus" } else { "mesh" })
    });
    let tree = (1usize..4, 1usize..4, 1usize..4, 1usize..4, 1usize..3)
        .prop_map(|(a, b, c, w, p)| format!("fattree:m={a},{b},{c}:w=1,{w},{w}:p=1,{p},1"));
    prop_oneof![4 => irregular, 1 => grid, 2 => tree]
}

fn roots() -> impl Strategy<Value = Roots> {
    prop_oneof![Just(Roots::Auto), (1usize..6).prop_map(Roots::Count)]
}

/// All pairs of end ports of different hosts.
fn pairs(fabric: &Fabric) -> Vec<(u32, u32)> {
    let ends = 0..fabric.end_ports.len() as u32;
    let all = ends.clone().flat_map(|a| ends.clone().map(move |b| (a, b)));
    all.filter(|&(a, b)| fabric.end_ports[a as usize].host != fabric.end_ports[b as usize].host)
        .collect()
}

/// Whether channels can wait for one another, by taking away those that wait for nothing.
fn locks_up(network: &Network, tables: &Tables) -> bool {
    let mut after: HashMap<u32, HashSet<u32>> = HashMap::new();
    for (a, b) in pairs(network.fabric) {
        for pair in path(network, tables, a, b).unwrap_or_default().windows(2) {
            after.entry(pair[0]).or_default().insert(pair[1]);
            after.entry(pair[1]).or_default();
        }
    }
    loop {
        let free: Vec<u32> =
            after.iter().filter(|(_, next)| next.is_empty()).map(|(at, _)| *at).collect();
        if free.is_empty() {
            return !after.is_empty();
        }
        for channel in free {
            after.remove(&channel);
            after.values_mut().for_each(|next| {
                next.remove(&channel);
            });
        }
    }
}

/// Tables that send on any shortest way, which is what locks up.
fn shortest_anywhere(network: &Network, seed: u64) -> Tables {
    let mut random = Random::new(seed);
    let mut tables = Tables::empty(network.fabric).unwrap();
    for destination in 0..network.attached.len() {
        let (target, port) = network.attached[destination].unwrap();
        let distance = network.distances(&[target]);
        for at in 0..network.switches() {
            let nearer: Vec<u16> = network.neighbors[at]
                .iter()
                .filter(|next| distance[next.to as usize] < distance[at])
                .flat_map(|next| next.ports.iter().map(|port| port.0))
                .collect();
            tables.row_mut(destination)[at] = match nearer.len() {
                0 => port,
                count => nearer[random.below(count)],
            };
        }
    }
    tables
}

/// Whether a route goes up, then down.
fn is_legal(network: &Network, orientation: &Orientation, channels: &[u32]) -> bool {
    let mut down = false;
    channels.iter().all(|&channel| {
        let (from, to) = network.ends(channel);
        let (Node::Switch(from), Node::Switch(to)) = (from.node, to.node) else { return true };
        let up = orientation.is_up(from, to);
        let legal = !(down && up);
        down |= !up;
        legal
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_pairs_have_legal_routes_that_cannot_lock_up(shape in shapes(), roots in roots()) {
        let fabric = generate::generate(&shape).unwrap();
        let network = Network::new(&fabric);
        let routing = route(&network, &roots, false).unwrap();
        let found = check(&network, &routing.tables);
        prop_assert!(found.sound(), "{:?}", found);
        prop_assert_eq!(found.routed, found.pairs);
        prop_assert!(found.switch_cycle.is_none());
        prop_assert_eq!(found.faults, 0);
        prop_assert!(!locks_up(&network, &routing.tables));
        let mut load = vec![0; network.channels()];
        let mut links = 0;
        for (a, b) in pairs(&fabric) {
            let channels = path(&network, &routing.tables, a, b).unwrap();
            prop_assert!(is_legal(&network, &routing.orientation, &channels));
            links += channels.len() as u64;
            channels.iter().for_each(|channel| load[*channel as usize] += 1);
        }
        prop_assert_eq!(pairs(&fabric).len() as u64, found.pairs);
        prop_assert_eq!(load, found.load);
        prop_assert_eq!(links, found.links);
        let written = lft::write(&fabric, &routing.tables).unwrap();
        prop_assert_eq!(lft::read(&fabric, &written).unwrap(), routing.tables);
    }

    #[test]
    fn a_cycle_is_found_exactly_where_packets_can_lock_up(shape in shapes(), seed in any::<u64>()) {
        let fabric = generate::generate(&shape).unwrap();
        let network = Network::new(&fabric);
        let tables = shortest_anywhere(&network, seed);
        let found = check(&network, &tables);
        prop_assert_eq!(found.routed, found.pairs);
        prop_assert_eq!(found.shortest, found.pairs);
        prop_assert_eq!(found.cycle.is_some(), locks_up(&network, &tables));
        if let Some(cycle) = found.cycle {
            // Each waits for the next, on the way of a packet for the destination that is named.
            let next = cycle.channels.iter().cycle().skip(1);
            for (&(channel, destination), &(waited, _)) in cycle.channels.iter().zip(next) {
                let (from, at) = network.ends(channel);
                let (start, _) = network.ends(waited);
                prop_assert_eq!(at.node, start.node);
                for end in [from, start] {
                    let Node::Switch(switch) = end.node else { panic!("a host in a cycle") };
                    prop_assert_eq!(tables.row(destination)[switch as usize], end.port);
                }
            }
        }
    }

    #[test]
    fn after_a_failure_only_broken_entries_change(
        shape in shapes(), roots in roots(), which in any::<u32>(), whole in any::<bool>()
    ) {
        let fabric = generate::generate(&shape).unwrap();
        let before = Network::new(&fabric);
        let old = route(&before, &roots, false).unwrap().tables;
        let failed = match whole {
            true => fabric.failed(&fabric.switches[which as usize % fabric.switches.len()].name).unwrap(),
            false => vec![which % fabric.links.len() as u32],
        };
        let left = fabric.without(&failed);
        let after = Network::new(&left);
        let (tables, new) = reroute(&before, &after, &old, &Roots::Auto).unwrap();
        prop_assert!(new.check.sound(), "{:?}", new.check);
        prop_assert!(!locks_up(&after, &tables));
        let mut changed = 0;
        for destination in 0..old.destinations() {
            for at in 0..after.switches() {
                let (was, is) = (old.row(destination)[at], tables.row(destination)[at]);
                let gone = is == NONE && was != NONE;
                changed += usize::from(was != is && !gone);
                if new.kept == Kept::Entries && was != is {
                    prop_assert!(!arrives(&after, &old, at, destination), "{} {}", at, destination);
                }
            }
        }
        prop_assert_eq!(changed, new.changed);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}", form in 0usize..3) {
        let form = hpvm_routing::format::FORMS[form].1;
        let _ = hpvm_routing::format::read(&text, form);
        let fabric = generate::generate("fattree:k=4").unwrap();
        prop_assert!(lft::read(&fabric, &text).is_err());
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        form in 0usize..4, from in 0usize..3000, cut in 0usize..40, put in "[\\[\\]{}:=\"#0-9a-z \n-]{0,6}"
    ) {
        let form = hpvm_routing::format::FORMS[form].1;
        let fabric = generate::generate("torus:3x3").unwrap();
        let damage = |text: &str| {
            let from = from % text.len();
            format!("{}{put}{}", &text[..from], &text[(from + cut).min(text.len())..])
        };
        // What is only read is given.
        let text = hpvm_routing::format::write(&fabric, form).unwrap_or_else(|| {
            "SwitchName=a Nodes=n[1-4]\nSwitchName=b \\\nNodes=m,n5\nSwitchName=c Switches=a,b LinkSpeed=9".into()
        });
        if let Ok(fabric) = hpvm_routing::format::read(&damage(&text), form) {
            let network = Network::new(&fabric);
            if let Ok(routing) = route(&network, &Roots::Auto, false) {
                prop_assert!(check(&network, &routing.tables).sound());
            }
        }
        let network = Network::new(&fabric);
        let tables = route(&network, &Roots::Auto, false).unwrap().tables;
        let text = lft::write(&fabric, &tables).unwrap();
        if let Ok(tables) = lft::read(&fabric, &damage(&text)) {
            let _ = check(&network, &tables);
        }
    }
}

/// Whether the old entries still lead from a switch to a destination.
fn arrives(network: &Network, tables: &Tables, from: usize, destination: usize) -> bool {
    let row = tables.row(destination);
    let mut at = from;
    for _ in 0..=network.switches() {
        if network.target(destination) == Some(at as u32) {
            return true;
        }
        match network.hop(at as u32, row[at]) {
            Hop::Switch { to, .. } => at = to as usize,
            _ => return false,
        }
    }
    false
}

/// The last link of a ring: the only other way is the long one.
#[test]
fn rerouting_round_a_ring() {
    let fabric = generate::generate("torus:6").unwrap();
    let before = Network::new(&fabric);
    let old = route(&before, &Roots::Named(vec!["s0".into()]), false).unwrap().tables;
    let failed = fabric.failed("s0--s1").unwrap();
    assert_eq!(failed.len(), 1);
    let left = fabric.without(&failed);
    let after = Network::new(&left);
    let (_, new) = reroute(&before, &after, &old, &Roots::Auto).unwrap();
    assert!(new.check.sound());
    assert_eq!(new.check.longest, 7, "{:?}", new.check);
}

#[test]
fn roots_that_leave_pairs_without_a_route_are_refused_by_name_and_dropped_by_number() {
    // A line of five switches with hosts: from one end as a root to the other there is no up, then down.
    let fabric = generate::generate("mesh:5").unwrap();
    let network = Network::new(&fabric);
    let named = Roots::Named(vec!["s0".into(), "s4".into()]);
    let error = route(&network, &named, false).unwrap_err().to_string();
    assert!(error.contains("no legal route leads from 's"), "{error}");
    assert!(error.contains("s0, s4"), "{error}");
    let error = route(&network, &Roots::Named(vec!["s9".into()]), false).unwrap_err().to_string();
    assert!(error.contains("root 's9' is no switch"), "{error}");
    // With all three as roots the middle one, which the file names last, would be below both ends.
    let text = "switch a\nswitch c\nswitch b\nhost ha\nhost hb\nhost hc\nlink a b\nlink b c\n\
                link ha a\nlink hb b\nlink hc c\n";
    let fabric = hpvm_routing::format::read(text, hpvm_routing::format::Form::Text).unwrap();
    let network = Network::new(&fabric);
    let routing = route(&network, &Roots::Count(3), false).unwrap();
    assert_eq!(routing.orientation.roots.len(), 2);
}

#[test]
fn loops_and_dead_ends_of_tables_are_told() {
    let fabric = generate::generate("mesh:3").unwrap();
    let network = Network::new(&fabric);
    let mut tables = route(&network, &Roots::Auto, false).unwrap().tables;
    let back = network.neighbors[1].iter().find(|next| next.to == 0).unwrap().ports[0].0;
    // To host 2: switch 1 sends back to switch 0.
    tables.row_mut(2)[1] = back;
    // To host 0: nowhere; to host 1: a port that is not there; and to the wrong host.
    tables.row_mut(0)[2] = NONE;
    tables.row_mut(1)[0] = 77;
    tables.row_mut(1)[2] = network.attached[2].unwrap().1;
    let found = check(&network, &tables);
    assert_eq!((found.routed, found.pairs), (1, 6), "{found:?}");
    assert!(!found.sound());
    let all = found.examples.join("\n");
    for text in [
        "packets for 'h2' go round 2 switches",
        "switch 's2' has no entry for 'h0'",
        "switch 's0' sends packets for 'h1' to port 77, where no link is",
        "switch 's2' sends packets for 'h1' to port 1, to another host",
    ] {
        assert!(all.contains(text), "{text}:\n{all}");
    }
}

/// Hosts with two ports, each on a switch of its own: ports are reached, and none counts as a peer of its own host.
#[test]
fn hosts_with_several_ports() {
    let text = "switch a\nswitch b\nhost x\nhost y\nhost z\nlink a b\nlink x:1 a\nlink x:2 b\nlink y:1 a\n\
                link y:2 b\nlink z b\n";
    let fabric = hpvm_routing::format::read(text, hpvm_routing::format::Form::Text).unwrap();
    let network = Network::new(&fabric);
    let tables = route(&network, &Roots::Auto, false).unwrap().tables;
    let found = check(&network, &tables);
    // Five ports: 20 ordered pairs without the two of x and the two of y.
    assert_eq!((found.pairs, found.routed, found.apart), (16, 16, 0), "{found:?}");
    let mut load = vec![0; network.channels()];
    for (a, b) in pairs(&fabric) {
        let channels = path(&network, &tables, a, b).unwrap();
        channels.iter().for_each(|channel| load[*channel as usize] += 1);
    }
    assert_eq!(load, found.load);
    // A port that lost its cable: the other one serves its host still.
    let left = fabric.without(&fabric.failed("x:1").unwrap());
    let after = Network::new(&left);
    let (_, new) = reroute(&network, &after, &tables, &Roots::Auto).unwrap();
    assert!(new.check.sound(), "{:?}", new.check);
    assert_eq!((new.check.pairs, new.check.apart), (16, 6));
}

#[test]
fn what_can_fail_is_named() {
    let fabric = generate::generate("fattree:hpvm3").unwrap();
    assert_eq!(fabric.failed("s1-0--s2-0").unwrap().len(), 4);
    assert_eq!(fabric.failed("s2-0--s1-0").unwrap().len(), 4);
    assert_eq!(fabric.failed("s3-0").unwrap().len(), 12);
    let one = fabric.failed("s3-0:2").unwrap();
    assert!(fabric.links[one[0] as usize].ends.contains(&End { node: Node::Switch(8), port: 2 }));
    for (word, text) in [
        ("s9", "is no switch, link or host"),
        ("s1-0--s1-1", "no link joins these two"),
        ("s1-0:99", "no link is at this port"),
        ("s1-0:0", "no link is at this port"),
    ] {
        let error = fabric.failed(word).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains(word), "{error}");
    }
}
