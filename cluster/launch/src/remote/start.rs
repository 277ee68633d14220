//! How an agent is started on another host.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::frame::Frame;
use super::order::{Order, Shell};
use crate::executor::link::LinkIo;
use crate::sys::Epoll;

/// The user's own `ssh`, which must not ask for anything.
pub const SSH: &[&str] = &["ssh", "-T", "-o", "BatchMode=yes"];
/// The subcommand that is an agent.
pub const SUBCOMMAND: &str = "agent";

/// The command that makes an agent on another host: this program, at the same place.
pub fn command(_shell: &Shell) -> Vec<OsString> {
    let own = std::env::current_exe().unwrap_or_else(|_| "hpvm".into());
    vec![quote(own.as_os_str()), SUBCOMMAND.into()]
}

/// Starts the agent of an order's first host and sends the order.
pub fn agent(order: &Order, epoll: &Epoll, index: u32) -> io::Result<LinkIo> {
    let (words, host) = (&order.shell.words, &order.nodes[0].host);
    let mut link = LinkIo::start(words, host, &command(&order.shell), epoll, index)?;
    link.queue(&Frame::Order(order.encode()));
    Ok(link)
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
