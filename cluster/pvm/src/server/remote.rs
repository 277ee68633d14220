//! The process of another host: started by that of the first one, with which it talks by its standard input and output. It ends
//! when that is gone, and its tasks with it.

use super::channel::Channel;
use super::local::{Local, Source, waiting};
use super::{bind, listening};
use crate::sys;
use hpvm_pvm::protocol::{Order, Report, VERSION};
use std::io;
use std::time::Duration;

/// What this process is started with.
pub const OPTION: &str = "--host";
/// How long the first word may take.
const FIRST_WORD: Duration = Duration::from_secs(60);

pub fn main() -> i32 {
    match run() {
        Ok(()) => 0,
        Err(cause) => {
            eprintln!("hpvm pvm {OPTION} on {}: {cause}", sys::host_name());
            1
        }
    }
}

fn run() -> io::Result<()> {
    sys::ignore_ends();
    let (from, to) = (sys::duplicate(0)?, sys::duplicate(1)?);
    sys::forget_streams()?;
    let mut channel = Channel::new(from, to, FIRST_WORD)?;
    let (nonce, machine, silence) = welcome(&mut channel)?;
    channel.silence = silence;
    let listener = bind(&machine).map_err(|cause| {
        io::Error::new(cause.kind(), format!("the socket of {}: {cause}", listening(&machine)))
    })?;
    sys::listen(&listener)?;
    let local = Local::new(listener, nonce)?;
    channel.queue(&Report::Ready { version: VERSION });
    Process { local, channel, open: true }.serve();
    Ok(())
}

/// Waits for the first word.
fn welcome(channel: &mut Channel) -> io::Result<(i64, String, Duration)> {
    let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
    loop {
        match channel.next().map_err(wrong)? {
            Some(Order::Welcome { version: VERSION, nonce, machine, silence }) => {
                let silence = Duration::from_millis(silence.max(2000) as u64);
                return Ok((nonce, machine, silence));
            }
            Some(_) => {
                return Err(wrong("the first host has another version of hpvm".to_owned()));
            }
            None => {}
        }
        let limit = Some(Duration::from_secs(1));
        // Whatever ends it, the channel is looked at.
        let _ = hpvm_os::wait(&channel.descriptors().0, libc::POLLIN, limit);
        if !channel.read() || channel.is_lost() {
            return Err(wrong("no virtual machine at standard input".to_owned()));
        }
    }
}

struct Process {
    local: Local,
    channel: Channel,
    open: bool,
}

impl Process {
    fn serve(mut self) {
        while !self.local.ended() {
            self.round();
        }
        self.channel.write(&Report::Alive {});
    }

    fn round(&mut self) {
        let full = self.channel.is_full();
        let mut all = self.local.sources(full);
        let (from, to) = self.channel.descriptors();
        if self.open {
            all.push((waiting(from, libc::POLLIN), Source::Host(0)));
            all.extend(to.map(|to| (waiting(to, libc::POLLOUT), Source::Host(0))));
        }
        let (mut fds, sources): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        // Signs of life are given and missed twice a second; an end is seen sooner.
        let limit = Duration::from_millis(if self.local.is_ending() { 50 } else { 250 });
        // Of a call that fails no descriptor is ready.
        let _ = hpvm_os::poll(&mut fds, Some(limit));
        for (fd, source) in fds.iter().zip(sources) {
            match source {
                _ if fd.revents == 0 => {}
                Source::Host(_) => self.hear(),
                source => self.local.event(source),
            }
        }
        for report in self.local.reports() {
            self.channel.queue(&report);
        }
        self.local.write();
        if self.open {
            self.channel.write(&Report::Alive {});
        }
        if self.channel.is_lost() {
            self.lost();
        }
    }

    fn hear(&mut self) {
        if !self.open {
            return;
        }
        let open = self.channel.read();
        loop {
            match self.channel.next() {
                Ok(Some(order)) => self.local.obey(order),
                Ok(None) => break,
                Err(_) => return self.lost(),
            }
        }
        if !open {
            self.lost();
        }
    }

    /// The virtual machine is no more, here.
    fn lost(&mut self) {
        self.open = false;
        self.local.end();
    }
}
