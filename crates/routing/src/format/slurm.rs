//! Slurm's `topology.conf`, and what `scontrol show topology` prints of it:
//!
//! ```text
//! SwitchName=leaf1 Nodes=n[1-4]
//! SwitchName=leaf2 Nodes=n[5-8]
//! SwitchName=top Switches=leaf[1-2] LinkSpeed=100
//! ```
//!
//! The second lists all nodes below a switch behind `Nodes` where there are `Switches`, too.

use crate::error::{Error, quoted};
use crate::fabric::{Builder, End, Fabric, Node};
use crate::hostlist;

/// A switch, and what its line says.
struct Row {
    line: usize,
    name: String,
    nodes: Vec<String>,
    switches: Vec<String>,
}

pub fn read(text: &str) -> Result<Fabric, Error> {
    let mut rows = Vec::new();
    for (line, text) in joined(text) {
        let found = row(&text, line).map_err(|error| error.or_at(line))?;
        rows.extend(found);
    }
    let mut builder = Builder::new();
    for row in &rows {
        builder.switch(&row.name, None, row.line).map_err(|error| error.or_at(row.line))?;
    }
    for row in &rows {
        join(&mut builder, row).map_err(|error| error.or_at(row.line))?;
    }
    acyclic(&rows)?;
    builder.finish()
}

/// Lines without comments, those that end in a backslash with the next one, by the number of the first.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        let (part, more) = match text.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (text, false),
        };
        match all.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part),
            None => all.push((line, part.to_owned())),
        }
        open = more;
    }
    all
}

fn row(text: &str, line: usize) -> Result<Option<Row>, Error> {
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return Ok(None) };
    let expected = |word: &str| {
        Error::new(format!(
            "{}: expected 'SwitchName=NAME Nodes=LIST' or 'SwitchName=NAME Switches=LIST'",
            quoted(word)
        ))
    };
    let Some(name) = value(first, "SwitchName") else { return Err(expected(first)) };
    let (mut nodes, mut switches) = (Vec::new(), Vec::new());
    for word in words {
        if let Some(list) = value(word, "Nodes") {
            nodes.extend(names(list)?);
        } else if let Some(list) = value(word, "Switches") {
            switches.extend(names(list)?);
        } else if value(word, "LinkSpeed").or(value(word, "Level")).is_none() {
            return Err(expected(word));
        }
    }
    if nodes.is_empty() && switches.is_empty() {
        return Err(expected(text));
    }
    Ok(Some(Row { line, name: name.to_owned(), nodes, switches }))
}

/// The value of `KEY=VALUE`; Slurm's keys are the same in upper and lower case.
fn value<'a>(word: &'a str, key: &str) -> Option<&'a str> {
    let (found, value) = word.split_once('=')?;
    found.eq_ignore_ascii_case(key).then_some(value)
}

fn names(list: &str) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    for item in hostlist::items(list) {
        all.extend(hostlist::expand(item)?);
    }
    Ok(all)
}

/// Links a switch with what is below it.
fn join(builder: &mut Builder, row: &Row) -> Result<(), Error> {
    let Some(above) = builder.node(&row.name) else { return Ok(()) };
    let end = |node| End { node, port: 0 };
    for name in &row.switches {
        let Some(below @ Node::Switch(_)) = builder.node(name) else {
            let text = format!("{}: no line has SwitchName={name}", quoted(name));
            return Err(Error::new(text));
        };
        builder.link(end(above), end(below), 1.0)?;
    }
    // Those of switches below are there again.
    let own = if row.switches.is_empty() { &row.nodes[..] } else { &[] };
    for name in own {
        let host = match builder.node(name) {
            Some(Node::Switch(_)) => {
                let text = format!("{} is a switch, and stands behind Nodes", quoted(name));
                return Err(Error::new(text));
            }
            Some(host) => host,
            None => Node::Host(builder.host(name, None, row.line)?),
        };
        builder.link(end(host), end(above), 1.0)?;
    }
    Ok(())
}

/// No switch is below itself: what is taken away from below, again and again, is all.
fn acyclic(rows: &[Row]) -> Result<(), Error> {
    let at: std::collections::HashMap<&str, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.name.as_str(), at)).collect();
    let mut above = vec![Vec::new(); rows.len()];
    let mut left: Vec<usize> = rows.iter().map(|row| row.switches.len()).collect();
    for (upper, row) in rows.iter().enumerate() {
        for lower in row.switches.iter().filter_map(|name| at.get(name.as_str())) {
            above[*lower].push(upper);
        }
    }
    let mut free: Vec<usize> = (0..rows.len()).filter(|row| left[*row] == 0).collect();
    while let Some(lower) = free.pop() {
        for &upper in &above[lower] {
            left[upper] -= 1;
            if left[upper] == 0 {
                free.push(upper);
            }
        }
    }
    match left.iter().position(|left| *left > 0) {
        None => Ok(()),
        Some(row) => {
            let text = format!("switch {} is below itself", quoted(&rows[row].name));
            Err(Error::at(rows[row].line, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "# two racks\nSwitchName=leaf1 Nodes=n[1-2] LinkSpeed=100\nswitchname=leaf2 \\\n  nodes=n3,m[08-09]\n\n\
                        SwitchName=top Switches=leaf[1-2]\n";

    #[test]
    fn a_tree() {
        let fabric = read(TREE).unwrap();
        let hosts: Vec<&str> = fabric.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(hosts, ["n1", "n2", "n3", "m08", "m09"]);
        assert_eq!((fabric.switches.len(), fabric.links.len()), (3, 7));
        let shown = "SwitchName=leaf1 Level=0 LinkSpeed=100 Nodes=n[1-2]\n\
                     SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=m[08-09],n3\n\
                     SwitchName=top Level=1 LinkSpeed=1 Nodes=m[08-09],n[1-3] Switches=leaf[1-2]\n";
        assert_eq!(read(shown).unwrap().links.len(), 7);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for (text, line, part) in [
            ("SwitchName=a Nodes=n1\nSwitchName=b Switches=c", 2, "no line has SwitchName=c"),
            ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", 2, "is there already in line 1"),
            ("SwitchName=a Switches=b\nSwitchName=b Switches=a", 1, "'a' is below itself"),
            ("SwitchName=a Switches=a", 1, "linked with itself"),
            (
                "SwitchName=a Nodes=n1\nBlockName=b Nodes=n2",
                2,
                "'BlockName=b': expected 'SwitchName",
            ),
            ("SwitchName=a Nodes=n[1-", 1, "'[' without ']'"),
            ("SwitchName=a", 1, "expected 'SwitchName=NAME Nodes=LIST'"),
            ("SwitchName=a Ports=3 Nodes=n1", 1, "'Ports=3'"),
            ("SwitchName=a Nodes=a", 1, "'a' is a switch, and stands"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.to_string().contains(part), "{text}: {error}");
            assert_eq!(error.line, Some(line), "{text}: {error}");
        }
        assert!(read("").unwrap_err().text.contains("no hosts"));
    }
}
