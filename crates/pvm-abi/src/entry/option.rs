//! Options.

use super::task::ask;
use crate::library::{self, enrolled, finish};
use core::ffi::c_int;
use hpvm_pvm::Code;
use hpvm_pvm::protocol::{Destination, Request};

/// Traces are not there; what a program sets for them is remembered and answered.
fn index(what: c_int) -> Result<usize, Code> {
    usize::try_from(what).ok().filter(|what| (1..=25).contains(what)).ok_or(Code::BadParam)
}

fn check(what: usize, value: c_int) -> Result<(), Code> {
    let good = match what {
        library::ROUTE => (1..=3).contains(&value),
        library::AUTO_ERR => (0..=3).contains(&value),
        // PVM's limits.
        library::FRAG_SIZE => (1..=1_048_576).contains(&value),
        library::OUTPUT_TID
        | library::SELF_OUTPUT_TID
        | library::TRACE_TID
        | library::SELF_TRACE_TID => value == 0 || hpvm_pvm::tid::is_task(value),
        library::SELF_TRACE_OPTIONS => (1..=3).contains(&value),
        library::POLL_TYPE => (1..=2).contains(&value),
        _ => true,
    };
    if good { Ok(()) } else { Err(Code::BadParam) }
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_setopt(what: c_int, value: c_int) -> c_int {
    let set = || {
        let what = index(what)?;
        check(what, value)?;
        let mut library = enrolled()?;
        let before = std::mem::replace(&mut library.options.values[what], value);
        // A destination of the task's own becomes that of its children's.
        let whole =
            library::INHERITED.iter().filter(|whole| whole.iter().any(|(own, _)| *own == what));
        for (own, children) in whole.flatten() {
            library.options.values[*children] = library.options.values[*own];
        }
        let options = library.options.values;
        if what == library::ROUTE {
            let allowed = value != library::DONT_ROUTE;
            library.enroll()?.direct.allowed = allowed;
        }
        if matches!(
            what,
            library::SELF_OUTPUT_TID | library::SELF_OUTPUT_CODE | library::SELF_OUTPUT_CONTEXT
        ) {
            let destination = Destination {
                tid: options[library::SELF_OUTPUT_TID],
                context: options[library::SELF_OUTPUT_CONTEXT],
                tag: options[library::SELF_OUTPUT_CODE],
            };
            ask(&mut library, &Request::Output { destination })?;
        }
        if what == library::NO_RESET {
            ask(&mut library, &Request::NoReset { on: value != 0 })?;
        }
        Ok(before)
    };
    finish("pvm_setopt", set())
}

#[unsafe(no_mangle)]
pub extern "C" fn pvm_getopt(what: c_int) -> c_int {
    let get = || Ok(enrolled()?.options.values[index(what)?]);
    finish("pvm_getopt", get())
}
