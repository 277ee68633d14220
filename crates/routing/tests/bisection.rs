//! Bisection bandwidths that are known, and those of small fabrics by trying everything.

use hpvm_routing::bisection::{Bisection, bisection};
use hpvm_routing::check::check;
use hpvm_routing::updown::{Roots, route};
use hpvm_routing::{Network, generate};
use proptest::prelude::*;

fn of(shape: &str) -> Bisection {
    let fabric = generate::generate(shape).unwrap();
    let network = Network::new(&fabric);
    let tables = route(&network, &Roots::Auto, false).unwrap().tables;
    let found = check(&network, &tables);
    bisection(&network, &tables, &found)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn known_fabrics() {
    // Links that a straight cut crosses, or half the hosts' links where these are fewer.
    for (shape, known) in [
        ("mesh:4x4:hosts=4", 4.0),
        ("torus:4x4:hosts=4", 8.0),
        ("torus:6x6:hosts=1", 12.0),
        ("mesh:8", 1.0),
        ("torus:8", 2.0),
        ("mesh:2x2x2", 4.0),
        ("fattree:k=4", 8.0),
        ("fattree:k=8", 64.0),
        ("ntree:k=4:n=2", 8.0),
        ("fattree:m=4:w=1:p=1", 2.0),
        // A tree with one link up from each of 4 switches.
        ("fattree:m=4,4:w=1,1:p=1,1", 2.0),
    ] {
        let found = of(shape);
        assert!(near(found.upper, known), "{shape}: {found:?}");
        assert!(found.lower.unwrap() <= known + 1e-9, "{shape}: {found:?}");
    }
}

/// Section 4.1 of the HPVM III paper: doubling the top half of the tree doubles what crosses it, with routes that
/// know several roots; with one root they gain nothing.
#[test]
fn doubling_the_top_of_the_tree() {
    let before = of("fattree:hpvm3");
    assert!(near(before.upper, 7.68) && near(before.lower.unwrap(), 7.68), "{before:?}");
    assert!(near(before.routes.unwrap().in_order, 7.68));
    let after = of("fattree:hpvm3-doubled");
    assert!(near(after.upper, 15.36), "{after:?}");
    assert!(near(after.routes.unwrap().in_order, 15.36));
    let fabric = generate::generate("fattree:hpvm3-doubled").unwrap();
    let network = Network::new(&fabric);
    let tables = route(&network, &Roots::Count(1), false).unwrap().tables;
    let found = check(&network, &tables);
    let single = bisection(&network, &tables, &found);
    assert!(near(single.routes.unwrap().in_order, 7.68));
}

/// The least cut of all halves, by trying all, and for each all sides of the switches.
fn exact(network: &Network) -> f64 {
    let hosts = network.attached.len();
    let switches = network.switches();
    let mut best = f64::INFINITY;
    for half in 0u32..1 << hosts {
        if half.count_ones() as usize != hosts / 2 {
            continue;
        }
        for side in 0u32..1 << switches {
            let mut cut = 0.0;
            for at in 0..switches {
                for next in &network.neighbors[at] {
                    if side >> at & 1 == 1 && side >> next.to & 1 == 0 {
                        cut += next.ports.iter().map(|p| network.bandwidth(p.1)).sum::<f64>();
                    }
                }
            }
            for (host, place) in network.attached.iter().enumerate() {
                let switch = place.unwrap().0;
                cut += f64::from((half >> host & 1 == 1) != (side >> switch & 1 == 1));
            }
            best = best.min(cut);
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn small_fabrics(switches in 1usize..5, hosts in 1usize..3, free in 2usize..4, seed in any::<u32>()) {
        let ports = hosts + free;
        let shape = format!("irregular:switches={switches}:ports={ports}:hosts={hosts}:seed={seed}");
        let fabric = generate::generate(&shape).unwrap();
        prop_assume!(fabric.hosts.len() > 1);
        let network = Network::new(&fabric);
        let exact = exact(&network);
        let found = of(&shape);
        prop_assert!(near(found.upper, exact), "{:?} {}", found, exact);
        prop_assert!(found.lower.unwrap() <= exact + 1e-9, "{:?} {}", found, exact);
        prop_assert!(found.routes.unwrap().in_order <= exact + 1e-9);
    }
}
