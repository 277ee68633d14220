//! Which events this machine offers to this user, and a sentence about those that it does not.

use crate::counter::Counter;
use crate::events::{Event, Kind, OF_THE_KERNEL};
use crate::target::Start;
use std::io;

/// What can be counted here.
#[derive(Debug)]
pub struct Offer {
    pub events: Vec<Event>,
    /// The program only, not what the kernel does for it.
    pub user_only: bool,
    /// For people: what is not counted, why, and what to do.
    pub notes: Vec<String>,
}

impl Offer {
    /// Tries each of `events` on this thread, without counting.
    pub fn of(events: Vec<Event>) -> Offer {
        let try_all =
            |user_only| events.iter().map(|event| errno(try_one(event, user_only))).collect();
        let with_kernel: Vec<i32> = try_all(false);
        let refused =
            |errors: &[i32]| errors.iter().any(|e| matches!(*e, libc::EACCES | libc::EPERM));
        let user_only = refused(&with_kernel);
        let mut errors = if user_only { try_all(true) } else { with_kernel };
        for (event, error) in events.iter().zip(&mut errors) {
            // They would be counted as none: they happen in the kernel.
            if user_only && *error == 0 && OF_THE_KERNEL.contains(&&*event.name) {
                *error = libc::EACCES;
            }
        }
        let notes = notes(&events, &errors, user_only, paranoid());
        let both = events.into_iter().zip(errors);
        let events = both.filter(|(_, error)| *error == 0).map(|(event, _)| event).collect();
        Offer { events, user_only, notes }
    }
}

fn try_one(event: &Event, user_only: bool) -> io::Result<()> {
    Counter::open(event, 0, Start::AtExec, None, user_only).map(drop)
}

fn errno(tried: io::Result<()>) -> i32 {
    tried.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EINVAL))
}

/// `kernel.perf_event_paranoid`, if the kernel has it.
fn paranoid() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// What errors, one for each event and 0 for none, say in sentences.
fn notes(events: &[Event], errors: &[i32], user_only: bool, paranoid: Option<i32>) -> Vec<String> {
    let of = |kind| {
        let both = events.iter().zip(errors);
        both.filter(move |(event, _)| event.kind == kind).map(|(_, error)| *error)
    };
    let forbidden = |error: &i32| matches!(*error, libc::EACCES | libc::EPERM);
    let level = paranoid.map_or_else(
        || "this kernel has no kernel.perf_event_paranoid".to_string(),
        |level| format!("kernel.perf_event_paranoid is {level}"),
    );
    let mut notes = Vec::new();
    if events.iter().zip(errors).all(|(_, error)| *error == libc::ENOSYS) && !events.is_empty() {
        notes.push("this kernel was built without performance events (CONFIG_PERF_EVENTS)".into());
        return notes;
    }
    if !errors.contains(&0) && errors.iter().any(forbidden) {
        notes.push(format!(
            "the kernel permits no events: {level}; sysctl kernel.perf_event_paranoid=2 permits them for own programs \
             (in a container also its seccomp profile, or --cap-add PERFMON)"
        ));
        return notes;
    }
    let mut hardware = of(Kind::Hardware).peekable();
    if hardware.peek().is_some() && hardware.all(|error| error != 0) {
        notes.push(match of(Kind::Hardware).any(|error| forbidden(&error)) {
            true => format!("hardware events are not permitted: {level}; sysctl kernel.perf_event_paranoid=2 permits them"),
            false => "this machine shows no hardware counters (many virtual machines pass none on), so software events \
                      only are counted"
                .into(),
        });
    }
    if user_only {
        notes.push(format!(
            "what the kernel does for the program, and {}, are not counted: {level}; sysctl kernel.perf_event_paranoid=1 \
             or the capability CAP_PERFMON permits it",
            OF_THE_KERNEL.join(", ")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{software, usual};

    fn notes_of(software_error: i32, hardware_error: i32, user_only: bool, level: i32) -> String {
        let events: Vec<_> = software().into_iter().chain(usual()).collect();
        let error = |event: &Event| match event.kind {
            Kind::Software => software_error,
            Kind::Hardware => hardware_error,
        };
        let errors: Vec<_> = events.iter().map(error).collect();
        notes(&events, &errors, user_only, Some(level)).join("\n")
    }

    #[test]
    fn each_reason_has_its_sentence() {
        assert_eq!(notes_of(0, 0, false, -1), "");
        assert!(notes_of(0, libc::ENOENT, false, -1).contains("no hardware counters"));
        assert!(notes_of(libc::ENOSYS, libc::ENOSYS, false, 2).contains("CONFIG_PERF_EVENTS"));
        let none = notes_of(libc::EACCES, libc::EACCES, true, 4);
        assert!(none.contains("is 4") && none.contains("perf_event_paranoid=2"), "{none}");
        let text = notes_of(0, 0, true, 2);
        assert!(
            text.contains("context-switches") && text.contains("perf_event_paranoid=1"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
        assert_eq!(notes_of(0, libc::ENOENT, true, 2).lines().count(), 2);
    }

    #[test]
    fn what_is_offered_can_be_counted() {
        let offer = Offer::of(software());
        assert_eq!(offer.events.is_empty() || offer.user_only, !offer.notes.is_empty());
        for event in &offer.events {
            try_one(event, offer.user_only).expect(&event.name);
        }
    }
}
