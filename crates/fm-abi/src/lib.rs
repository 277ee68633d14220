//! The C interface of Fast Messages (`include/fm.h`).
//!
//! There is one engine per process, and it is not here: the library that holds it implements
//! [`Host`] and calls [`install`]. Handlers in C block in the middle (`FM_receive`), so a message
//! of several packets runs its handler on a stack of its own, and no handler runs while the
//! engine is borrowed: a handler may call Fast Messages again. A message that has come whole runs
//! its handler on the caller's stack.
//!
//! All calls of a process come from one thread, the one that called `FM_initialize`; the state
//! of the interface belongs to that thread.

mod calls;
mod extract;
mod host;
mod idle;
mod local;
mod stream;
mod task;

pub use calls::*;
pub use extract::deliver;
pub use host::{Host, Settings, install};
pub use stream::Stream;
