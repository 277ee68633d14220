//! Hosts, switches and the links between their ports.

use std::collections::HashMap;

use crate::error::{Error, quoted};

/// Ports of a node. OpenSM's tables know 254, Linux routers some thousands; more is a mistake in a file.
pub const MAX_PORTS: usize = 4096;
/// Hosts and switches together: what fits into memory and into 32-bit indices with room to spare.
pub const MAX_NODES: usize = 1 << 18;
/// Ports of all nodes together; a numbered port counts for all before it. Some structures grow with ports by ports.
const MAX_ALL_PORTS: usize = 1 << 21;
/// Bytes of a name: more than any node description of InfiniBand (64) or host name (253) has.
pub const MAX_NAME: usize = 256;
/// Unicast LIDs of InfiniBand end here.
pub const MAX_LID: u32 = 0xbfff;

/// A host or a switch, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Host(u32),
    Switch(u32),
}

/// A port of a node; ports are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub node: Node,
    pub port: u16,
}

/// A cable. It carries `bandwidth` in each direction, in Gbit/s; 1 where nothing was said.
#[derive(Clone, Debug)]
pub struct Link {
    pub ends: [End; 2],
    pub bandwidth: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Switch {
    pub name: String,
    pub guid: Option<u64>,
    pub lid: Option<u32>,
    /// An address for the routes of Linux.
    pub address: Option<String>,
    /// Where it is drawn.
    pub position: Option<(f64, f64)>,
    /// The link of each port; that of port 1 first.
    pub ports: Vec<Option<u32>>,
}

#[derive(Clone, Debug, Default)]
pub struct Host {
    pub name: String,
    pub guid: Option<u64>,
    pub address: Option<String>,
    /// Ranks that it takes, for host files.
    pub slots: Option<u32>,
    pub ports: Vec<HostPort>,
}

#[derive(Clone, Debug, Default)]
pub struct HostPort {
    pub link: Option<u32>,
    pub guid: Option<u64>,
    pub lid: Option<u32>,
}

/// A port of a host that packets are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndPort {
    pub host: u32,
    pub port: u16,
}

/// The whole. Links that failed keep their index, but no port leads to them.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    pub switches: Vec<Switch>,
    pub hosts: Vec<Host>,
    pub links: Vec<Link>,
    /// Ports of hosts that had a link when the fabric was made, in the order of hosts and ports.
    pub end_ports: Vec<EndPort>,
}

impl Fabric {
    pub fn name(&self, node: Node) -> &str {
        match node {
            Node::Host(at) => &self.hosts[at as usize].name,
            Node::Switch(at) => &self.switches[at as usize].name,
        }
    }

    /// The link at a port.
    pub fn link_at(&self, end: End) -> Option<u32> {
        let at = usize::from(end.port).checked_sub(1)?;
        match end.node {
            Node::Host(host) => self.hosts[host as usize].ports.get(at)?.link,
            Node::Switch(switch) => *self.switches[switch as usize].ports.get(at)?,
        }
    }

    /// The other end of a link.
    pub fn across(&self, link: u32, node: Node, port: u16) -> End {
        let ends = &self.links[link as usize].ends;
        if ends[0] == (End { node, port }) { ends[1] } else { ends[0] }
    }

    /// A link for people: `leaf1:17-top1:1`.
    pub fn link_name(&self, link: u32) -> String {
        let [a, b] = self.links[link as usize].ends;
        format!("{}:{}-{}:{}", self.name(a.node), a.port, self.name(b.node), b.port)
    }

    /// The links that are there.
    pub fn live_links(&self) -> impl Iterator<Item = u32> {
        (0..self.links.len() as u32)
            .filter(|&at| self.link_at(self.links[at as usize].ends[0]) == Some(at))
    }

    /// The switch that an end port hangs on, and the port there; none after a failure.
    pub fn attached(&self, end_port: EndPort) -> Option<(u32, u16)> {
        let node = Node::Host(end_port.host);
        let link = self.link_at(End { node, port: end_port.port })?;
        match self.across(link, node, end_port.port) {
            End { node: Node::Switch(switch), port } => Some((switch, port)),
            End { node: Node::Host(_), .. } => None,
        }
    }

    /// An end port for people: the host, with the port where it has several.
    pub fn end_port_name(&self, end_port: EndPort) -> String {
        let host = &self.hosts[end_port.host as usize];
        match host.ports.len() {
            1 => host.name.clone(),
            _ => format!("{}:{}", host.name, end_port.port),
        }
    }

    /// The fabric without some links.
    pub fn without(&self, links: &[u32]) -> Fabric {
        let mut left = self.clone();
        for &link in links {
            for end in self.links[link as usize].ends {
                let at = usize::from(end.port) - 1;
                match end.node {
                    Node::Host(host) => left.hosts[host as usize].ports[at].link = None,
                    Node::Switch(switch) => left.switches[switch as usize].ports[at] = None,
                }
            }
        }
        left
    }

    /// What `--failed` names: a switch, `NODE:PORT`, or `NODE--NODE` for all links between two nodes.
    pub fn failed(&self, word: &str) -> Result<Vec<u32>, Error> {
        let node = |name: &str| {
            let host = self.hosts.iter().position(|host| host.name == name);
            let switch = self.switches.iter().position(|switch| switch.name == name);
            switch.map(|at| Node::Switch(at as u32)).or(host.map(|at| Node::Host(at as u32)))
        };
        let touches = |link: &Link, node: Node| link.ends.iter().any(|end| end.node == node);
        let among = |wanted: &dyn Fn(&Link) -> bool| -> Vec<u32> {
            self.live_links().filter(|&at| wanted(&self.links[at as usize])).collect()
        };
        if let Some(whole) = node(word) {
            return Ok(among(&|link| touches(link, whole)));
        }
        if let Some((Some(a), Some(b))) = word.split_once("--").map(|(a, b)| (node(a), node(b))) {
            let between = among(&|link| touches(link, a) && touches(link, b) && a != b);
            if between.is_empty() {
                return Err(Error::new(format!("{}: no link joins these two", quoted(word))));
            }
            return Ok(between);
        }
        if let Some((Some(node), Ok(port))) =
            word.rsplit_once(':').map(|(name, port)| (node(name), port.parse::<u16>()))
        {
            let link = self.link_at(End { node, port });
            let none = || Error::new(format!("{}: no link is at this port", quoted(word)));
            return link.map(|link| vec![link]).ok_or_else(none);
        }
        Err(Error::new(format!(
            "{} is no switch, link or host of the fabric; expected NAME, NAME:PORT or NAME--NAME",
            quoted(word)
        )))
    }
}

/// Makes a fabric, and refuses what cannot be one.
#[derive(Debug, Default)]
pub struct Builder {
    fabric: Fabric,
    names: HashMap<String, (Node, usize)>,
    /// Ports that a node said it has, at most.
    limits: HashMap<Node, usize>,
    /// Ports of all nodes so far.
    ports: usize,
}

impl Builder {
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A node that is there already.
    pub fn node(&self, name: &str) -> Option<Node> {
        self.names.get(name).map(|(node, _)| *node)
    }

    /// The fabric so far.
    pub fn fabric(&mut self) -> &mut Fabric {
        &mut self.fabric
    }

    /// Adds a switch; `ports` is how many it has, where that is known.
    pub fn switch(&mut self, name: &str, ports: Option<usize>, line: usize) -> Result<u32, Error> {
        let at = self.fabric.switches.len() as u32;
        self.enter(name, Node::Switch(at), ports, line)?;
        self.fabric.switches.push(Switch { name: name.to_owned(), ..Switch::default() });
        Ok(at)
    }

    /// Adds a host.
    pub fn host(&mut self, name: &str, ports: Option<usize>, line: usize) -> Result<u32, Error> {
        let at = self.fabric.hosts.len() as u32;
        self.enter(name, Node::Host(at), ports, line)?;
        self.fabric.hosts.push(Host { name: name.to_owned(), ..Host::default() });
        Ok(at)
    }

    fn enter(
        &mut self,
        name: &str,
        node: Node,
        ports: Option<usize>,
        line: usize,
    ) -> Result<(), Error> {
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(Error::new(format!(
                "{}: a name has 1 to {MAX_NAME} bytes and no control characters",
                quoted(name)
            )));
        }
        if self.names.len() == MAX_NODES {
            return Err(Error::new(format!("{}: more than {MAX_NODES} nodes", quoted(name))));
        }
        if let Some(ports) = ports {
            if !(1..=MAX_PORTS).contains(&ports) {
                return Err(Error::new(format!(
                    "'{ports}' ports at {}: expected 1 to {MAX_PORTS}",
                    quoted(name)
                )));
            }
            self.limits.insert(node, ports);
        }
        if let Some((_, before)) = self.names.insert(name.to_owned(), (node, line)) {
            let place = if before > 0 { format!(" in line {before}") } else { String::new() };
            return Err(Error::new(format!(
                "{} is there already{place}; every node needs a name of its own",
                quoted(name)
            )));
        }
        Ok(())
    }

    /// Adds a link; a port of 0 means the first free one. Gives its index.
    pub fn link(&mut self, a: End, b: End, bandwidth: f64) -> Result<u32, Error> {
        let (from, to) = (self.fabric.name(a.node), self.fabric.name(b.node));
        let both = format!("{} and {}", quoted(from), quoted(to));
        if a.node == b.node {
            return Err(Error::new(format!("{} is linked with itself", quoted(from))));
        }
        if let (Node::Host(_), Node::Host(_)) = (a.node, b.node) {
            return Err(Error::new(format!(
                "{both} are both hosts, and hosts do not forward; put a switch between them"
            )));
        }
        if !(bandwidth.is_finite() && bandwidth > 0.0) {
            return Err(Error::new(format!(
                "'{bandwidth}' between {both}: a bandwidth is a number above 0 (Gbit/s)"
            )));
        }
        let link = self.fabric.links.len() as u32;
        let a = End { port: self.take(a, link)?, ..a };
        let b = End { port: self.take(b, link)?, ..b };
        self.fabric.links.push(Link { ends: [a, b], bandwidth });
        Ok(link)
    }

    /// Puts a link into a port.
    fn take(&mut self, end: End, link: u32) -> Result<u16, Error> {
        let limit = self.limits.get(&end.node).copied().unwrap_or(MAX_PORTS);
        let name = quoted(self.fabric.name(end.node));
        let used =
            |at: usize| self.fabric.link_at(End { node: end.node, port: at as u16 + 1 }).is_some();
        let at = match end.port {
            0 => (0..limit).find(|&at| !used(at)),
            port => Some(usize::from(port) - 1),
        };
        let Some(at) = at.filter(|&at| at < limit) else {
            let text = match end.port {
                0 => format!("{name} has no free port left of its {limit}"),
                port => format!("'{port}' is no port of {name}: expected 1 to {limit}"),
            };
            return Err(Error::new(text));
        };
        if used(at) {
            return Err(Error::new(format!("port '{}' of {name} has a link already", at + 1)));
        }
        let known = match end.node {
            Node::Switch(switch) => self.fabric.switches[switch as usize].ports.len(),
            Node::Host(host) => self.fabric.hosts[host as usize].ports.len(),
        };
        self.ports += (at + 1).saturating_sub(known);
        if self.ports > MAX_ALL_PORTS {
            return Err(Error::new(format!(
                "{name}: the fabric has more than {MAX_ALL_PORTS} ports"
            )));
        }
        match end.node {
            Node::Switch(switch) => {
                let ports = &mut self.fabric.switches[switch as usize].ports;
                ports.resize(ports.len().max(at + 1), None);
                ports[at] = Some(link);
            }
            Node::Host(host) => {
                let ports = &mut self.fabric.hosts[host as usize].ports;
                ports.resize(ports.len().max(at + 1), HostPort::default());
                ports[at].link = Some(link);
            }
        }
        Ok(at as u16 + 1)
    }

    /// The fabric: every host is linked, LIDs are unique and all there.
    pub fn finish(mut self) -> Result<Fabric, Error> {
        if self.fabric.hosts.is_empty() {
            return Err(Error::new("the fabric has no hosts; nothing is to be routed"));
        }
        if self.fabric.switches.is_empty() {
            return Err(Error::new("the fabric has no switches; nothing is to be routed"));
        }
        for (at, host) in self.fabric.hosts.iter().enumerate() {
            let line = self.names.get(&host.name).map_or(0, |(_, line)| *line);
            let linked = (1..).zip(&host.ports).filter(|(_, port)| port.link.is_some());
            let before = self.fabric.end_ports.len();
            let ends = linked.map(|(port, _)| EndPort { host: at as u32, port });
            self.fabric.end_ports.extend(ends);
            if self.fabric.end_ports.len() == before {
                let fault = Error::new(format!(
                    "host {} has no link; nobody can reach it",
                    quoted(&host.name)
                ));
                return Err(if line > 0 { fault.or_at(line) } else { fault });
            }
        }
        self.number()?;
        Ok(self.fabric)
    }

    /// Gives LIDs to those who have none: end ports first, then switches, the lowest free numbers.
    fn number(&mut self) -> Result<(), Error> {
        let fabric = &mut self.fabric;
        let mut taken: HashMap<u32, String> = HashMap::new();
        let given = fabric.end_ports.iter().filter_map(|end| {
            let host = &fabric.hosts[end.host as usize];
            Some((host.ports[usize::from(end.port) - 1].lid?, host.name.clone()))
        });
        let switches = fabric.switches.iter();
        let given = given.chain(switches.filter_map(|s| Some((s.lid?, s.name.clone()))));
        for (lid, name) in given {
            if let Some(other) = taken.insert(lid, name.clone()) {
                let (name, other) = (quoted(&name), quoted(&other));
                return Err(Error::new(format!("LID '{lid}' belongs to both {other} and {name}")));
            }
        }
        let mut free = (1..).filter(|lid| !taken.contains_key(lid));
        for end in &fabric.end_ports {
            let port = &mut fabric.hosts[end.host as usize].ports[usize::from(end.port) - 1];
            port.lid = port.lid.or_else(|| free.next());
        }
        for switch in &mut fabric.switches {
            switch.lid = switch.lid.or_else(|| free.next());
        }
        Ok(())
    }
}
