//! `recto replay`: sends a recorded request again, or proves that its record is
//! whole by writing the body anew from its parts.

use std::process::ExitCode;

use futures_util::StreamExt;
use recto_agent::{RecordReader, ReplayCheck, ReplayTarget, Right};
use recto_context::{Tokens, grouped_digits};
use recto_llm::StreamEvent;
use recto_store::Store;
use serde_json::{Value, json};

use crate::cli::ReplayArgs;
use crate::config::Settings;
use crate::draw::PageWidth;
use crate::failure::CliResult;
use crate::home::RectoHome;
use crate::output::{list_json, print, print_drawn, print_json, tame, tell};
use crate::setup;
use crate::terminal::OutputStyle;
use crate::terminal::markdown::MarkdownRenderer;

pub(crate) fn run(home: &RectoHome, args: &ReplayArgs) -> CliResult<ExitCode> {
    let settings = setup::load(home, Vec::new())?;
    setup::actor().must_have(Right::Replay)?;
    setup::runtime()?.block_on(async {
        let store = setup::settled_store_to_read(&settings).await?;
        if args.verify {
            verify_all(&store, args).await
        } else {
            send_again(&store, settings, args).await
        }
    })
}

/// Verifies what was asked for: one request, a turn's, or every one there is.
async fn verify_all(store: &Store, args: &ReplayArgs) -> CliResult<ExitCode> {
    let actor = setup::actor();
    let reader = RecordReader::new(store, &actor);
    let turns = match &args.turn {
        Some(turn) => vec![reader.find_turn(turn).await?],
        None => reader.every_turn().await?,
    };
    let mut results = Vec::new();
    for turn in &turns {
        results.extend(turn.verify(args.request).await?);
    }
    let broken = results.iter().filter(|result| result.problem.is_some()).count();
    if args.json {
        print_json(&replay_json(results.iter().map(check_json), broken == 0))?;
    } else {
        for ReplayCheck { turn, request, problem, .. } in &results {
            if let Some(problem) = problem {
                tell(&format_args!("error: turn {turn}, request {request}: {problem}"));
            }
        }
        print(&(verdict(&results) + "\n"))?;
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The form of both ways of replaying: a row for each request, with what was verified of it or the
/// reply that it got, and `null` for the other.
fn replay_json(requests: impl IntoIterator<Item = Value>, is_ok: bool) -> Value {
    let mut report = list_json("requests", requests);
    report["ok"] = is_ok.into();
    report
}

fn check_json(check: &ReplayCheck) -> Value {
    let mut row = json!(check);
    row["reply"] = Value::Null;
    row
}

/// What was verified, in words.
fn verdict(results: &[ReplayCheck]) -> String {
    let whole: Vec<usize> = results.iter().filter_map(|result| result.bytes).collect();
    match (&whole[..], results.len()) {
        ([], 0) => "nothing was sent yet: there is no request to rebuild".to_owned(),
        ([bytes], 1) if results.iter().any(|result| result.redacted) => {
            let bytes = grouped_digits(*bytes as u64);
            format!(
                "rebuilt from the record: identical to the {bytes} bytes kept; redacted: a text was \
                 taken out since they were sent"
            )
        }
        ([bytes], 1) => {
            let bytes = grouped_digits(*bytes as u64);
            format!("rebuilt from the record: identical to the {bytes} bytes sent")
        }
        (whole, all) => {
            let [whole, all] = [whole.len(), all].map(|count| grouped_digits(count as u64));
            let redacted = results.iter().filter(|result| result.redacted).count();
            let redacted = match redacted {
                0 => String::new(),
                count => format!("; {} of them redacted since", grouped_digits(count as u64)),
            };
            format!(
                "{whole} of {all} requests rebuilt from the record: identical to the bytes \
                 sent{redacted}"
            )
        }
    }
}

/// Sends the recorded bytes again, or the same page to another model. The reply
/// is shown and kept nowhere: the record says what happened, once.
async fn send_again(store: &Store, settings: Settings, args: &ReplayArgs) -> CliResult<ExitCode> {
    let name = args.turn.as_deref().unwrap_or("last");
    let actor = setup::actor();
    let record = RecordReader::new(store, &actor).find_turn(name).await?;
    let request = record.request_or_page(args.request).await?;
    let model = args.model.as_deref().unwrap_or(&request.model);
    let settings = setup::with_model(settings, Some(model)).await?;
    let entry = setup::model_entry(&settings, model)?;
    let target = ReplayTarget::new(&request, &entry, Tokens::new(settings.window_cap));
    let number = request.number;
    let plan = record.prepare_replay(request, target).await?;
    let styled = OutputStyle::on_stdout();
    let mut markdown = MarkdownRenderer::new(PageWidth::of_stdout().columns(), styled);
    let mut stream = plan.send();
    while let Some(event) = stream.next().await {
        let event = event?;
        match event {
            StreamEvent::Text(text) if !args.json => print_drawn(&markdown.push(&text))?,
            StreamEvent::Done(reply) if args.json => {
                let calls = reply.calls.iter().map(|call| {
                    json!({"id": &*call.id.0, "name": &*call.name, "arguments": call.arguments.as_str()})
                });
                let request = json!({
                    "turn": record.id(),
                    "request": number,
                    "bytes": null,
                    "identical": null,
                    "problem": null,
                    "redacted": null,
                    "reply": {
                        "model": &*entry.name,
                        "content": reply.text(),
                        "tool_calls": calls.collect::<Vec<_>>(),
                        "usage": reply.usage,
                    },
                });
                print_json(&replay_json([request], true))?;
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
