//! A portal table entry against a naive one that has no counters: it knows all messages and entries there ever were and
//! looks at all of them for each question.

use hpvm_portals::atomic::{Datatype, Op};
use hpvm_portals::{
    Counters, Effect, Entry, EventKind, Id, List, Message, NiFail, Operation, Options, Portal,
    Process, Refused, Revision, Search, Settings, Source, Verdict,
};
use proptest::prelude::*;
use std::collections::HashMap;

/// Unexpected headers of the interface.
const HEADERS: usize = 4;
/// Entries in a list.
const LIST: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Append(Entry, List),
    Search(Entry, Search),
    Arrive(Message),
    /// The message whose data is there, of those that move, counted in a circle.
    Complete(usize, NiFail),
    Unlink(usize),
    Enable,
    Disable,
    Exhausted,
}

#[derive(Clone)]
struct NaiveEntry {
    entry: Entry,
    list: List,
    linked: bool,
    gone: bool,
    local: u64,
}

#[derive(Clone)]
struct NaiveMessage {
    message: Message,
    entry: usize,
    offset: u64,
    mlength: u64,
    unlinks: bool,
    moving: bool,
    fail: NiFail,
    /// It has a header whose overflow event is to come.
    header: bool,
    /// Who found it: an entry's terms, its number, whether it goes.
    claim: Option<(Entry, Option<usize>, bool)>,
}

struct Naive {
    settings: Settings,
    enabled: bool,
    report: bool,
    entries: Vec<NaiveEntry>,
    messages: Vec<NaiveMessage>,
    log: Vec<String>,
}

impl Naive {
    fn post(&mut self, text: String) {
        if self.settings.event_queue {
            self.log.push(text);
        }
    }

    fn local(entry: &Entry) -> bool {
        entry.options.has(Options::MANAGE_LOCAL)
    }

    fn matches(entry: &Entry, message: &Message, local: u64) -> bool {
        let source = match entry.source {
            Source::Logical(rank) => rank.is_none() || rank == Some(message.initiator.rank),
            Source::Physical { nid, pid } => {
                (nid.is_none() || nid == Some(message.initiator.nid))
                    && (pid.is_none() || pid == Some(message.initiator.pid))
            }
        };
        let bits = message.match_bits | entry.ignore_bits == entry.match_bits | entry.ignore_bits;
        let offset = if Naive::local(entry) { local } else { message.remote_offset };
        let long = u128::from(offset) + u128::from(message.rlength) > u128::from(entry.length);
        source && bits && !(long && entry.options.has(Options::NO_TRUNCATE))
    }

    fn communication(&mut self, entry: &Entry, m: &NaiveMessage, found: bool) {
        let o = entry.options;
        let name = match m.message.operation {
            Operation::Put => "put",
            Operation::Get => "get",
            Operation::Atomic(..) => "atomic",
            Operation::FetchAtomic(..) => "fetch",
        };
        let disable = if found { Options::EVENT_OVER_DISABLE } else { Options::EVENT_COMM_DISABLE };
        let silent = m.fail == NiFail::Ok && o.has(Options::EVENT_SUCCESS_DISABLE);
        if !o.has(disable) && !silent {
            let over = if found { "_overflow" } else { "" };
            let list = self.entries[m.entry].list;
            self.post(format!(
                "{name}{over} {} {:?} at {} {list:?} {} {}",
                entry.user_ptr, m.fail, m.entry, m.offset, m.mlength
            ));
        }
        let counts = if found { Options::EVENT_CT_OVERFLOW } else { Options::EVENT_CT_COMM };
        self.count(entry, counts, m.mlength, m.fail);
    }

    fn count(&mut self, entry: &Entry, option: Options, bytes: u64, fail: NiFail) {
        if entry.ct.is_some() && entry.options.has(option) {
            let by_bytes = entry.options.has(Options::EVENT_CT_BYTES);
            let good = if by_bytes { bytes } else { 1 };
            self.log.push(match fail {
                NiFail::Ok => format!("count {good} 0"),
                _ => "count 0 1".to_owned(),
            });
        }
    }

    fn unlinked(&mut self, entry: &Entry) {
        if !entry.options.has(Options::EVENT_UNLINK_DISABLE) {
            self.post(format!("auto_unlink {}", entry.user_ptr));
        }
    }

    fn used(&self, at: usize) -> bool {
        self.messages.iter().any(|m| {
            m.entry == at && (m.moving || m.header)
                || m.header && m.claim.is_some_and(|(_, by, _)| by == Some(at))
        })
    }

    fn release(&mut self, at: usize) {
        let entry = self.entries[at].clone();
        if entry.linked || entry.gone || self.used(at) {
            return;
        }
        self.entries[at].gone = true;
        if entry.list == List::Overflow && !entry.entry.options.has(Options::EVENT_UNLINK_DISABLE) {
            self.post(format!("auto_free {}", entry.entry.user_ptr));
        }
        self.log.push(format!("released {at}"));
    }

    fn unexpected(&self) -> Vec<usize> {
        let free = |m: &NaiveMessage| m.header && m.claim.is_none();
        (0..self.messages.len()).filter(|&i| free(&self.messages[i])).collect()
    }

    fn hand_over(&mut self, at: usize) {
        let m = self.messages[at].clone();
        let Some((entry, _, last)) = m.claim else { return };
        self.communication(&entry, &m, true);
        self.messages[at].header = false;
        self.release(m.entry);
        if last {
            self.unlinked(&entry);
        }
    }

    fn append(&mut self, entry: Entry, list: List) -> Result<(), Refused> {
        let there = self.entries.iter().filter(|e| e.linked && e.list == list).count();
        if there >= LIST {
            return Err(Refused::ListTooLong);
        }
        let at = self.entries.len();
        self.entries.push(NaiveEntry { entry, list, linked: false, gone: false, local: 0 });
        let o = entry.options;
        let mut last = false;
        for i in if list == List::Priority { self.unexpected() } else { Vec::new() } {
            let local = self.entries[at].local;
            if last || !Naive::matches(&entry, &self.messages[i].message, local) {
                continue;
            }
            last = o.has(Options::USE_ONCE);
            if Naive::local(&entry) {
                let m = &self.messages[i];
                let step = if o.has(Options::LOCAL_INC_UH_RLENGTH) {
                    Some(m.message.rlength)
                } else {
                    Some(m.mlength).filter(|_| o.has(Options::UH_LOCAL_OFFSET_INC_MANIPULATED))
                };
                let moved = (local + step.unwrap_or(0)).min(entry.length);
                self.entries[at].local = moved;
                last |= step.is_some() && entry.length - moved < entry.min_free;
                last |= o.has(Options::MANAGE_LOCAL_STOP_IF_UH);
            }
            self.messages[i].claim = Some((entry, Some(at), last));
            if !self.messages[i].moving {
                self.hand_over(i);
            }
        }
        if last {
            self.release(at);
        } else {
            self.entries[at].linked = true;
            if !o.has(Options::EVENT_LINK_DISABLE) {
                self.post(format!("link {}", entry.user_ptr));
            }
        }
        Ok(())
    }

    fn search(&mut self, entry: Entry, search: Search) {
        let new = self.settings.revision == Revision::V4_3;
        let entry = if new { entry } else { Entry { ct: None, ..entry } };
        let o = entry.options;
        let fits = |m: &NaiveMessage| Naive::matches(&entry, &m.message, 0);
        let mut found = self.unexpected();
        found.retain(|&i| fits(&self.messages[i]));
        if o.has(Options::USE_ONCE) {
            found.truncate(1);
        }
        for &i in &found {
            let m = self.messages[i].clone();
            if search == Search::Delete {
                self.messages[i].claim = Some((entry, None, false));
                if !m.moving {
                    self.hand_over(i);
                }
                continue;
            }
            if !o.has(Options::EVENT_COMM_DISABLE) && !o.has(Options::EVENT_SUCCESS_DISABLE) {
                self.post(format!(
                    "search {} Ok at {} Overflow {} {}",
                    entry.user_ptr, m.entry, m.offset, m.mlength
                ));
            }
            self.count(&entry, Options::EVENT_CT_OVERFLOW, m.mlength, NiFail::Ok);
        }
        if found.is_empty() || new && !o.has(Options::USE_ONCE) {
            if !o.has(Options::EVENT_COMM_DISABLE) {
                self.post(format!("search {} NoMatch", entry.user_ptr));
            }
            self.count(&entry, Options::EVENT_CT_OVERFLOW, 0, NiFail::NoMatch);
        }
    }

    fn flow_control(&mut self, report: bool) -> NiFail {
        if !self.settings.flow_control {
            return NiFail::Dropped;
        }
        if self.enabled {
            self.enabled = false;
            self.report = report;
            self.report_if_idle();
        }
        NiFail::PtDisabled
    }

    fn report_if_idle(&mut self) {
        if self.report && !self.messages.iter().any(|m| m.moving) {
            self.report = false;
            self.post("pt_disabled".to_owned());
        }
    }

    fn arrive(&mut self, message: Message) -> Result<(usize, u64, u64), NiFail> {
        if !self.enabled {
            return Err(NiFail::PtDisabled);
        }
        let on = |list: List| (0..self.entries.len()).map(move |i| (list, i));
        let fits = |&(list, i): &(List, usize)| {
            let e = &self.entries[i];
            e.linked && e.list == list && Naive::matches(&e.entry, &message, e.local)
        };
        let found = on(List::Priority).chain(on(List::Overflow)).find(fits);
        let Some((list, at)) = found else { return Err(self.flow_control(true)) };
        let NaiveEntry { entry, local, .. } = self.entries[at].clone();
        let o = entry.options;
        if entry.uid.is_some() && entry.uid != Some(message.uid) {
            return Err(NiFail::PermViolation);
        }
        let (put, get) = (o.has(Options::OP_PUT), o.has(Options::OP_GET));
        let (permitted, grain) = match message.operation {
            Operation::Put => (put, 1),
            Operation::Get => (get, 1),
            Operation::Atomic(..) => (put, 4),
            Operation::FetchAtomic(..) => (put && get, 8),
        };
        if !permitted {
            return Err(NiFail::OpViolation);
        }
        let header = list == List::Overflow && !o.has(Options::UNEXPECTED_HDR_DISABLE);
        if header && self.unexpected().len() >= HEADERS {
            return Err(self.flow_control(!o.has(Options::EVENT_FLOWCTRL_DISABLE)));
        }
        let managed = Naive::local(&entry);
        let offset = if managed { local } else { message.remote_offset };
        let room = entry.length.saturating_sub(offset);
        let mlength = message.rlength.min(room) / grain * grain;
        let mut unlinks = o.has(Options::USE_ONCE);
        if managed {
            self.entries[at].local += mlength;
            unlinks |= entry.length - self.entries[at].local < entry.min_free;
        }
        self.entries[at].linked = !unlinks;
        let (moving, fail, claim) = (true, NiFail::Ok, None);
        let (entry, message) = (at, message);
        self.messages.push(NaiveMessage {
            message,
            entry,
            offset,
            mlength,
            unlinks,
            moving,
            fail,
            header,
            claim,
        });
        Ok((at, offset, mlength))
    }

    fn complete(&mut self, at: usize, fail: NiFail) {
        self.messages[at].moving = false;
        self.messages[at].fail = fail;
        let m = self.messages[at].clone();
        let entry = self.entries[m.entry].entry;
        self.communication(&entry, &m, false);
        if m.unlinks {
            self.unlinked(&entry);
        }
        self.hand_over(at);
        if let Some((_, Some(by), _)) = m.claim {
            self.release(by);
        }
        self.release(m.entry);
        self.report_if_idle();
    }

    fn unlink(&mut self, at: usize) -> Result<(), Refused> {
        if !self.entries[at].linked {
            return Err(Refused::NotLinked);
        }
        if self.used(at) {
            return Err(Refused::InUse);
        }
        self.entries[at].linked = false;
        self.entries[at].gone = true;
        Ok(())
    }
}

/// Both, with the names that the real one's numbers have in the naive one.
struct Pair {
    real: Portal,
    naive: Naive,
    ids: Vec<Id>,
    names: HashMap<Id, usize>,
    moving: Vec<(Id, usize)>,
}

fn text(effect: &Effect, names: &HashMap<Id, usize>) -> String {
    let event = match effect {
        Effect::Released(id) => return format!("released {}", names[id]),
        Effect::Add { count, .. } => return format!("count {} {}", count.success, count.failure),
        Effect::Post(event) => event,
    };
    let name = match event.kind {
        EventKind::Get => "get",
        EventKind::GetOverflow => "get_overflow",
        EventKind::Put => "put",
        EventKind::PutOverflow => "put_overflow",
        EventKind::Atomic => "atomic",
        EventKind::AtomicOverflow => "atomic_overflow",
        EventKind::FetchAtomic => "fetch",
        EventKind::FetchAtomicOverflow => "fetch_overflow",
        EventKind::PtDisabled => return "pt_disabled".to_owned(),
        EventKind::Link => return format!("link {}", event.user_ptr),
        EventKind::AutoUnlink => return format!("auto_unlink {}", event.user_ptr),
        EventKind::AutoFree => return format!("auto_free {}", event.user_ptr),
        EventKind::Search => "search",
    };
    let place = event.body.map_or(String::new(), |b| {
        format!(" at {} {:?} {} {}", names[&b.entry], b.list, b.offset, b.mlength)
    });
    format!("{name} {} {:?}{place}", event.user_ptr, event.fail)
}

impl Pair {
    fn new(settings: Settings) -> Pair {
        let naive = Naive {
            settings,
            enabled: true,
            report: false,
            entries: Vec::new(),
            messages: Vec::new(),
            log: Vec::new(),
        };
        let (ids, names) = (Vec::new(), HashMap::new());
        Pair { real: Portal::new(settings), naive, ids, names, moving: Vec::new() }
    }

    fn append(&mut self, entry: Entry, list: List, out: &mut Vec<Effect>) {
        let real = self.real.append(entry, list, out);
        assert_eq!(real.map(|_| ()), self.naive.append(entry, list));
        if let Ok(id) = real {
            self.names.insert(id, self.ids.len());
            self.ids.push(id);
        }
    }

    fn arrive(&mut self, message: Message, out: &mut Vec<Effect>) {
        let room = self.real.unexpected_headers() < HEADERS;
        let real = match self.real.arrive(message, room, out) {
            Verdict::Refuse(fail) => Err(fail),
            Verdict::Deliver(d) => {
                self.moving.push((d.id, self.naive.messages.len()));
                Ok((self.names[&d.entry], d.offset, d.mlength))
            }
        };
        assert_eq!(real, self.naive.arrive(message));
    }

    /// Does the step on both and compares what came out.
    fn step(&mut self, step: Step) {
        let mut out = Vec::new();
        match step {
            Step::Append(entry, list) => {
                let user_ptr = 1000 + self.ids.len() as u64;
                self.append(Entry { user_ptr, ..entry }, list, &mut out);
            }
            Step::Search(entry, search) => {
                self.real.search(entry, search, &mut out);
                self.naive.search(entry, search);
            }
            Step::Arrive(message) => self.arrive(message, &mut out),
            Step::Complete(which, fail) if !self.moving.is_empty() => {
                let (id, at) = self.moving.remove(which % self.moving.len());
                assert!(self.real.complete(id, fail, &mut out));
                assert!(!self.real.complete(id, fail, &mut out), "twice");
                self.naive.complete(at, fail);
            }
            Step::Unlink(which) if !self.ids.is_empty() => {
                let at = which % self.ids.len();
                assert_eq!(self.real.unlink(self.ids[at]), self.naive.unlink(at));
            }
            Step::Complete(..) | Step::Unlink(_) => (),
            Step::Enable => {
                self.real.enable();
                self.naive.enabled = true;
            }
            Step::Disable => {
                self.real.disable();
                self.naive.enabled = false;
            }
            Step::Exhausted => {
                self.real.exhausted(&mut out);
                self.naive.flow_control(true);
            }
        }
        let found: Vec<String> = out.iter().map(|effect| text(effect, &self.names)).collect();
        assert_eq!(found, std::mem::take(&mut self.naive.log));
        assert_eq!(self.real.is_enabled(), self.naive.enabled);
        assert_eq!(self.real.is_idle(), self.moving.is_empty());
        assert_eq!(self.real.unexpected_headers(), self.naive.unexpected().len());
        let empty = self.naive.entries.iter().all(|e| e.gone)
            && !self.naive.messages.iter().any(|m| m.moving || m.header);
        assert_eq!(self.real.is_empty(), empty);
    }
}

fn options() -> impl Strategy<Value = Options> {
    // Each bit is set in a quarter of the entries; most permit what they are asked for.
    let bits = (any::<u32>(), any::<u32>(), 0u32..8);
    bits.prop_map(|(a, b, permit)| {
        let permitted = if permit > 0 { Options::OP_PUT | Options::OP_GET } else { Options(0) };
        Options(a & b & 0x7_ffff) | permitted
    })
}

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        4 => Just(Source::Logical(None)),
        1 => (0u32..2).prop_map(|rank| Source::Logical(Some(rank))),
        1 => (prop::option::of(0u32..2), prop::option::of(0u32..2))
            .prop_map(|(nid, pid)| Source::Physical { nid, pid }),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    let terms = (options(), source(), prop::option::weighted(0.1, 0u32..2), any::<bool>());
    let numbers = (0u64..40, 0u64..3, prop_oneof![Just(0u64), Just(1), Just(u64::MAX)], 0u64..20);
    let ct = Counters::<()>::new().alloc();
    (terms, numbers).prop_map(move |((options, source, uid, counts), numbers)| {
        let (length, match_bits, ignore_bits, min_free) = numbers;
        let ct = counts.then_some(ct);
        let user_ptr = 7;
        Entry { length, ct, uid, options, source, match_bits, ignore_bits, min_free, user_ptr }
    })
}

fn message() -> impl Strategy<Value = Message> {
    let operation = prop_oneof![
        3 => Just(Operation::Put),
        1 => Just(Operation::Get),
        1 => Just(Operation::Atomic(Op::Sum, Datatype::Int32)),
        1 => Just(Operation::FetchAtomic(Op::Min, Datatype::Double)),
    ];
    let offset = prop_oneof![4 => 0u64..30, 1 => Just(u64::MAX)];
    let numbers = (0u64..3, 0u64..30, offset, 0u32..2);
    (operation, numbers, 0u32..2, 0u32..2, 0u32..2).prop_map(
        |(operation, numbers, nid, pid, rank)| {
            let (match_bits, rlength, remote_offset, uid) = numbers;
            let initiator = Process { nid, pid, rank };
            Message { operation, initiator, uid, match_bits, hdr_data: 0, rlength, remote_offset }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let list = prop_oneof![Just(List::Priority), Just(List::Overflow)];
    let search = prop_oneof![Just(Search::Only), Just(Search::Delete)];
    let fail = prop_oneof![5 => Just(NiFail::Ok), 1 => Just(NiFail::Segv)];
    prop_oneof![
        5 => (entry(), list).prop_map(|(entry, list)| Step::Append(entry, list)),
        2 => (entry(), search).prop_map(|(entry, search)| Step::Search(entry, search)),
        8 => message().prop_map(Step::Arrive),
        7 => (any::<usize>(), fail).prop_map(|(which, fail)| Step::Complete(which, fail)),
        1 => any::<usize>().prop_map(Step::Unlink),
        1 => Just(Step::Enable),
        1 => Just(Step::Enable),
        1 => prop_oneof![Just(Step::Disable), Just(Step::Exhausted)],
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn as_the_naive_one(
        steps in prop::collection::vec(step(), 1..60),
        flow_control: bool,
        event_queue in prop::bool::weighted(0.9),
        new: bool,
    ) {
        let revision = if new { Revision::V4_3 } else { Revision::V4_0 };
        let settings = Settings { flow_control, event_queue, max_list_size: LIST, revision };
        let mut pair = Pair::new(settings);
        for step in steps {
            pair.step(step);
        }
    }
}
