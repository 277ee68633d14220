//! What stands beside a paper's figure: the same measurement of the report.

use super::data::{Data, OWN, Point, larger_is_better};
use super::measurements::pvm::PACKED;
use super::measurements::{apps, barrier, idle, one_way, paper_runs};
use crate::stats::half_size;

/// Today's figure, with the conditions that differ from the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct Today {
    pub value: f64,
    pub condition: String,
}

fn today(value: f64, condition: impl Into<String>) -> Option<Today> {
    value.is_finite().then(|| Today { value, condition: condition.into() })
}

fn best<'a>(points: impl Iterator<Item = &'a Point>) -> Option<&'a Point> {
    points.reduce(|a, b| {
        let better = if larger_is_better(&a.unit) {
            b.median() > a.median()
        } else {
            b.median() < a.median()
        };
        if better { b } else { a }
    })
}

fn ranks(p: &Point) -> String {
    format!("{} ranks", p.ranks)
}

/// The figure for what `papers.toml` calls `quantity`; `None` where it was not measured.
pub fn find(data: &Data, quantity: &str) -> Option<Today> {
    let words: Vec<&str> = quantity.split('.').collect();
    match words[..] {
        ["npb", benchmark, class] => npb(data, benchmark, class),
        ["app", name, what] => app(data, name, what),
        [name] => message(data, name)
            .or_else(|| onesided(data, name))
            .or_else(|| pvm(data, name))
            .or_else(|| machine(data, name)),
        _ => None,
    }
}

fn message(data: &Data, name: &str) -> Option<Today> {
    let bandwidth = || data.points("bandwidth").iter();
    match name {
        "latency" => one_way(data).and_then(|p| today(p.median(), format!("{} B", p.size))),
        "bandwidth" => {
            best(bandwidth()).and_then(|p| today(p.median(), crate::table::bytes(p.size)))
        }
        "half_size" => {
            let curve: Vec<(u64, f64)> = bandwidth().map(|p| (p.size, p.median())).collect();
            let half = half_size(&curve)?;
            today(half.bytes, if half.at_most { "at most" } else { "" })
        }
        "barrier" => {
            let most = data.points("barrier").iter().max_by_key(|p| p.ranks)?;
            today(most.median(), ranks(most))
        }
        "barrier_slope" => {
            today(barrier::growth(data.points("barrier").iter())?.line.slope, "per doubling")
        }
        "bisection" => {
            best(data.points("bisection").iter()).and_then(|p| today(p.median(), ranks(p)))
        }
        "idle_bandwidth" => {
            idle::left(data).and_then(|(left, idle)| today(left, format!("{idle} idle ranks")))
        }
        "probe" => data.points("probe").first().and_then(|p| today(p.median(), "MPI_Iprobe")),
        _ => None,
    }
}

fn onesided(data: &Data, name: &str) -> Option<Today> {
    let of = |op: &str| {
        data.points("shmem").iter().filter(move |p| p.op.as_deref() == Some(op)).collect::<Vec<_>>()
    };
    match name {
        "shmem_put" => of("put")
            .into_iter()
            .min_by_key(|p| p.size)
            .and_then(|p| today(p.median(), "8 B, with quiet")),
        "shmem_bandwidth" => best(of("put_bandwidth").into_iter())
            .and_then(|p| today(p.median(), crate::table::bytes(p.size))),
        "shmem_fetch_add" => of("fetch_add").first().and_then(|p| today(p.median(), "")),
        _ => None,
    }
}

fn pvm(data: &Data, name: &str) -> Option<Today> {
    let of = |mode: &'static str| data.points("pvm").iter().filter(move |p| p.mode == mode);
    match name {
        "pvm_latency" => of("round trip")
            .filter(|p| p.op.as_deref() == Some(PACKED))
            .min_by_key(|p| p.size)
            .and_then(|p| today(p.median() / 2.0, format!("{} B, packed and unpacked", p.size))),
        "pvm_bandwidth" => {
            best(of("bandwidth")).and_then(|p| today(p.median(), crate::table::bytes(p.size)))
        }
        "pvm_probe" => of("probe").next().and_then(|p| today(p.median(), "nothing there")),
        _ => None,
    }
}

fn machine(data: &Data, name: &str) -> Option<Today> {
    let floor = |mode: &'static str, op: Option<&'static str>| {
        data.points("floor").iter().filter(move |p| p.mode == mode && p.op.as_deref() == op)
    };
    // The largest block does not fit into caches, as nothing did then.
    let copied = || floor("memcpy", None).max_by_key(|p| p.size);
    match name {
        "memcpy" => copied().and_then(|p| today(p.median(), crate::table::bytes(p.size))),
        "memcpy_twice" => {
            copied().and_then(|p| today(2.0 * p.median(), "memcpy, bytes counted twice"))
        }
        "tcp_latency" => floor("tcp", Some("latency"))
            .min_by_key(|p| p.size)
            .and_then(|p| today(p.median(), "loopback")),
        "tcp_bandwidth" => {
            best(floor("tcp", Some("bandwidth"))).and_then(|p| today(p.median(), "loopback"))
        }
        "disk" => {
            let synced =
                data.points("files").iter().filter(|p| p.op.as_deref() == Some("write(2)+fsync"));
            best(synced).and_then(|p| today(p.median(), "write and fsync"))
        }
        _ => None,
    }
}

fn npb(data: &Data, benchmark: &str, class: &str) -> Option<Today> {
    let all = data.points("npb").iter();
    let of = |p: &&Point| p.op.as_deref() == Some(benchmark) && p.shape.as_deref() == Some(class);
    best(all.filter(of)).and_then(|p| today(p.median(), ranks(p)))
}

fn app(data: &Data, name: &str, what: &str) -> Option<Today> {
    let of = |shape: &'static str| {
        data.points("apps").iter().filter(move |p| {
            p.by == OWN && p.op.as_deref() == Some(name) && p.shape.as_deref() == Some(shape)
        })
    };
    match what {
        "mnewtons" => best(of("interactions")).and_then(|p| {
            today(p.median(), format!("{}, {} bodies", ranks(p), apps::TREECODE_BODIES))
        }),
        "step" => {
            let alone = of("strong").find(|p| p.ranks == 1)?;
            today(alone.median() / apps::steps(name, data.settings.quick)?, "1 rank")
        }
        "step_all" => {
            let all = of("strong").max_by_key(|p| p.ranks)?;
            today(all.median() / apps::steps(name, data.settings.quick)?, ranks(all))
        }
        "speedup" => {
            let [alone, all] =
                [(name, "force"), (name, "force_all")].map(|(n, w)| paper_run(data, n, w));
            today(alone?.median() / all?.median(), ranks(all?))
        }
        _ => {
            let run = paper_runs::RUNS.iter().find(|r| r.name == name && r.what == what)?;
            today(paper_run(data, name, what)?.median(), run.condition)
        }
    }
}

/// The point of a run of a paper's problem.
fn paper_run<'a>(data: &'a Data, name: &str, what: &str) -> Option<&'a Point> {
    let shape = paper_runs::RUNS.iter().find(|r| r.name == name && r.what == what)?.shape();
    data.points("apps").iter().find(|p| p.by == OWN && p.shape.as_deref() == Some(&shape))
}

/// What a quantity of `papers.toml` is called on the page.
pub fn called(quantity: &str) -> &'static str {
    let words: Vec<&str> = quantity.split('.').collect();
    match words[..] {
        ["npb", ..] => "rate",
        ["app", _, "mnewtons"] => "interactions",
        ["app", _, "gflops" | "mflops"] => "rate",
        ["app", _, "speedup"] => "speed-up",
        ["app", _, "step" | "step_small" | "step_all"] => "time of a step",
        ["app", ..] => "time",
        ["latency" | "pvm_latency"] => "one way",
        ["bandwidth" | "idle_bandwidth" | "pvm_bandwidth"] => "bandwidth",
        ["half_size"] => "N½",
        ["barrier"] => "barrier",
        ["barrier_slope"] => "barrier, growth",
        ["bisection"] => "bisection bandwidth",
        ["probe" | "pvm_probe"] => "look for a message",
        ["shmem_put"] => "put",
        ["shmem_bandwidth"] => "bandwidth of puts",
        ["shmem_fetch_add"] => "fetch and add",
        ["memcpy" | "memcpy_twice"] => "copy in memory",
        ["tcp_latency"] => "socket, one way",
        ["tcp_bandwidth"] => "socket, bandwidth",
        ["disk"] => "disk, bandwidth",
        _ => "",
    }
}

/// How many times better today's figure is.
pub fn times(unit: &str, then: f64, now: f64) -> f64 {
    if larger_is_better(unit) { now / then } else { then / now }
}

#[cfg(test)]
mod tests {
    use super::super::data::Outcome;
    use super::super::fixed;
    use super::*;

    #[test]
    fn figures_are_found_where_they_were_measured() {
        let data = fixed::data();
        assert_eq!(find(&data, "latency").unwrap().value, 0.5);
        assert_eq!(find(&data, "bandwidth").unwrap().value, 10000.0);
        assert_eq!(find(&data, "npb.BT.A").unwrap().condition, "4 ranks");
        assert_eq!(find(&data, "app.md.step").unwrap().value, 0.01);
        assert_eq!(find(&data, "app.sweep.seconds"), None);
        assert_eq!(find(&data, "no such thing"), None);
    }

    #[test]
    fn runs_of_the_papers_problems_are_found_by_name() {
        let mut data = fixed::data();
        let run = |what: &str| {
            paper_runs::RUNS.iter().find(|r| r.name == "barnes" && r.what == what).unwrap().shape()
        };
        let points = ["force", "force_all"].iter().zip([0.4, 0.25]).map(|(what, seconds)| {
            Point::new("app", OWN, 1, 0, "s", vec![seconds]).of("sam_barnes", &run(what))
        });
        let apps = data.finished.iter_mut().find(|f| f.name == "apps").unwrap();
        let Outcome::Points(found) = &mut apps.outcome else { panic!("it has points") };
        found.extend(points);
        assert_eq!(find(&data, "app.barnes.speedup").unwrap().value, 1.6);
        assert_eq!(find(&data, "app.barnes.force").unwrap().condition, "1 rank");
        assert_eq!(find(&data, "app.fdtd.step"), None);
    }

    #[test]
    fn every_quantity_of_the_papers_has_a_name() {
        for figure in crate::papers::all() {
            assert!(!called(&figure.entry.quantity).is_empty(), "{}", figure.entry.quantity);
        }
    }

    #[test]
    fn better_is_above_one() {
        assert_eq!(times("us", 10.0, 2.0), 5.0);
        assert_eq!(times("MB/s", 10.0, 50.0), 5.0);
    }
}
