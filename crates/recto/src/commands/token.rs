//! `recto token`: who may come in over the network.
//!
//! A token is printed when it is made, alone on standard output, and never again: what is kept
//! is its hash.

use jiff::Timestamp;
use recto_agent::{ActorRole, SOLE_ACCOUNT, TokenAccess, TokenHolder, TokenRights};
use recto_context::Audience;
use recto_server::TokenSecret;
use recto_store::{Moment, NewToken, Store, StoredToken};
use serde_json::{Value, json};

use super::sessions::local;
use crate::cli::{TokenCommand, TokenCreateArgs};
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{print_as, print_data, print_json, print_list, tame, tell};
use crate::setup;

pub(crate) fn run(home: &RectoHome, command: &TokenCommand) -> CliResult {
    let config = setup::load_config(home, Vec::new())?;
    let store = setup::store(&config.settings)?;
    setup::runtime()?.block_on(async {
        match command {
            TokenCommand::Create(args) => create(&store, args).await,
            TokenCommand::List { all, json } => list(&store, *all, json.json).await,
            TokenCommand::Revoke { name, json } => revoke(&store, name, json.json).await,
        }
    })
}

/// Names that would read as somebody, or some place, that no token is.
const RESERVED_NAMES: [&str; 2] = [Audience::OWNER, SOLE_ACCOUNT];

async fn create(store: &Store, args: &TokenCreateArgs) -> CliResult {
    if RESERVED_NAMES.iter().any(|name| args.name.trim().eq_ignore_ascii_case(name)) {
        let name = tame(args.name.trim());
        return Err(CliFailure::new(format!("a token can't be named `{name}`"))
            .hint("name it after the person or the program that is to have it"));
    }
    let now = Timestamp::now();
    let expires = args.expires.map(|lifetime| now.checked_add(lifetime.0)).transpose();
    let expires =
        expires.map_err(|error| CliFailure::new("the token would never expire").because(&error))?;
    let secret = TokenSecret::generate()
        .map_err(|error| CliFailure::new("the system gives no random numbers").because(&error))?;
    let rights = TokenRights {
        holder: if args.guest { TokenHolder::Guest } else { TokenHolder::Owner },
        access: if args.read { TokenAccess::Read } else { TokenAccess::Write },
    };
    let new = NewToken {
        name: args.name.clone(),
        hash: secret.hash(),
        rights: rights.to_store(),
        at: Moment::new(now),
        expires: expires.map(Moment::new),
    };
    let token = store.create_token(new).await?;
    if args.json.json {
        return print_json(&json!({"token": token_json(&token), "secret": secret.reveal()}));
    }
    print_data(&format!("{}\n", secret.reveal()))?;
    let name = tame(&token.name);
    let ends = token.expires.map(|at| format!(", until {}", local(at))).unwrap_or_default();
    tell(&format_args!(
        "token `{name}`: {}{ends}; keep it now, it is not shown again",
        role_words(&token)
    ));
    Ok(())
}

async fn list(store: &Store, all: bool, as_json: bool) -> CliResult {
    let mut tokens = store.tokens().await?;
    tokens.retain(|token| all || token.revoked.is_none());
    let nothing = "there are no tokens; `recto token create NAME` makes one";
    print_list(as_json, "tokens", &tokens, token_json, || draw(&tokens), &nothing)
}

async fn revoke(store: &Store, name: &str, as_json: bool) -> CliResult {
    let tokens = store.tokens().await?;
    let good = |token: &&StoredToken| token.revoked.is_none();
    let named = tokens.iter().filter(good).find(|token| token.name == name.trim());
    let numbered = || tokens.iter().find(|token| token.id.to_string() == name.trim());
    let token = named.or_else(numbered).ok_or_else(|| {
        let names = tokens.iter().filter(good).map(|token| token.name.as_str());
        CliFailure::no_such("token", name).hint_nearest(
            name,
            names,
            "`recto token list` lists them",
        )
    })?;
    let token = store.revoke_token(token.id, Moment::now()).await?;
    let draw = || format!("token `{}` is revoked: it lets nobody in any more\n", tame(&token.name));
    print_as(as_json, || token_json(&token), draw)
}

/// For whom a token speaks, and what it may do: `a guest's token`.
fn role_words(token: &StoredToken) -> String {
    ActorRole::Token(TokenRights::from_store(&token.rights)).to_string()
}

fn token_json(token: &StoredToken) -> Value {
    let TokenRights { holder, access } = TokenRights::from_store(&token.rights);
    json!({
        "id": token.id,
        "name": token.name,
        "holder": holder,
        "access": access,
        "created": token.created,
        "expires": token.expires,
        "last_used": token.last_used,
        "revoked": token.revoked,
        "valid": token.is_valid(Moment::now()),
    })
}

fn draw(tokens: &[StoredToken]) -> String {
    let mut table = TextTable::new(["number", "name", "what it is", "made", "last used", "ends"]);
    table.align_right(0);
    table.set_key(1);
    let now = Moment::now();
    for token in tokens {
        let ends = match (token.revoked, token.expires) {
            (Some(at), _) => format!("revoked {}", local(at)),
            (None, Some(at)) if !token.is_valid(now) => format!("expired {}", local(at)),
            (None, Some(at)) => local(at),
            (None, None) => "never".to_owned(),
        };
        table.row([
            token.id.to_string(),
            token.name.clone(),
            role_words(token),
            local(token.created),
            token.last_used.map_or_else(|| "never".to_owned(), local),
            ends,
        ]);
    }
    table.draw(PageWidth::of_stdout())
}
