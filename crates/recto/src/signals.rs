//! The signals by which the program is told to end.

/// Waits for Ctrl-C, or for whoever ends programs more politely than that.
pub(crate) async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let ends = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let waits = ends.into_iter().filter_map(|kind| signal(kind).ok()).map(|mut signal| {
            Box::pin(async move {
                signal.recv().await;
            })
        });
        futures_util::future::select_all(waits.collect::<Vec<_>>()).await;
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}
