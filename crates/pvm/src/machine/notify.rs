//! Who wants to be told of what.

use crate::Tid;
use crate::protocol::Mail;
use crate::wire::Bytes;
use std::collections::BTreeMap;

/// Kinds of events; the numbers are those of `pvm_notify`.
pub const TASK_EXIT: i32 = 1;
pub const HOST_DELETE: i32 = 2;
pub const HOST_ADD: i32 = 3;
/// Of links between tasks: nothing happens that could be told.
pub const ROUTE_ADD: i32 = 4;
pub const ROUTE_DELETE: i32 = 5;
/// Added to the kind: be told at once, as if it had happened.
pub const CANCEL: i32 = 256;

/// Where a notification goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    pub watcher: Tid,
    pub tag: i32,
    pub context: i32,
}

impl Watch {
    /// The message: `tids` as integers.
    pub fn mail(&self, source: Tid, tids: &[Tid]) -> Mail {
        let body = tids.iter().flat_map(|tid| tid.to_ne_bytes()).collect();
        Mail { source, tag: self.tag, context: self.context, body: Bytes(body), ..Mail::default() }
    }
}

/// All watches, by the task or host they are on.
#[derive(Debug, Default)]
pub struct Watches {
    on: BTreeMap<Tid, Vec<Watch>>,
    /// Of hosts that come: and how many times, or -1 for always.
    host_add: Vec<(Watch, i32)>,
}

impl Watches {
    pub fn add(&mut self, tid: Tid, watch: Watch) {
        self.on.entry(tid).or_default().push(watch);
    }

    /// A later count replaces an earlier one.
    pub fn add_host(&mut self, watch: Watch, count: i32) {
        self.host_add.retain(|(earlier, _)| earlier.watcher != watch.watcher);
        if count != 0 {
            self.host_add.push((watch, count));
        }
    }

    /// Takes one watch back; says whether there was one.
    pub fn cancel(&mut self, tid: Tid, watch: Watch) -> bool {
        let Some(watches) = self.on.get_mut(&tid) else { return false };
        let Some(at) = watches.iter().position(|known| *known == watch) else { return false };
        watches.remove(at);
        true
    }

    /// Takes back the watch on hosts that come.
    pub fn cancel_host_add(&mut self, watcher: Tid) -> bool {
        let before = self.host_add.len();
        self.host_add.retain(|(watch, _)| watch.watcher != watcher);
        before != self.host_add.len()
    }

    /// Who is to be told that `tid` has gone.
    pub fn happened(&mut self, tid: Tid) -> Vec<Watch> {
        self.on.remove(&tid).unwrap_or_default()
    }

    /// Who is to be told that a host has come.
    pub fn host_added(&mut self) -> Vec<Watch> {
        let told = self.host_add.iter().map(|(watch, _)| *watch).collect();
        for (_, count) in &mut self.host_add {
            *count -= i32::from(*count > 0);
        }
        self.host_add.retain(|(_, count)| *count != 0);
        told
    }

    /// The watcher is gone.
    pub fn gone(&mut self, watcher: Tid) {
        for watches in self.on.values_mut() {
            watches.retain(|watch| watch.watcher != watcher);
        }
        self.on.retain(|_, watches| !watches.is_empty());
        self.cancel_host_add(watcher);
    }
}
