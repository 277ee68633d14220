//! A report that never changes, for tests.

use super::data::{Data, FLOOR, FORMAT, Finished, OWN, Outcome, Point, Settings};
use super::machine::{Details, Row};

/// Launches around a value, with one sample far outside.
fn around(value: f64) -> Vec<Vec<f64>> {
    let launch = |shift: f64| {
        let samples = (0..12).map(|i| value * (1.0 + shift + 0.002 * f64::from(i % 5 - 2)));
        // As many digits as survive being written and read.
        samples.map(|v| (v * 1e6).round() / 1e6).collect::<Vec<f64>>()
    };
    let mut launches = vec![launch(-0.01), launch(0.0), launch(0.01)];
    launches[1][0] = value;
    launches[2].push(value * 4.0);
    launches
}

fn point(mode: &str, by: &str, ranks: u32, size: u64, unit: &str, value: f64) -> Point {
    Point { launches: around(value), ..Point::new(mode, by, ranks, size, unit, Vec::new()) }
}

/// Of values that are compared exactly.
fn exact(mode: &str, ranks: u32, size: u64, unit: &str, value: f64) -> Point {
    Point::new(mode, OWN, ranks, size, unit, vec![value; 9])
}

fn finished(name: &str, points: Vec<Point>) -> Finished {
    Finished { name: name.into(), seconds: 1.5, load: Some(0.4), outcome: Outcome::Points(points) }
}

pub fn data() -> Data {
    let latency =
        vec![exact("latency", 2, 0, "us", 0.5), point("latency", OWN, 2, 4096, "us", 1.5)];
    let bandwidth = [(64, 100.0), (1024, 6000.0), (65536, 10000.0)];
    let bandwidth = bandwidth.map(|(size, rate)| exact("bandwidth", 2, size, "MB/s", rate));
    let idle = [(2, 10000.0), (16, 9900.0)].map(|(n, rate)| exact("idle", n, 65536, "MB/s", rate));
    let barrier =
        [(2, 1.0), (4, 2.0), (8, 3.0)].map(|(n, us)| point("barrier", OWN, n, 0, "us", us));
    let pairs = [("0-1", 0.5), ("0-2", 0.6), ("1-2", 2.0)];
    let pairs = pairs.map(|(pair, us)| point("pairs", OWN, 3, 8, "us", us).of(pair, "latency"));
    let floor = vec![
        point("flag", FLOOR, 1, 8, "us", 0.1),
        point("memcpy", FLOOR, 1, 4096, "MB/s", 20000.0),
        point("tcp", FLOOR, 1, 8, "us", 5.0).of("latency", ""),
    ];
    let pvm = vec![
        point("probe", OWN, 2, 0, "us", 0.02).of("nothing there", ""),
        exact("round trip", 2, 8, "us", 2.0).of("pack, send, receive, unpack", ""),
        exact("round trip", 2, 8, "us", 1.5).of("psend, precv", ""),
        exact("bandwidth", 2, 1024, "MB/s", 4000.0).of("psend, precv", ""),
    ];
    let app = |n, s| exact("app", n, 0, "s", s).of("md", "strong");
    let npb = exact("npb", 4, 0, "Mop/s", 5000.0).of("BT", "A");
    let out =
        |name: &str, outcome| Finished { name: name.into(), seconds: 0.0, load: None, outcome };
    Data {
        format: FORMAT,
        version: "0.0.0".into(),
        settings: Settings {
            quick: true,
            ranks: 8,
            hosts: Vec::new(),
            peers: Vec::new(),
            launch_args: Vec::new(),
            npb: None,
            npb_classes: Vec::new(),
            library: "1 byte".into(),
        },
        machine: Details {
            host: "A<B".into(),
            cpu: "Test & Sons".into(),
            cores: 4,
            kernel: "6.0".into(),
            rows: vec![Row {
                group: "memory".into(),
                what: "memory".into(),
                value: "1 MiB".into(),
            }],
            warnings: vec!["nothing here is real".into()],
        },
        time: 951_782_399,
        complete: false,
        finished: vec![
            finished("floor", floor),
            finished("latency", latency),
            finished("bandwidth", bandwidth.to_vec()),
            finished("idle", idle.to_vec()),
            finished("barrier", barrier.to_vec()),
            finished("pairs", pairs.to_vec()),
            finished("pvm", pvm),
            finished("apps", vec![app(1, 0.4), app(2, 0.25)]),
            finished("npb", vec![npb]),
            out("shmem", Outcome::LeftOut("hpvmshmem is not installed".into())),
            out("files", Outcome::Failed("no space left".into())),
        ],
    }
}

/// The same, with a slower barrier on another kernel.
pub fn older() -> Data {
    let mut data = data();
    data.machine.kernel = "5.0".into();
    for f in &mut data.finished {
        if let (true, Outcome::Points(points)) = (f.name == "barrier", &mut f.outcome) {
            points[0].launches.iter_mut().flatten().for_each(|v| *v *= 2.0);
        }
    }
    data
}
