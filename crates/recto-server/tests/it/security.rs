//! Attempts to get in, or to bring the server down. Each is made against the real server on a real
//! socket, beside the same thing as it is meant to be done, which has to work.

mod browsers;
mod limits;
mod logins;
mod names;
mod paths;
mod tokens;

use std::time::Duration;

use recto_agent::{Actor, Conversation, TokenAccess, TokenHolder, TokenRights};
use recto_server::{AccessOptions, ConnectionLimits, OwnerAccess, TokenSecret};
use recto_store::{Moment, NewToken, SessionId, TokenId};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::TestServer;

pub(crate) const OWNER: TokenRights =
    TokenRights { holder: TokenHolder::Owner, access: TokenAccess::Write };
pub(crate) const OWNER_READ: TokenRights =
    TokenRights { holder: TokenHolder::Owner, access: TokenAccess::Read };
pub(crate) const GUEST: TokenRights =
    TokenRights { holder: TokenHolder::Guest, access: TokenAccess::Write };

/// A message in a form that the API takes.
const MESSAGE: &str = r#"{"text":"hello"}"#;

/// A server that everybody shows a token to.
async fn start_closed() -> TestServer {
    let access = AccessOptions { owner: OwnerAccess::ByToken, ..AccessOptions::default() };
    TestServer::start_with(access, ConnectionLimits::default()).await
}

/// A server that takes ten wrong tokens in more time than a test has.
async fn start_with_few_guesses(owner: OwnerAccess) -> TestServer {
    let guess_refill = Duration::from_secs(6_000);
    let access = AccessOptions { owner, guesses: 10, guess_refill, ..AccessOptions::default() };
    TestServer::start_with(access, ConnectionLimits::default()).await
}

impl TestServer {
    /// A session of somebody's, in the web.
    async fn session_of(&self, actor: &Actor, name: &str) -> SessionId {
        let conversation = Conversation::in_private("web", "local", name, actor);
        self.agent.find_or_begin(actor, &conversation).await.unwrap().id
    }

    /// A session of the owner's.
    pub(crate) async fn own_session(&self) -> SessionId {
        self.session_of(&Actor::owner("ana"), "talk").await
    }

    /// A new token that ends at this moment.
    async fn token_until(
        &self,
        name: &str,
        rights: TokenRights,
        expires: Option<Moment>,
    ) -> (TokenId, String) {
        let secret = TokenSecret::generate().unwrap();
        let new = NewToken {
            name: name.into(),
            hash: secret.hash(),
            rights: rights.to_store(),
            at: Moment::now(),
            expires,
        };
        let token = self.store.create_token(new).await.unwrap();
        (token.id, secret.reveal().to_owned())
    }

    /// A new token that does not end.
    pub(crate) async fn token(&self, name: &str, rights: TokenRights) -> (TokenId, String) {
        self.token_until(name, rights, None).await
    }

    /// How many turns there are in a session.
    async fn turns_in(&self, session: SessionId) -> usize {
        self.agent.finished().await;
        let messages = self.store.messages(session, None).await.unwrap();
        messages.len() / 2
    }

    /// Sends bytes as they are, and gives all that comes back until the connection ends, or for
    /// so long.
    async fn send_raw(&self, bytes: &[u8], patience: Duration) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_to_end(&mut stream, patience).await
    }
}

async fn read_to_end(stream: &mut TcpStream, patience: Duration) -> String {
    let mut answer = Vec::new();
    // What came until then is the answer; an end by force is an end.
    let _ = timeout(patience, stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer with the code of its problem, if it is one.
pub(crate) async fn outcome(request: reqwest::RequestBuilder) -> String {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").map(|kind| kind.as_bytes());
    if kind == Some(b"text/event-stream") {
        // It would not end.
        return status.to_string();
    }
    let text = response.text().await.unwrap();
    let problem: Option<Value> = serde_json::from_str(&text).ok();
    match problem.as_ref().and_then(|problem| problem["code"].as_str()) {
        Some(code) => format!("{status} {code}"),
        None => status.to_string(),
    }
}
