//! A drawing of a fabric, as SVG: switches at their positions where they have some, else in rows by their distance
//! from the roots; the hosts of a switch below it; links coloured by load.

use std::fmt::Write;

use crate::network::Network;
use crate::updown::Orientation;

/// Hosts of a switch that are drawn one by one; of more only the number is.
const SINGLE_HOSTS: usize = 24;
/// All hosts together, up to which they are drawn one by one.
const SINGLE_HOSTS_IN_ALL: usize = 600;
const WIDTH: f64 = 1200.0;
const ROW: f64 = 130.0;
const MARGIN: f64 = 50.0;
/// Parallel links are this far apart.
const APART: f64 = 3.0;
/// So far a link that would lie over others is bent.
const BEND: f64 = 12.0;

/// Draws it; `load` is pairs per channel where there are routes.
pub fn svg(network: &Network, orientation: &Orientation, load: Option<&[u64]>) -> String {
    let places = places(network, orientation);
    let height = places.iter().map(|place| place.1).fold(0.0, f64::max) + ROW;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let most = load.map(|load| most(network, load));
    let lines = links(network, &places, load, most.unwrap_or(0.0));
    out.push_str(&lines);
    let single = network.attached.len() <= SINGLE_HOSTS_IN_ALL;
    for (at, &place) in places.iter().enumerate() {
        hosts(network, at, place, single, &mut out);
        switch(network, orientation, at, place, &mut out);
    }
    if let Some(most) = most {
        legend(most, height, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

/// Pairs per Gbit/s on the most loaded channel between switches.
fn most(network: &Network, load: &[u64]) -> f64 {
    crate::check::by_load(network, load).first().map_or(0.0, |(_, share)| *share)
}

fn places(network: &Network, orientation: &Orientation) -> Vec<(f64, f64)> {
    let given: Option<Vec<(f64, f64)>> =
        network.fabric.switches.iter().map(|switch| switch.position).collect();
    match given {
        Some(given) => scaled(&given),
        None => rows(network, orientation),
    }
}

/// Positions of the fabric, fitted into the drawing.
fn scaled(given: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = given.iter().map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
    };
    let (x, y) = (range(|place| place.0), range(|place| place.1));
    let scale = (WIDTH - 2.0 * MARGIN) / (x.1 - x.0).max(1e-9);
    // A narrow fabric is not blown up to the whole width.
    let scale = scale.min(ROW);
    let fit = |&(a, b): &(f64, f64)| (MARGIN + (a - x.0) * scale, MARGIN + (b - y.0) * scale);
    given.iter().map(fit).collect()
}

/// A row for each level; inside, each switch stands below the middle of its neighbours above.
fn rows(network: &Network, orientation: &Orientation) -> Vec<(f64, f64)> {
    let levels = orientation.level.iter().max().map_or(0, |level| level + 1);
    let mut places = vec![(0.0, 0.0); network.switches()];
    for level in 0..levels {
        let members =
            orientation.order.iter().filter(|&&at| orientation.level[at as usize] == level);
        let mut members: Vec<(f64, u32)> = members
            .map(|&at| {
                let above = network.neighbors[at as usize].iter();
                let above = above.filter(|n| orientation.level[n.to as usize] < level);
                let above: Vec<f64> = above.map(|n| places[n.to as usize].0).collect();
                (above.iter().sum::<f64>() / above.len().max(1) as f64, at)
            })
            .collect();
        members.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let step = (WIDTH - 2.0 * MARGIN) / members.len() as f64;
        for (column, (_, at)) in members.into_iter().enumerate() {
            let x = MARGIN + step * (column as f64 + 0.5);
            places[at as usize] = (x, MARGIN + f64::from(level) * ROW);
        }
    }
    places
}

fn links(network: &Network, places: &[(f64, f64)], load: Option<&[u64]>, most: f64) -> String {
    let mut out = String::new();
    let around = shortest(network, places) * 1.6;
    for (at, neighbors) in network.neighbors.iter().enumerate() {
        for neighbor in neighbors.iter().filter(|neighbor| neighbor.to as usize > at) {
            let (a, b) = (places[at], places[neighbor.to as usize]);
            let (dx, dy) = (b.0 - a.0, b.1 - a.1);
            let length = (dx * dx + dy * dy).sqrt().max(1.0);
            for (place, &(_, channel)) in neighbor.ports.iter().enumerate() {
                let middle = (neighbor.ports.len() - 1) as f64 / 2.0;
                let aside = (place as f64 - middle) * APART / length;
                let (x, y) = (-dy * aside, dx * aside);
                // A straight line along a row or a column would lie over those of the switches between.
                let hidden = (dx.abs() < 1.0 || dy.abs() < 1.0) && length > around;
                let bend = if hidden { 2.0 * BEND / length } else { 0.0 };
                let over = (x + dx / 2.0 + dy * bend, y + dy / 2.0 - dx * bend);
                let _ = writeln!(
                    out,
                    "<path d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{}\" \
                     stroke-width=\"1.5\"><title>{}</title></path>",
                    a.0 + x,
                    a.1 + y,
                    a.0 + over.0,
                    a.1 + over.1,
                    b.0 + x,
                    b.1 + y,
                    link_color(network, channel, load, most),
                    title(network, channel, load)
                );
            }
        }
    }
    out
}

/// The length of the shortest link that is drawn.
fn shortest(network: &Network, places: &[(f64, f64)]) -> f64 {
    let links = network.neighbors.iter().zip(places).flat_map(|(neighbors, a)| {
        neighbors.iter().map(move |neighbor| {
            let b = places[neighbor.to as usize];
            ((b.0 - a.0).powi(2) + (b.1 - a.1).powi(2)).sqrt()
        })
    });
    links.fold(f64::INFINITY, f64::min)
}

fn link_color(network: &Network, channel: u32, load: Option<&[u64]>, most: f64) -> String {
    let Some(load) = load else { return "#888".to_owned() };
    let pairs = load[channel as usize].max(load[channel as usize ^ 1]);
    color(pairs as f64 / network.bandwidth(channel) / most.max(1e-9))
}

fn title(network: &Network, channel: u32, load: Option<&[u64]>) -> String {
    let Some(load) = load else { return escaped(&network.fabric.link_name(channel / 2)) };
    let (there, back) = (load[channel as usize], load[channel as usize ^ 1]);
    format!("{}: {there} pairs, back {back}", escaped(&network.channel_name(channel)))
}

/// From light blue over yellow to red.
fn color(share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    let mix = |a: [f64; 3], b: [f64; 3], part: f64| {
        let mixed = [0, 1, 2].map(|at| (a[at] + (b[at] - a[at]) * part).round() as u8);
        format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
    };
    let (low, middle, high) = ([150.0, 190.0, 230.0], [240.0, 190.0, 60.0], [200.0, 30.0, 30.0]);
    if share < 0.5 { mix(low, middle, share * 2.0) } else { mix(middle, high, share * 2.0 - 1.0) }
}

fn hosts(network: &Network, at: usize, place: (f64, f64), single: bool, out: &mut String) {
    let local = &network.local[at];
    if local.is_empty() {
        return;
    }
    let (x, y) = place;
    if !single || local.len() > SINGLE_HOSTS {
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{} hosts</text>",
            y + 26.0,
            local.len()
        );
        return;
    }
    /// Hosts in a row below a switch.
    const COLUMNS: usize = 8;
    let columns = local.len().min(COLUMNS);
    for (place, &end_port) in local.iter().enumerate() {
        let left = (columns - 1) as f64 / 2.0;
        let dx = ((place % COLUMNS) as f64 - left) * 8.0;
        let dy = 20.0 + (place / COLUMNS) as f64 * 8.0;
        let _ = writeln!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"#4a7\"><title>{}</title></circle>",
            x + dx,
            y + dy,
            escaped(&network.destination_name(end_port as usize))
        );
    }
}

fn switch(
    network: &Network,
    orientation: &Orientation,
    at: usize,
    (x, y): (f64, f64),
    out: &mut String,
) {
    let name = escaped(&network.fabric.switches[at].name);
    let root = orientation.roots.contains(&(at as u32));
    let fill = if root { "#fd9" } else { "#eee" };
    let kind = if root { ", a root" } else { "" };
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"20\" height=\"14\" fill=\"{fill}\" stroke=\"#333\">\
         <title>switch {name}{kind}</title></rect>",
        x - 10.0,
        y - 7.0
    );
    /// Names of more switches would cover one another.
    const NAMED: usize = 120;
    if network.switches() <= NAMED {
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            y - 11.0
        );
    }
}

fn legend(most: f64, height: f64, out: &mut String) {
    for step in 0..=20 {
        let share = f64::from(step) / 20.0;
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"8\" fill=\"{}\"/>",
            MARGIN + f64::from(step) * 10.0,
            height - 24.0,
            color(share)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\">0 to {most:.0} pairs per Gbit/s (the busier direction)</text>",
        MARGIN + 216.0,
        height - 16.0
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
