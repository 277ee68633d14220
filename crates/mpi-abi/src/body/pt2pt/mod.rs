//! Point-to-point communication (chapter 3).

mod complete;
mod persistent;
mod probe;
mod recv;
mod send;
mod status;

pub use complete::*;
pub use persistent::*;
pub use probe::*;
pub use recv::*;
pub use send::*;
pub use status::*;
