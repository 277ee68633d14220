//! What tasks ask the virtual machine, what it answers, and what it tells them by itself.

use crate::wire::{Bytes, wire};
use crate::{Tid, buffers::Head};

/// The version of what follows: a task and a virtual machine of different ones do not talk.
pub const VERSION: i32 = 5;

/// Where the virtual machine of a user listens: an abstract socket, which the kernel takes away with the process.
pub fn address(user: u32, name: &str) -> String {
    match name {
        "" => format!("hpvm-pvm-{user}"),
        name => format!("hpvm-pvm-{user}-{name}"),
    }
}

/// Where a task listens for links (`l`), or is rung (`b`).
pub fn task_address(nonce: i64, tid: Tid, what: char) -> String {
    format!("hpvm-pvm-task-{nonce:016x}-{tid:x}-{what}")
}

/// The environment variable by which a started process knows which task it is: `TID:NONCE`, in hexadecimal numbers,
/// and the descriptors of its two sockets.
pub const CLAIM: &str = "PVM_TASK_CLAIM";

/// The context and the tags of the library's own messages.
pub const SYSTEM_CONTEXT: i32 = 0x7ffff;
/// Output of a task, on its way to `pvm_catchout`.
pub const OUTPUT_TAG: i32 = 0x8003_0005_u32 as i32;
/// Between the libraries of two tasks of different hosts: one wants to send to the other directly; where the other listens for it; and
/// messages come directly from here on.
pub const DIRECT_ASK: i32 = 0x8003_0101_u32 as i32;
pub const DIRECT_CARD: i32 = 0x8003_0102_u32 as i32;
pub const DIRECT_SWITCH: i32 = 0x8003_0103_u32 as i32;
/// Of messages among the members of a group.
pub const GROUP_CONTEXT: i32 = 0x7fffc;

/// Flags of a task, as `ti_flag` of `pvm_tasks` has them: the virtual machine has started it, and it is connected.
pub const STATE_STARTED: i32 = 2;
pub const STATE_CONNECTED: i32 = 4;

/// In place of a length in messages of output.
pub const OUTPUT_EOF: i32 = 0;
pub const OUTPUT_SPAWN: i32 = -1;
pub const OUTPUT_NEW: i32 = -2;

wire! {
    /// Where the output of a task goes.
    pub struct Destination {
        pub tid: i32,
        pub context: i32,
        pub tag: i32,
    }

    /// A message that the virtual machine delivers or holds.
    pub struct Mail {
        pub source: i32,
        pub tag: i32,
        pub context: i32,
        pub wait_id: i32,
        pub encoding: i32,
        pub body: Bytes,
    }

    /// Who comes.
    pub struct Hello {
        pub version: i32,
        /// The tid that the process was started for, or 0.
        pub claim: i32,
        /// Of the virtual machine that started it.
        pub nonce: i64,
        pub console: bool,
        pub program: String,
    }

    /// Who a task is.
    pub struct Identity {
        pub tid: i32,
        pub parent: i32,
        pub nonce: i64,
        /// What only tasks of this virtual machine know: it opens links.
        pub secret: Bytes,
        pub siblings: Vec<i32>,
        pub context: i32,
        pub output: Destination,
        pub trace: Destination,
    }

    /// Programs to be started.
    pub struct Start {
        pub program: String,
        pub arguments: Vec<Bytes>,
        pub flags: i32,
        pub place: String,
        pub count: i32,
        /// `NAME=value`.
        pub environment: Vec<Bytes>,
        /// Where it is searched, one after the other.
        pub folders: Vec<String>,
        /// What a hostfile says of its host: where it is searched before, and where it works (empty: in the home folder). `$NAME` is a
        /// variable of the environment, and what does not begin at the root lies in the home folder.
        pub host_folders: Vec<String>,
        pub working: String,
        pub output: Destination,
        pub trace: Destination,
        pub context: i32,
    }

    /// A line of `pvm_tasks`.
    pub struct TaskLine {
        pub tid: i32,
        pub parent: i32,
        pub host: i32,
        pub flags: i32,
        pub program: String,
        pub pid: i32,
    }

    /// A line of `pvm_config`.
    pub struct HostLine {
        pub tid: i32,
        pub name: String,
        pub arch: String,
        pub speed: i32,
        pub signature: i32,
    }

    /// A name in the mailbox.
    pub struct ClassLine {
        pub name: String,
        pub indices: Vec<i32>,
        pub owners: Vec<i32>,
        pub flags: Vec<i32>,
    }
}

wire! { @enum
    /// What a task asks.
    pub enum Request {
        Enroll(hello: Hello) = 1,
        Exit() = 2,
        Spawn(start: Start) = 3,
        Signal(tid: i32, signal: i32) = 4,
        Tasks(place: i32) = 5,
        Config() = 6,
        HostStatus(name: String) = 7,
        TaskStatus(tid: i32) = 8,
        Notify(what: i32, tag: i32, context: i32, count: i32, tids: Vec<i32>) = 9,
        /// Names, each with what a hostfile may have behind it.
        AddHosts(names: Vec<String>) = 10,
        DeleteHosts(names: Vec<String>) = 11,
        NewContext() = 12,
        FreeContext(context: i32) = 13,
        Put(name: String, flags: i32, mail: Mail) = 14,
        Fetch(name: String, index: i32, flags: i32) = 15,
        Delete(name: String, index: i32) = 16,
        Names(pattern: String) = 17,
        Join(group: String) = 18,
        Leave(group: String) = 19,
        Barrier(group: String, count: i32) = 20,
        Instance(group: String, tid: i32) = 21,
        Member(group: String, instance: i32) = 22,
        Members(group: String) = 23,
        Freeze(group: String, size: i32) = 24,
        Output(destination: Destination) = 25,
        NoReset(on: bool) = 26,
        Reset(keep: i32) = 27,
        Halt() = 28,
        Clock(host: i32) = 29,
        NoResets() = 30,
        Groups() = 31,
        /// A message to a task of another host. There is no answer.
        Send(to: i32, mail: Mail) = 32,
        /// Lines of a hostfile: what holds for these hosts, which may be there or not.
        HostOptions(lines: Vec<String>) = 33,
        /// Deletes messages of the mailbox whose owners have gone: of all names if `name` is empty, of all indices if `index` is negative.
        DeleteOrphans(name: String, index: i32) = 34,
    }
}

wire! { @enum
    /// What the virtual machine says.
    pub enum Answer {
        /// A number of the request, or an error code.
        Code(code: i32) = 1,
        Enrolled(identity: Identity) = 2,
        /// Of each task: its tid, or an error code.
        Tids(tids: Vec<i32>) = 3,
        Tasks(tasks: Vec<TaskLine>) = 4,
        Hosts(hosts: Vec<HostLine>) = 5,
        Mail(mail: Mail) = 6,
        Classes(classes: Vec<ClassLine>) = 7,
        Time(seconds: i64, micros: i32) = 8,
        Groups(names: Vec<String>, sizes: Vec<i32>) = 9,
        /// Not an answer: a message has come.
        Event(mail: Mail) = 10,
        /// Not an answer: the virtual machine is being halted.
        Halting() = 11,
    }
}

wire! { @enum
    /// What the first host's process tells that of a host.
    pub enum Order {
        /// The first one, to a process that was started for it: which host of which virtual machine it is, and after how many
        /// milliseconds of silence either side gives the other up.
        Welcome(version: i32, nonce: i64, machine: String, silence: i32) = 1,
        Start(tid: i32, start: Start) = 2,
        Signal(pid: i32, signal: i32) = 3,
        Answer(client: i64, answer: Answer) = 4,
        /// The client may not go on.
        Close(client: i64) = 5,
        /// Output that nobody catches.
        Log(tid: i32, text: Bytes) = 6,
        Clock(client: i64) = 7,
        /// All tasks end, and the process.
        Halt() = 8,
        /// Nothing but a sign of life.
        Alive() = 9,
    }
}

wire! { @enum
    /// What the process of a host tells that of the first host.
    pub enum Report {
        /// It serves.
        Ready(version: i32) = 1,
        Request(client: i64, pid: i32, request: Request) = 2,
        /// The connection of a client has ended.
        Gone(client: i64) = 3,
        /// A program was started (`code` 0), or not: why.
        Started(tid: i32, pid: i32, code: i32) = 4,
        Output(tid: i32, text: Bytes) = 5,
        OutputEnded(tid: i32) = 6,
        /// A process that was started has ended.
        Ended(tid: i32, pid: i32) = 7,
        Time(client: i64, seconds: i64, micros: i32) = 8,
        /// Nothing but a sign of life.
        Alive() = 9,
    }
}

impl Mail {
    pub fn head(&self) -> Head {
        Head {
            source: self.source,
            target: 0,
            tag: self.tag,
            context: self.context,
            wait_id: self.wait_id,
            encoding: self.encoding,
            crc: 0,
            stamp: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{frame, unframe};
    use proptest::prelude::*;

    #[test]
    fn frames_come_back_also_in_parts() {
        let request = Request::Put {
            name: "n".into(),
            flags: 2,
            mail: Mail { tag: 3, body: Bytes(vec![1, 2, 3]), ..Mail::default() },
        };
        let bytes = [frame(&request), frame(&Request::Halt {})].concat();
        let mut input = Vec::new();
        let mut got = Vec::new();
        for byte in bytes {
            input.push(byte);
            got.extend(unframe::<Request>(&mut input).expect("frames"));
        }
        assert_eq!(got, [request, Request::Halt {}]);
    }

    #[test]
    fn a_frame_with_more_than_it_should_have_is_refused() {
        let mut bytes = frame(&Request::Exit {});
        bytes[0] += 1;
        bytes.push(0);
        assert!(unframe::<Request>(&mut bytes).is_err());
        assert!(unframe::<Request>(&mut u32::MAX.to_le_bytes().to_vec()).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_refused_or_read_but_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut framed = (bytes.len() as u32).to_le_bytes().to_vec();
            framed.extend(&bytes);
            let _ = unframe::<Request>(&mut framed.clone());
            let _ = unframe::<Order>(&mut framed.clone());
            let _ = unframe::<Report>(&mut framed.clone());
            let _ = unframe::<Answer>(&mut framed);
        }
    }
}
