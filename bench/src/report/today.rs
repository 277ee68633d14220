//! What stands beside a paper's figure: the same measurement of the report.

use super::data::{Data, OWN, Point, larger_is_better};
use super::measurements::{apps, barrier, idle, one_way};
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
        [name] => {
            message(data, name).or_else(|| onesided(data, name)).or_else(|| machine(data, name))
        }
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
        "mnewtons" => best(of("interactions")).and_then(|p| today(p.median(), ranks(p))),
        "step" => {
            let alone = of("strong").find(|p| p.ranks == 1)?;
            today(alone.median() / apps::steps(name, data.settings.quick)?, "1 rank")
        }
        "step_all" => {
            let all = of("strong").max_by_key(|p| p.ranks)?;
            today(all.median() / apps::steps(name, data.settings.quick)?, ranks(all))
        }
        _ => None,
    }
}

/// How many times better today's figure is.
pub fn times(unit: &str, then: f64, now: f64) -> f64 {
    if larger_is_better(unit) { now / then } else { then / now }
}

#[cfg(test)]
mod tests {
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
    fn better_is_above_one() {
        assert_eq!(times("us", 10.0, 2.0), 5.0);
        assert_eq!(times("MB/s", 10.0, 50.0), 5.0);
    }
}
