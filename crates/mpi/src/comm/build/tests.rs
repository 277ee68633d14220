use super::*;
use hpvm_sim::{Config, Network, SimTransport};

/// A process whose waits fail from some number on.
struct Failing {
    network: Network,
    process: Process<SimTransport>,
    waits: u32,
}

impl Host for Failing {
    type T = SimTransport;

    fn with<R>(&mut self, f: impl FnOnce(&mut Process<SimTransport>) -> R) -> R {
        f(&mut self.process)
    }

    fn wait_only(&mut self, id: ReqId) -> Result<()> {
        if self.waits == 0 {
            return Err(Error::new(Class::Other, "the network is broken"));
        }
        self.waits -= 1;
        while self.process.requests().get(id).is_some_and(|r| !r.done) {
            self.network.settle();
            self.process.progress().map_err(|e| Error::new(Class::Other, e.to_string()))?;
        }
        Ok(())
    }
}

fn failing(waits: u32) -> Failing {
    let network = Network::new(Config::calm(2));
    let process = Process::new(network.endpoint(0));
    Failing { network, process, waits }
}

#[test]
fn no_receive_outlives_a_swap_whose_send_failed() {
    let mut host = failing(0);
    // So long a message waits for its receiver.
    let out = vec![7; 100_000];
    let via = TaggedComm::collective(&host.process.world().clone());
    let failed = swap_words(&mut host, &via, 1, &out, 8);
    assert!(failed.is_err_and(|e| e.to_string().contains("broken")));
    assert_eq!(
        host.process.queue_lengths(),
        (0, 0),
        "a receive is posted for a buffer that is gone"
    );
}

#[test]
fn what_an_operation_uses_is_left_to_it_when_waiting_fails() {
    let mut host = failing(0);
    let memory = Arc::new(());
    let id = host.process.begin_several(&host.process.world().clone(), 1, None);
    assert!(settle(&mut host, id, Arc::clone(&memory)).is_err());
    assert_eq!(Arc::strong_count(&memory), 2);
    let world = host.process.world().clone();
    let agreement = host.process.agree(&world, Channel::Collective, 0).unwrap();
    assert!(host.process.agreed(agreement).is_err(), "nobody else has agreed");
    assert!(host.process.requests().live() > 0, "its messages are on their way");
}

fn below_four(identity: u64) -> Option<Rank> {
    (identity < 4).then_some(identity as Rank)
}

#[test]
fn groups_of_peers_are_checked() {
    let members = group_of(&[3, 1], below_four).unwrap();
    assert_eq!(members.processes().collect::<Vec<_>>(), [3, 1]);
    for wrong in [[0, 4], [2, 2], [1, 1 << 32]] {
        let error = group_of(&wrong, below_four).expect_err("no such group");
        assert!(error.to_string().contains(&wrong[1].to_string()), "{error}");
    }
}

#[test]
fn nobody_makes_room_for_more_words_than_there_can_be() {
    let mut host = failing(u32::MAX);
    let via = TaggedComm::collective(&host.process.own().clone());
    assert_eq!(spread_words(&mut host, &via, 0, vec![5, 6], 2).unwrap(), [5, 6]);
    let error = spread_words(&mut host, &via, 0, vec![5, 6], 1).expect_err("too many");
    assert!(error.to_string().contains("2 words; expected at most 1"), "{error}");
}
