//! What a program has left at `MPI_Finalize`: objects that it did not free, operations that it did
//! not complete, messages that nobody received.

use crate::object::comm::CommObject;
use crate::object::request::{RequestObject, Template};
use crate::object::{errhandler, info};
use crate::runtime::{Entered, World, enter};
use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::engine::matching::ANY_PROCESS;
use hpvm_mpi::engine::requests::{Operation, Request};
use hpvm_mpi::error::Result;
use hpvm_mpi::pt2pt::protocol;
use hpvm_mpi::status::{ANY_SOURCE, ANY_TAG};
use std::fmt::Write as _;

/// Things of one kind that are named; of the others, only the number is told.
const NAMED: usize = 5;

/// Meets the other processes of the job, so that all messages have come, and writes what is left
/// to standard error: one block per process, nothing if nothing is left. Blocks.
pub fn report() -> Result<()> {
    let mut w = enter()?;
    w.flush()?;
    meet(&mut w)?;
    let text = text(&w);
    let (rank, size) = (w.job.rank, w.job.size);
    drop(w);
    if !text.is_empty() {
        let head = format!("hpvm: rank {rank} of {size}: left at MPI_Finalize (HPVM_CHECK):\n");
        // One write, so that the blocks of several processes stay whole. When standard error is
        // closed, there is nobody to tell.
        crate::say::write((head + &text).as_bytes());
    }
    Ok(())
}

fn meet(w: &mut Entered) -> Result<()> {
    let world = w.process.world().clone();
    let plan = w.process.plan(&world).barrier();
    // SAFETY: a barrier has no buffers.
    let id = unsafe { w.process.start_collective(&world, plan) };
    w.complete(id).map(drop)
}

/// Everything that is left, one line per kind.
fn text(w: &World) -> String {
    let mut out = String::new();
    let o = &w.objects;
    list(&mut out, "request", "not completed", requests(w));
    list(&mut out, "request", "not freed", kept_requests(w));
    let windows = o.windows.iter().map(|(_, window)| window.shown());
    list(&mut out, "window", "not freed", windows.collect());
    // A window that is not freed keeps a communicator of its own.
    let inner: Vec<_> = o.windows.iter().map(|(_, w)| w.comm.0).collect();
    let comms = o.comms.iter().filter(|(h, _)| !inner.contains(h)).map(|(_, c)| communicator(c));
    list(&mut out, "communicator", "not freed", comms.collect());
    let types = o.types.iter().filter(|(_, t)| !t.ty.is_predefined());
    let types = types.map(|(_, t)| named(&t.extras().name, || format!("{} bytes", t.ty.size())));
    list(&mut out, "datatype", "not freed", types.collect());
    let groups = o.groups.iter().map(|(_, g)| format!("of {}", processes(g.size())));
    list(&mut out, "group", "not freed", groups.collect());
    list(&mut out, "operation", "not freed", vec![String::new(); o.ops.len()]);
    list(&mut out, "info object", "not freed", vec![String::new(); info::live()]);
    list(&mut out, "error handler", "not freed", vec![String::new(); errhandler::live()]);
    let matched = o
        .messages
        .iter()
        .map(|(_, (object, m))| message(w, object.comm.base_context(), m.src, m.tag, m.bytes()));
    list(&mut out, "message", "probed but not received", matched.collect());
    let unexpected = w.process.unexpected_messages().filter(|(c, _)| c % CONTEXTS == 0);
    let unexpected = unexpected.map(|(c, m)| message(w, c, m.src, m.tag, m.bytes()));
    list(&mut out, "message", "never received", unexpected.collect());
    list(&mut out, "buffer", "not detached", buffers(w));
    let blocks = o.allocated.sizes().map(|n| format!("{n} bytes"));
    list(&mut out, "block", "of MPI_Alloc_mem not freed", blocks.collect());
    out
}

/// "2 groups not freed: of 3 processes; of 1 process".
fn list(out: &mut String, kind: &str, fate: &str, things: Vec<String>) {
    if things.is_empty() {
        return;
    }
    let plural = if things.len() == 1 { "" } else { "s" };
    let _ = write!(out, "    {} {kind}{plural} {fate}", things.len());
    let told: Vec<_> = things.iter().filter(|t| !t.is_empty()).take(NAMED).cloned().collect();
    if !told.is_empty() {
        let _ = write!(out, ": {}", told.join("; "));
        if told.len() < things.len() {
            let _ = write!(out, "; and {} more", things.len() - told.len());
        }
    }
    out.push('\n');
}

fn processes(n: u32) -> String {
    if n == 1 { "1 process".into() } else { format!("{n} processes") }
}

/// The program's name of an object, or else what it is.
fn named(name: &str, what: impl FnOnce() -> String) -> String {
    if name.is_empty() { what() } else { format!("{name:?}") }
}

fn communicator(c: &CommObject) -> String {
    let name = c.extras().name.clone();
    named(&name, || format!("of {}", processes(c.comm.size())))
}

/// The communicator of a context id, in words.
fn place(w: &World, context: u32) -> String {
    match w.objects.comm_of_context(context) {
        None => "a communicator that is freed".into(),
        Some((_, c)) => {
            let name = c.extras().name.clone();
            named(&name, || format!("a communicator of {}", processes(c.comm.size())))
                .trim_matches('"')
                .to_owned()
        }
    }
}

fn message(w: &World, context: u32, src: u32, tag: i32, bytes: u64) -> String {
    let comm = w.objects.comm_of_context(context);
    let rank = comm.map_or(-1, |(_, c)| c.comm.rank_of(src));
    format!("from rank {rank} with tag {tag}, {bytes} bytes, on {}", place(w, context))
}

/// Operations whose requests the program neither completed nor freed.
fn requests(w: &World) -> Vec<String> {
    let all = w.process.requests().iter();
    let ours = all.filter(|(id, r)| r.parent.is_none() && !r.detached && !is_kept(w, *id));
    ours.map(|(_, r)| operation(w, r)).collect()
}

/// Whether the request belongs to one in the table of objects, which is told about there.
fn is_kept(w: &World, id: hpvm_mpi::ReqId) -> bool {
    use crate::object::request::Active;
    w.objects.requests.iter().any(|(_, o)| match o {
        RequestObject::Persistent { active: Some(Active::Running(run)), .. } => *run == id,
        RequestObject::Generalised { id: own, .. } => *own == id,
        _ => false,
    })
}

fn operation(w: &World, r: &Request) -> String {
    let at = |context| place(w, context);
    match &r.op {
        _ if r.done => match r.context {
            Some(context) => format!("has ended, but nobody has waited for it, on {}", at(context)),
            None => "has ended, but nobody has waited for it".into(),
        },
        Operation::Recv(op) => {
            let any = op.pattern.src == ANY_PROCESS;
            let rank = op.comm.rank_of(op.pattern.src) as u32;
            let what = receive(if any { ANY_PROCESS } else { rank }, op.pattern.tag);
            format!("{what} on {}", at(op.context))
        }
        Operation::Send(op) => {
            let (context, tag) = protocol::open_envelope(op.envelope);
            let comm = w.objects.comm_of_context(context);
            let rank = comm.map_or(-1, |(_, c)| c.comm.rank_of(op.dst));
            let bytes = op.packed_size();
            format!("send to rank {rank} with tag {tag}, {bytes} bytes, on {}", at(context))
        }
        Operation::Collective(Some(c)) => {
            format!("{} on {}", c.name(), at(c.comm().base_context()))
        }
        _ => "an operation that is not a single message".into(),
    }
}

fn receive(rank: u32, tag: i32) -> String {
    let from = match rank {
        ANY_PROCESS => "any rank".into(),
        rank => format!("rank {rank}"),
    };
    let tag = if tag == ANY_TAG { "any tag".into() } else { format!("tag {tag}") };
    format!("receive from {from} with {tag}")
}

/// Persistent, generalised and partitioned requests.
fn kept_requests(w: &World) -> Vec<String> {
    let freed = |o: &RequestObject| matches!(o, RequestObject::Generalised { freed: true, .. });
    let kept = w.objects.requests.iter().filter(|(_, o)| !freed(o));
    let text = kept.map(|(_, o)| match o {
        RequestObject::Persistent { template, active } => {
            let what = match template {
                Template::Send { dest, tag, .. } => {
                    format!("persistent send to rank {dest} with tag {tag}")
                }
                Template::Recv { source, tag, .. } => {
                    let source = if *source == ANY_SOURCE { ANY_PROCESS } else { *source as u32 };
                    format!("persistent {}", receive(source, *tag))
                }
                Template::Collective { plan, .. } => format!("persistent {}", plan.0.name),
            };
            if active.is_some() { format!("{what}, started and not completed") } else { what }
        }
        RequestObject::Generalised { .. } => "generalised".into(),
        RequestObject::Partitioned(_) => "partitioned".into(),
    });
    text.collect()
}

fn buffers(w: &World) -> Vec<String> {
    let mut found = Vec::new();
    if w.objects.buffer.is_attached() {
        found.push("of MPI_Buffer_attach".to_owned());
    }
    let predefined = [crate::generated::constants::MPI_COMM_WORLD];
    let predefined = predefined.into_iter().filter_map(|h| w.objects.comm(h).ok());
    for object in predefined.chain(w.objects.comms.iter().map(|(_, c)| c)) {
        if object.extras().buffer.is_attached() {
            found.push(format!("of communicator {}", communicator(object)));
        }
    }
    found
}
