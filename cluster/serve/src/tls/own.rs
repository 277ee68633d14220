//! An authority of the server's own, and the certificate it issues for this machine's names.

use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// How long the authority lasts: ten years, since clients pin it.
const AUTHORITY_DAYS: u64 = 3653;
/// How long a certificate lasts: what browsers accept at most. It is renewed long before.
const CERTIFICATE_DAYS: u64 = 397;
const RENEW_AFTER: Duration = Duration::from_secs(300 * 86_400);
/// Clocks of clients that are behind by a day do not matter.
const BEFORE: Duration = Duration::from_secs(86_400);

/// The authority, its names, and the certificate of now.
pub struct Own {
    issuer: Issuer<'static, KeyPair>,
    authority: CertificateDer<'static>,
    names: Vec<String>,
    current: Mutex<(SystemTime, Arc<CertifiedKey>)>,
}

impl std::fmt::Debug for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the key.
        f.debug_struct("Own").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Own {
    /// Opens the authority in a data folder, or makes one, and issues a certificate for these names.
    pub fn open(data: &Path, names: Vec<String>) -> Result<Own, String> {
        let folder = data.join("tls");
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(told)?;
        let (certificate, key) = (folder.join("authority.pem"), folder.join("authority.key"));
        if !certificate.exists() {
            make_authority(&certificate, &key)?;
        }
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let (pem, key_pem) = (read(&certificate)?, read(&key)?);
        let bad = |error: &dyn std::fmt::Display| {
            format!(
                "{}: {error}; remove the folder to have a new authority, which clients pin anew",
                folder.display()
            )
        };
        let authority = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|e| bad(&e))?;
        let key = KeyPair::from_pem(&key_pem).map_err(|e| bad(&e))?;
        let issuer = Issuer::new(authority_params(), key);
        let first = issue(&issuer, &authority, &names)?;
        let current = Mutex::new((SystemTime::now(), first));
        Ok(Own { issuer, authority, names, current })
    }

    pub fn fingerprint(&self) -> String {
        super::fingerprint(&self.authority)
    }
}

impl ResolvesServerCert for Own {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let age = SystemTime::now().duration_since(current.0).unwrap_or_default();
        // A renewal that fails is tried again with the next connection; the old one still holds.
        if age > RENEW_AFTER
            && let Ok(next) = issue(&self.issuer, &self.authority, &self.names)
        {
            *current = (SystemTime::now(), next);
        }
        Some(Arc::clone(&current.1))
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "hpvm server authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    lasting(&mut params, AUTHORITY_DAYS);
    params
}

fn lasting(params: &mut CertificateParams, days: u64) {
    let now = SystemTime::now();
    params.not_before = (now - BEFORE).into();
    params.not_after = (now + Duration::from_secs(days * 86_400)).into();
}

fn make_authority(certificate: &Path, key: &Path) -> Result<(), String> {
    let bad = |error: rcgen::Error| format!("cannot make a certificate authority: {error}");
    let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(bad)?;
    let made = authority_params().self_signed(&pair).map_err(bad)?;
    // The key first: with it alone another start makes both anew.
    write(key, &pair.serialize_pem())?;
    write(certificate, &made.pem())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    use std::io::Write;
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut options = std::fs::File::options();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let mut file = file.map_err(told)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(told)
}

fn issue(
    issuer: &Issuer<'static, KeyPair>,
    authority: &CertificateDer<'static>,
    names: &[String],
) -> Result<Arc<CertifiedKey>, String> {
    let bad = |error: &dyn std::fmt::Display| format!("cannot make a certificate: {error}");
    let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|e| bad(&e))?;
    let mut params = CertificateParams::default();
    for name in names {
        params.subject_alt_names.push(match name.parse::<IpAddr>() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) => SanType::DnsName(
                name.clone()
                    .try_into()
                    .map_err(|_| format!("'{name}' is neither a host's name nor an address"))?,
            ),
        });
    }
    params.distinguished_name.push(DnType::CommonName, "hpvm server");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    lasting(&mut params, CERTIFICATE_DAYS);
    let made = params.signed_by(&pair, issuer).map_err(|e| bad(&e))?;
    let key = PrivateKeyDer::try_from(pair.serialize_der()).map_err(|e| bad(&e))?;
    let key = super::provider().key_provider.load_private_key(key).map_err(|e| bad(&e))?;
    let chain = vec![made.der().clone(), authority.clone()];
    Ok(Arc::new(CertifiedKey::new(chain, key)))
}

/// The names by which others may reach this machine.
pub fn names(more: &[String]) -> Vec<String> {
    let host = hpvm_launch::hosts::local_name();
    let mut names = vec!["localhost".to_string(), host.clone()];
    names.extend(host.split_once('.').map(|(short, _)| short.to_string()));
    names.extend(addresses().iter().map(IpAddr::to_string));
    names.extend(more.iter().cloned());
    names.sort();
    names.dedup();
    names
}

/// The addresses of this machine.
fn addresses() -> Vec<IpAddr> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the pointer is to writable memory.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return vec![IpAddr::from([127, 0, 0, 1])];
    }
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: the list is one that getifaddrs has given and nobody has freed.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        if entry.ifa_addr.is_null() {
            continue;
        }
        // SAFETY: the address, which is there, begins with its family, which says how long it is.
        unsafe {
            match i32::from((*entry.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    found.push(IpAddr::from(address.sin_addr.s_addr.to_ne_bytes()));
                }
                libc::AF_INET6 => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in6>();
                    found.push(IpAddr::from(address.sin6_addr.s6_addr));
                }
                _ => {}
            }
        }
    }
    // SAFETY: the list is ours, and nothing points into it any more.
    unsafe { libc::freeifaddrs(list) };
    found
}
