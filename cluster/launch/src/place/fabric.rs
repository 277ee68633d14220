//! The order of hosts by the network's switches: from a file, or what Slurm knows of its network.

use std::path::Path;
use std::process::{Command, Stdio};

use super::Room;
use super::policy::{MapBy, Policy};
use crate::error::LaunchError;
use crate::{hosts, text_file};
use hpvm_routing::format::{detect, read};
use hpvm_routing::{Network, order};

/// More bytes are no fabric: one of 10,000 hosts has a few MiB.
const FILE_MAX: u64 = 256 << 20;

/// A network, and where it comes from.
#[derive(Debug)]
pub struct Fabric {
    fabric: hpvm_routing::Fabric,
    source: String,
}

/// The network by which ranks are placed; none where nobody asks for that. Asks Slurm, which may block for as long as its controller
/// does not answer.
pub fn of(policy: &Policy) -> Result<Option<Fabric>, LaunchError> {
    if !policy.by_switch && policy.fabric.is_none() {
        return Ok(None);
    }
    if policy.file.is_some() || policy.map == MapBy::Sequence {
        return Err(LaunchError::usage(
            "--fabric, --map-by switch: a rankfile or seq says already which rank runs where",
        ));
    }
    match &policy.fabric {
        Some(path) => from_file(path).map(Some),
        None if std::env::var_os("SLURM_JOB_ID").is_some() => from_slurm("scontrol").map(Some),
        None => Err(LaunchError::usage(
            "--map-by switch: which host hangs on which switch? Name a file with --fabric FILE (see hpvm route --help)",
        )),
    }
}

fn from_file(path: &Path) -> Result<Fabric, LaunchError> {
    let source = format!("fabric '{}'", path.display());
    let fault = |what: String| LaunchError::usage(format!("{source}: {what}"));
    let text =
        text_file::read_or_stdin(path, FILE_MAX).map_err(|unread| fault(unread.to_string()))?;
    parse(&text, source)
}

fn from_slurm(scontrol: &str) -> Result<Fabric, LaunchError> {
    let source = "'scontrol show topology'".to_string();
    let fault = |what: String| {
        LaunchError::new(
            1,
            format!("--map-by switch: {source} {what}; --fabric FILE needs no Slurm"),
        )
    };
    let mut command = Command::new(scontrol);
    command.args(["show", "topology"]).stdin(Stdio::null());
    let output = command.output().map_err(|error| fault(format!("cannot be run: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(fault(format!("failed ({}): {}", output.status, said.trim())));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim().is_empty() || !text.contains('=') {
        return Err(fault(format!("knows no switches: '{}'", text.trim().escape_debug())));
    }
    parse(&text, source)
}

fn parse(text: &str, source: String) -> Result<Fabric, LaunchError> {
    match read(text, detect(text)) {
        Ok(fabric) => Ok(Fabric { fabric, source }),
        Err(error) => Err(LaunchError::usage(format!("{source}: {error}"))),
    }
}

impl Fabric {
    /// The hosts in the order in which they get ranks. Where nobody said how many a host is to have all get some, and it matters
    /// only who is near whom.
    pub fn order(&self, room: &Room, ranks: u32) -> Result<Room, LaunchError> {
        let ranks = if room.given { ranks } else { u32::MAX };
        let own = hosts::local_name();
        let name = |host: &'_ str| match host {
            "localhost" | "localhost.localdomain" | "127.0.0.1" | "::1" => own.clone(),
            other => other.to_string(),
        };
        let names: Vec<(String, u32)> =
            room.hosts.iter().map(|(host, slots)| (name(host), *slots)).collect();
        let wanted: Vec<(&str, u32)> =
            names.iter().map(|(name, slots)| (name.as_str(), *slots)).collect();
        let order = order::fill(&Network::new(&self.fabric), &wanted, ranks);
        let order =
            order.map_err(|error| LaunchError::usage(format!("{}: {error}", self.source)))?;
        Ok(room.ordered(&order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::parse_list;

    const TWO: &str =
        "SwitchName=s1 Nodes=a,b\nSwitchName=s2 Nodes=c,d\nSwitchName=top Switches=s[1-2]\n";

    fn ordered(fabric: &Fabric, list: &str, ranks: u32) -> String {
        let room = Room::new(&parse_list(list).unwrap(), None);
        let room = fabric.order(&room, ranks).unwrap();
        room.hosts.iter().map(|(name, slots)| format!("{name}:{slots} ")).collect()
    }

    #[test]
    fn hosts_of_a_switch_come_together() {
        let fabric = parse(TWO, "f".to_string()).unwrap();
        assert_eq!(ordered(&fabric, "c:2,a:1,d:1,b:1", 5), "c:2 d:1 a:1 b:1 ");
        // Two ranks fit below the first switch, and no slot stays empty.
        assert_eq!(ordered(&fabric, "c:2,a:1,d:1,b:1", 2), "a:1 b:1 c:2 d:1 ");
        assert_eq!(ordered(&fabric, "c,a,d", 1), "c:1 d:1 a:1 ");
        let twice = Room::new(&parse_list("c,a,c,d").unwrap(), None);
        assert_eq!(fabric.order(&twice, 9).unwrap().sequence, [0, 2, 0, 1]);
        let room = Room::new(&parse_list("a,login").unwrap(), None);
        let error = fabric.order(&room, 1).unwrap_err();
        assert!(error.message.contains("f: host 'login' is not in the fabric"), "{error}");
    }

    #[test]
    fn slurm_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = dir.path().join(name);
            // Written by a process of its own: what another test starts meanwhile would hold the file open, and it could not be run.
            let mut writer = Command::new("sh");
            writer.args([
                "-c",
                "printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\"; chmod 755 \"$1\"",
                "sh",
            ]);
            assert!(writer.arg(&path).arg(text).status().unwrap().success());
            path.to_str().unwrap().to_string()
        };
        let good = script(
            "good",
            "echo SwitchName=s1 Level=0 LinkSpeed=1 Nodes=a,c; echo SwitchName=s2 Level=0 LinkSpeed=1 Nodes=b",
        );
        assert_eq!(ordered(&from_slurm(&good).unwrap(), "a,b,c", 3), "a:1 c:1 b:1 ");
        let failing = script("failing", "echo no controller >&2; exit 3");
        let flat = script("flat", "echo No topology information available");
        let blocks = script("blocks", "echo BlockName=b1 BlockIndex=0 Nodes=a");
        for (command, part) in [
            (failing.as_str(), "no controller"),
            (&flat, "knows no switches: 'No topology"),
            (&blocks, "expected 'SwitchName=NAME"),
            ("/no/such/scontrol", "cannot be run"),
        ] {
            let error = from_slurm(command).unwrap_err();
            assert!(error.message.contains(part), "{error}");
        }
    }
}
