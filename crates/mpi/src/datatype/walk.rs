//! Walking a layout: any part of the packed stream, from any byte on.
use std::sync::Arc;

use super::fuse::fused;
use super::layout::{Node, Placed, continues};

/// What a walk feeds: the runs of a layout in stream order, in as large pieces as it knows.
/// Offsets are relative to the buffer's address.
pub(super) trait Sink {
    /// One contiguous run.
    fn run(&mut self, off: i64, len: u64);

    /// `count` runs of `len` bytes, `stride` bytes apart.
    fn strided(&mut self, off: i64, count: u64, stride: i64, len: u64) {
        let mut at = off;
        for _ in 0..count {
            self.run(at, len);
            at = at.wrapping_add(stride);
        }
    }

    /// One run of `len` bytes at each displacement.
    fn indexed(&mut self, off: i64, disps: &[i64], len: u64) {
        for disp in disps {
            self.run(off.wrapping_add(*disp), len);
        }
    }

    /// `count` copies, `stride` bytes apart, of runs of `len` bytes at the displacements.
    fn pattern(&mut self, off: i64, count: u64, stride: i64, disps: &[i64], len: u64) {
        let mut at = off;
        for _ in 0..count {
            self.indexed(at, disps, len);
            at = at.wrapping_add(stride);
        }
    }

    /// `count` rows, `stride` bytes apart, of strided runs.
    fn grid(&mut self, off: i64, count: u64, stride: i64, row: Row) {
        let mut at = off;
        for _ in 0..count {
            self.strided(at, row.count, row.stride, row.len);
            at = at.wrapping_add(stride);
        }
    }

    /// `count` copies, `stride` bytes apart, of a list of runs of different lengths; run `i` is
    /// `starts[i + 1] - starts[i]` bytes long.
    fn table(&mut self, off: i64, count: u64, stride: i64, disps: &[i64], starts: &[u64]) {
        let mut at = off;
        for _ in 0..count {
            for (disp, range) in disps.iter().zip(starts.windows(2)) {
                self.run(at.wrapping_add(*disp), range[1] - range[0]);
            }
            at = at.wrapping_add(stride);
        }
    }
}

/// `count` runs of `len` bytes, `stride` bytes apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub count: u64,
    pub stride: i64,
    pub len: u64,
}

/// The program of one datatype and how copies of it follow each other.
#[derive(Debug)]
pub(super) struct Layout {
    /// What types made of this one are made of.
    pub root: Placed,
    /// The same for walking: [`fused`](super::fuse::fused).
    fused: Placed,
    /// Bytes of data of one copy.
    pub size: u64,
    /// Bytes from one copy to the next.
    pub extent: i64,
}

impl Layout {
    pub fn new(root: Placed, size: u64, extent: i64) -> Layout {
        let fused = Placed { disp: root.disp, node: fused(&root.node) };
        Layout { root, fused, size, extent }
    }

    /// Whether any number of copies is one contiguous run.
    pub fn is_dense(&self) -> bool {
        match *self.root.node {
            Node::Empty => true,
            Node::Run(len) => i64::try_from(len) == Ok(self.extent),
            _ => false,
        }
    }

    /// The offset and the length of the one run that `count` copies are, if they are one;
    /// (0, 0) without data.
    pub fn as_run(&self, count: u64) -> Option<(i64, u64)> {
        match *self.root.node {
            _ if count == 0 => Some((0, 0)),
            Node::Empty => Some((0, 0)),
            Node::Run(len) if count == 1 => Some((self.root.disp, len)),
            Node::Run(len) if self.is_dense() => Some((self.root.disp, len.saturating_mul(count))),
            _ => None,
        }
    }

    /// Bytes of data of `count` copies.
    pub fn total(&self, count: u64) -> u64 {
        self.size.saturating_mul(count)
    }

    /// Feeds stream bytes `position..position + limit` of `count` copies to `sink`.
    /// Returns how many bytes that were: less than `limit` when the data ends before.
    pub fn walk(&self, count: u64, position: u64, limit: u64, sink: &mut impl Sink) -> u64 {
        let limit = limit.min(self.total(count).saturating_sub(position));
        if limit == 0 {
            return 0;
        }
        let Placed { disp, node } = &self.fused;
        if let Some((off, _)) = self.as_run(count) {
            sink.run(off.wrapping_add_unsigned(position), limit);
            return limit;
        }
        match &**node {
            Node::Loop { count: inner, stride, each, body }
                if count == 1 || continues(*inner, *stride, self.extent) =>
            {
                part_of_loop(body, *each, *disp, *stride, position, limit, sink);
            }
            _ => part_of_loop(node, self.size, *disp, self.extent, position, limit, sink),
        }
        limit
    }

    /// The offset of stream byte `position` and how many bytes of its run are left.
    /// `None` past the end.
    pub fn locate(&self, count: u64, position: u64) -> Option<(i64, u64)> {
        if position >= self.total(count) {
            return None;
        }
        if let Some((off, len)) = self.as_run(count) {
            return Some((off.wrapping_add_unsigned(position), len - position));
        }
        let base = step(self.root.disp, position / self.size, self.extent);
        Some(locate(&self.root.node, base, position % self.size))
    }
}

/// `off + n * stride`, wrapping.
fn step(off: i64, n: u64, stride: i64) -> i64 {
    off.wrapping_add(stride.wrapping_mul(n as i64))
}

/// All of `node`.
fn whole(node: &Node, off: i64, sink: &mut impl Sink) {
    match node {
        Node::Empty => {}
        Node::Run(len) => sink.run(off, *len),
        Node::Loop { count, stride, body, .. } => whole_loop(body, off, *count, *stride, sink),
        Node::Index { disps, body, .. } => whole_index(body, off, disps, sink),
        Node::Runs { disps, starts } => sink.table(off, 1, 0, disps, starts),
        Node::Seq { disps, bodies, .. } => {
            for (disp, body) in disps.iter().zip(bodies.iter()) {
                whole(body, off.wrapping_add(*disp), sink);
            }
        }
    }
}

fn whole_loop(body: &Node, off: i64, count: u64, stride: i64, sink: &mut impl Sink) {
    match body {
        Node::Run(len) => return sink.strided(off, count, stride, *len),
        Node::Runs { disps, starts } => return sink.table(off, count, stride, disps, starts),
        Node::Index { disps, body, .. } => {
            if let Node::Run(len) = **body {
                return sink.pattern(off, count, stride, disps, len);
            }
        }
        Node::Loop { count: runs, stride: step, body, .. } => {
            if let Node::Run(len) = **body {
                let row = Row { count: *runs, stride: *step, len };
                return sink.grid(off, count, stride, row);
            }
        }
        _ => {}
    }
    let mut at = off;
    for _ in 0..count {
        whole(body, at, sink);
        at = at.wrapping_add(stride);
    }
}

fn whole_index(body: &Node, off: i64, disps: &[i64], sink: &mut impl Sink) {
    if let Node::Run(len) = body {
        return sink.indexed(off, disps, *len);
    }
    for disp in disps {
        whole(body, off.wrapping_add(*disp), sink);
    }
}

/// Stream bytes `skip..skip + limit` of `node`; the caller keeps them inside the node.
fn part(node: &Node, off: i64, skip: u64, limit: u64, sink: &mut impl Sink) {
    if limit == 0 {
        return;
    }
    if skip == 0 && limit == node.size() {
        return whole(node, off, sink);
    }
    match node {
        Node::Empty => {}
        Node::Run(_) => sink.run(off.wrapping_add_unsigned(skip), limit),
        Node::Loop { stride, each, body, .. } => {
            part_of_loop(body, *each, off, *stride, skip, limit, sink);
        }
        Node::Index { disps, each, body } => {
            part_of_index(body, *each, off, disps, skip, limit, sink);
        }
        Node::Runs { disps, starts } => part_of_list(starts, skip, limit, |i, from, len| {
            sink.run(off.wrapping_add(disps[i]).wrapping_add_unsigned(from), len);
        }),
        Node::Seq { disps, starts, bodies } => part_of_list(starts, skip, limit, |i, from, len| {
            part(&bodies[i], off.wrapping_add(disps[i]), from, len, sink);
        }),
    }
}

/// The copies of a body that stream bytes `skip..skip + limit` touch: the first and the last one
/// may be partial.
struct Split {
    /// The first copy, where to start in it, and how many bytes of it.
    first: u64,
    head_skip: u64,
    head: u64,
    /// Whole copies after the head, and the bytes of the partial one after them.
    whole: u64,
    tail: u64,
}

impl Split {
    fn new(each: u64, skip: u64, limit: u64) -> Split {
        let (first, head_skip) = if skip == 0 { (0, 0) } else { (skip / each, skip % each) };
        let head = if head_skip == 0 { 0 } else { limit.min(each - head_skip) };
        let rest = limit - head;
        Split { first, head_skip, head, whole: rest / each, tail: rest % each }
    }
}

fn part_of_loop(
    body: &Arc<Node>,
    each: u64,
    off: i64,
    stride: i64,
    skip: u64,
    limit: u64,
    sink: &mut impl Sink,
) {
    let split = Split::new(each, skip, limit);
    let mut at = step(off, split.first, stride);
    if split.head > 0 {
        part(body, at, split.head_skip, split.head, sink);
        at = at.wrapping_add(stride);
    }
    if split.whole > 0 {
        whole_loop(body, at, split.whole, stride, sink);
    }
    if split.tail > 0 {
        part(body, step(at, split.whole, stride), 0, split.tail, sink);
    }
}

fn part_of_index(
    body: &Arc<Node>,
    each: u64,
    off: i64,
    disps: &[i64],
    skip: u64,
    limit: u64,
    sink: &mut impl Sink,
) {
    let split = Split::new(each, skip, limit);
    let mut next = split.first as usize;
    if split.head > 0 {
        part(body, off.wrapping_add(disps[next]), split.head_skip, split.head, sink);
        next += 1;
    }
    let end = next + split.whole as usize;
    whole_index(body, off, &disps[next..end], sink);
    if split.tail > 0 {
        part(body, off.wrapping_add(disps[end]), 0, split.tail, sink);
    }
}

/// Calls `each(entry, skip in it, bytes of it)` for the entries that the stream bytes touch.
fn part_of_list(starts: &[u64], skip: u64, limit: u64, mut each: impl FnMut(usize, u64, u64)) {
    let mut entry = entry_of(starts, skip);
    let mut from = skip;
    let end = skip + limit;
    while from < end {
        let until = end.min(starts[entry + 1]);
        each(entry, from - starts[entry], until - from);
        from = until;
        entry += 1;
    }
}

/// The entry that holds stream byte `position`; entries are never empty.
fn entry_of(starts: &[u64], position: u64) -> usize {
    starts.partition_point(|start| *start <= position) - 1
}

/// The offset of stream byte `skip` of `node` and the bytes left of its run.
fn locate(node: &Node, off: i64, skip: u64) -> (i64, u64) {
    match node {
        Node::Empty => (off, 0),
        Node::Run(len) => (off.wrapping_add_unsigned(skip), len - skip),
        Node::Loop { stride, each, body, .. } => {
            locate(body, step(off, skip / each, *stride), skip % each)
        }
        Node::Index { disps, each, body } => {
            locate(body, off.wrapping_add(disps[(skip / each) as usize]), skip % each)
        }
        Node::Runs { disps, starts } => {
            let i = entry_of(starts, skip);
            let from = skip - starts[i];
            (off.wrapping_add(disps[i]).wrapping_add_unsigned(from), starts[i + 1] - skip)
        }
        Node::Seq { disps, starts, bodies } => {
            let i = entry_of(starts, skip);
            locate(&bodies[i], off.wrapping_add(disps[i]), skip - starts[i])
        }
    }
}
