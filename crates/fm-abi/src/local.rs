//! The interface's state: that of the thread that called `FM_initialize`.

use crate::calls::Handler;
use crate::host::{Host, Settings};
use crate::idle::Idle;
use crate::task::Task;
use core::cell::{Cell, RefCell};
use corosensei::stack::DefaultStack;
use hpvm_fm::deferred::Replies;
use hpvm_fm::{Arrival, Rank};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Handler ids that a program may use.
pub(crate) const HANDLERS: usize = 256;

/// No borrow of these cells is held while a handler runs.
pub(crate) struct Local {
    pub host: &'static dyn Host,
    pub settings: Settings,
    pub rank: Rank,
    pub size: u32,
    pub handlers: RefCell<Box<[Option<Handler>; HANDLERS]>>,
    pub replies: Replies,
    /// Handlers that wait for more of their message, by sender: each sends one at a time.
    pub tasks: RefCell<HashMap<Rank, Task>>,
    /// Packets taken from the engine whose handlers have not run.
    pub arrivals: RefCell<VecDeque<Arrival>>,
    /// Buffers to give back to the engine.
    pub spent: RefCell<Vec<Vec<u8>>>,
    /// Stacks of handlers that have returned.
    pub stacks: RefCell<Vec<DefaultStack>>,
    /// A handler is running.
    pub inside: Cell<bool>,
    pub idle: RefCell<Idle>,
}

thread_local! {
    static LOCAL: RefCell<Option<Rc<Local>>> = const { RefCell::new(None) };
    static SETTINGS: RefCell<Settings> = const { RefCell::new(Settings { quiet: false }) };
}

/// This thread's state, between `FM_initialize` and `FM_finalize`.
pub(crate) fn current() -> Option<Rc<Local>> {
    LOCAL.try_with(|local| local.borrow().clone()).ok().flatten()
}

/// Changes what the next `FM_initialize` of this thread asks for.
pub(crate) fn set(change: impl FnOnce(&mut Settings)) {
    SETTINGS.with(|settings| change(&mut settings.borrow_mut()));
}

/// Starts the engine and makes this thread's state.
pub(crate) fn initialize(host: &'static dyn Host) -> Result<Rc<Local>, String> {
    if current().is_some() {
        return Err("FM_initialize was called twice; expected FM_finalize in between".into());
    }
    let settings = SETTINGS.with(|settings| settings.borrow().clone());
    host.start(&settings)?;
    let mut found = None;
    host.with(&mut |net, fast| {
        // Ids are looked up when handlers run, so that a message which comes before its handler
        // is registered waits for the first extract.
        (0..=u8::MAX).for_each(|id| fast.register_inbox(id));
        found = Some((net.rank(), net.size(), fast.replies().clone()));
    })?;
    let (rank, size, replies) = found.ok_or("the engine gave no access")?;
    let local = Rc::new(Local {
        host,
        settings,
        rank,
        size,
        handlers: RefCell::new(Box::new([None; HANDLERS])),
        replies,
        tasks: RefCell::default(),
        arrivals: RefCell::default(),
        spent: RefCell::default(),
        stacks: RefCell::default(),
        inside: Cell::new(false),
        idle: RefCell::default(),
    });
    LOCAL.with(|slot| *slot.borrow_mut() = Some(local.clone()));
    Ok(local)
}

/// Forgets this thread's state; waiting handlers never go on.
pub(crate) fn forget() {
    let local = LOCAL.with(|slot| slot.borrow_mut().take());
    drop(local);
}
