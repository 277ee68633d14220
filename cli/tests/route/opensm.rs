//! OpenSM's tables for the same fabrics, on its simulator (Debian: opensm, ibsim-utils, infiniband-diags).

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{json, path, text};

const SIMULATOR: &str = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";

/// ibsim with a fabric; ends with the test.
struct Simulator {
    child: Child,
    port: String,
}

impl Simulator {
    fn start(fabric: &str, log: &Path) -> Simulator {
        // Its sockets have abstract names, made of this number.
        let port = (10_000 + std::process::id() % 50_000).to_string();
        let out = std::fs::File::create(log).unwrap();
        let child = Command::new("ibsim")
            .args(["-s", fabric])
            .env("IBSIM_SERVER_PORT", &port)
            // It reads commands, and would end at the end of them.
            .stdin(Stdio::piped())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        Simulator { child, port }
    }

    /// A program on the first host.
    fn run(&self, folder: &Path, program: &[&str]) -> String {
        let output = Command::new("timeout")
            .arg("60")
            .args(program)
            .env("LD_PRELOAD", SIMULATOR)
            .env("IBSIM_SERVER_PORT", &self.port)
            .env("SIM_HOST", "h0")
            .env("OSM_TMP_DIR", folder)
            .env("OSM_CACHE_DIR", folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until programs can join, and says what the fabric looks like to them.
    fn discover(&self, folder: &Path) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let found = self.run(folder, &["ibnetdiscover"]);
            if found.contains("caguid") {
                return found;
            }
            assert!(Instant::now() < end, "ibsim does not answer: {found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn there() -> bool {
    let command = |name: &str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
        found.is_ok_and(|output| output.status.success())
    };
    let all = ["opensm", "ibsim", "ibnetdiscover", "timeout"].into_iter().all(command);
    if all && Path::new(SIMULATOR).exists() {
        return true;
    }
    hpvm_tests::skip::skipped(
        "opensm and ibsim (opensm, ibsim-utils, infiniband-diags) are not here",
    );
    false
}

/// OpenSM's tables with some arguments, and the fabric as it numbered it.
fn opensm(folder: &Path, shape: &str, args: &[&str]) -> (String, String) {
    let (net, found) = (path(folder, "net"), path(folder, "found"));
    text(&["--generate", shape, "--save", &net, "--save-as", "ibnetdiscover"]);
    let simulator = Simulator::start(&net, &folder.join("ibsim.log"));
    // Its sockets are there when somebody can join.
    simulator.discover(folder);
    let log = path(folder, "osm.log");
    let fixed = ["opensm", "-o", "-e", "-D", "0x43", "-f", &log];
    let said = simulator.run(folder, &[&fixed[..], args].concat());
    let tables = path(folder, "opensm-lfts.dump");
    assert!(Path::new(&tables).exists(), "{said}");
    std::fs::write(&found, simulator.discover(folder)).unwrap();
    (found, tables)
}

/// The load of the busiest link between switches.
fn busiest(report: &Value) -> f64 {
    report["load"]["most"].as_f64().unwrap()
}

/// On fat trees our busiest link carries no more than that of OpenSM's fat-tree routing, nor of its up/down; on all
/// its tables are read, and ours are loaded by it as they are.
#[test]
fn beside_opensm() {
    if !there() {
        return;
    }
    for (shape, engines) in [
        ("fattree:hpvm3-doubled", &["updn", "ftree"] as &[&str]),
        ("fattree:k=4", &["updn", "ftree"]),
    ] {
        for engine in engines {
            let folder = tempfile::tempdir().unwrap();
            let (fabric, tables) = opensm(folder.path(), shape, &["-R", engine]);
            let (theirs, ours) = (json(&[&fabric, "--check", &tables]), json(&[&fabric]));
            assert_eq!(theirs["routed"], theirs["pairs"], "{shape} {engine}: {theirs}");
            assert_eq!(theirs["deadlock"], Value::Null, "{shape} {engine}");
            assert_eq!(ours["route_links"]["mean"], theirs["route_links"]["mean"]);
            assert!(busiest(&ours) <= busiest(&theirs), "{shape} {engine}: {ours} {theirs}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (fabric, tables) = opensm(folder.path(), "torus:5x5", &["-R", "minhop"]);
    let theirs = json(&[&fabric, "--check", &tables]);
    assert_eq!(
        (&theirs["routed"], &theirs["route_links"]["shortest_routes"]),
        (&600.into(), &600.into())
    );
    assert!(theirs["deadlock"].as_array().unwrap().len() >= 3, "{theirs}");
    let mine = path(folder.path(), "mine");
    text(&[&fabric, "-o", &mine]);
    let (fabric, loaded) = opensm(folder.path(), "torus:5x5", &["-R", "file", "-U", &mine]);
    let (mine, loaded) = (json(&[&fabric, "--check", &mine]), json(&[&fabric, "--check", &loaded]));
    assert_eq!(loaded["deadlock"], Value::Null);
    for part in ["channels", "route_links", "bisection"] {
        assert_eq!(mine[part], loaded[part]);
    }
}
