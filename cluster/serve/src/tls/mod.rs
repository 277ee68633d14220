//! TLS: the server's certificate, its listener, and what clients trust.
//!
//! Outside loopback the server speaks TLS only. Its certificate is given ([`given`]) or issued by an
//! authority of its own in the data folder ([`own`]), whose fingerprint the server prints and
//! `hpvm login` shows and pins ([`trust`]).

pub mod given;
pub mod listen;
pub mod own;
pub mod trust;

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// How a certificate is told to people: its SHA-256, as ssh and openssl show such things.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let bytes = Sha256::digest(certificate.as_ref());
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("SHA256:{}", pairs.join(":"))
}

/// The one provider of cryptography.
fn provider() -> CryptoProvider {
    aws_lc_rs::default_provider()
}
