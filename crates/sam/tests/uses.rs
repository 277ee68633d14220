//! What the end of counted uses costs: who tells whom.

use hpvm_sam::{Head, Here, Kind, Machine, Name, Settings};

const VALUE: Name = Name { space: 7, key: 1 };

/// Rank 1, the home of all names and the writer, and the others.
fn machines(ranks: u32) -> Vec<Machine> {
    let settings = || Settings { home: Some(Box::new(|_, _| 1)), ..Settings::default() };
    (0..ranks).map(|rank| Machine::new(rank, ranks, settings())).collect()
}

/// Delivers messages until there are none.
fn deliver(all: &mut [Machine]) {
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for from in 0..all.len() {
            while let Some(message) = all[from].next_outgoing() {
                let to = &mut all[message.to as usize];
                let content = message.content.map(|content| {
                    to.store().copied(content.bytes()).expect("memory for a few bytes")
                });
                let bytes = content.as_ref().map_or(&[][..], |content| content.bytes());
                let here = to.receive_here(from as u32, &message.head, bytes).expect("memory");
                if here == Here::Kept {
                    to.receive(from as u32, &message.head, content).expect("no mistake");
                }
                moved = true;
            }
        }
    }
}

fn write(all: &mut [Machine], uses: u64) {
    let at = all[1].value_begin(VALUE, 8).expect("memory");
    // SAFETY: eight bytes of the value, which nobody reads before its end.
    unsafe { at.write_bytes(3, 8) };
    all[1].value_end(VALUE, uses).expect("begun");
}

fn use_it(all: &mut [Machine], rank: usize) {
    let begun = all[rank].use_begin(VALUE).expect("a value");
    if begun.is_none() {
        deliver(all);
        assert!(all[rank].use_begin(VALUE).expect("a value").is_some(), "it has come");
    }
    all[rank].use_end(VALUE).expect("begun");
}

/// A reader that has had all uses there were knows that its copy is over: nobody has to tell it.
#[test]
fn the_last_reader_throws_its_copy_away_by_itself() {
    for uses in 1..4 {
        let mut all = machines(2);
        write(&mut all, uses);
        for _ in 0..uses {
            use_it(&mut all, 0);
        }
        assert_eq!((all[0].census().copies, all[0].census().bytes), (0, 0));
        deliver(&mut all);
        assert_eq!(all[1].census().owned, 0);
        assert_eq!(all[0].counters().messages, uses, "it asks once, and tells of other uses");
        assert_eq!(all[1].counters().messages, 1, "the value alone");
    }
}

/// Who may not have had the last use is told when the value goes.
#[test]
fn other_readers_are_told() {
    let mut all = machines(3);
    write(&mut all, 2);
    use_it(&mut all, 0);
    assert_eq!(all[0].census().copies, 1);
    use_it(&mut all, 2);
    assert_eq!(all[2].census().copies, 0, "one use was left when it came");
    deliver(&mut all);
    assert_eq!((all[0].census().copies, all[1].census().owned), (0, 0));
    assert_eq!(all[1].counters().messages, 3, "two values, and one end");
}

/// A use that a program waits for is counted when the value leaves: its end needs no message.
#[test]
fn a_use_that_is_waited_for_is_not_reported() {
    let mut all = machines(3);
    write(&mut all, 2);
    use_it(&mut all, 0);
    deliver(&mut all);
    assert_eq!(all[0].counters().messages, 1, "the request");
    assert_eq!(all[1].census().owned, 1, "one use is left");
    // What is only prefetched may never be used.
    assert!(all[2].prefetch(VALUE).expect("a name"));
    deliver(&mut all);
    assert_eq!(all[1].census().owned, 1);
    use_it(&mut all, 2);
    deliver(&mut all);
    assert_eq!((all[2].counters().messages, all[1].census().owned), (2, 0));
}

/// The value may go at its owner while a use goes on that was granted, before it begins and while it is under way.
#[test]
fn a_granted_use_outlives_the_value() {
    for begins_first in [false, true] {
        let mut all = machines(3);
        write(&mut all, 2);
        assert!(all[0].use_begin(VALUE).expect("a value").is_none());
        deliver(&mut all);
        let mut place = begins_first.then(|| all[0].use_begin(VALUE).expect("a value")).flatten();
        use_it(&mut all, 2);
        deliver(&mut all);
        assert_eq!(all[1].census().owned, 0, "it has gone");
        if !begins_first {
            place = all[0].use_begin(VALUE).expect("a value");
        }
        let (at, len) = place.expect("it has come");
        // SAFETY: the value in use.
        assert_eq!(unsafe { core::slice::from_raw_parts(at, len) }, [3; 8]);
        all[0].use_end(VALUE).expect("begun");
        deliver(&mut all);
        assert_eq!((all[0].census().copies, all[0].census().bytes), (0, 0));
        assert_eq!(all[0].counters().messages, 1, "the request");
    }
}

/// What was granted stays, whatever else comes.
#[test]
fn a_granted_copy_is_not_thrown_away_before_its_use() {
    let mut all = machines(2);
    all[0].set_cache(0);
    write(&mut all, 2);
    assert!(all[0].use_begin(VALUE).expect("a value").is_none());
    deliver(&mut all);
    all[0].set_cache(0);
    assert!(all[0].use_begin(VALUE).expect("a value").is_some());
    all[0].use_end(VALUE).expect("begun");
    assert_eq!(all[0].census().copies, 0, "there is no room for it any more");
}

/// A home remembers the last 65,536 names of objects that are gone, and the oldest one makes room: its name is as one
/// that was never used.
#[test]
fn a_home_remembers_so_many_names_that_are_gone() {
    const REMEMBERED: u64 = 65_536;
    let mut all = machines(2);
    let name = |key| Name::new(8, key);
    let use_up = |all: &mut [Machine], key| {
        all[1].value_begin(name(key), 8).expect("memory");
        all[1].value_end(name(key), 1)?;
        assert!(all[1].use_begin(name(key)).expect("a value").is_some());
        all[1].use_end(name(key))
    };
    for key in 0..REMEMBERED {
        use_up(&mut all, key).expect("a new name");
    }
    let again = all[1].use_begin(name(0)).expect_err("the oldest one that is remembered");
    assert!(again.to_string().contains("8:0, which is gone"), "{again}");
    let mut all = machines(2);
    for key in 0..=REMEMBERED {
        use_up(&mut all, key).expect("a new name");
    }
    assert!(all[0].use_begin(name(1)).expect("it is asked for").is_none());
    assert!(all[1].use_begin(name(0)).expect("a name like any other").is_none(), "it waits");
    // It may be written again, and is used up and remembered once more.
    use_up(&mut all, 0).expect("forgotten");
    let again = use_up(&mut all, 0).expect_err("a name is used once");
    assert!(
        again.to_string().contains("value 8:0, written by rank 1, was there before"),
        "{again}"
    );
}

/// What no correct peer sends is left for `receive`, which says what is wrong.
#[test]
fn what_is_shown_where_it_lies_is_checked() {
    let value = Head { a: 1, b: 1, len: 3, ..Head::new(Kind::Value, VALUE) };
    let fetch = Head { a: 1, ..Head::new(Kind::Fetch, VALUE) };
    let refused = |machine: &mut Machine, from: u32, head: &Head, bytes: &[u8]| {
        let here = machine.receive_here(from, head, bytes).expect("nothing is done");
        assert_eq!(here, Here::Kept, "{head:?} of {from}");
        let content = head.kind.carries().then(|| machine.store().copied(bytes).expect("memory"));
        machine.receive(from, head, content).expect_err("a mistake");
    };
    let mut all = machines(2);
    write(&mut all, 1);
    deliver(&mut all);
    // Of nobody, and of this rank itself.
    refused(&mut all[1], 2, &fetch, &[]);
    refused(&mut all[1], 1, &fetch, &[]);
    // Another length than the head says.
    refused(&mut all[0], 1, &value, &[1, 2]);
    // A use that is granted to a program that does not wait.
    assert!(all[0].prefetch(VALUE).expect("asked for"));
    refused(&mut all[0], 1, &value, &[1, 2, 3]);
    // A second owner.
    let value = Head { len: 8, ..value };
    refused(&mut all[1], 0, &value, &[0; 8]);
}
