//! What the user says about where ranks run: `--map-by`, `--rank-by`, `--bind-to` and their kin, in
//! the words of Open MPI, MPICH and Intel MPI.

use std::path::PathBuf;

use super::affinity::{self, Cpus};
use super::topology::Level;
use crate::error::LaunchError;
use crate::text::digits;

/// In which order hosts, and parts of hosts, get ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapBy {
    /// A host gets as many as it has slots before the next one gets any.
    Slot,
    /// One each in turn.
    Node,
    /// Hosts as by slot; in a host its parts get one each in turn.
    Part(Level),
    /// So many on each part of every host.
    PerPart { count: u32, level: Level },
    /// One on each host as they are listed, a host that is listed again gets another.
    Sequence,
}

/// How ranks are numbered that were mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// As they were mapped.
    Mapped,
    /// Those of a host, and of a part of it, one after the other.
    Fill,
    /// Over hosts in turn.
    Node,
    /// Over the parts of a host in turn.
    Parts,
}

/// What each rank is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Nothing was said: to the parts by which ranks are mapped, if they are mapped by parts.
    Default,
    None,
    /// To so many neighbouring parts.
    Parts {
        level: Level,
        count: u32,
    },
    /// To hardware threads in the order of their numbers.
    RoundRobin,
    /// To these sets of hardware threads in turn.
    Sets(Vec<Cpus>),
    /// To one after the other of the list given by `--cpu-set`.
    Listed,
}

/// Everything together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub map: MapBy,
    pub rank: RankBy,
    pub bind: Bind,
    /// Cores (or hardware threads) for each rank; 0: nothing was said.
    pub width: u32,
    /// Whether hardware threads are counted instead of cores.
    pub threads: bool,
    /// Only these cores, by their logical numbers, in this order.
    pub only: Option<Vec<usize>>,
    /// More ranks on a host than slots are refused.
    pub strict: bool,
    /// The parts of all hosts get their ranks in turn, as if they were of one machine.
    pub span: bool,
    /// No ranks on this machine.
    pub no_local: bool,
    /// A file that says where ranks go.
    pub file: Option<PathBuf>,
    /// Hosts are filled in the order of the network's switches.
    pub by_switch: bool,
    /// A file with the network.
    pub fabric: Option<PathBuf>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            map: MapBy::Slot,
            rank: RankBy::Mapped,
            bind: Bind::Default,
            width: 0,
            threads: false,
            only: None,
            strict: false,
            span: false,
            no_local: false,
            file: None,
            by_switch: false,
            fabric: None,
        }
    }
}

impl Policy {
    /// What one processor is.
    pub fn unit(&self) -> Level {
        if self.threads { Level::HwThread } else { Level::Core }
    }

    /// Takes the value of `--map-by`. Gives the number of ranks per host that `ppr:N:node` has in it.
    pub fn map_by(&mut self, shown: &str, text: &str) -> Result<Option<u32>, LaunchError> {
        let mut words = text.split(':');
        let first = words.next().unwrap_or("");
        let mut per_host = None;
        let fault = || {
            LaunchError::usage(format!(
                "'{shown} {text}': hpvm maps by slot, node, switch, socket, numa, l3cache, l2cache, l1cache, \
                 core, hwthread, seq, ppr:N:PART, pe-list=LIST or rankfile:file=FILE, with :pe=N, \
                 :oversubscribe, :nooversubscribe, :nolocal, :hwtcpus, :file=FILE behind, \
                 and :span behind a part"
            ))
        };
        match first.to_ascii_lowercase().as_str() {
            "" => {}
            "slot" | "byslot" => self.map = MapBy::Slot,
            "node" | "bynode" => self.map = MapBy::Node,
            "switch" => (self.map, self.by_switch) = (MapBy::Slot, true),
            "seq" => self.map = MapBy::Sequence,
            "rankfile" => {}
            "ppr" => {
                let count = words.next().and_then(digits::<u32>);
                let count = count.filter(|count| *count > 0).ok_or_else(fault)?;
                let part = words.next().ok_or_else(fault)?;
                match part.to_ascii_lowercase().as_str() {
                    "node" => per_host = Some(count),
                    part => {
                        let level = Level::of(part).ok_or_else(fault)?;
                        self.map = MapBy::PerPart { count, level };
                    }
                }
            }
            word => match (word.strip_prefix("pe-list="), Level::of(word)) {
                (Some(list), _) => {
                    self.only = Some(affinity::parse_user_list(list).ok_or_else(fault)?);
                }
                (None, Some(level)) => self.map = MapBy::Part(level),
                (None, None) => return Err(fault()),
            },
        }
        for word in words {
            self.qualifier(word).ok_or_else(fault)?;
        }
        // By slot or a number for each part there is nothing that could go on over all hosts.
        if self.span && !matches!(self.map, MapBy::Part(_) | MapBy::Node) {
            return Err(fault());
        }
        Ok(per_host)
    }

    fn qualifier(&mut self, word: &str) -> Option<()> {
        if let Some((name, file)) = word.split_once('=')
            && name.eq_ignore_ascii_case("file")
        {
            self.file = Some(PathBuf::from(file));
            return Some(());
        }
        if let Some(list) = word.strip_prefix("pe-list=") {
            self.only = Some(affinity::parse_user_list(list)?);
            return Some(());
        }
        match word.to_ascii_lowercase().as_str() {
            "oversubscribe" => self.strict = false,
            "nooversubscribe" => self.strict = true,
            "nolocal" => self.no_local = true,
            "span" => self.span = true,
            "hwtcpus" => self.threads = true,
            "corecpus" => self.threads = false,
            "ordered" => self.bind = Bind::Listed,
            // There are no jobs that could inherit anything.
            "inherit" | "noinherit" => {}
            word => {
                let count = digits::<u32>(word.strip_prefix("pe=")?);
                self.width = count.filter(|count| *count > 0)?;
            }
        }
        Some(())
    }

    /// Takes the value of `--rank-by`.
    pub fn rank_by(&mut self, shown: &str, text: &str) -> Result<(), LaunchError> {
        let word = text.split(':').next().unwrap_or("").to_ascii_lowercase();
        self.rank = match (word.as_str(), Level::of(&word)) {
            ("slot", _) => RankBy::Mapped,
            ("fill", _) | (_, Some(Level::Core | Level::HwThread)) => RankBy::Fill,
            ("node", _) => RankBy::Node,
            ("span", _) | (_, Some(_)) => RankBy::Parts,
            _ => {
                return Err(LaunchError::usage(format!(
                    "'{shown} {text}': hpvm ranks by slot, node, fill, span, socket, numa, l3cache, \
                     core or hwthread"
                )));
            }
        };
        Ok(())
    }

    /// Takes the value of `--bind-to`.
    pub fn bind_to(&mut self, shown: &str, text: &str) -> Result<(), LaunchError> {
        let fault = || {
            LaunchError::usage(format!(
                "'{shown} {text}': hpvm binds to none, hwthread, core, l1cache, l2cache, l3cache, \
                 numa, socket (each with :N behind for N of them), machine, rr, cpu-list:ordered or \
                 user:LIST (hardware threads, like user:0+2,1+3)"
            ))
        };
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        self.bind = match word.to_ascii_lowercase().as_str() {
            "none" | "no" => Bind::None,
            "rr" => Bind::RoundRobin,
            "user" => {
                let sets =
                    rest.split(',').map(|set| set.split('+').map(digits).collect::<Option<Cpus>>());
                Bind::Sets(sets.collect::<Option<Vec<Cpus>>>().ok_or_else(fault)?)
            }
            "cpu-list" if self.only.is_some() || rest == "ordered" => Bind::Listed,
            word => {
                let level = Level::of(word).ok_or_else(fault)?;
                let mut count = 1;
                for word in rest.split(':').filter(|word| !word.is_empty()) {
                    match word.to_ascii_lowercase().as_str() {
                        // More ranks than parts are always allowed.
                        "overload-allowed" | "overload" | "if-supported" | "ordered" => {}
                        word => {
                            let number = digits::<u32>(word).filter(|number| *number > 0);
                            count = number.ok_or_else(fault)?;
                        }
                    }
                }
                Bind::Parts { level, count }
            }
        };
        Ok(())
    }

    /// Takes Intel's `-cpu-bind`: lists of hardware threads for one rank after the other, or the
    /// number of processors of each.
    pub fn cpu_bind(&mut self, shown: &str, text: &str) -> Result<(), LaunchError> {
        let sets = text.strip_prefix("list:").and_then(|lists| {
            let sets = lists.split(':').map(affinity::parse_user_list);
            sets.map(|set| set.map(Cpus::from_iter)).collect::<Option<Vec<Cpus>>>()
        });
        match (sets, digits::<u32>(text)) {
            (Some(sets), _) => self.bind = Bind::Sets(sets),
            (None, Some(width)) if width > 0 => self.width = width,
            _ => {
                return Err(LaunchError::usage(format!(
                    "'{shown} {text}': expected a number of cores for each rank, or lists of \
                     hardware threads like list:0-3:4-7"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(text: &str) -> Policy {
        let mut policy = Policy::default();
        policy.map_by("--map-by", text).expect(text);
        policy
    }

    #[test]
    fn ways_of_mapping() {
        assert_eq!(mapped("socket:PE=2").width, 2);
        assert_eq!(mapped("socket:PE=2").map, MapBy::Part(Level::Socket));
        assert_eq!(mapped("L3").map, MapBy::Part(Level::L3));
        let ppr = mapped("ppr:2:package:pe=4");
        assert_eq!(ppr.map, MapBy::PerPart { count: 2, level: Level::Socket });
        assert_eq!(ppr.width, 4);
        assert!(mapped("core:SPAN").span && !mapped("core").span);
        assert!(mapped(":NOOVERSUBSCRIBE").strict && mapped("node:nolocal").no_local);
        assert_eq!(mapped("seq:file=/A/b").file, Some("/A/b".into()));
        assert_eq!(mapped("pe-list=0,2-3:ordered").only, Some(vec![0, 2, 3]));
        assert_eq!(mapped("pe-list=0:ordered").bind, Bind::Listed);
        let mut policy = Policy::default();
        assert_eq!(policy.map_by("--map-by", "ppr:4:node").unwrap(), Some(4));
        for bad in [
            "wheel",
            "ppr:0:node",
            "ppr:+2:node",
            "ppr:2",
            "ppr:2:wheel",
            "socket:pe=0",
            "socket:pe=+2",
            "slot:span",
            "pe-list=x",
        ] {
            let error = policy.map_by("--map-by", bad).unwrap_err();
            assert!(error.message.contains(&format!("'--map-by {bad}'")), "{error}");
        }
    }

    #[test]
    fn ways_of_binding() {
        let bound = |text: &str| {
            let mut policy = Policy::default();
            policy.bind_to("--bind-to", text).map(|()| policy.bind)
        };
        let parts = |level, count| Ok(Bind::Parts { level, count });
        assert_eq!(bound("core"), parts(Level::Core, 1));
        assert_eq!(bound("core:2"), parts(Level::Core, 2));
        assert_eq!(bound("l3cache"), parts(Level::L3, 1));
        assert_eq!(bound("core:overload-allowed"), parts(Level::Core, 1));
        assert_eq!(bound("rr"), Ok(Bind::RoundRobin));
        let sets = vec![Cpus::from([0, 2]), Cpus::from([1])];
        assert_eq!(bound("user:0+2,1"), Ok(Bind::Sets(sets.clone())));
        for bad in ["wheel", "core:0", "core:+2", "user:", "user:a", "user:+1", "cpu-list"] {
            assert!(bound(bad).unwrap_err().message.contains("'--bind-to "), "{bad}");
        }
        let mut policy = Policy::default();
        policy.cpu_bind("-cpu-bind", "list:0,2:1").unwrap();
        assert_eq!(policy.bind, Bind::Sets(sets));
        policy.cpu_bind("-cpu-bind", "3").unwrap();
        assert_eq!(policy.width, 3);
        assert!(policy.cpu_bind("-cpu-bind", "x").is_err());
        assert!(policy.cpu_bind("-cpu-bind", "+3").is_err());
    }

    #[test]
    fn ways_of_ranking() {
        let mut policy = Policy::default();
        for (text, rank) in [
            ("slot", RankBy::Mapped),
            ("core", RankBy::Fill),
            ("NODE", RankBy::Node),
            ("socket:span", RankBy::Parts),
        ] {
            policy.rank_by("--rank-by", text).unwrap();
            assert_eq!(policy.rank, rank, "{text}");
        }
        assert!(policy.rank_by("--rank-by", "wheel").is_err());
    }
}
