//! Whether somebody who connects to this machine from itself is a program that Recto confines.
//!
//! A program that has the network reaches whatever listens here, the gateway too, which takes those
//! at its own machine for the owner. A program is not: it is run on behalf of a model. So the gateway
//! asks here who holds the other end. Where nothing tells (on other systems, and without `/proc`),
//! everybody counts as somebody else than a program.

#[cfg(target_os = "linux")]
mod by_proc;

use std::net::SocketAddr;

/// What the process at the other end of a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerStanding {
    /// A program that Recto confines, whichever Recto it is.
    Program,
    /// Somebody else.
    Other,
    /// Nobody can say: it has hung up, or does not let itself be seen while programs run.
    Unknown,
}

/// Finds out what holds the other end of a connection. It looks at all processes, so it is nothing
/// for a thread that others wait for.
pub fn peer_standing(peer: SocketAddr, local: SocketAddr) -> PeerStanding {
    #[cfg(target_os = "linux")]
    return by_proc::peer_standing(peer, local);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (peer, local);
        PeerStanding::Other
    }
}
