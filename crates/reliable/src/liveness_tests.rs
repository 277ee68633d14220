use super::*;

const LIMIT: Time = 60 * SECOND;
const HOST: u32 = 7;
const PEER: Peer = 3;

/// One process that looks, and what it believes.
struct Case {
    liveness: Liveness,
    now: Time,
    questions: u32,
    owed: Vec<Owed>,
}

impl Case {
    fn new(timeout: Time) -> Case {
        let now = 1000 * SECOND;
        Case { liveness: Liveness::new(timeout), now, questions: 0, owed: vec![owed(PEER, now)] }
    }

    /// One round; who is asked answers `answers` at once.
    fn round(&mut self, answers: &[Answer]) -> Option<Loss> {
        self.now += self.liveness.limits().round;
        self.look(answers)
    }

    fn look(&mut self, answers: &[Answer]) -> Option<Loss> {
        let mut asked = 0;
        let loss = self.liveness.look(self.now, &self.owed, |_, _| {
            asked += 1;
            true
        });
        self.questions += asked;
        if asked > 0 {
            for answer in answers {
                self.liveness.answer(self.now, HOST, *answer);
            }
        }
        loss
    }

    /// Rounds for so long. Where it ended, if somebody was given up.
    fn rounds(&mut self, time: Time, answers: &[Answer]) -> Option<Loss> {
        let end = self.now + time;
        while self.now < end {
            if let Some(loss) = self.round(answers) {
                return Some(loss);
            }
        }
        None
    }
}

fn owed(peer: Peer, since: Time) -> Owed {
    Owed { peer, host: HOST, waits: Waits::Datagrams, since, heard: 0, host_heard: 0 }
}

#[test]
fn limits_are_ordered_whatever_the_timeout() {
    for ms in [1, 500, 2000, 2500, 60_000, 1_000_000_000] {
        let l = Limits::of(ms * 1_000_000);
        assert!(l.round > 0 && l.doubt <= l.timeout && l.patience <= l.timeout, "{l:?}");
        assert!(l.round <= l.ask_interval && l.doubt <= l.patience, "{l:?}");
    }
}

#[test]
fn a_host_that_answers_no_question_is_lost_after_the_limit() {
    let mut case = Case::new(LIMIT);
    assert_eq!(case.rounds(LIMIT - SECOND, &[]), None);
    let loss = case.rounds(2 * case.liveness.limits().ask_interval, &[]).expect("a loss");
    let Cause::HostSilent { silent, unanswered, heard } = loss.cause else { panic!("{loss:?}") };
    assert!(silent >= LIMIT && unanswered >= MIN_UNANSWERED && heard == 0, "{loss:?}");
}

#[test]
fn a_process_that_computes_for_a_week_lives_while_its_kernel_answers() {
    for answer in [Answer::Host(HOST), Answer::Process(PEER)] {
        let mut case = Case::new(LIMIT);
        assert_eq!(case.rounds(7 * 24 * 3600 * SECOND, &[answer]), None);
        let interval = case.liveness.limits().ask_interval;
        let most = 7 * 24 * 3600 * SECOND / interval + 1;
        assert!(u64::from(case.questions) <= most, "{} questions", case.questions);
    }
}

#[test]
fn any_rank_of_the_host_is_a_sign_of_life_of_it() {
    let mut case = Case::new(LIMIT);
    for _ in 0..100 {
        assert_eq!(case.rounds(LIMIT / 2, &[]), None);
        case.owed[0].host_heard = case.now;
    }
}

#[test]
fn a_port_that_refuses_for_the_whole_limit_is_nobodys() {
    let mut case = Case::new(LIMIT);
    let refused = [Answer::Host(HOST), Answer::Refused(PEER)];
    assert_eq!(case.rounds(LIMIT, &refused), None);
    let loss = case.rounds(LIMIT, &refused).expect("a loss");
    assert!(matches!(loss.cause, Cause::ProcessGone { refusals, .. } if refusals >= 3), "{loss:?}");
    // One that is there again now and then, or answers datagrams, is not.
    let mut case = Case::new(LIMIT);
    for _ in 0..50 {
        assert_eq!(case.rounds(LIMIT / 2, &refused), None);
        case.liveness.answer(case.now, HOST, Answer::Process(PEER));
        assert_eq!(case.rounds(LIMIT / 2, &refused), None);
        case.owed[0].heard = case.now;
        case.owed[0].host_heard = case.now;
    }
}

#[test]
fn time_in_which_nobody_looked_is_no_silence() {
    let mut case = Case::new(LIMIT);
    assert_eq!(case.rounds(LIMIT / 2, &[]), None);
    // Stopped, or computing itself, for many times the limit; nobody has answered since.
    case.now += 100 * LIMIT;
    assert_eq!(case.look(&[]), None);
    assert_eq!(case.rounds(LIMIT / 3, &[]), None);
    assert!(case.rounds(LIMIT, &[]).is_some(), "silence goes on");
    // The first look at something that is owed for long.
    let mut case = Case::new(LIMIT);
    case.now += 100 * LIMIT;
    assert_eq!(case.look(&[]), None);
    assert_eq!(case.rounds(LIMIT / 2, &[]), None);
}

#[test]
fn nobody_is_given_up_without_several_questions() {
    // So short a limit that it passes between two looks.
    let mut case = Case::new(2);
    let mut looks = 0;
    while case.look(&[]).is_none() {
        case.now += SECOND;
        looks += 1;
    }
    assert!(looks >= MIN_UNANSWERED && case.questions >= MIN_UNANSWERED, "{looks} looks");
    // Nor when no question could be asked.
    let mut liveness = Liveness::new(LIMIT);
    for second in 0..1000 {
        let owed = [owed(PEER, 0)];
        assert_eq!(liveness.look(second * SECOND, &owed, |_, _| false), None);
    }
}

#[test]
fn datagrams_do_not_prove_that_connections_get_through() {
    let mut case = Case::new(LIMIT);
    case.owed[0].waits = Waits::Connection;
    let loss = case.rounds(2 * LIMIT, &[]).expect("a loss");
    assert_eq!(loss.waits, Waits::Connection);
    let mut case = Case::new(LIMIT);
    case.owed[0].waits = Waits::Connection;
    assert_eq!(case.rounds(100 * LIMIT, &[Answer::Host(HOST)]), None);
}

#[test]
fn many_silent_peers_of_a_host_cost_one_question_about_it_and_a_few_about_them() {
    let mut case = Case::new(LIMIT);
    let start = case.now;
    case.owed = (0..1000).map(|peer| owed(peer, start)).collect();
    let (mut hosts, mut ports) = (0, vec![0; 1000]);
    while case.now < start + LIMIT {
        case.now += case.liveness.limits().round;
        let before: u32 = ports.iter().sum();
        let loss = case.liveness.look(case.now, &case.owed, |owed, host| {
            hosts += u32::from(host);
            ports[owed.peer as usize] += 1;
            true
        });
        case.liveness.answer(case.now, HOST, Answer::Host(HOST));
        assert_eq!(loss, None);
        assert!(ports.iter().sum::<u32>() - before <= MAX_ASKED_PER_LOOK as u32);
    }
    assert!(hosts <= 12, "{hosts} questions about one host");
    assert!(ports.iter().all(|n| *n > 0), "everybody has a turn");
}
