//! `recto replay`: sends a recorded request again, or proves that its record is
//! whole by writing the body anew from its parts.

use std::process::ExitCode;

use futures_util::StreamExt;
use recto_agent::{
    AgentError, ModelEntry, ReplayVerdict, Right, model_window, restore_request, verify_body,
};
use recto_context::{Budget, RequestContext, Tokens, ToolCalls, grouped_digits};
use recto_llm::StreamEvent;
use recto_store::{
    RequestId, RequestRecord, RowId, SessionFilter, Store, StoreError, StoredTurn, TurnId,
};
use serde_json::{Value, json};

use super::{find, request_of, sent_no_such};
use crate::cli::ReplayArgs;
use crate::config::Settings;
use crate::draw::PageWidth;
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::{list_json, print, print_drawn, print_json, tame, tell};
use crate::setup;
use crate::terminal::OutputStyle;
use crate::terminal::markdown::MarkdownRenderer;

pub(crate) fn run(home: &RectoHome, args: &ReplayArgs) -> CliResult<ExitCode> {
    let settings = setup::load(home, Vec::new())?;
    setup::actor().must_have(Right::Replay)?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store(&settings).await?;
        if args.verify {
            verify_all(&store, args).await
        } else {
            send_again(&store, settings, args).await
        }
    })
}

/// Verifies what was asked for: one request, a turn's, or every one there is.
async fn verify_all(store: &Store, args: &ReplayArgs) -> CliResult<ExitCode> {
    let turns = match &args.turn {
        Some(turn) => vec![find(store, turn).await?],
        None => every_turn(store).await?,
    };
    let mut results = Vec::new();
    for turn in &turns {
        let mut requests = store.request_ids(turn.id).await?;
        if let Some(asked) = args.request {
            let count = requests.len();
            requests.retain(|(number, _)| *number == asked);
            if requests.is_empty() {
                return Err(sent_no_such(store, turn, asked, count).await?);
            }
        }
        for (number, id) in requests {
            let verdict = verify_one(store, id).await;
            results.push(ReplayCheck::new(turn.id, number, verdict));
        }
    }
    let broken = results.iter().filter(|result| result.problem.is_some()).count();
    if args.json {
        let mut report = list_json("requests", results.iter().map(ReplayCheck::json));
        report["ok"] = (broken == 0).into();
        print_json(&report)?;
    } else {
        for result in &results {
            result.tell();
        }
        print(&(verdict(&results) + "\n"))?;
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was verified, in words.
fn verdict(results: &[ReplayCheck]) -> String {
    let whole: Vec<usize> = results.iter().filter_map(|result| result.bytes).collect();
    match (&whole[..], results.len()) {
        ([], 0) => "nothing was sent yet: there is no request to rebuild".to_owned(),
        ([bytes], 1) => {
            let bytes = grouped_digits(*bytes as u64);
            format!("rebuilt from the record: identical to the {bytes} bytes sent")
        }
        (whole, all) => {
            let [whole, all] = [whole.len(), all].map(|count| grouped_digits(count as u64));
            format!(
                "{whole} of {all} requests rebuilt from the record: identical to the bytes sent"
            )
        }
    }
}

async fn every_turn(store: &Store) -> CliResult<Vec<StoredTurn>> {
    let mut turns = Vec::new();
    for summary in store.sessions(SessionFilter::All).await? {
        turns.extend(store.turns(summary.session.id).await?);
    }
    turns.sort_by_key(|turn| turn.id);
    Ok(turns)
}

/// The result of verifying one request.
struct ReplayCheck {
    turn: TurnId,
    number: u32,
    /// How long the body is, where it is whole.
    bytes: Option<usize>,
    problem: Option<String>,
}

async fn verify_one(store: &Store, id: RequestId) -> Result<ReplayVerdict, AgentError> {
    match store.request(id).await? {
        Some(request) => verify_body(store, &request).await,
        None => Err(StoreError::NotFound(RowId::Request(id)).into()),
    }
}

impl ReplayCheck {
    fn new(turn: TurnId, number: u32, verdict: Result<ReplayVerdict, AgentError>) -> Self {
        let (bytes, problem) = match verdict {
            Ok(ReplayVerdict::Identical { bytes }) => (Some(bytes), None),
            Ok(ReplayVerdict::Different { at }) => {
                let what = "the body made from its parts differs from the one sent";
                (None, Some(format!("{what} at byte {at}")))
            }
            Err(error) => (None, Some(error.to_string())),
        };
        ReplayCheck { turn, number, bytes, problem }
    }

    fn tell(&self) {
        if let Some(problem) = &self.problem {
            tell(&format_args!("error: turn {}, request {}: {problem}", self.turn, self.number));
        }
    }

    fn json(&self) -> Value {
        json!({
            "turn": self.turn,
            "request": self.number,
            "bytes": self.bytes,
            "identical": self.problem.is_none(),
            "problem": self.problem,
        })
    }
}

/// Sends the recorded bytes again, or the same page to another model. The reply
/// is shown and kept nowhere: the record says what happened, once.
async fn send_again(store: &Store, settings: Settings, args: &ReplayArgs) -> CliResult<ExitCode> {
    let name = args.turn.as_deref().unwrap_or("last");
    let turn = find(store, name).await?;
    let request = request_of(store, &turn, args.request).await?;
    let model = args.model.as_deref().unwrap_or(&request.model);
    let settings = setup::with_model(settings, Some(model)).await?;
    let entry = setup::model_entry(&settings, model)?;
    let body = match &args.model {
        None => recorded_body(store, &request, &entry).await?,
        Some(_) => {
            let context = restore_request(store, &request).await?;
            body_for(context, &entry, Tokens::new(settings.window_cap)).await?
        }
    };
    let styled = OutputStyle::on_stdout();
    let mut markdown = MarkdownRenderer::new(PageWidth::of_stdout().columns(), styled);
    let mut stream = entry.client.stream(body);
    while let Some(event) = stream.next().await {
        let event = event?;
        match event {
            StreamEvent::Text(text) if !args.json => print_drawn(&markdown.push(&text))?,
            StreamEvent::Done(reply) if args.json => {
                let calls = reply.calls.iter().map(|call| {
                    json!({"id": &*call.id.0, "name": &*call.name, "arguments": call.arguments.as_str()})
                });
                print_json(&json!({
                    "turn": turn.id,
                    "request": request.number,
                    "model": &*entry.name,
                    "content": reply.text(),
                    "tool_calls": calls.collect::<Vec<_>>(),
                    "usage": reply.usage,
                }))?;
            }
            StreamEvent::Done(reply) => {
                print_drawn(&(markdown.finish() + "\n"))?;
                for call in &reply.calls {
                    print(&format!("[calls {} {}]\n", tame(&call.name), tame(&call.arguments)))?;
                }
            }
            StreamEvent::Retrying { after, error } => {
                tell(&format_args!("{error}; asking again in {} s", after.as_secs_f32().ceil()));
            }
            StreamEvent::Text(_) | StreamEvent::Thinking(_) => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The bytes that were sent, for a model that is still asked in the same way.
async fn recorded_body(
    store: &Store,
    request: &RequestRecord,
    entry: &ModelEntry,
) -> CliResult<Vec<u8>> {
    let wire = entry.client.wire().name();
    if wire != request.wire {
        let what = format!(
            "the request went out by the {} wire, and model `{}` speaks {wire} now",
            tame(&request.wire),
            tame(&entry.name)
        );
        return Err(CliFailure::new(what).hint("name the model with --model to send the same page"));
    }
    Ok(store.body(request.id).await?)
}

/// The body of the same page for another model, if it has room for it.
async fn body_for(
    mut context: RequestContext,
    entry: &ModelEntry,
    cap: Tokens,
) -> CliResult<Vec<u8>> {
    if shows_no_tools(&context, entry) {
        let name = tame(&entry.name);
        let what = format!("model `{name}` takes tools as text, and this page has them as schemas");
        return Err(CliFailure::new(what).hint("choose a model whose template knows tools"));
    }
    let window = model_window(entry, cap).await?;
    let prompt = context.prompt_tokens();
    let budget = Budget::share(window, entry.limits.reply, context.budget.tools, None);
    if prompt > budget.messages + budget.tools {
        let what = format!(
            "the prompt of {prompt} tokens does not fit model `{}`: its window is {} tokens, {} of \
             them kept for the reply",
            tame(&entry.name),
            window.tokens,
            budget.reply
        );
        return Err(CliFailure::new(what).hint("choose a model with a larger window"));
    }
    context.window = window;
    context.budget = Budget { used: context.budget.used, ..budget };
    Ok(recto_llm::encode(entry.client.wire(), &entry.call, &context).to_string().into_bytes())
}

/// Whether the model's own chat template would leave out the tools of a page.
fn shows_no_tools(context: &RequestContext, entry: &ModelEntry) -> bool {
    let has_schemas = context.tool_calls == ToolCalls::Native && !context.tools.is_empty();
    let template = entry.call.template.as_ref();
    has_schemas && template.is_some_and(|template| template.call_style().is_none())
}
