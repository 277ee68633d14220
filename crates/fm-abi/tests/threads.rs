//! The C interface, called from Rust as C would: each thread is a node of its own.

mod engine;

use engine::Engine;
use hpvm_fm::{Broken, Fast, Head, PacketSender};
use hpvm_fm_abi::*;
use hpvm_shm::Mapping;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_uint, c_ulong};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

thread_local! {
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
    static JOB: RefCell<Option<(Arc<Mapping>, u32)>> = const { RefCell::new(None) };
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// One engine per thread. `borrow_mut` panics when a handler runs while the engine is borrowed.
struct PerThread;

impl Host for PerThread {
    fn start(&self, _: &Settings) -> Result<(), String> {
        let (mapping, rank) = JOB.take().ok_or("no job for this thread")?;
        ENGINE.set(Some(Engine::new(mapping, rank)?));
        Ok(())
    }

    fn stop(&self) -> Result<(), String> {
        // The engine stays for other nodes' credits until the thread ends.
        Ok(())
    }

    fn with(&self, work: &mut dyn FnMut(&mut dyn PacketSender, &mut Fast)) -> Result<(), String> {
        ENGINE.with(|engine| {
            let mut engine = engine.borrow_mut();
            let engine = engine.as_mut().ok_or("the engine does not run")?;
            work(&mut engine.fm, &mut engine.fast);
            Ok(())
        })
    }

    fn poll(&self) -> Result<usize, Broken> {
        ENGINE.with(|engine| {
            let mut engine = engine.borrow_mut();
            let Some(engine) = engine.as_mut() else { return Ok(0) };
            let (packets, fault) = engine.poll()?;
            fault.into_iter().for_each(|text| self.report(&text));
            Ok(packets)
        })
    }

    fn wait_a_little(&self) {
        ENGINE.with(|engine| engine.borrow_mut().as_mut().map(Engine::sleep));
    }

    fn report(&self, text: &str) {
        SAID.with(|said| said.borrow_mut().push(text.to_owned()));
    }
}

/// Runs `node` on a thread per node, between initialize and finalize.
fn job(nodes: u32, node: impl Fn(u32) + Sync) {
    install(&PerThread);
    let mapping = Arc::new(Mapping::create(nodes, [3, 4]).unwrap());
    std::thread::scope(|scope| {
        for rank in 0..nodes {
            let (mapping, node) = (mapping.clone(), &node);
            scope.spawn(move || {
                JOB.set(Some((mapping, rank)));
                assert_eq!(FM_initialize(), 0);
                node(rank);
                assert_eq!(FM_finalize(), 0);
            });
        }
    });
}

/// What was reported on this thread.
fn said() -> Vec<String> {
    SAID.take()
}

fn send(dst: u32, handler: u8, pieces: &[&[u8]]) {
    let length: usize = pieces.iter().map(|p| p.len()).sum();
    let stream = FM_begin_message(dst.into(), length as c_ulong, handler.into());
    assert!(!stream.is_null());
    for piece in pieces {
        // SAFETY: an open stream, and a live piece.
        let sent = unsafe { FM_send_piece(stream, piece.as_ptr().cast(), piece.len() as c_ulong) };
        assert_eq!(sent, 0);
    }
    // SAFETY: the stream is open and not used again.
    assert_eq!(unsafe { FM_end_message(stream) }, 0);
}

/// `FM_receive`, inside a handler.
fn receive(stream: *mut Stream, to: &mut [u8]) -> usize {
    // SAFETY: the handler's own stream, and a live buffer.
    let n = unsafe { FM_receive(to.as_mut_ptr().cast(), stream, to.len() as c_uint) };
    usize::try_from(n).unwrap()
}

fn register(id: u8, handler: Handler) {
    // SAFETY: of the right signature.
    assert_eq!(unsafe { FM_register_handler(id.into(), Some(handler)) }, c_ulong::from(id));
}

const DATA: u8 = 7;
const ACK: u8 = 8;
const PEEK: u8 = 9;
const STOP: u8 = 10;

thread_local! {
    static RECEIVED: Cell<u32> = const { Cell::new(0) };
    static ACKED: Cell<u32> = const { Cell::new(0) };
    static RUNNING: Cell<u32> = const { Cell::new(0) };
    static STOPPED: Cell<bool> = const { Cell::new(false) };
    static OVERLAPS: Cell<u32> = const { Cell::new(0) };
}

fn content(src: u32, round: u32, i: usize) -> u8 {
    (i ^ (i >> 8) ^ (src as usize * 17) ^ (round as usize * 5)) as u8
}

fn length(round: u32) -> usize {
    [0, 3, 96, 97, 5000, 8188, 20_000, 300_000][round as usize % 8]
}

/// Reads in pieces unlike the sender's, while other handlers run; answers.
unsafe extern "C" fn on_data(stream: *mut Stream, src: c_uint) -> c_int {
    RUNNING.set(RUNNING.get() + 1);
    if RUNNING.get() > 1 {
        OVERLAPS.set(OVERLAPS.get() + 1);
    }
    let mut round = [0; 4];
    assert_eq!(receive(stream, &mut round), 4);
    let round = u32::from_le_bytes(round);
    let mut all = vec![0; length(round)];
    for piece in all.chunks_mut(3001) {
        assert_eq!(receive(stream, piece), piece.len());
    }
    assert_eq!(receive(stream, &mut [0]), 0, "the end");
    assert!(all.iter().enumerate().all(|(i, b)| *b == content(src, round, i)));
    assert_eq!(FM_extract(1), -1, "handlers can't extract");
    send(src, ACK, &[&round.to_le_bytes()]);
    RECEIVED.set(RECEIVED.get() + 1);
    RUNNING.set(RUNNING.get() - 1);
    CONTINUE
}

unsafe extern "C" fn on_ack(_: *mut Stream, _: c_uint) -> c_int {
    ACKED.set(ACKED.get() + 1);
    CONTINUE
}

/// Reads a little of a long message and returns.
unsafe extern "C" fn on_peek(stream: *mut Stream, _: c_uint) -> c_int {
    let mut word = [0; 4];
    assert_eq!(receive(stream, &mut word), 4);
    assert_eq!(&word, b"peek");
    RECEIVED.set(RECEIVED.get() + 1);
    CONTINUE
}

unsafe extern "C" fn on_stop(_: *mut Stream, _: c_uint) -> c_int {
    STOPPED.set(true);
    QUIT
}

#[test]
fn all_to_all_with_waiting_handlers() {
    const NODES: u32 = 4;
    const ROUNDS: u32 = 16;
    let overlaps = AtomicU32::new(0);
    job(NODES, |me| {
        register(DATA, on_data);
        register(ACK, on_ack);
        for round in 0..ROUNDS {
            let data: Vec<u8> = (0..length(round)).map(|i| content(me, round, i)).collect();
            let (a, b) = data.split_at(data.len() / 2);
            for dst in 0..NODES {
                send(dst, DATA, &[&round.to_le_bytes(), a, b]);
            }
        }
        while RECEIVED.get() < ROUNDS * NODES || ACKED.get() < ROUNDS * NODES {
            assert!(FM_extract(c_uint::MAX) >= 0);
        }
        overlaps.fetch_add(OVERLAPS.get(), Ordering::Relaxed);
        let said = said();
        assert!(said.iter().all(|s| s.contains("handlers can't extract")), "{said:?}");
        assert_eq!(said.len(), (ROUNDS * NODES) as usize);
    });
    assert!(overlaps.into_inner() > 0, "no two handlers were ever under way at once");
}

#[test]
fn a_handler_may_leave_early() {
    job(2, |me| {
        register(PEEK, on_peek);
        register(STOP, on_stop);
        for _ in 0..5 {
            send(1 - me, PEEK, &[b"pe", b"ek", &[0; 100_000]]);
            send(1 - me, PEEK, &[b"peek"]);
        }
        // After this, nothing that the other node sends waits for us to extract.
        send(1 - me, STOP, &[]);
        while !STOPPED.get() {
            assert!(FM_extract(c_uint::MAX) >= 0);
        }
        assert_eq!(RECEIVED.get(), 10);
        assert_eq!(said(), Vec::<String>::new());
    });
}

#[test]
fn budget_and_quit_hold_to_the_packet() {
    job(1, |_| {
        register(ACK, on_ack);
        register(STOP, on_stop);
        for _ in 0..3 {
            send(0, ACK, &[&[0; 50]]);
        }
        send(0, STOP, &[]);
        send(0, ACK, &[]);
        assert_eq!(FM_extract(0), 0);
        assert_eq!((FM_extract(51), ACKED.get()), (2, 2));
        assert_eq!((FM_extract(1000), ACKED.get()), (2, 3));
        assert_eq!((FM_extract(1000), ACKED.get()), (1, 4));
        assert_eq!(FM_extract(1000), 0);
    });
}

#[test]
fn mistakes_are_told() {
    job(1, |_| {
        assert_eq!(FM_initialize(), -1);
        assert!(FM_begin_message(1, 0, 0).is_null());
        assert!(FM_begin_message(0, 0, 256).is_null());
        // SAFETY: null is allowed to be tried.
        unsafe {
            assert_eq!(FM_send_piece(std::ptr::null_mut(), std::ptr::null(), 0), -1);
            assert_eq!(FM_end_message(std::ptr::null_mut()), -1);
            assert_eq!(FM_register_handler(256, None), ANY_ID);
            assert_eq!(FM_register_handler(ANY_ID, Some(on_ack)), 0);
        }
        assert_eq!(FM_set_parameter_value(PARAMETER_QUIET, 0, std::ptr::null()), -1);
        let stream = FM_begin_message(0, 2, 0);
        assert!(FM_begin_message(0, 2, 0).is_null(), "one stream per node at a time");
        // SAFETY: the stream is open; the buffer holds three bytes.
        unsafe {
            assert_eq!(FM_send_piece(stream, [0_u8; 3].as_ptr().cast(), 3), -1);
            assert_eq!(FM_receive([0_u8; 3].as_mut_ptr().cast(), stream, 3), -1);
            assert_eq!(FM_end_message(stream), 0);
        }
        send(0, 99, &[b"nobody"]);
        assert_eq!(FM_extract(1000), 2);
        let said = said();
        let expected = [
            "twice",
            "no node 1",
            "handler 256",
            "NULL",
            "NULL",
            "handler id 256",
            "before FM_initialize",
            "3 bytes",
            "not one",
            "handler 99",
        ];
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (text, part) in said.iter().zip(expected) {
            assert!(text.contains(part), "{text} has no {part}");
        }
    });
}

#[test]
fn other_threads_get_no_stream() {
    job(1, |_| {
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(FM_begin_message(0, 0, 0).is_null()));
        });
    });
}

/// A handler's sends are deferred within bounds: begin gives NULL beyond.
unsafe extern "C" fn on_flood(stream: *mut Stream, src: c_uint) -> c_int {
    let mut sent = 0_u32;
    loop {
        let reply = FM_begin_message(src.into(), 8, ACK.into());
        if reply.is_null() {
            break;
        }
        // SAFETY: an open stream, not used again.
        unsafe { FM_end_message(reply) };
        sent += 1;
    }
    assert!(FM_begin_message(src.into(), 1 << 40, ACK.into()).is_null());
    assert_eq!(receive(stream, &mut [0; 8]), 0);
    RECEIVED.set(sent);
    CONTINUE
}

#[test]
fn what_handlers_send_is_bounded_and_arrives() {
    job(1, |_| {
        register(ACK, on_ack);
        register(DATA, on_flood);
        send(0, DATA, &[]);
        while RECEIVED.get() == 0 || ACKED.get() < RECEIVED.get() {
            assert!(FM_extract(c_uint::MAX) >= 0);
        }
        assert_eq!(RECEIVED.get() as usize, hpvm_fm::deferred::MESSAGES);
    });
}

#[test]
fn packets_that_another_model_extracted_are_delivered() {
    job(1, |_| {
        register(DATA, on_data);
        register(ACK, on_ack);
        let data: Vec<u8> = (0..length(6)).map(|i| content(0, 6, i)).collect();
        send(0, DATA, &[&6_u32.to_le_bytes(), &data]);
        while ACKED.get() == 0 {
            while PerThread.poll().unwrap() > 0 {}
            deliver();
        }
        assert_eq!(RECEIVED.get(), 1);
    });
}

/// Garbage of a peer reaches no handler and does not end the program.
#[test]
fn garbage_is_reported() {
    static ARRIVED: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" fn on_any(_: *mut Stream, _: c_uint) -> c_int {
        ARRIVED.store(true, Ordering::Relaxed);
        CONTINUE
    }
    let log = Mutex::new(Vec::new());
    job(1, |_| {
        (0..=255).for_each(|id| register(id, on_any));
        let garbage = Head { handler: 16, flags: 0, aux: 9, imm: u64::MAX };
        PerThread.with(&mut |net, _| net.send_packet(0, garbage, b"xyz").unwrap()).unwrap();
        assert_eq!(FM_extract(1000), 1);
        log.lock().unwrap().extend(said());
    });
    let log = log.into_inner().unwrap();
    assert!(log.len() == 1 && log[0].contains("never began"), "{log:?}");
    assert!(!ARRIVED.load(Ordering::Relaxed));
}
