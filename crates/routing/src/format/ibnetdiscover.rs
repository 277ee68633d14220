//! What `ibnetdiscover` prints, which is also what `ibsim` reads: a paragraph for each node,
//!
//! ```text
//! switchguid=0x200001(200001)
//! Switch  36 "S-0000000000200001"   # "leaf 1" base port 0 lid 3 lmc 0
//! [1]     "H-0000000000100004"[1](100005)   # "node7 HCA-1" lid 7 4xEDR
//! ```
//!
//! Every link is there twice, once from each side, and the two have to agree. Names are the descriptions behind `#`;
//! nodes that have the same description get their identifier behind it.

use std::collections::HashMap;
use std::fmt::Write;

use super::{guid, number};
use crate::error::{Error, quoted};
use crate::fabric::{Builder, End, Fabric, MAX_LID, MAX_PORTS, Node};

/// A node as it is written.
struct Paragraph {
    line: usize,
    switch: bool,
    ports: usize,
    /// `S-...` or `H-...`.
    id: String,
    name: String,
    guid: Option<u64>,
    lid: Option<u32>,
    links: Vec<Side>,
}

/// A link as one of its nodes tells it.
struct Side {
    line: usize,
    port: u16,
    to: String,
    to_port: u16,
    /// LID and GUID of this port, as hosts say.
    lid: Option<u32>,
    guid: Option<u64>,
    bandwidth: f64,
}

pub fn read(text: &str) -> Result<Fabric, Error> {
    let nodes = paragraphs(text)?;
    let mut builder = Builder::new();
    let mut ids: HashMap<&str, Node> = HashMap::new();
    for node in &nodes {
        enter(&mut builder, node, &mut ids).map_err(|error| error.or_at(node.line))?;
    }
    let mut sides: HashMap<(Node, u16), (Node, u16)> = HashMap::new();
    for node in &nodes {
        for side in &node.links {
            link(&mut builder, &ids, node, side, &mut sides).map_err(|e| e.or_at(side.line))?;
        }
    }
    for ((node, port), (to, to_port)) in &sides {
        if sides.get(&(*to, *to_port)) != Some(&(*node, *port)) {
            return Err(one_sided(&nodes, &ids, (*node, *port)));
        }
    }
    builder.finish()
}

/// The message for a link that only one of its ends tells, as in a file that was cut off.
fn one_sided(nodes: &[Paragraph], ids: &HashMap<&str, Node>, end: (Node, u16)) -> Error {
    let teller = nodes.iter().find(|node| ids.get(node.id.as_str()) == Some(&end.0));
    let side = teller.and_then(|node| node.links.iter().find(|side| side.port == end.1));
    let (line, to, port) = side.map_or((0, "", 0), |side| (side.line, &side.to, side.to_port));
    let text = format!(
        "{}[{port}]: the other end does not tell of this link; the file is cut off or from two fabrics",
        quoted(to)
    );
    Error::at(line, text)
}

fn paragraphs(text: &str) -> Result<Vec<Paragraph>, Error> {
    let mut nodes: Vec<Paragraph> = Vec::new();
    let mut node_guid = None;
    for (line, row) in (1..).zip(text.lines()) {
        let row = row.trim();
        let parsed = if row.is_empty() || row.starts_with('#') {
            Ok(())
        } else if row.starts_with('[') {
            side(row, line).and_then(|side| match nodes.last_mut() {
                Some(node) => {
                    node.links.push(side);
                    Ok(())
                }
                None => Err(Error::new("a link before the first Switch or Ca")),
            })
        } else if let Some((key, value)) = row.split_once('=').filter(|(key, _)| is_key(key)) {
            let value = value.split('(').next().unwrap_or_default();
            if matches!(key, "switchguid" | "caguid" | "rtguid") {
                guid(value).map(|value| node_guid = Some(value))
            } else {
                Ok(())
            }
        } else {
            head(row, line, node_guid.take()).map(|node| nodes.push(node))
        };
        parsed.map_err(|error| error.or_at(line))?;
    }
    Ok(nodes)
}

fn is_key(word: &str) -> bool {
    ["vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid"].contains(&word)
}

/// `Switch 36 "S-..." # "name" ... lid 3 ...`.
fn head(row: &str, line: usize, node_guid: Option<u64>) -> Result<Paragraph, Error> {
    let (front, comment) = row.split_once('#').unwrap_or((row, ""));
    let (kind, rest) = front.trim().split_once(char::is_whitespace).unwrap_or((front.trim(), ""));
    let switch = match kind.to_ascii_lowercase().as_str() {
        "switch" => true,
        "ca" | "hca" => false,
        "rt" => return Err(Error::new("'Rt': routers between subnets are not supported")),
        _ => {
            return Err(Error::new(format!(
                "{}: expected 'Switch', 'Ca', '[PORT]' or 'KEY=VALUE'",
                quoted(kind)
            )));
        }
    };
    let (ports, id) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let ports = number(ports, "the number of ports", 1, MAX_PORTS as u64)? as usize;
    let (id, _) = string(id.trim())?;
    let name = string(comment.trim()).map(|(name, _)| name).unwrap_or_else(|_| id.clone());
    let words: Vec<&str> = comment.rsplit('"').next().unwrap_or("").split_whitespace().collect();
    let lid = if switch { after(&words, "lid")? } else { None };
    let guid = node_guid.or_else(|| id.split_once('-').and_then(|(_, hex)| guid(hex).ok()));
    Ok(Paragraph { line, switch, ports, id, name, guid, lid, links: Vec::new() })
}

/// `[1](guid) "S-..."[3] # "name" lid 7 4xEDR`, with some parts left out.
fn side(row: &str, line: usize) -> Result<Side, Error> {
    let (port, rest) = bracketed(row)?;
    let (guid_here, rest) = parenthesized(rest.trim_start())?;
    let (to, rest) = string(rest.trim_start())?;
    let (to_port, rest) = bracketed(rest)?;
    let (_, rest) = parenthesized(rest)?;
    let comment = rest.split_once('#').map_or("", |(_, comment)| comment);
    let before = comment.split('"').next().unwrap_or_default();
    let lid = after(&before.split_whitespace().collect::<Vec<_>>(), "lid")?;
    let speed = comment.rsplit('"').next().unwrap_or_default();
    let bandwidth = speed.split_whitespace().find_map(speed_of).unwrap_or(1.0);
    Ok(Side { line, port, to, to_port, lid, guid: guid_here, bandwidth })
}

/// Gbit/s of data that `4xEDR` carries.
fn speed_of(word: &str) -> Option<f64> {
    let (width, speed) = word.split_once('x')?;
    let width: u32 = width.parse().ok().filter(|width| (1..=12).contains(width))?;
    // Without the bits of the encoding: 8 of 10 up to QDR, 64 of 66 from FDR10 on.
    let lane = match speed {
        "SDR" => 2.0,
        "DDR" => 4.0,
        "QDR" => 8.0,
        "FDR10" => 10.0,
        "FDR" => 13.64,
        "EDR" => 25.0,
        "HDR" => 50.0,
        "NDR" => 100.0,
        "XDR" => 200.0,
        _ => return None,
    };
    Some(f64::from(width) * lane)
}

/// The LID behind a word. LID 0 is none.
fn after(words: &[&str], key: &str) -> Result<Option<u32>, Error> {
    let Some(at) = words.iter().position(|word| *word == key) else { return Ok(None) };
    let lid = number(words.get(at + 1).unwrap_or(&""), "a LID", 0, u64::from(MAX_LID))?;
    Ok(Some(lid as u32).filter(|lid| *lid > 0))
}

fn bracketed(text: &str) -> Result<(u16, &str), Error> {
    let parts = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((port, rest)) = parts else {
        return Err(Error::new(format!("{}: expected a port in brackets, [PORT]", quoted(text))));
    };
    Ok((number(port, "a port", 1, MAX_PORTS as u64)? as u16, rest))
}

fn parenthesized(text: &str) -> Result<(Option<u64>, &str), Error> {
    let Some(rest) = text.strip_prefix('(') else { return Ok((None, text)) };
    let Some((word, rest)) = rest.split_once(')') else {
        return Err(Error::new(format!("{}: the parenthesis is not closed", quoted(text))));
    };
    Ok((Some(guid(word)?), rest))
}

fn string(text: &str) -> Result<(String, &str), Error> {
    let parts = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let (word, rest) = parts
        .ok_or_else(|| Error::new(format!("{}: expected a name in double quotes", quoted(text))))?;
    Ok((word.to_owned(), rest))
}

fn enter<'a>(
    builder: &mut Builder,
    node: &'a Paragraph,
    ids: &mut HashMap<&'a str, Node>,
) -> Result<(), Error> {
    if ids.contains_key(node.id.as_str()) {
        return Err(Error::new(format!("{} is there twice", quoted(&node.id))));
    }
    let name = match builder.node(&node.name) {
        _ if node.name.is_empty() => node.id.clone(),
        None => node.name.clone(),
        Some(_) => format!("{} {}", node.name, node.id),
    };
    let at = if node.switch {
        let at = builder.switch(&name, Some(node.ports), node.line)?;
        let switch = &mut builder.fabric().switches[at as usize];
        switch.guid = node.guid;
        switch.lid = node.lid;
        Node::Switch(at)
    } else {
        let at = builder.host(&name, Some(node.ports), node.line)?;
        builder.fabric().hosts[at as usize].guid = node.guid;
        Node::Host(at)
    };
    ids.insert(&node.id, at);
    Ok(())
}

fn link(
    builder: &mut Builder,
    ids: &HashMap<&str, Node>,
    node: &Paragraph,
    side: &Side,
    sides: &mut HashMap<(Node, u16), (Node, u16)>,
) -> Result<(), Error> {
    let here = ids[node.id.as_str()];
    let Some(&there) = ids.get(side.to.as_str()) else {
        return Err(Error::new(format!(
            "{}: no Switch or Ca of this name; the file is cut off or from two fabrics",
            quoted(&side.to)
        )));
    };
    if sides.insert((here, side.port), (there, side.to_port)).is_some() {
        return Err(Error::new(format!("port [{}] of {} is there twice", side.port, node.id)));
    }
    // The first of the two tellings makes the link.
    if sides.get(&(there, side.to_port)) != Some(&(here, side.port)) {
        let end = End { node: here, port: side.port };
        builder.link(end, End { node: there, port: side.to_port }, side.bandwidth)?;
    }
    if let Node::Host(host) = here {
        let ports = &mut builder.fabric().hosts[host as usize].ports;
        if let Some(port) = ports.get_mut(usize::from(side.port) - 1) {
            (port.lid, port.guid) = (side.lid, side.guid);
        }
    }
    Ok(())
}

pub fn write(fabric: &Fabric) -> String {
    let mut out = String::new();
    let nodes = (0..fabric.switches.len() as u32).map(Node::Switch);
    for node in nodes.chain((0..fabric.hosts.len() as u32).map(Node::Host)) {
        let (count, lid) = match node {
            Node::Switch(at) => {
                let switch = &fabric.switches[at as usize];
                (switch.ports.len().max(1), switch.lid)
            }
            Node::Host(at) => (fabric.hosts[at as usize].ports.len(), None),
        };
        let lid = lid.map(|lid| format!(" base port 0 lid {lid} lmc 0")).unwrap_or_default();
        let kind = if matches!(node, Node::Switch(_)) { "Switch" } else { "Ca" };
        let _ = writeln!(
            out,
            "{kind} {count} \"{}\" # \"{}\"{lid}",
            id(fabric, node),
            fabric.name(node)
        );
        for port in 1..=count as u16 {
            let Some(link) = fabric.link_at(End { node, port }) else { continue };
            let to = fabric.across(link, node, port);
            let lid = match node {
                Node::Host(at) => fabric.hosts[at as usize].ports[usize::from(port) - 1].lid,
                Node::Switch(_) => None,
            };
            let lid = lid.map(|lid| format!(" # lid {lid} lmc 0")).unwrap_or_default();
            let _ = writeln!(out, "[{port}] \"{}\"[{}]{lid}", id(fabric, to.node), to.port);
        }
        out.push('\n');
    }
    out
}

/// The GUID of a node; one of a range for local use where the fabric says none.
pub fn guid_of(fabric: &Fabric, node: Node) -> u64 {
    // The bit for locally administered numbers, then a range for switches and one for hosts, whose ports follow.
    const SWITCHES: u64 = 0x0200_0000_0020_0000;
    const HOSTS: u64 = 0x0200_0000_1000_0000;
    match node {
        Node::Switch(at) => fabric.switches[at as usize].guid.unwrap_or(SWITCHES + u64::from(at)),
        Node::Host(at) => {
            let step = (MAX_PORTS as u64) * 2;
            fabric.hosts[at as usize].guid.unwrap_or(HOSTS + u64::from(at) * step)
        }
    }
}

fn id(fabric: &Fabric, node: Node) -> String {
    let kind = if matches!(node, Node::Switch(_)) { 'S' } else { 'H' };
    format!("{kind}-{:016x}", guid_of(fabric, node))
}
