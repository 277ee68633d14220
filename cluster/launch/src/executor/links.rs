//! The executor's dealings with agents on other hosts.

use super::feed::Feed;
use super::{Executor, Source};
use crate::args::Input;
use crate::dispatcher::Event;
use crate::errands::End;
use crate::output::sink::Sink;
use crate::remote::frame::Frame;

impl Executor<'_> {
    /// Starts our agents and tells them what to do.
    pub(super) fn start_links(&mut self) {
        for lost in self.here.start_links(&self.plan.orders) {
            self.handle(lost);
        }
        if let Input::Rank(rank) = self.plan.input
            && self.plan.ranks.get(rank as usize).is_some_and(Option::is_none)
        {
            self.feed = Some(Feed::of_stdin());
        }
    }

    /// Starts the gateway that is to run here. Without it the job ends.
    pub(super) fn start_gateway(&mut self) {
        let Some(orders) = self.plan.gateway.take() else { return };
        match self.here.start_gateway(orders) {
            Ok((key, card)) => self.dispatcher.publish_value(&key, &card),
            Err(text) => self.handle(Event::GatewayLost { text }),
        }
    }

    pub(super) fn read_gateway(&mut self) {
        if let Err(text) = self.here.read_gateway() {
            self.handle(Event::GatewayLost { text });
        }
    }

    /// Sends what waits, and says whether outputs may be read.
    pub(super) fn tend_links(&mut self) {
        if self.here.links.is_empty() {
            return;
        }
        let full = self.outputs.sinks.iter().any(Sink::full);
        if full != self.paused {
            self.paused = full;
            self.here.send_down(None, &Frame::Pause(full));
        }
        let token = Source::Feed.token(0);
        while self.feed.as_mut().is_some_and(|feed| feed.watch(&self.here.epoll, token)) {
            self.read_feed();
        }
        self.here.tend_links(false);
    }

    pub(super) fn read_feed(&mut self) {
        let now = self.here.now();
        let Some(bytes) = self.feed.as_mut().and_then(|feed| feed.read(now)) else { return };
        let Input::Rank(rank) = self.plan.input else { return };
        let Some(link) = self.link_of(rank) else { return };
        self.here.links[link].queue(&Frame::Stdin(bytes));
    }

    /// The connection behind which a rank runs.
    fn link_of(&self, rank: u32) -> Option<usize> {
        self.plan.orders.iter().position(|order| {
            let mut ranks = order.nodes.iter().flat_map(|node| node.ranks());
            ranks.any(|(other, _)| other == rank)
        })
    }

    pub(super) fn read_link(&mut self, link: usize) {
        let news = self.here.read_link(link);
        if news.heard {
            self.handle(Event::Heard { link });
        }
        for frame in news.frames {
            self.take_frame(link, frame);
        }
        match news.end {
            None => {}
            Some(Ok(())) if !self.dispatcher.expects(link) => self.here.cut(link),
            Some(end) => {
                let lost = self.here.lose_link(link, end.err());
                self.handle(lost);
            }
        }
    }

    fn take_frame(&mut self, link: usize, frame: Frame) {
        let now = self.here.now();
        match frame {
            Frame::Output { rank, side, bytes } if self.runs_behind(rank, link) => {
                self.outputs.data(rank, usize::from(side), &bytes, now);
            }
            Frame::OutputEnd { rank, side } if self.runs_behind(rank, link) => {
                self.outputs.close(rank, usize::from(side));
            }
            Frame::Stream { node, number, bytes } if self.is_behind(node, link) => {
                self.stream_said(End { node: Some(node), number }, bytes);
            }
            Frame::StdinTaken(count) => {
                self.feed.iter_mut().for_each(|feed| feed.taken(count as usize));
            }
            Frame::StdinClosed => self.feed.iter_mut().for_each(Feed::closed),
            // The launcher gives orders; it takes none. Ranks are checked there.
            frame => self.dispatcher.handle(Event::Frame { link, frame }, now),
        }
    }

    pub(super) fn is_behind(&self, node: u32, link: usize) -> bool {
        self.plan.orders[link].nodes.iter().any(|other| other.number == node)
    }

    fn runs_behind(&self, rank: u32, link: usize) -> bool {
        let mut nodes = self.plan.orders[link].nodes.iter();
        nodes.any(|node| {
            node.runs.iter().any(|run| (run.first..run.first + run.count).contains(&rank))
        })
    }
}
