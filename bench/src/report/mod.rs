//! `hpvm bench report`: everything that can be measured, in one page.
//!
//! A run is a list of measurements, one file each in `measurements/`. What is finished is kept in a work folder beside the
//! report, so that a run that was stopped goes on. The page is made from the data alone: `page.rs` measures nothing.

mod chart;
mod context;
mod data;
mod difference;
mod machine;
mod measurements;
mod page;
mod statistics;
mod store;
mod today;

#[cfg(test)]
mod fixed;

use crate::error::BenchError;
use crate::interrupt;
use crate::peers;
use crate::progress::Progress;
use crate::target::Target;
use crate::whole_file;
use context::Context;
use data::{Data, FORMAT, Finished, Outcome, Settings};
use machine::Details;
use measurements::{ALL, Measurement};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use store::Store;

pub use measurements::names;

/// What `hpvm bench report` was asked to do.
#[derive(Debug)]
pub struct Plan {
    pub target: Target,
    /// `PREFIX/libexec/hpvm`.
    pub programs: PathBuf,
    /// MPI's library: another build of it is not the same report.
    pub library: PathBuf,
    /// The page's file; `None`: standard output, and nothing is kept for another run.
    pub output: Option<PathBuf>,
    pub hosts: Vec<String>,
    pub agent: Option<String>,
    /// Beside the peers that are installed in this folder.
    pub peers: Option<PathBuf>,
    /// The most ranks.
    pub ranks: Option<u32>,
    pub npb: Option<PathBuf>,
    pub npb_classes: Vec<String>,
    pub only: Vec<String>,
    pub against: Option<PathBuf>,
    pub quick: bool,
    pub fresh: bool,
}

/// Measures what is not measured yet, and writes the page and its data. Takes minutes.
///
/// # Errors
/// Missing programs, a work folder of other conditions, files that can't be written; after a page with what was
/// measured, [`BenchError::Interrupted`] or [`BenchError::SomeFailed`].
pub fn run(plan: &Plan) -> Result<(), BenchError> {
    plan.target.check()?;
    let older = plan.against.as_deref().map(older).transpose()?;
    let machine = Details::here();
    let settings = settings(plan)?;
    // Removed at the end.
    let kept_nowhere = tempfile::tempdir()
        .map_err(|e| BenchError::io("cannot make a folder for what is measured", e))?;
    let work = match &plan.output {
        Some(output) => beside(output, "work"),
        None => kept_nowhere.path().join("work"),
    };
    let store = Store::open(work, &settings, &machine, plan.fresh)?;
    let context = context(plan, settings, store.folder())?;
    let (finished, stopped) = measure(plan, &context, &store)?;
    let failed = finished.iter().filter(|f| matches!(f.outcome, Outcome::Failed(_))).count();
    let data = Data {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        settings: context.settings,
        machine,
        time: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
        complete: !stopped && failed == 0,
        finished,
    };
    write(plan, &data, older.as_ref())?;
    match (stopped, failed) {
        (true, _) => {
            if plan.output.is_some() {
                let folder = store.folder().display();
                eprintln!("what was measured is in {folder}; the same command goes on");
            }
            Err(BenchError::Interrupted)
        }
        (_, 0) => store.done(),
        (_, count) => Err(BenchError::SomeFailed { count }),
    }
}

/// `report.html` and "json": `report.json`.
fn beside(output: &Path, extension: &str) -> PathBuf {
    output.with_extension(extension)
}

fn settings(plan: &Plan) -> Result<Settings, BenchError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let usual = u32::try_from(if plan.quick { cores } else { 2 * cores }).unwrap_or(8).max(8);
    let path = |path: &PathBuf| {
        let found = path.canonicalize();
        let found =
            found.map_err(|e| BenchError::io(format!("cannot use {}", path.display()), e))?;
        Ok::<_, BenchError>(found.display().to_string())
    };
    let about = std::fs::metadata(&plan.library).ok();
    let library = about.map(|about| {
        let changed = about.modified().ok();
        let age = changed.and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
        format!("{} bytes of {}", about.len(), age.map_or(0, |since| since.as_secs()))
    });
    Ok(Settings {
        quick: plan.quick,
        ranks: plan.ranks.unwrap_or(usual),
        hosts: plan.hosts.clone(),
        peers: plan.peers.as_deref().map(peers::installed).unwrap_or_default(),
        launch_args: plan.target.launch_args.clone(),
        npb: plan.npb.as_ref().map(path).transpose()?,
        npb_classes: plan.npb_classes.clone(),
        library: library.unwrap_or_default(),
    })
}

fn context(plan: &Plan, settings: Settings, folder: &Path) -> Result<Context, BenchError> {
    let folder = folder
        .canonicalize()
        .map_err(|e| BenchError::io(format!("cannot use {}", folder.display()), e))?;
    Ok(Context {
        target: plan.target.clone(),
        programs: plan.programs.clone(),
        settings,
        folder,
        peers: plan.peers.clone().unwrap_or_default(),
        agent: plan.agent.clone(),
    })
}

/// What remains and how well estimates have held so far.
struct Remaining {
    seconds: f64,
    estimated: f64,
    taken: f64,
}

impl Remaining {
    /// "about 2 min 10 s remain", corrected by what measurements have really taken.
    fn told(&self) -> String {
        let correction = if self.estimated > 1.0 { self.taken / self.estimated } else { 1.0 };
        let seconds = (self.seconds * correction.clamp(0.3, 5.0)).ceil() as u64;
        match seconds {
            s if s >= 60 => format!("about {} min {} s remain", s / 60, s % 60),
            s => format!("about {s} s remain"),
        }
    }
}

/// Makes what is not in the store. Also says whether Ctrl-C has ended it early.
fn measure(
    plan: &Plan,
    context: &Context,
    store: &Store,
) -> Result<(Vec<Finished>, bool), BenchError> {
    let wanted =
        |m: &&&dyn Measurement| plan.only.is_empty() || plan.only.iter().any(|n| n == m.name());
    let chosen: Vec<&dyn Measurement> = ALL.iter().filter(wanted).copied().collect();
    let made = |m: &dyn Measurement| store.found(m.name()).is_some() || m.needs(context).is_err();
    let estimate = |m: &dyn Measurement| if made(m) { 0.0 } else { m.estimate(context) };
    let seconds = chosen.iter().map(|m| estimate(*m)).sum();
    let mut remaining = Remaining { seconds, estimated: 0.0, taken: 0.0 };
    let mut progress = Progress::new(chosen.len() as u64);
    let mut finished = Vec::new();
    for m in chosen {
        if let Some(found) = store.found(m.name()) {
            progress.step(&format!("{}: from {}", m.name(), store.folder().display()));
            finished.push(found);
            continue;
        }
        progress.step(&format!("{}, {}", m.name(), remaining.told()));
        let expected = estimate(m);
        match one(m, context) {
            Err(BenchError::Interrupted) => return Ok((finished, true)),
            Err(error) => return Err(error),
            Ok(found) => {
                told(&progress, &found);
                store.keep(&found)?;
                remaining.seconds -= expected;
                remaining.estimated += expected;
                remaining.taken += found.seconds;
                finished.push(found);
            }
        }
        if interrupt::requested() {
            return Ok((finished, true));
        }
    }
    Ok((finished, false))
}

fn one(m: &dyn Measurement, context: &Context) -> Result<Finished, BenchError> {
    let (start, load) = (Instant::now(), machine::load());
    let outcome = match m.needs(context) {
        Err(reason) => Outcome::LeftOut(reason),
        Ok(()) => match m.run(context) {
            Ok(points) => Outcome::Points(points),
            Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
            Err(error) => Outcome::Failed(error.to_string()),
        },
    };
    Ok(Finished { name: m.name().into(), seconds: start.elapsed().as_secs_f64(), load, outcome })
}

fn told(progress: &Progress, found: &Finished) {
    match &found.outcome {
        Outcome::Failed(reason) => progress.say(&format!("{} failed: {reason}", found.name)),
        Outcome::LeftOut(reason) => progress.say(&format!("{} is left out: {reason}", found.name)),
        Outcome::Points(_) => {}
    }
}

/// The data of an older report, by its page or by its data.
fn older(path: &Path) -> Result<Data, BenchError> {
    let html = path.extension().is_some_and(|e| e == "html");
    let inside = match html {
        true => std::fs::read_to_string(path).ok().and_then(|text| page::data_in(&text)),
        false => None,
    };
    let data: Data = match inside {
        Some(data) => data,
        None if html => store::read(&beside(path, "json"), "the data of a report")?,
        None => store::read(path, "the data of a report")?,
    };
    if data.format == FORMAT {
        return Ok(data);
    }
    let reason = format!("a report of format {}, this hpvm reads {FORMAT}", data.format);
    Err(BenchError::Argument { token: path.display().to_string(), reason })
}

fn write(plan: &Plan, data: &Data, older: Option<&Data>) -> Result<(), BenchError> {
    let difference = older.map(|older| difference::compare(older, data));
    let html = page::page(data, difference.as_ref());
    let text = serde_json::to_string(data);
    let text = text.map_err(|e| BenchError::io("cannot write JSON", e.into()))?;
    let Some(output) = &plan.output else {
        let page = page::with_data(html, &text);
        let written = std::io::stdout().lock().write_all(page.as_bytes());
        return written.map_err(|e| BenchError::io("cannot write the page", e));
    };
    let json = beside(output, "json");
    for (path, text) in [(output, html), (&json, text)] {
        whole_file::write(path, &text)?;
    }
    eprintln!("wrote {} and {}", output.display(), json.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_follows_what_was_taken() {
        let remaining = |taken| Remaining { seconds: 50.0, estimated: 10.0, taken }.told();
        assert_eq!(remaining(10.0), "about 50 s remain");
        assert_eq!(remaining(20.0), "about 1 min 40 s remain");
    }

    #[test]
    fn an_older_report_is_found_by_its_page_and_checked() {
        let dir = tempfile::tempdir().unwrap();
        let mut data = fixed::data();
        let store = |data: &Data| {
            std::fs::write(dir.path().join("r.json"), serde_json::to_string(data).unwrap())
                .unwrap();
        };
        store(&data);
        assert_eq!(older(&dir.path().join("r.html")).unwrap().finished.len(), data.finished.len());
        data.format = FORMAT + 1;
        store(&data);
        assert!(
            older(&dir.path().join("r.json")).unwrap_err().to_string().contains("this hpvm reads")
        );
        // A page with its data inside needs no file beside it.
        data.format = FORMAT;
        let whole =
            page::with_data(page::page(&data, None), &serde_json::to_string(&data).unwrap());
        std::fs::write(dir.path().join("alone.html"), whole).unwrap();
        assert_eq!(
            older(&dir.path().join("alone.html")).unwrap().finished.len(),
            data.finished.len()
        );
        std::fs::write(dir.path().join("r.json"), "{}").unwrap();
        assert!(
            older(&dir.path().join("r.json")).unwrap_err().to_string().contains("not the data")
        );
    }
}
