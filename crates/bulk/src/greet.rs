//! The four greetings: each side proves that it knows the key, bound to both nonces, both ranks,
//! the rail and the attempt; then both say how many chunks of the rail have come.

use crate::action::ConnId;
use crate::bulk::Bulk;
use crate::connection::{Open, Said, Stage};
use crate::flow::Close;
use crate::intake::Intake;
use crate::proof::equal;
use crate::rail::MAX_RAILS;
use crate::{Rank, Time};
use hpvm_wire::bulk::{GREETING, Greeting, GreetingKind};
use std::collections::VecDeque;

/// What proofs are for: they differ although they cover the same words.
const CHALLENGE: u8 = 1;
const PROOF: u8 = 2;
const WELCOME: u8 = 3;

impl<M> Bulk<M> {
    /// A connection that the caller was told to make is there. `nonce` as for `accepted`.
    pub fn connected(&mut self, id: ConnId, nonce: [u8; 16]) {
        let me = self.me;
        let Some((conn, peers)) = self.parts(id) else { return };
        let Some((to, rail)) = conn.peer else { return };
        let epoch = peers.get(&to).map_or(0, |p| p.rails[usize::from(rail)].epoch);
        let kind = GreetingKind::Hello;
        let hello = Greeting { kind, rail, from: me, to, epoch, value: nonce, tag: [0; 16] };
        let hello = hello.write();
        conn.say(&hello);
        conn.stage = Stage::Challenge { hello };
        // The other process may compute for as long as it likes; the kernel watches its host.
        conn.deadline = None;
    }

    /// A greeting has come as a whole.
    pub(crate) fn greet(&mut self, id: ConnId, now: Time) -> Result<(), Close> {
        let Some((conn, _)) = self.parts(id) else { return Ok(()) };
        let Some(bytes) = conn.head_in.first_chunk().copied() else { return Ok(()) };
        let greeting = Greeting::read(&bytes).ok_or(Close::Stranger)?;
        // Nobody speaks twice before he is answered.
        if !conn.unsaid().is_empty() {
            return Err(Close::Stranger);
        }
        match conn.stage {
            Stage::Hello { nonce } => self.on_hello(id, greeting, Said { hello: bytes, nonce }),
            Stage::Challenge { hello } => self.on_challenge(id, greeting, hello),
            Stage::Proof { said } => self.on_proof(id, greeting, said, now),
            Stage::Welcome { said } => self.on_welcome(id, greeting, said, now),
            Stage::Connecting | Stage::Open(_) => Ok(()),
        }
    }

    /// Somebody says who he is. He is answered, and nothing is believed.
    fn on_hello(&mut self, id: ConnId, hello: Greeting, said: Said) -> Result<(), Close> {
        let known = hello.from < hello.to && hello.to == self.me && hello.to < self.size;
        if hello.kind != GreetingKind::Hello || !known || hello.rail >= MAX_RAILS {
            return Err(Close::Stranger);
        }
        let tag = self.key.proof(CHALLENGE, &[&said.hello, &said.nonce]);
        let kind = GreetingKind::Challenge;
        let challenge = Greeting { kind, value: said.nonce, tag, ..hello };
        self.say(id, &challenge, Stage::Proof { said });
        Ok(())
    }

    /// The other end proves itself and challenges us.
    fn on_challenge(
        &mut self,
        id: ConnId,
        challenge: Greeting,
        hello: [u8; GREETING],
    ) -> Result<(), Close> {
        let said = Said { hello, nonce: challenge.value };
        let tag = self.key.proof(CHALLENGE, &[&hello, &said.nonce]);
        check(&challenge, GreetingKind::Challenge, &said, &tag)?;
        let (to, rail) = (challenge.to, challenge.rail);
        let count = self.peers.get(&to).map_or(0, |p| p.rails[usize::from(rail)].received);
        let value = Greeting::with_count(count);
        let tag = self.key.proof(PROOF, &[&hello, &said.nonce, &value]);
        let proof = Greeting { kind: GreetingKind::Proof, value, tag, ..challenge };
        self.say(id, &proof, Stage::Welcome { said });
        Ok(())
    }

    /// The connecting process proves itself and says what has come.
    fn on_proof(
        &mut self,
        id: ConnId,
        proof: Greeting,
        said: Said,
        now: Time,
    ) -> Result<(), Close> {
        let tag = self.key.proof(PROOF, &[&said.hello, &said.nonce, &proof.value]);
        check(&proof, GreetingKind::Proof, &said, &tag)?;
        let rank = proof.from;
        let rail = self.peer(rank, now).rail(proof.rail, now);
        if proof.epoch <= rail.epoch {
            return Err(Close::Stale);
        }
        // The peer has given up the old one; what it still holds is not read any more.
        if let Some(old) = rail.conn() {
            self.drop_conn(old, now, true);
        }
        self.rise(rank, proof.rail, id, proof.epoch, proof.count(), now)?;
        let received = self.peer(rank, now).rail(proof.rail, now).received;
        let value = Greeting::with_count(received);
        let tag = self.key.proof(WELCOME, &[&said.hello, &said.nonce, &proof.value, &value]);
        let welcome = Greeting { kind: GreetingKind::Welcome, value, tag, ..proof };
        if let Some((conn, _)) = self.parts(id) {
            conn.peer = Some((rank, proof.rail));
        }
        let stage = self.open(&said, false);
        self.say(id, &welcome, stage);
        self.opened(id);
        Ok(())
    }

    /// The other end has believed us and says what has come.
    fn on_welcome(
        &mut self,
        id: ConnId,
        welcome: Greeting,
        said: Said,
        now: Time,
    ) -> Result<(), Close> {
        let rank = welcome.to;
        let rail = self.peer(rank, now).rail(welcome.rail.min(MAX_RAILS - 1), now);
        let ours = Greeting::with_count(rail.received);
        let tag = self.key.proof(WELCOME, &[&said.hello, &said.nonce, &ours, &welcome.value]);
        check(&welcome, GreetingKind::Welcome, &said, &tag)?;
        self.rise(rank, welcome.rail, id, welcome.epoch, welcome.count(), now)?;
        let stage = self.open(&said, true);
        if let Some((conn, _)) = self.parts(id) {
            conn.stage = stage;
        }
        self.opened(id);
        Ok(())
    }

    /// Connection `id` is what rail `rail` uses from now on; `count` of our chunks have come over
    /// those before.
    fn rise(
        &mut self,
        rank: Rank,
        rail: u8,
        id: ConnId,
        epoch: u32,
        count: u64,
        now: Time,
    ) -> Result<(), Close> {
        let way = self.peer(rank, now).rail(rail, now);
        if !way.resume(count) {
            let what = format!("it has {count} chunks of a rail, more than went");
            return Err(Close::Nonsense(rank, what));
        }
        way.rose(id, epoch);
        let Some(peer) = self.peers.get_mut(&rank) else { return Ok(()) };
        peer.met = true;
        peer.come(rail, count, &mut self.done);
        self.wake(rank, now);
        Ok(())
    }

    fn open(&self, said: &Said, ours: bool) -> Stage {
        let [connecting, accepting] = self.key.session(&[&said.hello, &said.nonce]);
        let (tags_out, tags_in) =
            if ours { (connecting, accepting) } else { (accepting, connecting) };
        Stage::Open(Box::new(Open {
            tags_out,
            tags_in,
            control: VecDeque::new(),
            words: 0,
            empty: 0,
            empty_out: 0,
            writing: None,
            reading: None,
            intake: Intake::default(),
        }))
    }

    fn say(&mut self, id: ConnId, greeting: &Greeting, next: Stage) {
        if let Some((conn, _)) = self.parts(id) {
            conn.say(&greeting.write());
            conn.stage = next;
        }
    }
}

/// Whether `greeting` is the next of this conversation, by somebody who knows the key.
fn check(
    greeting: &Greeting,
    kind: GreetingKind,
    said: &Said,
    tag: &[u8; 16],
) -> Result<(), Close> {
    let hello = Greeting::read(&said.hello).ok_or(Close::Stranger)?;
    let same = Greeting { kind: hello.kind, value: hello.value, tag: hello.tag, ..*greeting };
    if greeting.kind == kind && same == hello && equal(&greeting.tag, tag) {
        Ok(())
    } else {
        Err(Close::Stranger)
    }
}
