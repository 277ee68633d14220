//! The executor's dealings with agents on other hosts.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use super::feed::Feed;
use super::link::{Got, LinkIo, cannot_start};
use super::{Executor, Source};
use crate::dispatcher::Event;
use crate::output::sink::Sink;
use crate::remote::codec::Fault;
use crate::remote::frame::Frame;
use crate::remote::start::Starter;

/// How long the processes of closed connections may take to end.
const DISPOSE_WAIT: Duration = Duration::from_millis(300);

impl Executor<'_> {
    /// Starts our agents and tells them what to do.
    pub(super) fn start_links(&mut self) {
        for index in 0..self.plan.orders.len() {
            let order = &self.plan.orders[index];
            let (words, host) = (&order.shell.words, &order.nodes[0].host);
            let started = match &self.plan.starter {
                Some(starter) => starter.start(order, &self.epoll, index as u32),
                None => Err(io::ErrorKind::NotFound.into()),
            };
            match started {
                Ok(link) => {
                    link.pid().into_iter().for_each(|pid| self.leftovers.ignore(pid));
                    self.links.push(link);
                }
                Err(error) => {
                    let text = cannot_start(words, host, &error);
                    self.links.push(LinkIo::nowhere());
                    let now = self.now();
                    let event = Event::LinkLost { link: index, text, code: 1 };
                    self.dispatcher.handle(event, now);
                }
            }
        }
        if self.plan.ranks.first().is_some_and(Option::is_none) {
            self.feed = Some(Feed::of_stdin());
        }
    }

    pub(super) fn send_down(&mut self, link: Option<usize>, frame: &Frame) {
        match link {
            Some(link) => self.links[link].queue(frame),
            None => self.links.iter_mut().for_each(|link| link.queue(frame)),
        }
    }

    /// Sends what waits, and says whether outputs may be read.
    pub(super) fn tend_links(&mut self) {
        if self.links.is_empty() {
            return;
        }
        let full = self.sinks.iter().any(Sink::full);
        if full != self.paused {
            self.paused = full;
            self.send_down(None, &Frame::Pause(full));
        }
        let token = Source::Feed.token(0);
        while self.feed.as_mut().is_some_and(|feed| feed.watch(&self.epoll, token)) {
            self.read_feed();
        }
        for (index, link) in self.links.iter_mut().enumerate() {
            link.flush(&self.epoll, index as u32);
        }
    }

    pub(super) fn read_feed(&mut self) {
        let now = self.now();
        let Some(bytes) = self.feed.as_mut().and_then(|feed| feed.read(now)) else { return };
        let Some(link) = self.link_of(0) else { return };
        self.links[link].queue(&Frame::Stdin(bytes));
    }

    /// The connection behind which a rank runs.
    fn link_of(&self, rank: u32) -> Option<usize> {
        self.plan.orders.iter().position(|order| {
            let mut ranks = order.nodes.iter().flat_map(|node| node.ranks());
            ranks.any(|(other, _)| other == rank)
        })
    }

    pub(super) fn read_link(&mut self, link: usize) {
        let got = self.links[link].read(&mut self.buffer);
        if got == Got::Bytes {
            let now = self.now();
            self.dispatcher.handle(Event::Heard { link }, now);
        }
        loop {
            match self.links[link].next_frame() {
                Ok(Some(frame)) => self.take_frame(link, frame),
                Ok(None) => break,
                Err(fault) => return self.link_lost(link, Some(fault)),
            }
        }
        if got == Got::End {
            match self.dispatcher.expects(link) {
                true => self.link_lost(link, None),
                false => self.links[link].close(&self.epoll),
            }
        }
    }

    fn take_frame(&mut self, link: usize, frame: Frame) {
        let now = self.now();
        match frame {
            Frame::Output { rank, side, bytes } if self.runs_behind(rank, link) => {
                let side = usize::from(side);
                self.muxes[side].data(rank, &bytes, now, self.sinks[side].buffer());
            }
            Frame::OutputEnd { rank, side } if self.runs_behind(rank, link) => {
                let side = usize::from(side);
                self.muxes[side].close(rank, self.sinks[side].buffer());
            }
            Frame::StdinTaken(count) => {
                self.feed.iter_mut().for_each(|feed| feed.taken(count as usize));
            }
            Frame::StdinClosed => self.feed.iter_mut().for_each(Feed::closed),
            // The launcher gives orders; it takes none. Ranks are checked there.
            frame => self.dispatcher.handle(Event::Frame { link, frame }, now),
        }
    }

    fn runs_behind(&self, rank: u32, link: usize) -> bool {
        let mut nodes = self.plan.orders[link].nodes.iter();
        nodes.any(|node| {
            node.runs.iter().any(|run| (run.first..run.first + run.count).contains(&rank))
        })
    }

    fn link_lost(&mut self, link: usize, fault: Option<Fault>) {
        let place = self.plan.starter.as_ref().map_or(OsStr::new(""), Starter::place);
        let text = self.links[link].epitaph(fault, place, &self.epoll);
        let now = self.now();
        self.dispatcher.handle(Event::LinkLost { link, text, code: 1 }, now);
    }

    /// Nothing of ours is left when the launcher ends.
    pub(super) fn dispose_links(&mut self) {
        for link in &mut self.links {
            link.close(&self.epoll);
        }
        for link in &mut self.links {
            link.dispose(&self.epoll, DISPOSE_WAIT);
        }
    }
}
