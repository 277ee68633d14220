//! The C interface of Fast Messages over a job that forks itself, to run C programs without a
//! launcher: `FM_FORKED=4 ./program`. The first process is node 0 and waits for the others.

#[path = "../tests/engine/mod.rs"]
mod engine;

use engine::Engine;
use hpvm_fm::{Broken, Fast, PacketSender};
use hpvm_fm_abi::{Host, Settings, install};
use hpvm_shm::Mapping;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

struct Job {
    engine: Engine,
    children: Vec<libc::pid_t>,
    /// Nodes that have called stop, in memory that all share.
    stopped: &'static AtomicU32,
}

struct Forked(Mutex<Option<Job>>);

static HOST: Forked = Forked(Mutex::new(None));

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static INSTALL: extern "C" fn() = {
    extern "C" fn at_load() {
        install(&HOST);
    }
    at_load
};

fn shared_counter() -> Result<&'static AtomicU32, String> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at an address of the kernel's choice; checked below, never unmapped.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().to_string());
    }
    // SAFETY: zeroed, aligned, and alive for the rest of the process.
    Ok(unsafe { &*at.cast::<AtomicU32>() })
}

fn launch() -> Result<Job, String> {
    let nodes = match std::env::var("FM_FORKED") {
        Ok(text) => text.parse().map_err(|_| format!("FM_FORKED={text}: expected a number"))?,
        Err(_) => 2,
    };
    let key = [u64::from(std::process::id()), 0];
    let mapping = Arc::new(Mapping::create(nodes, key).map_err(|why| why.to_string())?);
    let stopped = shared_counter()?;
    let mut children = Vec::new();
    let mut rank = 0;
    for child in 1..nodes {
        // SAFETY: the program has one thread at this point (it has just called FM_initialize).
        match unsafe { libc::fork() } {
            0 => {
                (rank, children) = (child, Vec::new());
                break;
            }
            pid if pid > 0 => children.push(pid),
            _ => return Err(std::io::Error::last_os_error().to_string()),
        }
    }
    Ok(Job { engine: Engine::new(mapping, rank)?, children, stopped })
}

impl Forked {
    fn job<R>(&self, work: impl FnOnce(&mut Job) -> R) -> Result<R, String> {
        // A handler that ran while the engine is borrowed would stop here.
        let mut job = self.0.try_lock().map_err(|_| "the engine is in use")?;
        job.as_mut().map(work).ok_or_else(|| "the engine does not run".into())
    }
}

impl Host for Forked {
    fn start(&self, _: &Settings) -> Result<(), String> {
        let job = launch()?;
        *self.0.lock().map_err(|why| why.to_string())? = Some(job);
        Ok(())
    }

    fn stop(&self) -> Result<(), String> {
        self.job(|job| {
            job.stopped.fetch_add(1, Ordering::SeqCst);
            while job.stopped.load(Ordering::SeqCst) < job.engine.fm.size() {
                // Others may still wait for credit toward us.
                let _ = job.engine.poll();
                std::thread::yield_now();
            }
            for pid in job.children.drain(..) {
                // SAFETY: our own child; no status wanted.
                unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
            }
        })
    }

    fn with(&self, work: &mut dyn FnMut(&mut dyn PacketSender, &mut Fast)) -> Result<(), String> {
        self.job(|job| work(&mut job.engine.fm, &mut job.engine.fast))
    }

    fn poll(&self) -> Result<usize, Broken> {
        let polled = self.job(|job| job.engine.poll()).map_err(Broken::Corrupt)?;
        let (packets, fault) = polled?;
        if let Some(text) = fault {
            self.report(&text);
        }
        Ok(packets)
    }

    fn wait_a_little(&self) {
        let _ = self.job(|job| job.engine.sleep());
    }

    fn report(&self, text: &str) {
        eprintln!("FM: {text}");
    }
}
