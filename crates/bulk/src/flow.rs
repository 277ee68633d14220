//! Bytes in and out of connections.

use crate::action::{ConnId, Done, Input, Nonsense, Output, Settings};
use crate::bulk::Bulk;
use crate::connection::{Connection, Open, Part, Reading, Stage};
use crate::peer::Peer;
use crate::rail::MAX_RAILS;
use crate::{Rank, Time};
use hpvm_wire::bulk::{FRAME, Frame, FrameKind, GREETING};

/// Headers that are written together at most.
const TOGETHER: usize = 16;

/// Why a connection is closed.
pub(crate) enum Close {
    /// The other end is not who it says, or nobody we know.
    Stranger,
    /// It has proved itself, but this is not from it, or it is out of its mind.
    Forged,
    /// It is out of its mind, and there is no point in going on.
    Nonsense(Rank, String),
    /// There is a newer one.
    Stale,
}

impl<M> Bulk<M> {
    /// Where the next bytes of a connection belong.
    pub fn input(&mut self, id: ConnId) -> Input<'_, M> {
        let Some((conn, peers)) = self.parts(id) else { return Input::Gone };
        let open = match &mut conn.stage {
            Stage::Connecting => return Input::Drop(0),
            Stage::Open(open) => open,
            _ => return Input::Bytes(&mut conn.head_in[conn.have..]),
        };
        let Some(Reading { part, .. }) = open.reading else {
            return match open.intake.header() {
                Some(_) => Input::Ready(FRAME),
                None => Input::Bytes(open.intake.room()),
            };
        };
        let Some(peer) = conn.peer.and_then(|(rank, _)| peers.get_mut(&rank)) else {
            return Input::Gone;
        };
        let left = part.left as usize;
        let have = left.min(open.intake.bytes().len());
        let wanted = if have > 0 { have } else { left };
        match peer.streams.destination(part.number, part.offset, wanted) {
            Input::Memory { to, offset, len, .. } if have > 0 => {
                Input::Have { to, offset, bytes: &open.intake.bytes()[..len] }
            }
            Input::Memory { to, offset, len, .. } if len == left => {
                Input::Memory { to, offset, len, then: open.intake.room() }
            }
            _ if have > 0 => Input::Ready(have),
            other => other,
        }
    }

    /// `n` bytes have come, to where `input` said.
    pub fn read(&mut self, id: ConnId, n: usize, now: Time) {
        self.last_read = now;
        let Some((conn, _)) = self.parts(id) else { return };
        let outcome = match &mut conn.stage {
            Stage::Open(open) => match open.reading {
                Some(_) => {
                    self.read_body(id, n);
                    Ok(())
                }
                None => {
                    if open.intake.header().is_none() {
                        open.intake.came(n);
                    }
                    match open.intake.header().copied() {
                        Some(header) => self.on_frame(id, &header, now),
                        None => Ok(()),
                    }
                }
            },
            _ => {
                conn.have += n;
                if conn.have < GREETING {
                    return;
                }
                conn.have = 0;
                self.greet(id, now)
            }
        };
        match outcome {
            Ok(()) => self.note_ready(id),
            Err(close) => self.close(id, close, now),
        }
    }

    /// Writes down whether more can be taken of what has come.
    fn note_ready(&mut self, id: ConnId) {
        let is_ready = self.conn(id).and_then(Connection::open).is_some_and(Open::is_ready);
        match self.ready.iter().position(|other| *other == id) {
            None if is_ready => self.ready.push(id),
            Some(index) if !is_ready => {
                self.ready.swap_remove(index);
            }
            _ => {}
        }
    }

    /// `n` bytes have come where a chunk is coming: of what had come before, if there is something,
    /// or else of the chunk and what lies behind it.
    fn read_body(&mut self, id: ConnId, n: usize) {
        let Some((conn, peers)) = self.parts(id) else { return };
        let peer = conn.peer.and_then(|(rank, _)| peers.get_mut(&rank));
        let (Stage::Open(open), Some(peer)) = (&mut conn.stage, peer) else { return };
        let Some(Reading { part, .. }) = open.reading else { return };
        let of_chunk = n.min(part.left as usize);
        if open.intake.bytes().is_empty() {
            open.intake.came(n - of_chunk);
        } else {
            if let Input::Bytes(to) = peer.streams.destination(part.number, part.offset, of_chunk) {
                let n = of_chunk.min(to.len());
                to[..n].copy_from_slice(&open.intake.bytes()[..n]);
            }
            open.intake.skip(of_chunk);
        }
        self.read_chunk(id, of_chunk);
    }

    fn close(&mut self, id: ConnId, why: Close, now: Time) {
        match why {
            Close::Stranger => self.counters.strangers += 1,
            Close::Forged => self.counters.forged += 1,
            Close::Nonsense(peer, what) => self.give_up(Nonsense { peer, what }),
            Close::Stale => {}
        }
        self.drop_conn(id, now, true);
    }

    /// `n` more bytes of a chunk.
    fn read_chunk(&mut self, id: ConnId, n: usize) {
        let (most_untold, early) = (self.settings.most_untold, self.settings.early);
        let Some((conn, peers)) = self.parts(id) else { return };
        let peer = conn.peer.and_then(|(rank, rail)| Some((peers.get_mut(&rank)?, rail)));
        let (Stage::Open(open), Some((peer, rail))) = (&mut conn.stage, peer) else { return };
        let Some(reading) = &mut open.reading else { return };
        reading.part.offset += n as u64;
        reading.part.left -= n as u32;
        let Reading { part, len } = *reading;
        if let Some(early) = peer.streams.early(part.number) {
            early.have += n;
        }
        if part.left > 0 {
            return;
        }
        open.reading = None;
        let ended = peer.streams.landed(part.number, len);
        let goes_on = ended.is_none() && peer.streams.landing(part.number).is_some();
        let rail = &mut peer.rails[usize::from(rail)];
        match goes_on {
            true => rail.landed_part(len, u64::from(most_untold)),
            false => rail.landed(len, u64::from(most_untold)),
        }
        if let Some((cookie, total)) = ended {
            // The sender does not copy so much, and waits.
            let waits = total > u64::from(early);
            // Parts may have come over the others.
            peer.rails.iter_mut().for_each(|rail| rail.ended(waits));
            self.done.push_back(Done::Came(cookie));
        }
        self.counters.chunks_received += 1;
    }

    /// What is to be written to a connection next. The same again until `wrote` says more than 0.
    pub fn output(&mut self, id: ConnId) -> Option<Output<'_, M>> {
        let (conns, peers, settings) = self.writing_parts();
        let (generation, conn) = conns.get_mut(id.index as usize)?;
        let conn = conn.as_mut().filter(|_| *generation == id.generation)?;
        let peer = conn.peer;
        if let Some((rank, rail)) = peer
            && conn.unsaid().is_empty()
        {
            say_next(conn, peers.get_mut(&rank)?, rail, settings);
        }
        let body = match (&conn.stage, peer) {
            (Stage::Open(open), Some((rank, _))) => open.writing.and_then(|part| {
                let source = peers.get(&rank)?.streams.source(part.number)?;
                Some((&source.from, part.offset, part.left as usize))
            }),
            _ => None,
        };
        let head = conn.unsaid();
        let body = body.filter(|(_, _, len)| *len > 0);
        (!head.is_empty() || body.is_some()).then_some(Output { head, body })
    }

    /// `n` bytes of what `output` said have been written.
    pub fn wrote(&mut self, id: ConnId, n: usize, now: Time) {
        let Some((conn, peers)) = self.parts(id) else { return };
        let head = n.min(conn.unsaid().len());
        conn.head_done += head;
        let said = conn.unsaid().is_empty();
        let (Stage::Open(open), Some((rank, rail))) = (&mut conn.stage, conn.peer) else { return };
        // The peer may have some of the empty ones before the buffer is out.
        let empty_out = (conn.head_done / FRAME).saturating_sub(open.words).min(open.empty);
        let mut chunks = empty_out - core::mem::replace(&mut open.empty_out, empty_out);
        if let Some(part) = &mut open.writing {
            part.offset += (n - head) as u64;
            part.left -= (n - head) as u32;
            if part.left == 0 && said {
                open.writing = None;
                chunks += 1;
            }
        }
        let Some(peer) = peers.get_mut(&rank) else { return };
        peer.streams.moved = now;
        let rail = &mut peer.rails[usize::from(rail)];
        let again: u64 = (0..chunks).map(|_| u64::from(rail.wrote())).sum();
        self.counters.chunks_sent += chunks as u64;
        self.counters.resent += again;
    }

    /// Checks the header of a frame and acts on it.
    fn on_frame(&mut self, id: ConnId, header: &[u8; FRAME], now: Time) -> Result<(), Close> {
        let short = self.settings.short;
        let Some((conn, peers)) = self.parts(id) else { return Ok(()) };
        let Some((rank, rail)) = conn.peer else { return Ok(()) };
        let Some(peer) = peers.get_mut(&rank) else { return Ok(()) };
        let Stage::Open(open) = &mut conn.stage else { return Ok(()) };
        if !open.tags_in.verify(header) {
            return Err(Close::Forged);
        }
        open.intake.skip(FRAME);
        let frame = Frame::read(header).ok_or(Close::Forged)?;
        if !peer.rails[usize::from(rail)].may_have(frame.received) {
            let what = format!("it has {} chunks of a rail, which can't be", frame.received);
            return Err(Close::Nonsense(rank, what));
        }
        peer.streams.permit(frame.limit);
        peer.streams.moved = now;
        match frame.kind {
            FrameKind::Chunk => {
                open.reading = Some(check_chunk(rank, peer, &frame)?);
                open.intake.expect(frame.len, short);
                peer.rails[usize::from(rail)].begins(frame.known);
                let opens = frame.opening.filter(|o| peer.streams.order.opened(frame.number, *o));
                self.come(rank, rail, frame.received);
                if opens.is_some() {
                    self.hold(rank);
                    self.fresh = true;
                }
                if frame.len == 0 {
                    self.read_chunk(id, 0);
                }
                self.wake(rank, now);
                return Ok(());
            }
            FrameKind::Go => peer.streams.go_on(frame.number),
            FrameKind::Ack => {}
            FrameKind::Ask | FrameKind::Tell => self.on_control(id, frame, now)?,
        }
        self.come(rank, rail, frame.received);
        Ok(())
    }

    fn come(&mut self, rank: Rank, rail: u8, count: u64) {
        if let Some(peer) = self.peers.get_mut(&rank) {
            peer.come(rail, count, &mut self.done);
        }
    }

    /// Acts on a frame about another rail.
    fn on_control(&mut self, id: ConnId, frame: Frame, now: Time) -> Result<(), Close> {
        let me = self.me;
        let Some((conn, peers)) = self.parts(id) else { return Ok(()) };
        let Some((rank, own)) = conn.peer else { return Ok(()) };
        let Some(peer) = peers.get_mut(&rank) else { return Ok(()) };
        let (index, epoch) = (u64::from(frame.number as u32), (frame.number >> 32) as u32);
        let Some(rail) = peer.rails.get_mut(index as usize) else {
            return Err(Close::Nonsense(rank, format!("it speaks of rail {index}")));
        };
        if index == u64::from(own) {
            return Err(Close::Nonsense(rank, format!("it asks rail {index} for itself")));
        }
        if frame.kind == FrameKind::Ask {
            // The connecting end rises last: then the peer has risen since it asked. The other way
            // round it may never do so, and waits for the answer.
            if me < rank && rail.up().is_some() && u64::from(rail.epoch) > frame.offset {
                return Ok(());
            }
            // What that connection still holds is not read any more, so the count stands.
            let (old, offset) = (rail.conn(), rail.tell());
            let number = index | (frame.offset << 32);
            if let Some(old) = old {
                self.drop_conn(old, now, true);
            }
            let tell = Frame::bare(FrameKind::Tell, number, offset);
            return self.queue(id, rank, tell);
        }
        if rail.asked != Some((id, epoch)) {
            return Ok(());
        }
        rail.asked = None;
        if rail.up().is_some() {
            return Ok(());
        }
        if !rail.resume(frame.offset) {
            let what = format!("it has {} chunks of rail {index}, more than went", frame.offset);
            return Err(Close::Nonsense(rank, what));
        }
        self.come(rank, index as u8, frame.offset);
        if let Some(peer) = self.peers.get_mut(&rank)
            && let Some(rail) = peer.rails.get_mut(index as usize)
        {
            let chunks = rail.take_doubtful();
            self.counters.moved += chunks.len() as u64;
            peer.streams.again(chunks);
        }
        Ok(())
    }

    fn queue(&mut self, id: ConnId, rank: Rank, frame: Frame) -> Result<(), Close> {
        if let Some((conn, _)) = self.parts(id)
            && let Stage::Open(open) = &mut conn.stage
        {
            if open.control.len() > 2 * usize::from(MAX_RAILS) {
                return Err(Close::Nonsense(rank, "it asks without end".to_owned()));
            }
            open.control.push_back(frame);
        }
        Ok(())
    }
}

/// Puts what is to be said next into the connection's buffer, which is empty: words, and the
/// header of a chunk.
fn say_next<M>(conn: &mut Connection, peer: &mut Peer<M>, rail: u8, settings: &Settings) {
    let Stage::Open(open) = &mut conn.stage else { return };
    if open.writing.is_some() {
        return;
    }
    let mut frames = Vec::new();
    while frames.len() < TOGETHER
        && let Some(frame) = open.control.pop_front()
    {
        frames.push(frame);
    }
    while frames.len() < TOGETHER
        && let Some(number) = peer.streams.go.pop_front()
    {
        frames.push(Frame::bare(FrameKind::Go, number, 0));
    }
    (open.words, open.empty, open.empty_out) = (frames.len(), 0, 0);
    while frames.len() <= TOGETHER
        && open.writing.is_none()
        && let Some(chunk) = peer.next_chunk(rail, settings)
    {
        let (number, offset, len) = (chunk.number, chunk.offset, chunk.len);
        match len {
            0 => open.empty += 1,
            left => open.writing = Some(Part { number, offset, left }),
        }
        let opening = peer.streams.source(number).and_then(|s| s.opening);
        let opening = opening.filter(|_| chunk.opens);
        frames.push(Frame { len, opening, ..Frame::bare(FrameKind::Chunk, number, offset) });
    }
    if frames.is_empty() && peer.rails[usize::from(rail)].tell_now {
        frames.push(Frame::bare(FrameKind::Ack, 0, 0));
    }
    if frames.is_empty() {
        return;
    }
    let received = peer.rails[usize::from(rail)].tell();
    let (limit, known) = (peer.streams.tell_limit(), peer.rails[usize::from(rail)].known());
    let Stage::Open(open) = &mut conn.stage else { return };
    let mut text = Vec::new();
    for frame in frames {
        let mut bytes = Frame { received, limit, known, ..frame }.write();
        open.tags_out.write(&mut bytes);
        text.extend_from_slice(&bytes);
    }
    conn.say(&text);
}

/// Whether a chunk may come, and that it does.
fn check_chunk<M>(rank: Rank, peer: &mut Peer<M>, frame: &Frame) -> Result<Reading, Close> {
    let Frame { number, offset, len, .. } = *frame;
    let end = offset.checked_add(u64::from(len));
    match peer.streams.landing(number) {
        Some(stream) if end.is_some_and(|end| end <= stream.len) => {}
        Some(stream) => {
            let what = format!("{len} bytes at {offset} of a stream of {}", stream.len);
            return Err(Close::Nonsense(rank, what));
        }
        None => {
            let accepted =
                frame.opening.is_some_and(|o| peer.streams.keep_early(number, len, o.total));
            if !accepted {
                let what = format!("a chunk of stream {number:#x}, which nobody expects");
                return Err(Close::Nonsense(rank, what));
            }
        }
    }
    Ok(Reading { part: Part { number, offset, left: len }, len })
}
