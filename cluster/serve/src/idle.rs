//! Connections that end when nothing is answered on them for long: who opens many and says nothing, or
//! says it byte by byte, keeps none of them.
//!
//! A connection is closed when nothing was written on it for [`IDLE_TIMEOUT`]: no request came, one does not become
//! whole, or the other side takes nothing. Streams of events write signs of life more often, and answers are
//! quicker than that.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Between two writes, at most. The largest request takes so long at 100 kB/s.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// A listener of such connections.
#[derive(Debug)]
pub struct IdleTimeout<L>(pub L);

impl<L: Listener> Listener for IdleTimeout<L> {
    type Io = TimedStream<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (io, address) = self.0.accept().await;
        (TimedStream::new(io), address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// Such a connection.
#[derive(Debug)]
pub struct TimedStream<S> {
    io: S,
    /// The last write, or the beginning.
    written: Instant,
    /// Looks at that when it rings, and is wound up again.
    alarm: Pin<Box<Sleep>>,
}

impl<S> TimedStream<S> {
    pub fn new(io: S) -> Self {
        let written = Instant::now();
        TimedStream { io, written, alarm: Box::pin(sleep_until(written + IDLE_TIMEOUT)) }
    }

    pub fn io(&self) -> &S {
        &self.io
    }

    /// An error when nothing was written for too long; else we are woken when it may have been.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.alarm.as_mut().poll(context).is_ready() {
            let end = self.written + IDLE_TIMEOUT;
            if end <= Instant::now() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.alarm.as_mut().reset(end);
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> TimedStream<S> {
    /// After an attempt to write.
    fn after(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match done {
            Poll::Ready(Ok(1..)) => self.written = Instant::now(),
            Poll::Pending => self.check(context)?,
            Poll::Ready(_) => {}
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write(context, bytes);
        self.after(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.after(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{advance, pause};

    /// Reads one byte, or says of what kind the error is.
    async fn byte(of: &mut TimedStream<tokio::io::DuplexStream>) -> Result<u8, io::ErrorKind> {
        of.read_u8().await.map_err(|error| error.kind())
    }

    // Time does not pass but where it is told to.
    #[tokio::test(flavor = "current_thread")]
    async fn who_says_little_is_cut_off_and_who_is_answered_is_not() {
        pause();
        let (mut client, server) = duplex(8);
        let mut server = TimedStream::new(server);
        // Byte by byte does not help without an answer.
        for _ in 0..3 {
            client.write_u8(7).await.unwrap();
            assert_eq!(byte(&mut server).await, Ok(7));
            advance(IDLE_TIMEOUT / 4).await;
        }
        server.write_u8(1).await.unwrap();
        advance(IDLE_TIMEOUT / 2).await;
        client.write_u8(8).await.unwrap();
        assert_eq!(byte(&mut server).await, Ok(8), "the answer was a moment ago");
        advance(IDLE_TIMEOUT / 2).await;
        assert_eq!(byte(&mut server).await, Err(io::ErrorKind::TimedOut));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn who_says_nothing_or_takes_nothing_is_cut_off() {
        pause();
        let (_client, server) = duplex(8);
        let mut server = TimedStream::new(server);
        // Waiting lets the paused time jump to the next alarm.
        assert_eq!(byte(&mut server).await, Err(io::ErrorKind::TimedOut));
        let (_client, server) = duplex(8);
        let mut server = TimedStream::new(server);
        let written = server.write_all(&[0; 9]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
