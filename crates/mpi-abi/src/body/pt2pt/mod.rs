//! Point-to-point communication (chapter 3).

mod buffered;
mod combined;
mod complete;
mod grequest;
mod handles;
mod inspect;
mod partitioned;
mod persistent;
mod probe;
mod recv;
mod release;
mod send;
mod status;

pub use buffered::*;
pub use combined::*;
pub use complete::*;
pub use grequest::*;
pub use inspect::*;
pub use partitioned::*;
pub use persistent::*;
pub use probe::*;
pub use recv::*;
pub use release::*;
pub use send::*;
pub use status::*;
