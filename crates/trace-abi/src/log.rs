//! The lines of a record (crates/simulate/src/recorded.rs says what they mean), and which requests are under way. Knows nothing of
//! MPI, files and clocks.

use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

/// The ranks of a communicator in its order, and what it is called in lines; all ranks have no name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub id: String,
    pub ranks: Vec<u32>,
    /// Calls on it cannot be recorded: it joins two groups.
    pub inter: bool,
}

/// A message in one direction. The peer is a rank of the communicator, or less for anybody.
#[derive(Clone, Debug)]
pub struct Message {
    pub sends: bool,
    pub peer: i32,
    pub bytes: u64,
    pub tag: i32,
    pub part: Rc<Part>,
}

/// What a request stands for.
#[derive(Debug)]
struct Request {
    number: u64,
    /// Of a receive from anybody.
    open: Option<Rc<Part>>,
}

#[derive(Debug, Default)]
pub struct Log {
    /// What has not been written to the file yet.
    pub text: String,
    /// Non-blocking calls so far.
    started: u64,
    /// By their handles.
    requests: HashMap<usize, Request>,
    persistent: HashMap<usize, Message>,
}

impl Log {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // A text takes everything.
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    /// Ends a line of something on a communicator.
    fn on(&mut self, part: &Part) {
        if !part.id.is_empty() {
            let _ = write!(self.text, " @{}", part.id);
        }
        self.text.push('\n');
    }

    pub fn begin(&mut self, rank: u32, size: u32, host: &str) {
        self.line(format_args!("hpvm-trace 1 rank {rank} of {size}"));
        self.line(format_args!("host {host}"));
    }

    pub fn compute(&mut self, nanoseconds: u64) {
        self.line(format_args!("compute {nanoseconds}ns"));
    }

    pub fn end(&mut self, nanoseconds: u64) {
        self.line(format_args!("end {nanoseconds}ns"));
    }

    pub fn mark(&mut self) {
        self.line(format_args!("mark"));
    }

    /// Something that cannot be simulated.
    pub fn unknown(&mut self, what: &str) {
        self.line(format_args!("unknown {what}"));
    }

    /// A communicator, before anything on it.
    pub fn group(&mut self, part: &Part) {
        let _ = write!(self.text, "group {} ", part.id);
        let ranks = &part.ranks;
        for (nth, run) in ranks.chunk_by(|a, b| a.checked_add(1) == Some(*b)).enumerate() {
            let comma = if nth > 0 { "," } else { "" };
            let _ = match run {
                [only] => write!(self.text, "{comma}{only}"),
                run => write!(self.text, "{comma}{}-{}", run[0], run[run.len() - 1]),
            };
        }
        self.text.push('\n');
    }

    /// A message, `i` in front if it does not block. The peer is known, or it is a receive that does not block.
    fn message(&mut self, message: &Message, i: &str) {
        let kind = if message.sends { "send" } else { "recv" };
        let peer = usize::try_from(message.peer).ok();
        let peer = peer.and_then(|peer| message.part.ranks.get(peer).copied());
        let tag = u32::try_from(message.tag).ok();
        let _ = match (peer, tag) {
            (Some(peer), Some(tag)) => {
                write!(self.text, "{i}{kind} {peer} {} {tag}", message.bytes)
            }
            _ => write!(self.text, "{i}{kind} ? {} ?", message.bytes),
        };
        self.on(&message.part);
    }

    /// A call that blocks.
    pub fn blocking(&mut self, message: &Message) {
        self.message(message, "");
    }

    /// A call that does not: the request's handle stands for it.
    pub fn starts(&mut self, message: &Message, handle: usize) {
        self.message(message, "i");
        let anybody = !message.sends && (message.peer < 0 || message.tag < 0);
        let open = anybody.then(|| message.part.clone());
        self.requests.insert(handle, Request { number: self.started, open });
        self.started += 1;
    }

    /// Both directions of one call: the receive first.
    pub fn both(&mut self, messages: [Option<Message>; 2]) {
        let messages: Vec<Message> = messages.into_iter().flatten().collect();
        messages.iter().for_each(|message| self.message(message, "i"));
        self.started += messages.len() as u64;
        (1..=messages.len()).rev().for_each(|back| self.line(format_args!("wait {back}")));
    }

    /// A collective, with its root where it has one. With a handle it does not block.
    pub fn collective(
        &mut self,
        name: &str,
        root: Option<i32>,
        bytes: Option<u64>,
        part: &Part,
        handle: Option<usize>,
    ) {
        let i = if handle.is_some() { "i" } else { "" };
        let _ = write!(self.text, "{i}{name}");
        if let Some(root) = root {
            let _ = write!(self.text, " {root}");
        }
        if let Some(bytes) = bytes {
            let _ = write!(self.text, " {bytes}");
        }
        self.on(part);
        if let Some(handle) = handle {
            self.requests.insert(handle, Request { number: self.started, open: None });
            self.started += 1;
        }
    }

    /// A request that can be started again and again.
    pub fn persistent(&mut self, message: Message, handle: usize) {
        self.persistent.insert(handle, message);
    }

    /// It is started.
    pub fn restarts(&mut self, handle: usize) {
        if let Some(message) = self.persistent.get(&handle).cloned() {
            self.starts(&message, handle);
        }
    }

    /// A request has ended; with a message from `source`, a rank of its communicator, and its tag.
    pub fn ended(&mut self, handle: usize, source: i32, tag: i32) {
        let Some(request) = self.requests.remove(&handle) else { return };
        let back = self.started - request.number;
        let from = request
            .open
            .as_ref()
            .and_then(|part| part.ranks.get(usize::try_from(source).ok()?).copied());
        match from {
            Some(peer) => self.line(format_args!("wait {back} {peer} {tag}")),
            None => self.line(format_args!("wait {back}")),
        }
    }

    /// A handle means nothing any more.
    pub fn forget(&mut self, handle: usize) {
        self.requests.remove(&handle);
        self.persistent.remove(&handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Rc<Part> {
        Rc::new(Part { ranks: vec![0, 1, 2, 3], ..Part::default() })
    }

    fn message(sends: bool, peer: i32, tag: i32, part: &Rc<Part>) -> Message {
        Message { sends, peer, bytes: 8, tag, part: part.clone() }
    }

    #[test]
    fn requests_are_counted_backwards() {
        let (mut log, part) = (Log::default(), all());
        log.begin(1, 4, "n1");
        log.starts(&message(false, 0, 7, &part), 0xa);
        log.starts(&message(true, 2, 7, &part), 0xb);
        log.ended(0xa, 0, 7);
        log.starts(&message(true, 3, 1, &part), 0xa);
        log.ended(0xb, 0, 0);
        log.ended(0xb, 0, 0);
        log.ended(0xa, 0, 0);
        log.end(5);
        let expected = "hpvm-trace 1 rank 1 of 4\nhost n1\nirecv 0 8 7\nisend 2 8 7\nwait 2\nisend 3 8 1\nwait 2\nwait 1\nend 5ns\n";
        assert_eq!(log.text, expected);
    }

    #[test]
    fn who_had_sent_is_told_when_it_is_known() {
        let mut log = Log::default();
        let part = Rc::new(Part { id: "p".to_string(), ranks: vec![4, 2, 3, 7], inter: false });
        log.group(&part);
        log.starts(&message(false, -1, -2, &part), 1);
        log.ended(1, 1, 9);
        log.blocking(&message(true, 3, 0, &part));
        log.both([Some(message(false, 0, 1, &part)), None]);
        log.both([Some(message(false, 0, 1, &part)), Some(message(true, 2, 1, &part))]);
        let expected = "group p 4,2-3,7\nirecv ? 8 ? @p\nwait 1 2 9\nsend 7 8 0 @p\nirecv 4 8 1 @p\nwait 1\n\
                        irecv 4 8 1 @p\nisend 3 8 1 @p\nwait 2\nwait 1\n";
        assert_eq!(log.text, expected);
    }

    #[test]
    fn persistent_requests_start_again() {
        let (mut log, part) = (Log::default(), all());
        log.persistent(message(true, 1, 3, &part), 5);
        for _ in 0..2 {
            log.restarts(5);
            log.ended(5, 0, 0);
        }
        log.forget(5);
        log.restarts(5);
        log.collective("bcast", Some(2), Some(16), &part, Some(6));
        log.ended(6, 0, 0);
        log.collective("barrier", None, None, &part, None);
        let expected = "isend 1 8 3\nwait 1\nisend 1 8 3\nwait 1\nibcast 2 16\nwait 1\nbarrier\n";
        assert_eq!(log.text, expected);
    }
}
