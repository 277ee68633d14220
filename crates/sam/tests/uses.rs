//! What the end of counted uses costs: who tells whom.

use hpvm_sam::{Machine, Name, Settings};

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
                let content = message.content.map(|content| {
                    hpvm_sam::Buffer::copied(content.bytes()).expect("memory for a few bytes")
                });
                let to = &mut all[message.to as usize];
                to.receive(from as u32, &message.head, content).expect("no mistake");
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
        assert_eq!(all[0].counters().messages, 1 + uses, "it asks once, and tells of each use");
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
    deliver(&mut all);
    use_it(&mut all, 2);
    assert_eq!(all[2].census().copies, 0, "one use was left when it came");
    deliver(&mut all);
    assert_eq!((all[0].census().copies, all[1].census().owned), (0, 0));
    assert_eq!(all[1].counters().messages, 3, "two values, and one end");
}
