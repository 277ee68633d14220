//! How datagrams go to other hosts: `HPVM_LANE`, `HPVM_OFI_RDMA`, and the helper that lets them pass the kernel.

use super::meet::{manager, network};
use super::{host_name, installation};
use hpvm_job::Client;
use hpvm_mpi::{Class, Error, Result};
use hpvm_net::interfaces::Interface;
use hpvm_net::{
    Lane, Opened, PastKernelSettings, Rdma, Refusal, Why, XDP_HELPER, XdpHelper, xdp_is_worth,
    xdp_usable,
};
use std::path::PathBuf;

/// Key under which the first rank of a host, whose number follows, publishes the name of the helper.
const HELPER_KEY: &str = "hpvm-xdp-";

/// Whether datagrams shall pass the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    No,
    /// Where nobody pays for it.
    Auto,
    /// Or the job can't begin.
    Must,
}

/// What comes of the wish on this host.
pub enum Past {
    /// Nobody has wished it.
    Unwanted,
    /// It can't be, and need not.
    Refused(Why),
    /// A helper is there, or the first rank, whose number this is, will tell of it.
    Helper { must: bool, helper: Option<XdpHelper>, first: u32 },
}

/// The same, once the first rank has told.
pub enum Joined {
    Unwanted,
    Refused(Why),
    Helper { must: bool, helper: XdpHelper },
}

/// An error that names the host and the variable.
pub fn named(why: &str, lane: &str) -> Error {
    network(format!("on host {}: {why} (HPVM_LANE is {lane})", host_name()))
}

/// Obeys `HPVM_LANE`, and with `ofi` also `HPVM_OFI_PROVIDER`. Spawned ranks inherit the variable from ranks that have
/// the interfaces already.
pub fn read() -> Result<(Lane, Wish)> {
    let spawned = std::env::var_os("HPVM_PARENT_PORT").is_some();
    let unless_spawned = |wish| if spawned { Wish::No } else { wish };
    match std::env::var("HPVM_LANE").as_deref() {
        Err(_) | Ok("" | "auto") => Ok((Lane::Auto, unless_spawned(Wish::Auto))),
        Ok("udp") => Ok((Lane::Udp, Wish::No)),
        Ok("xdp") => Ok((Lane::Udp, unless_spawned(Wish::Must))),
        Ok("ofi") => {
            let provider = std::env::var("HPVM_OFI_PROVIDER").ok();
            Ok((Lane::Ofi(provider.filter(|name| !name.is_empty())), Wish::No))
        }
        Ok(other) => {
            let text = format!("HPVM_LANE is {other:?}; expected auto, udp, xdp or ofi");
            Err(Error::new(Class::Arg, text))
        }
    }
}

/// Obeys `HPVM_OFI_RDMA`: whether libfabric reads long messages out of their senders' memory.
pub fn rdma() -> Result<Rdma> {
    match std::env::var("HPVM_OFI_RDMA").as_deref() {
        Err(_) | Ok("" | "auto") => Ok(Rdma::Auto),
        Ok("1") => Ok(Rdma::Always),
        Ok("0") => Ok(Rdma::Never),
        Ok(other) => {
            let text = format!("HPVM_OFI_RDMA is {other:?}; expected auto, 0 or 1");
            Err(Error::new(Class::Arg, text))
        }
    }
}

/// The helper's file: that of `HPVM_XDP_HELPER`, or of this installation.
fn helper() -> std::result::Result<PathBuf, Refusal> {
    if let Some(file) = std::env::var_os("HPVM_XDP_HELPER").filter(|file| !file.is_empty()) {
        return Ok(file.into());
    }
    let text = "it is not known where hpvm is installed".to_owned();
    let unknown = Refusal { why: Why::Impossible, text };
    installation().map(|prefix| prefix.join(XDP_HELPER)).ok_or(unknown)
}

impl Past {
    /// Starts the helper in the first rank of a host. To be called before the ranks meet.
    ///
    /// # Errors
    /// It must start and does not.
    pub fn prepare(
        wish: Wish,
        m: &mut Client,
        (rank, first): (u32, u32),
        interfaces: &[Interface],
    ) -> Result<Past> {
        if wish == Wish::No {
            return Ok(Past::Unwanted);
        }
        let must = wish == Wish::Must;
        // All ranks of a host find the same, so that none asks for a name that nobody tells.
        let worth = if must { Ok(()) } else { xdp_is_worth(interfaces) };
        let helper = worth.and_then(|()| helper()).and_then(|file| {
            xdp_usable(&file)?;
            if rank == first { XdpHelper::start(&file).map(Some) } else { Ok(None) }
        });
        if let Ok(Some(started)) = &helper {
            m.put(&format!("{HELPER_KEY}{first}"), started.name()).map_err(manager)?;
        }
        match helper {
            Ok(helper) => Ok(Past::Helper { must, helper, first }),
            Err(refusal) => refused(must, refusal).map(Past::Refused),
        }
    }

    /// Connects to the helper. To be called when the first rank of this host has told of it, and before the ranks meet for the last
    /// time: the helper takes whoever is not connected when the first one asks for dead, and whose connection ends as well.
    ///
    /// # Errors
    /// It must be there and is not.
    pub fn join(self, m: &mut Client) -> Result<Joined> {
        let (must, helper, first) = match self {
            Past::Unwanted => return Ok(Joined::Unwanted),
            Past::Refused(why) => return Ok(Joined::Refused(why)),
            Past::Helper { must, helper, first } => (must, helper, first),
        };
        let helper = match helper {
            Some(helper) => Ok(helper),
            None => match m.get(&format!("{HELPER_KEY}{first}")).map_err(manager)? {
                Some(name) => XdpHelper::join(&name),
                None => Err(Refusal {
                    why: Why::Impossible,
                    text: format!("rank {first}, the first of this host, has not started hpvm-xdp"),
                }),
            },
        };
        match helper {
            Ok(helper) => Ok(Joined::Helper { must, helper }),
            Err(refusal) => refused(must, refusal).map(Joined::Refused),
        }
    }
}

/// What follows when datagrams can't pass the kernel.
fn refused(must: bool, refusal: Refusal) -> Result<Why> {
    if must { Err(named(&refusal.text, "xdp")) } else { Ok(refusal.why) }
}

impl Joined {
    /// Lets datagrams pass the kernel. To be called when all ranks have met. `local`: among the ranks of this host, and how
    /// many they are.
    ///
    /// # Errors
    /// They must and can't.
    pub fn pass(self, opened: &mut Opened, local: (u32, u32)) -> Result<()> {
        match self {
            Joined::Unwanted => {}
            Joined::Refused(why) => opened.set_why_udp(why),
            Joined::Helper { must, helper } => {
                let settings = PastKernelSettings { helper, local, in_any_mode: must };
                if let Err(refusal) = opened.pass_kernel(settings) {
                    opened.set_why_udp(refused(must, refusal)?);
                }
            }
        }
        Ok(())
    }
}
