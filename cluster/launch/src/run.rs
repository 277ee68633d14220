//! From a [`Request`] to a finished job.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::args::{self, Options, Parsed, Program, Request};
use crate::dispatcher::{Dispatcher, Ended, Layout, RankInfo};
use crate::display;
use crate::environment::{self, JOB_ID, NODE};
use crate::error::{LaunchError, TIMED_OUT};
use crate::executor::gateway::Orders;
use crate::executor::signals::Signals;
use crate::executor::spawn::Image;
use crate::executor::stacks;
use crate::executor::streams::Door;
use crate::executor::{Outcome, Plan, execute};
use crate::family::Family;
use crate::lifeline::Lifeline;
use crate::output::files::Files;
use crate::output::pattern::Context;
use crate::place::binding::Bound;
use crate::remote::order::Order;
use crate::remote::start::Starter;
use crate::restart::{End, Next, Restarts};
use crate::spread::{self, Spread};
use crate::{errand, help, hosts, linkage, loss, program, sys, text};
use hpvm_sites::DOOR;

/// The variable with a time limit in seconds, for jobs without `--timeout`. MPICH's name.
pub const TIMEOUT_VARIABLE: &str = "MPIEXEC_TIMEOUT";

/// The command `label` with these arguments: runs the job, or shows help or version. Gives the
/// exit code. The process must have one thread.
pub fn main(label: &str, args: &[OsString]) -> i32 {
    if let Some(door) = errand::door() {
        return errand::main(label, args, &door);
    }
    let lifeline = Lifeline::take();
    let result = match args::parse(label, args) {
        Ok(Parsed::Help(topic)) => print(&help::about(label, topic.as_deref())),
        Ok(Parsed::Version) => print(&format!("{label} (hpvm) {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Parsed::Run(request)) => run(&request, lifeline.clone()),
        Err(error) => Err(error),
    };
    let code = result.unwrap_or_else(|error| {
        let told = lifeline.as_ref().is_some_and(|lifeline| lifeline.error(&error.message));
        if !told {
            complain(label, &error.message);
        }
        error.code
    });
    lifeline.iter().for_each(|lifeline| lifeline.ended(code));
    code
}

pub(crate) fn print(text: &str) -> Result<i32, LaunchError> {
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
    let _ = sys::write(2, format!("{label}: {}\n", crate::text::message(text)).as_bytes());
}

/// Runs a job to its end and gives its exit code. The process must have one thread; signals,
/// children and standard streams are the job's while it runs. `lifeline`: to the process that spawns the job.
pub fn run(request: &Request, lifeline: Option<Lifeline>) -> Result<i32, LaunchError> {
    let options = &request.options;
    if !options.quiet {
        options.warnings.iter().for_each(|text| complain(&options.label, text));
    }
    let spread = Spread::of(request)?;
    if options.stack_traces && stacks::tool().is_none() {
        return Err(LaunchError::usage(
            "--get-stack-traces needs gdb, eu-stack or gstack, none of which is in PATH",
        ));
    }
    print(&display::text(request, &spread)?)?;
    if !options.launch {
        return Ok(0);
    }
    report_pid(options)?;
    again_and_again(request, spread, lifeline)
}

/// Runs the job, and starts it again as long as that is wanted. When an attempt is over nothing is left of it.
fn again_and_again(
    request: &Request,
    mut spread: Spread,
    lifeline: Option<Lifeline>,
) -> Result<i32, LaunchError> {
    let begin = Instant::now();
    let mut request = request.clone();
    let mut restarts = Restarts::new(request.options.restart, |name| std::env::var(name).ok());
    let loss = loss::take();
    let mut code = 0;
    loop {
        restarts.apply(&mut request);
        if restarts.again() {
            // What remains of the hosts may be too little for what is asked for.
            spread = match Spread::of(&request) {
                Ok(spread) => spread,
                Err(error) => {
                    complain(&request.options.label, &error.message);
                    return Ok(code);
                }
            };
        }
        let next;
        (code, next) =
            attempt(&request, &spread, lifeline.clone(), &mut restarts, begin, loss.as_ref())?;
        let Next::Again { pause, .. } = next else { return Ok(code) };
        let (options, limit) = (&request.options, time_limit(&request.options)?);
        let left = limit.map_or(pause, |limit| limit.saturating_sub(begin.elapsed()));
        if let Some(number) = sleep(pause.min(left)) {
            complain(
                &options.label,
                &format!("received {}; ending the job", text::signal_name(number)),
            );
            return Ok(128 + number);
        }
        if let Some(limit) = limit.filter(|limit| begin.elapsed() >= *limit) {
            let seconds = limit.as_secs_f64();
            complain(
                &options.label,
                &format!("the {seconds} s of --timeout are over; ending the job"),
            );
            return Ok(TIMED_OUT);
        }
    }
}

/// Waits so long; gives the signal that ends the job meanwhile. Nothing of it runs, so there is nothing else to be done.
fn sleep(pause: Duration) -> Option<i32> {
    let signals = Signals::new().ok()?;
    let end = Instant::now() + pause;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // Whatever ends it, what has come is looked at.
        let _ = hpvm_os::wait(&signals.fd, libc::POLLIN, Some(left));
        while let Some(number) = signals.next() {
            if matches!(number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT) {
                return Some(number);
            }
            if number == libc::SIGTSTP {
                sys::kill(std::process::id() as i32, libc::SIGSTOP);
            }
        }
        if Instant::now() >= end {
            return None;
        }
    }
}

/// Runs the job once. Gives its exit code, and whether it is started again.
fn attempt(
    request: &Request,
    spread: &Spread,
    lifeline: Option<Lifeline>,
    restarts: &mut Restarts,
    begin: Instant,
    loss: Option<&OwnedFd>,
) -> Result<(i32, Next), LaunchError> {
    let options = &request.options;
    let Prepared { mut plan, infos, layout, key } = prepare(request, spread)?;
    plan.lifeline = lifeline;
    let limit = time_limit(options)?;
    if options.report_bindings {
        report_bindings(&plan);
    }
    if options.verbose {
        let (label, job) = (&options.label, &plan.job);
        let names: Vec<&str> = spread.nodes.iter().map(|node| node.host.as_str()).collect();
        complain(label, &format!("job {job}: {} ranks on {}", infos.len(), names.join(", ")));
    }
    let job = plan.job.clone();
    let mut dispatcher =
        Dispatcher::new(environment::short_job_id(&job), &hosts::local_name(), infos, limit);
    if let Some(layout) = layout {
        dispatcher = dispatcher.spread(layout);
    }
    dispatcher.set_key(&key);
    if let Some(sites) = &spread.sites {
        dispatcher.publish_value(hpvm_sites::SITES_KEY, &sites.text);
    }
    let cards = plan.family.iter().flat_map(|family| &family.cards);
    for (number, card) in cards.enumerate() {
        dispatcher.publish_value(&format!("{}{number}", hpvm_sites::GATEWAY_KEY), card);
    }
    if let Some(told) = crate::name_server::for_ranks(options)? {
        dispatcher.publish_value(hpvm_job::name_server::TOLD_KEY, &told);
    }
    dispatcher.set_universe(plan.universe);
    dispatcher.with_stack_traces(options.stack_traces);
    dispatcher.with_recovery(options.recovery);
    dispatcher.with_time_before(begin.elapsed());
    let programs: Vec<PathBuf> = plan.images.iter().map(|image| image.file.clone()).collect();
    let mut next = Next::Stop;
    let outcome = execute(plan, &mut dispatcher, |dispatcher, outcome| {
        let mut lines = Vec::new();
        let end = how_it_ended(dispatcher, outcome);
        next = restarts.ended(&end, request, begin.elapsed());
        if !matches!(next, Next::Again { .. }) {
            loss::tell(loss, end.cause, dispatcher.reason());
        }
        match &next {
            Next::Stop => {}
            Next::GiveUp(text) => lines.push(format!("{}: {text}", options.label)),
            // Said even if quiet: the program's output is that of two runs from here on.
            Next::Again { text, .. } => return vec![format!("{}: {text}", options.label)],
        }
        if !options.quiet {
            lines.extend(nobody_joined(options, dispatcher, &programs));
        }
        if options.exit_codes {
            lines.extend(exit_codes(dispatcher));
        }
        if options.json {
            lines.push(report(&job, dispatcher, outcome, restarts.used()));
            return lines;
        }
        let text = format!(
            "{}: job {job} ended with code {} after {:.3} s",
            options.label,
            outcome.code,
            outcome.elapsed.as_secs_f64()
        );
        lines.extend(options.verbose.then_some(text));
        lines
    })?;
    Ok((outcome.code, next))
}

fn how_it_ended(dispatcher: &Dispatcher, outcome: &Outcome) -> End {
    let lost = dispatcher.lost_hosts().map(|(host, loss)| (host.to_string(), loss)).collect();
    End { cause: dispatcher.cause(), lost, lasted: outcome.elapsed }
}

fn time_limit(options: &Options) -> Result<Option<Duration>, LaunchError> {
    Ok(match (options.timeout, std::env::var_os(TIMEOUT_VARIABLE)) {
        (Some(limit), _) => Some(limit),
        (None, Some(value)) => Some(args::parse_seconds(TIMEOUT_VARIABLE, &value)?),
        (None, None) => None,
    })
}

/// Several ranks have ended, and none was ever a part of the job: if the program has an MPI of its
/// own inside, each was a job of one rank.
fn nobody_joined(
    options: &Options,
    dispatcher: &Dispatcher,
    programs: &[PathBuf],
) -> Option<String> {
    let ranks = dispatcher.ranks().len() as u32;
    if ranks < 2 || dispatcher.told_other_mpi() || (0..ranks).any(|r| dispatcher.has_joined(r)) {
        return None;
    }
    let program = programs.iter().find(|program| linkage::has_own_mpi(program))?;
    Some(format!(
        "{}: no rank has joined the job: program '{}' has another MPI linked in (statically), so \
         each rank was a job of one rank; link it anew with hpvm's mpicc",
        options.label,
        program.display()
    ))
}

/// A job that is ready to be started.
struct Prepared {
    plan: Plan,
    infos: Vec<RankInfo>,
    /// For jobs of several hosts.
    layout: Option<Layout>,
    key: String,
}

/// Everything that can fail before the first process is started.
fn prepare(request: &Request, spread: &Spread) -> Result<Prepared, LaunchError> {
    let options = &request.options;
    check_descriptors(spread, Files::count(&options.output, spread.ranks.len() as u32))?;
    let job = environment::new_job_id(std::env::var_os(JOB_ID).as_deref());
    let key = random_key()?;
    let remote = spread.is_remote().then(|| spread.orders(request, &job, &key)).transpose()?;
    let (orders, layout) = remote.unzip();
    let orders: Vec<Order> = orders.unwrap_or_default();
    let starter = orders.first().map(|order| Starter::new(&order.shell)).transpose();
    let starter =
        starter.map_err(|error| LaunchError::system("this program's own file", &error))?;
    let infos = spread
        .ranks
        .iter()
        .map(|rank| RankInfo {
            program: request.programs[rank.program].argv[0].to_string_lossy().into_owned(),
            appnum: rank.program as u32,
            node: rank.node,
        })
        .collect();
    let door = spread.sites.as_ref().map(|_| Door::open()).transpose()?;
    let (images, ranks) = local_images(request, spread, &job, door.as_ref())?;
    let count = ranks.iter().flatten().count() as u32;
    let node = spread.local_node();
    let slots = node.map(|node| spread.slots_of(node)).unwrap_or_default();
    let bound = Bound::here(&options.policy, count, &slots)?;
    let contexts = contexts(spread);
    let mut prefixes: Vec<_> =
        contexts.iter().map(|context| options.output.prefix(context)).collect();
    if prefixes.iter().all(Vec::is_empty) {
        prefixes.clear();
    }
    let files = Files::create(&options.output, contexts.into_iter())?;
    let gateway = node.map(|node| {
        let limit = spread::patience(options.net_timeout)?;
        let own = (&job[..], &key[..], spread.ranks.len() as u32);
        Orders::of(spread.sites.as_ref(), node, own, limit)
            .map_err(|text| LaunchError::new(1, text))
    });
    let gateway = gateway.transpose()?.flatten();
    let plan = Plan {
        label: options.label.clone(),
        job,
        images,
        ranks,
        universe: spread.universe(request)?,
        orders,
        starter,
        node: if spread.is_remote() { node } else { None },
        bound,
        library: options.library_path.then(environment::library_folder).flatten(),
        routing: options.output.clone(),
        prefixes,
        files,
        input: options.input.clone(),
        quiet: options.quiet,
        gateway,
        door,
        key: key.clone(),
        sites: spread.sites.as_ref().map_or_else(String::new, |sites| sites.text.clone()),
        given_sites: options.sites.given().to_vec(),
        family: Family::of_environment(),
        lifeline: None,
    };
    Ok(Prepared { plan, infos, layout, key })
}

/// The programs that run on this machine, and which rank runs which of them.
fn local_images(
    request: &Request,
    spread: &Spread,
    job: &str,
    door: Option<&Door>,
) -> Result<(Vec<Image>, Vec<Option<usize>>), LaunchError> {
    let options = &request.options;
    let library = options.library_path.then(environment::library_folder).flatten();
    let here = |rank: &&spread::Rank| spread.nodes[rank.node as usize].local;
    let mut images = Vec::new();
    let mut of_program = vec![None; request.programs.len()];
    let mut ranks = Vec::new();
    for rank in &spread.ranks {
        if !here(&rank) {
            ranks.push(None);
            continue;
        }
        if of_program[rank.program].is_none() {
            let program = &request.programs[rank.program];
            let present = std::env::vars_os();
            let mut env = environment::build(present, options, program, library.as_deref());
            for name in ["PMI_FD", NODE] {
                env.remove(OsStr::new(name));
            }
            env.insert(JOB_ID.into(), job.into());
            if let Some(door) = door {
                let host = &spread.nodes[rank.node as usize].host;
                env.insert(DOOR.into(), door.value(host).into());
            }
            if spread.is_remote() {
                env.insert(NODE.into(), rank.node.to_string().into());
            }
            of_program[rank.program] = Some(images.len());
            let image = image(program, &env)?;
            if let Some(library) = library.as_deref().filter(|_| !options.quiet) {
                let wdir = program.wdir.as_deref().unwrap_or(Path::new("."));
                let warnings = linkage::warnings(&image.file, wdir, &env, library);
                warnings.iter().for_each(|text| complain(&options.label, text));
            }
            images.push(image);
        }
        ranks.push(of_program[rank.program]);
    }
    Ok((images, ranks))
}

/// Sixteen random bytes in hexadecimal, which only this job's ranks get to know.
pub(crate) fn random_key() -> Result<String, LaunchError> {
    let bytes: [u8; 16] = hpvm_os::random().map_err(|error| {
        LaunchError::system("cannot get random bytes for the job's key", &error)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn image(program: &Program, env: &environment::Environment) -> Result<Image, LaunchError> {
    let wdir = folder(program)?;
    if program.wdir.is_some() {
        program::check_folder(&wdir)?;
    }
    let path = env.get(OsStr::new("PATH")).cloned().or_else(|| std::env::var_os("PATH"));
    let path = program::with_own_path(program.path.as_deref(), path);
    let file: PathBuf = program::find(&program.argv[0], &wdir, path.as_deref())?;
    Image::new(file, &program.argv, env, &wdir)
}

/// The working folder of a program's ranks.
pub(crate) fn folder(program: &Program) -> Result<PathBuf, LaunchError> {
    let here = std::env::current_dir()
        .map_err(|error| LaunchError::system("the present working folder", &error))?;
    Ok(match &program.wdir {
        Some(dir) => here.join(dir),
        None => here,
    })
}

/// Each rank on this machine costs the launcher four descriptors, each agent three.
fn check_descriptors(spread: &Spread, files: u64) -> Result<(), LaunchError> {
    const OWN: u64 = 32;
    let here = |rank: &&spread::Rank| spread.nodes[rank.node as usize].local;
    let ranks = spread.ranks.iter().filter(here).count() as u64;
    let limit = sys::descriptor_limit()
        .map_err(|error| LaunchError::system("the limit of open files", &error))?;
    let agents = if spread.is_remote() { u64::from(spread.width) } else { 0 };
    let need = ranks * 4 + agents * 3 + files + OWN;
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
    let here = (0..).zip(&plan.ranks).filter(|(_, image)| image.is_some());
    for (index, (rank, _)) in here.enumerate() {
        complain(&plan.label, &plan.bound.describe(rank, index));
    }
}

/// Writes our process number where the user wants it.
fn report_pid(options: &Options) -> Result<(), LaunchError> {
    let Some(place) = &options.report_pid else { return Ok(()) };
    let text = format!("{}\n", std::process::id());
    match place.to_str() {
        Some("-") => print(&text).map(drop),
        // If standard error is closed, there is nobody to tell.
        Some("+") => {
            let _ = sys::write(2, text.as_bytes());
            Ok(())
        }
        _ => std::fs::write(place, text).map_err(|error| {
            LaunchError::system(format!("--report-pid '{}'", place.to_string_lossy()), &error)
        }),
    }
}

/// What names of files and texts in front of lines are made of.
fn contexts(spread: &Spread) -> Vec<Context<'_>> {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_secs());
    let ranks = spread.ranks.len() as u32;
    let context = |(rank, place): (u32, &spread::Rank)| {
        let host = &spread.nodes[place.node as usize].host[..];
        Context { rank, ranks, host, node: place.node, time }
    };
    (0..).zip(&spread.ranks).map(context).collect()
}

/// How all ranks ended, a line each.
fn exit_codes(dispatcher: &Dispatcher) -> Vec<String> {
    let line = |(rank, state): (usize, &crate::dispatcher::RankState)| {
        let host = &dispatcher.hosts()[state.node as usize];
        match state.ended {
            Some(ended) => format!("rank {rank} on {host}: exit code {}", ended.code()),
            None => format!("rank {rank} on {host}: not started, or its end is not known"),
        }
    };
    dispatcher.ranks().iter().enumerate().map(line).collect()
}

/// The end of the job as one line of JSON.
fn report(job: &str, dispatcher: &Dispatcher, outcome: &Outcome, restarts: u32) -> String {
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
                "host": dispatcher.hosts()[state.node as usize],
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
        "restarts": restarts,
        "wall_s": outcome.elapsed.as_secs_f64(),
        "ranks": ranks,
    })
    .to_string()
}
