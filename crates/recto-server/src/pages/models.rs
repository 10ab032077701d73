//! `/models`: the models that can answer, who is let in from chats, and the state of the setup as
//! `doctor` finds it.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use recto_agent::{ModelEntry, Right};
use serde_json::Value;

use super::layout::{NavPage, PageChrome, PageFrame, PageVisitor, with_code};
use super::page_problem::PageResult;
use super::pairings::pairing_section;
use crate::gateway::Gateway;
use crate::host::HostRequest;
use crate::problem::ApiProblem;

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new().route("/models", get(show_models))
}

async fn show_models(State(gateway): State<Gateway>, visitor: PageVisitor) -> PageResult<Markup> {
    visitor.actor.must_have(Right::SeeWorkspace)?;
    let asked = gateway.host().ask(|answer| HostRequest::Doctor { answer }).await;
    let report = asked.map_err(ApiProblem::from)?;
    let agent = gateway.default_agent()?;
    let chrome = PageChrome::load(&gateway, &visitor, agent.name()).await?;
    let frame =
        PageFrame { title: "Models", page: Some(NavPage::Models), body_class: "", scripts: &[] };
    let pairings = pairing_section(&gateway, &chrome, &visitor.actor).await?;
    let body = html! {
        main.page id="main" {
            header.head { div { h1 { "Models and setup" } } }
            @for agent in gateway.agents() {
                section aria-label={ "Models of " (agent.name()) } {
                    h2 { "Models of " (agent.name()) }
                    (model_table(agent.models()))
                }
            }
            (pairings)
            (doctor_section(&report))
        }
    };
    Ok(chrome.render(frame, &body))
}

fn model_table(models: &[ModelEntry]) -> Markup {
    html! {
        @if models.is_empty() { p.empty { "No model is configured." } }
        @else {
            table.list.models {
                thead {
                    tr {
                        th scope="col" { "Name" } th scope="col" { "Model" }
                        th scope="col" { "Server" } th scope="col" { "Window" }
                        th scope="col" { "Why" }
                    }
                }
                tbody {
                    @for (at, model) in models.iter().enumerate() {
                        tr {
                            td {
                                (model.name)
                                @if at == 0 {
                                    " " span.q title="answers where nothing else is chosen" { "default" }
                                }
                            }
                            td { code { (model.call.model) } }
                            td { (model.client.provider().name()) " " span.q { (model.client.url()) } }
                            td {
                                @match model.window {
                                    Some(window) => { (window) " tokens" },
                                    None => span.q { (unset_window(model)) },
                                }
                            }
                            td.q { (model.chosen) }
                        }
                    }
                }
            }
        }
    }
}

/// Who says how large the window is, where the entry of a model does not.
fn unset_window(model: &ModelEntry) -> &'static str {
    match model.client.provider().name() {
        "embedded" => "as its file says",
        "scripted" => "any: a file is played",
        _ => "not set: its server is asked, as below",
    }
}

/// What `doctor` found, a row for each thing that it looked at.
fn doctor_section(report: &Value) -> Markup {
    let checks = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        section aria-labelledby="doctor-title" {
            h2 id="doctor-title" {
                "State of the setup " span.q { (state_words(checks)) }
            }
            @if let Some(error) = report["error"]["message"].as_str() {
                p.no-ok { (error) }
            }
            table.small.doctor {
                tbody {
                    @for check in checks { (check_row(check)) }
                }
            }
        }
    }
}

/// How many of the checks want a person to look.
fn state_words(checks: &[Value]) -> String {
    let wants_a_look = |check: &&Value| !matches!(check["state"].as_str(), Some("ok" | "absent"));
    match (checks.iter().filter(wants_a_look).count(), checks.len()) {
        (0, all) => format!("all {all} fine"),
        (1, all) => format!("1 of {all} wants a look"),
        (some, all) => format!("{some} of {all} want a look"),
    }
}

fn check_row(check: &Value) -> Markup {
    let text = |name: &str| check[name].as_str().unwrap_or_default();
    let (class, sign) = match text("state") {
        "ok" => ("ok", "✓"),
        // Not there, and not needed.
        "absent" => ("q", "–"),
        "error" => ("no-ok", "✗"),
        _ => ("wait", "!"),
    };
    html! {
        tr {
            td { span class={ "sign " (class) } role="img" aria-label=(text("state")) { (sign) } (text("subject")) }
            td {
                (with_code(text("message")))
                @if !text("hint").is_empty() { br; span.q { (with_code(text("hint"))) } }
            }
        }
    }
}
