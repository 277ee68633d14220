use hpvm_queue::job::Outcome;
use ratatui::crossterm::event::KeyCode::{Char, Down, End, Enter, Esc, Home, Up};

use super::*;

const NOW: Stamp = Stamp(1_000_000);

fn job(id: i64, name: &str, state: State) -> JobSummary {
    JobSummary {
        id,
        name: name.into(),
        user: if id % 2 == 0 { "ann" } else { "bob" }.into(),
        state,
        outcome: (state == State::Ended).then(|| Outcome::exit(i32::from(id > 5))),
        reason: None,
        estimated_start: None,
        ranks: u32::try_from(id).unwrap(),
        hosts: vec!["N1".into()],
        submitted: NOW,
        started: (state == State::Running).then(|| Stamp(NOW.0 - 1000 * id)),
        ended: None,
        time_limit_seconds: None,
        queue: "main".into(),
        priority: 0,
        array: None,
        cancelling: false,
        restarts: 0,
        last_failure: None,
        eligible: None,
        waiting: None,
    }
}

fn model() -> Model {
    let mut model = Model { me: "ann".into(), ..Model::default() };
    for (id, name, state) in [
        (1, "c", State::Pending),
        (2, "b", State::Running),
        (3, "a", State::Running),
        (4, "d", State::Held),
        (5, "good", State::Ended),
        (6, "bad", State::Ended),
    ] {
        model.hear(News::Job(job(id, name, state)));
    }
    model
}

fn ids(model: &Model) -> Vec<i64> {
    model.shown(NOW).iter().map(|job| job.id).collect()
}

fn keys(model: &mut Model, keys: &[KeyCode]) -> Act {
    keys.iter().fold(Act::Nothing, |_, key| model.key(*key, NOW))
}

/// However small a terminal is made, nothing breaks.
#[test]
fn every_size_of_screen() {
    use crate::cluster::top::draw::draw;
    use ratatui::{Terminal, backend::TestBackend};

    let mut model = model();
    for key in [Down, Char('?'), Esc, Char('/'), Esc, Char('c')] {
        model.key(key, NOW);
        for (width, height) in [(0, 0), (1, 1), (3, 2), (20, 5), (80, 24), (300, 100)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| draw(frame, &model, NOW)).unwrap();
        }
    }
}

#[test]
fn orders() {
    let mut model = model();
    for (sort, expected) in [
        ("id", [1, 2, 3, 4]),
        ("name", [3, 2, 1, 4]),
        ("user", [2, 4, 1, 3]),
        ("state", [2, 3, 1, 4]),
        ("time", [3, 2, 1, 4]),
        ("ranks", [4, 3, 2, 1]),
    ] {
        assert_eq!(SORTS[model.sort], sort);
        assert_eq!(ids(&model), expected, "{sort}");
        model.key(Char('s'), NOW);
    }
    model.key(Char('r'), NOW);
    assert_eq!(ids(&model), [4, 3, 2, 1]);
    model.key(Char('a'), NOW);
    assert_eq!(ids(&model), [6, 5, 4, 3, 2, 1]);
}

#[test]
fn filters_are_those_of_the_page() {
    let mut model = model();
    for (text, expected) in [
        ("state:running", &[2, 3][..]),
        ("state:pending,held", &[1, 4]),
        ("state:failed", &[6]),
        ("state:done", &[5]),
        ("state:ended user:me", &[6]),
        ("user:ANN", &[2, 4]),
        ("name:B", &[2]),
        ("b", &[2]),
        ("host:n1 queue:main state:active b", &[2]),
        ("host:n2", &[]),
        ("6", &[6]),
        ("id:3", &[3]),
        ("array:3", &[]),
        ("  ", &[1, 2, 3, 4]),
    ] {
        model.filter = Filter::parse(text).unwrap();
        assert_eq!(ids(&model), expected, "{text}");
    }
    assert!(Filter::parse("colour:red").unwrap_err().contains("'colour'"));
    assert!(Filter::parse("state:red").unwrap_err().contains("'red'"));
}

#[test]
fn a_filter_is_typed() {
    let mut model = model();
    keys(&mut model, &[Char('/'), Char('i'), Char('d'), Char(':'), Char('q'), Enter]);
    assert_eq!(ids(&model), [] as [i64; 0], "q is text here");
    keys(&mut model, &[Char('/'), KeyCode::Backspace, Char('3'), Enter]);
    assert_eq!(ids(&model), [3]);
    keys(&mut model, &[Char('/'), Char(' '), Char('x'), Char(':'), Enter]);
    assert!(model.message.contains("expected state"), "{}", model.message);
    assert!(matches!(model.mode, Mode::Filter(_)), "it can be mended");
    keys(&mut model, &[Esc]);
    assert_eq!((ids(&model), &model.mode), (vec![3], &Mode::List));
}

#[test]
fn choosing() {
    let mut model = model();
    let chosen = |model: &Model| model.selected(NOW).map(|job| job.id);
    assert_eq!(chosen(&model), Some(2), "the first that runs");
    for (key, expected) in [(Down, 3), (Down, 4), (Down, 4), (Up, 3), (Home, 1), (Up, 1), (End, 4)]
    {
        model.key(key, NOW);
        assert_eq!(chosen(&model), Some(expected), "{key:?}");
    }
    model.hear(News::Removed(4));
    assert_eq!(chosen(&model), Some(2), "what was chosen is gone");
    model.hear(News::Snapshot(Snapshot {
        jobs: vec![],
        truncated: false,
        hosts: vec![],
        cursor: 1,
    }));
    assert_eq!(chosen(&model), None);
    assert_eq!(keys(&mut model, &[Down, Char('c')]), Act::Nothing);
}

#[test]
fn cancelling_asks_first() {
    let mut model = model();
    assert_eq!(keys(&mut model, &[Char('c')]), Act::Nothing);
    // What is asked about does not change with the list.
    model.hear(News::Removed(2));
    assert_eq!(model.mode, Mode::Confirm(2));
    assert_eq!(keys(&mut model, &[Enter]), Act::Nothing);
    assert_eq!((&model.mode, model.message.as_str()), (&Mode::List, "not cancelled"));
    assert_eq!(keys(&mut model, &[Char('c'), Char('y')]), Act::Cancel(3));
    keys(&mut model, &[Char('a'), End, Char('c')]);
    assert_eq!((&model.mode, model.message.as_str()), (&Mode::List, "job 6 has ended"));
    assert_eq!(keys(&mut model, &[Char('q')]), Act::Quit);
}

#[test]
fn what_has_ended_is_forgotten_in_the_end() {
    let mut model = model();
    for id in 7..=i64::try_from(ENDED_MAX).unwrap() + 7 {
        model.hear(News::Job(job(id, "x", State::Ended)));
    }
    assert_eq!(model.count(&[State::Ended]), ENDED_MAX);
    assert_eq!(ids(&model), [1, 2, 3, 4], "what has not ended stays");
}
