//! The server itself: it answers on a listener until it is told to end.
//!
//! It accepts connections by its own hand, because each has limits: how many there are
//! (`connections.rs`), how long the head of a request may take, and how long an answer may wait for
//! whoever asked (`watched_stream.rs`).

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::{Router, response::Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::access::{CallerProcess, ConnectionAddress};
use crate::connections::{BusyConnection, ConnectionLimits, ConnectionSlot, ConnectionTable};
use crate::gateway::Gateway;
use crate::router::router;
use crate::watched_stream::WatchedStream;

/// How a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeOptions {
    /// How long turns that run may take to end, once the server is to.
    pub grace: Duration,
    /// How many connections there may be, and how slow.
    pub connections: ConnectionLimits,
}

/// What somebody is told who finds every connection at work.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n\
    content-length: 0\r\nconnection: close\r\n\r\n";

/// The most bytes that are read ahead of a connection, and so of the head of a request.
const READ_BUFFER: usize = 64 << 10;

/// How long to wait when the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// Answers on a listener until `ended` is over. Then no new turn begins; those that run have
/// the grace time, and the rest is parked for the next start. It fails when connections are no
/// longer accepted before that.
pub async fn serve(
    listener: TcpListener,
    gateway: Gateway,
    options: ServeOptions,
    ended: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (close, closing) = watch::channel(());
    let app = router(gateway.clone());
    let mut accepting = tokio::spawn(accept(listener, app, options.connections, closing));
    tokio::select! {
        () = ended => {}
        // It ends by itself only when it panics; nobody would be answered from then on.
        stopped = &mut accepting => return Err(stopped.err().map_or_else(
            || io::Error::other("no more connections are accepted"),
            io::Error::other,
        )),
    }
    gateway.begin_ending();
    // The agents first: that ends the streams which clients follow, and then connections end by
    // themselves.
    futures_util::future::join_all(
        gateway.agents().iter().map(|agent| agent.shutdown(options.grace)),
    )
    .await;
    let _ = close.send(());
    // A client that holds its connection open is no reason to stay.
    let _ = timeout(options.grace.max(Duration::from_secs(1)), close.closed()).await;
    accepting.abort();
    Ok(())
}

/// Accepts connections until the server closes, each in a task of its own.
async fn accept(
    listener: TcpListener,
    app: Router,
    limits: ConnectionLimits,
    mut closing: watch::Receiver<()>,
) {
    let table = ConnectionTable::new(limits);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.changed() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let closing = closing.clone();
                match table.open(peer.ip().to_canonical()) {
                    Some(slot) => {
                        tokio::spawn(connect(stream, peer, slot, app.clone(), limits, closing));
                    }
                    // It fits into what the system keeps for a new connection, or is not said.
                    None => drop(stream.try_write(FULL)),
                }
            }
            // One who hung up while waiting is no trouble; a process that has no room for more
            // files makes some.
            Err(error) if is_about_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                table.evict_idlest();
                sleep(PAUSE).await;
            }
        }
    }
}

fn is_about_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

/// Answers on one connection until either side is done with it.
async fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    slot: Arc<ConnectionSlot>,
    app: Router,
    limits: ConnectionLimits,
    mut closing: watch::Receiver<()>,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Events are small and should not wait for more.
    let _ = stream.set_nodelay(true);
    let ends = (ConnectionAddress { peer, local }, CallerProcess::default());
    let (stream, writes) = WatchedStream::new(stream);
    let service =
        service_fn(|request| answer(request, ends.clone(), slot.begin_request(), app.clone()));
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_buf_size(READ_BUFFER)
            .serve_connection(TokioIo::new(stream), service)
    );
    let mut evicted = pin!(async {
        tokio::select! {
            () = slot.evicted() => {}
            () = writes.mark_stalls(&slot, limits.header_timeout) => {}
        }
    });
    // What goes wrong on a connection concerns its other end alone, which sees it.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = evicted.as_mut() => return,
        _ = closing.changed() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = evicted => {}
    }
}

/// Answers one request. Its connection is busy until all of the answer is sent.
async fn answer(
    request: hyper::Request<Incoming>,
    (address, caller): (ConnectionAddress, CallerProcess),
    busy: BusyConnection,
    app: Router,
) -> Result<Response, std::convert::Infallible> {
    let mut request: Request = request.map(Body::new);
    request.extensions_mut().insert(address);
    request.extensions_mut().insert(caller);
    let answer = app.oneshot(request).await?;
    Ok(answer.map(|body| {
        Body::new(body.map_err(move |error| {
            let _held = &busy;
            error
        }))
    }))
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use axum::routing::get;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// A connection that asks for a path, with the first line of what it is answered.
    async fn ask(address: SocketAddr, path: &str) -> (TcpStream, String) {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n");
        // One that is refused may be closed before it has asked.
        let _ = client.write_all(request.as_bytes()).await;
        let mut status = [0; 12];
        let _ = client.read_exact(&mut status).await;
        (client, String::from_utf8_lossy(&status).into_owned())
    }

    /// Promise: `no-request-holds-the-server`
    #[tokio::test]
    async fn an_answer_that_nobody_reads_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ConnectionLimits {
            most: 1,
            most_from_address: 1,
            header_timeout: Duration::from_millis(300),
        };
        let endless =
            || stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from_static(&[b'x'; 4096])));
        let app = Router::new()
            .route("/endless", get(async move || Body::from_stream(endless())))
            .route("/", get(async || "here"));
        let (_close, closing) = watch::channel(());
        tokio::spawn(accept(listener, app, limits, closing));
        let (mut unread, status) = ask(address, "/endless").await;
        assert_eq!(status, "HTTP/1.1 200");
        assert_eq!(ask(address, "/").await.1, "HTTP/1.1 503", "it is at work");
        let makes_room = async {
            while ask(address, "/").await.1 != "HTTP/1.1 200" {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(30), makes_room).await.expect("it holds its place for nobody");
        let rest = timeout(Duration::from_secs(30), unread.read_to_end(&mut Vec::new())).await;
        rest.expect("it is closed").ok();
    }
}
