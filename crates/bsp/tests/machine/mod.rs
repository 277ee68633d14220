//! Virtual processes: threads, and messages between them in memory.

use crate::script::*;
use hpvm_bsp::{Buffer, Carrier, Counts, Process, Settings, Shown, Tag};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Barrier, Condvar, Mutex};

type Mail = HashMap<(usize, usize, Tag), VecDeque<Vec<u8>>>;

/// The copy of a message that another process may read, and in which all-to-all it was shown.
struct Lying {
    copy: Vec<u128>,
    round: u64,
}

/// What the processes share.
struct Network {
    shown: Mutex<HashMap<(usize, usize, Shown, u64), Lying>>,
    mail: Mutex<Mail>,
    arrived: Condvar,
    appeared: Condvar,
    board: Mutex<Vec<Vec<i64>>>,
    barrier: Barrier,
}

/// Copies what is sent when everything was started, and no sooner, as a real one may.
struct Post {
    own: usize,
    network: Arc<Network>,
    sends: Vec<(usize, Tag, *const u8, usize)>,
    receives: Vec<(usize, Tag, *mut u8, usize)>,
    in_place: bool,
    round: u64,
    /// What `own` reads, and what it must not read any more.
    viewed: Vec<Lying>,
    forgotten: Vec<Lying>,
}

impl Post {
    fn gather(&self, own: &[i64]) -> Vec<Vec<i64>> {
        self.network.board.lock().expect("board")[self.own] = own.to_vec();
        self.network.barrier.wait();
        let all = self.network.board.lock().expect("board").clone();
        self.network.barrier.wait();
        all
    }
}

impl Carrier for Post {
    fn all_to_all(&mut self, out: &[Counts], into: &mut [Counts]) -> Result<(), String> {
        self.round += 1;
        let own: Vec<i64> = out.iter().flat_map(|c| [c.word as i64, c.digest as i64]).collect();
        for (words, place) in self.gather(&own).iter().zip(into) {
            let at = 2 * self.own;
            *place = Counts { word: words[at] as u64, digest: words[at + 1] as u64 };
        }
        // Who still reads a message of an earlier round reads something else from now on.
        let (round, mut old) = (self.round, std::mem::take(&mut self.viewed));
        self.viewed = old.extract_if(.., |lying| lying.round == round).collect();
        old.iter_mut().for_each(|lying| lying.copy.fill(u128::MAX));
        self.forgotten = old;
        Ok(())
    }

    fn all_gather(&mut self, own: &[i64], into: &mut [i64]) -> Result<(), String> {
        into.copy_from_slice(&self.gather(own).concat());
        Ok(())
    }

    unsafe fn send(
        &mut self,
        to: usize,
        tag: Tag,
        from: *const u8,
        len: usize,
    ) -> Result<(), String> {
        self.sends.push((to, tag, from, len));
        Ok(())
    }

    unsafe fn receive(
        &mut self,
        from: usize,
        tag: Tag,
        into: *mut u8,
        len: usize,
    ) -> Result<(), String> {
        self.receives.push((from, tag, into, len));
        Ok(())
    }

    fn complete(&mut self) -> Result<(), String> {
        let mut mail = self.network.mail.lock().expect("mail");
        for (to, tag, from, len) in self.sends.drain(..) {
            // SAFETY: `send`'s contract.
            let data = unsafe { std::slice::from_raw_parts(from, len) }.to_vec();
            mail.entry((self.own, to, tag)).or_default().push_back(data);
        }
        self.network.arrived.notify_all();
        for (from, tag, into, len) in self.receives.drain(..) {
            let data = loop {
                match mail.get_mut(&(from, self.own, tag)).and_then(VecDeque::pop_front) {
                    Some(data) => break data,
                    None => mail = self.network.arrived.wait(mail).expect("mail"),
                }
            };
            assert_eq!(data.len(), len, "a message of process {from} with tag {tag:?}");
            // SAFETY: `receive`'s contract.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), into, len) };
        }
        Ok(())
    }

    fn in_place(&self, _: Shown) -> bool {
        self.in_place
    }

    fn show(&mut self, to: usize, what: Shown, message: &Buffer) -> Result<(), String> {
        // The round of a packed message begins behind it.
        let round = self.round + u64::from(what != Shown::Answer);
        let bytes = message.as_slice();
        let mut copy = vec![0; bytes.len().div_ceil(16)];
        // SAFETY: room for all bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.as_mut_ptr().cast(), bytes.len())
        };
        self.network
            .shown
            .lock()
            .expect("shown")
            .insert((self.own, to, what, round), Lying { copy, round });
        self.network.appeared.notify_all();
        Ok(())
    }

    fn view(
        &mut self,
        from: usize,
        what: Shown,
        len: usize,
        into: &mut Buffer,
    ) -> Result<(), String> {
        let mut shown = self.network.shown.lock().expect("shown");
        loop {
            if let Some(mut lying) = shown.remove(&(from, self.own, what, self.round)) {
                // SAFETY: it stays for as long as the interface says, in `viewed`.
                *into = unsafe { Buffer::view(lying.copy.as_mut_ptr().cast(), len) };
                self.viewed.push(lying);
                return Ok(());
            }
            assert_eq!(what, Shown::Answer, "a packed message is there from the beginning");
            shown = self.network.appeared.wait(shown).expect("shown");
        }
    }
}

/// Runs a program, with messages that are sent or read in place; returns what each process sees at the end of each
/// superstep.
pub fn run(processes: usize, large: usize, in_place: bool, steps: &[Step]) -> Vec<Vec<Seen>> {
    let network = Arc::new(Network {
        mail: Mutex::default(),
        shown: Mutex::default(),
        arrived: Condvar::new(),
        appeared: Condvar::new(),
        board: Mutex::new(vec![Vec::new(); processes]),
        barrier: Barrier::new(processes),
    });
    let seen: Vec<Vec<Seen>> = std::thread::scope(|scope| {
        let start = |own: usize| {
            let network = network.clone();
            scope.spawn(move || one(own, processes, large, in_place, steps, network))
        };
        let threads: Vec<_> = (0..processes).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("a process")).collect()
    });
    assert!(
        network.mail.lock().expect("mail").values().all(VecDeque::is_empty),
        "a message was left"
    );
    (0..steps.len()).map(|step| seen.iter().map(|of_one| of_one[step].clone()).collect()).collect()
}

fn one(
    own: usize,
    processes: usize,
    large: usize,
    in_place: bool,
    steps: &[Step],
    network: Arc<Network>,
) -> Vec<Seen> {
    let mut process = Process::new(own, processes, Settings { large, ..Settings::default() });
    let (sends, receives) = (Vec::new(), Vec::new());
    let mut post = Post {
        own,
        network,
        sends,
        receives,
        in_place,
        round: 0,
        viewed: Vec::new(),
        forgotten: Vec::new(),
    };
    let mut memory = initial(own);
    let base = memory.as_mut_ptr();
    let mut registrations = Registrations::default();
    let mut tag = (0, 0);
    let mut seen = Vec::new();
    for step in steps {
        step_of(own, processes, &mut process, base, &mut registrations, tag.0, step);
        if let Some(new) = step.tag {
            let before = process.set_tagsize(new as i32).expect("a size");
            assert_eq!(before as usize, tag.1);
            tag.1 = new;
        }
        tag.0 = tag.1;
        process.sync(&mut post, false).expect("a synchronisation");
        // SAFETY: the memory has so many bytes, and the process is not writing.
        let bytes = unsafe { std::slice::from_raw_parts(base, MEMORY) }.to_vec();
        let queue = process.qsize();
        let taken = take(&mut process, step.takes);
        assert_eq!(queue.0 - taken.len(), process.qsize().0);
        seen.push(Seen { memory: bytes, queue, taken });
    }
    process.sync(&mut post, true).expect("the end");
    seen
}

fn step_of(
    own: usize,
    processes: usize,
    process: &mut Process,
    memory: *mut u8,
    registrations: &mut Registrations,
    tag: usize,
    step: &Step,
) {
    // SAFETY: all places are inside of the memory.
    let at = |offset: usize| unsafe { memory.add(offset) };
    for (n, (caller, call)) in step.calls.iter().enumerate() {
        if caller % processes != own {
            continue;
        }
        let block =
            |base: &usize| registrations.meant(own, BASES[base % 4]).map(|r| at(r.bases[own]));
        match call {
            // SAFETY: inside of the memory.
            Call::Write { at: place, byte } => unsafe { *at(place % MEMORY) = *byte },
            Call::Put { to, base, offset, len, from } => {
                let (to, offset) = ((to % processes) as i32, place(*offset, *len) as i32);
                let Some(base) = block(base) else { continue };
                let from = at(from % (MEMORY - len));
                let len = *len as i32;
                // SAFETY: inside of the memory.
                if !unsafe { process.put_again(to, from, base, offset, len) } {
                    // SAFETY: as above.
                    let put = unsafe { process.put(to, from, base, offset, len, true) };
                    put.expect("a put");
                }
            }
            Call::Get { from, base, offset, len, into } => {
                let (from, offset) = ((from % processes) as i32, place(*offset, *len) as i32);
                let Some(base) = block(base) else { continue };
                let (into, len) = (at(into % (MEMORY - len)), *len as i32);
                if !process.get_again(from, base, offset, into, len) {
                    process.get(from, base, offset, into, len, true).expect("a get");
                }
            }
            Call::Send { to, len, byte } => {
                let (tag, payload) = (tag_of(n, tag), payload_of(*byte, *len));
                let (to, len) = ((to % processes) as i32, *len as i32);
                let (tag, payload) = (tag.as_ptr(), payload.as_ptr());
                // SAFETY: arrays of ours.
                if !unsafe { process.send_again(to, tag, payload, len) } {
                    // SAFETY: as above.
                    unsafe { process.send(to, tag, payload, len) }.expect("a message");
                }
            }
        }
    }
    for registered in Registrations::pushed(step, processes) {
        process.push_reg(at(registered.bases[own]), BLOCK as i32).expect("a push");
    }
    for registered in registrations.advance(step, processes) {
        process.pop_reg(at(registered.bases[own])).expect("a pop");
    }
}

/// Takes messages, one by copy, the next by address.
fn take(process: &mut Process, most: usize) -> Vec<Message> {
    let mut taken = Vec::new();
    let size = process.queue_tag_size();
    while taken.len() < most {
        let mut tag = vec![0; size];
        // SAFETY: a tag fits.
        let Some(len) = unsafe { process.get_tag(tag.as_mut_ptr()) }.expect("a tag") else { break };
        let mut payload = vec![0; len];
        if taken.len() % 2 == 0 {
            // SAFETY: the payload fits.
            unsafe { process.take(payload.as_mut_ptr(), len as i32) }.expect("a message");
        } else {
            let again = process.hpmove_again();
            let (at, data, long) = again.or_else(|| process.hpmove()).expect("a message");
            assert_eq!(long, len);
            let align = if len >= 16 { 16 } else { 8 };
            assert_eq!(data.addr() % align, 0, "{len} bytes at {data:p}");
            // SAFETY: valid until the next synchronisation.
            unsafe {
                payload.copy_from_slice(std::slice::from_raw_parts(data, len));
                assert_eq!(tag, std::slice::from_raw_parts(at, size));
            }
        }
        taken.push((tag, payload));
    }
    taken
}
