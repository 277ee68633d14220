//! Several sites as one job: ranks of different sites cannot reach one another and talk through a gateway at each site.
//!
//! Here is what is decided, without a socket or a clock: which rank is at which site ([`Sites`]), whose datagram goes
//! next over the link between two sites ([`Fair`]), and when that link is made anew or given up ([`Link`]).
//! `hpvm-gateway` does it; docs/sites.md is the user's view.

mod fair;
mod link;
mod map;

pub use fair::Fair;
pub use link::{HEARTBEAT, Link, Step};
pub use map::{CARD_KEY, DOOR, GATEWAY_KEY, SITES_KEY, Sites, door_socket, is_name};
