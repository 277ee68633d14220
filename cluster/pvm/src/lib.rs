//! The process of a PVM virtual machine ([`server`]) and PVM's console ([`console`]).
//!
//! Nobody starts the virtual machine by hand: the first task does so, or the console, and it ends with the last task
//! ([docs](../../../docs/pvm.md)).

mod client;
pub mod console;
pub mod server;
mod sys;

/// `hpvm pvm`, or `pvm`.
pub fn main(args: &[std::ffi::OsString]) -> i32 {
    if args.first().is_some_and(|word| word == "--serve") {
        return server::main();
    }
    if args.first().is_some_and(|word| word == server::remote::OPTION) {
        return server::remote::main();
    }
    console::main(args)
}

/// The name of the user's virtual machine: there may be several (`PVM_VMID`).
fn machine_name() -> String {
    std::env::var("PVM_VMID").unwrap_or_default()
}
