//! Bytes in and out of connections.

use crate::action::{ConnId, Input, Lost, Output};
use crate::bulk::Bulk;
use crate::connection::{Connection, Part, Reading, Stage};
use crate::lane::MAX_LANES;
use crate::peer::Peer;
use crate::{Rank, Time};
use hpvm_wire::bulk::{EARLY, FRAME, Frame, FrameKind, GREETING};
use std::collections::BTreeMap;

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
        let reading = match &conn.stage {
            Stage::Connecting => return Input::Drop(0),
            Stage::Open(open) => open.reading,
            _ => return Input::Bytes(&mut conn.head_in[conn.have..GREETING]),
        };
        let Some(Reading { part, .. }) = reading else {
            return Input::Bytes(&mut conn.head_in[conn.have..FRAME]);
        };
        match conn.peer.and_then(|(rank, _)| peers.get_mut(&rank)) {
            Some(peer) => peer.streams.place(part.number, part.offset, part.left as usize),
            None => Input::Gone,
        }
    }

    /// `n` bytes have come, to where `input` said.
    pub fn read(&mut self, id: ConnId, n: usize, now: Time) {
        let window = self.settings.early_window;
        let Some((conn, peers)) = self.parts(id) else { return };
        let whole = match &conn.stage {
            Stage::Open(open) if open.reading.is_some() => return self.read_chunk(id, n),
            Stage::Open(_) => FRAME,
            _ => GREETING,
        };
        conn.have += n;
        if conn.have < whole {
            return;
        }
        conn.have = 0;
        let outcome = match whole {
            FRAME => match on_frame(conn, peers, window) {
                Ok(Some(frame)) => self.on_control(id, frame, now),
                outcome => outcome.map(drop),
            },
            _ => self.greet(id, now),
        };
        if let Err(close) = outcome {
            self.close(id, close, now);
        }
    }

    fn close(&mut self, id: ConnId, why: Close, now: Time) {
        match why {
            Close::Stranger => self.counters.strangers += 1,
            Close::Forged => self.counters.forged += 1,
            Close::Nonsense(peer, what) => self.give_up(Lost::Nonsense { peer, what }),
            Close::Stale => {}
        }
        self.drop_conn(id, now, true);
    }

    /// `n` more bytes of a chunk.
    fn read_chunk(&mut self, id: ConnId, n: usize) {
        let Some((conn, peers)) = self.parts(id) else { return };
        let peer = conn.peer.and_then(|(rank, lane)| Some((peers.get_mut(&rank)?, lane)));
        let (Stage::Open(open), Some((peer, lane))) = (&mut conn.stage, peer) else { return };
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
        peer.lanes[usize::from(lane)].received += 1;
        let done = peer.streams.landed(part.number, len);
        self.counters.chunks_received += 1;
        self.done.extend(done);
    }

    /// What is to be written to a connection next. The same again until `wrote` says more than 0.
    pub fn output(&mut self, id: ConnId) -> Option<Output<'_, M>> {
        let settings = self.settings.clone();
        let (conn, peers) = self.parts(id)?;
        let rank_and_lane = conn.peer;
        let unsaid = conn.head_len - conn.head_done;
        if let (Stage::Open(open), Some((rank, lane))) = (&mut conn.stage, rank_and_lane)
            && open.writing.is_none()
            && unsaid == 0
        {
            let peer = peers.get_mut(&rank)?;
            let frame = match open.control.pop_front() {
                Some(frame) => frame,
                None => {
                    let chunk = peer.next_chunk(lane, &settings)?;
                    let (number, offset, len) = (chunk.number, chunk.offset, chunk.len);
                    open.writing = Some(Part { number, offset, left: len });
                    let flags = u8::from(chunk.early) * EARLY;
                    Frame { kind: FrameKind::Chunk, flags, len, number, offset }
                }
            };
            let mut bytes = frame.write();
            open.seal_out.seal(&mut bytes);
            conn.say(&bytes);
        }
        let body = match (&conn.stage, rank_and_lane) {
            (Stage::Open(open), Some((rank, _))) => open.writing.and_then(|part| {
                let source = peers.get(&rank)?.streams.source(part.number)?;
                Some((source, part.offset, part.left as usize))
            }),
            _ => None,
        };
        let head = conn.unsaid();
        (!head.is_empty() || body.is_some()).then_some(Output { head, body })
    }

    /// `n` bytes of what `output` said have been written.
    pub fn wrote(&mut self, id: ConnId, n: usize) {
        let Some((conn, peers)) = self.parts(id) else { return };
        let head = n.min(conn.head_len - conn.head_done);
        conn.head_done += head;
        let (Stage::Open(open), Some((rank, lane))) = (&mut conn.stage, conn.peer) else { return };
        let Some(part) = &mut open.writing else { return };
        part.offset += (n - head) as u64;
        part.left -= (n - head) as u32;
        if part.left > 0 {
            return;
        }
        open.writing = None;
        let Some(peer) = peers.get_mut(&rank) else { return };
        let again = peer.lanes[usize::from(lane)].wrote();
        self.counters.chunks_sent += 1;
        self.counters.resent += u64::from(again);
    }

    /// Acts on a frame that is no chunk.
    fn on_control(&mut self, id: ConnId, frame: Frame, now: Time) -> Result<(), Close> {
        let Some((conn, peers)) = self.parts(id) else { return Ok(()) };
        let Some((rank, own)) = conn.peer else { return Ok(()) };
        let Some(peer) = peers.get_mut(&rank) else { return Ok(()) };
        let (index, epoch) = (u64::from(frame.number as u32), (frame.number >> 32) as u32);
        let Some(lane) = peer.lanes.get_mut(index as usize) else {
            return Err(Close::Nonsense(rank, format!("it speaks of lane {index}")));
        };
        if index == u64::from(own) {
            return Err(Close::Nonsense(rank, format!("it asks lane {index} for itself")));
        }
        if frame.kind == FrameKind::Ask {
            if lane.up().is_some() && u64::from(lane.epoch) > frame.offset {
                return Ok(());
            }
            // What that connection still holds is not read any more, so the count stands.
            let (old, offset) = (lane.conn(), lane.received);
            let number = index | (frame.offset << 32);
            if let Some(old) = old {
                self.drop_conn(old, now, true);
            }
            let tell = Frame { kind: FrameKind::Tell, flags: 0, len: 0, number, offset };
            return self.queue(id, rank, tell);
        }
        if lane.asked != Some((id, epoch)) {
            return Ok(());
        }
        lane.asked = None;
        if lane.up().is_some() {
            return Ok(());
        }
        if !lane.confirm(frame.offset) {
            let what = format!("it has {} chunks of lane {index}, more than went", frame.offset);
            return Err(Close::Nonsense(rank, what));
        }
        let chunks = lane.take_doubtful();
        self.counters.moved += chunks.len() as u64;
        if let Some(peer) = self.peers.get_mut(&rank) {
            peer.streams.again(chunks);
        }
        Ok(())
    }

    fn queue(&mut self, id: ConnId, rank: Rank, frame: Frame) -> Result<(), Close> {
        if let Some((conn, _)) = self.parts(id)
            && let Stage::Open(open) = &mut conn.stage
        {
            if open.control.len() > 2 * usize::from(MAX_LANES) {
                return Err(Close::Nonsense(rank, "it asks without end".to_owned()));
            }
            open.control.push_back(frame);
        }
        Ok(())
    }
}

/// Checks the header of a frame. `Some`: it is no chunk.
fn on_frame<M>(
    conn: &mut Connection,
    peers: &mut BTreeMap<Rank, Peer<M>>,
    window: u32,
) -> Result<Option<Frame>, Close> {
    let peer = conn.peer.and_then(|(rank, _)| Some((rank, peers.get_mut(&rank)?)));
    let (Stage::Open(open), Some((rank, peer))) = (&mut conn.stage, peer) else { return Ok(None) };
    let Some(bytes) = conn.head_in.first_chunk::<FRAME>() else { return Ok(None) };
    if !open.seal_in.opens(bytes) {
        return Err(Close::Forged);
    }
    let frame = Frame::read(bytes).ok_or(Close::Forged)?;
    if frame.kind != FrameKind::Chunk {
        return Ok(Some(frame));
    }
    let Frame { number, offset, len, .. } = frame;
    let end = offset.checked_add(u64::from(len));
    match peer.streams.landing(number) {
        Some(stream) if end.is_some_and(|end| end <= stream.len) => {}
        Some(stream) => {
            let what = format!("{len} bytes at {offset} of a stream of {}", stream.len);
            return Err(Close::Nonsense(rank, what));
        }
        None => {
            let early = frame.flags & EARLY != 0 && offset == 0;
            if !early || !peer.streams.keep_early(number, len, window) {
                let what = format!("a chunk of stream {number:#x}, which nobody expects");
                return Err(Close::Nonsense(rank, what));
            }
        }
    }
    open.reading = Some(Reading { part: Part { number, offset, left: len }, len });
    Ok(None)
}
