//! `recto memory search`: memories and past sessions, as a model would recall them.

use std::time::Duration;

use jiff::Timestamp;
use recto_agent::{
    AgentMemories, RecallOutcome, RecallQuery, RecalledContent, Recollection, SearchPatience,
    Searcher, memory_day, memory_json,
};
use recto_context::Audience;
use recto_store::Store;
use serde_json::{Value, json};

use super::{SHOWN, who};
use crate::commands::sessions::local;
use crate::config::Settings;
use crate::draw::{PageWidth, TextTable};
use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::input;
use crate::output::{print, print_json, shown_line, tell};
use crate::remedy_words::with_command;
use crate::setup;

/// Waiting that is longer than this is told.
const A_MOMENT: Duration = Duration::from_secs(1);

pub(super) async fn run(
    home: &RectoHome,
    settings: &Settings,
    audience: &Audience,
    query: &str,
    limit: usize,
    as_json: bool,
) -> CliResult {
    let query = input::message(query)?;
    if query.trim().is_empty() {
        return Err(CliFailure::new("there is nothing to search for")
            .hint("say it as a message would: recto memory search \"what did I say about tea?\""));
    }
    // Without a store the search goes on among the files.
    let memories = memories(settings, audience, setup::store_for_vectors(home, settings));
    let request = RecallQuery {
        audience,
        query: &query,
        limit,
        patience: SearchPatience::UntilDone,
        now: Timestamp::now(),
        known: None,
    };
    let recalled = told_if_slow(memories.recall(&request)).await;
    match as_json {
        true => print_json(&recalled_json(&query, &recalled)),
        false => draw(&recalled, audience),
    }
}

/// The memories of the agent that the audience talks to.
fn memories(settings: &Settings, audience: &Audience, store: Option<Store>) -> AgentMemories {
    let agent = audience.agent.clone().unwrap_or_else(|| settings.agent.name.as_str().into());
    let searcher = Searcher::new(setup::search_parts(settings), store.clone(), &agent);
    AgentMemories::new(&agent, setup::memory_files(settings), &searcher, store)
}

/// Waits for a search, and says what takes its time: what nobody has searched before
/// is embedded first.
async fn told_if_slow<T>(search: impl Future<Output = T>) -> T {
    tokio::pin!(search);
    if let Ok(found) = tokio::time::timeout(A_MOMENT, &mut search).await {
        return found;
    }
    tell(&"embedding what was not searched before; the next search is faster");
    search.await
}

fn draw(recalled: &RecallOutcome, audience: &Audience) -> CliResult {
    if recalled.found.is_empty() {
        tell(&format_args!("nothing that {} may see fits this", who(audience)));
    } else {
        print(&table(&recalled.found).draw(PageWidth::of_stdout()))?;
    }
    let how = with_command(recalled.how.to_string(), recalled.how.remedy().as_ref());
    tell(&format_args!("searched {how}"));
    Ok(())
}

fn table(found: &[Recollection]) -> TextTable {
    let mut table = TextTable::new(["probability", "when", "where", "text"]);
    table.align_right(0);
    for Recollection { what, scores } in found {
        let probability = scores.probability.map(|found| format!("{found:.2}"));
        let (when, place, text) = match what {
            RecalledContent::Memory(memory) => {
                (memory_day(memory.added), memory.name.to_string(), memory.text.as_str().to_owned())
            }
            RecalledContent::Message { name, message, role, at, text, .. } => {
                let place = format!("session {name}, message {}", message.0);
                (local(*at), place, format!("{}: {text}", role.name()))
            }
        };
        table.row([probability.unwrap_or_default(), when, place, shown_line(&text, SHOWN)]);
    }
    table
}

fn recalled_json(query: &str, recalled: &RecallOutcome) -> Value {
    let results: Vec<Value> = recalled.found.iter().map(recollection_json).collect();
    json!({"query": query, "how": recalled.how, "results": results})
}

/// Something that was recalled, for programs: what it is, with what search said of it.
pub(crate) fn recollection_json(found: &Recollection) -> Value {
    let (kind, mut value) = match &found.what {
        RecalledContent::Memory(memory) => ("memory", memory_json(memory)),
        RecalledContent::Message { session, name, message, role, speaker, at, text } => {
            let message = json!({
                "session": session,
                "name": name,
                "message": message,
                "role": role,
                "speaker": speaker,
                "at": at,
                "text": text,
            });
            ("message", message)
        }
    };
    value["kind"] = json!(kind);
    if let (Some(all), Value::Object(scores)) = (value.as_object_mut(), json!(found.scores)) {
        all.extend(scores);
    }
    value
}
