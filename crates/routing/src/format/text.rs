//! Our own form, a line for each thing:
//!
//! ```text
//! # two hosts on one switch
//! switch s1 ports=8
//! host h1
//! host h2 address=10.0.0.2 slots=4
//! link h1 s1:1 bw=100
//! link h2 s1:2 bw=100
//! ```

use std::fmt::Write;

use super::{bandwidth, guid, number, position};
use crate::error::{Error, quoted};
use crate::fabric::{Builder, End, Fabric, HostPort, MAX_LID, MAX_PORTS};

pub fn read(text: &str) -> Result<Fabric, Error> {
    let mut builder = Builder::new();
    for (line, row) in (1..).zip(text.lines()) {
        let row = row.split('#').next().unwrap_or_default();
        let words: Vec<&str> = row.split_whitespace().collect();
        let done = match words.split_first() {
            None => Ok(()),
            Some((&"switch", rest)) => switch(&mut builder, rest, line),
            Some((&"host", rest)) => host(&mut builder, rest, line),
            Some((&"link", rest)) => link(&mut builder, rest),
            Some((word, _)) => Err(Error::new(format!(
                "{}: expected 'switch NAME', 'host NAME' or 'link NAME[:PORT] NAME[:PORT]'",
                quoted(word)
            ))),
        };
        done.map_err(|error| error.or_at(line))?;
    }
    builder.finish()
}

/// `KEY=VALUE` words, each key at most once.
fn settings<'a>(words: &[&'a str], known: &[&str]) -> Result<Vec<(&'a str, &'a str)>, Error> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for word in words {
        let pair = word.split_once('=').filter(|(key, _)| known.contains(key));
        let Some((key, value)) = pair else {
            let known = known.join("=, ");
            return Err(Error::new(format!("{}: expected one of {known}=", quoted(word))));
        };
        if found.iter().any(|(other, _)| *other == key) {
            return Err(Error::new(format!("{}: '{key}' is there twice", quoted(word))));
        }
        found.push((key, value));
    }
    Ok(found)
}

fn value<'a>(settings: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    settings.iter().find(|(found, _)| *found == key).map(|(_, value)| *value)
}

fn name_of<'a>(words: &[&'a str], what: &str) -> Result<&'a str, Error> {
    let name = words.first().ok_or_else(|| Error::new(format!("'{what}' without a name")))?;
    // These characters separate names from ports, and pairs of names.
    if name.contains([':', '=', '"']) || name.contains("--") {
        return Err(Error::new(format!("{}: a name has no ':', '=', '\"' or '--'", quoted(name))));
    }
    Ok(name)
}

fn ports(settings: &[(&str, &str)]) -> Result<Option<usize>, Error> {
    let ports = value(settings, "ports");
    let ports = ports.map(|word| number(word, "'ports'", 1, MAX_PORTS as u64));
    Ok(ports.transpose()?.map(|ports| ports as usize))
}

/// An address goes into scripts: digits, letters, dots and colons.
fn address(settings: &[(&str, &str)]) -> Result<Option<String>, Error> {
    let Some(word) = value(settings, "address") else { return Ok(None) };
    match word.parse::<std::net::IpAddr>() {
        Ok(address) => Ok(Some(address.to_string())),
        Err(_) => Err(Error::new(format!("{}: no address of IPv4 or IPv6", quoted(word)))),
    }
}

fn switch(builder: &mut Builder, words: &[&str], line: usize) -> Result<(), Error> {
    let name = name_of(words, "switch")?;
    let settings = settings(&words[1..], &["ports", "guid", "lid", "address", "pos"])?;
    let at = builder.switch(name, ports(&settings)?, line)?;
    let switch = &mut builder.fabric().switches[at as usize];
    switch.guid = value(&settings, "guid").map(guid).transpose()?;
    switch.lid = lid(&settings)?;
    switch.address = address(&settings)?;
    switch.position = value(&settings, "pos").map(position).transpose()?;
    Ok(())
}

fn lid(settings: &[(&str, &str)]) -> Result<Option<u32>, Error> {
    let lid = value(settings, "lid");
    let lid = lid.map(|word| number(word, "a LID", 1, u64::from(MAX_LID))).transpose()?;
    Ok(lid.map(|lid| lid as u32))
}

fn host(builder: &mut Builder, words: &[&str], line: usize) -> Result<(), Error> {
    /// More ranks than any host has processors.
    const MOST_SLOTS: u64 = 1 << 20;
    let name = name_of(words, "host")?;
    let settings = settings(&words[1..], &["ports", "guid", "lid", "address", "slots"])?;
    let at = builder.host(name, ports(&settings)?, line)?;
    let slots = value(&settings, "slots");
    let slots = slots.map(|word| number(word, "'slots'", 1, MOST_SLOTS)).transpose()?;
    let lid = lid(&settings)?;
    let host = &mut builder.fabric().hosts[at as usize];
    host.guid = value(&settings, "guid").map(guid).transpose()?;
    host.address = address(&settings)?;
    host.slots = slots.map(|slots| slots as u32);
    if lid.is_some() {
        // That of its first port.
        host.ports.push(HostPort { lid, ..HostPort::default() });
    }
    Ok(())
}

fn link(builder: &mut Builder, words: &[&str]) -> Result<(), Error> {
    let [a, b, rest @ ..] = words else {
        return Err(Error::new("'link' needs two ends: link NAME[:PORT] NAME[:PORT]"));
    };
    let settings = settings(rest, &["bw", "count"])?;
    let bandwidth = value(&settings, "bw").map(bandwidth).transpose()?.unwrap_or(1.0);
    let count = value(&settings, "count");
    let count = count.map(|word| number(word, "'count'", 1, MAX_PORTS as u64)).transpose()?;
    let (a, b) = (end(builder, a)?, end(builder, b)?);
    if count.is_some_and(|count| count > 1) && (a.port > 0 || b.port > 0) {
        return Err(Error::new("'count' and ports do not go together; write one line per link"));
    }
    for _ in 0..count.unwrap_or(1) {
        builder.link(a, b, bandwidth)?;
    }
    Ok(())
}

fn end(builder: &Builder, word: &str) -> Result<End, Error> {
    let (name, port) = match word.split_once(':') {
        None => (word, 0),
        Some((name, port)) => (name, number(port, "a port", 1, MAX_PORTS as u64)? as u16),
    };
    let Some(node) = builder.node(name) else {
        return Err(Error::new(format!(
            "{}: no line before this one says 'switch {name}' or 'host {name}'",
            quoted(word)
        )));
    };
    Ok(End { node, port })
}

pub fn write(fabric: &Fabric) -> String {
    let mut out = String::new();
    for switch in &fabric.switches {
        let _ = write!(out, "switch {} ports={}", word(&switch.name), switch.ports.len().max(1));
        let guid = switch.guid.map(|guid| format!(" guid=0x{guid:016x}"));
        let address = switch.address.as_ref().map(|address| format!(" address={address}"));
        let position = switch.position.map(|(x, y)| format!(" pos={x},{y}"));
        let lid = switch.lid.filter(|lid| *lid <= MAX_LID).map(|lid| format!(" lid={lid}"));
        for part in [guid, lid, address, position].into_iter().flatten() {
            out.push_str(&part);
        }
        out.push('\n');
    }
    for host in &fabric.hosts {
        let _ = write!(out, "host {} ports={}", word(&host.name), host.ports.len().max(1));
        let guid = host.guid.map(|guid| format!(" guid=0x{guid:016x}"));
        let address = host.address.as_ref().map(|address| format!(" address={address}"));
        let slots = host.slots.map(|slots| format!(" slots={slots}"));
        let lid = host.ports.first().and_then(|port| port.lid).filter(|lid| *lid <= MAX_LID);
        let lid = lid.map(|lid| format!(" lid={lid}"));
        for part in [guid, lid, address, slots].into_iter().flatten() {
            out.push_str(&part);
        }
        out.push('\n');
    }
    for at in fabric.live_links() {
        let link = &fabric.links[at as usize];
        let [a, b] = link.ends.map(|end| format!("{}:{}", word(fabric.name(end.node)), end.port));
        let _ = write!(out, "link {a} {b}");
        if link.bandwidth != 1.0 {
            let _ = write!(out, " bw={}", link.bandwidth);
        }
        out.push('\n');
    }
    out
}

/// A name of another form as one word of this one.
fn word(name: &str) -> String {
    let bad = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '"' | '#');
    name.replace(bad, "_").replace("--", "-_")
}
