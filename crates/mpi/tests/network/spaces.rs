//! The communicators on which the collectives run.

use hpvm_mpi::comm::CONTEXTS;
use hpvm_mpi::{Comm, Group};
use std::sync::Arc;

const BASE: u32 = 50 * CONTEXTS;

/// A communicator and who is in it, as processes of the job.
#[derive(Clone)]
pub struct Space {
    pub comm: Arc<Comm>,
    pub local: Vec<u32>,
    /// The other side of an intercommunicator.
    pub remote: Option<Vec<u32>>,
    /// Different on the groups that share a number.
    pub colour: u32,
}

impl Space {
    /// Those whom the operations are with.
    pub fn peers(&self) -> &[u32] {
        self.remote.as_deref().unwrap_or(&self.local)
    }

    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }
}

/// Everyone; everyone the other way round; two halves by turns; and both halves of the ranks as an
/// intercommunicator, where there are two.
pub fn spaces(me: u32, size: u32) -> Vec<Space> {
    let intra = |n: u32, local: Vec<u32>, colour| {
        let comm = Comm::intra(BASE + n * CONTEXTS, Group::list(local.clone()), me).unwrap();
        Space { comm, local, remote: None, colour }
    };
    let mut spaces = vec![
        intra(0, (0..size).collect(), 0),
        intra(1, (0..size).rev().collect(), 0),
        intra(2, (0..size).filter(|r| r % 2 == me % 2).collect(), me % 2),
    ];
    let middle = size.div_ceil(3);
    if middle < size {
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..middle).collect(), (middle..size).rev().collect());
        let (local, remote) = if me < middle { (a, b) } else { (b, a) };
        let (near, far) = (Group::list(local.clone()), Group::list(remote.clone()));
        let comm = Comm::inter(BASE + 3 * CONTEXTS, near, far, me).unwrap();
        let colour = u32::from(me < middle);
        spaces.push(Space { comm, local, remote: Some(remote), colour });
    }
    spaces
}
