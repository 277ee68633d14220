use super::*;
use std::cell::Cell;

thread_local! {
    /// How often a pattern was asked whether it accepts a message.
    pub(super) static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn message(src: Rank, tag: i32, n: usize) -> Unexpected {
    Unexpected { src, tag, content: Content::Eager(vec![0; n].into()) }
}

/// Ten thousand receives or messages, met in the order in which a search takes longest.
#[test]
fn ten_thousand_are_found_without_looking_at_all_of_them() {
    const MANY: i32 = 10_000;
    let mut table = Table::default();
    let request = |tag: i32| ReqId::from_number(tag as u64);
    (0..MANY).for_each(|tag| table.post(Pattern { src: 1, tag }, request(tag)));
    assert_eq!(table.lengths(), (MANY as usize, 0));
    ASKED.set(0);
    (0..MANY).rev().for_each(|tag| assert_eq!(table.arrive(1, tag), Some(request(tag))));
    (0..MANY).for_each(|tag| table.keep(message(1, tag, 0)));
    for tag in (0..MANY).rev() {
        let pattern = Pattern { src: ANY_PROCESS, tag };
        assert_eq!(table.peek(pattern).map(|m| m.tag), Some(tag));
        assert_eq!(table.take(pattern).map(|m| m.tag), Some(tag));
    }
    assert!(table.nothing_posted() && table.nothing_unexpected());
    let asked = ASKED.get() / MANY as u64;
    assert!(asked < 10, "{asked} entries were looked at for each message");
}

/// The queues as a list says that they are.
#[derive(Default)]
struct Model {
    posted: Vec<(Pattern, ReqId)>,
    unexpected: Vec<(Rank, i32, usize)>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn long_and_short_queues_match_as_a_list_does() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let (mut table, mut model) = (Table::default(), Model::default());
        // Queues grow in one half of the time and shrink in the other.
        for step in 0..2000u64 {
            let grows = step / 250 % 2 == 0;
            let (src, tag) = (random.below(3) as Rank, random.below(40) as i32);
            let pattern = Pattern {
                src: if random.below(5) == 0 { ANY_PROCESS } else { src },
                tag: if random.below(5) == 0 { ANY_TAG } else { tag },
            };
            let first = |p: Pattern, m: &Model| {
                m.unexpected.iter().position(|(src, tag, _)| p.accepts(*src, *tag))
            };
            match random.below(if grows { 4 } else { 8 }) {
                0 | 1 => {
                    let id = ReqId::from_number(step);
                    table.post(pattern, id);
                    model.posted.push((pattern, id));
                }
                2 | 3 => {
                    table.keep(message(src, tag, step as usize));
                    model.unexpected.push((src, tag, step as usize));
                }
                4 | 5 => {
                    let index = model.posted.iter().position(|(p, _)| p.accepts(src, tag));
                    let expected = index.map(|i| model.posted.remove(i).1);
                    assert_eq!(table.arrive(src, tag), expected, "seed {seed}, step {step}");
                }
                6 if step % 2 == 0 && !model.posted.is_empty() => {
                    let index = random.below(model.posted.len() as u64) as usize;
                    let (pattern, id) = model.posted.remove(index);
                    assert!(table.withdraw(pattern, id) && !table.withdraw(pattern, id));
                }
                _ => {
                    let index = first(pattern, &model);
                    let expected = index.map(|i| model.unexpected[i].2 as u64);
                    let peeked = table.peek(pattern).map(Unexpected::bytes);
                    assert_eq!(peeked, expected, "seed {seed}, step {step}");
                    let taken = table.take(pattern).map(|m| m.bytes());
                    assert_eq!(taken, expected, "seed {seed}, step {step}");
                    index.map(|i| model.unexpected.remove(i));
                }
            }
            assert_eq!(table.lengths(), (model.posted.len(), model.unexpected.len()));
        }
        let left: Vec<_> = table.unexpected().map(|m| m.bytes() as usize).collect();
        assert_eq!(left, model.unexpected.iter().map(|m| m.2).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn what_was_taken_leaves_no_memory_behind() {
    let mut table = Table::default();
    for n in 0..100 {
        table.keep(message(0, n, 0));
    }
    // Always by tag: what stays behind under the source is dropped from time to time.
    for n in 100..100_000 {
        table.keep(message(0, n, 0));
        assert!(table.take(Pattern { src: ANY_PROCESS, tag: n - 100 }).is_some());
    }
    let long = table.long_unexpected.as_ref().expect("a hundred messages");
    assert!(long.numbers() <= 6 * 101, "{} numbers for 100 messages", long.numbers());
}
