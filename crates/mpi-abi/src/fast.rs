//! Fast Messages' C interface (`include/fm.h`) over the engine of this process. There is one
//! engine per process and this library holds it, so a program may use MPI and FM together.

use crate::runtime::{self, enter, whoami};
use crate::say::say;
use hpvm_fm::{Broken, Fast, PacketSender};
use hpvm_fm_abi::{Host, Settings, install};
use hpvm_mpi::Error;
use std::time::Duration;

struct Engine;

static ENGINE: Engine = Engine;

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static INSTALL: extern "C" fn() = {
    extern "C" fn at_load() {
        install(&ENGINE);
    }
    at_load
};

/// Longest that a call waits for packets before the program gets its turn again.
const A_LITTLE: Duration = Duration::from_millis(1);

fn text(error: Error) -> String {
    error.to_string()
}

/// All processes of the job reach this point before any goes on.
fn meet() -> hpvm_mpi::Result<()> {
    let mut w = enter()?;
    let world = w.process.world().clone();
    let plan = w.process.plan(&world).barrier();
    // SAFETY: a barrier has no buffers.
    let id = unsafe { w.process.start_collective(&world, plan) };
    w.complete(id).map(drop)
}

impl Host for Engine {
    fn start(&self, _settings: &Settings) -> Result<(), String> {
        runtime::start().map_err(text)?;
        // Before we meet: who leaves the meeting first may send while we are still in it.
        self.with(&mut |_, fast| (0..=u8::MAX).for_each(|id| fast.register_inbox(id)))?;
        meet().map_err(text)
    }

    fn stop(&self) -> Result<(), String> {
        meet().map_err(text)?;
        runtime::finish(runtime::Use::Other).map_err(text)
    }

    fn with(&self, work: &mut dyn FnMut(&mut dyn PacketSender, &mut Fast)) -> Result<(), String> {
        let mut w = enter().map_err(text)?;
        let (fm, fast) = w.process.fast();
        work(fm, fast);
        Ok(())
    }

    fn poll(&self) -> Result<usize, Broken> {
        let Ok(mut w) = enter() else { return Ok(0) };
        let moved = w.process.progress()?;
        let faults = w.process.take_faults();
        // Reporting asks the engine who we are, so the guard ends first.
        drop(w);
        for fault in faults {
            self.report(&fault);
        }
        Ok(usize::from(moved))
    }

    fn wait_a_little(&self) {
        if let Ok(mut w) = enter() {
            w.nap(A_LITTLE);
        }
    }

    fn report(&self, text: &str) {
        say(&format!("{}: Fast Messages: {text}", whoami()));
    }
}
