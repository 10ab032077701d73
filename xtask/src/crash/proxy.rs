//! A socket through which one gateway reaches its database, and that can be cut.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use crate::Result;

/// A socket in front of another one.
pub(super) struct SocketProxy {
    /// Whether the line is cut.
    is_cut: Arc<watch::Sender<bool>>,
}

impl SocketProxy {
    /// Listens at `own`, and passes all on to `server`.
    pub(super) fn start(own: PathBuf, server: PathBuf) -> Result<Self> {
        let listener = UnixListener::bind(own)?;
        let is_cut = Arc::new(watch::Sender::new(false));
        let cut = is_cut.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *cut.borrow() {
                    continue;
                }
                tokio::spawn(pass_on(client, server.clone(), cut.subscribe()));
            }
        });
        Ok(SocketProxy { is_cut })
    }

    /// Ends all connections, and takes no more.
    pub(super) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Passes on again.
    pub(super) fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

async fn pass_on(mut client: UnixStream, server: PathBuf, mut cut: watch::Receiver<bool>) {
    let Ok(mut server) = connect(&server).await else { return };
    tokio::select! {
        // Whoever ends it, both sides are closed.
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = cut.wait_for(|is_cut| *is_cut) => {}
    }
}

async fn connect(server: &Path) -> std::io::Result<UnixStream> {
    UnixStream::connect(server).await
}
