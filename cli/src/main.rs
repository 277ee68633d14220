//! The `hpvm` command. Called by the name `mpirun` or `mpiexec` it is `hpvm run`, called `pvm` it is `hpvm pvm`.

use std::ffi::OsString;
use std::path::Path;
use std::process::exit;

#[cfg(feature = "cluster")]
mod cluster;
mod command;
mod file;
mod info;
mod jobs;
mod man;
#[rustfmt::skip]
mod missing;
mod nameserver;
mod needs;
mod past_kernel;
mod prof;
mod route;
mod simulate;
mod stripes;
mod tuned;

fn main() {
    let args: Vec<OsString> = std::env::args_os().collect();
    exit(dispatch(&args));
}

fn dispatch(args: &[OsString]) -> i32 {
    let name = args.first().and_then(|name| Path::new(name).file_name()?.to_str());
    if let Some(name @ ("mpirun" | "mpiexec")) = name {
        return hpvm_launch::main(name, &args[1..]);
    }
    if name == Some("pvm") {
        return hpvm_pvm_machine::main(&args[1..]);
    }
    // The console reads its arguments itself; the process of a virtual machine is started so by its first task.
    if args.get(1).is_some_and(|word| word == "pvm") {
        return hpvm_pvm_machine::main(&args[2..]);
    }
    // clap knows no long flags with one dash, so the launcher reads its arguments itself.
    if args.get(1).is_some_and(|word| word == "run") {
        return hpvm_launch::main("hpvm run", &args[2..]);
    }
    // For the launcher on another host only, so no help mentions it.
    if args.get(1).is_some_and(|word| word == "agent") {
        return hpvm_launch::remote::agent::main(&args[2..]);
    }
    // For the launcher and agents only.
    #[cfg(feature = "cluster")]
    if args.get(1).is_some_and(|word| word == "gateway") {
        return hpvm_gateway::main(&args[2..]);
    }
    // For `hpvm prof` and the launcher only.
    if args.get(1).is_some_and(|word| word == "counted") {
        return prof::counted::main(&args[2..]);
    }
    #[cfg(feature = "cluster")]
    if args.get(1).is_some_and(|word| word == "stepd") {
        return cluster::stepd(&args[2..]);
    }
    // For the server before a Slurm only.
    #[cfg(feature = "cluster")]
    if args.get(1).is_some_and(|word| word == hpvm_serve::look::step::VERB) {
        return hpvm_serve::look::step::main(&args[2..]);
    }
    command::run(args)
}
