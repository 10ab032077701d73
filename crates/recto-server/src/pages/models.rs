//! `/models`: the models that can answer, and the state of the setup as `doctor` finds it.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};
use recto_agent::{ModelEntry, Right};
use serde_json::Value;

use super::layout::{NavPage, PageChrome, PageFrame};
use super::page_problem::PageResult;
use crate::access::{Caller, FormToken};
use crate::gateway::Gateway;
use crate::host::HostRequest;
use crate::includes::tell_ending;

/// The routes of this page.
pub(crate) fn routes() -> Router<Gateway> {
    Router::new().route("/models", get(show_models))
}

async fn show_models(
    State(gateway): State<Gateway>,
    Caller(actor): Caller,
    form: FormToken,
) -> PageResult<Markup> {
    actor.must_have(Right::SeeWorkspace)?;
    let asked = gateway.host().ask(|answer| HostRequest::Doctor { answer }).await;
    let report = asked.ok_or_else(tell_ending)?;
    let agent = gateway.default_agent()?;
    let chrome = PageChrome::load(&gateway, &actor, &form, agent.name()).await?;
    let frame = PageFrame { title: "Models", page: NavPage::Models, body_class: "", scripts: &[] };
    let body = html! {
        main.page id="main" {
            header.head { div { h1 { "Models and setup" } } }
            @for agent in gateway.agents() {
                section aria-label={ "Models of " (agent.name()) } {
                    h2 { "Models of " (agent.name()) }
                    (model_table(agent.models()))
                }
            }
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
                                @if at == 0 { " " span.q { "answers where nothing else is chosen" } }
                            }
                            td { code { (model.call.model) } }
                            td { (model.client.provider().name()) " " span.q { (model.client.url()) } }
                            td {
                                @match model.window {
                                    Some(window) => { (window) " tokens" },
                                    None => span.q { "as the server says" },
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

/// What `doctor` found, a row for each thing that it looked at.
fn doctor_section(report: &Value) -> Markup {
    let checks = report["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        section aria-labelledby="doctor-title" {
            h2 id="doctor-title" { "State of the setup" }
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

fn check_row(check: &Value) -> Markup {
    let text = |name: &str| check[name].as_str().unwrap_or_default();
    let (class, sign) = match text("state") {
        "ok" | "fine" => ("ok", "✓"),
        "problem" | "error" | "failed" => ("no-ok", "✗"),
        _ => ("wait", "!"),
    };
    html! {
        tr {
            td { span class=(class) role="img" aria-label=(text("state")) { (sign) } " " (text("subject")) }
            td {
                (text("message"))
                @if !text("hint").is_empty() { br; span.q { (text("hint")) } }
            }
        }
    }
}
