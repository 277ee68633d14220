//! A process's connection to the name server.

use crate::message::{Answer, NAME_MAX, PORT_MAX, Request};
use crate::seal::{End, Seal};
use crate::server::watch_over;
use hpvm_net::JobKey;
use hpvm_net::handshake::{NONCE_BYTES, send, session_of};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long one address is tried, and an answer waited for. Servers that are there answer within milliseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(4);

/// A connection to a server that has proved that it knows the key. Calls block, for some seconds at most.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    seal: Seal,
    inbox: Vec<u8>,
}

impl Client {
    /// Connects to the first of these places (a name or address, and a port) where a server with this key is.
    ///
    /// # Errors
    /// There is none; what was tried, for people.
    pub fn connect(places: &[(String, u16)], key: &JobKey) -> Result<Client, String> {
        let mut causes = Vec::new();
        for (host, port) in places {
            let addresses = match (host.as_str(), *port).to_socket_addrs() {
                Ok(addresses) => addresses.collect::<Vec<_>>(),
                Err(cause) => {
                    causes.push(format!("{host}: {cause}"));
                    continue;
                }
            };
            for address in addresses {
                match Client::at(address, key) {
                    Ok(client) => return Ok(client),
                    Err(cause) => causes.push(format!("{host} ({address}): {cause}")),
                }
            }
        }
        Err(causes.join("; "))
    }

    fn at(address: SocketAddr, key: &JobKey) -> Result<Client, String> {
        let told = |cause: io::Error| match cause.kind() {
            io::ErrorKind::WouldBlock => format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()),
            io::ErrorKind::UnexpectedEof => "what listens there closes the connection".to_owned(),
            _ => cause.to_string(),
        };
        let stream = TcpStream::connect_timeout(&address, ANSWER_TIMEOUT).map_err(told)?;
        let client = session_of(key).map_err(told)?;
        let answer = || -> io::Result<_> {
            stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
            stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
            watch_over(&stream)?;
            send_all(&stream, &client.greeting())?;
            let mut answer = [0; 2 * NONCE_BYTES];
            (&stream).read_exact(&mut answer)?;
            Ok(answer)
        };
        let answer = answer().map_err(told)?;
        let Some((proof, session)) = client.prove(&answer) else {
            return Err(
                "what listens there has another key, as another user's server has".to_owned()
            );
        };
        send_all(&stream, &proof).map_err(told)?;
        Ok(Client { stream, seal: Seal::new(&session, End::Client), inbox: Vec::new() })
    }

    /// What the server answers.
    ///
    /// # Errors
    /// It does not: the connection can't be used any more.
    pub fn ask(&mut self, request: &Request) -> io::Result<Answer> {
        let (Request::Publish { name, .. }
        | Request::Lookup { name }
        | Request::Unpublish { name }) = request;
        let long = matches!(request, Request::Publish { port, .. } if port.len() > PORT_MAX);
        if long || name.len() > NAME_MAX {
            let text =
                format!("a name of more than {NAME_MAX} bytes, or a port of more than {PORT_MAX}");
            return Ok(Answer::Refused(text));
        }
        send_all(&self.stream, &self.seal.seal(&request.write())?)?;
        let mut bytes = [0; 4096];
        loop {
            let forged = || io::Error::other("somebody has changed what the server said");
            if let Some(message) = self.seal.open(&mut self.inbox).map_err(|_| forged())? {
                return Answer::read(&message)
                    .ok_or_else(|| io::Error::other("it is of another version"));
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.inbox.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn send_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(stream, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
