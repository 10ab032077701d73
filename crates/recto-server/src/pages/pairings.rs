//! Who is let in from chats, as a part of the page `/models`: who waits, who is let in, and the
//! forms with which the owner lets them in and puts them out.

use axum::Router;
use axum::extract::State;
use axum::response::Redirect;
use axum::routing::post;
use maud::{Markup, html};
use recto_agent::{Actor, Right, is_allowed, put_out};
use recto_store::{Moment, PairingGrant, PairingId, StoredPairing};
use serde::Deserialize;

use super::layout::PageChrome;
use super::page_problem::PageResult;
use crate::access::Caller;
use crate::extract::PageFields;
use crate::gateway::Gateway;
use crate::health::{ServiceKind, ServiceStatus};

/// The routes of the forms.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new()
        .route("/pairings/approve", post(approve_pairing))
        .route("/pairings/revoke", post(revoke_pairing))
}

/// The part of a page that shows who is let in; nothing where no chats are set up.
pub(crate) async fn pairing_section(
    gateway: &Gateway,
    chrome: &PageChrome,
    actor: &Actor,
) -> PageResult<Markup> {
    let mut pairings = gateway.store().pairings(Moment::now()).await?;
    pairings.retain(|pairing| pairing.revoked.is_none());
    let is_channel = |service: &ServiceStatus| service.kind == ServiceKind::Channel;
    if pairings.is_empty() && !gateway.services().current().iter().any(is_channel) {
        return Ok(html! {});
    }
    let may_change = is_allowed(actor.role, Right::ChangeRights);
    Ok(html! {
        section aria-labelledby="pairing-title" id="pairings" {
            h2 id="pairing-title" { "People and groups of chats" }
            @if pairings.is_empty() { p.empty { "Nobody waits to be let in, and nobody is." } }
            @else {
                table.list {
                    thead {
                        tr {
                            th scope="col" { "Name" } th scope="col" { "Where" }
                            th scope="col" { "What they are" } th scope="col" { "" }
                        }
                    }
                    tbody {
                        @for pairing in &pairings { (pairing_row(chrome, pairing, may_change)) }
                    }
                }
            }
            @if may_change { (approve_form(chrome)) }
        }
    })
}

fn pairing_row(chrome: &PageChrome, pairing: &StoredPairing, may_change: bool) -> Markup {
    let revoke = html! {
        input type="hidden" name="pairing" value=(pairing.id);
        button.btn.plain type="submit" {
            @if pairing.approved.is_some() { "Put out" } @else { "Refuse" }
        }
    };
    html! {
        tr {
            td { (pairing.name) }
            td { (pairing.channel) " " span.q { (pairing.subject) } }
            td { (pairing.describe()) }
            td { @if may_change { (chrome.post_form("/pairings/revoke", "", &revoke)) } }
        }
    }
}

fn approve_form(chrome: &PageChrome) -> Markup {
    let content = html! {
        label for="pairing-code" { "Let in whoever tells you this code" }
        input id="pairing-code" name="code" required autocomplete="off" maxlength="32";
        label { input type="checkbox" name="owner" value="yes"; " It is me" }
        button.btn type="submit" { "Let in" }
    };
    chrome.post_form("/pairings/approve", "memo", &content)
}

/// A code that the owner was told.
#[derive(Debug, Deserialize)]
struct ApproveForm {
    code: String,
    /// Set where it is the owner's own account.
    owner: Option<String>,
}

async fn approve_pairing(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<ApproveForm>,
) -> PageResult<Redirect> {
    actor.must_have(Right::ChangeRights)?;
    let grant = match form.owner {
        Some(_) => PairingGrant::Owner,
        None => PairingGrant::Guest(None),
    };
    gateway.store().approve_pairing(&form.code, grant, Moment::now()).await?;
    Ok(Redirect::to("/models#pairings"))
}

/// Somebody who is to be put out.
#[derive(Debug, Deserialize)]
struct RevokeForm {
    pairing: PairingId,
}

async fn revoke_pairing(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    PageFields(form): PageFields<RevokeForm>,
) -> PageResult<Redirect> {
    put_out(gateway.store(), &actor, form.pairing).await?;
    Ok(Redirect::to("/models#pairings"))
}
