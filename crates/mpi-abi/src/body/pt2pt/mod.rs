//! Point-to-point communication (chapter 3).

mod buffered;
mod combined;
mod complete;
mod grequest;
mod partitioned;
mod persistent;
mod probe;
mod recv;
mod send;
mod status;

pub use buffered::*;
pub use combined::*;
pub use complete::*;
pub use grequest::*;
pub use partitioned::*;
pub use persistent::*;
pub use probe::*;
pub use recv::*;
pub use send::*;
pub use status::*;
