//! Published names (MPI 5.0, section 11.9.4) for jobs of one user that share no host.
//!
//! A server, which one user has started for all of his jobs, knows which name stands for which port. Processes connect to it
//! when they publish or look for a name. Both ends prove that they know the user's key ([`hpvm_net::handshake`]), and what they say
//! from then on is sealed ([`seal`]): a port's name holds a secret, so nobody else may read it. A name is there as long
//! as the connection over which it was published: the kernel closes that when the process ends, however it does.

pub mod client;
pub mod message;
pub mod seal;
pub mod server;
pub mod table;

pub use client::Client;
pub use message::{Answer, Request};
pub use server::Server;
