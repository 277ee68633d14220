//! What the machine does without message passing: the floors of the other measurements' plots.

use super::Measurement;
use crate::error::BenchError;
use crate::evaluate::TIME_LIMIT;
use crate::report::context::Context;
use crate::report::data::{self, Data, FLOOR, Point};
use crate::table;
use crate::target::run_command;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Sizes of the bare socket, as its command wants them.
const SIZES: [&str; 6] = ["8", "512", "4096", "32768", "262144", "1048576"];

/// For a connection that takes a second where nothing else runs.
const SOCKETS_LIMIT: Duration = Duration::from_secs(20);

pub struct Floor;

/// A bare TCP connection to this machine itself, both ends polling.
fn sockets(
    program: &Path,
    mode: &str,
    op: &str,
    points: &mut Vec<Point>,
) -> Result<(), BenchError> {
    // Any that is likely to be free; both ends have to know it beforehand.
    let port = (20_000 + std::process::id() % 10_000).to_string();
    let mut server = Command::new(program)
        .args(["serve", &port, "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| BenchError::io("cannot start tcpfloor", e))?;
    let mut client = Command::new(program);
    // A stream of short writes takes its time and says little.
    let sizes = if mode == "stream" { &SIZES[2..] } else { &SIZES };
    client.args([mode, "127.0.0.1", &port, "-"]).args(sizes);
    let outcome = run_command(client, &format!("tcpfloor {mode}"), SOCKETS_LIMIT);
    let _ = server.kill();
    let _ = server.wait();
    for mut record in outcome?.points {
        record.mode = "tcp".into();
        record.op = Some(op.into());
        data::add(points, FLOOR, vec![record]);
    }
    Ok(())
}

impl Measurement for Floor {
    fn name(&self) -> &'static str {
        "floor"
    }
    fn title(&self) -> &'static str {
        "Floors: the machine without message passing"
    }
    fn about(&self) -> &'static str {
        "A cache line that goes to and fro between two processors (flag), 40 bytes through a queue of such lines (ring), memcpy, the \
         kernel's copy between processes (vmread), and a bare TCP connection of this machine with itself whose ends both poll. They \
         stand in every plot that has their unit."
    }
    fn needs(&self, context: &Context) -> Result<(), String> {
        context.program("hpvmfloor").map(drop)
    }
    fn estimate(&self, _context: &Context) -> f64 {
        14.0
    }
    fn run(&self, context: &Context) -> Result<Vec<Point>, BenchError> {
        let mut points = Vec::new();
        let mut command = Command::new(context.programs.join("hpvmfloor"));
        command.args(["all", "raw"]);
        let output = run_command(command, "hpvmfloor", TIME_LIMIT)?;
        data::add(&mut points, FLOOR, output.points);
        if let Ok(program) = context.program("tcpfloor") {
            for (mode, op) in [("ping", "latency"), ("stream", "bandwidth")] {
                // Two ends that poll get nowhere where others compute; the other floors don't depend on them.
                match sockets(&program, mode, op, &mut points) {
                    Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                    Err(error) => eprintln!("hpvm bench report: a floor is left out: {error}"),
                    Ok(()) => {}
                }
            }
        }
        Ok(points)
    }
    fn headlines(&self, data: &Data) -> Vec<String> {
        let flag = data.points("floor").iter().find(|p| p.mode == "flag");
        let flag = flag.map(|p| {
            let [ns, least, most] = spread(p).map(|v| table::number(v * 1e3));
            format!(
                "A cache line takes {ns} ns from one processor to the other ({least} to {most})."
            )
        });
        flag.into_iter().collect()
    }
}

fn spread(p: &Point) -> [f64; 3] {
    let all = p.launches.concat();
    let spread = crate::stats::spread(&all);
    spread.map_or([f64::NAN; 3], |s| [s.median, s.min, s.max])
}
