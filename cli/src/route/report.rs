//! What `hpvm route` says about a fabric and its routes.

use std::fmt::Write;

use hpvm_routing::Network;
use hpvm_routing::bisection::Bisection;
use hpvm_routing::check::{Check, Cycle, by_load};
use hpvm_routing::reroute::{Kept, Rerouted};
use serde_json::{Value, json};

/// Names that a line lists; of more the number is said.
const LISTED: usize = 8;

pub struct Report<'a> {
    pub network: &'a Network<'a>,
    pub failed: &'a [u32],
    pub roots: &'a [u32],
    pub rerouted: Option<&'a Rerouted>,
    pub check: &'a Check,
    pub bisection: &'a Bisection,
}

/// The loads of channels between switches, in pairs per Gbit/s.
struct Load {
    most: f64,
    channel: Option<u32>,
    mean: f64,
    least: f64,
}

impl Report<'_> {
    fn load(&self) -> Load {
        let list = by_load(self.network, &self.check.load);
        let sum: f64 = list.iter().map(|(_, share)| share).sum();
        Load {
            most: list.first().map_or(0.0, |first| first.1),
            channel: list.first().map(|first| first.0),
            mean: sum / list.len().max(1) as f64,
            least: list.last().map_or(0.0, |last| last.1),
        }
    }

    fn switch_names(&self, switches: impl Iterator<Item = u32>) -> Vec<&str> {
        switches.map(|at| self.network.fabric.switches[at as usize].name.as_str()).collect()
    }

    /// Hosts that lost their link, or their way to the others.
    fn cut_off(&self) -> Vec<String> {
        let attached = (0..).zip(&self.network.attached);
        let lost = attached.filter(|(_, place)| place.is_none());
        lost.map(|(at, _)| self.network.destination_name(at)).collect()
    }

    /// For people.
    pub fn text(&self) -> String {
        let fabric = self.network.fabric;
        let mut out = String::new();
        let mut row = |name: &str, text: String| {
            let _ = writeln!(out, "{name:11} {text}");
        };
        row(
            "fabric",
            format!(
                "{} hosts, {} switches, {} links",
                fabric.hosts.len(),
                fabric.switches.len(),
                fabric.live_links().count()
            ),
        );
        if !self.failed.is_empty() {
            let names: Vec<String> = self.failed.iter().map(|&at| fabric.link_name(at)).collect();
            row("failed", listed(&names));
        }
        let cut_off = self.cut_off();
        if !cut_off.is_empty() {
            row("cut off", listed(&cut_off));
        }
        if !self.roots.is_empty() {
            row("roots", listed(&self.switch_names(self.roots.iter().copied())));
        }
        if let Some(rerouted) = self.rerouted {
            row("changed", self.changed(rerouted));
        }
        self.routes(&mut row);
        self.bandwidths(&mut row);
        out
    }

    fn changed(&self, rerouted: &Rerouted) -> String {
        let switches = rerouted.switches.iter();
        let switches: Vec<String> = switches
            .map(|&(at, count)| {
                format!("{} {count}", self.network.fabric.switches[at as usize].name)
            })
            .collect();
        let removed = match rerouted.removed {
            0 => String::new(),
            count => format!(", {count} removed"),
        };
        let anew = match rerouted.kept {
            Kept::Entries => "",
            Kept::Nothing => "; the old routes could not be mended, all tables are new",
        };
        let places =
            if switches.is_empty() { String::new() } else { format!(": {}", listed(&switches)) };
        format!(
            "{} entries on {} switches, for {} destinations{removed}{anew}{places}",
            rerouted.changed,
            rerouted.switches.len(),
            rerouted.destinations
        )
    }

    fn routes(&self, row: &mut impl FnMut(&str, String)) {
        let check = self.check;
        let apart = match check.apart {
            0 => String::new(),
            apart => format!(", {apart} without any way"),
        };
        row("routes", format!("{} of {} pairs of host ports{apart}", check.routed, check.pairs));
        if check.faults > 0 {
            row("faults", format!("{} entries; {}", check.faults, check.examples.join("; ")));
        }
        let lengths = format!(
            "mean {}, longest {}; {} % of the routes are shortest ways (mean {}, longest {})",
            rounded(mean(check.links, check.routed)),
            check.longest,
            rounded(100.0 * mean(check.shortest, check.routed)),
            rounded(mean(check.shortest_links, check.pairs - check.apart)),
            check.diameter
        );
        row("links", lengths);
        match (&check.cycle, &check.switch_cycle) {
            (None, None) => {
                row("deadlock", "none: no cycle in the channel dependency graph".into())
            }
            (Some(cycle), _) => self.cycle(cycle, "possible", row),
            (None, Some(cycle)) => {
                self.cycle(cycle, "none among hosts; with packets to switches", row)
            }
        }
        let load = self.load();
        let busiest = load
            .channel
            .map_or(String::new(), |channel| format!(" ({})", self.network.channel_name(channel)));
        row(
            "load",
            format!(
                "pairs per Gbit/s of links between switches: most {}{busiest}, mean {}, least {}",
                rounded(load.most),
                rounded(load.mean),
                rounded(load.least)
            ),
        );
    }

    fn cycle(&self, cycle: &Cycle, how: &str, row: &mut impl FnMut(&str, String)) {
        let count = cycle.channels.len();
        row("deadlock", format!("{how}: {count} channels wait for one another"));
        for line in cycle.text(self.network).into_iter().take(LISTED * 2) {
            row("", line);
        }
    }

    fn bandwidths(&self, row: &mut impl FnMut(&str, String)) {
        let found = self.bisection;
        let lower = match found.lower {
            Some(lower) => format!("at least {}, ", bandwidth(lower)),
            None => String::new(),
        };
        row(
            "bisection",
            format!(
                "of the fabric {lower}at most {} (least cut of {} tried); hosts of a half send {}",
                bandwidth(found.upper),
                found.tried,
                bandwidth(found.injection)
            ),
        );
        let Some(routes) = &found.routes else {
            return row(
                "",
                "of the routes: not for tables that leave pairs without a route".into(),
            );
        };
        row(
            "",
            format!(
                "of the routes, over that cut: {} in host order, random partners mean {}, least {}",
                bandwidth(routes.in_order),
                bandwidth(routes.mean),
                bandwidth(routes.least)
            ),
        );
        row(
            "",
            format!(
                "of the routes, between random halves (effective bisection bandwidth): {}",
                bandwidth(routes.effective)
            ),
        );
    }

    /// For programs. Bandwidths are in Gbit/s.
    pub fn json(&self) -> Value {
        let fabric = self.network.fabric;
        let check = self.check;
        let found = self.bisection;
        let cycle = |cycle: &Option<Cycle>| cycle.as_ref().map(|cycle| cycle.text(self.network));
        let load = self.load();
        let links = by_load(self.network, &check.load);
        let links = links.iter().map(|&(channel, _)| {
            json!({
                "channel": self.network.channel_name(channel),
                "pairs": check.load[channel as usize],
                "bandwidth": self.network.bandwidth(channel),
            })
        });
        let failed = self.failed.iter().map(|&at| fabric.link_name(at));
        json!({
            "hosts": fabric.hosts.len(),
            "switches": fabric.switches.len(),
            "links": fabric.live_links().count(),
            "failed": failed.collect::<Vec<_>>(),
            "cut_off": self.cut_off(),
            "roots": self.switch_names(self.roots.iter().copied()),
            "changed": self.rerouted.map(|rerouted| self.changed_json(rerouted)),
            "pairs": check.pairs,
            "routed": check.routed,
            "apart": check.apart,
            "faults": check.faults,
            "fault_examples": check.examples,
            "route_links": {
                "mean": mean(check.links, check.routed),
                "longest": check.longest,
                "shortest_routes": check.shortest,
                "mean_of_shortest_ways": mean(check.shortest_links, check.pairs - check.apart),
                "longest_shortest_way": check.diameter,
            },
            "deadlock": cycle(&check.cycle),
            "deadlock_with_switches": cycle(&check.switch_cycle),
            "load": { "most": load.most, "mean": load.mean, "least": load.least },
            "channels": links.collect::<Vec<_>>(),
            "bisection": {
                "upper": found.upper,
                "lower": found.lower,
                "tried": found.tried,
                "injection": found.injection,
                "routes": found.routes.as_ref().map(|routes| json!({
                    "in_order": routes.in_order,
                    "mean": routes.mean,
                    "least": routes.least,
                    "effective": routes.effective,
                    "samples": routes.samples,
                })),
            },
        })
    }

    fn changed_json(&self, rerouted: &Rerouted) -> Value {
        let name = |at: u32| self.network.fabric.switches[at as usize].name.clone();
        let switches = rerouted.switches.iter();
        let switches = switches.map(|&(at, count)| json!({ "switch": name(at), "entries": count }));
        json!({
            "entries": rerouted.changed,
            "removed": rerouted.removed,
            "destinations": rerouted.destinations,
            "switches": switches.collect::<Vec<_>>(),
            "anew": rerouted.kept == Kept::Nothing,
        })
    }
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(LISTED).map(T::as_ref).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn mean(sum: u64, count: u64) -> f64 {
    sum as f64 / count.max(1) as f64
}

/// Two digits behind the point, where they say something.
fn rounded(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn bandwidth(value: f64) -> String {
    format!("{} Gbit/s", rounded(value))
}
