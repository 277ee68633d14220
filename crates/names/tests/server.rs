//! A server and its clients: honest ones, dead ones, and strangers.

use hpvm_names::{Answer, Client, Request, Server};
use hpvm_net::JobKey;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// A server in a thread, until this is dropped.
struct Running {
    places: Vec<(String, u16)>,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(key: u8) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut server = Server::new(listener, JobKey::new([key; 16])).expect("a server");
        let address = server.address().expect("an address");
        let (stop, stopped) = UnixStream::pair().expect("a pair");
        let thread =
            std::thread::spawn(
                move || {
                    while !server.turn(stopped.as_raw_fd()).expect("it waits") {}
                },
            );
        let places = vec![(address.ip().to_string(), address.port())];
        Running { places, stop: Some(stop), thread: Some(thread) }
    }

    fn client(&self) -> Client {
        Client::connect(&self.places, &JobKey::new([1; 16])).expect("the same key")
    }

    fn stranger(&self) -> TcpStream {
        TcpStream::connect((self.places[0].0.as_str(), self.places[0].1)).expect("it listens")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        self.thread.take().map(JoinHandle::join);
    }
}

fn publish(name: &str, port: &str) -> Request {
    Request::Publish { name: name.to_owned(), port: port.to_owned() }
}

fn lookup(name: &str) -> Request {
    Request::Lookup { name: name.to_owned() }
}

#[test]
fn names_are_there_as_long_as_their_client() {
    let server = Running::start(1);
    let (mut first, mut second) = (server.client(), server.client());
    assert_eq!(first.ask(&publish("s", "p")).unwrap(), Answer::Done);
    assert_eq!(second.ask(&publish("s", "q")).unwrap(), Answer::Taken);
    assert_eq!(second.ask(&lookup("s")).unwrap(), Answer::Port("p".into()));
    assert_eq!(second.ask(&Request::Unpublish { name: "s".into() }).unwrap(), Answer::Unknown);
    let long = "p".repeat(100_000);
    assert!(matches!(second.ask(&publish("t", &long)).unwrap(), Answer::Refused(_)));
    drop(first);
    // The server hears of it when it looks.
    while second.ask(&lookup("s")).unwrap() != Answer::Unknown {}
    assert_eq!(second.ask(&publish("s", "q")).unwrap(), Answer::Done);
}

#[test]
fn who_has_another_key_gets_in_nowhere() {
    let server = Running::start(2);
    let error = Client::connect(&server.places, &JobKey::new([1; 16])).unwrap_err();
    assert!(error.contains("another key"), "{error}");
    let nowhere = Client::connect(&[("127.0.0.1".into(), 1)], &JobKey::new([1; 16])).unwrap_err();
    assert!(nowhere.contains("127.0.0.1:1") && nowhere.contains("refused"), "{nowhere}");
}

#[test]
fn strangers_disturb_nobody() {
    let server = Running::start(1);
    let mut first = server.client();
    assert_eq!(first.ask(&publish("s", "p")).unwrap(), Answer::Done);
    // Silent ones, more than are kept.
    let silent: Vec<TcpStream> = (0..100).map(|_| server.stranger()).collect();
    for rubbish in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 1000], &[0xff; 48], b"x"] {
        let mut stranger = server.stranger();
        let _ = stranger.write_all(rubbish);
        let _ = stranger.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        // Closed, or reset because not all of it was read; whatever it says are a number and a code.
        let _ = stranger.read_to_end(&mut said);
        assert!(said.len() <= 32, "{said:?}");
    }
    assert_eq!(server.client().ask(&lookup("s")).unwrap(), Answer::Port("p".into()));
    assert_eq!(first.ask(&lookup("s")).unwrap(), Answer::Port("p".into()));
    drop(silent);
}
