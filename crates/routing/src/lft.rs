//! OpenSM's file form of forwarding tables: what it dumps (`opensm-lfts.dump`) and what its routing engine `file`
//! loads (`opensm -R file -U FILE`). It is also the form in which [`crate::Tables`] are kept.
//!
//! ```text
//! Unicast lids [0-8] of switch Lid 2 guid 0x0000000000200000 ('s1'):
//! 0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'h1'
//! ...
//! 8 lids dumped
//! ```

use std::collections::HashMap;
use std::fmt::Write;

use crate::error::{Error, quoted};
use crate::fabric::{Fabric, MAX_LID, Node};
use crate::format::ibnetdiscover::guid_of;
use crate::tables::{NONE, Tables};

/// Ports of a switch of InfiniBand; 255 means that a packet is dropped.
const MOST_PORTS: usize = 254;
/// The line that names the roots, which OpenSM passes over.
const ROOTS: &str = "# roots:";

/// Writes tables.
pub fn write(fabric: &Fabric, tables: &Tables) -> Result<String, Error> {
    let rows = rows(fabric)?;
    if let Some(switch) = fabric.switches.iter().find(|s| s.ports.len() > MOST_PORTS) {
        let name = quoted(&switch.name);
        return Err(Error::new(format!(
            "switch {name} has {} ports; OpenSM's form has {MOST_PORTS} at most",
            switch.ports.len()
        )));
    }
    let roots = tables.roots.iter();
    let roots = roots.map(|&at| format!(" 0x{:016x}", guid_of(fabric, Node::Switch(at))));
    let mut out = format!("# hpvm route\n{ROOTS}{}\n", roots.collect::<String>());
    for (at, switch) in fabric.switches.iter().enumerate() {
        let guid = guid_of(fabric, Node::Switch(at as u32));
        let top = rows.last().map_or(0, |row| row.lid);
        let lid = switch.lid.unwrap_or(0);
        let _ = writeln!(
            out,
            "Unicast lids [0-{top}] of switch Lid {lid} guid 0x{guid:016x} ('{}'):",
            switch.name
        );
        let mut count = 0;
        for row in &rows {
            let port = tables.row(row.destination)[at];
            if port != NONE {
                count += 1;
                let _ = writeln!(out, "0x{:04x} {port:03} # {}", row.lid, row.text);
            }
        }
        let _ = writeln!(out, "{count} lids dumped");
    }
    Ok(out)
}

struct Row {
    lid: u32,
    destination: usize,
    text: String,
}

/// The destinations by LID.
fn rows(fabric: &Fabric) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    for (at, end) in fabric.end_ports.iter().enumerate() {
        let host = &fabric.hosts[end.host as usize];
        let port = &host.ports[usize::from(end.port) - 1];
        let guid = port_guid(fabric, end.host, end.port);
        let text = format!("Channel Adapter portguid 0x{guid:016x}: '{}'", host.name);
        rows.push(Row { lid: port.lid.unwrap_or(0), destination: at, text });
    }
    for (at, switch) in fabric.switches.iter().enumerate() {
        let guid = guid_of(fabric, Node::Switch(at as u32));
        let text = format!("Switch portguid 0x{guid:016x}: '{}'", switch.name);
        let destination = fabric.end_ports.len() + at;
        rows.push(Row { lid: switch.lid.unwrap_or(0), destination, text });
    }
    rows.sort_by_key(|row| row.lid);
    match rows.last() {
        Some(last) if last.lid > MAX_LID => Err(Error::new(format!(
            "the fabric needs {} LIDs; OpenSM's form ends at {MAX_LID}",
            rows.len()
        ))),
        _ => Ok(rows),
    }
}

/// The GUID of a host's port; that of the host and the port's number where the fabric says none.
fn port_guid(fabric: &Fabric, host: u32, port: u16) -> u64 {
    let known = fabric.hosts[host as usize].ports[usize::from(port) - 1].guid;
    known.unwrap_or_else(|| guid_of(fabric, Node::Host(host)).wrapping_add(u64::from(port)))
}

/// Who is meant by GUIDs, names and LIDs of a dump. GUIDs come first, then names that only one node has, then LIDs.
struct Directory {
    switch_guids: HashMap<u64, u32>,
    switch_names: HashMap<String, u32>,
    port_guids: HashMap<u64, usize>,
    names: HashMap<String, Option<usize>>,
    lids: HashMap<u32, usize>,
}

impl Directory {
    fn new(fabric: &Fabric) -> Directory {
        let mut directory = Directory {
            switch_guids: HashMap::new(),
            switch_names: HashMap::new(),
            port_guids: HashMap::new(),
            names: HashMap::new(),
            lids: HashMap::new(),
        };
        for (at, switch) in (0..).zip(&fabric.switches) {
            let guid = guid_of(fabric, Node::Switch(at));
            let destination = fabric.end_ports.len() + at as usize;
            directory.switch_guids.insert(guid, at);
            directory.switch_names.insert(switch.name.clone(), at);
            directory.port_guids.insert(guid, destination);
            directory.names.insert(switch.name.clone(), Some(destination));
            directory.lids.extend(switch.lid.map(|lid| (lid, destination)));
        }
        for (at, end) in fabric.end_ports.iter().enumerate() {
            let host = &fabric.hosts[end.host as usize];
            directory.port_guids.insert(port_guid(fabric, end.host, end.port), at);
            // The name of a host with several ports says nothing.
            let entry = directory.names.entry(host.name.clone());
            entry.and_modify(|known| *known = None).or_insert(Some(at));
            let lid = host.ports[usize::from(end.port) - 1].lid;
            directory.lids.extend(lid.map(|lid| (lid, at)));
        }
        directory
    }

    fn switch(&self, row: &str) -> Result<u32, Error> {
        let by_guid = hex_after(row, "guid ").and_then(|guid| self.switch_guids.get(&guid));
        let by_name = || name_in(row).and_then(|name| self.switch_names.get(name));
        by_guid.or_else(by_name).copied().ok_or_else(|| {
            Error::new(format!("{}: the fabric has no switch of this GUID or name", quoted(row)))
        })
    }

    fn destination(&self, lid: u32, text: &str) -> Option<usize> {
        let by_guid = hex_after(text, "portguid ").and_then(|guid| self.port_guids.get(&guid));
        let by_name = || name_in(text).and_then(|name| self.names.get(name)?.as_ref());
        // A LID alone identifies only where the line says nothing more.
        let by_lid = || self.lids.get(&lid).filter(|_| !text.contains("portguid"));
        by_guid.or_else(by_name).or_else(by_lid).copied()
    }
}

fn hex_after(text: &str, key: &str) -> Option<u64> {
    let rest = &text[text.find(key)? + key.len()..];
    let digits = rest.trim_start_matches("0x");
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

fn name_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('\'')?;
    rest.rsplit_once('\'').map(|(name, _)| name)
}

/// Reads tables of a fabric.
pub fn read(fabric: &Fabric, text: &str) -> Result<Tables, Error> {
    let directory = Directory::new(fabric);
    let mut tables = Tables::empty(fabric)?;
    let mut current: Option<u32> = None;
    let mut seen = vec![false; fabric.switches.len()];
    for (line, row) in (1..).zip(text.lines()) {
        let row = row.trim();
        if let Some(roots) = row.strip_prefix(ROOTS) {
            let roots = roots.split_whitespace();
            let guids =
                roots.filter_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
            tables.roots =
                guids.filter_map(|guid| directory.switch_guids.get(&guid).copied()).collect();
        } else if row.is_empty() || row.starts_with('#') {
        } else if row.starts_with("Unicast lids") {
            let switch = directory.switch(row).map_err(|error| error.or_at(line))?;
            if std::mem::replace(&mut seen[switch as usize], true) {
                let name = quoted(&fabric.switches[switch as usize].name);
                return Err(Error::at(line, format!("switch {name} is there twice")));
            }
            current = Some(switch);
        } else if row.starts_with("0x") {
            entry(&directory, &mut tables, current, row).map_err(|error| error.or_at(line))?;
        } else if row.ends_with("lids dumped") {
            current = None;
        } else {
            return Err(Error::at(
                line,
                format!(
                    "{}: expected 'Unicast lids ... of switch ... guid ...', '0xLID PORT # ...' or 'N lids dumped'",
                    quoted(row)
                ),
            ));
        }
    }
    if current.is_some() {
        return Err(Error::at(
            text.lines().count(),
            "the last switch has no 'N lids dumped'; the file is cut off",
        ));
    }
    if !seen.contains(&true) {
        return Err(Error::new("no tables are in it: no line begins with 'Unicast lids'"));
    }
    Ok(tables)
}

/// `0x0001 001 # Channel Adapter portguid 0x...: 'h1'`.
fn entry(
    directory: &Directory,
    tables: &mut Tables,
    current: Option<u32>,
    row: &str,
) -> Result<(), Error> {
    let Some(switch) = current else {
        return Err(Error::new(format!("{}: no switch before this entry", quoted(row))));
    };
    let mut words = row.split_whitespace();
    let (lid, port) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let lid_value = u32::from_str_radix(lid.trim_start_matches("0x"), 16).ok();
    let Some(lid_value) = lid_value.filter(|lid| (1..=MAX_LID).contains(lid)) else {
        return Err(Error::new(format!("{}: a LID is 0x0001 to 0x{MAX_LID:04x}", quoted(lid))));
    };
    let Some(port) = port.parse::<u16>().ok().filter(|port| *port <= 255) else {
        return Err(Error::new(format!("{}: a port is 000 to 255", quoted(port))));
    };
    let text = row.split_once(['#', ':']).map_or("", |(_, text)| text);
    // Others may be in the dump: routers, ports that are not in the fabric's file any more.
    let Some(destination) = directory.destination(lid_value, text) else { return Ok(()) };
    let entry = &mut tables.row_mut(destination)[switch as usize];
    if *entry != NONE && *entry != port {
        return Err(Error::new(format!("{}: the switch has another entry for it", quoted(lid))));
    }
    *entry = if port == 255 { NONE } else { port };
    Ok(())
}
