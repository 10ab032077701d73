//! A connection that tells whether what is sent on it is taken. One whose other end reads nothing
//! holds its place for nobody: `serve.rs` lets it make room for another.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::sync::watch::error::RecvError;
use tokio::time::timeout;

use crate::connections::ConnectionSlot;

/// A stream that tells how its writes go.
#[derive(Debug)]
pub(crate) struct WatchedStream {
    stream: TcpStream,
    writes: watch::Sender<WriteProgress>,
}

/// How writes go.
#[derive(Debug, Clone, Copy, Default)]
struct WriteProgress {
    /// Whether one waits for the other end.
    is_blocked: bool,
    /// How many have waited and gone on.
    resumed: u64,
}

/// Follows how writes of a stream go.
#[derive(Debug)]
pub(crate) struct WriteWatch(watch::Receiver<WriteProgress>);

impl WatchedStream {
    /// The stream, and whoever follows its writes.
    pub(crate) fn new(stream: TcpStream) -> (Self, WriteWatch) {
        let (writes, watch) = watch::channel(WriteProgress::default());
        (WatchedStream { stream, writes }, WriteWatch(watch))
    }

    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        let is_blocked = written.is_pending();
        self.writes.send_if_modified(|progress| {
            let changes = progress.is_blocked != is_blocked;
            progress.resumed += u64::from(changes && !is_blocked);
            progress.is_blocked = is_blocked;
            changes
        });
        written
    }
}

impl WriteWatch {
    /// Marks a connection as stalled while nothing of what is sent on it has been taken for so long.
    /// Ends with its stream, and not before.
    pub(crate) async fn mark_stalls(mut self, slot: &ConnectionSlot, patience: Duration) {
        loop {
            let blocked = self.0.wait_for(|progress| progress.is_blocked).await;
            let Ok(seen) = blocked.map(|progress| progress.resumed) else { return };
            let resumed = match timeout(patience, self.resumes(seen)).await {
                Ok(resumed) => resumed,
                Err(_) => {
                    slot.set_stalled(true);
                    let resumed = self.resumes(seen).await;
                    slot.set_stalled(false);
                    resumed
                }
            };
            if resumed.is_err() {
                return;
            }
        }
    }

    /// Waits until a write has gone on since, and fails where its stream is gone.
    async fn resumes(&mut self, seen: u64) -> Result<(), RecvError> {
        self.0.wait_for(|progress| progress.resumed != seen).await.map(drop)
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::connections::{ConnectionLimits, ConnectionTable};

    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_watch_ends_with_its_stream_also_where_a_write_waited() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _unread = TcpStream::connect(address).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let (mut stream, writes) = WatchedStream::new(accepted);
        // More than the system takes.
        let all = vec![0_u8; 64 << 20];
        let written = timeout(Duration::from_secs(1), stream.write_all(&all)).await;
        assert!(written.is_err() && writes.0.borrow().is_blocked);
        drop(stream);
        let table = ConnectionTable::new(ConnectionLimits::new(4));
        let slot = table.open(address.ip()).unwrap();
        let watch = tokio::spawn(async move { writes.mark_stalls(&slot, PATIENCE).await });
        timeout(PATIENCE / 2, watch).await.expect("it follows what is not there").unwrap();
    }
}
