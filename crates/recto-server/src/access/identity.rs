//! Who somebody is, by what they show: a token, a cookie, or the place that they call from.

use std::time::Instant;

use axum::http::{HeaderMap, header};
use recto_agent::Actor;
use recto_context::ContentHash;
use recto_store::StoredToken;

use super::arrival::RequestArrival;
use super::leases::LeaseTerms;
use super::permits::CallerKey;
use super::refusal::AccessRefusal;
use super::route_class::RouteClass;
use super::secret::{TOKEN_PREFIX, hash_secret};
use super::tokens::TokenRefusal;
use crate::gateway::Gateway;

/// A caller who is known.
#[derive(Debug, Clone)]
pub(crate) struct CallerIdentity {
    /// Who it is.
    pub(crate) actor: Actor,
    /// How they are known.
    pub(crate) credential: CallerCredential,
    /// Whom their requests are counted for.
    pub(super) key: CallerKey,
    /// What their requests end with, where something can end.
    pub(super) lease: Option<LeaseTerms>,
}

impl CallerIdentity {
    /// The holder of a token, who showed it or is logged in with it.
    fn of_holder(token: &StoredToken, login: Option<ContentHash>) -> Self {
        let credential = match login {
            Some(_) => CallerCredential::Cookie,
            None => CallerCredential::Token,
        };
        CallerIdentity {
            actor: Actor::with_token(token),
            credential,
            key: CallerKey::Token(token.id),
            lease: Some(LeaseTerms { token: token.id, login }),
        }
    }
}

/// How a caller is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerCredential {
    /// Not at all.
    Nothing,
    /// By the place that they call from.
    Place,
    /// By a token in the request's header.
    Token,
    /// By the cookie of somebody who logged in.
    Cookie,
}

/// So many cookies of our name are looked at.
const MOST_COOKIES: usize = 8;

/// Finds out who sent a request. Nobody, where nothing is shown and the place does not say it.
pub(super) async fn identify(
    gateway: &Gateway,
    arrival: &RequestArrival,
    class: RouteClass,
    headers: &HeaderMap,
) -> Result<Option<CallerIdentity>, AccessRefusal> {
    let access = gateway.access();
    let authorization = read_authorization(headers);
    // A token says who somebody is wherever they are, so the place is looked at without one alone.
    let counts_by_place = match authorization {
        Authorization::Bearer(secret) => is_placeholder(secret, class),
        Authorization::Unreadable => class == RouteClass::Door,
        Authorization::Absent => false,
    };
    let is_unneeded = counts_by_place && access.is_owner_place(arrival).await;
    match authorization {
        Authorization::Bearer(secret) if !is_unneeded => {
            let guesser = arrival.stranger_key();
            let token = access.verifier().verify(gateway.store(), secret, guesser).await;
            let token = token.map_err(|refusal| refuse_token(gateway, refusal))?;
            return Ok(Some(CallerIdentity::of_holder(&token, None)));
        }
        Authorization::Unreadable if !is_unneeded => {
            return Err(AccessRefusal::wrong_token(gateway));
        }
        Authorization::Bearer(_) | Authorization::Unreadable | Authorization::Absent => {}
    }
    if let Some(identity) = identify_cookie(gateway, arrival, headers).await? {
        return Ok(Some(identity));
    }
    Ok(access.is_owner_place(arrival).await.then(|| CallerIdentity {
        actor: gateway.owner().clone(),
        credential: CallerCredential::Place,
        key: CallerKey::Owner,
        lease: None,
    }))
}

/// The holder of the token with which somebody logged in. A cookie that is not good any more is
/// none: browsers keep them for as long as they like. Another server under this name may have set
/// one that is called the same, so all of them are tried.
async fn identify_cookie(
    gateway: &Gateway,
    arrival: &RequestArrival,
    headers: &HeaderMap,
) -> Result<Option<CallerIdentity>, AccessRefusal> {
    let access = gateway.access();
    for cookie in read_cookies(headers, arrival) {
        let login = hash_secret(cookie);
        let Some(id) = access.sessions().find(login, Instant::now()) else { continue };
        match access.verifier().verify_login(gateway.store(), id).await {
            Ok(token) => return Ok(Some(CallerIdentity::of_holder(&token, Some(login)))),
            Err(TokenRefusal::Store(error)) => return Err(AccessRefusal::from(error)),
            Err(TokenRefusal::Wrong | TokenRefusal::Guessing(_)) => access.log_out(cookie),
        }
    }
    Ok(None)
}

/// The refusal of somebody whose token was not good.
fn refuse_token(gateway: &Gateway, refusal: TokenRefusal) -> AccessRefusal {
    match refusal {
        TokenRefusal::Wrong => AccessRefusal::wrong_token(gateway),
        TokenRefusal::Guessing(wait) => {
            AccessRefusal::too_many("too many wrong tokens came from this address", wait)
        }
        TokenRefusal::Store(error) => AccessRefusal::from(error),
    }
}

/// What stands in the header for credentials.
enum Authorization<'a> {
    Absent,
    Bearer(&'a str),
    Unreadable,
}

fn read_authorization(headers: &HeaderMap) -> Authorization<'_> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), second) = (values.next(), values.next()) else {
        return Authorization::Absent;
    };
    let credentials = value.to_str().ok().filter(|_| second.is_none());
    let bearer = credentials.and_then(|credentials| {
        let (scheme, secret) = credentials.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
    });
    bearer.map_or(Authorization::Unreadable, Authorization::Bearer)
}

/// Whether a key is the one that some clients have to send to servers that want none.
fn is_placeholder(secret: &str, class: RouteClass) -> bool {
    class == RouteClass::Door && !secret.starts_with(TOKEN_PREFIX)
}

/// The name of our cookie. Browsers tell servers apart by port in everything but cookies.
pub(super) fn cookie_name(arrival: &RequestArrival) -> String {
    format!("recto_session_{}", arrival.port())
}

/// The cookies in a request that have our name, as many as are worth a look.
pub(super) fn read_cookies<'a>(
    headers: &'a HeaderMap,
    arrival: &RequestArrival,
) -> impl Iterator<Item = &'a str> {
    let name = cookie_name(arrival);
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let pairs = sent.flat_map(|cookies| cookies.split(';'));
    let values = pairs.filter_map(move |pair| pair.trim().strip_prefix(&name)?.strip_prefix('='));
    values.filter(|value| !value.is_empty()).take(MOST_COOKIES)
}
