//! TLS between two gateways. Both know the job's key; from it follows one key pair and one certificate, which each end shows
//! and takes from the other, and nothing else: there is no authority, no name and no date to check.

use aws_lc_rs::hmac;
use hpvm_net::JobKey;
use rcgen::{CertificateParams, KeyPair};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs as provider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, DistinguishedName, Error,
    ServerConfig, ServerConnection, SignatureScheme,
};
use std::sync::Arc;

/// An Ed25519 private key in PKCS #8, but for its 32 bytes, which follow.
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// What both certificates are called; nobody looks at it.
const NAME: &str = "hpvm";

/// Makes the connections of one job.
pub struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Tls {
    /// For those who know the job's key.
    ///
    /// # Errors
    /// The cryptography refuses; for people.
    pub fn new(key: &JobKey) -> Result<Tls, String> {
        let bad = |error: &dyn std::fmt::Display| format!("cannot set up TLS: {error}");
        let secret = hmac::Key::new(hmac::HMAC_SHA256, key.hex().as_bytes());
        let seed = hmac::sign(&secret, b"hpvm gateways of one job: Ed25519 seed");
        let private = PrivatePkcs8KeyDer::from([&PKCS8[..], seed.as_ref()].concat());
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&private, &rcgen::PKCS_ED25519);
        let pair = pair.map_err(|error| bad(&error))?;
        let params = CertificateParams::new(vec![NAME.to_owned()]).map_err(|error| bad(&error))?;
        let own = params.self_signed(&pair).map_err(|error| bad(&error))?.der().clone();
        let private = PrivateKeyDer::Pkcs8(private);
        let provider = Arc::new(provider::default_provider());
        let pin = Arc::new(Pin { own: own.clone(), provider: Arc::clone(&provider) });
        let versions: &[_] = &[&TLS13];
        let mut client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(|error| bad(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&pin) as Arc<dyn ServerCertVerifier>)
            .with_client_auth_cert(vec![own.clone()], private.clone_key())
            .map_err(|error| bad(&error))?;
        client.resumption = Resumption::disabled();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| bad(&error))?
            .with_client_cert_verifier(pin)
            .with_single_cert(vec![own], private)
            .map_err(|error| bad(&error))?;
        server.send_tls13_tickets = 0;
        Ok(Tls { client: Arc::new(client), server: Arc::new(server) })
    }

    /// A connection that we make.
    ///
    /// # Errors
    /// As rustls says.
    pub fn calls(&self) -> Result<Connection, Error> {
        let name = ServerName::try_from(NAME).map_err(|_| Error::General("no name".to_owned()))?;
        ClientConnection::new(Arc::clone(&self.client), name).map(Connection::Client)
    }

    /// A connection that we take.
    ///
    /// # Errors
    /// As rustls says.
    pub fn takes(&self) -> Result<Connection, Error> {
        ServerConnection::new(Arc::clone(&self.server)).map(Connection::Server)
    }
}

/// The one certificate that is right. Who shows it has to sign with its key, too.
#[derive(Debug)]
struct Pin {
    own: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Pin {
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        match shown.as_ref() == self.own.as_ref() {
            true => Ok(()),
            false => Err(Error::General("not a gateway of this job".to_owned())),
        }
    }

    fn signed(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            shown,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }
}

/// TLS 1.2 is not offered, so nothing is signed for it.
fn never() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("TLS 1.2".to_owned()))
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

impl ClientCertVerifier for Pin {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        never()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves bytes between both ends until nothing moves any more.
    fn shake(client: &mut Connection, server: &mut Connection) -> Result<(), Error> {
        for _ in 0..20 {
            for turn in [true, false] {
                let (from, to) =
                    if turn { (&mut *client, &mut *server) } else { (&mut *server, &mut *client) };
                let mut bytes = Vec::new();
                while from.wants_write() {
                    from.write_tls(&mut bytes).expect("memory");
                }
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    to.read_tls(&mut rest).expect("memory");
                    to.process_new_packets()?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn who_knows_the_key_is_taken_and_nobody_else() {
        let tls = |byte| Tls::new(&JobKey::new([byte; 16])).expect("keys");
        let (ours, same, other) = (tls(1), tls(1), tls(2));
        let (mut client, mut server) = (ours.calls().unwrap(), same.takes().unwrap());
        shake(&mut client, &mut server).expect("the same key");
        assert!(!client.is_handshaking() && !server.is_handshaking());
        let (mut client, mut server) = (other.calls().unwrap(), ours.takes().unwrap());
        assert!(shake(&mut client, &mut server).is_err());
        assert!(client.is_handshaking() || server.is_handshaking());
        // The client trusts nobody either: a server that takes any client is not believed.
        let (mut client, mut server) = (ours.calls().unwrap(), other.takes().unwrap());
        let error = shake(&mut client, &mut server).unwrap_err().to_string();
        assert!(error.contains("not a gateway of this job"), "{error}");
    }
}
