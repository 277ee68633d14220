//! A certificate that somebody else has issued: read from files, and again when they have changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// How often the files are looked at: a renewal is in use a minute later.
const POLL_INTERVAL: Duration = Duration::from_secs(60);

/// The files and what was in them.
#[derive(Debug)]
pub struct Given {
    certificate: PathBuf,
    key: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    looked: Instant,
    changed: Option<SystemTime>,
    current: Arc<CertifiedKey>,
}

impl Given {
    pub fn open(certificate: PathBuf, key: PathBuf) -> Result<Given, String> {
        let (changed, looked) = (changed(&certificate), Instant::now());
        let current = read(&certificate, &key)?;
        Ok(Given { certificate, key, state: Mutex::new(State { looked, changed, current }) })
    }

    /// Of the last certificate of the chain, which clients pin.
    pub fn fingerprint(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.current.cert.last().map_or_else(String::new, super::fingerprint)
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

fn read(certificate: &Path, key: &Path) -> Result<Arc<CertifiedKey>, String> {
    let told = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).and_then(|all| all.collect());
    let chain = chain.map_err(|e| told(certificate, &e))?;
    if chain.is_empty() {
        return Err(told(certificate, &"holds no certificate; expected PEM, the server's first"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|e| told(key, &e))?;
    let provider = super::provider();
    let pair = CertifiedKey::from_der(chain, private, &provider).map_err(|e| told(key, &e))?;
    Ok(Arc::new(pair))
}

impl ResolvesServerCert for Given {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= POLL_INTERVAL {
            state.looked = Instant::now();
            let now = changed(&self.certificate);
            // What is half written is read a minute later.
            if now != state.changed
                && let Ok(next) = read(&self.certificate, &self.key)
            {
                (state.changed, state.current) = (now, next);
            }
        }
        Some(Arc::clone(&state.current))
    }
}
