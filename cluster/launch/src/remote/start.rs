//! How an agent is started on another host.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::rc::Rc;

use super::frame::Frame;
use super::order::{Order, Shell};
use super::preload;
use crate::executor::link::LinkIo;
use crate::sys::Epoll;

/// The user's own `ssh`, which must not ask for anything.
pub const SSH: &[&str] = &["ssh", "-T", "-o", "BatchMode=yes"];
/// The subcommand that is an agent.
pub const SUBCOMMAND: &str = "agent";

/// How the agents of one process are started.
#[derive(Debug)]
pub struct Starter {
    /// What is run on another host, word by word.
    command: Vec<OsString>,
    /// What is sent first.
    archive: Option<Rc<Vec<u8>>>,
    /// Where this program is, for messages; empty if it is sent along.
    place: OsString,
}

impl Starter {
    /// Reads the program and its libraries when they are to be sent along.
    pub fn new(shell: &Shell) -> io::Result<Self> {
        if shell.preload {
            let archive = preload::pack()?;
            let script = preload::script(archive.len());
            let command = vec!["sh".into(), "-c".into(), script.into()];
            return Ok(Self { command, archive: Some(Rc::new(archive)), place: OsString::new() });
        }
        let own = match &shell.prefix {
            Some(prefix) => Path::new(prefix).join("bin/hpvm").into_os_string(),
            None => std::env::current_exe()?.into_os_string(),
        };
        Ok(Self { command: vec![own.clone(), SUBCOMMAND.into()], archive: None, place: own })
    }

    /// Starts the agent of an order's first host and sends the order.
    pub fn start(&self, order: &Order, epoll: &Epoll, index: u32) -> io::Result<LinkIo> {
        let (shell, host) = (&order.shell, &order.nodes[0].host);
        let quoted = |words: &[OsString]| words.iter().map(|word| quote(word)).collect::<Vec<_>>();
        let by_shell = !shell.raw || !shell.login.is_empty();
        let command = if by_shell { quoted(&self.command) } else { self.command.clone() };
        let words = match &shell.login[..] {
            [] => shell.words.clone(),
            login => [login, &quoted(&shell.words)].concat(),
        };
        let mut link = LinkIo::start(&words, host, &command, epoll, index)?;
        link.send_first(self.archive.clone());
        link.queue(&Frame::Order(order.encode()));
        Ok(link)
    }

    /// Where agents expect to find this program; nothing if it is sent along.
    pub fn place(&self) -> &OsStr {
        &self.place
    }
}

/// A word as a shell takes it: `ssh` joins the words of a command and gives them to one.
pub fn quote(word: &OsStr) -> OsString {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:=@%,".contains(byte);
    if !word.is_empty() && word.as_bytes().iter().all(plain) {
        return word.to_os_string();
    }
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for word in ["/usr/bin/hpvm", "a b", "it's", "$HOME", "", "a\nb", "\u{fc}"] {
            let script = format!("printf %s {}", quote(OsStr::new(word)).to_str().unwrap());
            let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
        assert_eq!(quote(OsStr::new("/usr/bin/hpvm")), "/usr/bin/hpvm");
    }
}
