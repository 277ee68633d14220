//! Rails that break and rise at bad moments, step by step.

use hpvm_bulk::{Action, Bulk, ConnId, Done, Input, Settings};

/// Streams whose bytes do not matter.
type End = Bulk<()>;

const LEN: u64 = 1000;

/// Moves all that `a` has to say over a connection that `b` calls `there`.
fn carry((a, here): (&mut End, ConnId), (b, there): (&mut End, ConnId), now: u64) {
    while let Some(output) = a.output(here) {
        let mut bytes = output.head.to_vec();
        let body = output.body.map_or(0, |(_, _, len)| len);
        bytes.resize(bytes.len() + body, 0);
        a.wrote(here, bytes.len(), now);
        take((b, there), &bytes, now);
    }
}

/// `bytes` come.
fn take((end, conn): (&mut End, ConnId), mut bytes: &[u8], now: u64) {
    loop {
        let n = match end.input(conn) {
            Input::Have { bytes, .. } => Err(bytes.len()),
            Input::Ready(n) => Err(n),
            Input::Gone => return,
            Input::Bytes(into) => {
                let n = into.len().min(bytes.len());
                into[..n].copy_from_slice(&bytes[..n]);
                Ok(n)
            }
            Input::Memory { len, then, .. } => {
                let n = bytes.len().min(len + then.len());
                let behind = n.saturating_sub(len);
                then[..behind].copy_from_slice(&bytes[n - behind..n]);
                Ok(n)
            }
            Input::Drop(len) => Ok(len.min(bytes.len())),
        };
        match n {
            Ok(0) => return,
            Ok(n) => bytes = &bytes[n..],
            Err(_) => {}
        }
        let (Ok(n) | Err(n)) = n;
        end.read(conn, n, now);
    }
}

/// The next connection that `end` wants, and its rail.
fn wanted(end: &mut End) -> (ConnId, u8) {
    while let Some(action) = end.action() {
        if let Action::Connect { conn, rail, .. } = action {
            return (conn, rail);
        }
    }
    panic!("no connection is wanted");
}

/// Connects, up to the proof that the accepting end believes; it has not been heard yet.
fn prove(c: (&mut End, ConnId), a: &mut End, nonce: u8, now: u64) -> ConnId {
    let (c, conn) = c;
    c.connected(conn, [nonce; 16]);
    let theirs = a.accepted([nonce + 100; 16], now);
    carry((c, conn), (a, theirs), now);
    carry((a, theirs), (c, conn), now);
    carry((c, conn), (a, theirs), now);
    theirs
}

#[test]
fn an_old_question_is_answered_though_the_rail_has_risen_meanwhile() {
    let settings = Settings {
        chunk: LEN as u32 / 2,
        share: LEN as u32 / 2,
        pause: 10,
        longest_pause: 10,
        patience: 5,
        ..Settings::default()
    };
    let [mut c, mut a]: [End; 2] =
        [0, 1].map(|rank| Bulk::new(rank, 2, &[7; 16], settings.clone()));
    a.stream_in(0, 1, (), (LEN, LEN), 77, 0, |_, _, _| ());
    c.set_rails(1, 2, 0);
    c.stream_out(1, 1, (), LEN, 0);
    let mut rails = Vec::new();
    for nonce in 0..2 {
        let (conn, rail) = wanted(&mut c);
        assert_eq!(rail, nonce);
        let theirs = prove((&mut c, conn), &mut a, nonce, 0);
        let welcome = a.output(theirs).expect("a welcome").head.to_vec();
        a.wrote(theirs, welcome.len(), 0);
        take((&mut c, conn), &welcome, 0);
        rails.push((conn, theirs));
    }
    // What goes over the second rail is lost.
    let output = c.output(rails[1].0).expect("a chunk");
    let n = output.head.len() + output.body.map_or(0, |(_, _, len)| len);
    c.wrote(rails[1].0, n, 0);
    c.broken(rails[1].0, 1);
    a.broken(rails[1].1, 1);

    // The next attempt fails, and it is asked how far that rail came.
    c.tick(11);
    let (conn, _) = wanted(&mut c);
    c.broken(conn, 12);
    c.tick(22);
    // The next but one rises at one end only, before the question comes.
    let (conn, _) = wanted(&mut c);
    let theirs = prove((&mut c, conn), &mut a, 50, 22);
    c.broken(conn, 23);
    let (here, there) = rails[0];
    for now in 24..26 {
        carry((&mut c, here), (&mut a, there), now);
        a.tell(true, now);
        carry((&mut a, there), (&mut c, here), now);
    }
    a.broken(theirs, 30);
    assert_eq!((a.done(), c.done()), (Some(Done::Came(77)), Some(Done::Gone(1))));
}
