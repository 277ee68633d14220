//! What libfabric offers here, and which of it is taken.

use crate::abi::{self, Info};
use crate::cards::{cards, preference};
use crate::endpoint::SHORTEST_MESSAGE;
use crate::library::Library;
use crate::rdma::Rdma;
use crate::signals;
use core::ffi::{CStr, c_char};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::NonNull;

/// Providers that are taken only when they are named: shared memory reaches no other host.
const ONLY_NAMED: &[&str] = &["shm"];

/// Which of the library's providers is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The first that the library prefers, of those that reach other hosts.
    Preferred,
    /// The one of this name.
    Named(String),
    /// One that drives one of these cards: see [`crate::cards`].
    OfCards(Vec<String>),
}

/// What a process wants of the library.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub provider: Provider,
    /// The addresses by which others are reached, the best first. A provider with other addresses of IP is not taken.
    pub addresses: Vec<IpAddr>,
    pub rdma: Rdma,
}

/// What the library has on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub version: (u32, u32),
    /// Providers of reliable datagrams, the preferred first.
    pub providers: Vec<String>,
    /// This host's card that is used unless another way is asked for, and its provider.
    pub automatic: Option<(String, String)>,
}

impl Found {
    /// Version and providers, for people.
    pub fn text(&self) -> String {
        let (major, minor) = self.version;
        format!("libfabric {major}.{minor}: {}", self.providers.join(", "))
    }

    /// What `--lane auto` does, for people.
    pub fn automatic_text(&self) -> String {
        match &self.automatic {
            Some((card, provider)) => format!("auto uses card {card} by {provider}"),
            None => "auto does not use it: no card here that it drives".to_owned(),
        }
    }
}

/// Whether there is a libfabric on this host, and its providers.
///
/// # Errors
/// There is none, or none of its providers fits: why, for people.
pub fn probe() -> Result<Found, String> {
    let library = Library::load()?;
    let offers = all(&library)?;
    let cards = cards();
    let places = offers.list.iter().filter_map(|offer| {
        preference(&cards, &offer.provider, &offer.domain).map(|place| (place, offer))
    });
    let best = places.min_by_key(|(place, _)| *place);
    let automatic = best.map(|(_, offer)| (offer.domain.clone(), offer.provider.clone()));
    Ok(Found { version: library.version, providers: offers.providers(), automatic })
}

fn all(library: &Library) -> Result<Offers<'_>, String> {
    let none = || {
        let (major, minor) = library.version;
        format!("libfabric {major}.{minor} has no provider of reliable datagrams on this host")
    };
    Offers::ask(library, None, abi::FI_MSG)?
        .filter(|offers| !offers.list.is_empty())
        .ok_or_else(none)
}

/// One thing that is offered. The pointer is valid as long as the [`Offers`] that it is from.
pub(crate) struct Offer {
    pub info: NonNull<Info>,
    pub provider: String,
    pub domain: String,
    /// The address of IP that it stands for.
    pub ip: Option<IpAddr>,
    /// It was asked whether it reads peers' memory, and does.
    pub reads: bool,
}

/// An answer of `fi_getinfo`, checked.
pub(crate) struct Offers<'a> {
    library: &'a Library,
    first: NonNull<Info>,
    capabilities: u64,
    pub list: Vec<Offer>,
}

impl<'a> Offers<'a> {
    /// Asks for reliable datagrams with these capabilities. `None`: nothing fits.
    pub fn ask(
        library: &'a Library,
        provider: Option<&str>,
        capabilities: u64,
    ) -> Result<Option<Offers<'a>>, String> {
        let hints = hints(library, provider, capabilities)?;
        let mut first = std::ptr::null_mut();
        let null = std::ptr::null();
        // SAFETY: hints as the library has made them, no node, and valid memory for the answer.
        let result = signals::keep(|| unsafe {
            let result = (library.getinfo)(abi::API, null, null, 0, hints.as_ptr(), &mut first);
            (library.freeinfo)(hints.as_ptr());
            result
        });
        match (result, NonNull::new(first)) {
            (0, Some(first)) => {
                let mut offers = Offers { library, first, capabilities, list: Vec::new() };
                offers.read();
                Ok(Some(offers))
            }
            (0, None) => Ok(None),
            (error, _) if error == -abi::FI_ENODATA => Ok(None),
            (error, _) => {
                let why = library.error(error as isize);
                Err(format!("asking libfabric for its providers: {why}"))
            }
        }
    }

    fn read(&mut self) {
        let mut next = Some(self.first);
        while let Some(info) = next {
            // SAFETY: an entry of the list that the library has made and that lives until `drop`.
            let entry = unsafe { info.as_ref() };
            next = NonNull::new(entry.next);
            // SAFETY: the same.
            if let Some((provider, domain)) = unsafe { check(entry) } {
                // SAFETY: the same.
                let ip = unsafe { ip_of(entry) };
                let reads = self.capabilities & entry.caps & abi::FI_RMA != 0;
                self.list.push(Offer { info, provider, domain, ip, reads });
            }
        }
    }

    /// The names of the providers, each once.
    pub fn providers(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for offer in &self.list {
            if !names.contains(&offer.provider) {
                names.push(offer.provider.clone());
            }
        }
        names
    }

    /// The best offer for what is wanted: the preference among providers, which is the library's unless it is to be one of
    /// cards, then ours among addresses.
    fn best(&self, wanted: &Wanted) -> Option<&Offer> {
        let preference = |offer: &Offer| match &wanted.provider {
            Provider::Named(_) => Some(0),
            Provider::Preferred => (!ONLY_NAMED.contains(&&*offer.provider)).then_some(0),
            Provider::OfCards(cards) => preference(cards, &offer.provider, &offer.domain),
        };
        // An address of another kind than IP comes last: `verbs;ofi_rxm` offers InfiniBand's own (`FI_SOCKADDR_IB`) first,
        // opens no domain with it (libfabric 1.17), and works with the same card's address of IP.
        let place = |offer: &Offer| match offer.ip {
            None => Some(wanted.addresses.len()),
            Some(ip) => wanted.addresses.iter().position(|own| *own == ip),
        };
        let mut best: Option<(&Offer, (usize, usize))> = None;
        for offer in &self.list {
            let (Some(provider), Some(place)) = (preference(offer), place(offer)) else { continue };
            match best {
                Some((_, at)) if at.0 < provider => {}
                Some((before, at)) if at.0 == provider && before.provider != offer.provider => {}
                Some((_, at)) if at <= (provider, place) => {}
                _ => best = Some((offer, (provider, place))),
            }
        }
        best.map(|(offer, _)| offer)
    }
}

impl Drop for Offers<'_> {
    fn drop(&mut self) {
        // SAFETY: the list of `fi_getinfo`, freed once.
        unsafe { (self.library.freeinfo)(self.first.as_ptr()) };
    }
}

/// What is offered for `wanted`, and gives it to `open`.
pub(crate) fn with_best<T>(
    library: &Library,
    wanted: &Wanted,
    open: impl FnOnce(&Offer) -> Result<T, String>,
) -> Result<T, String> {
    let (major, minor) = library.version;
    let name = match &wanted.provider {
        Provider::Named(name) => Some(name.as_str()),
        Provider::Preferred | Provider::OfCards(_) => None,
    };
    let offers = Offers::ask(library, name, abi::FI_MSG)?;
    let Some(offers) = offers.filter(|offers| !offers.list.is_empty()) else {
        let all = all(library)?;
        return Err(format!(
            "libfabric {major}.{minor} has no provider {} of reliable datagrams on this host; it has {}: name one of \
             these in HPVM_OFI_PROVIDER, or none",
            name.unwrap_or("that fits"),
            all.providers().join(", "),
        ));
    };
    if let Some(best) = offers.best(wanted) {
        let reading = reading(library, best, wanted.rdma);
        let same = |offer: &&Offer| offer.domain == best.domain && offer.ip == best.ip;
        let with = reading.as_ref().and_then(|offers| offers.list.iter().find(same));
        return open(with.unwrap_or(best));
    }
    let list = |ips: &mut dyn Iterator<Item = IpAddr>| {
        let mut texts: Vec<String> = Vec::new();
        for text in ips.map(|ip| ip.to_string()) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
    };
    Err(format!(
        "libfabric {major}.{minor} offers {} at no address that may be used here: it offers the addresses {}, and those of \
         the interfaces in use (HPVM_NET) are {}",
        offers.providers().join(", "),
        list(&mut offers.list.iter().filter_map(|offer| offer.ip)),
        list(&mut wanted.addresses.iter().copied()),
    ))
}

/// What the provider of an offer has that also reads peers' memory, if that is wanted of it.
fn reading<'a>(library: &'a Library, offer: &Offer, rdma: Rdma) -> Option<Offers<'a>> {
    let capabilities = abi::FI_MSG | abi::FI_RMA;
    let ask = || Offers::ask(library, Some(&offer.provider), capabilities).ok().flatten();
    if rdma.is_wanted_of(&offer.provider) { ask() } else { None }
}

/// What we want and can do.
fn hints(
    library: &Library,
    provider: Option<&str>,
    capabilities: u64,
) -> Result<NonNull<Info>, String> {
    let incomplete = || "libfabric: fi_allocinfo gives an incomplete structure".to_owned();
    // SAFETY: null asks for an empty structure.
    let hints = unsafe { (library.dupinfo)(std::ptr::null()) };
    let mut hints = NonNull::new(hints).ok_or_else(incomplete)?;
    // SAFETY: just made by the library, and nobody else's.
    let info = unsafe { hints.as_mut() };
    // SAFETY: the structures that the library has made with it, or null.
    let parts =
        unsafe { (info.ep_attr.as_mut(), info.domain_attr.as_mut(), info.fabric_attr.as_mut()) };
    let (Some(ep), Some(domain), Some(fabric)) = parts else {
        // SAFETY: what the library has made, freed once.
        unsafe { (library.freeinfo)(hints.as_ptr()) };
        return Err(incomplete());
    };
    ep.kind = abi::FI_EP_RDM;
    domain.threading = abi::FI_THREAD_DOMAIN;
    // We look often enough, and a thread of the provider's would take a processor from the ranks.
    domain.control_progress = abi::FI_PROGRESS_MANUAL;
    domain.data_progress = abi::FI_PROGRESS_MANUAL;
    domain.resource_mgmt = abi::FI_RM_ENABLED;
    domain.mr_mode = abi::FI_MR_LOCAL
        | abi::FI_MR_VIRT_ADDR
        | abi::FI_MR_ALLOCATED
        | abi::FI_MR_PROV_KEY
        | abi::FI_MR_ENDPOINT;
    if let Some(name) = provider {
        let name: Vec<u8> = name.bytes().filter(|byte| *byte != 0).chain([0]).collect();
        // SAFETY: a terminated string. The library frees the copy with the structure, by free(3).
        fabric.prov_name = unsafe { libc::strdup(name.as_ptr().cast()) };
    }
    info.caps = capabilities;
    info.mode = abi::FI_CONTEXT | abi::FI_CONTEXT2;
    Ok(hints)
}

/// The names of provider and domain, if the entry is complete and what we have asked for.
///
/// # Safety
/// An entry of the library's.
unsafe fn check(info: &Info) -> Option<(String, String)> {
    // SAFETY: each is null or a structure of the library's, as the caller says.
    let (tx, rx, ep, domain, fabric) = unsafe {
        (
            info.tx_attr.as_ref()?,
            info.rx_attr.as_ref()?,
            info.ep_attr.as_ref()?,
            info.domain_attr.as_ref()?,
            info.fabric_attr.as_ref()?,
        )
    };
    let known = abi::FI_CONTEXT | abi::FI_CONTEXT2;
    let modes = info.mode | tx.mode | rx.mode;
    let fits = ep.kind == abi::FI_EP_RDM
        && ep.max_msg_size >= SHORTEST_MESSAGE
        && ep.msg_prefix_size == 0
        && modes & !known == 0
        && tx.size > 0
        && rx.size > 0;
    let text = |text: *const c_char| match text.is_null() {
        true => String::new(),
        // SAFETY: a terminated string of the library's.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    };
    (fits && !fabric.prov_name.is_null()).then(|| (text(fabric.prov_name), text(domain.name)))
}

/// The address of an entry, if it is one of IP.
///
/// # Safety
/// An entry of the library's.
unsafe fn ip_of(info: &Info) -> Option<IpAddr> {
    if info.src_addr.is_null() || info.src_addrlen > 4096 {
        return None;
    }
    // SAFETY: memory of the library's of that length.
    let bytes = unsafe { core::slice::from_raw_parts(info.src_addr.cast(), info.src_addrlen) };
    read_ip(info.addr_format, bytes)
}

/// The IP address in a socket address.
pub(crate) fn read_ip(format: u32, bytes: &[u8]) -> Option<IpAddr> {
    if ![abi::FI_SOCKADDR, abi::FI_SOCKADDR_IN, abi::FI_SOCKADDR_IN6].contains(&format) {
        return None;
    }
    let family = u16::from_ne_bytes(*bytes.first_chunk()?);
    if family == libc::AF_INET as u16 && bytes.len() >= size_of::<libc::sockaddr_in>() {
        let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
        return Some(Ipv4Addr::from(octets).into());
    }
    if family == libc::AF_INET6 as u16 && bytes.len() >= size_of::<libc::sockaddr_in6>() {
        let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
        return Some(Ipv6Addr::from(octets).into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_where_they_are_whole() {
        let mut four = [0u8; 16];
        four[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        four[4..8].copy_from_slice(&[10, 0, 0, 7]);
        assert_eq!(read_ip(abi::FI_SOCKADDR_IN, &four), Some([10, 0, 0, 7].into()));
        assert_eq!(read_ip(abi::FI_SOCKADDR_IN, &four[..15]), None);
        assert_eq!(read_ip(abi::FI_ADDR_STR, &four), None);
        assert_eq!(read_ip(abi::FI_SOCKADDR, &[]), None);
        let mut six = [0u8; 28];
        six[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        six[23] = 1;
        assert_eq!(read_ip(abi::FI_SOCKADDR_IN6, &six), Some(Ipv6Addr::LOCALHOST.into()));
        assert_eq!(read_ip(abi::FI_SOCKADDR_IN6, &six[..27]), None);
    }
}
