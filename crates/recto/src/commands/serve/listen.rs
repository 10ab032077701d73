//! Where the server listens, and what that means for those who call: beyond this machine it asks
//! everybody for a token, and does not begin where nobody has one.

use std::io;
use std::net::SocketAddr;

use recto_context::Remedy;
use recto_server::{AccessOptions, AllowedHost, OwnerAccess, ParseHostError};
use recto_store::{Moment, Store};
use tokio::net::TcpListener;

use crate::config::GatewaySettings;
use crate::failure::{CliFailure, CliResult};
use crate::remedy_words;

/// An address to listen on, and who is let in there.
#[derive(Debug)]
pub(super) struct ListenPlan {
    address: SocketAddr,
    pub(super) access: AccessOptions,
}

impl ListenPlan {
    /// The plan for an address, by the settings of the server.
    pub(super) fn new(address: &str, server: &GatewaySettings) -> CliResult<Self> {
        let address = read_address(address)?;
        let is_open = !address.ip().to_canonical().is_loopback();
        let owner = match is_open || server.require_token {
            true => OwnerAccess::ByToken,
            false => OwnerAccess::ByPlace,
        };
        let hosts: Result<Vec<AllowedHost>, ParseHostError> =
            server.hosts.iter().map(|host| host.parse()).collect();
        let hosts = hosts
            .map_err(|error| CliFailure::new("`server.hosts` can't be used").because(&error))?;
        let max_body_bytes = server.max_body_bytes as usize;
        let max_door_bytes = server.max_door_bytes as usize;
        let access = AccessOptions {
            owner,
            hosts,
            max_body_bytes,
            max_door_bytes,
            ..AccessOptions::default()
        };
        Ok(ListenPlan { address, access })
    }

    /// Refuses to begin where everybody needs a token and none is good.
    pub(super) async fn check_tokens(&self, store: &Store) -> CliResult {
        let now = Moment::now();
        let is_free = self.access.owner == OwnerAccess::ByPlace;
        if is_free || store.tokens().await?.iter().any(|token| token.is_valid(now)) {
            return Ok(());
        }
        let what = match self.address.ip().to_canonical().is_loopback() {
            true => "`server.require_token` is set".to_owned(),
            false => format!("`{}` can be reached from other machines", self.address),
        };
        let command = remedy_words::command(&Remedy::CreateToken);
        Err(CliFailure::new(format!("{what}, and there is no token that would let anybody in"))
            .hint(format!("make one with {command}, or listen on 127.0.0.1 without tokens")))
    }

    /// Begins to listen.
    pub(super) async fn listen(&self) -> CliResult<TcpListener> {
        TcpListener::bind(self.address).await.map_err(|error| {
            CliFailure::new(format!("cannot listen on {}", self.address))
                .because(&error)
                .hint("another program may have the port; choose another with --listen")
        })
    }
}

/// An address with a port. `localhost` is this machine alone, whatever its table of names says.
fn read_address(typed: &str) -> CliResult<SocketAddr> {
    let local = typed.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    local.as_deref().unwrap_or(typed).parse().map_err(|_| {
        CliFailure::new(format!("`{typed}` is no address to listen on"))
            .hint("name an address and a port, such as 127.0.0.1:7411")
    })
}

/// What is said once the server answers: its address in a line of its own. Of all addresses of this
/// machine none is known to be the one that others use, so it is for who sits here.
pub(super) fn answer_line(listener: &TcpListener, url: &str) -> String {
    match listener.local_addr() {
        Ok(address) if address.ip().is_unspecified() => format!(
            "Recto answers at {url}\nThat is for this machine; others reach port {} of its addresses\n",
            address.port()
        ),
        Ok(_) | Err(_) => format!("Recto answers at {url}\n"),
    }
}

/// The address of the web page, as somebody at this machine opens it.
pub(super) fn page_url(listener: &TcpListener) -> CliResult<String> {
    let address = listener.local_addr().map_err(|error: io::Error| {
        CliFailure::new("cannot tell on which address the server listens").because(&error)
    })?;
    match address.ip().is_unspecified() {
        true => Ok(format!("http://localhost:{}/", address.port())),
        false => Ok(format!("http://{address}/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_an_address_to_listen_on() {
        assert_eq!(read_address("localhost:7411").unwrap().to_string(), "127.0.0.1:7411");
        assert_eq!(read_address("[::1]:7411").unwrap().to_string(), "[::1]:7411");
        assert!(read_address("localhost").is_err() && read_address("localhost:x").is_err());
    }

    #[tokio::test]
    async fn an_address_for_this_machine_alone_is_told_as_that() {
        let line = async |address: &str| {
            let listener = TcpListener::bind(address).await.unwrap();
            let port = listener.local_addr().unwrap().port().to_string();
            let url = page_url(&listener).unwrap();
            answer_line(&listener, &url).replace(&port, "PORT")
        };
        assert_eq!(line("127.0.0.1:0").await, "Recto answers at http://127.0.0.1:PORT/\n");
        let everywhere = "Recto answers at http://localhost:PORT/\n\
                          That is for this machine; others reach port PORT of its addresses\n";
        assert_eq!(line("0.0.0.0:0").await, everywhere);
    }
}
