//! What is known of the process at the other end of a connection: whether it is a program that Recto
//! runs for a model, which is not its owner though it calls from the owner's machine.

use std::sync::Arc;

use recto_fs::blocking;
use recto_tools::{PeerStanding, peer_standing};
use tokio::sync::OnceCell;

use super::arrival::ConnectionAddress;

/// The process that holds a connection. It is looked for where its place would make it the owner, and
/// once a connection, unless nothing could be found out.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerProcess(Arc<OnceCell<CallerKind>>);

/// What a process is found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerKind {
    Program,
    Other,
}

/// It has hung up, or can't be seen.
struct CallerUnknown;

impl CallerProcess {
    /// Whether it may be a program that Recto runs for a model.
    pub(super) async fn may_be_program(&self, address: ConnectionAddress) -> bool {
        self.may_be(move || peer_standing(address.peer, address.local)).await
    }

    async fn may_be(&self, look: impl FnOnce() -> PeerStanding + Send + 'static) -> bool {
        let find = || async {
            match blocking(look).await {
                PeerStanding::Program => Ok(CallerKind::Program),
                PeerStanding::Other => Ok(CallerKind::Other),
                PeerStanding::Unknown => Err(CallerUnknown),
            }
        };
        match self.0.get_or_try_init(find).await {
            Ok(kind) => *kind == CallerKind::Program,
            Err(CallerUnknown) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_found_is_kept_and_what_is_not_found_is_looked_for_again() {
        let caller = CallerProcess::default();
        assert!(caller.may_be(|| PeerStanding::Unknown).await);
        assert!(!caller.may_be(|| PeerStanding::Other).await);
        assert!(!caller.may_be(|| PeerStanding::Program).await, "it was found before");
        let program = CallerProcess::default();
        assert!(program.may_be(|| PeerStanding::Program).await);
    }
}
