//! Whom a client believes: the authorities that the system knows, or the one certificate that was
//! pinned when it signed in.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Whom to believe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities that the system knows.
    System,
    /// This authority, or this very certificate.
    Pinned(Vec<u8>),
}

impl Trust {
    /// The settings of connections.
    pub fn config(&self) -> Result<ClientConfig, String> {
        let verifier: Arc<dyn ServerCertVerifier> = match self {
            Trust::System => webpki(system())?,
            Trust::Pinned(der) => {
                let certificate = CertificateDer::from(der.clone());
                let mut roots = RootCertStore::empty();
                // What is no authority can only be the certificate itself.
                let authority = match roots.add(certificate.clone()) {
                    Ok(()) => Some(webpki(roots)?),
                    Err(_) => None,
                };
                Arc::new(Pinned { certificate, authority, provider: super::provider() })
            }
        };
        with(verifier)
    }
}

fn with(verifier: Arc<dyn ServerCertVerifier>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(super::provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    Ok(builder.with_no_client_auth())
}

fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // What cannot be read is not believed.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// The usual check: chain, names, times.
fn webpki(roots: RootCertStore) -> Result<Arc<dyn ServerCertVerifier>, String> {
    if roots.is_empty() {
        return Ok(Arc::new(Nobody(super::provider())));
    }
    let provider = Arc::new(super::provider());
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    builder.build().map(|verifier| verifier as _).map_err(|error| error.to_string())
}

/// What a server shows, to somebody who has not pinned anything yet.
#[derive(Debug)]
pub struct Shown {
    /// Its own certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Whether the system's authorities vouch for it.
    pub known: bool,
}

/// Looks at a server's certificate. Nothing else is sent.
pub async fn look(host: &str, port: u16) -> Result<Shown, String> {
    let watch = Arc::new(Watch {
        inner: webpki(system())?,
        provider: super::provider(),
        seen: Mutex::default(),
    });
    let config = with(Arc::clone(&watch) as Arc<dyn ServerCertVerifier>)?;
    let name = server_name(host)?;
    let told = |error: std::io::Error| format!("{host}:{port}: {error}");
    let stream = TcpStream::connect((host, port)).await.map_err(told)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(told)?;
    let seen = std::mem::take(&mut *watch.seen.lock().unwrap_or_else(PoisonError::into_inner));
    let (chain, known) = seen.ok_or_else(|| format!("{host}:{port} shows no certificate"))?;
    Ok(Shown { chain, known })
}

/// The name of a server as TLS knows it.
pub fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    let plain = host.trim_start_matches('[').trim_end_matches(']').to_string();
    ServerName::try_from(plain).map_err(|_| format!("'{host}' is no name of a host"))
}

/// Signatures are checked by all of them alike.
macro_rules! signatures {
    ($provider:tt) => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.$provider.signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signed, algorithms)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.$provider.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signed, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.$provider.signature_verification_algorithms.supported_schemes()
        }
    };
}

/// Believes what was pinned.
#[derive(Debug)]
struct Pinned {
    certificate: CertificateDer<'static>,
    authority: Option<Arc<dyn ServerCertVerifier>>,
    provider: CryptoProvider,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The certificate itself: who holds its key is the one whom the user has looked at.
        if end.as_ref() == self.certificate.as_ref() {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.authority {
            Some(authority) => authority.verify_server_cert(end, chain, name, ocsp, now),
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    signatures!(provider);
}

/// Believes nobody: for a system without authorities.
#[derive(Debug)]
struct Nobody(CryptoProvider);

impl ServerCertVerifier for Nobody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    signatures!(0);
}

type Seen = (Vec<CertificateDer<'static>>, bool);

/// Remembers what it is shown, and believes it for as long as nothing is said over the connection.
#[derive(Debug)]
struct Watch {
    inner: Arc<dyn ServerCertVerifier>,
    provider: CryptoProvider,
    seen: Mutex<Option<Seen>>,
}

impl ServerCertVerifier for Watch {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let known = self.inner.verify_server_cert(end, chain, name, ocsp, now).is_ok();
        let all = std::iter::once(end).chain(chain).map(|one| one.clone().into_owned()).collect();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((all, known));
        Ok(ServerCertVerified::assertion())
    }

    signatures!(provider);
}
