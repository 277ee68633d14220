//! Starting and ending the engine: the job's bootstrap.

use super::tables::{self, Chosen};
use super::{World, enter, install, is_running, resume, suspend};
use crate::object::Objects;
use hpvm_job::{Job, PmiError, Settings};
use hpvm_mpi::{Class, Error, Process, Result};
use hpvm_shm::{Mapping, SegmentError, Shm};
use hpvm_wire::pending::Stage;
use std::sync::{Arc, Mutex, PoisonError};

/// Key under which the first rank of a host publishes its segment.
const SEGMENT_KEY: &str = "hpvm-segment-0";
/// Key under which rank 0 publishes what its tables are called; read only to explain an error.
const TABLES_KEY: &str = "hpvm-tables-0";

/// Uses of the engine: the world model between `MPI_Init` and `MPI_Finalize`, and each session.
static USES: Mutex<u32> = Mutex::new(0);

/// Begins a use of the engine, which starts with the first one. Blocks until all ranks of the host
/// have met when it does.
pub fn start() -> Result<()> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_running() {
        match resume() {
            true => enter()?.show_stage(Stage::Running),
            false => bootstrap()?,
        }
    }
    *uses += 1;
    Ok(())
}

fn bootstrap() -> Result<()> {
    let env = |name| std::env::var(name).ok();
    let settings = Settings { fd: env("PMI_FD"), rank: env("PMI_RANK"), size: env("PMI_SIZE") };
    let mut job = Job::join(&settings).map_err(manager)?;
    let chosen = tables::find(job.rank == 0)?;
    let transport = connect(&mut job, &chosen)?;
    let ranks = job.neighbours().len();
    let mut process = Process::new(transport);
    process.set_tables(chosen.tables);
    install(World {
        process,
        objects: Objects::default(),
        crowded: ranks > processors(),
        job,
        audit: crate::audit::wanted()?,
        quiet: Default::default(),
        shares: false,
        yields: 0,
        leader: false,
        followers: 0,
    });
    let mut w = enter()?;
    w.show_stage(Stage::Running);
    let (world, own) = (w.process.world().clone(), w.process.own().clone());
    w.objects.add_predefined_comms(world, own);
    Ok(())
}

fn manager(cause: PmiError) -> Error {
    Error::new(Class::Other, format!("joining the job failed: {cause}"))
}

fn memory(cause: SegmentError) -> Error {
    Error::new(Class::Other, format!("joining the job failed: {cause}"))
}

/// Meets the other ranks in shared memory. Their tables have to be the `chosen` ones.
fn connect(job: &mut Job, chosen: &Chosen) -> Result<Shm> {
    if job.neighbours().len() != job.size as usize {
        let text = format!(
            "the job of {} ranks spans several hosts, and this version of hpvm runs on one host \
             only: start it with mpirun on one machine",
            job.size
        );
        return Err(Error::new(Class::UnsupportedOperation, text));
    }
    let mapping = match job.manager.as_mut() {
        None => Mapping::create(1, random_key()?).map_err(memory)?,
        Some(manager_) if job.rank == 0 => {
            let key = random_key()?;
            let mapping = Mapping::create(job.size, key).map_err(memory)?;
            let hash = chosen.hash;
            let text = format!("{}:{:016x}:{:016x}:{hash:016x}", mapping.path(), key[0], key[1]);
            manager_.put(SEGMENT_KEY, &text).map_err(manager)?;
            manager_.put(TABLES_KEY, &chosen.name).map_err(manager)?;
            manager_.barrier().map_err(manager)?;
            mapping
        }
        Some(manager_) => {
            manager_.barrier().map_err(manager)?;
            let text = manager_.get(SEGMENT_KEY).map_err(manager)?;
            let (path, key, hash) = text.as_deref().and_then(parse_segment).ok_or_else(|| {
                let text = format!(
                    "rank 0 published {text:?} as {SEGMENT_KEY}; expected path:key:key:hash"
                );
                Error::new(Class::Other, text)
            })?;
            if hash != chosen.hash {
                let name = manager_.get(TABLES_KEY).map_err(manager)?;
                return Err(tables::differ(job.rank, chosen, hash, name.as_deref()));
            }
            Mapping::join(path, job.size, key).map_err(memory)?
        }
    };
    let mut shm = Shm::attach(Arc::new(mapping), job.rank).map_err(memory)?;
    if let Some(m) = job.manager.as_mut() {
        m.barrier().map_err(manager)?;
    }
    shm.settle();
    single_copy(&mut shm)?;
    Ok(shm)
}

/// Obeys `HPVM_SINGLE_COPY`: whether large messages are read out of the sender's memory.
fn single_copy(shm: &mut Shm) -> Result<()> {
    match std::env::var("HPVM_SINGLE_COPY").as_deref() {
        Err(_) | Ok("" | "auto") => Ok(()),
        Ok("yes") => {
            shm.prefer_pull();
            Ok(())
        }
        Ok("no") => {
            shm.forbid_pull();
            Ok(())
        }
        Ok(other) => {
            let text = format!("HPVM_SINGLE_COPY is {other:?}; expected auto, yes or no");
            Err(Error::new(Class::Arg, text))
        }
    }
}

/// Path of the segment, its key, and the hash of the tables.
fn parse_segment(text: &str) -> Option<(&str, [u64; 2], u64)> {
    let (rest, hash) = text.rsplit_once(':')?;
    let (rest, low) = rest.rsplit_once(':')?;
    let (path, high) = rest.rsplit_once(':')?;
    let word = |t| u64::from_str_radix(t, 16).ok();
    Some((path, [word(high)?, word(low)?], word(hash)?))
}

/// Sixteen bytes that no stranger can guess.
fn random_key() -> Result<[u64; 2]> {
    let mut key = [0u64; 2];
    let size = size_of_val(&key);
    // SAFETY: the buffer is `size` bytes of plain integers.
    let got = unsafe { libc::getrandom(key.as_mut_ptr().cast(), size, 0) };
    if got != size as isize {
        let text = format!("getrandom: {}", std::io::Error::last_os_error());
        return Err(Error::new(Class::Other, text));
    }
    Ok(key)
}

/// Processors that this process may use.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Ends a use of the engine: completes what still has to leave this process. Blocks.
///
/// The end of the last use tells the process manager that the rank ends in order, and takes the
/// engine out of reach. It stays in memory, because a session may use it again.
pub fn finish() -> Result<()> {
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut w = enter()?;
        w.flush()?;
        if *uses == 1 {
            w.show_stage(Stage::Finalized);
        }
        if *uses == 1
            && let Some(mut m) = w.job.manager.take()
        {
            m.finalize().map_err(manager)?;
            // The connection stays open until exit: its end tells the manager that we are gone.
            std::mem::forget(m);
        }
    }
    *uses = uses.saturating_sub(1);
    if *uses == 0 {
        suspend();
    }
    Ok(())
}
