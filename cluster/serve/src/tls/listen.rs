//! A listener that hands out connections whose handshake is done.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::server::ResolvesServerCert;
use tokio_rustls::server::TlsStream;

use crate::auth::Peer;
use crate::idle::IdleTimeout;

/// Handshakes at once: who only connects and says nothing takes one of them for [`HANDSHAKE_TIMEOUT`].
const HANDSHAKES: usize = 512;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(100);
/// First byte of a handshake.
const HANDSHAKE: u8 = 22;
/// To who speaks plain HTTP.
const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\
    Connection: close\r\n\r\nThis port speaks TLS only: the address begins with https://\n";

/// See the module.
#[derive(Debug)]
pub struct TlsListener {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Begins to accept.
    pub fn start(tcp: TcpListener, who: Arc<dyn ResolvesServerCert>) -> Result<Self, String> {
        let address = tcp.local_addr().map_err(|error| error.to_string())?;
        let builder = ServerConfig::builder_with_provider(Arc::new(super::provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(who);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (done, ready) = mpsc::channel(HANDSHAKES);
        tokio::spawn(accept(tcp, acceptor, done));
        Ok(TlsListener { ready, address })
    }
}

async fn accept(
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let room = Arc::new(Semaphore::new(HANDSHAKES));
    while !done.is_closed() {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let (stream, address) = match tcp.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (acceptor, done) = (acceptor.clone(), done.clone());
        tokio::spawn(async move {
            let shaken = tokio::time::timeout(HANDSHAKE_TIMEOUT, shake(acceptor, stream)).await;
            if let Ok(Some(stream)) = shaken {
                // An error means that the server ends.
                let _ = done.send((stream, address)).await;
            }
            drop(permit);
        });
    }
}

async fn shake(acceptor: TlsAcceptor, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 1 && first[0] != HANDSHAKE {
        refuse(&mut stream).await;
        return None;
    }
    acceptor.accept(stream).await.ok()
}

/// Answers a plain request, and reads it to its end: closing a connection with unread bytes would reset it,
/// which takes the answer away from who still writes. The caller limits how long this lasts.
async fn refuse(stream: &mut TcpStream) {
    if stream.write_all(REFUSAL).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    let mut request = [0; 4096];
    while matches!(stream.read(&mut request).await, Ok(length) if length > 0) {}
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // The task lives as long as we do.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl Connected<IncomingStream<'_, IdleTimeout<TlsListener>>> for Peer {
    fn connect_info(stream: IncomingStream<'_, IdleTimeout<TlsListener>>) -> Self {
        Peer::Remote { address: *stream.remote_addr(), tls: true }
    }
}
