//! The server itself: it answers on a listener until it is told to end.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::gateway::Gateway;
use crate::router::router;

/// How a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServeOptions {
    /// How long turns that run may take to end, once the server is to.
    pub grace: Duration,
}

/// Answers on a listener until `ended` is over. Then no new turn begins; those that run have
/// the grace time, and the rest is parked for the next start.
pub async fn serve(
    listener: TcpListener,
    gateway: Gateway,
    options: ServeOptions,
    ended: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (close, mut closing) = watch::channel(());
    let app = router(gateway.clone());
    let shut_down = async move {
        let _ = closing.changed().await;
    };
    let server = axum::serve(listener, app).with_graceful_shutdown(shut_down).into_future();
    let mut server = tokio::spawn(server);
    tokio::select! {
        ended = &mut server => return ended.unwrap_or_else(|error| Err(io::Error::other(error))),
        () = ended => {}
    }
    // The agents first: that ends the streams which clients follow, and then connections end by
    // themselves.
    futures_util::future::join_all(
        gateway.agents().iter().map(|agent| agent.shutdown(options.grace)),
    )
    .await;
    let _ = close.send(());
    match timeout(options.grace.max(Duration::from_secs(1)), &mut server).await {
        Ok(ended) => ended.unwrap_or_else(|error| Err(io::Error::other(error))),
        // A client that holds its connection open is no reason to stay.
        Err(_) => {
            server.abort();
            Ok(())
        }
    }
}
