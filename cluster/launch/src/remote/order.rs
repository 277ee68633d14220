//! What an agent is to start: its own ranks, and the agents below it.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use super::codec::{Fault, Reader, Writer};
use super::policy;
use crate::args::MAX_RANKS;
use crate::place::policy::Policy;
use crate::sites::{Gateway, Plan};

/// One program of the job, as it is started on hosts other than the launcher's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub argv: Vec<OsString>,
    /// Absolute.
    pub wdir: OsString,
    /// Whether the ranks get the environment that the host gave its agent.
    pub inherit: bool,
    /// Variables set on top of that.
    pub set: Vec<(OsString, OsString)>,
    /// Whether the folder of hpvm's library is put in front of the library path.
    pub library_path: bool,
    /// Folders that are searched for the program before `PATH`; empty: none.
    pub path: OsString,
}

/// Ranks `first .. first + count` of one host, all of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u32,
    pub count: u32,
    pub program: u32,
}

/// A host of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub number: u32,
    /// As the user wrote it, and as `ssh` is given it.
    pub host: String,
    pub runs: Vec<Run>,
    /// What a rankfile says about the cores of each rank; empty without one.
    pub slots: Vec<String>,
}

impl Node {
    /// All ranks of the host, ascending, with the numbers of their programs.
    pub fn ranks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.runs.iter().flat_map(|run| {
            (run.first..run.first.saturating_add(run.count)).map(|rank| (rank, run.program))
        })
    }
}

/// How agents are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// The command and its first arguments; host and command follow.
    pub words: Vec<OsString>,
    /// The words that give that command to a shell which can run it; empty: whoever has the order can. Agents can, so it is
    /// not told to them.
    pub login: Vec<OsString>,
    /// Whether it takes words as they are, instead of giving them to a shell.
    pub raw: bool,
    /// Whether agents bring their own hpvm instead of using the one installed there.
    pub preload: bool,
    /// Agents that one process starts.
    pub width: u32,
    /// A host from which nothing was heard for so long is given up.
    pub patience: Duration,
    /// Where hpvm is installed on other hosts, if not where it is here.
    pub prefix: Option<OsString>,
}

/// Everything an agent has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub job: String,
    /// The job's random key, in hexadecimal.
    pub key: String,
    /// Ranks of the whole job.
    pub size: u32,
    /// Processes that the user expects in all; none: any number.
    pub universe: Option<u32>,
    /// The hosts of all ranks, as ranks are told.
    pub mapping: String,
    pub programs: Vec<Program>,
    pub policy: Policy,
    /// The rank that gets the launcher's standard input.
    pub input: Option<u32>,
    pub report_bindings: bool,
    pub shell: Shell,
    /// For a job of several sites.
    pub sites: Option<Plan>,
    /// The agent's own host, then those it has to start.
    pub nodes: Vec<Node>,
}

impl Order {
    /// The order as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        for text in [&self.job, &self.key, &self.mapping] {
            w.bytes(text.as_bytes());
        }
        w.u32(self.size).u8(u8::from(self.report_bindings));
        w.u32(self.input.unwrap_or(u32::MAX)).u32(self.universe.unwrap_or(u32::MAX));
        policy::write(&mut w, &self.policy);
        w.list(&self.programs, program);
        w.list(&self.shell.words, word);
        w.u8(u8::from(self.shell.raw)).u8(u8::from(self.shell.preload));
        w.u32(self.shell.width).u32(self.shell.patience.as_millis() as u32);
        let prefix = self.shell.prefix.as_ref().map_or(&b""[..], |prefix| prefix.as_bytes());
        w.bytes(prefix);
        let none = Plan { text: String::new(), gateways: Vec::new(), compress: false };
        let sites = self.sites.as_ref().unwrap_or(&none);
        w.bytes(sites.text.as_bytes()).list(&sites.gateways, gateway);
        w.u8(u8::from(sites.compress));
        w.list(&self.nodes, node);
        w.0
    }

    /// Reads an order and checks that its numbers fit together.
    pub fn decode(bytes: &[u8]) -> Result<Order, Fault> {
        let mut r = Reader::new(bytes);
        let (job, key, mapping) = (r.text()?, r.text()?, r.text()?);
        let (size, report_bindings) = (r.u32()?, r.flag()?);
        let input = Some(r.u32()?).filter(|rank| *rank != u32::MAX);
        let universe = Some(r.u32()?).filter(|size| *size != u32::MAX);
        let policy = policy::read(&mut r)?;
        let programs = r.list(read_program)?;
        let words = r.list(read_word)?;
        let (raw, preload) = (r.flag()?, r.flag()?);
        let (width, patience) = (r.u32()?, Duration::from_millis(u64::from(r.u32()?)));
        let prefix = Some(read_word(&mut r)?).filter(|prefix| !prefix.is_empty());
        let login = Vec::new();
        let shell = Shell { words, login, raw, preload, width, patience, prefix };
        let (text, gateways, compress) = (r.text()?, r.list(read_gateway)?, r.flag()?);
        let sites = (!text.is_empty()).then_some(Plan { text, gateways, compress });
        let nodes = r.list(read_node)?;
        r.end()?;
        let order = Order {
            job,
            key,
            size,
            universe,
            mapping,
            programs,
            policy,
            input,
            report_bindings,
            shell,
            sites,
            nodes,
        };
        order.check()?;
        Ok(order)
    }

    fn check(&self) -> Result<(), Fault> {
        if self.nodes.is_empty() || self.programs.iter().any(|program| program.argv.is_empty()) {
            return Err("an order without host or program".to_string());
        }
        if self.size > MAX_RANKS {
            return Err(format!("a job of {} ranks", self.size));
        }
        for node in self.nodes.iter().filter(|node| !node.slots.is_empty()) {
            let ranks: u64 = node.runs.iter().map(|run| u64::from(run.count)).sum();
            if ranks != node.slots.len() as u64 {
                return Err(format!("{} slots for {ranks} ranks", node.slots.len()));
            }
        }
        for run in self.nodes.iter().flat_map(|node| &node.runs) {
            let end = run.first.checked_add(run.count);
            let program = self.programs.get(run.program as usize);
            if end.is_none_or(|end| end > self.size) || program.is_none() {
                return Err(format!("ranks {run:?} in a job of {}", self.size));
            }
        }
        Ok(())
    }
}

fn gateway(w: &mut Writer, gateway: &Gateway) {
    w.u32(u32::from(gateway.site)).u32(gateway.node).u32(u32::from(gateway.port));
    w.bytes(gateway.host.as_bytes());
}

fn read_gateway(r: &mut Reader) -> Result<Gateway, Fault> {
    let small = |number: u32| u16::try_from(number).map_err(|_| format!("{number} of a gateway"));
    let (site, node, port) = (small(r.u32()?)?, r.u32()?, small(r.u32()?)?);
    Ok(Gateway { site, node, port, host: r.text()? })
}

fn word(w: &mut Writer, word: &OsString) {
    w.bytes(word.as_bytes());
}

fn read_word(r: &mut Reader) -> Result<OsString, Fault> {
    Ok(OsString::from_vec(r.bytes()?.to_vec()))
}

fn program(w: &mut Writer, program: &Program) {
    w.list(&program.argv, word).bytes(program.wdir.as_bytes());
    w.u8(u8::from(program.inherit)).u8(u8::from(program.library_path));
    w.bytes(program.path.as_bytes());
    w.list(&program.set, |w, (name, value)| {
        w.bytes(name.as_bytes()).bytes(value.as_bytes());
    });
}

fn read_program(r: &mut Reader) -> Result<Program, Fault> {
    let (argv, wdir) = (r.list(read_word)?, read_word(r)?);
    let (inherit, library_path) = (r.flag()?, r.flag()?);
    let path = read_word(r)?;
    let set = r.list(|r| Ok((read_word(r)?, read_word(r)?)))?;
    Ok(Program { argv, wdir, inherit, set, library_path, path })
}

fn node(w: &mut Writer, node: &Node) {
    w.u32(node.number).bytes(node.host.as_bytes());
    w.list(&node.runs, |w, run| {
        w.u32(run.first).u32(run.count).u32(run.program);
    });
    w.list(&node.slots, |w, slot| {
        w.bytes(slot.as_bytes());
    });
}

fn read_node(r: &mut Reader) -> Result<Node, Fault> {
    let (number, host) = (r.u32()?, r.text()?);
    let runs = r.list(|r| Ok(Run { first: r.u32()?, count: r.u32()?, program: r.u32()? }))?;
    let slots = r.list(|r| r.text())?;
    Ok(Node { number, host, runs, slots })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn order() -> Order {
        let program = Program {
            argv: vec!["prog".into(), OsString::from_vec(vec![b'x', 0xff])],
            wdir: "/tmp".into(),
            inherit: true,
            set: vec![("A".into(), "1".into())],
            library_path: true,
            path: "/opt/bin".into(),
        };
        let run = |first| Run { first, count: 2, program: 0 };
        let node = |number: u32| Node {
            number,
            host: format!("n{number}"),
            runs: vec![run(2 * number)],
            slots: vec![format!("{number}:0"), String::new()],
        };
        let shell = Shell {
            words: vec!["ssh".into(), "-x".into()],
            login: Vec::new(),
            raw: false,
            preload: false,
            width: 2,
            patience: Duration::from_secs(60),
            prefix: Some("/opt/hpvm".into()),
        };
        Order {
            job: "job".to_string(),
            key: "00ff".to_string(),
            size: 8,
            universe: Some(12),
            mapping: "(vector,(0,4,2))".to_string(),
            programs: vec![program],
            policy: Policy { width: 3, ..Policy::default() },
            input: Some(0),
            report_bindings: true,
            shell,
            sites: Some(Plan {
                text: "A,B;0x4,1x4".to_string(),
                gateways: vec![Gateway { site: 1, node: 2, host: "n2".to_string(), port: 7 }],
                compress: true,
            }),
            nodes: (0..4).map(node).collect(),
        }
    }

    #[test]
    fn there_and_back() {
        assert_eq!(Order::decode(&order().encode()), Ok(order()));
        assert_eq!(order().nodes[1].ranks().collect::<Vec<_>>(), [(2, 0), (3, 0)]);
    }

    #[test]
    fn every_cut_is_refused() {
        let bytes = order().encode();
        for length in 0..bytes.len() {
            assert!(Order::decode(&bytes[..length]).is_err(), "{length}");
        }
        assert!(Order::decode(&[&bytes[..], b"x"].concat()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_is_taken_of_bent_orders_is_whole(
            changes in proptest::collection::vec((0..400_usize, proptest::num::u8::ANY), 1..6),
        ) {
            let mut bytes = order().encode();
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            if let Ok(order) = Order::decode(&bytes) {
                assert!(!order.nodes.is_empty());
                let ranks = order.nodes.iter().flat_map(Node::ranks);
                for (rank, program) in ranks {
                    assert!(rank < order.size && (program as usize) < order.programs.len());
                }
            }
        }
    }

    #[test]
    fn numbers_have_to_fit() {
        let mut bad = order();
        bad.nodes[0].runs[0] = Run { first: 7, count: 2, program: 0 };
        assert!(Order::decode(&bad.encode()).unwrap_err().contains("in a job of 8"));
        bad.nodes[0].runs[0] = Run { first: u32::MAX, count: 2, program: 0 };
        assert!(Order::decode(&bad.encode()).is_err());
        let mut bad = order();
        bad.nodes[0].runs[0].program = 1;
        assert!(Order::decode(&bad.encode()).is_err());
    }
}
