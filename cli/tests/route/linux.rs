//! The scripts for Linux, on routers that are network namespaces: every host reaches every other.

use std::path::Path;
use std::process::Command;

use super::{path, route};

/// Namespaces that are taken away when this is dropped.
struct Routers {
    prefix: String,
    names: Vec<String>,
}

impl Routers {
    fn run(&self, line: &str) -> Result<String, String> {
        let line = line.replace('@', &self.prefix);
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn add(&mut self, name: &str) {
        self.names.push(name.to_owned());
        self.run(&format!("ip netns add @{name}")).unwrap();
        let settings =
            "net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0";
        self.run(&format!("ip netns exec @{name} sysctl -q {settings}")).unwrap();
        self.run(&format!("ip -n @{name} link set lo up")).unwrap();
    }

    /// A cable between two ports.
    fn join(&self, a: (&str, &str), b: (&str, &str)) {
        let ((an, ap), (bn, bp)) = (a, b);
        self.run(&format!("ip link add {ap} netns @{an} type veth peer name {bp} netns @{bn}"))
            .unwrap();
        for (name, port) in [a, b] {
            self.run(&format!("ip -n @{name} link set {port} up")).unwrap();
        }
    }
}

impl Drop for Routers {
    fn drop(&mut self) {
        for name in &self.names {
            if let Err(text) = self.run(&format!("ip netns del @{name}")) {
                eprintln!("{text}");
            }
        }
    }
}

/// Two leaves with two hosts each under two tops.
const FABRIC: &str = "\
switch l0 address=10.9.1.1
switch l1 address=10.9.1.2
switch t0 address=10.9.1.3
switch t1 address=10.9.1.4
host h0 address=10.9.0.1
host h1 address=10.9.0.2
host h2 address=10.9.0.3
host h3 address=10.9.0.4
link h0 l0:1
link h1 l0:2
link h2 l1:1
link h3 l1:2
link l0:3 t0:1
link l0:4 t1:1
link l1:3 t0:2
link l1:4 t1:2
";

fn build(routers: &mut Routers) {
    for line in FABRIC.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0] {
            "link" => {
                let end = |word: &'static str| -> (String, String) {
                    match word.split_once(':') {
                        Some((name, port)) => (name.to_owned(), format!("swp{port}")),
                        None => (word.to_owned(), "eth0".to_owned()),
                    }
                };
                let (a, b) = (end(words[1]), end(words[2]));
                routers.join((&a.0, &a.1), (&b.0, &b.1));
            }
            _ => routers.add(words[1]),
        }
    }
    // A host knows its address and its cable.
    for host in 0..4 {
        let address = format!("10.9.0.{}", host + 1);
        routers.run(&format!("ip -n @h{host} address add {address}/32 dev eth0")).unwrap();
        let way = format!("via 10.9.1.{} dev eth0 onlink", host / 2 + 1);
        routers.run(&format!("ip -n @h{host} route add default {way}")).unwrap();
    }
}

#[test]
fn routers_of_linux() {
    if let Err(reason) = hpvm_tests::hosts::possible(&[]) {
        return hpvm_tests::skip::skipped(&reason);
    }
    let folder = tempfile::tempdir().unwrap();
    let fabric = path(folder.path(), "fabric");
    std::fs::write(&fabric, FABRIC).unwrap();
    for more in [&[] as &[&str], &["--ecmp"]] {
        let scripts = path(folder.path(), if more.is_empty() { "single" } else { "ecmp" });
        let output = route(&[&[&fabric, "--linux", &scripts], more].concat());
        assert!(output.status.success(), "{output:?}");
        let mut routers =
            Routers { prefix: format!("hr{}-", std::process::id()), names: Vec::new() };
        build(&mut routers);
        for switch in ["l0", "l1", "t0", "t1"] {
            let script = Path::new(&scripts).join(format!("{switch}.sh"));
            routers.run(&format!("ip netns exec @{switch} sh {}", script.display())).unwrap();
        }
        for (from, to) in (0..4).flat_map(|from| (1..=4).map(move |to| (from, to))) {
            // A port where nobody listens: the refusal has come all the way back.
            let connect = format!("timeout 60 bash -c '> /dev/tcp/10.9.0.{to}/9'");
            let said = routers.run(&format!("ip netns exec @h{from} {connect}")).unwrap_err();
            assert!(said.contains("Connection refused"), "{said}");
        }
        let ways = routers.run("ip -n @l0 route show 10.9.0.3").unwrap();
        assert_eq!(ways.matches("nexthop").count(), if more.is_empty() { 0 } else { 2 }, "{ways}");
    }
}
