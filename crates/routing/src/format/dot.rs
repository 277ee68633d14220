//! Graphviz: `graph { h1 -- s1:3 [bw=100]; s1 [kind=switch] }`.
//!
//! A node's attribute `kind` says `host` or `switch`; without it a node with one edge is a host. A port of an edge
//! is a number, after letters if need be (`s1:p3`). Attributes that are read: `kind`, `pos` and `address` of nodes,
//! `slots` of hosts, `bw` of edges; default attributes (`node [...]`) hold for what follows in their block. In a
//! `digraph` the two edges `a -> b` and `b -> a` are one link.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::{bandwidth, number, position};
use crate::error::{Error, quoted};
use crate::fabric::{Builder, End, Fabric, MAX_PORTS, Node};

/// Blocks in blocks: nobody writes more, and reading them is recursive.
const DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Sign(char),
    /// `--` and `->`.
    Edge,
    End,
}

type Attributes = BTreeMap<String, String>;

#[derive(Debug)]
struct NodeLine {
    name: String,
    line: usize,
    attributes: Attributes,
}

#[derive(Debug)]
struct EdgeLine {
    line: usize,
    ends: [(usize, u16); 2],
    attributes: Attributes,
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    strict: bool,
    directed: bool,
    nodes: Vec<NodeLine>,
    names: HashMap<String, usize>,
    edges: Vec<EdgeLine>,
}

pub fn read(text: &str) -> Result<Fabric, Error> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        strict: false,
        directed: false,
        nodes: Vec::new(),
        names: HashMap::new(),
        edges: Vec::new(),
    };
    parser.graph()?;
    parser.fabric()
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Error> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if c == '\n' {
            line += 1;
        } else if c == '#' || rest.starts_with("//") {
            length = rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").ok_or_else(|| Error::at(line, "'/*' is not closed"))?;
            line += rest[..end].matches('\n').count();
            length = end + 2;
        } else if rest.starts_with("--") || rest.starts_with("->") {
            tokens.push((line, Token::Edge));
            length = 2;
        } else if c == '"' {
            let (word, used, lines) = quoted_word(rest, line)?;
            tokens.push((line, Token::Word(word)));
            line += lines;
            length = used;
        } else if c.is_alphanumeric() || matches!(c, '_' | '.' | '-') {
            length = rest[length..]
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')))
                .map_or(rest.len(), |end| end + length);
            tokens.push((line, Token::Word(rest[..length].to_owned())));
        } else if "{}[]=;,:+".contains(c) {
            tokens.push((line, Token::Sign(c)));
        } else if !c.is_whitespace() {
            return Err(Error::at(line, format!("{}: not expected", quoted(&c.to_string()))));
        }
        rest = &rest[length..];
    }
    tokens.push((line, Token::End));
    Ok(tokens)
}

/// A word in double quotes: its text, the bytes and the line ends it takes.
fn quoted_word(text: &str, line: usize) -> Result<(String, usize, usize), Error> {
    let mut word = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((word, at + 1, text[..at].matches('\n').count())),
            '\\' => match letters.next() {
                Some((_, '"')) => word.push('"'),
                Some((_, '\n')) | None => {}
                Some((_, other)) => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
    Err(Error::at(line, "a double quote is not closed"))
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].1
    }

    fn line(&self) -> usize {
        self.tokens[self.at].0
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].1.clone();
        // The last token is End, and stays.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.next();
        }
        found
    }

    fn expected<T>(&self, what: &str) -> Result<T, Error> {
        let found = match self.peek() {
            Token::Word(word) => quoted(word),
            Token::Sign(sign) => format!("'{sign}'"),
            Token::Edge => "an edge".to_owned(),
            Token::End => "the end of the file".to_owned(),
        };
        Err(Error::at(self.line(), format!("expected {what}, found {found}")))
    }

    fn word(&mut self, what: &str) -> Result<String, Error> {
        match self.peek().clone() {
            Token::Word(mut word) => {
                self.next();
                // "a" + "b".
                while self.eat('+') {
                    let Token::Word(more) = self.next() else { return self.expected("a string") };
                    word.push_str(&more);
                }
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn graph(&mut self) -> Result<(), Error> {
        let mut kind = self.word("'graph' or 'digraph'")?.to_ascii_lowercase();
        if kind == "strict" {
            self.strict = true;
            kind = self.word("'graph' or 'digraph'")?.to_ascii_lowercase();
        }
        self.directed = match kind.as_str() {
            "graph" => false,
            "digraph" => true,
            _ => return Err(Error::at(1, format!("{}: expected 'graph'", quoted(&kind)))),
        };
        if matches!(self.peek(), Token::Word(_)) {
            self.next();
        }
        if !self.eat('{') {
            return self.expected("'{'");
        }
        self.block(&Attributes::new(), &Attributes::new(), 0)?;
        match self.peek() {
            Token::End => Ok(()),
            _ => self.expected("the end of the file after the graph"),
        }
    }

    /// Statements up to the closing brace; gives the nodes that they name.
    fn block(
        &mut self,
        nodes: &Attributes,
        edges: &Attributes,
        depth: usize,
    ) -> Result<Vec<usize>, Error> {
        if depth > DEPTH {
            return Err(Error::at(self.line(), format!("more than {DEPTH} blocks in one another")));
        }
        let (mut node_default, mut edge_default) = (nodes.clone(), edges.clone());
        let mut named = Vec::new();
        loop {
            while self.eat(';') || self.eat(',') {}
            if self.eat('}') {
                return Ok(named);
            }
            match self.default_kind().as_deref() {
                Some("node") => self.attributes(&mut node_default)?,
                Some("edge") => self.attributes(&mut edge_default)?,
                Some(_) => self.attributes(&mut Attributes::new())?,
                None => self.statement(&node_default, &edge_default, depth, &mut named)?,
            }
        }
    }

    /// Takes the word `node`, `edge` or `graph` in front of default attributes.
    fn default_kind(&mut self) -> Option<String> {
        let Token::Word(word) = self.peek() else { return None };
        let word = word.to_ascii_lowercase();
        let is_default = ["node", "edge", "graph"].contains(&word.as_str())
            && self.tokens.get(self.at + 1).is_some_and(|(_, next)| *next == Token::Sign('['));
        is_default.then(|| {
            self.next();
            word
        })
    }

    /// A node, a chain of edges, a block, or `KEY=VALUE`.
    fn statement(
        &mut self,
        nodes: &Attributes,
        edges: &Attributes,
        depth: usize,
        named: &mut Vec<usize>,
    ) -> Result<(), Error> {
        let after = self.tokens.get(self.at + 1).map(|(_, token)| token);
        if matches!(self.peek(), Token::Word(_)) && after == Some(&Token::Sign('=')) {
            self.next();
            self.next();
            self.word("a value")?;
            return Ok(());
        }
        let line = self.line();
        let (mut from, block) = self.operand(nodes, edges, depth)?;
        named.extend(from.iter().map(|end| end.0));
        let mut made = Vec::new();
        while *self.peek() == Token::Edge {
            self.next();
            let (to, _) = self.operand(nodes, edges, depth)?;
            named.extend(to.iter().map(|end| end.0));
            made.extend(from.iter().flat_map(|&a| to.iter().map(move |&b| [a, b])));
            /// A chain of blocks multiplies; a fabric that large is no text file.
            const MAX_EDGES: usize = 1 << 20;
            if made.len() > MAX_EDGES {
                return Err(Error::at(
                    line,
                    format!("more than {MAX_EDGES} edges in one statement"),
                ));
            }
            from = to;
        }
        if made.is_empty() {
            if let ([(at, _)], false) = (from.as_slice(), block) {
                let at = *at;
                let mut attributes = std::mem::take(&mut self.nodes[at].attributes);
                self.attributes(&mut attributes)?;
                self.nodes[at].attributes = attributes;
            }
            return Ok(());
        }
        let mut attributes = edges.clone();
        self.attributes(&mut attributes)?;
        self.edges.extend(made.into_iter().map(|ends| EdgeLine {
            line,
            ends,
            attributes: attributes.clone(),
        }));
        Ok(())
    }

    /// A node with its port, or the nodes of a block.
    fn operand(
        &mut self,
        nodes: &Attributes,
        edges: &Attributes,
        depth: usize,
    ) -> Result<(Vec<(usize, u16)>, bool), Error> {
        let is_block = match self.peek() {
            Token::Word(word) => word.eq_ignore_ascii_case("subgraph"),
            token => *token == Token::Sign('{'),
        };
        if is_block {
            if *self.peek() != Token::Sign('{') {
                self.next();
                if matches!(self.peek(), Token::Word(_)) {
                    self.next();
                }
            }
            if !self.eat('{') {
                return self.expected("'{'");
            }
            let mut named = self.block(nodes, edges, depth + 1)?;
            named.sort_unstable();
            named.dedup();
            return Ok((named.into_iter().map(|at| (at, 0)).collect(), true));
        }
        let line = self.line();
        let name = self.word("a node, an edge or '}'")?;
        let mut port = 0;
        if self.eat(':') {
            let word = self.word("a port")?;
            let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            port = number(digits, "a port", 1, MAX_PORTS as u64)
                .map_err(|_| Error::at(line, format!("{}: a port is a number", quoted(&word))))?
                as u16;
            // A side of the node, as in a:3:n, is for drawings.
            if self.eat(':') {
                self.word("a side of the node")?;
            }
        }
        let at = *self.names.entry(name.clone()).or_insert_with(|| {
            self.nodes.push(NodeLine { name, line, attributes: nodes.clone() });
            self.nodes.len() - 1
        });
        Ok((vec![(at, port)], false))
    }

    /// `[a=b, c=d][...]`, or nothing.
    fn attributes(&mut self, into: &mut Attributes) -> Result<(), Error> {
        while self.eat('[') {
            while !self.eat(']') {
                let key = self.word("an attribute or ']'")?;
                let value = match self.eat('=') {
                    true => self.word("a value")?,
                    false => "true".to_owned(),
                };
                into.insert(key, value);
                let _ = self.eat(',') || self.eat(';');
            }
        }
        Ok(())
    }

    /// Of the edges those that are links of their own.
    fn links(&self) -> Vec<usize> {
        let mut waiting: HashMap<[(usize, u16); 2], Vec<usize>> = HashMap::new();
        let mut links: Vec<usize> = Vec::new();
        for (at, edge) in self.edges.iter().enumerate() {
            let [a, b] = edge.ends;
            if self.strict && waiting.contains_key(&[a, b]) {
                continue;
            }
            let back = waiting.get_mut(&[b, a]).filter(|_| self.directed || self.strict);
            if let Some(back) = back {
                // The other direction of a link that is there already.
                if self.strict || back.pop().is_some() {
                    continue;
                }
            }
            waiting.entry([a, b]).or_default().push(at);
            links.push(at);
        }
        links
    }

    fn fabric(&self) -> Result<Fabric, Error> {
        let links = self.links();
        let mut degree = vec![0usize; self.nodes.len()];
        for &at in &links {
            self.edges[at].ends.iter().for_each(|end| degree[end.0] += 1);
        }
        let mut builder = Builder::new();
        let mut ids = Vec::new();
        for (node, degree) in self.nodes.iter().zip(degree) {
            ids.push(enter(&mut builder, node, degree).map_err(|error| error.or_at(node.line))?);
        }
        for at in links {
            let edge = &self.edges[at];
            let value = edge.attributes.get("bw").map(|word| bandwidth(word)).transpose();
            let made = value.and_then(|value| {
                let [a, b] = edge.ends.map(|(node, port)| End { node: ids[node], port });
                builder.link(a, b, value.unwrap_or(1.0))
            });
            made.map_err(|error| error.or_at(edge.line))?;
        }
        builder.finish()
    }
}

fn enter(builder: &mut Builder, node: &NodeLine, degree: usize) -> Result<Node, Error> {
    let value = |key: &str| node.attributes.get(key);
    let is_switch = match value("kind").map(String::as_str) {
        Some("switch") => true,
        Some("host") => false,
        None => degree != 1,
        Some(other) => {
            return Err(Error::new(format!("{}: a kind is 'host' or 'switch'", quoted(other))));
        }
    };
    let address = value("address").map(|word| match word.parse::<std::net::IpAddr>() {
        Ok(address) => Ok(address.to_string()),
        Err(_) => Err(Error::new(format!("{}: no address of IPv4 or IPv6", quoted(word)))),
    });
    let address = address.transpose()?;
    if is_switch {
        let at = builder.switch(&node.name, None, node.line)?;
        let switch = &mut builder.fabric().switches[at as usize];
        switch.address = address;
        switch.position = value("pos").map(|word| position(word)).transpose()?;
        return Ok(Node::Switch(at));
    }
    let at = builder.host(&node.name, None, node.line)?;
    let slots = value("slots").map(|word| number(word, "'slots'", 1, 1 << 20)).transpose()?;
    let host = &mut builder.fabric().hosts[at as usize];
    host.address = address;
    host.slots = slots.map(|slots| slots as u32);
    Ok(Node::Host(at))
}

pub fn write(fabric: &Fabric) -> String {
    let name = |name: &str| format!("\"{}\"", name.replace('"', "\\\""));
    let mut out = String::from("graph fabric {\n");
    for switch in &fabric.switches {
        let position = switch.position.map(|(x, y)| format!(", pos=\"{x},{y}\""));
        let address = switch.address.as_ref().map(|address| format!(", address=\"{address}\""));
        let (position, address) = (position.unwrap_or_default(), address.unwrap_or_default());
        let _ = writeln!(
            out,
            "    {} [kind=switch, shape=box{position}{address}];",
            name(&switch.name)
        );
    }
    for host in &fabric.hosts {
        let slots = host.slots.map(|slots| format!(", slots={slots}")).unwrap_or_default();
        let address = host.address.as_ref().map(|address| format!(", address=\"{address}\""));
        let address = address.unwrap_or_default();
        let _ = writeln!(out, "    {} [kind=host{slots}{address}];", name(&host.name));
    }
    for at in fabric.live_links() {
        let link = &fabric.links[at as usize];
        let [a, b] = link.ends.map(|end| format!("{}:{}", name(fabric.name(end.node)), end.port));
        let bandwidth = match link.bandwidth {
            1.0 => String::new(),
            value => format!(" [bw={value}]"),
        };
        let _ = writeln!(out, "    {a} -- {b}{bandwidth};");
    }
    out.push_str("}\n");
    out
}
