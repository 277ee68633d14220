//! From a [`Request`] to a finished job.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::args::{self, Parsed, Program, Request};
use crate::bind;
use crate::dispatcher::{Dispatcher, Ended, RankInfo};
use crate::environment::{self, JOB_ID};
use crate::error::LaunchError;
use crate::executor::spawn::Image;
use crate::executor::{Outcome, Plan, execute};
use crate::output::mux::Prefix;
use crate::{help, hosts, linkage, program, sys, text};

/// The variable with a time limit in seconds, for jobs without `--timeout`. MPICH's name.
pub const TIMEOUT_VARIABLE: &str = "MPIEXEC_TIMEOUT";

/// The command `label` with these arguments: runs the job, or shows help or version. Gives the
/// exit code. The process must have one thread.
pub fn main(label: &str, args: &[OsString]) -> i32 {
    let result = match args::parse(label, args) {
        Ok(Parsed::Help) => print(&help::text(label)),
        Ok(Parsed::Version) => print(&format!("{label} (hpvm) {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Parsed::Run(request)) => run(&request),
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| {
        complain(label, &error.message);
        error.code
    })
}

fn print(text: &str) -> Result<i32, LaunchError> {
    let mut bytes = text.as_bytes();
    while !bytes.is_empty() {
        match sys::write(1, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => break,
            Err(error) => return Err(LaunchError::system("standard output", &error)),
        }
    }
    Ok(0)
}

fn complain(label: &str, text: &str) {
    // If standard error is closed, there is nobody to tell.
    let _ = sys::write(2, format!("{label}: {text}\n").as_bytes());
}

/// Runs a job to its end and gives its exit code. The process must have one thread; signals,
/// children and standard streams are the job's while it runs.
pub fn run(request: &Request) -> Result<i32, LaunchError> {
    let options = &request.options;
    if !options.quiet {
        options.warnings.iter().for_each(|text| complain(&options.label, text));
    }
    let (plan, infos) = prepare(request)?;
    let limit = match (options.timeout, std::env::var_os(TIMEOUT_VARIABLE)) {
        (Some(limit), _) => Some(limit),
        (None, Some(value)) => Some(args::parse_seconds(TIMEOUT_VARIABLE, &value)?),
        (None, None) => None,
    };
    if options.report_bindings {
        report_bindings(&plan);
    }
    if options.verbose {
        let (label, job) = (&options.label, &plan.job);
        complain(label, &format!("job {job}: {} ranks on {}", infos.len(), hosts::local_name()));
    }
    let job = plan.job.clone();
    let name = job.rsplit('/').next().unwrap_or(&job);
    let mut dispatcher = Dispatcher::new(name, &hosts::local_name(), infos, limit);
    let outcome = execute(plan, &mut dispatcher, |dispatcher, outcome| {
        if options.json {
            return Some(report(&job, dispatcher, outcome));
        }
        let text = format!(
            "{}: job {job} ended with code {} after {:.3} s",
            options.label,
            outcome.code,
            outcome.elapsed.as_secs_f64()
        );
        options.verbose.then_some(text)
    })?;
    Ok(outcome.code)
}

/// Everything that can fail before the first process is started.
fn prepare(request: &Request) -> Result<(Plan, Vec<RankInfo>), LaunchError> {
    let options = &request.options;
    let total: u64 = request.programs.iter().map(|program| u64::from(program.ranks)).sum();
    check_descriptors(total)?;
    let job = environment::new_job_id(std::env::var_os(JOB_ID).as_deref());
    let library = options.library_path.then(environment::library_folder).flatten();
    let (mut images, mut ranks, mut infos) = (Vec::new(), Vec::new(), Vec::new());
    for (appnum, program) in request.programs.iter().enumerate() {
        let mut env = environment::build(std::env::vars_os(), options, program, library.as_deref());
        for name in ["PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"] {
            env.remove(OsStr::new(name));
        }
        let total = OsString::from(total.to_string());
        for (name, value) in [
            (JOB_ID, OsString::from(&job)),
            ("PMI_SIZE", total.clone()),
            ("MPI_LOCALNRANKS", total),
        ] {
            env.insert(name.into(), value);
        }
        let image = image(program, &env)?;
        if let Some(library) = library.as_deref().filter(|_| !options.quiet) {
            let wdir = program.wdir.as_deref().unwrap_or(Path::new("."));
            let warnings = linkage::warnings(&image.file, wdir, &env, library);
            warnings.iter().for_each(|text| complain(&options.label, text));
        }
        images.push(image);
        let info = RankInfo {
            program: program.argv[0].to_string_lossy().into_owned(),
            appnum: appnum as u32,
        };
        for _ in 0..program.ranks {
            ranks.push(appnum);
            infos.push(info.clone());
        }
    }
    let places = bind::places(options.bind)
        .map_err(|error| LaunchError::system("cannot find out the usable cpus", &error))?;
    let prefix = Prefix { rank: options.tag, time: options.timestamp };
    let (label, quiet) = (options.label.clone(), options.quiet);
    Ok((Plan { label, job, images, ranks, places, prefix, quiet }, infos))
}

fn image(program: &Program, env: &environment::Environment) -> Result<Image, LaunchError> {
    let here = std::env::current_dir()
        .map_err(|error| LaunchError::system("the present working folder", &error))?;
    let wdir = match &program.wdir {
        Some(dir) => here.join(dir),
        None => here,
    };
    if program.wdir.is_some() {
        program::check_folder(&wdir)?;
    }
    let path = env.get(OsStr::new("PATH")).cloned().or_else(|| std::env::var_os("PATH"));
    let file: PathBuf = program::find(&program.argv[0], &wdir, path.as_deref())?;
    Image::new(file, &program.argv, env, &wdir)
}

/// Each rank costs the launcher four descriptors.
fn check_descriptors(ranks: u64) -> Result<(), LaunchError> {
    const OWN: u64 = 32;
    let limit = sys::descriptor_limit()
        .map_err(|error| LaunchError::system("the limit of open files", &error))?;
    let need = ranks * 4 + OWN;
    if need > limit.rlim_max {
        return Err(LaunchError::new(
            1,
            format!(
                "{ranks} ranks need {need} open files, but the hard limit is {} (ulimit -Hn): \
                 raise it or start fewer ranks",
                limit.rlim_max
            ),
        ));
    }
    Ok(())
}

fn report_bindings(plan: &Plan) {
    for rank in 0..plan.ranks.len() {
        let text = match plan.places.len() {
            0 => format!("rank {rank} is not bound"),
            count => {
                format!("rank {rank} is bound to cpu {}", bind::show(&plan.places[rank % count]))
            }
        };
        complain(&plan.label, &text);
    }
}

/// The end of the job as one line of JSON.
fn report(job: &str, dispatcher: &Dispatcher, outcome: &Outcome) -> String {
    let ranks: Vec<_> = dispatcher
        .ranks()
        .iter()
        .enumerate()
        .map(|(rank, state)| {
            let (code, signal) = match state.ended {
                Some(Ended::Code(code)) => (Some(code), None),
                Some(Ended::Signal { number, .. }) => (None, Some(text::signal_name(number))),
                None => (None, None),
            };
            serde_json::json!({
                "rank": rank,
                "pid": state.pid,
                "program": state.program,
                "exit_code": code,
                "signal": signal,
            })
        })
        .collect();
    serde_json::json!({
        "job": job,
        "host": hosts::local_name(),
        "exit_code": outcome.code,
        "reason": dispatcher.reason(),
        "wall_s": outcome.elapsed.as_secs_f64(),
        "ranks": ranks,
    })
    .to_string()
}
